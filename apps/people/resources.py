"""The resources of people, declared in the words of interface.md 2.1, 2.2, 4.1 and 4.2."""

from typing import Any

from django.db.models import QuerySet

from apps.core.resources import RECORD_DATES, LookupResource
from apps.odata.declaration.resource import (
    GET,
    POST,
    PUT,
    Contains,
    Embedded,
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
from apps.people.imports import ClientImport, ContactImport, RoleImport, StaffImport
from apps.people.models import (
    Client,
    Contact,
    CustomField,
    CustomFieldAnswer,
    CustomFieldResponse,
    Location,
    Position,
    Role,
    Staff,
    Team,
)
from apps.people.services import AnsweredDraft, create_clients, create_contacts, create_staff, replace_staff

# --- nested types (interface.md 2.1, 2.2) ---------------------------------------------------------------


class AddressType(NestedType):
    """A street address; Country is required when a State is given."""

    fields = (
        Optional("StreetAddress"),
        Optional("StreetAddress2"),
        Optional("Suburb"),
        Optional("City"),
        Optional("State"),
        Optional("Country"),
        Optional("PostCode"),
    )


class PostalAddressType(NestedType):
    """Where post goes when not to the address."""

    fields = (
        Optional("PostalAddress", source="postal_street_address", aliases=("PostalStreetAddress",)),
        Optional("PostalAddress2", source="postal_street_address2", aliases=("PostalStreetAddress2",)),
        Optional("PostalSuburb"),
        Optional("PostalCity"),
        Optional("PostalState"),
        Optional("PostalPostCode"),
    )


class ResponseType(NestedType):
    model = CustomFieldResponse
    fields = (ReadOnly("Response"),)


class CustomFieldAnswerType(NestedType):
    """A custom field with what was answered."""

    model = CustomFieldAnswer
    fields = (
        ReadOnly("CustomFieldGuid", source="custom_field"),
        ReadOnly("Name", source="custom_field__name"),
        Contains("Responses", ResponseType, read_only=True),
    )


class TeamSummary(NestedType):
    type_name = "TeamBrief"
    model = Team
    fields = (Key("TeamId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class StaffSummary(NestedType):
    type_name = "StaffBrief"
    model = Staff
    fields = (Key("StaffGuid"), ReadOnly("FirstName"), ReadOnly("LastName"), ReadOnly("ArchiveDate"))


class ContactSummary(NestedType):
    type_name = "ContactBrief"
    model = Contact
    fields = (Key("ContactGuid"), ReadOnly("FirstName"), ReadOnly("LastName"), ReadOnly("ArchiveDate"))


class ClientSummary(NestedType):
    type_name = "ClientBrief"
    model = Client
    fields = (Key("ClientGuid"), ReadOnly("BusinessName"), ReadOnly("ArchiveDate"))


class RoleSummary(NestedType):
    type_name = "RoleBrief"
    model = Role
    fields = (Key("RoleGuid"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class PositionSummary(NestedType):
    type_name = "PositionBrief"
    model = Position
    fields = (Key("PositionGuid"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class LocationSummary(NestedType):
    type_name = "LocationBrief"
    model = Location
    fields = (Key("LocationGuid"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class RepresentativeType(NestedType):
    """Who speaks for a contact, and as what."""

    fields = (
        Optional("ContactGuid", source="representative"),
        ReadOnly("FirstName", source="representative__first_name"),
        ReadOnly("LastName", source="representative__last_name"),
        Optional("RepresentativeRelationship"),
        ReadOnly("ArchiveDate", source="representative__archive_date"),
    )


def addresses() -> tuple[Navigation, ...]:
    """The two address parts of staff, clients and contacts."""
    return Embedded("Address", AddressType), Embedded("PostalAddress", PostalAddressType)


def custom_fields() -> Navigation:
    """The answers to custom fields, in responses of one record only (decisions.md 1)."""
    return Contains(
        "CustomFields",
        CustomFieldAnswerType,
        source="custom_field_answers",
        order=("custom_field__position",),
        item_only=True,
        read_only=True,
    )


def account_manager() -> Navigation:
    """The staff member who looks after the record."""
    return RefersTo("AccountManager", StaffSummary)


# --- properties that several resources have -------------------------------------------------------------


def titles_and_consents() -> tuple[Property, ...]:
    """The first block of a person's fields, after the names."""
    return (
        Optional("PersonalTitle"),
        Optional("PersonalTitleOther"),
        Optional("AcceptsEmailContact"),
        Optional("AcceptsSmsContact"),
        Optional("UniqueCode"),
        Optional("SchemeNumber"),
        Optional("Gender"),
        Optional("SendBirthdayReminder"),
        Optional("Birthday"),
        Optional("SendPartnerBirthdayReminder"),
        Optional("PartnerBirthday"),
        Optional("PartnerFirstName"),
        Optional("PartnerLastName"),
        Optional("NumberOfChildren"),
        Optional("HobbiesInterests"),
        Optional("AdditionalInformation"),
    )


def phones_and_profiles() -> tuple[Property, ...]:
    """Where else a person can be reached."""
    return (
        Optional("Phone1"),
        Optional("Phone2"),
        Optional("Fax"),
        Optional("HomePhone"),
        Optional("SocialNetworkAUrl"),
        Optional("SocialNetworkBUrl"),
        Optional("VideoChannelUrl"),
        Optional("ProfessionalNetworkUrl"),
        Optional("OtherSocialMediaUrl"),
    )


# --- resources ------------------------------------------------------------------------------------------


class StaffResource(Resource):
    """An individual who works for the subscriber, and so a user of the back office."""

    model = Staff
    path = "staff"
    search = ("first_name", "last_name", "unique_code", "scheme_number", "primary_email", "phone1")
    methods = GET, POST, PUT
    fields = (
        Key("StaffGuid"),
        Required("FirstName"),
        Required("LastName"),
        Optional("Abbreviation"),
        *titles_and_consents(),
        Optional("UsePrimaryEmail"),
        Required("PrimaryEmail"),
        Optional("UseSecondaryEmail"),
        Optional("SecondaryEmail"),
        *phones_and_profiles(),
        Optional("WorkingHoursPerWeek"),
        Optional("EmploymentType"),
        Optional("CommencementDate"),
        Optional("DisableLoginDate"),
        *RECORD_DATES,
        *addresses(),
        custom_fields(),
        RefersTo("Teams", TeamSummary, many=True),
        account_manager(),
        RefersTo("PrimaryRole", RoleSummary, source="role", required=True),
        RefersTo("PositionTitle", PositionSummary, source="position"),
        RefersTo("Location", LocationSummary),
    )
    draft_class = AnsweredDraft
    create = create_staff
    importing = StaffImport
    replace = replace_staff

    def visible_to(self, caller: Any) -> QuerySet[Staff]:
        return Staff.objects.all()


class ClientResource(Resource):
    """An organisation that is a customer of the subscriber."""

    model = Client
    path = "client"
    search = ("business_name", "business_number", "unique_code", "external_reference")
    methods = GET, POST
    fields = (
        Key("ClientGuid"),
        Required("BusinessName"),
        Optional("BusinessNumber"),
        Optional("UniqueCode"),
        ReadOnly("IsSelf"),
        Optional("ExternalReference"),
        Optional("BusinessPhone"),
        Optional("BusinessPhone2"),
        Optional("BusinessFax"),
        Optional("WebAddress"),
        *RECORD_DATES,
        *addresses(),
        custom_fields(),
        RefersTo("KeyContact", ContactSummary),
    )
    draft_class = AnsweredDraft
    create = create_clients
    importing = ClientImport

    def visible_to(self, caller: Any) -> QuerySet[Client]:
        return Client.objects.all()


class ContactResource(Resource):
    """A person who is no member of staff: a participant, a representative, somebody at a client."""

    model = Contact
    path = "contact"
    search = ("first_name", "last_name", "unique_code", "scheme_number", "primary_email", "phone1")
    methods = GET, POST
    fields = (
        Key("ContactGuid"),
        Required("FirstName"),
        Required("LastName"),
        *titles_and_consents(),
        Optional("UsePrimaryEmail"),
        Optional("PrimaryEmail"),
        Optional("UseSecondaryEmail"),
        Optional("SecondaryEmail"),
        *phones_and_profiles(),
        Optional("PositionTitle"),
        Optional("SchemePriceGuideRegion"),
        *RECORD_DATES,
        *addresses(),
        custom_fields(),
        RefersTo("Client", ClientSummary),
        RefersTo("Role", RoleSummary),
        Embedded("Representative", RepresentativeType),
        account_manager(),
    )
    draft_class = AnsweredDraft
    create = create_contacts
    importing = ContactImport

    def visible_to(self, caller: Any) -> QuerySet[Contact]:
        return Contact.objects.all()


class RoleResource(LookupResource):
    """What somebody does, and what they may do."""

    model = Role
    path = "role"
    fields = (Key("RoleGuid"), ReadOnly("Name"), *RECORD_DATES)
    importing = RoleImport


class PositionResource(LookupResource):
    """A position title."""

    model = Position
    path = "position"
    fields = (Key("PositionGuid"), ReadOnly("Name"), *RECORD_DATES)


class LocationResource(LookupResource):
    """A place staff work from."""

    model = Location
    path = "location"
    fields = (Key("LocationGuid"), ReadOnly("Name"), *RECORD_DATES)


class TeamResource(LookupResource):
    """A group of staff."""

    model = Team
    path = "team"
    fields = (Key("TeamId", source="id"), ReadOnly("Name"), *RECORD_DATES)


class CustomFieldResource(LookupResource):
    """A question the subscriber asks beyond the fields built in."""

    model = CustomField
    path = "customField"
    fields = (
        Key("CustomFieldGuid"),
        ReadOnly("Name"),
        ReadOnly("AppliesTo"),
        ReadOnly("Kind"),
        *RECORD_DATES,
    )
