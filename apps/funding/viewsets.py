"""The endpoints of funding (interface.md 4, decisions.md 7)."""

from apps.funding import resources
from apps.odata.views import RecordViewSet


class ClaimViewSet(RecordViewSet):
    """Claims to the funding agency."""

    resource = resources.ClaimResource


class InvoiceViewSet(RecordViewSet):
    """Funding invoices."""

    resource = resources.InvoiceResource


class ProviderInvoiceViewSet(RecordViewSet):
    """Invoices of providers."""

    resource = resources.ProviderInvoiceResource


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
