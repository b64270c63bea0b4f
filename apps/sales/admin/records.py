"""The back office's pages for opportunities, their templates and the lists they choose from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_GET, require_POST
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RangeDateFilter, RelatedDropdownFilter
from unfold.decorators import display

from apps.core.admin_base import ArchivedFilter, MenuPage, RecordAdmin
from apps.core.models import Subscriber
from apps.odata.write.drafts import Draft
from apps.people.admin import LookupAdmin
from apps.sales.admin import pages
from apps.sales.admin.forms import OpportunityForm, TemplateForm
from apps.sales.choices import Outcome
from apps.sales.models import (
    Opportunity,
    OpportunityOutcomeReason,
    OpportunityStage,
    OpportunityTemplate,
    OpportunityType,
)
from apps.sales.services import (
    apply_template,
    create_opportunities,
    create_templates,
    update_opportunities,
    update_templates,
)

ORIGIN = (
    "Where it came from",
    {
        "fields": (
            ("source", "source_details"),
            ("referrer_first_name", "referrer_last_name"),
            ("referrer_organisation", "referrer_email"),
        )
    },
)
WORTH = (
    "What it is worth",
    {"fields": (("upfront_value_of_sale", "recurring_annual_value"), "chance_of_sales")},
)
MAILING_LIST = "add_e_marketing_contact_list"
#: Chosen from in full, since they are few, and since what else is asked hangs on some of them.
SHORT_LISTS = frozenset({"team", "type", "stage", "outcome_reasons"})


class ProspectAdmin(RecordAdmin):
    """What the pages of opportunities and templates have in common."""

    menu_group = "Sales"

    class Media:
        js = ("sales_form.js",)

    def get_autocomplete_fields(self, request: HttpRequest) -> Sequence[str]:
        return [name for name in super().get_autocomplete_fields(request) if name not in SHORT_LISTS]


@admin.register(Opportunity)
class OpportunityAdmin(ProspectAdmin):
    """Business that may be won."""

    form = OpportunityForm
    create = staticmethod(create_opportunities)
    update = staticmethod(update_opportunities)
    menu_order = 130
    icon = "handshake"
    menu_pages = (
        MenuPage("Pipeline", "sales_opportunity_board", "view_kanban", 100),
        MenuPage("My follow-ups", "sales_opportunity_follow_ups", "event_upcoming", 110),
        MenuPage("Funnel and win rate", "sales_opportunity_funnel", "filter_alt", 120),
    )
    list_display = (
        "name",
        "stage",
        "outcome_label",
        "owner",
        "upfront_value_of_sale",
        "recurring_annual_value",
        "chance_of_sales",
        "follow_up_date",
        "expected_date",
        "archived",
    )
    list_select_related = ("stage", "owner")
    list_filter = (
        ArchivedFilter,
        ("stage", RelatedDropdownFilter),
        ("type", RelatedDropdownFilter),
        ("team", RelatedDropdownFilter),
        ("source", ChoicesDropdownFilter),
        ("outcome", ChoicesDropdownFilter),
        ("follow_up_date", RangeDateFilter),
    )
    list_filter_submit = True
    search_fields = ("name", "source_details", "referrer_last_name", "referrer_organisation")
    search_help_text = "Name, source details or referrer"
    ordering = ("-creation_date", "-id")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "template",
                    "name",
                    ("owner", "team"),
                    ("type", "primary_contact"),
                    ("follow_up_date", "follow_up_staff"),
                    ("expected_date", "expiry_date"),
                )
            },
        ),
        (
            "Stage",
            {
                "fields": (
                    "stage",
                    ("outcome", "outcome_moment"),
                    "outcome_reasons",
                    MAILING_LIST,
                )
            },
        ),
        WORTH,
        ORIGIN,
    )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Without what only the email marketing module makes available, where the subscription lacks it."""
        fieldsets = super().get_fieldsets(request, obj)
        if Subscriber.current().email_marketing_module:
            return fieldsets
        return [
            (title, {**options, "fields": [name for name in options["fields"] if name != MAILING_LIST]})
            for title, options in fieldsets
        ]

    @display(
        description="outcome",
        ordering="outcome",
        label={"Won": "success", "Lost": "danger", "Deferred": "warning"},
    )
    def outcome_label(self, opportunity: Opportunity) -> str | None:
        return Outcome(opportunity.outcome).label if opportunity.outcome else None

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """What the template named in the address fills in; the person at the form is the owner otherwise."""
        usual: dict[str, Any] = {"owner": request.user.pk}
        template = template_named(request.GET.get("template"))
        if template is not None:
            draft = Draft({})
            apply_template(template, draft)
            taken = {name: value for name, value in vars(draft).items() if value}
            usual |= {name: getattr(value, "pk", value) for name, value in taken.items()}
            usual["template"] = template.pk
        asked = super().get_changeform_initial_data(request)
        asked.pop("template", None)
        return {**usual, **asked}

    def get_urls(self) -> list[URLPattern]:
        views = {
            "board/": (pages.board, require_GET),
            "board/move/": (pages.move_card, require_POST),
            "follow-ups/": (pages.follow_ups, require_GET),
            "follow-ups/done/": (pages.follow_up_done, require_POST),
            "funnel/": (pages.funnel, require_GET),
        }
        ours = [
            path(
                address,
                self.admin_site.admin_view(only(partial(view, self))),
                name=f"sales_opportunity_{view.__name__}",
            )
            for address, (view, only) in views.items()
        ]
        return [*ours, *super().get_urls()]


def template_named(guid: str | None) -> OpportunityTemplate | None:
    """The current template of that guid, if there is one."""
    try:
        return OpportunityTemplate.objects.filter(pk=guid, archive_date=None).first() if guid else None
    except ValidationError:
        return None


@admin.register(OpportunityTemplate)
class OpportunityTemplateAdmin(ProspectAdmin):
    """What opportunities start from."""

    form = TemplateForm
    create = staticmethod(create_templates)
    update = staticmethod(update_templates)
    menu_order = 140
    icon = "content_copy"
    list_display = ("name", "opportunity_name", "stage", "owner", "type", "archived")
    list_select_related = ("stage", "owner", "type")
    list_filter = (ArchivedFilter,)
    search_fields = ("name", "opportunity_name")
    ordering = ("name", "guid")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "name",
                    "opportunity_name",
                    ("owner", "team"),
                    ("type", "stage"),
                    ("follow_up_date_interval", "follow_up_staff"),
                    "expiry_date_interval",
                )
            },
        ),
        WORTH,
        ORIGIN,
    )

    def record_links(self, request: HttpRequest, object_id: str) -> list[dict[str, str]]:
        links = super().record_links(request, object_id)
        if not request.user.has_perm("sales.add_opportunity"):
            return links
        address = f"{reverse('admin:sales_opportunity_add')}?template={object_id}"
        return [{"title": "New opportunity", "icon": "add", "link": address}, *links]


@admin.register(OpportunityType)
class OpportunityTypeAdmin(LookupAdmin):
    """Kinds of sale."""

    menu_order = 850
    icon = "category"
    list_display = ("name", "id", "archived")


@admin.register(OpportunityStage)
class OpportunityStageAdmin(LookupAdmin):
    """Steps on the way to a result."""

    menu_order = 851
    icon = "stairs"
    list_display = ("name", "position", "is_result", "id", "archived")
    ordering = ("position", "name")
    fieldsets = ((None, {"fields": ("name", "position", "is_result")}),)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        """Whether a stage is the result stays once opportunities stand in it: their outcomes hang on it."""
        readonly = super().get_readonly_fields(request, obj)
        if obj is not None and obj.opportunities.exists():
            return (*readonly, "is_result")
        return readonly


@admin.register(OpportunityOutcomeReason)
class OpportunityOutcomeReasonAdmin(LookupAdmin):
    """Why opportunities end as they do."""

    menu_order = 852
    icon = "help_center"
    list_display = ("name", "outcome", "id", "archived")
    list_filter = (ArchivedFilter, ("outcome", ChoicesDropdownFilter))
    list_filter_submit = True
    ordering = ("outcome", "name")
    fieldsets = ((None, {"fields": ("name", "outcome")}),)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        """Of which outcome it is stays once opportunities give it."""
        readonly = super().get_readonly_fields(request, obj)
        if obj is not None and obj.opportunities.exists():
            return (*readonly, "outcome")
        return readonly
