"""References of a batch: ``$1/LineItems`` as a URL, ``$1`` in a query, a body, or as an ETag."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from apps.base.declaration.service import get_service
from apps.odata.errors import BadQuery, FailedDependency
from apps.odata.http.batch.messages import IndividualRequest, IndividualResponse
from apps.odata.query.options import decode

Responses = Mapping[str, IndividualResponse]

#: The first segments of addresses that every service has, whatever identifiers its requests have.
_SYSTEM_RESOURCES = frozenset({"batch", "crossjoin", "all", "entity", "root", "id", "metadata"})
_FIRST_SEGMENT = re.compile(rb"[^/]+")
#: The words of expressions and of nested options that begin with a dollar sign.
_SYSTEM_WORD = re.compile(
    r"it|this|root|all|each|count|ref|value"
    r"|apply|compute|expand|filter|levels|orderby|search|select|skip|top"
)
#: The query options that may hold references, besides aliases; others hold texts to look for, and numbers.
_OPTIONS = frozenset({"filter", "orderby", "apply", "compute", "expand", "id"})
#: A reference in an expression, with the path of a value behind it; strings are skipped.
_IN_EXPRESSION = re.compile(r"'(?:[^']|'')*'|\$(?P<id>[A-Za-z0-9._~-]+)(?P<path>(?:/\w+)*)")
#: Strings of JSON that are literals without quotation marks in an expression: guids, dates and times.
_BARE_LITERAL = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?"
)
#: A string of a JSON text; a name has its colon behind it.
_STRING = re.compile(rb'"((?:[^"\\]++|\\.)*+)"(\s*+:)?+', re.DOTALL)
_KEY = re.compile(r"\(([^()/]+)\)\Z")
#: The members of a body whose value is the address of a record.
_ADDRESS_MEMBERS = ("@odata.bind", "@bind", "@odata.id", "@id")


def resolve_references(request: IndividualRequest, responses: Responses) -> IndividualRequest:
    """The request with the references in its headers and its body replaced.

    ``BadQuery`` for a reference to no earlier request, ``FailedDependency`` for one to a request that failed.
    """
    return replace(
        request,
        headers={name: resolve_etag(name, value, responses) for name, value in request.headers.items()},
        body=resolve_body(request.body, responses) if b'"$' in request.body else request.body,
    )


def resolve_reference(path: bytes, responses: Responses) -> bytes:
    """The URL of a path below the service whose first segment is a reference; empty when it is none."""
    match = _FIRST_SEGMENT.match(path)
    segment = unquote_to_bytes(match[0]).decode("latin-1") if match else ""
    if match is None or not segment.startswith("$") or segment[1:].lower() in _SYSTEM_RESOURCES:
        return b""
    return entity_url(segment[1:], responses).encode() + path[match.end() :]


def resolve_query(query: bytes, responses: Responses) -> bytes:
    """The query string with keys and values of earlier responses instead of ``$1`` and ``$1/ClientGuid``."""
    pieces = []
    for piece in query.split(b"&"):
        name, equals, value = piece.partition(b"=")
        option = decode(name).lower().removeprefix("$")
        if (b"$" in value or b"%24" in value) and (option in _OPTIONS or option.startswith("@")):
            text = decode(value)
            if option == "id" and text.startswith("$"):
                resolved = entity_url(text[1:], responses)
            else:
                resolved = _IN_EXPRESSION.sub(partial(resolve_expression, responses=responses), text)
            piece = name + equals + quote(resolved, safe="").encode()
        pieces.append(piece)
    return b"&".join(pieces)


def resolve_expression(match: re.Match[str], responses: Responses) -> str:
    name, path = match["id"], match["path"]
    is_reference = (
        name is not None and not _SYSTEM_WORD.fullmatch(name) and (name in responses or name.isdecimal())
    )
    return expression_literal(value_of(name, path, responses)) if is_reference else match[0]


def expression_literal(value: object) -> str:
    """A value of a JSON body as OData's expressions write it."""
    if isinstance(value, str) and not _BARE_LITERAL.fullmatch(value):
        return "'" + value.replace("'", "''") + "'"
    return value if isinstance(value, str) else json.dumps(value, default=str).strip('"')


def value_of(identifier: str, path: str, responses: Responses) -> Any:
    """The value at a path in the response to a request; the key of its record without a path."""
    response = find_response(identifier, responses)
    if not path:
        return key_of(entity_url(identifier, responses))
    try:
        value = json.loads(response.body, parse_float=Decimal)
        if response.entity_url and isinstance(value.get("value"), list):  # one record that was sent in a list
            (value,) = value["value"]
        for name in path.strip("/").split("/"):
            value = value[name]
    except (ValueError, KeyError, TypeError, AttributeError):
        value = {}
    if isinstance(value, dict | list):
        raise BadQuery(f"The response to request {identifier} has no value {path.strip('/')[:60]}.")
    return value


def resolve_etag(header: str, value: str, responses: Responses) -> str:
    if header not in ("if-match", "if-none-match") or not value.startswith("$"):
        return value
    etag = find_response(value[1:], responses).headers.get("ETag")
    if etag is None:
        raise BadQuery(f"Request {value[1:]} was answered without an ETag that {value} could stand for.")
    return etag


def resolve_body(body: bytes, responses: Responses) -> bytes:
    """The body with the address of a record, or its key where a member is a guid, instead of a reference."""
    pieces: list[bytes] = []
    member, end = "", 0
    for match in _STRING.finditer(body):
        if match[2]:
            member = match[1].decode("latin-1")
            continue
        name = match[1].decode("latin-1")
        if not name.startswith("$") or not (member.endswith(_ADDRESS_MEMBERS) or member in guid_members()):
            continue
        identifier, slash, path = name[1:].partition("/")
        if member.endswith(_ADDRESS_MEMBERS):
            value = entity_url(name[1:], responses)
        else:
            value = value_of(identifier, slash + path, responses)
        pieces += [body[end : match.start()], json.dumps(value, default=str).encode()]
        end = match.end()
    return b"".join([*pieces, body[end:]])


def entity_url(identifier: str, responses: Responses) -> str:
    url = find_response(identifier, responses).entity_url
    if not url:
        raise BadQuery(f"Request {identifier} has no single record that ${identifier} could stand for.")
    return url


def key_of(address: str) -> str:
    match = _KEY.search(address)
    if match is None:
        raise BadQuery(f"{address} has no key.")
    return match[1]


def find_response(identifier: str, responses: Responses) -> IndividualResponse:
    response = responses.get(identifier)
    if response is None:
        raise BadQuery(f"${identifier[:60]} refers to no earlier request of the batch.")
    if response.is_error:
        raise FailedDependency(f"Request {identifier} failed, which ${identifier} refers to.")
    return response


@lru_cache(maxsize=1)
def guid_members() -> frozenset[str]:
    """The members of bodies that are guids, whose value never begins with a dollar sign otherwise."""
    types = [type_ for entity_set in get_service().entity_sets for type_ in entity_set.type.walk()]
    properties = [
        prop for type_ in types for prop in type_.properties.values() if prop.edm.name == "Edm.Guid"
    ]
    return frozenset(name for prop in properties for name in prop.body_names)
