"""Warnings through the interface, and what the plan's page shows of what was posted in spite of them."""

import html
import re
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base.drafts import WarningsPresent
from apps.core.saving import try_out
from apps.funding.models import AcknowledgedWarning, Claim, ClaimLine, Invoice
from apps.funding.services.create import create_claims
from apps.funding.services.effects import lines_on_budget, recount_budgets
from apps.funding.services.transitions import apply_transition
from apps.funding.services.update import update_claims
from tests.api.caller import Caller, an_application
from tests.engagements.builders import a_booking, a_category_budget, a_pace_plan
from tests.funding.bodies import a_funder
from tests.funding.warned import Scene
from tests.people.records import a_contact

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("on_a_thursday"),
    pytest.mark.both_engines("sums of the database warn"),
]


@pytest.fixture
def scene():
    return Scene(budget="400.00")


@pytest.fixture
def staff():
    return a_funder()


@pytest.fixture
def api():
    return Caller(an_application())


def a_line_body(scene, on="2026-08-12", **members):
    return {
        "FromDate": on,
        "Quantity": 2,
        "PriceBook": {"PriceBookGuid": str(scene.entry.price_book_id)},
        "Product": {"ProductGuid": str(scene.product.pk)},
        **members,
    }


def a_claim_body(scene, staff, *lines, provider_invoice=None, **members):
    """Of these lines, or of a plain one, and of their days."""
    days = [line["FromDate"] for line in lines] or ["2026-08-12"]
    return {
        "StartDate": min(days),
        "EndDate": max(days),
        "StaffGuid": str(staff.pk),
        "ProviderInvoiceGuid": str((provider_invoice or scene.provider_invoice()).pk),
        "LineItems": list(lines) or [a_line_body(scene)],
        **members,
    }


def details(answer):
    told = answer.json()["error"]
    assert (answer.status_code, told["code"]) == (400, "WarningsPresent")
    assert {each["severity"] for each in told["details"]} == {"warning"}
    return [(each["code"], each["target"]) for each in told["details"]]


def amounts(scene):
    """What the plan's booking says: (claimed, paid, waiting, left)."""
    booking = scene.booking
    booking.refresh_from_db()
    return booking.claimed, booking.paid, booking.waiting, booking.remaining


def cents(*texts):
    return tuple(map(Decimal, texts))


def plan_page(client, plan):
    page = client.get(f"/admin/engagements/clientengagement/{plan.pk}/plan/")
    assert page.status_code == 200
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page.content.decode())))


def test_warnings_are_spelled_in_wire_names_and_nothing_is_stored(api, scene, staff):
    lines = [a_line_body(scene, Price=71), a_line_body(scene, "2026-06-30"), a_line_body(scene, "2026-08-11")]
    provider_invoice = scene.provider_invoice(invoice_total=Decimal("70.00"))
    body = a_claim_body(
        scene,
        staff,
        *(*lines, lines[2]),
        provider_invoice=provider_invoice,
        ProviderInvoiceReference="Another",
    )
    assert sorted(details(api.post("claim", {"value": [body]}))) == [
        ("DuplicateLine", "value[0]/LineItems[3]"),
        ("GivenDiffers", "value[0]/ProviderInvoiceReference"),
        ("OutsidePlan", "value[0]/LineItems[1]/FromDate"),
        ("OverBudget", "value[0]/LineItems[3]/Quantity"),
        ("PriceOverCap", "value[0]/LineItems[0]/Price"),
        ("TotalDiffers", "value[0]/LineItems"),
    ]
    assert not Claim.objects.exists()
    assert amounts(scene) == cents("0.00", "0.00", "0.00", "400.00")


def test_the_acknowledged_warning_is_the_one_that_was_shown(api, scene, staff):
    body = a_claim_body(scene, staff, a_line_body(scene, Price=71))
    shown = api.post("claim", {"value": [body]}).json()["error"]["details"]
    assert api.post("claim", {"value": [body]}, "ignoreWarnings=true").status_code == 201
    (kept,) = AcknowledgedWarning.objects.all()
    assert [kept.code, kept.message] == [shown[0]["code"], shown[0]["message"]]
    assert kept.claim == Claim.objects.get()
    assert kept.application is not None


def test_a_claim_in_another_request_is_warned_of_what_the_first_left(api, client, scene, staff):
    assert api.post("claim", {"value": [a_claim_body(scene, staff)]}).status_code == 201
    assert amounts(scene) == cents("0.00", "0.00", "140.00", "260.00")
    more = a_claim_body(scene, staff, a_line_body(scene, "2026-08-11", Quantity=4))
    answer = api.post("claim", {"value": [more]})
    assert details(answer) == [("OverBudget", "value[0]/LineItems[0]/Quantity")]
    message = answer.json()["error"]["details"][0]["message"]
    assert message.startswith("The line's total of 280.00 is 20.00 more than the 260.00 left of")
    assert api.post("claim", {"value": [more]}, "ignoreWarnings=true").status_code == 201
    client.force_login(staff)
    assert "Claimed 0.00 Paid 0.00 Waiting 420.00 Left -20.00" in plan_page(client, scene.plan)


def test_the_plan_s_page_follows_a_claim_through_its_life(api, client, scene, staff):
    assert api.post("claim", {"value": [a_claim_body(scene, staff)]}).status_code == 201
    claim = Claim.objects.get()
    client.force_login(staff)
    assert "Claimed 0.00 Paid 0.00 Waiting 140.00 Left 260.00" in plan_page(client, scene.plan)
    told = {
        "approve": "Claimed 0.00 Paid 0.00 Waiting 140.00 Left 260.00",
        "claim": "Claimed 140.00 Paid 0.00 Waiting 0.00 Left 260.00",
        "pay": "Claimed 140.00 Paid 140.00 Waiting 0.00 Left 260.00",
    }
    for verb, shown in told.items():
        moved = apply_transition(Claim, [claim.pk], verb)
        assert (moved.done, moved.refused) == ([claim.pk], [])
        assert shown in plan_page(client, scene.plan)


def test_an_archived_claim_gives_back_what_it_drew(api, client, scene, staff):
    assert api.post("claim", {"value": [a_claim_body(scene, staff)]}).status_code == 201
    assert apply_transition(Claim, [Claim.objects.get().pk], "archive").refused == []
    client.force_login(staff)
    assert "Waiting 0.00 Left 400.00" in plan_page(client, scene.plan)
    assert api.post("claim", {"value": [a_claim_body(scene, staff)]}).status_code == 201


def test_a_pace_plan_s_budget_counts_the_claim(api, client, scene, staff):
    participant = a_contact(state="NSW")
    plan = a_pace_plan(participant=participant)
    budget = a_category_budget(plan, category=16, budget=Decimal("150.00"))
    body = a_claim_body(scene, staff, provider_invoice=scene.provider_invoice(contact=participant))
    assert api.post("claim", {"value": [body]}).status_code == 201
    budget.refresh_from_db()
    assert budget.waiting == Decimal("140.00")
    client.force_login(staff)
    assert "Waiting 140.00 Left 10.00" in plan_page(client, plan)


def test_an_invoice_counts_on_its_budget_and_has_warnings_too(api, scene, staff):
    body = {
        "InvoiceClaimType": "InvoiceToAgency",
        "StartDate": "2026-08-12",
        "EndDate": "2026-08-12",
        "IsRecurring": False,
        "ContactGuid": str(scene.participant.pk),
        "StaffGuid": str(staff.pk),
        "LineItems": [a_line_body(scene, Quantity=5)],
    }
    assert api.post("invoice", {"value": [body]}).status_code == 201
    assert amounts(scene) == cents("0.00", "0.00", "350.00", "50.00")
    assert sorted(details(api.post("invoice", {"value": [body]}))) == [
        ("DuplicateLine", "value[0]/LineItems[0]"),
        ("OverBudget", "value[0]/LineItems[0]/Quantity"),
    ]
    assert Invoice.objects.count() == 1


def test_the_warning_is_at_the_record_that_overdraws_the_budget(api, scene, staff):
    bodies = [a_claim_body(scene, staff, a_line_body(scene, f"2026-08-{on}")) for on in (10, 11, 12)]
    assert details(api.post("claim", {"value": bodies})) == [("OverBudget", "value[2]/LineItems[0]/Quantity")]


def test_an_update_is_validated_as_if_the_claim_counted_nothing_yet(scene, staff):
    scene.booking.budget = Decimal("140.00")
    scene.booking.save()
    draft = scene.claim(staff=staff)
    (key,) = create_claims([draft])
    line = ClaimLine.objects.get()
    same = scene.claim(scene.line(key=line.pk), key=key, provider_invoice=draft.provider_invoice)
    assert try_out(update_claims, [same]) == []
    more = scene.claim(
        scene.line(quantity="3", key=line.pk), key=key, provider_invoice=draft.provider_invoice
    )
    with pytest.raises(WarningsPresent, match=r"70\.00 more than the 140\.00 left"):
        update_claims([more])
    assert amounts(scene) == cents("0.00", "0.00", "140.00", "0.00")


def test_a_booking_lists_the_lines_that_count_on_it(scene, staff):
    special = a_booking(
        scene.plan, category=1, support_item="01_011_0107_1_1", booking_start_date=scene.plan.plan_start_date
    )
    draft = scene.claim(staff=staff)
    create_claims([draft], ignore_warnings=True)
    claims, invoices = lines_on_budget(special).values()
    assert [line.claim.claim_number for line in claims] == [Claim.objects.get().claim_number]
    assert not invoices
    assert not lines_on_budget(scene.booking)["claims"]


def test_the_statements_of_a_post_do_not_grow_with_its_claims(api, scene, staff):
    counts = []
    # The first fills what is kept between requests; up to ten records go as plain INSERTs, with others.
    for first, last in ((1, 2), (2, 13), (13, 31)):
        lines = [[a_line_body(scene, f"2026-07-{on:02}", Quantity="0.1")] for on in range(first, last)]
        bodies = [a_claim_body(scene, staff, *line) for line in lines]
        with CaptureQueriesContext(connection) as statements:
            assert api.post("claim", {"value": bodies}).status_code == 201
        counts.append(len(statements))
    assert counts[1] == counts[2]


def test_bills_on_a_booking_may_come_to_more_than_one_bill_can(api, client, scene, staff):
    """Fails where a booking holds no more digits than a bill: on SQLite nobody can read it afterwards."""
    most = a_line_body(scene, Quantity=9999999999, Price=70)
    for _ in range(2):
        body = a_claim_body(scene, staff, most)
        assert api.post("claim", {"value": [body]}, "ignoreWarnings=true").status_code == 201
    (warned,) = details(api.post("claim", {"value": [a_claim_body(scene, staff)]}))
    assert warned == ("OverBudget", "value[0]/LineItems[0]/Quantity")
    assert amounts(scene)[2:] == cents("1399999999860.00", "-1399999999460.00")
    claims = list(Claim.objects.values_list("pk", flat=True))
    assert len(apply_transition(Claim, claims, "approve", a_funder()).done) == 2
    assert len(apply_transition(Claim, claims, "claim", staff).done) == 2
    assert amounts(scene)[0] == Decimal("1399999999860.00")
    assert recount_budgets() == (0, 0, 0)
    client.force_login(staff)
    assert "1,399,999,999,860.00" in plan_page(client, scene.plan)
