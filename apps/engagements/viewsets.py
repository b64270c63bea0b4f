"""The endpoints of engagements (interface.md 2.9)."""

from apps.engagements import resources
from apps.odata.http.router import ODataRouter

router = ODataRouter()
router.register_module(resources)
