"""The resources of people, declared in the words of interface.md 2.1, 2.2, 4.1 and 4.2."""

from typing import Any

from django.db.models import QuerySet

from apps.odata.declaration.resource import (
    GET,
    POST,
    PUT,
    Embedded,
    Key,
    Optional,
    Property,
    ReadOnly,
    RefersTo,
    Required,
    Resource,
)
from apps.people.imports import ClientImport, ContactImport, StaffImport
from apps.people.models import Client, Contact, CustomField, Location, Position, Role, Staff, Team
from apps.people.services import AnsweredDraft, create_clients, create_contacts, create_staff, replace_staff
from apps.people.shapes import (
    ClientBrief,
    ContactBrief,
    LocationBrief,
    PositionBrief,
    RepresentativeShape,
    RoleBrief,
    TeamBrief,
    account_manager,
    addresses,
    custom_fields,
)

STAMPS = (ReadOnly("CreationDate"), ReadOnly("ModifyDate"), ReadOnly("ArchiveDate"))


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
        *STAMPS,
        *addresses(),
        custom_fields(),
        RefersTo("Teams", TeamBrief, many=True),
        account_manager(),
        RefersTo("PrimaryRole", RoleBrief, source="role", required=True),
        RefersTo("PositionTitle", PositionBrief, source="position"),
        RefersTo("Location", LocationBrief),
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
        *STAMPS,
        *addresses(),
        custom_fields(),
        RefersTo("KeyContact", ContactBrief),
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
        *STAMPS,
        *addresses(),
        custom_fields(),
        RefersTo("Client", ClientBrief),
        RefersTo("Role", RoleBrief),
        Embedded("Representative", RepresentativeShape),
        account_manager(),
    )
    draft_class = AnsweredDraft
    create = create_contacts
    importing = ContactImport

    def visible_to(self, caller: Any) -> QuerySet[Contact]:
        return Contact.objects.all()


class RoleResource(Resource):
    """What somebody does, and what they may do."""

    model = Role
    path = "role"
    order = ("name",)
    fields = (Key("RoleGuid"), ReadOnly("Name"), *STAMPS)

    def visible_to(self, caller: Any) -> QuerySet[Role]:
        return Role.objects.all()


class PositionResource(Resource):
    """A position title."""

    model = Position
    path = "position"
    order = ("name",)
    fields = (Key("PositionGuid"), ReadOnly("Name"), *STAMPS)

    def visible_to(self, caller: Any) -> QuerySet[Position]:
        return Position.objects.all()


class LocationResource(Resource):
    """A place staff work from."""

    model = Location
    path = "location"
    order = ("name",)
    fields = (Key("LocationGuid"), ReadOnly("Name"), *STAMPS)

    def visible_to(self, caller: Any) -> QuerySet[Location]:
        return Location.objects.all()


class TeamResource(Resource):
    """A group of staff."""

    model = Team
    path = "team"
    order = ("name",)
    fields = (Key("TeamId", source="id"), ReadOnly("Name"), *STAMPS)

    def visible_to(self, caller: Any) -> QuerySet[Team]:
        return Team.objects.all()


class CustomFieldResource(Resource):
    """A question the subscriber asks beyond the fields built in."""

    model = CustomField
    path = "customField"
    order = ("name",)
    fields = (
        Key("CustomFieldGuid"),
        ReadOnly("Name"),
        ReadOnly("AppliesTo"),
        ReadOnly("Kind"),
        *STAMPS,
    )

    def visible_to(self, caller: Any) -> QuerySet[CustomField]:
        return CustomField.objects.all()
