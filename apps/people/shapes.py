"""The objects that people's records are made of and referred to by (interface.md 2.1, 2.2)."""

from apps.odata.declaration.resource import (
    Contains,
    Embedded,
    Key,
    Navigation,
    NestedType,
    Optional,
    ReadOnly,
    RefersTo,
)
from apps.people.models import (
    Client,
    Contact,
    CustomFieldAnswer,
    CustomFieldResponse,
    Location,
    Position,
    Role,
    Staff,
    Team,
)


class AddressShape(NestedType):
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


class PostalAddressShape(NestedType):
    """Where post goes when not to the address."""

    fields = (
        Optional("PostalAddress", source="postal_street_address", aliases=("PostalStreetAddress",)),
        Optional("PostalAddress2", source="postal_street_address2", aliases=("PostalStreetAddress2",)),
        Optional("PostalSuburb"),
        Optional("PostalCity"),
        Optional("PostalState"),
        Optional("PostalPostCode"),
    )


class ResponseShape(NestedType):
    model = CustomFieldResponse
    fields = (ReadOnly("Response"),)


class CustomFieldAnswerShape(NestedType):
    """A custom field with what was answered."""

    model = CustomFieldAnswer
    fields = (
        ReadOnly("CustomFieldGuid", source="custom_field"),
        ReadOnly("Name", source="custom_field__name"),
        Contains("Responses", ResponseShape, read_only=True),
    )


class TeamBrief(NestedType):
    model = Team
    fields = (Key("TeamId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class StaffBrief(NestedType):
    model = Staff
    fields = (Key("StaffGuid"), ReadOnly("FirstName"), ReadOnly("LastName"), ReadOnly("ArchiveDate"))


class ContactBrief(NestedType):
    model = Contact
    fields = (Key("ContactGuid"), ReadOnly("FirstName"), ReadOnly("LastName"), ReadOnly("ArchiveDate"))


class ClientBrief(NestedType):
    model = Client
    fields = (Key("ClientGuid"), ReadOnly("BusinessName"), ReadOnly("ArchiveDate"))


class RoleBrief(NestedType):
    model = Role
    fields = (Key("RoleGuid"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class PositionBrief(NestedType):
    model = Position
    fields = (Key("PositionGuid"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class LocationBrief(NestedType):
    model = Location
    fields = (Key("LocationGuid"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class RepresentativeShape(NestedType):
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
    return Embedded("Address", AddressShape), Embedded("PostalAddress", PostalAddressShape)


def custom_fields() -> Navigation:
    """The answers to custom fields, told of one record only (decisions.md 1)."""
    return Contains(
        "CustomFields",
        CustomFieldAnswerShape,
        source="custom_field_answers",
        order=("custom_field__position",),
        item_only=True,
        read_only=True,
    )


def account_manager() -> Navigation:
    """The staff member who looks after the record."""
    return RefersTo("AccountManager", StaffBrief)
