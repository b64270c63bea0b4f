"""What every command begins with: the clock and the days of the organisation."""

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command, get_commands, load_command_class

from apps.base import clock
from apps.core.database.configuration import NO_ADDRESS
from apps.core.management.base import ServiceCommand
from apps.core.models import Subscriber
from apps.operations.management.base import OperatorCommand
from manage import main

#: Commands that are no ServiceCommand, each with the reason.
OTHERS = {
    "backup": "writes tables as they are, whatever they hold",
    "check_upgrade": "runs before the tables have their columns",
    "load_demo": "has the days of the demo data",
    "move_database": "writes tables as they are",
    "prepare_demo": "runs before there is an organisation",
    "prepare_static": "reads no records",
    "restore": "runs before there are records",
    "sbom": "reads no records",
    "subscribers": "has a process for each organisation",
    "verify": "reads backups as well, where there are no records",
    "worker": "sets the zone for each task",
}


def own_commands():
    """The commands of our apps, each with the path of its file."""
    for name, app in get_commands().items():
        if str(app).startswith("apps."):
            file = Path(settings.BASE_DIR, *app.split("."), "management", "commands", f"{name}.py")
            yield name, app, file.relative_to(settings.BASE_DIR)


def test_every_command_that_reads_records_is_a_service_command():
    found = {
        name: file
        for name, app, file in own_commands()
        if not isinstance(load_command_class(app, name), ServiceCommand)
    }
    assert {str(file) for name, file in found.items() if name not in OTHERS} == set()
    assert OTHERS.keys() - found.keys() == set()


def test_every_command_says_what_it_does():
    commands = [(file, load_command_class(app, name).help) for name, app, file in own_commands()]
    assert len(commands) > 30
    assert [str(file) for file, text in commands if not text] == []


class Today(ServiceCommand):
    def handle(self, *args, **options):
        return str(clock.today())


@pytest.mark.django_db
@pytest.mark.parametrize(("zone", "day"), [("Australia/Perth", 30), ("Pacific/Auckland", 1)])
def test_a_command_has_the_days_of_the_organisation(at, capsys, zone, day):
    at("2026-07-01 00:30")  # in Sydney
    Subscriber.objects.update_or_create(pk=1, defaults={"time_zone": zone})
    Subscriber.clear_cache()
    call_command(Today())
    assert dt.date.fromisoformat(capsys.readouterr().out.strip()).day == day


@pytest.mark.django_db
def test_a_command_reads_the_clock_anew(monkeypatch, capsys):
    clock.now()
    moment = dt.datetime(2031, 5, 6, tzinfo=dt.UTC)
    monkeypatch.setattr("django.utils.timezone.now", lambda: moment)
    call_command(Today())
    assert capsys.readouterr().out == "2031-05-06\n"


@pytest.mark.parametrize("command", ["migrate", "worker", "verify"])
def test_a_command_ends_with_a_sentence_when_the_database_cannot_be_used(tmp_path, command):
    address = {"DATABASE_URL": f"sqlite:///{tmp_path}/missing/records.sqlite3", "VAR_DIR": str(tmp_path)}
    ended = run_manage([command], address)
    assert ended.returncode == 2
    assert ended.stderr == "The database cannot be used: unable to open database file\n"


def test_a_command_ends_with_a_sentence_when_the_folder_of_its_files_cannot_be_used(tmp_path):
    (tmp_path / "file").touch()
    ended = run_manage(["migrate"], {"VAR_DIR": str(tmp_path / "file")})
    assert ended.returncode == 2
    assert ended.stderr.startswith("The settings cannot be used: [Errno 17] File exists:")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("API_PAGE_SIZE", "ten", "API_PAGE_SIZE is a whole number, not 'ten'."),
        ("HTTPS", "enabled", "HTTPS is true or false, not 'enabled'."),
        ("LOG_LEVEL", "loud", "LOG_LEVEL is DEBUG, INFO, WARNING, ERROR or CRITICAL."),
        (
            "SITE_ADDRESS",
            "records.example",
            "SITE_ADDRESS begins with https://, as people enter it in a browser.",
        ),
        (
            "WEBHOOK_NETWORKS",
            "10.1.0.5/16",
            "WEBHOOK_NETWORKS holds networks, as 10.1.0.0/16: 10.1.0.5/16 has host bits set.",
        ),
        ("DATABASE_URL", "postgres://records:pass/word@host/records", f"DATABASE_URL: {NO_ADDRESS}"),
    ],
)
def test_a_command_ends_with_the_name_of_a_setting_that_cannot_be_used(tmp_path, name, value, reason):
    ended = run_manage(["migrate"], {"VAR_DIR": str(tmp_path), name: value})
    assert (ended.returncode, ended.stderr) == (2, f"The settings cannot be used: {reason}\n")


@pytest.mark.parametrize("words", [["purge_expired"], ["verify"], ["worker"]])
def test_a_command_names_migrate_where_the_database_has_no_tables(tmp_path, words):
    database = {"DATABASE_URL": f"sqlite:///{tmp_path}/records.sqlite3", "VAR_DIR": str(tmp_path)}
    ended = run_manage(words, database)
    assert ended.returncode == 2
    assert ended.stderr == (
        "The database lacks tables or columns of this version: ./run migrate makes them.\n"
    )


def run_manage(words, environment):
    command = [sys.executable, settings.BASE_DIR / "manage.py", *words]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


@pytest.mark.parametrize("words", [["help"], ["sbom"]])
def test_a_command_whose_reader_has_read_enough_ends_without_a_word(tmp_path, words):
    database = {"DATABASE_URL": f"sqlite:///{tmp_path}/records.sqlite3", "VAR_DIR": str(tmp_path)}
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as pipe:
        ended = subprocess.run(
            [sys.executable, settings.BASE_DIR / "manage.py", *words],
            stdout=pipe,
            stderr=subprocess.PIPE,
            env={**os.environ, **database},
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_a_command_works_without_standard_input_and_output():
    words = [sys.executable, settings.BASE_DIR / "manage.py", "sbom"]
    closed = ["/bin/sh", "-c", '"$@" <&- >&-', "sh", *words]
    ended = subprocess.run(closed, stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")


class Piped(OperatorCommand):
    def handle(self, *args, **options):
        raise BrokenPipeError


def test_a_closed_pipe_is_no_error_of_an_operator():
    with pytest.raises(BrokenPipeError):
        call_command(Piped())


def test_a_command_that_is_interrupted_ends_without_a_traceback(monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("manage.execute_from_command_line", interrupt)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
