"""The transaction of each entry of the history, by which readers of changes miss none."""

from django.db import migrations, models

import apps.core.models


class Migration(migrations.Migration):
    accepted = {"LOCKS": "no row is in the index yet: the table is read once"}
    dependencies = [("core", "0006_changes_by_staff")]

    # Two steps: a column that is added with a default would be written into every existing row.
    operations = [
        migrations.AddField("change", "transaction", models.BigIntegerField(editable=False, null=True)),
        migrations.AlterField(
            "change",
            "transaction",
            models.BigIntegerField(
                db_default=apps.core.models.CurrentTransaction(), editable=False, null=True
            ),
        ),
        migrations.AddIndex(
            "change",
            models.Index(
                condition=models.Q(transaction__isnull=False),
                fields=["transaction", "id"],
                name="core_change_by_transaction",
            ),
        ),
    ]
