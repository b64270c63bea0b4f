"""Lists of what happened to records, which are filtered, searched and exported, and never changed."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.utils.text import capfirst
from unfold.contrib.filters.admin import (
    ChoicesDropdownFilter,
    DropdownFilter,
    FieldTextFilter,
)
from unfold.decorators import display

from apps.core import history, history_display
from apps.core.admin_base.display import list_column
from apps.core.admin_base.filters import DateTimeRangeFilter, RecordFilter
from apps.core.admin_base.lists import RecordChangeList
from apps.core.admin_base.pages import Page, ReadOnlyAdmin
from apps.core.downloads import parts_response
from apps.core.exporting import csv_file
from apps.core.models import TimestampedModel
from apps.core.read_log import ShownRecords, log_shown


def may_view(request: HttpRequest, model: type[Model]) -> bool:
    """True when a person may view the records of a model."""
    if admin.site.is_registered(model):
        return bool(admin.site.get_model_admin(model).has_view_permission(request))
    return request.user.has_perm(f"{model._meta.app_label}.view_{model._meta.model_name}")


def recorded_models(request: HttpRequest) -> list[type[Model]]:
    """The models with a history whose records the person may view."""
    models = [model for model in apps.get_models() if issubclass(model, TimestampedModel)]
    return [model for model in models if may_view(request, model)]


def kind_of_record(entry: Any) -> str:
    model = history_display.model_of(entry.record_type)
    return capfirst(str(model._meta.verbose_name)) if model else str(entry.record_type)


class RecordKindFilter(DropdownFilter):
    """The entries about one kind of record."""

    title = "kind of record"
    parameter_name = "record_kind"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        kinds = [
            (model._meta.label_lower, capfirst(str(model._meta.verbose_name)))
            for model in recorded_models(request)
        ]
        return sorted(kinds, key=lambda kind: kind[1])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        return queryset.filter(record_type=self.value()) if self.value() else queryset


class AuditChangeList(RecordChangeList):
    """A page of entries with their display lines: a query for each model, not for each line."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        entries: list[Any] = list(self.result_list)
        for entry, line in zip(entries, self.model_admin.display_lines(entries), strict=True):
            entry.display_line = line
        self.result_list = entries


class AuditAdmin(ReadOnlyAdmin):
    """Entries about the records that the person may view.

    Their model has ``record_type``, and ``display_line`` for what ``display_lines`` makes of an entry.
    """

    menu_group = "Administration"
    list_filter = (
        ("at", DateTimeRangeFilter),
        ("staff", RecordFilter),
        ("application", FieldTextFilter),
        RecordKindFilter,
        ("kind", ChoicesDropdownFilter),
        ("channel", ChoicesDropdownFilter),
    )
    list_pages = (Page("export", method="GET"),)
    list_before_template = "admin/audit_export.html"
    list_display_links: ClassVar[Any] = None
    #: The first part of the name of an exported file, its columns, and the entries read at a time.
    export_name: ClassVar[str]
    export_columns: ClassVar[Sequence[str]]
    export_batch: ClassVar[int] = 500

    def display_lines(self, entries: Sequence[object]) -> Sequence[object]:
        """The entries as they are shown."""
        raise NotImplementedError

    def named_records(self, entries: Sequence[object]) -> ShownRecords:
        """The records whose values or names the entries show."""
        raise NotImplementedError

    def export_rows(self, entries: Sequence[object]) -> Iterator[Sequence[object]]:
        """The rows of an exported file, in its columns."""
        raise NotImplementedError

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        entries = super().get_queryset(request)
        if request.user.is_superuser:
            return entries  # of records as well that only another version of the service has
        return entries.filter(record_type__in=[model._meta.label_lower for model in recorded_models(request)])

    def get_changelist(self, request: HttpRequest, **options: object) -> type[ChangeList]:
        return AuditChangeList

    @display(description="kind of record", ordering="record_type")
    def record_kind(self, entry: object) -> str:
        return kind_of_record(entry)

    channel_name = list_column("channel", "channel", str)

    @display(description="who")
    def who(self, entry: Any) -> str:
        return str(entry.display_line.who)

    # --- the export

    def export_page(self, request: HttpRequest) -> StreamingHttpResponse:
        """The entries of the filtered list as CSV."""
        entries = self.filtered_records(request).order_by("-pk")
        name = f"{self.export_name}-{timezone.localdate():%Y-%m-%d}.csv"
        lines = csv_file(self.export_columns, self.all_export_rows(entries))
        return parts_response(lines, name, "text/csv; charset=utf-8")

    def all_export_rows(self, entries: QuerySet[Model]) -> Iterator[Sequence[object]]:
        """The rows of all entries, few of which are in memory at a time; the read log has each batch."""
        last, author = None, history.author()
        while batch := list((entries.filter(pk__lt=last) if last else entries)[: self.export_batch]):
            last = batch[-1].pk
            with history.as_author(author):
                log_shown("Export", self.named_records(batch), self.export_name)
            yield from self.export_rows(batch)
