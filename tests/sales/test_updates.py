"""Existing opportunities change by the same rules: stages, follow-ups, imports."""

import datetime as dt

import pytest

from apps.base import clock
from apps.base.drafts import Draft, ValidationFailed
from apps.core.models import Change
from apps.sales.models import Opportunity
from apps.sales.services import change_stage, complete_follow_up, update_opportunities
from tests.people.builders import a_staff_member, a_team
from tests.sales.builders import (
    a_reason,
    a_result_body,
    a_stage,
    an_opportunity,
    by_key,
    in_days,
    posted,
    the_result,
)

pytestmark = pytest.mark.django_db


def update(record, **values):
    changed = update_opportunities([Draft(values, given=values, key=record.pk)])
    record.refresh_from_db()
    return changed


def overdue(record, person):
    """As time passes: yesterday somebody should have followed up."""
    columns = {"follow_up_date": clock.today() - dt.timedelta(days=1), "follow_up_staff": person}
    Opportunity.objects.filter(pk=record.pk).update(**columns)
    return record


def a_lost_opportunity():
    body = a_result_body(Outcome="SaleUnsuccessful", OutcomeReason=[by_key("OutcomeReasonId", a_reason())])
    return Opportunity.objects.get(pk=posted("opportunity", body)[0])


def test_an_opportunity_that_reaches_the_result_is_deferred():
    record = an_opportunity()
    change_stage(record, the_result())
    record.refresh_from_db()
    assert (record.stage, record.outcome, record.outcome_date) == (the_result(), "Deferred", None)


def test_an_opportunity_that_leaves_the_result_has_no_outcome():
    record = a_lost_opportunity()
    change_stage(record, a_stage())
    record.refresh_from_db()
    assert (record.outcome, record.outcome_date, record.outcome_moment) == (None, None, None)
    assert not record.outcome_reasons.exists()


def test_a_move_is_written_to_the_history():
    record, stage = an_opportunity(), a_stage()
    change_stage(record, stage)
    change = Change.objects.filter(record_key=str(record.pk), kind="Changed").get()
    assert change.differences == {"stage_id": [record.stage_id, stage.pk]}


def test_a_move_to_the_same_stage_changes_nothing():
    record = an_opportunity()
    change_stage(record, record.stage)
    assert not Change.objects.filter(record_key=str(record.pk), kind="Changed").exists()


def test_another_outcome_drops_the_reasons_of_the_first():
    record = a_lost_opportunity()
    assert update(record, outcome="SaleSuccessful") == [record.pk]
    assert record.outcome == "SaleSuccessful"
    assert not record.outcome_reasons.exists()


def test_a_first_outcome_of_today_keeps_its_date():
    record = an_opportunity()
    change_stage(record, the_result())
    midnight = clock.start_of_day(clock.today())
    update(record, outcome="SaleSuccessful", outcome_moment=midnight)
    record.refresh_from_db()
    assert (record.outcome, record.outcome_moment) == ("SaleSuccessful", midnight)


def test_a_date_that_passed_is_no_fault_until_it_is_set_anew():
    record = overdue(an_opportunity(), a_staff_member())
    passed = clock.today() - dt.timedelta(days=1)
    assert update(record, name="Another name", follow_up_date=passed) == [record.pk]
    with pytest.raises(ValidationFailed) as refused:
        update(record, follow_up_date=passed - dt.timedelta(days=1))
    assert [finding.code for _, finding in refused.value.issues] == ["MustBeFuture"]


def test_rules_judge_the_whole_record_after_the_change():
    record = an_opportunity()
    owner = a_staff_member(Teams=[by_key("TeamId", a_team())])
    with pytest.raises(ValidationFailed) as refused:
        update(record, owner=owner)
    assert [finding.field for _, finding in refused.value.issues] == ["team"]


def test_a_completed_follow_up_needs_no_staff_member():
    record = overdue(an_opportunity(), a_staff_member())
    complete_follow_up(record, None)
    record.refresh_from_db()
    assert (record.follow_up_date, record.follow_up_staff) == (None, None)


def test_a_follow_up_can_be_done_with_the_next_one_set():
    person = a_staff_member()
    record = overdue(an_opportunity(), person)
    complete_follow_up(record, in_days(7))
    record.refresh_from_db()
    assert (record.follow_up_date, record.follow_up_staff) == (in_days(7), person)
    with pytest.raises(ValidationFailed):
        complete_follow_up(record, in_days(0))


def test_updates_of_many_take_the_queries_of_a_few(django_assert_max_num_queries):
    records = [an_opportunity() for _ in range(8)]
    result = the_result()
    drafts = [Draft({"stage": result}, given=["stage"], key=record.pk) for record in records]
    with django_assert_max_num_queries(12):
        assert len(update_opportunities(drafts)) == 8
