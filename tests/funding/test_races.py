"""Callers who claim at the same moment, on connections of their own.

Each was seen to fail with what holds it taken out; the test says what that is.
"""

import threading
from collections import Counter
from decimal import Decimal

import pytest
from django.db import connection, transaction

from apps.base.drafts import Draft
from apps.engagements.drafts import PeriodDraft, PeriodsDraft
from apps.engagements.models import ServiceBooking
from apps.engagements.services import save_periods
from apps.funding.models import (
    AcknowledgedWarning,
    Claim,
    ClaimLine,
    Invoice,
    NumberSequence,
    ProviderInvoice,
)
from apps.funding.services.context import load_records
from apps.funding.services.effects import recount_budgets
from apps.funding.validation.bills import CLAIMS
from tests.api.caller import Caller, an_application
from tests.engagements.builders import (
    a_booking,
    a_category_budget,
    a_pace_plan,
    a_plan,
    day,
    with_periods,
)
from tests.funding.bodies import (
    a_claim_body,
    a_full_provider_invoice,
    a_funder,
    a_line_body,
    a_priced_entry,
    an_invoice_body,
)
from tests.funding.builders import a_claim, a_price
from tests.funding.warned import a_guide_item
from tests.people.builders import a_client, a_contact
from tests.races import ROUNDS, call_at_once, call_during, wait_until_somebody_waits

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]

IGNORED = {"ignoreWarnings": "true"}


@pytest.fixture
def tried_once(monkeypatch):
    """Nobody tries again who was in another's way: the order of locks alone keeps them apart."""
    monkeypatch.setattr("apps.base.retries.ATTEMPTS", 1)


@pytest.fixture
def posted_at_once(transactional_db):
    """``posted_at_once(path, bodies)``: the answers to bodies sent at the same moment, each by its caller."""
    authorization = an_application()
    return lambda path, bodies: at_once(authorization, path, bodies)


def at_once(authorization, path, bodies):
    calls = [lambda body=body: Caller(authorization).post(path, {"value": body}, IGNORED) for body in bodies]
    return call_at_once(*calls)


def statuses(answers):
    return Counter(answer.status_code for answer in answers)


def test_one_of_twenty_claims_on_a_single_use_provider_invoice_wins_and_the_others_know_why(posted_at_once):
    """Fails without the lock of records.locked_provider_invoices and the constraint that stands behind it.

    Either of them alone lets one claim through; those who lost judge again and see the claim that stands.
    """
    staff, entry = a_funder(), a_priced_entry()
    for _ in range(ROUNDS):
        provider_invoice = a_full_provider_invoice()
        body = a_claim_body(provider_invoice, staff, entry)
        answers = posted_at_once("claim", [[body]] * 20)
        assert statuses(answers)[201] == 1
        assert set(statuses(answers)) <= {201, 400, 409}
        for answer in answers:
            if answer.status_code != 201:
                (fault,) = answer.json()["error"]["details"]
                assert (fault["code"], fault["target"]) == ("AlreadyUsed", "value[0]/ProviderInvoiceGuid")
        assert Claim.objects.filter(provider_invoice=provider_invoice).count() == 1
    assert Claim.objects.count() == ClaimLine.objects.count() == ROUNDS


def test_who_waits_for_a_provider_invoice_and_finds_it_taken_has_lost_a_race():
    """Fails where uses are first looked at after the wait: then nobody knows that it was free."""
    authorization = an_application()
    provider_invoice = a_full_provider_invoice()
    free, late = a_claim_body(provider_invoice), {}
    body = {"value": [a_claim_body(), free]}

    def post():
        try:
            late["answer"] = Caller(authorization).post("claim", body, IGNORED)
        finally:
            connection.close()

    waiter = threading.Thread(target=post)
    with transaction.atomic():
        ProviderInvoice.objects.select_for_update().get(pk=provider_invoice.pk)
        waiter.start()
        wait_until_somebody_waits()
        a_claim(provider_invoice=provider_invoice, claim_number="Winner")
    waiter.join(60)
    assert late["answer"].status_code == 409
    (fault,) = late["answer"].json()["error"]["details"]
    assert (fault["code"], fault["target"]) == ("AlreadyUsed", "value[1]/ProviderInvoiceGuid")
    assert "Winner" in fault["message"]
    afterwards = Caller(authorization).post("claim", {"value": [free]}, IGNORED)
    assert afterwards.status_code == 400  # no race any more: everybody can see it
    assert Claim.objects.count() == 1


def test_no_claim_slips_in_while_its_provider_invoice_is_rejected():
    """Fails without ``select_for_update`` in records.locked_provider_invoices."""
    authorization = an_application()
    staff, entry = a_funder(), a_priced_entry()
    reject = {"Action": "Reject", "Reason": "Not ours", "StaffGuid": str(staff.pk)}
    for _ in range(ROUNDS):
        provider_invoice = a_full_provider_invoice(is_reusable=True)
        bodies = {"value": [a_claim_body(provider_invoice, staff, entry) for _ in range(20)]}
        claimed, rejected = call_at_once(
            lambda bodies=bodies: Caller(authorization).post("claim", bodies, IGNORED),
            lambda provider_invoice=provider_invoice: Caller(authorization).post(
                f"providerInvoice/{provider_invoice.pk}/Action", reject
            ),
        )
        assert (claimed.status_code, rejected.status_code) in {(201, 400), (400, 200)}
        status = ProviderInvoice.objects.get(pk=provider_invoice.pk).approval_status
        assert provider_invoice.claims.exists() is (status != "Rejected")


@pytest.mark.parametrize("path", ["claim", "invoice"])
def test_numbers_are_given_once_and_none_is_left_out(posted_at_once, tried_once, path):
    """Fails when create.advance_sequence reads the sequence without locking its row until the commit."""
    staff, entry, contact = a_funder(), a_priced_entry(), a_contact()
    bodies = []
    for _ in range(8):
        if path == "claim":
            bodies.append(
                [a_claim_body(a_full_provider_invoice(contact=contact), staff, entry) for _ in range(5)]
            )
        else:
            bodies.append([an_invoice_body(contact, staff, entry) for _ in range(5)])
    answers = posted_at_once(path, bodies)
    assert statuses(answers) == {201: 8}
    name = f"{path}_number"
    model = Claim if path == "claim" else Invoice
    numbers = sorted(model.objects.values_list(name, flat=True))
    assert numbers == [f"{path[:1].upper()}{'LM' if path == 'claim' else 'NV'}-{n:07}" for n in range(1, 41)]
    assert NumberSequence.objects.get().next_number == 41


def test_one_of_eight_claims_with_the_same_number_gets_it(posted_at_once):
    """Fails without the unique ``claim_number_key``."""
    staff, entry, other = a_funder(), a_priced_entry(), a_full_provider_invoice()
    parties = {"contact": other.contact, "provider": other.provider}
    for number in range(ROUNDS):
        bodies = [
            [a_claim_body(a_full_provider_invoice(**parties), staff, entry, ClaimNumber=f"Same {number}")]
            for _ in range(8)
        ]
        answers = posted_at_once("claim", bodies)
        assert statuses(answers)[201] == 1
        for answer in answers:
            if answer.status_code != 201:
                assert answer.status_code in (400, 409)
                (fault,) = answer.json()["error"]["details"]
                assert (fault["code"], fault["target"]) == ("NotUnique", "value[0]/ClaimNumber")
    assert Claim.objects.count() == ROUNDS


def test_a_number_given_and_the_same_number_assigned_end_well_for_both_or_with_its_place(posted_at_once):
    staff, entry = a_funder(), a_priced_entry()
    for number in range(1, ROUNDS + 1):
        given = f"CLM-{2 * number - 1:07}"
        bodies = [
            [a_claim_body(a_full_provider_invoice(), staff, entry, ClaimNumber=given)],
            [a_claim_body(a_full_provider_invoice(), staff, entry)],
        ]
        answers = posted_at_once("claim", bodies)
        assert set(statuses(answers)) <= {201, 400, 409}
        assert answers[1].status_code == 201
    numbers = list(Claim.objects.values_list("claim_number_key", flat=True))
    assert len(set(numbers)) == len(numbers)


def test_provider_invoices_are_locked_in_the_order_of_their_keys():
    """Fails when records.locked_provider_invoices leaves out its order, or orders otherwise."""
    provider_invoices = sorted(
        (a_full_provider_invoice() for _ in range(12)), key=lambda provider_invoice: provider_invoice.pk
    )
    *before, last = provider_invoices
    drafts = [Draft({"provider_invoice": provider_invoice}) for provider_invoice in (last, *before[::-1])]

    def load():
        try:
            with transaction.atomic():
                load_records(CLAIMS, drafts)
        finally:
            connection.close()

    waiter = threading.Thread(target=load)
    with transaction.atomic():
        ProviderInvoice.objects.select_for_update().get(pk=last.pk)
        waiter.start()
        wait_until_somebody_waits()
        free = ProviderInvoice.objects.select_for_update(skip_locked=True).values_list("pk", flat=True)
        assert list(free) == [last.pk]  # our own; all that come before it are the waiter's
    waiter.join(60)
    assert not waiter.is_alive()


def test_bodies_in_opposite_order_never_end_in_a_deadlock(posted_at_once, tried_once):
    """Nobody tries again, so the locks alone keep them apart, and nobody loses what another claimed."""
    staff, entry = a_funder(), a_priced_entry()
    contacts = [a_contact() for _ in range(5)]
    for contact in contacts:
        plan = a_plan(participant=contact, plan_start_date="2025-07-01", plan_end_date="2026-06-30")
        a_booking(plan, category=9, budget=Decimal("9999999.00"))
    provider = a_client()
    provider_invoices = [
        a_full_provider_invoice(
            is_reusable=True, contact=contacts[n % 5], provider=provider, reference=f"M{n}"
        )
        for n in range(40)
    ]
    bodies = [
        a_claim_body(provider_invoice, staff, LineItems=[a_line_body(entry)] * 2)
        for provider_invoice in provider_invoices
    ]
    orders = [bodies, bodies[::-1], bodies[20:] + bodies[:20], bodies[::-1]]
    for _ in range(ROUNDS):
        assert statuses(posted_at_once("claim", orders)) == {201: 4}
    assert Claim.objects.count() == 40 * 4 * ROUNDS
    waiting = list(ServiceBooking.objects.values_list("waiting", flat=True))
    assert waiting == [Decimal(140 * 2 * 8 * 4 * ROUNDS)] * 5


def test_of_two_claims_for_the_last_dollar_of_a_funding_period_both_are_stored_and_one_is_warned(
    posted_at_once,
):
    """Fails without the lock of coverage.locked_plan_query: neither finds what the other uses."""
    staff, entry = a_funder(), a_guide_item()
    a_price(entry, "70.00")
    days = {"plan_start_date": day("2025-07-01"), "plan_end_date": day("2026-06-30")}
    for _ in range(ROUNDS):
        participant = a_contact()
        component = a_category_budget(a_pace_plan(participant=participant, **days), budget=Decimal(1000))
        with_periods(component, ("2025-07-01", "2026-06-30", "140.00"))
        bodies = [a_claim_body(a_full_provider_invoice(contact=participant), staff, entry) for _ in range(2)]
        answers = posted_at_once("claim", [[body] for body in bodies])
        assert statuses(answers) == {201: 2}
        claims = Claim.objects.filter(contact=participant)
        warned = AcknowledgedWarning.objects.filter(claim__in=claims, code="OverPeriod")
        assert (claims.count(), warned.count()) == (2, 1)
        assert component.periods.get().waiting == Decimal("280.00")
    assert recount_budgets() == (0, 0, 0)


def test_a_claim_that_is_entered_while_its_periods_change_counts_on_the_new_ones():
    """Fails without the lock of engagements.services.save_periods: the claim counts on the former periods."""
    staff, entry, participant = a_funder(), a_guide_item(), a_contact()
    a_price(entry, "70.00")
    days = {"plan_start_date": day("2025-07-01"), "plan_end_date": day("2026-06-30")}
    component = a_category_budget(a_pace_plan(participant=participant, **days), budget=Decimal(1000))
    with_periods(component, ("2025-07-01", "2026-06-30", "1000.00"))
    body = a_claim_body(a_full_provider_invoice(contact=participant), staff, entry)
    caller = Caller(an_application())
    halves = (("2025-07-01", "2025-07-02", "500"), ("2025-07-03", "2026-06-30", "500"))
    periods = [PeriodDraft.of(day(first), day(last), Decimal(amount)) for first, last, amount in halves]
    call_during(
        lambda: save_periods([PeriodsDraft({"periods": periods}, key=component.pk)], ignore_warnings=True),
        lambda: caller.post("claim", {"value": [body]}, IGNORED),
    )
    assert sum(each.waiting for each in component.periods.all()) == Decimal("140.00")
    assert recount_budgets() == (0, 0, 0)
