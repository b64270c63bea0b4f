"""The export of everything that belongs to one person, for an access request under the Privacy Act.

index.html      to read and print
records.json    the same for programs
documents/…     the files
statements/…    what the person was told about their months, as PDF
"""

import datetime as dt
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from glob import escape
from pathlib import Path
from typing import Any

from django.db import models, transaction
from django.template.loader import render_to_string
from django.utils.text import capfirst, get_valid_filename

from apps.base import clock
from apps.core import history
from apps.core.history_display import HistoryLine, Names, history_lines, names_of, value_text
from apps.core.models import Change, Subscriber
from apps.documents.models import Document
from apps.documents.storage import read_file
from apps.operations.personal_records import (
    RecordKeys,
    find_history,
    find_mentions,
    find_records,
    load_keys,
)
from apps.operations.services.erasure_copies import find_copies
from apps.operations.tables import OperationError
from apps.payments.models import Statement
from apps.people.models import Client, Contact

#: Columns that are no value to read: the place of a file in the storage, and bytes that are a file here.
LEFT_OUT = frozenset({"storage_key", "content"})


@dataclass(frozen=True, slots=True)
class ExportedColumn:
    """A value of a record: as it is stored, and as it is shown."""

    name: str
    label: str
    value: object
    text: str


@dataclass(frozen=True, slots=True)
class ExportedRecord:
    """A record with its name and its values; those that are missing are left out of the page."""

    name: str
    columns: list[ExportedColumn]


@dataclass(frozen=True, slots=True)
class RecordGroup:
    """The records of one model."""

    model: str
    label: str
    records: list[ExportedRecord]


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """The file of a document, and its place in the archive."""

    document: str
    path: str
    storage_key: str
    sha256: str


@dataclass(frozen=True, slots=True)
class PersonExport:
    """Everything of one person, as it is written. ``faults`` are files that could not be read."""

    person: str
    organisation: str
    made: dt.datetime
    groups: list[RecordGroup]
    mentions: dict[str, int]
    copies: dict[str, int]
    changes: list[HistoryLine]
    files: list[ExportedFile]
    statements: list[Any]
    faults: list[str]

    @property
    def record_count(self) -> int:
        return sum(len(group.records) for group in self.groups)


@transaction.atomic
def export_person(person: Contact, client: Client | None, path: Path) -> PersonExport:
    """Write everything of a person into a new ZIP file that only its owner may read.

    The history of the contact tells of it. Raises ``OperationError`` when the file is there already.
    """
    export = collect_export(person, client)
    with new_archive(path) as archive:
        for file in export.files:
            write_file(archive, file, export.faults)
        write_statements(archive, export.statements)
        archive.writestr("records.json", json.dumps(as_json(export), ensure_ascii=False, indent=1))
        archive.writestr("index.html", render_to_string("operations/person.html", {"export": export}))
        history.write_entries(Contact, [person.pk], Change.Kind.EXPORTED)
    return export


def collect_export(person: Contact, client: Client | None) -> PersonExport:
    keys = load_keys(find_records(person, client))
    history = find_history(keys)
    return PersonExport(
        person=person.full_name,
        organisation=Subscriber.current().name,
        made=clock.now(),
        groups=[group for model in keys if (group := collect_group(model, keys)).records],
        mentions={
            capfirst(f"{each.model._meta.verbose_name}: {each.verbose_name}"): count
            for each, count in find_mentions(keys).items()
        },
        copies={each.label: each.count for each in find_copies(keys, history)},
        changes=history_lines(history),
        files=collect_files(keys),
        statements=keys.get(Statement, []),
        faults=[],
    )


# --- records --------------------------------------------------------------------------------------------


def collect_group(model: type[models.Model], keys: RecordKeys) -> RecordGroup:
    # Rows of a many-to-many table are shown as a list of the record that has it.
    found = (
        []
        if model._meta.auto_created
        else list(model._base_manager.filter(pk__in=keys[model]).order_by("pk"))
    )
    hidden = {*getattr(model, "secret_columns", ()), *LEFT_OUT}
    columns = [
        each
        for each in model._meta.concrete_fields
        if not hasattr(each, "text_field") and each.name not in hidden
    ]
    names: Names = {}
    for column in columns:
        if isinstance(column, models.ForeignKey):
            values = {str(value) for each in found if (value := getattr(each, column.attname)) is not None}
            names.setdefault(column.related_model, {}).update(names_of(column.related_model, values))
    return RecordGroup(
        model=model._meta.label,
        label=capfirst(str(model._meta.verbose_name_plural)),
        records=[
            ExportedRecord(str(each), [*exported_columns(each, columns, names), *exported_lists(each)])
            for each in found
        ],
    )


def exported_columns(record: models.Model, columns: Sequence[Any], names: Names) -> Iterator[ExportedColumn]:
    for column in columns:
        value = history.json_value(getattr(record, column.attname))
        label = capfirst(str(column.verbose_name))
        yield ExportedColumn(column.attname, label, value, value_text(column, value, names))


def exported_lists(record: models.Model) -> Iterator[ExportedColumn]:
    for column in record._meta.many_to_many:
        entries = [str(each) for each in getattr(record, column.name).all()]
        yield ExportedColumn(
            column.name, capfirst(str(column.verbose_name)), entries, value_text(None, entries, {})
        )


def as_json(export: PersonExport) -> dict[str, object]:
    """The export for programs: values as they are stored, records by model."""
    return {
        "person": export.person,
        "organisation": export.organisation,
        "made": history.json_value(export.made),
        "records": {
            group.model: [{each.name: each.value for each in record.columns} for record in group.records]
            for group in export.groups
        },
        "mentions": export.mentions,
        "copies": export.copies,
        "changes": [
            {
                "at": history.json_value(line.at),
                "by": line.who,
                "channel": line.channel,
                "kind": line.kind,
                "record": line.record,
                "differences": [asdict(each) for each in line.differences],
            }
            for line in export.changes
        ],
        "files": [
            {"document": file.document, "path": file.path, "sha256": file.sha256} for file in export.files
        ],
        "faults": export.faults,
    }


# --- files ----------------------------------------------------------------------------------------------


def collect_files(keys: RecordKeys) -> list[ExportedFile]:
    documents = Document.objects.filter(pk__in=keys.get(Document, [])).order_by("pk")
    return [
        ExportedFile(
            document=str(each.pk),
            path=f"documents/{number:04}-{get_valid_filename(each.file_name)}",
            storage_key=each.storage_key,
            sha256=each.sha256,
        )
        for number, each in enumerate(documents, 1)
    ]


def write_statements(archive: zipfile.ZipFile, keys: Sequence[Any]) -> None:
    """The documents of statements, one in memory at a time."""
    found = Statement.objects.filter(pk__in=keys, content__isnull=False).order_by("month", "version", "pk")
    for number, each in enumerate(found.iterator(chunk_size=1), 1):
        name = f"statements/{number:04}-{each.month:%Y-%m}-version-{each.version}.pdf"
        archive.writestr(name, bytes(each.content or b""))


def write_file(archive: zipfile.ZipFile, file: ExportedFile, faults: list[str]) -> None:
    try:
        chunks = read_file(file.storage_key)
    except FileNotFoundError:
        faults.append(f"{file.path}: the file of the document is missing")
        return
    with archive.open(file.path, "w", force_zip64=True) as target:
        for chunk in chunks:
            target.write(chunk)


@contextmanager
def new_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """A new ZIP file, there under its name when the block ends well; only its owner may read it."""
    if not path.parent.is_dir():
        raise OperationError(f"{path.parent} is no folder.")
    # By an export that was killed; eight letters, as ``mkstemp`` takes, are no part of another name.
    for abandoned in path.parent.glob(f".{'?' * 8}.{escape(path.name)}"):
        abandoned.unlink()
    if path.exists():
        raise OperationError(f"{path} is there already: name a new file.")
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=f".{path.name}")
    try:
        with os.fdopen(descriptor, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                yield archive
            file.flush()
            os.fsync(file.fileno())
        os.link(name, path)  # unlike a rename it replaces nothing
    finally:
        Path(name).unlink(missing_ok=True)
