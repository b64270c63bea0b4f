"""Common parts of the OpenAPI document: parameters, error responses, security, service paths."""

from django.conf import settings

from apps.base.declaration.resource import V2_0, V2_1
from apps.base.declaration.service import Service
from apps.odata.metadata.json_schema import (
    COUNT,
    GUID,
    TEXT,
    URI,
    YES_OR_NO,
    Json,
    example_value,
    list_schema,
    object_schema,
    reference,
)

#: Where the documented interface has them.
ROOT = "/api/"
TOKEN_ADDRESS = "/connect/token"  # noqa: S105  (an address)
JSON, NDJSON, CSV = "application/json", "application/x-ndjson", "text/csv"


def security(path: str, scope: str) -> list[Json]:
    """The ways to authenticate; the scope for all resources or for the one at the path is enough.

    A further right of a resource is a scope of the one at the path alone.
    """
    narrow: Json = {"oauth2": [f"{path.lower()}.{scope}"]}
    if scope not in ("read", "write"):
        return [narrow, {"basic": []}]
    tokens: list[Json] = [{"oauth2": [scope]}, narrow]
    return [*tokens, {"basic": []}, {"session": []}] if scope == "read" else tokens


# --- parameters ---------------------------------------------------------------------------------------


def parameter_refs(*names: str) -> list[Json]:
    return [{"$ref": f"#/components/parameters/{name}"} for name in names]


# Parameters have no examples: Swagger UI would send them with every request.


def parameter(name: str, location: str, description: str, schema: Json) -> Json:
    return {"name": name, "in": location, "description": description, "schema": schema}


EXAMPLE_KEY = "0198c0de-0000-7000-8000-000000000001"


def path_key(name: str, schema: Json, description: str, example: str) -> Json:
    """A key in the address of an operation."""
    return {**parameter(name, "path", description, schema), "required": True, "example": example}


def record_key(set_name: str) -> Json:
    """The key of a record in the address of an operation: ``record_key("ClaimFile")``."""
    key, path = f"{set_name}Guid", f"{set_name[0].lower()}{set_name[1:]}"
    return path_key(key, GUID, f"Also written {path}({{{key}}}).", EXAMPLE_KEY)


def query_option(name: str, description: str, schema: Json) -> Json:
    text = f"{description} Also written {name}, without the dollar sign, and in any case."
    return parameter(f"${name}", "query", text, schema)


VERSION_NAMES = {V2_0: ["2", "2.0"], V2_1: [V2_1]}
VERSION_NOTES = {
    V2_0: (
        "The version that this document describes; 2.1 has another. Also the header api-version.",
        "The version, as the parameter of that name.",
    ),
    V2_1: (
        "As the header api-version, which is enough.",
        "The version that this document describes.",
    ),
}
METADATA_FORMATS: Json = {"type": "string", "enum": ["xml", "json", "application/xml", JSON]}
FORMATS: Json = {"type": "string", "examples": ["json", f"{JSON};odata.metadata=full", "ndjson", "csv"]}


def make_parameters(version: str) -> dict[str, Json]:
    """The parameters that operations share, by their component names."""
    versions: Json = {"type": "string", "enum": VERSION_NAMES[version]}
    version_note, header_note = VERSION_NOTES[version]
    pages = f"odata.maxpagesize=n asks for pages of n records, {settings.API_MAX_PAGE_SIZE:,} at most."
    pages += " odata.track-changes asks for a link to later changes."
    hours = settings.API_IDEMPOTENCY_SECONDS // 3600
    once = f"A second request with the same key and body has the first response, for {hours} hours."
    options: tuple[tuple[str, str, Json], ...] = (
        ("filter", "Only records of which it is true, such as ArchiveDate eq null.", TEXT),
        ("orderby", "The order, such as CreationDate desc; without it each resource has its own.", TEXT),
        ("select", "Only these properties, between commas.", TEXT),
        ("expand", "The nested members to show, each with options in parentheses; * is all.", TEXT),
        ("top", "At most so many records.", COUNT),
        ("skip", "Leave out so many records first.", COUNT),
        ("count", "Add the number of records found in all.", YES_OR_NO),
        ("search", "Words and quoted phrases with AND, OR, NOT and parentheses, in any case.", TEXT),
        (
            "apply",
            "Sums and groups, such as groupby((FundingStatus),aggregate($count as Number));"
            " join(LineItems as Item)/… has a row for each item of a list.",
            TEXT,
        ),
        (
            "compute",
            "Values computed of each record or row of $apply, such as Total div 2 as Half.",
            TEXT,
        ),
        ("format", "The format, with parameters; it has priority over Accept.", FORMATS),
        ("skiptoken", "Where the page begins; comes with @odata.nextLink.", TEXT),
        ("deltatoken", "Only what changed since; comes with @odata.deltaLink.", TEXT),
    )
    others: tuple[tuple[str, str, str, str, Json], ...] = (
        # (component name, name, location, description, schema)
        ("version", "version", "query", version_note, versions),
        ("apiVersion", "api-version", "header", header_note, versions),
        ("ignoreWarnings", "ignoreWarnings", "query", "Store the records in spite of warnings.", YES_OR_NO),
        ("preferPage", "Prefer", "header", pages, TEXT),
        ("preferReturn", "Prefer", "header", "return=minimal asks for a response without a body.", TEXT),
        ("idempotencyKey", "Idempotency-Key", "header", once, {**TEXT, "minLength": 1}),
        ("ifMatch", "If-Match", "header", "The ETag the record was read with; it has another: 412.", TEXT),
        ("ifNoneMatch", "If-None-Match", "header", "An ETag; the record still has it: 304.", TEXT),
    )
    made = {name: query_option(name, description, schema) for name, description, schema in options} | {
        component: parameter(name, location, description, schema)
        for component, name, location, description, schema in others
    }
    for component in ("apiVersion", "ifMatch") if version == V2_1 else ():
        made[component]["required"] = True
    return made


# --- error responses ----------------------------------------------------------------------------------

ERROR_RESPONSES = {
    "400": (
        "BadRequest",
        "The request cannot be understood, or has faults; each has its target. Behind 10,000 faults no"
        " further record is read (`NotRead`).",
    ),
    "401": ("Unauthenticated", "No credentials, or invalid ones."),
    "403": ("Forbidden", "A known caller without the right, or above its quota."),
    "404": ("NotFound", "No record has this key."),
    "406": ("NotAcceptable", "A format that is not served."),
    "409": ("Conflict", "Another writer was first."),
    "410": ("Gone", "The changes since the delta link cannot be told; read the list anew."),
    "412": ("PreconditionFailed", "The record was changed since it was read."),
    "413": ("TooLarge", "More bytes, records or items than a request may hold."),
    "415": ("UnsupportedMediaType", "A body in a format that is not read."),
    "422": ("IdempotencyKeyReused", "The Idempotency-Key was used for another request."),
    "428": ("PreconditionRequired", "Changes name the state that was read: If-Match is missing."),
    "429": ("TooManyRequests", "More requests a minute than the caller may make."),
    "500": ("InternalError", "Something went wrong here; the message has the request's id."),
    "503": ("Unavailable", "The database cannot be reached now."),
}
RETRY_AFTER_STATUSES = ("403", "429", "503")

ERROR_DETAIL = object_schema(
    {
        "code": {**TEXT, "examples": ["Required"]},
        "message": {**TEXT, "examples": ["Quantity is required."]},
        "target": {**TEXT, "examples": ["value[0]/LineItems[1]/Quantity"]},
        "severity": {**TEXT, "enum": ["warning"], "description": "Only of warnings; see ignoreWarnings."},
    },
    required=["code", "message"],
)
ERROR_OBJECT = object_schema(
    {
        "code": {**TEXT, "description": "A stable word.", "examples": ["ValidationFailed"]},
        "message": {**TEXT, "examples": ["Nothing was stored: 1 fault in 1 record."]},
        "target": {**TEXT, "description": "The option or member at fault."},
        "details": {**list_schema(ERROR_DETAIL), "description": "Every fault of every record."},
    },
    required=["code", "message"],
)
ERROR = object_schema({"error": ERROR_OBJECT}, required=["error"])


def make_error_responses(version: str) -> Json:
    responses: Json = {}
    for status, (name, meaning) in ERROR_RESPONSES.items():
        if status == "428" and version != V2_1:
            continue
        responses[name] = {"description": meaning, "content": {JSON: {"schema": reference("Error")}}}
        if status in RETRY_AFTER_STATUSES:
            seconds = {"description": "Seconds to wait.", "schema": COUNT}
            responses[name]["headers"] = {"Retry-After": seconds}
        if status == "401":
            responses[name]["headers"] = {"WWW-Authenticate": {"schema": TEXT}}
    return responses


def error_responses(*statuses: str) -> Json:
    """The error responses of an operation; every operation has 500 and 503."""
    return {
        status: {"$ref": f"#/components/responses/{ERROR_RESPONSES[status][0]}"}
        for status in (*statuses, "500", "503")
    }


# --- security and service ------------------------------------------------------------------------------


def security_schemes(service: Service) -> Json:
    """Tokens for applications, their id and secret for spreadsheets, a session for staff."""
    scopes = {"read": "Read everything.", "write": "Write everything."}
    for entity_set in service.entity_sets:
        scopes[f"{entity_set.path.lower()}.read"] = f"Read {entity_set.name}."
        if entity_set.is_written:
            scopes[f"{entity_set.path.lower()}.write"] = f"Write {entity_set.name}."
        for right, words in entity_set.resource.further_rights.items():
            scopes[f"{entity_set.path.lower()}.{right}"] = words
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


def service_paths(service: Service) -> Json:
    """The addresses that belong to no entity set."""
    entity_set = object_schema({"name": TEXT, "kind": TEXT, "url": TEXT})
    entity_sets = object_schema({"@odata.context": URI, "value": list_schema(entity_set)})
    first = service.entity_sets[0]
    formats = query_option("format", "The format; it has priority over Accept.", METADATA_FORMATS)
    return {
        ROOT: service_operation(
            "getServiceDocument",
            "The entity sets",
            parameter_refs("version", "apiVersion"),
            {JSON: {"schema": entity_sets}},
            error_responses("400", "401", "406", "429"),
        ),
        f"{ROOT}$metadata": service_operation(
            "getMetadata",
            "The data model as CSDL",
            [formats],
            {"application/xml": {"schema": TEXT}, JSON: {"schema": {"type": "object"}}},
            error_responses("400", "401", "406", "429"),
        ),
        f"{ROOT}$entity": service_operation(
            "getEntity",
            "The record that an id names",
            [
                {
                    **parameter("$id", "query", "The address of a record.", TEXT),
                    "required": True,
                    "example": f"{first.path}({example_value(first.key)})",
                },
                *parameter_refs("select", "expand", "format", "version", "apiVersion", "ifNoneMatch"),
            ],
            {JSON: {"schema": {"type": "object"}}},
            error_responses("400", "401", "403", "404", "406", "429"),
        ),
        f"{ROOT}$batch": {"post": batch_operation()},
    }


def batch_operation() -> Json:
    request = object_schema(
        {
            "id": {**TEXT, "description": "Names the request in dependsOn, and as $id in URLs and bodies."},
            "method": {**TEXT, "enum": ["get", "post", "put", "patch", "delete"]},
            "url": {
                **TEXT,
                "examples": ["client?$top=5"],
                "description": "Relative to the service, or absolute.",
            },
            "atomicityGroup": {**TEXT, "description": "The requests of a group all succeed or none."},
            "dependsOn": list_schema(TEXT),
            "headers": {"type": "object", "additionalProperties": TEXT},
            "body": {},
        },
        required=["id", "method", "url"],
    )
    response = object_schema(
        {"id": TEXT, "atomicityGroup": TEXT, "status": COUNT, "headers": {"type": "object"}, "body": {}},
        required=["id", "status"],
    )
    requests = {**list_schema(request), "maxItems": settings.API_MAX_BATCH_REQUESTS}
    prefer = "continue-on-error=false ends a batch at its first error, continue-on-error does not."
    operation = service_operation(
        "sendBatch",
        "Several requests in one",
        [*parameter_refs("apiVersion", "idempotencyKey"), parameter("Prefer", "header", prefer, TEXT)],
        {
            JSON: {"schema": object_schema({"responses": list_schema(response)}, required=["responses"])},
            "multipart/mixed": {"schema": TEXT},
        },
        error_responses("400", "401", "413", "415", "429"),
    )["get"]
    return {
        **operation,
        "security": [{"oauth2": []}, {"basic": []}],
        "requestBody": {
            "required": True,
            "content": {
                JSON: {
                    "schema": object_schema({"requests": requests}, required=["requests"]),
                    "example": {"requests": [{"id": "1", "method": "get", "url": "$metadata"}]},
                },
                "multipart/mixed": {"schema": TEXT},
            },
        },
    }


def service_operation(
    name: str, summary: str, parameters: list[Json], content: Json, error_responses: Json
) -> Json:
    operation = {
        "operationId": name,
        "summary": summary,
        "tags": ["Service"],
        "security": [{"oauth2": []}, {"basic": []}, {"session": []}],
        "parameters": parameters,
        "responses": {"200": {"description": f"{summary}.", "content": content}, **error_responses},
    }
    return {"get": operation}
