"""The scheme's support categories, without which no booking can be made."""

from django.db import migrations

from apps.engagements.choices import CATEGORIES, category_guid


def enter(apps, schema_editor):
    category = apps.get_model("engagements", "SupportCategory")
    category.objects.using(schema_editor.connection.alias).bulk_create(
        category(guid=category_guid(number), number=number, name=name, name_key=name.casefold(), support_purpose=purpose)
        for number, name, purpose in CATEGORIES
    )


class Migration(migrations.Migration):
    dependencies = [("engagements", "0001_initial")]

    operations = [migrations.RunPython(enter, migrations.RunPython.noop)]
