"""The resources of this service, in the order of its service document."""

from apps.base.declaration.service import Service
from apps.documents import viewsets as documents
from apps.engagements import viewsets as engagements
from apps.funding import viewsets as funding
from apps.odata.http.router import ODataRouter
from apps.people import viewsets as people
from apps.sales import viewsets as sales

router = ODataRouter()
for viewsets in (people, documents, engagements, sales, funding):
    router.registry.extend(viewsets.router.registry)

service = Service(*router.resources)
