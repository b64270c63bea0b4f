"""Imports of plans, and of the list of service bookings that the agency's portal exports."""

from apps.core.importing.columns import RecordColumn
from apps.core.importing.definition import ImportDefinition


class ClientEngagementImport(ImportDefinition):
    """Plans are found by their own guid, else by being the same in everything; participants by guid or code.

    A participant's plan that starts on the same day and differs is rejected: its guid makes it a change.
    Only plans of the agency's kind are imported, since only those are in the interface.
    """

    columns = (
        RecordColumn(
            "Participant/SchemeNumber",
            (
                *("NDIS", "NDIS No", "NDIS number", "Scheme No", "Scheme number"),
                *("Participant No", "Participant number", "Participant NDIS number"),
            ),
        ),
        # Beside a number it is a name.
        RecordColumn("Participant/ContactGuid", second_headers=("Participant",)),
        RecordColumn("Participant/UniqueCode", ("Participant code",)),
        RecordColumn("PlanStartDate", ("Plan start", "Start date")),
        RecordColumn("PlanEndDate", ("Plan end", "End date")),
        RecordColumn("PlanCommencementDate", ("Plan commencement",)),
        RecordColumn("IsAgencyManaged", ("Agency managed",)),
        RecordColumn("IsSelfManaged", ("Self managed",)),
        RecordColumn("IsPlanManaged", ("Plan managed",)),
        RecordColumn("SupportCoordinatorContactGuid", ("Support coordinator",)),
        RecordColumn("PlanManagerClientGuid", ("Plan manager",)),
        RecordColumn("PlanManagerClientBusinessName", ("Plan manager name",)),
        RecordColumn("TotalBudgetAmount", ("Budget", "Total budget", "Plan budget")),
    )
