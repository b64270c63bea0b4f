from django.conf import settings
from django.db import migrations

PERMISSIONS = (
    ("approve_funding_invoices", "Can approve claims and invoices"),
    ("claim_funding_invoices", "Can claim from the agency, submit and send"),
    ("pay_funding_invoices", "Can record payments of claims and invoices"),
)


def grant_to_administrators_of_funding(apps, schema_editor):
    """Roles that administer funding invoices may go on approving, claiming and recording payments."""
    database = schema_editor.connection.alias
    permissions = apps.get_model("auth", "Permission").objects.using(database)
    administer = permissions.filter(
        content_type__app_label="funding", codename="administer_funding_invoices"
    ).first()
    if administer is None:
        return  # a new installation, which has no roles yet
    granted = [
        permissions.get_or_create(
            content_type_id=administer.content_type_id, codename=codename, defaults={"name": name}
        )[0]
        for codename, name in PERMISSIONS
    ]
    for role in apps.get_model("people", "Role").objects.using(database).filter(permissions=administer):
        role.permissions.add(*granted)


class Migration(migrations.Migration):
    dependencies = [
        ("funding", "0005_search_indexes"),
        ("people", "0002_contacts_index_only_those_they_refer_to"),
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    accepted = {"OPAQUE": "a few rows of roles"}

    operations = [
        migrations.AlterModelOptions(
            name="claim",
            options={
                "ordering": ("-creation_date", "-guid"),
                "permissions": (
                    ("administer_funding_invoices", "Can view/administer funding invoices"),
                    *PERMISSIONS,
                ),
            },
        ),
        migrations.RunPython(grant_to_administrators_of_funding, migrations.RunPython.noop),
    ]
