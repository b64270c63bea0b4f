"""The resources of engagements, declared in the words of interface.md 2.9."""

from django.db.models import QuerySet

from apps.base.declaration.resource import (
    DELETE,
    PATCH,
    V2_1,
    Contains,
    Embedded,
    Key,
    NestedType,
    Optional,
    Property,
    ReadOnly,
    RefersTo,
    Required,
    Resource,
    UnrestrictedResource,
)
from apps.core.resources import RECORD_DATES, LookupResource
from apps.engagements.choices import ParticipantType
from apps.engagements.drafts import BookingDraft, EngagementDraft, PeriodDraft, WholeComponentDraft
from apps.engagements.imports import ClientEngagementImport
from apps.engagements.models import (
    CategoryBudget,
    ClientEngagement,
    FundingPeriod,
    ServiceBooking,
    SupportCategory,
)
from apps.engagements.services import (
    archive_engagements,
    create_bookings,
    create_category_budgets,
    create_engagements,
    update_bookings,
    update_components,
    update_engagements,
)
from apps.people.models import Contact
from apps.people.resources import AddressType


class ReadOnlyAddressType(NestedType):
    """The address of a participant or a representative."""

    type_name = "AddressOfPerson"
    fields = tuple(ReadOnly(each.name) for each in AddressType.fields)


class ParticipantSummary(NestedType):
    """The participant of a plan."""

    type_name = "Participant"
    model = Contact
    fields = (
        Key("ContactGuid"),
        ReadOnly("FirstName"),
        ReadOnly("LastName"),
        ReadOnly("Birthday"),
        ReadOnly("SchemeNumber"),
        ReadOnly("SchemePriceGuideRegion"),
        ReadOnly("AccountManagerStaffGuid", source="account_manager"),
        ReadOnly("PhoneNumber1", source="phone1"),
        ReadOnly("PhoneNumber2", source="phone2"),
        ReadOnly("PrimaryEmail"),
        Embedded("Address", ReadOnlyAddressType, read_only=True),
    )


REPRESENTATIVE = "participant__representative__"


class PlanRepresentativeType(NestedType):
    """The participant's representative: a contact has one, for all plans."""

    type_name = "RepresentativeOfParticipant"
    fields = (
        ReadOnly("ContactGuid", source="participant__representative"),
        ReadOnly("FirstName", source=f"{REPRESENTATIVE}first_name"),
        ReadOnly("LastName", source=f"{REPRESENTATIVE}last_name"),
        ReadOnly("RepresentativeRelationship", source="participant__representative_relationship"),
        ReadOnly("PhoneNumber1", source=f"{REPRESENTATIVE}phone1"),
        ReadOnly("PhoneNumber2", source=f"{REPRESENTATIVE}phone2"),
        ReadOnly("PrimaryEmail", source=f"{REPRESENTATIVE}primary_email"),
        Embedded("Address", ReadOnlyAddressType, prefix=REPRESENTATIVE, read_only=True),
    )


class CategoryType(NestedType):
    model = SupportCategory
    fields = (Key("CategoryGuid"), ReadOnly("Name"), ReadOnly("ArchivedDate", source="archive_date"))


class ServiceBookingType(NestedType):
    """A part of the plan's budget, reserved for a support."""

    model = ServiceBooking
    fields = (
        Key("ServiceBookingGuid"),
        ReadOnly("SupportPurpose"),
        ReadOnly("SupportItem"),
        ReadOnly("BudgetManagerStaffGuid", source="budget_manager"),
        ReadOnly("Budget"),
        ReadOnly("ManagementType"),
        ReadOnly("BookingStartDate"),
        ReadOnly("BookingEndDate"),
        ReadOnly("BookingNumber"),
        RefersTo("Category", CategoryType, read_only=True),
    )


def claimed_amounts(budget: str = "") -> tuple[Property, ...]:
    """The amounts that bills draw from a budget; ``budget`` is the path to it from a part of it."""
    lines = (f"{budget}claimlines__claim", f"{budget}invoicelines__invoice")
    return (
        ReadOnly("Claimed", description="Claimed from the agency, and not refused by it.", sum_of=lines),
        ReadOnly("Paid", description="The part of Claimed that was paid.", sum_of=lines),
        ReadOnly("Waiting", description="Entered and not yet claimed.", sum_of=lines),
    )


class FundingPeriodType(NestedType):
    """The days from which a component releases a part of its money, with what was claimed of its days."""

    model = FundingPeriod
    fields = (
        Key("FundingPeriodGuid"),
        ReadOnly("FirstDay"),
        ReadOnly("LastDay"),
        ReadOnly("Released"),
        *claimed_amounts("category_budget__"),
    )


class CategoryBudgetType(NestedType):
    """A component of a PACE plan: its budget for a support category, several, or stated supports alone."""

    model = CategoryBudget
    fields = (
        Key("CategoryBudgetGuid"),
        ReadOnly("Budget"),
        ReadOnly("UsedElsewhere"),
        *claimed_amounts(),
        ReadOnly("ManagementType"),
        ReadOnly("ComponentName", description="As the plan names it."),
        ReadOnly("FurtherCategories", description="Numbers of the other categories that it pays for."),
        ReadOnly("StatedItems", description="Codes of the only supports that it pays for."),
        RefersTo("Category", CategoryType, read_only=True),
        Contains(
            "FundingPeriods",
            FundingPeriodType,
            source="periods",
            order=("first_day",),
            read_only=True,
            description="Each releases a part of the budget; none releases all of it from the first day.",
        ),
    )


class ClientEngagementResource(Resource):
    """A participant's plan with its service bookings; PACE plans are in version 2.1."""

    model = ClientEngagement
    path = "clientengagement"
    name = "ClientEngagement"
    search = ClientEngagement.searched.interface
    methods_of_2_1 = PATCH, DELETE
    has_warnings = archive_has_warnings = True
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
        Optional("PlanManagerClientGuid", source="plan_manager", partner="ManagedClientEngagements"),
        Optional("TotalBudgetAmount"),
        ReadOnly("TotalAllocateAmount"),
        ReadOnly("UnAllocateAmount"),
        ReadOnly("ModifiedDate", source="modify_date"),
        ReadOnly("ArchiveDate"),
        RefersTo(
            "Participant",
            ParticipantSummary,
            required=True,
            set_navigation="Contact",
            partner="ClientEngagements",
        ),
        Embedded("Representative", PlanRepresentativeType, read_only=True),
        Contains(
            "ServiceBookings",
            ServiceBookingType,
            source="bookings",
            order=("booking_start_date", "category__number"),
            read_only=True,
        ),
    )
    fields_of_2_1 = (
        Optional("EndorsementDate"),
        Contains(
            "CategoryBudgets",
            CategoryBudgetType,
            source="category_budgets",
            order=("category__number",),
            read_only=True,
            description="The budgets of a PACE plan, which has no service bookings.",
        ),
    )
    create, update, archive = create_engagements, update_engagements, archive_engagements
    importing = ClientEngagementImport
    draft_class = EngagementDraft

    def visible_to(self, caller: object) -> QuerySet[ClientEngagement]:
        """PACE plans are shown from version 2.1 on (interface.md 9)."""
        plans = ClientEngagement.objects.all()
        return plans if self.version == V2_1 else plans.filter(participant_type=ParticipantType.AGENCY)


class BookingResource(UnrestrictedResource):
    """A service booking: a part of a plan's budget, reserved for a support."""

    model = ServiceBooking
    path = "booking"
    since = V2_1
    methods_of_2_1 = (PATCH,)
    has_warnings = True
    fields = (
        Key("ServiceBookingGuid"),
        ReadOnly("ClientEngagementGuid", source="engagement"),
        Required("SupportPurpose"),
        Optional("SupportItem"),
        Optional("BudgetManagerStaffGuid", source="budget_manager"),
        Optional("Budget"),
        Optional("UsedElsewhere", description="Drawn by others, or before this service was used."),
        Optional("BalanceDate", description="The day of UsedElsewhere."),
        *claimed_amounts(),
        Optional("ManagementType"),
        Optional("BookingStartDate"),
        Optional("BookingEndDate"),
        Optional("BookingNumber"),
        *RECORD_DATES,
        RefersTo("Category", CategoryType),
    )
    draft_class = BookingDraft
    create, update = create_bookings, update_bookings


class PeriodOfComponentType(NestedType):
    """A funding period as programs give it: known by its first day, so it has no key."""

    model = FundingPeriod
    fields = (
        Required("FirstDay"),
        Required("LastDay"),
        Required("Released"),
        *claimed_amounts("category_budget__"),
    )
    draft_class = PeriodDraft


class ComponentResource(UnrestrictedResource):
    """A component of a PACE plan: its budget for a support category, several, or stated supports alone."""

    model = CategoryBudget
    path = "component"
    since = V2_1
    methods_of_2_1 = (PATCH,)
    has_warnings = True
    fields = (
        Key("CategoryBudgetGuid"),
        ReadOnly("ClientEngagementGuid", source="engagement"),
        Optional("ComponentName", description="As the plan names it."),
        Optional("FurtherCategories", description="Numbers of the other categories that it pays for."),
        Optional("StatedItems", description="Codes of the only supports that it pays for."),
        Optional("Budget"),
        Optional("UsedElsewhere", description="Drawn by others, or before this service was used."),
        *claimed_amounts(),
        Optional("ManagementType"),
        *RECORD_DATES,
        RefersTo("Category", CategoryType),
        Contains(
            "FundingPeriods",
            PeriodOfComponentType,
            source="periods",
            order=("first_day",),
            description="Each releases a part of the budget; none releases all of it from the first day.",
        ),
    )
    draft_class = WholeComponentDraft
    create, update = create_category_budgets, update_components


class SupportCategoryResource(LookupResource):
    """A category of the scheme's supports; plans divide their budgets by them."""

    model = SupportCategory
    path = "supportCategory"
    fields = (
        Key("CategoryGuid"),
        ReadOnly("Number"),
        ReadOnly("Name"),
        ReadOnly("SupportPurpose"),
        *RECORD_DATES,
    )
