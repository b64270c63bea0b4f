"""The resources of sales, declared in the words of interface.md 2.7, 2.8 and 4.7."""

from apps.base.declaration.resource import (
    GET,
    PATCH,
    POST,
    PUT,
    V2_0,
    Key,
    Optional,
    ReadOnly,
    RefersTo,
    Required,
    UnrestrictedResource,
)
from apps.core.resources import RECORD_DATES, LookupResource, RecordResource, lookup_summary
from apps.people.resources import ContactSummary, StaffSummary, TeamSummary
from apps.sales.drafts import OpportunityDraft, TemplateDraft
from apps.sales.imports import OpportunityImport, TemplateImport
from apps.sales.models import (
    Opportunity,
    OpportunityOutcomeReason,
    OpportunityStage,
    OpportunityTemplate,
    OpportunityType,
)
from apps.sales.services import TEMPLATE_CHECKS, create_opportunities, update_opportunities

TypeSummary = lookup_summary("TypeBrief", OpportunityType, "TypeId")
StageSummary = lookup_summary("StageBrief", OpportunityStage, "StageId")
OutcomeReasonSummary = lookup_summary("OutcomeReasonBrief", OpportunityOutcomeReason, "OutcomeReasonId")

#: The origin of an opportunity.
ORIGIN = (
    Optional("Source"),
    Optional("SourceDetails", description="Only when Source is given and is not Referral."),
    Optional("ReferrerEmail", description="Only when Source is Referral."),
    Optional("ReferrerFirstName", description="Only when Source is Referral."),
    Optional("ReferrerLastName", description="Only when Source is Referral."),
    Optional("ReferrerOrganisation", description="Only when Source is Referral."),
)

#: The value of an opportunity and its chance.
VALUE = Optional("UpfrontValueOfSale"), Optional("ChanceOfSales"), Optional("RecurringAnnualValue")

#: The lists that opportunities and templates choose from; rules read which stage is the result.
CHOSEN_LISTS = (
    RefersTo("Team", TeamSummary),
    RefersTo("Type", TypeSummary),
    RefersTo("Stage", StageSummary, rule_columns=("is_result", "name")),
    RefersTo("FollowUpStaff", StaffSummary),
)


class OpportunityResource(UnrestrictedResource):
    """Business that may be won."""

    model = Opportunity
    path = "opportunity"
    search = Opportunity.searched.interface
    unpublished = ("outcome_moment",)
    methods = GET, POST
    methods_of_2_1 = PUT, PATCH
    # No member is required in a body, since a template may have it: the rules check after the template.
    fields = (
        Key("OpportunityId", source="id"),
        Optional(
            "TemplateGuid",
            source="template",
            write_only=True,
            description="The template's values fill what the request leaves out; null counts as said.",
        ),
        Optional("Name", description="Required, unless the template gives it."),
        *ORIGIN,
        Optional(
            "Outcome", description="Only when the stage is the result, where it is Deferred when left out."
        ),
        Optional(
            "OutcomeDate",
            body_source="outcome_moment",
            description="In the past; only of an outcome other than Deferred, where it is now when left out.",
        ),
        Optional("AddEMarketingContactList"),
        *VALUE,
        Optional("ExpiryDate", description="After today."),
        Optional("FollowUpDate", description="After today; FollowUpStaff is required with it."),
        Optional("ExpectedDate", description="After today."),
        *RECORD_DATES,
        RefersTo(
            "OpportunityOwner",
            StaffSummary,
            source="owner",
            set_navigation="Owner",
            partner="Opportunities",
            description="Required, unless the template gives it.",
        ),
        RefersTo("PrimaryContact", ContactSummary, set_navigation="Contact", partner="Opportunities"),
        *CHOSEN_LISTS,
        RefersTo(
            "OutcomeReason",
            OutcomeReasonSummary,
            source="outcome_reasons",
            many=True,
            order=("name",),
            rule_columns=("outcome",),
        ),
    )
    draft_class = OpportunityDraft
    create, update = create_opportunities, update_opportunities
    importing = OpportunityImport


class OpportunityTemplateResource(RecordResource):
    """What new opportunities of one sort start with; made and changed in the back office."""

    model = OpportunityTemplate
    path = "opportunityTemplate"
    since = V2_0
    methods = (GET,)
    fields = (
        Key("TemplateGuid"),
        Required("TemplateName", source="name"),
        Optional("OpportunityName"),
        *ORIGIN,
        *VALUE,
        Optional("ExpiryDateInterval"),
        Optional("FollowUpDateInterval"),
        ReadOnly("ArchiveDate"),
        RefersTo("OpportunityOwner", StaffSummary, source="owner", set_navigation="Owner"),
        *CHOSEN_LISTS,
    )
    draft_class = TemplateDraft
    checks = TEMPLATE_CHECKS
    importing = TemplateImport


class OpportunityTypeResource(LookupResource):
    """A kind of sale."""

    model = OpportunityType
    path = "opportunityType"
    fields = (Key("TypeId", source="id"), ReadOnly("Name"), *RECORD_DATES)


class OpportunityStageResource(LookupResource):
    """A step on the way to a result."""

    model = OpportunityStage
    path = "opportunityStage"
    fields = (
        Key("StageId", source="id"),
        ReadOnly("Name"),
        ReadOnly("Position", description="Where it stands on the way to the result."),
        ReadOnly("IsResult", description="Whether opportunities in it have an outcome; true of one at most."),
        *RECORD_DATES,
    )


class OpportunityOutcomeReasonResource(LookupResource):
    """Why opportunities end with one outcome."""

    model = OpportunityOutcomeReason
    path = "opportunityOutcomeReason"
    fields = (Key("OutcomeReasonId", source="id"), ReadOnly("Name"), ReadOnly("Outcome"), *RECORD_DATES)
