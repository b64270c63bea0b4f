"""The page of the organisation's own sentences for refusals, which belong to its settings."""

from urllib.parse import urlencode

from django.contrib import admin
from django.urls import reverse
from unfold.decorators import display

from apps.core.admin.subscriber import SETTINGS_LISTS
from apps.core.admin_base import fieldset
from apps.core.admin_base.settings_pages import SettingsListAdmin
from apps.funding.models import RejectionSentence


@admin.register(RejectionSentence)
class RejectionSentenceAdmin(SettingsListAdmin):
    """The right to change sentences is that to change the organisation's settings."""

    purpose = (
        "What to do next about lines that the agency refuses, by its code or how its text begins. Your own"
        " sentence comes before the built-in one; of several that fit, the longest beginning counts."
    )
    menu_order = 903
    icon = "forum"
    list_display = ("start", "next_step", "archived")
    fieldsets = (fieldset(None, "beginning", "sentence"),)

    @display(description="code or beginning of the text", ordering="beginning")
    def start(self, row: RejectionSentence) -> str:
        return row.beginning

    @display(description="what to do next", ordering="sentence")
    def next_step(self, row: RejectionSentence) -> str:
        return row.sentence


SETTINGS_LISTS.append(RejectionSentence)


def new_sentence_url(code: str, text: str) -> str:
    """The form of a new sentence for what the agency said; empty where it said nothing."""
    beginning = (code or text).strip()[:90]
    address = reverse("admin:funding_rejectionsentence_add")
    return f"{address}?{urlencode({'beginning': beginning})}" if beginning else ""
