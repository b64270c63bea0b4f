"""Sums that PostgreSQL stores: how many claims there are and what they come to, by status and provider."""

from django.db import models

from apps.base.declaration.resource import StoredSums
from apps.funding.statuses import ClaimStatus


class ClaimSum(models.Model):
    """The claims of a status and a provider, a view of PostgreSQL's (migration ``funding.0031``).

    Triggers append what each statement changes, so that nobody waits for anybody, and
    ``services.claim_sums`` adds it up. SQLite has no such view: there claims are counted when asked.
    """

    funding_status = models.CharField(primary_key=True, max_length=36, choices=ClaimStatus)
    provider = models.UUIDField(db_column="provider_id")
    number = models.BigIntegerField()
    total = models.DecimalField(max_digits=20, decimal_places=2)

    class Meta:
        managed = False
        db_table = "funding_claimsum"
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.number} {self.funding_status}"


CLAIM_SUMS = StoredSums(ClaimSum, keys=("funding_status", "provider"), sums=("total",))
