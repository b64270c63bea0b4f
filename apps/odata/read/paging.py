"""Keyset paging: a $skiptoken holds the last row's sort values, so pages neither repeat nor skip rows."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.core.signing import BadSignature, Signer

from apps.odata.errors import BadQuery
from apps.odata.query import functions as sql
from apps.odata.query.ast import ValueKind
from apps.odata.query.binding import SortKey
from apps.odata.query.functions import Constant


def token_for(entity_set: str, keys: Sequence[SortKey], row_values: Sequence[Any]) -> str:
    """The $skiptoken that goes on after the row whose ``key.value`` columns hold these values."""
    values = [written(key.kind, value) for key, value in zip(keys, row_values, strict=True)]
    return signer().sign_object([fingerprint(entity_set, keys), *values], compress=True)


def page_condition(entity_set: str, keys: Sequence[SortKey], token: str) -> Any:
    """The condition that a row comes after the token's; ``BadQuery`` for a token of another list."""
    try:
        made_for, *values = signer().unsign_object(token)
    except (BadSignature, ValueError):
        raise BadQuery(
            "$skiptoken is none that this service gave; follow @odata.nextLink as it is.",
            target="$skiptoken",
            code="InvalidSkiptoken",
        ) from None
    if made_for != fingerprint(entity_set, keys):
        raise BadQuery(
            "$skiptoken was given for another order or entity set; follow @odata.nextLink as it is.",
            target="$skiptoken",
            code="InvalidSkiptoken",
        )
    marks = [read(key.kind, value) for key, value in zip(keys, values, strict=True)]
    return rows_after(keys, marks)


def signer() -> Signer:
    return Signer(salt="odata.skiptoken", sep=".")


def fingerprint(entity_set: str, keys: Sequence[SortKey]) -> str:
    """What a token is bound to: the entity set and its order."""
    told = repr((entity_set, [(key.name, key.kind.name, key.descending) for key in keys]))
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


# --- values in a token --------------------------------------------------------------------------------

_WRITERS: Mapping[ValueKind, Callable[[Any], Any]] = {
    ValueKind.BOOLEAN: bool,
    ValueKind.INTEGER: int,
    ValueKind.DECIMAL: lambda number: str(number),
    ValueKind.GUID: str,
    ValueKind.DATE: dt.date.isoformat,
    ValueKind.DATETIME: lambda moment: moment.astimezone(dt.UTC).isoformat(),
    ValueKind.TIME: dt.time.isoformat,
}
_READERS: Mapping[ValueKind, Callable[[Any], Any]] = {
    ValueKind.DECIMAL: Decimal,
    ValueKind.GUID: UUID,
    ValueKind.DATE: dt.date.fromisoformat,
    ValueKind.DATETIME: dt.datetime.fromisoformat,
    ValueKind.TIME: dt.time.fromisoformat,
}


def written(kind: ValueKind, value: Any) -> Any:
    """A sort value as JSON, without loss."""
    return value if value is None or kind not in _WRITERS else _WRITERS[kind](value)


def read(kind: ValueKind, value: Any) -> Any:
    """A sort value back from JSON."""
    return value if value is None or kind not in _READERS else _READERS[kind](value)


# --- the condition ------------------------------------------------------------------------------------


def rows_after(keys: Sequence[SortKey], values: Sequence[Any]) -> Any:
    """Rows that come after ``values`` in the order of ``keys``.

    Where it can be, the keys are compared as one row, ``(a, b) > (x, y)``, which an index on them answers at
    once; otherwise key by key, with the first key's range in front for an index on that alone.
    """
    marks = [Constant(key.kind, value) for key, value in zip(keys, values, strict=True)]
    if compare_as_row(keys, marks):
        comparison = "<" if keys[0].descending else ">"
        return sql.rows_compared(comparison, len(keys))(*(key.ordered for key in keys), *marks)
    *others, last = zip(keys, marks, strict=True)
    condition = beyond(*last)
    for key, mark in reversed(others):
        condition = sql.joined("OR", 2)(beyond(key, mark), sql.joined("AND", 2)(level(key, mark), condition))
    first, mark = keys[0], marks[0]
    if mark.value is None or (first.descending and first.nullable):
        return condition
    in_range = sql.ORDERED["le" if first.descending else "ge"](first.ordered, mark)
    return sql.joined("AND", 2)(in_range, condition)


def compare_as_row(keys: Sequence[SortKey], marks: Sequence[Constant]) -> bool:
    """Keys of one direction, and no null after the mark; a rising order has its nulls behind it."""
    if len({key.descending for key in keys}) > 1 or any(mark.value is None for mark in marks):
        return False
    return not keys[0].descending or not any(key.nullable for key in keys)


def beyond(key: SortKey, mark: Constant) -> Any:
    """The row's value comes after the mark; null comes before every value."""
    if mark.value is None:
        return sql.NEVER() if key.descending else sql.IS_NOT_NULL(key.value)
    if not key.descending:
        return sql.ORDERED["gt"](key.ordered, mark)
    smaller = sql.ORDERED["lt"](key.ordered, mark)
    return sql.joined("OR", 2)(smaller, sql.IS_NULL(key.value)) if key.nullable else smaller


def level(key: SortKey, mark: Constant) -> Any:
    """The row's value is the mark."""
    return sql.IS_NULL(key.value) if mark.value is None else sql.EQUAL(key.ordered, mark)
