"""Transitions of claims and invoices, of one or of many at once (statuses.py has the table).

Only ``apply_transition`` changes a bill's status, its archiving and what was paid of it: the provider invoice
of a claim, the budgets and the status history change with it.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import formats

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.core import history, saving
from apps.core.bulk_insert import bulk_insert
from apps.funding.choices import InvoiceStatus
from apps.funding.models import ZERO, Claim, ProviderInvoice, StatusMove
from apps.funding.services.effects import (
    BudgetPosting,
    BudgetState,
    lock_provider_invoices,
    post_to_budgets,
    update_claim_flags,
)
from apps.funding.services.payments import (
    LineAmounts,
    Payment,
    as_day,
    find_payment_problem,
    find_take_back_problem,
    left_by_line,
    load_lines,
    load_lines_with_earlier,
    paid_by_line,
    payment_date,
    save_paid_lines,
)
from apps.funding.services.resubmit import create_resubmissions
from apps.funding.validation.guards import AnyBill, TransitionContext
from apps.funding.validation.possible_transitions import (
    available_transitions,
    describe_impossible,
    missing_permission,
    refusal_reason,
    transitions_from,
)
from apps.funding.validation.transitions import (
    NOW,
    RelativeStatus,
    Resubmission,
    Transition,
    TransitionName,
    transition_named,
)
from apps.people.models import Staff

REASON_LENGTH = 400

#: By the keys of bills, what was paid of their lines; negative where it is taken back.
PaidLines = Mapping[UUID, Mapping[UUID, Decimal]]


@dataclass(frozen=True, slots=True)
class TransitionRequest:
    """A transition for several bills; without ``staff`` the system acts.

    ``reasons`` are those of single bills, in place of ``reason``. ``amounts``: what was paid or is taken back
    now, by the keys of the bills. ``day``: of the payment, today when ``None``.
    """

    model: type[AnyBill]
    name: TransitionName
    staff: Staff | None
    reason: str | None
    amounts: Mapping[UUID, Payment]
    day: dt.date | dt.datetime | None
    reasons: Mapping[UUID, str] = field(default_factory=dict)

    @property
    def transition(self) -> Transition:
        return transition_named(self.name)


@dataclass(frozen=True, slots=True)
class LockedRecords:
    """The bills by key, originals of archived and restored ones included, and their lines.

    Lines are loaded where the transition changes budgets.
    """

    bills: Mapping[UUID, AnyBill]
    lines: Mapping[UUID, Sequence[LineAmounts]]


@dataclass(frozen=True, slots=True)
class RefusedTransition:
    """A record that keeps its status, and why, in a sentence that says what is possible."""

    key: UUID
    label: str
    message: str
    code: str = "NotAllowed"


@dataclass(slots=True)
class TransitionResult:
    """The keys of changed records, the refused ones, and the keys of new bills by their originals'."""

    done: list[UUID] = field(default_factory=list)
    refused: list[RefusedTransition] = field(default_factory=list)
    resubmissions: dict[UUID, UUID] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BillChange:
    """The new values of a bill's columns; by the keys of its lines, what is paid afterwards and paid now."""

    bill: AnyBill
    transition: Transition
    values: dict[str, object]
    paid: Mapping[UUID, Decimal] = field(default_factory=dict)
    payments: Mapping[UUID, Decimal] = field(default_factory=dict)

    @property
    def status(self) -> str:
        return str(self.values.get("funding_status", self.bill.funding_status))


@transaction.atomic
def apply_transition(
    model: type[AnyBill],
    keys: Iterable[UUID],
    name: str,
    staff: Staff | None = None,
    reason: str | Mapping[UUID, str] | None = None,
    amounts: Mapping[UUID, Payment] | None = None,
    day: dt.date | dt.datetime | None = None,
) -> TransitionResult:
    """Apply the transition ``name`` (``TransitionName``) to claims or invoices; refused ones do not change.

    ``staff`` needs the permission to administer funding invoices, and that of the transition; without staff
    the system acts (a command, a provider's answer). A part payment, and what is taken back, needs
    ``amounts``. A reason is one for all bills, or one for each by its key. Statements are constant in the
    number of bills.
    Locks, always in this order and each by key: provider invoices, bills, the number sequence, budgets.
    """
    wanted = list(dict.fromkeys(keys))
    reasons = reason if isinstance(reason, Mapping) else {}
    common = None if isinstance(reason, Mapping) else (reason or "").strip() or None
    request = TransitionRequest(model, TransitionName(name), staff, common, amounts or {}, day, reasons)
    provider_invoices: dict[UUID, ProviderInvoice] = {}
    transition = request.transition
    if model is Claim and (transition.reads_provider_invoice or transition.changes_provider_invoice):
        provider_invoices = lock_provider_invoices(wanted)
    locked = lock_records(request, wanted)
    bills = [locked.bills[key] for key in wanted if key in locked.bills]
    context = TransitionContext(model, bills, staff, locked.bills, provider_invoices)
    result, changes = plan_changes(request, wanted, locked, context)
    if changes:
        result.resubmissions = save_changes(request, changes, locked, context)
    result.done = [change.bill.pk for change in changes]
    return result


def list_transitions(bill: AnyBill, staff: Staff | None = None) -> list[Transition]:
    """The transitions that a bill may take now, and that the role of the staff member includes."""
    return available_transitions(bill, TransitionContext(type(bill), [bill], staff))


def explain_obstacle(bill: AnyBill, name: TransitionName, staff: Staff | None = None) -> str | None:
    """Why a bill cannot take a transition of its status now; ``None`` when it can, and in other statuses."""
    row = find_row(bill, name)
    if row is None:
        return None
    if missing := missing_permission(row, staff):
        return f"Your role lacks the permission to {missing}."
    return refusal_reason(row, bill, TransitionContext(type(bill), [bill], staff))


def find_transition_refusals(
    model: type[AnyBill], bills: Sequence[AnyBill], name: str, staff: Staff | None = None
) -> dict[UUID, str]:
    """Why bills could not take a transition now, by the keys of those; nothing is locked or changed.

    Neither the permission is checked nor what else the transition needs, such as a reason.
    """
    request = TransitionRequest(model, TransitionName(name), staff, None, {}, None)
    context = TransitionContext(model, bills, staff)
    problems = {
        bill.pk: find_bill_problem(request, bill, find_row(bill, request.name), (), context) for bill in bills
    }
    return {key: problem for key, problem in problems.items() if problem is not None}


def find_request_problem(request: TransitionRequest, number: int) -> str | None:
    """Why no bill can take the transition; ``None`` when nothing speaks against the request as such."""
    transition, staff = request.transition, request.staff
    reason = max(request.reasons.values(), key=len, default=request.reason)
    if staff is not None and (missing := missing_permission(transition, staff)):
        return (
            f"{staff} may not change the status of claims and invoices like that: the role {staff.role} lacks"
            f" the permission to {missing}, or the login is closed."
        )
    if number > 1 and transition.single:
        return f"{transition.label}: one at a time, not {number:,} at once."
    if reason is None and transition.needs_reason:
        return f"{transition.label}: give a reason."
    if reason is not None and len(reason) > REASON_LENGTH:
        return f"A reason has at most {REASON_LENGTH} characters, this one has {len(reason)}."
    if transition.pays and request.day is not None and as_day(request.day) > clock.today():
        return f"The day of payment, {formats.date_format(as_day(request.day))}, lies ahead."
    return None


# --- planning -------------------------------------------------------------------------------------------


def lock_records(request: TransitionRequest, keys: Sequence[UUID]) -> LockedRecords:
    model, wanted = request.model, set(keys)
    if request.transition.changes_archiving:
        # In one query with the others PostgreSQL reads the whole table.
        resubmissions = model._default_manager.filter(AnyOf("guid", keys)).order_by()
        wanted.update(key for key in resubmissions.values_list("resubmission_of", flat=True) if key)
    rows = model._default_manager.filter(AnyOf("guid", wanted)).order_by("pk").select_for_update(of=("self",))
    bills = {bill.pk: bill for bill in rows}
    if not request.transition.changes_budgets:
        return LockedRecords(bills, {})
    load = load_lines_with_earlier if request.transition.takes_back else load_lines
    return LockedRecords(bills, load(model, bills))


def load_previous_statuses(model: type[AnyBill], keys: Iterable[UUID]) -> dict[UUID, str]:
    """The statuses of bills before their cancellation was requested, from their status history."""
    name = str(model._meta.model_name)
    moves = StatusMove.objects.filter(AnyOf(name, keys), verb=TransitionName.ASK_TO_CANCEL)
    return dict(moves.order_by("id").values_list(f"{name}_id", "from_status"))


def find_row(bill: AnyBill, name: TransitionName) -> Transition | None:
    rows = transitions_from(type(bill), bill.funding_status, bill.is_archived)
    return next((row for row in rows if row.name is name), None)


def plan_changes(
    request: TransitionRequest, keys: Sequence[UUID], locked: LockedRecords, context: TransitionContext
) -> tuple[TransitionResult, list[BillChange]]:
    """The changes of the bills that can take the transition; the others are refused."""
    result, changes = TransitionResult(), []
    request_problem = find_request_problem(request, len(keys))
    is_back = request.transition.target is RelativeStatus.PREVIOUS
    previous = load_previous_statuses(request.model, locked.bills) if is_back else {}
    for key in keys:
        bill = locked.bills.get(key)
        row = find_row(bill, request.name) if bill else None
        problem = request_problem or find_bill_problem(request, bill, row, locked.lines.get(key, ()), context)
        if bill is None or row is None or problem is not None:
            result.refused.append(RefusedTransition(key, str(bill or key), problem or ""))
            continue
        changes.append(plan_change(request, bill, row, locked.lines.get(key, ()), previous))
        if row.name is TransitionName.RESTORE:
            note_restored(bill, context)
    return result, changes


def find_bill_problem(
    request: TransitionRequest,
    bill: AnyBill | None,
    row: Transition | None,
    lines: Sequence[LineAmounts],
    context: TransitionContext,
) -> str | None:
    """Why a bill cannot take the transition; ``None`` when it can."""
    if bill is None:
        return f"There is no {request.model._meta.verbose_name} with this identifier."
    if row is None:
        return describe_impossible(bill, context)
    if reason := refusal_reason(row, bill, context):
        return reason
    amount = request.amounts.get(bill.pk)
    if row.takes_back:
        return find_take_back_problem(bill, row.takes_back, amount, lines)
    return row.pays and find_payment_problem(bill, row.pays, amount, lines)


def note_restored(bill: AnyBill, context: TransitionContext) -> None:
    """Let the guards of bills that are restored after this one see it as restored."""
    if bill.resubmission_of_id is not None:
        context.resubmissions[bill.resubmission_of_id] = str(bill)
    if not isinstance(bill, Claim) or bill.pk in context.resubmissions:
        return
    if not context.provider_invoices[bill.provider_invoice_id].is_reusable:
        context.claim_of_invoice[bill.provider_invoice_id] = (bill.pk, str(bill))


def plan_change(
    request: TransitionRequest,
    bill: AnyBill,
    row: Transition,
    lines: Sequence[LineAmounts],
    previous: Mapping[UUID, str],
) -> BillChange:
    values = {name: clock.now() if value is NOW else value for name, value in row.sets.items()}
    paid = paid_afterwards(row, request.amounts.get(bill.pk), lines)
    payments = {
        line.key: paid[line.key] - line.paid for line in lines if paid and paid[line.key] != line.paid
    }
    if row.moves_money:
        values["amount_paid"] = sum(paid.values(), ZERO)
    is_unpaid = values.get("amount_paid") == bill.paid_earlier
    if row.pays:
        values["payment_date"] = payment_date(bill, request.day)
    elif row.takes_back and is_unpaid:
        values["payment_date"] = None
    if row.target is not RelativeStatus.SAME:
        # Without a status history (an import), the cancelled bill was claimed.
        target = previous.get(bill.pk, InvoiceStatus.AGENCY_CLAIMED)
        target = target if row.target is RelativeStatus.PREVIOUS else row.target
        target = row.target_when_unpaid or target if is_unpaid else target
        reason = request.reasons.get(bill.pk, request.reason)
        values |= {"funding_status": str(target), "status_date": clock.now(), "status_reason": reason}
    if isinstance(bill, Claim) and row.name is TransitionName.ARCHIVE:
        values["takes_provider_invoice"] = False
    return BillChange(bill, row, values, paid, payments)


def paid_afterwards(
    row: Transition, amount: Payment | None, lines: Sequence[LineAmounts]
) -> Mapping[UUID, Decimal]:
    """The amount paid of each line after a transition that changes it; other lines are left out."""
    if row.pays:
        return paid_by_line(row.pays, amount, lines)
    return left_by_line(row.takes_back, amount, lines) if row.takes_back else {}


# --- saving ---------------------------------------------------------------------------------------------


def save_changes(
    request: TransitionRequest,
    changes: Sequence[BillChange],
    locked: LockedRecords,
    context: TransitionContext,
) -> dict[UUID, UUID]:
    """Write the bills, their lines, status history and budgets; the keys of new bills by their originals'."""
    model, transition = request.model, request.transition
    postings = post_lines(request, changes, locked) if transition.changes_budgets else []
    bill_values = [(change.bill, change.values) for change in changes]
    bill_values += hand_over_provider_invoices(changes, locked.bills, context)
    moves = [(change.bill.pk, change.bill.funding_status, change.status) for change in changes]
    save_bills(model, bill_values)
    paid_lines: PaidLines = {}
    if transition.moves_money:
        paid_lines = {change.bill.pk: change.payments for change in changes}
    resubmissions: dict[UUID, UUID] = {}
    if transition.resubmits is not None:
        originals = [change.bill for change in changes]
        is_gap = transition.resubmits is Resubmission.GAP
        waiting = context.waiting_lines if is_gap else {}
        made = create_resubmissions(model, originals, transition.resubmits, request.staff, waiting)
        resubmissions, paid_lines = made.keys, made.paid_earlier
        postings += made.postings
    record_moves(
        str(model._meta.model_name),
        moves,
        request.name.value,
        request.reason,
        request.staff,
        paid_lines,
        request.reasons,
    )
    post_to_budgets(postings)
    if model is Claim and transition.changes_provider_invoice:
        claims = (bill for bill, _ in bill_values if isinstance(bill, Claim))
        update_claim_flags({claim.provider_invoice_id for claim in claims})
    return resubmissions


def post_lines(
    request: TransitionRequest, changes: Sequence[BillChange], locked: LockedRecords
) -> list[BudgetPosting]:
    """Save what is paid of the lines; by how much they change the amounts of their budgets."""
    before, after = budget_states(request, changes, locked.bills)
    paid = {line: amount for change in changes for line, amount in change.paid.items()}
    lines = [(key, line) for key in after for line in locked.lines.get(key, ())]
    save_paid_lines(request.model, (line for _, line in lines), paid)
    return [
        BudgetPosting(
            line.booking,
            line.category_budget,
            after[key].amounts(line.total, paid.get(line.key, line.paid))
            + -before[key].amounts(line.total, line.paid),
        )
        for key, line in lines
        if line.booking is not None or line.category_budget is not None
    ]


def budget_states(
    request: TransitionRequest, changes: Sequence[BillChange], bills: Mapping[UUID, AnyBill]
) -> tuple[dict[UUID, BudgetState], dict[UUID, BudgetState]]:
    """How bills count on budgets before and after, the originals of archived and restored ones included."""
    before: dict[UUID, BudgetState] = {}
    after: dict[UUID, BudgetState] = {}
    for bill, row, status, values in ((c.bill, c.transition, c.status, c.values) for c in changes):
        before[bill.pk] = BudgetState(bill.funding_status, bill.is_archived)
        is_archived = values.get("archive_date", bill.archive_date) is not None
        after[bill.pk] = BudgetState(status, is_archived, row.resubmits)
    if not request.transition.changes_archiving:
        return before, after
    # An archived resubmission returns to its original what it took over, a restored one takes it again.
    states_with_resubmission = before if request.name is TransitionName.ARCHIVE else after
    for change in changes:
        key = change.bill.resubmission_of_id
        original = bills.get(key) if key is not None else None
        if original is None:
            continue
        for states in (before, after):
            states.setdefault(original.pk, BudgetState(original.funding_status, original.is_archived))
        part = Resubmission.FULL if change.bill.paid_earlier else Resubmission.GAP
        state = states_with_resubmission[original.pk]
        states_with_resubmission[original.pk] = state._replace(resubmission=part)
    return before, after


def hand_over_provider_invoices(
    changes: Sequence[BillChange], bills: Mapping[UUID, AnyBill], context: TransitionContext
) -> list[tuple[AnyBill, dict[str, object]]]:
    """Further claims that lose their provider invoice to a changed one, or hold it again, and their values.

    The values of restored claims themselves are completed.
    """
    changed = {change.bill.pk for change in changes}
    others: list[tuple[AnyBill, dict[str, object]]] = []
    for change in changes:
        bill, name = change.bill, change.transition.name
        if not isinstance(bill, Claim):
            break
        original = bills.get(bill.resubmission_of_id) if bill.resubmission_of_id else None
        if original is not None and original.pk in changed:
            original = None
        if change.transition.resubmits is not None:
            others.append((bill, {"takes_provider_invoice": False}))
        elif name is TransitionName.ARCHIVE:
            if bill.takes_provider_invoice and original is not None and not original.is_archived:
                others.append((original, {"takes_provider_invoice": True}))
        elif name is TransitionName.RESTORE:
            claim = context.claim_of_invoice.get(bill.provider_invoice_id, (None, ""))[0]
            change.values["takes_provider_invoice"] = claim == bill.pk
            if original is not None and original.pk != claim:
                others.append((original, {"takes_provider_invoice": False}))
    return others


def save_bills(model: type[AnyBill], bill_values: Iterable[tuple[AnyBill, dict[str, object]]]) -> None:
    """Write new values of bills, one statement for all that get the same ones, and their history.

    Claims that lose a provider invoice come before those that get it: it has one holder at a time. No row is
    written twice: PostgreSQL would check its references again and lock the provider invoice behind its claim.
    """
    bill_values = list(bill_values)
    reasons = {values["status_reason"] for _, values in bill_values if "status_reason" in values}
    groups: dict[tuple[tuple[str, object], ...], list[UUID]] = defaultdict(list)
    own_values: dict[tuple[str, ...], list[AnyBill]] = defaultdict(list)
    entries = []
    for bill, values in bill_values:
        changed = {name: value for name, value in values.items() if getattr(bill, name) != value}
        if not changed:
            continue
        # The status history has the dates.
        recorded = {name: value for name, value in changed.items() if name != "status_date"}
        before = {name: getattr(bill, name) for name in recorded}
        entries.append((bill.pk, history.describe(model, before, recorded)))
        is_paid_in_part = changed.get("amount_paid", bill.total) != bill.total
        if is_paid_in_part or (len(reasons) > 1 and "status_reason" in changed):
            for name, value in changed.items():
                setattr(bill, name, value)
            own_values[tuple(changed)].append(bill)
            continue
        if "amount_paid" in changed:
            changed["amount_paid"] = F("total")
        groups[tuple(changed.items())].append(bill.pk)
    for group in sorted(groups, key=lambda group: ("takes_provider_invoice", True) in group):
        rows = model._default_manager.filter(AnyOf("guid", groups[group]))
        rows.update(**dict(group), modify_date=clock.now())
    for columns, bills in own_values.items():
        saving.update(model, columns, bills)
    history.write_differences(model, entries)


def record_moves(
    record: str,
    moves: Iterable[tuple[UUID, str, str]],
    name: str,
    reason: str | None,
    staff: Staff | None,
    paid_lines: PaidLines = MappingProxyType({}),
    reasons: Mapping[UUID, str] = MappingProxyType({}),
) -> None:
    """Write (key, from, to) into the status history; ``record`` is the reference of ``StatusMove``."""
    author = history.author()
    staff_id = author.staff_id if staff is None else staff.pk
    who = (clock.now(), staff_id, author.application)
    entries = {
        key: {str(line): str(amount) for line, amount in payments.items()}
        for key, payments in paid_lines.items()
    }
    bulk_insert(
        StatusMove,
        (
            *(f"{record}_id", "verb", "from_status", "to_status", "reason"),
            *("at", "staff_id", "application", "paid_lines"),
        ),
        [
            (key, name, source, target, reasons.get(key, reason), *who, entries.get(key))
            for key, source, target in moves
        ],
    )
