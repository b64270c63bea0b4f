"""Filters of lists that several apps have, and their pages."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.forms import Media
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property
from unfold.contrib.filters.admin import (
    AutocompleteSelectFilter,
    RadioFilter,
    RangeDateFilter,
    RangeNumericFilter,
)
from unfold.contrib.filters.forms import AutocompleteDropdownForm, RangeDateForm, RangeNumericForm
from unfold.utils import parse_date_str, parse_datetime_str

from apps.base import clock
from apps.core.admin_base.forms import AmountField, offer_visible_records

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

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
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


class TypedRange:
    """A range between two texts. One that cannot be read does not filter, and a message says so."""

    examples: ClassVar[str]
    #: The operator of the second text.
    until: ClassVar[str] = "lt"
    parameter_name: Any
    used_parameters: Any

    def limits(self, text: str) -> tuple[Any, Any] | None:
        """The first value of a range that begins with the text, and the limit of one that ends with it."""
        raise NotImplementedError

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        for operator, end in (("gte", "from"), (self.until, "to")):
            text = self.used_parameters.get(f"{self.parameter_name}_{end}")
            if not isinstance(text, str) or not text.strip():
                continue
            limits = self.limits(text.strip())
            if limits is None:
                # The worker that writes an export has nobody to show it to.
                message = f"“{text}” does not filter the list: write {self.examples}."
                messages.warning(request, message, fail_silently=True)
            else:
                queryset = queryset.filter(**{f"{self.parameter_name}__{operator}": limits[end == "to"]})
        return queryset


class AmountRangeForm(RangeNumericForm):
    """Two amounts as text, as Firefox sends nothing of a number field that has ``1,000``."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        for end in ("from", "to"):
            attributes = {**self.fields[f"{name}_{end}"].widget.attrs, "inputmode": "decimal"}
            text = forms.CharField(label="", required=False, widget=forms.TextInput(attributes))
            self.fields[f"{name}_{end}"] = text


class AmountRangeFilter(TypedRange, RangeNumericFilter):
    """From the first amount to the last, each as invoices show it."""

    examples = "1616.26"
    until = "lte"

    def limits(self, text: str) -> tuple[object, object] | None:
        try:
            amount = AmountField().clean(text)
        except forms.ValidationError:
            return None
        return amount, amount

    def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
        (choice,) = super().choices(changelist)
        yield {**choice, "form": AmountRangeForm(self.parameter_name, data=choice["form"].data)}


class DateRangeFilter(TypedRange, RangeDateFilter):
    """From the first day to the last."""

    examples = "31/12/2026"

    def limits(self, text: str) -> tuple[Any, Any] | None:
        day = parse_date_str(text)
        return (day, day + dt.timedelta(days=1)) if day is not None and day < dt.date.max else None


class DateTimeRangeForm(RangeDateForm):
    """Two days, each with or without a time of day."""

    def __init__(self, name: str, *args: object, **options: object) -> None:
        super().__init__(name, *args, **options)
        for end in ("from", "to"):
            self.fields[f"{name}_{end}"].widget.attrs["placeholder"] = (
                f"{end.capitalize()}: day, or day and time"
            )


class DateTimeRangeFilter(DateRangeFilter):
    """From the first moment to the last, in the subscriber's time zone.

    A day without a time begins with its first moment and ends with its last; a minute likewise.
    """

    form_class = DateTimeRangeForm
    examples = "31/12/2026 or 31/12/2026 14:30"

    def limits(self, text: str) -> tuple[object, object] | None:
        days = super().limits(text)
        if days is not None:
            # Moments rather than days are compared, so that an index finds them.
            return clock.start_of_day(days[0]), clock.start_of_day(days[1])
        minute = parse_datetime_str(text)
        if minute is None or minute.year in (dt.MINYEAR, dt.MAXYEAR):
            return None
        start = timezone.make_aware(minute)
        return start, start + dt.timedelta(minutes=1)


# --- records to choose from ------------------------------------------------------------------------------


class RecordFilterForm(AutocompleteDropdownForm):
    """The field of a filter by a record, which names none that the person does not see."""

    def __init__(self, request: HttpRequest, *args: Any, **options: Any) -> None:
        super().__init__(request, *args, **options)
        offer_visible_records(self, request.user)


class RecordFilter(AutocompleteSelectFilter):
    """A filter by a record that is looked up."""

    form_class = RecordFilterForm


# --- scripts of filters ---------------------------------------------------------------------------------


def filter_media(filters: Iterable[object]) -> Media:
    """The scripts and style sheets of the fields of filters, by the forms that have those fields.

    The library names a larger script than the forms of records load.
    """
    media = Media()
    for each in filters:
        filter_class = each[1] if isinstance(each, tuple | list) else each
        declared = getattr(getattr(filter_class, "form_class", None), "Media", None)
        if declared is not None:
            names = [name.replace("select2.full.js", "select2.full.min.js") for name in declared.js]
            media += Media(js=names, css=getattr(declared, "css", {}))
    return media


# --- pages of a list ------------------------------------------------------------------------------------


class CappedPaginator(Paginator):
    """Pages of a list whose rows are counted up to the limit: beyond it, the list has to be filtered."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by()[:COUNT_LIMIT].count())
