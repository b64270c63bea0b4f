"""The components whose funding period runs out before its end, among all of them."""

import datetime as dt
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Func, IntegerField, Max, Min, Q, QuerySet, Value
from django.db.models.functions import Greatest
from django.db.models.lookups import GreaterThan, LessThanOrEqual
from django.db.models.sql.compiler import SQLCompiler

from apps.base.money import ZERO
from apps.core.computed import MoneySum
from apps.engagements.funding_periods import PeriodAmounts
from apps.engagements.models import FundingPeriod
from apps.engagements.period_forecast import DAYS_OF_A_PACE, forecast_period


def current_plans(today: dt.date, path: str = "") -> Q:
    """Budgets of plans that cover today; ``path`` leads to them from other records."""
    plan = f"{path}engagement"
    ended = Q((f"{plan}__plan_end_date__lt", today)) | Q((f"{plan}__no_active_plan_from_date__lte", today))
    return Q((f"{plan}__plan_start_date__lte", today), (f"{plan}__archive_date", None)) & ~ended


def load_short_components(periods: QuerySet[FundingPeriod], today: dt.date) -> dict[UUID, Decimal]:
    """The money missing by the end of today's period, by component, of those that run out before it.

    One query, a row for each period of a component that may run out.
    """
    rows = periods.filter(category_budget__in=components_that_may_run_out(periods, today))
    columns = ("first_day", "last_day", "released", "claimed", "waiting")
    found = rows.order_by("category_budget", "first_day").values_list(
        "category_budget", "category_budget__used_elsewhere", *columns
    )
    short = {}
    for (key, elsewhere), of_component in groupby(found, itemgetter(0, 1)):
        amounts = [
            PeriodAmounts(first, last, released, claimed + waiting)
            for _, _, first, last, released, claimed, waiting in of_component
        ]
        forecast = forecast_period(amounts, elsewhere, today)
        if forecast is not None and forecast.run_out_date is not None:
            short[key] = forecast.short
    return short


def components_that_may_run_out(
    periods: QuerySet[FundingPeriod], today: dt.date
) -> QuerySet[FundingPeriod, Any]:
    """The components of current plans but those whose money surely lasts, which are nearly all.

    At least so much is left for today's period: what is released by now, less all that was ever used, credits
    apart. Where its days so far went at a pace that this lasts for, nothing runs out; in the first days of a
    period at that of the fastest earlier one. So 70,000 components take 0.01 s of Python and 0.26 of
    PostgreSQL, where forecasts of all took 1.14 and 0.20.
    """
    used = F("claimed") + F("waiting")
    is_now, is_before = Q(first_day__lte=today, last_day__gte=today), Q(last_day__lt=today)
    sums = {
        "released_by_now": MoneySum("released", filter=Q(first_day__lte=today)),
        "used_ever": MoneySum(Greatest(used, ZERO)),
        "used_now": MoneySum(used, filter=is_now),
        "most_before": Max(used, filter=is_before),
        "shortest_before": Min(DaysBetween(F("first_day"), F("last_day")), filter=is_before) + 1,
        "days_gone": Max(DaysBetween(F("first_day"), Value(today)), filter=is_now) + 1,
        "days_left": Max(DaysBetween(Value(today), F("last_day")), filter=is_now),
    }
    left = F("released_by_now") - F("used_ever") - F("category_budget__used_elsewhere")
    is_spent = Q(LessThanOrEqual(left, ZERO))
    is_too_fast = Q(GreaterThan(F("used_now") * F("days_left"), left * F("days_gone")))
    was_too_fast = Q(days_gone__lt=DAYS_OF_A_PACE, most_before__gt=0) & Q(
        GreaterThan(F("most_before") * F("days_left"), left * F("shortest_before"))
    )
    found: Any = periods.filter(current_plans(today, "category_budget__")).order_by()
    found = found.values("category_budget", "category_budget__used_elsewhere").annotate(**sums)
    return found.filter(is_spent | is_too_fast | was_too_fast, days_left__gte=0).values("category_budget")


class DaysBetween(Func):
    """How many days a day lies after another one."""

    output_field = IntegerField()

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: object
    ) -> tuple[str, list[object]]:
        (since, of_since), (until, of_until) = map(compiler.compile, self.get_source_expressions())
        days = f"{until} - {since}"
        if connection.vendor == "sqlite":
            days = f"CAST(julianday({until}) - julianday({since}) AS INTEGER)"
        return f"({days})", [*of_until, *of_since]
