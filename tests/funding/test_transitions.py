"""The tables of statuses and transitions, and their page in the documentation."""

from dataclasses import fields
from pathlib import Path

import pytest

from apps.funding import statuses
from apps.funding.choices import BillPermission
from apps.funding.models import Claim, Invoice, StatusMove
from apps.funding.statuses import STATUSES, ClaimStatus, InvoiceStatus
from apps.funding.validation.transitions import (
    TRANSITIONS,
    RelativeStatus,
    Transition,
    TransitionName,
    transitions_of,
)

PAGE = Path(__file__).parents[2] / "docs" / "life_of_a_claim.md"


def test_claims_and_invoices_share_the_words_of_their_statuses():
    assert set(ClaimStatus.values) < set(InvoiceStatus.values)


def test_a_claim_never_comes_to_a_status_that_only_invoices_have():
    for row in TRANSITIONS:
        if not row.invoices_only and isinstance(row.target, InvoiceStatus):
            assert row.target in ClaimStatus.values, row.name


def test_every_status_can_be_reached_and_left_or_ends_the_life():
    reached = {row.target for row in TRANSITIONS} | {InvoiceStatus.AWAITING_STAFF_APPROVAL}
    left = set().union(*(row.sources for row in TRANSITIONS))
    missing = set(InvoiceStatus) - reached
    assert not missing, f"no transition leads to {', '.join(missing)}"
    assert set(InvoiceStatus) - left == {InvoiceStatus.PAID}


def test_every_permission_about_bills_is_asked_by_a_transition():
    assert {row.permission for row in TRANSITIONS} - {None} == set(BillPermission)


@pytest.mark.parametrize(
    ("source", "target", "changes"),
    [
        (InvoiceStatus.AWAITING_STAFF_APPROVAL, InvoiceStatus.REJECTED, True),
        (InvoiceStatus.REJECTED, InvoiceStatus.AWAITING_STAFF_APPROVAL, True),
        (InvoiceStatus.REJECTED, InvoiceStatus.CANCELLED, False),
        (InvoiceStatus.APPROVED, InvoiceStatus.AGENCY_CLAIMED, False),
    ],
)
def test_a_provider_invoice_loses_a_claim_that_ends_and_has_one_that_comes_back(source, target, changes):
    row = Transition(TransitionName.REOPEN, "Reopen", frozenset({source.value}), target)
    assert row.changes_provider_invoice is changes


@pytest.mark.parametrize("model", [Claim, Invoice])
def test_a_verb_leads_one_way_from_a_status(model):
    ways = [(row.name, status) for row in transitions_of(model) for status in row.sources]
    assert len(ways) == len(set(ways))


def test_rows_of_one_verb_ask_and_do_the_same():
    """So that whether a reason is needed is known before the bills are looked at."""
    own = {"label", "sources", "target", "invoices_only", "sets", "guards"}
    shared = [each.name for each in fields(Transition) if each.name not in own]
    for name in TransitionName:
        rows = [row for row in TRANSITIONS if row.name is name]
        assert len({tuple(getattr(row, each) for each in shared) for row in rows}) == 1, name


def test_what_only_invoices_go_through_is_no_transition_of_claims():
    of_claims, of_invoices = ({row.name for row in transitions_of(model)} for model in (Claim, Invoice))
    assert of_invoices - of_claims == {
        TransitionName.SEND,
        TransitionName.CLIENT_REJECTS,
        TransitionName.PLAN_MANAGER_REJECTS,
        TransitionName.REOPEN,
    }
    assert of_claims < of_invoices == set(TransitionName)


def test_a_status_without_a_meaning_is_refused_at_the_start(monkeypatch):
    assert statuses.check_statuses() == []
    known = {name: row for name, row in STATUSES.items() if name != "OnHold"}
    monkeypatch.setattr(statuses, "STATUSES", known)
    assert [error.id for error in statuses.check_statuses()] == ["funding.E001"]


def test_a_status_with_another_number_on_claims_is_named(monkeypatch):
    monkeypatch.setattr(ClaimStatus.REJECTED, "number", 99)
    (error,) = statuses.check_statuses()
    assert error.id == "funding.E002"
    assert "REJECTED" in error.msg


def test_the_names_of_transitions_fit_their_column():
    assert max(map(len, TransitionName)) <= StatusMove._meta.get_field("verb").max_length


@pytest.mark.parametrize("table", ["statuses", "transitions"])
def test_the_page_has_the_tables(table):
    rows = status_rows() if table == "statuses" else transition_rows()
    assert rows in PAGE.read_text(), f"{PAGE} should have:\n\n{rows}"


def status_rows():
    """The table of statuses as the page shows it."""
    rows = []
    for row in STATUSES.values():
        flags = (row.counts_as_duplicate, row.ends_recurrence, row.is_finished)
        columns = [f"`{row.value}`", row.label, row.phase.value, row.open_amount.value]
        rows.append(f"| {' | '.join([*columns, *('yes' if flag else 'no' for flag in flags)])} |")
    return "\n".join(rows) + "\n"


def test_entries_of_resubmissions_are_told_from_those_that_moved_money():
    """``MOVED_MONEY`` and ``money_moved`` know them by the beginning of their names."""
    assert {row.name for row in TRANSITIONS if row.resubmits} == {
        name for name in TransitionName if name.startswith("resubmit")
    }


def transition_rows():
    """The table of transitions as the page shows it."""
    rows = ["| From | Transition | In commands | To | Permission | Only |", "|---|---|---|---|---|---|"]
    for row in TRANSITIONS:
        target = f"{row.target.value}" if isinstance(row.target, RelativeStatus) else f"`{row.target}`"
        if row.resubmits:
            target = "the same, and a new one"
        if row.target_when_unpaid:
            target += f"; when nothing is left, `{row.target_when_unpaid}`"
        sources = ", ".join(f"`{status}`" for status in InvoiceStatus if status in row.sources)
        permission = row.permission.name.lower() if row.permission else ""
        columns = (sources, row.label, f"`{row.name}`", target, permission, "; ".join(conditions(row)))
        rows.append(f"| {' | '.join(columns)} |")
    return "\n".join(rows) + "\n"


def conditions(row):
    if row.invoices_only:
        yield "invoices"
    if row.needs_reason:
        yield "with a reason"
    if row.single:
        yield "one at a time"
    if row.by_service:
        yield "with the other bills of its claim file"
    if row.pays:
        yield f"pays {row.pays.value}"
    if row.takes_back:
        yield f"takes back {row.takes_back.value}"
    if row.name is TransitionName.RESTORE:
        yield "archived ones"
    yield from (guard.__doc__ for guard in row.guards)
