"""The demo's sales: a living pipeline that keeps every rule."""

import io

import pytest
from django.core.management import call_command
from django.db import connection

from apps.core.models import Change, Subscriber
from apps.odata.write.drafts import Draft, apply_rules
from apps.people.models import Staff
from apps.sales import pipeline
from apps.sales.models import Opportunity, OpportunityStage, OpportunityTemplate
from apps.sales.validation import FUTURE_DATES, OPPORTUNITY_RULES, TEMPLATE_RULES

pytestmark = pytest.mark.django_db

SUNDAY = 6


def load(*words):
    few = ("--clients", "8", "--staff", "14", "--contacts", "45", "--opportunities", "240")
    call_command("load_demo", *few, *words, stdout=io.StringIO())


def drafts_of(model):
    """The records as the verbs see them; no date is given, for each lay ahead only when it was set."""
    for record in model.objects.all():
        values = {field.name: getattr(record, field.name) for field in model._meta.concrete_fields}
        values |= {field.name: list(getattr(record, field.name).all()) for field in model._meta.many_to_many}
        yield Draft(values, key=record.pk)


def test_every_opportunity_and_template_keeps_every_rule():
    load()
    assert list(apply_rules(list(drafts_of(Opportunity)), OPPORTUNITY_RULES)) == []
    assert list(apply_rules(list(drafts_of(OpportunityTemplate)), TEMPLATE_RULES)) == []
    connection.check_constraints()


def test_dates_ahead_lay_ahead_when_the_opportunity_was_made():
    load()
    zone = Subscriber.current().zone
    for record in Opportunity.objects.all():
        made = record.creation_date.astimezone(zone).date()
        for name in FUTURE_DATES:
            day = getattr(record, name)
            assert day is None or day > made, (record.pk, name)
        if record.outcome_moment is not None:
            assert record.creation_date <= record.outcome_moment <= record.modify_date
            assert record.outcome_date == record.outcome_moment.astimezone(zone).date()


@pytest.mark.parametrize("weekday", range(7))
def test_follow_ups_are_due_on_every_day_of_the_week(at, weekday):
    at(f"2026-06-{22 + weekday} 10:00")
    load()
    overdue, today, later = pipeline.follow_up_periods(None)
    assert overdue.count
    assert today.count
    assert bool(later.count) == (weekday != SUNDAY)  # a week ends on Sunday


def test_a_first_look_shows_a_living_office():
    load()
    assert all(column.count for column in pipeline.stage_columns(pipeline.current_opportunities()))
    total = pipeline.load_funnel(None).total
    assert total.won > total.lost > 0
    assert total.deferred > 0
    assert OpportunityStage.objects.filter(is_result=True).count() == 1
    made = Opportunity.objects
    assert made.filter(template=None).exists()
    assert made.exclude(template=None).exists()
    assert made.filter(owner__in=Staff.objects.filter(teams=None)).exists()
    assert made.filter(team__isnull=False).exists()
    assert made.exclude(outcome_reasons=None).exists()
    assert made.filter(archive_date__isnull=False).exists()


def test_every_opportunity_has_its_line_in_the_history():
    load()
    lines = Change.objects.filter(record_type="sales.opportunity", kind="Created")
    assert lines.count() == Opportunity.objects.count() == 240


def test_the_numbers_go_on_after_the_demo():
    load("--as-of", "2026-07-01")
    last = Opportunity.objects.order_by("-id").values_list("id", flat=True)[0]
    any_one = Opportunity.objects.first()
    fresh = Opportunity.objects.create(name="New", owner=any_one.owner, stage=any_one.stage)
    assert fresh.pk > last


def test_a_demo_without_opportunities_has_its_lists():
    load("--opportunities", "0", "--contacts", "0")
    assert not Opportunity.objects.exists()
    assert OpportunityTemplate.objects.exists()
