"""Exports to the organisation's accounting package, their files and what they booked."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from apps.base.money import ZERO
from apps.core.models import Record, calculated_money, money, optional_reference
from apps.funding.models import StatusMove
from apps.payments.choices import AccountsStyle, EntryKind
from apps.payments.models.runs import PaymentRunItem
from apps.people.models import Staff

#: The kinds of entries that a change of what is paid of a bill makes, and those of payments of runs.
OF_MOVES = (EntryKind.RECEIVED, EntryKind.FEE, EntryKind.TAKEN_BACK, EntryKind.FEE_TAKEN_BACK)
OF_ITEMS = (EntryKind.PAID, EntryKind.RETURNED)


class AccountsExport(Record):
    """All that happened until a day and no export had, as files for the accounting package; never changed.

    The amounts are sums of its entries: ``received`` and ``taken_back`` with the own fee, which besides is
    ``own_fee``, less what was taken back of it, with ``gst`` in it.
    """

    #: Its page has sums and days, and no person.
    has_personal_data = False

    number = models.PositiveIntegerField(unique=True, editable=False)
    until = models.DateField(editable=False)
    style = models.CharField("package", max_length=13, choices=AccountsStyle, editable=False)
    bank_code = models.CharField(max_length=10, editable=False)
    clearing_code = models.CharField(max_length=10, editable=False)
    made_by = optional_reference(Staff, related_name="+", editable=False, db_index=False)
    received = calculated_money()
    taken_back = calculated_money()
    own_fee = calculated_money()
    gst = calculated_money("GST of the own fee")
    paid_out = calculated_money("paid to payees")
    returned = calculated_money("came back")

    class Meta(Record.Meta):
        verbose_name = "accounts export"
        ordering = ("-number",)
        default_permissions = ("view", "add")

    def __str__(self) -> str:
        return f"Accounts export {self.number}"


class AccountsFile(models.Model):
    """A file of an export, byte for byte as it was made; ``total`` is what its bills or debits come to.

    ``erased_at``: names and references of people whose records were erased stand in it no more.
    """

    export = models.ForeignKey(AccountsExport, on_delete=models.PROTECT, related_name="files")
    position = models.PositiveSmallIntegerField()
    file_name = models.CharField(max_length=40)
    is_bills = models.BooleanField("bills", default=False)
    content = models.BinaryField()
    sha256 = models.CharField("SHA-256", max_length=64)
    entry_count = models.PositiveIntegerField("bills or journals")
    line_count = models.PositiveIntegerField("lines")
    total = money()
    erased_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "file of an accounts export"
        verbose_name_plural = "files of accounts exports"
        default_permissions = ()
        ordering = ("export", "position")
        constraints = (
            models.UniqueConstraint(
                fields=["export", "position"], name="payments_one_accounts_file_at_a_position"
            ),
        )

    def __str__(self) -> str:
        return self.file_name


class AccountsEntry(models.Model):
    """An event that an export booked, which no other export books again.

    It is a change of what is paid of a claim or invoice (``move``, which an erasure of its person deletes),
    or a payment of a run (``item``, which is gone when the run was archived) when it was paid, and when it
    came back.
    """

    export = models.ForeignKey(AccountsExport, on_delete=models.PROTECT, related_name="entries")
    kind = models.CharField(max_length=12, choices=EntryKind)
    day = models.DateField()
    amount = money()
    gst = money("GST", default=ZERO)
    move = models.OneToOneField(
        StatusMove, null=True, on_delete=models.SET_NULL, related_name="accounts_entry"
    )
    item = models.ForeignKey(
        PaymentRunItem, null=True, on_delete=models.SET_NULL, related_name="accounts_entries", db_index=False
    )

    class Meta:
        verbose_name = "entry of an accounts export"
        verbose_name_plural = "entries of accounts exports"
        default_permissions = ()
        ordering = ("export", "day", "pk")
        constraints = (
            models.UniqueConstraint(fields=["item", "kind"], name="payments_payment_exported_once"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="payments_accounts_entry_above_zero"),
            models.CheckConstraint(
                condition=Q(kind__in=OF_MOVES, item=None) | Q(kind__in=OF_ITEMS, move=None),
                name="payments_accounts_entry_is_of_its_kind",
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.amount}"
