"""Opportunities, templates and their lists, with the fewest members; arguments replace or add members."""

import datetime as dt

from django.utils import timezone

from apps.core.models import Subscriber
from apps.sales.choices import Outcome
from apps.sales.models import (
    Opportunity,
    OpportunityOutcomeReason,
    OpportunityStage,
    OpportunityTemplate,
    OpportunityType,
)
from tests.people.builders import a_lookup, a_staff_member, posted


def a_stage(**columns):
    return a_lookup(OpportunityStage, **columns)


def the_result():
    """The stage that is the result; there is one."""
    return OpportunityStage.objects.filter(is_result=True).first() or a_stage(name="Result", is_result=True)


def a_type(**columns):
    return a_lookup(OpportunityType, **columns)


def a_reason(outcome=Outcome.SALE_UNSUCCESSFUL, **columns):
    return a_lookup(OpportunityOutcomeReason, outcome=outcome.value, **columns)


def a_template(**columns):
    return a_lookup(OpportunityTemplate, **columns)


def an_opportunity_body(owner=None, stage=None, **members):
    """``owner`` and ``stage`` are records; an owner in no team unless given."""
    return {
        "Name": "New participant at Harbour Lights",
        "OpportunityOwner": by_key("StaffGuid", owner or a_staff_member()),
        "Stage": by_key("StageId", stage or a_stage()),
        **members,
    }


def a_result_body(**members):
    return an_opportunity_body(stage=the_result(), **members)


def an_opportunity(**members):
    return Opportunity.objects.get(pk=posted("opportunity", an_opportunity_body(**members))[0])


def by_key(name, record):
    return {name: record.pk if isinstance(record.pk, int) else str(record.pk)}


def in_days(days):
    """A day so many days after today in Sydney."""
    return timezone.localdate() + dt.timedelta(days=days)


def set_up(**settings):
    """Change the subscriber's settings."""
    subscriber = Subscriber.objects.filter(pk=1).first() or Subscriber()
    for name, value in settings.items():
        setattr(subscriber, name, value)
    subscriber.save()
