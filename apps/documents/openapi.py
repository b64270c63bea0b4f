"""The OpenAPI operations of uploads and downloads; the other operations are derived from the declaration."""

from collections.abc import Callable
from typing import Any

from django.conf import settings

from apps.base.errors import plural
from apps.documents.file_types import allowed_extensions
from apps.odata.metadata.json_schema import GUID, TEXT, Json, list_schema
from apps.odata.metadata.openapi_components import (
    JSON,
    error_responses,
    parameter,
    parameter_refs,
    record_key,
    security,
)


def form_schema() -> Json:
    return {
        "type": "object",
        "required": ["Files", "CreatedByStaffGuidList", "DocumentCategoryGuidList"],
        "properties": {
            "Files": {
                "type": "array",
                "minItems": 1,
                "maxItems": settings.DOCUMENT_MAX_FILES,
                "items": {"type": "string", "format": "binary"},
            },
            "CreatedByStaffGuidList": list_schema(GUID, description="Who uploads each file."),
            "DocumentCategoryGuidList": list_schema(
                GUID, description="Each file's category, one of /documentCategory."
            ),
            "ClientGuidList": list_schema(
                TEXT, description="The client each file is about; an empty entry or the word null is none."
            ),
            "Names": list_schema(
                {"type": "string", "maxLength": 256},
                description="Each document's name; an empty entry is the file's own.",
            ),
        },
    }


def upload_operation() -> Json:
    return {
        "operationId": "createDocument",
        "summary": "Store documents",
        "description": (
            f"At most {plural(settings.DOCUMENT_MAX_FILES, 'file')} of {settings.DOCUMENT_MAX_BYTES:,} bytes"
            f" each, of these types: {', '.join(sorted(allowed_extensions()))}. All are stored, or none."
            " The nth entry of each list belongs to the nth file. A list is sent as one field for each entry,"
            " or as fields with indexes (ClientGuidList[0]); lists of guids also as one field with commas."
        ),
        "tags": ["Document"],
        "parameters": parameter_refs("version", "apiVersion", "idempotencyKey", "preferReturn"),
        "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": form_schema()}}},
        "responses": {
            "201": {
                "description": "What was stored, in the order given, the parts expanded.",
                "headers": {"Location": {"description": "Of one document: its address.", "schema": TEXT}},
                "content": {JSON: {"schema": {"$ref": "#/components/schemas/DocumentPage"}}},
            },
            "204": {"description": "Stored; the response has no body (Prefer: return=minimal)."},
            **error_responses("400", "401", "403", "409", "413", "415", "422", "429"),
        },
        "security": security("document", "write"),
    }


class Described(dict[str, Any]):
    """An operation that is made when the document is, and copies it: what is in it depends on settings."""

    def __init__(self, make: Callable[[], Json]) -> None:
        super().__init__()
        self.make = make

    def __deepcopy__(self, memo: object) -> Json:
        return self.make()


UPLOAD = Described(upload_operation)


def file_response_schema(description: str) -> Json:
    headers: Json = {
        "ETag": {"description": "The SHA-256 of the bytes.", "schema": TEXT},
        "Content-Disposition": {"description": "The file's own name.", "schema": TEXT},
        "Accept-Ranges": {"schema": TEXT},
    }
    binary: Json = {"schema": {"type": "string", "format": "binary"}}
    # Of the file's own type; generators know the first.
    content: Json = {"application/octet-stream": binary, "*/*": binary}
    return {"description": description, "headers": headers, "content": content}


def file_operation(set_name: str, path: str, summary: str, *keys: Json) -> Json:
    """The download of a file of a record, by the right ``files``; ``keys`` say which of several."""
    binary: Json = {"schema": {"type": "string", "format": "binary"}}
    disposition: Json = {"Content-Disposition": {"description": "The file's own name.", "schema": TEXT}}
    content: Json = {"application/octet-stream": binary, "*/*": binary}
    return {
        "operationId": f"download{set_name}",
        "summary": summary,
        "description": "The bytes as they are kept. The read log notes who has them.",
        "tags": [set_name],
        "parameters": [record_key(set_name), *keys, *parameter_refs("version", "apiVersion")],
        "responses": {
            "200": {"description": "The whole file.", "headers": disposition, "content": content},
            **error_responses("400", "401", "403", "404", "429"),
        },
        "security": security(path, "files"),
    }


DOWNLOAD: Json = {
    "operationId": "downloadDocument",
    "summary": "The file of a document",
    "description": "The bytes as they were stored, with the media type that was found then.",
    "tags": ["Document"],
    "parameters": [
        record_key("Document"),
        *parameter_refs("version", "apiVersion", "ifNoneMatch"),
        parameter("Range", "header", "bytes=0-1023 asks for a part.", TEXT),
        parameter("If-Range", "header", "An ETag; the file has another: the whole is sent.", TEXT),
    ],
    "responses": {
        "200": file_response_schema("The whole file."),
        "206": file_response_schema("The part that was asked for."),
        "304": {"description": "It is the file of If-None-Match."},
        "416": {"description": "The file has no such part; Content-Range tells its size."},
        **error_responses("400", "401", "403", "404", "429"),
    },
    "security": security("document", "read"),
}
