"""$apply as SQL: filters of records first, then SELECTs of which each reads the one before.

The names of the records are bound by the declarations, as in $filter; from the first aggregation on, the
names are the columns of the result. Both engines have equal sums: SQLite adds decimals exactly by a function
of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from django.core.exceptions import EmptyResultSet
from django.db.models import F, QuerySet, Window
from django.db.models.expressions import RawSQL
from django.db.models.functions import RowNumber

from apps.odata.apply.results import ColumnReference, Result, ResultBinder, ResultColumn
from apps.odata.declaration.schema import EntitySet
from apps.odata.errors import BadQuery
from apps.odata.query import ast
from apps.odata.query import functions as sql
from apps.odata.query.ast import Expression, ValueKind
from apps.odata.query.binding import Binder, bind_filter
from apps.odata.query.functions import Constant
from apps.odata.query.operands import KnownValue, Operand, RequestContext
from apps.odata.query.ordering import sort_keys
from apps.odata.query.search import search_condition
from apps.odata.query.substitution import substitute
from apps.odata.query.transformations import (
    AggregatedValue,
    Compute,
    Concat,
    Filter,
    GroupBy,
    OrderBy,
    Pipeline,
    Search,
    SumLimit,
    Transformation,
    expressions_of,
)

_SORTABLE = (*ast.NUMBERS, ValueKind.STRING, ValueKind.DATE, ValueKind.DATETIME, ValueKind.TIME)
#: The kinds of values that a method takes.
METHOD_KINDS = {
    "sum": ast.NUMBERS,
    "average": ast.NUMBERS,
    "min": _SORTABLE,
    "max": _SORTABLE,
    "countdistinct": tuple(ValueKind),
}

Values = Mapping[str, Expression]


@dataclass(frozen=True, slots=True)
class RecordRows:
    """Records that are not aggregated yet: a queryset, and the computed values by their names."""

    rows: QuerySet[Any]
    values: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResultRows:
    """Aggregated rows, with the computed values by their names and the order that was asked for."""

    result: Result
    values: Values = field(default_factory=dict)
    order: tuple[ast.SortTerm, ...] = ()


Rows = RecordRows | ResultRows


class Transformer:
    """Applies the transformations of one request."""

    def __init__(self, entity_set: EntitySet, request: RequestContext, using: str) -> None:
        self.entity_set = entity_set
        self.request = request
        self.compiler = entity_set.model._base_manager.using(using).all().query.get_compiler(using)
        self.vendor = self.compiler.connection.vendor

    def apply(self, rows: Rows, transformations: Pipeline) -> list[Rows]:
        """The rows after the transformations; of concat and rollup one item for each sequence."""
        for at, transformation in enumerate(transformations):
            if isinstance(transformation, Concat):
                if transformations[at + 1 :]:
                    self.fail("nothing stands behind concat or rollup")
                return [part for pipeline in transformation.pipelines for part in self.apply(rows, pipeline)]
            rows = self.transform(rows, transformation)
        return [rows]

    def transform(self, rows: Rows, transformation: Transformation) -> Rows:
        match transformation:
            case Compute():
                return replace(rows, values=self.computed(rows, transformation))
            case GroupBy():
                return self.group(rows, transformation)
        if isinstance(rows, RecordRows):
            return self.transform_records(rows, transformation)
        return self.transform_result(rows, transformation)

    def fail(self, reason: str, target: str = "$apply") -> NoReturn:
        raise BadQuery(f"{target}: {reason}.", target=target, code="Invalid" + target[1:].capitalize())

    # --- records --------------------------------------------------------------------------------------

    def transform_records(self, rows: RecordRows, transformation: Transformation) -> RecordRows:
        type_, queryset = self.entity_set.type, rows.rows
        match transformation:
            case Filter(condition):
                tree = substitute(condition, rows.values)
                return replace(rows, rows=queryset.filter(bind_filter(tree, type_, self.request, "$apply")))
            case Search(text):
                return replace(rows, rows=queryset.filter(search_condition(self.entity_set, text)))
            case OrderBy(terms, skip, top):
                if not skip and top is None:
                    self.fail("orderby of records stands in $orderby, or behind an aggregation")
                terms = tuple(replace(t, expression=substitute(t.expression, rows.values)) for t in terms)
                keys = sort_keys(type_, terms, self.request, "$apply")
                chosen = queryset.order_by(*(key.order_by for key in keys))
                chosen = chosen[skip : None if top is None else skip + top]
                model: Any = self.entity_set.model
                return replace(rows, rows=model._base_manager.filter(pk__in=chosen.values("pk")))
            case SumLimit():
                return replace(rows, rows=queryset.filter(pk__in=self.keys_up_to_sum(rows, transformation)))
        raise TypeError(transformation)

    def keys_up_to_sum(self, rows: RecordRows, limit: SumLimit) -> RawSQL | tuple[()]:
        """The keys of the records that a limit of their sum leaves, as a subquery."""
        term = replace(limit.term, expression=substitute(limit.term.expression, rows.values))
        keys = sort_keys(self.entity_set.type, [term], self.request, "$apply")
        columns = {
            "odata_key": F("pk"),
            "odata_value": self.value_for("sum", self.binder(rows), term.expression).sql,
            "odata_row": Window(RowNumber(), order_by=[key.order_by for key in keys]),
        }
        queryset = rows.rows.order_by().annotate(**columns).values_list(*columns)
        try:
            text, params = queryset.query.get_compiler(queryset.db).as_sql()
        except EmptyResultSet:  # a caller who sees no record at all
            return ()
        # S611: Django compiled the text, and values are parameters of it.
        return RawSQL(*self.up_to_sum(text, tuple(params), '"odata_key"', limit))  # noqa: S611

    def selected_records(self, rows: RecordRows, operands: Sequence[Operand]) -> tuple[str, tuple[Any, ...]]:
        """A SELECT of values of the records, called c0, c1 …"""
        columns = {f"odata_c{at}": operand.sql for at, operand in enumerate(operands)}
        queryset = rows.rows.order_by().annotate(**columns).values_list(*columns)
        if not columns:
            queryset = queryset.values_list("pk")
        try:
            text, params = queryset.query.get_compiler(queryset.db).as_sql()
        except EmptyResultSet:  # a caller who sees no record at all
            nulls = ",".join(f'NULL AS "{name}"' for name in columns) or "NULL"
            return f"SELECT {nulls} WHERE 1 = 0", ()
        return text, tuple(params)

    # --- results --------------------------------------------------------------------------------------

    def transform_result(self, rows: ResultRows, transformation: Transformation) -> ResultRows:
        result = rows.result
        match transformation:
            case Filter(condition):
                tree = substitute(condition, rows.values)
                where, params = self.compiled(self.binder(rows).condition(tree, exact=False))
                text = f"SELECT * FROM ({result.sql}) t WHERE {where}"
                return replace(rows, result=replace(result, sql=text, params=(*result.params, *params)))
            case Search():
                self.fail("search stands before aggregations")
            case OrderBy(terms, skip, top):
                if not skip and top is None:
                    return replace(rows, order=terms)
                return replace(rows, result=self.ordered(rows, terms or rows.order, skip, top))
            case SumLimit():
                return replace(rows, result=self.rows_up_to_sum(rows, transformation))
        raise TypeError(transformation)

    def rows_up_to_sum(self, rows: ResultRows, limit: SumLimit) -> Result:
        """The rows that a limit of their sum leaves."""
        result = rows.result
        binder, tree = self.binder(rows), substitute(limit.term.expression, rows.values)
        value, value_params = self.compiled(self.value_for("sum", binder, tree).sql)
        order, order_params = self.order_sql(rows, [limit.term])
        inner = f"SELECT t.*, {value} AS odata_value, ROW_NUMBER() OVER ({order}) AS odata_row"
        names = ", ".join(f'"{column.sql_name}"' for column in result.columns)
        params = (*value_params, *order_params, *result.params)
        text, params = self.up_to_sum(f"{inner} FROM ({result.sql}) t", params, names, limit)
        return replace(result, sql=text, params=params)

    def up_to_sum(
        self, rows: str, params: tuple[Any, ...], names: str, limit: SumLimit
    ) -> tuple[str, tuple[Any, ...]]:
        """The rows before the sum of ``odata_value``, in the order of ``odata_row``, reaches the limit.

        A sum that falls again, as values below zero come, has reached it all the same: hence its maximum.
        """
        value, whole, reached = (
            ColumnReference(f"odata_{name}", ValueKind.DECIMAL) for name in ("value", "whole", "reached")
        )
        sum_of_values, _ = self.compiled(sql.AGGREGATES["sum"](value))
        running = (
            f"SELECT t.*, {sum_of_values} OVER (ORDER BY odata_row) AS odata_running,"
            f" {sum_of_values} OVER () AS odata_whole FROM ({rows}) t"
        )
        before = (
            "SELECT t.*, MAX(odata_running) OVER (ORDER BY odata_row ROWS BETWEEN UNBOUNDED PRECEDING"
            f" AND 1 PRECEDING) AS odata_reached FROM ({running}) t"
        )
        least: Any = Constant(ValueKind.DECIMAL, limit.limit)
        sum_before: Any = sql.ZERO_IF_NULL(reached)
        if limit.is_percentage:  # without a quotient, which is rounded
            multiply = sql.ARITHMETIC["mul"][ValueKind.DECIMAL]
            least, sum_before = multiply(whole, least), multiply(sum_before, Constant(ValueKind.DECIMAL, 100))
        is_less, zero = sql.ORDERED["lt"], Constant(ValueKind.DECIMAL, 0)
        condition, condition_params = self.compiled(
            sql.join_conditions("AND", 2)(is_less(zero, least), is_less(sum_before, least))
        )
        return f"SELECT {names} FROM ({before}) t WHERE {condition}", (*params, *condition_params)

    def ordered(self, rows: ResultRows, terms: Sequence[ast.SortTerm], skip: int, top: int | None) -> Result:
        order, params = self.order_sql(rows, terms)
        limit = f" LIMIT {top if top is not None else 2**62}" if top is not None or skip else ""
        offset = f" OFFSET {skip}" if skip else ""
        text = f"SELECT * FROM ({rows.result.sql}) t {order}{limit}{offset}"
        return replace(rows.result, sql=text, params=(*rows.result.params, *params))

    def order_sql(self, rows: ResultRows, terms: Sequence[ast.SortTerm]) -> tuple[str, tuple[Any, ...]]:
        """``ORDER BY …``, a total order: after the terms by all columns."""
        result, binder = rows.result, self.binder(rows)
        keys: list[tuple[Operand, bool]] = []
        for term in terms:
            operand = binder.operand(substitute(term.expression, rows.values))
            if isinstance(operand, Operand):
                keys.append((operand, term.descending))
        keys += [(column.operand, False) for column in result.columns]
        texts: list[str] = []
        order_params: list[Any] = []
        for operand, descending in keys:
            is_text = operand.kind in ast.TEXTS
            text, params = self.compiled(sql.BY_CODE_POINT(operand.sql) if is_text else operand.sql)
            texts.append(f"{text} {'DESC NULLS LAST' if descending else 'ASC NULLS FIRST'}")
            order_params += params
        return f"ORDER BY {', '.join(texts)}" if texts else "", tuple(order_params)

    def with_values(self, rows: ResultRows) -> Result:
        """The rows with their computed values as columns."""
        if not rows.values:
            return rows.result
        binder, result = self.binder(rows), rows.result
        operands = [self.known(binder, binder.operand(tree)) for tree in rows.values.values()]
        added = [
            column_of((name,), f"v{at}", operand, is_computed=True)
            for at, (name, operand) in enumerate(zip(rows.values, operands, strict=True))
        ]
        texts, params = self.select_list(operands, [column.sql_name for column in added])
        text = f"SELECT t.*, {texts} FROM ({result.sql}) t"
        return Result(text, (*params, *result.params), (*result.columns, *added))

    # --- aggregation ----------------------------------------------------------------------------------

    def group(self, rows: Rows, grouping: GroupBy) -> ResultRows:
        for transformation in grouping.prepared:
            rows = self.transform(rows, transformation)
        binder = self.binder(rows)
        keys = [self.known(binder, binder.operand(substitute(path, rows.values))) for path in grouping.paths]
        values = [self.aggregated(binder, rows.values, value) for value in grouping.values]
        operands = [*keys, *(operand for operand in values if operand is not None)]
        if isinstance(rows, RecordRows):
            inner, params = self.selected_records(rows, operands)
            names = [f"odata_c{at}" for at in range(len(operands))]
        else:
            names = [f"c{at}" for at in range(len(operands))]
            texts, value_params = self.select_list(operands, names)
            inner = f"SELECT {texts or 'NULL'} FROM ({rows.result.sql}) t"
            params = (*value_params, *rows.result.params)
        columns, texts_of_columns = [], []
        for at, (path, operand) in enumerate(zip(grouping.paths, keys, strict=True)):
            is_computed = path.segments[0] not in self.entity_set.type.members
            columns.append(column_of(path.segments, f"r{at}", operand, is_computed))
            texts_of_columns.append(f'"{names[at]}" AS "r{at}"')
        sources = iter(names[len(keys) :])
        for at, (value, taken) in enumerate(zip(grouping.values, values, strict=True), len(keys)):
            column, text = self.aggregate(value, taken, "" if taken is None else next(sources), f"r{at}")
            columns.append(column)
            texts_of_columns.append(text)
        self.check_names(columns)
        group_by = ",".join(f'"{name}"' for name in names[: len(keys)])
        text = f"SELECT {', '.join(texts_of_columns)} FROM ({inner}) t"
        return ResultRows(
            Result(f"{text} GROUP BY {group_by}" if keys else text, tuple(params), tuple(columns))
        )

    def aggregated(self, binder: Binder, values: Values, value: AggregatedValue) -> Operand | None:
        """The value that a method takes of each row; ``None`` for $count."""
        if value.expression is None:
            return None
        return self.value_for(value.method, binder, substitute(value.expression, values))

    def value_for(self, method: str, binder: Binder, expression: Expression) -> Operand:
        operand = self.known(binder, binder.operand(expression))
        if operand.kind not in METHOD_KINDS[method]:
            self.fail(f"{method} is not taken of {operand.name}, which is {operand.kind.value}")
        return operand

    def aggregate(
        self, value: AggregatedValue, operand: Operand | None, source: str, name: str
    ) -> tuple[ResultColumn, str]:
        """The column of an aggregated value and its SQL."""
        if operand is None:
            return self.number_column(value, name), f'COUNT(*) AS "{name}"'
        reference: Any = ColumnReference(source, operand.kind)
        if operand.kind is ValueKind.STRING and value.method in ("min", "max"):
            reference = sql.BY_CODE_POINT(reference)
        text, _ = self.compiled(sql.AGGREGATES[value.method](reference))
        column = column_of((value.name,), name, replace(operand, nullable=True), is_computed=True)
        if value.method == "countdistinct":
            column = self.number_column(value, name)
        elif value.method == "average":
            column = replace(column, kind=ValueKind.DECIMAL, scale=None, prop=None)
        elif value.method == "sum":
            column = replace(column, prop=None)
        return column, f'{text} AS "{name}"'

    def number_column(self, value: AggregatedValue, name: str) -> ResultColumn:
        """The column of a number of records: Edm.Decimal, as the standard says."""
        return ResultColumn((value.name,), name, ValueKind.DECIMAL, nullable=False, scale=0, is_computed=True)

    def check_names(self, columns: Sequence[ResultColumn]) -> None:
        """Names of a row are unique, and none is an object that another one is in."""
        seen: set[str] = set()
        for column in columns:
            if column.name in seen or any(
                other.name != column.name and other.name.startswith(f"{column.name}/") for other in columns
            ):
                self.fail(f"the rows would have two members {column.name}")
            seen.add(column.name)

    # --- expressions ----------------------------------------------------------------------------------

    def computed(self, rows: Rows, compute: Compute) -> Values:
        """The computed values with those of a compute; each may name the ones before."""
        values = expressions_of(compute.values, rows.values, "$apply")
        binder = self.binder(rows)
        for value in compute.values:
            binder.operand(values[value.name])
        return values

    def binder(self, rows: Rows) -> Binder:
        type_ = self.entity_set.type
        if isinstance(rows, RecordRows):
            return Binder(type_, self.request, "$apply")
        return ResultBinder(rows.result, type_, self.request, "$apply")

    def known(self, binder: Binder, operand: Operand | KnownValue) -> Operand:
        return binder.constant(operand) if isinstance(operand, KnownValue) else operand

    def compiled(self, expression: Any) -> tuple[str, tuple[Any, ...]]:
        text, params = self.compiler.compile(expression)
        return text, tuple(params)

    def select_list(self, operands: Sequence[Operand], names: Sequence[str]) -> tuple[str, tuple[Any, ...]]:
        """``value AS name, …`` with its parameters."""
        compiled = [self.compiled(operand.sql) for operand in operands]
        texts = [f'{text} AS "{name}"' for (text, _), name in zip(compiled, names, strict=True)]
        return ", ".join(texts), tuple(param for _, params in compiled for param in params)


def column_of(
    path: tuple[str, ...], sql_name: str, operand: Operand, is_computed: bool = False
) -> ResultColumn:
    kind, nullable, scale, prop = operand.kind, operand.nullable, operand.scale, operand.prop
    return ResultColumn(path, sql_name, kind, nullable, scale, prop, is_computed)
