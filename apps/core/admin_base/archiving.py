"""Archiving in the back office: the actions on many records, the page of one record."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.decorators import action, display

from apps.base.drafts import Issue, ValidationFailed
from apps.core import archive
from apps.core.admin_base.display import list_url
from apps.core.admin_base.pages import Page, PageAdmin, RecordLink
from apps.core.caseload import visible_rows
from apps.core.models import TimestampedModel
from apps.core.services import Service, service_of

#: The page that asks before a record is archived or restored.
ARCHIVING = Page("archiving", permission="change")


class ArchivingAdmin(PageAdmin):
    """Records are archived and restored, one at a time or selected in their list, and never deleted."""

    record_pages: ClassVar[Any] = (ARCHIVING,)
    #: The title of the link to the page.
    archive_title: ClassVar[str] = "Archive"
    #: Where the resource of the model, or a model without one, does not name it.
    archive: ClassVar[Service | None] = None

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    @display(description="", label={"Archived": "warning"})
    def archived(self, record: TimestampedModel) -> str | None:
        """A column that marks archived records in lists that show both."""
        return "Archived" if record.is_archived else None

    def changeable(self, request: HttpRequest, records: QuerySet[models.Model]) -> QuerySet[models.Model]:
        """The records among these that this person may change; all, unless a permission differs by record."""
        return records

    def archive_records(self, request: HttpRequest, records: QuerySet[models.Model], **options: bool) -> int:
        """Archive the records that may be, and return how many; messages say why others may not."""
        service = partial(self.archive or service_of(self.model, "archive"), **options)
        count, refused = call_where_allowed(service, self.changeable(request, records))
        self.show_issues(request, refused.values())
        return count

    def restore_records(self, request: HttpRequest, records: QuerySet[models.Model]) -> int:
        """Restore the records and return how many."""
        return archive.restore(self.changeable(request, records))

    @action(description="Archive", permissions=["change"], icon="archive")
    def archive_selected(self, request: HttpRequest, queryset: QuerySet[models.Model]) -> None:
        self.report_count(request, self.archive_records(request, queryset), "archived")

    @action(description="Restore", permissions=["change"], icon="unarchive")
    def restore_selected(self, request: HttpRequest, queryset: QuerySet[models.Model]) -> None:
        self.report_count(request, self.restore_records(request, queryset), "restored")

    def show_issues(self, request: HttpRequest, issues: Iterable[Issue]) -> None:
        """Each text once, though many records may have it."""
        for text in dict.fromkeys(issue.message for issue in issues):
            self.message_user(request, text, messages.ERROR)

    def report_count(self, request: HttpRequest, count: int, done: str) -> None:
        """A message such as ``2 clients archived.``"""
        noun = self.opts.verbose_name if count == 1 else self.opts.verbose_name_plural
        level = messages.SUCCESS if count else messages.WARNING
        self.message_user(request, f"{count or 'No'} {noun} {done}.", level)

    # --- the page of one record

    def record_links(self, request: HttpRequest, record: Any) -> list[RecordLink]:
        links = super().record_links(request, record)
        if ARCHIVING not in self.record_pages or not self.has_change_permission(request):
            return links
        title = "Restore" if record.is_archived else self.archive_title
        address = self.page_url(ARCHIVING.name, record.pk)
        return [*links, RecordLink(title, address, is_minor=not record.is_archived)]

    def archiving_page(self, request: HttpRequest, record: TimestampedModel) -> HttpResponse:
        """Ask before one record is archived or restored, showing what is linked to it; then do it."""
        effect = "" if record.is_archived else self.archiving_effect(record)
        if request.method == "POST" and request.POST.get("effect", "") == effect:
            self.change_archive_status(request, record, **({"ignore_warnings": True} if effect else {}))
            return redirect(self.page_url("change", record.pk))
        title = f"{'Restore' if record.is_archived else 'Archive'} {record}"
        linked = linked_records(record, request.user)
        context = {"linked_records": linked, "effect": effect}
        return self.render_page(request, "admin/archiving.html", title, record, **context)

    def archiving_effect(self, record: Any) -> str:
        """The warnings of the service that archives, which the page shows; empty when there are none."""
        return ""

    def change_archive_status(self, request: HttpRequest, record: TimestampedModel, **options: bool) -> None:
        """Archive the record, or restore it when it is archived."""
        records = self.model._default_manager.filter(pk=record.pk)
        if record.is_archived:
            self.report_count(request, self.restore_records(request, records), "restored")
            return
        self.report_count(request, self.archive_records(request, records, **options), "archived")


def call_where_allowed(service: Service, records: QuerySet[models.Model]) -> tuple[int, Mapping[Any, Issue]]:
    """Call a service with the records it accepts: how many it changed, and the first issue of the others."""
    try:
        return service(records), {}
    except ValidationFailed as failed:
        keys = list(records.order_by("pk").values_list("pk", flat=True))
        refused = {keys[number]: issue for number, issue in reversed(failed.issues)}
    return service(records.exclude(pk__in=refused)), refused


def linked_records(record: models.Model, person: object) -> list[dict[str, object]]:
    """How many current records of each model, of those that a person sees, refer to this one, with the
    address of their list, and how many of them are still open."""
    found = []
    for relation in record._meta.related_objects:
        model, column = relation.related_model, relation.field
        if not issubclass(model, TimestampedModel):
            continue
        linked = model._default_manager.filter(**{column.name: record.pk, "archive_date": None})
        seen = visible_rows(person, linked)
        count = seen.count()
        if count:
            still_open = None if model.open_records is None else seen.filter(model.open_records).count()
            noun = model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural
            what, url = f"{noun} ({column.verbose_name})", None
            if admin.site.is_registered(model):
                url = list_url(model, **{f"{column.name}__{column.target_field.name}__exact": record.pk})
            found.append({"count": count, "what": what, "url": url, "still_open": still_open})
    return found
