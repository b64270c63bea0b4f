"""Queries whose text is made once, and several of them in one trip."""

import datetime as dt

import pytest
from django.contrib.admin.utils import get_fields_from_path
from django.db import DEFAULT_DB_ALIAS, DataError, ProgrammingError, connection, connections, transaction
from django.db.models import Exists, OuterRef
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.base import batched_queries, clock, pooled_statements
from apps.base.batched_queries import (
    AnyOf,
    AnyOfReferred,
    AnyRowOf,
    SqlStatement,
    by_name,
    fetch_all,
    prepared_query,
    reused_cursor,
)
from apps.people.models import Client, Contact, Staff, Team
from tests.people.builders import a_client, a_contact, a_staff_member, a_team

pytestmark = pytest.mark.django_db


@prepared_query
def clients_of(keys):
    return Client.objects.filter(AnyOf("guid", keys)).order_by("pk").values_list("pk", "business_name")


@prepared_query
def teams_of(keys):
    return Team.objects.filter(AnyOf("id", keys)).order_by("pk").values_list("pk", "creation_date", "name")


@prepared_query
def staff_called(names, firsts):
    rows = Staff.objects.filter(AnyOf("last_name", names), AnyOf("first_name", firsts))
    return rows.order_by("pk").values_list("pk", "last_name", "birthday", "send_birthday_reminder")


@prepared_query
def staff_of_pairs(pairs):
    staff = Staff.objects.filter(AnyRowOf(("pk", "last_name"), pairs))
    return staff.order_by("pk").values_list("pk", flat=True)


def trips(call):
    with CaptureQueriesContext(connection) as captured:
        found = call()
    return found, len(captured)


def test_texts_are_compared_whatever_is_in_them():
    for text in ('a "quoted" name', "back\\slash", "NULL", "{a,b}", "%s", "it's"):
        client = a_client(BusinessName=text)
        found = Client.objects.filter(AnyOf("business_name", ["nobody", text]))
        assert [each.pk for each in found] == [client.pk]


def test_a_prepared_query_has_the_rows_of_its_queryset_each_time():
    clients, teams = [a_client(), a_client()], [a_team(), a_team()]
    for keys in ([clients[0].pk], [each.pk for each in clients], []):
        assert fetch_all([clients_of(keys)]) == [list(clients_of.make(keys))]
    for keys in ([teams[1].pk], [each.pk for each in teams]):
        assert fetch_all([teams_of(keys)]) == [list(teams_of.make(keys))]
    assert fetch_all([clients_of({str(clients[1].pk)})]) == [[(clients[1].pk, clients[1].business_name)]]
    assert fetch_all([clients_of({clients[1].pk})]) == [[(clients[1].pk, clients[1].business_name)]]


def test_values_are_never_part_of_the_text():
    staff = a_staff_member(LastName="O'Hara; DROP TABLE %s", FirstName="%s")
    a_staff_member(LastName="Other", FirstName="%s")
    assert fetch_all([staff_called([staff.last_name], ["%s"])]) == [
        [(staff.pk, staff.last_name, None, False)]
    ]
    assert fetch_all([staff_called(["O'Hara"], ["%s"])]) == [[]]


def test_both_values_of_a_pair_belong_to_one_row():
    ada, bea = a_staff_member(LastName='\'Ada, {"x"}'), a_staff_member(LastName="Bea")
    pairs = [(ada.pk, ada.last_name), (bea.pk, ada.last_name)]
    for some, expected in ((pairs, [(ada.pk,)]), (pairs[1:], []), ([], [])):
        assert fetch_all([staff_of_pairs(some)]) == [expected]
        assert list(staff_of_pairs.make(some)) == [key for (key,) in expected]


@pytest.mark.parametrize("are_few", [True, False])
def test_a_condition_by_one_step_more_has_the_rows_of_the_path(are_few):
    """Also where the other table is in the query already, and in a query inside; one contact has nobody."""
    ada, bea = a_staff_member(LastName="Ada, %s"), a_staff_member(LastName="Bea")
    contacts = [a_contact(AccountManager={"StaffGuid": str(each.pk)}) for each in (ada, ada, bea)]
    contacts.append(a_contact())
    Contact.objects.filter(pk=contacts[-1].pk).update(account_manager=None)
    for path, column, values in (
        ("account_manager", "last_name", ["Ada, %s", "nobody"]),
        ("account_manager", "guid", [bea.pk]),
        ("account_manager__role", "guid", [ada.role_id]),
        ("account_manager", "last_name", []),
    ):
        compared = get_fields_from_path(Contact, f"{path}__{column}")[-1]
        condition = AnyOfReferred(path, compared, values, are_few)
        expected = set(Contact.objects.filter(AnyOf(f"{path}__{column}", values)))
        assert bool(expected) is bool(values)
        assert set(Contact.objects.filter(condition)) == expected
        joined = Contact.objects.filter(condition, account_manager__birthday=None)
        assert set(joined.select_related("account_manager")) == expected
        inside = Contact.objects.filter(condition, pk=OuterRef("pk"))
        assert set(Contact.objects.filter(Exists(inside))) == expected


def test_rows_of_any_columns_are_compared():
    early, late = dt.date(1980, 2, 29), dt.date(1990, 1, 1)
    ada = a_staff_member(LastName="Ada", Birthday=early.isoformat(), SendBirthdayReminder=True)
    a_staff_member(LastName="Bea", Birthday=late.isoformat())
    paths = ("birthday", "role", "send_birthday_reminder", "last_name")
    for rows, expected in (
        ([(early, ada.role_id, True, "Ada"), (late, ada.role_id, True, "Ada")], [ada.pk]),
        ([(late, ada.role_id, True, "Ada")], []),
        ([(early, ada.role_id, False, "Ada")], []),
    ):
        assert list(Staff.objects.filter(AnyRowOf(paths, rows)).values_list("pk", flat=True)) == expected


@pytest.mark.postgres("SQLite's times are texts")
def test_moments_are_read_in_the_zone_of_the_connection():
    """Also in the hour that comes twice, and in the years at both ends of the calendar."""
    zone = connection.timezone
    twice = [dt.datetime(2026, 4, 4, hour, 30, 5, 123400, tzinfo=dt.UTC) for hour in (15, 16)]
    ends = [dt.datetime(1, 1, 2, tzinfo=dt.UTC), dt.datetime(9999, 12, 30, tzinfo=dt.UTC)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT unnest(%s::timestamptz[])", [[*twice, *ends]])
        read = [moment for (moment,) in cursor.fetchall()]
    assert [each.astimezone(dt.UTC) for each in read] == [*twice, *ends]
    assert {each.tzinfo for each in read} == {zone}
    assert [(each.hour, each.minute, each.fold) for each in read[:2]] == [(2, 30, 0), (2, 30, 1)]


def test_the_text_of_a_query_is_made_once():
    keys = [a_client().pk]
    fetch_all([clients_of(keys)])
    statement = clients_of.prepared
    fetch_all([clients_of([])])
    assert clients_of.prepared is statement
    assert statement.sql.count("%s") == 1


def test_several_queries_go_in_one_trip_and_their_rows_come_in_the_same_order():
    client, team = a_client(), a_team()
    (names, nothing, teams), number = trips(
        lambda: fetch_all([clients_of([client.pk]), clients_of([]), teams_of([team.pk])])
    )
    assert (names, nothing) == ([(client.pk, client.business_name)], [])
    assert [name for *_, name in teams] == [team.name]
    assert number == (1 if connection.vendor == "postgresql" else 3)


def test_a_query_that_is_not_needed_has_no_rows_and_makes_no_trip():
    client = a_client()
    assert fetch_all([None, clients_of([client.pk])]) == [[], [(client.pk, client.business_name)]]
    assert trips(lambda: fetch_all([None, None])) == ([[], []], 0)
    assert trips(lambda: fetch_all([])) == ([], 0)


def test_a_query_in_sql_has_the_rows_of_the_driver():
    assert fetch_all([SqlStatement("SELECT %s, 'b'", ["a"])]) == [[("a", "b")]]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no PREPARE")
def test_postgresql_plans_a_query_once_but_not_behind_a_pooler(monkeypatch):
    client = a_client()
    found = [[(client.pk, client.business_name)]]
    # Tests before this one may have filled what a connection keeps.
    monkeypatch.setattr(batched_queries, "MAX_STATEMENTS", 10_000)
    for _ in range(3):
        assert fetch_all([clients_of([client.pk])]) == found
    sql, label = clients_of.prepared.sql, "tests.odata.test_batched_queries.clients_of"
    plans = "SELECT count(*), bool_and(generic_plans > 2 AND custom_plans = 0) FROM pg_prepared_statements"
    with connection.cursor() as cursor:
        cursor.execute(f"{plans} WHERE name LIKE %s", [f"{label[:53]} %"])
        assert cursor.fetchone() == (1, True)
    assert by_name(connection, label, sql).startswith(f'EXECUTE "{label[:53]} ')
    monkeypatch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", True)
    assert by_name(connection, label, sql) == sql
    assert fetch_all([clients_of([client.pk])]) == found


@pytest.mark.postgres("SQLite's times are texts")
def test_times_are_read_in_the_zone_of_the_request_also_by_the_cursor_that_is_kept():
    team = a_team()
    for zone in ("Australia/Perth", "Australia/Sydney"):
        with timezone.override(zone):
            clock.set_database_zone(connection)
            [(_, created, _)] = fetch_all([teams_of([team.pk])])[0]
            assert str(created.tzinfo) == zone


@pytest.mark.postgres("SQLite's tests have one connection, which stays")
@pytest.mark.django_db(transaction=True)
def test_a_cursor_is_kept_for_as_long_as_its_connection():
    client = a_client()
    connection.close()
    assert fetch_all([clients_of([client.pk])]) == [[(client.pk, client.business_name)]]
    default = connections[DEFAULT_DB_ALIAS]
    driver = reused_cursor(default).cursor
    assert reused_cursor(default).cursor is driver
    connection.close()
    assert reused_cursor(default).cursor is not driver


@pytest.fixture
def pooled(monkeypatch, settings):
    """Statements are prepared by the protocol, as behind a pooler; PostgreSQL itself takes that as well."""
    settings.DATABASE_POOLER_PREPARES = True
    monkeypatch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", True)
    monkeypatch.setattr(pooled_statements, "MAX_STATEMENTS", 10_000)


@pytest.mark.postgres("SQLite has no pooler")
def test_a_pooler_is_asked_in_one_trip_for_statements_that_it_prepares(pooled):
    client, team, staff = a_client(), a_team(), a_staff_member(LastName="O'Hara; DROP %s", FirstName="%s")
    queries = lambda: [  # noqa: E731
        clients_of([client.pk]),
        None,
        teams_of([team.pk]),
        clients_of([]),
        staff_called([staff.last_name], ["%s"]),
        SqlStatement("SELECT %s, NULL, '%%'", ["100 %"]),
    ]
    for _ in range(3):
        (names, left_out, teams, nothing, found, plain), number = trips(lambda: fetch_all(queries()))
        assert (names, left_out, nothing) == ([(client.pk, client.business_name)], [], [])
        assert teams == list(teams_of.make([team.pk]))
        assert found == [(staff.pk, staff.last_name, None, False)]
        assert plain == [("100 %", None, "%")]
        assert number == 1
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT bool_and(generic_plans > 2 AND custom_plans = 0) FROM pg_prepared_statements"
            " WHERE NOT from_sql AND statement = %s",
            [pooled_statements.with_places(clients_of.prepared.sql).decode()],
        )
        assert cursor.fetchone() == (True,)


@pytest.mark.postgres("SQLite has no pooler")
def test_a_statement_that_fails_behind_a_pooler_leaves_what_was_prepared_as_it_was(pooled):
    client = a_client()
    wrong = SqlStatement("SELECT 1 / %s::int, 'seen once'", ["0"], label="wrong")
    for _ in range(2):
        with pytest.raises(DataError), transaction.atomic():
            fetch_all([clients_of([client.pk]), wrong, teams_of([])])
        assert fetch_all([teams_of([]), clients_of([client.pk])])[1] == [(client.pk, client.business_name)]


@pytest.mark.postgres("SQLite has no pooler")
def test_statements_behind_one_that_cannot_be_prepared_are_prepared_the_next_time(pooled):
    wrong = SqlStatement("SELECT no_such_column", [], label="wrong")
    behind = SqlStatement("SELECT %s, 'behind'", ["a"], label="behind")
    for _ in range(2):
        with pytest.raises(ProgrammingError), transaction.atomic():
            fetch_all([wrong, behind])
        assert fetch_all([behind]) == [[("a", "behind")]]


@pytest.mark.postgres("SQLite has no pooler")
@pytest.mark.django_db(transaction=True)
def test_a_trip_behind_a_pooler_begins_the_transaction_that_it_is_in(pooled):
    team = a_team()
    with pytest.raises(ZeroDivisionError), transaction.atomic():  # noqa: PT012
        change = "UPDATE people_team SET name = %s WHERE name = %s RETURNING name"
        assert fetch_all([SqlStatement(change, ["Undone", team.name], label="rename")]) == [[("Undone",)]]
        raise ZeroDivisionError
    assert Team.objects.get().name == team.name


@pytest.mark.postgres("SQLite has no pooler")
def test_a_connection_behind_a_pooler_keeps_so_many_statements(pooled, monkeypatch):
    monkeypatch.setattr(pooled_statements, "MAX_STATEMENTS", 0)
    client = a_client()
    for _ in range(2):
        assert fetch_all([clients_of([client.pk])]) == [[(client.pk, client.business_name)]]
