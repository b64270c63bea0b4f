"""The queue of background tasks: what a worker that was killed left behind, and the figures of /metrics.

A task is a row of the database (django-tasks), enqueued in the transaction of what it belongs to. It must be
safe to repeat, since one that its worker did not finish is done again, and begins with ``task_author``.
"""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db.models import Count, Min
from django.db.models.functions import Coalesce, NullIf
from django.utils import timezone
from django_tasks import TaskResultStatus
from django_tasks_db.models import DBTaskResult, get_date_max

from apps.base import clock
from apps.core import history
from apps.core.models import Subscriber

#: A task that is begun so many times and never finished ends its worker.
MAX_ATTEMPTS = 3
#: No task takes as long: its worker's machine is gone.
LONGEST_TASK = dt.timedelta(hours=24)
FINISHED_TASK_AGE = dt.timedelta(days=14)


@contextmanager
def task_author(author: history.Author) -> Iterator[None]:
    """Prepare a task as middleware does a request: read the clock again, set the zone and the author."""
    clock.reset_now()
    with timezone.override(Subscriber.current().zone), history.as_author(author):
        yield


class WorkerEnded(Exception):
    """The worker of a task ended before the task did, each time."""


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """Tasks that wait, seconds since the oldest of them could have begun, tasks that run, and that failed."""

    waiting: int
    oldest_seconds: float
    running: int
    failed: int


def repeat_unfinished_tasks(worker_id: str) -> int:
    """Enqueue again what the worker of this id, which has ended, had begun; fail what has ended it often.

    Returns the number of tasks.
    """
    long_ago = timezone.now() - LONGEST_TASK
    tasks = [
        task
        for task in DBTaskResult.objects.running()
        if task.worker_ids[-1:] == [worker_id] or task.started_at < long_ago
    ]
    for task in tasks:
        if len(task.worker_ids) >= MAX_ATTEMPTS:
            task.set_failed(WorkerEnded(f"Begun {len(task.worker_ids)} times, and never finished."))
        else:
            DBTaskResult.objects.filter(pk=task.pk).update(status=TaskResultStatus.READY)
    return len(tasks)


def withdraw_task(task_id: object) -> bool:
    """Take a task out of its queue; ``False`` once a worker has begun it."""
    waiting = DBTaskResult.objects.filter(
        pk__in=[task_id], status=TaskResultStatus.READY, started_at__isnull=True
    )
    return bool(waiting.delete()[0])


def has_failed(task_id: object) -> bool:
    """True when a task has failed without a word: its worker ended each time."""
    return DBTaskResult.objects.filter(pk__in=[task_id], status=TaskResultStatus.FAILED).exists()


def read_queue_figures() -> QueueFigures:
    """The figures of all queues."""
    now = timezone.now()
    ready = DBTaskResult.objects.ready().aggregate(
        waiting=Count("pk"), oldest=Min(Coalesce(NullIf("run_after", get_date_max()), "enqueued_at"))
    )
    counts = dict(DBTaskResult.objects.values_list("status").annotate(Count("pk")).order_by())
    return QueueFigures(
        ready["waiting"],
        (now - (ready["oldest"] or now)).total_seconds(),
        counts.get(TaskResultStatus.RUNNING, 0),
        counts.get(TaskResultStatus.FAILED, 0),
    )


def delete_finished_tasks() -> int:
    """Delete tasks that were finished two weeks ago; returns their number."""
    old = DBTaskResult.objects.finished().filter(finished_at__lt=timezone.now() - FINISHED_TASK_AGE)
    return old.delete()[0]
