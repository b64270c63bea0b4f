"""Jobs that are cancelled: before a worker takes them, between two batches, while it takes them."""

import io
import re
from contextlib import contextmanager
from random import Random

import pytest
from django.test import Client
from django.utils import timezone
from django_tasks_db.models import DBTaskResult
from openpyxl import load_workbook

from apps.access.models import ApiApplication, IdempotencyKey
from apps.access.services import purge_expired
from apps.base.drafts import Draft
from apps.core import file_exports, file_imports, history
from apps.core.file_exports import ExportCancelled
from apps.core.importing import runs
from apps.core.models import Change, FileExport, FileImport
from apps.integration import export_jobs
from apps.people.models import Contact
from apps.people.services import update_contacts
from tests.api.caller import ok, refused
from tests.core.test_file_imports import IMPORTS, an_import, chosen, page, press
from tests.integration.test_export_jobs import started
from tests.integration.test_import_jobs import (
    a_caller,
    counts,
    finished,
    limited,
    post,
    revoked,
    taken_away,
)
from tests.people.builders import a_contact
from tests.people.import_files import GOOD, HEADER
from tests.people.lost_rights import lose_login, lose_rights, see_some
from tests.people.records import an_administrator
from tests.tasks import run_tasks

pytestmark = pytest.mark.django_db
FAULTY = "Al,Orr,al-at-home,431000009,02/03/1990,0400,1 Low Road,Hobart,TAS,7000,Australia"
PEOPLE = "\n".join([HEADER, FAULTY, *GOOD])


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(runs, "BATCH", 2)


def address_of(job):
    path = "importJob" if "ImportJobGuid" in job else "exportJob"
    return f"{path}({job[f'{path[0].upper()}{path[1:]}Guid']})"


def cancelled(caller, job):
    return ok(caller.post(f"{address_of(job)}/Cancel", None))


@contextmanager
def calls_at(monkeypatch, batch, call):
    """Somebody calls before the batch of this number, if there is one; 0: before the worker comes."""
    asked, unbroken = [], file_imports.is_cancelled

    def is_cancelled(file_import):
        asked.append(file_import)
        if len(asked) == batch:
            call()
        return unbroken(file_import)

    if batch == 0:
        call()
    with monkeypatch.context() as patched:
        patched.setattr(file_imports, "is_cancelled", is_cancelled)
        yield


# --- imports --------------------------------------------------------------------------------------------


def test_a_job_that_waits_is_cancelled_at_once(application):
    job = ok(post(application), 201)
    for _ in range(2):
        shown = cancelled(application, job)
        assert (shown["Status"], shown["RowsDone"]) == ("Cancelled", 0)
        assert shown["Message"] == "It was cancelled; nothing was stored."
    assert shown["FinishedDate"] is not None
    assert not DBTaskResult.objects.exists()
    run_tasks()
    assert not Contact.objects.exists()
    for step in ("Import", "Undo"):
        refused(application.post(f"{address_of(job)}/{step}", None), 409, "Conflict")


def test_an_idempotency_key_of_a_cancel_is_not_stored(application):
    """On SQLite nobody else can write while a worker checks a file."""
    jobs = ok(post(application), 201), started(application, "contact")
    for job in jobs:
        for _ in range(2):
            answer = application.post(f"{address_of(job)}/Cancel", None, Idempotency_Key="c-1")
            assert ok(answer)["Status"] == "Cancelled"
    assert not IdempotencyKey.objects.exists()
    paths = ok(application.get("/docs/openapi.json", {"version": "2.1"}))["paths"]
    steps = {
        path: str(each["post"]["parameters"])
        for path, each in paths.items()
        if "JobGuid}/" in path and "post" in each
    }
    assert len(steps) == 4
    for path, parameters in steps.items():
        assert ("idempotencyKey" in parameters) is not path.endswith("/Cancel"), path


def test_a_job_that_runs_stops_before_the_next_batch_and_tells_what_it_stored(application, monkeypatch):
    job = ok(post(application, PEOPLE), 201)
    answers = []

    def cancel():
        answers.append(cancelled(application, job)["Status"])

    with calls_at(monkeypatch, 2, cancel):
        run_tasks()
    assert answers == ["Cancelling"]
    shown = ok(application.get(address_of(job)))
    assert (shown["Status"], shown["RowsDone"], counts(shown)) == ("Cancelled", 2, [1, 0, 0, 1, 0])
    assert shown["Message"].startswith("It was cancelled after 2 rows, and what is stored stays.")
    assert Contact.objects.count() == 1
    workbook = application.get(f"{address_of(job)}/RejectedRows").content
    assert len(list(load_workbook(io.BytesIO(workbook)).active.iter_rows())) == 2
    assert cancelled(application, job)["Status"] == "Cancelled"
    assert counts(finished(application, PEOPLE))[:3] == [2, 0, 1]


def test_what_a_cancelled_job_stored_is_undone_unless_somebody_changed_it(application, monkeypatch):
    job = ok(post(application, PEOPLE), 201)
    with calls_at(monkeypatch, 2, lambda: cancelled(application, job)):
        run_tasks()
    contact = Contact.objects.get()
    with history.as_author(history.Author("Back office")):
        update_contacts([Draft({"phone1": "1"}, given=["phone1"], key=contact.pk)])
    assert ok(application.post(f"{address_of(job)}/Undo", None))["Status"] == "Undoing"
    run_tasks()
    shown = ok(application.get(address_of(job)))
    assert (shown["Status"], shown["NewCount"]) == ("Cancelled", 1)
    assert shown["Message"].startswith("It cannot be undone. Changed since the import")
    Change.objects.exclude(request_id=job["ImportJobGuid"]).delete()
    ok(application.post(f"{address_of(job)}/Undo", None))
    run_tasks()
    assert (ok(application.get(address_of(job)))["Status"], Contact.objects.count()) == ("Undone", 0)


def test_an_import_that_was_checked_and_then_cancelled_tells_no_counts_of_its_check(application):
    job = finished(application, CheckOnly="true")
    ok(application.post(f"{address_of(job)}/Import", None))
    assert counts(cancelled(application, job)) == [None] * 5
    refused(application.post(f"{address_of(job)}/Undo", None), 409, "Conflict")


@pytest.mark.parametrize("change", [revoked, taken_away, limited])
def test_an_import_stops_before_the_next_batch_when_its_application_may_no_longer(monkeypatch, change):
    narrow = a_caller("importjob.write", "importjob.read", "contact.write", name="Narrow")
    ok(post(narrow, PEOPLE), 201)
    with calls_at(monkeypatch, 2, lambda: change("Narrow")):
        run_tasks()
    stored = FileImport.objects.get()
    assert (stored.status, stored.rows_done, Contact.objects.count()) == ("Cancelled", 2, 1)
    assert stored.message.startswith("Narrow may no longer import these records. It was cancelled after 2")


def test_a_check_stops_when_its_application_may_no_longer(monkeypatch):
    ok(post(a_caller("importjob.write", "contact.write", name="Narrow"), PEOPLE, CheckOnly="true"), 201)
    with calls_at(monkeypatch, 2, lambda: taken_away("Narrow")):
        run_tasks()
    message = "Narrow may no longer import these records. It was cancelled; nothing was stored."
    assert (FileImport.objects.get().status, FileImport.objects.get().message) == ("Cancelled", message)


def test_a_person_imports_on_while_the_application_that_brought_the_file_is_revoked(
    application, client, monkeypatch
):
    key = finished(application, PEOPLE, CheckOnly="true")["ImportJobGuid"]
    client.force_login(an_administrator())
    client.post(f"/admin/core/fileimport/{key}/file/", {"action": "import"})
    with calls_at(monkeypatch, 2, lambda: revoked(ApiApplication.objects.get().name)):
        run_tasks()
    assert (FileImport.objects.get().status, Contact.objects.count()) == ("Imported", 3)


@pytest.mark.parametrize("change", [lose_login, lose_rights, see_some])
def test_an_import_stops_before_the_next_batch_when_its_person_may_no_longer(client, monkeypatch, change):
    person = an_administrator(first_name="Ada", last_name="Quill")
    client.force_login(person)
    record = an_import(client, text=PEOPLE)
    press(client, record, "import")
    with calls_at(monkeypatch, 2, lambda: change(person)):
        run_tasks()
    record.refresh_from_db()
    assert (record.status, record.rows_done, Contact.objects.count()) == ("Cancelled", 2, 1)
    assert record.message.startswith("Ada Quill may no longer import these records. It was cancelled after 2")


@pytest.mark.parametrize("fields", [{"CheckOnly": "true"}, {"AllOrNothing": "true"}])
def test_where_all_or_nothing_goes_in_nothing_does(application, monkeypatch, fields):
    job = ok(post(application, PEOPLE, **fields), 201)
    with calls_at(monkeypatch, 2, lambda: cancelled(application, job)):
        run_tasks()
    shown = ok(application.get(address_of(job)))
    assert (shown["Status"], shown["RowsDone"], counts(shown)) == ("Cancelled", 0, [None] * 5)
    assert shown["Message"] == "It was cancelled; nothing was stored."
    assert not Contact.objects.exists()


def test_a_job_that_is_read_is_not_imported_afterwards(application, monkeypatch):
    job = ok(post(application), 201)
    unbroken = file_imports.write_file

    def write_file(*args):
        monkeypatch.setattr(file_imports, "write_file", unbroken)
        cancelled(application, job)
        return unbroken(*args)

    monkeypatch.setattr(file_imports, "write_file", write_file)
    run_tasks()
    assert ok(application.get(address_of(job)))["Status"] == "Cancelled"
    assert not Contact.objects.exists()


def test_a_job_that_was_cancelled_when_its_worker_was_killed_tells_what_is_stored(application, monkeypatch):
    job = ok(post(application, PEOPLE), 201)

    def is_killed():
        FileImport.objects.update(rows_done=2)  # as it is shown outside of the transaction of a test
        raise KeyboardInterrupt

    with calls_at(monkeypatch, 2, is_killed):
        run_tasks()
    DBTaskResult.objects.update(status="READY", finished_at=None, exception_class_path="", traceback="")
    assert cancelled(application, job)["Status"] == "Cancelling"
    run_tasks()
    shown = ok(application.get(address_of(job)))
    assert (shown["Status"], shown["RowsDone"], counts(shown)[0]) == ("Cancelled", 2, 1)


@pytest.mark.parametrize(
    ("fields", "steps", "status"),
    [
        ({}, [], "Imported"),
        ({"CheckOnly": "true"}, [], "Checked"),
        ({"Map": "Nonsense=FirstName"}, [], "Failed"),
        ({}, ["Undo"], "Undoing"),
        ({}, ["Undo", "work"], "Undone"),
    ],
)
def test_a_job_that_is_done_or_undone_is_not_cancelled(application, fields, steps, status):
    job = finished(application, **fields)
    for step in steps:
        run_tasks() if step == "work" else application.post(f"{address_of(job)}/{step}", None)
    before = FileImport.objects.values().get()
    error = refused(application.post(f"{address_of(job)}/Cancel", None), 409, "Conflict")
    assert error["message"] == f"The job is {status}: it cannot be cancelled."
    assert FileImport.objects.values().get() == before


def test_the_file_of_a_cancelled_job_goes_with_the_others(application):
    job = ok(post(application), 201)
    cancelled(application, job)
    assert FileImport.objects.get().content
    FileImport.objects.update(created_at=timezone.now() - timezone.timedelta(days=31))
    purge_expired()
    assert FileImport.objects.get().content is None


def test_people_cancel_an_import_and_check_it_again(client, ada):
    record = an_import(client)
    press(client, record, "import")
    assert page(client, record)["is_cancellable"]
    press(client, record, "cancel")
    press(client, record, "cancel")
    assert "Cancelled" in client.get(f"{IMPORTS}{record.pk}/file/").content.decode()
    run_tasks()
    assert not Contact.objects.exists()
    record.refresh_from_db()
    press(client, record, "check", **chosen(record))
    run_tasks()
    record.refresh_from_db()
    press(client, record, "import")
    run_tasks()
    assert Contact.objects.count() == 3
    press(client, record, "cancel")
    record.refresh_from_db()
    assert record.status == "Imported"


# --- exports --------------------------------------------------------------------------------------------


def test_an_export_that_waits_is_cancelled(application):
    job = started(application, "client")
    for _ in range(2):
        shown = cancelled(application, job)
        assert (shown["Status"], shown["Message"]) == ("Cancelled", "It was cancelled.")
    run_tasks()
    assert ok(application.get(address_of(job)))["Status"] == "Cancelled"
    refused(application.get(f"{address_of(job)}/File"), 409, "Conflict")


@pytest.mark.parametrize("seconds", [0, 60], ids=["while it is written", "when it is stored"])
def test_an_export_that_runs_stores_no_file(application, monkeypatch, seconds):
    monkeypatch.setattr(file_exports, "PROGRESS_SECONDS", seconds)
    for _ in range(3):
        a_contact()
    job, told = started(application, "contact?$format=ndjson"), []

    def with_progress(file_export, records):
        for record in file_exports.with_progress(file_export, records):
            if not told:
                cancelled(application, job)
            told.append(record)
            yield record

    monkeypatch.setattr(export_jobs, "with_progress", with_progress)
    run_tasks()
    record = FileExport.objects.get()
    assert (record.status, record.delta_link, record.parts.count()) == ("Cancelled", None, 0)
    assert len(told) == (1 if seconds == 0 else 3)


def test_an_export_that_is_done_is_not_cancelled(application):
    job = started(application, "client")
    run_tasks()
    error = refused(application.post(f"{address_of(job)}/Cancel", None), 409, "Conflict")
    assert error["message"] == "The job is Ready: it cannot be cancelled."
    assert application.get(f"{address_of(job)}/File").status_code == 200


def test_a_cancelled_export_makes_room_for_another(application, monkeypatch):
    monkeypatch.setattr(export_jobs, "MOST_RUNNING", 1)
    cancelled(application, started(application, "client"))
    started(application, "client")


def test_people_cancel_their_exports(client, ada):
    record = FileExport.objects.create(record_type="people.contact", file_name="a.csv", staff=ada)
    address = f"/admin/core/fileexport/{record.pk}/file/"
    other = Client()
    other.force_login(an_administrator())
    other.post(address)
    assert re.search(r">\s*Cancel\s*</button>", client.get(address).content.decode())
    client.post(address)
    assert "It was cancelled." in client.get(address).content.decode()
    with pytest.raises(ExportCancelled):
        file_exports.store_file(record, io.BytesIO(b"x"))


# --- what is refused, for both --------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["importJob", "exportJob"])
def test_others_cancel_nothing(application, path):
    job = ok(post(application), 201) if path == "importJob" else started(application, "client")
    address = f"{address_of(job)}/Cancel"
    refused(a_caller("read", "write", name="Other").post(address, None), 404, "NotFound")
    reader = a_caller(f"{path.lower()}.read", "contact.write", name="Reader")
    refused(reader.post(address, None), 403, "Forbidden")
    assert application.get(address).status_code == 405
    refused(application.post(f"{address}?Status=x", None), 400)
    refused(application.post(f"{path}(0198c0de-0000-7000-8000-000000000001)/Cancel", None), 404, "NotFound")
    assert application.post(f"{path}(nonsense)/Cancel", None).status_code in (400, 404)
    assert ok(application.get(address_of(job)))["Status"] in ("Reading", "Exporting")


def test_a_right_that_was_taken_away_does_not_keep_a_job_running(application):
    narrow = a_caller("importjob.write", "importjob.read", "contact.write", name="Narrow")
    job = ok(post(narrow), 201)
    ApiApplication.objects.filter(name="Narrow").update(scope="importjob.write importjob.read")
    assert cancelled(narrow, job)["Status"] == "Cancelled"


# --- at random  ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_jobs_at_random_are_whole_or_told(application, monkeypatch, seed):
    """Whenever a job is cancelled, its counts are those of the history, and nobody works on it any more."""
    chance = Random(seed)
    for number in range(6):
        lines = [f"Ida,Fox{number}x{line}" for line in range(chance.randrange(1, 8))]
        job = ok(post(application, "\n".join(["First name,Surname", *lines])), 201)
        moment = chance.randrange(5)
        with calls_at(monkeypatch, moment, lambda job=job: cancelled(application, job)):
            run_tasks()
        shown = ok(application.get(address_of(job)))
        stored = Contact.objects.filter(last_name__startswith=f"Fox{number}x").count()
        changes = Change.objects.filter(request_id=job["ImportJobGuid"], record_type="people.contact")
        assert changes.count() == stored == (shown["NewCount"] or 0)
        is_in_time = 2 * moment < len(lines) + 2
        assert shown["Status"] == ("Cancelled" if is_in_time else "Imported")
        assert is_in_time or stored == len(lines)
        assert shown["Status"] == "Imported" or (stored, shown["RowsDone"]) == (max(2 * moment - 2, 0),) * 2
