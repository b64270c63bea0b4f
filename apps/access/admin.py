"""API applications in the back office: their rights, their secrets, when they were last used."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelectWidget

from apps.access.callers import join_scopes, offered_scopes, split_scope
from apps.access.models import AccessToken, ApiApplication, Webhook, WebhookMessage
from apps.access.services import (
    ApplicationDraft,
    create_applications,
    renew_secret,
    revoke_applications,
)
from apps.access.webhooks import (
    WebhookDraft,
    create_webhooks,
    renew_webhook_secret,
    send_again,
    update_webhooks,
)
from apps.core.admin_base import RecordAdmin, RecordForm
from apps.core.admin_base.pages import PageAdmin
from apps.odata.declaration.service import get_service
from apps.odata.errors import plural


def scope_choices() -> list[tuple[str, str]]:
    return [(scope, scope) for scope in offered_scopes()]


class ApiApplicationForm(RecordForm):
    """Scopes are checkboxes; the model has them as one text."""

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
        self.initial["scope"] = sorted(split_scope(self.instance.scope))

    def clean_scope(self) -> str:
        return join_scopes(self.cleaned_data["scope"])


@admin.register(ApiApplication)
class ApiApplicationAdmin(RecordAdmin):
    """A secret is shown once, on the page that answers the request that made it.

    Archiving an application revokes it, with all its tokens.
    """

    purpose = "Programs that use the interface, each with a secret of its own."
    menu_group = "Administration"
    menu_order = 910
    icon = "key"

    form = ApiApplicationForm
    draft_class = ApplicationDraft
    create = staticmethod(create_applications)
    archive = staticmethod(revoke_applications)
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

    def store(self, record: ApiApplication, draft: Any, **options: Any) -> None:
        super().store(record, draft, **options)
        record.one_time_secret = draft.secret or None

    @action(description="Save and make a new secret", permissions=["change"])
    def new_secret(self, request: HttpRequest, obj: Any) -> None:
        obj.one_time_secret = renew_secret(obj)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> HttpResponse:
        return self.secret_page(request, obj)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        if obj.one_time_secret:
            return self.secret_page(request, obj)
        return super().response_change(request, obj)

    def secret_page(self, request: HttpRequest, obj: Any) -> HttpResponse:
        # Answered without a redirect: a message on the next page would lie in a cookie or a session.
        return self.render_page(
            request,
            "access/secret.html",
            f"The secret of {obj.name}",
            application=obj,
            secret=obj.one_time_secret,
            token_address=request.build_absolute_uri("/connect/token"),
        )

    @action(description="Revoke", permissions=["change"], icon="block")
    def archive_selected(self, request: HttpRequest, queryset: QuerySet[ApiApplication]) -> None:
        self.report_count(request, self.archive_records(request, queryset), "revoked")


@admin.register(AccessToken)
class AccessTokenAdmin(PageAdmin):
    """Tokens that are not purged yet; each can be deleted."""

    purpose = "Tokens with which programs use the interface now."
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


def entity_set_choices() -> list[tuple[str, str]]:
    return [(entity_set.name, entity_set.name) for entity_set in get_service().entity_sets]


class WebhookForm(RecordForm):
    """Entity sets are chosen from those of the service."""

    entity_set = forms.ChoiceField(
        label="Entity set", choices=entity_set_choices, widget=UnfoldAdminSelectWidget
    )

    class Meta:
        model = Webhook
        fields = ("application", "entity_set", "filter", "address", "includes_records")


@admin.register(Webhook)
class WebhookAdmin(RecordAdmin):
    """Secrets are shown once, like those of applications. Archiving stops a webhook."""

    purpose = "Addresses that receive a message when records change."
    menu_group = "Administration"
    menu_order = 912
    icon = "webhook"

    form = WebhookForm
    draft_class = WebhookDraft
    create = staticmethod(create_webhooks)
    update = staticmethod(update_webhooks)
    list_display = ("application", "entity_set", "address", "waiting", "failed", "archived")
    list_select_related = ("application",)
    search_fields = ("application__name", "entity_set", "address")
    search_help_text = "Application, entity set or address"
    fields = WebhookForm.Meta.fields
    actions_submit_line = ("new_secret",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Webhook]:
        states = {name: Count("messages", filter=Q(messages__state=name.title())) for name in COUNTED_STATES}
        return super().get_queryset(request).annotate(**states)

    @display(description="Waiting messages", ordering="waiting")
    def waiting(self, webhook: Any) -> int:
        return int(webhook.waiting)

    @display(description="Failed messages", ordering="failed")
    def failed(self, webhook: Any) -> int:
        return int(webhook.failed)

    def store(self, record: Webhook, draft: Any, **options: Any) -> None:
        super().store(record, draft, **options)
        record.one_time_secret = getattr(draft, "new_secret", None) or None

    @action(description="Save and make a new secret", permissions=["change"])
    def new_secret(self, request: HttpRequest, obj: Any) -> None:
        obj.one_time_secret = renew_webhook_secret(obj)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> HttpResponse:
        return self.secret_page(request, obj)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return (
            self.secret_page(request, obj) if obj.one_time_secret else super().response_change(request, obj)
        )

    def secret_page(self, request: HttpRequest, obj: Any) -> HttpResponse:
        title = f"The secret of the webhook {obj}"
        return self.render_page(
            request, "access/webhook_secret.html", title, webhook=obj, secret=obj.one_time_secret
        )


#: The states of messages that the list of webhooks counts.
COUNTED_STATES = ("waiting", "failed")


@admin.register(WebhookMessage)
class WebhookMessageAdmin(PageAdmin):
    """Messages of the last month; those that failed can be sent again."""

    purpose = "Messages to webhooks of the last month, and what their receivers answered."
    menu_group = "Administration"
    menu_order = 913
    icon = "send"

    list_display = ("creation_date", "webhook", "state_label", "attempts", "result", "next_attempt")
    list_select_related = ("webhook__application",)
    list_filter = ("state",)
    fields = ("webhook", "creation_date", "state", "attempts", "result", "next_attempt", "body")
    readonly_fields = fields
    actions = ("send_again_selected",)
    show_full_result_count = False

    @display(
        description="State",
        ordering="state",
        label={"Waiting": "info", "Delivered": "success", "Failed": "danger"},
    )
    def state_label(self, message: WebhookMessage) -> str:
        return message.state

    @action(description="Send again", permissions=["change"], icon="replay")
    def send_again_selected(self, request: HttpRequest, queryset: QuerySet[WebhookMessage]) -> None:
        self.message_user(request, f"{plural(send_again(queryset), 'message')} will be sent again.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
