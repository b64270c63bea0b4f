"""Plans, bookings and budgets in the back office."""

import datetime as dt
import html
import re
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.core.models import Change
from apps.engagements.models import ClientEngagement, ServiceBooking
from tests.engagements.builders import (
    START,
    a_booking,
    a_category,
    a_category_budget,
    a_pace_plan,
    a_plan,
    with_periods,
)
from tests.people.records import (
    a_contact,
    a_role,
    a_staff_member,
    form_data,
    get_unrendered,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada")]
PLANS = "/admin/engagements/clientengagement/"


def from_today(days):
    return clock.today() + dt.timedelta(days=days)


def a_plan_ending(days, **columns):
    """A plan of a year whose last day is so many days from today."""
    return a_plan(plan_start_date=from_today(days - 364), plan_end_date=from_today(days), **columns)


def page_text(response):
    text = re.sub(r"<(script|style).*?</\1>", "", response.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


def plan_page(client, plan):
    return client.get(f"{PLANS}{plan.pk}/plan/")


# --- the plan's page


def a_component_in_periods():
    """100.00 until ten days ago, of which 70.00 are used; then twice 100.00."""
    plan = a_pace_plan(plan_start_date=from_today(-100), plan_end_date=from_today(264))
    budget = a_category_budget(plan, budget=Decimal("300.00"), component_name="Flexible core")
    days = ((-100, -11), (-10, 79), (80, 264))
    with_periods(budget, *((str(from_today(a)), str(from_today(b)), "100.00") for a, b in days))
    first, second, _ = budget.periods.all()
    budget.periods.filter(pk=first.pk).update(claimed=Decimal("70.00"), paid=Decimal("50.00"))
    budget.periods.filter(pk=second.pk).update(waiting=Decimal("10.00"))
    return plan, budget


def test_the_page_of_a_plan_shows_a_bar_for_each_funding_period(client):
    plan, _ = a_component_in_periods()
    response = plan_page(client, plan)
    page = html.unescape(response.content.decode())
    assert page.count('aria-current="date"') == 1
    assert "100.00 released, 50.00 paid, 20.00 claimed, not yet paid, 30.00 left" in page
    assert "100.00 released, 30.00 carried in, 10.00 waiting, 120.00 left" in page
    assert "100.00 released 30.00 left" in page_text(response)
    assert "100.00 released + 30.00 carried in 120.00 left" in page_text(response)
    # 70.00 in 90 days; 120.00 for 79 days
    assert "Lasts to the end of the period" in page_text(response)
    assert "with about 58.56 left" in page_text(response)


def test_periods_after_the_end_of_a_plan_that_was_ended_pay_for_nothing(client):
    plan, _ = a_component_in_periods()
    ClientEngagement.objects.filter(pk=plan.pk).update(no_active_plan_from_date=from_today(-5))
    response = plan_page(client, plan)
    page = html.unescape(response.content.decode())
    assert 'aria-current="date"' not in page
    assert page.count("After the plan’s end: pays for nothing") == 1  # not of the second, which had begun
    assert "Lasts to the end of the period" not in page_text(response)
    assert "Ended, with 300.00 left" in page_text(response)


def test_the_page_of_a_participant_shows_funding_periods(client):
    plan, _ = a_component_in_periods()
    response = client.get(f"/admin/people/contact/{plan.participant_id}/overview/", follow=True)
    assert 'aria-label="Funding periods of Flexible core"' in response.content.decode()
    assert "with about 58.56 left" in page_text(response)


def test_home_and_the_list_name_periods_that_run_out_early(client):
    _, budget = a_component_in_periods()
    assert "Funding period runs out early" not in page_text(client.get("/admin/"))
    second = budget.periods.all()[1]
    # 230.00 are used of the 130.00 there are: 100.00 over, and at 70.00 in 90 days 61.44 more until the end
    budget.periods.filter(pk=second.pk).update(waiting=Decimal("230.00"))
    text = page_text(client.get("/admin/"))
    assert re.search(r"Funding period runs out early.{0,40}161", text)
    listed = "/admin/engagements/categorybudget/?period=short"
    assert client.get(listed).context["cl"].result_count == 1
    budget.periods.filter(pk=second.pk).update(waiting=Decimal("10.00"))
    assert client.get(listed).context["cl"].result_count == 0


def test_a_component_without_periods_has_no_row_of_bars(client):
    plan = a_pace_plan()
    a_category_budget(plan)
    assert "en-periods" not in plan_page(client, plan).content.decode()


def test_the_page_of_a_plan_shows_the_spending_of_each_booking(client):
    plan = a_plan_ending(181, total_budget_amount=Decimal("10000.00"))
    amounts = {"budget": "4000.00", "used_elsewhere": "500.00", "claimed": "1000.00", "paid": "600.00"}
    a_booking(plan, waiting=Decimal("100.00"), **{name: Decimal(text) for name, text in amounts.items()})
    text = page_text(plan_page(client, plan))
    assert "Time 181 days left" in text
    assert "Total budget 10,000.00 Allocated 4,000.00 Not allocated 6,000.00 Spent 1,600.00" in text
    assert (
        "Budget 4,000.00 Spent elsewhere 500.00 Claimed 1,000.00 Paid 600.00 Waiting 100.00 Left 2,400.00"
    ) in text
    overview = page_text(client.get(f"/admin/people/contact/{plan.participant_id}/overview/", follow=True))
    assert re.search(r" 4,000\.00 40 % 2,400\.00 .* Whole plan 10,000\.00 16 % 8,400\.00 ", overview)


def test_a_bar_has_a_description_in_words(client):
    plan = a_plan_ending(181)
    a_booking(
        plan,
        budget=Decimal("200.00"),
        claimed=Decimal("50.00"),
        paid=Decimal("20.00"),
        waiting=Decimal("30.00"),
    )
    page = plan_page(client, plan).content.decode()
    assert 'aria-label="40 % of 200.00 spent: 20.00 paid, 30.00 claimed, not yet paid, 30.00 waiting"' in page
    widths = re.findall(r'en-(paid|claimed|waiting)" style="width:([\d.]+)%', page)
    assert widths == [("paid", "10.00"), ("claimed", "15.00"), ("waiting", "15.00")]


def test_a_budget_overspent_is_marked_where_it_ends(client):
    plan = a_plan_ending(181)
    a_booking(plan, budget=Decimal("100.00"), claimed=Decimal("125.00"))
    page = plan_page(client, plan).content.decode()
    assert 'class="en-limit" style="left:80.00%"' in page
    assert "Nothing is left" in page


@pytest.mark.parametrize(
    ("ending", "spent", "expected"),
    [
        (182, "25.00", "Lasts to the end, with about 50"),
        (182, "91.50", "days before the budget ends"),
        (182, "0.00", "Nothing spent yet"),
        (182, "100.00", "Nothing is left"),
        (-1, "60.00", "Ended, with 40.00 left"),
        (400, "0.00", "Not started"),
    ],
)
def test_the_page_of_a_plan_shows_how_long_the_budget_lasts(client, ending, spent, expected):
    plan = a_plan_ending(ending)
    a_booking(plan, budget=Decimal("100.00"), used_elsewhere=Decimal(spent))
    section = page_text(plan_page(client, plan)).partition("Service bookings Add")[2]
    assert expected in section


def test_the_date_of_running_out_is_shown(client):
    plan = a_plan(plan_start_date=from_today(-99), plan_end_date=from_today(265))
    a_booking(plan, budget=Decimal("150.00"), used_elsewhere=Decimal("100.00"))
    day = from_today(50)
    assert f"{day.day} {day:%b %Y} , 215 days before the budget ends" in page_text(plan_page(client, plan))


def test_bookings_above_the_budget_are_shown(client):
    plan = a_plan(total_budget_amount=Decimal("100.00"))
    a_booking(plan, budget=Decimal("130.00"))
    assert "The bookings' budgets come to 130.00: 30.00 more than the plan has." in page_text(
        plan_page(client, plan)
    )


def test_a_pace_plan_shows_its_budgets_by_category(client):
    plan = a_pace_plan(endorsement_date=START)
    a_category_budget(plan, 16)
    text = page_text(plan_page(client, plan))
    assert "Budgets by category" in text
    assert "16 Home and Living" in text
    assert "Endorsed 1 Jul 2026" in text


@pytest.mark.both_engines("statements are counted")
def test_a_plans_page_takes_the_same_statements_however_many_bookings(client, django_assert_num_queries):
    few, many = a_plan(), a_plan()
    a_booking(few)
    for _ in range(12):
        a_booking(many)
    plan_page(client, few)
    with CaptureQueriesContext(connection) as captured:
        plan_page(client, few)
    with django_assert_num_queries(len(captured)):
        plan_page(client, many)


def test_a_plans_page_is_for_those_who_may_see_plans(client):
    plan = a_plan()
    role = a_role("people.view_contact")
    client.force_login(a_staff_member(role=role))
    assert plan_page(client, plan).status_code == 403
    client.force_login(a_staff_member(role=a_role("engagements.view_clientengagement")))
    response = plan_page(client, plan)
    assert response.status_code == 200
    assert "Add a booking" not in page_text(response)


def test_the_page_of_an_unknown_plan_redirects(client):
    response = client.get(f"{PLANS}01a05a13-d3e0-720d-9806-422ae9d6274b/plan/")
    assert response.status_code == 302


# --- the list


def listed(client, **query):
    response = get_unrendered(client, PLANS, query)
    assert response.status_code == 200
    return [plan.pk for plan in response.context["cl"].result_list]


def test_plans_are_listed_by_when_they_end(client):
    later, sooner = a_plan_ending(200), a_plan_ending(20)
    assert listed(client) == [sooner.pk, later.pk]


@pytest.mark.both_engines("found or summed by the database")
@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ("", [0, 30, 31, 60, 61, 90, 91, 500]),
        ("current", [0, 30, 31, 60, 61, 90, 91]),
        ("30", [0, 30]),
        ("60", [0, 30, 31, 60]),
        ("90", [0, 30, 31, 60, 61, 90]),
        ("ended", [-1]),
        ("coming", [500]),
        ("all", [-1, 0, 30, 31, 60, 61, 90, 91, 500]),
    ],
)
def test_plans_are_filtered_by_their_dates(client, stage, expected):
    plans = {a_plan_ending(days).pk: days for days in (-1, 0, 30, 31, 60, 61, 90, 91, 500)}
    assert [plans[key] for key in listed(client, stage=stage)] == expected


def test_a_plan_that_became_inactive_ends_then(client):
    inactive = a_plan_ending(200, no_active_plan_from_date=from_today(10))
    over = a_plan_ending(200, no_active_plan_from_date=from_today(0))
    assert listed(client, stage="30") == [inactive.pk]
    assert listed(client, stage="ended") == [over.pk]


@pytest.mark.both_engines("found or summed by the database")
@pytest.mark.parametrize("query", ["430 123 456", "Nguyen", "mia"])
def test_a_plan_is_found_by_its_participant(client, query):
    plan = a_plan_ending(20, participant=a_contact(first_name="Mia", scheme_number="430123456"))
    a_plan_ending(20, participant=a_contact(first_name="Leo", last_name="Silva"))
    assert listed(client, q=query) == [plan.pk]


@pytest.mark.both_engines("found or summed by the database")
def test_plans_are_filtered_by_their_managers(client):
    a_plan_ending(20)
    plan = a_plan_ending(30, is_plan_managed=False, is_self_managed=True)
    assert listed(client, managed="self") == [plan.pk]


@pytest.mark.both_engines("statements are counted")
def test_the_list_takes_the_same_statements_however_many_plans(client, django_assert_max_num_queries):
    for number in range(12):
        a_booking(a_plan_ending(number))
        a_category_budget(a_pace_plan(plan_start_date=from_today(-5), plan_end_date=from_today(300)))
    listed(client)
    with django_assert_max_num_queries(12):
        assert len(listed(client)) == 24


# --- forms


def add(client, model, query="", **fields):
    address = f"/admin/engagements/{model}/add/{query}"
    return client.post(address, form_data(get_unrendered(client, address), **fields), follow=True)


def errors(response):
    return response.context["adminform"].form.errors


def test_a_plan_is_added_and_validated(client):
    person = a_contact()
    dates = {"plan_start_date": "2026-07-01", "plan_end_date": "2026-06-30"}
    response = add(client, "clientengagement", participant=person.pk, **dates)
    assert errors(response)["plan_end_date"] == ["The plan ends before it starts."]
    dates["plan_end_date"] = "2027-06-30"
    response = add(client, "clientengagement", participant=person.pk, is_plan_managed=None, **dates)
    assert ClientEngagement.objects.get().participant == person
    assert "Nobody is said to manage the plan." in page_text(response)


def test_the_participant_and_type_of_an_existing_plan_are_fixed(client):
    plan = a_plan()
    address = f"{PLANS}{plan.pk}/change/"
    page = client.get(address)
    assert not {"participant", "participant_type"} & set(page.context["adminform"].form.fields)
    client.post(address, form_data(page, total_budget_amount="77.00", participant=a_contact().pk))
    changed = ClientEngagement.objects.get()
    assert (changed.total_budget_amount, changed.participant) == (Decimal("77.00"), plan.participant)


def test_a_booking_is_added_from_its_plans_page_and_leads_back_to_it(client):
    plan = a_plan(total_budget_amount=Decimal("100.00"))
    response = add(
        client,
        "servicebooking",
        f"?engagement={plan.pk}",
        category=a_category(15).pk,
        support_purpose="Capacity Building",
        budget="150.00",
    )
    assert response.redirect_chain[-1][0] == f"{PLANS}{plan.pk}/plan/"
    assert ServiceBooking.objects.get().engagement == plan
    assert "With it the plan's bookings come to 50.00 more than its budget of 100.00." in page_text(response)


def test_a_booking_is_validated(client):
    response = add(
        client,
        "servicebooking",
        f"?engagement={a_plan().pk}",
        category=a_category(15).pk,
        support_purpose="Core",
        budget="1.00",
    )
    assert "is for Capacity Building." in errors(response)["support_purpose"][0]
    response = add(
        client, "servicebooking", f"?engagement={a_pace_plan().pk}", support_purpose="Custom Purpose"
    )
    assert errors(response)["engagement"] == ["A PACE plan has budgets by category, no service bookings."]
    assert not ServiceBooking.objects.exists()


def test_the_amounts_of_a_booking_cannot_be_edited(client):
    booking = a_booking(claimed=Decimal("5.00"))
    address = f"/admin/engagements/servicebooking/{booking.pk}/change/"
    page = client.get(address)
    assert not {"claimed", "paid", "waiting", "engagement"} & set(page.context["adminform"].form.fields)
    client.post(address, form_data(page, claimed="99.00", budget="120.00"))
    booking.refresh_from_db()
    assert (booking.claimed, booking.budget) == (Decimal("5.00"), Decimal("120.00"))


def test_a_booking_without_claims_can_be_deleted_and_one_with_claims_cannot(client):
    mistake, claimed = a_booking(), a_booking(waiting=Decimal("0.01"))
    client.post(f"/admin/engagements/servicebooking/{mistake.pk}/delete/", {"post": "yes"})
    assert not ServiceBooking.objects.filter(pk=mistake.pk).exists()
    line = Change.objects.get(record_key=str(mistake.pk), kind="Deleted")
    assert line.differences["budget"] == ["100.00", None]
    response = client.post(f"/admin/engagements/servicebooking/{claimed.pk}/delete/", {"post": "yes"})
    assert response.status_code == 403
    assert ServiceBooking.objects.get() == claimed


@pytest.mark.both_engines("statements are counted")
@pytest.mark.parametrize("model", ["servicebooking", "categorybudget"])
def test_lists_of_budgets_take_the_same_statements_however_many(client, model, django_assert_max_num_queries):
    for _ in range(10):
        a_booking(budget_manager=a_staff_member())
        a_category_budget()
    client.get(f"/admin/engagements/{model}/")
    with django_assert_max_num_queries(10):
        response = client.get(f"/admin/engagements/{model}/")
    assert len(response.context["cl"].result_list) == 10


@pytest.mark.both_engines("found or summed by the database")
def test_support_categories_are_found_by_name_and_number(client):
    a_category(1)
    for query, number in (("living skills", 15), ("17", 17)):
        response = get_unrendered(client, "/admin/engagements/supportcategory/", {"q": query})
        assert [each.number for each in response.context["cl"].result_list] == [number]


@pytest.mark.parametrize(
    ("sums", "sentence"),
    [
        (
            {"waiting": "952.50"},
            "952.50 that waits and 0.00 that is claimed and not paid stay on its budgets",
        ),
        (
            {"claimed": "100.00", "paid": "40.00"},
            "0.00 that waits and 60.00 that is claimed and not paid stay",
        ),
        ({"claimed": "100.00", "paid": "100.00"}, None),
    ],
)
def test_archiving_a_plan_says_what_is_open_on_it(client, sums, sentence):
    """No plan would count it any more: another one would be overspent without a warning."""
    for booked in (a_booking(**sums).engagement, a_category_budget(**sums).engagement):
        page = page_text(client.get(f"{PLANS}{booked.pk}/archiving/"))
        assert "that waits and" in page if sentence else "that waits and" not in page
        assert (sentence or "") in page


def test_archiving_a_plan_names_its_bookings(client):
    plan = a_plan()
    a_booking(plan)
    page = page_text(client.get(f"{PLANS}{plan.pk}/archiving/"))
    assert "1 service booking (plan)" in page
    assert "stay on its budgets" not in page
    client.post(f"{PLANS}{plan.pk}/archiving/")
    plan.refresh_from_db()
    assert plan.is_archived
    assert "This plan was archived on" in page_text(plan_page(client, plan))
