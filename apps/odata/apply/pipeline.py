"""$apply as SQL: filters of records first, then SELECTs of which each reads the one before.

The names of the records are bound by the declarations, as in $filter; from the first aggregation on, the
names are the columns of the result. Both engines have equal sums: SQLite adds decimals exactly by a function
of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from django.core.exceptions import EmptyResultSet
from django.db.models import Exists, F, OuterRef

from apps.base.declaration.schema import EntitySet, NavigationProperty
from apps.odata.apply.joins import JoinedItems, RecordBinder, lists_in
from apps.odata.apply.limits import Limiter
from apps.odata.apply.results import (
    ColumnReference,
    EntityRows,
    Result,
    ResultBinder,
    ResultColumn,
    ResultRows,
    Rows,
    Steps,
    Values,
)
from apps.odata.errors import BadQuery
from apps.odata.query import ast
from apps.odata.query import functions as sql
from apps.odata.query.ast import Expression, ValueKind
from apps.odata.query.binding import Binder
from apps.odata.query.functions import Constant
from apps.odata.query.operands import KnownValue, Operand, RequestContext
from apps.odata.query.search import search_condition
from apps.odata.query.substitution import ExpressionBudget, substitute
from apps.odata.query.transformations import (
    AggregatedValue,
    Compute,
    Concat,
    Filter,
    GroupBy,
    Join,
    OrderBy,
    Pipeline,
    Search,
    SumLimit,
    Transformation,
    expressions_of,
)
from apps.odata.read.reader import is_whole_table, stored_sums

_SORTABLE = (*ast.NUMBERS, ValueKind.STRING, ValueKind.DATE, ValueKind.DATETIME, ValueKind.TIME)
#: The kinds of values that a method takes.
METHOD_KINDS = {
    "sum": ast.NUMBERS,
    "average": ast.NUMBERS,
    "min": _SORTABLE,
    "max": _SORTABLE,
    "countdistinct": tuple(ValueKind),
}


@dataclass(frozen=True, slots=True)
class Select:
    """A SELECT that is aggregated, with what binds its names; ``list_name`` is the list of its items."""

    rows: Rows
    binder: Binder
    list_name: str = ""


class Transformer:
    """Applies the transformations of one request."""

    def __init__(self, entity_set: EntitySet, request: RequestContext, using: str) -> None:
        self.entity_set = entity_set
        self.request = request
        self.compiler = entity_set.model._base_manager.using(using).all().query.get_compiler(using)
        self.limiter = Limiter(self)
        self.budget = ExpressionBudget("$apply")
        #: The lists that are joined, by the names of their items.
        self.joined: dict[str, NavigationProperty] = {}

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
                values = self.computed(rows, transformation)
                if isinstance(rows, EntityRows) and rows.unmatched is not None:
                    rows = replace(rows, unmatched=replace(rows.unmatched, values=values))
                return replace(rows, values=values)
            case GroupBy():
                return self.group(rows, transformation)
            case Join():
                return self.join(rows, transformation)
            case OrderBy(terms, skip=0, top=None):
                return self.with_order(rows, terms)
            case OrderBy() | SumLimit():
                return self.limiter.limit(rows, transformation)
        if isinstance(rows, EntityRows):
            changed, *unmatched = [self.filtered_records(part, transformation) for part in rows.parts]
            return replace(changed, unmatched=unmatched[0] if unmatched else None)
        return self.filtered_result(rows, transformation)

    def with_order(self, rows: Rows, terms: tuple[ast.SortTerm, ...]) -> Rows:
        """The rows with the order in which a later skip or top takes them."""
        binder = self.binder(rows)
        terms = tuple(
            replace(term, expression=self.budget.substitute(term.expression, rows.values)) for term in terms
        )
        for term in terms:
            binder.operand(term.expression)
        return replace(rows, order=terms)

    def fail(self, reason: str, target: str = "$apply") -> NoReturn:
        raise BadQuery(f"{target}: {reason}.", target=target, code="Invalid" + target[1:].capitalize())

    # --- records --------------------------------------------------------------------------------------

    def filtered_records(self, rows: EntityRows, transformation: Transformation) -> EntityRows:
        queryset = rows.rows
        match transformation:
            case Filter(condition):
                tree = self.budget.substitute(condition, rows.values)
                return replace(rows, rows=queryset.filter(self.binder(rows).condition(tree, exact=False)))
            case Search(text):
                if rows.joined is not None:
                    self.fail("search stands before join")
                return replace(rows, rows=queryset.filter(search_condition(self.entity_set, text)))
        raise TypeError(transformation)

    def selected_records(
        self, rows: EntityRows, values: Mapping[str, Operand], is_distinct: bool = False
    ) -> tuple[str, tuple[object, ...]]:
        """A SELECT of values of the records by their names; ``is_distinct``: of each item of a list once."""
        columns: dict[str, object] = {name: operand.sql for name, operand in values.items()}
        joined = rows.joined
        if is_distinct and joined is not None and joined.is_shared:
            columns["odata_item"] = F(f"{joined.prefix}pk")
            rows = replace(rows, rows=rows.rows.distinct())
        queryset = rows.rows.order_by().annotate(**columns).values_list(*columns)
        try:
            text, params = queryset.query.get_compiler(queryset.db).as_sql()
        except EmptyResultSet:  # a caller who sees no record at all
            nulls = ",".join(f'NULL AS "{name}"' for name in columns)
            text, params = f"SELECT {nulls} WHERE 1 = 0", ()
        if len(columns) > len(values):
            text = f"SELECT {', '.join(values)} FROM ({text}) t"
        return text, tuple(params)

    def join(self, rows: Rows, join: Join) -> EntityRows:
        """A row for each item of a list; of outerjoin also one for each record without any."""
        if not isinstance(rows, EntityRows) or rows.joined is not None:
            self.fail("one join stands before the aggregations")
        if join.name in self.entity_set.type.members or join.name in rows.values:
            self.fail(f"the records have a member {join.name}")
        navigation = self.find_list(join.list)
        if self.joined.setdefault(join.name, navigation) is not navigation:
            self.fail(f"{join.name} names items of two lists")
        return self.items_of(rows, navigation, join.name, join.filters, join.is_outer)

    def find_list(self, path: ast.Path) -> NavigationProperty:
        """A list of the records; ``Forbidden`` for one of another entity set that the caller may not read."""
        type_, binder = self.entity_set.type, RecordBinder(self.entity_set.type, self.request)
        position, segments = binder.start(path)
        navigation = binder.enter(position, segments[0]).navigation if len(segments) == 1 else None
        if navigation is None or not navigation.many:
            parts = {**type_.navigations, **type_.set_navigations}
            lists = ", ".join(name for name, part in parts.items() if part.many and not part.item_only)
            self.fail(f"{'/'.join(path.segments)} is no list of {type_.name}; it has {lists or 'none'}")
        if navigation.item_only:
            name = navigation.name
            self.fail(f"{name} shows on a single {type_.name} only; filter({name}/any(…)) looks into it")
        return navigation

    def items_of(
        self,
        rows: EntityRows,
        navigation: NavigationProperty,
        name: str,
        filters: Sequence[Filter] = (),
        is_outer: bool = False,
    ) -> EntityRows:
        """The items of a list of the records, beside their records."""
        items = navigation.item_rows(self.request.caller)
        joined = JoinedItems(name, navigation.type, f"{items.record_path}__", items.prefix, items.is_shared)
        found = items.rows.using(rows.rows.db).filter(**{f"{items.record_path}__isnull": False})
        for condition in filters:
            of_item = replace(joined, name="", record_prefix=items.prefix)
            item_binder = RecordBinder(navigation.type, self.request, of_item)
            found = found.filter(item_binder.condition(condition.condition, exact=False))
        unmatched = None
        if is_outer:
            without = rows.rows.filter(~Exists(found.filter(**{items.record_path: OuterRef("pk")})))
            missing = JoinedItems(name, navigation.type, is_missing=True)
            unmatched = replace(rows, rows=without, joined=missing)
        if not is_whole_table(rows.rows):
            found = found.filter(**{f"{items.record_path}__in": rows.rows.order_by().values("pk")})
        return EntityRows(found, rows.values, joined, unmatched, rows.steps, rows.order)

    # --- results --------------------------------------------------------------------------------------

    def filtered_result(self, rows: ResultRows, transformation: Transformation) -> ResultRows:
        match transformation:
            case Filter(condition):
                tree = self.budget.substitute(condition, rows.values)
                where, params = self.compiled(self.binder(rows).condition(tree, exact=False))
                return replace(rows, result=rows.result.select("*", params, ending=f" WHERE {where}"))
            case Search():
                self.fail("search stands before aggregations")
        raise TypeError(transformation)

    def with_values(self, rows: ResultRows) -> Result:
        """The rows with their computed values as columns."""
        if not rows.values:
            return rows.result
        binder, result = self.binder(rows), rows.result
        operands = [self.known(binder, binder.operand(tree)) for tree in rows.values.values()]
        added = [
            ResultColumn.of((name,), f"v{at}", operand, is_computed=True)
            for at, (name, operand) in enumerate(zip(rows.values, operands, strict=True))
        ]
        texts, params = self.select_list(operands, [column.sql_name for column in added])
        return result.select(f"t.*, {texts}", params, (*result.columns, *added))

    # --- aggregation ----------------------------------------------------------------------------------

    def group(self, rows: Rows, grouping: GroupBy) -> ResultRows:
        for transformation in grouping.prepared:
            rows = self.transform(rows, transformation)
        rows, grouping = self.from_stored_sums(rows, grouping)
        lists = [self.list_of(rows, value) for value in grouping.values]
        selects = self.selects(rows, grouping, lists)
        select_of = {select.list_name: select for select in reversed(selects)}
        values = [
            self.aggregated(select_of[name], value)
            for name, value in zip(lists, grouping.values, strict=True)
        ]
        keys = self.keys(selects[0], grouping)
        steps = rows.steps if isinstance(rows, EntityRows) else rows.result.as_steps()
        names = [f"odata_c{at}" for at in range(len(keys) + len(values))]
        texts: list[str] = []
        params: list[object] = []
        for select in selects:
            operands = [*keys] if select is selects[0] else self.keys(select, grouping)
            for name, value, operand in zip(lists, grouping.values, values, strict=True):
                if name != select.list_name:
                    operands.append(replace(operand, sql=Constant(operand.kind, None)))
                else:
                    operands.append(operand if select is select_of[name] else self.aggregated(select, value))
            text, text_params = self.select(select, dict(zip(names, operands, strict=True)), steps)
            texts.append(text)
            params += text_params
        columns, texts_of_columns = [], []
        for at, (path, operand) in enumerate(zip(grouping.paths, keys, strict=True)):
            columns.append(ResultColumn.of(path.segments, f"r{at}", operand, self.is_computed(rows, path)))
            texts_of_columns.append(f'"{names[at]}" AS "r{at}"')
        for at, (value, operand) in enumerate(zip(grouping.values, values, strict=True), len(keys)):
            column, text = self.aggregate(value, operand, names[at], f"r{at}")
            columns.append(column)
            texts_of_columns.append(text)
        self.check_names(columns)
        group_by = ",".join(f'"{name}"' for name in names[: len(keys)])
        text = f"SELECT {', '.join(texts_of_columns)} FROM ({' UNION ALL '.join(texts)}) t"
        text = f"{text} GROUP BY {group_by}" if keys else text
        return ResultRows(Result(text, tuple(params), tuple(columns), steps))

    def from_stored_sums(self, rows: Rows, grouping: GroupBy) -> tuple[Rows, GroupBy]:
        """The stored sums in place of the records, where they have all that is asked for."""
        if not isinstance(rows, EntityRows) or rows.joined or rows.values:
            return rows, grouping
        stored, sums = self.entity_set.resource.stored_sums, stored_sums(self.entity_set, rows.rows)
        counts = [value for value in grouping.values if value.method == "count" and value.expression is None]
        summed = [value.expression for value in grouping.values if value.method == "sum"]
        if (
            stored is None
            or sums is None
            or len(counts) + len(summed) < len(grouping.values)
            or not self.are_columns(stored.keys, grouping.paths)
            or not self.are_columns(stored.sums, summed)
        ):
            return rows, grouping
        values = [
            replace(value, method="stored_number") if value in counts else value for value in grouping.values
        ]
        return replace(rows, rows=sums), replace(grouping, values=tuple(values))

    def are_columns(self, columns: Sequence[str], expressions: Sequence[Expression | None]) -> bool:
        """True when all expressions are properties of the record itself, and stored in these columns."""
        properties = self.entity_set.type.readable_properties
        paths = {name: prop.path for name, prop in properties.items() if prop.path in columns}
        return all(
            isinstance(each, ast.Path) and len(each.segments) == 1 and each.segments[0] in paths
            for each in expressions
        )

    def selects(self, rows: Rows, grouping: GroupBy, lists: Sequence[str]) -> list[Select]:
        """Groups that are aggregated together: rows, and the items of lists that values are taken of."""
        selects = []
        if grouping.paths or not all(lists):
            selects = [Select(rows, self.binder(rows))]
        if isinstance(rows, EntityRows):
            if rows.unmatched is not None:
                selects.append(Select(rows.unmatched, self.binder(rows.unmatched)))
            for name in dict.fromkeys(filter(None, lists)):
                navigation = self.find_list(ast.Path(ast.NO_POSITION, (name,)))
                items = self.items_of(rows, navigation, name)
                selects.append(Select(items, self.binder(items), name))
        return selects

    def list_of(self, rows: Rows, value: AggregatedValue) -> str:
        """The list whose items a value is taken of, or an empty string."""
        lists: set[str] = set()
        counted = value.expression if value.method == "count" else None
        if isinstance(rows, EntityRows) and rows.joined is None and value.expression is not None:
            lists = lists_in(substitute(value.expression, rows.values), self.entity_set.type)
        if isinstance(counted, ast.Path) and {counted.segments} != {(name,) for name in lists}:
            self.fail(f"{'/'.join(counted.segments)} is no list of the records that $count could count")
        if len(lists) > 1:
            self.fail(f"{value.name} is taken of several lists, {' and '.join(sorted(lists))}")
        return lists.pop() if lists else ""

    def keys(self, select: Select, grouping: GroupBy) -> list[Operand]:
        binder, values = select.binder, select.rows.values
        return [
            self.known(binder, binder.operand(self.budget.substitute(path, values)))
            for path in grouping.paths
        ]

    def is_computed(self, rows: Rows, path: ast.Path) -> bool:
        if isinstance(rows, EntityRows):
            return path.segments[0] in rows.values
        column = rows.result.by_name.get("/".join(path.segments))
        return column is None or column.is_computed

    def select(
        self, select: Select, values: Mapping[str, Operand], steps: Steps
    ) -> tuple[str, tuple[object, ...]]:
        """A SELECT of values of the rows by their names; those of a result are the last of the steps."""
        rows = select.rows
        if isinstance(rows, EntityRows):
            return self.selected_records(rows, values, is_distinct=bool(select.list_name))
        texts, params = self.select_list([*values.values()], [*values])
        return f"SELECT {texts} FROM {steps[-1].name} t", params

    def aggregated(self, select: Select, value: AggregatedValue) -> Operand:
        """The value that a method takes of each row; of a number any that is not null."""
        if value.method == "count":
            return Operand(ValueKind.INTEGER, Constant(ValueKind.INTEGER, 1), False, "$count")
        if value.method == "stored_number":
            return Operand(ValueKind.INTEGER, F("number"), False, "$count")
        assert value.expression is not None
        return self.value_for(
            value.method, select.binder, self.budget.substitute(value.expression, select.rows.values)
        )

    def value_for(self, method: str, binder: Binder, expression: Expression) -> Operand:
        operand = self.known(binder, binder.operand(expression))
        if operand.kind not in METHOD_KINDS[method]:
            self.fail(f"{method} is not taken of {operand.name}, which is {operand.kind.value}")
        return operand

    def aggregate(
        self, value: AggregatedValue, operand: Operand, source: str, name: str
    ) -> tuple[ResultColumn, str]:
        """The column of an aggregated value and its SQL."""
        reference: object = ColumnReference(source, operand.kind)
        if operand.kind is ValueKind.STRING and value.method in ("min", "max"):
            reference = sql.BY_CODE_POINT(reference)
        text, _ = self.compiled(sql.AGGREGATES[value.method](reference))
        column = ResultColumn.of((value.name,), name, replace(operand, nullable=True), is_computed=True)
        if value.method in ("count", "countdistinct", "stored_number"):  # Edm.Decimal, as the standard says
            column = replace(column, kind=ValueKind.DECIMAL, nullable=False, scale=0, prop=None)
        elif value.method == "average":
            column = replace(column, kind=ValueKind.DECIMAL, scale=None, prop=None)
        elif value.method == "sum":
            column = replace(column, prop=None)
        return column, f'{text} AS "{name}"'

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
            self.budget.spend(values[value.name])
            binder.computed_value(value.name, values[value.name])
        return values

    def binder(self, rows: Rows) -> Binder:
        type_ = self.entity_set.type
        if isinstance(rows, EntityRows):
            return RecordBinder(type_, self.request, rows.joined)
        return ResultBinder(rows.result, type_, self.request, "$apply")

    def known(self, binder: Binder, operand: Operand | KnownValue) -> Operand:
        return binder.constant(operand) if isinstance(operand, KnownValue) else operand

    def compiled(self, expression: object) -> tuple[str, tuple[object, ...]]:
        text, params = self.compiler.compile(expression)
        return text, tuple(params)

    def select_list(
        self, operands: Sequence[Operand], names: Sequence[str]
    ) -> tuple[str, tuple[object, ...]]:
        """``value AS name, …`` with its parameters."""
        compiled = [self.compiled(operand.sql) for operand in operands]
        texts = [f'{text} AS "{name}"' for (text, _), name in zip(compiled, names, strict=True)]
        return ", ".join(texts), tuple(param for _, params in compiled for param in params)
