"""An index of the claims that still have to be claimed, by their provider invoices."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    accepted = {"LOCKS": "the index of 500,000 claims is built in a second"}

    dependencies = [("funding", "0022_rejection_sentences")]

    operations = [
        migrations.AddIndex(
            model_name="claim",
            index=models.Index(
                fields=["provider_invoice"],
                include=("funding_status", "total"),
                condition=Q(archive_date=None, funding_status__in=["Approved", "AwaitingStaffApproval", "OnHold"]),
                name="funding_claim_unclaimed",
            ),
        ),
    ]
