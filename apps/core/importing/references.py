"""Turns what names a referred record into its key: one query for each column, however many rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import models
from django.db.models import F, Value

from apps.core.identifiers import normalised
from apps.core.importing.columns import ImportColumn, Member, members_of
from apps.core.importing.definition import DerivedReference, ImportDefinition
from apps.core.importing.file_declaration import RecordName, normalised_column
from apps.core.importing.reading import Candidate, ReadRow
from apps.core.importing.report import RowIssue
from apps.odata.any_of import AnyOf
from apps.odata.declaration.schema import EntitySet


class ReferenceResolver:
    """Finds the records that rows refer to."""

    def __init__(
        self, entity_set: EntitySet, definition: ImportDefinition, columns: Sequence[ImportColumn]
    ) -> None:
        self.model = entity_set.model
        self.columns = columns
        self.members = members_of(entity_set)
        self.later_references = definition.later_references
        given = {column.member.target for column in columns}
        self.derived = [
            (derived, self.members[derived.member], [self.members[name] for name in derived.by.values()])
            for derived in definition.derived_references
            if self.members[next(iter(derived.by.values()))].target in given
        ]

    # --- by a text in a column of its own

    def resolve_names(self, candidates: Iterable[Candidate]) -> None:
        """Find what cells name; the names in a row that gives the key itself are not looked up."""
        by_column: dict[ImportColumn, list[ReadRow]] = defaultdict(list)
        for one in candidates:
            for read in (one.read, *one.items):
                for column in read.names or ():
                    attribute = column.member.attribute
                    if not read.values.get(attribute) and attribute not in read.invalid:
                        by_column[column].append(read)
        # In the order of the columns: the first that finds a record decides.
        for column in self.columns:
            if column in by_column and not is_descriptive(column):
                self.resolve_column(column, by_column[column])
        descriptive: dict[tuple[str, str], list[ImportColumn]] = defaultdict(list)
        for column in by_column:
            if is_descriptive(column):
                descriptive[column.member.target].append(column)
        for columns in descriptive.values():
            self.resolve_description(columns, {id(r): r for c in columns for r in by_column[c]}.values())

    def resolve_description(self, columns: Sequence[ImportColumn], rows: Iterable[ReadRow]) -> None:
        """Find records by columns that name them only together, where no other column has."""
        attribute = columns[0].member.attribute
        rows = [one for one in rows if not one.values.get(attribute) and attribute not in one.invalid]
        found: dict[int, set[Any]] = {}
        for column in columns:
            name = column.member.record_name
            assert name is not None
            given = {id(one): (one.names or {})[column][0] for one in rows if column in (one.names or ())}
            keys = self.keys_by_text(column, given.values())
            for mark, text in given.items():
                named = {key for key, _ in keys.get(name.compare(text), ())}
                found[mark] = found.get(mark, named) & named
        for one in rows:
            column = [column for column in columns if column in (one.names or ())][-1]
            if self.is_unambiguous(one, column, (one.names or {})[column], [list(found[id(one)])]):
                (one.values[attribute],) = found[id(one)]

    def resolve_column(self, column: ImportColumn, rows: Sequence[ReadRow]) -> None:
        name, attribute = column.member.record_name, column.member.attribute
        assert name is not None
        keys = self.keys_by_text(column, {text for read in rows for text in (read.names or {})[column]})
        for read in rows:
            if attribute in read.invalid:
                continue
            texts = (read.names or {})[column]
            found = [self.keys_in_scope(read, name, keys.get(name.compare(text), ())) for text in texts]
            if read.values.get(attribute):
                self.check_agreement(read, column, found[0])
            elif self.is_unambiguous(read, column, texts, found):
                named = tuple(some[0] for some in found)
                read.values[attribute] = named if column.member.is_list else named[0]

    def keys_in_scope(
        self, read: ReadRow, name: RecordName, found: Sequence[tuple[Any, Any]]
    ) -> Sequence[Any]:
        """The keys of the records of one name, where they are several those that the row's value selects."""
        scope = read.values.get(name.scope) if name.scope is not None else None
        if len(found) > 1 and scope is not None:
            found = [(key, value) for key, value in found if value == scope]
        return [key for key, _ in found]

    def keys_by_text(
        self, column: ImportColumn, texts: Iterable[str]
    ) -> Mapping[Any, Sequence[tuple[Any, Any]]]:
        """(key, value of the scope) of the records that have these texts, by the text as compared."""
        name = column.member.record_name
        assert name is not None
        model = name.column.model if column.member.navigation is None else column.member.navigation.type.model
        wanted = {spelling for text in texts for spelling in name.spellings(text)}
        has_archive = any(field.name == "archive_date" for field in model._meta.concrete_fields)
        archive_date = F("archive_date") if has_archive else Value(None, models.DateTimeField())
        rows = model._base_manager.filter(AnyOf(name.column, wanted)).values_list(
            name.column.name, "pk", archive_date, name.scope or "pk"
        )
        found: dict[Any, list[tuple[bool, Any, Any]]] = defaultdict(list)
        for text, key, archived, scope in rows:
            found[name.compare(text)].append((archived is None, key, scope))
        # Records in use precede archived ones.
        return {
            text: [one[1:] for one in some if one[0]] or [one[1:] for one in some]
            for text, some in found.items()
        }

    def is_unambiguous(
        self,
        read: ReadRow,
        column: ImportColumn,
        texts: Sequence[str],
        found: Sequence[Sequence[Any]],
    ) -> bool:
        """Whether every text names one record; else the row is rejected."""
        meta = column.member.prop.source_field.model._meta
        for text, some in zip(texts, found, strict=True):
            if not some:
                message = f"There is no {meta.verbose_name} called {text}."
                if column.member.attribute in self.later_references:
                    message += " Import this file again when there is."
                    read.warnings += (RowIssue(read.row, column.index, "NotFound", message, is_warning=True),)
                    read.values.pop(column.member.attribute, None)
                else:
                    read.reject(column, "NotFound", message)
                return False
            if len(some) > 1:
                many = f"{len(some):,} {meta.verbose_name_plural}"
                read.reject(column, "Ambiguous", f"{many} have it; which one is meant?")
                return False
        return True

    def check_agreement(self, read: ReadRow, column: ImportColumn, found: Sequence[Any]) -> None:
        """A second name in a row must not be another record's."""
        if found and read.values[column.member.attribute] not in found:
            first = next(
                other
                for other in self.columns
                if other.member.target == column.member.target and other in (read.names or ())
            )
            name = column.member.prop.source_field.model._meta.verbose_name
            message = f"It is another {name} than the one of {first.header.strip()}."
            read.reject(column, "Differs", message)

    # --- by other values of the row

    def derive(self, candidates: Sequence[Candidate]) -> None:
        """Find records that rows do not name, by other values that identify them."""
        for derived, member, by in self.derived:
            wanted = [one for one in candidates if self.must_derive(one, member, by)]
            if wanted:
                self.derive_reference(derived, member, by, wanted)

    def must_derive(self, one: Candidate, member: Member, by: Sequence[Member]) -> bool:
        """Whether it is to be found: an existing record keeps the one it has, unless values differ."""
        read = one.read
        if read.values.get(member.attribute) is not None or member.attribute in read.invalid:
            return False
        if {other.attribute for other in by} & read.invalid:
            read.invalid |= {member.attribute}  # the row is rejected already for what would identify it
            return False
        if read.values.get(by[0].attribute) is None:
            return False
        return one.existing is None or any(
            read.values.get(other.attribute) not in (None, one.existing.values.get(other.attribute))
            for other in by
        )

    def derive_reference(
        self, derived: DerivedReference, member: Member, by: Sequence[Member], wanted: Sequence[Candidate]
    ) -> None:
        model = member.prop.related_model
        assert model is not None
        fields = [compared_field(model, name) for name in derived.by]
        firsts = {comparable(fields[0], one.read.values[by[0].attribute]) for one in wanted}
        found: dict[Any, list[tuple[Any, tuple[Any, ...]]]] = defaultdict(list)
        rows = model._base_manager.filter(AnyOf(fields[0], firsts))
        for key, first, *others in rows.values_list("pk", *(field.attname for field in fields)):
            found[first].append((key, tuple(others)))
        column = next(c for c in self.columns if c.member.target == by[0].target)
        for one in wanted:
            values = one.read.values
            given = tuple(
                comparable(field, values.get(other.attribute))
                for field, other in zip(fields[1:], by[1:], strict=True)
            )
            records = found.get(comparable(fields[0], values[by[0].attribute]), [])
            keys = [key for key, others in records if has_all(others, given)]
            keys = keys or [key for key, others in records if contradicts_none(others, given)]
            if len(keys) == 1:
                values[member.attribute] = keys[0]
                continue
            meta = model._meta
            if keys:
                message = f"{len(keys):,} {meta.verbose_name_plural} have it; which one is meant?"
                one.read.reject(column, "Ambiguous", message)
            else:
                message = f"There is no {meta.verbose_name} like this; import it first, or name another."
                one.read.reject(column, "NotFound", message)
            one.read.invalid |= {member.attribute}


def is_descriptive(column: ImportColumn) -> bool:
    return column.member.record_name is not None and column.member.record_name.is_descriptive


def has_all(existing: Sequence[Any], given: Sequence[Any]) -> bool:
    """Whether a record has every value that a row gives."""
    return all(wanted is None or value == wanted for value, wanted in zip(existing, given, strict=True))


def contradicts_none(existing: Sequence[Any], given: Sequence[Any]) -> bool:
    """Whether a record has no other value than a row gives."""
    return all(
        wanted is None or value in (None, wanted) for value, wanted in zip(existing, given, strict=True)
    )


def compared_field(model: type[models.Model], name: str) -> Any:
    """The column in which values are compared: a text's normalised column where it has one."""
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return normalised_column(field) or field


def comparable(field: models.Field, value: Any) -> Any:
    return normalised(value) if hasattr(field, "text_field") else value
