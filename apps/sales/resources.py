"""The resources of sales, declared in the words of interface.md 2.7, 2.8 and 4.7, and decisions.md 7."""

from typing import Any

from django.db.models import QuerySet

from apps.core.resources import LookupResource
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


class TypeSummary(NestedType):
    type_name = "TypeBrief"
    model = OpportunityType
    fields = (Key("TypeId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class StageSummary(NestedType):
    type_name = "StageBrief"
    model = OpportunityStage
    fields = (Key("StageId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class OutcomeReasonSummary(NestedType):
    type_name = "OutcomeReasonBrief"
    model = OpportunityOutcomeReason
    fields = (Key("OutcomeReasonId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


SYSTEM_MEMBERS = (ReadOnly("CreationDate"), ReadOnly("ModifyDate"), ReadOnly("ArchiveDate"))


def origin_members() -> tuple[Property, ...]:
    """The origin of an opportunity."""
    return (
        Optional("Source"),
        Optional("SourceDetails", description="Only when Source is given and is not Referral."),
        Optional("ReferrerEmail", description="Only when Source is Referral."),
        Optional("ReferrerFirstName", description="Only when Source is Referral."),
        Optional("ReferrerLastName", description="Only when Source is Referral."),
        Optional("ReferrerOrganisation", description="Only when Source is Referral."),
    )


def value_members() -> tuple[Property, ...]:
    """The value of an opportunity and its chance."""
    return Optional("UpfrontValueOfSale"), Optional("ChanceOfSales"), Optional("RecurringAnnualValue")


def list_members() -> tuple[Navigation, ...]:
    """The lists that opportunities and templates choose from."""
    # The rules need to know which stage is the result.
    return (
        RefersTo("Team", TeamSummary),
        RefersTo("Type", TypeSummary),
        RefersTo("Stage", StageSummary, rule_columns=("is_result", "name")),
        RefersTo("FollowUpStaff", StaffSummary),
    )


class OpportunityResource(Resource):
    """Business that may be won."""

    model = Opportunity
    path = "opportunity"
    search = ("name", "source_details", "referrer_last_name", "referrer_organisation")
    methods = GET, POST
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
        *origin_members(),
        Optional(
            "Outcome", description="Only when the stage is the result, where it is Deferred when left out."
        ),
        Optional(
            "OutcomeDate",
            body_source="outcome_moment",
            description="In the past; only of an outcome other than Deferred, where it is now when left out.",
        ),
        Optional("AddEMarketingContactList"),
        *value_members(),
        Optional("ExpiryDate", description="After today."),
        Optional("FollowUpDate", description="After today; FollowUpStaff is required with it."),
        Optional("ExpectedDate", description="After today."),
        *SYSTEM_MEMBERS,
        RefersTo(
            "OpportunityOwner",
            StaffSummary,
            source="owner",
            description="Required, unless the template gives it.",
        ),
        RefersTo("PrimaryContact", ContactSummary),
        *list_members(),
        RefersTo(
            "OutcomeReason",
            OutcomeReasonSummary,
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
        *origin_members(),
        *value_members(),
        Optional("ExpiryDateInterval"),
        Optional("FollowUpDateInterval"),
        ReadOnly("ArchiveDate"),
        RefersTo("OpportunityOwner", StaffSummary, source="owner"),
        *list_members(),
    )
    importing = TemplateImport

    def visible_to(self, caller: Any) -> QuerySet[OpportunityTemplate]:
        return OpportunityTemplate.objects.all()


class OpportunityTypeResource(LookupResource):
    """A kind of sale."""

    model = OpportunityType
    path = "opportunityType"
    fields = (Key("TypeId", source="id"), ReadOnly("Name"), *SYSTEM_MEMBERS)


class OpportunityStageResource(LookupResource):
    """A step on the way to a result."""

    model = OpportunityStage
    path = "opportunityStage"
    fields = (
        Key("StageId", source="id"),
        ReadOnly("Name"),
        ReadOnly("Position", description="Where it stands on the way to the result."),
        ReadOnly("IsResult", description="Whether opportunities in it have an outcome; true of one at most."),
        *SYSTEM_MEMBERS,
    )


class OpportunityOutcomeReasonResource(LookupResource):
    """Why opportunities end with one outcome."""

    model = OpportunityOutcomeReason
    path = "opportunityOutcomeReason"
    fields = (Key("OutcomeReasonId", source="id"), ReadOnly("Name"), ReadOnly("Outcome"), *SYSTEM_MEMBERS)
