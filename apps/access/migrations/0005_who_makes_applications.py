from django.db import migrations


def take_permissions(apps, schema_editor):
    permissions = apps.get_model("auth", "Permission").objects.using(schema_editor.connection.alias)
    models = ("apiapplication", "webhook")
    permissions.filter(content_type__app_label="access", content_type__model__in=models).exclude(
        codename__startswith="view_"
    ).delete()


class Migration(migrations.Migration):
    accepted = {"OPAQUE": "six permissions of roles are deleted"}

    dependencies = [
        ('access', '0004_caseloads_of_applications'),
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='apiapplication',
            options={'default_permissions': ('view',), 'ordering': ('name',), 'verbose_name': 'API application'},
        ),
        migrations.AlterModelOptions(
            name='webhook',
            options={'default_permissions': ('view',), 'ordering': ('application__name', 'entity_set', 'guid')},
        ),
        migrations.RunPython(take_permissions, migrations.RunPython.noop, elidable=True),
    ]
