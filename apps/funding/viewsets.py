"""The endpoints of funding (interface.md 4)."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from apps.funding import resources
from apps.funding.approval import OPERATION, apply_action
from apps.odata.http.router import ODataRouter
from apps.odata.http.viewsets import ODataViewSet


class ProviderInvoiceViewSet(ODataViewSet):
    """Invoices of providers."""

    resource = resources.ProviderInvoiceResource

    @extend_schema(operation=OPERATION)
    @action(detail=True, methods=["post"], url_path="Action", url_name="action")
    def act(self, request: Request, key: str) -> HttpResponse:
        """POST: approve, reject, hold or release it, in the name of a staff member."""
        return self.respond_once(request, lambda: self.respond_acted(request, key))

    def respond_acted(self, request: Request, key: str) -> HttpResponse:
        self.refuse_plain_filters()
        body = self.parse_body(request)
        guid = self.read_key(key)
        apply_action(guid, body, self.get_queryset(), self.check_preconditions, self.entity_set.name)
        return self.respond_updated(request, guid)


router = ODataRouter()
router.register_module(resources, ProviderInvoiceViewSet)
