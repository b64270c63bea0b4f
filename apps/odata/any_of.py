"""A condition that a column holds any of many values, sent as one parameter however many they are."""

import json
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models.expressions import F, Func

from apps.odata.declaration.schema import final_field


class Placeholder:
    """The place of an argument of a prepared query, by its number; ``adapt`` makes the parameter of it."""

    def __init__(self, number: int, adapt: Callable[[Iterable[Any]], Any] = list) -> None:
        self.number, self.adapt = number, adapt


class AnyOf(Func):
    """``queryset.filter(AnyOf(field, values))``; the statement is the same text for any number of values."""

    output_field = models.BooleanField()

    def __init__(self, field: models.Field, values: Iterable[Any] | Placeholder) -> None:
        super().__init__(F(field.name))
        self.compared = final_field(field)
        self.values = values if isinstance(values, Placeholder) else list(values)

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, list[Any]]:
        column, params = compiler.compile(self.source_expressions[0])
        if not isinstance(self.compared, models.UUIDField):
            return f"{column} = ANY(%s)", [*params, self.values]
        values: Any = self.values
        if isinstance(values, Placeholder):
            values = Placeholder(values.number, array_of_guids)
        elif all(type(value) is UUID for value in values):
            values = array_of_guids(values)
        else:
            return f"{column} = ANY(%s)", [*params, values]
        return f"{column} = ANY(%s::uuid[])", [*params, values]

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, list[Any]]:
        column, params = compiler.compile(self.source_expressions[0])
        values = () if isinstance(self.values, Placeholder) else self.values
        stored = [self.compared.get_db_prep_value(value, connection) for value in values]
        return f"{column} IN (SELECT value FROM json_each(%s))", [*params, json.dumps(stored)]


def array_of_guids(values: Iterable[Any]) -> str:
    """PostgreSQL's text of an array of guids or numbers; psycopg takes many times longer to adapt a list."""
    return f"{{{','.join([value.hex if type(value) is UUID else str(value) for value in values])}}}"
