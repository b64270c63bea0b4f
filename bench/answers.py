"""Compares two answers with different member names: equal when their records hold the same values."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

_DECIMAL = re.compile(r"-?\d+\.\d+")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def records(answer: Any) -> list[Any]:
    """The records of a page, an item, or an answered list."""
    if isinstance(answer, list):
        return answer
    for name in ("value", "results"):
        if name in answer:
            return list(answer[name])
    return [answer]


def values(record: Any, ignored: frozenset[str] = frozenset()) -> Counter[str]:
    """How often each value occurs in a record, at any depth; nulls are left out."""
    return Counter(map(normal_form, leaves(record, ignored)))


def leaves(value: Any, ignored: frozenset[str]) -> Iterator[Any]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if not name.startswith("@") and name not in ignored:
                yield from leaves(inner, ignored)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, ignored)
    elif value is not None:
        yield value


def normal_form(value: Any) -> str:
    if isinstance(value, str) and _MOMENT.match(value):
        moment = dt.datetime.fromisoformat(value).astimezone(dt.UTC)
        return moment.isoformat(timespec="milliseconds")  # DjangoJSONEncoder cuts the rest
    if isinstance(value, float) or (isinstance(value, str) and _DECIMAL.fullmatch(value)):
        # Stock answers write decimals as texts, ours as numbers with their digits.
        return str(Decimal(str(value)).normalize())
    return repr(value)


def check_same(ours: Any, stock: Any, expected: int, ignored: frozenset[str] = frozenset()) -> None:
    """Raise unless both hold ``expected`` records with equal values, in the same order."""
    pairs = records(ours), records(stock)
    assert [*map(len, pairs)] == [expected] * 2, (*map(len, pairs), expected)
    for one, other in zip(*pairs, strict=True):
        mine, theirs = values(one, ignored), values(other, ignored)
        difference = (mine - theirs) + (theirs - mine)
        assert not difference, difference
