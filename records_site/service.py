"""The resources of this service, in the order of its service document."""

from importlib import import_module
from importlib.util import find_spec

from django.conf import settings

from apps.base.declaration.service import Service
from apps.core.domains import ROUTER, find_parts
from apps.integration.viewsets import router as integration_router
from apps.odata.http.router import ODataRouter


def router_of(app: str) -> ODataRouter:
    """The router of an app's viewsets; without that module its resources have no endpoints of their own."""
    router = next(iter(find_parts(ROUTER, [app])), ODataRouter())
    if not find_spec(f"{app}.viewsets") and find_spec(f"{app}.resources"):
        router.register_module(import_module(f"{app}.resources"))
    return router


router = ODataRouter()
for app in settings.DOMAIN_APPS:
    router.registry.extend(router_of(app).registry)
router.registry.extend(integration_router.registry)

service = Service(*router.resources)
