"""The resources of this service, in the order of its service document."""

from apps.base.declaration.service import Service
from apps.core.domains import ROUTER, find_parts
from apps.integration.viewsets import router as integration_router
from apps.odata.http.router import ODataRouter

router = ODataRouter()
for each in find_parts(ROUTER):
    router.registry.extend(each.registry)
router.registry.extend(integration_router.registry)

service = Service(*router.resources)
