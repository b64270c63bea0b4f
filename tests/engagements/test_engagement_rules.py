"""What must be true of plans, and what is seldom meant (apps/engagements/validation.py)."""

from decimal import Decimal

import pytest

from apps.base import clock
from apps.engagements.services import load_engagement_context
from apps.engagements.validation import ENGAGEMENT_RULES as RULES
from apps.engagements.validation import ENGAGEMENT_WARNINGS as WARNINGS
from apps.people.models import Contact
from tests.engagements.builders import END, START, a_booking, a_plan, a_plan_draft, day, found
from tests.people.records import a_contact


def test_an_ordinary_plan_breaks_no_rule_and_warns_of_nothing():
    draft = a_plan_draft(total_budget_amount=Decimal("0.00"))
    assert found(RULES, draft) == found(WARNINGS, draft) == []


def test_a_plan_may_last_a_single_day_and_not_less():
    assert found(RULES, a_plan_draft(plan_end_date=START)) == []
    assert found(RULES, a_plan_draft(plan_end_date=day("2026-06-30"))) == [("OutOfOrder", "plan_end_date")]


def test_bookings_do_not_end_before_they_start():
    dates = {"booking_start_date": END, "booking_end_date": START}
    assert found(RULES, a_plan_draft(**dates)) == [("OutOfOrder", "booking_end_date")]


def test_a_budget_is_not_negative():
    draft = a_plan_draft(total_budget_amount=Decimal("-0.01"))
    assert found(RULES, draft) == [("OutOfRange", "total_budget_amount")]


def test_only_pace_plans_are_endorsed():
    assert found(RULES, a_plan_draft(endorsement_date=START)) == [("NotAllowed", "endorsement_date")]
    assert found(RULES, a_plan_draft(endorsement_date=START, participant_type="PACE")) == []


def test_nobody_coordinates_their_own_supports():
    one = Contact(first_name="Mia", last_name="N")
    draft = a_plan_draft(participant=one, support_coordinator=Contact(pk=one.pk))
    assert found(RULES, draft) == [("NotAllowed", "support_coordinator")]
    assert found(RULES, a_plan_draft(participant=one, support_coordinator=Contact())) == []


@pytest.mark.parametrize(
    ("members", "place"),
    [
        ({"booking_start_date": day("2026-06-30")}, "booking_start_date"),
        ({"booking_end_date": day("2027-07-01")}, "booking_end_date"),
        ({"plan_commencement_date": day("2027-07-01")}, "plan_commencement_date"),
        ({"no_active_plan_from_date": START}, "no_active_plan_from_date"),
    ],
)
def test_dates_outside_the_plan_are_warned_of(members, place):
    assert found(WARNINGS, a_plan_draft(**members)) == [("OutsidePlan", place)]


def test_dates_on_the_plans_first_and_last_day_are_within_it():
    dates = {"booking_start_date": START, "booking_end_date": END, "plan_commencement_date": END}
    assert found(WARNINGS, a_plan_draft(**dates)) == []


def test_a_plan_that_nobody_manages_is_warned_of():
    assert found(WARNINGS, a_plan_draft(is_plan_managed=False)) == [("NoManagement", "is_plan_managed")]
    assert found(WARNINGS, a_plan_draft(is_plan_managed=False, is_self_managed=True)) == []


def warnings(draft):
    """The warnings of a draft for which the service has loaded the context."""
    load_engagement_context([draft])
    return found(WARNINGS, draft)


@pytest.mark.django_db
class TestOverlaps:
    OVERLAP = [("PlansOverlap", "plan_start_date")]

    def draft(self, plan, first, last, **members):
        dates = {"plan_start_date": day(first), "plan_end_date": day(last)}
        return a_plan_draft(participant=plan.participant, **dates, **members)

    @pytest.mark.parametrize(
        ("first", "last", "overlaps"),
        [
            ("2027-07-01", "2028-06-30", False),
            ("2027-06-30", "2028-06-30", True),
            ("2025-07-01", "2026-06-30", False),
            ("2025-07-01", "2026-07-01", True),
            ("2026-12-01", "2026-12-31", True),
        ],
    )
    def test_two_plans_of_a_participant_that_share_a_day_are_warned_of(self, first, last, overlaps):
        draft = self.draft(a_plan(), first, last)
        assert warnings(draft) == (self.OVERLAP if overlaps else [])

    def test_a_plan_does_not_overlap_one_that_became_inactive_before(self):
        plan = a_plan(no_active_plan_from_date=day("2026-12-01"))
        assert warnings(self.draft(plan, "2026-12-01", "2027-11-30")) == []
        assert warnings(self.draft(plan, "2026-11-30", "2027-11-29")) == self.OVERLAP

    def test_a_plan_does_not_overlap_one_that_was_never_active(self):
        plan = a_plan(no_active_plan_from_date=day("0001-01-01"))
        assert warnings(self.draft(plan, "2026-12-01", "2026-12-31")) == []

    def test_an_archived_plan_and_other_peoples_are_not_in_the_way(self):
        plan = a_plan(archive_date=clock.now())
        a_plan()
        assert warnings(self.draft(plan, "2026-12-01", "2026-12-31")) == []

    def test_a_plan_does_not_overlap_itself(self):
        plan = a_plan()
        draft = self.draft(plan, "2026-07-01", "2027-07-01", key=plan.pk)
        assert warnings(draft) == []


@pytest.mark.django_db
def test_a_budget_below_what_is_allocated_is_warned_of():
    plan = a_plan()
    a_booking(plan, budget=Decimal("600.00"))
    a_booking(plan, category=4, budget=Decimal("400.00"))
    for total, expected in (("1000.00", []), ("999.99", [("OverAllocated", "total_budget_amount")])):
        draft = a_plan_draft(key=plan.pk, total_budget_amount=Decimal(total))
        assert warnings(draft) == expected


@pytest.mark.django_db
def test_the_context_of_warnings_takes_two_queries_for_any_number_of_plans(django_assert_num_queries):
    drafts = [a_plan_draft(participant=a_contact(), key=a_plan().pk) for _ in range(7)]
    with django_assert_num_queries(2):
        load_engagement_context(drafts)
    with django_assert_num_queries(0):
        assert [found(WARNINGS, draft) for draft in drafts] == [[]] * 7
