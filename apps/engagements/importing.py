"""Imports of plans: the headers others use, and what finds a plan that stands already."""

from __future__ import annotations

from apps.core.importing.additions import Importing
from apps.engagements import validation
from apps.engagements.services import create_engagements, update_engagements

HEADERS = {
    "Plan start": "PlanStartDate",
    "Plan end": "PlanEndDate",
    "Start date": "PlanStartDate",
    "End date": "PlanEndDate",
    "Plan commencement": "PlanCommencementDate",
    "Agency managed": "IsAgencyManaged",
    "Self managed": "IsSelfManaged",
    "Plan managed": "IsPlanManaged",
    "Support coordinator": "SupportCoordinatorContactGuid",
    "Plan manager": "PlanManagerClientGuid",
    "Budget": "TotalBudgetAmount",
    "Total budget": "TotalBudgetAmount",
    "Plan budget": "TotalBudgetAmount",
}


class ClientEngagementImport(Importing):
    """Plans are found by their own guid, else by being the same in everything; participants by guid or code.

    A participant's plan that starts on the same day and differs is refused: its guid says that it is meant.
    Only plans of the agency's kind are imported, since only those are in the interface.
    """

    synonyms = HEADERS
    alike = ("plan_start_date",)
    create = staticmethod(create_engagements)
    revise = staticmethod(update_engagements)
    rules = validation.ENGAGEMENT_RULES
    warnings = validation.ENGAGEMENT_WARNINGS
