"""Whether texts that must be unique are: within what is sent, and against all that stands in the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from django.db import models

from apps.core.identifiers import normalised
from apps.odata.any_of import AnyOf
from apps.odata.batched_queries import Conversation, PreparedQuery, all_of, prepared_query
from apps.odata.write.drafts import Draft, Issue


@dataclass(frozen=True, slots=True)
class Unique:
    """Columns whose values, taken together, no two records share; ``field`` has the issue."""

    columns: tuple[models.Field, ...]
    field: str

    def value_of(self, draft: Draft) -> tuple[Any, ...] | None:
        """What the draft holds in the columns as they are compared; ``None`` where that is not to be judged.

        Nulls are never twins, and members that are faulty or not there have no value.
        """
        values = tuple(compared(column, draft) for column in self.columns)
        return None if None in values else values


def compared(column: models.Field, draft: Draft) -> Any:
    of = getattr(column, "of", None)
    value = draft.__dict__.get(of or column.name)
    if of is not None:
        return normalised(value)
    return value.pk if isinstance(value, models.Model) else value


@lru_cache(maxsize=256)
def uniques_of(model: type[models.Model]) -> tuple[Unique, ...]:
    """Every unique column and unconditional constraint of a model, its key apart."""
    fields = [field for field in model._meta.concrete_fields if field.unique and not field.primary_key]
    found = [Unique((field,), getattr(field, "of", field.name)) for field in fields]
    by_name = {field.name: field for field in model._meta.concrete_fields}
    for constraint in model._meta.total_unique_constraints:
        columns = tuple(by_name[name] for name in constraint.fields)
        last = columns[-1]
        found.append(Unique(columns, getattr(last, "of", last.name)))
    return tuple(found)


def find_conflicts(
    model: type[models.Model], drafts: Sequence[Draft]
) -> Conversation[list[tuple[int, Issue]]]:
    """``NotUnique`` for every draft that shares what must be unique; one question for each unique column.

    Archived records count, a draft's own standing record does not. Within the drafts the first one holds.
    """
    found = yield from all_of(*(conflicts_in(model, unique, drafts) for unique in uniques_of(model)))
    return [*chain.from_iterable(found)]


def conflicts_in(
    model: type[models.Model], unique: Unique, drafts: Sequence[Draft]
) -> Conversation[list[tuple[int, Issue]]]:
    values = [(number, unique.value_of(draft)) for number, draft in enumerate(drafts)]
    held = [(number, value) for number, value in values if value is not None]
    if not held:
        return []
    rows = yield owners(model, unique)({value[-1] for _, value in held})
    return list(shared(model, unique, drafts, held, {tuple(row[:-1]): row[-1] for row in rows}))


def shared(
    model: type[models.Model],
    unique: Unique,
    drafts: Sequence[Draft],
    held: Sequence[tuple[int, tuple[Any, ...]]],
    standing: Mapping[tuple[Any, ...], Any],
) -> Iterator[tuple[int, Issue]]:
    """Those of the drafts whose values stand already, or stood in a draft before them."""
    first: dict[tuple[Any, ...], int] = {}
    for number, value in held:
        if standing.get(value, drafts[number].key) != drafts[number].key:
            message = f"Another {model._meta.verbose_name} has it already."
        elif first.setdefault(value, number) != number:
            message = f"Record {first[value] + 1} of this request has it as well."
        else:
            continue
        yield number, Issue("NotUnique", unique.field, message)


@lru_cache(maxsize=256)
def owners(model: type[models.Model], unique: Unique) -> PreparedQuery:
    """Values and keys of the records whose last unique column is among some values."""

    @prepared_query
    def rows(last: Any) -> models.QuerySet[Any, Any]:
        names = [column.attname for column in unique.columns]
        return (
            model._base_manager.filter(AnyOf(unique.columns[-1], last)).order_by().values_list(*names, "pk")
        )

    return rows
