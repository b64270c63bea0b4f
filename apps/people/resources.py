"""The resources of people, declared in the words of interface.md 2.1, 2.2, 4.1 and 4.2."""

from apps.base.declaration.resource import (
    DELETE,
    GET,
    PATCH,
    POST,
    PUT,
    Contains,
    Embedded,
    Key,
    NestedType,
    Optional,
    ReadOnly,
    RefersTo,
    Required,
    UnrestrictedResource,
)
from apps.core.archive import archive
from apps.core.resources import RECORD_DATES, LookupResource, lookup_summary
from apps.people.drafts import ClientDraft, ContactDraft, RoleDraft, StaffDraft
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
from apps.people.services import (
    archive_staff,
    create_clients,
    create_contacts,
    create_roles,
    create_staff,
    update_clients,
    update_contacts,
    update_roles,
    update_staff,
)

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
        Key("CustomFieldGuid", source="custom_field"),
        ReadOnly("Name", source="custom_field__name"),
        Contains("Responses", ResponseType, read_only=True),
    )


TeamSummary = lookup_summary("TeamBrief", Team, "TeamId")


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


RoleSummary = lookup_summary("RoleBrief", Role, "RoleGuid")
PositionSummary = lookup_summary("PositionBrief", Position, "PositionGuid")
LocationSummary = lookup_summary("LocationBrief", Location, "LocationGuid")


class RepresentativeType(NestedType):
    """Who speaks for a contact, and as what."""

    fields = (
        Optional("ContactGuid", source="representative"),
        ReadOnly("FirstName", source="representative__first_name"),
        ReadOnly("LastName", source="representative__last_name"),
        Optional("RepresentativeRelationship"),
        ReadOnly("ArchiveDate", source="representative__archive_date"),
    )


#: The two address parts of staff, clients and contacts.
ADDRESSES = Embedded("Address", AddressType), Embedded("PostalAddress", PostalAddressType)

#: The answers to custom fields, in responses of one record only.
CUSTOM_FIELDS = Contains(
    "CustomFields",
    CustomFieldAnswerType,
    source="custom_field_answers",
    order=("custom_field__position",),
    item_only=True,
    read_only=True,
)

#: The staff member who looks after the record.
ACCOUNT_MANAGER = RefersTo("AccountManager", StaffSummary)


# --- properties that several resources have -------------------------------------------------------------

#: The first block of a person's fields, after the names.
PERSONAL_DATA = (
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

#: Where else a person can be reached.
PHONES_AND_PROFILES = (
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


class StaffResource(UnrestrictedResource):
    """An individual who works for the subscriber, and so a user of the back office."""

    model = Staff
    path = "staff"
    search = Staff.searched.interface
    unpublished = "password", "last_login"
    methods = GET, POST, PUT
    methods_of_2_1 = PATCH, DELETE
    alternate_keys = ("UniqueCode",)
    fields = (
        Key("StaffGuid"),
        Required("FirstName"),
        Required("LastName"),
        Optional("Abbreviation"),
        *PERSONAL_DATA,
        Optional("UsePrimaryEmail"),
        Required("PrimaryEmail"),
        Optional("UseSecondaryEmail"),
        Optional("SecondaryEmail"),
        *PHONES_AND_PROFILES,
        Optional("WorkingHoursPerWeek"),
        Optional("EmploymentType"),
        Optional("CommencementDate"),
        Optional("DisableLoginDate"),
        *RECORD_DATES,
        *ADDRESSES,
        CUSTOM_FIELDS,
        RefersTo("Teams", TeamSummary, many=True),
        ACCOUNT_MANAGER,
        RefersTo("PrimaryRole", RoleSummary, source="role", required=True),
        RefersTo("PositionTitle", PositionSummary, source="position"),
        RefersTo("Location", LocationSummary),
    )
    draft_class = StaffDraft
    create, update, archive = create_staff, update_staff, archive_staff
    importing = StaffImport


class ClientResource(UnrestrictedResource):
    """An organisation that is a customer of the subscriber."""

    model = Client
    path = "client"
    search = Client.searched.interface
    methods = GET, POST
    methods_of_2_1 = PUT, PATCH, DELETE
    alternate_keys = ("UniqueCode",)
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
        *ADDRESSES,
        CUSTOM_FIELDS,
        RefersTo("KeyContact", ContactSummary),
    )
    draft_class = ClientDraft
    create, update, archive = create_clients, update_clients, archive
    importing = ClientImport


class ContactResource(UnrestrictedResource):
    """A person who is no member of staff: a participant, a representative, somebody at a client."""

    model = Contact
    path = "contact"
    search = Contact.searched.interface
    methods = GET, POST
    methods_of_2_1 = PATCH, DELETE
    alternate_keys = ("UniqueCode",)
    fields = (
        Key("ContactGuid"),
        Required("FirstName"),
        Required("LastName"),
        *PERSONAL_DATA,
        Optional("UsePrimaryEmail"),
        Optional("PrimaryEmail"),
        Optional("UseSecondaryEmail"),
        Optional("SecondaryEmail"),
        *PHONES_AND_PROFILES,
        Optional("PositionTitle"),
        Optional("SchemePriceGuideRegion"),
        *RECORD_DATES,
        *ADDRESSES,
        CUSTOM_FIELDS,
        RefersTo("Client", ClientSummary, partner="Contacts"),
        RefersTo("Role", RoleSummary),
        Embedded("Representative", RepresentativeType),
        ACCOUNT_MANAGER,
    )
    draft_class = ContactDraft
    create, update, archive = create_contacts, update_contacts, archive
    importing = ContactImport


class RoleResource(LookupResource):
    """What somebody does, and what they may do."""

    model = Role
    path = "role"
    # Its rights are given in the back office, by those who have them.
    methods_of_2_1, fields_of_2_1 = (), ()
    unpublished = "participants", "all_permissions", "requires_second_factor", "permissions"
    fields = (Key("RoleGuid"), ReadOnly("Name"), *RECORD_DATES)
    draft_class = RoleDraft
    create, update = create_roles, update_roles
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
    unpublished = "options", "position"
    fields = (
        Key("CustomFieldGuid"),
        ReadOnly("Name"),
        ReadOnly("AppliesTo"),
        ReadOnly("Kind"),
        *RECORD_DATES,
    )
