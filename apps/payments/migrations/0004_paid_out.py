"""What payment runs have of claims is kept with the claims."""

from decimal import Decimal

from django.db import migrations
from django.db.models import OuterRef, Subquery
from django.db.models.functions import Coalesce

from apps.core.computed import MoneySum


def keep_paid_out(apps, schema_editor):
    """Of the claims that payment runs have: the sum of all but what came back."""
    alias = schema_editor.connection.alias
    parts = apps.get_model("payments", "PaymentRunClaim").objects.using(alias).filter(returned=False)
    sums = parts.filter(claim=OuterRef("pk")).order_by().values("claim").annotate(sum=MoneySum("amount"))
    claims = apps.get_model("funding", "Claim").objects.using(alias)
    claims.filter(pk__in=parts.order_by().values("claim")).update(
        paid_out=Coalesce(Subquery(sums.values("sum")), Decimal("0.00"))
    )


class Migration(migrations.Migration):
    accepted = {"OPAQUE": "one statement for the claims that runs have; payments of them wait a few seconds"}

    dependencies = [("funding", "0020_paid_out"), ("payments", "0003_statements")]

    operations = [migrations.RunPython(keep_paid_out, migrations.RunPython.noop)]
