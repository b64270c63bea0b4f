"""What the interface refuses of opportunities, and what it fills in (interface.md 2.7, 4.7)."""

import datetime as dt

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.base import clock
from apps.sales.choices import Outcome
from apps.sales.models import Opportunity
from tests.people.builders import a_staff_member, a_team
from tests.sales.builders import (
    a_reason,
    a_result_body,
    a_stage,
    a_type,
    an_opportunity,
    an_opportunity_body,
    by_key,
    in_days,
    posted,
    set_up,
    the_result,
)

pytestmark = pytest.mark.django_db
REFERRER = ("ReferrerEmail", "ReferrerFirstName", "ReferrerLastName", "ReferrerOrganisation")


def stored(body):
    return Opportunity.objects.get(pk=posted("opportunity", body)[0])


def local(**ago):
    """A moment so long ago in local time, with its offset: in one night a year an hour comes twice."""
    return timezone.localtime(clock.now() - dt.timedelta(**ago)).isoformat()


def test_name_owner_and_stage_are_required_at_once(refused):
    assert refused({"Source": "Other"}) == [
        ("Required", "Name"),
        ("Required", "OpportunityOwner"),
        ("Required", "Stage"),
    ]


@pytest.mark.parametrize("source", [None, "Referral"])
def test_details_need_a_source_that_is_no_referral(refused, source):
    body = an_opportunity_body(Source=source, SourceDetails="At the fair")
    assert refused(body) == [("NotAllowed", "SourceDetails")]
    assert refused({**body, "Source": "MarketingEvent"}) == []


@pytest.mark.parametrize("source", [None, "Training"])
def test_a_referrer_is_allowed_for_referrals_only(refused, source):
    given = dict(zip(REFERRER, ("rosa@example.org", "Rosa", "De Luca", "Two Creeks"), strict=True))
    body = an_opportunity_body(Source=source, **given)
    assert refused(body) == [("NotAllowed", name) for name in REFERRER]
    assert refused({**body, "Source": "Referral"}) == []


@pytest.mark.parametrize("member", ["SourceDetails", *REFERRER])
def test_an_unavailable_member_may_be_null(refused, member):
    assert refused(an_opportunity_body(**{member: None})) == []


def test_texts_have_their_lengths(refused):
    body = an_opportunity_body(Source="Other")
    assert refused({**body, "Name": "é" * 100, "SourceDetails": "é" * 90}) == []
    assert refused({**body, "Name": "é" * 101, "SourceDetails": "é" * 91}) == [
        ("TooLong", "Name"),
        ("TooLong", "SourceDetails"),
    ]
    referral = {**body, "Source": "Referral"}
    names = REFERRER[1:]
    assert refused({**referral, **dict.fromkeys(names, "x" * 90)}) == []
    assert refused({**referral, **dict.fromkeys(names, "x" * 91)}) == [("TooLong", name) for name in names]
    assert refused({**referral, "ReferrerEmail": "nobody"}) == [("InvalidEmail", "ReferrerEmail")]


@pytest.mark.parametrize(
    ("chance", "fault"), [("0", []), ("100.00", []), ("-0.01", ["OutOfRange"]), ("100.01", ["OutOfRange"])]
)
def test_a_chance_is_a_percentage(refused, chance, fault):
    found = refused(an_opportunity_body(ChanceOfSales=chance))
    assert found == [(code, "ChanceOfSales") for code in fault]


# --- the outcome ----------------------------------------------------------------------------------------


def test_an_outcome_is_allowed_in_the_result_stage_only(refused):
    body = an_opportunity_body(
        Outcome="SaleUnsuccessful",
        OutcomeDate="2026-01-31",
        OutcomeReason=[by_key("OutcomeReasonId", a_reason())],
    )
    assert refused(body) == [
        ("NotAllowed", "Outcome"),
        ("NotAllowed", "OutcomeDate"),
        ("NotAllowed", "OutcomeReason[0]/OutcomeReasonId"),
    ]


@pytest.mark.parametrize("given", [{}, {"Outcome": None}])
def test_the_default_outcome_in_the_result_stage_is_deferred(given):
    record = stored(a_result_body(**given))
    assert (record.outcome, record.outcome_date, record.outcome_moment) == ("Deferred", None, None)


def test_an_opportunity_on_its_way_has_no_outcome():
    record = stored(an_opportunity_body())
    assert (record.outcome, record.outcome_date, record.add_e_marketing_contact_list) == (None, None, None)


def test_a_deferred_opportunity_has_no_outcome_date(refused):
    assert refused(a_result_body(OutcomeDate="2026-01-31")) == [("NotAllowed", "OutcomeDate")]


@pytest.mark.parametrize("outcome", ["SaleSuccessful", "SaleUnsuccessful"])
def test_the_default_date_of_a_decision_is_now(outcome):
    record = stored(a_result_body(Outcome=outcome))
    assert record.outcome_moment == clock.now()
    assert record.outcome_date == clock.today()


def test_an_outcome_date_lies_in_the_past_to_the_minute(refused):
    body = a_result_body(Outcome="SaleSuccessful")
    assert refused({**body, "OutcomeDate": local(minutes=1)}) == []
    assert refused({**body, "OutcomeDate": local(minutes=-1)}) == [("MustBePast", "OutcomeDate")]
    assert refused({**body, "OutcomeDate": in_days(0).isoformat()}) == []
    assert refused({**body, "OutcomeDate": in_days(1).isoformat()}) == [("MustBePast", "OutcomeDate")]


@pytest.mark.parametrize(
    ("given", "day"),
    [("2026-02-28T13:30:00Z", 1), ("2026-02-28T23:30:00+11:00", 28), ("2026-02-28 23:30:00", 28)],
)
def test_an_outcome_date_is_the_day_it_was_for_the_subscriber(given, day):
    assert stored(a_result_body(Outcome="SaleSuccessful", OutcomeDate=given)).outcome_date.day == day


def test_a_reason_belongs_to_its_outcome(refused):
    lost, won = a_reason(Outcome.SALE_UNSUCCESSFUL), a_reason(Outcome.SALE_SUCCESSFUL)
    reasons = [by_key("OutcomeReasonId", lost), by_key("OutcomeReasonId", won)]
    body = a_result_body(Outcome="SaleUnsuccessful", OutcomeReason=reasons)
    assert refused(body) == [("NotAllowed", "OutcomeReason[1]/OutcomeReasonId")]
    record = stored({**body, "OutcomeReason": reasons[:1]})
    assert list(record.outcome_reasons.all()) == [lost]


@pytest.mark.parametrize(
    ("module", "members", "available"),
    [
        (True, {"Outcome": "Deferred"}, True),
        (True, {"Outcome": "SaleUnsuccessful"}, True),
        (True, {"Outcome": "SaleSuccessful"}, False),
        (False, {"Outcome": "Deferred"}, False),
    ],
)
def test_the_mailing_list_needs_the_module_and_a_sale_not_made(refused, module, members, available):
    set_up(email_marketing_module=module)
    body = a_result_body(**members)
    found = refused({**body, "AddEMarketingContactList": True})
    assert found == ([] if available else [("NotAllowed", "AddEMarketingContactList")])
    for left_open in ({}, {"AddEMarketingContactList": None}, {"AddEMarketingContactList": False}):
        record = stored({**body, **left_open})
        assert record.add_e_marketing_contact_list is (False if available else None)


def test_the_mailing_list_is_not_available_on_the_way(refused):
    set_up(email_marketing_module=True)
    body = an_opportunity_body(AddEMarketingContactList=True)
    assert refused(body) == [("NotAllowed", "AddEMarketingContactList")]


# --- dates ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("member", ["ExpiryDate", "FollowUpDate", "ExpectedDate"])
def test_dates_ahead_lie_after_today(refused, member):
    body = an_opportunity_body(FollowUpStaff=by_key("StaffGuid", a_staff_member()))
    for days in (-1, 0):
        assert refused({**body, member: in_days(days).isoformat()}) == [("MustBeFuture", member)]
    assert refused({**body, member: in_days(1).isoformat()}) == []


def test_today_is_the_subscribers_day(refused, monkeypatch):
    """At 13:30 in Greenwich it is past midnight in Sydney in summer."""
    monkeypatch.setattr(timezone, "now", lambda: dt.datetime(2026, 1, 31, 13, 30, tzinfo=dt.UTC))
    clock.reset_now()
    assert refused(an_opportunity_body(ExpiryDate="2026-02-01")) == [("MustBeFuture", "ExpiryDate")]
    assert refused(an_opportunity_body(ExpiryDate="2026-02-02")) == []
    with timezone.override("Australia/Perth"):
        assert refused(an_opportunity_body(ExpiryDate="2026-02-01")) == []


def test_a_follow_up_needs_somebody(refused):
    body = an_opportunity_body(FollowUpDate=in_days(3).isoformat())
    assert refused(body) == [("Required", "FollowUpStaff")]


# --- owners, teams and lists ----------------------------------------------------------------------------


def test_a_team_is_required_of_an_owner_who_has_one(refused):
    owner = a_staff_member(Teams=[by_key("TeamId", a_team())])
    body = an_opportunity_body(owner=owner)
    assert refused(body) == [("Required", "Team")]
    assert refused({**body, "Team": by_key("TeamId", a_team())}) == []
    set_up(team_on_opportunities=False)
    assert refused(body) == []


def test_a_team_that_is_archived_asks_for_none(refused):
    team = a_team()
    owner = a_staff_member(Teams=[by_key("TeamId", team)])
    team.archive_date = clock.now()
    team.save()
    assert refused(an_opportunity_body(owner=owner)) == []


def test_archived_entries_of_lists_are_refused(refused):
    archived = {"archive_date": clock.now()}
    body = a_result_body(
        Outcome="SaleUnsuccessful",
        Team=by_key("TeamId", a_team(**archived)),
        Type=by_key("TypeId", a_type(**archived)),
        OutcomeReason=[by_key("OutcomeReasonId", a_reason(**archived))],
    )
    assert sorted(refused(body)) == [
        ("Archived", "OutcomeReason[0]/OutcomeReasonId"),
        ("Archived", "Team/TeamId"),
        ("Archived", "Type/TypeId"),
    ]
    stage = by_key("StageId", a_stage(**archived))
    assert refused({**an_opportunity_body(), "Stage": stage}) == [("Archived", "Stage/StageId")]


def test_a_hundred_opportunities_cost_the_queries_of_one(django_assert_max_num_queries):
    owner = a_staff_member(Teams=[by_key("TeamId", a_team())])
    body = {**a_result_body(owner=owner), "Team": by_key("TeamId", a_team())}
    posted("opportunity", body)  # what is read once
    with django_assert_max_num_queries(12):
        keys = posted("opportunity", *[body] * 100)
    assert keys == sorted(set(keys))


def test_the_database_has_constraints_besides_the_rules():
    record = an_opportunity()
    wrong = (
        {"chance_of_sales": 101},
        {"source_details": "At the fair"},
        {"referrer_email": "rosa@example.org"},
        {"outcome_date": dt.date(2026, 1, 31)},
        {"outcome": "SaleSuccessful"},
        {"add_e_marketing_contact_list": True},
        {"follow_up_date": dt.date(2026, 1, 31)},
    )
    for columns in wrong:
        with pytest.raises(IntegrityError), transaction.atomic():
            Opportunity.objects.filter(pk=record.pk).update(**columns)
    the_result()
    with pytest.raises(IntegrityError), transaction.atomic():
        a_stage(is_result=True)
