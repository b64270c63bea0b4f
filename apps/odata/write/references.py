"""The records that drafts refer to: one query for each model, however many drafts there are."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import models

from apps.odata.batched_queries import AnyOf, PreparedQuery, Rows, Statement, fetch_all, prepared_query
from apps.odata.declaration.resource import Nesting
from apps.odata.declaration.schema import NavigationProperty, StructuredType
from apps.odata.write.drafts import Draft, Issue

#: Where a row of a contained list stands in its draft: ``("line_items", 1)``; empty for the draft itself.
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """A member that names records by their key: ``columns`` are what is loaded of them."""

    attribute: str
    model: type[models.Model]
    many: bool
    columns: frozenset[str]


def attach_references(
    type_: StructuredType, drafts: Sequence[Draft], current: models.Model | None = None
) -> list[tuple[int, Issue]]:
    """Put the records where the drafts hold keys; the issues of those that cannot be referred to."""
    references = References(type_, drafts, current)
    return references.attach(fetch_all(references.queries))


class References:
    """The references of drafts: send ``queries`` in a trip of your own, and give their rows to ``attach``.

    Unknown keys are ``NotFound``. Archived records of short lists (models with ``is_lookup``) are
    ``Archived``, unless ``current``, the record that is being replaced, has them already; people and
    organisations may be referred to after they were archived, since documents about them still come in. A
    list that names a record twice holds it once. Members that hold records already stay as they are.
    """

    def __init__(
        self, type_: StructuredType, drafts: Sequence[Draft], current: models.Model | None = None
    ) -> None:
        self.drafts, self.current = drafts, current
        self.named: list[tuple[int, Path, Draft, Reference]] = []
        keys: dict[type[models.Model], set[Any]] = defaultdict(set)
        columns: dict[type[models.Model], set[str]] = defaultdict(set)
        for number, path, row_type, draft in with_contained_rows(type_, drafts):
            for reference in references_of(row_type):
                value = draft.get(reference.attribute)
                first = value[0] if value and reference.many else value
                if first is None or isinstance(first, list | models.Model):
                    continue
                self.named.append((number, path, draft, reference))
                keys[reference.model].update(value if reference.many else (value,))
                columns[reference.model] |= reference.columns
        self.columns = {model: selected_columns(model, frozenset(columns[model])) for model in keys}
        self.queries: list[Statement] = [
            query_by_key(model, *self.columns[model])(named) for model, named in keys.items()
        ]

    def attach(self, rows: Sequence[Rows]) -> list[tuple[int, Issue]]:
        """Put the records where the drafts hold keys; the issues of those that cannot be referred to."""
        records: dict[type[models.Model], dict[Any, Any]] = {}
        for (model, (columns, joined)), model_rows in zip(self.columns.items(), rows, strict=True):
            loaded = [model.from_db("default", columns, row[: len(columns)]) for row in model_rows]
            records[model] = {record.pk: record for record in loaded}
            for record, row in zip(loaded, model_rows, strict=True) if joined else ():
                for column, value in zip(joined, row[len(columns) :], strict=True):
                    set_joined_column(record, column, value)
        issues: list[tuple[int, Issue]] = []
        for number, path, draft, reference in self.named:
            found = list(self.attach_one(draft, path, reference, records[reference.model]))
            issues += [(number, issue) for issue in found]
            if found:
                draft.mark_invalid(reference.attribute)
            if found and path:
                self.drafts[number].mark_invalid(f"{path[0]}[{path[1]}]")
        return issues

    def attach_one(
        self, draft: Draft, path: Path, reference: Reference, records: Mapping[Any, Any]
    ) -> Iterator[Issue]:
        """Attach the records of one member of the draft at ``path``; its issues."""
        name, noun = reference.attribute, reference.model._meta.verbose_name
        is_lookup = getattr(reference.model, "is_lookup", False)
        keys = draft.get(name) if reference.many else [draft.get(name)]
        found = [records.get(key) for key in keys]
        for at, (key, record) in enumerate(zip(keys, found, strict=True)):
            field = (*path, name, at) if reference.many else (*path, name)
            if record is None:
                yield Issue("NotFound", field, f"There is no {noun} {key}.")
            elif is_lookup and record.archive_date and key not in self.current_keys(reference):
                yield Issue("Archived", field, f"The {noun} {key} is archived.")
        draft.fill(name, list(dict.fromkeys(found)) if reference.many else found[0])

    def current_keys(self, reference: Reference) -> frozenset[Any]:
        """What the record that is being replaced refers to."""
        value = None if self.current is None else getattr(self.current, reference.attribute)
        if value is None:
            return frozenset()
        return frozenset(value.values_list("pk", flat=True) if reference.many else [value.pk])


def with_contained_rows(
    type_: StructuredType, drafts: Iterable[Draft]
) -> Iterator[tuple[int, Path, StructuredType, Draft]]:
    """(number, path, type, draft) of every draft, and of the rows of its contained lists after it."""
    contained = contained_lists(type_)
    for number, draft in enumerate(drafts):
        yield number, (), type_, draft
        for navigation in contained:
            for at, row in enumerate(draft.get(navigation.attribute) or ()):
                yield number, (navigation.attribute, at), navigation.type, row


@lru_cache(maxsize=256)
def contained_lists(type_: StructuredType) -> tuple[NavigationProperty, ...]:
    """Each once, though several members may show one attribute."""
    lists = {n.attribute: n for n in type_.writable_navigations if n.nesting is Nesting.CONTAINED}
    return tuple(lists.values())


@lru_cache(maxsize=256)
def references_of(type_: StructuredType) -> tuple[Reference, ...]:
    """The attributes of an object, embedded objects included, that name records; each once."""
    found: dict[str, Reference] = {}
    for prop in type_.writable_properties:
        if prop.related_model is not None:
            columns = always_selected(prop.related_model) | set(prop.declaration.rule_columns)
            found[prop.attribute] = Reference(prop.attribute, prop.related_model, False, columns)
    for navigation in type_.writable_navigations:
        if navigation.nesting is Nesting.REFERENCE:
            model = navigation.type.model
            shown = {prop.path for prop in navigation.type.properties.values() if len(prop.steps) == 1}
            columns = always_selected(model) | shown | set(navigation.declaration.rule_columns)
            name = navigation.attribute
            found[name] = Reference(name, model, navigation.many, columns)
        elif navigation.nesting is Nesting.EMBEDDED:
            found |= {each.attribute: each for each in references_of(navigation.type)}
    return tuple(found.values())


def always_selected(model: type[models.Model]) -> frozenset[str]:
    return frozenset(f.name for f in model._meta.concrete_fields if f.primary_key or f.name == "archive_date")


# --- loading --------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def selected_columns(
    model: type[models.Model], columns: frozenset[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The model's own columns in its order, and the paths into records it refers to (``role__name``)."""
    joined = tuple(sorted(column for column in columns if "__" in column))
    own = {column.partition("__")[0] for column in columns}
    return tuple(f.attname for f in model._meta.concrete_fields if f.name in own), joined


@lru_cache(maxsize=256)
def query_by_key(
    model: type[models.Model], columns: tuple[str, ...], joined: tuple[str, ...]
) -> PreparedQuery:
    @prepared_query
    def rows(keys: Any) -> models.QuerySet[Any, Any]:
        return model._base_manager.filter(AnyOf("pk", keys)).order_by().values_list(*columns, *joined)

    return rows


def set_joined_column(record: models.Model, path: str, value: Any) -> None:
    """Set a column of the record that this record refers to, which is made of its key."""
    name, _, column = path.partition("__")
    field: Any = record._meta.get_field(name)
    key = getattr(record, field.attname)
    if key is None:
        return
    if not field.is_cached(record):
        related = field.related_model
        setattr(record, name, related.from_db("default", [related._meta.pk.attname], [key]))
    setattr(getattr(record, name), column, value)
