"""The endpoints of sales (interface.md 4)."""

from apps.odata.http.router import ODataRouter
from apps.sales import resources

router = ODataRouter()
router.register_module(resources)
