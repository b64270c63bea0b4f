"""The back office's page of one's own notices."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import get_script_prefix
from django.utils import timezone
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from apps.core.admin_base import ConditionFilter, Conditions, Page
from apps.core.admin_base.display import link, list_column
from apps.core.admin_base.pages import OwnRecordsAdmin
from apps.core.models import Notice, NoticePreference
from apps.core.notices import noticed_records, visible_notices, without_prefix
from apps.core.read_log import ShownRecords

COLOURS = {"Finished": "info", "Assigned": "success", "Due": "warning"}


class NewFilter(ConditionFilter):
    """Notices by whether they have been read."""

    title = "new"
    parameter_name = "new"

    def conditions(self, model: type[Model]) -> Conditions:
        return {"yes": ("New", Q(read_at=None)), "no": ("Read", Q(read_at__isnull=False))}


@admin.register(Notice)
class NoticeAdmin(OwnRecordsAdmin):
    """The notices of the person who looks, each a link that marks it as read."""

    purpose = "What was assigned to you, what is due, and which imports and exports have ended."
    menu_group = "Records"
    menu_order = 90
    icon = "notifications"
    list_display = ("notice", "kind_label", "at", "new")
    list_display_links: ClassVar[Any] = None
    list_filter = (("kind", ChoicesDropdownFilter), NewFilter)
    list_before_template = "admin/notices.html"
    list_pages = (Page("read-all", method="POST"), Page("preference", method="POST"))
    record_pages = (Page("visit", method="GET"),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Notice]:
        return visible_notices(request.user, super().get_queryset(request))

    def named_records(self, entries: Sequence[Notice]) -> ShownRecords:
        return noticed_records(entries)

    @display(description="notice")
    def notice(self, notice: Notice) -> str:
        return link(self.page_url("visit", notice.pk), notice.text)

    kind_label = list_column("kind", "kind", label=COLOURS)

    @display(description="", label={"New": "primary"})
    def new(self, notice: Notice) -> str | None:
        return None if notice.read_at else "New"

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        by_mail = NoticePreference.objects.filter(staff_id=str(request.user.pk), by_mail=True).exists()
        return super().changelist_view(request, {"by_mail": by_mail, **(extra_context or {})})

    def visit_page(self, request: HttpRequest, record: Notice) -> HttpResponse:
        Notice.objects.filter(pk=record.pk, read_at=None).update(read_at=timezone.now())
        return redirect(get_script_prefix().rstrip("/") + without_prefix(record.url))

    def read_all_page(self, request: HttpRequest) -> HttpResponse:
        self.get_queryset(request).filter(read_at=None).update(read_at=timezone.now())
        return redirect(self.page_url("changelist"))

    def preference_page(self, request: HttpRequest) -> HttpResponse:
        """Let notices be mailed, or no longer."""
        by_mail = request.POST.get("by_mail") == "1"
        NoticePreference.objects.update_or_create(
            staff_id=str(request.user.pk), defaults={"by_mail": by_mail}
        )
        return redirect(self.page_url("changelist"))
