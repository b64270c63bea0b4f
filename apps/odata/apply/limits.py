"""The transformations that leave the first rows of an order: so many of them, or up to a limit of a sum.

A step of the statement has the keys of the rows that are left, from which the next ones select.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from django.core.exceptions import EmptyResultSet
from django.db.models import F, Model, QuerySet, TextField, Value
from django.db.models.expressions import RawSQL

from apps.odata.apply.results import (
    ColumnReference,
    EntityRows,
    Result,
    ResultRows,
    Rows,
    add_step,
    with_steps,
)
from apps.odata.query import ast
from apps.odata.query import functions as sql
from apps.odata.query.ast import SortTerm, ValueKind
from apps.odata.query.functions import Constant
from apps.odata.query.operands import Operand
from apps.odata.query.ordering import sort_keys
from apps.odata.query.transformations import OrderBy, SumLimit

if TYPE_CHECKING:
    from apps.odata.apply.pipeline import Transformer

#: A value to order by, and whether greater ones come first.
OrderKey = tuple[Operand, bool]


class Limiter:
    """Leaves the first rows of an order, for a ``Transformer``."""

    def __init__(self, transformer: Transformer) -> None:
        self.transformer = transformer
        self.compiled = transformer.compiled

    def limit(self, rows: Rows, limit: OrderBy | SumLimit) -> Rows:
        """The rows that a limit leaves."""
        if isinstance(rows, EntityRows):
            return self.limit_records(rows, limit)
        return self.limit_result(rows, limit)

    # --- results --------------------------------------------------------------------------------------

    def limit_result(self, rows: ResultRows, limit: OrderBy | SumLimit) -> ResultRows:
        if isinstance(limit, OrderBy):
            result = self.ordered(rows, limit.terms or rows.order, limit.skip, limit.top)
            return replace(rows, result=result)
        keys = self.result_keys(rows, [limit.term])
        value, params = self.compiled(self.summed_value(rows, limit).sql)
        valued = rows.result.select(f"t.*, {value} AS odata_value", params)
        names = [column.sql_name for column in rows.result.columns]
        return replace(rows, result=self.up_to_sum(valued, keys, names, limit))

    def ordered(
        self, rows: ResultRows, terms: Sequence[SortTerm], skip: int = 0, top: int | None = None
    ) -> Result:
        return self.slice(rows.result, self.result_keys(rows, terms), "*", skip, top)

    def result_keys(self, rows: ResultRows, terms: Sequence[SortTerm]) -> list[OrderKey]:
        """The keys of a total order: after the terms all columns."""
        columns = [(column.operand, False) for column in rows.result.columns]
        return [*self.term_keys(rows, terms), *columns]

    # --- records --------------------------------------------------------------------------------------

    def limit_records(self, rows: EntityRows, limit: OrderBy | SumLimit) -> EntityRows:
        """The records, beside their items behind a join, that a limit leaves.

        Rows with an item and those without one (outerjoin) are put in one order; each has the key of its own
        table.
        """
        terms = (limit.terms or rows.order) if isinstance(limit, OrderBy) else (limit.term,)
        key_names = [f"odata_key{at}" for at in range(len(rows.parts))]
        texts: list[str] = []
        params: list[object] = []
        for part, own_key in zip(rows.parts, key_names, strict=True):
            keys = self.record_keys(part, terms)
            columns = {f"odata_order{at}": operand for at, (operand, _) in enumerate(keys)}
            if isinstance(limit, SumLimit):
                columns["odata_value"] = self.summed_value(part, limit)
            columns |= {name: KEY if name == own_key else NO_KEY for name in key_names}
            text, text_params = self.transformer.selected_records(part, columns)
            texts.append(text)
            params += text_params
        result = Result(" UNION ALL ".join(texts), tuple(params), (), rows.steps)
        order = [
            (replace(operand, sql=ColumnReference(f"odata_order{at}", operand.kind)), descending)
            for at, (operand, descending) in enumerate(keys)
        ]
        is_descending = bool(order) and order[0][1]
        order += [
            (replace(KEY, sql=ColumnReference(name, ValueKind.GUID)), is_descending) for name in key_names
        ]
        if isinstance(limit, OrderBy):
            chosen = self.slice(result, order, ", ".join(key_names), limit.skip, limit.top)
        else:
            chosen = self.up_to_sum(result, order, key_names, limit)
        return self.chosen_records(rows, chosen)

    def record_keys(self, rows: EntityRows, terms: Sequence[SortTerm]) -> list[OrderKey]:
        """The keys of an order; without terms the declared one."""
        if terms:
            return self.term_keys(rows, terms)
        before = rows.joined.record_prefix if rows.joined else ""
        return [
            (Operand(key.kind, F(before + key.value.name), key.nullable, key.name), key.descending)
            for key in sort_keys(self.transformer.entity_set.type)
        ]

    def chosen_records(self, rows: EntityRows, chosen: Result) -> EntityRows:
        """The rows with the keys of a result."""
        steps = add_step(chosen.steps, chosen.sql, chosen.params, is_materialized=True)
        parts: list[EntityRows] = []
        for at, part in enumerate(rows.parts):
            name = f"odata_key{at}"
            # S611: the names are ours.
            keys = RawSQL(f"SELECT {name} FROM {steps[-1].name} WHERE {name} IS NOT NULL", ())  # noqa: S611
            model: type[Model] = part.rows.model
            found = model._base_manager.using(part.rows.db).filter(pk__in=keys)
            parts.append(replace(part, rows=found, steps=steps))
        return replace(parts[0], unmatched=parts[1] if len(parts) > 1 else None)

    # --- parts ----------------------------------------------------------------------------------------

    def term_keys(self, rows: Rows, terms: Sequence[SortTerm]) -> list[OrderKey]:
        binder = self.transformer.binder(rows)
        bound = [
            (binder.operand(self.transformer.budget.substitute(term.expression, rows.values)), term)
            for term in terms
        ]
        # A constant orders nothing, and PostgreSQL would take a number for the position of a column.
        return [(operand, term.descending) for operand, term in bound if isinstance(operand, Operand)]

    def summed_value(self, rows: Rows, limit: SumLimit) -> Operand:
        tree = self.transformer.budget.substitute(limit.term.expression, rows.values)
        return self.transformer.value_for("sum", self.transformer.binder(rows), tree)

    def slice(
        self, result: Result, keys: Sequence[OrderKey], what: str, skip: int = 0, top: int | None = None
    ) -> Result:
        """The rows of a result in an order, from ``skip`` on, at most ``top`` of them."""
        order, params = self.order_sql(keys)
        limit = f" LIMIT {top if top is not None else 2**62}" if top is not None or skip else ""
        offset = f" OFFSET {skip}" if skip else ""
        return result.select(what, params, ending=f" {order}{limit}{offset}")

    def order_sql(self, keys: Sequence[OrderKey]) -> tuple[str, tuple[object, ...]]:
        texts: list[str] = []
        order_params: list[object] = []
        for operand, descending in keys:
            is_text = operand.kind in ast.TEXTS
            text, params = self.compiled(sql.BY_CODE_POINT(operand.sql) if is_text else operand.sql)
            texts.append(f"{text} {'DESC NULLS LAST' if descending else 'ASC NULLS FIRST'}")
            order_params += params
        return f"ORDER BY {', '.join(texts)}" if texts else "", tuple(order_params)

    def up_to_sum(
        self, result: Result, keys: Sequence[OrderKey], names: Sequence[str], limit: SumLimit
    ) -> Result:
        """The columns ``names`` of the rows before the sum of ``odata_value`` in an order reaches the limit.

        A sum that falls again, as values below zero come, has reached it all the same: hence its maximum.
        """
        value, whole, reached = (
            ColumnReference(f"odata_{name}", ValueKind.DECIMAL) for name in ("value", "whole", "reached")
        )
        sum_of_values, _ = self.compiled(sql.AGGREGATES["sum"](value))
        order, params = self.order_sql(keys)
        running = result.select(f"t.*, ROW_NUMBER() OVER ({order}) AS odata_row", params).select(
            f"t.*, {sum_of_values} OVER (ORDER BY odata_row) AS odata_running,"
            f" {sum_of_values} OVER () AS odata_whole"
        )
        before = running.select(
            "t.*, MAX(odata_running) OVER (ORDER BY odata_row ROWS BETWEEN UNBOUNDED PRECEDING"
            " AND 1 PRECEDING) AS odata_reached"
        )
        least: object = Constant(ValueKind.DECIMAL, limit.limit)
        sum_before: object = sql.ZERO_IF_NULL(reached)
        if limit.is_percentage:  # without a quotient, which is rounded
            multiply = sql.ARITHMETIC["mul"][ValueKind.DECIMAL]
            least, sum_before = multiply(whole, least), multiply(sum_before, Constant(ValueKind.DECIMAL, 100))
        is_less, zero = sql.ORDERED["lt"], Constant(ValueKind.DECIMAL, 0)
        condition, params = self.compiled(
            sql.join_conditions("AND", 2)(is_less(zero, least), is_less(sum_before, least))
        )
        what = ", ".join(f'"{name}"' for name in names)
        return before.select(what, params, ending=f" WHERE {condition}")


#: The key of a row in its own table, and in the column of another's.
KEY = Operand(ValueKind.GUID, F("pk"), False, "the key")
NO_KEY = replace(KEY, sql=Value(None, output_field=TextField()), nullable=True)


def all_records(rows: EntityRows) -> QuerySet[Model]:
    """The records as a queryset that needs no step before it."""
    if not rows.steps:
        return rows.rows
    model: type[Model] = rows.rows.model
    records = model._base_manager.using(rows.rows.db)
    try:
        text, params = rows.rows.order_by().values("pk").query.get_compiler(rows.rows.db).as_sql()
    except EmptyResultSet:
        return records.none()
    # S611: Django compiled the text, and values are parameters of it.
    return records.filter(pk__in=RawSQL(*with_steps(rows.steps, text, tuple(params))))  # noqa: S611
