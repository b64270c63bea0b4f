"""The objects that engagements are made of and refer to (interface.md 2.9)."""

from apps.engagements.models import ServiceBooking, SupportCategory
from apps.odata.declaration.resource import Embedded, Key, NestedType, ReadOnly, RefersTo
from apps.people.models import Contact


class AddressOfPerson(NestedType):
    """Where a participant or a representative lives."""

    fields = (
        ReadOnly("StreetAddress"),
        ReadOnly("StreetAddress2"),
        ReadOnly("Suburb"),
        ReadOnly("City"),
        ReadOnly("State"),
        ReadOnly("Country"),
        ReadOnly("PostCode"),
    )


class ParticipantShape(NestedType):
    """Whose plan it is."""

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
        Embedded("Address", AddressOfPerson, read_only=True),
    )


_SPEAKER = "participant__representative__"


class RepresentativeOfParticipant(NestedType):
    """Who speaks for the participant, and as what. A contact has one representative, for every plan."""

    fields = (
        ReadOnly("ContactGuid", source="participant__representative"),
        ReadOnly("FirstName", source=f"{_SPEAKER}first_name"),
        ReadOnly("LastName", source=f"{_SPEAKER}last_name"),
        ReadOnly("RepresentativeRelationship", source="participant__representative_relationship"),
        ReadOnly("PhoneNumber1", source=f"{_SPEAKER}phone1"),
        ReadOnly("PhoneNumber2", source=f"{_SPEAKER}phone2"),
        ReadOnly("PrimaryEmail", source=f"{_SPEAKER}primary_email"),
        Embedded("Address", AddressOfPerson, prefix=_SPEAKER, read_only=True),
    )


class CategoryShape(NestedType):
    model = SupportCategory
    fields = (Key("CategoryGuid"), ReadOnly("Name"), ReadOnly("ArchivedDate", source="archive_date"))


class ServiceBookingShape(NestedType):
    """A part of the plan's budget, set aside for a support."""

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
        RefersTo("Category", CategoryShape, read_only=True),
    )
