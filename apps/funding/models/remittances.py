"""The agency's answers to the lines of claim files: results, and remittances of its payments."""

from decimal import Decimal

from django.db import models
from django.db.models import Q

from apps.core.models import Record, money, optional_reference
from apps.funding.models.claim_files import ClaimFileLine
from apps.funding.models.moves import AuthoredRecord
from apps.people.models import Staff


class ClaimResult(AuthoredRecord):
    """The agency's answer to a line of a claim file, and whose upload of which file brought it.

    ``amount`` is what the agency will pay of the line, ``is_capped``: no more than that. ``code`` and
    ``text`` are the agency's own. ``extra`` has the other columns of its row, by their headers.
    """

    file_line = models.OneToOneField(ClaimFileLine, on_delete=models.CASCADE, related_name="result")
    is_accepted = models.BooleanField("accepted")
    code = models.CharField(max_length=50, blank=True, default="")
    text = models.TextField(blank=True, default="")
    amount = money(null=True)
    is_capped = models.BooleanField("capped", default=False)
    extra = models.JSONField(default=dict)
    file_name = models.CharField("file", max_length=255)

    class Meta:
        default_permissions = ("add", "change", "view")
        ordering = ("file_line",)
        indexes = (
            # The queue of what was refused asks for these alone.
            models.Index(
                fields=["file_line"], condition=Q(is_accepted=False), name="funding_refused_file_lines"
            ),
        )

    def __str__(self) -> str:
        return self.text or self.code or ("accepted" if self.is_accepted else "refused")


def may_still_be_paid(
    amount: Decimal, paid: Decimal, is_accepted: bool | None, promised: Decimal | None
) -> bool:
    """True when a line in a claim file waits for the agency: not refused, nothing paid or more promised.

    What is missing of other lines is missing for good: they were refused, capped, or paid short.
    """
    if paid >= amount or (is_accepted is False and not paid):
        return False
    return not paid or bool(is_accepted and promised is not None and promised > paid)


class Remittance(Record):
    """A file of what the agency paid. Its rows are ``lines``, but for those that are no lines of ours.

    ``day`` is the last day on which it paid. ``row_count`` and ``total`` are those of the file;
    ``unmatched_count`` and ``unmatched_total`` of its rows with references that nobody here has given. The
    rest of its rows was in an earlier remittance.
    """

    file_name = models.CharField("file", max_length=255, editable=False)
    sha256 = models.CharField("SHA-256", max_length=64, unique=True, editable=False)
    received_by = optional_reference(Staff, "imported by", related_name="+", editable=False, db_index=False)
    day = models.DateField("paid on", editable=False)
    row_count = models.PositiveIntegerField("rows", editable=False)
    total = money(editable=False)
    unmatched_count = models.PositiveIntegerField("rows of others", editable=False)
    unmatched_total = money("total of others", editable=False)

    class Meta(Record.Meta):
        ordering = ("-creation_date", "-guid")
        default_permissions = ("add", "change", "view")

    def __str__(self) -> str:
        return self.file_name


class RemittanceLine(models.Model):
    """A row of a remittance: what the agency paid of a line of a claim file, under its payment number.

    Of one that is not applied ``reason`` says why; it changes nothing. ``claimed`` is what the agency says
    that was claimed. ``extra`` has the other columns of its row, by their headers.
    """

    remittance = models.ForeignKey(Remittance, on_delete=models.PROTECT, related_name="lines")
    position = models.PositiveIntegerField("row")
    file_line = models.ForeignKey(ClaimFileLine, on_delete=models.CASCADE, related_name="payments")
    payment_number = models.CharField(max_length=50)
    day = models.DateField("paid on")
    amount = money()
    claimed = money(null=True)
    extra = models.JSONField(default=dict)
    is_applied = models.BooleanField("applied")
    reason = models.CharField(max_length=400, blank=True, default="")

    class Meta:
        default_permissions = ()
        ordering = ("remittance", "position")
        constraints = (
            # Whatever arrives twice is paid once.
            models.UniqueConstraint(
                fields=["file_line", "payment_number"],
                condition=Q(is_applied=True),
                name="funding_payment_applied_once",
            ),
            models.UniqueConstraint(
                fields=["file_line", "payment_number", "amount"], name="funding_payment_stored_once"
            ),
            models.CheckConstraint(
                condition=Q(is_applied=False) | Q(amount__gt=0, reason=""), name="funding_applied_payment"
            ),
            models.CheckConstraint(
                condition=Q(is_applied=True) | ~Q(reason=""), name="funding_reason_of_payment"
            ),
        )

    def __str__(self) -> str:
        return self.payment_number
