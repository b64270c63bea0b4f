"""The back office's pages of the organisation's settings and of the history of all records."""

from typing import Any, ClassVar

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RangeDateTimeFilter
from unfold.decorators import display
from unfold.views import ChangeList

from apps.core import history_display
from apps.core.admin_base import RecordAdmin, fieldset
from apps.core.models import Change, Subscriber, TimestampedModel
from apps.core.services import save_settings

admin.site.unregister(Group)  # permissions are granted by roles


@admin.register(Subscriber)
class SubscriberAdmin(RecordAdmin):
    """One record, so no list: the menu leads straight to the form."""

    create = staticmethod(save_settings)
    update = staticmethod(save_settings)
    menu_group = "Administration"
    menu_order = 900
    icon = "tune"
    record_pages = ()
    fieldsets = (
        fieldset(None, "name", "time_zone", "currency", "email_consent_default"),
        fieldset(
            "Numbers",
            ("claim_number_prefix", "claim_number_digits"),
            ("invoice_number_prefix", "invoice_number_digits"),
            description="Running numbers for claims and invoices that come without one.",
        ),
        fieldset(
            "Modules and rules",
            "email_marketing_module",
            "payment_provider_module",
            "team_on_opportunities",
            "four_eyes",
        ),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return redirect("admin:core_subscriber_change", 1)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The settings; the defaults while nobody has saved any."""
        return super().get_object(request, "1", from_field) or Subscriber(pk=1)


def may_view(request: HttpRequest, model: type[Model]) -> bool:
    """Whether a person may view the records of a model."""
    if admin.site.is_registered(model):
        return bool(admin.site.get_model_admin(model).has_view_permission(request))
    return request.user.has_perm(f"{model._meta.app_label}.view_{model._meta.model_name}")


class HistoryChangeList(ChangeList):
    """A page of the history with its display lines: a query for each model, not for each line."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        changes: list[Any] = list(self.result_list)  # type: ignore[has-type]
        for change, line in zip(changes, history_display.history_lines(changes), strict=True):
            change.display_line = line
        self.result_list = changes


@admin.register(Change)
class ChangeAdmin(ModelAdmin):
    """The changes of all records that the person may view, to be read only."""

    menu_group = "Administration"
    menu_order = 920
    icon = "history"
    list_display = ("at", "record", "kind_label", "who", "channel_name", "details")
    list_filter = (
        ("kind", ChoicesDropdownFilter),
        ("channel", ChoicesDropdownFilter),
        ("at", RangeDateTimeFilter),
    )
    list_filter_submit = True
    list_display_links: ClassVar[Any] = None
    list_per_page = 50
    show_full_result_count = False
    search_fields = ("record_key", "application", "request_id")
    search_help_text = "A record's identifier, an application, a request id"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Change]:
        changes = super().get_queryset(request)
        if request.user.is_superuser:
            return changes  # of records as well that only another version of the service has
        models = [model for model in apps.get_models() if issubclass(model, TimestampedModel)]
        labels = [model._meta.label_lower for model in models if may_view(request, model)]
        return changes.filter(record_type__in=labels)

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
        return str(change.display_line.record)

    @display(description="kind", ordering="kind", label=history_display.COLOURS)
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
