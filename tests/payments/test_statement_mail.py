"""Statements by mail: by consent, to whom it says, each once; and runs that make or send all of a month."""

import datetime as dt
import errno

import pytest
import time_machine
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from apps.base import clock
from apps.base.errors import Refusal
from apps.core import history
from apps.core.models import Notice, Subscriber
from apps.core.task_queue import repeat_unfinished_tasks
from apps.payments.choices import StatementWork
from apps.payments.models import Statement, StatementConsent, StatementRun
from apps.payments.services import statement_runs
from apps.payments.services.statement_mail import (
    Obstacle,
    find_recipients,
    mail_statement,
    note_error,
    send_statement,
)
from apps.payments.services.statement_runs import process_run, start_run
from apps.payments.services.statements import make_statements
from tests.payments.statement_builders import MONTH, a_claim_of_the_month, a_consent, a_statement
from tests.payments.test_statements import a_participant
from tests.people.lost_rights import lose_login, lose_rights, see_some
from tests.people.records import a_contact, an_administrator
from tests.tasks import NotStored, let_retries_be_due, run_tasks, store_one_task

pytestmark = pytest.mark.django_db


def recipients(mail_server):
    return sorted(to for to, _ in mail_server.received)


def test_nothing_is_sent_without_a_consent_and_each_reason_is_named(mail_server):
    own, other = {"primary_email": "own@example.org"}, a_contact(primary_email=None)
    cases = {
        Obstacle.NO_CONSENT: a_participant(**own),
        Obstacle.NO_REPRESENTATIVE: a_participant(**own),
        Obstacle.ARCHIVED: a_participant(**own, archive_date=clock.now()),
        Obstacle.NO_MAIL: a_participant(**own, accepts_email_contact="Unsubscribed"),
        Obstacle.NO_ADDRESS: a_participant(**own, representative=other),
    }
    a_consent(cases[Obstacle.NO_REPRESENTATIVE], "Representative")
    a_consent(cases[Obstacle.ARCHIVED])
    a_consent(cases[Obstacle.NO_MAIL])
    a_consent(cases[Obstacle.NO_ADDRESS], "Representative")
    for obstacle, contact in cases.items():
        statement = a_statement(contact)
        assert find_recipients([statement])[statement.pk].obstacle is obstacle
        with pytest.raises(Refusal, match=obstacle.value):
            send_statement(statement.pk)
        mail_statement.call(str(statement.pk), None, 0)
    run_tasks()
    assert mail_server.received == []
    assert set(Obstacle) == set(cases)


def test_a_representative_who_is_archived_is_sent_nothing():
    representative = a_contact(primary_email="daughter@example.org", archive_date=clock.now())
    contact = a_participant(representative=representative)
    a_consent(contact, "Representative")
    statement = a_statement(contact)
    assert find_recipients([statement])[statement.pk].obstacle is Obstacle.ARCHIVED


def test_it_goes_to_whom_the_consent_names_with_the_document_that_is_kept(mail_server):
    representative = a_contact(primary_email=None, secondary_email="daughter@example.org")
    contact = a_participant(primary_email="own@example.org", representative=representative)
    a_consent(contact, "Representative")
    statement = a_statement(contact)
    send_statement(statement.pk)
    Subscriber.objects.update_or_create(pk=1, defaults={"name": "Southern\nLight"})
    Subscriber.clear_cache()
    run_tasks()
    ((to, message),) = mail_server.received
    assert message["subject"].startswith("Southern Light: ")
    assert to == ["daughter@example.org"]
    assert message["subject"].endswith("your statement for October 2025")
    (file,) = message.iter_attachments()
    assert file.get_content() == bytes(statement.content)
    assert contact.last_name not in str(message["subject"])
    statement.refresh_from_db()
    assert statement.sent_to == "daughter@example.org"
    with pytest.raises(Refusal, match="sent already"):
        send_statement(statement.pk)


def test_a_consent_that_is_withdrawn_before_the_worker_comes_counts(mail_server):
    contact = a_participant(primary_email="own@example.org")
    consent = a_consent(contact)
    statement = a_statement(contact)
    send_statement(statement.pk)
    StatementConsent.objects.filter(pk=consent.pk).update(archive_date=clock.now())
    run_tasks()
    assert mail_server.received == []


def test_one_that_was_corrected_before_the_worker_comes_is_not_sent(mail_server):
    contact = a_participant(primary_email="own@example.org")
    a_consent(contact)
    statement = a_statement(contact)
    send_statement(statement.pk)
    a_claim_of_the_month(contact)
    a_statement(contact)
    run_tasks()
    assert mail_server.received == []


def test_a_server_that_refuses_once_is_asked_again_and_each_is_sent_once(mail_server):
    for number in range(3):
        a_consent(a_participant(primary_email=f"p{number}@example.org"))
    make_statements(MONTH)
    mail_server.refusals = 1
    start_run(MONTH, StatementWork.SEND, None)
    run_tasks()
    assert len(mail_server.received) == 2
    assert Statement.objects.filter(sent_at=None).count() == 1
    let_retries_be_due()
    run_tasks()
    assert recipients(mail_server) == [["p0@example.org"], ["p1@example.org"], ["p2@example.org"]]
    clock.reset_now()
    run = start_run(MONTH, StatementWork.SEND, None)
    run_tasks()
    run.refresh_from_db()
    assert (len(mail_server.received), run.rows_done) == (3, 0)


def test_a_server_that_never_takes_it_is_named_and_another_press_begins_anew(mail_server):
    contact = a_participant(primary_email="own@example.org")
    a_consent(contact)
    statement = a_statement(contact)
    mail_server.refusals = 100
    send_statement(statement.pk)
    for _ in range(5):
        run_tasks()
        let_retries_be_due()
    statement.refresh_from_db()
    assert "try again later" in statement.mail_error
    assert statement.sent_at is None
    mail_server.refusals = 0
    send_statement(statement.pk)
    run_tasks()
    statement.refresh_from_db()
    assert (len(mail_server.received), statement.mail_error) == (1, None)


def test_the_page_of_a_statement_names_no_path_of_the_server():
    statement = a_statement(a_participant())
    note_error(statement.pk, FileNotFoundError(errno.ENOENT, "No such file or directory", "/etc/mail.pem"))
    statement.refresh_from_db()
    assert statement.mail_error == "No such file or directory"


# --- runs -----------------------------------------------------------------------------------------------


def test_a_run_makes_all_shows_how_far_it_is_and_tells_its_person():
    staff = an_administrator()
    people = [a_participant() for _ in range(5)]
    run = start_run(MONTH, StatementWork.MAKE, staff.pk)
    assert start_run(MONTH, StatementWork.MAKE, staff.pk) == run  # pressed twice
    run_tasks()
    run.refresh_from_db()
    assert (run.status, run.rows_done, run.rows_total, run.made) == ("Finished", 5, 5, 5)
    assert {each.made_by_id for each in Statement.objects.all()} == {staff.pk}
    assert Notice.objects.get().text == "Making statements: October 2025 is done"
    a_claim_of_the_month(people[0])
    run = start_run(MONTH, StatementWork.MAKE, staff.pk)
    run_tasks()
    run.refresh_from_db()
    assert (run.made, run.corrected) == (1, 1)


def test_a_statement_of_a_long_run_is_of_the_moment_in_which_it_was_made(monkeypatch):
    for _ in range(2):
        a_participant()
    monkeypatch.setattr(statement_runs, "CHUNK", 1)
    make = statement_runs.make_chunk
    run = start_run(MONTH, StatementWork.MAKE, None)
    with time_machine.travel(timezone.now(), tick=False) as time:

        def make_for_an_hour(*arguments):
            made = make(*arguments)
            time.shift(dt.timedelta(hours=1))
            return made

        monkeypatch.setattr(statement_runs, "make_chunk", make_for_an_hour)
        process_run.call(str(run.pk))
    first, second = Statement.objects.order_by("creation_date")
    assert second.creation_date - first.creation_date == dt.timedelta(hours=1)


class Killed(BaseException):
    """The end of a worker, which no code of ours catches."""


@pytest.mark.parametrize("after", range(4))
def test_a_run_whose_worker_was_killed_goes_on_and_makes_none_twice(after, monkeypatch):
    """Killed before, between and after its chunks; the chunk at work is undone as a whole."""
    for _ in range(6):
        a_participant()
    monkeypatch.setattr(statement_runs, "CHUNK", 2)
    run = start_run(MONTH, StatementWork.MAKE, None)
    make, calls = statement_runs.make_chunk, []

    def make_until_killed(*arguments):
        calls.append(arguments)
        if len(calls) == after + 1:
            raise Killed
        return make(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(statement_runs, "make_chunk", make_until_killed)
        if after < 3:
            with pytest.raises(Killed):
                process_run.call(str(run.pk))
        else:
            patch.setattr(statement_runs, "finish_run", make_until_killed)
            with pytest.raises(Killed):
                process_run.call(str(run.pk))
    assert Statement.objects.count() == 2 * after
    DBTaskResult.objects.update(status="RUNNING", worker_ids=["killed"])
    repeat_unfinished_tasks("killed")
    run_tasks()
    run.refresh_from_db()
    assert (run.status, run.rows_done, run.made) == ("Finished", 6, 6)
    assert Statement.objects.count() == Statement.objects.values("contact").distinct().count() == 6


def test_a_run_that_cannot_enqueue_all_mails_has_enqueued_none(monkeypatch):
    for _ in range(2):
        contact = a_participant(primary_email="own@example.org")
        a_consent(contact)
        a_statement(contact)
    run = start_run(MONTH, StatementWork.SEND, None)
    store_one_task(monkeypatch)
    with pytest.raises(NotStored):
        process_run.call(str(run.pk))
    assert DBTaskResult.objects.count() == 1  # that of the run


def test_a_run_that_has_waited_for_long_is_not_deleted_by_the_next_one(settings):
    run = start_run(MONTH, StatementWork.MAKE, None)
    long_ago = timezone.now() - dt.timedelta(days=settings.EXPORT_FILE_DAYS + 1)
    StatementRun.objects.update(created_at=long_ago)
    start_run(MONTH, StatementWork.SEND, None)
    run.refresh_from_db()
    assert run.is_running


def test_a_run_whose_person_cannot_be_told_has_not_ended(monkeypatch):
    run = start_run(MONTH, StatementWork.MAKE, an_administrator().pk)
    monkeypatch.setattr(statement_runs, "write_notices", lambda notices: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        statement_runs.finish_run(run, statement_runs.FINISHED)
    run.refresh_from_db()
    assert run.is_running


@pytest.mark.parametrize("change", [lose_rights, see_some, lose_login])
def test_a_run_stops_before_the_next_chunk_when_its_person_may_no_longer(change, monkeypatch):
    staff = an_administrator(first_name="Ada", last_name="Quill")
    for _ in range(4):
        a_participant()
    monkeypatch.setattr(statement_runs, "CHUNK", 2)
    make = statement_runs.make_chunk

    def make_and_change(*arguments):
        change(staff)
        return make(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(statement_runs, "make_chunk", make_and_change)
        run = start_run(MONTH, StatementWork.MAKE, staff.pk)
        run_tasks()
    run.refresh_from_db()
    assert (run.status, run.rows_done, Statement.objects.count()) == ("Failed", 2, 2)
    assert run.message == "Ada Quill may no longer do this. Begin it again: what is done stays done."
    start_run(MONTH, StatementWork.MAKE, an_administrator().pk)
    run_tasks()
    assert Statement.objects.count() == 4


@pytest.mark.parametrize("change", [lose_rights, see_some, lose_login])
def test_what_somebody_had_sent_who_may_no_longer_waits_for_another(mail_server, change):
    contact, staff = a_participant(primary_email="own@example.org"), an_administrator()
    a_consent(contact)
    statement = a_statement(contact)
    with history.as_author(history.Author("Back office", staff.pk)):
        send_statement(statement.pk)
    run = start_run(MONTH, StatementWork.SEND, staff.pk)
    change(staff)
    run_tasks()
    run.refresh_from_db()
    assert (mail_server.received, run.status, run.rows_done) == ([], "Failed", 0)
    start_run(MONTH, StatementWork.SEND, an_administrator().pk)
    run_tasks()
    assert recipients(mail_server) == [["own@example.org"]]


def test_a_run_that_ended_its_worker_each_time_says_so_and_can_be_begun_again():
    run = start_run(MONTH, StatementWork.MAKE, None)
    DBTaskResult.objects.update(status="FAILED")
    again = start_run(MONTH, StatementWork.MAKE, None)
    run.refresh_from_db()
    assert again != run
    assert (run.status, run.message.split(".")[0]) == ("Failed", "It ended unexpectedly")


def test_old_runs_go_when_another_begins(settings):
    run = start_run(MONTH, StatementWork.MAKE, None)
    run_tasks()
    StatementRun.objects.update(finished_at=timezone.now() - dt.timedelta(days=settings.EXPORT_FILE_DAYS + 1))
    start_run(MONTH, StatementWork.MAKE, None)
    assert not StatementRun.objects.filter(pk=run.pk).exists()
