"""Statements that take too long are ended, and the caller learns what to do."""

import pytest
from django.db import OperationalError, connection
from django.test import RequestFactory

from apps.base.clock import time_limit
from apps.odata.http.exceptions import error_response

ENDLESS = (
    "WITH RECURSIVE endless(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM endless) SELECT count(*) FROM endless"
)


@pytest.fixture
def over_time(transactional_db):
    """The exception of a statement that was ended."""
    with connection.cursor() as cursor, time_limit(0.05):
        if connection.vendor == "postgresql":
            cursor.execute("SET statement_timeout = 50")
        try:
            with pytest.raises(OperationalError) as raised:
                cursor.execute(ENDLESS)
        finally:
            if connection.vendor == "postgresql":
                cursor.execute("RESET statement_timeout")
    return raised.value


def test_a_query_over_its_time_is_refused_and_its_connection_is_free(over_time):
    for request in (RequestFactory().get("/api/claim"), RequestFactory().post("/api/claim/$query")):
        answer = error_response(over_time, request)
        assert answer.status_code == 400
        assert b'"TooCostly"' in answer.content
    assert b"Narrow $filter" in answer.content
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def test_a_write_over_its_time_is_to_be_sent_again(over_time):
    answer = error_response(over_time, RequestFactory().post("/api/claim"))
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")


def test_without_a_limit_nothing_is_ended(db):
    with time_limit(0), connection.cursor() as cursor:
        cursor.execute(f"{ENDLESS.replace(' FROM endless)', ' FROM endless WHERE n < 100000)')}")
        assert cursor.fetchone() == (100_000,)
