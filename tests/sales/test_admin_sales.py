"""Opportunities, templates and their lists in the back office."""

import datetime as dt

import pytest

from apps.base import clock
from apps.sales.choices import Outcome
from apps.sales.models import Opportunity, OpportunityStage, OpportunityTemplate
from tests.people.builders import a_staff_member, a_team
from tests.people.records import form_data, get_unrendered, unrendered
from tests.sales.builders import (
    a_reason,
    a_result_body,
    a_stage,
    a_template,
    an_opportunity,
    by_key,
    in_days,
    posted,
    set_up,
    the_result,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada")]
ADD = "/admin/sales/opportunity/add/"


@unrendered()
def add(client, **fields):
    return client.post(ADD, form_data(client.get(ADD), **{"name": "Siblings", **fields}))


@unrendered()
def change(client, record, **fields):
    address = f"/admin/sales/{record._meta.model_name}/{record.pk}/change/"
    return client.post(address, form_data(client.get(address), **fields))


def errors(response):
    return response.context["adminform"].form.errors


def a_lost_opportunity(**members):
    body = a_result_body(
        Outcome="SaleUnsuccessful", OutcomeReason=[by_key("OutcomeReasonId", a_reason())], **members
    )
    return Opportunity.objects.get(pk=posted("opportunity", body)[0])


def test_the_owner_of_a_new_opportunity_is_the_signed_in_person(client, ada):
    stage = a_stage()
    assert add(client, stage=stage.pk).status_code == 302
    record = Opportunity.objects.get()
    assert (record.owner, record.stage, record.outcome) == (ada, stage, None)


def test_the_form_has_the_rules_of_the_interface(client):
    owner = a_staff_member(Teams=[by_key("TeamId", a_team())])
    today = clock.today().strftime("%d/%m/%Y")
    response = add(client, owner=owner.pk, stage=a_stage().pk, follow_up_date=today)
    assert set(errors(response)) == {"team", "follow_up_date", "follow_up_staff"}
    assert not Opportunity.objects.exists()


def test_an_opportunity_with_old_dates_can_still_be_changed(client):
    record = an_opportunity()
    Opportunity.objects.filter(pk=record.pk).update(expiry_date=dt.date(2020, 1, 1))
    assert change(client, record, name="Another name").status_code == 302
    record.refresh_from_db()
    assert record.name == "Another name"
    response = change(client, record, expiry_date="02/01/2020")
    assert "expiry_date" in errors(response)


@pytest.mark.both_engines("stored by statements that no other test has")
def test_an_outcome_date_in_an_hour_that_occurs_twice_can_be_saved(client):
    """2026-04-05 02:30 in Sydney is first in daylight saving time, then in standard time."""
    second = dt.datetime(2026, 4, 4, 16, 30, tzinfo=dt.UTC)
    record = a_lost_opportunity()
    Opportunity.objects.filter(pk=record.pk).update(outcome_moment=second)

    def stored():
        record.refresh_from_db()
        # In UTC: PostgreSQL gives the organisation's time, and Python calls no two zones equal in that hour.
        return record.name, record.outcome_moment.astimezone(dt.UTC)

    assert change(client, record, name="Another name").status_code == 302
    assert stored() == ("Another name", second)
    change(client, record, outcome_moment_1="02:15")
    assert stored() == ("Another name", second - dt.timedelta(minutes=75))


def test_an_outcome_date_that_the_clocks_skip_is_refused(client):
    record = a_lost_opportunity()
    response = change(client, record, outcome_moment_0="04/10/2026", outcome_moment_1="02:30")
    assert "local time that does not exist" in str(errors(response)["outcome_moment"])


def test_leaving_the_result_clears_the_outcome(client):
    record = a_lost_opportunity()
    assert change(client, record, stage=a_stage().pk).status_code == 302
    record.refresh_from_db()
    assert (record.outcome, record.outcome_date, record.outcome_moment) == (None, None, None)
    assert not record.outcome_reasons.exists()


def test_reaching_the_result_defers_and_a_decision_has_a_date(client):
    record, result = an_opportunity(), the_result()
    assert change(client, record, stage=result.pk).status_code == 302
    record.refresh_from_db()
    assert (record.outcome, record.outcome_date) == ("Deferred", None)
    assert change(client, record, outcome="SaleSuccessful").status_code == 302
    record.refresh_from_db()
    assert (record.outcome, record.outcome_date) == ("SaleSuccessful", clock.today())


def test_a_reason_of_another_outcome_is_refused(client):
    record = a_lost_opportunity()
    other = a_reason(Outcome.SALE_SUCCESSFUL)
    response = change(client, record, outcome_reasons=[other.pk])
    assert "outcome_reasons" in errors(response)


def test_what_the_source_makes_unavailable_is_cleared(client):
    record = an_opportunity(Source="Other", SourceDetails="Walked in")
    change(client, record, source="Referral", referrer_last_name="De Luca")
    record.refresh_from_db()
    assert (record.source_details, record.referrer_last_name) == (None, "De Luca")
    change(client, record, source="Training")
    record.refresh_from_db()
    assert (record.source, record.referrer_last_name) == ("Training", None)


@pytest.mark.parametrize("module", [True, False])
def test_the_mailing_list_is_asked_where_the_subscription_has_it(client, module):
    set_up(email_marketing_module=module)
    record = a_lost_opportunity()
    page = get_unrendered(client, f"/admin/sales/opportunity/{record.pk}/change/")
    assert ("add_e_marketing_contact_list" in page.context["adminform"].form.fields) is module
    assert change(client, record, name="x").status_code == 302
    record.refresh_from_db()
    assert record.add_e_marketing_contact_list is (False if module else None)


def test_archived_entries_are_offered_only_where_they_are_chosen(client):
    record, other = an_opportunity(), a_stage()
    for stage in (record.stage, other):
        stage.archive_date = clock.now()
        stage.save()
    page = get_unrendered(client, f"/admin/sales/opportunity/{record.pk}/change/")
    assert list(page.context["adminform"].form.fields["stage"].queryset) == [record.stage]
    assert not get_unrendered(client, ADD).context["adminform"].form.fields["stage"].queryset.exists()


def test_a_form_starts_from_the_template_named(client):
    template = a_template(
        opportunity_name="Expo visitor", stage=a_stage(), source="Training", follow_up_date_interval=7
    )
    page = client.get(ADD, {"template": str(template.pk)})
    data = form_data(page)
    assert (data["name"], data["stage"], data["source"]) == (
        "Expo visitor",
        str(template.stage_id),
        "Training",
    )
    assert data["template"] == str(template.pk)
    assert data["follow_up_date"] == in_days(7).isoformat()
    assert client.get(ADD, {"template": "nonsense"}).status_code == 200


@pytest.mark.both_engines("stored by statements that no other test has")
def test_templates_are_made_changed_and_archived_here(client):
    address = "/admin/sales/opportunitytemplate/add/"
    data = form_data(
        get_unrendered(client, address), name="Expo", source="Referral", referrer_last_name="De Luca"
    )
    assert client.post(address, data).status_code == 302
    record = OpportunityTemplate.objects.get()
    assert change(client, record, source="Training").status_code == 302
    record.refresh_from_db()
    assert (record.source, record.referrer_last_name) == ("Training", None)
    assert "expiry_date_interval" in errors(change(client, record, expiry_date_interval="0"))
    assert "name" in errors(client.post(address, form_data(get_unrendered(client, address), name="EXPO")))
    client.post(f"/admin/sales/opportunitytemplate/{record.pk}/archiving/")
    record.refresh_from_db()
    assert record.is_archived


def test_one_stage_is_the_result(client):
    the_result()
    other = a_stage()
    response = change(client, other, is_result="on")
    assert "Another stage is the result already." in str(errors(response))


def test_whether_a_stage_is_the_result_is_fixed_once_it_has_opportunities(client):
    record = an_opportunity()
    change(client, record.stage, is_result="on", name="Renamed")
    stage = OpportunityStage.objects.get(pk=record.stage_id)
    assert (stage.name, stage.is_result) == ("Renamed", False)


@pytest.mark.both_engines("statements are counted")
def test_the_list_of_opportunities_costs_a_fixed_number_of_queries(client, django_assert_max_num_queries):
    for _ in range(8):
        an_opportunity()
    client.get("/admin/sales/opportunity/")
    with django_assert_max_num_queries(14):
        response = client.get("/admin/sales/opportunity/")
    assert len(response.context["cl"].result_list) == 8
