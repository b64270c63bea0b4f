"""What claims and invoices draw on budgets, by where they stand; told at every move, and recounted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.db import models, transaction
from django.db.models import Case, Exists, OuterRef, Q, Sum, Value, When

from apps.engagements.models import Budget, CategoryBudget, ServiceBooking
from apps.engagements.services import Amounts, record_amounts, restate_amounts
from apps.funding.choices import InvoiceStatus
from apps.funding.models import ClaimLine, InvoiceLine
from apps.funding.statuses import STATUSES, OpenAmount, Resubmission

CENT = Decimal("0.01")


def budget_amounts(
    status: str,
    archived: bool,
    total: Decimal,
    paid: Decimal,
    passed_on: Resubmission | None = None,
) -> Amounts:
    """What a line, or the sum of lines, draws on its budget while its bill stands in this status.

    What was paid is claimed as long as the bill counts at all. The rest is waiting before somebody is asked
    for it, claimed afterwards, and nothing once it is closed or its gap passed on to another bill.
    """
    if archived or passed_on is Resubmission.FULL:
        return Amounts()
    if passed_on is Resubmission.GAP:
        return Amounts(claimed=paid, paid=paid)
    counts_as = STATUSES[status].open_amount
    if counts_as is OpenAmount.NOTHING:
        return Amounts(claimed=paid, paid=paid)
    if counts_as is OpenAmount.WAITING:
        return Amounts(claimed=paid, paid=paid, waiting=total - paid)
    return Amounts(claimed=total, paid=paid)


class BudgetPosting(NamedTuple):
    """By how much a line changed what is drawn on the budget it stands for; on none, it counts nowhere."""

    booking: UUID | None
    category_budget: UUID | None
    amounts: Amounts


def post_to_budgets(changes: Iterable[BudgetPosting]) -> None:
    """Add postings to the budgets, in the transaction of the change.

    Locks service bookings, then budgets by category, each in the order of their keys; so call it once, after
    everything else is locked.
    """
    bookings: dict[UUID, Amounts] = defaultdict(Amounts)
    categories: dict[UUID, Amounts] = defaultdict(Amounts)
    for booking, category_budget, amounts in changes:
        if booking is not None:
            bookings[booking] += amounts
        elif category_budget is not None:
            categories[category_budget] += amounts
    nothing = Amounts()
    record_amounts({key: sums for key, sums in bookings.items() if sums != nothing}, ServiceBooking)
    record_amounts({key: sums for key, sums in categories.items() if sums != nothing}, CategoryBudget)


# --- all of them anew -----------------------------------------------------------------------------------


class Recounted(NamedTuple):
    """How many budgets said something else than the lines that draw on them."""

    bookings: int
    category_budgets: int


#: The budgets in the order they are locked in everywhere, by the line's reference to them.
BUDGETS: Mapping[str, type[Budget]] = {"booking": ServiceBooking, "category_budget": CategoryBudget}


@transaction.atomic
def recount_budgets() -> Recounted:
    """Restate what every budget has claimed, paid and waiting from the lines that draw on it.

    All budgets are locked before anything is summed: who is moving a bill meanwhile either told them before,
    or adds to what is restated here.
    """
    for budget in BUDGETS.values():
        list(budget._default_manager.order_by("pk").select_for_update().values_list("pk", flat=True))
    mended = [restate_amounts(sums_of(name), budget) for name, budget in BUDGETS.items()]
    return Recounted(*mended)


def sums_of(budget: str) -> dict[UUID, Amounts]:
    """What all lines together draw on each of the budgets that lines refer to by this name."""
    sums: dict[UUID, Amounts] = defaultdict(Amounts)
    for line, bill in ((ClaimLine, "claim"), (InvoiceLine, "invoice")):
        for key, amounts in drawn_by(line, bill, budget):
            sums[key] += amounts
    return sums


def drawn_by(line: type[models.Model], bill: str, budget: str) -> Iterator[tuple[UUID, Amounts]]:
    """(budget, what draws on it) of the lines in each status, summed by the database."""
    rows = (
        line._default_manager.filter(**{f"{budget}__isnull": False})
        .order_by()
        .values(budget, f"{bill}__funding_status", archived=Q(**{f"{bill}__archive_date__isnull": False}))
        .annotate(passed_on=passing_on(line, bill), total_of=Sum("total"), paid_of=Sum("amount_paid"))
    )
    for row in rows:
        # SQLite sums decimals as floating point: right to the cent, and told with more.
        total, paid = row["total_of"].quantize(CENT), row["paid_of"].quantize(CENT)
        passed_on = row["passed_on"] and Resubmission(row["passed_on"])
        yield (
            row[budget],
            budget_amounts(row[f"{bill}__funding_status"], row["archived"], total, paid, passed_on),
        )


def passing_on(line: type[models.Model], bill: str) -> Case:
    """What the live resubmission of a line's bill took over; null when there is none that matters."""
    model: Any = line._meta.get_field(bill).related_model
    live = model.objects.filter(resubmission_of=OuterRef(bill), archive_date=None).order_by()
    whole = Exists(live.exclude(paid_earlier=0))
    # Of what was never paid there is nothing to tell apart: it is closed.
    may_have_been = Q(**{f"{bill}__funding_status": InvoiceStatus.AGENCY_PARTIALLY_PAID}) | ~Q(amount_paid=0)
    return Case(
        When(may_have_been & whole, then=Value(Resubmission.FULL.value)),
        When(may_have_been & Exists(live), then=Value(Resubmission.GAP.value)),
        default=Value(None),
        output_field=models.CharField(null=True),
    )
