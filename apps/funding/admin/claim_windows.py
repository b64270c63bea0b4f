"""The page of the claim windows, which belong to the organisation's settings."""

from django.contrib import admin, messages
from django.db import IntegrityError, transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from apps.core.admin.subscriber import SETTINGS_LISTS
from apps.core.admin_base import fieldset
from apps.core.admin_base.display import list_column
from apps.core.admin_base.settings_pages import SettingsListAdmin
from apps.funding.drafts import WindowDraft
from apps.funding.models import ClaimWindow
from apps.funding.services.claim_windows import (
    create_claim_windows,
    update_claim_windows,
)


@admin.register(ClaimWindow)
class ClaimWindowAdmin(SettingsListAdmin):
    """The right to change windows is that to change the organisation's settings."""

    purpose = (
        "How long after its day a support can be claimed. Of the rows that a day of claiming and a support"
        " fall under, the one with the latest days counts; without any, no support is too old."
    )
    draft_class = WindowDraft
    create = staticmethod(create_claim_windows)
    update = staticmethod(update_claim_windows)
    menu_order = 901
    icon = "event_busy"
    list_display = ("window", "claims", "supports", "basis", "archived")
    fieldsets = (fieldset(None, ("number", "unit"), ("claimed_from", "supports_from"), "is_confirmed"),)

    def restore_records(self, request: HttpRequest, records: QuerySet[Model]) -> int:
        try:
            with transaction.atomic():
                return super().restore_records(request, records)
        except IntegrityError:
            text = "There is a claim window for the same days already. Archive that one first."
            self.message_user(request, text, messages.ERROR)
            return 0

    window = list_column("window", "length", ordering="number")
    claims = list_column("claimed from", "claimed_from", lambda day: day or "Always")
    supports = list_column("supports from", "supports_from", lambda day: day or "All")
    basis = list_column(
        "basis",
        "is_confirmed",
        lambda is_confirmed: "Confirmed" if is_confirmed else "Reported",
        label={"Confirmed": "success", "Reported": "warning"},
    )


SETTINGS_LISTS.append(ClaimWindow)
