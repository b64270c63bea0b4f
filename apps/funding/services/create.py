"""Creating claims and invoices (interface.md 4.3, 4.4): for the API, the back office, imports and demo data.

Services raise ``ValidationFailed`` with every issue, and ``WarningsPresent`` unless warnings are ignored:
then the warnings are stored as acknowledged. Keys come in the order of the drafts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from apps.core import history, saving
from apps.core.bulk_insert import WriteBatch
from apps.funding.choices import ClaimStatus
from apps.funding.drafts import BillContext
from apps.funding.models import AcknowledgedWarning
from apps.funding.services.bill_types import CLAIMS, INVOICES, BillType
from apps.funding.services.budgets import line_posting, post_to_budgets
from apps.funding.services.claim_effects import (
    complete_provider_invoices,
    set_claimed_flags,
    update_flags_of_claims,
)
from apps.funding.services.context import load_bill_contexts
from apps.funding.services.defaults import apply_defaults
from apps.funding.services.numbering import assign_numbers
from apps.funding.services.records import Issues, load_records
from apps.odata import clock
from apps.odata.declaration import service
from apps.odata.write.drafts import Draft, InvalidValue, Issue, Rule, WarningsPresent, raise_if_invalid
from apps.odata.write.targets import wire_target

#: (key of the bill, code, wire name of the member, message) of an acknowledged warning.
Acknowledged = tuple[Any, str, str | None, str]


def create_claims(drafts: Sequence[Draft], ignore_warnings: bool = False) -> list[Any]:
    return create_bills(CLAIMS, drafts, ignore_warnings)


def create_invoices(drafts: Sequence[Draft], ignore_warnings: bool = False) -> list[Any]:
    return create_bills(INVOICES, drafts, ignore_warnings)


def create_bills(bills: BillType, drafts: Sequence[Draft], ignore_warnings: bool) -> list[Any]:
    """Store new bills with their lines.

    Locks provider invoices, then the running number, then budgets; each in the order of their keys.
    """
    with saving.in_transaction():
        warnings = check_bills(bills, drafts)
        if warnings and not ignore_warnings:
            raise WarningsPresent(warnings)
        assign_numbers(bills.model, drafts)
        return insert_bills(bills, drafts, warnings)


# --- validation -----------------------------------------------------------------------------------------


def check_bills(bills: BillType, drafts: Sequence[Draft]) -> Issues:
    """Fill what the drafts leave out, and apply the rules; the warnings about them.

    Raises ``ValidationFailed`` with all issues. The number of statements is constant.
    """
    records = load_records(bills, drafts)
    apply_defaults(bills, drafts, records)
    contexts = load_bill_contexts(bills, drafts, records)
    issues = [*records.conflicts, *issues_of(drafts, contexts, bills.requirements)]
    if not issues:
        issues += issues_of(drafts, contexts, bills.rules)
    raise_if_invalid(drafts, [*records.reference_issues, *issues])
    return list(issues_of(drafts, contexts, bills.warnings))


def issues_of(
    drafts: Sequence[Draft], contexts: Sequence[BillContext], rules: Sequence[Rule]
) -> Iterator[tuple[int, Issue]]:
    """Apply every rule to every draft and its context."""
    for number, (draft, context) in enumerate(zip(drafts, contexts, strict=True)):
        for rule in rules:
            try:
                for issue in rule(draft, context):
                    yield number, issue
            except InvalidValue:
                continue


# --- saving ---------------------------------------------------------------------------------------------


def insert_bills(bills: BillType, drafts: Sequence[Draft], warnings: Issues) -> list[Any]:
    """Insert bills with their lines, history and warnings, and post them to budgets and provider invoices."""
    lines = [line for draft in drafts for line in draft.line_items]
    batch, author = WriteBatch(), history.author().staff_id
    # What an application sends was entered by the staff member in charge.
    columns = {"entered_by": lambda draft: author or draft.staff.pk}
    keys = saving.insert_records(bills.model, drafts, columns, batch)
    for draft, key in zip(drafts, keys, strict=True):
        number_lines(draft, key)
    insert_lines(bills, lines, batch)
    acknowledge_warnings(bills, warnings, keys, batch)
    if bills is CLAIMS:
        set_claimed_flags(batch, drafts)
    post_to_budgets((line_posting(line, ClaimStatus.AWAITING_STAFF_APPROVAL) for line in lines), batch)
    batch.send()
    if bills is CLAIMS:
        complete_provider_invoices(drafts)
        update_flags_of_claims(drafts)
    return keys


def number_lines(bill: Draft, key: Any) -> None:
    for position, line in enumerate(bill.line_items):
        line.fill("bill_key", key)
        line.fill("position", position)


def insert_lines(bills: BillType, lines: Sequence[Draft], batch: WriteBatch) -> None:
    saving.insert_rows(bills.line_model, lines, {bills.name: lambda line: line.bill_key}, batch)


def acknowledge_warnings(
    bills: BillType,
    warnings: Issues,
    keys: Sequence[Any],
    batch: WriteBatch,
    known: Collection[Acknowledged] = frozenset(),
) -> None:
    """Store which warnings were ignored and by whom, except those that are ``known`` already."""
    if not warnings:
        return
    type_ = service.get_service().by_model[bills.model].type
    rows = (
        (keys[number], issue.code, wire_target(type_, issue.field, issue.code) or None, issue.message)
        for number, issue in warnings
    )
    author, now = history.author(), clock.now()
    batch.insert(
        AcknowledgedWarning,
        (f"{bills.name}_id", "code", "place", "message", "at", "staff_id", "application"),
        [(*row, now, author.staff_id, author.application) for row in dict.fromkeys(rows) if row not in known],
    )
