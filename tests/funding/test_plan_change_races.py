"""Who replaces a plan while others enter, change and move its claims: nothing is lost or counts twice."""

import threading
import time
from decimal import Decimal

import pytest
from django.db import connection, transaction

from apps.engagements.models import ClientEngagement, ServiceBooking
from apps.engagements.plan_copies import PlanTerms
from apps.funding.drafts import ClaimDraft, LineDraft
from apps.funding.models import Claim, ClaimLine
from apps.funding.services import plan_changes
from apps.funding.services.effects import recount_budgets
from apps.funding.services.invariants import find_money_faults
from apps.funding.services.plan_changes import change_plan, move_lines
from apps.funding.services.transitions import apply_transition
from apps.funding.services.update import update_claims
from tests.engagements.builders import a_booking, a_plan, day
from tests.funding.bodies import (
    a_claim_body,
    a_full_provider_invoice,
    a_funder,
    a_line_body,
    a_priced_entry,
    submitted,
)
from tests.funding.builders import a_claim
from tests.races import ROUNDS, call_at_once

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]

FIRST = day("2027-02-14")
TERMS = PlanTerms(FIRST, day("2028-02-13"), Decimal("900.00"))
LATER = {"StartDate": "2027-03-01", "EndDate": "2027-03-01"}


@pytest.fixture
def plan():
    return a_booking(a_plan(), category=9, budget=Decimal("5000.00")).engagement


@pytest.fixture
def entry():
    return a_priced_entry()


def lingering(call):
    """A call whose transaction stays open for a while after it, so that the other one comes in between."""
    with transaction.atomic():
        result = call()
        time.sleep(0.02)
    return result


def wait_until_another_waits():
    """Return once another connection to this database waits for a lock, after 20 seconds at most."""
    waiting = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with connection.cursor() as cursor:
        for _ in range(1_000):
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                return
            time.sleep(0.02)
    raise AssertionError("nobody waits")


def a_later_claim(plan, entry, **columns):
    line = {"booking": plan.bookings.get(), "entry": entry, "quantity": "1", "first_day": day("2027-03-01")}
    return a_claim([line | {"last_day": day("2027-03-01")}], contact=plan.participant, **columns)


def new_body(plan, entry, staff):
    provider_invoice = a_full_provider_invoice(contact=plan.participant)
    return a_claim_body(provider_invoice, staff, LineItems=[a_line_body(entry)], **LATER)


def plans_of_lines():
    """The first days of the plans that lines count on; ``None`` for one without a budget."""
    lines = ClaimLine.objects.order_by("first_day", "guid")
    return list(lines.values_list("booking__engagement__plan_start_date", flat=True))


def is_whole():
    assert recount_budgets() == (0, 0, 0)
    assert list(find_money_faults()) == []
    return True


@pytest.mark.parametrize("number", range(ROUNDS))
def test_of_two_who_replace_a_plan_one_makes_it(plan, entry, number):
    a_later_claim(plan, entry)
    recount_budgets()
    answers = call_at_once(*[lambda: lingering(lambda: change_plan(plan.pk, TERMS))] * 3)
    assert sorted(answer.is_new for answer in answers) == [False, False, True]
    assert len({answer.new for answer in answers}) == 1
    assert ClientEngagement.objects.filter(participant=plan.participant).count() == 2
    assert (ServiceBooking.objects.count(), plans_of_lines()) == (2, [FIRST])
    assert is_whole()


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_claim_that_is_entered_meanwhile_counts_on_the_plan_of_its_day(plan, entry, number):
    staff = a_funder()
    bodies = [new_body(plan, entry, staff) for _ in range(4)]
    a_later_claim(plan, entry)
    recount_budgets()
    change, *_ = call_at_once(
        lambda: change_plan(plan.pk, TERMS), *[lambda body=body: submitted("claim", body) for body in bodies]
    )
    assert change.is_new
    assert is_whole()
    # Whose plans were read in the moment of the commit has no budget yet: the next look moves it.
    move_lines(plan.pk)
    assert plans_of_lines() == [FIRST] * 5
    assert is_whole()


def test_a_claim_that_waits_for_the_old_plan_is_moved_once_it_is_stored(plan, entry, monkeypatch):
    body, is_placed = new_body(plan, entry, a_funder()), threading.Event()
    place = plan_changes.LockedPlans.place_lines

    def linger(records, change):
        place(records, change)
        if not is_placed.is_set():
            is_placed.set()
            wait_until_another_waits()

    monkeypatch.setattr(plan_changes.LockedPlans, "place_lines", linger)

    def enter():
        is_placed.wait(60)
        return submitted("claim", body)

    change, _ = call_at_once(lambda: change_plan(plan.pk, TERMS), enter)
    assert [line.before for line in change.moved] == [""]
    assert plans_of_lines() == [FIRST]
    assert is_whole()


@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize(
    ("status", "name", "options"),
    [
        ("AwaitingStaffApproval", "approve", {}),
        ("AwaitingStaffApproval", "archive", {}),
        ("Approved", "claim", {}),
        ("AgencyClaimed", "pay", {}),
        ("AgencyClaimed", "refuse", {"reason": "C04"}),
        ("PaymentProviderRejected", "resubmit", {}),
        ("PaymentProviderRejected", "resubmit-gap", {}),
    ],
)
def test_claims_that_move_on_meanwhile_count_once(plan, entry, number, status, name, options):
    claims = [a_later_claim(plan, entry, funding_status=status) for _ in range(5)]
    recount_budgets()
    keys = [claim.pk for claim in claims]
    moved, change = call_at_once(
        lambda: lingering(lambda: apply_transition(Claim, reversed(keys), name, **options)),
        lambda: lingering(lambda: change_plan(plan.pk, TERMS)),
    )
    assert (len(moved.done), change.is_new) == (5, True)
    assert is_whole()
    counted = plans_of_lines()
    if name.startswith("resubmit") or name in ("approve", "archive"):
        assert set(counted) == {FIRST}
    else:  # whichever was first: all of them together
        assert len(set(counted)) == 1


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_claim_whose_days_change_meanwhile_is_on_the_plan_of_its_day(plan, entry, number):
    staff = a_funder()
    keys = submitted("claim", new_body(plan, entry, staff) | {"StartDate": "2026-08-01"})
    keys += submitted("claim", new_body(plan, entry, staff))
    lines = dict(ClaimLine.objects.values_list("claim", "pk"))
    days = [day("2027-04-01"), day("2026-09-01")]

    def drafts():
        found = []
        for key, new in zip(keys, days, strict=True):
            members = {"from_date": new, "to_date": new}
            line = LineDraft(members, members, key=lines[key])
            values = {"line_items": [line], "start_date": day("2026-08-01"), "end_date": day("2027-04-01")}
            found.append(ClaimDraft(values, values, key=key))
        return found

    call_at_once(lambda: update_claims(drafts(), ignore_warnings=True), lambda: change_plan(plan.pk, TERMS))
    move_lines(plan.pk)
    assert plans_of_lines() == [plan.plan_start_date, FIRST]
    assert is_whole()
