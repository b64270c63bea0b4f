from django.db import migrations, models


def keep_setting(apps, schema_editor):
    """An existing installation without saved settings goes on without four eyes."""
    database = schema_editor.connection.alias
    change, subscriber = apps.get_model("core", "Change"), apps.get_model("core", "Subscriber")
    settings = subscriber.objects.using(database)
    if change.objects.using(database).exists() and not settings.exists():
        settings.create(pk=1, four_eyes=False)


class Migration(migrations.Migration):
    dependencies = [("core", "0003_running_numbers_fit")]
    accepted = {"OPAQUE": "one row, of the settings"}

    operations = [
        migrations.RunPython(keep_setting, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="subscriber",
            name="four_eyes",
            field=models.BooleanField(
                default=True,
                help_text="Nobody approves a claim they entered themselves.",
                verbose_name="four eyes",
            ),
        ),
    ]
