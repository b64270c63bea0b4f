"""Imports of plans: usual headers and services."""

from __future__ import annotations

from apps.core.importing.definition import ImportDefinition

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


class ClientEngagementImport(ImportDefinition):
    """Plans are found by their own guid, else by being the same in everything; participants by guid or code.

    A participant's plan that starts on the same day and differs is rejected: its guid makes it a change.
    Only plans of the agency's kind are imported, since only those are in the interface.
    """

    header_synonyms = HEADERS
