"""The objects by which opportunities and templates refer to the lists they choose from (interface.md 2.7)."""

from apps.odata.declaration import Key, ReadOnly, Shape
from apps.sales.models import OpportunityOutcomeReason, OpportunityStage, OpportunityType


class TypeBrief(Shape):
    model = OpportunityType
    fields = (Key("TypeId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class StageBrief(Shape):
    model = OpportunityStage
    fields = (Key("StageId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class OutcomeReasonBrief(Shape):
    model = OpportunityOutcomeReason
    fields = (Key("OutcomeReasonId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))
