"""The lines of bills in the tables: stored with their bill, changed with it, drawn on budgets, told of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.core import history, saving
from apps.funding.choices import CancellationReason, ClaimStatus
from apps.funding.models import ZERO, LineItem
from apps.funding.services.budgets import BudgetPosting, budget_amounts, post_to_budgets
from apps.funding.services.check import Kind
from apps.odata.any_of import AnyOf
from apps.odata.write.drafts import Draft

#: What became of the lines of a bill, as its history tells it: {"Line 2": [before, after]}.
Told = dict[str, list[Any]]


# --- of new bills ---------------------------------------------------------------------------------------


def store_lines(kind: Kind, drafts: Sequence[Draft], keys: Sequence[Any]) -> None:
    """Store the lines of bills just stored."""
    lines: list[Draft] = []
    for draft, key in zip(drafts, keys, strict=True):
        place_lines(draft, key)
        lines += draft.line_items
    insert_lines(kind, lines)


def draw_on_budgets(drafts: Sequence[Draft]) -> None:
    """Let the lines of bills just stored post_to_budgets on their budgets."""
    lines = (line for draft in drafts for line in draft.line_items)
    post_to_budgets(drawn_by(line, ClaimStatus.AWAITING_STAFF_APPROVAL) for line in lines)


def place_lines(bill: Draft, key: Any) -> None:
    """Note in the lines of a bill whose they are, and in which order."""
    for position, line in enumerate(bill.line_items):
        held = line.__dict__
        held["position"], held["bill_key"] = position, key


def insert_lines(kind: Kind, lines: Sequence[Draft]) -> None:
    saving.insert_rows(kind.line_model, lines, {kind.name: lambda line: line.__dict__["bill_key"]})


def drawn_by(line: Draft, status: str) -> BudgetPosting:
    """What a line draws on the budget that it was found to be covered by."""
    paid = line.__dict__.get("amount_paid") or ZERO
    amounts = budget_amounts(status, False, line.total, paid)
    return BudgetPosting(key_of_budget(line, "booking"), key_of_budget(line, "category_budget"), amounts)


def key_of_budget(line: Draft, name: str) -> Any:
    budget = line.__dict__[name]
    return None if budget is None else budget.pk


# --- of bills that stand --------------------------------------------------------------------------------


@dataclass(slots=True)
class Changes:
    """What becomes of the lines of bills that are revised: rows to write, budgets to tell, what to tell."""

    added: list[Draft] = field(default_factory=list)
    changed: dict[tuple[str, ...], list[LineItem]] = field(default_factory=lambda: defaultdict(list))
    removed: list[Any] = field(default_factory=list)
    drawn: list[BudgetPosting] = field(default_factory=list)
    told: dict[Any, Told] = field(default_factory=dict)

    def tell(self, bill: Draft, number: int, before: str | None, after: str | None) -> None:
        if before != after:
            label = f"Line {number}" if after is not None else f"Line {number} before"
            self.told.setdefault(bill.key, {})[label] = [before, after]

    def add(self, bill: Draft, number: int, line: Draft) -> None:
        self.added.append(line)
        self.tell(bill, number, None, in_words(line))

    def change(self, bill: Draft, number: int, line: Draft, record: LineItem) -> None:
        before = in_words(record)
        put(record, line)
        names = tuple(history.differences(record))
        if names:
            self.changed[names].append(record)
            self.tell(bill, number, before, in_words(record))

    def remove(self, bill: Draft, record: LineItem) -> None:
        self.removed.append(record.pk)
        self.tell(bill, record.position + 1, in_words(record), None)


def put_lines(kind: Kind, drafts: Sequence[Draft]) -> dict[Any, Told]:
    """Make the lines of standing bills what their drafts say; what became of them, by bill.

    Drafts hold their standing lines (``revising.bring_up``). Budgets are told the differences.
    """
    changes = Changes()
    for draft in drafts:
        standing = {record.pk: record for record in draft.standing_lines}
        changes.drawn += [drawn_before(record, draft.funding_status) for record in standing.values()]
        changes.drawn += [drawn_by(line, draft.funding_status) for line in draft.line_items]
        place_lines(draft, draft.key)
        for number, line in enumerate(draft.line_items, 1):
            if line.key is None:
                changes.add(draft, number, line)
            else:
                changes.change(draft, number, line, standing.pop(line.key))
        for record in standing.values():
            changes.remove(draft, record)
    write(kind, changes)
    return changes.told


def drawn_before(record: LineItem, status: str) -> BudgetPosting:
    """What takes back what a line drew while it stood as it did."""
    amounts = budget_amounts(status, False, record.total, record.amount_paid)
    return BudgetPosting(record.booking_id, record.category_budget_id, -amounts)


def put(record: LineItem, line: Draft) -> None:
    """Set the columns of a standing line to what its draft says."""
    for column in record._meta.concrete_fields:
        if column.name not in line.__dict__ or column.name in saving.SYSTEM_COLUMNS:
            continue
        value = line.__dict__[column.name]
        if column.is_relation:
            setattr(record, column.attname, None if value is None else value.pk)
            if column.name in ("product", "price_book", "cost_centre"):
                setattr(record, column.name, value)
        else:
            setattr(record, column.attname, value)


def write(kind: Kind, changes: Changes) -> None:
    if changes.removed:
        kind.line_model.objects.filter(AnyOf(kind.line_model._meta.pk, changes.removed)).delete()
    for names, records in changes.changed.items():
        saving.update(kind.line_model, names, records)
    if changes.added:
        insert_lines(kind, changes.added)
    post_to_budgets(changes.drawn)


# --- in words -------------------------------------------------------------------------------------------


def in_words(line: Draft | LineItem) -> str:
    """A line as the history of its bill tells it, with all that was said of it."""
    held: Any = line
    said = [
        f"{plain(held.quantity)} × {held.product.code} at {plain(held.price)} = {held.total:,.2f}",
        days_in_words(held),
        getattr(held, "claim_type", None),
        held.cancellation_reason if held.cancellation_reason != CancellationReason.NONE else None,
        held.tax_choice,
        str(held.price_book),
        getattr(held, "cost_centre", None) and f"cost centre {held.cost_centre}",
        held.notes and f"“{held.notes}”",
    ]
    return "; ".join(str(each) for each in said if each)


def plain(number: Any) -> str:
    """A number without the zeros that its column adds."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def days_in_words(line: Any) -> str:
    first, last = f"{line.first_day:%d %b %Y}", f"{line.last_day:%d %b %Y}"
    return first if first == last else f"{first} to {last}"
