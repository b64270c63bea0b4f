"""The transitions of claims and invoices: one row says all of each, and everything else asks it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import lru_cache
from typing import Final

from apps.funding.choices import BillPermission
from apps.funding.models import Invoice
from apps.funding.statuses import EDITABLE, ENDED, RESUBMITTABLE, STATUSES, InvoiceStatus
from apps.funding.validation.guards import (
    AnyBill,
    Guard,
    approver_is_not_who_entered_it,
    gap_was_not_resubmitted,
    has_an_unpaid_part,
    has_money_of_its_own,
    has_no_resubmission,
    is_billed_to_the_agency,
    is_billed_to_the_client,
    is_not_between_resubmissions,
    its_file_was_not_sent,
    may_pay_when_money_is_taken_back,
    nothing_was_paid_since_archiving,
    original_may_be_resubmitted,
    part_was_not_resubmitted,
    payment_provider_is_used,
    provider_invoice_has_no_other_claim,
    provider_invoice_is_not_blocked,
)

S = InvoiceStatus


class TransitionName(StrEnum):
    """A transition in the words of commands and of ``StatusMove.verb``."""

    HOLD = "hold"
    RELEASE = "release"
    APPROVE = "approve"
    WITHDRAW = "withdraw"
    CLAIM = "claim"
    TAKE_OUT_OF_FILE = "take-out-of-file"
    SUBMIT = "submit"
    ACCEPT = "accept"
    REJECT = "reject"
    REFUSE = "refuse"
    ASK_TO_CANCEL = "ask-to-cancel"
    CONFIRM_CANCELLATION = "confirm-cancellation"
    REFUSE_CANCELLATION = "refuse-cancellation"
    PAY = "pay"
    PAY_IN_PART = "pay-in-part"
    PAY_FURTHER = "pay-further"
    PAY_THE_REST = "pay-the-rest"
    WRITE_OFF = "write-off"
    TAKE_BACK = "take-back"
    RESUBMIT = "resubmit"
    RESUBMIT_GAP = "resubmit-gap"
    SEND = "send"
    CLIENT_REJECTS = "client-rejects"
    PLAN_MANAGER_REJECTS = "plan-manager-rejects"
    REOPEN = "reopen"
    ARCHIVE = "archive"
    RESTORE = "restore"


T = TransitionName


class RelativeStatus(Enum):
    """The target of a transition that does not lead to one and the same status."""

    SAME = "the same"
    PREVIOUS = "the status before"


class PaymentExtent(Enum):
    """How much of what is outstanding a transition pays."""

    FULL = "all that is outstanding"
    PART = "a part of what is outstanding"


class TakenBack(Enum):
    """How much of what was paid of a bill itself a transition takes back."""

    ALL = "all that was paid of it itself"
    PART = "what was paid of it itself, or a part of that"


class Resubmission(Enum):
    """The part that a resubmission takes over from its original: all of it, or only what is not paid."""

    FULL = "full"
    GAP = "gap"


class Button(Enum):
    """The position of a transition's button among those of a bill."""

    NEXT = 0  # the usual next step
    ALSO = 1  # another usual one
    OTHER = 2
    END = 3


#: In ``Transition.sets``: the moment of the transition.
NOW: Final = object()


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table: bills in any of ``sources`` go to ``target``.

    ``guards`` are conditions beyond those of the row, ``permission`` is what people need besides
    administering bills.
    ``sets`` are columns set besides the status, its date and its reason. ``target_when_unpaid``: where bills
    go of which nothing is paid any more. ``resubmits``: creates a new bill from the old one, which stays in
    its status. ``reads_provider_invoice``: that of a claim must not change
    meanwhile.
    ``by_service``: nobody chooses it for a bill; a service applies it to all the bills of a claim file.
    ``single``: never for several bills at once; ``is_taken_back``: of many bills, other transitions take it
    back. ``for_all``: lists of all statuses have its button as well. ``shows_warnings``: whoever takes it
    sees the warnings that a bill was saved with.
    """

    name: TransitionName
    label: str
    sources: frozenset[str]
    target: InvoiceStatus | RelativeStatus
    invoices_only: bool = False
    needs_reason: bool = False
    by_service: bool = False
    single: bool = False
    sets: Mapping[str, object] = field(default_factory=dict)
    pays: PaymentExtent | None = None
    takes_back: TakenBack | None = None
    target_when_unpaid: InvoiceStatus | None = None
    resubmits: Resubmission | None = None
    permission: BillPermission | None = None
    guards: tuple[Guard, ...] = ()
    reads_provider_invoice: bool = False
    button: Button = Button.OTHER
    is_taken_back: bool = False
    for_all: bool = False
    shows_warnings: bool = False

    @property
    def asks_for_amount(self) -> bool:
        """Each bill needs an amount, which nobody would give many bills at once."""
        return self.pays is PaymentExtent.PART or self.takes_back is TakenBack.PART

    @property
    def moves_money(self) -> bool:
        """It changes what is paid; its entries of the status history say by how much."""
        return self.pays is not None or self.takes_back is not None

    @property
    def changes_archiving(self) -> bool:
        """It archives or restores: the gap of a resubmitted bill is its own again, or not any more."""
        return "archive_date" in self.sets

    @property
    def changes_provider_invoice(self) -> bool:
        """True when the provider invoice of a claim may have a claim more afterwards, or one less."""
        statuses = (*self.sources, str(self.target), str(self.target_when_unpaid or self.target))
        has_ended = {status in ENDED for status in statuses}
        return len(has_ended) > 1 or self.changes_archiving or self.resubmits is not None

    @property
    def changes_budgets(self) -> bool:
        """True when bills may count differently on budgets afterwards."""
        if self.moves_money or self.resubmits or self.changes_archiving:
            return True
        if self.target is RelativeStatus.PREVIOUS:
            return True
        open_amounts = {STATUSES[status].open_amount for status in (*self.sources, str(self.target))}
        return len(open_amounts) > 1


def _from(*statuses: InvoiceStatus) -> frozenset[str]:
    return frozenset(status.value for status in statuses)


TRANSITIONS: tuple[Transition, ...] = (
    Transition(
        T.HOLD,
        "Hold",
        _from(S.AWAITING_STAFF_APPROVAL),
        S.ON_HOLD,
        needs_reason=True,
        is_taken_back=True,
        for_all=True,
    ),
    Transition(
        T.RELEASE,
        "Release",
        _from(S.ON_HOLD),
        S.AWAITING_STAFF_APPROVAL,
        button=Button.ALSO,
        is_taken_back=True,
        for_all=True,
    ),
    Transition(
        T.APPROVE,
        "Approve",
        EDITABLE,
        S.APPROVED,
        sets={"approved_date": NOW},
        permission=BillPermission.APPROVE,
        guards=(approver_is_not_who_entered_it, provider_invoice_is_not_blocked),
        reads_provider_invoice=True,
        button=Button.NEXT,
        for_all=True,
        shows_warnings=True,
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
        T.CLAIM,
        "Claim from the agency",
        _from(S.APPROVED),
        S.AGENCY_CLAIMED,
        permission=BillPermission.CLAIM,
        guards=(is_billed_to_the_agency,),
        button=Button.NEXT,
    ),
    Transition(
        T.TAKE_OUT_OF_FILE,
        "Withdraw the claim file",
        _from(S.AGENCY_CLAIMED),
        S.APPROVED,
        by_service=True,
        permission=BillPermission.SEND_FILES,
        guards=(its_file_was_not_sent,),
    ),
    Transition(
        T.SUBMIT,
        "Submit to the payment provider",
        _from(S.APPROVED),
        S.SUBMITTED_TO_PAYMENT_PROVIDER,
        permission=BillPermission.CLAIM,
        guards=(is_billed_to_the_agency, payment_provider_is_used),
        button=Button.NEXT,
    ),
    Transition(
        T.ACCEPT,
        "Accepted",
        _from(S.SUBMITTED_TO_PAYMENT_PROVIDER),
        S.AGENCY_CLAIMED,
        permission=BillPermission.CLAIM,
        button=Button.NEXT,
    ),
    Transition(
        T.REJECT,
        "Rejected",
        _from(S.SUBMITTED_TO_PAYMENT_PROVIDER),
        S.REJECTED,
        permission=BillPermission.CLAIM,
    ),
    Transition(
        T.REFUSE,
        "Refused by the agency",
        _from(S.AGENCY_CLAIMED),
        S.REJECTED,
        needs_reason=True,
        permission=BillPermission.CLAIM,
    ),
    Transition(
        T.ASK_TO_CANCEL,
        "Ask to cancel",
        _from(
            S.SUBMITTED_TO_PAYMENT_PROVIDER,
            S.AGENCY_CLAIMED,
            S.AGENCY_FULLY_PAID,
            S.AGENCY_PARTIALLY_PAID,
        ),
        S.CANCELLATION_REQUESTED,
        needs_reason=True,
        permission=BillPermission.CLAIM,
        guards=(has_no_resubmission,),
    ),
    Transition(
        T.CONFIRM_CANCELLATION,
        "Cancellation confirmed",
        _from(S.CANCELLATION_REQUESTED),
        S.CANCELLED,
        takes_back=TakenBack.ALL,
        permission=BillPermission.CLAIM,
        guards=(may_pay_when_money_is_taken_back,),
    ),
    Transition(
        T.REFUSE_CANCELLATION,
        "Cancellation refused",
        _from(S.CANCELLATION_REQUESTED),
        RelativeStatus.PREVIOUS,
        permission=BillPermission.CLAIM,
    ),
    Transition(
        T.PAY,
        "Paid in full",
        _from(S.AGENCY_CLAIMED),
        S.AGENCY_FULLY_PAID,
        pays=PaymentExtent.FULL,
        permission=BillPermission.PAY,
        button=Button.NEXT,
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
        T.PAY_FURTHER,
        "Paid a further part",
        _from(S.AGENCY_PARTIALLY_PAID),
        RelativeStatus.SAME,
        pays=PaymentExtent.PART,
        permission=BillPermission.PAY,
        guards=(part_was_not_resubmitted,),
    ),
    Transition(
        T.PAY_THE_REST,
        "Paid the rest",
        _from(S.AGENCY_PARTIALLY_PAID),
        S.AGENCY_FULLY_PAID,
        pays=PaymentExtent.FULL,
        permission=BillPermission.PAY,
        guards=(has_no_resubmission,),
    ),
    Transition(
        T.WRITE_OFF,
        "Write off the gap",
        _from(S.AGENCY_PARTIALLY_PAID),
        S.AGENCY_FULLY_PAID,
        needs_reason=True,
        permission=BillPermission.PAY,
        guards=(has_no_resubmission,),
    ),
    Transition(
        T.TAKE_BACK,
        "Money taken back",
        _from(S.AGENCY_FULLY_PAID, S.AGENCY_PARTIALLY_PAID),
        S.AGENCY_PARTIALLY_PAID,
        needs_reason=True,
        single=True,
        takes_back=TakenBack.PART,
        target_when_unpaid=S.CANCELLED,
        permission=BillPermission.PAY,
        guards=(has_no_resubmission, has_money_of_its_own),
    ),
    Transition(
        T.RESUBMIT,
        "Resubmit in full",
        RESUBMITTABLE,
        RelativeStatus.SAME,
        resubmits=Resubmission.FULL,
        guards=(has_no_resubmission,),
    ),
    Transition(
        T.RESUBMIT_GAP,
        "Resubmit the gap",
        RESUBMITTABLE,
        RelativeStatus.SAME,
        resubmits=Resubmission.GAP,
        guards=(gap_was_not_resubmitted, has_an_unpaid_part),
    ),
    Transition(
        T.SEND,
        "Send",
        _from(S.APPROVED),
        S.SENT,
        invoices_only=True,
        permission=BillPermission.CLAIM,
        guards=(is_billed_to_the_client,),
        button=Button.NEXT,
    ),
    Transition(
        T.PAY,
        "Paid",
        _from(S.SENT),
        S.PAID,
        invoices_only=True,
        pays=PaymentExtent.FULL,
        permission=BillPermission.PAY,
        button=Button.NEXT,
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
    Transition(
        T.ARCHIVE,
        "Archive",
        EDITABLE | ENDED,
        RelativeStatus.SAME,
        sets={"archive_date": NOW},
        guards=(is_not_between_resubmissions,),
        button=Button.END,
        is_taken_back=True,
        for_all=True,
    ),
    Transition(
        T.RESTORE,
        "Restore",
        EDITABLE | ENDED,
        RelativeStatus.SAME,
        sets={"archive_date": None},
        guards=(
            original_may_be_resubmitted,
            nothing_was_paid_since_archiving,
            provider_invoice_has_no_other_claim,
        ),
        button=Button.END,
        is_taken_back=True,
    ),
)


@lru_cache(maxsize=64)
def transition_named(name: str) -> Transition:
    """One of the rows of a name: they share everything but where they come from and lead."""
    return next(row for row in TRANSITIONS if row.name == name)


@lru_cache(maxsize=2)
def transitions_of(model: type[AnyBill]) -> tuple[Transition, ...]:
    """The transitions for claims, or for invoices."""
    return tuple(row for row in TRANSITIONS if model is Invoice or not row.invoices_only)
