"""References to earlier requests of a batch: ``$1/LineItems`` as a URL, ``$1`` in a body or as an ETag."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from apps.odata.declaration.service import get_service
from apps.odata.errors import BadQuery, FailedDependency
from apps.odata.http.batch.messages import IndividualRequest, IndividualResponse

Responses = Mapping[str, IndividualResponse]

#: The first segments of addresses that every service has, whatever identifiers its requests have.
_SYSTEM_RESOURCES = frozenset({"batch", "crossjoin", "all", "entity", "root", "id", "metadata"})
_FIRST_SEGMENT = re.compile(rb"\$([^/?#]+)")
#: A string of a JSON text; a name has its colon behind it.
_STRING = re.compile(rb'"((?:[^"\\]++|\\.)*+)"(\s*+:)?+', re.DOTALL)
_KEY = re.compile(r"\(([^()/]+)\)\Z")
#: The members of a body whose value is the address of a record.
_ADDRESS_MEMBERS = ("@odata.bind", "@bind", "@odata.id", "@id")


def resolve_references(request: IndividualRequest, responses: Responses) -> IndividualRequest:
    """The request with its references replaced.

    ``BadQuery`` for a reference to no earlier request, ``FailedDependency`` for one to a request that failed.
    """
    return replace(
        request,
        url=resolve_url(request.url, responses),
        headers={name: resolve_etag(name, value, responses) for name, value in request.headers.items()},
        body=resolve_body(request.body, responses) if b'"$' in request.body else request.body,
    )


def resolve_url(url: bytes, responses: Responses) -> bytes:
    match = _FIRST_SEGMENT.match(url)
    name = match[1].decode("latin-1") if match else ""
    if match is None or name.lower() in _SYSTEM_RESOURCES:
        return url
    return entity_url(name, responses).encode() + url[match.end() :]


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
        address = entity_url(name[1:], responses)
        value = address if member.endswith(_ADDRESS_MEMBERS) else key_of(address)
        pieces += [body[end : match.start()], b'"', value.encode(), b'"']
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
    return frozenset(name for prop in properties for name in (prop.name, *prop.declaration.aliases))
