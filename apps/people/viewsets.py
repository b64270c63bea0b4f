"""The endpoints of people (interface.md 4)."""

from apps.odata.http.router import ODataRouter
from apps.people import resources

router = ODataRouter()
router.register_resources(
    resources.StaffResource,
    resources.ClientResource,
    resources.ContactResource,
    resources.RoleResource,
    resources.PositionResource,
    resources.LocationResource,
    resources.TeamResource,
    resources.CustomFieldResource,
)
