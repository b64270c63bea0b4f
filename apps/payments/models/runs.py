"""Payment runs, in which the organisation pays out, and their bank files."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from apps.core.models import Record, calculated_money, money, optional_reference
from apps.funding.models import Claim
from apps.funding.models.moves import exactly_one_of
from apps.payments.choices import RunStatus
from apps.payments.models.accounts import BankAccount
from apps.people.models import Client, Contact, Staff


class PaymentRun(Record):
    """Payments to payees at once. Its maker does not release it; a released one never changes.

    Those in ``OPENING`` have what was paid out before runs were kept, and in runs that were archived since,
    without accounts and files.
    """

    number = models.PositiveIntegerField(unique=True, editable=False)
    status = models.CharField(max_length=9, choices=RunStatus, default=RunStatus.DRAFT, editable=False)
    day = models.DateField("day of payment")
    total = calculated_money()
    made_by = optional_reference(Staff, related_name="+", editable=False, db_index=False)
    released_at = models.DateTimeField("released", null=True, editable=False)
    released_by = optional_reference(Staff, related_name="+", editable=False, db_index=False)

    class Meta(Record.Meta):
        verbose_name = "payment run"
        ordering = ("-number",)
        default_permissions = ("view", "add", "change")
        permissions = (("release_paymentrun", "Can release payment runs that somebody else made"),)
        constraints = (
            models.CheckConstraint(
                condition=~Q(status=RunStatus.RELEASED)
                | Q(made_by=None)
                | ~Q(released_by=F("made_by")) & Q(released_by__isnull=False),
                name="payments_run_released_by_another",
            ),
        )

    def __str__(self) -> str:
        return f"Payment run {self.number}"


class PaymentRunItem(models.Model):
    """One payment of a run, to one account. An opening run's have no account."""

    run = models.ForeignKey(PaymentRun, on_delete=models.CASCADE, related_name="items")
    position = models.PositiveIntegerField()
    account = models.ForeignKey(BankAccount, null=True, on_delete=models.PROTECT, related_name="items")
    client = models.ForeignKey(Client, null=True, on_delete=models.PROTECT, related_name="+")
    contact = models.ForeignKey(Contact, null=True, on_delete=models.PROTECT, related_name="+")
    amount = money()
    reference = models.CharField(max_length=18, help_text="What the payee reads.")
    returned_at = models.DateTimeField("came back", null=True)
    return_reason = models.CharField(max_length=200, null=True)
    returned_by = models.ForeignKey(
        Staff, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )

    advice_sent_at = models.DateTimeField("remittance advice sent", null=True)

    class Meta:
        verbose_name = "payment of a run"
        verbose_name_plural = "payments of runs"
        default_permissions = ()
        ordering = ("run", "position")
        constraints = (
            models.UniqueConstraint(fields=["run", "position"], name="payments_one_item_at_a_position"),
            models.CheckConstraint(
                condition=exactly_one_of("client", "contact"), name="payments_item_of_one_payee"
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="payments_item_above_zero"),
        )

    def __str__(self) -> str:
        return self.reference

    @property
    def payee(self) -> Client | Contact:
        record = self.client or self.contact
        assert record is not None
        return record


class PaymentRunClaim(models.Model):
    """The part of a payment that is for one claim; negative where what was owed is set off.

    ``returned``: the payment came back, so that the amount is ready to be paid again.
    """

    item = models.ForeignKey(PaymentRunItem, on_delete=models.CASCADE, related_name="claims")
    claim = models.ForeignKey(Claim, on_delete=models.PROTECT, related_name="run_claims")
    amount = money()
    returned = models.BooleanField(default=False)

    class Meta:
        verbose_name = "paid claim of a run"
        verbose_name_plural = "paid claims of runs"
        default_permissions = ()
        ordering = ("item", "pk")
        constraints = (
            models.UniqueConstraint(fields=["item", "claim"], name="payments_claim_once_in_an_item"),
        )

    def __str__(self) -> str:
        return f"{self.claim_id}: {self.amount}"


class BankFile(models.Model):
    """A file of a released run for the bank, byte for byte as it was made.

    ``erased_at``: names and accounts of people whose records were erased stand in it no more.
    """

    run = models.ForeignKey(PaymentRun, on_delete=models.PROTECT, related_name="bank_files")
    position = models.PositiveSmallIntegerField()
    file_name = models.CharField(max_length=40)
    content = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    payment_count = models.PositiveIntegerField()
    total = money()
    erased_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        ordering = ("run", "position")
        constraints = (
            models.UniqueConstraint(fields=["run", "position"], name="payments_one_bank_file_at_a_position"),
        )

    def __str__(self) -> str:
        return self.file_name
