"""The back office of opportunities, their templates and their short lists."""

from collections.abc import Sequence

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RelatedDropdownFilter
from unfold.decorators import display

from apps.core.admin_base import (
    ArchivedFilter,
    DateRangeFilter,
    LookupAdmin,
    RecordAdmin,
    RecordLink,
    fieldset,
    record_panel,
    register_panels,
)
from apps.core.admin_base.display import admin_url
from apps.core.models import Subscriber
from apps.people.models import Contact, Staff
from apps.sales.admin.forms import OpportunityForm, TemplateForm
from apps.sales.admin.pages import PipelineAdmin
from apps.sales.choices import Outcome
from apps.sales.drafts import OpportunityDraft
from apps.sales.models import (
    Opportunity,
    OpportunityOutcomeReason,
    OpportunityStage,
    OpportunityTemplate,
    OpportunityType,
)
from apps.sales.services import (
    MAILING_LIST,
    TEMPLATE_INTERVALS,
    TEMPLATE_MEMBERS,
    apply_template,
)

ORIGIN = fieldset(
    "Origin",
    ("source", "source_details"),
    ("referrer_first_name", "referrer_last_name"),
    ("referrer_organisation", "referrer_email"),
)
VALUE = fieldset("Value", ("upfront_value_of_sale", "recurring_annual_value"), "chance_of_sales")
#: Shown in full: they are short, and other fields depend on some of them.
SHORT_LISTS = frozenset({"team", "type", "stage", "outcome_reasons"})


class ProspectAdmin(RecordAdmin):
    """The base of opportunities and templates."""

    menu_group = "Sales"

    class Media:
        js = ("sales_form.js",)

    def get_autocomplete_fields(self, request: HttpRequest) -> Sequence[str]:
        return [name for name in super().get_autocomplete_fields(request) if name not in SHORT_LISTS]


@admin.register(Opportunity)
class OpportunityAdmin(PipelineAdmin, ProspectAdmin):
    """Opportunities, with the pages of the pipeline."""

    purpose = "Possible sales and referrals, followed up until they are won or lost."
    form = OpportunityForm
    menu_order = 130
    icon = "handshake"
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
        ("follow_up_date", DateRangeFilter),
    )
    search_help_text = "Name, source details or referrer"
    ordering = ("-creation_date", "-id")
    fieldsets = (
        fieldset(
            None,
            "template",
            "name",
            ("owner", "team"),
            ("type", "primary_contact"),
            ("follow_up_date", "follow_up_staff"),
            ("expected_date", "expiry_date"),
        ),
        fieldset("Stage", "stage", ("outcome", "outcome_moment"), "outcome_reasons", MAILING_LIST),
        VALUE,
        ORIGIN,
    )

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> object:
        """Without the mailing list where the subscription lacks the email marketing module."""
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

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, object]:
        """The values of the template in the address; without one the owner is the user."""
        initial: dict[str, object] = {"owner": request.user.pk}
        template = find_template(request.GET.get("template"))
        if template is not None:
            draft = OpportunityDraft({})
            apply_template(template, draft)
            for name in (*TEMPLATE_MEMBERS, *TEMPLATE_INTERVALS):
                value = draft.get(name)
                if value:
                    initial[name] = getattr(value, "pk", value)
            initial["template"] = template.pk
        query = super().get_changeform_initial_data(request)
        query.pop("template", None)
        return {**initial, **query}


def find_template(guid: str | None) -> OpportunityTemplate | None:
    """The current template with that guid, if there is one."""
    try:
        return OpportunityTemplate.objects.filter(pk=guid, archive_date=None).first() if guid else None
    except ValidationError:
        return None


@admin.register(OpportunityTemplate)
class OpportunityTemplateAdmin(ProspectAdmin):
    """Templates of opportunities."""

    purpose = "A template fills in a new opportunity."
    form = TemplateForm
    menu_order = 140
    icon = "content_copy"
    list_display = ("name", "opportunity_name", "stage", "owner", "type", "archived")
    list_select_related = ("stage", "owner", "type")
    ordering = ("name", "guid")
    fieldsets = (
        fieldset(
            None,
            "name",
            "opportunity_name",
            ("owner", "team"),
            ("type", "stage"),
            ("follow_up_date_interval", "follow_up_staff"),
            "expiry_date_interval",
        ),
        VALUE,
        ORIGIN,
    )

    def record_links(self, request: HttpRequest, record: OpportunityTemplate) -> list[RecordLink]:
        links = super().record_links(request, record)
        if not request.user.has_perm("sales.add_opportunity"):
            return links
        address = admin_url(Opportunity, "add", template=record.pk)
        return [RecordLink("New opportunity", address), *links]


@admin.register(OpportunityType)
class OpportunityTypeAdmin(LookupAdmin):
    """Kinds of sale."""

    menu_order = 850
    icon = "category"
    list_display = ("name", "id", "archived")


@admin.register(OpportunityStage)
class OpportunityStageAdmin(LookupAdmin):
    """Stages of the pipeline."""

    menu_order = 851
    icon = "stairs"
    list_display = ("name", "position", "is_result", "id", "archived")
    ordering = ("position", "name")
    fieldsets = (fieldset(None, "name", "position", "is_result"),)


@admin.register(OpportunityOutcomeReason)
class OpportunityOutcomeReasonAdmin(LookupAdmin):
    """Reasons of outcomes."""

    menu_order = 852
    icon = "help_center"
    list_display = ("name", "outcome", "id", "archived")
    list_filter = (ArchivedFilter, ("outcome", ChoicesDropdownFilter))
    ordering = ("outcome", "name")
    fieldsets = (fieldset(None, "name", "outcome"),)


OPPORTUNITY_COLUMNS = ("name", "stage", "outcome_label", "owner", "upfront_value_of_sale", "follow_up_date")
register_panels(
    Contact, record_panel(Opportunity, OPPORTUNITY_COLUMNS, column="primary_contact", order=70, can_add=True)
)
register_panels(
    Staff,
    record_panel(Opportunity, OPPORTUNITY_COLUMNS, column="owner", title="Owner of opportunities", order=60),
    record_panel(
        Opportunity, OPPORTUNITY_COLUMNS, column="follow_up_staff", title="Follows up opportunities", order=61
    ),
)
