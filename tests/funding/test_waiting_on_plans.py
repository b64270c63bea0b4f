"""Whoever archives a plan, or takes days from it or from a booking, is told what waits on them."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.engagements.models import ClientEngagement
from apps.funding.models import Claim
from apps.funding.services.plan_survey import find_waiting
from apps.funding.services.transitions import apply_transition
from tests.api.caller import Caller, an_application, ok, refused
from tests.engagements.builders import a_booking, a_pace_plan, a_plan
from tests.funding.bodies import a_claim_body, a_full_provider_invoice, submitted
from tests.people.records import a_client, a_contact, form_data

pytestmark = [pytest.mark.django_db, pytest.mark.both_engines("what waits is found by statements of its own")]
ANY_STATE = {"api_version": "2.1", "If_Match": "*"}
IGNORED = {"ignoreWarnings": "true"}
PLANS = "/admin/engagements/clientengagement/"
FIRST, LAST = dt.date(2025, 7, 7), dt.date(2025, 7, 13)


@pytest.fixture
def api(claim):
    """Its token is made on the day of the claim."""
    return Caller(an_application())


@pytest.fixture
def claim(at):
    """A claim for a week of July, which waits on the booking of a plan of the year 2025."""
    at("2025-07-20 10:00")
    contact = a_contact(scheme_number="430000001", state="NSW", country="Australia")
    year = {"plan_start_date": dt.date(2025, 1, 1), "plan_end_date": dt.date(2025, 12, 31)}
    plan = a_plan(participant=contact, total_budget_amount=Decimal("6000.00"), **year)
    a_booking(plan, category=9, budget=Decimal("5000.00"))
    invoice = a_full_provider_invoice(contact=contact, provider=a_client(business_number="51824753556"))
    (key,) = submitted("claim", a_claim_body(invoice))
    return Claim.objects.get(pk=key)


def booking_of(claim):
    (line,) = claim.line_items.all()
    assert (line.first_day, line.last_day) == (FIRST, LAST)
    return line.booking


def addresses(claim):
    booking = booking_of(claim)
    return f"clientengagement({booking.engagement_id})", f"booking({booking.pk})"


def warnings_of(answer):
    error = refused(answer, 400, "WarningsPresent")
    return [
        (each["code"], each.get("target"), each["severity"], each["message"]) for each in error["details"]
    ]


def test_a_plan_with_open_money_is_archived_by_a_program_that_says_so(api, claim):
    plan, _ = addresses(claim)
    (warning,) = warnings_of(api.delete(plan, **ANY_STATE))
    assert warning[:3] == ("OpenMoney", None, "warning")
    assert warning[3].startswith(
        f"{claim.total:,.2f} that waits and 0.00 that is claimed and not paid stay on"
    )
    refused(api.delete(plan, {"ignoreWarnings": "perhaps"}, **ANY_STATE), 400, "InvalidQuery")
    assert ok(api.get(plan))["ArchiveDate"] is None
    assert api.delete(plan, IGNORED, **ANY_STATE).status_code == 204
    refused(api.delete(plan, **ANY_STATE), 409)
    assert ok(api.get(plan))["ArchiveDate"] is not None


def test_a_plan_on_which_nothing_is_open_is_archived_without_a_question(api, claim):
    plan, _ = addresses(claim)
    apply_transition(Claim, [claim.pk], "archive")
    assert api.delete(plan, **ANY_STATE).status_code == 204


#: What is sent, and the member that the warning is about.
LATE, EARLY = "2025-07-08", "2025-07-12"
TAKEN_DAYS = [
    ({"PlanEndDate": LATE}, "PlanEndDate"),
    ({"NoActivePlanFromDate": "2025-07-13"}, "NoActivePlanFromDate"),
    ({"PlanStartDate": EARLY}, "PlanStartDate"),
]


@pytest.mark.parametrize(("body", "target"), TAKEN_DAYS)
def test_days_for_which_something_waits_are_taken_by_a_program_that_says_so(api, claim, body, target):
    plan, _ = addresses(claim)
    before = ok(api.get(plan))
    (warning,) = warnings_of(api.patch(plan, body, **ANY_STATE))
    assert warning == (
        "WaitingOutside",
        target,
        "warning",
        f"{claim.total:,.2f} that waits to be claimed (1 claim or invoice) is for days that would lie"
        " outside: 07 Jul 2025 to 13 Jul 2025.",
    )
    assert ok(api.get(plan)) == before
    assert ok(api.patch(plan, body, IGNORED, **ANY_STATE))[target] == body[target]
    ok(api.patch(plan, {**body, "TotalBudgetAmount": 7000}, **ANY_STATE))  # it is outside already


@pytest.mark.parametrize("body", [{"BookingEndDate": LATE}, {"BookingStartDate": EARLY}])
def test_so_are_those_of_a_booking(api, claim, body):
    _, booking = addresses(claim)
    (name,) = body
    (warning,) = warnings_of(api.patch(booking, body, **ANY_STATE))
    assert warning[:2] == ("WaitingOutside", name)
    assert ok(api.patch(booking, body, IGNORED, **ANY_STATE))[name] == body[name]


@pytest.mark.parametrize(
    "body",
    [
        {"PlanEndDate": "2025-07-13"},
        {"PlanStartDate": "2025-07-07"},
        {"NoActivePlanFromDate": "2025-07-14"},
        {"PlanEndDate": "2026-06-30", "PlanStartDate": "2024-07-01"},
        {"TotalBudgetAmount": 7000},
    ],
)
def test_a_change_that_leaves_the_days_of_what_waits_asks_nothing(api, claim, body):
    plan, _ = addresses(claim)
    ok(api.patch(plan, body, **ANY_STATE))


@pytest.mark.parametrize("names", [["archive"], ["approve", "claim"]])
def test_what_is_archived_or_claimed_does_not_wait(api, claim, names):
    plan, _ = addresses(claim)
    for name in names:
        assert apply_transition(Claim, [claim.pk], name).done
    ok(api.patch(plan, {"PlanEndDate": LATE}, **ANY_STATE))


def test_what_waits_on_other_plans_does_not_count(claim):
    other = a_booking(a_plan(participant=claim.contact))
    assert list(find_waiting([other.engagement_id, a_pace_plan().pk])) == []
    (found,) = find_waiting([booking_of(claim).engagement_id])
    assert (found.bill, found.amount) == (claim.pk, claim.total)


def test_the_office_leaves_plans_with_open_money_out_of_many(client, ada, claim):
    plan, other = booking_of(claim).engagement, a_plan()
    sent = {"action": "archive_selected", "_selected_action": [str(plan.pk), str(other.pk)]}
    page = client.post(PLANS, sent, follow=True).content.decode()
    assert "that waits and 0.00 that is claimed and not paid stay on its budgets" in page
    archived = ClientEngagement.objects.exclude(archive_date=None)
    assert [each.pk for each in archived] == [other.pk]


def test_the_office_asks_anew_where_money_came_after_the_page(client, ada, claim):
    plan = booking_of(claim).engagement
    address = f"{PLANS}{plan.pk}/archiving/"
    asked = client.post(address)  # a page that was made before the claim
    assert "stay on its budgets" in asked.content.decode()
    assert ClientEngagement.objects.get(pk=plan.pk).archive_date is None
    client.post(address, {"effect": asked.context["effect"]})
    assert ClientEngagement.objects.get(pk=plan.pk).archive_date is not None


@pytest.mark.parametrize("of_booking", [False, True])
def test_forms_ask_before_they_take_days_for_which_something_waits(client, ada, claim, of_booking):
    booking = booking_of(claim)
    record, name = (booking, "booking_end_date") if of_booking else (booking.engagement, "plan_end_date")
    address = f"/admin/engagements/{record._meta.model_name}/{record.pk}/change/"
    entered = {**form_data(client.get(address)), name: LATE, "_save": "Save"}
    asked = client.post(address, entered)
    (warning,) = asked.context["warnings"]
    assert warning["label"] == "Waiting outside"
    assert "that waits to be claimed (1 claim or invoice)" in warning["message"]
    assert form_data(asked)[name] == LATE
    record.refresh_from_db()
    assert getattr(record, name) != dt.date.fromisoformat(LATE)
    answer = client.post(address, {**entered, "confirmed": warning["token"], "_save_anyway": "1"})
    assert answer.status_code == 302
    record.refresh_from_db()
    assert getattr(record, name) == dt.date.fromisoformat(LATE)
