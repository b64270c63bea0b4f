"""The boards of the back office: the pipeline, the follow-ups, the funnel."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.base import clock
from apps.core.models import Subscriber
from apps.sales import pipeline
from apps.sales.models import Opportunity
from tests.people import records
from tests.people.builders import a_staff_member, a_team
from tests.sales.builders import (
    a_result_body,
    a_stage,
    an_opportunity,
    an_opportunity_body,
    by_key,
    in_days,
    posted,
    the_result,
)

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.both_engines("boards and funnels are counted and summed by statements of their own"),
]
BOARD = "/admin/sales/opportunity/board/"
MOVE = "/admin/sales/opportunity/board/move/"
FOLLOW_UPS = "/admin/sales/opportunity/follow-ups/"
DONE = "/admin/sales/opportunity/follow-ups/done/"
FUNNEL = "/admin/sales/opportunity/funnel/"


@pytest.fixture
def viewer(client):
    """Signed in: somebody who may look, and change nothing."""
    person = records.a_staff_member(role=records.a_role("sales.view_opportunity"))
    client.force_login(person)
    return person


def due(record, person, days):
    """As if it had been agreed some time ago."""
    columns = {"follow_up_date": in_days(days), "follow_up_staff": person}
    Opportunity.objects.filter(pk=record.pk).update(**columns)
    return record


def columns_of(response):
    return {column.stage.name: column for column in response.context["columns"]}


# --- the pipeline ---------------------------------------------------------------------------------------


def test_each_stage_has_its_count_and_sums(client, ada):
    early, late = a_stage(name="Early", position=1), a_stage(name="Late", position=2)
    an_opportunity(stage=early, UpfrontValueOfSale=100, RecurringAnnualValue="50.50", ChanceOfSales=50)
    an_opportunity(stage=early, UpfrontValueOfSale="0.01", ChanceOfSales="33.33")
    an_opportunity(stage=early, RecurringAnnualValue=1000)  # nobody knows the chance
    an_opportunity(stage=late)
    archived = an_opportunity(stage=late, UpfrontValueOfSale=9)
    Opportunity.objects.filter(pk=archived.pk).update(archive_date=clock.now())
    found = columns_of(client.get(BOARD))
    sums = {n: (c.count, c.upfront, c.recurring, c.weighted) for n, c in found.items()}
    assert sums == {
        "Early": (3, Decimal("100.01"), Decimal("1050.50"), Decimal("75.25")),
        "Late": (1, 0, 0, 0),
    }
    assert list(found) == ["Early", "Late"]


def test_a_won_opportunity_has_its_whole_weight_and_a_lost_one_none(client, ada):
    for outcome in ("SaleSuccessful", "SaleUnsuccessful", "Deferred"):
        posted("opportunity", a_result_body(Outcome=outcome, UpfrontValueOfSale=100, ChanceOfSales=10))
    column = columns_of(client.get(BOARD))["Result"]
    assert (column.count, column.weighted) == (3, 110)


def test_a_column_shows_the_latest_and_says_how_many_more_there_are(client, ada):
    stage = a_stage(name="Busy")
    body = an_opportunity_body(stage=stage)
    keys = posted("opportunity", *[body] * (pipeline.CARD_LIMIT + 3))
    response = client.get(BOARD)
    column = columns_of(response)["Busy"]
    assert [card["id"] for card in column.cards] == sorted(keys, reverse=True)[: pipeline.CARD_LIMIT]
    assert column.more == 3
    assert "3 more in the list" in response.content.decode()


def test_an_archived_stage_is_on_the_board_while_it_has_opportunities(client, ada):
    empty, full = a_stage(name="Empty"), a_stage(name="Full")
    an_opportunity(stage=full)
    for stage in (empty, full):
        stage.archive_date = clock.now()
        stage.save()
    response = client.get(BOARD)
    assert list(columns_of(response)) == ["Full"]
    assert response.context["stages"] == []


def test_the_board_is_filtered_by_owner_team_and_type(client, ada):
    team, stage = a_team(), a_stage(name="One")
    an_opportunity(stage=stage, owner=ada)
    an_opportunity(stage=stage, Team=by_key("TeamId", team))

    def count(**asked):
        return columns_of(client.get(BOARD, asked))["One"].count

    assert (count(), count(owner="mine"), count(team=team.pk)) == (2, 1, 1)
    assert count(owner="mine", team=team.pk) == 0
    assert count(team="nonsense") == 2


def test_the_board_takes_the_same_queries_for_any_number_of_opportunities(
    client, ada, django_assert_num_queries
):
    stages = [a_stage(position=number) for number in range(4)]
    for stage in stages:
        an_opportunity(stage=stage)
    Subscriber.current()
    with django_assert_num_queries(3):
        pipeline.stage_columns(pipeline.current_opportunities())
    owner = a_staff_member()
    posted("opportunity", *(an_opportunity_body(owner, stage) for stage in stages for _ in range(30)))
    with django_assert_num_queries(3):
        pipeline.stage_columns(pipeline.current_opportunities())


def test_a_card_is_moved_without_dragging(client, ada):
    record, stage = an_opportunity(), a_stage(name="Next")
    response = client.post(
        MOVE, {"opportunity": record.pk, "stage": stage.pk, "query": "owner=mine"}, follow=True
    )
    record.refresh_from_db()
    assert record.stage == stage
    assert response.redirect_chain == [(f"{BOARD}?owner=mine#opportunity-{record.pk}", 302)]
    assert f"{record} is in Next now." in response.content.decode()


def test_a_card_moved_into_the_result_is_deferred(client, ada):
    record = an_opportunity()
    client.post(MOVE, {"opportunity": record.pk, "stage": the_result().pk})
    record.refresh_from_db()
    assert record.outcome == "Deferred"


def test_a_move_that_breaks_a_rule_says_why(client, ada):
    owner = a_staff_member()
    record, stage = an_opportunity(owner=owner), a_stage()
    owner.teams.add(a_team())  # only now
    response = client.post(MOVE, {"opportunity": record.pk, "stage": stage.pk}, follow=True)
    assert "A team is required, since the owner belongs to one." in response.content.decode()
    record.refresh_from_db()
    assert record.stage != stage


@pytest.mark.parametrize("wrong", ["", "x", "-1", "999999", "1" * 30, "²"])
def test_a_card_or_stage_that_is_not_there_is_not_found(client, ada, wrong):
    record, stage = an_opportunity(), a_stage()
    assert client.post(MOVE, {"opportunity": wrong, "stage": stage.pk}).status_code == 404
    assert client.post(MOVE, {"opportunity": record.pk, "stage": wrong}).status_code == 404


def test_who_may_only_look_moves_nothing(client, viewer):
    record, stage = an_opportunity(), a_stage()
    page = client.get(BOARD)
    assert page.status_code == 200
    assert "rs-move" not in page.content.decode()
    assert "Add an opportunity" not in page.content.decode()
    assert client.post(MOVE, {"opportunity": record.pk, "stage": stage.pk}).status_code == 403
    assert client.post(DONE, {"opportunity": record.pk}).status_code == 403


@pytest.mark.parametrize("address", [BOARD, FOLLOW_UPS, FUNNEL])
def test_the_boards_are_for_those_who_may_see_opportunities(client, address):
    assert client.get(address).status_code == 302
    person = records.a_staff_member(role=records.a_role("people.view_client"))
    client.force_login(person)
    assert client.get(address).status_code == 403
    assert address not in client.get("/admin/").content.decode()


@pytest.mark.parametrize("address", [MOVE, DONE])
def test_changes_from_the_board_need_a_post(client, ada, address):
    assert client.get(address).status_code == 405


def test_the_menu_links_the_boards(client, viewer):
    page = client.get("/admin/").content.decode()
    assert all(f'href="{address}"' in page for address in (BOARD, FOLLOW_UPS, FUNNEL))


# --- follow-ups -----------------------------------------------------------------------------------------


@pytest.fixture
def on_a_wednesday(monkeypatch):
    midweek = dt.datetime(2026, 7, 1, 2, tzinfo=dt.UTC)
    monkeypatch.setattr("django.utils.timezone.now", lambda: midweek)
    clock.reset_now()
    return midweek


def follow_ups_of(person):
    found = pipeline.current_opportunities()
    return found if person is None else found.filter(follow_up_staff=person)


def titles(person):
    periods = pipeline.follow_up_periods(follow_ups_of(person))
    return {part.title: [card["name"] for card in part.cards] for part in periods}


def test_follow_ups_are_grouped_by_the_period_they_are_due_in(on_a_wednesday):
    person, other = a_staff_member(), a_staff_member()
    for days in (-30, -1, 0, 1, 4, 5):
        due(an_opportunity(Name=f"in {days}"), person, days)
    due(an_opportunity(Name="another's"), other, 0)
    archived = due(an_opportunity(Name="archived"), person, 0)
    Opportunity.objects.filter(pk=archived.pk).update(archive_date=clock.now())
    assert titles(person) == {
        "Overdue": ["in -30", "in -1"],
        "Today": ["in 0"],
        "Later this week": ["in 1", "in 4"],  # Thursday and Sunday
    }
    assert titles(None)["Today"] == ["in 0", "another's"]


def test_counts_include_follow_ups_that_are_not_shown(django_assert_num_queries):
    person = a_staff_member()
    keys = posted("opportunity", *[an_opportunity_body()] * 4)
    for key in keys:
        due(Opportunity(pk=key), person, -1)
    with django_assert_num_queries(2):
        overdue, *_ = pipeline.follow_up_periods(follow_ups_of(person), limit=3)
    assert (overdue.count, len(overdue.cards)) == (4, 3)


def test_a_follow_up_is_done_and_the_next_one_set(client, ada):
    record = due(an_opportunity(), ada, -3)
    assert str(record) in client.get(FOLLOW_UPS).content.decode()
    client.post(DONE, {"opportunity": record.pk, "next_date": f"{in_days(7):%d/%m/%Y}"})
    record.refresh_from_db()
    assert (record.follow_up_date, record.follow_up_staff) == (in_days(7), ada)
    client.post(DONE, {"opportunity": record.pk, "next_date": ""})
    record.refresh_from_db()
    assert (record.follow_up_date, record.follow_up_staff) == (None, None)


@pytest.mark.parametrize(
    ("day", "message"), [("1/1/2020", "It must be after today."), ("soon", "“soon” is not a date")]
)
def test_an_invalid_next_date_is_refused(client, ada, day, message):
    record = due(an_opportunity(), ada, -3)
    response = client.post(DONE, {"opportunity": record.pk, "next_date": day}, follow=True)
    assert message in response.content.decode()
    record.refresh_from_db()
    assert record.follow_up_date == in_days(-3)


# --- the funnel -----------------------------------------------------------------------------------------


def test_the_funnel_counts_who_reached_each_stage_and_how_they_ended(client, ada):
    first, second, result = a_stage(position=1), a_stage(position=2), the_result()
    result.position = 3
    result.save()
    values = {"UpfrontValueOfSale": 100, "RecurringAnnualValue": 20}
    posted("opportunity", an_opportunity_body(stage=first, Source="Referral"))
    posted("opportunity", an_opportunity_body(stage=second, Source="Referral"))
    for outcome in ("SaleSuccessful", "SaleSuccessful", "SaleUnsuccessful", "Deferred"):
        posted("opportunity", a_result_body(Source="Referral", Outcome=outcome, **values))
    posted("opportunity", a_result_body())
    funnel = records.get_unrendered(client, FUNNEL).context["funnel"]
    row = funnel.rows[0]
    assert (row.label, row.count, row.reached) == ("Referral", 6, [6, 5, 4])
    assert (row.won, row.lost, row.deferred, row.win_rate) == (2, 1, 1, Decimal("66.7"))
    assert row.value_won == 240
    assert [each.label for each in funnel.rows] == ["Referral", "Not stated"]
    assert funnel.rows[1].win_rate is None
    assert funnel.total.count == 7


def test_the_funnel_counts_the_chosen_period(client, ada, django_assert_num_queries):
    record = an_opportunity()
    long_ago = clock.now() - dt.timedelta(days=200)
    Opportunity.objects.filter(pk=record.pk).update(creation_date=long_ago)
    all_told = {
        period: records.get_unrendered(client, FUNNEL, {"period": period}).context["funnel"].total.count
        for period in ("90", "365", "all", "nonsense")
    }
    assert all_told == {"90": 0, "365": 1, "all": 1, "nonsense": 1}
    with django_assert_num_queries(3):
        pipeline.load_funnel(Opportunity.objects.all(), None)
