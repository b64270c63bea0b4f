"""The endpoints of funding (decisions.md 7)."""

from apps.funding import resources
from apps.odata.views import RecordViewSet


class PriceBookViewSet(RecordViewSet):
    """Price books with their products."""

    resource = resources.PriceBookResource


class CostCentreViewSet(RecordViewSet):
    """Cost centres."""

    resource = resources.CostCentreResource


VIEWSETS = (PriceBookViewSet, CostCentreViewSet)
