"""The resources of this service, in the order of its service document."""

from apps.base.declaration.service import Service
from apps.core.domains import ROUTER, find_parts
from apps.odata.http.router import ODataRouter

router = ODataRouter()
for each in find_parts(ROUTER):
    router.registry.extend(each.registry)

service = Service(*router.resources)
