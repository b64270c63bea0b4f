"""Whether values that must be unique are: within the drafts, and against the records of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import models

from apps.core.identifiers import normalised
from apps.odata.any_of import AnyOf
from apps.odata.batched_queries import BoundQuery, PreparedQuery, Rows, fetch_all, prepared_query
from apps.odata.write.drafts import Draft, Issue


@dataclass(frozen=True, slots=True)
class Unique:
    """Columns whose values, taken together, no two records share; ``field`` has the issue."""

    columns: tuple[models.Field, ...]
    field: str

    def value_of(self, draft: Draft) -> tuple[Any, ...] | None:
        """The values of the draft as they are compared; ``None`` where one is null, invalid or not there."""
        values = []
        for column in self.columns:
            text_field = getattr(column, "text_field", None)
            value = draft.get(text_field or column.name)
            if text_field is not None:
                value = normalised(value)
            values.append(value.pk if isinstance(value, models.Model) else value)
        return None if None in values else tuple(values)


@lru_cache(maxsize=256)
def uniques_of(model: type[models.Model]) -> tuple[Unique, ...]:
    """Every unique column and unconditional constraint of a model, its key apart."""
    fields = [field for field in model._meta.concrete_fields if field.unique and not field.primary_key]
    found = [Unique((field,), getattr(field, "text_field", field.name)) for field in fields]
    by_name = {field.name: field for field in model._meta.concrete_fields}
    for constraint in model._meta.total_unique_constraints:
        columns = tuple(by_name[name] for name in constraint.fields)
        found.append(Unique(columns, getattr(columns[-1], "text_field", columns[-1].name)))
    return tuple(found)


class Conflicts:
    """The conflicts of drafts: send ``queries`` in a trip of your own, and give their rows to ``issues``.

    A draft that shares what must be unique is ``NotUnique``. Archived records count, the record that a draft
    changes does not. Of several drafts with one value the first may have it.
    """

    def __init__(self, model: type[models.Model], drafts: Sequence[Draft]) -> None:
        self.model, self.drafts = model, drafts
        #: The values of each unique, as (number of the draft, value).
        self.values: dict[Unique, list[tuple[int, tuple[Any, ...]]]] = {}
        for unique in uniques_of(model):
            numbered = enumerate(map(unique.value_of, drafts))
            if values := [(number, value) for number, value in numbered if value is not None]:
                self.values[unique] = values
        self.queries: list[BoundQuery] = [
            owner_query(model, unique)({value[-1] for _, value in values})
            for unique, values in self.values.items()
        ]

    def issues(self, rows: Sequence[Rows]) -> list[tuple[int, Issue]]:
        """The issues of the drafts, by the rows of each query."""
        return [
            issue
            for unique, found in zip(self.values, rows, strict=True)
            for issue in self.issues_of(unique, {tuple(row[:-1]): row[-1] for row in found})
        ]

    def issues_of(self, unique: Unique, owners: dict[tuple[Any, ...], Any]) -> Iterator[tuple[int, Issue]]:
        first: dict[tuple[Any, ...], int] = {}
        for number, value in self.values[unique]:
            key = self.drafts[number].key
            if owners.get(value, key) != key:
                message = f"Another {self.model._meta.verbose_name} has it already."
            elif first.setdefault(value, number) != number:
                message = f"Record {first[value] + 1} of this request has it as well."
            else:
                continue
            yield number, Issue("NotUnique", unique.field, message)


def find_conflicts(model: type[models.Model], drafts: Sequence[Draft]) -> list[tuple[int, Issue]]:
    """``NotUnique`` for every draft that shares what must be unique, in one trip."""
    conflicts = Conflicts(model, drafts)
    return conflicts.issues(fetch_all(conflicts.queries))


@lru_cache(maxsize=256)
def owner_query(model: type[models.Model], unique: Unique) -> PreparedQuery:
    """Values and keys of the records whose last unique column has any of some values."""

    @prepared_query
    def rows(values: Any) -> models.QuerySet[Any, Any]:
        names = [column.attname for column in unique.columns]
        owners = model._base_manager.filter(AnyOf(unique.columns[-1], values))
        return owners.order_by().values_list(*names, "pk")

    return rows
