"""The form of an import job: one file, and fields that say how it is imported."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import multipart
from django.conf import settings
from rest_framework.parsers import BaseParser

from apps.base.declaration.resource import PATCH, POST, PUT, V2_1
from apps.base.declaration.schema import EntitySet
from apps.base.declaration.service import get_service
from apps.base.errors import BadBody, ErrorDetail, InvalidRecords, TooLarge
from apps.core import file_import_kinds
from apps.core.file_import_kinds import COMMAND_ONLY, ImportKind, find_kind, table_options
from apps.core.importing.file_declaration import definition_of
from apps.core.importing.mappings import find_mapping
from apps.core.table_files.tables import ImportFileError
from apps.documents.parsers import (
    MAX_FIELD_BYTES,
    file_name_of,
    is_longer,
    part_chunks,
    read_events,
    read_text,
    update_digest,
)

#: The fields of the form, by their names in small letters.
FILE, RESOURCE = "File", "Resource"
#: Fields that are true or false, with the option of an import and what it is where they are left out.
SWITCHES = {
    "CheckOnly": ("checks_only", False),
    "Updates": ("updates", True),
    "IgnoreWarnings": ("ignore_warnings", False),
    "IgnoreUnknown": ("ignore_unknown", False),
    "ByName": ("by_name", False),
    "AllOrNothing": ("all_or_nothing", False),
}
MAPPING = "Mapping"
TEXTS = {MAPPING: "mapping", "Match": "match", "Sheet": "sheet", "HeaderRow": "header_row"}
MAP, DAY_FIRST, ENCODING = "Map", "DayFirst", "Encoding"
FIELDS = {name.lower(): name for name in (FILE, RESOURCE, *SWITCHES, *TEXTS, MAP, DAY_FIRST, ENCODING)}
#: The encodings that people choose from as well: of others, Python reads some very slowly.
ENCODINGS = tuple(name for name, _ in file_import_kinds.ENCODING.choices if name)
#: Fields of a form; each header of a file may have a Map.
MAX_PARTS = 300


@dataclass(slots=True)
class ImportForm:
    """A form as it came: the file, and the texts of each field. ``digest`` is the same for the same form."""

    file_name: str = ""
    content: bytes = b""
    has_file: bool = False
    texts: dict[str, list[str]] = field(default_factory=dict)
    digest: bytes = b""


class ImportFormParser(BaseParser):
    """Makes an ``ImportForm`` of a form."""

    media_type = "multipart/form-data"
    refusal = "A file to import is sent as multipart/form-data."

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, object] | None = None,
    ) -> ImportForm:
        """Raises ``BadBody`` for an invalid form, ``TooLarge`` beyond a limit."""
        if is_longer(parser_context, settings.DOCUMENT_MAX_BYTES + 16 * MAX_FIELD_BYTES):
            raise file_too_large()
        form, digest, parts = ImportForm(), hashlib.sha256(), 0
        events = read_events(stream.read, media_type or "")
        for event in events:
            if isinstance(event, multipart.MultipartSegment):
                parts += 1
                if parts > MAX_PARTS:
                    raise TooLarge(f"A form holds at most {MAX_PARTS} fields.")
                read_part(form, event, part_chunks(events), digest)
        form.digest = digest.digest()
        return form


def read_part(form: ImportForm, part: Any, chunks: Iterator[bytes], digest: Any) -> None:
    name, file_name = FIELDS.get((part.name or "").lower()), file_name_of(part)
    if name is None:
        names = ", ".join(FIELDS.values())
        raise BadBody(f"The form has no field {str(part.name)[:60]!r}; it has {names}.", target=FILE)
    if (file_name is None) is (name == FILE):
        kind = "a file, with a file name" if name == FILE else "a text, without a file name"
        raise BadBody(f"{name} is sent as {kind}.", target=name)
    if file_name is None:
        text = read_text(name, chunks)
        update_digest(digest, name, text)
        form.texts.setdefault(name, []).append(text.strip())
        return
    if form.has_file:
        raise BadBody("A job imports one file.", target=FILE)
    form.file_name, form.content, form.has_file = file_name, read_content(chunks), True
    update_digest(digest, name, file_name, hashlib.sha256(form.content).hexdigest())


def read_content(chunks: Iterator[bytes]) -> bytes:
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) > settings.DOCUMENT_MAX_BYTES:
            raise file_too_large()
    return bytes(content)


def file_too_large() -> TooLarge:
    return TooLarge(f"A file to import holds at most {settings.DOCUMENT_MAX_BYTES:,} bytes.", target=FILE)


# --- what the fields say --------------------------------------------------------------------------------


def importable_sets() -> dict[str, EntitySet]:
    """The sets that programs import files of, by their path in small letters: those that they may POST."""
    return {
        path: entity_set
        for path, entity_set in get_service(V2_1).by_path.items()
        if entity_set.supports(POST)
        and entity_set.path not in COMMAND_ONLY
        and definition_of(entity_set) is not None
    }


@dataclass(frozen=True, slots=True)
class FormOrder:
    """The request of a form: which records the file has, and how they are imported."""

    kind: ImportKind
    mapping: str
    answers: Mapping[str, object]


def read_form(form: ImportForm) -> FormOrder:
    """The answers of a form; ``InvalidRecords`` names every field that is at fault."""
    given = {name: texts for name, texts in form.texts.items() if name != MAP}
    faults = [
        ErrorDetail("Repeated", name, f"{name} is given {len(texts)} times.")
        for name, texts in given.items()
        if len(texts) > 1
    ]
    texts = {name: texts[0] for name, texts in given.items()}
    entity_set = importable_sets().get(texts.get(RESOURCE, "").lower())
    if not texts.get(RESOURCE):
        faults.append(ErrorDetail("Required", RESOURCE, "The path of the set is required, such as contact."))
    elif entity_set is None:
        paths = ", ".join(each.path for each in importable_sets().values())
        faults.append(ErrorDetail("NotAChoice", RESOURCE, f"Resource must be one of {paths}."))
    if not form.has_file:
        faults.append(ErrorDetail("Required", FILE, "A file is required."))
    answers: dict[str, object] = {
        option: read_switch(name, texts.get(name, ""), default, faults)
        for name, (option, default) in SWITCHES.items()
    }
    answers |= {option: texts.get(name) or None for name, option in TEXTS.items()}
    answers["column_map"] = dict(read_map(form.texts.get(MAP, ()), faults))
    if texts.get(DAY_FIRST):
        answers["day_order"] = "day" if read_switch(DAY_FIRST, texts[DAY_FIRST], True, faults) else "month"
    answers["encoding"] = texts.get(ENCODING, "").lower() or None
    if answers["encoding"] not in (None, *ENCODINGS):
        message = f"Encoding must be one of {', '.join(ENCODINGS)}; left out, it is recognised."
        faults.append(ErrorDetail("NotAChoice", ENCODING, message))
    try:
        table_options(answers)
    except ImportFileError as error:
        faults.append(ErrorDetail("InvalidNumber", "HeaderRow", str(error)))
    if entity_set is not None and texts.get(MAPPING):
        try:
            find_mapping(entity_set.path, texts[MAPPING])
        except ImportFileError as error:
            faults.append(ErrorDetail("NotAChoice", MAPPING, str(error)))
    if entity_set is not None and not (entity_set.supports(PATCH) or entity_set.supports(PUT)):
        refuse_updates(entity_set, answers, "Updates" in texts, faults)
    if faults or entity_set is None:
        raise InvalidRecords.from_details(faults, 1)
    answers |= {"by_headers": True, "imports_at_once": not answers.pop("checks_only")}
    kind = find_kind(entity_set.path)
    assert kind is not None
    return FormOrder(kind, texts.get(MAPPING, ""), answers)


def read_switch(name: str, text: str, default: bool, faults: list[ErrorDetail]) -> bool:
    if text.lower() not in ("", "true", "false"):
        faults.append(ErrorDetail("WrongType", name, f"{name} must be true or false."))
    return text.lower() == "true" if text else default


def read_map(texts: list[str] | tuple[()], faults: list[ErrorDetail]) -> Iterator[tuple[str, str]]:
    """The pairs of ``Header=Field``."""
    for text in texts:
        header, mark, name = text.rpartition("=")
        if not mark or not header.strip():
            faults.append(ErrorDetail("InvalidText", MAP, f"Map must be Header=Field; it is {text[:60]!r}."))
        yield header.strip(), name.strip()


def refuse_updates(
    entity_set: EntitySet, answers: dict[str, object], is_given: bool, faults: list[ErrorDetail]
) -> None:
    """Import new records alone of a set whose records the interface does not change."""
    if is_given and answers["updates"]:
        message = f"Records of {entity_set.path} are not changed by the interface: send Updates=false."
        faults.append(ErrorDetail("NotAllowed", "Updates", message))
    answers["updates"] = False
