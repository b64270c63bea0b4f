"""Writes what transitions change: bills, their lines, budgets, provider invoices and the status history."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.db.models import F

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.core import history, saving
from apps.core.bulk_insert import bulk_insert
from apps.engagements.amounts import Amounts
from apps.funding.models import Claim, StatusMove
from apps.funding.services.effects import BudgetPosting, BudgetState, post_to_budgets, update_claim_flags
from apps.funding.services.payments import LineAmounts, save_paid_lines
from apps.funding.services.resubmit import create_resubmissions
from apps.funding.services.transition_requests import (
    BillChange,
    LockedRecords,
    PaidLines,
    TransitionRequest,
)
from apps.funding.validation.guards import AnyBill, TransitionContext
from apps.funding.validation.transitions import Resubmission, TransitionName
from apps.people.models import Staff


@dataclass(slots=True)
class Move:
    """A record that goes from one status to another, as the status history has it.

    ``paid_lines``: what was paid of its lines, by their keys. ``warnings``: those that were shown before;
    ``None`` where nobody was asked.
    """

    key: UUID
    source: str
    target: str
    reason: str | None
    entered_by: UUID | None = None
    warnings: list[dict[str, object]] | None = None
    paid_lines: dict[str, str] | None = None


def move_of(request: TransitionRequest, change: BillChange) -> Move:
    """The move of a bill whose status is still the one before."""
    bill, shown = change.bill, request.warnings
    return Move(
        bill.pk,
        bill.funding_status,
        change.status,
        request.reasons.get(bill.pk, request.reason),
        bill.entered_by_id,
        None if shown is None else [each._asdict() for each in shown.get(bill.pk, ())],
    )


def save_changes(
    request: TransitionRequest,
    changes: Sequence[BillChange],
    locked: LockedRecords,
    context: TransitionContext,
) -> dict[UUID, UUID]:
    """Write the bills, their lines, status history and budgets; the keys of new bills by their originals'."""
    model, transition = request.model, request.transition
    waiting = context.waiting_lines if transition.resubmits is Resubmission.GAP else {}
    postings = post_lines(request, changes, locked, waiting) if transition.changes_budgets else []
    bill_values = [(change.bill, change.values) for change in changes]
    bill_values += hand_over_provider_invoices(changes, locked.bills, context)
    moves = [move_of(request, change) for change in changes]
    save_bills(model, bill_values)
    paid_lines: PaidLines = {}
    if transition.moves_money:
        paid_lines = {change.bill.pk: change.payments for change in changes}
    resubmissions: dict[UUID, UUID] = {}
    if transition.resubmits is not None:
        originals = [change.bill for change in changes]
        made = create_resubmissions(model, originals, transition.resubmits, request.staff, waiting)
        resubmissions, paid_lines = made.keys, made.paid_earlier
        postings += made.postings
    for move in moves:
        if (payments := paid_lines.get(move.key)) is not None:
            move.paid_lines = {str(line): str(amount) for line, amount in payments.items()}
    record_moves(str(model._meta.model_name), request.name.value, request.staff, moves)
    post_to_budgets(postings)
    if model is Claim and transition.changes_provider_invoice:
        claims = (bill for bill, _ in bill_values if isinstance(bill, Claim))
        update_claim_flags({claim.provider_invoice_id for claim in claims})
    return resubmissions


def post_lines(
    request: TransitionRequest,
    changes: Sequence[BillChange],
    locked: LockedRecords,
    waiting: Container[UUID],
) -> list[BudgetPosting]:
    """Save what is paid of the lines; by how much they change the amounts of their budgets.

    ``waiting``: lines that are not resubmitted with their bill now.
    """
    before, after = budget_states(request, changes, locked.bills)
    changed = {change.bill.pk for change in changes}

    def amounts(state: BudgetState, line: LineAmounts, paid: Decimal) -> Amounts:
        is_here = request.transition.resubmits or line.resubmitted_as in changed
        is_resubmitted = is_here and line.key not in waiting
        return (state if is_resubmitted else state._replace(resubmission=None)).amounts(line.total, paid)

    paid = {line: amount for change in changes for line, amount in change.paid.items()}
    lines = [(key, line) for key in after for line in locked.lines.get(key, ())]
    save_paid_lines(request.model, (line for _, line in lines), paid)
    postings = []
    for key, line in lines:
        if line.booking is not None or line.category_budget is not None:
            days = line.booking, line.category_budget, line.first_day, line.last_day
            postings.append(BudgetPosting(*days, -amounts(before[key], line, line.paid)))
            paid_now = paid.get(line.key, line.paid)
            postings.append(BudgetPosting(*days, amounts(after[key], line, paid_now)))
    return postings


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


def mark_own_approvals() -> int:
    """Mark approvals by who entered the bill that are not; how many.

    In an upgrade workers of the version before approve for a while, and do not know the mark.
    """
    moves = StatusMove.objects.filter(
        verb=TransitionName.APPROVE, staff__isnull=False, is_own_approval=False
    ).order_by()
    return sum(
        moves.filter(staff=F(f"{name}__entered_by")).update(is_own_approval=True)
        for name in ("claim", "invoice")
    )


def record_moves(record: str, verb: str, staff: Staff | None, moves: Sequence[Move]) -> None:
    """Write moves into the status history; ``record`` is the reference of ``StatusMove``."""
    author = history.author()
    staff_id = author.staff_id if staff is None else staff.pk
    who = (clock.now(), staff_id, author.application)
    is_approval = verb == TransitionName.APPROVE and staff_id is not None
    bulk_insert(
        StatusMove,
        (
            *(f"{record}_id", "verb", "from_status", "to_status", "reason"),
            *("at", "staff_id", "application", "paid_lines", "warnings", "is_own_approval"),
        ),
        [
            (
                *(move.key, verb, move.source, move.target, move.reason),
                *(*who, move.paid_lines, move.warnings, is_approval and move.entered_by == staff_id),
            )
            for move in moves
        ],
    )
