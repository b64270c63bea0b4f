"""Turns what names a referred record into its key: one query for each column of names and batch of rows."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import models
from django.db.models import F, Value

from apps.base.batched_queries import AnyOf
from apps.core.importing.columns import ImportColumn
from apps.core.importing.file_declaration import RecordName, normalised_column
from apps.core.importing.records import CellIssue, ReadRecord

#: The records of a text: (key, value of the scope) each.
Named = Sequence[tuple[Any, Any]]
ColumnIssue = tuple[ImportColumn, CellIssue]


def records_by_text(model: type[models.Model], name: RecordName, texts: Iterable[str]) -> Mapping[Any, Named]:
    """The records that have these texts, by the text as compared; archived ones only without others."""
    wanted = {spelling for text in texts for spelling in name.spellings(text)}
    has_archive = any(field.name == "archive_date" for field in model._meta.concrete_fields)
    archive_date = F("archive_date") if has_archive else Value(None, models.DateTimeField())
    rows = model._base_manager.filter(AnyOf(name.column.name, wanted)).values_list(
        name.column.name, "pk", archive_date, name.scope or "pk"
    )
    found: dict[Any, list[tuple[bool, Any, Any]]] = defaultdict(list)
    for text, key, archived, scope in rows:
        found[name.compare(text)].append((archived is None, key, scope))
    return {
        text: [record[1:] for record in some if record[0]] or [record[1:] for record in some]
        for text, some in found.items()
    }


def number_issue(meta: Any, number: int) -> CellIssue:
    """The issue of a name that several records have."""
    return CellIssue("Ambiguous", f"{number:,} {meta.verbose_name_plural} have it; which one is meant?")


class NamedReference:
    """A member whose records texts name, in one column or in several side by side.

    ``is_later``: the records may be imported later, so that a name not found is a warning.
    """

    def __init__(self, columns: Sequence[ImportColumn], is_later: bool) -> None:
        self.is_later = is_later
        self.columns = [(column, name) for column in columns if (name := column.member.record_name)]
        member = columns[0].member
        self.attribute, self.is_list = member.attribute, member.is_list
        model = self.columns[0][1].column.model if member.navigation is None else member.navigation.type.model
        self.model: type[models.Model] = model
        self.scope = next((name.scope for _, name in self.columns if name.scope is not None), None)

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
            for number, (_, name) in enumerate(self.columns)
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
        self, given: Sequence[Sequence[str] | None], scope: Any, found: Sequence[Mapping[Any, Named]]
    ) -> tuple[Any, ColumnIssue | None]:
        """The key, or the keys, that the texts of a row name; the first column that has a text decides."""
        named = []
        for (column, name), texts, records in zip(self.columns, given, found, strict=True):
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


def keys_in_scope(records: Named, scope: Any) -> Sequence[Any]:
    """The keys of the records of one name; where they are several, those with the row's value."""
    if len(records) > 1 and scope is not None:
        records = [(key, value) for key, value in records if value == scope]
    return [key for key, _ in records]


def compared_field(model: type[models.Model], name: str) -> Any:
    """The column in which values are compared: a text's normalised column where it has one."""
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return normalised_column(field) or field
