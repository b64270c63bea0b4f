"""The interface as OpenAPI 3.1: operations from the viewsets, their content from the declarations.

drf-spectacular lists the addresses; ``ODataSchema`` describes their operations, ``normalise_endpoints`` gives
them their documented spelling, ``complete_document`` adds the schemas (``apps.odata.metadata.json_schema``)
and the other components (``apps.odata.metadata.openapi_components``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from drf_spectacular.openapi import AutoSchema

from apps.odata.declaration.schema import EntitySet, StructuralProperty
from apps.odata.declaration.service import get_service
from apps.odata.metadata.json_schema import (
    COUNT,
    URI,
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
from apps.odata.metadata.openapi_components import (
    CSV,
    ERROR,
    JSON,
    NDJSON,
    ROOT,
    error_responses,
    make_error_responses,
    make_parameters,
    parameter_refs,
    security_schemes,
    service_paths,
)
from apps.odata.query.plain_filters import filterable, operators_of

Endpoint = tuple[str, str, str, Any]

# --- addresses ----------------------------------------------------------------------------------------


def normalise_endpoints(endpoints: list[Endpoint]) -> list[Endpoint]:
    """Preprocessing hook: each operation once, at the documented spelling of its address.

    The URL patterns match any case and several spellings of a key.
    """
    normalised: dict[tuple[str, str], Endpoint] = {}
    for path, regex, method, callback in endpoints:
        resource = getattr(callback.cls, "resource", None)
        if resource is None:
            continue
        address = address_of(get_service().by_resource[resource], callback.actions[method.lower()], path)
        normalised.setdefault((address, method), (address, regex, method, callback))
    return list(normalised.values())


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


class ODataSchema(AutoSchema):
    """Describes the operations of an ``ODataViewSet``; its own actions have ``extend_schema``."""

    view: Any

    def get_operation(self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any) -> Any:
        describe = OPERATIONS.get(getattr(self.view, "action", None) or "")
        if describe is None:
            return super().get_operation(path, path_regex, path_prefix, method, registry)
        return describe(self.view.entity_set)


# --- operations ---------------------------------------------------------------------------------------


def operation(entity_set: EntitySet, name: str, summary: str, scope: str, **details: Any) -> Json:
    """What every operation has; ``scope`` is ``read`` or ``write``."""
    return {
        "operationId": f"{name}{entity_set.name}",
        "summary": summary,
        "tags": [entity_set.name],
        **details,
        "security": security(entity_set, scope),
    }


def list_operation(entity_set: EntitySet) -> Json:
    return operation(
        entity_set,
        "list",
        f"A page of {entity_set.name}",
        "read",
        parameters=[
            *parameter_refs("filter", "orderby", "select", "expand", "top", "skip", "count"),
            *(parameter_refs("search") if entity_set.resource.search else ()),
            *parameter_refs("format", "skiptoken", "version", "apiVersion", "preferPage"),
            *plain_parameters(entity_set),
        ],
        responses=collection_responses(entity_set),
    )


def query_operation(entity_set: EntitySet) -> Json:
    text = {"schema": {"type": "string"}, "example": f"$filter={example_filter(entity_set)}&$top=10"}
    return operation(
        entity_set,
        "query",
        f"A page of {entity_set.name}, asked for in the body",
        "read",
        description="The query string as the body, for filters too long for an address.",
        parameters=parameter_refs("version", "apiVersion", "preferPage"),
        requestBody={"required": True, "content": {"text/plain": text}},
        responses=collection_responses(entity_set, "413", "415"),
    )


def count_operation(entity_set: EntitySet) -> Json:
    number = {"description": "The number of records.", "content": {"text/plain": {"schema": COUNT}}}
    return operation(
        entity_set,
        "count",
        f"The number of {entity_set.name} records",
        "read",
        parameters=[
            *parameter_refs(
                "filter", *(["search"] if entity_set.resource.search else []), "version", "apiVersion"
            ),
            *plain_parameters(entity_set),
        ],
        responses={"200": number, **error_responses("400", "401", "403", "429")},
    )


def retrieve_operation(entity_set: EntitySet) -> Json:
    response = {
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
            *parameter_refs("select", "expand", "format", "version", "apiVersion"),
            *(parameter_refs("ifNoneMatch") if entity_set.etag_field else ()),
        ],
        responses={
            "200": response,
            **({"304": {"description": "Not changed since If-None-Match."}} if entity_set.etag_field else {}),
            **error_responses("400", "401", "403", "404", "406", "429"),
        },
    )


def create_operation(entity_set: EntitySet) -> Json:
    many, one = reference(f"{entity_set.name}Bodies"), reference(f"{entity_set.name}Body")
    example = example_of(entity_set.type)
    response = {
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
            *parameter_refs("version", "apiVersion", "idempotencyKey", "preferReturn"),
            *(parameter_refs("ignoreWarnings") if entity_set.resource.has_warnings else ()),
        ],
        requestBody={"required": True, "content": {JSON: content}},
        responses={
            "201": response,
            "204": {"description": "Stored; nothing is told of it (Prefer: return=minimal)."},
            **error_responses("400", "401", "403", "409", "413", "415", "422", "429"),
        },
    )


def update_operation(entity_set: EntitySet) -> Json:
    content = {"schema": reference(f"{entity_set.name}Body"), "example": example_of(entity_set.type)}
    response = {
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
            *parameter_refs("version", "apiVersion", "preferReturn"),
            *(parameter_refs("ifMatch") if entity_set.etag_field else ()),
            *(parameter_refs("ignoreWarnings") if entity_set.resource.has_warnings else ()),
        ],
        requestBody={"required": True, "content": {JSON: content}},
        responses={
            "200": response,
            "204": {"description": "Replaced; nothing is told of it (Prefer: return=minimal)."},
            **error_responses("400", "401", "403", "404", "409", "412", "413", "415", "429"),
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


def collection_responses(entity_set: EntitySet, *more: str) -> Json:
    page = {
        "description": "A page of records; as lines or as a table the whole collection in one stream.",
        "headers": {"Preference-Applied": {"schema": {"type": "string"}}},
        "content": {
            JSON: {"schema": reference(f"{entity_set.name}Page")},
            NDJSON: {"schema": {"type": "string", "description": "A record to a line."}},
            CSV: {"schema": {"type": "string", "description": "Parts are flattened: Address/Suburb."}},
        },
    }
    return {"200": page, **error_responses("400", "401", "403", "406", *more, "429")}


def etag(entity_set: EntitySet) -> Json:
    if not entity_set.etag_field:
        return {}
    return {"ETag": {"description": "Made of the modify stamp.", "schema": {"type": "string"}}}


def security(entity_set: EntitySet, scope: str) -> list[Json]:
    """The ways to authenticate; the scope for all resources or for this one is enough."""
    tokens: list[Json] = [{"oauth2": [scope]}, {"oauth2": [f"{entity_set.path.lower()}.{scope}"]}]
    return [*tokens, {"basic": []}, {"session": []}] if scope == "read" else tokens


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
    """A filter for every property; its description names the suffixes."""
    for path, prop in filterable(entity_set.type):
        suffixes = ", ".join(f"__{operator}" for operator in operators_of(prop)[1:])
        yield {
            "name": path,
            "in": "query",
            "description": f"Only records whose {path} is this. Suffixes ask otherwise: {suffixes}.",
            "schema": filter_schema(prop),
        }


def filter_schema(prop: StructuralProperty) -> Json:
    """The value of a plain filter, without the limits of stored values."""
    if prop.choices:
        return {"type": "string", "enum": [*prop.choices, *map(str, prop.numbers)]}
    if prop.edm.name == "Edm.String":
        return {"type": "string", "minLength": 1}
    return primitive(
        {"$Type": prop.edm.name, "$Precision": prop.edm.precision or 0, "$Scale": prop.edm.scale or 0}
    )


# --- the document -------------------------------------------------------------------------------------


def complete_document(result: Json, generator: Any, request: Any, public: bool) -> Json:
    """Postprocessing hook: the components, and the addresses that belong to no resource."""
    service = get_service()
    components = result["components"]
    for section, entries in (
        ("schemas", {"Error": ERROR, **read_schemas(service), **write_schemas(service)}),
        ("parameters", make_parameters()),
        ("responses", make_error_responses()),
        ("securitySchemes", security_schemes(service)),
    ):
        components[section] = {**entries, **components.get(section, {})}
    result["paths"] = {**service_paths(), **result["paths"]}
    result["tags"] = [{"name": "Service"}] + [
        {
            "name": entity_set.name,
            "description": " ".join((entity_set.type.declaration.__doc__ or "").split()),
        }
        for entity_set in service.entity_sets
    ]
    return result
