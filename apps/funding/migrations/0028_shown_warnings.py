"""The status history keeps which warnings whoever approved a claim or an invoice was shown."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("funding", "0027_bills_as_entered")]

    operations = [
        migrations.AddField(model_name="statusmove", name="warnings", field=models.JSONField(null=True))
    ]
