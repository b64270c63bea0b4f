"""Which records the rows of a file speak of: those they refer to, and those they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import models

from apps.core.identifiers import normalised
from apps.core.importing.additions import Importing, NamedBy
from apps.core.importing.folding import twin_of
from apps.core.importing.headers import Column, Member, members
from apps.core.importing.records import Candidate
from apps.core.importing.rows import ReadRow, is_list
from apps.odata.any_of import AnyOf
from apps.odata.declaration.schema import EntitySet


class References:
    """Turns what names a referred record into its key: one query for each column, however many rows."""

    def __init__(self, entity_set: EntitySet, importing: Importing, columns: Sequence[Column]) -> None:
        self.model = entity_set.model
        known = self.known = members(entity_set, importing.finders)
        given = {column.member.gives for column in columns}
        self.columns = columns
        self.named_by = [
            (named, known[named.member], [known[name] for name in named.by.values()])
            for named in importing.named_by
            if known[next(iter(named.by.values()))].gives in given
        ]

    # --- by a text that stands in a column of its own

    def find(self, candidates: Iterable[Candidate]) -> None:
        """Find what cells name; a row that gives the key itself is not asked for names."""
        asked: dict[Column, list[ReadRow]] = defaultdict(list)
        for one in candidates:
            for read in (one.read, *one.items):
                for column in read.finders:
                    attribute = column.member.attribute
                    if read.values.get(attribute) is None and attribute not in read.invalid:
                        asked[column].append(read)
        # In the order of the columns: the first that finds a record says which it is.
        for column in self.columns:
            if column in asked:
                self.find_by_text(column, asked[column])

    def find_by_text(self, column: Column, askers: Sequence[ReadRow]) -> None:
        keys = self.keys(column, {text for read in askers for text in read.finders[column]})
        finder = column.member.finder
        same = finder.same if finder is not None else normalised
        attribute = column.member.attribute
        for read in askers:
            if attribute in read.invalid:
                continue
            found = [keys.get(same(text), []) for text in read.finders[column]]
            if read.values.get(attribute) is not None:
                self.check_agrees(read, column, found[0])
            elif self.is_told(read, column, found):
                named = [some[0] for some in found]
                read.values[attribute] = named if is_list(column.member) else named[0]

    def keys(self, column: Column, texts: Iterable[str]) -> Mapping[Any, Sequence[Any]]:
        """The keys of the records that have these texts, by the text as compared."""
        field, finder = column.member.prop.source_field, column.member.finder
        model = field.model
        twin = twin_of(field)
        by: models.Field
        if twin is not None:
            by, wanted = twin, {normalised(text) for text in texts}
        else:
            assert finder is not None
            by, wanted = field, {spelt for text in texts for spelt in finder.written(text)}
        has_archive = any(other.name == "archive_date" for other in model._meta.concrete_fields)
        columns = (by.name, "pk", *(["archive_date"] if has_archive else []))
        found: dict[Any, list[tuple[bool, Any]]] = defaultdict(list)
        for text, key, *archived in model._base_manager.filter(AnyOf(by, wanted)).values_list(*columns):
            same = text if twin is not None or finder is None else finder.same(text)
            found[same].append((archived == [None] or not archived, key))
        # One that is in use goes before those in the archive.
        return {
            text: [key for live, key in some if live] or [key for _, key in some]
            for text, some in found.items()
        }

    def is_told(self, read: ReadRow, column: Column, found: Sequence[Sequence[Any]]) -> bool:
        """Whether every text names one record; else the row is told which does not."""
        meta = column.member.prop.source_field.model._meta
        for text, some in zip(read.finders[column], found, strict=True):
            if not some:
                read.refuse(column, "NotFound", f"There is no {meta.verbose_name} called {text}.")
                return False
            if len(some) > 1:
                many = f"{len(some):,} {meta.verbose_name_plural}"
                read.refuse(column, "Ambiguous", f"{many} have it; which one is meant?")
                return False
        return True

    def check_agrees(self, read: ReadRow, column: Column, found: Sequence[Any]) -> None:
        """A second name in a row must not be another record's."""
        attribute = column.member.attribute
        if found and read.values[attribute] not in found:
            first = next(
                other
                for other in self.columns
                if other.member.gives == column.member.gives and other in read.finders
            )
            name = column.member.prop.source_field.model._meta.verbose_name
            message = f"It is another {name} than the one of {first.header.strip()}."
            read.refuse(column, "Differs", message)

    # --- by what the row says of itself

    def deduce(self, candidates: Sequence[Candidate]) -> None:
        """Find records that rows do not name, by other values that say which they are."""
        for named, member, by in self.named_by:
            asking = [one for one in candidates if self.asks(one, member, by)]
            if asking:
                self.find_named(named, member, by, asking)

    def asks(self, one: Candidate, member: Member, by: Sequence[Member]) -> bool:
        """Whether the record is wanted: a record that stands refers to one, unless it says another thing."""
        read = one.read
        if read.values.get(member.attribute) is not None or member.attribute in read.invalid:
            return False
        if {other.attribute for other in by} & read.invalid:
            read.invalid.add(member.attribute)  # it cannot be said which, and that is told already
            return False
        if read.values.get(by[0].attribute) is None:
            return False
        return one.record is None or any(
            read.values.get(other.attribute) not in (None, getattr(one.record, attname(self.model, other)))
            for other in by
        )

    def find_named(
        self, named: NamedBy, member: Member, by: Sequence[Member], asking: Sequence[Candidate]
    ) -> None:
        model = member.prop.related_model
        assert model is not None
        fields = [compared_field(model, name) for name in named.by]
        wanted = {comparable(fields[0], one.read.values[by[0].attribute]) for one in asking}
        found: dict[Any, list[tuple[Any, tuple[Any, ...]]]] = defaultdict(list)
        rows = model._base_manager.filter(AnyOf(fields[0], wanted))
        for key, first, *others in rows.values_list("pk", *(field.attname for field in fields)):
            found[first].append((key, tuple(others)))
        for one in asking:
            values = one.read.values
            told = tuple(
                comparable(field, values.get(other.attribute))
                for field, other in zip(fields[1:], by[1:], strict=True)
            )
            fitting = found.get(comparable(fields[0], values[by[0].attribute]), [])
            column = next(c for c in self.columns if c.member.gives == by[0].gives)
            for wish in (is_equal, is_open):
                keys = [key for key, others in fitting if wish(others, told)]
                if keys:
                    break
            if len(keys) == 1:
                values[member.attribute] = keys[0]
                continue
            meta = model._meta
            if keys:
                message = f"{len(keys):,} {meta.verbose_name_plural} have it; which one is meant?"
                one.read.refuse(column, "Ambiguous", message)
            else:
                message = f"There is no {meta.verbose_name} like this; import it first, or name another."
                one.read.refuse(column, "NotFound", message)
            one.read.invalid.add(member.attribute)


def is_equal(held: Sequence[Any], told: Sequence[Any]) -> bool:
    """Whether a record has all that a row tells."""
    return all(wish is None or value == wish for value, wish in zip(held, told, strict=True))


def is_open(held: Sequence[Any], told: Sequence[Any]) -> bool:
    """Whether a record has nothing against what a row tells."""
    return all(wish is None or value in (None, wish) for value, wish in zip(held, told, strict=True))


def compared_field(model: type[models.Model], name: str) -> Any:
    """The column in which values are compared: a text's folded twin where it has one."""
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return twin_of(field) or field


def comparable(field: models.Field, value: Any) -> Any:
    return normalised(value) if hasattr(field, "of") else value


def attname(model: type[models.Model], member: Member) -> str:
    field = model._meta.get_field(member.attribute)
    assert isinstance(field, models.Field)
    return field.attname
