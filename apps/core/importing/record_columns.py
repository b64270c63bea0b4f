"""The columns that give records of one type: they read rows, compare existing records, and make drafts."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

from django.db import models

from apps.base.batched_queries import AnyOf
from apps.base.declaration.schema import NavigationProperty, StructuredType
from apps.base.drafts import Draft
from apps.base.new_records import defaults_of, required_members
from apps.core.importing.columns import CellIssue, RecordColumn, RelatedColumn
from apps.core.importing.definition import ImportDefinition
from apps.core.importing.records import ExistingRecord, ReadRecord
from apps.core.importing.references import NamedReference
from apps.core.table_files.tables import Row

#: Set after the service has saved a record; rules read it of existing ones.
ARCHIVE_DATE = "archive_date"


class RecordColumns:
    """The columns of a file that give its records, or the items of their list.

    ``items`` are the columns of the list's items, where the file has any. ``found`` are references that the
    definition finds, of which the file has no column. ``is_past``: days to come may be past.
    """

    def __init__(
        self,
        type_: StructuredType,
        columns: Sequence[RecordColumn],
        definition: ImportDefinition,
        items: "ItemColumns | None" = None,
        found: Sequence[RecordColumn] = (),
        is_past: bool = False,
    ) -> None:
        self.type, self.columns, self.items = type_, columns, items
        self.model: type[models.Model] = type_.model
        self.draft_class: type[Draft] = type_.declaration.draft_class or Draft
        self.defaults, self.required = defaults_of(type_), required_members(type_)
        self.assumed = {name: value for name, value in definition.assumed.items() if name in self.required}
        self.header = columns[0].table.header if columns else ()
        self.complete, self.explain_missing = definition.complete_values, definition.explain_missing
        #: Attributes that count as not given, so that no rule about days to come rejects them.
        self.past_dates = frozenset(c.attribute for c in columns if c.is_future and is_past)
        self.by_attribute = {column.attribute: column for column in reversed(columns)}
        named: dict[str, list[RecordColumn]] = defaultdict(list)
        for column in columns:
            if column.record_name is not None:
                named[column.attribute].append(column)
        self.references = [
            NamedReference(some, name in definition.later_references) for name, some in named.items()
        ]
        compared = [column for column in (*columns, *found) if not column.is_key]
        self.compared = {column.attribute: column for column in compared}
        #: What is stored beside the records, and the lists of records they name.
        self.related = {name: c for name, c in self.compared.items() if isinstance(c, RelatedColumn)}
        self.lists = [name for name, column in self.compared.items() if column.is_list]
        self.fields: dict[str, Any] = {
            name: self.model._meta.get_field(name)
            for name in self.compared
            if name not in self.related and name not in self.lists
        }
        #: Attributes whose empty cell leaves the value as it is: not null, or filled by the service.
        self.unchanged_when_empty = {
            *(name for name, field in self.fields.items() if not field.null),
            *(column.attribute for column in compared if column.keeps_when_empty),
            *self.related,
        }

    # --- rows

    def read(self, rows: Sequence[Row]) -> list[ReadRecord]:
        """The values of rows that have a cell for each column; every cell that cannot be read is an error."""
        if not rows:
            return []
        cells = list(zip(*(row.cells for row in rows), strict=True))
        keys: Sequence[Any] = [None] * len(rows)
        by_attribute: dict[str, Sequence[Any]] = {}
        given = {column: list(map(column.values, cells[column.index])) for column in self.columns}
        issues: list[tuple[int, RecordColumn, CellIssue]] = []
        for column, values in given.items():
            for number, value in enumerate(values) if column.has_issues else ():
                if isinstance(value, CellIssue):
                    issues.append((number, column, value.about(column.name)))
                    values[number] = value.value
            if column.is_key:
                keys = values
            elif column.record_name is None:
                by_attribute[column.attribute] = values
            else:
                by_attribute.setdefault(column.attribute, [column.empty] * len(rows))
        names = tuple(by_attribute)
        by_row = zip(*by_attribute.values(), strict=True) if names else repeat(())
        found = [
            ReadRecord(row, dict(zip(names, values, strict=True)), key)
            for row, values, key in zip(rows, by_row, keys, strict=False)
        ]
        if (complete := self.complete) is not None:
            for record in found:
                for attribute, issue in complete(record.values):
                    record.note(self.by_attribute[attribute], issue)
        for number, column, issue in issues:
            found[number].note(column, issue)
        for reference in self.references:
            reference.resolve(found, [given[column] for column in reference.columns])
        return found

    def is_empty(self, row: Row) -> bool:
        """True when all cells of the columns are empty."""
        return not any(column.cleaned(row.cells[column.index]) for column in self.columns)

    def check_required(self, record: ReadRecord, given: str | None = None) -> None:
        """Reject a row without a required member, unless it is ``given`` elsewhere or assumed.

        Of an existing record only those are checked that have a column.
        """
        for attribute in self.assumed if record.existing is None else ():
            if record.values.get(attribute) is None and attribute not in record.invalid:
                record.values[attribute] = self.assumed[attribute]
        for attribute, name in self.required.items():
            if record.values.get(attribute) is not None or attribute in (given, *record.invalid):
                continue
            column = self.by_attribute.get(attribute)
            if column is not None or record.existing is None:
                message = f"{name} is required."
                if column is None:
                    cells = dict(zip(self.header, record.row.cells, strict=False))
                    message = f"{message} {self.explain_missing(attribute, cells)}".rstrip()
                record.reject(column, "Required", message)
                record.invalid |= {attribute}

    # --- existing records

    def load(
        self, *conditions: Any, extra: Sequence[str] = (), order: Sequence[str] = ()
    ) -> list[tuple[ExistingRecord, Sequence[Any]]]:
        """(record, values of ``extra`` columns) of the records that meet the conditions.

        Without an order, by which PostgreSQL might read the whole table to find a few thousand of its rows.
        """
        columns = [field.attname for field in self.fields.values()]
        rows = self.model._base_manager.filter(*conditions).order_by(*order)
        names, width = tuple(self.fields), len(extra) + 1
        found = [
            (ExistingRecord(row[0], dict(zip(names, row[width:], strict=True))), row[1:width])
            for row in rows.values_list("pk", *extra, *columns)
        ]
        keys = [existing.key for existing, _ in found]
        beside: dict[str, Mapping[Any, Any]] = {name: self.load_list(name, keys) for name in self.lists}
        beside |= {name: column.load(keys) for name, column in self.related.items()}
        for name, values in beside.items():
            for existing, _ in found:
                existing.values[name] = values.get(existing.key)
        if self.items is not None:
            items = self.items.by_record(keys)
            for existing, _ in found:
                existing.items = items.get(existing.key, ())
        return found

    def load_list(self, name: str, keys: Sequence[object]) -> Mapping[Any, set[Any]]:
        """The keys of the records that a list names, by record."""
        found: dict[Any, set[Any]] = {key: set() for key in keys}
        for key, linked in self.model._base_manager.filter(AnyOf("pk", keys)).values_list("pk", name):
            found[key] |= {linked} - {None}
        return found

    def has_value(self, name: str, existing: object, given: object) -> bool:
        """True when the value of an existing record is the one that a row gives."""
        if given is None and name in self.unchanged_when_empty:
            return True
        return self.compared[name].is_same(existing, given)

    def is_unchanged(self, record: ReadRecord, existing: ExistingRecord | None) -> bool:
        """True when an existing record has every value that the rows give, and their items."""
        if existing is None or record.invalid:
            return False
        before, given = existing.values, record.values
        has_values = before == given or all(
            before[name] == value or self.has_value(name, before[name], value)
            for name, value in given.items()
            if name in before
        )
        return has_values and (self.items is None or self.items.are_unchanged(record))

    # --- drafts

    def draft(self, record: ReadRecord) -> Draft:
        """The draft of a new record, or of what its rows give of an existing one and that has not."""
        if record.existing is not None:
            before = record.existing.values
            changed = {
                name: value
                for name, value in record.values.items()
                if name not in before or not self.has_value(name, before[name], value)
            }
            return self.draft_class(changed, changed, record.invalid, key=record.existing.key)
        given = {name: value for name, value in record.values.items() if value is not None}
        given.pop(ARCHIVE_DATE, None)
        values = self.defaults.complete(given, record.invalid)
        return self.draft_class(values, given.keys() - self.past_dates, record.invalid)


class ItemColumns(RecordColumns):
    """The columns of the items of a list, which are rows of the file: ``part`` is the list."""

    def __init__(
        self, part: NavigationProperty, columns: Sequence[RecordColumn], definition: ImportDefinition
    ) -> None:
        super().__init__(part.type, columns, definition)
        self.part = part

    def by_record(self, keys: Sequence[object]) -> Mapping[Any, list[ExistingRecord]]:
        """The items of the records with these keys, by record, in their order."""
        owner = self.part.relation.field
        rows = self.load(AnyOf(owner.name, keys), extra=[owner.attname], order=self.part.type.order)
        found: dict[Any, list[ExistingRecord]] = defaultdict(list)
        for item, (key,) in rows:
            found[key].append(item)
        return found

    def are_unchanged(self, record: ReadRecord) -> bool:
        """True when the existing record has the items of the rows, which are matched, and no others.

        A required list without rows stays as it is.
        """
        if not record.items and self.part.declaration.required:
            return True
        return (
            record.existing is not None
            and len(record.existing.items) == len(record.items)
            and all(self.is_unchanged(item, item.existing) for item in record.items)
        )

    def fill_list(self, draft: Draft, record: ReadRecord) -> None:
        """Give a draft its list: drafts of the items, those that exist with their key."""
        name = self.part.attribute
        draft.fill(name, [self.draft(item) for item in record.items])
        draft.given |= {name}
        draft.invalid |= {f"{name}[{number}]" for number, item in enumerate(record.items) if item.invalid}
