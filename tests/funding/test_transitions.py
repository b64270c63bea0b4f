"""The table of a bill's life (apps/funding/transitions.py), and its page in the documentation."""

from pathlib import Path

import pytest

from apps.funding.choices import ClaimStatus, InvoiceStatus
from apps.funding.models import Claim, Invoice, StatusMove
from apps.funding.transitions import TABLE, Target, Verb, verbs_of

PAGE = Path(__file__).parents[2] / "docs" / "life_of_a_claim.md"


def test_claims_and_invoices_share_the_words_of_their_statuses():
    assert set(ClaimStatus.values) < set(InvoiceStatus.values)


def test_a_claim_never_comes_to_a_status_that_only_invoices_have():
    for row in TABLE:
        if Claim in row.models and isinstance(row.target, InvoiceStatus):
            assert row.target in ClaimStatus.values, row.verb


def test_every_status_can_be_reached_and_left_or_ends_the_life():
    reached = {row.target for row in TABLE} | {InvoiceStatus.AWAITING_STAFF_APPROVAL}
    left = set().union(*(row.sources for row in TABLE))
    assert reached >= set(InvoiceStatus)
    assert set(InvoiceStatus) - left == {InvoiceStatus.AGENCY_FULLY_PAID, InvoiceStatus.PAID}


@pytest.mark.parametrize("model", [Claim, Invoice])
def test_a_verb_leads_one_way_from_a_status(model):
    ways = [(row.verb, status) for row in TABLE if model in row.models for status in row.sources]
    assert len(ways) == len(set(ways))


def test_rows_of_one_verb_ask_and_do_the_same():
    """So that whether a reason is needed is known before the bills are looked at."""
    for verb in Verb:
        rows = [row for row in TABLE if row.verb is verb]
        same = {(row.needs_reason, row.single, row.guards, row.pays, row.resubmits) for row in rows}
        assert len(same) == 1, verb


def test_what_only_invoices_go_through_is_no_verb_of_claims():
    assert set(verbs_of(Invoice)) - set(verbs_of(Claim)) == {
        Verb.SEND,
        Verb.CLIENT_REJECTS,
        Verb.PLAN_MANAGER_REJECTS,
        Verb.REOPEN,
    }
    assert set(verbs_of(Claim)) < set(verbs_of(Invoice)) == set(Verb)


def test_verbs_fit_where_moves_are_kept():
    assert max(map(len, Verb)) <= StatusMove._meta.get_field("verb").max_length


def test_the_page_and_the_table_agree():
    assert table_in_words() in PAGE.read_text(), f"{PAGE} should hold:\n\n{table_in_words()}"


def table_in_words():
    """The table as the page shows it."""
    rows = ["| From | Verb | In commands | To | Only |", "|---|---|---|---|---|"]
    for row in TABLE:
        target = f"{row.target.value}" if isinstance(row.target, Target) else f"`{row.target}`"
        if row.resubmits:
            target = "the same, and a new one"
        statuses = ", ".join(f"`{status}`" for status in InvoiceStatus if status in row.sources)
        rows.append(f"| {statuses} | {row.label} | `{row.verb}` | {target} | {'; '.join(conditions(row))} |")
    return "\n".join(rows) + "\n"


def conditions(row):
    if Claim not in row.models:
        yield "invoices"
    if row.needs_reason:
        yield "with a reason"
    if row.single:
        yield "one at a time"
    if row.pays:
        yield f"pays {row.pays.value}"
    if row.verb is Verb.RESTORE:
        yield "archived ones"
    yield from (guard.__doc__ for guard in row.guards)
