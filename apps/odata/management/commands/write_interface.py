"""./run write_interface: the documents of the interface, as clients get them, into docs/interface/."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from drf_spectacular.generators import SchemaGenerator

from apps.odata.declaration.service import get_service
from apps.odata.metadata.api_calls import calls_markdown
from apps.odata.metadata.compatibility import find_breaking_changes
from apps.odata.metadata.csdl import csdl_json, csdl_xml

FOLDER = Path(settings.BASE_DIR) / "docs" / "interface"
API_DOCUMENT = FOLDER.parent / "api.md"
#: The document is written by hand up to this line.
GENERATED = "<!-- ./run write_interface writes what follows -->\n\n"


class Command(BaseCommand):
    help = "Writes $metadata, OpenAPI and docs/api.md; names what breaks clients of a release."

    def handle(self, *args: Any, **options: Any) -> None:
        for name, text in interface_documents().items():
            (FOLDER / name).write_text(text)
        changes = [
            f"{file.parent.name}: {change}"
            for file in sorted(FOLDER.glob("*/metadata.json"))
            for change in find_breaking_changes(
                json.loads(file.read_text()), json.loads(csdl_json(get_service()))
            )
        ]
        if changes:
            raise CommandError("These changes break clients of a released version:\n" + "\n".join(changes))


def interface_documents() -> dict[str, str]:
    """The texts of the documents by the names of their files; JSON is indented for comparisons by line."""
    service = get_service()
    introduction = API_DOCUMENT.read_text().partition(GENERATED)[0]
    openapi = SchemaGenerator().get_schema(request=None, public=True)
    return {
        "metadata.xml": csdl_xml(service).decode(),
        "metadata.json": indented(json.loads(csdl_json(service))),
        "openapi.json": indented(openapi),
        "../api.md": introduction + GENERATED + calls_markdown(openapi),
    }


def indented(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"
