"""Background tasks in tests: what a worker does, done at once; and tasks that tests enqueue."""

import tempfile
from unittest import mock

from django.core.management import call_command
from django.utils import timezone
from django_tasks import task
from django_tasks_db.management.commands import db_worker
from django_tasks_db.models import DBTaskResult

#: What `note` was called with.
NOTES: list[str] = []


def run_tasks():
    """Do all background tasks that wait, those too that they enqueue."""
    # It would close the connection, which has the test's transaction.
    with mock.patch.object(db_worker, "close_old_connections"):
        call_command("worker", name="tests", batch=True, interval=0, startup_delay=False, verbosity=1)


def let_retries_be_due():
    """Let a worker try again at once what it would try later."""
    DBTaskResult.objects.filter(run_after__gt=timezone.now()).update(run_after=timezone.now())


class NotStored(Exception):
    """What enqueueing fails with."""


def store_one_task(monkeypatch):
    """Let the second task that is enqueued from now on fail."""
    saves = iter([DBTaskResult.save])

    def save(*arguments, **options):
        for each in saves:
            return each(*arguments, **options)
        raise NotStored

    monkeypatch.setattr(DBTaskResult, "save", save)


@task()
def note(text):
    NOTES.append(text)


@task()
def fail():
    raise RuntimeError("a task's own fault")


@task()
def temporary():
    NOTES.append(tempfile.gettempdir())
