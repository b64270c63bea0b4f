"""The endpoints of payments (docs/versions.md)."""

from apps.odata.http.router import ODataRouter
from apps.payments import resources

router = ODataRouter()
router.register_module(resources)
