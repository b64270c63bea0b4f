"""The endpoints of engagements (interface.md 2.9; decisions.md 7)."""

from apps.engagements import resources
from apps.odata.http.router import ODataRouter
from apps.odata.http.viewsets import ODataViewSet


class ClientEngagementViewSet(ODataViewSet):
    """Plans with their service bookings."""

    resource = resources.ClientEngagementResource


class SupportCategoryViewSet(ODataViewSet):
    """Support categories."""

    resource = resources.SupportCategoryResource


router = ODataRouter()
router.register("clientengagement", ClientEngagementViewSet)
router.register("supportCategory", SupportCategoryViewSet)
