"""Parses the JSON text of a body: exact numbers, repeated names, and the limits of its size and depth."""

import codecs
import json
import re
from decimal import Decimal, InvalidOperation
from itertools import accumulate
from typing import Any

from django.conf import settings

from apps.base.errors import BadBody, TooLarge

#: Lists and objects that lie in one another; no resource has so many.
MAX_DEPTH = 32


class RepeatedNames(dict[str, Any]):
    """An object in which several members have one name: ``names`` are those."""

    names: tuple[str, ...] = ()


def parse_body(raw: bytes, objects_per_record: int) -> dict[str, Any]:
    """The object that a body is, its numbers exact; ``BadBody`` where it is no JSON object.

    ``objects_per_record``: how many JSON objects one record has at most.
    """
    raw = raw.removeprefix(codecs.BOM_UTF8)
    # Few bodies have so many objects that their records must be counted before they are parsed.
    if raw.count(b"{") > settings.API_MAX_RECORDS * objects_per_record + 1:
        check_records(raw)
    if not raw.strip():
        raise BadBody("The body is empty.")
    try:
        body = _DECODER.decode(raw.decode())
    except UnicodeDecodeError as error:
        raise BadBody(f"The body is not UTF-8: byte {error.start:,} cannot be read.") from None
    except json.JSONDecodeError as error:
        raise BadBody(
            f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise too_deep() from None
    if not isinstance(body, dict):
        check_depth(raw)
        hint = ', in which a list is "value": {"value": [...]}' if isinstance(body, list) else ""
        raise BadBody(f"The body must be a JSON object{hint}.")
    return body


def _json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    names = [name for name, _ in pairs]
    repeated = RepeatedNames(members)
    repeated.names = tuple(name for name in members if names.count(name) > 1)
    return repeated


def _exact_number(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:  # an exponent of twenty digits
        return Decimal("NaN")


def _no_number(word: str) -> Any:
    raise BadBody(f"The body is not JSON: {word} is no number.")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_json_object,
    parse_float=_exact_number,
    # Python refuses to read integers of thousands of digits.
    parse_int=lambda digits: int(digits) if len(digits) < 40 else _exact_number(digits),
    parse_constant=_no_number,
)


# --- limits ---------------------------------------------------------------------------------------------

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def brackets(raw: bytes) -> bytes:
    """The brackets and braces of a JSON text, without those inside its strings."""
    return _STRING.sub(b"", raw).translate(None, _NO_BRACKETS)


def check_depth(raw: bytes) -> None:
    """Refuse deep nesting. Members of a resource never nest so deep, others and wrong values may."""
    if max(accumulate(map(_STEPS.__getitem__, brackets(raw))), default=0) > MAX_DEPTH:
        raise too_deep()


def too_deep() -> BadBody:
    return BadBody(f"The body nests deeper than {MAX_DEPTH} levels.")


def too_many_records() -> TooLarge:
    return TooLarge(
        f"A body may hold {settings.API_MAX_RECORDS:,} records at most; divide this one.", target="value"
    )


def check_records(raw: bytes) -> None:
    """Refuse more records than a body may hold before anything is built of them.

    Any list on the level of ``value`` counts, whatever its name.
    """
    depth = items = 0
    for bracket in brackets(raw):
        depth += _STEPS[bracket]
        if depth == 2 and bracket == ord("["):
            items = 0
        elif depth == 3 and bracket == ord("{"):
            items += 1
            if items > settings.API_MAX_RECORDS:
                raise too_many_records()
