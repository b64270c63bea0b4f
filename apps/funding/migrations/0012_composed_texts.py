from django.db import migrations

from apps.core.database.composed_texts import compose_texts


class Migration(migrations.Migration):
    accepted = {"OPAQUE": "it reads the texts, and writes the few whose letters and marks are stored apart"}

    dependencies = [("funding", "0011_queues_with_sums")]

    operations = [compose_texts("funding")]
