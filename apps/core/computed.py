"""Decimals that the database computes in every query, so that they are never out of date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, Func, OuterRef, Subquery, Sum
from django.db.models.expressions import Col
from django.db.models.functions import Coalesce
from django.db.models.sql.compiler import SQLCompiler

from apps.base.placeholders import TODAY, with_today


def to_the_cent(sql: str) -> str:
    """The SQL of an amount of money that the database adds, rounded alike on both engines.

    SQLite adds decimals as floating point: what was 0.00 comes to −1.8e-15, which no filter finds. The zero
    that is added takes the sign from another.
    """
    return f"(ROUND({sql}, 2) + 0)"


class MoneySum(Sum):
    """The sum of amounts of money, to the cent on both engines.

    Without the cast, SQLite would compare the sum with a number as with a text.
    """

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: object
    ) -> tuple[str, object]:
        sql, params = self.as_sql(compiler, connection, **context)
        return f"CAST({to_the_cent(sql)} AS NUMERIC)", params


class MoneyDifference(Func):
    """An amount of money that is worked out of columns, to the cent on both engines."""

    template = to_the_cent("%(expressions)s")
    output_field = models.DecimalField(max_digits=14, decimal_places=2)


def count_of(rows: models.QuerySet[Any], owner: str) -> Coalesce:
    """How many of the ``rows`` each record has, to which their foreign key ``owner`` leads.

    It is counted for the records that a page shows; a Count of joined rows, for all before they are sorted.
    """
    of_record = rows.filter(**{owner: OuterRef("pk")}).order_by().values(owner)
    return Coalesce(Subquery(of_record.annotate(number=Count("pk")).values("number")), 0)


class ComputedColumn(Col):
    """The expression of a computed field in a query."""

    target: ComputedDecimal

    def as_sql(self, compiler: SQLCompiler, connection: object) -> tuple[str, list[object]]:
        return with_today(self.target.sql_in(compiler.quote_name_unless_alias(self.alias))), []


class ComputedDecimal(models.DecimalField):
    """A decimal without a column: read, filtered and sorted by like any other, never written.

    ``sql`` is the value in SQL of both engines, ``{row}`` in it the name of the record's row and ``{today}``
    the day of the request:
    ``"(SELECT sum(l.price) FROM sales_line l WHERE l.order_id = {row}.guid)"``. Put what adds amounts into
    ``to_the_cent``, and mind nulls. As an attribute of a record it is a query at every access.
    """

    def __init__(self, sql: str = "0", **options: Any) -> None:
        self.sql = sql
        super().__init__(**{"editable": False, **options})

    def deconstruct(self) -> tuple[str, str, Sequence[object], dict[str, object]]:
        name, path, args, options = super().deconstruct()
        return name, path, args, {**options, "sql": self.sql}

    def get_attname_column(self) -> tuple[str, None]:
        return self.get_attname(), None

    def contribute_to_class(self, cls: type[models.Model], name: str, private_only: bool = False) -> None:
        # Private fields are found by name, and left out of inserted rows and migrations.
        super().contribute_to_class(cls, name, private_only=True)
        setattr(cls, name, property(self._value_of))

    def _value_of(self, record: models.Model) -> object:
        return type(record)._base_manager.values_list(self.name, flat=True).get(pk=record.pk)

    def sql_in(self, row: str) -> str:
        """The value in the row of that (quoted) name.

        The cast changes nothing; without it SQLite would compare an expression with a number as with a text.
        """
        return f"CAST({self.sql.format(row=row, today=TODAY)} AS NUMERIC)"

    def get_col(self, alias: Any, output_field: Any = None) -> object:
        return ComputedColumn(alias, self, output_field or self)
