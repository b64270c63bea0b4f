"""Services of plans, bookings and budgets (apps/engagements/services.py)."""

import datetime as dt
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from apps.base import clock
from apps.base.drafts import Draft, ValidationFailed, WarningsPresent
from apps.core.models import Change
from apps.engagements.choices import CATEGORIES, category_guid
from apps.engagements.drafts import (
    BookingDraft,
    ComponentDraft,
    PeriodDraft,
    PeriodsDraft,
    WholeComponentDraft,
)
from apps.engagements.models import (
    CategoryBudget,
    ClientEngagement,
    ServiceBooking,
    SupportCategory,
    support_item,
)
from apps.engagements.services import (
    archive_engagements,
    create_bookings,
    create_category_budgets,
    create_engagements,
    create_support_categories,
    delete_budget,
    save_components,
    save_periods,
    update_bookings,
    update_components,
    update_engagements,
)
from tests.engagements.builders import (
    END,
    START,
    a_booking,
    a_category,
    a_category_budget,
    a_pace_plan,
    a_plan,
    day,
)
from tests.engagements.test_component_races import a_new_component
from tests.people.records import a_contact

pytestmark = pytest.mark.django_db


def a_new_draft(**values):
    return Draft(values, values)


def codes(refusal):
    return [(issue.code, issue.field) for _, issue in refusal.value.issues]


def test_of_a_plan_that_is_archived_already_nobody_is_asked_again():
    plan = a_plan(archive_date=clock.now())
    a_booking(plan, waiting=Decimal("5.00"))
    assert archive_engagements(ClientEngagement.objects.filter(pk=plan.pk)) == 0


def test_a_plan_is_stored_with_the_model_defaults_of_missing_members():
    draft = a_new_draft(participant=a_contact(), plan_start_date=START, plan_end_date=END)
    for name in ("booking_start_date", "booking_end_date", "support_coordinator"):
        draft.fill(name, None)
    (key,) = create_engagements([draft], ignore_warnings=True)
    plan = ClientEngagement.objects.get(pk=key)
    assert (plan.participant_type, plan.total_budget_amount) == ("Agency", Decimal("0.00"))
    assert Change.objects.filter(record_key=str(key), kind="Created").count() == 1


def test_a_plan_with_warnings_is_stored_when_they_are_ignored():
    def draft():
        return a_new_draft(participant=contact, plan_start_date=START, plan_end_date=END)

    contact = a_contact()
    with pytest.raises(WarningsPresent) as refusal:
        create_engagements([draft()])
    assert codes(refusal) == [("NoManagement", "is_plan_managed")]
    assert not ClientEngagement.objects.exists()
    create_engagements([draft()], ignore_warnings=True)
    assert ClientEngagement.objects.count() == 1


@pytest.mark.parametrize("changed", ["participant", "participant_type"])
def test_a_plan_keeps_its_participant_and_type(changed):
    plan = a_plan()
    values = {"participant": a_contact(), "participant_type": "PACE"}
    draft = Draft({changed: values[changed]}, given=[changed], key=plan.pk)
    with pytest.raises(ValidationFailed) as refusal:
        update_engagements([draft], ignore_warnings=True)
    assert codes(refusal) == [("NotAllowed", changed)]
    same = {"participant": plan.participant, "participant_type": plan.participant_type}
    assert update_engagements([Draft(same, given=same, key=plan.pk)], ignore_warnings=True) == []


def test_a_budget_that_money_is_claimed_on_is_not_deleted():
    booking = a_booking(waiting=Decimal("0.01"))
    with pytest.raises(ValidationFailed, match="Money was claimed on"):
        delete_budget(booking)
    assert ServiceBooking.objects.filter(pk=booking.pk).exists()


def test_two_plans_of_a_participant_do_not_start_on_one_day():
    plan = a_plan()
    with pytest.raises(ValidationFailed) as refusal:
        create_engagements(
            [a_new_draft(participant=plan.participant, plan_start_date=START, plan_end_date=START)]
        )
    assert codes(refusal) == [("NotUnique", "plan_start_date")]
    draft = a_new_draft(participant=a_contact(), plan_start_date=START, plan_end_date=START)
    create_engagements([draft], ignore_warnings=True)


def test_a_pace_plan_may_start_with_the_plan_that_it_replaces():
    plan = a_plan()
    assert a_pace_plan(participant=plan.participant).pk


def test_the_history_of_a_plan_has_the_old_and_the_new_value():
    plan = a_plan(total_budget_amount=Decimal("10.00"))
    assert (
        update_engagements(
            [Draft({"total_budget_amount": Decimal("10.00")}, ["total_budget_amount"], key=plan.pk)]
        )
        == []
    )
    draft = Draft({"total_budget_amount": Decimal("12.00")}, ["total_budget_amount"], key=plan.pk)
    assert update_engagements([draft]) == [plan.pk]
    line = Change.objects.filter(record_key=str(plan.pk), kind="Changed").get()
    assert line.differences == {"total_budget_amount": ["10.00", "12.00"]}


def test_a_changed_plan_is_validated_as_a_whole():
    plan = a_plan()
    with pytest.raises(ValidationFailed) as refusal:
        update_engagements([Draft({"plan_end_date": day("2026-06-01")}, ["plan_end_date"], key=plan.pk)])
    assert codes(refusal) == [("OutOfOrder", "plan_end_date")]


def test_booking_numbers_are_unique_without_regard_to_case_and_blanks():
    a_booking(booking_number="SB-1")
    draft = a_new_draft(
        engagement=a_plan(), support_purpose="Core", category=a_category(1), booking_number=" sb-1 "
    )
    with pytest.raises(ValidationFailed) as refusal:
        create_bookings([draft])
    assert codes(refusal) == [("NotUnique", "booking_number")]


def test_a_changed_booking_is_validated_with_its_plan_and_category():
    booking = a_booking(category=15)
    with pytest.raises(ValidationFailed) as refusal:
        update_bookings([Draft({"support_purpose": "Core"}, ["support_purpose"], key=booking.pk)])
    assert codes(refusal) == [("PurposeDiffers", "support_purpose")]
    draft = Draft({"budget": Decimal("7.00")}, ["budget"], key=booking.pk)
    assert update_bookings([draft]) == [booking.pk]
    booking.refresh_from_db()
    assert booking.budget == Decimal("7.00")


def test_a_category_has_one_budget_in_a_pace_plan():
    plan, category = a_pace_plan(), a_category(16)
    create_category_budgets([a_component(plan, category, budget=Decimal("5.00"))])
    with pytest.raises(ValidationFailed) as refusal:
        create_category_budgets([a_component(plan, category, budget=Decimal("6.00"))])
    assert codes(refusal) == [("NotUnique", "category")]
    assert CategoryBudget.objects.get().budget == Decimal("5.00")


def a_component(plan, category, **values):
    left_out = dict.fromkeys(("component_name", "further_categories", "stated_items"))
    values = {"engagement": plan, "category": category, **left_out, **values}
    return ComponentDraft(values, values)


def test_a_support_is_in_one_component_of_a_plan():
    plan = a_pace_plan()
    flexible = a_component(plan, a_category(1), component_name="Flexible core", further_categories="02 03 04")
    stated = a_component(plan, a_category(16), stated_items="01_832_0115_1_1 01_833_0115_1_1")
    other_stated = a_component(plan, a_category(16), stated_items="01_834_0115_1_1")
    create_category_budgets([flexible, stated, other_stated])
    for taken, found in (
        (a_component(plan, a_category(3)), [("NotUnique", "category")]),
        (a_component(plan, a_category(5), further_categories="04"), [("NotUnique", "further_categories")]),
        (a_component(plan, a_category(16), stated_items="01_833_0115_1_1"), [("NotUnique", "stated_items")]),
        (
            a_component(plan, a_category(5), further_categories="22 x"),
            [("OutOfRange", "further_categories")] * 2,
        ),
        (
            a_component(plan, a_category(5), further_categories="6", stated_items="05_1"),
            [("NotAllowed", "further_categories")],
        ),
    ):
        with pytest.raises(ValidationFailed) as refusal:
            create_category_budgets([taken])
        assert codes(refusal) == found
    create_category_budgets([a_component(plan, a_category(16)), a_component(a_pace_plan(), a_category(3))])


def periods_draft(component, *rows):
    drafted = PeriodsDraft({}, key=component.pk)
    rows = [dict(zip(("first_day", "last_day", "released"), row, strict=True)) for row in rows]
    drafted.fill("periods", [PeriodDraft(row, row) for row in rows])
    return drafted


def stored_periods(component):
    return list(component.periods.values_list("first_day", "last_day", "released"))


def test_periods_are_replaced_as_a_whole_and_their_history_is_the_component_s():
    component = a_category_budget(budget=Decimal("100.00"))
    middle, next_day = dt.date(2026, 12, 31), dt.date(2027, 1, 1)
    halves = (START, middle, Decimal("60.00")), (next_day, END, Decimal("40.00"))
    assert save_periods([periods_draft(component, *halves)]) == [component.pk]
    assert stored_periods(component) == list(halves)
    first = component.periods.first()
    assert save_periods([periods_draft(component, *halves)]) == []
    whole = (START, END, Decimal("100.00"))
    save_periods([periods_draft(component, whole)])
    assert stored_periods(component) == [whole]
    assert component.periods.get().pk == first.pk
    entry = Change.objects.filter(record_key=str(component.pk)).latest("pk")
    assert entry.differences == {
        "Period from 01 Jul 2026": ["60.00 until 31 Dec 2026", "100.00 until 30 Jun 2027"],
        "Period from 01 Jan 2027": ["40.00 until 30 Jun 2027", None],
    }
    save_periods([periods_draft(component)])
    assert stored_periods(component) == []


def test_a_period_may_release_nothing():
    component = a_category_budget(budget=Decimal("100.00"))
    middle, next_day = dt.date(2026, 12, 31), dt.date(2027, 1, 1)
    halves = (START, middle, Decimal("0.00")), (next_day, END, Decimal("100.00"))
    save_periods([periods_draft(component, *halves)])
    assert stored_periods(component) == list(halves)


def test_periods_that_leave_days_out_are_refused_and_differences_are_warned_of():
    component = a_category_budget(budget=Decimal("100.00"))
    middle, later = dt.date(2026, 12, 31), dt.date(2027, 1, 2)
    with pytest.raises(ValidationFailed) as refusal:
        save_periods([periods_draft(component, (START, middle, Decimal(-1)), (later, later, Decimal(1)))])
    assert [code for code, _ in codes(refusal)] == ["OutOfOrder", "OutOfRange"]
    with pytest.raises(WarningsPresent) as warned:
        save_periods([periods_draft(component, (START, middle, Decimal("60.00")))])
    assert [issue.message for _, issue in warned.value.issues] == [
        "The periods run from 01 Jul 2026 to 31 Dec 2026, and the plan from 01 Jul 2026 to 30 Jun 2027.",
        "The periods release 60.00, which is 40.00 less than the component's 100.00.",
    ]
    assert stored_periods(component) == []


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: a_plan(plan_end_date=START - dt.timedelta(days=1)),
        lambda: a_plan(total_budget_amount=Decimal("-0.01")),
        lambda: a_booking(budget=Decimal("-0.01")),
        lambda: a_booking(booking_start_date=END, booking_end_date=START),
        lambda: SupportCategory.objects.create(number=22, name="Beyond", support_purpose="Core"),
    ],
)
def test_the_database_has_constraints_besides_the_rules(wrong):
    with pytest.raises(IntegrityError), transaction.atomic():
        wrong()


# --- the scheme's categories


def test_missing_categories_of_the_scheme_are_created_once():
    SupportCategory.objects.filter(number__gt=3).delete()
    assert create_support_categories() == len(CATEGORIES) - 3
    assert create_support_categories() == 0
    assert list(SupportCategory.objects.values_list("number", flat=True)) == list(range(1, 22))


def test_a_category_has_the_same_guid_in_every_installation():
    assert a_category(7).pk == category_guid(7)
    assert str(category_guid(7)) == "e4e7aa83-8dd0-52b4-b263-84567baa3d6f"


@pytest.mark.parametrize(
    ("code", "category", "purpose"),
    [
        ("01_011_0107_1_1", 1, "Core"),
        ("05_222903111_0103_1_2", 5, "Capital"),
        (" 15_056_0128_1_3 ", 15, "Capacity Building"),
    ],
)
def test_the_code_of_an_item_has_its_category_and_purpose(code, category, purpose):
    item = support_item(code)
    assert (item.category, item.purpose) == (category, purpose)


@pytest.mark.parametrize("code", [None, "", "Bereavement", "1_2", "x1_011_0107_1_1", "²1_011"])
def test_a_code_of_another_form_has_no_category(code):
    assert support_item(code) is None


@pytest.mark.parametrize(
    ("service", "draft_class"), [(update_bookings, BookingDraft), (update_components, WholeComponentDraft)]
)
def test_what_was_deleted_meanwhile_is_named(db, service, draft_class):
    draft = draft_class({"budget": Decimal(5)}, given=["budget"], key=uuid4())
    with pytest.raises(ValidationFailed) as failed:
        service([draft])
    assert [(number, issue.code) for number, issue in failed.value.issues] == [(0, "NotFound")]


def test_a_new_component_with_a_warning_is_stored_once_that_is_confirmed(db):
    plan = a_pace_plan()

    def save(**options):
        entered = a_new_component(plan, a_category(15))
        entered.component.fill("used_elsewhere", Decimal(11))
        return save_components(plan.pk, [entered], **options)

    with pytest.raises(WarningsPresent, match="more than the budget of 10"):
        save()
    assert not CategoryBudget.objects.exists()
    assert len(save(ignore_warnings=True)) == 1
