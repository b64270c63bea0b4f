"""Records about claims and invoices: their status history, acknowledged warnings, running numbers."""

from decimal import Decimal

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.base import clock
from apps.base.money import ZERO
from apps.funding.models.claims import Claim, Invoice
from apps.funding.models.provider_invoices import ProviderInvoice


def exactly_one_of(*names: str) -> Q:
    """The condition that exactly one of these references is given."""
    cases = (Q(**{f"{other}__isnull": other != name for other in names}) for name in names)
    found = Q()
    for case in cases:
        found |= case
    return found


class AuthoredRecord(models.Model):
    """A record with its time and its author: staff, an API application, or neither (a command)."""

    at = models.DateTimeField(default=clock.now)
    staff = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    application = models.CharField(max_length=150, null=True)

    class Meta:
        abstract = True
        default_permissions = ()


#: The entries that changed what is paid; those of resubmissions have what came along.
MOVED_MONEY = Q(paid_lines__isnull=False) & ~Q(verb__startswith="resubmit")


class StatusMove(AuthoredRecord):
    """A transition of a claim, an invoice or a provider invoice. Written by the services, never changed.

    ``verb`` is the name of the transition, or of the action on a provider invoice. ``paid_lines`` of one that
    pays or takes money back: by how much it changed what is paid of lines, as
    ``{"guid of the line": "15.00"}`` or ``"-15.00"``; of one that resubmits, what was paid of the new lines
    before. ``None`` of others, and of those made before amounts were kept. ``warnings`` of an approval: those
    that whoever approved was shown, each as ``{"code": …, "place": …, "message": …, "is_new": true}``; empty
    when there were none, ``None`` where nobody was asked. ``is_own_approval``: of who entered the bill.
    """

    claim = models.ForeignKey(Claim, null=True, on_delete=models.CASCADE, related_name="moves")
    invoice = models.ForeignKey(Invoice, null=True, on_delete=models.CASCADE, related_name="moves")
    provider_invoice = models.ForeignKey(
        ProviderInvoice, null=True, on_delete=models.CASCADE, related_name="moves"
    )
    verb = models.CharField(max_length=30)
    from_status = models.CharField(max_length=36)
    to_status = models.CharField(max_length=36)
    reason = models.CharField(max_length=400, null=True)
    paid_lines = models.JSONField(null=True)
    warnings = models.JSONField(null=True)
    is_own_approval = models.BooleanField(default=False, db_default=False)

    class Meta(AuthoredRecord.Meta):
        ordering = ("-id",)
        # Who entered a bill stands in another table: to compare them takes seconds of 500,000 claims.
        indexes = (
            models.Index(
                fields=["claim", "invoice"],
                condition=Q(is_own_approval=True),
                name="funding_own_approvals",
            ),
        )
        constraints = (
            models.CheckConstraint(
                condition=exactly_one_of("claim", "invoice", "provider_invoice"),
                name="funding_move_of_one_record",
            ),
        )

    def __str__(self) -> str:
        return f"{self.from_status} → {self.to_status}"

    @property
    def money_moved(self) -> Decimal:
        """By how much it changed what is paid of its bill: nothing by a resubmission."""
        if self.verb.startswith("resubmit"):
            return ZERO
        return sum(map(Decimal, (self.paid_lines or {}).values()), ZERO)


class AcknowledgedWarning(AuthoredRecord):
    """A warning with which a claim or an invoice was saved, and who confirmed it."""

    claim = models.ForeignKey(
        Claim, null=True, on_delete=models.CASCADE, related_name="acknowledged_warnings"
    )
    invoice = models.ForeignKey(
        Invoice, null=True, on_delete=models.CASCADE, related_name="acknowledged_warnings"
    )
    code = models.CharField(max_length=30)
    place = models.CharField(max_length=100, null=True, help_text="The member, as the interface spells it.")
    message = models.TextField()

    class Meta(AuthoredRecord.Meta):
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                condition=exactly_one_of("claim", "invoice"), name="funding_warning_of_one_record"
            ),
        )

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class NumberSequence(models.Model):
    """The next running number of claims, or of invoices."""

    name = models.CharField(max_length=20, primary_key=True)
    next_number = models.BigIntegerField(default=1)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name}: {self.next_number}"
