"""The verbs by which service bookings are made and changed, and by which they learn what is claimed."""

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
from apps.engagements import booking_rules
from apps.engagements.models import (
    ZERO,
    Budgeted,
    CategoryBudget,
    ClientEngagement,
    ServiceBooking,
    SupportCategory,
)
from apps.odata.any_of import AnyOf
from apps.odata.write.drafts import Draft

# --- bookings -------------------------------------------------------------------------------------------


def make_bookings(drafts: Sequence[Draft]) -> list[Any]:
    """Store new service bookings; their keys in the order of the drafts. ``Refused`` tells all faults."""
    saving.apply_model_defaults(ServiceBooking, drafts)
    look_up(drafts)
    saving.validate(ServiceBooking, drafts, booking_rules.RULES)
    return saving.insert_records(ServiceBooking, drafts)


def revise_bookings(drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of standing bookings give; the keys of those that were not so already."""
    standing = saving.load_existing(ServiceBooking, drafts)
    look_up(drafts)
    saving.validate(ServiceBooking, drafts, booking_rules.RULES)
    return saving.save_changes(ServiceBooking, drafts, standing)


def grant_budgets(drafts: Sequence[Draft]) -> list[Any]:
    """Store new budgets by category of PACE plans; their keys in the order of the drafts."""
    saving.apply_model_defaults(CategoryBudget, drafts)
    look_up(drafts)
    saving.validate(CategoryBudget, drafts, booking_rules.CATEGORY_BUDGET_RULES)
    return saving.insert_records(CategoryBudget, drafts)


def revise_budgets(drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of standing budgets by category give; the keys of those that were not so already."""
    standing = saving.load_existing(CategoryBudget, drafts)
    look_up(drafts)
    saving.validate(CategoryBudget, drafts, booking_rules.CATEGORY_BUDGET_RULES)
    return saving.save_changes(CategoryBudget, drafts, standing)


def look_up(drafts: Sequence[Draft]) -> None:
    """Put whole plans and categories where drafts may hold bare keys, and the sums of the other bookings.

    Three queries for all drafts together. Drafts of one plan that come together count one another.
    """
    plans = whole(ClientEngagement, "engagement", drafts)
    whole(SupportCategory, "category", drafts)
    budgets: dict[UUID, dict[UUID, Decimal]] = defaultdict(dict)
    rows = ServiceBooking.objects.filter(engagement__in=plans)
    for key, booking, budget in rows.values_list("engagement", "pk", "budget"):
        budgets[key][booking] = budget
    coming: dict[UUID, Decimal] = defaultdict(lambda: ZERO)
    for draft in drafts:
        plan = draft.__dict__.get("engagement")
        if plan is None:
            continue
        others = budgets[plan.pk]
        if draft.key is not None:
            # What it had before counts no longer, for itself nor for the drafts after it.
            others.pop(draft.key, None)
        draft.fill("allocated_beside", sum(others.values(), ZERO) + coming[plan.pk])
        coming[plan.pk] += draft.__dict__.get("budget") or ZERO


def whole(model: Any, attribute: str, drafts: Sequence[Draft]) -> Mapping[Any, Any]:
    """The records that the drafts refer to, whole ones put in their places; by key."""
    referring = [draft for draft in drafts if draft.__dict__.get(attribute) is not None]
    records = model.objects.in_bulk({getattr(draft, attribute).pk for draft in referring})
    for draft in referring:
        draft.fill(attribute, records[getattr(draft, attribute).pk])
    return records


# --- what becomes of a budget ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Amounts:
    """Sums of claims on one budget, or by how much they changed; in the subscriber's currency.

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


def record_amounts(changes: Mapping[UUID, Amounts], of: type[Budgeted] = ServiceBooking) -> None:
    """Add to what bookings (or with ``of`` budgets by category) have claimed, paid and waiting.

    Whoever enters, claims or cancels calls it in the same transaction with what changed, by key. The rows
    are added to where they stand, so that two callers at once lose nothing; they are locked in the order of
    their keys, so that the two never wait for each other. ``KeyError`` names a budget that is not there;
    the transaction must not be committed then.
    """
    _write(of, changes, "{column} = {held}{column} + {amount}")


def restate_amounts(sums: Mapping[UUID, Amounts], of: type[Budgeted] = ServiceBooking) -> int:
    """Let the amounts be these sums, and all others zero; how many were different before.

    For whoever recounts the claims from their lines and puts right what went wrong.
    """
    with transaction.atomic():
        rows = of._default_manager.select_for_update().order_by("pk")
        held = {
            key: Amounts(*amounts) for key, *amounts in rows.values_list("pk", "claimed", "paid", "waiting")
        }
        if unknown := sums.keys() - held.keys():
            raise KeyError(min(unknown))
        right = {key: sums.get(key, Amounts()) for key in held}
        wrong = {key: amounts for key, amounts in right.items() if amounts != held[key]}
        _write(of, wrong, "{column} = {amount}")
    return len(wrong)


COLUMNS = ("claimed", "paid", "waiting")


def _write(of: type[Budgeted], amounts: Mapping[UUID, Amounts], assignment: str) -> None:
    """Statements are constant in the number of budgets; ``assignment`` says what becomes of a column."""
    if not amounts:
        return
    write = _write_at_once if connection.vendor == "postgresql" else _write_each
    with saving.in_transaction():
        keys = sorted(amounts)
        if write(of, [(key, amounts[key]) for key in keys], assignment) < len(keys):
            standing = of._default_manager.filter(AnyOf(of._meta.get_field("guid"), keys))
            raise KeyError(min(set(keys) - set(standing.values_list("pk", flat=True))))


def _write_at_once(of: type[Budgeted], rows: Sequence[tuple[UUID, Amounts]], assignment: str) -> int:
    # An UPDATE takes rows as it comes upon them: several are locked in their order before.
    if len(rows) > 1:
        key = AnyOf(of._meta.get_field("guid"), [guid for guid, _ in rows])
        list(of._default_manager.filter(key).order_by("pk").select_for_update().values_list("pk"))
    quote = connection.ops.quote_name
    assignments = ", ".join(
        assignment.format(column=quote(name), amount=f"_told.{quote(name)}", held="_budget.")
        for name in COLUMNS
    )
    columns = [[guid for guid, _ in rows], *([getattr(each, name) for _, each in rows] for name in COLUMNS)]
    statement = (
        f"UPDATE {quote(of._meta.db_table)} _budget SET {assignments}"  # noqa: S608  our own names
        " FROM unnest(%s::uuid[], %s::numeric[], %s::numeric[], %s::numeric[])"
        " _told (guid, claimed, paid, waiting) WHERE _budget.guid = _told.guid"
    )
    if is_deferred(statement, columns):
        # Whoever lets it wait stores lines of these budgets with it: their references are checked.
        return len(rows)
    with connection.cursor() as cursor:
        cursor.execute(statement, columns)
        return int(cursor.rowcount)


def _write_each(of: type[Budgeted], rows: Sequence[tuple[UUID, Amounts]], assignment: str) -> int:
    quote = connection.ops.quote_name
    assignments = ", ".join(assignment.format(column=quote(name), amount="%s", held="") for name in COLUMNS)
    fields: list[Any] = [of._meta.get_field(name) for name in (*COLUMNS, "guid")]
    values = [
        [
            field.get_db_prep_save(value, connection)
            for field, value in zip(fields, (each.claimed, each.paid, each.waiting, guid), strict=True)
        ]
        for guid, each in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {quote(of._meta.db_table)} SET {assignments} WHERE {quote('guid')} = %s",  # noqa: S608  our own names
            values,
        )
        return int(cursor.rowcount)
