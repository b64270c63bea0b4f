"""A condition that a column holds one of many values, sent as one parameter however many they are."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models.expressions import F, Func

from apps.odata.schema import final_field


class Among(Func):
    """``queryset.filter(Among(field, values))``; the statement is the same text for any number of values."""

    output_field = models.BooleanField()

    def __init__(self, field: models.Field, values: Iterable[Any]) -> None:
        super().__init__(F(field.name))
        self.compared, self.values = final_field(field), list(values)

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, list[Any]]:
        column, params = compiler.compile(self.source_expressions[0])
        if isinstance(self.compared, models.UUIDField) and all(type(value) is UUID for value in self.values):
            # The text of an array is made in a fraction of the time that psycopg takes to adapt the list.
            keys = ",".join([value.hex for value in self.values])
            return f"{column} = ANY(%s::uuid[])", [*params, f"{{{keys}}}"]
        return f"{column} = ANY(%s)", [*params, self.values]

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, list[Any]]:
        column, params = compiler.compile(self.source_expressions[0])
        stored = [self.compared.get_db_prep_value(value, connection) for value in self.values]
        return f"{column} IN (SELECT value FROM json_each(%s))", [*params, json.dumps(stored)]
