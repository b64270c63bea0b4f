"""The interface as OpenAPI 3.1: operations from the viewsets, everything in them from the declarations.

drf-spectacular walks the addresses; ``RecordSchema`` describes what each does, ``as_addresses`` spells the
addresses as callers write them, ``complete`` adds what is shared: schemas
(``apps.odata.metadata.json_schema``), parameters, answers, security.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from drf_spectacular.openapi import AutoSchema

from apps.odata.declaration.schema import EntitySet, StructuralProperty
from apps.odata.declaration.service import Service, get_service
from apps.odata.metadata.json_schema import (
    COUNT,
    TEXT,
    URI,
    YES_OR_NO,
    Json,
    example_filter,
    example_of,
    example_value,
    item_schema,
    primitive,
    read_schemas,
    reference,
    value_schema,
    write_schemas,
)
from apps.odata.query.plain_filters import filterable, operators_of

Endpoint = tuple[str, str, str, Any]

#: decisions.md 1 and 8.
ROOT = "/api/"
TOKEN_ADDRESS = "/connect/token"  # noqa: S105  (an address)
JSON, NDJSON, CSV = "application/json", "application/x-ndjson", "text/csv"


# --- addresses ----------------------------------------------------------------------------------------


def as_addresses(endpoints: list[Endpoint]) -> list[Endpoint]:
    """Preprocessing hook: of each resource's operations the documented spelling, and it once.

    The URL patterns match any case and several spellings of a key; callers are shown one.
    """
    shown: dict[tuple[str, str], Endpoint] = {}
    for path, regex, method, callback in endpoints:
        resource = getattr(callback.cls, "resource", None)
        if resource is None:
            continue
        address = address_of(get_service().by_resource[resource], callback.actions[method.lower()], path)
        shown.setdefault((address, method), (address, regex, method, callback))
    return list(shown.values())


def address_of(entity_set: EntitySet, action: str, path: str) -> str:
    """``/api/claim``, ``/api/claim/$count``, ``/api/claim/{ClaimGuid}`` …"""
    collection = f"{ROOT}{entity_set.path}"
    if action in ("list", "create"):
        return collection
    if action in ("count", "query"):
        return f"{collection}/${action}"
    item = f"{collection}/{{{entity_set.key.name}}}"
    if action in ("retrieve", "update"):
        return item
    return f"{item}/{path.rstrip('/').rpartition('/')[2]}"


class RecordSchema(AutoSchema):
    """Describes the operations of a ``ODataViewSet``; actions of its own describe themselves."""

    view: Any

    def get_operation(self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any) -> Any:
        describe = OPERATIONS.get(getattr(self.view, "action", None) or "")
        if describe is None:
            return super().get_operation(path, path_regex, path_prefix, method, registry)
        return describe(self.view.entity_set)


# --- operations ---------------------------------------------------------------------------------------


def operation(entity_set: EntitySet, verb: str, summary: str, right: str, **said: Any) -> Json:
    """What every operation has; ``right`` is ``read`` or ``write``."""
    return {
        "operationId": f"{verb}{entity_set.name}",
        "summary": summary,
        "tags": [entity_set.name],
        **said,
        "security": security(entity_set, right),
    }


def list_operation(entity_set: EntitySet) -> Json:
    return operation(
        entity_set,
        "list",
        f"A page of {entity_set.name}",
        "read",
        parameters=[
            *shared("filter", "orderby", "select", "expand", "top", "skip", "count"),
            *(shared("search") if entity_set.resource.search else ()),
            *shared("format", "skiptoken", "version", "apiVersion", "preferPage"),
            *plain_parameters(entity_set),
        ],
        responses=collection_answers(entity_set),
    )


def query_operation(entity_set: EntitySet) -> Json:
    text = {"schema": {"type": "string"}, "example": f"$filter={example_filter(entity_set)}&$top=10"}
    return operation(
        entity_set,
        "query",
        f"A page of {entity_set.name}, asked for in the body",
        "read",
        description="The query string as the body, for filters too long for an address.",
        parameters=shared("version", "apiVersion", "preferPage"),
        requestBody={"required": True, "content": {"text/plain": text}},
        responses=collection_answers(entity_set, "413", "415"),
    )


def count_operation(entity_set: EntitySet) -> Json:
    number = {"description": "The number of records.", "content": {"text/plain": {"schema": COUNT}}}
    return operation(
        entity_set,
        "count",
        f"The number of {entity_set.name} records",
        "read",
        parameters=[
            *shared("filter", *(["search"] if entity_set.resource.search else []), "version", "apiVersion"),
            *plain_parameters(entity_set),
        ],
        responses={"200": number, **refusals("400", "401", "403", "429")},
    )


def retrieve_operation(entity_set: EntitySet) -> Json:
    answer = {
        "description": f"The {entity_set.name} record.",
        "headers": etag(entity_set),
        "content": {JSON: {"schema": item_schema(entity_set)}},
    }
    return operation(
        entity_set,
        "get",
        f"One {entity_set.name} record",
        "read",
        parameters=[
            key_parameter(entity_set),
            *shared("select", "expand", "format", "version", "apiVersion"),
            *(shared("ifNoneMatch") if entity_set.etag_field else ()),
        ],
        responses={
            "200": answer,
            **({"304": {"description": "Not changed since If-None-Match."}} if entity_set.etag_field else {}),
            **refusals("400", "401", "403", "404", "406", "429"),
        },
    )


def create_operation(entity_set: EntitySet) -> Json:
    many, one = reference(f"{entity_set.name}Bodies"), reference(f"{entity_set.name}Body")
    example = example_of(entity_set.type)
    answer = {
        "description": "What was stored, its parts expanded: in the order given, or bare as it was given.",
        "headers": {"Location": {"description": "Of one record: its address.", "schema": URI}},
        "content": {
            JSON: {"schema": {"anyOf": [reference(f"{entity_set.name}Page"), item_schema(entity_set)]}}
        },
    }
    content = {
        "schema": {"anyOf": [many, one]},
        "examples": {
            "records": {"summary": "Any number of records", "value": {"value": [example]}},
            "record": {"summary": "One bare record", "value": example},
        },
    }
    return operation(
        entity_set,
        "create",
        f"Store {entity_set.name} records",
        "write",
        description="All records of the body are stored, or none.",
        parameters=[
            *shared("version", "apiVersion", "idempotencyKey", "preferReturn"),
            *(shared("ignoreWarnings") if entity_set.resource.has_warnings else ()),
        ],
        requestBody={"required": True, "content": {JSON: content}},
        responses={
            "201": answer,
            "204": {"description": "Stored; nothing is told of it (Prefer: return=minimal)."},
            **refusals("400", "401", "403", "409", "413", "415", "422", "429"),
        },
    )


def update_operation(entity_set: EntitySet) -> Json:
    content = {"schema": reference(f"{entity_set.name}Body"), "example": example_of(entity_set.type)}
    answer = {
        "description": "The record as it is now, its parts expanded.",
        "headers": etag(entity_set),
        "content": {JSON: {"schema": item_schema(entity_set)}},
    }
    return operation(
        entity_set,
        "replace",
        f"Replace one {entity_set.name} record",
        "write",
        description="The record becomes what the body says: what it leaves out becomes null or its default.",
        parameters=[
            key_parameter(entity_set),
            *shared("version", "apiVersion", "preferReturn"),
            *(shared("ifMatch") if entity_set.etag_field else ()),
            *(shared("ignoreWarnings") if entity_set.resource.has_warnings else ()),
        ],
        requestBody={"required": True, "content": {JSON: content}},
        responses={
            "200": answer,
            "204": {"description": "Replaced; nothing is told of it (Prefer: return=minimal)."},
            **refusals("400", "401", "403", "404", "409", "412", "413", "415", "429"),
        },
    )


OPERATIONS: dict[str, Callable[[EntitySet], Json]] = {
    "list": list_operation,
    "query": query_operation,
    "count": count_operation,
    "retrieve": retrieve_operation,
    "create": create_operation,
    "update": update_operation,
}


def collection_answers(entity_set: EntitySet, *more: str) -> Json:
    page = {
        "description": "A page of records; as lines or as a table the whole collection in one stream.",
        "headers": {"Preference-Applied": {"schema": {"type": "string"}}},
        "content": {
            JSON: {"schema": reference(f"{entity_set.name}Page")},
            NDJSON: {"schema": {"type": "string", "description": "A record to a line."}},
            CSV: {"schema": {"type": "string", "description": "Parts are flattened: Address/Suburb."}},
        },
    }
    return {"200": page, **refusals("400", "401", "403", "406", *more, "429")}


def refusals(*statuses: str) -> Json:
    """The ways an operation can refuse, and what may happen to any."""
    return {
        status: {"$ref": f"#/components/responses/{REFUSALS[status][0]}"}
        for status in (*statuses, "500", "503")
    }


def etag(entity_set: EntitySet) -> Json:
    if not entity_set.etag_field:
        return {}
    return {"ETag": {"description": "Made of the modify stamp.", "schema": {"type": "string"}}}


def security(entity_set: EntitySet, right: str) -> list[Json]:
    """The ways to present oneself; a wide scope or the resource's own is enough."""
    tokens: list[Json] = [{"oauth2": [right]}, {"oauth2": [f"{entity_set.path.lower()}.{right}"]}]
    return [*tokens, {"basic": []}, {"session": []}] if right == "read" else tokens


# --- parameters ---------------------------------------------------------------------------------------


def key_parameter(entity_set: EntitySet) -> Json:
    return {
        "name": entity_set.key.name,
        "in": "path",
        "required": True,
        "description": f"Also written {entity_set.path}({{{entity_set.key.name}}}).",
        "schema": value_schema(entity_set.key),
        "example": example_value(entity_set.key),
    }


def plain_parameters(entity_set: EntitySet) -> Iterator[Json]:
    """A filter for every property; its suffixes are told in its description."""
    for path, prop in filterable(entity_set.type):
        suffixes = ", ".join(f"__{operator}" for operator in operators_of(prop)[1:])
        yield {
            "name": path,
            "in": "query",
            "description": f"Only records whose {path} is this. Suffixes ask otherwise: {suffixes}.",
            "schema": asked_schema(prop),
        }


def asked_schema(prop: StructuralProperty) -> Json:
    """What may stand in an address for a value; it is free of the limits of what may be stored."""
    if prop.choices:
        return {"type": "string", "enum": [*prop.choices, *map(str, prop.numbers)]}
    if prop.edm.name == "Edm.String":
        return {"type": "string", "minLength": 1}
    return primitive(
        {"$Type": prop.edm.name, "$Precision": prop.edm.precision or 0, "$Scale": prop.edm.scale or 0}
    )


def shared(*names: str) -> list[Json]:
    return [{"$ref": f"#/components/parameters/{name}"} for name in names]


# No examples here: a page to try the interface out would send them along unasked.


def parameter(name: str, where: str, description: str, schema: Json) -> Json:
    return {"name": name, "in": where, "description": description, "schema": schema}


def query_option(name: str, description: str, schema: Json) -> Json:
    told = f"{description} Also written {name}, without the dollar sign, and in any case."
    return parameter(f"${name}", "query", told, schema)


VERSIONS: Json = {"type": "string", "enum": ["2", "2.0"]}
METADATA_FORMATS: Json = {"type": "string", "enum": ["xml", "json", "application/xml", JSON]}
FORMATS: Json = {"type": "string", "enum": ["json", "ndjson", "csv", JSON, NDJSON, CSV]}


def query_options() -> dict[str, Json]:
    """The options of OData."""
    told: tuple[tuple[str, str, Json], ...] = (
        ("filter", "Only records of which it is true, such as ArchiveDate eq null.", TEXT),
        ("orderby", "The order, such as CreationDate desc; without it each resource has its own.", TEXT),
        ("select", "Only these properties, between commas.", TEXT),
        ("expand", "The parts to show, between commas, each with options in parentheses; * is all.", TEXT),
        ("top", "At most so many records.", COUNT),
        ("skip", "Leave out so many records first.", COUNT),
        ("count", "Tell how many records are found in all.", YES_OR_NO),
        ("search", "Records that have all these words in them, in any case.", TEXT),
        ("format", "The format, over what Accept says.", FORMATS),
        ("skiptoken", "Where the page begins; comes with @odata.nextLink.", TEXT),
    )
    return {name: query_option(name, description, schema) for name, description, schema in told}


def parameters() -> dict[str, Json]:
    """The parameters that operations share."""
    pages = f"odata.maxpagesize=n asks for pages of n records, {settings.API_MAX_PAGE_SIZE:,} at most."
    hours = settings.API_IDEMPOTENCY_SECONDS // 3600
    once = f"The same key with the same body is answered as it was at first, for {hours} hours."
    key = {"type": "string", "minLength": 1}
    told: tuple[tuple[str, str, str, str, Json], ...] = (
        # (how it is referred to, its name, where it stands, what it means, its schema)
        ("version", "version", "query", "The version; there is one. Also the header api-version.", VERSIONS),
        ("apiVersion", "api-version", "header", "The version, as the parameter of that name.", VERSIONS),
        ("ignoreWarnings", "ignoreWarnings", "query", "Store it in spite of warnings.", YES_OR_NO),
        ("preferPage", "Prefer", "header", pages, TEXT),
        ("preferReturn", "Prefer", "header", "return=minimal asks for an answer without a body.", TEXT),
        ("idempotencyKey", "Idempotency-Key", "header", once, key),
        ("ifMatch", "If-Match", "header", "The ETag the record was read with; it has another: 412.", TEXT),
        ("ifNoneMatch", "If-None-Match", "header", "An ETag; the record still has it: 304.", TEXT),
    )
    return query_options() | {
        referred: parameter(name, where, description, schema)
        for referred, name, where, description, schema in told
    }


# --- answers that refuse ------------------------------------------------------------------------------

REFUSALS = {
    "400": ("BadRequest", "The request cannot be understood, or holds faults; each is told with its place."),
    "401": ("Unauthenticated", "No credentials, or credentials that do not hold."),
    "403": ("Forbidden", "A known caller without the right, or above its quota."),
    "404": ("NotFound", "No record has this key."),
    "406": ("NotAcceptable", "A format that is not served."),
    "409": ("Conflict", "Another writer was first."),
    "412": ("PreconditionFailed", "The record was changed since it was read."),
    "413": ("TooLarge", "More bytes, records or items than a request may hold."),
    "415": ("UnsupportedMediaType", "A body in a format that is not read."),
    "422": ("IdempotencyKeyReused", "The Idempotency-Key was used for another request."),
    "429": ("TooManyRequests", "More requests a minute than the caller may make."),
    "500": ("InternalError", "Something went wrong here; the message holds the request's id."),
    "503": ("Unavailable", "The database cannot be reached now."),
}
RETRIED = ("403", "429", "503")

ERROR: Json = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "description": "A stable word.", "examples": ["ValidationFailed"]},
                "message": {
                    "type": "string",
                    "examples": ["Nothing was stored: 1 fault in 1 record."],
                },
                "target": {"type": "string", "description": "The option or member at fault."},
                "details": {
                    "type": "array",
                    "description": "Every fault of every record.",
                    "items": {
                        "type": "object",
                        "required": ["code", "message"],
                        "properties": {
                            "code": {"type": "string", "examples": ["Required"]},
                            "message": {"type": "string", "examples": ["Quantity is required."]},
                            "target": {"type": "string", "examples": ["value[0]/LineItems[1]/Quantity"]},
                            "severity": {
                                "type": "string",
                                "enum": ["warning"],
                                "description": "Told of warnings; ignoreWarnings=true passes over them.",
                            },
                        },
                    },
                },
            },
        }
    },
}


def refusal_answers() -> Json:
    told: Json = {}
    for status, (name, meaning) in REFUSALS.items():
        told[name] = {"description": meaning, "content": {JSON: {"schema": reference("Error")}}}
        if status in RETRIED:
            seconds = {"description": "Seconds to wait.", "schema": COUNT}
            told[name]["headers"] = {"Retry-After": seconds}
        if status == "401":
            told[name]["headers"] = {"WWW-Authenticate": {"schema": TEXT}}
    return told


# --- the whole ----------------------------------------------------------------------------------------


def complete(result: Json, generator: Any, request: Any, public: bool) -> Json:
    """Postprocessing hook: what the operations refer to, and the addresses that are no resource's."""
    service = get_service()
    components = result["components"]
    for kind, made in (
        ("schemas", {"Error": ERROR, **read_schemas(service), **write_schemas(service)}),
        ("parameters", parameters()),
        ("responses", refusal_answers()),
        ("securitySchemes", security_schemes(service)),
    ):
        components[kind] = {**made, **components.get(kind, {})}
    result["paths"] = {**service_paths(), **result["paths"]}
    result["tags"] = [{"name": "Service"}] + [
        {"name": found.name, "description": " ".join((found.type.declaration.__doc__ or "").split())}
        for found in service.entity_sets
    ]
    return result


def security_schemes(service: Service) -> Json:
    """Tokens for applications, their id and secret for spreadsheets, a session for looking around."""
    scopes = {"read": "Read everything.", "write": "Write everything."}
    for entity_set in service.entity_sets:
        scopes[f"{entity_set.path.lower()}.read"] = f"Read {entity_set.name}."
        if entity_set.supports("POST") or entity_set.supports("PUT"):
            scopes[f"{entity_set.path.lower()}.write"] = f"Write {entity_set.name}."
    return {
        "oauth2": {
            "type": "oauth2",
            "description": "An API application's client id and secret are exchanged for a token.",
            "flows": {"clientCredentials": {"tokenUrl": TOKEN_ADDRESS, "scopes": scopes}},
        },
        "basic": {
            "type": "http",
            "scheme": "basic",
            "description": "An API application's client id and secret, for reading only.",
        },
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": settings.SESSION_COOKIE_NAME,
            "description": "Whoever is signed in to the back office may read here.",
        },
    }


def service_paths() -> Json:
    """The service document and the data model."""
    anyone: list[Json] = [{"oauth2": []}, {"basic": []}, {"session": []}]
    said = {"tags": ["Service"], "security": anyone}
    entity_sets = {
        "type": "object",
        "properties": {
            "@odata.context": URI,
            "value": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": TEXT, "kind": TEXT, "url": TEXT},
                },
            },
        },
    }
    return {
        ROOT: {
            "get": {
                "operationId": "getServiceDocument",
                "summary": "What there is",
                **said,
                "parameters": shared("version", "apiVersion"),
                "responses": {
                    "200": {
                        "description": "The entity sets.",
                        "content": {JSON: {"schema": entity_sets}},
                    },
                    **refusals("400", "401", "429"),
                },
            }
        },
        f"{ROOT}$metadata": {
            "get": {
                "operationId": "getMetadata",
                "summary": "The data model",
                **said,
                "parameters": [
                    query_option("format", "The format, over what Accept says.", METADATA_FORMATS)
                ],
                "responses": {
                    "200": {
                        "description": "CSDL in XML or JSON.",
                        "content": {
                            "application/xml": {"schema": TEXT},
                            JSON: {"schema": {"type": "object"}},
                        },
                    },
                    **refusals("401", "429"),
                },
            }
        },
    }
