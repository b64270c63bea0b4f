"""Services of plans, service bookings and category budgets: the only writers of these records.

Each takes drafts and raises ``ValidationFailed`` with every issue, or ``WarningsPresent`` unless warnings are
ignored; keys come in the order of the drafts.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.drafts import Draft, Issue, ValidationFailed, WarningsPresent, apply_rules
from apps.base.money import ZERO
from apps.core import archive, saving
from apps.core.bulk_insert import bulk_insert
from apps.core.services import Checks, Service, create_records, load_references, update_records
from apps.engagements.choices import CATEGORIES, category_guid
from apps.engagements.coverage import load_current_plans
from apps.engagements.drafts import (
    BookingDraft,
    Component,
    ComponentDraft,
    EngagementDraft,
    EnteredComponent,
    LosingDays,
    PeriodDraft,
    PeriodsDraft,
    WaitingSupport,
    WholeComponentDraft,
)
from apps.engagements.funding_periods import draw, with_used_elsewhere
from apps.engagements.models import (
    Budget,
    CategoryBudget,
    ClientEngagement,
    FundingPeriod,
    ServiceBooking,
    SupportCategory,
    codes_of,
    last_day_of_plan,
)
from apps.engagements.validation import (
    BOOKING_RULES,
    BOOKING_WARNINGS,
    CATEGORY_BUDGET_RULES,
    CATEGORY_BUDGET_WARNINGS,
    COMPONENTS_WARNINGS,
    ENGAGEMENT_RULES,
    ENGAGEMENT_WARNINGS,
    PERIODS_RULES,
    PERIODS_WARNINGS,
)

# --- plans, service bookings and category budgets -------------------------------------------------------


@transaction.atomic
def delete_budget(budget: Budget) -> None:
    """Delete a budget that was entered by mistake; ``ValidationFailed`` for one that money was claimed on."""
    current = type(budget)._default_manager.select_for_update().get(pk=budget.pk)
    if current.has_claims:
        raise ValidationFailed([(0, Issue("NotAllowed", "", f"Money was claimed on {current}: it stays."))])
    current.delete()


#: ``find(plans)``: what waits on the budgets of plans with these keys; the apps that count on budgets add
#: theirs.
FIND_WAITING: list[Callable[[Collection[UUID]], Iterable[WaitingSupport]]] = []

BOOKING_PERIOD = ("booking_start_date", "booking_end_date")

#: The first day of a plan or a booking, and the last one.
Days = tuple[dt.date, dt.date]


class ChangedDays(NamedTuple):
    """The days of a plan, or of a booking of the plan, before a change and after it."""

    plan: UUID
    before: Days
    after: Days

    @property
    def loses_any(self) -> bool:
        return self.after[0] > self.before[0] or self.after[1] < self.before[1]

    def find_losing(self, waiting: Iterable[WaitingSupport]) -> LosingDays:
        (first, last), (new_first, new_last) = self.before, self.after
        within = [each for each in waiting if first <= each.first_day and each.last_day <= last]
        return LosingDays(
            [each for each in within if each.first_day < new_first],
            [each for each in within if each.last_day > new_last],
        )


def load_losing_days(
    drafts: Sequence[EngagementDraft | BookingDraft], days: Mapping[UUID, ChangedDays]
) -> None:
    """Fill in what waits for days that drafts take, by their keys; nothing is asked where none takes any."""
    losing = {key: each for key, each in days.items() if each.loses_any}
    plans = {each.plan for each in losing.values()}
    waiting: dict[UUID, list[WaitingSupport]] = defaultdict(list)
    for support in (support for find in FIND_WAITING for support in (find(plans) if plans else ())):
        waiting[support.plan].append(support)
        waiting[support.budget].append(support)
    for draft in drafts:
        changed = losing.get(draft.key) if draft.key is not None else None
        draft.fill("losing_days", changed.find_losing(waiting[draft.key]) if changed else LosingDays())


def load_engagement_context(drafts: Sequence[EngagementDraft]) -> None:
    """Load what the warnings compare the plans with; two queries for all drafts, and what waits on them."""
    known = [draft for draft in drafts if draft.get("participant") is not None]
    plans = load_current_plans({draft.participant.pk for draft in known})
    keys = {draft.key for draft in drafts if draft.key is not None}
    columns = ("total_allocate_amount", "plan_start_date", "plan_end_date", "no_active_plan_from_date")
    stored = {
        key: row for key, *row in ClientEngagement.objects.filter(pk__in=keys).values_list("pk", *columns)
    }
    days: dict[UUID, ChangedDays] = {}
    for draft in drafts:
        allocated, *before = stored.get(draft.key, (ZERO,))
        draft.fill("allocated_amount", allocated)
        after = [draft.get(name) for name in columns[1:]]
        if before and None not in after[:2] and draft.invalid.isdisjoint(columns):
            both = ((first, last_day_of_plan(*ends)) for first, *ends in (before, after))
            days[draft.key] = ChangedDays(draft.key, *both)
    load_losing_days(drafts, days)
    for draft in known:
        current = plans.get(draft.participant.pk, ())
        draft.fill("other_plans", [plan for plan in current if plan.pk != draft.key])


def load_booking_context(drafts: Sequence[BookingDraft]) -> None:
    """Fill in whole plans and categories where drafts have bare keys, and the sums of the other bookings.

    Three queries for all drafts. Drafts of the same plan count one another.
    """
    plans = load_references(ClientEngagement, "engagement", drafts)
    load_references(SupportCategory, "category", drafts)
    budgets: dict[UUID, dict[UUID, Decimal]] = defaultdict(dict)
    before: dict[UUID, Sequence[dt.date | None]] = {}
    rows = ServiceBooking.objects.filter(AnyOf("engagement", plans))
    for key, booking, budget, *period in rows.values_list("engagement", "pk", "budget", *BOOKING_PERIOD):
        budgets[key][booking], before[booking] = budget, period
    earlier_drafts: dict[UUID, Decimal] = defaultdict(lambda: ZERO)
    for draft in drafts:
        key = draft.key_of("engagement")
        if key is None:
            continue
        others = budgets[key]
        if draft.key is not None:
            # Its former budget no longer counts, neither for itself nor for later drafts.
            others.pop(draft.key, None)
        draft.fill("allocated_to_others", sum(others.values(), ZERO) + earlier_drafts[key])
        earlier_drafts[key] += draft.get("budget") or ZERO
    days: dict[UUID, ChangedDays] = {}
    for draft in drafts:
        plan = plans.get(draft.key_of("engagement"))
        if plan is not None and draft.key in before and draft.invalid.isdisjoint(BOOKING_PERIOD):
            periods = (before[draft.key], [draft.get(name) for name in BOOKING_PERIOD])
            both = ((first or plan.plan_start_date, last or plan.last_day) for first, last in periods)
            days[draft.key] = ChangedDays(plan.pk, *both)
    load_losing_days(drafts, days)


def load_component_context(drafts: Sequence[ComponentDraft]) -> None:
    """Fill in whole plans and categories, and what other components of the plans pay for; three queries."""
    load_references(ClientEngagement, "engagement", drafts)
    load_references(SupportCategory, "category", drafts)
    components: dict[UUID, dict[object, Component]] = defaultdict(dict)
    plans = {draft.key_of("engagement") for draft in drafts} - {None}
    stored = CategoryBudget.objects.filter(AnyOf("engagement", plans)).select_related("category")
    for budget in stored:
        known = Component(str(budget), budget.categories, codes_of(budget.stated_items))
        components[budget.engagement_id][budget.pk] = known
    for draft in drafts:
        # Former states no longer count: what one gives up another may have, whatever their order.
        components[draft.key_of("engagement")].pop(draft.key, None)
    for number, draft in enumerate(drafts):
        of_plan = components[draft.key_of("engagement")]
        # Later drafts count it as it becomes.
        draft.fill("others", list(of_plan.values()))
        if not draft.invalid and (component := draft.component):
            of_plan[draft.key or number] = component


PLAN_CHECKS = Checks(ENGAGEMENT_RULES, ENGAGEMENT_WARNINGS, load_engagement_context)
BOOKING_CHECKS = Checks(BOOKING_RULES, BOOKING_WARNINGS, load_booking_context)
CATEGORY_BUDGET_CHECKS = Checks(CATEGORY_BUDGET_RULES, CATEGORY_BUDGET_WARNINGS, load_component_context)

create_engagements = partial(create_records, ClientEngagement, checks=PLAN_CHECKS)
update_engagements = partial(update_records, ClientEngagement, checks=PLAN_CHECKS)
create_bookings = partial(create_records, ServiceBooking, checks=BOOKING_CHECKS)
update_bookings = partial(update_records, ServiceBooking, checks=BOOKING_CHECKS)
create_category_budgets = partial(create_records, CategoryBudget, checks=CATEGORY_BUDGET_CHECKS)
update_category_budgets = partial(update_records, CategoryBudget, checks=CATEGORY_BUDGET_CHECKS)


@transaction.atomic
def archive_engagements(plans: QuerySet[ClientEngagement], ignore_warnings: bool = False) -> int:
    """Archive plans and return how many; ``WarningsPresent`` for those with money open on their budgets."""
    locked = list(plans.order_by("pk").select_for_update(of=("self",)))
    warnings = [(number, issue) for number, plan in enumerate(locked) for issue in find_open_money(plan)]
    if warnings and not ignore_warnings:
        raise WarningsPresent(warnings)
    return archive.archive(plans)


def find_open_money(plan: ClientEngagement) -> Iterator[Issue]:
    """The warning of a plan that is to be archived: what waits or is claimed on it no other plan counts."""
    spent = plan.spending(plan.budgets.all(), clock.today())
    unpaid = spent.claimed - spent.paid
    if not plan.is_archived and (spent.waiting or unpaid):
        yield Issue(
            "OpenMoney",
            "",
            f"{spent.waiting:,.2f} that waits and {unpaid:,.2f} that is claimed and not paid stay on its"
            " budgets, and no other plan counts them. A plan that ends needs no archiving: give the day from"
            " which there is no active plan.",
        )


# --- funding periods ------------------------------------------------------------------------------------

#: Restate the sums of the funding periods of these components from the claims of their days, in the
#: transaction that stores them; the apps that count on budgets add theirs.
RESTATE_PERIODS: list[Callable[[Sequence[UUID]], object]] = []


@transaction.atomic
def save_periods(drafts: Sequence[PeriodsDraft], ignore_warnings: bool = False) -> list[UUID]:
    """Make the funding periods of components what the drafts say; the keys of the components that changed.

    What was claimed is divided anew. Claims are entered when the new periods are stored: their plans are
    locked. A period that begins on the same day stays the same record.
    """
    keys = [draft.key for draft in drafts]
    of_components = CategoryBudget.objects.filter(AnyOf("pk", keys)).values("engagement")
    locked = ClientEngagement.objects.filter(pk__in=of_components).order_by("pk")
    locked = locked.only("plan_start_date", "plan_end_date")
    plans = {plan.pk: plan for plan in locked.select_for_update(of=("self",), no_key=True)}
    existing = saving.load_existing(CategoryBudget, drafts)
    for draft in drafts:
        draft.fill("plan", plans[existing[draft.key].engagement_id])
    saving.validate(CategoryBudget, drafts, PERIODS_RULES, existing)
    short_before = {} if ignore_warnings else load_short_amounts(keys)
    saved = saving.save_changes(CategoryBudget, drafts, existing, write_periods(drafts))
    for restate in RESTATE_PERIODS:
        restate(saved)
    if not ignore_warnings:
        short = load_short_amounts(keys)
        pairs = [(short_before[key], short[key]) for key in keys]
        more = [(number, more_is_short(*pair)) for number, pair in enumerate(pairs) if pair[1] > pair[0]]
        if warnings := [*apply_rules(drafts, PERIODS_WARNINGS), *more]:
            raise WarningsPresent(warnings)
    return saved


def write_periods(drafts: Sequence[PeriodsDraft]) -> dict[UUID, dict[str, list[object]]]:
    """Write the periods that differ from what is stored; their changes by component, for the history."""
    stored: dict[UUID, dict[dt.date, FundingPeriod]] = defaultdict(dict)
    for period in FundingPeriod.objects.filter(AnyOf("category_budget", [draft.key for draft in drafts])):
        stored[period.category_budget_id][period.first_day] = period
    added: list[tuple[object, ...]] = []
    changed: list[FundingPeriod] = []
    deleted: list[UUID] = []
    row_changes: dict[UUID, dict[str, list[object]]] = defaultdict(dict)
    for draft in drafts:
        rest, changes = stored[draft.key], row_changes[draft.key]
        for row in draft.periods:
            known = rest.pop(row.first_day, None)
            before, after = known and released_until(known), released_until(row)
            if before == after:
                continue
            if known is None:
                added.append((draft.key, row.first_day, row.last_day, row.released))
            else:
                known.last_day, known.released = row.last_day, row.released
                changed.append(known)
            changes[f"Period from {day_text(row.first_day)}"] = [before, after]
        for period in rest.values():
            changes[f"Period from {day_text(period.first_day)}"] = [released_until(period), None]
            deleted.append(period.pk)
    if deleted:
        FundingPeriod.objects.filter(pk__in=deleted).delete()
    if changed:
        saving.update(FundingPeriod, ("last_day", "released"), changed)
    bulk_insert(FundingPeriod, ("category_budget_id", "first_day", "last_day", "released"), added)
    return row_changes


def load_short_amounts(components: Sequence[UUID]) -> dict[UUID, Decimal]:
    """By component, what its supports come to beyond what its funding periods have for their days."""
    short = dict.fromkeys(components, ZERO)
    found = CategoryBudget.objects.filter(AnyOf("pk", components)).prefetch_related("periods")
    for component in found:
        periods = [period.amounts for period in component.periods.all()]
        if periods:
            in_none = component.claimed + component.waiting - sum(each.used for each in periods)
            balances = draw(with_used_elsewhere(periods, component.used_elsewhere))
            short[component.pk] = in_none + sum(each.missing for each in balances)
    return short


def more_is_short(before: Decimal, after: Decimal) -> Issue:
    """The warning of funding periods that have less than the former ones for the days of supports."""
    return Issue(
        "PeriodsShort",
        ("periods", 0, "first_day"),
        f"Claims and invoices come to {after:,.2f} more than the periods of their days and those before them"
        f" have; it was {before:,.2f} before this change. Check the periods, or what waits.",
    )


def released_until(period: FundingPeriod | PeriodDraft) -> str:
    """The text of a period in the history, beside its first day."""
    return f"{period.released:,.2f} until {day_text(period.last_day)}"


@lru_cache(maxsize=1_024)
def day_text(day: dt.date) -> str:
    """The text of a day in the history: few days are many periods', and each takes a microsecond."""
    return f"{day:%d %b %Y}"


# --- components with their periods ----------------------------------------------------------------------


@transaction.atomic
def save_components(
    plan: UUID, entered: Sequence[EnteredComponent], ignore_warnings: bool = False
) -> list[UUID]:
    """Store components of a plan and their periods, all or none; their keys in the order of the drafts.

    Issues have the numbers of what was entered; that of the plan's total has the first. Existing components
    change before new ones are created: these may have what those give up.
    """
    ClientEngagement.objects.select_for_update(of=("self",), no_key=True).get(pk=plan)
    warnings: list[tuple[int, Issue]] = []

    def call(service: Service, numbered: Sequence[tuple[int, Draft]]) -> list[UUID]:
        drafts = [draft for _, draft in numbered]
        try:
            return service(drafts, ignore_warnings=ignore_warnings) if drafts else []
        except WarningsPresent as found:
            warnings.extend((numbered[at][0], issue) for at, issue in found.issues)
            return service(drafts, ignore_warnings=True)
        except ValidationFailed as failed:
            issues = [(numbered[at][0], issue) for at, issue in failed.issues]
            raise ValidationFailed(issues) from None

    drafts = list(enumerate(each.component for each in entered))
    keys = {number: draft.key for number, draft in drafts if draft.key is not None}
    call(update_category_budgets, [(number, draft) for number, draft in drafts if number in keys])
    new = [(number, draft) for number, draft in drafts if number not in keys]
    keys.update(zip([number for number, _ in new], call(create_category_budgets, new), strict=True))
    periods = [
        (number, PeriodsDraft({"periods": list(each.periods)}, key=keys[number]))
        for number, each in enumerate(entered)
        if each.periods is not None
    ]
    call(save_periods, periods)
    warnings += find_differing_total(plan) if entered and not ignore_warnings else []
    if warnings:
        raise WarningsPresent(warnings)
    return [keys[number] for number in range(len(entered))]


@transaction.atomic
def update_components(drafts: Sequence[WholeComponentDraft], ignore_warnings: bool = False) -> list[UUID]:
    """Change components of one plan, and their periods where drafts give them; the keys of the components.

    Periods that stay are compared with the new amount as well.
    """
    keys = [draft.key for draft in drafts]
    plan = CategoryBudget.objects.filter(AnyOf("pk", keys)).values_list("engagement", flat=True).first()
    if plan is None:
        raise ValidationFailed([(0, Issue("NotFound", "", "The component was deleted meanwhile."))])
    stored: dict[UUID, list[PeriodDraft]] = defaultdict(list)
    for period in FundingPeriod.objects.filter(AnyOf("category_budget", keys)).order_by("first_day"):
        draft = PeriodDraft.of(period.first_day, period.last_day, period.released)
        stored[period.category_budget_id].append(draft)
    entered = [
        EnteredComponent(draft, draft.periods if "periods" in draft.given else stored[draft.key])
        for draft in drafts
    ]
    return save_components(plan, entered, ignore_warnings)


def find_differing_total(plan: UUID) -> list[tuple[int, Issue]]:
    """The warning of a plan whose components do not come to its total."""
    columns = ("total_budget_amount", "total_allocate_amount")
    total, allocated = ClientEngagement.objects.values_list(*columns).get(pk=plan)
    draft = EngagementDraft({"total_budget_amount": total, "allocated_amount": allocated}, key=plan)
    return apply_rules([draft], COMPONENTS_WARNINGS)


# --- support categories ---------------------------------------------------------------------------------


@transaction.atomic
def create_support_categories() -> int:
    """Store the scheme's categories that are missing; how many were."""
    existing = set(SupportCategory.objects.values_list("number", flat=True))
    missing = [each for each in CATEGORIES if each[0] not in existing]
    for number, name, purpose in missing:
        category = SupportCategory(
            guid=category_guid(number), number=number, name=name, support_purpose=purpose
        )
        category.save(force_insert=True)
    return len(missing)
