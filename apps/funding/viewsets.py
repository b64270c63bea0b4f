"""The endpoints of funding (interface.md 4, decisions.md 7)."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from apps.funding import resources
from apps.funding.approval import OPERATION, apply_action
from apps.odata.http.viewsets import RecordViewSet
from apps.odata.query.keys import read_key


class ClaimViewSet(RecordViewSet):
    """Claims to the funding agency."""

    resource = resources.ClaimResource


class InvoiceViewSet(RecordViewSet):
    """Funding invoices."""

    resource = resources.InvoiceResource


class ProviderInvoiceViewSet(RecordViewSet):
    """Invoices of providers."""

    resource = resources.ProviderInvoiceResource

    @extend_schema(operation=OPERATION)
    @action(detail=True, methods=["post"], url_path="Action", url_name="action")
    def act(self, request: Request, key: str) -> HttpResponse:
        """POST: approve, reject, hold or release it, in the name of a staff member."""
        return self.once(request, lambda: self.acted(request, key))

    def acted(self, request: Request, key: str) -> HttpResponse:
        self.refuse_plain(self.query_options())
        raw = self.json_body(request)
        guid = read_key(self.entity_set, key)
        wanted = request.META.get("HTTP_IF_MATCH", "")
        apply_action(
            guid,
            raw,
            self.entity_set.resource.visible_to(request.auth),
            lambda record: self.check_stamp(record, wanted),
            self.entity_set.name,
        )
        return self.as_written(request, guid)


class PriceBookViewSet(RecordViewSet):
    """Price books with their products."""

    resource = resources.PriceBookResource


class CostCentreViewSet(RecordViewSet):
    """Cost centres."""

    resource = resources.CostCentreResource


VIEWSETS = (
    ClaimViewSet,
    InvoiceViewSet,
    ProviderInvoiceViewSet,
    PriceBookViewSet,
    CostCentreViewSet,
)
