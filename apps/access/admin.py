"""API applications in the back office: their rights, their secrets, when they were last used."""

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Count, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import formats, timezone
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelectWidget

from apps.access.callers import SecretDraft, join_scopes, offered_scopes, split_scope
from apps.access.models import AccessToken, ApiApplication, Webhook, WebhookMessage
from apps.access.services import create_applications, renew_secret, revoke_applications
from apps.access.webhook_messages import sent_records, tracked_sets
from apps.access.webhooks import (
    WebhookDraft,
    create_webhooks,
    renew_webhook_secret,
    send_again,
    update_webhooks,
)
from apps.base.errors import plural
from apps.core.admin_base import RecordAdmin, RecordForm
from apps.core.admin_base.display import list_column
from apps.core.admin_base.pages import PageAdmin, ReadOnlyAdmin


class SecretAdmin(RecordAdmin):
    """Records with a secret, which is shown once: on the page that answers the request that made it."""

    menu_group = "Administration"
    # A button of the form, so that it is a POST with its CSRF token.
    actions_submit_line: Sequence[str] = ("new_secret",)
    renew_secret: ClassVar[Callable[..., str]]

    def secret_rows(self, request: HttpRequest, record: Model) -> list[tuple[str, str]]:
        """Labels and texts that the page shows beside the secret."""
        raise NotImplementedError

    def store(self, record: ApiApplication | Webhook, draft: Any, **options: object) -> None:
        super().store(record, draft, **options)
        record.one_time_secret = draft.new_secret or None

    @action(description="Save and make a new secret", permissions=["change"])
    def new_secret(self, request: HttpRequest, obj: ApiApplication | Webhook) -> None:
        obj.one_time_secret = self.renew_secret(obj)

    def response_add(
        self, request: HttpRequest, obj: Model, post_url_continue: object = None
    ) -> HttpResponse:
        return self.secret_page(request, obj)

    def response_change(self, request: HttpRequest, obj: ApiApplication | Webhook) -> HttpResponse:
        if obj.one_time_secret:
            return self.secret_page(request, obj)
        return super().response_change(request, obj)

    def secret_page(self, request: HttpRequest, obj: Any) -> HttpResponse:
        # Answered without a redirect: a message on the next page would lie in a cookie or a session.
        return self.render_page(
            request,
            "access/secret.html",
            f"The secret of the {self.opts.verbose_name} {obj}",
            rows=self.secret_rows(request, obj),
            secret=obj.one_time_secret,
        )


#: A program has so long to take its new secret.
FORMER_SECRET_LIFE = dt.timedelta(days=1)


class ApiApplicationForm(RecordForm):
    """Scopes are checkboxes; the model has them as one text."""

    scope = forms.MultipleChoiceField(
        label="Scopes",
        choices=lambda: [(scope, scope) for scope in offered_scopes()],
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="read and write are for everything. write does not include read. write and staff.write set"
        " the role and the email of anybody, and so open all that an administrator may do.",
    )

    class Meta:
        model = ApiApplication
        fields = (
            *("name", "scope", "sees_everybody", "locations", "teams", "account_managers"),
            *("requests_per_minute", "requests_per_day"),
        )

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        self.initial["scope"] = sorted(split_scope(self.instance.scope))

    def clean_scope(self) -> str:
        return join_scopes(self.cleaned_data["scope"])


@admin.register(ApiApplication)
class ApiApplicationAdmin(SecretAdmin):
    """Archiving an application revokes it, with all its tokens."""

    purpose = "Programs that use the interface, each with a secret of its own."
    menu_order = 910
    icon = "key"

    form = ApiApplicationForm
    draft_class = SecretDraft
    create = staticmethod(create_applications)
    archive = staticmethod(revoke_applications)
    renew_secret = staticmethod(renew_secret)
    actions_submit_line = ("new_secret", "second_secret")
    list_display = ("name", "scope", "sees_everybody", "state", "last_used_at", "creation_date")
    search_fields = ("name", "client_id")
    search_help_text = "Name or client id"
    readonly_fields = ("client_id", "last_used_at")

    @display(description="State", label={"In use": "success", "Revoked": "danger"})
    def state(self, application: ApiApplication) -> str:
        return "Revoked" if application.is_archived else "In use"

    def get_fields(self, request: HttpRequest, obj: ApiApplication | None = None) -> Sequence[str]:
        of_form = ApiApplicationForm.Meta.fields
        return of_form if obj is None else (*of_form, *self.readonly_fields)

    def secret_rows(self, request: HttpRequest, record: ApiApplication) -> list[tuple[str, str]]:
        address = request.build_absolute_uri("/connect/token")
        example = (
            f"curl --user '{record.client_id}:{record.one_time_secret}'"
            f" --data grant_type=client_credentials {address}"
        )
        rows = [("Client id", record.client_id), ("A token, for an hour", example)]
        if record.previous_secret_until is not None:
            until = formats.date_format(timezone.localtime(record.previous_secret_until), "DATETIME_FORMAT")
            rows.append(("The former secret is valid until", until))
        return rows

    @action(description="Save and make a second secret", permissions=["change"])
    def second_secret(self, request: HttpRequest, obj: ApiApplication) -> None:
        obj.one_time_secret = renew_secret(obj, keep_previous=FORMER_SECRET_LIFE)

    @action(description="Revoke", permissions=["change"], icon="block")
    def archive_selected(self, request: HttpRequest, queryset: QuerySet[ApiApplication]) -> None:
        self.report_count(request, self.archive_records(request, queryset), "revoked")


@admin.register(AccessToken)
class AccessTokenAdmin(ReadOnlyAdmin):
    """Tokens that are not purged yet; each can be deleted."""

    purpose = "Tokens with which programs use the interface now."
    menu_group = "Administration"
    menu_order = 911
    icon = "confirmation_number"

    list_display = ("application", "scope", "creation_date", "expires_at")
    list_select_related = ("application",)
    search_fields = ("application__name",)
    fields = ("application", "scope", "creation_date", "expires_at")

    has_delete_permission = PageAdmin.has_delete_permission


class WebhookForm(RecordForm):
    """Entity sets are chosen from those of the service."""

    entity_set = forms.ChoiceField(
        label="Entity set",
        choices=lambda: [(name, name) for name in tracked_sets()],
        widget=UnfoldAdminSelectWidget,
    )

    class Meta:
        model = Webhook
        fields = ("application", "entity_set", "filter", "address", "includes_records")


@admin.register(Webhook)
class WebhookAdmin(SecretAdmin):
    """Archiving stops a webhook."""

    purpose = "Addresses that receive a message when records change."
    menu_order = 912
    icon = "webhook"

    form = WebhookForm
    draft_class = WebhookDraft
    create = staticmethod(create_webhooks)
    update = staticmethod(update_webhooks)
    renew_secret = staticmethod(renew_webhook_secret)
    list_display = ("application", "entity_set", "address", "waiting", "failed", "receiver", "archived")
    list_select_related = ("application",)
    search_fields = ("application__name", "entity_set", "address")
    search_help_text = "Application, entity set or address"
    fields = WebhookForm.Meta.fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Webhook]:
        states = {name: Count("messages", filter=Q(messages__state=name.title())) for name in COUNTED_STATES}
        return super().get_queryset(request).annotate(**states)

    waiting = list_column("Waiting messages", "waiting", int)
    failed = list_column("Failed messages", "failed", int)

    @display(description="Receiver", ordering="paused_until")
    def receiver(self, webhook: Webhook) -> str:
        if webhook.paused_until is None:
            return ""
        again = formats.date_format(timezone.localtime(webhook.paused_until), "SHORT_DATETIME_FORMAT")
        return f"{plural(webhook.failures, 'failure')} in a row, next {again}"

    def secret_rows(self, request: HttpRequest, record: Webhook) -> list[tuple[str, str]]:
        return [
            (f"Messages about {record.entity_set} are sent to", record.address),
            ("What the receiver refuses until it knows the secret is sent again", "for three days"),
        ]


#: The states of messages that the list of webhooks counts.
COUNTED_STATES = ("waiting", "failed")


@admin.register(WebhookMessage)
class WebhookMessageAdmin(ReadOnlyAdmin):
    """Messages of the last month; those that failed can be sent again."""

    purpose = "Messages to webhooks of the last month, and what their receivers answered."
    menu_group = "Administration"
    menu_order = 913
    icon = "send"

    list_display = ("creation_date", "webhook", "state_label", "attempts", "result", "next_attempt")
    list_select_related = ("webhook__application",)
    list_filter = (("state", ChoicesDropdownFilter),)
    fields = ("webhook", "creation_date", "state", "attempts", "result", "next_attempt", "body")
    readonly_fields = fields
    actions = ("send_again_selected",)
    has_change_permission = PageAdmin.has_change_permission

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: object, **options: object
    ) -> HttpResponse:
        shown = {"shown_records": sent_records(context["original"])}
        return super().render_change_form(request, {**context, **shown}, *args, **options)

    state_label = list_column(
        "State", "state", label={"Waiting": "info", "Delivered": "success", "Failed": "danger"}
    )

    @action(description="Send again", permissions=["change"], icon="replay")
    def send_again_selected(self, request: HttpRequest, queryset: QuerySet[WebhookMessage]) -> None:
        self.message_user(request, f"{plural(send_again(queryset), 'message')} will be sent again.")
