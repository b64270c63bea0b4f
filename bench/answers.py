"""Two answers that name things differently say the same when their records hold the same values."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def records(answer: Any) -> list[Any]:
    """The records of a page, an item, or an answered list."""
    if isinstance(answer, list):
        return answer
    for name in ("value", "results"):
        if name in answer:
            return list(answer[name])
    return [answer]


def values(record: Any) -> Counter[str]:
    """How often each value stands somewhere in a record; nulls say nothing, moments are moments."""
    return Counter(map(told, leaves(record)))


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if not name.startswith("@"):
                yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif value is not None:
        yield value


def told(value: Any) -> str:
    if isinstance(value, str) and _MOMENT.match(value):
        return repr(dt.datetime.fromisoformat(value).astimezone(dt.UTC))
    return repr(value)


def check_same(ours: Any, stock: Any, expected: int, ignored: frozenset[str] = frozenset()) -> None:
    """Raise unless both hold ``expected`` records with equal values, in the same order."""
    mine, theirs = records(ours), records(stock)
    assert len(mine) == len(theirs) == expected, (len(mine), len(theirs), expected)
    for one, other in zip(mine, theirs, strict=True):
        one = {name: value for name, value in one.items() if name not in ignored}
        other = {name: value for name, value in other.items() if name not in ignored}
        difference = (values(one) - values(other)) + (values(other) - values(one))
        assert not difference, difference
