"""The amounts that claims and invoices count on budgets and funding periods, which the database adds.

The only place that changes these sums. Two writers at once lose nothing: each row is locked when it changes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import date
from decimal import Decimal
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet

from apps.core import saving
from apps.core.bulk_insert import WriteBatch
from apps.core.computed import to_the_cent
from apps.engagements.models import ZERO, Budget, CategoryBudget, FundingPeriod, ServiceBooking


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


class DatedChange(NamedTuple):
    """By how much the amounts of a category budget change, and the days of the support, of which it is."""

    budget: UUID
    first_day: date
    last_day: date
    amounts: Amounts


AMOUNT_COLUMNS = ("claimed", "paid", "waiting")


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
    if len(changes) > 1:
        lock_in_order(changes, model, own_batch)
    own_batch.execute(*update_of_budgets(changes, model))
    if batch is None:
        with saving.in_transaction():
            own_batch.send()


def record_dated_amounts(
    changes: Sequence[DatedChange], batch: WriteBatch | None = None, plans_are_locked: bool = False
) -> None:
    """As ``record_amounts`` for category budgets, and add to their funding periods by the days of supports.

    Where nobody holds the locks of their plans, budgets are locked before: the periods are then those that
    are stored, however long another transaction that replaces them had to be waited for.
    """
    own_batch = batch or WriteBatch()
    sums: dict[UUID, Amounts] = defaultdict(Amounts)
    for change in changes:
        sums[change.budget] += change.amounts
    if len(sums) > 1 or not plans_are_locked:
        lock_in_order(sums, CategoryBudget, own_batch)
    budgets, budget_params = update_of_budgets(sums, CategoryBudget)
    periods, period_params = update_of_periods(changes)
    if connection.vendor == "postgresql":
        # One statement: its budgets are locked before their periods, of which many plans have none.
        own_batch.execute(
            f"WITH _locked AS ({budgets} RETURNING _budget.guid) {periods}",
            [*budget_params, *period_params],
        )
    else:
        own_batch.execute(budgets, budget_params)
        own_batch.execute(periods, period_params)
    if batch is None:
        with saving.in_transaction():
            own_batch.send()


def lock_in_order(keys: Iterable[UUID], model: type[Budget], batch: WriteBatch) -> None:
    """Lock budgets in the order of their keys: an UPDATE locks rows in the order in which it meets them."""
    if connection.vendor == "postgresql":
        table = connection.ops.quote_name(model._meta.db_table)
        batch.execute(
            f"SELECT FROM {table} WHERE guid = ANY(%s::uuid[]) ORDER BY guid FOR UPDATE",
            [sorted(keys)],
        )


def update_of_budgets(changes: Mapping[UUID, Amounts], model: type[Budget]) -> tuple[str, list[object]]:
    """The statement that adds to budgets, and its parameters."""
    in_order = sorted(changes.items(), key=itemgetter(0))
    rows, params = rows_of_values(
        ("uuid", "numeric", "numeric", "numeric"),
        ("guid", *AMOUNT_COLUMNS),
        [(key, *astuple(amounts)) for key, amounts in in_order],
    )
    table = connection.ops.quote_name(model._meta.db_table)
    new = ", ".join(f"{name} = {to_the_cent(f'_budget.{name} + _change.{name}')}" for name in AMOUNT_COLUMNS)
    sql = f"UPDATE {table} AS _budget SET {new} FROM {rows} _change WHERE _budget.guid = _change.guid"  # noqa: S608  our own names
    return sql, params


#: The first cents of an amount, those of ``{days}`` of its ``{all}`` days; half a cent is rounded away from
#: zero. Whole numbers, since SQLite divides decimals as floating point (``funding_periods.share_of_days``).
CENTS_UNTIL = (
    "((2 * _change.{name} * {days} + CASE WHEN _change.{name} < 0 THEN -{all} ELSE {all} END) / (2 * {all}))"
)


def update_of_periods(changes: Sequence[DatedChange]) -> tuple[str, list[object]]:
    """The statement that adds to the funding periods that lines lie in, and its parameters."""
    is_postgresql = connection.vendor == "postgresql"
    rows, params = rows_of_values(
        ("uuid", "date", "date", "bigint", "bigint", "bigint"),
        ("guid", "first_day", "last_day", *AMOUNT_COLUMNS),
        [
            (
                each.budget,
                each.first_day,
                each.last_day,
                *(int(100 * amount) for amount in astuple(each.amounts)),
            )
            for each in changes
        ],
    )
    least, greatest = ("least", "greatest") if is_postgresql else ("min", "max")

    def days(until: str, since: str) -> str:
        return (
            f"({until} - {since})"
            if is_postgresql
            else f"CAST(julianday({until}) - julianday({since}) AS INTEGER)"
        )

    names = {
        "all": f"({days('_change.last_day', '_change.first_day')} + 1)",
        "until": f"({days(f'{least}(_change.last_day, _own.last_day)', '_change.first_day')} + 1)",
        "before": days(f"{greatest}(_change.first_day, _own.first_day)", "_change.first_day"),
    }
    shares = ", ".join(
        f"SUM({CENTS_UNTIL.format(name=name, days=names['until'], all=names['all'])}"
        f" - {CENTS_UNTIL.format(name=name, days=names['before'], all=names['all'])}) AS {name}"
        for name in AMOUNT_COLUMNS
    )
    new = ", ".join(
        f"{name} = {to_the_cent(f'_period.{name} + _share.{name} / 100.0')}" for name in AMOUNT_COLUMNS
    )
    table = connection.ops.quote_name(FundingPeriod._meta.db_table)
    sql = (
        f"UPDATE {table} AS _period SET {new} FROM"  # noqa: S608  our own names
        f" (SELECT _own.guid, _own.category_budget_id AS budget, {shares} FROM {rows} _change"
        f" JOIN {table} _own ON _own.category_budget_id = _change.guid"
        " AND _own.first_day <= _change.last_day AND _own.last_day >= _change.first_day"
        " GROUP BY _own.guid, _own.category_budget_id) _share"
    )
    locked = ", _locked WHERE _locked.guid = _share.budget AND" if is_postgresql else " WHERE"
    return f"{sql}{locked} _period.guid = _share.guid", params


def rows_of_values(
    types: Sequence[str], names: Sequence[str], rows: Sequence[Sequence[object]]
) -> tuple[str, list[object]]:
    """A table of these rows in SQL, to be followed by its alias, and the parameters of it."""
    if connection.vendor == "postgresql":
        arrays = ", ".join(f"%s::{each}[]" for each in types)
        columns: list[object] = [list(column) for column in zip(*rows, strict=True)]
        return f"(SELECT * FROM unnest({arrays}) _row ({', '.join(names)}))", columns  # noqa: S608  our own names
    members = ", ".join(f"json_extract(value, '$[{at}]') AS {name}" for at, name in enumerate(names))
    values = [
        [value if isinstance(value, int) else getattr(value, "hex", None) or str(value) for value in row]
        for row in rows
    ]
    return f"(SELECT {members} FROM json_each(%s))", [json.dumps(values)]  # noqa: S608  our own names


@transaction.atomic
def restate_amounts(sums: Mapping[UUID, Amounts], model: type[Budget] = ServiceBooking) -> int:
    """Replace the amounts of all budgets by these sums, or zero; how many budgets differed.

    For the recount of all claims from their lines.
    """
    return replace_amounts(model._default_manager.all(), sums)


def replace_amounts(records: QuerySet[Any], sums: Mapping[UUID, Amounts]) -> int:
    """Replace the amounts of locked budgets or funding periods by these sums, or zero; how many differed."""
    differing = []
    for record in records.select_for_update(of=("self",)).order_by("pk"):
        correct = sums.get(record.pk, Amounts())
        if Amounts(record.claimed, record.paid, record.waiting) != correct:
            record.claimed, record.paid, record.waiting = astuple(correct)
            differing.append(record)
    records.model._default_manager.bulk_update(differing, AMOUNT_COLUMNS, batch_size=500)
    return len(differing)
