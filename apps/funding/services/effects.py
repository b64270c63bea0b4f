"""Effects of claims and invoices on other records: the amounts of budgets, the flags of provider invoices.

The budget ledger: what the lines of claims and invoices count on budgets, posted with each change.
On provider invoices: locks, ``is_claimed``, ``claim_on_hold``, and what they lack and a claim has.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from django.db import models, transaction
from django.db.models import (
    BooleanField,
    Case,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)

from apps.base import clock
from apps.base.batched_queries import AnyOf, PreparedQuery, SqlStatement, fetch_all, query_by_values
from apps.base.money import ZERO
from apps.core import history, saving
from apps.core.bulk_insert import WriteBatch
from apps.core.computed import MoneySum
from apps.engagements.amounts import (
    AMOUNT_COLUMNS,
    Amounts,
    DatedChange,
    Periods,
    lock_amounts,
    record_amounts,
    record_dated_amounts,
    restate_amounts,
    write_history,
)
from apps.engagements.coverage import CoveringBudget
from apps.engagements.funding_periods import share_of_days
from apps.engagements.models import Budget, CategoryBudget, FundingPeriod, ServiceBooking
from apps.funding.drafts import ClaimDraft, LineDraft
from apps.funding.models import Claim, ClaimLine, InvoiceLine, LineItem, ProviderInvoice
from apps.funding.statuses import ENDED, STATUSES, InvoiceStatus, OpenAmount
from apps.funding.validation.provider_invoices import ON_HOLD
from apps.funding.validation.transitions import Resubmission

# --- budgets --------------------------------------------------------------------------------------------


def budget_amounts(
    status: str, archived: bool, total: Decimal, paid: Decimal, resubmission: Resubmission | None = None
) -> Amounts:
    """The amounts that a line, or the sum of lines, counts on its budget while its bill is in this status.

    What was paid counts as claimed as long as the bill counts at all. The rest is waiting until somebody is
    asked for it, claimed afterwards, and nothing once the bill is closed or resubmitted for its gap.
    """
    if archived or resubmission is Resubmission.FULL:
        return Amounts()
    open_amount = STATUSES[status].open_amount
    if resubmission is Resubmission.GAP or open_amount is OpenAmount.NOTHING:
        return Amounts(claimed=paid, paid=paid)
    if open_amount is OpenAmount.WAITING:
        return Amounts(claimed=paid, paid=paid, waiting=total - paid)
    return Amounts(claimed=total, paid=paid)


class BudgetState(NamedTuple):
    """The state of a bill that decides how it counts on budgets."""

    status: str
    is_archived: bool
    resubmission: Resubmission | None = None

    def amounts(self, total: Decimal, paid: Decimal) -> Amounts:
        return budget_amounts(self.status, self.is_archived, total, paid, self.resubmission)


class BudgetPosting(NamedTuple):
    """By how much the amounts of a line on its budget change; a line without a budget counts nowhere.

    What a line counted and what it counts are posted apart: each is divided by the days of funding periods.
    """

    booking: UUID | None
    category_budget: UUID | None
    first_day: dt.date
    last_day: dt.date
    amounts: Amounts

    @property
    def budget(self) -> UUID | None:
        return self.booking or self.category_budget

    def __neg__(self) -> BudgetPosting:
        return self._replace(amounts=-self.amounts)


def line_posting(line: LineDraft, status: str, paid: Decimal = ZERO) -> BudgetPosting:
    """The posting of a line to the budget that covers it."""
    amounts = budget_amounts(status, False, line.total, paid)
    booking, category_budget = line.booking, line.category_budget
    keys = booking and booking.pk, category_budget and category_budget.pk
    return BudgetPosting(*keys, line.first_day, line.last_day, amounts)


def record_posting(line: LineItem, status: str) -> BudgetPosting:
    """The posting of a stored line."""
    amounts = budget_amounts(status, False, line.total, line.amount_paid)
    keys = line.booking_id, line.category_budget_id
    return BudgetPosting(*keys, line.first_day, line.last_day, amounts)


def post_to_budgets(
    postings: Iterable[BudgetPosting], batch: WriteBatch | None = None, periods: Periods | None = None
) -> None:
    """Add postings to the budgets and their funding periods, in the transaction of the change.

    ``periods``: those of the budgets, where their plans are locked (``amounts``).

    Locks service bookings, then category budgets, each in the order of their keys: to be called once, after
    everything else is locked. They are sent with the ``batch`` when one is given.
    """
    bookings: dict[UUID, Amounts] = defaultdict(Amounts)
    components: dict[tuple[UUID, dt.date, dt.date], list[Amounts]] = defaultdict(list)
    for booking, category_budget, first_day, last_day, amounts in postings:
        if booking is not None:
            bookings[booking] += amounts
        elif category_budget is not None:
            of_days = components[category_budget, first_day, last_day]
            if of_days and -amounts in of_days:
                of_days.remove(-amounts)
            else:
                of_days.append(amounts)
    changes = {key: amounts for key, amounts in bookings.items() if amounts != Amounts()}
    own_batch = batch or WriteBatch()
    if changes:
        record_amounts(changes, ServiceBooking, own_batch)
    dated = [
        DatedChange(*key, amounts)
        for key, of_days in components.items()
        for amounts in ([sum(of_days, Amounts())] if key[1] == key[2] else of_days)
        if amounts != Amounts()
    ]
    if dated:
        record_dated_amounts(dated, own_batch, periods)
    if batch is None:
        own_batch.send()


#: The budgets in the order in which they are locked everywhere, by the line's reference to them.
BUDGETS: Mapping[str, type[Budget]] = {"booking": ServiceBooking, "category_budget": CategoryBudget}


def write_history_of_left_budgets(before: Iterable[BudgetPosting], after: Iterable[BudgetPosting]) -> None:
    """The history of budgets that all these lines left: no bill's entry leads to them any more.

    ``before`` and ``after``: what the lines counted and what they count, which is stored already.
    """
    current = {posting.budget for posting in after}
    left: dict[UUID, Amounts] = defaultdict(Amounts)
    for posting in before:
        if posting.budget is not None and posting.budget not in current:
            left[posting.budget] += posting.amounts
    for model in BUDGETS.values() if left else ():
        stored = lock_amounts(model._default_manager.filter(AnyOf("pk", left)))
        write_history(model, {key: (amounts + left[key], amounts) for key, amounts in stored.items()})


#: The lines that count on budgets, by their reference to the bill.
LINES: Mapping[str, type[models.Model]] = {"claim": ClaimLine, "invoice": InvoiceLine}


def lines_on_budget(budget: Budget | CoveringBudget) -> dict[str, QuerySet[models.Model]]:
    """The lines of claims, and of invoices, that refer to a budget, with their bills; the latest first.

    Those of archived, rejected or cancelled bills are included: they count nothing.
    """
    model = budget.model if isinstance(budget, CoveringBudget) else type(budget)
    name = "booking" if model is ServiceBooking else "category_budget"
    return {
        f"{bill}s": line._default_manager.filter(**{name: budget.pk})
        .select_related(bill, "product")
        .order_by("-first_day", "guid")
        for bill, line in LINES.items()
    }


# --- budgets, recounted ---------------------------------------------------------------------------------


class Recount(NamedTuple):
    """How many budgets and funding periods differed from the lines that count on them."""

    bookings: int
    category_budgets: int
    periods: int

    def __str__(self) -> str:
        return (
            f"{self.bookings:,} service bookings, {self.category_budgets:,} budgets by category and"
            f" {self.periods:,} funding periods"
        )


@transaction.atomic
def recount_budgets() -> Recount:
    """Replace the amounts of every budget and funding period by the sums of the lines that count on it.

    All budgets are locked before anything is summed: a transition that runs meanwhile has posted to them
    before, or posts to what is restated here.
    """
    stored = {name: lock_amounts(budget._default_manager.all()) for name, budget in BUDGETS.items()}
    bookings, components = (
        restate_amounts(budget, stored[name], sum_lines(name)) for name, budget in BUDGETS.items()
    )
    return Recount(bookings, components, restate_periods(FundingPeriod.objects.all()))


def restate_periods_of(components: Sequence[UUID]) -> None:
    """As ``restate_periods``, for those of components; without lines there is nothing to divide."""
    name = "category_budget"
    lines, *others = [
        line._default_manager.filter(AnyOf(name, components)).order_by().values_list(name)
        for line in LINES.values()
    ]
    with_lines = [component for (component,) in lines.union(*others)]
    if with_lines:
        restate_periods(FundingPeriod.objects.filter(AnyOf(name, with_lines)))


def restate_periods(periods: QuerySet[FundingPeriod]) -> int:
    """Replace the amounts of funding periods by those of the lines of their days; how many differed.

    In the caller's transaction, which has locked their budgets or the plans of these.
    """
    of_budget: dict[UUID, list[tuple[UUID, tuple[dt.date, dt.date]]]] = defaultdict(list)
    stored: dict[UUID, Amounts] = {}
    columns = ("pk", "category_budget", "first_day", "last_day", *AMOUNT_COLUMNS)
    locked = periods.select_for_update(of=("self",)).order_by("pk").values_list(*columns)
    for period, budget, first, last, *amounts in locked:
        of_budget[budget].append((period, (first, last)))
        stored[period] = Amounts(*amounts)
    if not stored:
        return 0
    sums: dict[UUID, Amounts] = defaultdict(Amounts)
    for budget, amounts, first, last in sum_by_status(query(of_budget) for query in DATED_SUMS):
        for period, days in of_budget[budget]:
            shares = [share_of_days(each, (first, last), days) for each in amounts]
            sums[period] += Amounts(*shares)
    return restate_amounts(FundingPeriod, stored, sums)


def sum_lines(budget: str) -> dict[UUID, Amounts]:
    """The sums of all lines on each of the budgets that lines refer to by this name."""
    sums: dict[UUID, Amounts] = defaultdict(Amounts)
    for key, amounts in sum_by_status(sums_on(budget, bill)() for bill in LINES):
        sums[key] += amounts
    return sums


def sum_by_status(queries: Iterable[SqlStatement]) -> Iterator[tuple[Any, ...]]:
    """(budget, what counts on it, first and last day if asked for) of the lines in each status."""
    for rows in fetch_all(list(queries)):
        for budget, status, archived, resubmission, total, paid, *days in rows:
            part = resubmission and Resubmission(resubmission)
            yield budget, budget_amounts(status, archived, total, paid, part), *days[:2]


def sums_of_lines(
    bill: str, budget: str, condition: Q | AnyOf, by: Mapping[str, object] = MappingProxyType({})
) -> QuerySet[Any, Any]:
    """The lines of bills on budgets, summed in each status and by the columns ``by``."""
    line = LINES[bill]
    archived = Q(**{f"{bill}__archive_date__isnull": False})
    status = f"{bill}__funding_status"
    lines = line._default_manager.filter(condition).order_by()
    sums = lines.values(budget, status, archived=archived, **by).annotate(
        resubmission=resubmission_of(bill),
        total_sum=MoneySum("total"),
        paid_sum=MoneySum("amount_paid"),
    )
    return sums.values_list(budget, status, "archived", "resubmission", "total_sum", "paid_sum", *by)


@lru_cache(maxsize=4)
def sums_on(budget: str, bill: str) -> PreparedQuery:
    """The query of all lines of bills on the budgets that they refer to by this name."""
    return query_by_values(lambda: sums_of_lines(bill, budget, Q(**{f"{budget}__isnull": False})))


#: Lines of one day are summed by it; those of several days are divided one by one.
DAYS: Mapping[str, Any] = {
    "first": F("first_day"),
    "last": F("last_day"),
    "of_several_days": Case(When(last_day__gt=F("first_day"), then=F("pk"))),
}


def dated_sums(bill: str) -> PreparedQuery:
    """The query of the lines of bills on components, by their days."""
    name = "category_budget"
    return query_by_values(lambda keys: sums_of_lines(bill, name, AnyOf(name, keys), DAYS))


DATED_SUMS = [dated_sums(bill) for bill in LINES]


def resubmission_of(bill: str) -> Case:
    """The part of a line that a current resubmission took over; null when none matters."""
    is_current = Q(resubmitted_as__isnull=False, resubmitted_as__archive_date=None)
    # A bill of which nothing was paid is closed: its resubmission makes no difference.
    was_paid = Q(**{f"{bill}__funding_status": InvoiceStatus.AGENCY_PARTIALLY_PAID}) | ~Q(amount_paid=0)
    return Case(
        When(was_paid & is_current & ~Q(resubmitted_as__paid_earlier=0), then=Value(Resubmission.FULL.value)),
        When(was_paid & is_current, then=Value(Resubmission.GAP.value)),
        default=Value(None),
        output_field=models.CharField(null=True),
    )


# --- provider invoices ----------------------------------------------------------------------------------


def lock_provider_invoices(claims: Iterable[object]) -> dict[UUID, ProviderInvoice]:
    """Lock the provider invoices of claims, by key: transitions and updates of these claims wait here."""
    existing = Claim.objects.filter(AnyOf("pk", claims)).order_by()
    invoices = ProviderInvoice.objects.filter(pk__in=existing.values("provider_invoice")).order_by("pk")
    return {invoice.pk: invoice for invoice in invoices.select_for_update(of=("self",))}


#: Claims that are to bring money in, or did.
CURRENT_CLAIMS = Q(archive_date=None) & ~Q(funding_status__in=ENDED)


def boolean(condition: Q) -> ExpressionWrapper:
    return ExpressionWrapper(condition, output_field=BooleanField())


CLAIMS_ON_INVOICE = Claim.objects.filter(provider_invoice=OuterRef("pk")).order_by()

#: By a claim that took the provider invoice; the database has an index of these claims alone.
IS_TAKEN = Q(Exists(CLAIMS_ON_INVOICE.filter(takes_provider_invoice=True)))

#: What ``claim_on_hold`` and ``is_claimed`` must say.
CORRECT_FLAGS = {
    "correct_on_hold": boolean(
        Q(approval_status__in=ON_HOLD) & Q(Exists(CLAIMS_ON_INVOICE.filter(CURRENT_CLAIMS)))
    ),
    "correct_claimed": boolean(
        Q(is_reusable=False) & IS_TAKEN
        | Q(is_reusable=True) & Q(Exists(CLAIMS_ON_INVOICE.filter(archive_date=None)))
    ),
}
FLAG_COLUMNS = ("pk", "claim_on_hold", "correct_on_hold", "is_claimed", "correct_claimed")


def update_claim_flags(keys: Iterable[UUID]) -> int:
    """Correct ``claim_on_hold`` and ``is_claimed`` of these provider invoices; how many were wrong.

    To be called whenever claims on them are created, moved, archived, restored or ended, and when one becomes
    reusable. The caller holds their locks: what is read here is not read again.
    """
    records = ProviderInvoice.objects.filter(AnyOf("pk", set(keys)))
    rows = records.select_for_update(of=("self",)).order_by("pk").annotate(**CORRECT_FLAGS)
    on_hold: dict[bool, list[UUID]] = {True: [], False: []}
    claimed: list[UUID] = []
    for key, claim_on_hold, correct_on_hold, is_claimed, correct_claimed in rows.values_list(*FLAG_COLUMNS):
        if claim_on_hold != correct_on_hold:
            on_hold[correct_on_hold].append(key)
        if is_claimed != correct_claimed:
            claimed.append(key)
    for value, wrong in on_hold.items():
        if wrong:
            invoices = ProviderInvoice.objects.filter(AnyOf("pk", wrong))
            invoices.update(claim_on_hold=value, modify_date=clock.now())
            changed = history.describe(
                ProviderInvoice, {"claim_on_hold": not value}, {"claim_on_hold": value}
            )
            history.write_entries(ProviderInvoice, wrong, "Changed", changed)
    if claimed:
        ProviderInvoice.objects.filter(AnyOf("pk", claimed)).update(is_claimed=~F("is_claimed"))
    return len({*on_hold[True], *on_hold[False], *claimed})


def recount_claim_flags() -> int:
    """Correct the flags of all provider invoices; how many were wrong. Needs a transaction.

    Wrong ones are locked before they are read again: somebody may be building a claim on one.
    """
    is_wrong = ~Q(claim_on_hold=F("correct_on_hold")) | ~Q(is_claimed=F("correct_claimed"))
    wrong = ProviderInvoice.objects.annotate(**CORRECT_FLAGS).order_by().filter(is_wrong)
    keys = list(wrong.values_list("pk", flat=True))
    locked = ProviderInvoice.objects.filter(AnyOf("pk", keys)).order_by("pk").select_for_update()
    return update_claim_flags(list(locked.values_list("pk", flat=True))) if keys else 0


def recount_amounts() -> None:
    """Restate budgets and provider invoices, after bills were deleted; in the caller's transaction."""
    recount_budgets()
    recount_claim_flags()


def apply_claim_effects(claims: Sequence[ClaimDraft]) -> None:
    """Change the provider invoices of claims that were created or updated.

    Those of single use get what they lack and their claims have. The flags are corrected where a provider
    invoice is on hold, and of those that updated claims left or came to.
    """
    incomplete: list[ProviderInvoice] = []
    affected: set[UUID] = set()
    for claim in claims:
        invoice = claim.provider_invoice
        previous = claim.previous_provider_invoice_id or invoice.pk
        if previous != invoice.pk:
            affected |= {previous, invoice.pk}
        elif invoice.approval_status in ON_HOLD:
            affected.add(invoice.pk)
        if invoice.is_reusable or None not in (invoice.reference, invoice.contact_id, invoice.provider_id):
            continue
        incomplete.append(invoice)
        if invoice.contact_id is None:
            invoice.contact = claim.contact
        if invoice.provider_id is None:
            invoice.provider = claim.provider
        # References are unique per provider: another provider's reference is not written here.
        if invoice.reference is None and invoice.provider_id == claim.provider.pk:
            invoice.reference = claim.provider_invoice_reference
    if incomplete:
        saving.save_records(ProviderInvoice, incomplete)
    if affected:
        update_claim_flags(affected)
