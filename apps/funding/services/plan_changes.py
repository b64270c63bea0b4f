"""A plan that replaces another one: its budgets begin as copies, and lines go to the plan of their day."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction

from apps.base.batched_queries import AnyOf, fetch_all
from apps.base.drafts import Issue, ValidationFailed
from apps.base.errors import Conflict
from apps.base.money import ZERO
from apps.core import saving
from apps.engagements.amounts import Amounts
from apps.engagements.coverage import Coverage, CoveringBudget, Support, load_coverages, plan_query
from apps.engagements.drafts import EngagementDraft, PeriodsDraft
from apps.engagements.models import Budget, ClientEngagement, ServiceBooking
from apps.engagements.plan_copies import (
    DayMoves,
    PlanTerms,
    booking_draft,
    component_draft,
    moved_periods,
    plan_draft,
)
from apps.engagements.services import (
    create_bookings,
    create_category_budgets,
    create_engagements,
    save_periods,
    update_engagements,
)
from apps.funding.models import Claim, ClaimFile, ClaimFileLine, Invoice, LineItem
from apps.funding.services.context import MANAGEMENT
from apps.funding.services.effects import (
    BudgetPosting,
    BudgetState,
    lock_provider_invoices,
    post_to_budgets,
    write_history_of_left_budgets,
)
from apps.funding.services.payments import LINE_MODELS
from apps.funding.statuses import ENDED, UNCLAIMED, InvoiceStatus
from apps.funding.validation.guards import AnyBill
from apps.funding.validation.transitions import Resubmission

#: How often locks are tried again when bills of the days were entered before their plan was locked.
ATTEMPTS = 5
#: No plan is for longer, nor begins so much later: such years are typing mistakes.
MOST_YEARS = 10

BILLS: tuple[type[AnyBill], ...] = (Claim, Invoice)


@dataclass(frozen=True, slots=True)
class BudgetCopy:
    """A budget of the old plan and what the new plan has of it: ``days`` and ``periods`` of the new budget.

    ``is_copied`` is false for a booking whose days would lie after the new plan.
    """

    budget: Budget
    days: tuple[dt.date, dt.date] | None
    periods: int = 0

    @property
    def is_copied(self) -> bool:
        return self.days is not None


@dataclass(frozen=True, slots=True)
class PlacedLine:
    """A line from the new plan's first day on, with the budgets it counted on and counts on now.

    ``reason``: why it stays where it is; empty when it moved. ``counts``: its amount is in a budget's sums;
    that of a refused, cancelled or archived bill is in none.
    """

    model: type[AnyBill]
    bill: UUID
    bill_number: str
    status: str
    number: int
    item: str
    first_day: dt.date
    last_day: dt.date
    total: Decimal
    counts: bool
    before: str
    after: str = ""
    reason: str = ""


@dataclass(slots=True)
class PlanChange:
    """The outcome of a change of plan, or of its preview; ``is_new``: it was not replaced before."""

    old: ClientEngagement
    new: ClientEngagement
    is_new: bool
    copies: list[BudgetCopy] = field(default_factory=list)
    moved: list[PlacedLine] = field(default_factory=list)
    staying: list[PlacedLine] = field(default_factory=list)

    @property
    def moved_total(self) -> Decimal:
        return sum((line.total for line in self.moved if line.counts), ZERO)

    @property
    def staying_total(self) -> Decimal:
        return sum((line.total for line in self.staying), ZERO)

    @property
    def allocated(self) -> Decimal:
        """The sum of the budgets of the new plan, which may be more than its total."""
        return sum((each.budget.budget for each in self.copies if each.is_copied), ZERO)


class Outrun(Exception):
    """Bills were entered that were not locked before their plans: everything is tried again."""


# --- the services ---------------------------------------------------------------------------------------


def change_plan(key: UUID, terms: PlanTerms) -> PlanChange:
    """Replace a plan by a new one from a day on; a plan that was replaced stays as it is.

    Locks as those do who enter and change bills: provider invoices, claims, invoices, plans, budgets, each by
    key. ``ValidationFailed`` has what is wrong with the terms: ``first_day``, ``last_day`` or ``total``.
    """
    change = try_again(partial(replace_plan, key, terms))
    if change.is_new:
        # Who waited for the old plan with a claim did not see the new one: its lines have no budget yet.
        change.moved += move_lines(key).moved
    return change


def preview_change(key: UUID, terms: PlanTerms) -> PlanChange:
    """The outcome of ``change_plan``, done and taken back."""
    with transaction.atomic():
        change = try_again(partial(replace_plan, key, terms))
        transaction.set_rollback(True)
    return change


def move_lines(key: UUID) -> PlanChange:
    """Move what may move by now of a plan that was replaced: what was refused, or taken out of a file."""
    return try_again(partial(move_lines_of_replaced, key))


def preview_moves(key: UUID) -> PlanChange:
    """The outcome of ``move_lines``, done and taken back."""
    with transaction.atomic():
        change = move_lines(key)
        transaction.set_rollback(True)
    return change


def find_successor(plan: ClientEngagement) -> ClientEngagement | None:
    """The plan that replaced this one; ``None`` while it was not replaced."""
    others = ClientEngagement.objects.filter(participant=plan.participant_id, archive_date=None)
    return choose_successor(plan, others)


def choose_successor(plan: ClientEngagement, plans: Iterable[ClientEngagement]) -> ClientEngagement | None:
    """A plan is replaced once it has ended early, by the next plan of its participant."""
    first, end = plan.plan_start_date, plan.no_active_plan_from_date
    if end is None:
        return None
    later = [each for each in plans if each.plan_start_date > first and each.plan_start_date >= end]
    return min(later, key=lambda each: (each.plan_start_date, each.pk), default=None)


# --- the steps of a change ------------------------------------------------------------------------------

T = TypeVar("T")


def try_again(step: Callable[[], T]) -> T:
    """Do something in a transaction of its own, whose locks are given back before it is tried again."""
    for _ in range(ATTEMPTS):
        try:
            with transaction.atomic():
                return step()
        except Outrun:
            continue
    raise Conflict("Claims of this participant are being entered. Try again in a moment.")


def replace_plan(key: UUID, terms: PlanTerms) -> PlanChange:
    participant = ClientEngagement.objects.values_list("participant", flat=True).get(pk=key)
    records = LockedPlans.of(participant, terms.first_day)
    old, others = records.plan_and_others(key)
    successor = choose_successor(old, others)
    if successor is not None:
        return PlanChange(old, successor, is_new=False)
    if issues := [(0, issue) for issue in find_issues(old, terms, others)]:
        raise ValidationFailed(issues)
    close_plan(old, terms.first_day)
    [new_key] = create_engagements([plan_draft(old, terms)], ignore_warnings=True)
    new = ClientEngagement.objects.select_related("participant").get(pk=new_key)
    change = PlanChange(old, new, is_new=True, copies=copy_budgets(old, new))
    records.place_lines(change)
    return change


def move_lines_of_replaced(key: UUID) -> PlanChange:
    plan = ClientEngagement.objects.get(pk=key)
    successor = find_successor(plan)
    if successor is None:
        raise ValidationFailed([(0, Issue("NotAllowed", "", "The plan was not replaced."))])
    records = LockedPlans.of(plan.participant_id, successor.plan_start_date)
    old, others = records.plan_and_others(key)
    successor = choose_successor(old, others)
    if successor is None:
        raise Outrun
    change = PlanChange(old, successor, is_new=False)
    records.place_lines(change)
    return change


def find_issues(
    old: ClientEngagement, terms: PlanTerms, others: Iterable[ClientEngagement]
) -> Iterator[Issue]:
    first, last = terms.first_day, terms.last_day
    if old.is_archived:
        yield Issue("Archived", "", f"{old} is archived; restore it before you replace it.", is_state=True)
    if first <= old.plan_start_date:
        message = f"The old plan begins on {old.plan_start_date:%d %b %Y}; a new one begins after that day."
        yield Issue("OutOfOrder", "first_day", message)
    elif first.year > old.plan_end_date.year + MOST_YEARS:
        yield Issue("OutOfRange", "first_day", "It is years after the end of the old plan.")
    if last < first:
        yield Issue("OutOfOrder", "last_day", "The plan ends before it starts.")
    elif last.year > first.year + MOST_YEARS:
        yield Issue("OutOfRange", "last_day", f"No plan is for more than {MOST_YEARS} years.")
    if terms.total < 0:
        yield Issue("OutOfRange", "total", "A budget is not negative.")
    for plan in sorted(others, key=lambda plan: plan.plan_start_date):
        if first <= plan.last_day and plan.plan_start_date <= last:
            yield Issue(
                "PlansOverlap",
                "first_day" if plan.plan_start_date <= first else "last_day",
                f"Another plan of the participant runs from {plan.plan_start_date:%d %b %Y}"
                f" to {plan.last_day:%d %b %Y}.",
            )


def close_plan(plan: ClientEngagement, day: dt.date) -> None:
    """Let a plan end on the day before this one, unless it has ended earlier."""
    if plan.no_active_plan_from_date is None or plan.no_active_plan_from_date > day:
        values = {"no_active_plan_from_date": day}
        update_engagements([EngagementDraft(values, values, key=plan.pk)], ignore_warnings=True)
        plan.no_active_plan_from_date = day


def copy_budgets(old: ClientEngagement, new: ClientEngagement) -> list[BudgetCopy]:
    """Store the budgets of the new plan, as a start; what became of each of the old ones."""
    moves = DayMoves(old.plan_start_date, old.plan_end_date, new.plan_start_date, new.plan_end_date)
    if old.is_pace:
        return copy_components(old, new, moves)
    copies, drafts = [], []
    for booking in old.bookings.select_related("category", "budget_manager"):
        draft = booking_draft(booking, new, moves)
        if draft is None:
            copies.append(BudgetCopy(booking, None))
            continue
        drafts.append(draft)
        days = draft.booking_start_date or moves.new_first, draft.booking_end_date or moves.new_last
        copies.append(BudgetCopy(booking, days))
    create_bookings(drafts, ignore_warnings=True)
    return copies


def copy_components(old: ClientEngagement, new: ClientEngagement, moves: DayMoves) -> list[BudgetCopy]:
    budgets = list(old.category_budgets.select_related("category").prefetch_related("periods"))
    drafts = [component_draft(budget, new) for budget in budgets]
    keys = create_category_budgets(drafts, ignore_warnings=True)
    periods = [moved_periods(budget.periods.all(), moves) for budget in budgets]
    with_periods = [
        PeriodsDraft({"periods": rows}, key=key) for key, rows in zip(keys, periods, strict=True) if rows
    ]
    if with_periods:
        save_periods(with_periods, ignore_warnings=True)
    days = moves.new_first, moves.new_last
    return [BudgetCopy(budget, days, len(rows)) for budget, rows in zip(budgets, periods, strict=True)]


# --- lines ----------------------------------------------------------------------------------------------

Keys = Mapping[type[AnyBill], set[UUID]]


def find_bills(participant: UUID, since: dt.date) -> Keys:
    """The keys of a participant's bills with a line that ends on this day or later, of any status."""
    found: dict[type[AnyBill], set[UUID]] = {}
    for model in BILLS:
        name = str(model._meta.model_name)
        lines: Any = LINE_MODELS[model]
        rows = lines.objects.filter(**{f"{name}__contact": participant}, last_day__gte=since)
        found[model] = set(rows.order_by().values_list(name, flat=True))
    return found


@dataclass(frozen=True, slots=True)
class LockedPlans:
    """A participant's plans, and the bills with lines since a day, locked in the order of everybody.

    Nobody enters or changes lines of the participant, moves these bills or resubmits one of them meanwhile.
    """

    since: dt.date
    participant: UUID
    bills: Mapping[type[AnyBill], Mapping[UUID, AnyBill]]
    plans: Mapping[UUID, ClientEngagement]

    @classmethod
    def of(cls, participant: UUID, since: dt.date) -> LockedPlans:
        keys = find_bills(participant, since)
        lock_provider_invoices(keys[Claim])
        bills: dict[type[AnyBill], dict[UUID, AnyBill]] = {}
        for model, own in keys.items():
            rows: Any = model._default_manager.filter(AnyOf("guid", own)).order_by("pk")
            bills[model] = {bill.pk: bill for bill in rows.select_for_update(of=("self",))}
        plans = ClientEngagement.objects.filter(participant=participant).order_by("pk")
        locked = plans.select_related("participant").select_for_update(of=("self",))
        records = cls(since, participant, bills, {plan.pk: plan for plan in locked})
        current = find_bills(participant, since)
        if any(not current[model] <= bills[model].keys() for model in BILLS):
            raise Outrun
        for model in BILLS:
            for key in bills[model].keys() - current[model]:  # changed before they were locked
                del bills[model][key]
        return records

    def plan_and_others(self, key: UUID) -> tuple[ClientEngagement, list[ClientEngagement]]:
        """A plan, and the other plans of its participant that are not archived."""
        return self.plans[key], [
            plan for plan in self.plans.values() if plan.pk != key and not plan.is_archived
        ]

    def place_lines(self, change: PlanChange) -> None:
        """Move lines to the plans of their days, and note in the change those that moved and that stay."""
        lines = [line for model in BILLS for line in self.load_lines(model)]
        supports: list[Support] = []
        for bill, line in lines:
            management = MANAGEMENT[getattr(bill, "invoice_claim_type", None)]
            supports.append(line.product.support(bill.contact_id, line.first_day, management))
        [plan_rows] = fetch_all([plan_query([self.participant])])
        coverages = load_coverages(supports, plan_rows)
        unsent = lines_in_unsent_files(self.bills)
        moves: list[tuple[AnyBill, LineItem, CoveringBudget]] = []
        for (bill, line), coverage in zip(lines, coverages, strict=True):
            budget = budget_of(line)
            is_over_both = line.first_day < change.new.plan_start_date
            plan = coverage.plan and coverage.plan.pk
            if budget is not None and budget.engagement_id == plan and not is_over_both:
                continue
            reason = find_obstacle(bill, line, coverage, change, line.pk in unsent)
            placed = describe(bill, line, budget, reason)
            if reason is None and coverage.budget is not None:
                moves.append((bill, line, coverage.budget))
                change.moved.append(replace(placed, after=str(coverage.budget)))
            elif placed.counts and not (is_over_both and budget is None):
                change.staying.append(placed)
        save_moves(moves, {plan.pk: plan for plan in (*self.plans.values(), change.new)})

    def load_lines(self, model: type[AnyBill]) -> list[tuple[AnyBill, LineItem]]:
        """The lines since the day, with their bills and budgets, in the order of numbers and positions."""
        name, bills = str(model._meta.model_name), self.bills[model]
        lines: Any = LINE_MODELS[model]
        rows = lines.objects.filter(AnyOf(name, bills), last_day__gte=self.since)
        related = ("product", "booking__category", "category_budget__category", "resubmitted_as")
        found = [(bills[getattr(line, f"{name}_id")], line) for line in rows.select_related(*related)]
        return sorted(found, key=lambda each: (str(each[0]), each[1].position, each[1].pk))


def budget_of(line: LineItem) -> Any:
    return line.booking or line.category_budget


def lines_in_unsent_files(bills: Mapping[type[AnyBill], Collection[UUID]]) -> set[UUID]:
    """The lines of bills in claim files that can still be withdrawn."""
    found: set[UUID] = set()
    for model in BILLS:
        name = str(model._meta.model_name)
        rows = ClaimFileLine.objects.filter(
            AnyOf(name, bills[model]), is_withdrawn=False, claim_file__status=ClaimFile.Status.NOT_SENT
        )
        found.update(rows.values_list(f"{name}_line", flat=True))
    return found


def find_obstacle(
    bill: AnyBill, line: LineItem, coverage: Coverage, change: PlanChange, is_in_unsent_file: bool
) -> str | None:
    """Why a line stays on its budget; ``None`` when it moves.

    A line may move until somebody is asked for its money: an unsent claim file asks nobody yet. One of a bill
    that was refused or cancelled moves as well, though it counts nowhere: it is resubmitted as it stands.
    """
    if line.first_day < change.new.plan_start_date:
        return f"A line over two plans is not divided: it began before {change.new.plan_start_date:%d %b %Y}."
    if line.amount_paid:
        return f"{line.amount_paid:,.2f} was paid of it, and stays on the budget it was paid from."
    if not (bill.funding_status in UNCLAIMED | ENDED or is_in_unsent_file):
        return f"It is “{bill.status.label}”: its money was asked for already."
    if coverage.plan is None:
        return f"No plan covers {line.first_day:%d %b %Y}."
    if coverage.budget is None:
        return f"No budget of the plan from {coverage.plan.first_day:%d %b %Y} is for it."
    return None


def describe(bill: AnyBill, line: LineItem, budget: Budget | None, reason: str | None) -> PlacedLine:
    return PlacedLine(
        type(bill),
        bill.pk,
        str(bill),
        "Archived" if bill.is_archived else bill.status.label,
        line.position + 1,
        line.product.code,
        line.first_day,
        line.last_day,
        line.total,
        state_of(bill, line).amounts(line.total, line.amount_paid) != Amounts(),
        "" if budget is None else str(budget),
        reason=reason or "",
    )


def state_of(bill: AnyBill, line: LineItem) -> BudgetState:
    """How a line counts on its budget, with what a current resubmission took over of it."""
    newer, resubmission = getattr(line, "resubmitted_as", None), None
    was_paid = line.amount_paid != 0 or bill.funding_status == InvoiceStatus.AGENCY_PARTIALLY_PAID
    if newer is not None and not newer.is_archived and was_paid:
        resubmission = Resubmission.FULL if newer.paid_earlier else Resubmission.GAP
    return BudgetState(bill.funding_status, bill.is_archived, resubmission)


def save_moves(
    moves: Sequence[tuple[AnyBill, LineItem, CoveringBudget]], plans: Mapping[UUID, ClientEngagement]
) -> None:
    """Write the budgets of lines, what these count on both, and the history of their bills."""
    postings_before: list[BudgetPosting] = []
    postings_after: list[BudgetPosting] = []
    lines: dict[type[AnyBill], list[LineItem]] = defaultdict(list)
    entries: dict[AnyBill, dict[str, list[object]]] = defaultdict(dict)
    for bill, line, budget in moves:
        amounts = state_of(bill, line).amounts(line.total, line.amount_paid)
        before = budget_of(line)
        postings_before.append(posting_of(line, amounts))
        is_booking = budget.model is ServiceBooking
        line.booking_id = budget.pk if is_booking else None
        line.category_budget_id = None if is_booking else budget.pk
        postings_after.append(posting_of(line, amounts))
        lines[type(bill)].append(line)
        entries[bill][f"Budget of line {line.position + 1}"] = [
            None if before is None else of_plan(str(before), plans[before.engagement_id]),
            of_plan(str(budget), plans[budget.plan]),
        ]
    for model, changed in lines.items():
        saving.update(LINE_MODELS[model], ("booking_id", "category_budget_id"), changed)
        saving.save_differences(
            model, [(bill, {}, rows) for bill, rows in entries.items() if isinstance(bill, model)]
        )
    post_to_budgets([*(-each for each in postings_before), *postings_after])
    write_history_of_left_budgets(postings_before, postings_after)


def posting_of(line: LineItem, amounts: Amounts) -> BudgetPosting:
    return BudgetPosting(line.booking_id, line.category_budget_id, line.first_day, line.last_day, amounts)


def of_plan(budget: str, plan: ClientEngagement) -> str:
    return f"{budget}, plan from {plan.plan_start_date:%d %b %Y}"
