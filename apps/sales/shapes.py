"""The objects by which opportunities and templates refer to the lists they choose from (interface.md 2.7)."""

from apps.odata.declaration.resource import Key, NestedType, ReadOnly
from apps.sales.models import OpportunityOutcomeReason, OpportunityStage, OpportunityType


class TypeBrief(NestedType):
    model = OpportunityType
    fields = (Key("TypeId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class StageBrief(NestedType):
    model = OpportunityStage
    fields = (Key("StageId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class OutcomeReasonBrief(NestedType):
    model = OpportunityOutcomeReason
    fields = (Key("OutcomeReasonId", source="id"), ReadOnly("Name"), ReadOnly("ArchiveDate"))
