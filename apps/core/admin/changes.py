"""The back office's list of the changes of all records, for reading and for an auditor's export."""

import csv
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from django.apps import apps
from django.contrib import admin
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.utils.text import capfirst
from unfold.contrib.filters.admin import (
    AutocompleteSelectFilter,
    ChoicesDropdownFilter,
    DropdownFilter,
    FieldTextFilter,
)
from unfold.decorators import display

from apps.core import history_display
from apps.core.admin_base import CappedPaginator, DateTimeRangeFilter, Page
from apps.core.admin_base.display import link
from apps.core.admin_base.lists import RecordChangeList
from apps.core.admin_base.pages import PageAdmin
from apps.core.admin_base.palette import find_records, searched_pages
from apps.core.admin_base.searching import search_words
from apps.core.models import Change, TimestampedModel
from apps.odata.read.flattening import formula_safe

#: Records of each kind that a search of the changes is about, and changes exported at a time.
SEARCHED_RECORDS, EXPORT_BATCH = 50, 500
EXPORT_COLUMNS = (
    *("Time", "Person", "Application", "Channel", "Change", "Kind of record", "Record", "Identifier"),
    *("Field", "Before", "After", "Request"),
)


def may_view(request: HttpRequest, model: type[Model]) -> bool:
    """Whether a person may view the records of a model."""
    if admin.site.is_registered(model):
        return bool(admin.site.get_model_admin(model).has_view_permission(request))
    return request.user.has_perm(f"{model._meta.app_label}.view_{model._meta.model_name}")


class HistoryChangeList(RecordChangeList):
    """A page of the history with its display lines: a query for each model, not for each line."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        changes: list[Any] = list(self.result_list)  # type: ignore[has-type]
        for change, line in zip(changes, history_display.history_lines(changes), strict=True):
            change.display_line = line
        self.result_list = changes


def recorded_models(request: HttpRequest) -> list[type[Model]]:
    """The models with a history whose records the person may view."""
    models = [model for model in apps.get_models() if issubclass(model, TimestampedModel)]
    return [model for model in models if may_view(request, model)]


class RecordKindFilter(DropdownFilter):
    """The changes of one kind of record."""

    title = "kind of record"
    parameter_name = "record_kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        kinds = [
            (model._meta.label_lower, capfirst(str(model._meta.verbose_name)))
            for model in recorded_models(request)
        ]
        return sorted(kinds, key=lambda kind: kind[1])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(record_type=self.value()) if self.value() else queryset


@admin.register(Change)
class ChangeAdmin(PageAdmin):
    """The changes of all records that the person may view, to be read only."""

    menu_group = "Administration"
    menu_order = 920
    icon = "history"
    list_pages = (Page("export", method="GET"),)
    list_before_template = "admin/changes_export.html"
    list_display = ("at", "record", "record_kind", "kind_label", "who", "channel_name", "details")
    list_filter = (
        ("at", DateTimeRangeFilter),
        ("staff", AutocompleteSelectFilter),
        ("application", FieldTextFilter),
        RecordKindFilter,
        ("kind", ChoicesDropdownFilter),
        ("channel", ChoicesDropdownFilter),
    )
    list_filter_submit = True
    list_display_links: ClassVar[Any] = None
    list_per_page = 50
    paginator = CappedPaginator
    show_full_result_count = False
    search_fields = ("record_key",)
    search_help_text = "Name or number of a record, identifier, application, request id"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Change]:
        changes = super().get_queryset(request)
        if request.user.is_superuser:
            return changes  # of records as well that only another version of the service has
        return changes.filter(record_type__in=[model._meta.label_lower for model in recorded_models(request)])

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By the names and numbers of records, as the command palette finds them; else by identifiers."""
        words = search_words(search_term)
        if not words:
            return queryset, False
        changes = Q()
        for page in searched_pages(request):
            keys = [str(record.pk) for record in find_records(page, words, SEARCHED_RECORDS)]
            if keys:
                changes |= Q(record_type=page.opts.label_lower, record_key__in=keys)
        text = search_term.strip()
        identifiers = Q(record_key=text) | Q(request_id=text) | Q(application__iexact=text)
        return queryset.filter(changes or identifiers), False

    def get_changelist(self, request: HttpRequest, **options: Any) -> Any:
        return HistoryChangeList

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="record")
    def record(self, change: Any) -> str:
        line = change.display_line
        return link(line.url, line.record) if line.url else str(line.record)

    @display(description="kind of record", ordering="record_type")
    def record_kind(self, change: Change) -> str:
        return kind_of_record(change)

    @display(description="change", ordering="kind", label=history_display.COLOURS)
    def kind_label(self, change: Change) -> str:
        return change.kind

    @display(description="channel", ordering="channel")
    def channel_name(self, change: Change) -> str:
        return change.channel

    @display(description="who")
    def who(self, change: Any) -> str:
        return str(change.display_line.who)

    @display(description="details")
    def details(self, change: Any) -> str:
        return "; ".join(
            f"{each.label}: {each.before} → {each.after}" for each in change.display_line.differences
        )

    # --- the export

    def export_page(self, request: HttpRequest) -> StreamingHttpResponse:
        """The changes of the filtered list as CSV, a row for each field that changed."""
        changes = self.get_changelist_instance(request).get_queryset(request).order_by("-pk")
        name = f"changes-{timezone.localdate():%Y-%m-%d}.csv"
        return StreamingHttpResponse(
            change_lines(changes),
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )


def kind_of_record(change: Change) -> str:
    model = history_display.model_of(change.record_type)
    return capfirst(str(model._meta.verbose_name)) if model else change.record_type


class LineBuffer:
    """What ``csv`` writes to: each line is returned and kept nowhere."""

    def write(self, line: str) -> str:
        return line


def change_lines(changes: QuerySet[Change]) -> Iterator[str]:
    """The lines of the export; few changes are in memory at a time."""
    writer = csv.writer(LineBuffer())
    yield "\ufeff" + writer.writerow(EXPORT_COLUMNS)
    last = None
    while batch := list((changes.filter(pk__lt=last) if last else changes)[:EXPORT_BATCH]):
        last = batch[-1].pk
        for change, line in zip(batch, history_display.history_lines(batch), strict=True):
            for row in export_rows(change, line):
                yield writer.writerow([formula_safe(str(cell)) for cell in row])


def export_rows(change: Change, line: history_display.HistoryLine) -> Iterator[Sequence[object]]:
    person = line.who if change.staff_id else ""
    about = (
        *(timezone.localtime(change.at).isoformat(), person, change.application or "", change.channel),
        *(change.kind, kind_of_record(change), line.record, change.record_key),
    )
    for each in line.differences or [history_display.Difference("", "", "")]:
        yield (*about, each.label, each.before, each.after, change.request_id or "")
