"""Rows between two transformations: records, or SQL that selects from SQL with columns that have names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from django.db.models import Model, QuerySet
from django.db.models.expressions import Expression

from apps.base.declaration.schema import StructuralProperty, StructuredType
from apps.odata.apply.joins import JoinedItems
from apps.odata.query import functions as sql
from apps.odata.query.ast import Expression as Tree
from apps.odata.query.ast import Path, SortTerm, ValueKind
from apps.odata.query.binding import Binder
from apps.odata.query.operands import Operand, RequestContext
from apps.odata.query.stored_values import read_value


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result; ``path`` is its place in the JSON of a row (``("Address", "Suburb")``).

    ``scale`` are the decimal places of a number; numbers without it have as many as they need. ``prop`` is
    the property of which it has values, if any.
    ``is_computed``: it is no member of the records.
    """

    path: tuple[str, ...]
    sql_name: str
    kind: ValueKind
    nullable: bool = True
    scale: int | None = None
    prop: StructuralProperty | None = None
    is_computed: bool = False

    @classmethod
    def of(
        cls, path: tuple[str, ...], sql_name: str, operand: Operand, is_computed: bool = False
    ) -> ResultColumn:
        kind, nullable, scale, prop = operand.kind, operand.nullable, operand.scale, operand.prop
        return cls(path, sql_name, kind, nullable, scale, prop, is_computed)

    @property
    def name(self) -> str:
        return "/".join(self.path)

    def cell(self, row: Any) -> object:
        """The value in the JSON of a row; ``None`` in one of other columns, as concat and rollup make."""
        for name in self.path:
            row = None if row is None else row.get(name)
        return row

    @property
    def operand(self) -> Operand:
        reference = ColumnReference(self.sql_name, self.kind)
        return Operand(self.kind, reference, self.nullable, self.name, self.prop, self.scale)


@dataclass(frozen=True, slots=True)
class Step:
    """A SELECT by a name of its own, of which those behind it in the same statement can select.

    One that ``is_materialized`` is computed once; PostgreSQL might do so for each row that looks for its key.
    """

    name: str
    sql: str
    params: tuple[object, ...]
    is_materialized: bool = False

    @property
    def definition(self) -> str:
        return f"{self.name} AS {'MATERIALIZED ' if self.is_materialized else ''}({self.sql})"


Steps = tuple[Step, ...]


def add_step(steps: Steps, sql: str, params: tuple[object, ...], is_materialized: bool = False) -> Steps:
    """The steps with one more behind them.

    They stand beside one another (``WITH``): subqueries inside subqueries soon are more than SQLite's parser
    takes.
    """
    return (*steps, Step(f"odata_{len(steps)}", sql, params, is_materialized))


def with_steps(steps: Steps, sql: str, params: tuple[object, ...]) -> tuple[str, tuple[object, ...]]:
    """The whole statement."""
    if not steps:
        return sql, params
    definitions = ", ".join(step.definition for step in steps)
    return f"WITH {definitions} {sql}", (*(param for step in steps for param in step.params), *params)


@dataclass(frozen=True, slots=True)
class Result:
    """A SELECT with its parameters and columns; ``steps`` are the ones that it selects from."""

    sql: str
    params: tuple[object, ...]
    columns: tuple[ResultColumn, ...]
    steps: Steps = ()

    @property
    def by_name(self) -> dict[str, ResultColumn]:
        return {column.name: column for column in self.columns}

    @property
    def statement(self) -> tuple[str, tuple[Any, ...]]:
        return with_steps(self.steps, self.sql, self.params)

    def as_steps(self) -> Steps:
        """The steps, of which this is the last one."""
        return add_step(self.steps, self.sql, self.params)

    def select(
        self,
        what: str,
        params: tuple[object, ...] = (),
        columns: tuple[ResultColumn, ...] | None = None,
        ending: str = "",
    ) -> Result:
        """A SELECT from this one, ``t``; ``ending`` is what stands behind FROM, ``params`` are its own."""
        steps = self.as_steps()
        text = f"SELECT {what} FROM {steps[-1].name} t{ending}"
        return Result(text, params, self.columns if columns is None else columns, steps)


Values = Mapping[str, Tree]


@dataclass(frozen=True, slots=True)
class EntityRows:
    """Records that are not aggregated yet: a queryset, and the computed values by their names.

    ``joined`` are the items beside them, if any; ``unmatched`` the records without one that outerjoin keeps.
    The queryset selects from the last of the ``steps``. ``order`` is the order that was asked for.
    """

    rows: QuerySet[Model]
    values: Values = field(default_factory=dict)
    joined: JoinedItems | None = None
    unmatched: EntityRows | None = None
    steps: Steps = ()
    order: tuple[SortTerm, ...] = ()

    @property
    def parts(self) -> tuple[EntityRows, ...]:
        """The rows, and those without an item."""
        return (self,) if self.unmatched is None else (self, self.unmatched)


@dataclass(frozen=True, slots=True)
class ResultRows:
    """Aggregated rows, with the computed values by their names and the order that was asked for."""

    result: Result
    values: Values = field(default_factory=dict)
    order: tuple[SortTerm, ...] = ()


Rows = EntityRows | ResultRows


class ColumnReference(Expression):
    """A column of the result that a SELECT reads."""

    def __init__(self, sql_name: str, kind: ValueKind) -> None:
        super().__init__(output_field=sql.FIELDS[kind])
        self.sql_name = sql_name

    def resolve_expression(self, *args: object, **kwargs: object) -> ColumnReference:
        return self

    def as_sql(self, compiler: object, connection: object) -> tuple[str, tuple[object, ...]]:
        return f'"{self.sql_name}"', ()


class ResultBinder(Binder):
    """Binds expressions whose names are the columns of a result."""

    def __init__(self, result: Result, type_: StructuredType, request: RequestContext, target: str) -> None:
        super().__init__(type_, request, target)
        self.columns = result.by_name

    def path(self, node: Path, allow_object: bool = False) -> Operand:
        segments = node.segments[1:] if node.segments[0] in ("$it", "$this") else node.segments
        column = self.columns.get("/".join(segments))
        if column is None:
            names = ", ".join(self.columns) or "none"
            self.fail(f"the transformed rows have no member {'/'.join(segments)[:60]}; they have {names}.")
        return column.operand

    def is_undeclared_word(self, node: Tree) -> bool:
        return isinstance(node, Path) and len(node.segments) == 1 and node.segments[0] not in self.columns

    def rows_of(self, path: Path, variable: str) -> NoReturn:
        self.fail(f"the transformed rows have no list {'/'.join(path.segments)[:60]}.")


# --- values ---------------------------------------------------------------------------------------------


def row_members(row: Iterable[tuple[ResultColumn, object]]) -> dict[str, object]:
    """The members of a row of columns with their stored values, the same from both engines."""
    members: dict[str, Any] = {}
    for column, stored in row:
        inner = members
        for name in column.path[:-1]:
            inner = inner.setdefault(name, {})
        inner[column.path[-1]] = read_value(column.kind, column.scale, stored)
    return members
