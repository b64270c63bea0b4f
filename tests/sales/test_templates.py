"""Templates fill what a request leaves out, and the request overrides them (interface.md 2.8, 4.7)."""

import datetime as dt
import uuid

import pytest

from apps.base import clock
from apps.base.drafts import Draft
from apps.people.models import Team
from apps.sales.models import Opportunity
from apps.sales.services import update_opportunities
from tests.people.builders import a_staff_member, a_team
from tests.sales.builders import (
    a_stage,
    a_template,
    a_type,
    an_opportunity_body,
    by_key,
    in_days,
    posted,
    the_result,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def template():
    """A template that fills everything."""
    return a_template(
        opportunity_name="Plan management",
        source="SocialMedia",
        source_details="Spring campaign",
        upfront_value_of_sale="100.00",
        chance_of_sales="60.00",
        recurring_annual_value="1200.50",
        expiry_date_interval=90,
        follow_up_date_interval=7,
        owner=a_staff_member(),
        team=a_team(),
        type=a_type(),
        stage=a_stage(),
        follow_up_staff=a_staff_member(),
    )


def made_from(template, **members):
    (key,) = posted("opportunity", {"TemplateGuid": str(template.pk), **members})
    return Opportunity.objects.get(pk=key)


def test_a_template_alone_makes_an_opportunity(template):
    record = made_from(template)
    assert record.name == "Plan management"
    same = ("source", "source_details", "upfront_value_of_sale", "chance_of_sales", "recurring_annual_value")
    same += ("owner_id", "team_id", "type_id", "stage_id", "follow_up_staff_id")
    template.refresh_from_db()
    assert {name: getattr(record, name) for name in same} == {name: getattr(template, name) for name in same}
    assert record.template == template
    assert record.expiry_date == clock.today() + dt.timedelta(days=90)
    assert record.follow_up_date == clock.today() + dt.timedelta(days=7)


def test_what_was_made_from_a_template_changes_whatever_became_of_its_team(template):
    record = made_from(template)
    Team.objects.filter(pk=template.team_id).update(archive_date=clock.now())
    values = {"name": "Another name"}
    update_opportunities([Draft(values, given=values, key=record.pk)])
    record.refresh_from_db()
    assert (record.name, record.team_id) == ("Another name", template.team_id)


def test_members_of_the_request_override_the_template(template):
    owner, stage = a_staff_member(), a_stage()
    record = made_from(
        template,
        Name="Another name",
        ChanceOfSales=0,
        FollowUpDate=in_days(2).isoformat(),
        OpportunityOwner=by_key("StaffGuid", owner),
        Stage=by_key("StageId", stage),
    )
    assert (record.name, record.chance_of_sales, record.owner, record.stage) == (
        "Another name",
        0,
        owner,
        stage,
    )
    assert record.follow_up_date == in_days(2)
    assert record.upfront_value_of_sale == 100  # left out, so the template's


def test_null_is_reported_and_not_filled(template):
    record = made_from(template, UpfrontValueOfSale=None, ExpiryDate=None, Type=None, SourceDetails=None)
    assert (record.upfront_value_of_sale, record.expiry_date) == (None, None)
    assert (record.type, record.source_details) == (None, None)
    assert record.recurring_annual_value is not None


def test_null_for_a_required_member_is_filled_from_the_template(template):
    record = made_from(template, Name=None, Stage=None, OpportunityOwner=None)
    assert (record.name, record.stage, record.owner) == ("Plan management", template.stage, template.owner)


def test_members_unavailable_with_another_source_are_not_filled():
    template = a_template(
        opportunity_name="By word of mouth",
        source="Referral",
        referrer_last_name="De Luca",
        owner=a_staff_member(),
        stage=a_stage(),
    )
    assert made_from(template).referrer_last_name == "De Luca"
    record = made_from(template, Source="Training")
    assert (record.source, record.referrer_last_name) == ("Training", None)


def test_a_template_in_the_result_stage_makes_deferred_opportunities():
    template = a_template(opportunity_name="Late", owner=a_staff_member(), stage=the_result())
    assert made_from(template).outcome == "Deferred"


def test_a_member_of_neither_request_nor_template_is_required(refused):
    assert refused({"TemplateGuid": str(a_template().pk)}) == [
        ("Required", "Name"),
        ("Required", "OpportunityOwner"),
        ("Required", "Stage"),
    ]


def test_rules_apply_to_values_of_the_template(refused, template):
    template.follow_up_staff = None
    template.save()
    assert refused({"TemplateGuid": str(template.pk)}) == [("Required", "FollowUpStaff")]


def test_an_archived_template_is_refused(refused, template):
    template.archive_date = clock.now()
    template.save()
    assert refused({"TemplateGuid": str(template.pk)}) == [("Archived", "TemplateGuid")]


def test_an_unknown_template_is_refused_and_nothing_else_is_blamed(refused):
    assert refused({"TemplateGuid": str(uuid.uuid4())}) == [("NotFound", "TemplateGuid")]
    assert refused({"TemplateGuid": "none"}) == [("InvalidGuid", "TemplateGuid")]


@pytest.mark.parametrize(("column", "place"), [("team", "Team/TeamId"), ("stage", "Stage/StageId")])
def test_archived_entries_of_a_template_are_refused(refused, template, column, place):
    entry = getattr(template, column)
    entry.archive_date = clock.now()
    entry.save()
    assert refused({"TemplateGuid": str(template.pk)}) == [("Archived", place)]


def test_what_was_made_of_a_template_changes_though_an_entry_of_it_is_archived_since(template):
    record = made_from(template)
    for entry in (template.team, template.type, template.stage):
        entry.archive_date = clock.now()
        entry.save()
    update_opportunities([Draft({"name": "Renamed"}, given=["name"], key=record.pk)])
    record.refresh_from_db()
    assert record.name == "Renamed"


def test_many_templates_are_read_at_once(template, django_assert_max_num_queries):
    others = [a_template(opportunity_name="x", owner=template.owner, stage=template.stage) for _ in range(5)]
    bodies = [{"TemplateGuid": str(one.pk)} for one in (template, *others) * 3]
    posted("opportunity", an_opportunity_body())
    with django_assert_max_num_queries(12):
        posted("opportunity", *bodies)
