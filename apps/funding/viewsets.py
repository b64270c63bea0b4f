"""The endpoints of funding (interface.md 4)."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from apps.documents.openapi import file_operation
from apps.funding import resources
from apps.funding.approval import OPERATION, apply_action
from apps.funding.downloads import claim_file_response
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


class ClaimFileViewSet(ODataViewSet):
    """Claim files, and their bytes."""

    resource = resources.ClaimFileResource

    @extend_schema(operation=file_operation("ClaimFile", "claimFile", "The bytes of a claim file"))
    @action(detail=True, methods=["get"], url_path="Download", url_name="download", right="files")
    def download(self, request: Request, key: str) -> HttpResponse:
        """The file as it is kept, withdrawn ones as well."""
        self.refuse_plain_filters()
        return claim_file_response(self.find_record(key))


router = ODataRouter()
router.register_module(resources, ProviderInvoiceViewSet, ClaimFileViewSet)
