"""Consents to statements by mail in the back office: who records one answers for it."""

from typing import Any

from django.contrib import admin
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from apps.core.admin_base import ArchivedFilter, RecordAdmin, RecordFilter, fieldset
from apps.payments.drafts import ConsentDraft
from apps.payments.models import StatementConsent
from apps.payments.services.consents import create_consents, update_consents


@admin.register(StatementConsent)
class StatementConsentAdmin(RecordAdmin):
    """Nothing is mailed to a participant without one; to archive it withdraws it."""

    purpose = "Who wants statements by mail, to whom, and since when. Without a consent nothing is mailed."
    menu_group = "Payments"
    menu_order = 252
    menu_title = "Consents to mail"
    icon = "mark_email_read"
    draft_class = ConsentDraft
    create = staticmethod(create_consents)
    update = staticmethod(update_consents)
    list_display = ("contact", "recipient", "since", "recorded_by", "archived")
    list_select_related = ("contact", "recorded_by")
    search_fields = ("contact__first_name", "contact__last_name", "contact__scheme_number")
    search_help_text = "Participant's name or scheme number"
    list_filter = (
        ArchivedFilter,
        ("recipient", ChoicesDropdownFilter),
        ("contact", RecordFilter),
    )
    readonly_fields: Any = ("recorded_by",)
    fieldsets = (
        fieldset(
            None,
            "contact",
            ("recipient", "since"),
            "note",
            description="The participant agreed to have them mailed. Archive it when they withdraw that.",
        ),
    )
