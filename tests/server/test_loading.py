"""What the parent loads: nothing that belongs to one process is there when a worker is forked."""

import sys

import pytest
from django.db import OperationalError

from records_site.log_lines import LineFormatter
from records_site.server import loading
from tests.server.server_process import output_of, variables

#: Loads the site as the parent does, then lets two children say what they find.
PROGRAM = """
import datetime, gc, json, os, random, secrets, sys, threading
from pathlib import Path

def files():
    return sorted(os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.exists())

before = files()
from records_site.server import supervisor
supervisor.load_site()
from django.db import connections
from django.conf import settings
from apps.core.models import new_guid
from records_site.server import loading

def in_child(work):
    reading, writing = os.pipe()
    if not os.fork():
        os.write(writing, json.dumps(work()).encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        return json.loads(pipe.read())

def described():
    return {name: repr(getattr(settings, name)) for name in dir(settings) if name.isupper()}

def of_tasks():
    sys.argv = ["manage.py", "worker"]
    loading.read_settings_again()
    database = repr(connections["default"].settings_dict)
    return {"settings": described(), "database": database}

def loaded_for_holidays():
    from apps.funding import public_holidays
    before = set(sys.modules)
    assert public_holidays.holiday_name(datetime.date(2026, 12, 25), "NSW")
    return sorted(set(sys.modules) - before)

def values():
    return [random.random(), str(new_guid()), secrets.token_hex(8)]

report = {
    "files": [each for each in files() if each not in before],
    "threads": [each.name for each in threading.enumerate()],
    "connections": [repr(each.connection) for each in connections.all(initialized_only=True)],
    "frozen": gc.get_freeze_count(),
    "holidays": in_child(loaded_for_holidays),
    "values": [in_child(values), in_child(values)],
    "server": described(),
    "tasks": in_child(of_tasks),
}
print(json.dumps(report))
"""

#: The settings of a worker of background tasks that a shell has started.
FRESH = """
import json, sys
sys.argv = ["manage.py", "worker"]
import django
django.setup()
from django.conf import settings
from django.db import connections
database = repr(connections["default"].settings_dict)
described = {name: repr(getattr(settings, name)) for name in dir(settings) if name.isupper()}
print(json.dumps({"settings": described, "database": database}))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads open files from /proc")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loading")
    return {**output_of(PROGRAM, variables(folder)), "fresh": output_of(FRESH, variables(folder))}


def test_no_file_thread_or_connection_of_the_site_is_open_when_workers_are_forked(report):
    assert report["files"] == []
    assert report["threads"] == ["MainThread"]
    assert set(report["connections"]) <= {"None"}


def test_the_objects_that_workers_share_are_no_garbage_to_look_for(report):
    assert report["frozen"] > 100_000


def test_the_holidays_of_all_countries_are_loaded_once_and_not_by_each_worker(report):
    assert report["holidays"] == []


def test_workers_make_different_random_values_and_guids(report):
    first, second = report["values"]
    assert not set(first) & set(second)


def test_a_forked_worker_of_background_tasks_has_the_settings_of_one_that_a_shell_starts(report):
    forked, fresh = (without_addresses(report[each]["settings"]) for each in ("tasks", "fresh"))
    assert forked == {**fresh, **{name: forked[name] for name in forked.keys() - fresh.keys()}}
    assert report["tasks"]["database"] == report["fresh"]["database"]
    assert report["server"]["DATABASE_STATEMENT_SECONDS"] == "10"
    assert forked["DATABASE_STATEMENT_SECONDS"] == "0"


def without_addresses(described):
    return {name: text for name, text in described.items() if " at 0x" not in text}


@pytest.mark.parametrize(
    ("error", "lines"),
    [(OperationalError("refused"), 1), (ValueError("of Ada Byron"), None)],
)
def test_a_command_of_the_server_that_fails_leaves_no_message_of_its_error_in_the_log(
    monkeypatch, caplog, error, lines
):
    def fail(words):
        raise error

    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(loading, "read_settings_again", lambda: None)
    monkeypatch.setattr(loading, "execute_from_command_line", fail)
    with pytest.raises(SystemExit) as ended:
        loading.run_command("worker")
    assert ended.value.code == 1
    written = LineFormatter().format(caplog.records[0])
    assert str(error) not in written
    assert lines is None or written.count("\n") == lines - 1
