"""A server of each module's own, with a migrated database and two API applications in it."""

import contextlib
import sqlite3

import pytest
from django.db import connection

from apps.access.services import register_application
from tests.operations.databases import default_database
from tests.server.server_process import Server, wait_for

DATABASE = "records.sqlite3"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def applications(folder, django_db_setup, django_db_blocker):
    """The client ids and secrets of two API applications, in the database of this module's servers."""
    if connection.vendor != "sqlite":
        pytest.skip("the server is the same on both engines")
    with django_db_blocker.unblock(), contextlib.closing(sqlite3.connect(folder / DATABASE)) as database:
        connection.ensure_connection()
        connection.connection.backup(database)  # quicker than to migrate once more
    with django_db_blocker.unblock(), default_database(f"sqlite:///{folder / DATABASE}"):
        registered = [register_application(name) for name in ("Busy", "Other")]
    return [(application.client_id, secret) for application, secret in registered]


@pytest.fixture(scope="module")
def server(folder, applications):
    running = Server(folder, METRICS_TOKEN="operator")
    wait_for(running.answers)
    wait_for(lambda: running.metrics()["server_workers"] == 2)
    yield running
    assert running.stop() == 0


@pytest.fixture
def starting(folder, applications):
    """Starts servers that end with the test."""
    with contextlib.ExitStack() as stack:

        def start(**options):
            running = Server(folder, **options)
            stack.callback(running.process.wait)
            stack.callback(running.process.kill)
            return running

        yield start
