"""The endpoints of people (interface.md 4)."""

from apps.odata.http.router import ODataRouter
from apps.odata.http.viewsets import ODataViewSet
from apps.people import resources


class StaffViewSet(ODataViewSet):
    """Staff members."""

    resource = resources.StaffResource


class ClientViewSet(ODataViewSet):
    """Organisations that are customers."""

    resource = resources.ClientResource


class ContactViewSet(ODataViewSet):
    """People who are no members of staff."""

    resource = resources.ContactResource


class RoleViewSet(ODataViewSet):
    """Roles."""

    resource = resources.RoleResource


class PositionViewSet(ODataViewSet):
    """Position titles."""

    resource = resources.PositionResource


class LocationViewSet(ODataViewSet):
    """Locations."""

    resource = resources.LocationResource


class TeamViewSet(ODataViewSet):
    """Teams."""

    resource = resources.TeamResource


class CustomFieldViewSet(ODataViewSet):
    """Custom fields."""

    resource = resources.CustomFieldResource


router = ODataRouter()
router.register("staff", StaffViewSet)
router.register("client", ClientViewSet)
router.register("contact", ContactViewSet)
router.register("role", RoleViewSet)
router.register("position", PositionViewSet)
router.register("location", LocationViewSet)
router.register("team", TeamViewSet)
router.register("customField", CustomFieldViewSet)
