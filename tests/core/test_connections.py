"""Connections to PostgreSQL: their settings, and an idle one is asked whether it lives without a query."""

import time

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.base import clock
from tests.people.records import a_client

pytestmark = [pytest.mark.django_db, pytest.mark.postgres("SQLite is no server")]


def test_a_connection_is_usable_until_the_server_ends_it():
    idle = connection.copy()
    with idle.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (process,) = cursor.fetchone()
    try:
        assert idle.is_usable()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [process])
        until = time.monotonic() + 20
        while idle.is_usable() and time.monotonic() < until:
            time.sleep(0.02)
        assert not idle.is_usable()
    finally:
        idle.close()


@pytest.mark.parametrize(("name", "value"), [("jit", "off"), ("random_page_cost", "1.1")])
def test_statements_are_not_compiled_and_planned_for_memory(name, value):
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW {name}")
        assert cursor.fetchone() == (value,)


def test_a_zone_that_a_rollback_undoes_is_not_read_in():
    client = a_client()
    clock.set_database_zone(connection)
    with transaction.atomic(), timezone.override("Pacific/Honolulu"):
        clock.set_database_zone(connection)
        transaction.set_rollback(True)
    stored = type(client).objects.get(pk=client.pk).creation_date
    assert (stored, str(stored.tzinfo)) == (client.creation_date, str(timezone.get_current_timezone()))


@pytest.mark.django_db(transaction=True)
def test_nor_one_that_the_end_of_a_transaction_undoes():
    test_a_zone_that_a_rollback_undoes_is_not_read_in()
