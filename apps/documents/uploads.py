"""Uploads: from the files and lists of a form to documents, all of them or none (interface.md 4.5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from apps.documents.models import Document
from apps.documents.parsers import FILES, PARALLEL_LISTS, ParallelList, Upload
from apps.documents.services import attach_file
from apps.documents.storage import StoredFile
from apps.odata.declaration.schema import EntitySet, StructuralProperty
from apps.odata.errors import Conflict, ErrorDetail, InvalidRecords, plural
from apps.odata.write.bodies import Body
from apps.odata.write.dispatch import Created, create_of
from apps.odata.write.drafts import Draft
from apps.odata.write.json_values import JsonValueError, reader_of

MAX_FILE_NAME_LENGTH = Document._meta.get_field("file_name").max_length or 255

_PLACE = re.compile(r"value\[(\d+)\](?:/(\w+).*)?")
_FIELD_OF_MEMBER = {each.member: each.name for each in PARALLEL_LISTS}


def create_documents_of_upload(entity_set: EntitySet, upload: Upload) -> Created:
    """Store the documents of an upload; raises as ``create_of`` does, with the places of the form."""
    try:
        return create_of(entity_set, lambda: read_upload(entity_set, upload))
    except (InvalidRecords, Conflict) as error:
        details = tuple(replace(detail, target=form_place(detail.target)) for detail in error.details)
        raise replace(error, details=details) from error.__cause__


def form_place(target: str | None) -> str | None:
    """``ClientGuidList[1]`` for ``value[1]/ClientGuid``."""
    match = _PLACE.fullmatch(target or "")
    if match is None:
        return target
    return f"{_FIELD_OF_MEMBER.get(match[2] or '', FILES)}[{match[1]}]"


def read_upload(entity_set: EntitySet, upload: Upload) -> Body:
    """The drafts of an upload's documents and the faults of its lists, with the places of the form."""
    faults: list[tuple[int, ErrorDetail]] = []
    if not upload.stored_files:
        faults.append((0, ErrorDetail("Required", FILES, "One file or more is required.")))
    columns = {each.attribute: read_column(entity_set, each, upload) for each in PARALLEL_LISTS}
    for column in columns.values():
        faults += column.faults
    drafts = [create_draft(file, number, columns) for number, file in enumerate(upload.stored_files)]
    for number, draft in enumerate(drafts):
        if len(draft.file_name) > MAX_FILE_NAME_LENGTH:
            message = f"A file's name may have {MAX_FILE_NAME_LENGTH} characters at most."
            faults.append((number, ErrorDetail("TooLong", f"{FILES}[{number}]", message)))
            draft.mark_invalid("file_name")
            draft.mark_invalid("name")
    return Body(drafts, faults=faults)


@dataclass(frozen=True, slots=True)
class Entry:
    """The value of a list for one file."""

    value: Any = None
    is_invalid: bool = False


@dataclass(slots=True)
class Column:
    """The entries of a list, one for each file, and its faults by the number of the file."""

    entries: list[Entry] = field(default_factory=list)
    faults: list[tuple[int, ErrorDetail]] = field(default_factory=list)


def read_column(entity_set: EntitySet, each: ParallelList, upload: Upload) -> Column:
    count = len(upload.stored_files)
    texts = split_entries(each, upload.lists[each.name])
    column = Column()
    read = reader_of(find_property(entity_set, each))
    column.entries = list(read_entries(each, texts, read, column.faults))
    if texts and len(texts) == count:
        return column
    if texts:
        entries = "entry" if len(texts) == 1 else "entries"
        message = f"{each.name} has {len(texts):,} {entries} for {plural(count, 'file')}."
        column.faults.append((0, ErrorDetail("CountMismatch", each.name, message)))
    elif each.required:
        message = f"A {each.noun} is required for each file."
        column.faults.append((0, ErrorDetail("Required", each.name, message)))
    column.entries = [Entry(is_invalid=bool(texts) or each.required)] * count
    return column


def find_property(entity_set: EntitySet, each: ParallelList) -> StructuralProperty:
    """The declared property that the list has values of."""
    for prop in entity_set.type.properties.values():
        if prop.attribute == each.attribute:
            return prop
    navigations = entity_set.type.navigations.values()
    navigation = next(one for one in navigations if one.attribute == each.attribute)
    assert navigation.type.key is not None
    return navigation.type.key


def split_entries(each: ParallelList, texts: list[str]) -> list[str | None]:
    """The list's entries: empty ones and the word null are ``None``. A single empty field is no list."""
    if each.separated_by_commas:
        texts = [entry for text in texts for entry in text.split(",")]
    entries = [None if text.strip().lower() in ("", "null") else text for text in texts]
    return [] if entries == [None] and texts[0].strip() == "" else entries


def read_entries(
    each: ParallelList,
    texts: list[str | None],
    read: Callable[[Any], Any],
    faults: list[tuple[int, ErrorDetail]],
) -> Iterator[Entry]:
    for number, text in enumerate(texts):
        target = f"{each.name}[{number}]"
        if text is None:
            if each.required:
                faults.append((number, ErrorDetail("Required", target, f"A {each.noun} is required.")))
            yield Entry(is_invalid=each.required)
            continue
        try:
            yield Entry(read(text.strip() if each.separated_by_commas else text))
        except JsonValueError as error:
            faults.append((number, ErrorDetail(error.code, target, f"The {each.noun} {error.sentence}")))
            yield Entry(is_invalid=True)


def create_draft(file: StoredFile, number: int, columns: Mapping[str, Column]) -> Draft:
    entries = {name: column.entries[number] for name, column in columns.items()}
    draft = Draft(
        {name: entry.value for name, entry in entries.items() if not entry.is_invalid},
        given=[name for name, entry in entries.items() if entry.value is not None],
        invalid=[name for name, entry in entries.items() if entry.is_invalid],
    )
    attach_file(draft, file)
    return draft
