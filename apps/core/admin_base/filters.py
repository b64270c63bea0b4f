"""Filters of lists that several apps have, and their pages."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.contrib.admin import ModelAdmin
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from unfold.contrib.filters.admin import RadioFilter, RangeDateFilter
from unfold.utils import parse_date_str

from apps.odata import clock

#: Nobody looks through more records than so many one by one; beyond it a queue says "10,000+".
COUNT_LIMIT = 10_000

#: The label and the condition of each choice of a filter.
Conditions = dict[str, tuple[str, Q]]


class ConditionFilter(RadioFilter):
    """A filter whose choices are conditions; that of the choice ``""`` holds until another is made."""

    all_option = None  # RadioFilter would add a choice of its own

    def conditions(self, model: type[Model]) -> Conditions:
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        conditions: Conditions = {"": ("All", Q()), **self.conditions(model_admin.model)}
        return [(value, label) for value, (label, _) in conditions.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        conditions = self.conditions(queryset.model)
        chosen = conditions.get(self.value() or "") or conditions.get("")
        return queryset.filter(chosen[1]) if chosen else queryset


class ArchivedFilter(ConditionFilter):
    """Current records unless somebody asks for others."""

    title = "archived"
    parameter_name = "archived"

    def conditions(self, model: type[Model]) -> Conditions:
        current = Q(archive_date=None)
        return {"": ("Current", current), "yes": ("Archived", ~current), "all": ("All", Q())}


class DateTimeRangeFilter(RangeDateFilter):
    """From the start of the first day to the end of the last, in the subscriber's time zone."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        first, last = (self.used_parameters.get(f"{self.parameter_name}_{end}") for end in ("from", "to"))
        for operator, text, days in (("gte", first, 0), ("lt", last, 1)):
            day = parse_date_str(text) if isinstance(text, str) else None
            if day is not None and day < dt.date.max:
                # Moments rather than days are compared, so that an index finds them.
                start = clock.start_of_day(day + dt.timedelta(days=days))
                queryset = queryset.filter(**{f"{self.parameter_name}__{operator}": start})
        return queryset


# --- pages of a list ------------------------------------------------------------------------------------


class CappedPaginator(Paginator):
    """Pages of a list whose rows are counted up to the limit: beyond it, the list has to be filtered."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by()[:COUNT_LIMIT].count())
