"""Services of plans, service bookings and category budgets: the only writers of these records.

Each takes drafts and raises ``ValidationFailed`` with every issue; keys come in the order of the drafts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from apps.core import saving
from apps.core.bulk_insert import is_deferred
from apps.engagements import validation
from apps.engagements.categories import CATEGORIES, category_guid
from apps.engagements.models import (
    ZERO,
    Budget,
    CategoryBudget,
    ClientEngagement,
    ServiceBooking,
    SupportCategory,
)
from apps.odata.any_of import AnyOf
from apps.odata.write.drafts import Draft

# --- plans ----------------------------------------------------------------------------------------------


def create_engagements(drafts: Sequence[Draft]) -> list[Any]:
    """Store new plans."""
    saving.apply_model_defaults(ClientEngagement, drafts)
    saving.validate(ClientEngagement, drafts, validation.ENGAGEMENT_RULES)
    validation.load_engagement_context(drafts)
    return saving.insert_records(ClientEngagement, drafts)


def update_engagements(drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of existing plans give; the keys of the plans that changed."""
    existing = saving.load_existing(ClientEngagement, drafts)
    saving.validate(ClientEngagement, drafts, validation.ENGAGEMENT_RULES)
    validation.load_engagement_context(drafts)
    return saving.save_changes(ClientEngagement, drafts, existing)


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


# --- service bookings and category budgets --------------------------------------------------------------


def create_bookings(drafts: Sequence[Draft]) -> list[Any]:
    """Store new service bookings."""
    saving.apply_model_defaults(ServiceBooking, drafts)
    load_booking_context(drafts)
    saving.validate(ServiceBooking, drafts, validation.BOOKING_RULES)
    return saving.insert_records(ServiceBooking, drafts)


def update_bookings(drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of existing bookings give; the keys of the bookings that changed."""
    existing = saving.load_existing(ServiceBooking, drafts)
    load_booking_context(drafts)
    saving.validate(ServiceBooking, drafts, validation.BOOKING_RULES)
    return saving.save_changes(ServiceBooking, drafts, existing)


def create_category_budgets(drafts: Sequence[Draft]) -> list[Any]:
    """Store new category budgets of PACE plans."""
    saving.apply_model_defaults(CategoryBudget, drafts)
    load_booking_context(drafts)
    saving.validate(CategoryBudget, drafts, validation.CATEGORY_BUDGET_RULES)
    return saving.insert_records(CategoryBudget, drafts)


def update_category_budgets(drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of existing category budgets give; the keys of the budgets that changed."""
    existing = saving.load_existing(CategoryBudget, drafts)
    load_booking_context(drafts)
    saving.validate(CategoryBudget, drafts, validation.CATEGORY_BUDGET_RULES)
    return saving.save_changes(CategoryBudget, drafts, existing)


def load_booking_context(drafts: Sequence[Draft]) -> None:
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
        draft.fill("allocated_to_other_bookings", sum(others.values(), ZERO) + earlier_drafts[plan.pk])
        earlier_drafts[plan.pk] += draft.get("budget") or ZERO


def load_references(model: Any, attribute: str, drafts: Sequence[Draft]) -> Mapping[Any, Any]:
    """The records that the drafts refer to, by key; the drafts then have them with all their columns."""
    referring = [draft for draft in drafts if draft.get(attribute) is not None]
    records = model.objects.in_bulk({getattr(draft, attribute).pk for draft in referring})
    for draft in referring:
        draft.fill(attribute, records[getattr(draft, attribute).pk])
    return records


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


def record_amounts(changes: Mapping[UUID, Amounts], model: type[Budget] = ServiceBooking) -> None:
    """Add to the claimed, paid and waiting amounts of service bookings (or category budgets), by key.

    To be called in the transaction that enters, claims or cancels. The database adds, so that two writers at
    once lose nothing; rows are locked in the order of their keys, so that two writers never wait for each
    other. ``KeyError`` names a missing budget; the transaction must not be committed then.
    """
    _write_amounts(model, changes, "{column} = {row}{column} + {amount}")


def restate_amounts(sums: Mapping[UUID, Amounts], model: type[Budget] = ServiceBooking) -> int:
    """Replace the amounts of all budgets by these sums, or zero; how many budgets differed.

    For the recount of all claims from their lines.
    """
    with transaction.atomic():
        rows = model._default_manager.select_for_update().order_by("pk")
        stored = {key: Amounts(*amounts) for key, *amounts in rows.values_list("pk", *AMOUNT_COLUMNS)}
        if unknown := sums.keys() - stored.keys():
            raise KeyError(min(unknown))
        correct = {key: sums.get(key, Amounts()) for key in stored}
        differing = {key: amounts for key, amounts in correct.items() if amounts != stored[key]}
        _write_amounts(model, differing, "{column} = {amount}")
    return len(differing)


AMOUNT_COLUMNS = ("claimed", "paid", "waiting")


def _write_amounts(model: type[Budget], amounts: Mapping[UUID, Amounts], assignment: str) -> None:
    """A constant number of statements; ``assignment`` is the SQL of a column's new value."""
    if not amounts:
        return
    write = _update_in_one_statement if connection.vendor == "postgresql" else _update_one_by_one
    with saving.in_transaction():
        keys = sorted(amounts)
        if write(model, [(key, amounts[key]) for key in keys], assignment) < len(keys):
            existing = model._default_manager.filter(AnyOf(model._meta.get_field("guid"), keys))
            raise KeyError(min(set(keys) - set(existing.values_list("pk", flat=True))))


def _update_in_one_statement(
    model: type[Budget], rows: Sequence[tuple[UUID, Amounts]], assignment: str
) -> int:
    # An UPDATE locks rows in the order it meets them: several rows are locked in key order before.
    if len(rows) > 1:
        key = AnyOf(model._meta.get_field("guid"), [guid for guid, _ in rows])
        list(model._default_manager.filter(key).order_by("pk").select_for_update().values_list("pk"))
    quote = connection.ops.quote_name
    assignments = ", ".join(
        assignment.format(column=quote(name), amount=f"_change.{quote(name)}", row="_budget.")
        for name in AMOUNT_COLUMNS
    )
    columns = [
        [guid for guid, _ in rows],
        *([getattr(each, name) for _, each in rows] for name in AMOUNT_COLUMNS),
    ]
    statement = (
        f"UPDATE {quote(model._meta.db_table)} _budget SET {assignments}"  # noqa: S608  our own names
        " FROM unnest(%s::uuid[], %s::numeric[], %s::numeric[], %s::numeric[])"
        " _change (guid, claimed, paid, waiting) WHERE _budget.guid = _change.guid"
    )
    if is_deferred(statement, columns):
        # The lines of these budgets are stored in the same batch: the foreign keys find a missing budget.
        return len(rows)
    with connection.cursor() as cursor:
        cursor.execute(statement, columns)
        return int(cursor.rowcount)


def _update_one_by_one(model: type[Budget], rows: Sequence[tuple[UUID, Amounts]], assignment: str) -> int:
    quote = connection.ops.quote_name
    assignments = ", ".join(
        assignment.format(column=quote(name), amount="%s", row="") for name in AMOUNT_COLUMNS
    )
    fields: list[Any] = [model._meta.get_field(name) for name in (*AMOUNT_COLUMNS, "guid")]
    values = [
        [
            field.get_db_prep_save(value, connection)
            for field, value in zip(fields, (each.claimed, each.paid, each.waiting, guid), strict=True)
        ]
        for guid, each in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {quote(model._meta.db_table)} SET {assignments} WHERE {quote('guid')} = %s",  # noqa: S608  our own names
            values,
        )
        return int(cursor.rowcount)
