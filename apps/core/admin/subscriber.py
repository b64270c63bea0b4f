"""The back office's page of the organisation's settings."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from apps.base.drafts import Draft, Issue
from apps.core.admin_base import RecordLink, fieldset
from apps.core.admin_base.display import list_url
from apps.core.admin_base.settings_pages import SettingsAdmin
from apps.core.models import Subscriber
from apps.core.services import save_settings

#: The lists that belong to the settings, by the apps that own the records.
SETTINGS_LISTS: list[type[Model]] = []
#: What the agency's numbers of plan managers begin with.
REGISTRATION_PREFIX = "405"


@admin.register(Subscriber)
class SubscriberAdmin(SettingsAdmin):
    create = staticmethod(save_settings)
    update = staticmethod(save_settings)
    menu_order = 900
    icon = "tune"
    fieldsets = (
        fieldset(None, "name", "time_zone", "currency", "day_first", "email_consent_default"),
        fieldset(
            "Numbers",
            ("claim_number_prefix", "claim_number_digits"),
            ("invoice_number_prefix", "invoice_number_digits"),
            description="Running numbers for claims and invoices that come without one.",
        ),
        fieldset("Agency", "registration_number"),
        fieldset("Invoices as PDF", "business_number", "invoice_sender", "payment_details"),
        fieldset(
            "Modules and rules",
            "email_marketing_module",
            "payment_provider_module",
            "team_on_opportunities",
            "four_eyes",
            "hold_reasons",
            "remittance_tolerance",
        ),
    )

    def find_warnings_to_confirm(self, draft: Draft, person: object) -> list[Issue]:
        """Warn of a new registration number that begins otherwise than the agency's."""
        number = draft.get("registration_number") or ""
        if not number or number.startswith(REGISTRATION_PREFIX):
            return []
        if number == Subscriber.current().registration_number:
            return []
        start, given = REGISTRATION_PREFIX, number[: len(REGISTRATION_PREFIX)]
        message = f"The agency's number of a plan manager begins with {start}, this one with {given}."
        return [Issue("UnusualNumber", "registration_number", message)]

    def record_links(self, request: HttpRequest, record: Any) -> list[RecordLink]:
        pages: list[Any] = [admin.site.get_model_admin(model) for model in SETTINGS_LISTS]
        links = [
            RecordLink(page.list_title, list_url(page.model))
            for page in pages
            if page.has_view_permission(request)
        ]
        return [*super().record_links(request, record), *links]
