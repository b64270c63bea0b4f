"""The budgets of a plan are entered in one table on its page, and saved together."""

from decimal import Decimal

import pytest

from apps.base import clock
from apps.core.models import Change
from apps.engagements.choices import CATEGORIES
from apps.engagements.models import CategoryBudget, ClientEngagement, ServiceBooking
from apps.engagements.services import create_support_categories
from tests.engagements.builders import a_booking, a_pace_plan, a_plan
from tests.people.records import a_contact, a_role, a_staff_member, form_data, get_unrendered

pytestmark = pytest.mark.django_db
PLANS = "/admin/engagements/clientengagement/"


@pytest.fixture(autouse=True)
def categories():
    create_support_categories()


def grid_of(client, plan):
    return get_unrendered(client, f"{PLANS}{plan.pk}/plan/").context["grid"]


def sent(grid, **changed):
    """What a browser sends of the grid, with some cells changed: ``category15_budget="5000"``."""
    data = {}
    for row in grid.rows:
        for field in row:
            data[field.html_name] = data[field.html_initial_name] = str(field.value() or "")
    return data | {name.replace("_", "-", 1): value for name, value in changed.items()}


def save(client, plan, data):
    return client.post(f"{PLANS}{plan.pk}/plan/", data)


def test_a_new_plan_is_plan_managed_and_leads_to_its_page(client, ada):
    participant = a_contact()
    page = get_unrendered(client, f"{PLANS}add/")
    dates = {"plan_start_date": "01/07/2026", "plan_end_date": "30/06/2027"}
    fields = {"participant": str(participant.pk), "total_budget_amount": "10000", **dates}
    data = form_data(page, **fields)
    answer = client.post(f"{PLANS}add/", {**data, "_save": "1"})
    plan = ClientEngagement.objects.get()
    assert answer.url == f"{PLANS}{plan.pk}/plan/"
    assert plan.is_plan_managed
    text = client.get(answer.url).content.decode()
    assert '<details class="en-grid" open>' in text
    assert text.count("data-category=") == 15


@pytest.mark.parametrize("reason", ["signed-out", "signed-in-again", "?"])
def test_a_grid_that_comes_back_after_signing_in_is_shown_and_not_saved(client, ada, reason):
    plan = a_plan(total_budget_amount=10_000, is_plan_managed=True)
    data = sent(grid_of(client, plan), category15_budget="5000.50")
    page = save(client, plan, {**data, "_restored": reason})
    assert not ServiceBooking.objects.exists()
    text = page.content.decode()
    assert 'value="5000.50"' in text
    assert '<details class="en-grid" open>' in text
    assert ("Your entries are back, and not saved yet." in text) == (reason != "?")
    assert save(client, plan, data).status_code == 302
    assert ServiceBooking.objects.get().budget == Decimal("5000.50")


def test_what_is_wrong_with_a_cell_is_read_aloud_with_it(client, ada):
    plan = a_plan(total_budget_amount=10_000, is_plan_managed=True)
    data = sent(grid_of(client, plan), category15_budget="many")
    text = save(client, plan, data).content.decode()
    assert 'aria-describedby="id_category15-budget_error"' in text
    assert '<span class="en-negative" id="id_category15-budget_error">Give a number' in text


def test_budgets_of_all_categories_are_saved_at_once(client, ada, django_assert_max_num_queries):
    plan = a_plan(total_budget_amount=10_000, is_plan_managed=True)
    cells = {"category15_budget": "$5,000.50", "category1_budget": "100", "category1_used_elsewhere": "20"}
    data = sent(grid_of(client, plan), **cells, category1_management_type="Self")
    with django_assert_max_num_queries(75):
        answer = save(client, plan, data)
    assert answer.status_code == 302
    found = {
        each.category.number: (each.budget, each.management_type, each.used_elsewhere, each.support_purpose)
        for each in ServiceBooking.objects.select_related("category")
    }
    assert found == {
        15: (Decimal("5000.50"), "Plan", 0, "Capacity Building"),
        1: (Decimal(100), "Self", 20, "Core"),
    }
    assert Change.objects.filter(kind="Created", record_type="engagements.servicebooking").count() == 2
    text = client.get(answer.url).content.decode()
    assert "2 budgets saved." in text
    assert "not said to be Self managed" in text
    data = sent(grid_of(client, plan), category15_budget="6000")
    assert save(client, plan, data).status_code == 302
    assert ServiceBooking.objects.get(category__number=15).budget == 6000
    assert ServiceBooking.objects.count() == 2


def test_a_pace_plan_has_budgets_of_all_categories(client, ada):
    plan = a_pace_plan(is_plan_managed=True)
    grid = grid_of(client, plan)
    assert len(grid.rows) == len(CATEGORIES)
    assert save(client, plan, sent(grid, category21_budget="70")).status_code == 302
    budget = CategoryBudget.objects.get()
    assert (budget.category.number, budget.budget, budget.management_type) == (21, 70, "Plan")


def test_a_fault_in_one_row_stores_nothing_and_keeps_the_others(client, ada):
    plan = a_plan()
    data = sent(grid_of(client, plan), category1_budget="-1", category2_budget="70", category3_budget="x")
    answer = save(client, plan, data)
    text = answer.content.decode()
    assert "Not saved. Please fix" in text
    assert 'value="70"' in text
    assert not ServiceBooking.objects.exists()
    assert "Give a number" in text
    answer = save(client, plan, {**data, "category3-budget": ""})
    assert "A budget is not negative." in answer.content.decode()
    assert not ServiceBooking.objects.exists()


@pytest.mark.both_engines("somebody else writes meanwhile")
@pytest.mark.parametrize("is_new", [True, False])
def test_what_somebody_saved_meanwhile_is_shown_before_it_is_overwritten(client, ada, is_new):
    plan = a_plan(total_budget_amount=10_000, is_plan_managed=True)
    if not is_new:
        assert save(client, plan, sent(grid_of(client, plan), category1_budget="5")).status_code == 302
    opened = grid_of(client, plan)
    assert save(client, plan, sent(opened, category1_budget="10")).status_code == 302
    assert save(client, plan, sent(opened, category2_budget="30")).status_code == 302
    assert ServiceBooking.objects.get(category__number=1).budget == 10
    answer = save(client, plan, sent(opened, category1_budget="20"))
    assert "Meanwhile 10.00 was saved here." in answer.content.decode()
    again = sent(answer.context["grid"]) | {"category1-initial_budget": "10.00"}
    assert answer.context["grid"].data["initial-category1-budget"] == "10.00"
    again["initial-category1-budget"] = "10.00"
    assert save(client, plan, again).status_code == 302
    assert ServiceBooking.objects.get(category__number=1).budget == 20


def test_the_grid_is_for_those_who_may_enter_budgets(client):
    plan = a_plan()
    a_booking(plan)
    view = ("engagements.view_clientengagement", "engagements.view_servicebooking")
    for permissions, rows in (((), 0), (("add",), 14), (("change",), 1), (("add", "change"), 15)):
        names = [f"engagements.{each}_servicebooking" for each in permissions]
        client.force_login(a_staff_member(role=a_role(*view, *names)))
        assert len(grid_of(client, plan).rows) == rows
    client.force_login(a_staff_member(role=a_role(*view)))
    answer = save(client, plan, {"category1-budget": "5", "category2-budget": "5"})
    assert answer.status_code == 403
    assert "lacks the permission to add service bookings." in answer.content.decode()
    assert ServiceBooking.objects.count() == 1


def test_what_may_no_longer_be_entered_is_refused_and_not_left_out_without_a_word(client, ada):
    """It was “0 budgets saved”, or as many as were still allowed."""
    plan = a_plan(total_budget_amount=10_000, is_plan_managed=True)
    booking = a_booking(plan)
    number = booking.category.number
    data = sent(grid_of(client, plan), **{f"category{number}_budget": "7", "category15_budget": "5"})
    view = ("engagements.view_clientengagement", "engagements.view_servicebooking")
    client.force_login(a_staff_member(role=a_role(*view, "engagements.add_servicebooking")))
    answer = save(client, plan, data)
    assert answer.status_code == 403
    assert "lacks the permission to change service bookings." in answer.content.decode()
    assert [each.pk for each in ServiceBooking.objects.all()] == [booking.pk]


def test_budgets_of_a_plan_that_was_archived_meanwhile_are_not_called_saved(client, ada):
    plan = a_plan(total_budget_amount=10_000, is_plan_managed=True)
    data = sent(grid_of(client, plan), category15_budget="5")
    ClientEngagement.objects.update(archive_date=clock.now())
    text = save(client, plan, data).content.decode()
    assert "The plan was archived meanwhile: nothing was saved." in text
    assert not ServiceBooking.objects.exists()
