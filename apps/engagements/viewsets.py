"""The endpoints of engagements (interface.md 2.9; decisions.md 7)."""

from apps.engagements import resources
from apps.odata.http.viewsets import RecordViewSet


class ClientEngagementViewSet(RecordViewSet):
    """Plans with their service bookings."""

    resource = resources.ClientEngagementResource


class SupportCategoryViewSet(RecordViewSet):
    """Support categories."""

    resource = resources.SupportCategoryResource


VIEWSETS = (ClientEngagementViewSet, SupportCategoryViewSet)
