"""Turns what names a referred record into its key: one query for each column of names and batch of rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import models

from apps.core.importing.columns import CellIssue, RecordColumn
from apps.core.importing.record_names import Named, RecordName, records_by_text
from apps.core.importing.records import ReadRecord

ColumnIssue = tuple[RecordColumn, CellIssue]


def number_issue(meta: Any, number: int) -> CellIssue:
    """The issue of a name that several records have."""
    return CellIssue("Ambiguous", f"{number:,} {meta.verbose_name_plural} have it; which one is meant?")


class NamedReference:
    """A reference whose records texts name, in one column or in several side by side.

    ``is_later``: the records may be imported later, so that a name not found is a warning.
    """

    def __init__(self, columns: Sequence[RecordColumn], is_later: bool) -> None:
        self.columns, self.is_later, first = columns, is_later, columns[0]
        self.names = [name for column in columns if (name := column.record_name)]
        self.attribute, self.is_list = first.attribute, first.is_list
        self.model: type[models.Model] = (
            self.names[0].column.model if first.part is None else first.part.type.model
        )
        self.scope = next((name.scope for name in self.names if name.scope is not None), None)

    def resolve(self, rows: Sequence[ReadRecord], texts: Sequence[Sequence[object]]) -> None:
        """Give the rows the keys of the records that their ``texts`` name, a sequence for each column.

        The names in a row that gives the key itself are not looked up.
        """
        named = [
            (record, given, record.values.get(self.scope) if self.scope is not None else None)
            for record, given in zip(rows, zip(*texts, strict=True), strict=True)
            if any(given) and not record.values.get(self.attribute) and self.attribute not in record.invalid
        ]
        found = [
            records_by_text(self.model, name, {text for _, given, _ in named for text in given[number] or ()})
            for number, name in enumerate(self.names)
        ]
        # Rows with the same names are alike.
        decisions: dict[Any, tuple[Any, ColumnIssue | None]] = {}
        for record, given, scope in named:
            if (given, scope) not in decisions:
                decisions[given, scope] = self.decide(given, scope, found)
            value, found_issue = decisions[given, scope]
            if found_issue is None:
                record.values[self.attribute] = value
            else:
                record.values.pop(self.attribute, None)
                record.note(*found_issue)

    def decide(
        self, given: Sequence[Sequence[str] | None], scope: object, found: Sequence[Mapping[Any, Named]]
    ) -> tuple[Any, ColumnIssue | None]:
        """The key, or the keys, that the texts of a row name; the first column that has a text decides."""
        named: list[tuple[RecordColumn, RecordName, Sequence[str], list[Sequence[Any]]]] = []
        for column, name, texts, records in zip(self.columns, self.names, given, found, strict=True):
            if texts:
                keys = [keys_in_scope(records.get(name.compare(text), ()), scope) for text in texts]
                named.append((column, name, texts, keys))
        exact = [each for each in named if not each[1].is_descriptive]
        if exact:
            column, _, texts, keys = exact[0]
        else:
            # Texts that describe a record name it together.
            column, _, texts, _ = named[-1]
            keys = [list(set.intersection(*(set(some[0]) for *_, some in named)))]
        issue = self.name_issue(texts, keys)
        if issue is not None:
            return None, (column, issue)
        for other, _, _, others in exact[1:]:
            # A second name in a row must not be another record's.
            if others[0] and keys[0][0] not in others[0]:
                kind = self.model._meta.verbose_name
                message = f"It is another {kind} than the one of {column.header.strip()}."
                return None, (other, CellIssue("Differs", message))
        return (tuple(some[0] for some in keys) if self.is_list else keys[0][0]), None

    def name_issue(self, texts: Sequence[str], named: Sequence[Sequence[object]]) -> CellIssue | None:
        """The fault of a cell whose texts must each name one record."""
        meta = self.model._meta
        for text, keys in zip(texts, named, strict=True):
            if not keys:
                message = f"There is no {meta.verbose_name} called {text}."
                if self.is_later:
                    message += " Import this file again when there is."
                return CellIssue("NotFound", message, is_warning=self.is_later)
            if len(keys) > 1:
                return number_issue(meta, len(keys))
        return None


def keys_in_scope(records: Named, scope: object) -> Sequence[Any]:
    """The keys of the records of one name; where they are several, those with the row's value."""
    if len(records) > 1 and scope is not None:
        records = [(key, value) for key, value in records if value == scope]
    return [key for key, _ in records]
