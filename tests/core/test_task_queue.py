"""Background tasks: done once, in order; again after the end of their worker; told when they fail."""

import datetime as dt
import fcntl
import tempfile
import threading

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from apps.access.services import purge_expired
from apps.core.management.commands import worker
from apps.core.task_queue import MAX_ATTEMPTS, read_queue_figures
from tests.tasks import NOTES, fail, note, run_tasks, temporary


@pytest.fixture(autouse=True)
def worker_folder(db, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    NOTES.clear()


def begun_by_a_killed_worker(attempts=1):
    """A task that the worker of these tests has begun so many times."""
    run_tasks()
    worker_id = (settings.VAR_DIR / "tests.lock").read_text()
    row = DBTaskResult.objects.get(pk=note.enqueue("again").id)
    for _ in range(attempts):
        row.claim(worker_id)
    return row


def test_tasks_are_done_once_by_priority_and_age():
    note.enqueue("first")
    note.enqueue("second")
    note.using(priority=1).enqueue("urgent")
    note.using(run_after=timezone.now() + dt.timedelta(days=1)).enqueue("tomorrow")
    run_tasks()
    run_tasks()
    assert NOTES == ["urgent", "first", "second"]


def test_a_task_that_fails_is_logged_and_the_next_is_done(caplog):
    failed = fail.enqueue()
    note.enqueue("next")
    run_tasks()
    assert NOTES == ["next"]
    assert DBTaskResult.objects.get(pk=failed.id).exception_class_path == "builtins.RuntimeError"
    assert [line.exc_info[0] for line in caplog.records if line.exc_info] == [RuntimeError]


def test_a_task_whose_worker_was_killed_is_done_again():
    begun_by_a_killed_worker()
    run_tasks()
    assert NOTES == ["again"]


def test_files_that_a_killed_worker_left_are_gone(tmp_path):
    """They may be copies of what somebody imported; those of this worker go with it."""
    left = tmp_path / "tests.files" / "tmpabc"
    left.mkdir(parents=True)
    (left / "people.csv").write_text("Ada")
    temporary.enqueue()
    run_tasks()
    assert [str(tmp_path / "tests.files")] == NOTES
    assert not (tmp_path / "tests.files").exists()
    assert tempfile.gettempdir() != NOTES[0]


def test_a_task_that_has_ended_its_worker_each_time_fails():
    row = begun_by_a_killed_worker(attempts=MAX_ATTEMPTS)
    run_tasks()
    row.refresh_from_db()
    assert NOTES == []
    assert (row.status, row.exception_class_path) == ("FAILED", "apps.core.task_queue.WorkerEnded")


def test_a_task_of_another_worker_is_left_to_it_for_a_day():
    row = DBTaskResult.objects.get(pk=note.enqueue("elsewhere").id)
    row.claim("another machine's worker")
    run_tasks()
    assert NOTES == []
    DBTaskResult.objects.filter(pk=row.pk).update(started_at=timezone.now() - dt.timedelta(hours=25))
    run_tasks()
    assert NOTES == ["elsewhere"]


def test_a_task_that_another_worker_has_begun_since_is_left_to_it():
    row = begun_by_a_killed_worker()
    DBTaskResult.objects.filter(pk=row.pk).update(status="READY")
    row.refresh_from_db()
    row.claim("another machine's worker")
    run_tasks()
    assert NOTES == []


def test_a_worker_waits_while_another_of_its_name_is_at_work(tmp_path, monkeypatch):
    began = threading.Event()
    monkeypatch.setattr(worker, "repeat_unfinished_tasks", lambda worker_id: began.set())
    monkeypatch.setattr(worker.db_worker.Command, "handle", lambda *_, **options: None)
    second = threading.Thread(target=call_command, args=["worker", "--name=tests", "--batch"])
    with (tmp_path / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second.start()
        assert not began.wait(0.3)
    assert began.wait(10)
    second.join()


def test_the_name_of_a_worker_is_the_name_of_a_file():
    with pytest.raises(CommandError, match="letters, digits and underscores"):
        call_command("worker", name="../worker")


def test_a_task_for_later_waits_since_it_could_have_begun(at):
    at("2026-03-02 09:00")
    note.using(run_after=timezone.now() + dt.timedelta(hours=2)).enqueue("later")
    at("2026-03-02 11:05")
    assert read_queue_figures().oldest_seconds == 300


def test_finished_tasks_are_deleted_after_two_weeks(at):
    at("2026-03-02 09:00")
    note.enqueue("old")
    run_tasks()
    at("2026-03-10 09:00")
    note.enqueue("new")
    run_tasks()
    note.enqueue("waits")
    at("2026-03-17 09:00")
    purge_expired()
    notes = DBTaskResult.objects.filter(task_path=note.module_path)
    assert sorted(task.args_kwargs["args"] for task in notes) == [["new"], ["waits"]]
