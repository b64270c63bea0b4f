"""Everything moves from one database to another, also of the other engine, with equal checksums."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection, connections

from apps.core.database.configuration import read_database_url
from apps.core.models import Change
from apps.operations.services.moves import move_database
from apps.operations.tables import read_last_number
from apps.people.models import Client
from tests.operations.databases import all_rows, default_database


def checksums(contents):
    return {name: (table.rows, table.sha256, table.last_number) for name, table in contents.items()}


def test_every_record_moves_and_every_checksum_is_shown(on_installation, databases, capsys):
    target = databases.create()
    call_command("move_database", target)
    output = capsys.readouterr().out
    assert all(name in output for name in on_installation.rows)
    assert "the checksums above are those of both databases" in output
    with default_database(target):
        assert all_rows() == on_installation.rows
        last = Change.objects.order_by("-pk")[0].pk
        Client.objects.create(business_name="The first after the move")
        assert Change.objects.order_by("-pk")[0].pk == last + 1
    assert "target" not in connections


@pytest.mark.postgres("there is one other engine")
def test_records_are_the_same_on_both_engines_and_after_the_way_back(on_installation, databases):
    file, target = databases.sqlite_file("moved"), databases.create()
    there = move_database(file)
    with default_database(file):
        assert connection.vendor == "sqlite"
        assert all_rows() == on_installation.rows
        back = move_database(target)
    assert checksums(there) == checksums(back)
    with default_database(target):
        assert all_rows() == on_installation.rows


def test_a_database_with_records_is_no_target(on_installation, databases):
    target = databases.create()
    with default_database(target):
        Client.objects.create(business_name="Somebody's own client")
    with pytest.raises(CommandError, match=r"nothing was written\. Name an empty database"):
        call_command("move_database", target)


def test_a_database_does_not_move_to_itself(on_installation):
    with pytest.raises(CommandError, match="The target is the database that the service uses already"):
        call_command("move_database", on_installation.url)


@pytest.mark.parametrize("url", ["records", "mongo://host/name", "postgres://"])
def test_what_is_no_address_is_refused(on_installation, url):
    with pytest.raises(CommandError, match="That is not the address of a database"):
        call_command("move_database", url)


@pytest.mark.parametrize(
    "url",
    [
        "records",
        "mysql://host/name",
        "postgres://records:password@host",
        "postgres://records:password@host/",
        "postgres://records:password@host:port/records",
        "postgres://records:pass/word@host/records",
        "postgres://records:password@[::1/records",
        "sqlite://records.sqlite3",
        "sqlite:///",
    ],
)
def test_a_service_is_not_configured_with_what_is_no_address(url):
    with pytest.raises(ImproperlyConfigured, match="That is not the address of a database"):
        read_database_url(url, 0, 0, 0)


def test_a_move_is_refused_when_records_are_written_meanwhile(databases, monkeypatch):
    source, target = databases.create(), databases.create()

    def read_and_create(connection, table):
        if table.name == "sales_opportunitytype":  # the last one: the content is read
            Client.objects.create(business_name="Created during the move")
        return read_last_number(connection, table)

    monkeypatch.setattr("apps.operations.services.moves.read_last_number", read_and_create)
    with (
        default_database(source),
        pytest.raises(CommandError, match="The database was written meanwhile: stop the service"),
    ):
        call_command("move_database", target)
    with default_database(target):
        assert not Change.objects.exists()
