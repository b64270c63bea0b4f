"""What each status of a claim or an invoice means, and which transitions lead from one to another.

Everything that depends on a status follows from these two tables. A status without a row in ``STATUSES``
fails ``manage.py check``. Claims have some of the statuses of invoices, under the same words.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Final

from django.core.checks import CheckMessage, Error

from apps.funding.choices import BillPermission, ClaimStatus, InvoiceStatus

S = InvoiceStatus

# --- statuses -------------------------------------------------------------------------------------------


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
    """One row of the table; ``colour`` is a label type of Unfold."""

    value: InvoiceStatus
    phase: Phase
    open_amount: OpenAmount
    colour: str

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
    def ends_recurrence(self) -> bool:
        """A recurring invoice is not repeated any more, unless it was resubmitted."""
        return self.phase in (Phase.REJECTED, Phase.CANCELLING, Phase.CANCELLED)

    @property
    def is_settled(self) -> bool:
        """Nothing more is expected; a rejected bill may still be resubmitted or reopened."""
        return self.phase in (Phase.PAID, Phase.CANCELLED)


#: Lists and work queues have them in this order.
STATUSES: Mapping[str, Status] = {
    row.value.value: row
    for row in (
        Status(S.AWAITING_STAFF_APPROVAL, Phase.ENTERED, OpenAmount.WAITING, "warning"),
        Status(S.SUBMITTED_TO_PAYMENT_PROVIDER, Phase.CLAIMED, OpenAmount.CLAIMED, "info"),
        Status(S.ON_HOLD, Phase.ENTERED, OpenAmount.WAITING, "danger"),
        Status(S.APPROVED, Phase.APPROVED, OpenAmount.WAITING, "info"),
        Status(S.AGENCY_CLAIMED, Phase.CLAIMED, OpenAmount.CLAIMED, "primary"),
        # A gap that was written off counts no more.
        Status(S.AGENCY_FULLY_PAID, Phase.PAID, OpenAmount.NOTHING, "success"),
        Status(S.AGENCY_PARTIALLY_PAID, Phase.CLAIMED, OpenAmount.CLAIMED, "warning"),
        Status(S.CANCELLATION_REQUESTED, Phase.CANCELLING, OpenAmount.CLAIMED, "warning"),
        Status(S.CANCELLED, Phase.CANCELLED, OpenAmount.NOTHING, ""),
        Status(S.REJECTED, Phase.REJECTED, OpenAmount.NOTHING, "danger"),
        Status(S.CLIENT_REJECTED, Phase.REJECTED, OpenAmount.NOTHING, "danger"),
        Status(S.PLAN_MANAGER_REJECTED, Phase.REJECTED, OpenAmount.NOTHING, "danger"),
        Status(S.SENT, Phase.CLAIMED, OpenAmount.CLAIMED, "info"),
        Status(S.PAID, Phase.PAID, OpenAmount.CLAIMED, "success"),
    )
}


def statuses_where(condition: Callable[[Status], bool]) -> frozenset[str]:
    """The statuses whose row fulfils a condition."""
    return frozenset(name for name, row in STATUSES.items() if condition(row))


EDITABLE = statuses_where(lambda row: row.is_editable)
ENDED = statuses_where(lambda row: not row.counts_as_duplicate)
SETTLED = statuses_where(lambda row: row.is_settled)


def check_statuses(**options: Any) -> list[CheckMessage]:
    """Refuse to start with a status that has no meaning."""
    missing = [value for value in dict.fromkeys([*InvoiceStatus, *ClaimStatus]) if value not in STATUSES]
    hint = "Add a row to STATUSES in apps/funding/statuses.py, and the transitions that lead there."
    return [
        Error(f"The status {value} has no row in STATUSES.", hint=hint, id="funding.E001")
        for value in missing
    ]


# --- transitions ----------------------------------------------------------------------------------------


class TransitionName(StrEnum):
    """A transition in the words of commands and of ``StatusMove.verb``."""

    HOLD = "hold"
    RELEASE = "release"
    APPROVE = "approve"
    WITHDRAW = "withdraw"
    CLAIM = "claim"
    SUBMIT = "submit"
    ACCEPT = "accept"
    REJECT = "reject"
    ASK_TO_CANCEL = "ask-to-cancel"
    CONFIRM_CANCELLATION = "confirm-cancellation"
    REFUSE_CANCELLATION = "refuse-cancellation"
    PAY = "pay"
    PAY_IN_PART = "pay-in-part"
    PAY_THE_REST = "pay-the-rest"
    WRITE_OFF = "write-off"
    RESUBMIT = "resubmit"
    RESUBMIT_GAP = "resubmit-gap"
    SEND = "send"
    CLIENT_REJECTS = "client-rejects"
    PLAN_MANAGER_REJECTS = "plan-manager-rejects"
    REOPEN = "reopen"
    ARCHIVE = "archive"
    RESTORE = "restore"


T = TransitionName


class Target(Enum):
    """Where a transition leads that does not lead to one and the same status."""

    SAME = "the same"
    PREVIOUS = "the status before"


class PaymentExtent(Enum):
    """How much of what is outstanding a transition pays."""

    FULL = "all that is outstanding"
    PART = "a part of what is outstanding"


class Resubmission(Enum):
    """What a resubmission takes over from the bill it resubmits: all of it, or only what is not paid."""

    FULL = "full"
    GAP = "gap"


#: In ``Transition.sets``: the moment of the transition.
NOW: Final = object()


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table: bills in any of ``sources`` go to ``target``.

    ``sets`` are columns set besides the status, its date and its reason; ``single``: never for several bills
    at once; ``resubmits``: creates a new bill from the old one, which stays in its status;
    ``permission``: what people need besides administering bills. Conditions beyond these are the
    guards of ``validation/transitions.py``.
    """

    name: TransitionName
    label: str
    sources: frozenset[str]
    target: InvoiceStatus | Target
    invoices_only: bool = False
    needs_reason: bool = False
    single: bool = False
    sets: Mapping[str, Any] = field(default_factory=dict)
    pays: PaymentExtent | None = None
    resubmits: Resubmission | None = None
    permission: BillPermission | None = None

    @property
    def changes_budgets(self) -> bool:
        """Whether bills may count differently on budgets afterwards."""
        if self.pays or self.resubmits or self.target is Target.PREVIOUS or "archive_date" in self.sets:
            return True
        open_amounts = {STATUSES[status].open_amount for status in (*self.sources, str(self.target))}
        return len(open_amounts) > 1


def _from(*statuses: InvoiceStatus) -> frozenset[str]:
    return frozenset(status.value for status in statuses)


RESUBMITTABLE = _from(S.AGENCY_PARTIALLY_PAID, S.REJECTED, S.CANCELLED)

TRANSITIONS: tuple[Transition, ...] = (
    Transition(T.HOLD, "Hold", _from(S.AWAITING_STAFF_APPROVAL), S.ON_HOLD, needs_reason=True),
    Transition(T.RELEASE, "Release", _from(S.ON_HOLD), S.AWAITING_STAFF_APPROVAL),
    Transition(
        T.APPROVE,
        "Approve",
        EDITABLE,
        S.APPROVED,
        sets={"approved_date": NOW},
        permission=BillPermission.APPROVE,
    ),
    Transition(
        T.WITHDRAW,
        "Withdraw approval",
        _from(S.APPROVED),
        S.AWAITING_STAFF_APPROVAL,
        single=True,
        sets={"approved_date": None},
        permission=BillPermission.APPROVE,
    ),
    Transition(
        T.CLAIM, "Claim from the agency", _from(S.APPROVED), S.AGENCY_CLAIMED, permission=BillPermission.CLAIM
    ),
    Transition(
        T.SUBMIT,
        "Submit to the payment provider",
        _from(S.APPROVED),
        S.SUBMITTED_TO_PAYMENT_PROVIDER,
        permission=BillPermission.CLAIM,
    ),
    Transition(
        T.ACCEPT,
        "Accepted",
        _from(S.SUBMITTED_TO_PAYMENT_PROVIDER),
        S.AGENCY_CLAIMED,
        permission=BillPermission.CLAIM,
    ),
    Transition(
        T.REJECT,
        "Rejected",
        _from(S.SUBMITTED_TO_PAYMENT_PROVIDER),
        S.REJECTED,
        permission=BillPermission.CLAIM,
    ),
    Transition(
        T.ASK_TO_CANCEL,
        "Ask to cancel",
        _from(S.SUBMITTED_TO_PAYMENT_PROVIDER, S.AGENCY_CLAIMED),
        S.CANCELLATION_REQUESTED,
        permission=BillPermission.CLAIM,
    ),
    Transition(
        T.CONFIRM_CANCELLATION,
        "Cancellation confirmed",
        _from(S.CANCELLATION_REQUESTED),
        S.CANCELLED,
        permission=BillPermission.CLAIM,
    ),
    Transition(
        T.REFUSE_CANCELLATION,
        "Cancellation refused",
        _from(S.CANCELLATION_REQUESTED),
        Target.PREVIOUS,
        permission=BillPermission.CLAIM,
    ),
    Transition(
        T.PAY,
        "Paid in full",
        _from(S.AGENCY_CLAIMED),
        S.AGENCY_FULLY_PAID,
        pays=PaymentExtent.FULL,
        permission=BillPermission.PAY,
    ),
    Transition(
        T.PAY_IN_PART,
        "Paid in part",
        _from(S.AGENCY_CLAIMED),
        S.AGENCY_PARTIALLY_PAID,
        pays=PaymentExtent.PART,
        permission=BillPermission.PAY,
    ),
    Transition(
        T.PAY_THE_REST,
        "Paid the rest",
        _from(S.AGENCY_PARTIALLY_PAID),
        S.AGENCY_FULLY_PAID,
        pays=PaymentExtent.FULL,
        permission=BillPermission.PAY,
    ),
    Transition(
        T.WRITE_OFF,
        "Write off the gap",
        _from(S.AGENCY_PARTIALLY_PAID),
        S.AGENCY_FULLY_PAID,
        needs_reason=True,
        permission=BillPermission.PAY,
    ),
    Transition(T.RESUBMIT, "Resubmit in full", RESUBMITTABLE, Target.SAME, resubmits=Resubmission.FULL),
    Transition(T.RESUBMIT_GAP, "Resubmit the gap", RESUBMITTABLE, Target.SAME, resubmits=Resubmission.GAP),
    Transition(
        T.SEND, "Send", _from(S.APPROVED), S.SENT, invoices_only=True, permission=BillPermission.CLAIM
    ),
    Transition(
        T.PAY,
        "Paid",
        _from(S.SENT),
        S.PAID,
        invoices_only=True,
        pays=PaymentExtent.FULL,
        permission=BillPermission.PAY,
    ),
    Transition(
        T.CLIENT_REJECTS,
        "Client rejects",
        _from(S.SENT),
        S.CLIENT_REJECTED,
        invoices_only=True,
        needs_reason=True,
    ),
    Transition(
        T.PLAN_MANAGER_REJECTS,
        "Plan manager rejects",
        _from(S.SENT),
        S.PLAN_MANAGER_REJECTED,
        invoices_only=True,
        needs_reason=True,
    ),
    Transition(
        T.REOPEN,
        "Reopen",
        _from(S.CLIENT_REJECTED, S.PLAN_MANAGER_REJECTED),
        S.AWAITING_STAFF_APPROVAL,
        invoices_only=True,
        sets={"resubmitted": True, "approved_date": None},
    ),
    Transition(T.ARCHIVE, "Archive", EDITABLE | ENDED, Target.SAME, sets={"archive_date": NOW}),
    Transition(T.RESTORE, "Restore", EDITABLE | ENDED, Target.SAME, sets={"archive_date": None}),
)
