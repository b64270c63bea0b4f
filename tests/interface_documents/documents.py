"""The documents of the interface as clients get them: those of docs/interface, and the end of docs/api.md."""

import json
from pathlib import Path

from apps.base.declaration.resource import V2_0, V2_1
from apps.base.declaration.service import get_service
from apps.odata.metadata.csdl import csdl_json, csdl_xml
from apps.odata.metadata.openapi import VersionSchemaGenerator
from tests.interface_documents.api_calls import calls_markdown
from tests.interface_documents.compatibility import find_breaking_changes

FOLDER = Path(__file__).parents[2] / "docs" / "interface"
API_DOCUMENT = FOLDER.parent / "api.md"
#: The document is written by hand up to this line.
GENERATED = "<!-- ./run write_interface writes what follows -->\n\n"


def write_documents() -> list[str]:
    """The changes that break clients of a released version, a line each."""
    for name, text in interface_documents().items():
        (FOLDER / name).write_text(text)
    return [
        f"{version}: {change}"
        for version, released in released_documents().items()
        for change in find_breaking_changes(released, json.loads(csdl_json(get_service(version))))
    ]


def released_documents() -> dict[str, object]:
    """$metadata as clients of each released version were built on it."""
    files = sorted(FOLDER.glob("*/metadata.json"))
    return {file.parent.name: json.loads(file.read_text()) for file in files}


def interface_documents() -> dict[str, str]:
    """The texts of the documents by the names of their files; JSON is indented for comparisons by line."""
    documents: dict[str, str] = {}
    for version, ending in ((V2_1, "-2.1"), (V2_0, "")):
        service = get_service(version)
        openapi = VersionSchemaGenerator(api_version=version).get_schema(request=None, public=True)
        documents |= {
            f"metadata{ending}.xml": csdl_xml(service).decode(),
            f"metadata{ending}.json": indented(json.loads(csdl_json(service))),
            f"openapi{ending}.json": indented(openapi),
        }
    introduction = API_DOCUMENT.read_text().partition(GENERATED)[0]
    return {**documents, "../api.md": introduction + GENERATED + calls_markdown(openapi)}


def indented(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"
