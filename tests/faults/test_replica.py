"""Lists are read from a replica, and never miss what was stored before they were asked for."""

import json
import os
import signal
from http.client import HTTPConnection

import psycopg
import pytest

from tests import postgres
from tests.faults.test_database import Service

pytestmark = [pytest.mark.postgres("SQLite has no replicas"), pytest.mark.django_db]

#: Lists that are read right after a record was stored.
TRIALS = 20


@pytest.fixture(scope="module")
def replicated(schema_dump):
    with postgres.throwaway_server(settings=postgres.REPLICATED) as primary:
        postgres.load_dump(primary, schema_dump)
        with postgres.throwaway_replica(primary) as replica:
            yield primary, replica


@pytest.fixture(scope="module")
def service(replicated, tmp_path_factory):
    primary, replica = replicated
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DATABASE_REPLICA_URL", replica)
        service = Service(primary, tmp_path_factory.mktemp("var"))
    yield service
    service.process.kill()
    service.process.communicate()


@pytest.fixture(scope="module")
def replica(replicated):
    with psycopg.connect(replicated[1], autocommit=True) as connection:
        yield connection


def store_and_count(service, number):
    """How many lists have the contact that was stored before each, as a page and as $count."""
    found = 0
    for index in range(number):
        client = HTTPConnection("127.0.0.1", service.port, timeout=30)
        body = json.dumps({"value": [{"FirstName": "Ada", "LastName": f"Trial {index}"}]})
        headers = {**service.headers, "Content-Type": "application/json"}
        client.request("POST", "/api/contact", body, headers)
        created = json.loads(client.getresponse().read())["value"][0]["ContactGuid"]
        client.close()
        condition = f"$filter=ContactGuid%20eq%20{created}"
        page = json.loads(service.ask(f"/api/contact?{condition}")[2])["value"]
        found += (len(page), service.ask(f"/api/contact/$count?{condition}")[2]) == (1, "1")
    return found


def scans(replica):
    """How often the replica has read the table of contacts."""
    query = "SELECT seq_scan + idx_scan FROM pg_stat_user_tables WHERE relname = 'people_contact'"
    return replica.execute(query).fetchone()[0]


def is_read(replica, before):
    """Whether the replica has read contacts since; its processes tell that when they end."""
    replica.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        " AND backend_type = 'client backend'"
    )
    return scans(replica) > before


def test_a_list_is_read_from_the_replica_and_has_what_was_stored_before(service, replica):
    assert store_and_count(service, TRIALS) == TRIALS
    assert is_read(replica, 0)


def test_a_replica_that_does_not_follow_is_not_read(service, replica):
    replica.execute("SELECT pg_wal_replay_pause()")
    try:
        assert store_and_count(service, 2) == 2
    finally:
        replica.execute("SELECT pg_wal_replay_resume()")


def test_exports_of_the_back_office_are_read_from_it(service, replica):
    before = scans(replica)
    assert service.ask("/admin/people/contact/export/csv/")[0] == 200
    assert is_read(replica, before)


def test_lists_go_on_without_the_replica(service, replica):
    (text,) = replica.execute("SELECT pg_read_file('postmaster.pid')").fetchone()
    os.kill(int(text.split()[0]), signal.SIGQUIT)
    assert store_and_count(service, 2) == 2
