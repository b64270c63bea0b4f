"""The status history marks approvals by who entered the claim or invoice, which auditors list."""

from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def mark_own_approvals(apps, schema_editor):
    moves = apps.get_model("funding", "StatusMove").objects.filter(verb="approve", staff__isnull=False)
    for name in ("claim", "invoice"):
        bills = apps.get_model("funding", name).objects.filter(pk=OuterRef(name)).values("entered_by")
        own = moves.filter(**{f"{name}__isnull": False}, staff=Subquery(bills))
        own.update(is_own_approval=True)


def analyze(apps, schema_editor):
    # Without statistics of the new column PostgreSQL takes half of all entries for own approvals.
    schema_editor.execute("ANALYZE funding_statusmove")


class Migration(migrations.Migration):
    accepted = {
        "LOCKS": "the index has few rows, and is built in a second beside 500,000 claims",
        "OPAQUE": "nobody changes entries of the status history, whose own approvals are marked",
    }

    dependencies = [("funding", "0028_shown_warnings")]

    operations = [
        migrations.AddField(
            model_name="statusmove",
            name="is_own_approval",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunPython(mark_own_approvals, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="statusmove",
            index=models.Index(
                condition=models.Q(("is_own_approval", True)),
                fields=["claim", "invoice"],
                name="funding_own_approvals",
            ),
        ),
        migrations.RunPython(analyze, migrations.RunPython.noop),
    ]
