"""The resources of sales, declared in the words of interface.md 2.7, 2.8 and 4.7, and decisions.md 7."""

from typing import Any

from django.db.models import QuerySet

from apps.odata.declaration.resource import (
    GET,
    POST,
    Key,
    Navigation,
    NestedType,
    Optional,
    Property,
    ReadOnly,
    RefersTo,
    Required,
    Resource,
)
from apps.people.resources import ContactSummary, StaffSummary, TeamSummary
from apps.sales.imports import OpportunityImport, TemplateImport
from apps.sales.models import (
    Opportunity,
    OpportunityOutcomeReason,
    OpportunityStage,
    OpportunityTemplate,
    OpportunityType,
)
from apps.sales.services import create_opportunities


class TypeBrief(NestedType):
    model = OpportunityType
    fields = (Key("TypeId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class StageBrief(NestedType):
    model = OpportunityStage
    fields = (Key("StageId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class OutcomeReasonBrief(NestedType):
    model = OpportunityOutcomeReason
    fields = (Key("OutcomeReasonId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


STAMPS = (ReadOnly("CreationDate"), ReadOnly("ModifyDate"), ReadOnly("ArchiveDate"))


def origin() -> tuple[Property, ...]:
    """Where an opportunity came from."""
    return (
        Optional("Source"),
        Optional("SourceDetails", description="Only when Source is given and is not Referral."),
        Optional("ReferrerEmail", description="Only when Source is Referral."),
        Optional("ReferrerFirstName", description="Only when Source is Referral."),
        Optional("ReferrerLastName", description="Only when Source is Referral."),
        Optional("ReferrerOrganisation", description="Only when Source is Referral."),
    )


def worth() -> tuple[Property, ...]:
    """What an opportunity is worth, and how likely."""
    return Optional("UpfrontValueOfSale"), Optional("ChanceOfSales"), Optional("RecurringAnnualValue")


def choices() -> tuple[Navigation, ...]:
    """The lists that opportunities and templates choose from."""
    # Which stage is the result is for the rules to ask.
    return (
        RefersTo("Team", TeamSummary),
        RefersTo("Type", TypeBrief),
        RefersTo("Stage", StageBrief, rule_columns=("is_result", "name")),
        RefersTo("FollowUpStaff", StaffSummary),
    )


class OpportunityResource(Resource):
    """Business that may be won."""

    model = Opportunity
    path = "opportunity"
    search = ("name", "source_details", "referrer_last_name", "referrer_organisation")
    methods = GET, POST
    # What a body must say, a template may say for it: the rules ask once it has.
    fields = (
        Key("OpportunityId", source="id"),
        Optional(
            "TemplateGuid",
            source="template",
            write_only=True,
            description="The template's values fill what the request leaves out; null counts as said.",
        ),
        Optional("Name", description="Required, unless the template gives it."),
        *origin(),
        Optional(
            "Outcome", description="Only when the stage is the result, where it is Deferred when left out."
        ),
        Optional(
            "OutcomeDate",
            body_source="outcome_moment",
            description="In the past; only of an outcome other than Deferred, where it is now when left out.",
        ),
        Optional("AddEMarketingContactList"),
        *worth(),
        Optional("ExpiryDate", description="After today."),
        Optional("FollowUpDate", description="After today; FollowUpStaff is required with it."),
        Optional("ExpectedDate", description="After today."),
        *STAMPS,
        RefersTo(
            "OpportunityOwner",
            StaffSummary,
            source="owner",
            description="Required, unless the template gives it.",
        ),
        RefersTo("PrimaryContact", ContactSummary),
        *choices(),
        RefersTo(
            "OutcomeReason",
            OutcomeReasonBrief,
            source="outcome_reasons",
            many=True,
            order=("name",),
            rule_columns=("outcome",),
        ),
    )
    create = create_opportunities
    importing = OpportunityImport

    def visible_to(self, caller: Any) -> QuerySet[Opportunity]:
        return Opportunity.objects.all()


class OpportunityTemplateResource(Resource):
    """What new opportunities of one sort start with; made and changed in the back office."""

    model = OpportunityTemplate
    path = "opportunityTemplate"
    search = ("name", "opportunity_name")
    fields = (
        Key("TemplateGuid"),
        Required("TemplateName", source="name"),
        Optional("OpportunityName"),
        *origin(),
        *worth(),
        Optional("ExpiryDateInterval"),
        Optional("FollowUpDateInterval"),
        ReadOnly("ArchiveDate"),
        RefersTo("OpportunityOwner", StaffSummary, source="owner"),
        *choices(),
    )
    importing = TemplateImport

    def visible_to(self, caller: Any) -> QuerySet[OpportunityTemplate]:
        return OpportunityTemplate.objects.all()


class OpportunityTypeResource(Resource):
    """A kind of sale."""

    model = OpportunityType
    path = "opportunityType"
    order = ("name",)
    fields = (Key("TypeId", source="id"), ReadOnly("Name"), *STAMPS)

    def visible_to(self, caller: Any) -> QuerySet[OpportunityType]:
        return OpportunityType.objects.all()


class OpportunityStageResource(Resource):
    """A step on the way to a result."""

    model = OpportunityStage
    path = "opportunityStage"
    order = ("name",)
    fields = (
        Key("StageId", source="id"),
        ReadOnly("Name"),
        ReadOnly("Position", description="Where it stands on the way to the result."),
        ReadOnly("IsResult", description="Whether opportunities in it have an outcome; true of one at most."),
        *STAMPS,
    )

    def visible_to(self, caller: Any) -> QuerySet[OpportunityStage]:
        return OpportunityStage.objects.all()


class OpportunityOutcomeReasonResource(Resource):
    """Why opportunities end with one outcome."""

    model = OpportunityOutcomeReason
    path = "opportunityOutcomeReason"
    order = ("name",)
    fields = (Key("OutcomeReasonId", source="id"), ReadOnly("Name"), ReadOnly("Outcome"), *STAMPS)

    def visible_to(self, caller: Any) -> QuerySet[OpportunityOutcomeReason]:
        return OpportunityOutcomeReason.objects.all()
