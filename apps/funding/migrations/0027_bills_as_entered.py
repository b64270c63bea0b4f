"""The index of claims and invoices in the order of lists has their first day as well."""

from django.db import migrations, models


class Migration(migrations.Migration):
    accepted = {"LOCKS": "the index of 500,000 claims is built in a second"}

    dependencies = [("funding", "0026_resubmissions")]

    operations = [
        operation
        for name in ("claim", "invoice")
        for operation in (
            migrations.AddIndex(
                model_name=name,
                index=models.Index(
                    fields=["creation_date", "guid", "start_date"], name=f"funding_{name}_entered"
                ),
            ),
            migrations.RemoveIndex(model_name=name, name=f"funding_{name}_newest"),
        )
    ]
