"""Updating claims and invoices: for the back office and imports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import models

from apps.core import history, saving
from apps.core.bulk_insert import WriteBatch
from apps.funding.choices import CancellationReason
from apps.funding.drafts import LineDraft
from apps.funding.models import AcknowledgedWarning, Bill, Claim, LineItem, ProviderInvoice
from apps.funding.services.bill_types import CLAIMS, INVOICES, BillType
from apps.funding.services.budgets import BudgetPosting, budget_amounts, line_posting, post_to_budgets
from apps.funding.services.claim_effects import complete_provider_invoices, update_flags_of_claims
from apps.funding.services.create import (
    Acknowledged,
    acknowledge_warnings,
    check_bills,
    insert_lines,
    number_lines,
)
from apps.odata.any_of import AnyOf
from apps.odata.write.drafts import Draft, Issue, WarningsPresent, raise_if_invalid
from apps.people.models import Client, Contact, Staff


def update_claims(drafts: Sequence[Draft], ignore_warnings: bool = False) -> list[Any]:
    """Change what drafts of existing claims give; the keys of those that differed.

    Only claims that await approval or are on hold. ``line_items`` given is the whole new list, in which a
    draft with a key is that existing line.
    """
    return update_bills(CLAIMS, drafts, ignore_warnings)


def update_invoices(drafts: Sequence[Draft], ignore_warnings: bool = False) -> list[Any]:
    """Change what drafts of existing invoices give, as ``update_claims`` does."""
    return update_bills(INVOICES, drafts, ignore_warnings)


#: The columns that are worked out anew when a bill changes.
CALCULATED = {
    CLAIMS.name: frozenset({"total", "missing_abn_reason_code", "takes_provider_invoice"}),
    INVOICES.name: frozenset({"total"}),
}


def update_bills(bills: BillType, drafts: Sequence[Draft], ignore_warnings: bool) -> list[Any]:
    """Change bills, their lines, and what those post to budgets.

    Locks as ``create_bills`` does, the bills after the provider invoices they are built on.
    """
    with saving.in_transaction():
        existing = load_existing_bills(bills, drafts)
        raise_if_invalid_updates(drafts, existing)
        warnings = check_bills(bills, drafts)
        if warnings and not ignore_warnings:
            raise WarningsPresent(warnings)
        keys = [draft.key for draft in drafts]
        batch = WriteBatch()
        acknowledge_warnings(bills, warnings, keys, batch, load_acknowledged(bills, keys))
        line_history = update_lines(bills, drafts, existing, batch)
        batch.send()
        if bills is CLAIMS:
            complete_provider_invoices(drafts)
        for draft in drafts:
            draft.given |= CALCULATED[bills.name]
        records = {key: bill.record for key, bill in existing.items()}
        changed = saving.save_changes(bills.model, drafts, records, line_history)
        if bills is CLAIMS:
            update_flags_of_claims(drafts)
        return changed


def load_acknowledged(bills: BillType, keys: Sequence[Any]) -> set[Acknowledged]:
    """The warnings about these bills that were acknowledged before."""
    column: Any = AcknowledgedWarning._meta.get_field(bills.name)
    rows = AcknowledgedWarning.objects.filter(AnyOf(column, keys)).order_by()
    return set(rows.values_list(column.attname, "code", "place", "message"))


# --- existing bills -------------------------------------------------------------------------------------


@dataclass(slots=True)
class ExistingBill:
    """A bill before its update, locked, with its lines."""

    record: Any
    lines: list[LineItem] = field(default_factory=list)


#: The records that rules read more of than their key.
REFERENCES: Mapping[str, type[models.Model]] = {"contact": Contact, "provider": Client, "staff": Staff}


def load_existing_bills(bills: BillType, drafts: Sequence[Draft]) -> dict[Any, ExistingBill]:
    """Lock the bills, and complete their drafts from them; the bills by key.

    Lines that are not given stay as they are. The number of statements is constant.
    """
    if bills is CLAIMS:
        lock_provider_invoices_of_claims(draft.key for draft in drafts)
    records = saving.load_existing(bills.model, drafts)
    existing = {key: ExistingBill(record) for key, record in records.items()}
    column = bills.line_model._meta.get_field(bills.name)
    lines = bills.line_model.objects.filter(AnyOf(column, existing)).order_by("position", "pk")
    for line in lines.select_related(*line_references(bills)):
        existing[getattr(line, column.attname)].lines.append(line)
    for draft in drafts:
        if draft.key in existing:
            complete_draft(bills, draft, existing[draft.key])
    for name, model in REFERENCES.items():
        load_references(drafts, name, model)
    return existing


def lock_provider_invoices_of_claims(claims: Iterable[Any]) -> None:
    """Wait for transitions of these claims, or make them wait: they lock in this order, too."""
    existing = Claim.objects.filter(AnyOf(Claim._meta.get_field("guid"), claims)).order_by()
    invoices = ProviderInvoice.objects.filter(pk__in=existing.values("provider_invoice")).order_by("pk")
    list(invoices.select_for_update(of=("self",)).values_list("pk"))


def line_references(bills: BillType) -> list[str]:
    """The references of a line that rules and history read whole."""
    names = {column.name for column in bills.line_model._meta.concrete_fields}
    return [name for name in ("product", "price_book", "cost_centre") if name in names]


def complete_draft(bills: BillType, draft: Draft, existing: ExistingBill) -> None:
    number = f"{bills.name}_number"
    if draft.get(number) is None and number not in draft.invalid:
        # A number cannot be removed.
        draft.fill(number, getattr(existing.record, number))
    if bills is CLAIMS:
        draft.fill("previous_provider_invoice_id", existing.record.provider_invoice_id)
    if "line_items" not in draft.given | draft.invalid:
        draft.fill("line_items", [LineDraft({}, key=line.pk) for line in existing.lines])
    lines = draft.get("line_items") or []
    by_key = {line.pk: line for line in existing.lines}
    for line in lines:
        if line.key in by_key:
            complete_line(line, by_key[line.key], line_references(bills))
    saving.apply_model_defaults(bills.line_model, [line for line in lines if line.key is None])


def complete_line(line: Draft, record: LineItem, references: Sequence[str]) -> None:
    for column in record._meta.concrete_fields:
        name = column.name
        if not column.primary_key and name not in line.given and name not in line.invalid:
            is_whole = name in references
            line.fill(name, getattr(record, name) if is_whole else saving.existing_value(record, column))


def load_references(drafts: Sequence[Draft], name: str, model: type[models.Model]) -> None:
    """Load the records of which drafts were completed with the key alone; one query."""
    keys = {id(draft): draft.get(name).pk for draft in drafts if is_key_only(draft.get(name))}
    if keys:
        key: Any = model._meta.pk
        records = model._base_manager.filter(AnyOf(key, set(keys.values()))).in_bulk()
        for draft in drafts:
            if id(draft) in keys:
                draft.fill(name, records[keys[id(draft)]])


def is_key_only(record: Any) -> bool:
    return isinstance(record, models.Model) and record._state.adding


# --- may it change? -------------------------------------------------------------------------------------


def raise_if_invalid_updates(drafts: Sequence[Draft], existing: Mapping[Any, ExistingBill]) -> None:
    """Raise ``ValidationFailed`` for bills that may not change any more, and for lines of other bills."""
    issues = [
        (number, issue)
        for number, draft in enumerate(drafts)
        for issue in update_issues(draft, existing.get(draft.key))
    ]
    if issues:
        raise_if_invalid(drafts, issues)


def update_issues(draft: Draft, existing: ExistingBill | None) -> Iterator[Issue]:
    if existing is None:
        yield Issue("NotFound", "", f"There is no such record: {draft.key}.")
        return
    bill: Bill = existing.record
    if bill.is_archived:
        yield Issue("Archived", "", f"{bill} is archived; restore it before you change it.")
    elif not bill.is_editable:
        label = existing.record.get_funding_status_display()
        message = f"{bill} is “{label}”; only what awaits approval or is on hold can be changed."
        yield Issue("NotAllowed", "", message)
    given = [line.key for line in draft.get("line_items") or ()]
    known = {line.pk for line in existing.lines}
    for number, key in enumerate(given):
        if key is not None and key not in known:
            yield Issue("NotFound", ("line_items", number), f"Line {number + 1} is no line of {bill}.")
    for line in existing.lines:
        if line.amount_paid and line.pk not in given:
            message = f"Line {line.position + 1} was paid in part ({line.amount_paid:,.2f}); it stays."
            yield Issue("NotAllowed", "line_items", message)


# --- lines ----------------------------------------------------------------------------------------------

#: The history of the lines of a bill: {"Line 2": [before, after]}.
LineHistory = dict[str, list[Any]]


@dataclass(slots=True)
class LineChanges:
    """What becomes of the lines of updated bills: rows to write, postings to budgets, and history by bill."""

    inserted: list[Draft] = field(default_factory=list)
    updated: dict[tuple[str, ...], list[LineItem]] = field(default_factory=lambda: defaultdict(list))
    deleted: list[Any] = field(default_factory=list)
    postings: list[BudgetPosting] = field(default_factory=list)
    history: dict[Any, LineHistory] = field(default_factory=lambda: defaultdict(dict))

    def insert(self, bill: Draft, number: int, line: Draft) -> None:
        self.inserted.append(line)
        self.history[bill.key][f"Line {number}"] = [None, describe_line(line)]

    def update(self, bill: Draft, number: int, line: Draft, record: LineItem) -> None:
        before = describe_line(record)
        set_columns(record, line)
        changed = tuple(history.differences(record))
        if changed:
            self.updated[changed].append(record)
            after = describe_line(record)
            if after != before:
                self.history[bill.key][f"Line {number}"] = [before, after]

    def delete(self, bill: Draft, record: LineItem) -> None:
        self.deleted.append(record.pk)
        self.history[bill.key][f"Line {record.position + 1} before"] = [describe_line(record), None]


def update_lines(
    bills: BillType, drafts: Sequence[Draft], existing: Mapping[Any, ExistingBill], batch: WriteBatch
) -> dict[Any, LineHistory]:
    """Make the lines of bills what their drafts say, and post the differences to budgets; their history."""
    changes = LineChanges()
    for draft in drafts:
        bill = existing[draft.key]
        lines = {line.pk: line for line in bill.lines}
        status = bill.record.funding_status
        changes.postings += [removed_posting(line, status) for line in bill.lines]
        changes.postings += [line_posting(line, status) for line in draft.line_items]
        number_lines(draft, draft.key)
        for number, line in enumerate(draft.line_items, 1):
            if line.key is None:
                changes.insert(draft, number, line)
            else:
                changes.update(draft, number, line, lines.pop(line.key))
        for record in lines.values():
            changes.delete(draft, record)
    if changes.deleted:
        bills.line_model.objects.filter(AnyOf(bills.line_model._meta.pk, changes.deleted)).delete()
    for names, records in changes.updated.items():
        saving.update(bills.line_model, names, records)
    if changes.inserted:
        insert_lines(bills, changes.inserted, batch)
    post_to_budgets(changes.postings, batch)
    return changes.history


def removed_posting(line: LineItem, status: str) -> BudgetPosting:
    """What takes back the posting of a line as it was."""
    amounts = budget_amounts(status, False, line.total, line.amount_paid)
    return BudgetPosting(line.booking_id, line.category_budget_id, -amounts)


def set_columns(record: LineItem, line: Draft) -> None:
    """Set the columns of an existing line to what its draft says."""
    for column in record._meta.concrete_fields:
        if column.name in saving.SYSTEM_COLUMNS or not hasattr(line, column.name):
            continue
        value = line.get(column.name)
        if not column.is_relation:
            setattr(record, column.attname, value)
        elif isinstance(value, models.Model):
            setattr(record, column.name, value)
        else:
            setattr(record, column.attname, None if value is None else value.pk)


def describe_line(line: Any) -> str:
    """A line, or the draft of one, in the words of its bill's history."""
    first, last = f"{line.first_day:%d %b %Y}", f"{line.last_day:%d %b %Y}"
    words = [
        f"{shortest(line.quantity)} × {line.product.code} at {shortest(line.price)} = {line.total:,.2f}",
        first if first == last else f"{first} to {last}",
        getattr(line, "claim_type", None),
        line.cancellation_reason if line.cancellation_reason != CancellationReason.NONE else None,
        line.tax_choice,
        str(line.price_book),
        getattr(line, "cost_centre", None) and f"cost centre {line.cost_centre}",
        line.notes and f"“{line.notes}”",
    ]
    return "; ".join(str(word) for word in words if word)


def shortest(number: Any) -> str:
    """A number without the zeros that its column adds."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
