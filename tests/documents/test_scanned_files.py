"""Documents are scanned for viruses, whichever way they come; what is found is neither stored nor served."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.core.models import Change
from apps.documents import storage
from apps.documents.models import Document
from tests.api.caller import faults, ok, refused
from tests.documents.builders import PDF, a_file, fields, files
from tests.documents.conftest import stored
from tests.virus_scanner import EICAR

pytestmark = pytest.mark.django_db
INFECTED = PDF + EICAR


@pytest.fixture
def lists(staff, category):
    def of(count):
        return [
            *fields("CreatedByStaffGuidList", *[staff.pk] * count),
            *fields("DocumentCategoryGuidList", *[category.pk] * count),
        ]

    return of


def test_a_clean_file_is_stored_as_it_was_sent(scanner, post, lists, folder):
    ok(post(a_file(PDF), *lists(1)), 201)
    assert scanner.scanned == [PDF]
    assert [path.read_bytes() for path in stored(folder)] == [PDF]


def test_an_infected_file_is_refused_at_its_place_and_none_is_stored(scanner, post, lists, nothing_is_left):
    answer = post(*files(("a.pdf", PDF), ("b.pdf", INFECTED), ("c.pdf", PDF)), *lists(3))
    assert faults(answer) == [("VirusFound", "Files[1]")]
    assert "b.pdf is refused: the virus scanner found Eicar-Test-Signature in it." in answer.content.decode()
    nothing_is_left()
    assert not Change.objects.filter(record_type="documents.document").exists()


def test_nothing_is_stored_while_the_scanner_is_down(settings, scanner, post, lists, nothing_is_left):
    settings.VIRUS_SCANNER = "unix:/nowhere/clamd.ctl"
    error = refused(post(a_file(PDF), *lists(1)), 503)
    assert error["message"].startswith("The virus scanner does not answer, and no file is stored unscanned.")
    nothing_is_left()
    assert Document.objects.count() == 0


def test_a_scanner_that_stops_in_the_middle_stores_nothing(scanner, post, lists, nothing_is_left):
    scanner.answer = b""
    refused(post(a_file(PDF + b" " * 1_000_000), *lists(1)), 503)
    nothing_is_left()


def test_a_file_beyond_the_scanners_limit_is_413(scanner, post, lists, nothing_is_left):
    scanner.stream_max_length = 10
    refused(post(a_file(PDF + b" " * 20_000_000), *lists(1)), 413)
    nothing_is_left()


def test_the_file_of_a_form_is_scanned_when_it_is_chosen(scanner, client, ada, nothing_is_left):
    answer = client.post(
        "/admin/documents/document/file/", {"file": SimpleUploadedFile("bill.pdf", INFECTED)}
    )
    assert answer.status_code == 400
    assert "the virus scanner found Eicar-Test-Signature" in answer.json()["message"]
    nothing_is_left()
    scanner.answer = b""
    answer = client.post("/admin/documents/document/file/", {"file": SimpleUploadedFile("bill.pdf", PDF)})
    assert answer.status_code == 503
    nothing_is_left()


def test_files_of_the_back_office_are_scanned(scanner, client, ada, category, nothing_is_left):
    form = {"category": str(category.pk), "Files": SimpleUploadedFile("bill.pdf", INFECTED)}
    answer = client.post("/admin/documents/document/add/", form)
    assert "the virus scanner found Eicar-Test-Signature" in answer.content.decode()
    nothing_is_left()


def test_a_storage_that_reads_less_than_all_has_stored_nothing(scanner, folder, monkeypatch):
    monkeypatch.setattr(storage.DocumentFolder, "save", lambda self, key, stream: next(stream.chunks()))
    with pytest.raises(storage.Unavailable), storage.FileBatch() as batch:
        batch.store([PDF, EICAR], "a.pdf")
