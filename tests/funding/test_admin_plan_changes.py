"""The page on which a plan is replaced."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import Permission

from apps.core.read_log import READ_LOG
from apps.engagements.models import ClientEngagement
from apps.funding.admin import plan_changes
from apps.funding.models import Claim
from apps.funding.services.effects import recount_budgets
from tests.engagements.builders import a_booking, a_category_budget, a_pace_plan, a_plan, day, with_periods
from tests.funding.builders import a_claim, a_product, a_provider_invoice, an_entry
from tests.people.records import a_role, a_staff_member

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada")]

TERMS = {"first_day": "14/02/2027", "last_day": "13/02/2028", "total": "$1,200.00"}
FIRST = day("2027-02-14")


@pytest.fixture(autouse=True)
def february(at):
    at("2027-02-10 09:00")


@pytest.fixture
def plan():
    plan = a_plan()
    booking = a_booking(plan, category=1)
    entry = an_entry(product=a_product(code="01_011_0107_1_1"))

    def lines(*days):
        price = {"quantity": "1", "price": "100.00", "entry": entry}
        return [{"booking": booking, "first_day": day(one), "last_day": day(one), **price} for one in days]

    a_claim(lines("2027-02-13", "2027-02-14"), contact=plan.participant, claim_number="W-1")
    a_claim(lines("2027-02-20"), contact=plan.participant, claim_number="S-1", funding_status="AgencyClaimed")
    a_provider_invoice(contact=plan.participant, reference="PI-9", invoice_total=Decimal("12.50"))
    recount_budgets()
    return plan


def address(plan):
    return f"/admin/funding/claim/plan-change/{plan.pk}/"


def plan_page(plan):
    return f"/admin/engagements/clientengagement/{plan.pk}/plan/"


def text_of(answer):
    return " ".join(answer.content.decode().split())


def somebody(*codenames):
    role = a_role()
    names = {"view_clientengagement", "add_clientengagement", "change_clientengagement", "view_claim"}
    role.permissions.set(Permission.objects.filter(codename__in=names | set(codenames)))
    return a_staff_member(role=role)


def test_from_the_old_plan_to_the_new_one(client, plan):
    assert f'href="{address(plan)}">New plan from this one' in text_of(client.get(plan_page(plan)))
    page = text_of(client.get(address(plan)))
    assert 'value="01/07/2027"' in page
    assert 'value="30/06/2028"' in page
    assert "Make the new plan" not in page
    assert "Waiting: 1, total AUD 200.00" in page
    assert "Claimed and not paid: 1, total AUD 100.00" in page
    assert "Provider invoices without a claim: 1, total AUD 12.50" in page
    answer = client.get(address(plan), TERMS)
    shown = text_of(answer)
    (row,) = answer.context["budgets"]
    assert row.remaining != row.budget
    assert f'>{row.remaining:,.2f}</td><td class="fu-figure">{row.budget:,.2f}</td>' in shown
    assert "Lines that move to the plan of their day: 1, total AUD 100.00" in shown
    assert "Lines that stay: 1, total AUD 100.00" in shown
    assert "It is “Claimed from the agency”: its money was asked for already." in shown
    assert "14 Feb 2027 – 13 Feb 2028" in shown
    assert "after the plan’s new end" in shown
    claim = Claim.objects.get(claim_number="W-1")
    assert f'href="/admin/funding/claim/{claim.pk}/change/">W-1' in shown
    assert ClientEngagement.objects.count() == 1
    answer = client.post(address(plan), TERMS)
    new = ClientEngagement.objects.get(plan_start_date=FIRST)
    assert answer["Location"] == plan_page(new)
    page = text_of(client.get(answer["Location"]))
    assert "The new plan was made with 1 budget. 1 line moved to it, total 100.00." in page
    assert "1 line from its first day on, total 100.00, did not move" in page
    assert new.total_budget_amount == Decimal("1200.00")
    old = text_of(client.get(plan_page(plan)))
    assert f'Replaced from 14 Feb 2027 by <a class="rs-link" href="{plan_page(new)}">{new}</a>.' in old
    history = text_of(client.get(f"/admin/funding/claim/{claim.pk}/history/"))
    assert "Budget of line 2" in history
    assert "01 Assistance with Daily Life, plan from 14 Feb 2027" in history
    assert recount_budgets() == (0, 0, 0)


def test_a_second_confirm_changes_nothing_and_says_so(client, plan):
    client.post(address(plan), TERMS)
    page = text_of(client.post(address(plan), TERMS | {"first_day": "01/03/2027"}))
    new = ClientEngagement.objects.exclude(pk=plan.pk).get()
    assert f"The plan was replaced already, from 14 Feb 2027 by {new}. Nothing was changed." in page
    assert "Lines that stay: 1" in page
    assert "Make the new plan" not in page
    assert new.plan_start_date == FIRST


def test_somebody_who_was_first_while_the_service_waited_is_named(client, plan, monkeypatch):
    client.post(address(plan), TERMS)
    monkeypatch.setattr(plan_changes, "find_successor", lambda plan: None)
    answer = client.post(address(plan), TERMS)
    assert answer["Location"] == address(plan)
    shown = text_of(client.get(address(plan), TERMS))
    assert "Nothing was changed." in shown
    assert "Replaced from 14 Feb 2027 by" in shown


def test_what_may_move_later_is_moved_from_the_same_page(client, plan):
    client.post(address(plan), TERMS)
    assert "Move 1 line" not in text_of(client.get(address(plan)))
    Claim.objects.filter(claim_number="S-1").update(funding_status="Approved")
    recount_budgets()
    assert "Move 1 line" in text_of(client.get(address(plan)))
    page = text_of(client.post(address(plan), {"move": "1"}, follow=True))
    assert "1 line moved to it, total 100.00." in page
    assert "No line of a claim or invoice has to move." in page
    assert "No line had to move." in text_of(client.post(address(plan), {"move": "1"}, follow=True))
    assert recount_budgets() == (0, 0, 0)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"first_day": ""}, "This field is required."),
        ({"first_day": "31/02/2027"}, "Enter a valid date."),
        ({"last_day": "soon"}, "Enter a valid date."),
        ({"total": ""}, "This field is required."),
        ({"total": "much"}, "Give a number, such as 1616.26."),
        ({"total": "1e9"}, "Give a number, such as 1616.26."),
        ({"total": "-1"}, "A budget is not negative."),
        ({"total": "1.005"}, "no more than 2 decimal places"),
        ({"total": "123456789012345"}, "no more than 14 digits in total"),
        ({"first_day": "01/07/2026"}, "The old plan begins on 01 Jul 2026; a new one begins after that day."),
        ({"first_day": "01/01/2020"}, "The old plan begins on 01 Jul 2026; a new one begins after that day."),
        ({"last_day": "13/02/2027"}, "The plan ends before it starts."),
        ({"last_day": "13/02/9999"}, "No plan is for more than 10 years."),
        ({"first_day": "14/02/9998", "last_day": "31/12/9999"}, "It is years after the end of the old plan."),
    ],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_bad_terms_are_said_on_the_page_and_nothing_is_stored(client, plan, method, changed, sentence):
    page = text_of(getattr(client, method)(address(plan), TERMS | changed))
    assert sentence in page
    assert "Make the new plan" not in page
    plan.refresh_from_db()
    assert (ClientEngagement.objects.get(), plan.no_active_plan_from_date) == (plan, None)


@pytest.mark.parametrize("end", ["9999-12-31", "9999-06-30"])
def test_a_plan_without_an_end_is_replaced_from_the_day_that_is_typed(client, plan, end):
    ClientEngagement.objects.filter(pk=plan.pk).update(plan_end_date=day(end))
    assert "Make the new plan" not in text_of(client.get(address(plan)))
    assert "Make the new plan" in text_of(client.get(address(plan), TERMS))
    assert client.post(address(plan), TERMS).status_code == 302
    assert ClientEngagement.objects.exclude(pk=plan.pk).get().plan_start_date == FIRST


def test_a_third_plan_of_the_same_days_is_named(client, plan):
    a_plan(participant=plan.participant, plan_start_date=day("2027-07-01"), plan_end_date=day("2028-06-30"))
    for method in (client.get, client.post):
        page = text_of(method(address(plan), TERMS))
        assert "Another plan of the participant runs from 01 Jul 2027 to 30 Jun 2028." in page
    assert ClientEngagement.objects.count() == 2
    assert client.post(address(plan), TERMS | {"last_day": "30/06/2027"}).status_code == 302


def test_an_archived_plan_is_not_replaced(client, plan, at):
    ClientEngagement.objects.filter(pk=plan.pk).update(archive_date="2027-01-01T00:00Z")
    page = text_of(client.get(address(plan)))
    assert "This plan is archived." in page
    assert "New plan from this one" not in text_of(client.get(plan_page(plan)))
    client.post(address(plan), TERMS)
    assert ClientEngagement.objects.count() == 1


@pytest.mark.parametrize("key", ["00000000-0000-0000-0000-000000000000", "x", "1"])
def test_unknown_plans_are_not_found(client, key):
    answer = client.get(f"/admin/funding/claim/plan-change/{key}/", follow=True)
    assert answer.status_code == 404 or "doesn’t exist" in text_of(answer)


def test_lines_are_not_moved_of_a_plan_that_was_not_replaced(client, plan):
    page = text_of(client.post(address(plan), {"move": "1"}, follow=True))
    assert "The plan was not replaced." in page


def test_days_between_the_plans_and_what_is_too_much_are_said(client):
    plan = a_pace_plan(total_budget_amount=Decimal("500.00"))
    budget = a_category_budget(plan, 1, budget=Decimal("300.00"))
    with_periods(budget, ("2026-07-01", "2026-12-31", "100.00"), ("2027-01-01", "2027-06-30", "200.00"))
    terms = {"first_day": "10/07/2027", "last_day": "09/07/2028", "total": "250"}
    page = text_of(client.get(address(plan), terms))
    assert "No plan covers 1 Jul 2027 – 9 Jul 2027." in page
    assert "The copied budgets come to 50.00 more than the new plan has." in page
    assert "10 Jul 2027 – 9 Jul 2028, 2 periods" in page
    assert "No line of a claim or invoice has to move." in page


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ((), "Your role lacks the permission to change claims."),
        (("change_claim",), None),
    ],
)
def test_the_page_is_for_those_who_add_plans_and_change_claims(client, plan, given, sentence):
    client.force_login(somebody(*given))
    answer = client.get(address(plan), TERMS)
    assert answer.status_code == (403 if sentence else 200)
    assert sentence is None or sentence in text_of(answer)
    assert ("New plan from this one" in text_of(client.get(plan_page(plan)))) is (sentence is None)
    assert client.post(address(plan), TERMS).status_code == (403 if sentence else 302)


def test_those_who_may_not_replace_it_see_that_it_was_replaced(client, plan):
    client.post(address(plan), TERMS)
    client.force_login(somebody())
    page = text_of(client.get(plan_page(plan)))
    assert "Replaced from 14 Feb 2027 by" in page
    assert "Lines that belong to the new plan" not in page


def test_what_was_shown_is_in_the_log_of_reads(client, plan, monkeypatch):
    noted = []
    monkeypatch.setattr(READ_LOG, "add", lambda model, *rest: noted.append(model))
    client.get(address(plan), TERMS)
    assert Claim in noted
