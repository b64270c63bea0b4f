"""The endpoints of sales (interface.md 4)."""

from apps.odata.http.router import ODataRouter
from apps.odata.http.viewsets import ODataViewSet
from apps.sales import resources


class OpportunityViewSet(ODataViewSet):
    """Business that may be won."""

    resource = resources.OpportunityResource


class OpportunityTemplateViewSet(ODataViewSet):
    """What opportunities start from."""

    resource = resources.OpportunityTemplateResource


class OpportunityTypeViewSet(ODataViewSet):
    """Kinds of sale."""

    resource = resources.OpportunityTypeResource


class OpportunityStageViewSet(ODataViewSet):
    """Steps on the way to a result."""

    resource = resources.OpportunityStageResource


class OpportunityOutcomeReasonViewSet(ODataViewSet):
    """Why opportunities end as they do."""

    resource = resources.OpportunityOutcomeReasonResource


router = ODataRouter()
router.register("opportunity", OpportunityViewSet)
router.register("opportunityTemplate", OpportunityTemplateViewSet)
router.register("opportunityType", OpportunityTypeViewSet)
router.register("opportunityStage", OpportunityStageViewSet)
router.register("opportunityOutcomeReason", OpportunityOutcomeReasonViewSet)
