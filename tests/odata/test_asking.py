"""Questions whose text is made once, and several in one trip (apps/odata/asking.py)."""

import pytest
from django.db import connection, models
from django.test.utils import CaptureQueriesContext

from apps.odata.any_of import AnyOf
from apps.odata.batched_queries import alone, prepared_query, together
from apps.people.models import Client, Staff, Team
from tests.people.builders import a_client, a_staff_member, a_team

pytestmark = pytest.mark.django_db

CLIENT: models.Field = Client._meta.get_field("guid")
TEAM: models.Field = Team._meta.get_field("id")
NAME: models.Field = Staff._meta.get_field("last_name")


@prepared_query
def clients_of(keys):
    return Client.objects.filter(AnyOf(CLIENT, keys)).order_by("pk").values_list("pk", "business_name")


@prepared_query
def teams_of(keys):
    return Team.objects.filter(AnyOf(TEAM, keys)).order_by("pk").values_list("pk", "creation_date", "name")


@prepared_query
def staff_called(names, firsts):
    first: models.Field = Staff._meta.get_field("first_name")
    rows = Staff.objects.filter(AnyOf(NAME, names), AnyOf(first, firsts))
    return rows.order_by("pk").values_list("pk", "last_name", "birthday", "send_birthday_reminder")


def trips(call):
    with CaptureQueriesContext(connection) as captured:
        found = call()
    return found, len(captured)


def test_a_question_is_answered_as_the_query_it_keeps_answers_each_time_it_is_asked():
    clients, teams = [a_client(), a_client()], [a_team(), a_team()]
    for keys in ([clients[0].pk], [each.pk for each in clients], []):
        assert clients_of(keys).ask() == list(clients_of.make(keys))
    for keys in ([teams[1].pk], [each.pk for each in teams]):
        assert teams_of(keys).ask() == list(teams_of.make(keys))
    assert clients_of({str(clients[1].pk)}).ask() == [(clients[1].pk, clients[1].business_name)]
    assert clients_of({clients[1].pk}).ask() == [(clients[1].pk, clients[1].business_name)]


def test_values_are_never_part_of_the_text():
    staff = a_staff_member(LastName="O'Hara; DROP TABLE %s", FirstName="%s")
    a_staff_member(LastName="Other", FirstName="%s")
    assert staff_called([staff.last_name], ["%s"]).ask() == [(staff.pk, staff.last_name, None, False)]
    assert staff_called(["O'Hara"], ["%s"]).ask() == []


def test_the_text_of_a_query_is_made_once():
    if connection.vendor != "postgresql":
        assert clients_of([a_client().pk]).ask()
        return
    keys = [a_client().pk]
    clients_of(keys).ask()
    text = clients_of.texts["default"]
    clients_of([]).ask()
    assert clients_of.texts["default"] is text
    assert text.sql.count("%s") == 1


def names_of(keys):
    rows = yield clients_of(keys)
    return [name for _, name in rows]


def teams_after(keys):
    """Asks twice: what it asks next hangs on what it was told."""
    rows = yield clients_of(keys)
    again = yield teams_of([team.pk for team in Team.objects.all()] if rows else [])
    return [name for *_, name in again]


def nothing():
    return "nothing"
    yield


def test_conversations_are_held_together_in_as_few_trips_as_the_longest_needs():
    client, team = a_client(), a_team()
    found, number = trips(lambda: together(names_of([client.pk]), nothing(), names_of([])))
    assert found == [[client.business_name], "nothing", []]
    assert number == (1 if connection.vendor == "postgresql" else 2)
    assert together(names_of([client.pk]), teams_after([client.pk])) == [[client.business_name], [team.name]]
    assert together(teams_after([]), names_of([client.pk])) == [[], [client.business_name]]
    assert together() == []


def test_one_conversation_alone():
    client = a_client()
    assert alone(names_of([client.pk])) == [client.business_name]
    assert trips(lambda: alone(nothing())) == ("nothing", 0)
