"""Archiving in the back office: the filter of lists, the actions on many records, the page of one record."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import RadioFilter
from unfold.decorators import action, display

from apps.core import archive
from apps.core.models import TimestampedModel


class ArchivedFilter(RadioFilter):
    """Current records unless somebody asks for others."""

    title = "archived"
    parameter_name = "archived"
    all_option: ClassVar[list[str]] = ["", "Current"]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Archived"), ("all", "All")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "all":
            return queryset
        return queryset.filter(archive_date__isnull=self.value() != "yes")


class ArchivingAdmin(ModelAdmin):
    """Records are archived and restored, one at a time or selected in their list, and never deleted."""

    #: Refused to archive even for those who may change the record.
    may_be_archived: ClassVar[bool] = True

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="", label={"Archived": "warning"})
    def archived(self, record: TimestampedModel) -> str | None:
        """A column that marks archived records in lists that show both."""
        return "Archived" if record.is_archived else None

    def archive_records(self, request: HttpRequest, records: QuerySet[Any]) -> int:
        """Archive the records and return how many; a subclass first leaves out those that may not be."""
        return archive.archive(records)

    def restore_records(self, request: HttpRequest, records: QuerySet[Any]) -> int:
        """Restore the records and return how many."""
        return archive.restore(records)

    @action(description="Archive", permissions=["change"], icon="archive")
    def archive_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self.report_count(request, self.archive_records(request, queryset), "archived")

    @action(description="Restore", permissions=["change"], icon="unarchive")
    def restore_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self.report_count(request, self.restore_records(request, queryset), "restored")

    def report_count(self, request: HttpRequest, count: int, done: str) -> None:
        """A message such as ``2 clients archived.``"""
        noun = self.opts.verbose_name if count == 1 else self.opts.verbose_name_plural
        level = messages.SUCCESS if count else messages.WARNING
        self.message_user(request, f"{count or 'No'} {noun} {done}.", level)

    # --- the page of one record

    def url_name(self, page: str) -> str:
        """The name of one of this model's own pages, without ``admin:``."""
        return f"{self.opts.app_label}_{self.opts.model_name}_{page}"

    def page_url(self, page: str, object_id: Any) -> str:
        """The address of one of a record's own pages."""
        return reverse(f"admin:{self.url_name(page)}", args=[object_id])

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.archiving_view)
        archiving = path("<path:object_id>/archiving/", view, name=self.url_name("archiving"))
        return [archiving, *super().get_urls()]

    def record_links(self, request: HttpRequest, object_id: str) -> list[dict[str, str]]:
        """The links above a record's form, beside its history."""
        if not self.may_be_archived or not self.has_change_permission(request):
            return []
        link = {"title": "Archive", "icon": "archive", "title_archived": "Restore"}
        return [{**link, "link": self.page_url("archiving", object_id)}]

    def archiving_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask before one record is archived or restored, showing what is linked to it; then do it."""
        record = self.get_object(request, object_id)
        if record is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if not self.may_be_archived or not self.has_change_permission(request, record):
            raise PermissionDenied
        if request.method == "POST":
            self.change_archive_status(request, record)
            return redirect(f"admin:{self.url_name('change')}", object_id)
        context = {
            **self.admin_site.each_context(request),
            "title": f"{'Restore' if record.is_archived else 'Archive'} {record}",
            "opts": self.opts,
            "original": record,
            "linked_records": linked_records(record),
            **self.archiving_context(request, record),
        }
        return TemplateResponse(request, "admin/archiving.html", context)

    def change_archive_status(self, request: HttpRequest, record: Any) -> None:
        """Archive the record, or restore it when it is archived."""
        records = self.model._default_manager.filter(pk=record.pk)
        if record.is_archived:
            self.report_count(request, self.restore_records(request, records), "restored")
            return
        self.report_count(request, self.archive_records(request, records), "archived")

    def archiving_context(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """What a subclass adds to the page that asks before archiving."""
        return {}


def linked_records(record: models.Model) -> list[dict[str, Any]]:
    """How many current records of each model refer to this one, with the address of their list."""
    found = []
    for relation in record._meta.related_objects:
        model, column = relation.related_model, relation.field
        if not issubclass(model, TimestampedModel):
            continue
        count = model._default_manager.filter(**{column.name: record.pk, "archive_date": None}).count()
        if count:
            noun = model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural
            what = f"{noun} ({column.verbose_name})"
            found.append({"count": count, "what": what, "url": linked_list_url(model, column, record)})
    return found


def linked_list_url(model: type[models.Model], column: Any, record: models.Model) -> str | None:
    """The list of the records of a model that refer to this one; none for a model without a page."""
    if not admin.site.is_registered(model):
        return None
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{url}?{column.name}__{column.target_field.name}__exact={record.pk}"
