"""The endpoints of sales (interface.md 4)."""

from apps.odata.http.viewsets import RecordViewSet
from apps.sales import resources


class OpportunityViewSet(RecordViewSet):
    """Business that may be won."""

    resource = resources.OpportunityResource


class OpportunityTemplateViewSet(RecordViewSet):
    """What opportunities start from."""

    resource = resources.OpportunityTemplateResource


class OpportunityTypeViewSet(RecordViewSet):
    """Kinds of sale."""

    resource = resources.OpportunityTypeResource


class OpportunityStageViewSet(RecordViewSet):
    """Steps on the way to a result."""

    resource = resources.OpportunityStageResource


class OpportunityOutcomeReasonViewSet(RecordViewSet):
    """Why opportunities end as they do."""

    resource = resources.OpportunityOutcomeReasonResource


VIEWSETS = (
    OpportunityViewSet,
    OpportunityTemplateViewSet,
    OpportunityTypeViewSet,
    OpportunityStageViewSet,
    OpportunityOutcomeReasonViewSet,
)
