"""API applications in the back office: who may call, with what rights, and when they last did."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from apps.access import scopes
from apps.access.models import AccessToken, ApiApplication
from apps.access.registering import give_secret, renew_secret, restore_application, revoke_application
from apps.core.admin_base import RecordAdmin, RecordForm


def scope_choices() -> list[tuple[str, str]]:
    """A box to tick for every scope of this service."""
    return [(scope, scope) for scope in scopes.offered()]


class ApiApplicationForm(RecordForm):
    """Scopes are boxes to tick; the model keeps them as one string."""

    scope = forms.MultipleChoiceField(
        label="Scopes",
        choices=scope_choices,
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="read and write are for everything. write does not include read.",
    )

    class Meta:
        model = ApiApplication
        fields = ("name", "scope", "requests_per_minute", "requests_per_day")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.initial["scope"] = sorted(scopes.words(self.instance.scope))

    def clean_scope(self) -> str:
        return scopes.spelled(self.cleaned_data["scope"])


@admin.register(ApiApplication)
class ApiApplicationAdmin(RecordAdmin):
    """A secret is shown on the page that answers its making, and nowhere else, ever.

    Archiving an application revokes it, with every token it holds.
    """

    menu_group = "Administration"
    menu_order = 910
    icon = "key"

    form = ApiApplicationForm
    list_display = ("name", "scope", "state", "last_used_at", "creation_date")
    search_fields = ("name", "client_id")
    search_help_text = "Name or client id"
    readonly_fields = ("client_id", "last_used_at")
    # A button of the form, so that it is a POST with its CSRF token.
    actions_submit_line = ("new_secret",)

    @display(description="State", label={"In use": "success", "Revoked": "danger"})
    def state(self, application: ApiApplication) -> str:
        return "Revoked" if application.is_archived else "In use"

    def get_fields(self, request: HttpRequest, obj: ApiApplication | None = None) -> Any:
        of_form = ApiApplicationForm.Meta.fields
        return of_form if obj is None else (*of_form, *self.readonly_fields)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.shown_secret = give_secret(obj)
        super().save_model(request, obj, form, change)

    @action(description="Save and make a new secret", permissions=["change"])
    def new_secret(self, request: HttpRequest, obj: Any) -> None:
        obj.shown_secret = renew_secret(obj)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> HttpResponse:
        return self.secret_page(request, obj)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        if hasattr(obj, "shown_secret"):
            return self.secret_page(request, obj)
        return super().response_change(request, obj)

    def secret_page(self, request: HttpRequest, obj: Any) -> HttpResponse:
        # Answered without a redirect: a message on the next page would lie in a cookie or a session.
        context = {
            **self.admin_site.each_context(request),
            "title": f"The secret of {obj.name}",
            "opts": self.opts,
            "application": obj,
            "secret": obj.shown_secret,
            "token_address": request.build_absolute_uri("/connect/token"),
        }
        return TemplateResponse(request, "access/secret.html", context)

    def archive_records(self, request: HttpRequest, records: QuerySet[ApiApplication]) -> int:
        current = list(records.filter(archive_date=None))
        for application in current:
            revoke_application(application)
        return len(current)

    @action(description="Revoke", permissions=["change"], icon="block")
    def archive_selected(self, request: HttpRequest, queryset: QuerySet[ApiApplication]) -> None:
        self.report_count(request, self.archive_records(request, queryset), "revoked")

    @action(description="Restore", permissions=["change"], icon="restart_alt")
    def restore_selected(self, request: HttpRequest, queryset: QuerySet[ApiApplication]) -> None:
        revoked = list(queryset.exclude(archive_date=None))
        for application in revoked:
            restore_application(application)
        self.report_count(request, len(revoked), "restored")


@admin.register(AccessToken)
class AccessTokenAdmin(ModelAdmin):
    """Tokens not yet purged, to be looked at and taken away one by one."""

    menu_group = "Administration"
    menu_order = 911
    icon = "confirmation_number"

    list_display = ("application", "scope", "creation_date", "expires_at")
    list_select_related = ("application",)
    search_fields = ("application__name",)
    fields = ("application", "scope", "creation_date", "expires_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
