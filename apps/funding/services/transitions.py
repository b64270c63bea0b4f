"""Transitions of claims and invoices, of one or of many at once (statuses.py has the table).

Only ``apply_transition`` changes a bill's status, its archiving and what was paid of it: the provider invoice
of a claim, the budgets and the status history change with it.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.utils import formats

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.money import ZERO
from apps.funding.models import Claim, ProviderInvoice, StatusMove
from apps.funding.services.effects import lock_provider_invoices
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
)
from apps.funding.services.transition_changes import save_changes
from apps.funding.services.transition_requests import (
    REASON_LENGTH,
    BillChange,
    LockedRecords,
    RefusedTransition,
    ShownWarnings,
    TransitionRequest,
    TransitionResult,
)
from apps.funding.statuses import InvoiceStatus
from apps.funding.validation.guards import AnyBill, TransitionContext
from apps.funding.validation.paid import MOST_YEARS_PAID_AGO
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
    Transition,
    TransitionName,
)
from apps.people.models import Staff


@transaction.atomic
def apply_transition(
    model: type[AnyBill],
    keys: Iterable[UUID],
    name: str,
    staff: Staff | None = None,
    reason: str | Mapping[UUID, str] | None = None,
    amounts: Mapping[UUID, Payment] | None = None,
    day: dt.date | dt.datetime | None = None,
    paid_before: Mapping[UUID, Decimal] | None = None,
    warnings: ShownWarnings | None = None,
) -> TransitionResult:
    """Apply the transition ``name`` (``TransitionName``) to claims or invoices; refused ones do not change.

    ``staff`` needs the permission to administer funding invoices, and that of the transition; without staff
    the system acts (a command, a provider's answer). A part payment, and what is taken back, needs
    ``amounts``. ``paid_before``: what was paid of bills when somebody was asked for them; once it is another
    sum the bill is refused, so that a form that is sent twice counts once. A reason is one for all bills, or
    one for each by its key. ``warnings``: what was shown of bills to whoever approves them, for the status
    history. Statements are constant in the number of bills.
    Locks, always in this order and each by key: provider invoices, bills, the number sequence, budgets.
    """
    wanted = list(dict.fromkeys(keys))
    reasons = reason if isinstance(reason, Mapping) else {}
    common = None if isinstance(reason, Mapping) else (reason or "").strip() or None
    transition_name = TransitionName(name)
    request = TransitionRequest(
        model, transition_name, staff, common, amounts or {}, day, reasons, paid_before or {}, warnings
    )
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
    if transition.pays and request.day is not None:
        day = formats.date_format(as_day(request.day))
        if as_day(request.day) > clock.today():
            return f"The day of payment, {day}, lies ahead."
        if as_day(request.day) < clock.years_after(clock.today(), -MOST_YEARS_PAID_AGO):
            return f"The day of payment, {day}, is more than {MOST_YEARS_PAID_AGO} years ago."
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
    if request.paid_before.get(bill.pk, bill.amount_paid) != bill.amount_paid:
        return f"By now {bill.amount_paid:,.2f} are paid of it: look whether this is recorded already."
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
