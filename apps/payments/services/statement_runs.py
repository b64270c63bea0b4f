"""All statements of a month, made or sent by a worker: once, however often its worker is killed."""

import datetime as dt
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django_tasks import task

from apps.base import clock
from apps.base.retries import retry_on_conflict
from apps.core.history import Author
from apps.core.models import Change, Notice
from apps.core.notices import write_notices
from apps.core.task_queue import has_failed, task_author
from apps.payments.choices import StatementRunStatus, StatementWork
from apps.payments.models import Statement, StatementRun
from apps.payments.services.statement_mail import enqueue_mail, find_recipients, unsent_statements
from apps.payments.services.statements import CHUNK, check_month, make_chunk, participants_of

RUNNING, FINISHED, FAILED = StatementRunStatus


@retry_on_conflict
def start_run(month: dt.date, work: StatementWork, staff: UUID | None) -> StatementRun:
    """Let a worker make or send the statements of a month; pressed twice, also at once, there is one run.

    Runs that ended as long ago as exports are kept are deleted.

    Raises ``Refusal`` for a month that is not over.
    """
    check_month(month)
    oldest = timezone.now() - dt.timedelta(days=settings.EXPORT_FILE_DAYS)
    StatementRun.objects.filter(finished_at__lt=oldest).delete()
    for running in StatementRun.objects.select_for_update().filter(month=month, work=work, status=RUNNING):
        note_dead_run(running)
        if running.is_running:
            return running
    run = StatementRun.objects.create(month=month, work=work, staff_id=staff)
    run.task_id = process_run.enqueue(str(run.pk)).id
    run.save(update_fields=["task_id"])
    return run


def note_dead_run(run: StatementRun) -> None:
    """Say so where the task of a run has failed without a word."""
    if run.is_running and has_failed(run.task_id):
        finish_run(run, FAILED, "It ended unexpectedly. Begin it again: what is done stays done.")


@transaction.atomic
def finish_run(run: StatementRun, status: StatementRunStatus, message: str = "") -> None:
    """Store how it ended, and let its person know."""
    run.status, run.message, run.finished_at = status, message, timezone.now()
    run.save(update_fields=["status", "message", "finished_at"])
    if run.staff_id is not None:
        text = f"{run}: {message}" if message else f"{run} is done"
        address = reverse("admin:payments_statement_month", args=[f"{run.month:%Y-%m}"])
        kind = Notice.Kind.FINISHED
        write_notices([Notice(staff_id=run.staff_id, kind=kind, text=text, url=address)])


@task()
def process_run(guid: str) -> None:
    """Do the work of a run; repeated, it goes on after the last participant that is done."""
    run = StatementRun.objects.get(pk=guid)
    if not run.is_running:
        return  # done by an attempt that was killed right after it
    with task_author(Author(Change.Channel.BACK_OFFICE, run.staff_id, request_id=guid)):
        if run.work == StatementWork.MAKE:
            make_all(run)
        else:
            enqueue_all(run)


def lost_right(run: StatementRun) -> str:
    """The sentence that whoever began the run may do it no longer; else empty."""
    person, right = run.staff, "add" if run.work == StatementWork.MAKE else "send"
    if person is None or (person.caseload is None and person.has_perm(f"payments.{right}_statement")):
        return ""
    return f"{person} may no longer do this. Begin it again: what is done stays done."


def make_all(run: StatementRun) -> None:
    people = participants_of(run.month)
    run.rows_total = people.count()
    run.save(update_fields=["rows_total"])
    while not (reason := lost_right(run)):
        further = people.filter(pk__gt=run.last_contact) if run.last_contact else people
        contacts = list(further.values_list("pk", flat=True)[:CHUNK])
        if not contacts:
            break
        make_chunk(run.month, contacts, run)
        run.refresh_from_db()  # its person as well, whose login may be disabled since
        clock.reset_now()
    finish_run(run, FAILED if reason else FINISHED, reason)


@transaction.atomic
def enqueue_all(run: StatementRun) -> None:
    """Enqueue a task for each statement that can be sent, and after them the one that ends the run."""
    recipients = find_recipients(unsent_statements(run.month).order_by("pk"))
    keys = [key for key, recipient in recipients.items() if recipient.obstacle is None]
    for key in keys:
        enqueue_mail(key)
    run.rows_total = len(keys)
    run.save(update_fields=["rows_total"])
    finish_sending.enqueue(str(run.pk))


@task()
def finish_sending(guid: str) -> None:
    """End a run of which each statement was tried: what the server refused is tried again later."""
    run = StatementRun.objects.get(pk=guid)
    if run.is_running:
        with task_author(Author(Change.Channel.BACK_OFFICE, run.staff_id, request_id=guid)):
            run.rows_done = count_sent(run)
            run.save(update_fields=["rows_done"])
            reason = lost_right(run)
            finish_run(run, FAILED if reason else FINISHED, reason)


def count_sent(run: StatementRun) -> int:
    """How many statements of the month were sent since the run began."""
    return Statement.objects.filter(month=run.month, sent_at__gte=run.created_at).count()
