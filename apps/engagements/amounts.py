"""The amounts that claims and invoices count on budgets and funding periods, which the database adds.

The only place that changes these sums. Two writers at once lose nothing: each row is locked when it changes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from apps.base.money import ZERO
from apps.core import history
from apps.core.bulk_insert import WriteBatch, in_batches
from apps.core.computed import to_the_cent
from apps.engagements.funding_periods import PeriodAmounts, lies_in, share_of_days
from apps.engagements.models import Budget, CategoryBudget, FundingPeriod


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

    def __iter__(self) -> Iterator[Decimal]:
        """In the order of ``AMOUNT_COLUMNS``."""
        return iter((self.claimed, self.paid, self.waiting))

    def __neg__(self) -> Amounts:
        return Amounts(-self.claimed, -self.paid, -self.waiting)


class DatedChange(NamedTuple):
    """By how much the amounts of a category budget change, and the days of the support, of which it is."""

    budget: UUID
    first_day: date
    last_day: date
    amounts: Amounts


AMOUNT_COLUMNS = ("claimed", "paid", "waiting")


def record_amounts(changes: Mapping[UUID, Amounts], model: type[Budget], batch: WriteBatch) -> None:
    """Add to the claimed, paid and waiting amounts of service bookings or category budgets, by key.

    To be sent in the transaction that enters, claims or cancels. The database adds, so that two writers at
    once lose nothing; rows are locked in the order of their keys, so that two writers never wait for each
    other. The number of statements is constant.
    """
    if len(changes) > 1:
        lock_in_order(changes, model, batch)
    batch.execute(*addition(model, changes))


#: The stored funding periods of budgets, by the keys of these.
Periods = Mapping[UUID, Sequence[PeriodAmounts]]


def record_dated_amounts(
    changes: Sequence[DatedChange], batch: WriteBatch, periods: Periods | None = None
) -> None:
    """As ``record_amounts`` for category budgets, and add to their funding periods by the days of supports.

    ``periods``: those of the budgets, where locks of their plans keep them so. Where nobody knows them,
    budgets are locked before: the periods are then those that are stored, however long another transaction
    that replaces them had to be waited for.
    """
    sums: dict[UUID, Amounts] = defaultdict(Amounts)
    for change in changes:
        sums[change.budget] += change.amounts
    if len(sums) > 1 or periods is None:
        lock_in_order(sums, CategoryBudget, batch)
    budgets = addition(CategoryBudget, sums)
    of_periods: Addition | None = None
    if periods is None:
        # Its amounts are cents.
        rows = [(*each[:3], *(int(100 * amount) for amount in each.amounts)) for each in changes]
        of_periods = update_by_days(connection.vendor, len(rows) == 1), values_of_rows(rows)
    elif shares := add_shares(changes, periods):
        of_periods = addition(FundingPeriod, shares)
    if of_periods is not None and connection.vendor == "postgresql":
        # One statement. A single budget is locked before its periods; several are locked already.
        text = f"WITH _locked AS ({budgets[0]} RETURNING 1) {of_periods[0]} AND EXISTS (SELECT FROM _locked)"
        batch.execute(text, [*budgets[1], *of_periods[1]])
    else:
        batch.execute(*budgets)
        if of_periods is not None:
            batch.execute(*of_periods)


def lock_in_order(keys: Iterable[UUID], model: type[Budget], batch: WriteBatch) -> None:
    """Lock budgets in the order of their keys: an UPDATE locks rows in the order in which it meets them."""
    if connection.vendor == "postgresql":
        table = connection.ops.quote_name(model._meta.db_table)
        batch.execute(
            f"SELECT FROM {table} WHERE guid = ANY(%s::uuid[]) ORDER BY guid FOR UPDATE",
            [sorted(keys)],
        )


# --- statements -----------------------------------------------------------------------------------------


#: A text and its parameters.
Addition = tuple[str, list[object]]


def addition(model: type[Budget | FundingPeriod], changes: Mapping[UUID, Amounts]) -> Addition:
    """The statement that adds to budgets or funding periods, by their keys."""
    in_order = sorted(changes.items(), key=itemgetter(0))
    rows = [(key, *amounts) for key, amounts in in_order]
    return update_by_key(model, connection.vendor, len(rows) == 1), values_of_rows(rows)


@lru_cache(maxsize=8)
def update_by_key(model: type[Budget | FundingPeriod], vendor: str, is_single: bool) -> str:
    types, names = ("uuid", "numeric", "numeric", "numeric"), ("guid", *AMOUNT_COLUMNS)
    rows = rows_in_sql(types, names, vendor, is_single)
    table = connection.ops.quote_name(model._meta.db_table)
    new = ", ".join(f"{name} = {to_the_cent(f'_budget.{name} + _change.{name}')}" for name in AMOUNT_COLUMNS)
    return f"UPDATE {table} AS _budget SET {new} FROM {rows} _change WHERE _budget.guid = _change.guid"  # noqa: S608  our own names


#: The first cents of an amount, those of ``{days}`` of its ``{all}`` days; half a cent is rounded away from
#: zero. Whole numbers, since SQLite divides decimals as floating point (``funding_periods.share_of_days``).
CENTS_UNTIL = (
    "((2 * _change.{name} * {days} + CASE WHEN _change.{name} < 0 THEN -{all} ELSE {all} END) / (2 * {all}))"
)


@lru_cache(maxsize=4)
def update_by_days(vendor: str, is_single: bool) -> str:
    """The statement that adds to the funding periods that supports lie in; its amounts are cents."""
    is_postgresql = vendor == "postgresql"
    types, names = ("uuid", "date", "date", "bigint", "bigint", "bigint"), ("guid", "first_day", "last_day")
    rows = rows_in_sql(types, (*names, *AMOUNT_COLUMNS), vendor, is_single)
    least, greatest = ("least", "greatest") if is_postgresql else ("min", "max")

    def days(until: str, since: str) -> str:
        if is_postgresql:
            return f"({until} - {since})"
        return f"CAST(julianday({until}) - julianday({since}) AS INTEGER)"

    whole = f"({days('_change.last_day', '_change.first_day')} + 1)"
    until = f"({days(f'{least}(_change.last_day, _own.last_day)', '_change.first_day')} + 1)"
    before = days(f"{greatest}(_change.first_day, _own.first_day)", "_change.first_day")
    shares = ", ".join(
        f"SUM({CENTS_UNTIL.format(name=name, days=until, all=whole)}"
        f" - {CENTS_UNTIL.format(name=name, days=before, all=whole)}) AS {name}"
        for name in AMOUNT_COLUMNS
    )
    new = ", ".join(
        f"{name} = {to_the_cent(f'_period.{name} + _share.{name} / 100.0')}" for name in AMOUNT_COLUMNS
    )
    table = connection.ops.quote_name(FundingPeriod._meta.db_table)
    return (
        f"UPDATE {table} AS _period SET {new} FROM"  # noqa: S608  our own names
        f" (SELECT _own.guid, {shares} FROM {rows} _change"
        f" JOIN {table} _own ON _own.category_budget_id = _change.guid"
        " AND _own.first_day <= _change.last_day AND _own.last_day >= _change.first_day"
        " GROUP BY _own.guid) _share WHERE _period.guid = _share.guid"
    )


def add_shares(changes: Iterable[DatedChange], periods: Periods) -> dict[UUID, Amounts]:
    """Add what falls on the days of each funding period; by its key."""
    sums: dict[UUID, Amounts] = defaultdict(Amounts)
    for budget, first, last, amounts in changes:
        for period in periods.get(budget, ()):
            if period.key is not None and lies_in(period, first, last):
                days = period.first_day, period.last_day
                shares = [share_of_days(each, (first, last), days) for each in amounts]
                sums[period.key] += Amounts(*shares)
    return sums


def rows_in_sql(types: Sequence[str], names: Sequence[str], vendor: str, is_single: bool) -> str:
    """A table of rows, to be followed by its alias; ``values_of_rows`` are its parameters."""
    if vendor == "postgresql" and is_single:
        # PostgreSQL expects ten rows of an array, for which it reads a small table whole.
        return f"(SELECT {', '.join(map('%s::{} AS {}'.format, types, names))})"
    if vendor == "postgresql":
        arrays = ", ".join(f"%s::{each}[]" for each in types)
        return f"(SELECT * FROM unnest({arrays}) _row ({', '.join(names)}))"  # noqa: S608  our own names
    members = ", ".join(f"json_extract(value, '$[{at}]') AS {name}" for at, name in enumerate(names))
    return f"(SELECT {members} FROM json_each(%s))"  # noqa: S608  our own names


def values_of_rows(rows: Sequence[Sequence[object]]) -> list[object]:
    if connection.vendor == "postgresql":
        return list(rows[0]) if len(rows) == 1 else [list(column) for column in zip(*rows, strict=True)]
    values = [
        [value if isinstance(value, int) else getattr(value, "hex", None) or str(value) for value in row]
        for row in rows
    ]
    return [json.dumps(values)]


def lock_amounts(budgets: QuerySet[Any]) -> dict[UUID, Amounts]:
    """The amounts of budgets, which are locked, in the order of their keys."""
    rows = budgets.select_for_update(of=("self",)).order_by("pk").values_list("pk", *AMOUNT_COLUMNS)
    return {key: Amounts(*amounts) for key, *amounts in rows}


def write_history(
    model: type[Budget | FundingPeriod], changes: Mapping[UUID, tuple[Amounts, Amounts]]
) -> None:
    """An entry for each budget whose amounts changed from what to what, where no bill's entry leads to it.

    Bills tell of the budgets of their lines; by these entries delta links and webhooks learn of others.
    """
    entries = {
        key: {
            name: [str(before), str(after)]
            for name, before, after in zip(AMOUNT_COLUMNS, *sides, strict=True)
            if before != after
        }
        for key, sides in changes.items()
    }
    history.write_differences(model, ((key, entry) for key, entry in entries.items() if entry))


def restate_amounts(
    model: type[Budget | FundingPeriod], stored: Mapping[UUID, Amounts], sums: Mapping[UUID, Amounts]
) -> int:
    """Replace the stored amounts of locked budgets or funding periods by these sums, or zero.

    Returns how many differed. For the recount of all claims from their lines.
    """
    none = Amounts()
    differing = [
        (key, *sums.get(key, none)) for key, amounts in stored.items() if amounts != sums.get(key, none)
    ]
    new = ", ".join(f"{name} = {to_the_cent(f'_new.{name}')}" for name in AMOUNT_COLUMNS)
    table = connection.ops.quote_name(model._meta.db_table)
    types = ("uuid", "numeric", "numeric", "numeric")
    batch = WriteBatch()
    for changes in in_batches(differing):
        values = rows_in_sql(types, ("guid", *AMOUNT_COLUMNS), connection.vendor, len(changes) == 1)
        batch.execute(
            f"UPDATE {table} AS _record SET {new} FROM {values} _new WHERE _record.guid = _new.guid",  # noqa: S608  our own names
            values_of_rows(changes),
        )
    batch.send()
    write_history(model, {key: (stored[key], Amounts(*sums)) for key, *sums in differing})
    return len(differing)
