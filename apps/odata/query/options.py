"""The query string of a request as one frozen value (OData 4.01, URL Conventions 5; decisions in docs)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote_to_bytes

from apps.odata.errors import BadQuery, NotAcceptable, NotSupported
from apps.odata.query.ast import Expression, Literal, SortTerm
from apps.odata.query.parser import parse_expression, parse_orderby

MAX_PARAMETERS = 100
#: Characters of a $select, $expand or $search.
MAX_LENGTH = 16_384
#: How deep $expand may stand inside $expand.
MAX_EXPAND_DEPTH = 5
#: The greatest $top and $skip that are read; no table is longer.
MAX_ROWS = 2**31 - 1

#: Parameters of the service that are neither options nor filters.
SERVICE_PARAMETERS = ("version", "api-version", "ignoreWarnings")


@dataclass(frozen=True, slots=True)
class PartOptions:
    """What may be asked of a collection or of the part of a record.

    ``select`` holds paths (``("Address", "Suburb")``; ``("*",)`` for all), ``None`` when nothing was
    selected; ``top`` and ``skip`` count rows.
    """

    filter: Expression | None = None
    orderby: tuple[SortTerm, ...] = ()
    select: tuple[tuple[str, ...], ...] | None = None
    expand: tuple[ExpandItem, ...] = ()
    top: int | None = None
    skip: int | None = None
    count: bool = False


@dataclass(frozen=True, slots=True)
class ExpandItem:
    """One part to show, ``*`` for all, with the options that stand in parentheses behind it."""

    name: str
    options: PartOptions = PartOptions()


@dataclass(frozen=True, slots=True)
class QueryOptions(PartOptions):
    """A whole query string.

    ``format`` is ``json``, ``ndjson`` or ``csv`` when $format was given. ``aliases`` maps ``@name`` to its
    value. ``service`` holds the documented parameters by their documented spelling, ``plain`` what remains:
    filters as ``(name, value)``, in their order.
    """

    search: str | None = None
    format: str | None = None
    skiptoken: str | None = None
    aliases: Mapping[str, Literal] = field(default_factory=lambda: MappingProxyType({}))
    service: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    plain: tuple[tuple[str, str], ...] = ()


def parse_options(query_string: bytes | str) -> QueryOptions:
    """Read a raw query string: the bytes as they came, or WSGI's Latin-1 rendering of them.

    ``BadQuery`` names the option at fault, ``NotSupported`` parts of OData that are not offered,
    ``NotAcceptable`` a $format that is not served.
    """
    if isinstance(query_string, str):
        query_string = query_string.encode("latin-1", "replace")
    found: dict[str, Any] = {}
    aliases: dict[str, Literal] = {}
    service: dict[str, str] = {}
    plain: dict[str, str] = {}
    for name, value in parameters(query_string):
        lower = name.lower()
        option = lower.removeprefix("$")
        if option in _READERS:
            put(found, option, _READERS[option]("$" + option, value), "$" + option)
        elif lower.startswith("$"):
            raise unknown_option(name, _READERS)
        elif name.startswith("@"):
            put(aliases, name, alias_value(name, value), name)
        elif lower in _SERVICE_SPELLING:
            put(service, _SERVICE_SPELLING[lower], value, name)
        else:
            put(plain, name, value, name)
    return QueryOptions(
        **found,
        aliases=MappingProxyType(aliases),
        service=MappingProxyType(service),
        plain=tuple(plain.items()),
    )


def parameters(query_string: bytes) -> Iterator[tuple[str, str]]:
    """The decoded ``(name, value)`` pairs; ``BadQuery`` when they are too many or not decodable."""
    if query_string.count(b"&") >= MAX_PARAMETERS:
        raise BadQuery(f"A query string holds at most {MAX_PARAMETERS} parameters.")
    for piece in query_string.split(b"&"):
        if piece:
            name, _, value = piece.partition(b"=")
            yield decoded(name), decoded(value)


_STRAY_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def decoded(raw: bytes) -> str:
    """Percent signs and plus signs undone; UTF-8 without NUL, else ``BadQuery``."""
    if _STRAY_PERCENT.search(raw):
        raise BadQuery("The query string holds a % that no two hexadecimal digits follow.")
    try:
        text = unquote_to_bytes(raw.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        raise BadQuery("The query string is not UTF-8.") from None
    if "\0" in text:
        raise BadQuery("The query string holds a NUL character.")
    return text


def put(found: dict[str, Any], name: str, value: Any, told: str) -> None:
    """Each parameter stands once: which of two would count is nobody's guess."""
    if name in found:
        raise BadQuery(f"{told} is given twice.", target=told)
    found[name] = value


def unknown_option(name: str, known: Mapping[str, Any], target: str | None = None) -> BadQuery:
    """The error that names an option nobody knows."""
    close = difflib.get_close_matches(name[:60].lower().lstrip("$"), known, n=1)
    hint = f" Is ${close[0]} meant?" if close else ""
    return BadQuery(f"There is no option {name[:60]} here.{hint}", target=target or name[:60])


def alias_value(name: str, text: str) -> Literal:
    """The value of a parameter alias: one constant."""
    tree = parse_expression(text, name)
    if not isinstance(tree, Literal):
        raise BadQuery(f"{name} must be one value, such as 5, 2026-07-01 or 'text'.", target=name)
    return tree


# --- single options -----------------------------------------------------------------------------------


def given(target: str, text: str) -> str:
    """The text of an option without surrounding blanks; ``BadQuery`` when nothing or too much is left."""
    text = text.strip()
    if not text:
        raise BadQuery(f"{target} is empty.", target=target)
    if len(text) > MAX_LENGTH:
        raise BadQuery(f"{target} is longer than {MAX_LENGTH:,} characters.", target=target)
    return text


def read_filter(target: str, text: str) -> Expression:
    return parse_expression(given(target, text), target)


def read_orderby(target: str, text: str) -> tuple[SortTerm, ...]:
    return parse_orderby(given(target, text), target)


def read_rows(target: str, text: str) -> int:
    text = given(target, text)
    if not re.fullmatch("[0-9]{1,20}", text):
        raise BadQuery(f"{target} must be a whole number of rows, 0 or more.", target=target)
    if int(text) > MAX_ROWS:
        raise BadQuery(f"{target} must be at most {MAX_ROWS:,}.", target=target, code="OutOfRange")
    return int(text)


def read_count(target: str, text: str) -> bool:
    word = given(target, text).lower()
    if word not in ("true", "false"):
        raise BadQuery(f"{target} must be true or false.", target=target)
    return word == "true"


_FORMATS = {
    "json": "json",
    "application/json": "json",
    "ndjson": "ndjson",
    "application/x-ndjson": "ndjson",
    "csv": "csv",
    "text/csv": "csv",
}


def read_format(target: str, text: str) -> str:
    name, *words = (word.strip().lower() for word in given(target, text).split(";"))
    if name not in _FORMATS:
        raise NotAcceptable(
            f"The format {name[:60]} is not served; json is, and ndjson and csv for exports.", target=target
        )
    if "ieee754compatible=true" in words:
        raise NotAcceptable("Numbers are not served as strings (IEEE754Compatible=true).", target=target)
    return _FORMATS[name]


def read_select(target: str, text: str) -> tuple[tuple[str, ...], ...]:
    paths: dict[tuple[str, ...], None] = {}
    for item in given(target, text).split(","):
        path = tuple(item.strip().split("/"))
        if path != ("*",) and not all(_MEMBER.fullmatch(name) for name in path):
            raise BadQuery(f"{target} cannot name {item.strip()[:60]!r}.", target=target)
        paths[path] = None
    return tuple(paths)


# --- $expand ------------------------------------------------------------------------------------------

_MEMBER = re.compile(r"[^\W\d]\w{0,127}+")
_PIECE = re.compile(r"'(?:[^']++|'')*+'|[^'(),;]++|[(),;]")


def read_expand(target: str, text: str, depth: int = 1) -> tuple[ExpandItem, ...]:
    if depth > MAX_EXPAND_DEPTH:
        raise BadQuery(f"$expand is nested deeper than {MAX_EXPAND_DEPTH} levels.", target="$expand")
    found: dict[str, ExpandItem] = {}
    for item in split_outside(target, given(target, text), ","):
        expanded = expand_item(target, item.strip(), depth)
        put(found, expanded.name, expanded, f"{target}={expanded.name}")
    return tuple(found.values())


def expand_item(target: str, item: str, depth: int) -> ExpandItem:
    path, opening, rest = item.partition("(")
    path = path.rstrip()
    refuse_path(target, path)
    if not opening:
        return ExpandItem(path)
    if not rest.endswith(")"):
        stray = rest.rpartition(")")[2]
        raise BadQuery(f"{target}: {stray[:40]!r} is not expected after ')'.", target=target)
    if path == "*":
        raise BadQuery(f"{target}: options cannot stand after *; name the part.", target=target)
    return ExpandItem(path, part_options(f"{target}/{path}", rest[:-1], depth))


def refuse_path(target: str, path: str) -> None:
    """Only one name is a part; what OData allows behind it is refused with a word on what to do instead."""
    if path == "*" or _MEMBER.fullmatch(path):
        return
    name, _, rest = path.partition("/")
    if rest.lower() in ("$ref", "$count"):
        raise NotSupported(f"{target}={path} is not offered: {rest} cannot stand in $expand.", target=target)
    if _MEMBER.fullmatch(name) and _MEMBER.fullmatch(rest):
        raise BadQuery(f"{target}={path}: write {name}($expand={rest}) instead.", target=target)
    raise BadQuery(f"{target} cannot name {path[:60]!r}.", target=target)


def part_options(target: str, text: str, depth: int) -> PartOptions:
    """The nested options of one part, as they stand between the parentheses."""
    found: dict[str, Any] = {}
    for piece in filter(str.strip, split_outside(target, text, ";")):
        name, _, value = piece.partition("=")
        name = name.strip()
        option = name.lower().removeprefix("$")
        place = f"{target}/${option}"
        if option in ("levels", "search", "compute"):
            raise NotSupported(f"${option} is not offered inside $expand.", target=target)
        if option == "expand":
            put(found, option, read_expand(place, value, depth + 1), place)
        elif option in _PART_READERS:
            put(found, option, _PART_READERS[option](place, value), place)
        else:
            raise unknown_option(name, _PART_READERS, target)
    return PartOptions(**found)


def split_outside(target: str, text: str, separator: str) -> Iterator[str]:
    """The pieces between separators that stand outside of strings and parentheses, in one pass."""
    depth = start = position = 0
    while position < len(text):
        piece = _PIECE.match(text, position)
        if piece is None:
            raise BadQuery(f"{target}: a string is not closed.", target=target)
        mark = piece[0]
        depth += (mark == "(") - (mark == ")")
        if depth < 0:
            raise BadQuery(f"{target}: ')' stands before its '('.", target=target)
        if mark == separator and not depth:
            yield text[start:position]
            start = piece.end()
        position = piece.end()
    if depth:
        raise BadQuery(f"{target}: a '(' is not closed.", target=target)
    yield text[start:]


_PART_READERS: dict[str, Any] = {
    "filter": read_filter,
    "orderby": read_orderby,
    "select": read_select,
    "expand": read_expand,
    "top": read_rows,
    "skip": read_rows,
    "count": read_count,
}
_READERS: dict[str, Any] = {
    **_PART_READERS,
    "search": given,
    "format": read_format,
    "skiptoken": given,
}
_SERVICE_SPELLING = {name.lower(): name for name in SERVICE_PARAMETERS}
