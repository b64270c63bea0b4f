"""Keyset paging: a $skiptoken holds the sort values of a row, so pages neither repeat nor skip rows."""

import datetime as dt
import hashlib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.core.signing import BadSignature, Signer
from django.db.models.expressions import Combinable

from apps.odata.errors import BadQuery
from apps.odata.query import functions as sql
from apps.odata.query.ast import ValueKind
from apps.odata.query.functions import Constant
from apps.odata.query.ordering import SortKey


def make_token(entity_set: str, keys: Sequence[SortKey], values: Sequence[object]) -> str:
    """The $skiptoken of the page after the row whose ``key.value`` columns have these values."""
    encoded = convert_values(keys, values, ENCODERS)
    return skiptoken_signer().sign_object([fingerprint(entity_set, keys), *encoded], compress=True)


def rows_after_token(entity_set: str, keys: Sequence[SortKey], token: str) -> Combinable:
    """The condition that a row comes after the token's; ``BadQuery`` for a token of another list."""
    try:
        token_fingerprint, *values = skiptoken_signer().unsign_object(token)
    except (BadSignature, ValueError):
        raise BadQuery(
            "$skiptoken is none that this service gave; follow @odata.nextLink as it is.",
            target="$skiptoken",
            code="InvalidSkiptoken",
        ) from None
    if token_fingerprint != fingerprint(entity_set, keys):
        raise BadQuery(
            "$skiptoken was given for another order or entity set; follow @odata.nextLink as it is.",
            target="$skiptoken",
            code="InvalidSkiptoken",
        )
    return rows_after(keys, convert_values(keys, values, DECODERS))


def skiptoken_signer() -> Signer:
    return Signer(salt="odata.skiptoken", sep=".")


def fingerprint(entity_set: str, keys: Sequence[SortKey]) -> str:
    """A hash of the entity set and the order, for which alone a token is valid."""
    text = repr((entity_set, [(key.name, key.kind.name, key.descending) for key in keys]))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


# --- values in a token --------------------------------------------------------------------------------

Converters = Mapping[ValueKind, Callable[[Any], object]]

#: Sort values as JSON, without loss.
ENCODERS: Converters = {
    ValueKind.BOOLEAN: bool,
    ValueKind.INTEGER: int,
    **dict.fromkeys((ValueKind.DECIMAL, ValueKind.DURATION), str),
    ValueKind.GUID: str,
    ValueKind.DATE: dt.date.isoformat,
    ValueKind.DATETIME: lambda time: time.astimezone(dt.UTC).isoformat(),
    ValueKind.TIME: dt.time.isoformat,
}
#: Sort values from their JSON.
DECODERS: Converters = {
    **dict.fromkeys((ValueKind.DECIMAL, ValueKind.DURATION), Decimal),
    ValueKind.GUID: UUID,
    ValueKind.DATE: dt.date.fromisoformat,
    ValueKind.DATETIME: dt.datetime.fromisoformat,
    ValueKind.TIME: dt.time.fromisoformat,
}


def convert_values(keys: Sequence[SortKey], values: Sequence[object], converters: Converters) -> list[object]:
    """The values of the sort keys, each by the converter of its kind; nulls, and other kinds, as they are."""
    return [
        value if value is None or key.kind not in converters else converters[key.kind](value)
        for key, value in zip(keys, values, strict=True)
    ]


# --- the condition ------------------------------------------------------------------------------------


def rows_after(keys: Sequence[SortKey], values: Sequence[object]) -> Combinable:
    """The condition that a row comes after ``values`` in the order of ``keys``.

    Where possible the keys are compared as one row, ``(a, b) > (x, y)``, which an index on them answers at
    once; otherwise key by key, after the range of the first key for an index on that alone.
    """
    constants = [Constant(key.kind, value) for key, value in zip(keys, values, strict=True)]
    if can_compare_as_row(keys, constants):
        comparison = "<" if keys[0].descending else ">"
        return sql.compare_rows(comparison, len(keys))(*(key.ordered for key in keys), *constants)
    *others, last = zip(keys, constants, strict=True)
    condition = comes_after(*last)
    for key, constant in reversed(others):
        is_equal = sql.IS_NULL(key.value) if constant.value is None else sql.EQUAL(key.ordered, constant)
        equal = sql.join_conditions("AND", 2)(is_equal, condition)
        condition = sql.join_conditions("OR", 2)(comes_after(key, constant), equal)
    first, constant = keys[0], constants[0]
    if constant.value is None or (first.descending and first.nullable):
        return condition
    in_range = sql.ORDERED["le" if first.descending else "ge"](first.ordered, constant)
    return sql.join_conditions("AND", 2)(in_range, condition)


def can_compare_as_row(keys: Sequence[SortKey], constants: Sequence[Constant]) -> bool:
    """Keys of one direction without nulls after the row; in ascending order nulls come before it."""
    if len({key.descending for key in keys}) > 1 or any(constant.value is None for constant in constants):
        return False
    return not keys[0].descending or not any(key.nullable for key in keys)


def comes_after(key: SortKey, constant: Constant) -> Combinable:
    """The row's value comes after the constant; null comes before every value."""
    if constant.value is None:
        return sql.NEVER() if key.descending else sql.IS_NOT_NULL(key.value)
    if not key.descending:
        return sql.ORDERED["gt"](key.ordered, constant)
    smaller = sql.ORDERED["lt"](key.ordered, constant)
    return sql.join_conditions("OR", 2)(smaller, sql.IS_NULL(key.value)) if key.nullable else smaller
