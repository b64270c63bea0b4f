"""The interface as OpenAPI 3.1: operations from the viewsets, their content from the declarations.

drf-spectacular lists the addresses; ``ODataSchema`` describes their operations, ``normalise_endpoints`` gives
them their documented spelling, ``complete_document`` adds the schemas (``apps.odata.metadata.json_schema``)
and the other components (``apps.odata.metadata.openapi_components``).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema

from apps.base.declaration.resource import DELETE, GET, PATCH, POST, PUT, V2_0, V2_1, BodyKind
from apps.base.declaration.schema import EntitySet, StructuralProperty
from apps.base.declaration.service import Service, get_service
from apps.odata.metadata.json_schema import (
    CHANGE_SCHEMAS,
    COUNT,
    TEXT,
    URI,
    Json,
    example_filter,
    example_of,
    example_value,
    item_schema,
    list_schema,
    object_schema,
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
    security,
    security_schemes,
    service_paths,
)
from apps.odata.query.plain_filters import filterable, operators_of

Endpoint = tuple[str, str, str, Any]
#: The methods of an address, in the order in which they are described.
METHODS = (GET, POST, PUT, PATCH, DELETE)

#: The addresses behind a record, as many as there are members: $metadata lists those.
MEMBER_ACTIONS = ("member", "member_text", "list_references")

ETAG_HEADER: Json = {"ETag": {"description": "Made of the time of the last change.", "schema": TEXT}}

# --- addresses ----------------------------------------------------------------------------------------


def normalise_endpoints(endpoints: list[Endpoint]) -> list[Endpoint]:
    """Preprocessing hook: each operation once, at the documented spelling of its address.

    The URL patterns match any case and several spellings of a key.
    """
    normalised: dict[str, dict[str, Endpoint]] = defaultdict(dict)
    for path, regex, method, callback in endpoints:
        resource = getattr(callback.cls, "resource", None)
        if resource is None:
            continue
        if callback.actions[method.lower()] in MEMBER_ACTIONS:
            continue
        address = address_of(get_service(V2_1).by_resource[resource], callback.actions[method.lower()], path)
        normalised[address].setdefault(method, (address, regex, method, callback))
    # drf-spectacular lists the methods of a viewset as a set has them.
    return [methods[name] for methods in normalised.values() for name in METHODS if name in methods]


def address_of(entity_set: EntitySet, action: str, path: str) -> str:
    """``/api/claim``, ``/api/claim/$count``, ``/api/claim/{ClaimGuid}`` …"""
    collection = f"{ROOT}{entity_set.path}"
    if action in ("list", "create", "upsert"):
        return collection
    if action in ("count", "query"):
        return f"{collection}/${action}"
    item = f"{collection}/{{{entity_set.key.name}}}"
    if action in ("retrieve", "update", "partial_update", "destroy"):
        return item
    # What stands behind the key: Download, BankFiles({position})/Download.
    behind = path.rstrip("/").partition("{key}")[2].replace("\\", "").removeprefix(")")
    return f"{item}{behind}"


class ODataSchema(AutoSchema):
    """Describes the operations of an ``ODataViewSet``; its own actions have ``extend_schema``."""

    view: Any

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any
    ) -> object:
        operation = OPERATIONS.get(getattr(self.view, "action", None) or "")
        if self.view.resource not in get_service(self.view.version).by_resource:
            return None  # of another version
        if operation is None:
            return super().get_operation(path, path_regex, path_prefix, method, registry)
        if operation.scope == "write" and not self.view.entity_set.supports(method):
            return None  # of another version
        return operation.describe(self.view.entity_set)


class VersionSchemaGenerator(SchemaGenerator):
    """The document of one version of the interface, ``api_version``."""

    api_version: str

    def create_view(self, callback: object, method: str, request: object = None) -> object:
        view = super().create_view(callback, method, request)
        view.version = self.api_version
        return view


# --- contents -----------------------------------------------------------------------------------------


def page_response(entity_set: EntitySet) -> Json:
    page = {
        "description": "A page of records; as lines or as a table the whole collection in one stream.",
        "headers": {
            "Preference-Applied": {"schema": TEXT},
            "Link": {"description": 'The next page, with rel="next".', "schema": TEXT},
        },
        "content": {
            JSON: {"schema": reference(f"{entity_set.name}Page")},
            NDJSON: {"schema": {**TEXT, "description": "A record to a line."}},
            CSV: {"schema": {**TEXT, "description": "Nested members are flattened: Address/Suburb."}},
        },
    }
    return {"200": page}


def record_response(entity_set: EntitySet) -> Json:
    record = {
        "description": f"The {entity_set.name} record.",
        "headers": ETAG_HEADER if entity_set.etag_field else {},
        "content": {JSON: {"schema": item_schema(entity_set)}},
    }
    return {"200": record}


def updated_response(entity_set: EntitySet) -> Json:
    return {**record_response(entity_set), "204": {"description": "Replaced (Prefer: return=minimal)."}}


def created_response(entity_set: EntitySet) -> Json:
    page_or_record = {"anyOf": [reference(f"{entity_set.name}Page"), item_schema(entity_set)]}
    created = {
        "description": "The new records, expanded: in the order of the body, or bare as it was.",
        "headers": {
            "Location": {"description": "Of one record: its address.", "schema": URI},
            **(ETAG_HEADER if entity_set.etag_field else {}),
        },
        "content": {JSON: {"schema": page_or_record}},
    }
    return {"201": created, "204": {"description": "Stored (Prefer: return=minimal)."}}


def records_body(entity_set: EntitySet) -> Json:
    example = example_of(entity_set.type)
    content = {
        "schema": {"anyOf": [reference(f"{entity_set.name}Bodies"), reference(f"{entity_set.name}Body")]},
        "examples": {
            "records": {"summary": "Any number of records", "value": {"value": [example]}},
            "record": {"summary": "One bare record", "value": example},
        },
    }
    return {JSON: content}


def delta_body(entity_set: EntitySet) -> Json:
    keys = [entity_set.key, *(key.prop for key in entity_set.alternate_keys.values())]
    change = reference(f"{entity_set.name}{CHANGE_SCHEMAS[BodyKind.PARTIAL]}")
    named = object_schema(
        {
            entity_set.key.name: value_schema(entity_set.key),
            "@odata.etag": {**TEXT, "description": "The state that was read; any without it."},
            "@removed": {"type": "object", "description": "Archives the record."},
        }
    )
    schema = object_schema(
        {
            "@context": {**TEXT, "const": "#$delta"},
            "value": list_schema({"allOf": [named, change]}, minItems=1, maxItems=settings.API_MAX_RECORDS),
        },
        required=["@context", "value"],
    )
    example = {"@context": "#$delta", "value": [{keys[-1].name: "P-1", **example_of(entity_set.type)}]}
    return {JSON: {"schema": schema, "example": example}}


def delta_response(entity_set: EntitySet) -> Json:
    stored = {
        "description": "The items in their order: records as they are now; @removed for those that were"
        " archived; with continue-on-error the annotation DataModificationException for those with faults.",
        "content": {JSON: {"schema": object_schema({"value": list_schema({"type": "object"})})}},
    }
    return {"200": stored, "204": {"description": "Stored (Prefer: return=minimal)."}}


def record_body(entity_set: EntitySet) -> Json:
    is_2_1 = entity_set.resource.version == V2_1
    name = CHANGE_SCHEMAS[BodyKind.WHOLE] if is_2_1 else "Body"
    return {JSON: {"schema": reference(f"{entity_set.name}{name}"), "example": example_of(entity_set.type)}}


# --- operations ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation of every entity set; ``{}`` stands for its name.

    ``scope`` is ``read`` or ``write``, ``parameters`` are names of components, ``errors`` statuses.
    ``responses`` and ``body`` make what depends on the entity set.
    """

    name: str
    summary: str
    description: str = ""
    scope: str = "read"
    parameters: tuple[str, ...]
    has_key: bool = False
    has_plain_filters: bool = False
    responses: Callable[[EntitySet], Json]
    errors: tuple[str, ...]
    body: Callable[[EntitySet], Json] | None = None

    def describe(self, entity_set: EntitySet) -> Json:
        parameters, errors = self.parameters, self.errors
        if "ifMatch" in parameters and entity_set.resource.version == V2_1:
            parameters, errors = (*parameters, "idempotencyKey"), (*errors, "422", "428")
        if self.name == "archive" and entity_set.resource.archive_has_warnings:
            parameters = (*parameters, "ignoreWarnings")
        return {
            "operationId": f"{self.name}{entity_set.name}",
            "summary": self.summary.format(entity_set.name),
            **({"description": self.description} if self.description else {}),
            "tags": [entity_set.name],
            "parameters": [
                *([key_parameter(entity_set)] if self.has_key else ()),
                *parameter_refs(*(name for name in parameters if has_parameter(entity_set, name))),
                *(plain_parameters(entity_set) if self.has_plain_filters else ()),
            ],
            **({"requestBody": {"required": True, "content": self.body(entity_set)}} if self.body else {}),
            "responses": self.responses(entity_set) | error_responses(*errors),
            "security": security(entity_set.path, self.scope),
        }


VERSION = ("version", "apiVersion")
UNCHANGED: Json = {"304": {"description": "Not changed since If-None-Match."}}
#: The operations by the actions of an ``ODataViewSet``.
OPERATIONS = {
    "list": Operation(
        name="list",
        summary="A page of {}",
        parameters=(
            *("filter", "orderby", "select", "expand", "top", "skip", "count", "search"),
            *("apply", "compute"),
            *("format", "skiptoken", "deltatoken", *VERSION, "preferPage"),
        ),
        has_plain_filters=True,
        responses=page_response,
        errors=("400", "401", "403", "406", "410", "429"),
    ),
    "query": Operation(
        name="query",
        summary="A page of {}, for a query in the body",
        description="The query string as the body, for filters too long for an address.",
        parameters=(*VERSION, "preferPage"),
        responses=page_response,
        errors=("400", "401", "403", "406", "413", "415", "429"),
        body=lambda entity_set: {
            "text/plain": {"schema": TEXT, "example": f"$filter={example_filter(entity_set)}&$top=10"}
        },
    ),
    "count": Operation(
        name="count",
        summary="The number of {} records",
        parameters=("filter", "search", *VERSION),
        has_plain_filters=True,
        responses=lambda _: {
            "200": {"description": "The number of records.", "content": {"text/plain": {"schema": COUNT}}}
        },
        errors=("400", "401", "403", "429"),
    ),
    "retrieve": Operation(
        name="get",
        summary="One {} record",
        parameters=("select", "expand", "compute", "format", *VERSION, "ifNoneMatch"),
        has_key=True,
        responses=lambda entity_set: (
            record_response(entity_set) | (UNCHANGED if entity_set.etag_field else {})
        ),
        errors=("400", "401", "403", "404", "406", "429"),
    ),
    "create": Operation(
        name="create",
        summary="Store {} records",
        description="All records of the body are stored, or none.",
        scope="write",
        parameters=(*VERSION, "idempotencyKey", "preferReturn", "ignoreWarnings"),
        responses=created_response,
        errors=("400", "401", "403", "409", "413", "415", "422", "429"),
        body=records_body,
    ),
    "upsert": Operation(
        name="upsert",
        summary="Create or change {} records",
        description=(
            "A delta payload: each item names its record by its key or by an alternate key, and an unknown"
            " alternate key is a new record. All are stored, or none; with Prefer: continue-on-error those"
            " without faults are."
        ),
        scope="write",
        parameters=(*VERSION, "idempotencyKey", "preferReturn", "ignoreWarnings"),
        responses=delta_response,
        errors=("400", "401", "403", "409", "412", "413", "415", "422", "429"),
        body=delta_body,
    ),
    "update": Operation(
        name="replace",
        summary="Replace one {} record",
        description="The record becomes what the body says: what it leaves out becomes null or its default.",
        scope="write",
        parameters=(*VERSION, "preferReturn", "ifMatch", "ignoreWarnings"),
        has_key=True,
        responses=updated_response,
        errors=("400", "401", "403", "404", "409", "412", "413", "415", "429"),
        body=record_body,
    ),
    "partial_update": Operation(
        name="change",
        summary="Change one {} record",
        description="The record takes the members of the body, and keeps the others.",
        scope="write",
        parameters=(*VERSION, "preferReturn", "ifMatch", "ignoreWarnings"),
        has_key=True,
        responses=updated_response,
        errors=("400", "401", "403", "404", "409", "412", "413", "415", "429"),
        body=lambda entity_set: {
            JSON: {"schema": reference(f"{entity_set.name}{CHANGE_SCHEMAS[BodyKind.PARTIAL]}")}
        },
    ),
    "destroy": Operation(
        name="archive",
        summary="Archive one {} record",
        description="Nothing is deleted. A record whose state forbids it stays (409).",
        scope="write",
        parameters=(*VERSION, "ifMatch"),
        has_key=True,
        responses=lambda _: {"204": {"description": "Archived: ArchiveDate says since when."}},
        errors=("400", "401", "403", "404", "409", "412", "429"),
    ),
}


# --- parameters ---------------------------------------------------------------------------------------


def has_parameter(entity_set: EntitySet, name: str) -> bool:
    """True when a parameter of an operation has a use for this entity set."""
    if name == "search":
        return bool(entity_set.resource.search)
    if name == "ignoreWarnings":
        return entity_set.resource.has_warnings
    return name not in ("ifMatch", "ifNoneMatch") or entity_set.etag_field is not None


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
        return {**TEXT, "enum": [*prop.choices, *map(str, prop.numbers)]}
    if prop.edm.name == "Edm.String":
        return {**TEXT, "minLength": 1}
    return primitive(
        {"$Type": prop.edm.name, "$Precision": prop.edm.precision or 0, "$Scale": prop.edm.scale or 0}
    )


def alternate_paths(service: Service, paths: Mapping[str, Json]) -> Json:
    """The addresses by alternate keys, with the operations of those by the key."""
    found: Json = {}
    for entity_set in service.entity_sets:
        for key in entity_set.alternate_keys.values():
            name = key.prop.name
            parameter = {
                "name": name,
                "in": "path",
                "required": True,
                "description": f"In single quotes; or {entity_set.path}({name}=@code)?@code='…'.",
                "schema": {**TEXT, "pattern": "^'.+'$"},
                "example": "'P-1'",
            }
            operations = paths[f"{ROOT}{entity_set.path}/{{{entity_set.key.name}}}"]
            found[f"{ROOT}{entity_set.path}({name}={{{name}}})"] = {
                method: by_alternate_key(operation, method, parameter, entity_set)
                for method, operation in operations.items()
            }
    return found


def by_alternate_key(operation: Json, method: str, parameter: Json, entity_set: EntitySet) -> Json:
    made = {
        **operation,
        "operationId": f"{operation['operationId']}By{parameter['name']}",
        "summary": f"{operation['summary']} by its {parameter['name']}",
        "parameters": [parameter, *operation["parameters"][1:]],
    }
    if method in ("put", "patch"):
        made["description"] = f"{operation['description']} An unknown {parameter['name']} is a new record."
        made["responses"] = {"201": created_response(entity_set)["201"], **operation["responses"]}
    return made


# --- the document -------------------------------------------------------------------------------------


def complete_document(result: Json, generator: Any, request: object, public: bool) -> Json:
    """Postprocessing hook: the components, and the addresses that belong to no resource."""
    version = generator.api_version or V2_0
    service = get_service(version)
    result["info"]["version"] = version
    components = result["components"]
    for section, entries in (
        ("schemas", {"Error": ERROR, **read_schemas(service), **write_schemas(service)}),
        ("parameters", make_parameters(version)),
        ("responses", make_error_responses(version)),
        ("securitySchemes", security_schemes(service)),
    ):
        components[section] = {**entries, **components.get(section, {})}
    # The actions of a set describe themselves, whatever the version.
    names = {entity_set.name for entity_set in service.entity_sets}
    of_version = {
        address: operations
        for address, operations in result["paths"].items()
        if all(operation["tags"][0] in names for operation in operations.values())
    }
    result["paths"] = {**service_paths(service), **of_version, **alternate_paths(service, of_version)}
    result["tags"] = [{"name": "Service"}] + [
        {
            "name": entity_set.name,
            "description": " ".join((entity_set.type.declaration.__doc__ or "").split()),
        }
        for entity_set in service.entity_sets
    ]
    return result
