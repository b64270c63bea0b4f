"""Services of plans, service bookings and category budgets: the only writers of these records.

Each takes drafts and raises ``ValidationFailed`` with every issue, or ``WarningsPresent`` unless warnings are
ignored; keys come in the order of the drafts.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from decimal import Decimal
from functools import partial
from operator import itemgetter
from uuid import UUID

from django.db import connection, transaction

from apps.base.drafts import Issue, ValidationFailed
from apps.core import saving
from apps.core.bulk_insert import WriteBatch
from apps.core.computed import to_the_cent
from apps.core.services import Checks, create_records, load_references, update_records
from apps.engagements.choices import CATEGORIES, category_guid
from apps.engagements.coverage import load_current_plans
from apps.engagements.drafts import BudgetDraft, EngagementDraft
from apps.engagements.models import (
    ZERO,
    Budget,
    CategoryBudget,
    ClientEngagement,
    ServiceBooking,
    SupportCategory,
)
from apps.engagements.validation import (
    BOOKING_RULES,
    BOOKING_WARNINGS,
    CATEGORY_BUDGET_RULES,
    CATEGORY_BUDGET_WARNINGS,
    ENGAGEMENT_RULES,
    ENGAGEMENT_WARNINGS,
)

# --- plans, service bookings and category budgets -------------------------------------------------------


@transaction.atomic
def delete_budget(budget: Budget) -> None:
    """Delete a budget that was entered by mistake; ``ValidationFailed`` for one that money was claimed on."""
    current = type(budget)._default_manager.select_for_update().get(pk=budget.pk)
    if current.has_claims:
        raise ValidationFailed([(0, Issue("NotAllowed", "", f"Money was claimed on {current}: it stays."))])
    current.delete()


def load_engagement_context(drafts: Sequence[EngagementDraft]) -> None:
    """Load what the warnings compare the plans with; two queries for all drafts."""
    known = [draft for draft in drafts if draft.get("participant") is not None]
    plans = load_current_plans({draft.participant.pk for draft in known})
    keys = {draft.key for draft in drafts if draft.key is not None}
    sums = dict(ClientEngagement.objects.filter(pk__in=keys).values_list("pk", "total_allocate_amount"))
    for draft in drafts:
        draft.fill("allocated_amount", sums.get(draft.key, ZERO))
    for draft in known:
        current = plans.get(draft.participant.pk, ())
        draft.fill("other_plans", [plan for plan in current if plan.pk != draft.key])


def load_booking_context(drafts: Sequence[BudgetDraft]) -> None:
    """Fill in whole plans and categories where drafts have bare keys, and the sums of the other bookings.

    Three queries for all drafts. Drafts of the same plan count one another.
    """
    plans = load_references(ClientEngagement, "engagement", drafts)
    load_references(SupportCategory, "category", drafts)
    budgets: dict[UUID, dict[UUID, Decimal]] = defaultdict(dict)
    rows = ServiceBooking.objects.filter(engagement__in=plans)
    for key, booking, budget in rows.values_list("engagement", "pk", "budget"):
        budgets[key][booking] = budget
    earlier_drafts: dict[UUID, Decimal] = defaultdict(lambda: ZERO)
    for draft in drafts:
        plan = draft.get("engagement")
        if plan is None:
            continue
        others = budgets[plan.pk]
        if draft.key is not None:
            # Its former budget no longer counts, neither for itself nor for later drafts.
            others.pop(draft.key, None)
        draft.fill("allocated_to_others", sum(others.values(), ZERO) + earlier_drafts[plan.pk])
        earlier_drafts[plan.pk] += draft.get("budget") or ZERO


PLAN_CHECKS = Checks(ENGAGEMENT_RULES, ENGAGEMENT_WARNINGS, load_engagement_context)
BOOKING_CHECKS = Checks(BOOKING_RULES, BOOKING_WARNINGS, load_booking_context)
CATEGORY_BUDGET_CHECKS = Checks(CATEGORY_BUDGET_RULES, CATEGORY_BUDGET_WARNINGS, load_booking_context)

create_engagements = partial(create_records, ClientEngagement, checks=PLAN_CHECKS)
update_engagements = partial(update_records, ClientEngagement, checks=PLAN_CHECKS)
create_bookings = partial(create_records, ServiceBooking, checks=BOOKING_CHECKS)
update_bookings = partial(update_records, ServiceBooking, checks=BOOKING_CHECKS)
create_category_budgets = partial(create_records, CategoryBudget, checks=CATEGORY_BUDGET_CHECKS)
update_category_budgets = partial(update_records, CategoryBudget, checks=CATEGORY_BUDGET_CHECKS)


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


# --- amounts claimed on budgets -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Amounts:
    """Sums of claims on one budget, or the changes of these sums; in the subscriber's currency.

    ``waiting``: entered and not yet claimed. ``claimed``: claimed from the agency, and not refused by it.
    ``paid``: the part of ``claimed`` that was paid.
    """

    claimed: Decimal = ZERO
    paid: Decimal = ZERO
    waiting: Decimal = ZERO

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(self.claimed + other.claimed, self.paid + other.paid, self.waiting + other.waiting)

    def __neg__(self) -> Amounts:
        return Amounts(-self.claimed, -self.paid, -self.waiting)


AMOUNT_COLUMNS = ("claimed", "paid", "waiting")
NEW_AMOUNTS = ", ".join(
    f"{name} = {to_the_cent(f'_budget.{name} + _change.{name}')}" for name in AMOUNT_COLUMNS
)


def record_amounts(
    changes: Mapping[UUID, Amounts],
    model: type[Budget] = ServiceBooking,
    batch: WriteBatch | None = None,
) -> None:
    """Add to the claimed, paid and waiting amounts of service bookings (or category budgets), by key.

    To be called in the transaction that enters, claims or cancels. The database adds, so that two writers at
    once lose nothing; rows are locked in the order of their keys, so that two writers never wait for each
    other. The statements, of a constant number, are sent with the ``batch`` when one is given.
    """
    own_batch = batch or WriteBatch()
    table = connection.ops.quote_name(model._meta.db_table)
    in_order = sorted(changes.items(), key=itemgetter(0))
    if connection.vendor == "postgresql":
        keys = [key for key, _ in in_order]
        params: list[object] = [
            keys,
            *([getattr(amounts, name) for _, amounts in in_order] for name in AMOUNT_COLUMNS),
        ]
        if len(keys) > 1:
            # An UPDATE locks rows in the order it meets them: several rows are locked in key order before.
            own_batch.execute(
                f"SELECT FROM {table} WHERE guid = ANY(%s::uuid[]) ORDER BY guid FOR UPDATE",
                [keys],
            )
        arrays = "%s::uuid[], %s::numeric[], %s::numeric[], %s::numeric[]"
        rows = f"unnest({arrays}) _change (guid, claimed, paid, waiting)"
    else:
        names = enumerate(("guid", *AMOUNT_COLUMNS))
        members = ", ".join(f"json_extract(value, '$[{at}]') AS {name}" for at, name in names)
        rows = f"(SELECT {members} FROM json_each(%s)) _change"  # noqa: S608  our own names
        params = [json.dumps([[key.hex, *map(str, astuple(amounts))] for key, amounts in in_order])]
    own_batch.execute(
        f"UPDATE {table} AS _budget SET {NEW_AMOUNTS} FROM {rows} WHERE _budget.guid = _change.guid",  # noqa: S608  our own names
        params,
    )
    if batch is None:
        with saving.in_transaction():
            own_batch.send()


@transaction.atomic
def restate_amounts(sums: Mapping[UUID, Amounts], model: type[Budget] = ServiceBooking) -> int:
    """Replace the amounts of all budgets by these sums, or zero; how many budgets differed.

    For the recount of all claims from their lines.
    """
    differing = []
    for budget in model._default_manager.select_for_update().order_by("pk"):
        correct = sums.get(budget.pk, Amounts())
        if Amounts(budget.claimed, budget.paid, budget.waiting) != correct:
            budget.claimed, budget.paid, budget.waiting = astuple(correct)
            differing.append(budget)
    model._default_manager.bulk_update(differing, AMOUNT_COLUMNS, batch_size=500)
    return len(differing)
