"""The page of the organisation's own sentences for refusals, which belong to its settings."""

from urllib.parse import urlencode

from django.contrib import admin
from django.urls import reverse

from apps.core.admin.subscriber import SETTINGS_LISTS
from apps.core.admin_base import fieldset
from apps.core.admin_base.display import list_column
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

    start = list_column("code or beginning of the text", "beginning")
    next_step = list_column("what to do next", "sentence")


SETTINGS_LISTS.append(RejectionSentence)


def new_sentence_url(code: str, text: str) -> str:
    """The form of a new sentence for what the agency said; empty where it said nothing."""
    beginning = (code or text).strip()[:90]
    address = reverse("admin:funding_rejectionsentence_add")
    return f"{address}?{urlencode({'beginning': beginning})}" if beginning else ""
