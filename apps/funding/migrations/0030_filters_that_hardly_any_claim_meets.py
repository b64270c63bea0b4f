"""Indexes for what programs filter claims by: who they are assigned to, and days and numbers that few have."""

from django.db import migrations, models


class Migration(migrations.Migration):
    accepted = {"LOCKS": "the indexes of 500,000 claims are built in two seconds"}

    dependencies = [("funding", "0029_own_approvals")]

    operations = [
        *(
            operation
            for name in ("claim", "invoice")
            for operation in (
                migrations.RemoveIndex(model_name=name, name=f"funding_{name}_of_staff"),
                migrations.AddIndex(
                    model_name=name,
                    index=models.Index(
                        fields=["staff", "creation_date", "guid"], name=f"funding_{name}_of_staff"
                    ),
                ),
            )
        ),
        migrations.AddIndex(
            model_name="claim",
            index=models.Index(fields=["end_date"], name="funding_claim_by_end_date"),
        ),
        *(
            migrations.AddIndex(
                model_name="claim",
                index=models.Index(
                    condition=models.Q((f"{column}__isnull", False)),
                    fields=[column],
                    name=f"funding_claim_by_{name}",
                ),
            )
            for column, name in (
                ("external_invoice_number", "external"),
                ("payment_date", "payment_date"),
                ("approved_date", "approved_date"),
                ("archive_date", "archive_date"),
            )
        ),
    ]
