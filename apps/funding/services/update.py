"""Changing and archiving claims and invoices: for the interface, the back office and imports."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast
from uuid import UUID

from django.db import transaction
from django.db.models import Model, QuerySet

from apps.base.batched_queries import AnyOf
from apps.base.drafts import Issue, ValidationFailed, WarningsPresent, raise_if_invalid
from apps.core import history, saving
from apps.core.bulk_insert import WriteBatch
from apps.funding.choices import CancellationReason
from apps.funding.drafts import BillDraft, ClaimDraft, InvoiceDraft, LineDraft
from apps.funding.models import AcknowledgedWarning, Bill, Claim, LineItem
from apps.funding.services.create import acknowledge_warnings, acknowledged, check_bills, find_warnings
from apps.funding.services.effects import (
    BUDGETS,
    BudgetPosting,
    apply_claim_effects,
    line_posting,
    lock_provider_invoices,
    post_to_budgets,
    record_posting,
    write_history_of_left_budgets,
)
from apps.funding.services.transitions import apply_transition
from apps.funding.validation.bills import CLAIMS, INVOICES, BillType
from apps.funding.validation.guards import AnyBill
from apps.funding.validation.paid import PAID_CLAIM_RULES, PAID_INVOICE_RULES
from apps.funding.validation.transitions import TransitionName
from apps.funding.validation.warning_messages import without_today


def update_claims(drafts: Sequence[ClaimDraft], ignore_warnings: bool = False) -> list[UUID]:
    """Change what drafts of existing claims give; the keys of those that differed.

    Only claims that await approval or are on hold. ``line_items`` given is the whole new list, in which a
    draft with a key is that existing line.
    """
    return update_bills(CLAIMS, drafts, ignore_warnings)


def update_invoices(drafts: Sequence[InvoiceDraft], ignore_warnings: bool = False) -> list[UUID]:
    """Change what drafts of existing invoices give, as ``update_claims`` does."""
    return update_bills(INVOICES, drafts, ignore_warnings)


#: The columns that are worked out anew when a bill changes.
CALCULATED = {
    CLAIMS.name: frozenset({"total", "missing_abn_reason_code", "takes_provider_invoice"}),
    INVOICES.name: frozenset({"total"}),
}


@saving.in_transaction()
def update_bills(bill_type: BillType, drafts: Sequence[BillDraft], ignore_warnings: bool) -> list[UUID]:
    """Change bills, their lines, and what those post to budgets.

    Locks as ``create_bills`` does, the bills after the provider invoices they are built on.
    """
    existing = load_existing_bills(bill_type, drafts)
    raise_if_invalid_updates(drafts, existing)
    keys = [draft.key for draft in drafts]
    paid_rules = PAID_CLAIM_RULES if bill_type is CLAIMS else PAID_INVOICE_RULES
    warnings = find_new_warnings(bill_type, keys, check_bills(bill_type, drafts, paid_rules))
    if warnings and not ignore_warnings:
        raise WarningsPresent(warnings)
    keep_budgets_of_paid_lines(drafts)
    batch = WriteBatch()
    acknowledge_warnings(bill_type, warnings, keys, batch)
    line_history = update_lines(bill_type, drafts, existing, batch)
    for draft in drafts:
        draft.given |= CALCULATED[bill_type.name]
    records = {key: bill.record for key, bill in existing.items()}
    changed = saving.save_changes(bill_type.model, drafts, records, line_history)
    if bill_type is CLAIMS:
        apply_claim_effects(cast("Sequence[ClaimDraft]", drafts))
    return changed


@transaction.atomic
def archive_bills(bill_type: BillType, bills: QuerySet[Model]) -> int:
    """Archive bills by their transition, and return how many; ``ValidationFailed`` says which cannot be."""
    if bill_type is CLAIMS:
        lock_provider_invoices(list(bills.values_list("pk", flat=True)))
    keys = list(bills.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True))
    result = apply_transition(bill_type.model, keys, TransitionName.ARCHIVE)
    if result.refused:
        raise ValidationFailed(
            (keys.index(refused.key), Issue(refused.code, "", refused.message)) for refused in result.refused
        )
    return len(result.done)


archive_claims = partial(archive_bills, CLAIMS)
archive_invoices = partial(archive_bills, INVOICES)


def find_new_warnings(
    bill_type: BillType, keys: Sequence[UUID], warnings: Sequence[tuple[int, Issue]]
) -> list[tuple[int, Issue]]:
    """The warnings without those that were acknowledged before: same place, same words, same figures.

    The day of which they speak as today does not count.
    """
    if not warnings:
        return []
    rows = AcknowledgedWarning.objects.filter(AnyOf(bill_type.name, keys)).order_by()
    columns = (f"{bill_type.name}_id", "code", "place", "message")
    known = {(*of_bill, without_today(message)) for *of_bill, message in rows.values_list(*columns)}
    found = []
    for number, issue in warnings:
        *of_bill, message = acknowledged(bill_type, keys[number], issue)
        if (*of_bill, without_today(message)) not in known:
            found.append((number, issue))
    return found


@transaction.atomic
def find_warnings_since(model: type[AnyBill], keys: Sequence[UUID]) -> dict[UUID, list[AcknowledgedWarning]]:
    """The warnings that bills would have if they were saved now, and that nobody has acknowledged.

    Prices, plans and budgets may have changed since a bill was entered, and others may have entered the same.
    They are those of ``update_bills``, which nobody has stored. The number of statements is constant.
    """
    bill_type, draft_class = (CLAIMS, ClaimDraft) if model is Claim else (INVOICES, InvoiceDraft)
    drafts: list[Any] = [draft_class({}, key=key) for key in keys]
    load_existing_bills(bill_type, drafts)
    found: dict[UUID, list[AcknowledgedWarning]] = defaultdict(list)
    for number, issue in find_new_warnings(bill_type, keys, find_warnings(bill_type, drafts)):
        _, code, place, message = acknowledged(bill_type, keys[number], issue)
        found[keys[number]].append(AcknowledgedWarning(code=code, place=place, message=message))
    return found


# --- existing bills -------------------------------------------------------------------------------------


@dataclass(slots=True)
class ExistingBill:
    """A bill before its update, locked, with its lines."""

    record: Any
    lines: list[LineItem] = field(default_factory=list)


def load_existing_bills(bill_type: BillType, drafts: Sequence[BillDraft]) -> dict[UUID, ExistingBill]:
    """Lock the bills, and complete their drafts from them; the bills by key.

    Lines that are not given stay as they are. The number of statements is constant.
    """
    if bill_type is CLAIMS:
        lock_provider_invoices(draft.key for draft in drafts)
    records = saving.load_existing(bill_type.model, drafts)
    existing = {key: ExistingBill(record) for key, record in records.items()}
    references = bill_type.line_references
    lines = bill_type.line_model.objects.filter(AnyOf(bill_type.name, existing))
    for line in lines.order_by("position", "pk").select_related(*references):
        existing[getattr(line, f"{bill_type.name}_id")].lines.append(line)
    for draft in drafts:
        complete_draft(bill_type, draft, existing[draft.key], references)
    return existing


def complete_draft(
    bill_type: BillType, draft: BillDraft, existing: ExistingBill, references: Sequence[str]
) -> None:
    known = draft.given | draft.invalid
    draft.existing = existing.record
    number = f"{bill_type.name}_number"
    if draft.get(number) is None and number not in draft.invalid:
        # A number cannot be removed.
        draft.fill(number, getattr(existing.record, number))
    if bill_type is CLAIMS:
        draft.fill("previous_provider_invoice_id", existing.record.provider_invoice_id)
    for name in ("contact", "provider", "staff"):
        if name not in known and draft.has(name):
            # The columns that rules read are loaded by this key, as those of a new bill are.
            draft.fill(name, getattr(existing.record, f"{name}_id"))
    if "line_items" not in known:
        draft.fill("line_items", [LineDraft({}, key=line.pk) for line in existing.lines])
    lines = draft.get("line_items") or []
    by_key = {line.pk: line for line in existing.lines}
    for line in lines:
        if line.key in by_key:
            complete_line(line, by_key[line.key], references)
    saving.apply_model_defaults(bill_type.line_model, [line for line in lines if line.key is None])


def complete_line(line: LineDraft, record: LineItem, references: Sequence[str]) -> None:
    line.existing = record
    for column in record._meta.concrete_fields:
        name, is_whole = column.name, column.name in references
        if is_whole and line.key_of(name) == getattr(record, column.attname):
            # Also one that was archived meanwhile: the line has it already.
            line.fill(name, getattr(record, name))
        elif not column.primary_key and name not in line.given and name not in line.invalid:
            line.fill(name, getattr(record, name) if is_whole else saving.existing_value(record, column))


# --- validation -----------------------------------------------------------------------------------------


def raise_if_invalid_updates(drafts: Sequence[BillDraft], existing: Mapping[UUID, ExistingBill]) -> None:
    """Raise ``ValidationFailed`` for bills that may not change any more, and for lines of other bills."""
    issues = [
        (number, issue)
        for number, draft in enumerate(drafts)
        for issue in update_issues(draft, existing[draft.key])
    ]
    if issues:
        raise_if_invalid(drafts, issues)


def update_issues(draft: BillDraft, existing: ExistingBill) -> Iterator[Issue]:
    bill: Bill = existing.record
    if bill.is_archived:
        message = f"{bill} is archived; restore it before you change it."
        yield Issue("Archived", "", message, is_state=True)
    elif not bill.is_editable:
        label = existing.record.get_funding_status_display()
        message = f"{bill} is “{label}”; only what awaits approval or is on hold can be changed."
        yield Issue("NotAllowed", "", message, is_state=True)
    given = [line.key for line in draft.get("line_items") or ()]
    known = {line.pk for line in existing.lines}
    for number, key in enumerate(given):
        if key is not None and key not in known:
            yield Issue("NotFound", ("line_items", number), f"Line {number + 1} is no line of {bill}.")
        elif key is not None and key in given[:number]:
            yield Issue("Duplicate", ("line_items", number), f"Line {number + 1} is given twice.")
    for line in existing.lines:
        if line.amount_paid and line.pk not in given:
            message = f"Line {line.position + 1} was paid in part ({line.amount_paid:,.2f}); it stays."
            yield Issue("NotAllowed", "line_items", message)


# --- lines ----------------------------------------------------------------------------------------------


def keep_budgets_of_paid_lines(drafts: Sequence[BillDraft]) -> None:
    """Leave what was paid on the budget it counts on, though another one would cover the line by now."""
    for line in (line for draft in drafts for line in draft.line_items):
        record = line.existing
        if record is None or not record.amount_paid:
            continue
        if record.booking_id is not None or record.category_budget_id is not None:
            for column in record._meta.concrete_fields:
                if column.name in BUDGETS:
                    line.fill(column.name, saving.existing_value(record, column))


#: The history of the lines of a bill: {"Line 2": [before, after]}.
LineHistory = dict[str, list[object]]


def update_lines(
    bill_type: BillType,
    drafts: Sequence[BillDraft],
    existing: Mapping[UUID, ExistingBill],
    batch: WriteBatch,
) -> dict[UUID, LineHistory]:
    """Make the lines of bills what their drafts say, post to budgets, and send the batch; their history."""
    inserted: list[tuple[UUID, int, LineDraft]] = []
    updated: dict[tuple[str, ...], list[LineItem]] = defaultdict(list)
    deleted: list[UUID] = []
    postings_before: list[BudgetPosting] = []
    postings_after: list[BudgetPosting] = []
    line_history: dict[UUID, LineHistory] = defaultdict(dict)
    for draft in drafts:
        bill, entries = existing[draft.key], line_history[draft.key]
        unseen: LineHistory = {}
        lines = {line.pk: line for line in bill.lines}
        status = bill.record.funding_status
        postings_before += [record_posting(line, status) for line in bill.lines]
        postings_after += [line_posting(line, status, line.amount_paid) for line in draft.line_items]
        for position, line in enumerate(draft.line_items):
            after = describe_line(line)
            if line.key is None:
                inserted.append((draft.key, position, line))
                entries[f"Line {position + 1}"] = [None, after]
                continue
            record = lines.pop(line.key)
            before = describe_line(record)
            set_columns(record, line, position)
            if changed := history.differences(record):
                updated[tuple(changed)].append(record)
                if after != before:
                    entries[f"Line {position + 1}"] = [before, after]
                else:
                    unseen[f"Line {position + 1}"] = describe_columns(record, changed)
        for record in lines.values():
            deleted.append(record.pk)
            entries[f"Line {record.position + 1} before"] = [describe_line(record), None]
        if not entries:
            entries |= unseen
    if deleted:
        bill_type.line_model.objects.filter(AnyOf("guid", deleted)).delete()
    for names, records in updated.items():
        saving.update(bill_type.line_model, names, records)
    if inserted:
        bills, positions, new_lines = zip(*inserted, strict=True)
        own_columns = {bill_type.name: bills, "position": positions}
        saving.insert_rows(bill_type.line_model, new_lines, own_columns, batch)
    post_to_budgets([*(-each for each in postings_before), *postings_after], batch)
    batch.send()
    write_history_of_left_budgets(postings_before, postings_after)
    return line_history


def set_columns(record: LineItem, line: LineDraft, position: int) -> None:
    """Set the columns of an existing line to what its draft says."""
    for column in record._meta.concrete_fields:
        if column.name not in saving.SYSTEM_COLUMNS and not column.primary_key:
            value = line.get(column.name)
            setattr(record, column.attname, value.pk if column.is_relation and value is not None else value)
    record.position = position


def describe_line(line: LineItem | LineDraft) -> str:
    """A line, or the draft of one, in the words of its bill's history."""
    cost_centre = getattr(line, "cost_centre", None)
    first, last = f"{line.first_day:%d %b %Y}", f"{line.last_day:%d %b %Y}"
    words = [
        f"{shortest(line.quantity)} × {line.product.code} at {shortest(line.price)} = {line.total:,.2f}",
        first if first == last else f"{first} to {last}",
        getattr(line, "claim_type", None),
        line.cancellation_reason if line.cancellation_reason != CancellationReason.NONE else None,
        line.tax_choice,
        str(line.price_book),
        cost_centre and f"cost centre {cost_centre}",
        line.notes and f"“{line.notes}”",
    ]
    return "; ".join(str(word) for word in words if word)


def describe_columns(record: LineItem, changed: history.Differences) -> list[object]:
    """The columns that changed of a line that reads as before: its place, its own days, its budget."""
    names = {column.attname: column.verbose_name for column in record._meta.concrete_fields}
    return ["; ".join(f"{names[name]} {values[side]}" for name, values in changed.items()) for side in (0, 1)]


def shortest(number: object) -> str:
    """A number without the zeros that its column adds."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
