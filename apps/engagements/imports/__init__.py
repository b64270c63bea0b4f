"""Imports of plans, and of the list of service bookings that the agency's portal exports."""

from apps.core.importing.columns import ImportColumn
from apps.core.importing.definition import ImportDefinition


class ClientEngagementImport(ImportDefinition):
    """Plans are found by their own guid, else by being the same in everything; participants by guid or code.

    A participant's plan that starts on the same day and differs is rejected: its guid makes it a change.
    Only plans of the agency's kind are imported, since only those are in the interface.
    """

    columns = (
        ImportColumn("PlanStartDate", ("Plan start", "Start date")),
        ImportColumn("PlanEndDate", ("Plan end", "End date")),
        ImportColumn("PlanCommencementDate", ("Plan commencement",)),
        ImportColumn("IsAgencyManaged", ("Agency managed",)),
        ImportColumn("IsSelfManaged", ("Self managed",)),
        ImportColumn("IsPlanManaged", ("Plan managed",)),
        ImportColumn("SupportCoordinatorContactGuid", ("Support coordinator",)),
        ImportColumn("PlanManagerClientGuid", ("Plan manager",)),
        ImportColumn("TotalBudgetAmount", ("Budget", "Total budget", "Plan budget")),
    )
