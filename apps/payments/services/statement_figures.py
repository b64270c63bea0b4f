"""The figures of statements: what a participant's claims of a month came to, what is left of the plan.

Read only; the statements of SQL are constant, however many participants. A claim, or an invoice to the
agency, is of the month in which a line's support ended.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.money import ZERO
from apps.core.models import Subscriber
from apps.engagements.choices import ManagementType
from apps.engagements.models import (
    Budget,
    CategoryBudget,
    ClientEngagement,
    ServiceBooking,
    ended_before,
)
from apps.engagements.spending import Spending
from apps.funding.choices import InvoiceClaimType
from apps.funding.models import Claim, ClaimLine, ClaimResult, Invoice, InvoiceLine, LineItem
from apps.funding.services.effects import budget_amounts, resubmission_of
from apps.funding.statuses import STATUSES, OpenAmount, Phase
from apps.funding.validation.guards import AnyBill
from apps.funding.validation.transitions import Resubmission
from apps.payments.models import StatementBudget, StatementLine

AMOUNTS = ("paid", "claimed", "waiting", "refused")
NO_BUDGET = "Not in a budget of the plan"
NOT_CLAIMED = "Not claimed from the agency yet."


@dataclass(slots=True)
class StatementFigures:
    """A participant's month: lines and budgets that are not stored, and the plan of the month's last day."""

    lines: list[StatementLine] = field(default_factory=list)
    budgets: list[StatementBudget] = field(default_factory=list)
    plan: ClientEngagement | None = None

    def sum(self, column: str) -> Decimal:
        return sum((getattr(line, column) for line in self.lines), ZERO)


def load_figures(month: dt.date, contacts: Sequence[UUID], today: dt.date) -> dict[UUID, StatementFigures]:
    """The figures of these participants by their keys, with what is left of their plans on a day."""
    found = {key: StatementFigures() for key in contacts}
    own_name = Subscriber.current().name
    for line in bill_lines(ClaimLine, Claim, month, contacts):
        add_line(found[line.claim.contact_id], line, line.claim, line.claim.provider.business_name)
    for line in bill_lines(InvoiceLine, Invoice, month, contacts):
        add_line(found[line.invoice.contact_id], line, line.invoice, own_name)
    plans = load_plans(month, contacts)
    for key, budgets in load_budgets(plans, today).items():
        found[key].budgets, found[key].plan = budgets, plans[key]
    for figures in found.values():
        figures.lines.sort(key=lambda each: (each.budget, each.provider, each.number))
    return found


# --- what was spent -------------------------------------------------------------------------------------


def bill_lines(
    line: type[LineItem], model: type[AnyBill], month: dt.date, contacts: Sequence[UUID]
) -> QuerySet[Any]:
    """The lines of bills that count in the month, with their bills and what decides how they count."""
    bill = str(model._meta.model_name)
    newer = model._default_manager.filter(resubmission_of=OuterRef(bill), archive_date=None)
    results = ClaimResult.objects.filter(
        Q((f"file_line__{bill}_line", OuterRef("pk"))), is_accepted=False, file_line__is_withdrawn=False
    )
    condition = Q((f"{bill}__archive_date", None), last_day__range=(month, clock.month_end(month)))
    if model is Invoice:
        condition &= Q(invoice__invoice_claim_type=InvoiceClaimType.INVOICE_TO_AGENCY)
    return (
        line._default_manager.filter(AnyOf(f"{bill}__contact", contacts), condition)
        .annotate(
            resubmission=resubmission_of(bill),
            is_resubmitted=Exists(newer),
            is_refused=Exists(results),
            agency_text=Subquery(results.order_by().values("text")[:1]),
        )
        .select_related(bill, *([f"{bill}__provider"] if model is Claim else []))
        .select_related("booking__category", "category_budget__category")
        .order_by(f"{bill}__creation_date", bill, "position", "pk")
    )


def add_line(figures: StatementFigures, line: Any, bill: AnyBill, provider: str) -> None:
    """Add what a line counts, if anything, to the statement's line of its bill and budget."""
    amounts, reason = count_line(line, bill)
    if not any(amounts.values()):
        return
    budget = line.booking or line.category_budget
    name = NO_BUDGET if budget is None else budget_name(budget)
    same = (each for each in figures.lines if (each.number, each.budget) == (str(bill), name))
    found = next(same, None)
    if found is None:
        reference = getattr(bill, "provider_invoice_reference", "")
        found = StatementLine(budget=name, provider=provider, number=str(bill), reference=reference)
        figures.lines.append(found)
    for column, amount in amounts.items():
        setattr(found, column, getattr(found, column) + amount)
    found.reason = found.reason or reason


def count_line(line: Any, bill: AnyBill) -> tuple[dict[str, Decimal], str]:
    """The amounts of a line by the columns of a statement's line, and why it is refused or waits.

    Paid, claimed and waiting are what it counts on its budget, but for what the agency refused of a claim.
    """
    resubmission = line.resubmission and Resubmission(line.resubmission)
    counted = budget_amounts(bill.funding_status, False, line.total, line.amount_paid, resubmission)
    claimed, refused = counted.claimed - counted.paid, ZERO
    if line.is_refused and STATUSES[bill.funding_status].open_amount is OpenAmount.CLAIMED:
        claimed, refused = ZERO, claimed
    elif bill.status.phase is Phase.REJECTED and not line.is_resubmitted:
        refused = line.total - line.amount_paid
    amounts = dict(zip(AMOUNTS, (counted.paid, claimed, counted.waiting, refused), strict=True))
    if refused:
        return amounts, (line.agency_text or bill.status_reason or bill.status.label)[:400]
    if counted.waiting:
        return amounts, (bill.status_reason or NOT_CLAIMED)[:400]
    return amounts, ""


def budget_name(budget: Budget) -> str:
    """The category of a budget in words; of a booking for a single support, that."""
    category = budget.category if isinstance(budget, ServiceBooking | CategoryBudget) else None
    return category.name if category is not None else str(budget)


# --- what is left ---------------------------------------------------------------------------------------


def load_plans(month: dt.date, contacts: Sequence[UUID]) -> dict[UUID, ClientEngagement]:
    """The plans of participants on the last day of the month, else the last one in it."""
    rows = ClientEngagement.objects.filter(
        AnyOf("participant", contacts), plans_in(month), archive_date=None
    ).order_by("plan_start_date", "guid")
    return {plan.participant_id: plan for plan in rows}


def plans_in(month: dt.date) -> Q:
    return Q(plan_start_date__lte=clock.month_end(month)) & ~ended_before(month)


def load_budgets(plans: Mapping[UUID, ClientEngagement], today: dt.date) -> dict[UUID, list[StatementBudget]]:
    """The budgets of plans by participant, one for each name, and when they run out at the present pace."""
    by_key = {plan.pk: plan for plan in plans.values()}
    found: dict[UUID, dict[str, list[Budget]]] = defaultdict(lambda: defaultdict(list))
    models: Iterable[Any] = (ServiceBooking, CategoryBudget)
    for model in models:
        rows = model.objects.filter(AnyOf("engagement", by_key)).select_related("category")
        if model is CategoryBudget:
            rows = rows.prefetch_related("periods")
        for budget in rows.order_by(F("category__number").asc(nulls_last=True), "pk"):
            plan = budget.engagement = by_key[budget.engagement_id]
            name = budget_name(budget)
            if budget.management_type != ManagementType.PLAN:
                name = f"{name} (managed by others: {budget.get_management_type_display().lower()})"
            found[plan.participant_id][name].append(budget)
    return {
        key: [statement_budget(name, parts, today) for name, parts in found.get(key, {}).items()]
        for key in plans
    }


def add_spendings(parts: Sequence[Spending]) -> Spending:
    names = ("budget", "used_elsewhere", "claimed", "paid", "waiting")
    sums = [sum((getattr(each, name) for each in parts), ZERO) for name in names]
    first, last = min(each.first_day for each in parts), max(each.last_day for each in parts)
    return Spending(first, last, parts[0].today, *sums)


def statement_budget(name: str, budgets: Sequence[Budget], today: dt.date) -> StatementBudget:
    spending = add_spendings([budget.spending(today) for budget in budgets])
    runs_out = spending.run_out_date
    if any(budget.has_periods for budget in budgets):
        runs_out = first_run_out(budgets, today)
    elif spending.last_day < min(today, budgets[0].engagement.last_day):
        runs_out = spending.last_day  # a booking that ended before its plan
    return StatementBudget(name=name[:200], budget=spending.budget, used=spending.spent, runs_out=runs_out)


def first_run_out(budgets: Sequence[Budget], today: dt.date) -> dt.date | None:
    """The day on which the first of them runs out: periods release no money before their days."""
    forecasts = [
        budget.forecast(today) if budget.has_periods else budget.spending(today) for budget in budgets
    ]
    return min((day for each in forecasts if each and (day := each.run_out_date)), default=None)
