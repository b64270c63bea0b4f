"""The OpenAPI operations of jobs and subscriptions; others are derived from the declaration."""

from django.conf import settings

from apps.integration.import_forms import (
    DAY_FIRST,
    ENCODING,
    ENCODINGS,
    FILE,
    MAP,
    RESOURCE,
    SWITCHES,
    TEXTS,
)
from apps.odata.metadata.json_schema import TEXT, YES_OR_NO, Json, list_schema, object_schema, reference
from apps.odata.metadata.openapi_components import JSON, error_responses, parameter_refs, record_key, security

JOB_KEY, EXPORT_KEY = record_key("ImportJob"), record_key("ExportJob")
JOB: Json = {JSON: {"schema": reference("ImportJob")}}

FORM: Json = {
    "type": "object",
    "required": [FILE, RESOURCE],
    "properties": {
        FILE: {
            "type": "string",
            "format": "binary",
            "description": "CSV, XLSX, JSON or NDJSON, by the end of its name.",
        },
        RESOURCE: {**TEXT, "description": "The path of the set whose records it has, such as contact."},
        **{name: {**YES_OR_NO, "default": default} for name, (_, default) in SWITCHES.items()},
        **dict.fromkeys(TEXTS, TEXT),
        MAP: list_schema(TEXT, description="Header=Field, one entry for each; Header= leaves a column out."),
        DAY_FIRST: YES_OR_NO,
        ENCODING: {**TEXT, "enum": list(ENCODINGS), "description": "Of a text; left out, it is recognised."},
    },
}

CREATE_IMPORT_JOB: Json = {
    "operationId": "createImportJob",
    "summary": "Import a file",
    "description": (
        f"One file of at most {settings.DOCUMENT_MAX_BYTES:,} bytes. It is stored, and a worker imports it,"
        " or with CheckOnly checks it. Needs the right to write the set as well. GET the job until its"
        " Status is Checked, Imported or Failed."
    ),
    "tags": ["ImportJob"],
    "parameters": parameter_refs("version", "apiVersion", "idempotencyKey", "preferReturn"),
    "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": FORM}}},
    "responses": {
        "201": {
            "description": "The job; Location is its address.",
            "headers": {"Location": {"description": "Its address.", "schema": TEXT}},
            "content": JOB,
        },
        "204": {"description": "Stored; the response has no body (Prefer: return=minimal)."},
        **error_responses("400", "401", "403", "409", "413", "415", "422", "429"),
    },
    "security": security("importJob", "write"),
}


def file_operation(key: Json, set_name: str, name: str, summary: str, description: str, *types: str) -> Json:
    disposition: Json = {"Content-Disposition": {"description": "The name of the file.", "schema": TEXT}}
    content: Json = {each: {"schema": {"type": "string", "format": "binary"}} for each in types}
    return {
        "operationId": f"download{name}",
        "summary": summary,
        "description": description,
        "tags": [set_name],
        "parameters": [key, *parameter_refs("version", "apiVersion")],
        "responses": {
            "200": {"description": "The file.", "headers": disposition, "content": content},
            **error_responses("400", "401", "403", "404", "409", "429"),
        },
        "security": security(set_name, "read"),
    }


ISSUES = file_operation(
    JOB_KEY,
    "ImportJob",
    "Issues",
    "The faults and warnings of an import",
    "Every one, a line each: severity, row, column, value, code, sentence. 404 where there are none.",
    "text/csv",
)
REJECTED_ROWS = file_operation(
    JOB_KEY,
    "ImportJob",
    "RejectedRows",
    "The rejected rows of an import",
    "A workbook of them with their reasons, to correct and import again. 404 where there are none.",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
)


def step_operation(
    key: Json, set_name: str, name: str, summary: str, description: str, takes_key: bool = True
) -> Json:
    """A step of a job; with ``takes_key`` its answer is stored under an Idempotency-Key."""
    once, key_errors = (["idempotencyKey"], ["422"]) if takes_key else ([], [])
    return {
        "operationId": f"{name.lower()}{set_name}",
        "summary": summary,
        "description": description,
        "tags": [set_name],
        "parameters": [key, *parameter_refs("version", "apiVersion", *once, "preferReturn")],
        "responses": {
            "200": {
                "description": "The job as it is now.",
                "content": {JSON: {"schema": reference(set_name)}},
            },
            "204": {"description": "Begun; without a body (Prefer: return=minimal)."},
            **error_responses("400", "401", "403", "404", "409", *key_errors, "429"),
        },
        "security": security(set_name, "write"),
    }


IMPORT = step_operation(
    JOB_KEY,
    "ImportJob",
    "Import",
    "Import a file that was checked",
    "A worker imports its good rows. 409 unless it is Checked.",
)
UNDO = step_operation(
    JOB_KEY,
    "ImportJob",
    "Undo",
    "Undo an import",
    "A worker deletes what was created and gives changed records their values back, all of it or nothing;"
    " Message says why not. 409 for a job that has stored nothing.",
)
CANCEL_IMPORT = step_operation(
    JOB_KEY,
    "ImportJob",
    "Cancel",
    "Cancel an import or a check",
    "A worker that has begun stops before the next batch of rows: what is stored stays. Cancelling until"
    " then, Cancelled from then on; again, it is the same. 409 for a job that is done or being undone.",
    takes_key=False,
)
CANCEL_EXPORT = step_operation(
    EXPORT_KEY,
    "ExportJob",
    "Cancel",
    "Cancel an export",
    "There will be no file. Cancelled twice, it is the same. 409 for a job that is Ready or Failed.",
    takes_key=False,
)
EXPORT_FILE = file_operation(
    EXPORT_KEY,
    "ExportJob",
    "ExportFile",
    "The file of an export job",
    "In the format that the address names. 409 until the job is Ready; 404 once it was deleted.",
    "application/json",
    "application/x-ndjson",
    "text/csv",
)


# --- subscriptions --------------------------------------------------------------------------------------

SUBSCRIPTION_KEY = record_key("Subscription")
TEST: Json = {
    "operationId": "testSubscription",
    "summary": "Send a test message",
    "description": "A message without changes, signed as all are; those that wait are sent before.",
    "tags": ["Subscription"],
    "parameters": [SUBSCRIPTION_KEY, *parameter_refs("version", "apiVersion", "idempotencyKey")],
    "responses": {
        "200": {
            "description": "The webhook-id that the message will have.",
            "content": {JSON: {"schema": object_schema({"value": TEXT}, ["value"])}},
        },
        **error_responses("400", "401", "403", "404", "409", "422", "429"),
    },
    "security": security("subscription", "write"),
}
REPLAY_BODY = object_schema(
    {"DeltaLink": {**TEXT, "description": "Of the subscription's set."}}, ["DeltaLink"]
)
REPLAY: Json = {
    "operationId": "replaySubscription",
    "summary": "Send messages again from a delta link on",
    "description": "All that changed since the link was given is told again, then what follows.",
    "tags": ["Subscription"],
    "parameters": [
        SUBSCRIPTION_KEY,
        *parameter_refs("version", "apiVersion", "idempotencyKey", "preferReturn"),
    ],
    "requestBody": {"required": True, "content": {JSON: {"schema": REPLAY_BODY}}},
    "responses": {
        "200": {
            "description": "The subscription as it is now.",
            "content": {JSON: {"schema": reference("Subscription")}},
        },
        "204": {"description": "Done; without a body (Prefer: return=minimal)."},
        **error_responses("400", "401", "403", "404", "409", "410", "413", "415", "422", "429"),
    },
    "security": security("subscription", "write"),
}
