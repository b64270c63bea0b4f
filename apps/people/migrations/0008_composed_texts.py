from django.db import migrations

from apps.core.database.composed_texts import compose_texts


class Migration(migrations.Migration):
    accepted = {"OPAQUE": "it reads the texts, and writes the few whose letters and marks are stored apart"}

    dependencies = [("people", "0007_numbers_and_emails_are_searched")]

    operations = [compose_texts("people")]
