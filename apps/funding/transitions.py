"""The life of claims and invoices as a table: which verb leads from where to where, and on what condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any
from uuid import UUID

from apps.core.models import Subscriber
from apps.funding.choices import ApprovalStatus, InvoiceClaimType, InvoiceStatus
from apps.funding.models import Claim, Invoice, ProviderInvoice
from apps.funding.services.budgets import ResubmittedPart
from apps.people.models import Staff

# Claims have some of the statuses of invoices, under the same words.
S = InvoiceStatus

AnyBill = Claim | Invoice

BEFORE_APPROVAL = frozenset({S.AWAITING_STAFF_APPROVAL, S.ON_HOLD})
#: Where a bill ends when somebody says no.
ENDED = frozenset({S.REJECTED, S.CANCELLED, S.CLIENT_REJECTED, S.PLAN_MANAGER_REJECTED})
RESUBMITTED_FROM = frozenset({S.AGENCY_PARTIALLY_PAID, S.REJECTED, S.CANCELLED})


class Verb(StrEnum):
    """What is done to a bill, in the words of commands and of ``StatusMove.verb``."""

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


class Target(Enum):
    """Where a verb leads that does not lead to one and the same status."""

    SAME = "the same"
    BEFORE = "the status before"


class Sets(Enum):
    """A value that is known when the move is made."""

    NOW = "now"


class Pays(Enum):
    """How much of what is open a verb pays."""

    ALL = "all that is open"
    PART = "a part of what is open"


@dataclass(frozen=True, slots=True)
class Facts:
    """What guards ask beside the bill itself; by the key of a bill, or of a provider invoice.

    ``takers``: (key, number) of the claim that holds a provider invoice alone. ``resubmissions``: the number
    of what a bill was resubmitted as. ``resubmitted``: what was resubmitted.
    """

    by: Staff | None = None
    settings: Subscriber = field(default_factory=Subscriber)
    provider_invoices: Mapping[UUID, ProviderInvoice] = field(default_factory=dict)
    takers: dict[UUID, tuple[UUID, str]] = field(default_factory=dict)
    resubmissions: dict[UUID, str] = field(default_factory=dict)
    resubmitted: Mapping[UUID, AnyBill] = field(default_factory=dict)


#: Why a bill cannot go this way, in a sentence; ``None`` when it can. The docstring is the condition.
Guard = Callable[[Any, Facts], str | None]


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table: ``verb`` leads bills of ``models`` from any of ``sources`` to ``target``.

    ``sets`` are columns that the move sets besides the status, its day and its reason; ``single``: never of
    several bills at once; ``resubmits``: makes a new bill of the old, which stays where it is.
    """

    verb: Verb
    label: str
    sources: frozenset[InvoiceStatus]
    target: InvoiceStatus | Target
    models: tuple[type[AnyBill], ...] = (Claim, Invoice)
    needs_reason: bool = False
    single: bool = False
    guards: tuple[Guard, ...] = ()
    sets: Mapping[str, Any] = field(default_factory=dict)
    pays: Pays | None = None
    resubmits: ResubmittedPart | None = None


# --- guards ---------------------------------------------------------------------------------------------


def four_eyes(bill: AnyBill, facts: Facts) -> str | None:
    """with "four eyes", not by who entered it"""
    if facts.by is None or not facts.settings.four_eyes or facts.by.pk != bill.entered_by_id:
        return None
    return "You entered it yourself: with four eyes, somebody else approves it."


def provider_invoice_allows_it(bill: Claim, facts: Facts) -> str | None:
    """its provider invoice is neither on hold nor rejected"""
    if not isinstance(bill, Claim):
        return None
    paper = facts.provider_invoices[bill.provider_invoice_id]
    status = ApprovalStatus(paper.approval_status)
    if status in (ApprovalStatus.ON_HOLD_BY_CLIENT, ApprovalStatus.ON_HOLD_BY_PLAN_MANAGER):
        return f"Its provider invoice {paper.reference} is {low(status.label)}: release that first."
    if status is ApprovalStatus.REJECTED:
        return f"Its provider invoice {paper.reference} was rejected: archive the claim."
    return None


def goes_to_the_agency(bill: Any, facts: Facts) -> str | None:
    """claims, and invoices to the agency"""
    if isinstance(bill, Claim) or bill.invoice_claim_type == InvoiceClaimType.INVOICE_TO_AGENCY:
        return None
    return "It goes to the client, not to the agency: send it."


def goes_to_the_client(bill: Invoice, facts: Facts) -> str | None:
    """invoices to the client"""
    if bill.invoice_claim_type == InvoiceClaimType.INVOICE_TO_CLIENT:
        return None
    return "It goes to the agency, not to the client: claim it from the agency."


def a_payment_provider_is_used(bill: AnyBill, facts: Facts) -> str | None:
    """where the subscriber submits claims to a payment provider"""
    if facts.settings.payment_provider_module:
        return None
    return "No payment provider is used here (subscriber settings): claim it from the agency."


def is_not_resubmitted(bill: AnyBill, facts: Facts) -> str | None:
    """not resubmitted already"""
    number = facts.resubmissions.get(bill.pk)
    return number and f"It was resubmitted as {number}: go on with that one."


def something_is_open(bill: AnyBill, facts: Facts) -> str | None:
    """something of it is not paid"""
    return None if bill.total != bill.amount_paid else "Nothing of it is open: all of it was paid."


def no_resubmission_hangs_between(bill: AnyBill, facts: Facts) -> str | None:
    """not between an older one and one that resubmits it in turn"""
    number = facts.resubmissions.get(bill.pk)
    if number is None or bill.resubmission_of_id is None:
        return None
    return f"It resubmits an older one and was resubmitted as {number}: archive {number} first."


def what_it_resubmits_still_waits_for_it(bill: AnyBill, facts: Facts) -> str | None:
    """what it resubmits still stands where it stood, and was not resubmitted again"""
    old = facts.resubmitted.get(bill.resubmission_of_id) if bill.resubmission_of_id else None
    if old is None:
        return None
    if old.archive_date is not None and old.resubmission_of_id is not None:
        return f"{old}, which it resubmits, is archived: restore that one first."
    if number := facts.resubmissions.get(old.pk):
        return f"{old}, which it resubmits, was resubmitted again as {number}."
    if old.funding_status not in RESUBMITTED_FROM:
        status = InvoiceStatus(old.funding_status)
        return f"{old}, which it resubmits, is now {low(status.label)}."
    return None


def its_provider_invoice_is_free(bill: Any, facts: Facts) -> str | None:
    """no other claim has its provider invoice meanwhile"""
    if not isinstance(bill, Claim) or bill.pk in facts.resubmissions:
        return None
    taker = facts.takers.get(bill.provider_invoice_id)
    if taker is None or taker[0] in (bill.pk, bill.resubmission_of_id):
        return None
    return f"Its provider invoice is meanwhile claimed by {taker[1]}: archive that one first."


def low(label: Any) -> str:
    """A label within a sentence."""
    text = str(label)
    return text[:1].lower() + text[1:]


# --- the table ------------------------------------------------------------------------------------------


def of(*statuses: InvoiceStatus) -> frozenset[InvoiceStatus]:
    return frozenset(statuses)


TABLE: tuple[Transition, ...] = (
    Transition(Verb.HOLD, "Hold", of(S.AWAITING_STAFF_APPROVAL), S.ON_HOLD, needs_reason=True),
    Transition(Verb.RELEASE, "Release", of(S.ON_HOLD), S.AWAITING_STAFF_APPROVAL),
    Transition(
        Verb.APPROVE,
        "Approve",
        BEFORE_APPROVAL,
        S.APPROVED,
        guards=(four_eyes, provider_invoice_allows_it),
        sets={"approved_date": Sets.NOW},
    ),
    Transition(
        Verb.WITHDRAW,
        "Withdraw approval",
        of(S.APPROVED),
        S.AWAITING_STAFF_APPROVAL,
        single=True,
        sets={"approved_date": None},
    ),
    Transition(
        Verb.CLAIM, "Claim from the agency", of(S.APPROVED), S.AGENCY_CLAIMED, guards=(goes_to_the_agency,)
    ),
    Transition(
        Verb.SUBMIT,
        "Submit to the payment provider",
        of(S.APPROVED),
        S.SUBMITTED_TO_PAYMENT_PROVIDER,
        guards=(goes_to_the_agency, a_payment_provider_is_used),
    ),
    Transition(Verb.ACCEPT, "Accepted", of(S.SUBMITTED_TO_PAYMENT_PROVIDER), S.AGENCY_CLAIMED),
    Transition(Verb.REJECT, "Rejected", of(S.SUBMITTED_TO_PAYMENT_PROVIDER), S.REJECTED),
    Transition(
        Verb.ASK_TO_CANCEL,
        "Ask to cancel",
        of(S.SUBMITTED_TO_PAYMENT_PROVIDER, S.AGENCY_CLAIMED),
        S.CANCELLATION_REQUESTED,
    ),
    Transition(
        Verb.CONFIRM_CANCELLATION, "Cancellation confirmed", of(S.CANCELLATION_REQUESTED), S.CANCELLED
    ),
    Transition(Verb.REFUSE_CANCELLATION, "Cancellation refused", of(S.CANCELLATION_REQUESTED), Target.BEFORE),
    Transition(Verb.PAY, "Paid in full", of(S.AGENCY_CLAIMED), S.AGENCY_FULLY_PAID, pays=Pays.ALL),
    Transition(
        Verb.PAY_IN_PART, "Paid in part", of(S.AGENCY_CLAIMED), S.AGENCY_PARTIALLY_PAID, pays=Pays.PART
    ),
    Transition(
        Verb.PAY_THE_REST,
        "Paid the rest",
        of(S.AGENCY_PARTIALLY_PAID),
        S.AGENCY_FULLY_PAID,
        guards=(is_not_resubmitted,),
        pays=Pays.ALL,
    ),
    Transition(
        Verb.WRITE_OFF,
        "Write off the gap",
        of(S.AGENCY_PARTIALLY_PAID),
        S.AGENCY_FULLY_PAID,
        needs_reason=True,
        guards=(is_not_resubmitted,),
    ),
    Transition(
        Verb.RESUBMIT,
        "Resubmit in full",
        RESUBMITTED_FROM,
        Target.SAME,
        guards=(is_not_resubmitted,),
        resubmits=ResubmittedPart.WHOLE,
    ),
    Transition(
        Verb.RESUBMIT_GAP,
        "Resubmit the gap",
        RESUBMITTED_FROM,
        Target.SAME,
        guards=(is_not_resubmitted, something_is_open),
        resubmits=ResubmittedPart.GAP,
    ),
    Transition(Verb.SEND, "Send", of(S.APPROVED), S.SENT, models=(Invoice,), guards=(goes_to_the_client,)),
    Transition(Verb.PAY, "Paid", of(S.SENT), S.PAID, models=(Invoice,), pays=Pays.ALL),
    Transition(
        Verb.CLIENT_REJECTS,
        "Client rejects",
        of(S.SENT),
        S.CLIENT_REJECTED,
        models=(Invoice,),
        needs_reason=True,
    ),
    Transition(
        Verb.PLAN_MANAGER_REJECTS,
        "Plan manager rejects",
        of(S.SENT),
        S.PLAN_MANAGER_REJECTED,
        models=(Invoice,),
        needs_reason=True,
    ),
    Transition(
        Verb.REOPEN,
        "Reopen",
        of(S.CLIENT_REJECTED, S.PLAN_MANAGER_REJECTED),
        S.AWAITING_STAFF_APPROVAL,
        models=(Invoice,),
        sets={"resubmitted": True, "approved_date": None},
    ),
    Transition(
        Verb.ARCHIVE,
        "Archive",
        BEFORE_APPROVAL | ENDED,
        Target.SAME,
        guards=(no_resubmission_hangs_between,),
        sets={"archive_date": Sets.NOW},
    ),
    Transition(
        Verb.RESTORE,
        "Restore",
        BEFORE_APPROVAL | ENDED,
        Target.SAME,
        guards=(what_it_resubmits_still_waits_for_it, its_provider_invoice_is_free),
        sets={"archive_date": None},
    ),
)


# --- reading it -----------------------------------------------------------------------------------------


def verbs_of(model: type[AnyBill]) -> list[Verb]:
    """The verbs there are for claims, or for invoices, in the order of the table."""
    return list(dict.fromkeys(row.verb for row in TABLE if model in row.models))


def leaving(bill: AnyBill) -> Iterator[Transition]:
    """The rows that start where a bill stands; of an archived one only its restoring."""
    for row in TABLE:
        starts_here = type(bill) in row.models and bill.funding_status in row.sources
        if starts_here and (bill.archive_date is not None) == (row.verb is Verb.RESTORE):
            yield row


def refusal(row: Transition, bill: AnyBill, facts: Facts) -> str | None:
    """What the first of the row's guards says against it; ``None`` when none does."""
    return next((said for guard in row.guards if (said := guard(bill, facts))), None)


def transitions_from(bill: AnyBill, facts: Facts) -> list[Transition]:
    """The rows that a bill may take now."""
    return [row for row in leaving(bill) if refusal(row, bill, facts) is None]


def where(bill: AnyBill) -> str:
    """Where a bill stands, within a sentence."""
    status = low(InvoiceStatus(bill.funding_status).label)
    return f"archived ({status})" if bill.archive_date is not None else status


def what_can_be_done(bill: AnyBill, facts: Facts) -> str:
    verbs = ", ".join(low(row.label) for row in transitions_from(bill, facts))
    return f"Possible from there: {verbs}." if verbs else "Nothing more can be done to it."
