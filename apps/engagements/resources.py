"""The resources of engagements, declared in the words of interface.md 2.9."""

from typing import Any

from django.db.models import QuerySet

from apps.engagements.choices import ParticipantType
from apps.engagements.imports import ClientEngagementImport
from apps.engagements.models import ClientEngagement, SupportCategory
from apps.engagements.shapes import ParticipantShape, RepresentativeOfParticipant, ServiceBookingShape
from apps.odata.declaration.resource import (
    Contains,
    Embedded,
    Key,
    Optional,
    ReadOnly,
    RefersTo,
    Required,
    Resource,
)


class ClientEngagementResource(Resource):
    """A participant's plan with its service bookings. PACE plans wait for a version that serves them."""

    model = ClientEngagement
    path = "clientengagement"
    name = "ClientEngagement"
    search = ("participant__first_name", "participant__last_name", "participant__scheme_number")
    fields = (
        Key("ClientEngagementGuid"),
        ReadOnly("ParticipantType"),
        Required("PlanStartDate"),
        Required("PlanEndDate"),
        Optional("BookingStartDate"),
        Optional("BookingEndDate"),
        Optional("PlanCommencementDate"),
        Optional("NoActivePlanFromDate"),
        Optional("IsAgencyManaged"),
        Optional("IsSelfManaged"),
        Optional("IsPlanManaged"),
        Optional("SupportCoordinatorContactGuid", source="support_coordinator"),
        Optional("PersonResponsibleForDirectFeesContactGuid", source="person_responsible_for_direct_fees"),
        Optional("PlanManagerClientGuid", source="plan_manager"),
        Optional("TotalBudgetAmount"),
        ReadOnly("TotalAllocateAmount"),
        ReadOnly("UnAllocateAmount"),
        ReadOnly("ModifiedDate", source="modify_date"),
        ReadOnly("ArchiveDate"),
        RefersTo("Participant", ParticipantShape, required=True),
        Embedded("Representative", RepresentativeOfParticipant, read_only=True),
        Contains(
            "ServiceBookings",
            ServiceBookingShape,
            source="bookings",
            order=("booking_start_date", "category__number"),
            read_only=True,
        ),
    )
    importing = ClientEngagementImport

    def visible_to(self, caller: Any) -> QuerySet[ClientEngagement]:
        return ClientEngagement.objects.filter(participant_type=ParticipantType.AGENCY)


class SupportCategoryResource(Resource):
    """A category of the scheme's supports; plans divide their budgets by them."""

    model = SupportCategory
    path = "supportCategory"
    order = ("name",)
    fields = (
        Key("CategoryGuid"),
        ReadOnly("Number"),
        ReadOnly("Name"),
        ReadOnly("SupportPurpose"),
        ReadOnly("CreationDate"),
        ReadOnly("ModifyDate"),
        ReadOnly("ArchiveDate"),
    )

    def visible_to(self, caller: Any) -> QuerySet[SupportCategory]:
        return SupportCategory.objects.all()
