"""Matching of rows with existing records, and whether these have what the rows give."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import models

from apps.base.batched_queries import AnyOf
from apps.base.declaration.schema import NavigationProperty
from apps.base.drafts import Draft
from apps.core.importing.cells import is_same
from apps.core.importing.columns import ImportColumn, Member
from apps.core.importing.definition import ImportDefinition
from apps.core.importing.file_declaration import normalised_column
from apps.core.importing.reading import RowReader
from apps.core.importing.records import ExistingRecord, ReadRecord
from apps.core.importing.references import compared_field, number_issue
from apps.core.models import normalised

NEW_KEY_ADVICE = "leave it empty for a new one; --by-name reads a file of another database."


class FirstRows:
    """The row of the file in which each value occurs first: on disk, for files longer than the memory."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("CREATE TABLE first_rows (value INTEGER PRIMARY KEY, number INTEGER)")
        self._db.execute("BEGIN")

    def earlier(self, kind: str, values: Sequence[tuple[ReadRecord, object]]) -> list[tuple[ReadRecord, int]]:
        """The records among these whose value occurs in an earlier row, with that row's number."""
        # 64 bits, keyed anew in each process: two of a million values are one once in 40 million imports.
        marks = [hash(f"{kind}\0{value}") for _, value in values]
        before = self._db.total_changes
        self._db.executemany(
            "INSERT OR IGNORE INTO first_rows VALUES (?, ?)",
            [(mark, record.row.number) for mark, (record, _) in zip(marks, values, strict=True)],
        )
        if self._db.total_changes - before == len(values):
            return []
        select = "SELECT number FROM first_rows WHERE value = ?"
        numbers = [self._db.execute(select, [mark]).fetchone()[0] for mark in marks]
        found = ((record, number) for (record, _), number in zip(values, numbers, strict=True))
        return [(record, number) for record, number in found if number != record.row.number]

    def close(self) -> None:
        self._db.close()


class ComparedColumns:
    """The columns of a model that a file gives: loads them of existing records and compares them."""

    def __init__(
        self, model: type[models.Model], members: Iterable[Member], service_defaults: Iterable[str]
    ) -> None:
        self.model = model
        given = [member for member in members if not member.is_key]
        #: What is stored beside the records, by attribute.
        self.related = {member.attribute: member.related for member in given if member.related is not None}
        fields: dict[str, Any] = {
            member.attribute: model._meta.get_field(member.attribute)
            for member in given
            if member.related is None
        }
        self.lists = {name for name, field in fields.items() if field.many_to_many}
        self.values = {name: field for name, field in fields.items() if not field.many_to_many}
        #: Attributes whose empty cell leaves the value as it is: not null, or filled by the service.
        self.unchanged_when_empty = {
            *(name for name, field in self.values.items() if not field.null),
            *(member.attribute for member in given if member.name in service_defaults),
            *self.related,
        }

    def load(self, *conditions: Any, extra: Sequence[str] = (), order: Sequence[str] = ()) -> list[Any]:
        """(record, values of ``extra`` columns) of the records that meet the conditions.

        Without an order, by which PostgreSQL might read the whole table to find a few thousand of its rows.
        """
        columns = [field.attname for field in self.values.values()]
        rows = self.model._base_manager.filter(*conditions).order_by(*order)
        names, width = tuple(self.values), len(extra) + 1
        found = [
            (ExistingRecord(row[0], dict(zip(names, row[width:], strict=True))), row[1:width])
            for row in rows.values_list("pk", *extra, *columns)
        ]
        keys = [existing.key for existing, _ in found]
        beside = {name: self.load_list(name, keys) for name in self.lists}
        beside |= {name: related.load(keys) for name, related in self.related.items()}
        for name, values in beside.items():
            for existing, _ in found:
                existing.values[name] = values.get(existing.key)
        return found

    def load_list(self, name: str, keys: Sequence[Any]) -> Mapping[Any, set[Any]]:
        """The keys of the records that a list names, by record."""
        found: dict[Any, set[Any]] = {key: set() for key in keys}
        for key, linked in self.model._base_manager.filter(AnyOf("pk", keys)).values_list("pk", name):
            found[key] |= {linked} - {None}
        return found

    def is_unchanged(self, existing: Mapping[str, object], given: Mapping[str, object]) -> bool:
        """True when an existing record has every value that a row gives."""
        return existing == given or all(
            existing[name] == value or self.has_value(name, existing[name], value)
            for name, value in given.items()
            if name in existing
        )

    def has_value(self, name: str, existing: Any, given: Any) -> bool:
        if name in self.lists:
            return bool(existing == set(given))
        if given is None and name in self.unchanged_when_empty:
            return True
        related = self.related.get(name)
        return is_same(existing, given) if related is None else related.is_same(existing, given)

    def draft(self, reader: RowReader, record: ReadRecord) -> Draft:
        """The draft of a new record, or of what a row gives of an existing one and that has not."""
        if record.existing is None:
            return reader.new_draft(record)
        before = record.existing.values
        given = {
            name: value
            for name, value in record.values.items()
            if name not in before or not self.has_value(name, before[name], value)
        }
        return reader.draft_class(given, given, record.invalid, key=record.existing.key)


class ItemMatcher:
    """Matches the items that rows give with those that a record has."""

    def __init__(self, part: NavigationProperty, reader: RowReader, definition: ImportDefinition) -> None:
        self.part, self.reader = part, reader
        columns = [each.column for each in reader.readers]
        self.key_column = next((column for column in columns if column.member.is_key), None)
        members = [column.member for column in columns]
        self.compared = ComparedColumns(part.type.model, members, definition.service_defaults)

    def load(self, keys: Sequence[Any]) -> Mapping[Any, list[ExistingRecord]]:
        """The items of the records with these keys, by record, in their order."""
        owner = self.part.relation.field
        rows = self.compared.load(AnyOf(owner.name, keys), extra=[owner.attname], order=self.part.type.order)
        found: dict[Any, list[ExistingRecord]] = defaultdict(list)
        for item, (key,) in rows:
            found[key].append(item)
        return found

    def match(self, record: ReadRecord) -> None:
        """Find the existing item that each row changes; a key that no item has is rejected."""
        self.assign(record)
        for item in record.items:
            if item.key is not None and item.existing is None:
                name = self.part.type.model._meta.verbose_name
                message = f"The record has no {name} of this key; {NEW_KEY_ADVICE}"
                item.reject(self.key_column, "NotFound", message)

    def assign(self, record: ReadRecord) -> None:
        """Set the existing item of each row, ``None`` for a new one.

        That is the one whose key the row gives; else one that equals it; else the next that is left, in
        their order. Items that no row gives are removed.
        """
        left = {item.key: item for item in (record.existing.items if record.existing is not None else ())}
        for item in record.items:
            item.existing = left.pop(item.key, None)
        without_key = [item for item in record.items if item.key is None]
        for item in without_key if left else ():
            same = (key for key, existing in left.items() if self.is_unchanged(existing, item))
            item.existing = left.pop(next(same, None), None)
        rest = iter(left.values())
        for item in without_key:
            item.existing = item.existing or next(rest, None)

    def is_unchanged(self, existing: ExistingRecord | None, item: ReadRecord) -> bool:
        return (
            existing is not None
            and not item.invalid
            and self.compared.is_unchanged(existing.values, item.values)
        )

    def are_unchanged(self, record: ReadRecord) -> bool:
        """True when the existing record has the items of the rows, which are matched, and no others.

        A required list without rows stays as it is.
        """
        if not record.items and self.part.declaration.required:
            return True
        return (
            record.existing is not None
            and len(record.existing.items) == len(record.items)
            and all(self.is_unchanged(item.existing, item) for item in record.items)
        )

    def fill_list(self, draft: Draft, record: ReadRecord) -> None:
        """Give a draft its list: drafts of the items, those that exist with their key."""
        name = self.part.attribute
        draft.fill(name, [self.compared.draft(self.reader, item) for item in record.items])
        draft.given |= {name}
        draft.invalid |= {f"{name}[{number}]" for number, item in enumerate(record.items) if item.invalid}


class RecordMatcher:
    """Finds the records that rows change, and rejects rows whose record is in the file already."""

    def __init__(
        self,
        model: type[models.Model],
        definition: ImportDefinition,
        members: Mapping[str, Member],
        columns: Sequence[ImportColumn],
        match_fields: Sequence[str],
        items: ItemMatcher | None,
    ) -> None:
        """``columns`` are the record's own."""
        self.model, self.items = model, items
        by_name = {column.member.name: column for column in columns}
        keys = [column for column in columns if column.member.is_key]
        #: The record's own key comes before the members that identify it.
        self.match_columns = keys + [by_name[name] for name in match_fields if name in by_name]
        targets = {column.member.target for column in columns}
        #: The attribute that decides among records with one value, by column.
        self.scopes = {
            by_name[name]: members[other].attribute
            for name, other in definition.match_scopes.items()
            if name in by_name and members[other].target in targets
        }
        #: Columns of texts that are compared by their normalised column.
        self.normalised = {
            column: field
            for column in columns
            if column.member.navigation is None
            and column.member.record_name is None
            and (field := normalised_column(column.member.prop.source_field)) is not None
        }
        self.unique_columns = [column for column, field in self.normalised.items() if field.unique]
        self.find_references = definition.find_references
        #: References that the definition finds, and the column at fault when it does not.
        self.found_references = {
            members[name]: by_name[by] for name, by in definition.found_references.items() if by in by_name
        }
        compared = [*(column.member for column in columns), *self.found_references]
        self.compared = ComparedColumns(model, compared, definition.service_defaults)
        self.first_rows = FirstRows()

    def match(self, records: Sequence[ReadRecord]) -> None:
        """Set the existing record of each record, and the existing items of its items.

        A value that an earlier row of the file has is rejected where it identifies a record.
        """
        compared = {
            column: self.compared_values(records, column)
            for column in dict.fromkeys([*self.match_columns, *self.unique_columns])
        }
        matched: dict[ImportColumn, list[tuple[ReadRecord, Any]]] = defaultdict(list)
        unmatched: list[ReadRecord] = []
        for number, record in enumerate(records):
            for column in self.match_columns:
                if record.invalid and record.invalid & {column.member.attribute, self.scopes.get(column)}:
                    break
                if (value := compared[column][number]) is not None:
                    matched[column].append((record, value))
                    break
            else:
                unmatched.append(record)
        for column, values in compared.items():
            given = [pair for pair in zip(records, values, strict=True) if pair[1] is not None]
            identified = {id(record) for record, _ in matched.get(column, ())}
            for record, earlier in self.first_rows.earlier(column.member.name, given):
                if column in self.unique_columns or id(record) in identified:
                    record.reject(column, "NotUnique", f"Row {earlier:,} of the file has it already.")
        for column, pairs in matched.items():
            self.find_by_column(column, pairs)
        for column in self.found_references.values():
            self.find_references(records, column)
        self.find_equal([record for record in unmatched if not record.is_rejected])
        if self.items is not None:
            for record in records:
                self.items.match(record)

    def compared_values(self, records: Sequence[ReadRecord], column: ImportColumn) -> list[Any]:
        """The values of a column as compared, with the value that decides among records."""
        name, scope = column.member.attribute, self.scopes.get(column)
        values = [record.key if column.member.is_key else record.values.get(name) for record in records]
        if column in self.normalised:
            values = [normalised(value) for value in values]
        if scope is None:
            return values
        pairs = zip(records, values, strict=True)
        return [None if value is None else (value, record.values.get(scope)) for record, value in pairs]

    def find_by_column(self, column: ImportColumn, wanted: Sequence[tuple[ReadRecord, Any]]) -> None:
        by, scope = compared_field(self.model, column.member.attribute), self.scopes.get(column)
        texts = {value if scope is None else value[0] for _, value in wanted}
        found: dict[Any, list[ExistingRecord]] = defaultdict(list)
        for existing, (value,) in self.load(AnyOf(by.name, texts), extra=[by.attname]):
            found[value if scope is None else (value, existing.values[scope])].append(existing)
        for record, value in wanted:
            records = found.get(value, ())
            if len(records) > 1:
                record.note(column, number_issue(self.model._meta, len(records)))
            elif records:
                record.existing = records[0]
            elif column.member.is_key:
                message = f"There is no {self.model._meta.verbose_name} of this key; {NEW_KEY_ADVICE}"
                record.reject(column, "NotFound", message)

    def find_equal(self, wanted: Sequence[ReadRecord]) -> None:
        """Rows without a match value are the records that equal them in every column."""
        values = [(record, [sorted_values(read) for read in (record, *record.items)]) for record in wanted]
        for record, number in self.first_rows.earlier("", values):
            record.reject(None, "NotUnique", f"Row {number:,} of the file says the same.")
        wanted = [record for record in wanted if not record.is_rejected]
        # Every column narrows the query, so that it gives little more than the records that equal a row.
        given = {name: {record.values.get(name) for record in wanted} for name in self.compared.values}
        conditions = [
            any_of_or_null(self.compared.values[name], some)
            for name, some in given.items()
            # SQLite has decimals as floating point numbers, which no list of them equals.
            if not isinstance(self.compared.values[name], models.DecimalField)
            and not (None in some and name in self.compared.unchanged_when_empty)
        ]
        if not wanted or not conditions:
            return
        # What an empty cell leaves as it is cannot be part of the key by which records are looked up.
        names = [name for name in given if name not in self.compared.unchanged_when_empty]
        found: dict[Any, list[ExistingRecord]] = defaultdict(list)
        for existing, _ in sorted(self.load(*conditions), key=lambda pair: pair[0].key):
            found[tuple(existing.values[name] for name in names)].append(existing)
        for record in wanted:
            for existing in found.get(tuple(record.values.get(name) for name in names), ()):
                record.existing = existing
                if self.items is not None:
                    self.items.assign(record)
                if self.is_unchanged(record):
                    break
                record.existing = None

    def load(self, *conditions: Any, extra: Sequence[str] = ()) -> list[tuple[ExistingRecord, Sequence[Any]]]:
        found = self.compared.load(*conditions, extra=extra)
        if self.items is None:
            return found
        items = self.items.load([existing.key for existing, _ in found])
        for existing, _ in found:
            existing.items = items.get(existing.key, ())
        return found

    def is_unchanged(self, record: ReadRecord) -> bool:
        """True when the existing record has what the rows give."""
        assert record.existing is not None
        return self.compared.is_unchanged(record.existing.values, record.values) and (
            self.items is None or self.items.are_unchanged(record)
        )


def sorted_values(read: ReadRecord) -> list[tuple[str, str]]:
    return sorted((name, repr(value)) for name, value in read.values.items())


def any_of_or_null(field: models.Field, values: Iterable[object]) -> models.Q:
    """The condition that a column has one of the values, ``None`` among them."""
    given = set(values)
    condition = models.Q(AnyOf(field.name, given - {None}))
    return condition | models.Q(**{f"{field.name}__isnull": True}) if None in given else condition
