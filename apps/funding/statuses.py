"""The statuses of claims and invoices, and their meaning (transitions: validation/transitions.py).

Everything that depends on a status follows from this table. A status without a row fails ``manage.py check``.
Claims have some of the statuses of invoices, under the same words.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from django.core.checks import CheckMessage, Error

from apps.base.declaration.resource import Enumeration


class ClaimStatus(Enumeration):
    """The status of a claim, from its entry to its payment."""

    # What each of them means is its row of STATUSES below.
    AWAITING_STAFF_APPROVAL = "AwaitingStaffApproval", 0, "Awaiting staff approval"
    SUBMITTED_TO_PAYMENT_PROVIDER = "SubmittedToPaymentProvider", 1, "Submitted to the payment provider"
    ON_HOLD = "OnHold", 2, "On hold"
    APPROVED = "Approved", 3
    AGENCY_CLAIMED = "AgencyClaimed", 4, "Claimed from the agency"
    AGENCY_FULLY_PAID = "AgencyFullyPaid", 5, "Fully paid by the agency"
    AGENCY_PARTIALLY_PAID = "AgencyPartiallyPaid", 6, "Partially paid by the agency"
    CANCELLATION_REQUESTED = "PaymentProviderCancellationRequested", 7, "Cancellation requested"
    CANCELLED = "PaymentProviderCancelled", 8
    REJECTED = "PaymentProviderRejected", 9, "Refused"


class InvoiceStatus(Enumeration):
    """The status of an invoice: like a claim's, or with the client or plan manager it was sent to."""

    AWAITING_STAFF_APPROVAL = "AwaitingStaffApproval", 0, "Awaiting staff approval"
    SUBMITTED_TO_PAYMENT_PROVIDER = "SubmittedToPaymentProvider", 1, "Submitted to the payment provider"
    ON_HOLD = "OnHold", 2, "On hold"
    APPROVED = "Approved", 3
    AGENCY_CLAIMED = "AgencyClaimed", 4, "Claimed from the agency"
    AGENCY_FULLY_PAID = "AgencyFullyPaid", 5, "Fully paid by the agency"
    AGENCY_PARTIALLY_PAID = "AgencyPartiallyPaid", 6, "Partially paid by the agency"
    CANCELLATION_REQUESTED = "PaymentProviderCancellationRequested", 7, "Cancellation requested"
    CANCELLED = "PaymentProviderCancelled", 8
    REJECTED = "PaymentProviderRejected", 9, "Refused"
    CLIENT_REJECTED = "ClientRejected", 10, "Rejected by the client"
    PLAN_MANAGER_REJECTED = "PlanManagerRejected", 11, "Rejected by the plan manager"
    SENT = "Sent", 12
    PAID = "Paid", 13


S = InvoiceStatus

#: Business days for a claim to be made and sent, and for the agency to pay it.
DAYS_TO_CLAIM, DAYS_TO_PAY = 5, 2


class Phase(Enum):
    """How far a bill has come; what follows from that is said by the properties of ``Status``."""

    ENTERED = "entered"
    APPROVED = "approved"
    CLAIMED = "claimed"
    PAID = "paid"
    REJECTED = "rejected"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"


class OpenAmount(Enum):
    """How the unpaid part of a bill counts on its budget; the paid part always counts as claimed and paid."""

    WAITING = "waiting"
    CLAIMED = "claimed"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Status:
    """One row of the table; ``colour`` is a label type of Unfold.

    ``is_resubmittable``: a new bill may be made of what is not paid, and this one is work no more then.
    ``days``: the business days after which a claim is late in it.
    """

    value: InvoiceStatus
    phase: Phase
    open_amount: OpenAmount
    colour: str
    is_resubmittable: bool = False
    days: int | None = None

    @property
    def label(self) -> str:
        return str(self.value.label)

    @property
    def is_editable(self) -> bool:
        """The bill may still be edited."""
        return self.phase is Phase.ENTERED

    @property
    def counts_as_duplicate(self) -> bool:
        """Another bill for the same services duplicates this one: nobody rejected or cancelled it."""
        return self.phase not in (Phase.REJECTED, Phase.CANCELLED)

    @property
    def is_unclaimed(self) -> bool:
        """A claim still has to be claimed from the agency."""
        return self.phase in (Phase.ENTERED, Phase.APPROVED)

    @property
    def ends_recurrence(self) -> bool:
        """A recurring invoice is not repeated any more, unless it was resubmitted."""
        return self.phase in (Phase.REJECTED, Phase.CANCELLING, Phase.CANCELLED)

    @property
    def is_finished(self) -> bool:
        """Nothing more is expected; a rejected bill may still be resubmitted or reopened."""
        return self.phase in (Phase.PAID, Phase.CANCELLED)


#: Lists and work queues have them in this order.
STATUSES: Mapping[str, Status] = {
    row.value.value: row
    for row in (
        Status(S.AWAITING_STAFF_APPROVAL, Phase.ENTERED, OpenAmount.WAITING, "warning", days=DAYS_TO_CLAIM),
        Status(S.SUBMITTED_TO_PAYMENT_PROVIDER, Phase.CLAIMED, OpenAmount.CLAIMED, "info"),
        Status(S.ON_HOLD, Phase.ENTERED, OpenAmount.WAITING, "danger", days=DAYS_TO_CLAIM),
        Status(S.APPROVED, Phase.APPROVED, OpenAmount.WAITING, "info", days=DAYS_TO_CLAIM),
        Status(S.AGENCY_CLAIMED, Phase.CLAIMED, OpenAmount.CLAIMED, "primary", days=DAYS_TO_PAY),
        # A gap that was written off counts no more.
        Status(S.AGENCY_FULLY_PAID, Phase.PAID, OpenAmount.NOTHING, "success"),
        Status(S.AGENCY_PARTIALLY_PAID, Phase.CLAIMED, OpenAmount.CLAIMED, "warning", is_resubmittable=True),
        Status(S.CANCELLATION_REQUESTED, Phase.CANCELLING, OpenAmount.CLAIMED, "warning"),
        Status(S.CANCELLED, Phase.CANCELLED, OpenAmount.NOTHING, "", is_resubmittable=True),
        Status(S.REJECTED, Phase.REJECTED, OpenAmount.NOTHING, "danger", is_resubmittable=True),
        Status(S.CLIENT_REJECTED, Phase.REJECTED, OpenAmount.NOTHING, "danger"),
        Status(S.PLAN_MANAGER_REJECTED, Phase.REJECTED, OpenAmount.NOTHING, "danger"),
        Status(S.SENT, Phase.CLAIMED, OpenAmount.CLAIMED, "info"),
        Status(S.PAID, Phase.PAID, OpenAmount.CLAIMED, "success"),
    )
}


def statuses_where(condition: Callable[[Status], bool]) -> frozenset[str]:
    """The statuses whose row fulfils a condition."""
    return frozenset(name for name, row in STATUSES.items() if condition(row))


UNCLAIMED = statuses_where(lambda row: row.is_unclaimed)
EDITABLE = statuses_where(lambda row: row.is_editable)
ENDED = statuses_where(lambda row: not row.counts_as_duplicate)
FINISHED = statuses_where(lambda row: row.is_finished)
RESUBMITTABLE = statuses_where(lambda row: row.is_resubmittable)


def check_statuses(**options: object) -> list[CheckMessage]:
    """Refuse to start with a status that has no meaning, or another one on claims than on invoices."""
    missing = [value for value in dict.fromkeys([*InvoiceStatus, *ClaimStatus]) if value not in STATUSES]
    hint = "Add a row to STATUSES in apps/funding/statuses.py, and transitions in validation/transitions.py."
    words = {(each.name, each.value, each.number, each.label) for each in InvoiceStatus}
    return [
        *(
            Error(f"The status {value} has no row in STATUSES.", hint=hint, id="funding.E001")
            for value in missing
        ),
        *(
            Error(
                f"InvoiceStatus has no {each.name} with the value, number and label of ClaimStatus.",
                hint="Give it the same in both, in apps/funding/statuses.py.",
                id="funding.E002",
            )
            for each in ClaimStatus
            if (each.name, each.value, each.number, each.label) not in words
        ),
    ]
