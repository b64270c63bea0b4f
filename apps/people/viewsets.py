"""The endpoints of people (interface.md 4)."""

from apps.odata.http.viewsets import RecordViewSet
from apps.people import resources


class StaffViewSet(RecordViewSet):
    """Staff members."""

    resource = resources.StaffResource


class ClientViewSet(RecordViewSet):
    """Organisations that are customers."""

    resource = resources.ClientResource


class ContactViewSet(RecordViewSet):
    """People who are no members of staff."""

    resource = resources.ContactResource


class RoleViewSet(RecordViewSet):
    """Roles."""

    resource = resources.RoleResource


class PositionViewSet(RecordViewSet):
    """Position titles."""

    resource = resources.PositionResource


class LocationViewSet(RecordViewSet):
    """Locations."""

    resource = resources.LocationResource


class TeamViewSet(RecordViewSet):
    """Teams."""

    resource = resources.TeamResource


class CustomFieldViewSet(RecordViewSet):
    """Custom fields."""

    resource = resources.CustomFieldResource


VIEWSETS = (
    StaffViewSet,
    ClientViewSet,
    ContactViewSet,
    RoleViewSet,
    PositionViewSet,
    LocationViewSet,
    TeamViewSet,
    CustomFieldViewSet,
)
