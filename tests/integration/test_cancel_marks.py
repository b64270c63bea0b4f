"""On SQLite a job is cancelled by a file beside the database, while its worker lets nobody else write."""

from pathlib import Path

import pytest
from django.db import OperationalError, connection

from apps.core import cancel_marks, file_imports
from apps.core.importing import runs
from apps.core.models import FileImport
from apps.people.models import Contact
from tests.api.caller import ok
from tests.integration.test_cancelled_jobs import PEOPLE, address_of, cancelled
from tests.integration.test_import_jobs import post
from tests.tasks import run_tasks

pytestmark = pytest.mark.django_db
ONLY_ASKED = [{"CheckOnly": "true"}, {"AllOrNothing": "true"}, {}]


@pytest.fixture(autouse=True)
def marks(tmp_path, monkeypatch):
    """The folder of the marks, as of a SQLite database in a file."""
    monkeypatch.setattr(runs, "BATCH", 2)
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setattr(cancel_marks, "path_of", lambda guid: folder / f"cancel-{guid}")
    return folder


def cancelled_while_locked(application, job, monkeypatch):
    """The worker has the only lock: nobody else can write before it ends."""

    def locked(file_import):
        raise OperationalError("database is locked")

    with monkeypatch.context() as patched:
        patched.setattr(file_imports, "store_cancelled", locked)
        assert application.post(f"{address_of(job)}/Cancel", None).status_code == 503


@pytest.mark.parametrize("fields", ONLY_ASKED)
def test_a_worker_stops_though_nobody_could_write_that_it_is_to(application, marks, monkeypatch, fields):
    job = ok(post(application, PEOPLE, **fields), 201)
    cancelled_while_locked(application, job, monkeypatch)
    assert len([*marks.iterdir()]) == 1
    run_tasks()
    shown = ok(application.get(address_of(job)))
    assert (shown["Status"], shown["Message"]) == ("Cancelled", "It was cancelled; nothing was stored.")
    assert (Contact.objects.count(), [*marks.iterdir()]) == (0, [])
    assert cancelled(application, job)["Status"] == "Cancelled"


@pytest.mark.parametrize("fields", [{}, {"CheckOnly": "true"}])
def test_no_mark_is_left_of_a_job_that_is_done(application, marks, fields):
    job = ok(post(application, PEOPLE, **fields), 201)
    run_tasks()
    (record,) = FileImport.objects.all()
    before = FileImport(pk=record.pk, status="Importing", task_id=record.task_id)
    assert file_imports.cancel(before) is False  # its worker has ended since it was read
    assert [*marks.iterdir()] == []
    assert application.post(f"{address_of(job)}/Cancel", None).status_code == 409


def test_a_mark_of_an_earlier_attempt_stops_no_later_one(application, marks):
    job = ok(post(application, PEOPLE, CheckOnly="true"), 201)
    run_tasks()
    cancel_marks.CancelMark(FileImport.objects.get().pk).set()
    ok(application.post(f"{address_of(job)}/Import", None))
    run_tasks()
    assert ok(application.get(address_of(job)))["Status"] == "Imported"
    assert [*marks.iterdir()] == []


def test_only_a_database_in_a_file_has_marks(monkeypatch, tmp_path):
    monkeypatch.undo()
    names = {f"{tmp_path}/records.sqlite3": True, ":memory:": False, "file:memorydb?mode=memory": False}
    for name, is_file in names.items():
        monkeypatch.setitem(connection.settings_dict, "NAME", name)
        mark = cancel_marks.path_of("1")
        assert mark == (Path(f"{name}.cancel-1") if is_file and connection.vendor == "sqlite" else None)
