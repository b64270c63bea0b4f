"""Somebody cancels a job while a worker takes it, or at any moment after that."""

import threading
import time
from random import Random

import pytest
from django.db import connection

from apps.core.importing import runs
from apps.core.models import FileExport
from apps.people.models import Contact
from tests.api.caller import ok
from tests.integration.test_cancelled_jobs import address_of
from tests.integration.test_export_jobs import started
from tests.integration.test_import_jobs import post
from tests.people.builders import a_contact
from tests.races import ROUNDS
from tests.tasks import run_tasks

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]


def answer_meanwhile(caller, job, seconds):
    """The answer to somebody who cancels the job while a worker does it."""
    answers = []

    def cancel():
        time.sleep(seconds)
        answers.append(caller.post(f"{address_of(job)}/Cancel", None))
        connection.close()

    other = threading.Thread(target=cancel)
    other.start()
    run_tasks()
    other.join()
    run_tasks()
    return answers[0]


@pytest.mark.parametrize("trial", range(ROUNDS))
@pytest.mark.parametrize("fields", [{}, {"AllOrNothing": "true"}], ids=["batches", "whole"])
def test_an_import_ends_cancelled_or_imported_and_says_what_it_stored(
    application, trial, monkeypatch, fields
):
    monkeypatch.setattr(runs, "BATCH", 2)
    chance = Random(trial)
    for _ in range(8):
        Contact.objects.all().delete()
        text = "\n".join(["First name,Surname", *(f"Ida,Fox{line}" for line in range(20))])
        job = ok(post(application, text, **fields), 201)
        answer = answer_meanwhile(application, job, chance.uniform(0, 0.25))
        shown = ok(application.get(address_of(job)))
        stored = Contact.objects.count()
        assert stored == (shown["NewCount"] or 0)
        assert shown["Status"] == ("Imported" if stored == 20 else "Cancelled")
        if answer.status_code == 409:
            assert stored == 20
        else:
            assert ok(answer)["Status"] == "Cancelling" or ok(answer) == shown
        if shown["Status"] == "Cancelled":
            assert shown["RowsDone"] == stored
            assert stored == 0 or not fields


@pytest.mark.parametrize("trial", range(ROUNDS))
def test_an_export_has_a_file_or_is_cancelled(application, trial):
    chance = Random(trial)
    for _ in range(20):
        a_contact()
    for _ in range(8):
        job = started(application, "contact?$format=ndjson")
        answer = answer_meanwhile(application, job, chance.uniform(0, 0.1))
        record = FileExport.objects.get(pk=job["ExportJobGuid"])
        is_cancelled = answer.status_code == 200
        assert answer.status_code in (200, 409)
        assert record.status == ("Cancelled" if is_cancelled else "Ready")
        assert record.parts.count() == (0 if is_cancelled else 1)
