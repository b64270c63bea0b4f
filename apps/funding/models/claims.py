"""Claims and invoices with their lines (interface.md 2.3 to 2.5)."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar
from uuid import UUID

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from apps.base import clock
from apps.base.money import ZERO
from apps.core.computed import MoneyDifference
from apps.core.models import (
    NormalisedField,
    Record,
    Responsibility,
    Searched,
    calculated_money,
    optional_reference,
)
from apps.engagements.models import CategoryBudget, ServiceBooking
from apps.funding.choices import (
    ADMINISTER_PERMISSION,
    BillPermission,
    CancellationReason,
    ClaimType,
    InvoiceClaimType,
    MissingAbnReason,
    RecurringFrequency,
    SendPaymentTo,
    TaxChoice,
)
from apps.funding.models.prices import CostCentre, PriceBook, Product
from apps.funding.models.provider_invoices import ProviderInvoice
from apps.funding.statuses import FINISHED, STATUSES, UNCLAIMED, ClaimStatus, InvoiceStatus, Status
from apps.people.models import Client, Contact, Staff


class Bill(Record):
    """The common part of claims and invoices: their participant, dates, sums and status.

    ``funding_status`` and the columns that follow it change only by ``services.transitions``.
    """

    caseload_path = "contact__account_manager"

    open_records = ~Q(funding_status__in=FINISHED)
    responsibilities = (Responsibility("staff", open_records, permission=ADMINISTER_PERMISSION),)

    external_invoice_number = models.CharField(
        max_length=100, null=True, blank=True, help_text="Its number in an accounting package."
    )
    start_date = models.DateField("from")
    end_date = models.DateField("to")
    due_date = models.DateField("due", null=True, blank=True)
    contact = models.ForeignKey(
        Contact,
        on_delete=models.PROTECT,
        related_name="%(class)ss",
        verbose_name="participant",
        db_index=False,  # funding_…_of_contact begins with it
    )
    staff = models.ForeignKey(
        Staff,
        on_delete=models.PROTECT,
        related_name="%(class)ss",
        verbose_name="assigned to",
        db_index=False,  # funding_…_of_staff begins with it
    )
    funding_status: models.CharField[str, str]  # claims and invoices have choices of their own
    # --- calculated, or changed by transitions; never entered
    total = calculated_money()
    amount_paid = calculated_money("paid")
    paid_earlier = calculated_money(
        "paid earlier", help_text="The part of what is paid that was paid on the one it resubmits."
    )
    resubmitted = models.BooleanField(default=False, editable=False)
    status_date = models.DateTimeField("in this status since", default=clock.now, editable=False)
    status_reason = models.CharField("reason", max_length=400, null=True, editable=False)
    approved_date = models.DateTimeField("approved", null=True, editable=False)
    entered_by = optional_reference(
        Staff,
        related_name="+",
        editable=False,
        db_index=False,
        help_text="Who entered it; for an API application, the staff member it is assigned to.",
    )
    resubmission_of = optional_reference("self", related_name="resubmissions", editable=False, db_index=False)

    class Meta(Record.Meta):
        abstract = True
        ordering = ("-creation_date", "-guid")
        indexes: ClassVar[tuple[models.Index, ...]] = (
            # The order of lists; by the day in it those of an old month are found without reading the others.
            models.Index(fields=["creation_date", "guid", "start_date"], name="funding_%(class)s_entered"),
            # Pages of what changed since a moment, for programs that follow ModifyDate.
            models.Index(fields=["modify_date", "guid"], name="funding_%(class)s_modified"),
            # A page of a participant's, in the order of the list.
            models.Index(fields=["contact", "creation_date", "guid"], name="funding_%(class)s_of_contact"),
            # The queues of the home page and of lists read nothing but these two.
            models.Index(
                fields=["funding_status", "status_date", "guid"],
                include=["archive_date", "total"],
                name="funding_%(class)s_in_status",
            ),
            # A page of what is assigned to somebody, in the order of the list, also of who has none.
            models.Index(fields=["staff", "creation_date", "guid"], name="funding_%(class)s_of_staff"),
            # The check of the reference when a bill is deleted; of nearly all bills it has nothing.
            models.Index(
                fields=["resubmission_of"],
                condition=Q(resubmission_of__isnull=False),
                name="funding_%(class)s_resubmits",
            ),
        )
        constraints: ClassVar[tuple[models.BaseConstraint, ...]] = (
            models.UniqueConstraint(
                fields=["resubmission_of"],
                condition=Q(archive_date=None, resubmission_of__isnull=False),
                name="funding_%(class)s_resubmitted_once",
            ),
            models.CheckConstraint(
                condition=Q(end_date__gte=F("start_date")), name="funding_%(class)s_dates_in_order"
            ),
        )

    @property
    def status(self) -> Status:
        return STATUSES[self.funding_status]

    @property
    def is_editable(self) -> bool:
        """True when what was entered may still change: before approval, or on hold."""
        return not self.is_archived and self.status.is_editable

    @property
    def outstanding(self) -> Decimal:
        """The part of the total that is not paid."""
        return self.total - self.amount_paid

    @property
    def paid_itself(self) -> Decimal:
        """The part of the payments that is this bill's own, without those of the one that it resubmits."""
        return self.amount_paid - self.paid_earlier


#: Of claims: what is to be paid out of what the agency paid; below zero, what was paid out too much. And
#: those it is paid out for: what is sent to the plan manager is its own.
TO_PAY_OUT = MoneyDifference(F("amount_paid") - F("paid_earlier") - F("paid_out"))
IS_PAID_OUT = Q(send_payment_to__in=sorted(set(SendPaymentTo.values) - {SendPaymentTo.PLAN_MANAGER.value}))


def resubmission_exists(model: type[Bill]) -> Exists:
    """The condition of a query that a current bill resubmits the bill: what is open is open with that one."""
    # That it is not null is said for the index: PostgreSQL would read all bills to compare their keys.
    newer = Q(resubmission_of=OuterRef("pk"), resubmission_of__isnull=False, archive_date=None)
    return Exists(model._default_manager.filter(newer))


class Claim(Bill):
    """A plan-managed claim to the funding agency, linked to the provider invoice it is built on.

    ``paid_out`` is kept by ``payments``: what its payment runs have of the claim, but for what came back.
    ``takes_provider_invoice``: no other claim may be built on its provider invoice. So it is of claims on
    one that is not reusable, until they are archived or resubmitted.
    """

    searched = Searched(codes=("claim_number", "provider_invoice_reference"))
    #: The payment runs are its record.
    unrecorded_columns = frozenset({"paid_out"})

    claim_number = models.CharField("number", max_length=47)
    claim_number_key = NormalisedField(of="claim_number", unique=True, max_length=141)
    provider_invoice = models.ForeignKey(ProviderInvoice, on_delete=models.PROTECT, related_name="claims")
    provider_invoice_reference = models.CharField(max_length=100)
    provider_invoice_reference_key = NormalisedField(of="provider_invoice_reference", max_length=300)
    provider = models.ForeignKey(Client, on_delete=models.PROTECT, related_name="claims", db_index=False)
    send_payment_to = models.CharField(max_length=20, choices=SendPaymentTo, default=SendPaymentTo.PROVIDER)
    funding_status = models.CharField(
        "status",
        max_length=36,
        choices=ClaimStatus,
        default=ClaimStatus.AWAITING_STAFF_APPROVAL,
        editable=False,
    )
    payment_date = models.DateTimeField("paid on", null=True, editable=False)
    paid_out = calculated_money("paid out", db_default=ZERO)
    missing_abn_reason_code = models.CharField(
        "ABN exemption", max_length=5, null=True, choices=MissingAbnReason, editable=False
    )
    takes_provider_invoice = models.BooleanField(default=True, editable=False)

    class Meta(Bill.Meta):
        permissions = (
            ("administer_funding_invoices", "Can view/administer funding invoices"),
            *BillPermission.choices,
        )
        indexes = (
            *Bill.Meta.indexes,
            models.Index(
                fields=["provider", "provider_invoice_reference_key"], name="funding_claim_by_reference"
            ),
            # A page of a provider's, in the order of the list.
            models.Index(fields=["provider", "creation_date", "guid"], name="funding_claim_of_provider"),
            # What lists are sorted by, and the interface filters by.
            models.Index(fields=["start_date"], name="funding_claim_by_start_date"),
            models.Index(
                fields=["due_date"], condition=Q(due_date__isnull=False), name="funding_claim_by_due_date"
            ),
            models.Index(fields=["end_date"], name="funding_claim_by_end_date"),
            models.Index(fields=["total"], name="funding_claim_by_total"),
            # What programs look up or follow, and a new claim does not have.
            *(
                models.Index(
                    fields=[column],
                    condition=Q(**{f"{column}__isnull": False}),
                    name=f"funding_claim_by_{name}",
                )
                for column, name in (
                    ("external_invoice_number", "external"),
                    ("payment_date", "payment_date"),
                    ("approved_date", "approved_date"),
                    ("archive_date", "archive_date"),
                )
            ),
            # The sums by month of the home page and of month end read nothing else.
            models.Index(
                fields=["creation_date", "funding_status"],
                include=["total"],
                condition=Q(archive_date=None),
                name="funding_claim_by_month",
            ),
            # The tracker and the queues of provider invoices look for those on a provider invoice.
            models.Index(
                fields=["provider_invoice"],
                include=["funding_status", "total"],
                condition=Q(archive_date=None, funding_status__in=sorted(UNCLAIMED)),
                name="funding_claim_unclaimed",
            ),
            # Of an expression PostgreSQL counts the values: it knows that this is zero of nearly all.
            models.Index(F("send_payment_to"), TO_PAY_OUT, name="funding_claim_to_pay_out"),
        )
        constraints = (
            *Bill.Meta.constraints,
            models.UniqueConstraint(
                fields=["provider_invoice"],
                condition=Q(takes_provider_invoice=True),
                name="funding_one_claim_of_single_use",
            ),
            models.CheckConstraint(condition=~Q(claim_number=""), name="funding_claim_has_a_number"),
        )

    def __str__(self) -> str:
        return self.claim_number


class Invoice(Bill):
    """A funding invoice to the agency or to a client; a recurring one is made again by the calendar.

    ``recurrence_of`` is the recurring invoice that one was made from, ``recurrence_date`` the day of the
    calendar it stands for.
    """

    searched = Searched(codes=("invoice_number",))

    invoice_number = models.CharField("number", max_length=47)
    invoice_number_key = NormalisedField(of="invoice_number", unique=True, max_length=141)
    invoice_claim_type = models.CharField("bill to", max_length=15, choices=InvoiceClaimType)
    funding_status = models.CharField(
        "status",
        max_length=36,
        choices=InvoiceStatus,
        default=InvoiceStatus.AWAITING_STAFF_APPROVAL,
        editable=False,
    )
    payment_date = models.DateField("paid on", null=True, editable=False)
    is_recurring = models.BooleanField("recurring", default=False)
    recurring_start_date = models.DateField("recurs from", null=True, blank=True)
    recurring_end_date = models.DateField("recurs to", null=True, blank=True)
    recurring_frequency = models.CharField(
        "how often", max_length=11, null=True, blank=True, choices=RecurringFrequency
    )
    recurrence_of = optional_reference("self", related_name="recurrences", editable=False, db_index=False)
    recurrence_date = models.DateField("recurrence day", null=True, editable=False)

    class Meta(Bill.Meta):
        permissions = (("administer_credit_invoices", "Can administer credit invoices"),)
        indexes = (
            *Bill.Meta.indexes,
            models.Index(
                fields=["recurring_start_date"],
                condition=Q(is_recurring=True, archive_date=None),
                name="funding_invoice_recurring",
            ),
        )
        constraints = (
            *Bill.Meta.constraints,
            models.UniqueConstraint(
                fields=["recurrence_of", "recurrence_date"],
                condition=Q(recurrence_of__isnull=False),
                name="funding_one_invoice_of_a_period",
            ),
            models.CheckConstraint(condition=~Q(invoice_number=""), name="funding_invoice_has_a_number"),
            models.CheckConstraint(
                condition=Q(is_recurring=False)
                | Q(recurring_start_date__isnull=False, recurring_frequency__isnull=False),
                name="funding_recurring_since_and_how",
            ),
            models.CheckConstraint(
                condition=Q(recurring_end_date__gte=F("recurring_start_date")),
                name="funding_recurring_dates_in_order",
            ),
        )

    def __str__(self) -> str:
        return self.invoice_number


class LineItem(Record):
    """One support that is claimed or invoiced.

    ``from_date`` and ``to_date`` are as they were given; ``first_day`` and ``last_day`` have the bill's dates
    where those are missing. ``booking`` or ``category_budget`` is the budget it counts on.
    """

    position = models.PositiveSmallIntegerField(default=0, editable=False)
    price_book = models.ForeignKey(PriceBook, on_delete=models.PROTECT, related_name="+", db_index=False)
    product = models.ForeignKey(Product, on_delete=models.PROTECT, related_name="+", db_index=False)
    from_date = models.DateField("from", null=True, blank=True)
    to_date = models.DateField("to", null=True, blank=True)
    quantity = models.DecimalField(max_digits=14, decimal_places=4)
    price = models.DecimalField(max_digits=14, decimal_places=4, validators=[MinValueValidator(0)])
    total = calculated_money()
    amount_paid = calculated_money("paid")
    tax_choice = models.CharField("tax", max_length=14, null=True, blank=True, choices=TaxChoice)
    claim_type = models.CharField(max_length=21, null=True, blank=True, choices=ClaimType)
    cancellation_reason = models.CharField(max_length=25, null=True, blank=True, choices=CancellationReason)
    notes = models.TextField(null=True, blank=True)
    first_day = models.DateField(editable=False)
    last_day = models.DateField(editable=False)
    resubmitted_as_id: UUID | None
    booking = optional_reference(ServiceBooking, related_name="%(class)ss", editable=False, db_index=False)
    category_budget = optional_reference(
        CategoryBudget, related_name="%(class)ss", editable=False, db_index=False
    )

    class Meta(Record.Meta):
        abstract = True
        ordering = ("position", "guid")
        # By product and day for duplicates, by budget for the lines that count on it, by the bill that
        # resubmits them for its deletion.
        indexes = (
            models.Index(fields=["product", "first_day"], name="funding_%(class)s_duplicates"),
            models.Index(
                fields=["booking"], condition=Q(booking__isnull=False), name="funding_%(class)s_booking"
            ),
            models.Index(
                fields=["category_budget"],
                condition=Q(category_budget__isnull=False),
                name="funding_%(class)s_budget",
            ),
            models.Index(
                fields=["resubmitted_as"],
                condition=Q(resubmitted_as__isnull=False),
                name="funding_%(class)s_newer",
            ),
        )
        constraints = (
            models.CheckConstraint(condition=Q(quantity__gt=0), name="funding_%(class)s_quantity_positive"),
            models.CheckConstraint(condition=Q(price__gte=0), name="funding_%(class)s_price_not_negative"),
            models.CheckConstraint(
                condition=Q(last_day__gte=F("first_day")), name="funding_%(class)s_dates_in_order"
            ),
        )

    def __str__(self) -> str:
        return f"{self.quantity.normalize():f} × {self.product.code}"


#: Of lines: no current bill resubmits them.
NOT_RESUBMITTED = Q(resubmitted_as=None) | Q(resubmitted_as__archive_date__isnull=False)


class ClaimLine(LineItem):
    """A line of a claim. ``resubmitted_as``: the last claim that resubmits it; while that is current."""

    caseload_path = "claim__contact__account_manager"

    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="line_items")
    resubmitted_as = optional_reference(Claim, related_name="+", editable=False, db_index=False)

    class Meta(LineItem.Meta):
        verbose_name = "claim line"


class InvoiceLine(LineItem):
    """A line of an invoice; a credit item counts negative. ``resubmitted_as`` as of a claim's."""

    caseload_path = "invoice__contact__account_manager"

    invoice = models.ForeignKey(Invoice, on_delete=models.CASCADE, related_name="line_items")
    resubmitted_as = optional_reference(Invoice, related_name="+", editable=False, db_index=False)
    is_credit_item = models.BooleanField("credit", default=False)
    cost_centre = optional_reference(CostCentre, related_name="+", db_index=False)

    class Meta(LineItem.Meta):
        verbose_name = "invoice line"
