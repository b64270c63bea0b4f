"""The endpoints of people (interface.md 4)."""

from apps.odata.http.router import ODataRouter
from apps.people import resources

router = ODataRouter()
router.register_module(resources)
