"""The demo's plans stand at every stage, obey the rules, and are the same for the same seed and day."""

import datetime as dt
from collections import Counter
from zoneinfo import ZoneInfo

import pytest

from apps.core.demo import Context
from apps.engagements import validation
from apps.engagements.demo import plan_stages, rows
from apps.engagements.demo.loading import load
from apps.engagements.models import CategoryBudget, ClientEngagement, ServiceBooking, SupportCategory
from apps.engagements.services import (
    create_support_categories,
    load_booking_context,
    load_engagement_context,
)
from apps.odata.write.drafts import Draft, apply_rules
from apps.people.demo import plan as people
from apps.people.demo.loading import PEOPLE
from tests.people.test_load_demo import FEW, load_demo

pytestmark = pytest.mark.django_db

DAY = dt.date(2026, 7, 1)


@pytest.fixture
def loaded():
    load_demo(*FEW, "--contacts", "60")
    return list(ClientEngagement.objects.select_related("participant").order_by("guid"))


def as_drafts(model, records):
    for record in records:
        values = {field.name: getattr(record, field.name) for field in model._meta.concrete_fields}
        yield Draft(values, values, key=record.pk)


def test_participants_have_plans_and_nobody_else(loaded):
    with_plans = {plan.participant_id for plan in loaded}
    told = {
        contact.pk: bool(contact.scheme_number) and contact.archive_date is None
        for contact in PEOPLE.models[2].objects.all()
    }
    assert with_plans == {key for key, takes_part in told.items() if takes_part}


def test_every_plan_and_booking_obeys_the_rules(loaded):
    bookings = list(ServiceBooking.objects.select_related("engagement", "category"))
    budgets = list(CategoryBudget.objects.select_related("engagement", "category"))
    assert not list(apply_rules(list(as_drafts(ClientEngagement, loaded)), validation.ENGAGEMENT_RULES))
    assert not list(apply_rules(list(as_drafts(ServiceBooking, bookings)), validation.BOOKING_RULES))
    assert not list(apply_rules(list(as_drafts(CategoryBudget, budgets)), validation.CATEGORY_BUDGET_RULES))


def test_the_only_warnings_are_those_that_the_demo_wants_to_show(loaded):
    plans = list(as_drafts(ClientEngagement, loaded))
    load_engagement_context(plans)
    bookings = list(
        as_drafts(ServiceBooking, ServiceBooking.objects.select_related("engagement", "category"))
    )
    load_booking_context(bookings)
    issues = [
        *apply_rules(plans, validation.ENGAGEMENT_WARNINGS),
        *apply_rules(bookings, validation.BOOKING_WARNINGS),
    ]
    assert {issue.code for _, issue in issues} == {"OverAllocated"}


def test_plans_stand_at_every_stage(loaded):
    said = {(DAY - plan.plan_start_date).days for plan in loaded}
    assert {stage.begun for stage in plan_stages.STAGES} <= said
    left = [(plan.plan_end_date - DAY).days for plan in loaded]
    for first, last in ((-999, -1), (0, 30), (31, 60), (61, 90), (91, 999)):
        assert any(first <= days <= last for days in left), (first, last)
    shares = {plan.spending(plan.bookings.all(), DAY).spent_percentage for plan in loaded}
    assert min(shares) == 0
    assert max(shares) > 85
    assert any(plan.un_allocate_amount < 0 for plan in loaded)


def test_there_are_plans_of_every_kind_and_management(loaded):
    kinds = Counter(plan.participant_type for plan in loaded)
    assert kinds["PACE"] >= 2
    assert kinds["Agency"] > 20
    assert not ServiceBooking.objects.filter(engagement__participant_type="PACE").exists()
    assert set(CategoryBudget.objects.values_list("engagement__participant_type", flat=True)) == {"PACE"}
    for name in ("is_plan_managed", "is_self_managed", "is_agency_managed"):
        assert any(getattr(plan, name) for plan in loaded)
    assert any(plan.support_coordinator_id for plan in loaded)
    assert any(plan.participant.representative_id for plan in loaded)
    assert {plan.plan_manager.is_self for plan in loaded if plan.plan_manager} == {True}


def test_no_record_is_of_the_future(loaded):
    midnight = dt.datetime.combine(DAY, dt.time(), ZoneInfo("Australia/Sydney"))
    for model in (ClientEngagement, ServiceBooking, CategoryBudget):
        assert not model.objects.filter(modify_date__gte=midnight).exists()
        assert model.objects.exists()


def drawn(seed=1, as_of=DAY):
    create_support_categories()
    context = Context(seed, as_of, ZoneInfo("Australia/Sydney"), {}, lambda *stored: None)
    contacts, clients, staff = (context.make_series(name, 60) for name in ("contacts", "clients", "staff"))
    categories = SupportCategory.objects.values_list("number", "pk", "support_purpose")
    found = {number: (key, purpose) for number, key, purpose in categories}
    around = rows.Around(contacts, clients, staff, people.account_managers(60), found)
    return list(rows.plans(context, around))


def test_the_same_seed_and_day_draw_the_same_plans_and_another_seed_others():
    assert drawn() == drawn()
    assert drawn(seed=2) != drawn()


@pytest.mark.parametrize("as_of", [dt.date(2025, 7, 1), dt.date(2024, 12, 31), DAY])
def test_every_booking_has_a_number_of_its_own_even_where_two_plans_begin_in_one_year(as_of):
    numbers = [row["booking_number"] for each in drawn(as_of=as_of) for row in each.bookings]
    assert numbers
    assert len(set(numbers)) == len(numbers)


def test_without_participants_there_are_no_plans():
    context = Context(1, DAY, ZoneInfo("Australia/Sydney"), {}, lambda *stored: None)
    context.make_series("contacts", 0)
    context.make_series("clients", 1)
    context.make_series("staff", 1)
    load(context)
    assert not ClientEngagement.objects.exists()
