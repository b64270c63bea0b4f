"""Filters of lists that several apps have."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import ModelAdmin
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import RadioFilter, RangeDateFilter
from unfold.utils import parse_date_str

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
        for operator, text in (("gte", first), ("lte", last)):
            day = parse_date_str(text) if isinstance(text, str) else None
            if day is not None:
                queryset = queryset.filter(**{f"{self.parameter_name}__date__{operator}": day})
        return queryset
