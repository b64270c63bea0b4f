"""The records that a body refers to: one query for each kind of them, however many records it holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import models

from apps.odata.any_of import AnyOf
from apps.odata.batched_queries import Conversation, PreparedQuery, prepared_query, together
from apps.odata.declaration.resource import Nesting
from apps.odata.declaration.schema import NavigationProperty, StructuredType
from apps.odata.errors import ErrorDetail
from apps.odata.write.drafts import Draft
from apps.odata.write.targets import Target, joined, wire_target

#: A draft with where it stands in the body and whose place in the list of faults it has.
Placed = tuple[Draft, str, int]


@dataclass(frozen=True, slots=True)
class Reference:
    """A member that names records by their key: ``columns`` are what is loaded of them."""

    attribute: str
    model: type[models.Model]
    many: bool
    columns: frozenset[str]


def resolve_references(
    type_: StructuredType,
    drafts: Sequence[Draft],
    places: Sequence[str],
    standing: models.Model | None = None,
) -> list[tuple[int, ErrorDetail]]:
    """Put the referred records where the drafts hold keys, and tell of those that cannot be referred to.

    ``places`` says where each draft stands in its body. Unknown keys are ``NotFound``. Archived records of
    short lists (models with ``is_lookup``) are ``Archived``, unless ``standing``, the record that is being
    replaced, has them already; people and organisations may be referred to after they were archived, since
    papers about them still come in. A list that names a record twice holds it once.
    """
    placed = [
        (draft, place, number) for number, (draft, place) in enumerate(zip(drafts, places, strict=True))
    ]
    found = load(type_, placed)
    faults: list[tuple[int, ErrorDetail]] = []
    for part_type, (draft, place, number) in with_contained(type_, placed):
        for reference in references_of(part_type):
            if draft.__dict__.get(reference.attribute) is None:
                continue
            for code, at, message in settle(draft, reference, found[reference.model], standing):
                target = joined(place, wire_target(part_type, at, code))
                faults.append((number, ErrorDetail(code, target, message)))
                drafts[number].invalid |= {target}
    return faults


def settle(
    draft: Draft, reference: Reference, found: Mapping[Any, Any], standing: models.Model | None
) -> Iterator[tuple[str, Target, str]]:
    """Replace one member's keys by the records; yields (code, place, message) of what cannot be."""
    name, noun = reference.attribute, reference.model._meta.verbose_name
    held = draft.__dict__[name]
    records: dict[Any, Any] = {}
    sound = True
    for at, key in enumerate(held if reference.many else [held]):
        place = (name, at) if reference.many else name
        record = records[key] = found.get(key)
        if record is None:
            sound = False
            yield "NotFound", place, f"There is no {noun} {key}."
        elif is_closed(record) and key not in standing_keys(standing, reference):
            sound = False
            yield "Archived", place, f"The {noun} {key} is archived."
    if sound:
        draft.__dict__[name] = list(records.values()) if reference.many else records[held]
    else:
        draft.mark_invalid(name)


def is_closed(record: Any) -> bool:
    """Whether new records may not choose it any more."""
    return getattr(record, "is_lookup", False) and record.archive_date is not None


def standing_keys(standing: models.Model | None, reference: Reference) -> frozenset[Any]:
    """What the record that is being replaced refers to already."""
    if standing is None:
        return frozenset()
    held = getattr(standing, reference.attribute)
    if reference.many:
        return frozenset(held.values_list("pk", flat=True))
    return frozenset() if held is None else frozenset([held.pk])


def load(type_: StructuredType, placed: Sequence[Placed]) -> dict[type[models.Model], dict[Any, Any]]:
    """The records that the drafts name, by model and key: one query for each model."""
    keys: dict[type[models.Model], set[Any]] = defaultdict(set)
    columns: dict[type[models.Model], set[str]] = defaultdict(set)
    for part_type, (draft, _, _) in with_contained(type_, placed):
        for reference in references_of(part_type):
            held = draft.__dict__.get(reference.attribute)
            if held is not None:
                keys[reference.model].update(held if reference.many else (held,))
                columns[reference.model] |= reference.columns
    found = together(*(by_key(model, named, frozenset(columns[model])) for model, named in keys.items()))
    return dict(zip(keys, found, strict=True))


def by_key(
    model: type[models.Model], keys: Iterable[Any], columns: frozenset[str]
) -> Conversation[dict[Any, Any]]:
    """Records with only some of their columns; a column of another record (``role__name``) joins it."""
    names, joined = columns_asked(model, columns)
    found: dict[Any, Any] = {}
    for row in (yield kept_by_key(model, names, joined)(keys)):
        record = model.from_db("default", names, row[: len(names)])
        found[record.pk] = record
        for path, value in zip(joined, row[len(names) :], strict=True):
            hold_joined(record, path, value)
    return found


@lru_cache(maxsize=256)
def columns_asked(
    model: type[models.Model], columns: frozenset[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The model's own columns, and the paths into records it refers to (``role__name``)."""
    joined = tuple(sorted(column for column in columns if "__" in column))
    own = {column.partition("__")[0] for column in columns}
    return tuple(f.attname for f in model._meta.concrete_fields if f.name in own), joined


@lru_cache(maxsize=256)
def kept_by_key(model: type[models.Model], names: tuple[str, ...], joined: tuple[str, ...]) -> PreparedQuery:
    @prepared_query
    def rows(keys: Any) -> models.QuerySet[Any, Any]:
        key = model._meta.pk
        assert key is not None
        return model._base_manager.filter(AnyOf(key, keys)).order_by().values_list(*names, *joined)

    return rows


def hold_joined(record: models.Model, path: str, value: Any) -> None:
    """Let a record hold the one it refers to, with one more of its columns."""
    name, _, column = path.partition("__")
    field = record._meta.get_field(name)
    other: Any = field.related_model
    key = getattr(record, field.attname)  # type: ignore[union-attr]
    if key is None:
        return
    if not field.is_cached(record):  # type: ignore[union-attr]
        setattr(record, name, other.from_db("default", [other._meta.pk.attname], [key]))
    setattr(getattr(record, name), column, value)


def with_contained(
    type_: StructuredType, placed: Iterable[Placed]
) -> Iterator[tuple[StructuredType, Placed]]:
    """Every draft with its type, and the drafts of its contained lists after it."""
    contained = contained_parts(type_)
    for draft, place, number in placed:
        yield type_, (draft, place, number)
        for part in contained:
            rows = draft.__dict__.get(part.attribute) or ()
            inner = ((row, joined(place, f"{part.name}[{at}]"), number) for at, row in enumerate(rows))
            yield from with_contained(part.type, inner)


@lru_cache(maxsize=256)
def references_of(type_: StructuredType) -> tuple[Reference, ...]:
    """The members of an object, embedded parts included, that name records."""
    found = [
        Reference(
            prop.attribute,
            prop.related_model,
            False,
            brief(prop.related_model) | set(prop.declaration.rule_columns),
        )
        for prop in type_.writable_properties
        if prop.related_model is not None
    ]
    for part in type_.writable_navigations:
        if part.nesting is Nesting.REFERENCE:
            shown = {prop.path for prop in part.type.properties.values() if len(prop.steps) == 1}
            columns = brief(part.type.model) | shown | set(part.declaration.rule_columns)
            found.append(Reference(part.attribute, part.type.model, part.many, columns))
        elif part.nesting is Nesting.EMBEDDED:
            found += references_of(part.type)
    return tuple(found)


def brief(model: type[models.Model]) -> frozenset[str]:
    """The columns that are needed to refer to a record at all."""
    return frozenset(f.name for f in model._meta.concrete_fields if f.primary_key or f.name == "archive_date")


@lru_cache(maxsize=256)
def contained_parts(type_: StructuredType) -> tuple[NavigationProperty, ...]:
    return tuple(part for part in type_.writable_navigations if part.nesting is Nesting.CONTAINED)
