"""Contacts into and out of CSV files by django-import-export, and by bare psycopg."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
from import_export.fields import Field
from import_export.instance_loaders import CachedInstanceLoader
from import_export.resources import modelresource_factory
from import_export.widgets import CharWidget, DateWidget
from tablib import Dataset

from apps.base import clock
from apps.core.models import new_guid, normalised
from apps.people.models import Contact
from bench.import_contacts import HEADER

#: The columns of a file, by their headers.
COLUMNS = dict(
    zip(
        HEADER,
        (
            *("unique_code", "first_name", "last_name", "personal_title", "gender", "birthday"),
            *("scheme_number", "primary_email", "phone1", "street_address", "suburb", "state"),
            *("post_code", "country"),
        ),
        strict=True,
    )
)


def day_of(text: str) -> date:
    day, month, year = map(int, text.split("/"))
    return date(year, month, day)


class TextWidget(CharWidget):
    """An empty cell is null."""

    def clean(self, value: str, row: Any = None, **options: Any) -> str | None:
        return value or None


class DayWidget(DateWidget):
    """Read as our import's file has it, written as our export does."""

    def render(self, value: date | None, obj: Any = None, **options: Any) -> str:
        return value.isoformat() if value else ""


#: With what its documentation recommends for many rows; bulk inserts write no history.
ContactResource = modelresource_factory(
    Contact,
    meta_options={
        "fields": tuple(COLUMNS.values()),
        "import_id_fields": ("unique_code",),
        "use_bulk": True,
        "skip_diff": True,
        "instance_loader_class": CachedInstanceLoader,
    },
    custom_fields={
        column: Field(
            attribute=column,
            column_name=header,
            widget=DayWidget("%d/%m/%Y") if column == "birthday" else TextWidget(),
        )
        for header, column in COLUMNS.items()
    },
)


def import_by_resource(file: Path) -> None:
    rows = Dataset().load(file.read_text(), format="csv")
    ContactResource().import_data(rows, raise_errors=True, use_transactions=True)


def export_by_resource() -> bytes:
    text: str = ContactResource().export(Contact.objects.order_by("-creation_date", "-guid")).csv
    return text.encode()


def copy_from_file(connection: Any, file: Path) -> None:
    now = clock.now()
    given = {field.column: field.get_default() for field in Contact._meta.concrete_fields}
    given |= {"creation_date": now, "modify_date": now}
    names = [*dict.fromkeys((*given, *COLUMNS.values()))]
    statement = f"COPY people_contact ({', '.join(names)}) FROM STDIN"
    with file.open() as lines, psycopg.Cursor(connection) as cursor, cursor.copy(statement) as copy:
        for line in csv.DictReader(lines):
            row = given | {column: line[header] or None for header, column in COLUMNS.items()}
            row["guid"] = new_guid()
            row["birthday"] = day_of(line["Date of birth"])
            row["unique_code_key"] = normalised(line["Unique code"])
            copy.write_row([row[name] for name in names])


def copy_to_bytes(connection: Any) -> bytes:
    statement = (
        f"SELECT {', '.join(COLUMNS.values())} FROM people_contact ORDER BY creation_date DESC, guid DESC"
    )
    with (
        psycopg.Cursor(connection) as cursor,
        cursor.copy(f"COPY ({statement}) TO STDOUT WITH (FORMAT csv, HEADER)") as copy,
    ):
        return b"".join(copy)
