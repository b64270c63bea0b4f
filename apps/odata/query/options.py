"""The query string of a request, parsed into query options (OData 4.01, URL Conventions 5)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NoReturn
from urllib.parse import unquote_to_bytes

from apps.base.texts import composed
from apps.odata.errors import BadQuery
from apps.odata.query.ast import Expression, Literal, SortTerm
from apps.odata.query.lexer import IN_ADDRESS, MAX_LENGTH, QueryLimits
from apps.odata.query.media_types import MediaType, parse_format
from apps.odata.query.parser import parse_expression, parse_orderby
from apps.odata.query.substitution import ExpressionBudget
from apps.odata.query.transformations import (
    ComputedValue,
    Pipeline,
    expressions_of,
    parse_apply,
    parse_compute,
)

MAX_PARAMETERS = 100
#: Levels of $expand inside $expand.
MAX_EXPAND_DEPTH = 5
#: Programs repeat their queries, so that those of at most so many bytes are remembered when they are parsed.
MAX_REMEMBERED_BYTES = 2_000
#: As many bytes of a query string are decoded at once.
PIECE = 50_000
#: The greatest $top and $skip; no table is longer.
MAX_ROWS = 2**31 - 1

#: Parameters of the service that are neither query options nor filters.
SERVICE_PARAMETERS = ("version", "api-version", "ignoreWarnings")

#: Options of one page that the link to the next one replaces.
OPTIONS_OF_A_PAGE = frozenset({"skiptoken", "deltatoken", "skip", "top"})

#: Parameters that programs add to every address, and that say nothing to this service: ``_`` keeps caches of
#: browsers away, ``sap-client`` and ``sap-language`` are meant for other servers.
IGNORED_PREFIXES = ("_", "sap-")


@dataclass(frozen=True, slots=True)
class NestedOptions:
    """The query options that an expanded list can have as well as a collection.

    ``only_count``: of an expanded list its number of items alone (``LineItems/$count``);
    ``only_references``: of records their addresses alone (``Claims/$ref``). ``select`` holds paths
    (``("Address", "Suburb")``; ``("*",)`` for all), ``None`` without $select.
    """

    filter: Expression | None = None
    orderby: tuple[SortTerm, ...] = ()
    select: tuple[tuple[str, ...], ...] | None = None
    expand: tuple[ExpandItem, ...] = ()
    top: int | None = None
    skip: int | None = None
    count: bool = False
    only_count: bool = False
    search: str | None = None
    compute: tuple[ComputedValue, ...] = ()
    only_references: bool = False

    @property
    def shows_undeclared(self) -> bool:
        """True when something is shown, at any level, that no member of a type declares."""
        return bool(self.compute or self.only_references) or any(
            item.options.shows_undeclared for item in self.expand
        )

    @property
    def selects_rows(self) -> bool:
        """True when an option filters, orders, pages or counts rows."""
        return (
            self.count
            or bool(self.orderby)
            or any(option is not None for option in (self.filter, self.top, self.skip, self.search))
        )


@dataclass(frozen=True, slots=True)
class ExpandItem:
    """One expanded navigation property (``*`` for all) with the options in parentheses behind it.

    ``text`` is what stands in the parentheses.
    """

    name: str
    options: NestedOptions = NestedOptions()
    text: str = field(default="", compare=False)


#: What stands behind an expanded navigation property, with the options that it means.
_EXPAND_ENDINGS: dict[str, dict[str, Any]] = {
    "$count": {"count": True, "only_count": True},
    "$ref": {"only_references": True},
}


@dataclass(frozen=True, slots=True)
class QueryOptions(NestedOptions):
    """The options of a whole query string.

    ``aliases`` maps ``@name`` to its value. ``service`` holds
    the service's own parameters by their documented spelling, ``plain`` all others: filters as
    ``(name, value)``, in their order. ``parameters`` are all pairs as they were sent, decoded, without those
    that are ignored.
    """

    apply: Pipeline | None = None
    format: MediaType | None = None
    skiptoken: str | None = None
    deltatoken: str | None = None
    aliases: Mapping[str, Literal] = field(default_factory=dict)
    service: Mapping[str, str] = field(default_factory=dict)
    plain: tuple[tuple[str, str], ...] = ()
    parameters: tuple[tuple[str, str], ...] = field(default=(), compare=False)


def parse_options(
    query_string: bytes | str, ignored: tuple[str, ...] = (), limits: QueryLimits = IN_ADDRESS
) -> QueryOptions:
    """Parse the bytes of a query string, or WSGI's Latin-1 decoding of them, without the ``ignored`` options.

    ``limits`` are those of the options that may be long in a body, $filter and $apply.

    ``BadQuery`` names the invalid option, ``NotSupported`` features of OData that this service does not have,
    ``NotAcceptable`` a $format that it does not have.
    """
    if isinstance(query_string, str):
        query_string = query_string.encode("latin-1", "replace")
    if len(query_string) > MAX_REMEMBERED_BYTES:
        return parse_query_string(query_string, ignored, limits)
    return remembered_options(query_string, ignored, limits)


def parse_query_string(query_string: bytes, ignored: tuple[str, ...], limits: QueryLimits) -> QueryOptions:
    options: dict[str, Any] = {}
    aliases: dict[str, Literal] = {}
    service: dict[str, str] = {}
    plain: dict[str, str] = {}
    sent: list[tuple[str, str]] = []
    for name, value in parameters(query_string):
        lower = name.lower()
        if lower.startswith(IGNORED_PREFIXES):
            continue
        sent.append((name, value))
        option = lower.removeprefix("$")
        if option in ignored:
            continue
        target = "$" + option
        if option in LONG_OPTIONS:
            text = check_text(target, value, limits.length)
            add_once(options, option, OPTION_PARSERS[option](text, target, limits), target)
        elif option in OPTION_PARSERS:
            add_once(options, option, OPTION_PARSERS[option](check_text(target, value), target), target)
        elif lower.startswith("$"):
            raise unknown_option(name, OPTION_PARSERS)
        elif name.startswith("@"):
            add_once(aliases, name, parse_alias(name, value), name)
        elif lower in _SERVICE_NAMES:
            add_once(service, _SERVICE_NAMES[lower], value, name)
        else:
            add_once(plain, name, value, name)
    if "compute" in options:
        substitute_computed(options)
    others = tuple(plain.items())
    return QueryOptions(**options, aliases=aliases, service=service, plain=others, parameters=tuple(sent))


remembered_options = lru_cache(maxsize=256)(parse_query_string)


def substitute_computed(options: dict[str, Any], target: str = "$compute") -> None:
    """Put the expressions of $compute in place of their names in $filter and $orderby."""
    values, budget = expressions_of(options["compute"], target=target), ExpressionBudget(target)
    for tree in values.values():
        budget.spend(tree)
    if "filter" in options:
        options["filter"] = budget.substitute(options["filter"], values)
    options["orderby"] = tuple(
        replace(term, expression=budget.substitute(term.expression, values))
        for term in options.get("orderby", ())
    )


def parameters(query_string: bytes) -> Iterator[tuple[str, str]]:
    """The decoded ``(name, value)`` pairs; ``BadQuery`` for too many of them or invalid escapes."""
    if query_string.count(b"&") >= MAX_PARAMETERS:
        raise BadQuery(f"A query string holds at most {MAX_PARAMETERS} parameters.")
    for piece in query_string.split(b"&"):
        if piece:
            name, _, value = piece.partition(b"=")
            if not name:
                raise BadQuery(
                    "A parameter has no name. Between double quotes a shell takes $top for a variable of its"
                    " own: use single quotes."
                )
            yield decode(name), decode(value)


def option_name(piece: bytes) -> str:
    """The name of an option in a piece of a query string, in lower case without the dollar sign."""
    return decode(piece.partition(b"=")[0]).lower().removeprefix("$")


_STRAY_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def decode(raw: bytes) -> str:
    """The composed text of percent-encoded UTF-8; ``BadQuery`` when it is invalid or has a NUL character."""
    if _STRAY_PERCENT.search(raw):
        raise BadQuery("The query string holds a % that no two hexadecimal digits follow.")
    try:
        text = unescaped(raw.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        raise BadQuery("The query string is not UTF-8.") from None
    if "\0" in text:
        raise BadQuery("The query string holds a NUL character.")
    # As texts are stored: the letters of "Zoë" may come in two ways, which look alike.
    return composed(text)


def unescaped(raw: bytes) -> bytes:
    """The bytes without percent-encoding, piece by piece: each escape takes a hundred bytes meanwhile."""
    parts, start = [], 0
    while start < len(raw):
        end = start + PIECE
        escape = raw.rfind(b"%", end - 2, end)  # is not cut in two
        end = end if escape < 0 else escape
        parts.append(unquote_to_bytes(raw[start:end]))
        start = end
    return b"".join(parts)


def add_once(options: dict[str, Any], name: str, value: object, target: str) -> None:
    """Add an option; ``BadQuery`` when it is there already, since nobody knows which of two is meant."""
    if name in options:
        raise BadQuery(f"{target} is given twice.", target=target)
    options[name] = value


def unknown_option(name: str, known: Mapping[str, object], target: str | None = None) -> BadQuery:
    """The error that names an unknown option, with the most similar one of ``known``, else all of them."""
    close = difflib.get_close_matches(name[:60].lower().lstrip("$"), known, n=1)
    hint = f" Is ${close[0]} meant?" if close else f" There are {', '.join(f'${each}' for each in known)}."
    return BadQuery(f"There is no option {name[:60]} here.{hint}", target=target or name[:60])


def parse_alias(name: str, text: str) -> Literal:
    """The value of a parameter alias: one literal."""
    tree = parse_expression(text, name)
    if not isinstance(tree, Literal):
        raise BadQuery(f"{name} must be one value, such as 5, 2026-07-01 or 'text'.", target=name)
    return tree


# --- single options -----------------------------------------------------------------------------------


def check_text(target: str, text: str, length: int = MAX_LENGTH) -> str:
    """The text of an option without surrounding blanks; ``BadQuery`` when it is empty or too long."""
    text = text.strip()
    if not text:
        raise BadQuery(f"{target} is empty.", target=target)
    if len(text) > length:
        raise BadQuery(f"{target} is longer than {length:,} characters.", target=target)
    return text


def parse_rows(text: str, target: str) -> int:
    if not re.fullmatch("[0-9]{1,20}", text):
        raise BadQuery(f"{target} must be a whole number of rows, 0 or more.", target=target)
    if int(text) > MAX_ROWS:
        raise BadQuery(f"{target} must be at most {MAX_ROWS:,}.", target=target, code="OutOfRange")
    return int(text)


def parse_count(text: str, target: str) -> bool:
    word = text.lower()
    if word not in ("true", "false"):
        raise BadQuery(f"{target} must be true or false.", target=target)
    return word == "true"


def parse_select(text: str, target: str) -> tuple[tuple[str, ...], ...]:
    paths: dict[tuple[str, ...], None] = {}
    for item in split_top_level(target, text, ","):
        name, opening, inner = item.strip().partition("(")
        if opening:
            paths |= {(*name.split("/"), *path): None for path in parse_inner_select(target, name, inner)}
            continue
        path = tuple(item.strip().split("/"))
        if path != ("*",) and not all(_MEMBER.fullmatch(name) for name in path):
            raise BadQuery(f"{target} cannot name {item.strip()[:60]!r}.", target=target)
        paths[path] = None
    return tuple(paths)


def parse_inner_select(target: str, name: str, text: str) -> tuple[tuple[str, ...], ...]:
    """``$select=Suburb)``: the options of a complex property in a $select."""
    option, _, value = text.strip().removesuffix(")").partition("=")
    if option.strip().lower() not in ("$select", "select") or not text.rstrip().endswith(")"):
        raise BadQuery(f"{target}: {name[:60]} takes ($select=…) only.", target=target)
    return parse_select(check_text(target, value), target)


# --- $expand ------------------------------------------------------------------------------------------

_MEMBER = re.compile(r"[^\W\d]\w{0,127}+")
_PIECE = re.compile(r"'(?:[^']++|'')*+'|[^'(),;]++|[(),;]")


def parse_expand(text: str, target: str, depth: int = 1) -> tuple[ExpandItem, ...]:
    if depth > MAX_EXPAND_DEPTH:
        raise BadQuery(f"$expand is nested deeper than {MAX_EXPAND_DEPTH} levels.", target="$expand")
    items: dict[str, ExpandItem] = {}
    for item in split_top_level(target, text, ","):
        expand_item = parse_expand_item(target, item.strip(), depth)
        add_once(items, expand_item.name, expand_item, f"{target}={expand_item.name}")
    return tuple(items.values())


def parse_expand_item(target: str, item: str, depth: int) -> ExpandItem:
    path, opening, rest = item.partition("(")
    path = path.rstrip()
    path, slash, end = path.partition("/")
    if slash and (end.lower() not in _EXPAND_ENDINGS or path == "*"):
        fail_expand_path(target, f"{path}/{end}")
    ending_options = _EXPAND_ENDINGS.get(end.lower(), {})
    if path != "*" and not _MEMBER.fullmatch(path):
        fail_expand_path(target, path)
    if not opening:
        return ExpandItem(path, NestedOptions(**ending_options))
    if not rest.endswith(")"):
        stray = rest.rpartition(")")[2]
        raise BadQuery(f"{target}: {stray[:40]!r} is not expected after ')'.", target=target)
    if path == "*":
        raise BadQuery(f"{target}: options cannot stand after *; name the part.", target=target)
    options = parse_nested_options(f"{target}/{path}", rest[:-1], depth)
    if "only_references" in ending_options and (options.select or options.expand or options.compute):
        raise BadQuery(f"{target}={path}/{end} shows no members to choose.", target=f"{target}/{path}")
    return ExpandItem(path, replace(options, **ending_options), rest[:-1])


def fail_expand_path(target: str, path: str) -> NoReturn:
    """Raise the error for all that is not one name; for a path of OData it says what to write instead."""
    name, _, rest = path.partition("/")
    if name == "*":
        raise BadQuery(f"{target}={path[:60]}: nothing stands behind *; name the part.", target=target)
    if _MEMBER.fullmatch(name) and _MEMBER.fullmatch(rest):
        raise BadQuery(f"{target}={path}: write {name}($expand={rest}) instead.", target=target)
    raise BadQuery(f"{target} cannot name {path[:60]!r}.", target=target)


def parse_nested_options(target: str, text: str, depth: int) -> NestedOptions:
    """The options between the parentheses behind an expanded navigation property."""
    options: dict[str, Any] = {}
    for piece in filter(str.strip, split_top_level(target, text, ";")):
        name, _, value = piece.partition("=")
        name = name.strip()
        option = name.lower().removeprefix("$")
        nested_target = f"{target}/${option}"
        if option == "levels":
            # No member leads to records of its own kind, so every number of levels shows the same.
            if not re.fullmatch("max|[1-9][0-9]{0,3}", value.strip(), re.IGNORECASE):
                message = f"{nested_target} must be max or a whole number, 1 or more."
                raise BadQuery(message, target=nested_target)
        elif option == "expand":
            items = parse_expand(check_text(nested_target, value), nested_target, depth + 1)
            add_once(options, option, items, nested_target)
        elif option in _NESTED_PARSERS:
            parsed = _NESTED_PARSERS[option](check_text(nested_target, value), nested_target)
            add_once(options, option, parsed, nested_target)
        else:
            raise unknown_option(name, _NESTED_PARSERS, target)
    if "compute" in options:
        substitute_computed(options, f"{target}/$compute")
    return NestedOptions(**options)


def split_top_level(target: str, text: str, separator: str) -> Iterator[str]:
    """The texts between the separators that are not inside strings or parentheses, in one pass."""
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


_NESTED_PARSERS: dict[str, Any] = {
    "filter": parse_expression,
    "orderby": parse_orderby,
    "select": parse_select,
    "expand": parse_expand,
    "top": parse_rows,
    "skip": parse_rows,
    "count": parse_count,
    "search": lambda text, target: text,
    "compute": parse_compute,
}
OPTION_PARSERS: dict[str, Any] = {
    **_NESTED_PARSERS,
    "apply": parse_apply,
    "format": parse_format,
    "skiptoken": lambda text, target: text,
    "deltatoken": lambda text, target: text,
}
#: Those that may be long in a body: lists of values stand in them.
LONG_OPTIONS = ("filter", "apply")
_SERVICE_NAMES = {name.lower(): name for name in SERVICE_PARAMETERS}


#: The options by which a response shows records that were just written.
EXPAND_ALL = parse_options("$expand=*")
