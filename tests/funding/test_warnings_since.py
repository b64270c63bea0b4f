"""Whoever approves a claim is told what changed since it was entered, as if it were entered now."""

import datetime as dt
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.engagements.models import ClientEngagement, ServiceBooking
from apps.funding.models import AcknowledgedWarning, Claim, ClaimWindow, Price, Product
from apps.funding.services.transitions import apply_transition
from apps.funding.services.update import find_warnings_since
from apps.funding.validation.transitions import TransitionName
from apps.people.models import Client
from tests.engagements.builders import a_booking, a_plan
from tests.funding.admin_forms import CLAIMS, confirm_list_action, reloaded, run_list_action
from tests.funding.bodies import (
    a_claim_body,
    a_full_provider_invoice,
    a_line_body,
    a_priced_entry,
    submitted,
)
from tests.funding.test_transition_commands import ran
from tests.people.records import a_client, a_contact

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("ada"),
    pytest.mark.both_engines("warnings are found by statements of their own"),
]
ABN = "51824753556"
LATER = dt.date(2025, 7, 1)


@pytest.fixture(autouse=True)
def in_july(at):
    at("2025-07-20 10:00")


def a_covered_participant():
    contact = a_contact(scheme_number="430000001", state="NSW", country="Australia")
    plan = a_plan(
        participant=contact, plan_start_date=dt.date(2025, 1, 1), plan_end_date=dt.date(2025, 12, 31)
    )
    a_booking(plan, category=9, budget=Decimal("5000.00"))
    return contact


def entered(contact=None, provider=None, **members):
    """A claim that was entered without a warning."""
    invoice = a_full_provider_invoice(
        contact=contact or a_covered_participant(), provider=provider or a_client(business_number=ABN)
    )
    (key,) = submitted("claim", a_claim_body(invoice, **members))
    assert not AcknowledgedWarning.objects.filter(claim=key).exists()
    return Claim.objects.get(pk=key)


CHANGES = {
    "PriceOverCap": lambda claim: Price.objects.update(amount="65.00"),
    "ItemNotCurrent": lambda claim: Product.objects.update(archive_date=clock.now()),
    "OutsidePlan": lambda claim: ClientEngagement.objects.update(no_active_plan_from_date=LATER),
    "NoEngagement": lambda claim: ClientEngagement.objects.update(archive_date=clock.now()),
    "NoBooking": lambda claim: ServiceBooking.objects.update(category=None, support_item="15_056_0128_1_3"),
    "WrongManagement": lambda claim: ServiceBooking.objects.update(management_type="Agency"),
    "OverBudget": lambda claim: ServiceBooking.objects.update(budget="100.00"),
    "AbnMissing": lambda claim: Client.objects.update(business_number=None),
    "TooOld": lambda claim: ClaimWindow.objects.update(number=1, unit="Days"),
}


def notes_of(client, claim):
    address = f"{CLAIMS}?status=AwaitingStaffApproval"
    review = run_list_action(client, address, "approve", [claim], follow=True).context["review"]
    return [note for row in review.warned for note in row.notes]


@pytest.mark.parametrize("code", CHANGES)
def test_what_changed_is_told_before_one_or_many_are_approved(client, code):
    claim = entered()
    assert find_warnings_since(Claim, [claim.pk]) == {}
    assert notes_of(client, claim) == []
    CHANGES[code](claim)
    (warning,) = find_warnings_since(Claim, [claim.pk])[claim.pk]
    assert warning.code == code
    (note,) = notes_of(client, claim)
    assert note.endswith(f", since it was entered: {warning.message}")
    question = client.post(f"{CLAIMS}{claim.pk}/do/approve/")
    assert question.status_code == 200
    assert "1 warning since it was entered" in question.content.decode()
    assert reloaded(claim).funding_status == "AwaitingStaffApproval"
    client.post(f"{CLAIMS}{claim.pk}/do/approve/", {**dict(question.context["hidden"]), "_do": "1"})
    assert reloaded(claim).funding_status == "Approved"
    assert claim.moves.get().warnings == [
        {"code": code, "place": warning.place, "message": warning.message, "is_new": True}
    ]


def test_a_question_that_is_out_of_date_is_asked_anew(client):
    """What has come since the page was made was shown to nobody."""
    claim = entered()
    CHANGES["PriceOverCap"](claim)
    address = f"{CLAIMS}{claim.pk}/do/approve/"
    question = client.post(address)
    CHANGES["AbnMissing"](claim)
    for sent in ({}, {"shown": "nonsense"}, dict(question.context["hidden"])):
        again = client.post(address, {**sent, "_do": "1"})
        assert "2 warnings since it was entered" in again.content.decode()
        assert reloaded(claim).funding_status == "AwaitingStaffApproval"
    client.post(address, {**dict(again.context["hidden"]), "_do": "1"})
    assert {each["code"] for each in claim.moves.get().warnings} == {"AbnMissing", "PriceOverCap"}


@pytest.mark.parametrize("code", CHANGES)
def test_the_command_leaves_out_what_changed_since_it_was_entered(code):
    claim = entered()
    CHANGES[code](claim)
    (warning,) = find_warnings_since(Claim, [claim.pk])[claim.pk]
    exit_status, said = ran("move_claims", "approve", str(claim))
    assert (exit_status, reloaded(claim).funding_status) == (1, "AwaitingStaffApproval")
    assert said[1].endswith(f", since it was entered: {warning.message}")
    assert ran("move_claims", "approve", str(claim), "--with-warnings")[0] == 0
    assert reloaded(claim).funding_status == "Approved"


def test_a_claim_of_which_nothing_changed_is_approved_with_one_press(client):
    claim = entered()
    client.post(f"{CLAIMS}{claim.pk}/do/approve/")
    assert (reloaded(claim).funding_status, claim.moves.get().warnings) == ("Approved", [])


def test_those_of_which_something_changed_are_left_out_of_many_unless_ticked(client):
    claims = [entered(), entered()]
    ClientEngagement.objects.filter(participant=claims[0].contact).update(archive_date=clock.now())
    address = f"{CLAIMS}?status=AwaitingStaffApproval"
    confirm_list_action(client, address, "approve", claims)
    assert [reloaded(claim).funding_status for claim in claims] == ["AwaitingStaffApproval", "Approved"]
    confirm_list_action(client, address, "approve", claims[:1], ticked=claims[:1])
    assert reloaded(claims[0]).funding_status == "Approved"


def test_what_somebody_acknowledged_is_not_new(client):
    claim = entered()
    CHANGES["PriceOverCap"](claim)
    (warning,) = find_warnings_since(Claim, [claim.pk])[claim.pk]
    AcknowledgedWarning.objects.create(
        claim=claim, code=warning.code, place=warning.place, message=warning.message, at=clock.now()
    )
    assert find_warnings_since(Claim, [claim.pk]) == {}


def test_a_warning_that_counts_the_days_is_the_same_on_the_next_day(at):
    """“404 days ago” is 405 tomorrow, and “after today” names another day; another end is news."""
    plan = a_plan(
        participant=a_contact(scheme_number="430000001", state="NSW", country="Australia"),
        plan_start_date=dt.date(2025, 1, 1),
        plan_end_date=dt.date(2026, 12, 31),
    )
    booking = a_booking(plan, category=9, budget=Decimal("5000.00"), booking_end_date=dt.date(2025, 4, 1))
    invoice = a_full_provider_invoice(contact=plan.participant, provider=a_client(business_number=ABN))
    future = a_line_body(a_priced_entry(), FromDate="2025-12-01", ToDate="2025-12-01")
    (key,) = submitted("claim", a_claim_body(invoice, LineItems=[a_line_body(), future]))
    codes = AcknowledgedWarning.objects.filter(claim=key).values_list("code", flat=True)
    assert {"AfterBooking", "FutureService"} <= set(codes)
    at("2025-07-23 10:00")
    assert find_warnings_since(Claim, [key]) == {}
    booking.booking_end_date = dt.date(2025, 4, 2)
    booking.save()
    assert "AfterBooking" in {each.code for each in find_warnings_since(Claim, [key])[key]}


def test_a_claim_that_a_rule_would_refuse_by_now_is_judged_all_the_same(client):
    """Its staff member has left: that stops no approval."""
    claim = entered()
    claim.staff.disable_login_date = clock.now()
    claim.staff.save()
    assert find_warnings_since(Claim, [claim.pk]) == {}


def test_the_look_changes_nothing_and_takes_as_many_statements_for_many():
    entry, provider = a_priced_entry(), a_client(business_number=ABN)

    def statements(count):
        keys = [entered(provider=provider, entry=entry).pk for _ in range(count)]
        before = Claim.objects.values_list("modify_date", "total").order_by("pk")
        found = list(before)
        with CaptureQueriesContext(connection) as queries:
            find_warnings_since(Claim, keys)
        assert list(before.all()) == found
        return len(queries)

    assert statements(2) == statements(12)


def test_other_transitions_show_no_more_than_before(client):
    claim = entered()
    apply_transition(Claim, [claim.pk], TransitionName.APPROVE)
    CHANGES["PriceOverCap"](claim)
    address = f"{CLAIMS}?status=Approved"
    review = run_list_action(client, address, "claim", [claim], follow=True).context["review"]
    assert review.warned == []
