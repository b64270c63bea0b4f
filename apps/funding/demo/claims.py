"""The demo's claims, in the order they were entered, each with the provider invoice it is built on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from heapq import heappop, heappush
from operator import itemgetter
from random import Random
from uuid import UUID

from apps.core.demo import Series
from apps.engagements.choices import ManagementType
from apps.funding.choices import ApprovalAction, ApprovalStatus, MissingAbnReason, SendPaymentTo
from apps.funding.demo import lives
from apps.funding.demo.bills import (
    DAY,
    ZERO,
    Drawn,
    Move,
    Office,
    Order,
    Row,
    Warned,
    crowd,
    day_of,
    days_of_service,
    draw_lines,
    move,
    moves_of,
    settle,
    spread,
    state_after,
    within_hours,
)
from apps.funding.demo.invoices import OWN_CATEGORIES
from apps.funding.demo.lives import Life
from apps.funding.demo.purses import Plan
from apps.funding.models import ClaimLine
from apps.funding.services.budgets import budget_amounts
from apps.funding.services.defaults import REIMBURSED
from apps.funding.services.resubmit import gap_line
from apps.funding.statuses import Resubmission, TransitionName
from apps.funding.validation.provider_invoices import APPROVAL_TRANSITIONS
from apps.people.demo import plan as people

AMOUNTS = ("quantity", "price", "total", "amount_paid")
#: How many providers serve a participant.
PROVIDERS = 4
LINES = (1, 1, 2, 2, 2, 3, 3, 3, 4, 5)
#: Coordination and plan management are the subscriber's own: those are invoiced.
CATEGORIES = frozenset(range(1, 22)) - OWN_CATEGORIES
#: Every so many plans have a standing order: one provider invoice that several claims are built on.
STANDING_ORDERS = 31
PAYEES = (SendPaymentTo.PROVIDER,) * 30 + (SendPaymentTo.CLIENT, SendPaymentTo.CLIENT_REPRESENTATIVE)
STYLES = ("INV-{:05}", "{:06}", "T{:05}/A", "{:05}-2", "S{:06}")

WHY_PAPER_IS_HELD = ("The participant asked to wait", "Not what was agreed: calling the provider")


def claims(office: Office, count: int) -> Iterator[Drawn]:
    """So many claims of two years, resubmitted ones among them; none where nobody can be claimed for.

    A claim that is to be resubmitted is kept until it is, and handed out just before the one that follows it.
    """
    context = office.context
    chance = context.chance("claim")
    plans = [plan for plan in office.plans if can_be_claimed_for(plan)]
    if not plans or not people.providers(context.series["clients"].count):
        return
    weights = [len(there) for _, there in crowd(context, plans)]
    again: list[tuple[dt.datetime, int, Drawn]] = []
    number = 0
    for (morning, there), today in zip(crowd(context, plans), spread(weights, count), strict=True):
        for nth in range(today):
            made = within_hours(context, morning, nth, today)
            if again and again[0][0] <= made:
                refused = heappop(again)[2]
                drawn = resubmitted(chance, office, refused, morning, made, number)
                yield refused
            else:
                found = first_that_fits(chance, office, there, morning, made, number)
                if found is None:
                    continue
                drawn = found
            number += 1
            if drawn.due is None:
                yield drawn
            else:
                heappush(again, (drawn.due, number, drawn))
    for _, _, refused in sorted(again, key=itemgetter(1)):
        yield refused


def can_be_claimed_for(plan: Plan) -> bool:
    return plan.management == ManagementType.PLAN and any(
        purse.offers and purse.gone and purse.category in CATEGORIES for purse in plan.purses
    )


def first_that_fits(
    chance: Random, office: Office, there: list[Plan], morning: int, made: dt.datetime, number: int
) -> Drawn | None:
    """A claim for one of the plans; others are tried where there is nothing left to claim."""
    for _ in range(12):
        plan = there[int(chance.random() * len(there))]
        drawn = draw_claim(chance, office, plan, morning, made, number)
        if drawn is not None:
            return drawn
    return None


def draw_claim(
    chance: Random, office: Office, plan: Plan, morning: int, made: dt.datetime, number: int
) -> Drawn | None:
    """A claim for services of the days before, and what became of it; ``None`` when nothing fits."""
    days = days_of_service(chance, plan, day_of(office.context, morning))
    lines, purses = draw_lines(
        chance, office, plan, days, LINES[int(chance.random() * len(LINES))], CATEGORIES
    )
    if not lines:
        return None
    order = office.orders.get(plan.number)
    provider = order.provider if order else provider_of(chance, office, plan)
    drawn = Drawn(claim_row(chance, office, plan, days, provider, made, number), lines, purses)
    live(chance, office, drawn, lives.choose(chance, lives.OF_CLAIMS), morning)
    if provider in office.without_number or provider in office.wrong_number:
        drawn.warnings.append(warning_of_number(office, drawn, provider))
    if order is not None:
        build_on_order(drawn, order)
    else:
        drawn.row["provider_invoice_id"] = office.context.guid(f"paper/{number}", made)
        drawn.paper = paper_of(chance, office, drawn, morning)
        if plan.number % STANDING_ORDERS == STANDING_ORDERS // 2:
            begin_order(office, drawn, plan)
    identify(office, drawn, number)
    return drawn


def provider_of(chance: Random, office: Office, plan: Plan) -> UUID:
    """One of the few providers who serve a participant; they were known when the plan was."""
    clients: Series = office.context.series["clients"]
    known = max(int(people.providers(clients.count) * share_of_time(office, plan)), 1)
    nth = (plan.number * 7 + int(chance.random() * PROVIDERS) * 13) % known
    return clients.guid(people.provider(nth))


def share_of_time(office: Office, plan: Plan) -> float:
    """Which part of the demo's years was over when a plan was known: records are spread evenly over them."""
    mornings = office.context.mornings
    start = mornings[0].date()
    return (plan.known_from - start).days / max((mornings[-1].date() - start).days, 1)


def claim_row(
    chance: Random,
    office: Office,
    plan: Plan,
    days: tuple[dt.date, dt.date],
    provider: UUID,
    made: dt.datetime,
    number: int,
) -> Row:
    """What a claim says; the reference is that of its provider invoice."""
    staff = office.funders.at(chance, made)
    payee = PAYEES[int(chance.random() * len(PAYEES))].value
    style = STYLES[provider.int % len(STYLES)]
    return {
        "guid": office.context.guid(f"claim/{number}", made),
        "claim_number": office.claim_number(number),
        "creation_date": made,
        "external_invoice_number": f"X{number + 1:07}" if chance.random() < 0.5 else None,
        "start_date": days[0],
        "end_date": days[1],
        "due_date": made.date() + 14 * DAY if chance.random() < 0.4 else None,
        "contact_id": plan.participant,
        "staff_id": staff,
        "entered_by_id": staff if chance.random() < 0.5 else office.funders.at(chance, made),
        "paid_earlier": ZERO,
        "resubmitted": False,
        "resubmission_of_id": None,
        "provider_invoice_reference": style.format(number + 101),
        "provider_id": provider,
        "send_payment_to": payee,
        "missing_abn_reason_code": missing_abn_reason(office, payee, provider),
    }


def missing_abn_reason(office: Office, payee: str, provider: UUID) -> str | None:
    if payee in REIMBURSED:
        return MissingAbnReason.REIMBURSEMENT.value
    return MissingAbnReason.EXCLUDED.value if provider in office.without_number else None


def warning_of_number(office: Office, drawn: Drawn, provider: UUID) -> Warned:
    """What whoever entered the claim was warned of, and stored it all the same."""
    wrong = office.wrong_number.get(provider)
    reason = drawn.row["missing_abn_reason_code"]
    message = f"The provider has no business number: the claim goes with the code {reason}."
    if wrong is not None:
        message = f"The provider's business number {wrong} fails its check: ask for the right one."
    return acknowledged(drawn, "AbnMissing" if wrong is None else "AbnInvalid", "ProviderGuid", message)


def acknowledged(drawn: Drawn, code: str, place: str | None, message: str) -> Warned:
    row = drawn.row
    return row["guid"], None, code, place, message, row["creation_date"], row["entered_by_id"]


# --- its life -------------------------------------------------------------------------------------------


def live(chance: Random, office: Office, drawn: Drawn, life: Life, morning: int) -> None:
    """Let the claim live until the demo's day."""
    moved = lives.lived(chance, office.context, life, morning, drawn.row["creation_date"])
    state = state_after(moved)
    if life.again is not None and len(moved) == len(life.steps):
        least, most = life.again
        day = moved[-1].day + least + int(chance.random() * (most - least))
        if day < len(office.context.mornings):
            drawn.due = office.context.mornings[day]
    settle(drawn, state, 40 + int(50 * chance.random()), frees=drawn.due is None)
    drawn.row["payment_date"] = state.paid_at
    drawn.row["takes_provider_invoice"] = drawn.takes and state.archived is None
    drawn.moves.extend(moves_of(chance, office, "claim_id", drawn, moved))


def resubmitted(
    chance: Random, office: Office, old: Drawn, morning: int, made: dt.datetime, number: int
) -> Drawn:
    """The claim entered anew for one that was refused, or of the gap of one paid in part.

    It takes over the provider invoice, and of the budgets what is not paid.
    """
    status = old.row["funding_status"]
    is_gap = status == lives.PAID_IN_PART
    old.row["takes_provider_invoice"] = False
    row = old.row | {
        "guid": office.context.guid(f"claim/{number}", made),
        "claim_number": office.claim_number(number),
        "creation_date": made,
        "external_invoice_number": None,
        "resubmitted": True,
        "resubmission_of_id": old.row["guid"],
    }
    lines, purses = [], []
    for line, purse in zip(old.lines, old.purses, strict=True):
        missing = gap_line(
            ClaimLine(**{name: line[name] for name in ("quantity", "price", "total", "amount_paid")})
        )
        if missing is None:
            continue
        lines.append(
            line
            | {
                "quantity": missing.quantity,
                "price": missing.price,
                "total": missing.total,
                "amount_paid": ZERO,
            }
        )
        purses.append(purse)
        if purse is not None and is_gap:
            stood = budget_amounts(status, False, line["total"], line["amount_paid"])
            passed = budget_amounts(status, False, line["total"], line["amount_paid"], Resubmission.GAP)
            purse.amounts += passed + (-stood)
    drawn = Drawn(row, lines, purses, takes=old.takes)
    verb = TransitionName.RESUBMIT_GAP if is_gap else TransitionName.RESUBMIT
    old.moves.append(
        move("claim_id", old.row["guid"], verb.value, (status, status), None, made, row["entered_by_id"])
    )
    live(chance, office, drawn, lives.choose(chance, lives.OF_RESUBMITTED), morning)
    identify(office, drawn, number)
    return drawn


def identify(office: Office, drawn: Drawn, number: int) -> None:
    """Name the lines, in their order."""
    made = drawn.row["creation_date"]
    for position, line in enumerate(drawn.lines):
        line |= {
            "guid": office.context.guid(f"claimline/{number}/{position}", made),
            "claim_id": drawn.row["guid"],
            "creation_date": made,
            "modify_date": made,
            "position": position,
        }


# --- provider invoices ----------------------------------------------------------------------------------


def paper_of(chance: Random, office: Office, drawn: Drawn, morning: int) -> Row:
    """The provider invoice that came in before the claim, and what was decided about it."""
    claim = drawn.row
    lag = int(chance.random() * 4)
    came = claim["creation_date"] - dt.timedelta(minutes=25)
    if lag:
        came = office.context.mornings[max(morning - lag, 0)] + dt.timedelta(
            seconds=chance.random() * 30_000 // 1
        )
    row = {
        "guid": claim["provider_invoice_id"],
        "creation_date": came,
        "modify_date": came,
        "archive_date": None,
        "reference": claim["provider_invoice_reference"],
        "service_start_date": claim["start_date"],
        "service_end_date": claim["end_date"],
        "invoice_total": claim["total"] if chance.random() < 0.9 else None,
        "is_reusable": False,
        "send_payment_to": claim["send_payment_to"],
        "contact_id": claim["contact_id"],
        "provider_id": claim["provider_id"],
        "document_id": None,
        "created_by_id": office.funders.at(chance, came),
        **UNDECIDED,
        "is_claimed": claim["archive_date"] is None,
    }
    decided = came + (claim["creation_date"] - came) / 2
    luck = chance.random()
    if (
        claim["funding_status"] in (lives.AWAITING, lives.HELD)
        and claim["archive_date"] is None
        and luck < 0.07
    ):
        reason = WHY_PAPER_IS_HELD[int(luck * 1000) % len(WHY_PAPER_IS_HELD)]
        drawn.moves.append(decide(row, ApprovalAction.HOLD_BY_CLIENT, decided, claim["staff_id"], reason))
        row["claim_on_hold"] = True
    elif luck < 0.92:
        auto = luck < 0.2
        drawn.moves.append(decide(row, ApprovalAction.APPROVE, decided, None if auto else claim["staff_id"]))
        row["auto_approved"] = auto
    return row


UNDECIDED: Row = {
    "approval_status": ApprovalStatus.UNACTIONED.value,
    "auto_approved": False,
    "claim_on_hold": False,
    "is_claimed": False,
    "rejection_reason": None,
    "actioned_by_id": None,
    "actioned_date": None,
}


def decide(
    paper: Row, action: ApprovalAction, at: dt.datetime, staff: UUID | None, reason: str | None = None
) -> Move:
    """Write a decision into a provider invoice; the move it was."""
    decision = APPROVAL_TRANSITIONS[action]
    before, after = paper["approval_status"], decision.target.value
    paper |= {
        "modify_date": at,
        "approval_status": after,
        "rejection_reason": reason if decision.target == ApprovalStatus.REJECTED else None,
        "actioned_by_id": staff,
        "actioned_date": at,
    }
    return move("provider_invoice_id", paper["guid"], action.value, (before, after), reason, at, staff)


def begin_order(office: Office, drawn: Drawn, plan: Plan) -> None:
    """Let the claim's provider invoice be one that more claims will be built on."""
    assert drawn.paper is not None
    drawn.paper |= {"is_reusable": True, "invoice_total": None, "service_end_date": None}
    drawn.takes = drawn.row["takes_provider_invoice"] = False
    office.orders[plan.number] = Order(drawn.paper["guid"], drawn.paper["reference"], drawn.row)


def build_on_order(drawn: Drawn, order: Order) -> None:
    """Build a claim on a provider invoice that others are built on; whoever enters it is warned."""
    drawn.takes = drawn.row["takes_provider_invoice"] = False
    drawn.row |= {"provider_invoice_id": order.paper, "provider_invoice_reference": order.reference}
    first = order.claim["claim_number"]
    message = f"Claim {first} is of the same provider, participant and reference {order.reference}."
    drawn.warnings.append(acknowledged(drawn, "DuplicateInvoice", "ProviderInvoiceReference", message))
