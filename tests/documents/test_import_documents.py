"""Documents from a folder with an index."""

import contextlib
import csv
import io

import pytest
from django.core.management import CommandError, call_command

from apps.base.drafts import ValidationFailed
from apps.core.models import Change
from apps.documents.drafts import DocumentDraft
from apps.documents.models import Document
from apps.documents.services import update_documents
from tests.documents.builders import PDF, a_category, a_document, docx, png
from tests.documents.conftest import stored
from tests.people.builders import a_client, a_staff_member
from tests.virus_scanner import EICAR, running_scanner

pytestmark = pytest.mark.django_db


@pytest.fixture
def scans(tmp_path):
    where = tmp_path / "scans"
    (where / "letters").mkdir(parents=True)
    (where / "plan.pdf").write_bytes(PDF)
    (where / "letters" / "märz.docx").write_bytes(docx())
    (where / "photo.png").write_bytes(png())
    (where.parent / "secret.pdf").write_bytes(PDF)
    return where


@pytest.fixture
def index(scans, category):
    """``index([row, …], *words)`` imports the rows: what was said, and the reasons of those rejected."""
    a_staff_member(PrimaryEmail="grace@example.com")
    a_client(BusinessName="Acme Pty Ltd", UniqueCode="A-1")

    def run(rows, *words, header=("File", "Name", "Client", "Category", "Created by")):
        path = scans / "index.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])
        reported = io.StringIO()
        errors = scans / "refused.csv"
        errors.unlink(missing_ok=True)
        words = [*words, "--errors", str(errors)]
        with contextlib.suppress(SystemExit):  # some rows were refused
            call_command(
                "import_records", "document", str(path), *words, stdout=reported, stderr=io.StringIO()
            )
        rows = csv.reader(errors.read_text(encoding="utf-8-sig").splitlines()) if errors.exists() else ()
        reasons = [row[-1] for row in rows][1:]
        return reported.getvalue(), reasons

    return run


ROWS = [
    ("plan.pdf", "Plan 2026", "ACME pty ltd", "invoices", "Grace@example.com"),
    (r"letters\märz.docx", "", "", "Invoices", "grace@example.com"),
]


def test_each_row_becomes_a_document_with_its_file(index, folder):
    reported, reasons = index(ROWS)
    assert reported.startswith("2 rows: 2 new"), reasons
    letter, plan = Document.objects.order_by("file_name")
    assert (letter.name, letter.file_name, letter.client) == ("märz.docx", "märz.docx", None)
    assert (plan.name, str(plan.client), str(plan.category)) == ("Plan 2026", "Acme Pty Ltd", "Invoices")
    assert plan.created_by.primary_email == "grace@example.com"
    assert (folder / plan.storage_key).read_bytes() == PDF
    assert len(stored(folder)) == 2
    assert set(Change.objects.filter(record_type="documents.document").values_list("channel", flat=True)) == {
        "Import"
    }


def test_a_second_run_changes_nothing(index, folder):
    index(ROWS)
    reported, _ = index(ROWS)
    assert reported.startswith("2 rows: 0 new, 0 changed, 2 unchanged")
    assert Document.objects.count() == len(stored(folder)) == 2


def test_another_file_of_the_same_name_is_another_document(index, scans):
    index(ROWS[:1])
    (scans / "plan.pdf").write_bytes(PDF + b"% signed")
    reported, _ = index(ROWS[:1])
    assert reported.startswith("1 row: 1 new")


def test_one_file_may_be_about_two_clients(index):
    a_client(BusinessName="Beta")
    rows = [("plan.pdf", "", name, "Invoices", "grace@example.com") for name in ("Beta", "Acme Pty Ltd")]
    reported, _ = index(rows)
    assert reported.startswith("2 rows: 2 new")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("gone.pdf", "", "", "Invoices", "grace@example.com"), "is not there"),
        (("../secret.pdf", "", "", "Invoices", "grace@example.com"), "outside the folder"),
        (("/etc/passwd", "", "", "Invoices", "grace@example.com"), "outside the folder"),
        (("letters", "", "", "Invoices", "grace@example.com"), "is not there"),
        (("x" * 401, "", "", "Invoices", "grace@example.com"), "400 characters"),
        (("fake.pdf", "", "", "Invoices", "grace@example.com"), "not by its content"),
        (("page.html", "", "", "Invoices", "grace@example.com"), "html files are not allowed"),
        (("empty.pdf", "", "", "Invoices", "grace@example.com"), "is empty"),
        (("plan.pdf", "", "Nobody", "Invoices", "grace@example.com"), "no client called Nobody"),
        (("plan.pdf", "", "", "Novels", "grace@example.com"), "no document category called Novels"),
        (("plan.pdf", "", "", "", "grace@example.com"), "required"),
        (("plan.pdf", "", "", "Invoices", ""), "required"),
    ],
)
def test_a_row_that_cannot_be_is_refused_with_the_reason_and_others_go_in(index, scans, folder, row, reason):
    (scans / "fake.pdf").write_bytes(png())
    (scans / "page.html").write_bytes(b"<html>")
    (scans / "empty.pdf").touch()
    reported, reasons = index([row, ("photo.png", "", "", "Invoices", "grace@example.com")])
    assert reported.startswith("2 rows: 1 new, 0 changed, 0 unchanged, 1 rejected")
    assert reason in reasons[0]
    assert [document.file_name for document in Document.objects.all()] == ["photo.png"]
    assert len(stored(folder)) == 1


@pytest.mark.parametrize("words", [["--dry-run"], ["--all-or-nothing"]])
def test_a_rolled_back_import_leaves_no_file(index, nothing_is_left, words):
    reported, _ = index([*ROWS, ("gone.pdf", "", "", "Invoices", "grace@example.com")], *words)
    assert "Nothing was stored" in reported
    nothing_is_left()


def test_a_document_gets_another_category_by_its_guid_and_keeps_its_file(index):
    document, other = a_document(name="Plan"), a_category(name="Plans")
    reported, _ = index([(str(document.pk), "Plans")], header=("DocumentGuid", "Category"))
    assert reported.startswith("1 row: 0 new, 1 changed")
    document.refresh_from_db()
    assert (document.category, document.name) == (other, "Plan")
    row = (str(document.pk), "photo.png", "Plans")
    _, reasons = index([row], header=("DocumentGuid", "File", "Category"))
    assert "file stays" in reasons[0]


@pytest.mark.parametrize("name", [None, "", " "])
def test_a_document_does_not_lose_its_name(name):
    document = a_document(name="Plan")
    members = {"name": name, "category": document.category}
    with pytest.raises(ValidationFailed) as refused:
        update_documents([DocumentDraft(members, members, key=document.pk)])
    assert [(issue.code, issue.field) for _, issue in refused.value.issues] == [("Required", "name")]


def test_a_file_beyond_the_limit_is_refused(index, settings, nothing_is_left):
    settings.DOCUMENT_MAX_BYTES = 10
    _, reasons = index(ROWS[:1])
    assert "larger than 10 bytes" in reasons[0]
    nothing_is_left()
    settings.DOCUMENT_MAX_BYTES = len(PDF)
    assert index(ROWS[:1])[1] == []


def test_an_infected_file_keeps_its_row_out(index, scans, folder, settings):
    (scans / "plan.pdf").write_bytes(PDF + EICAR)
    with running_scanner(settings):
        reported, reasons = index(ROWS)
    assert reported.startswith("2 rows: 1 new")
    assert "plan.pdf is refused: the virus scanner found Eicar-Test-Signature in it." in reasons[0]
    assert [path.read_bytes() for path in stored(folder)] == [(scans / "letters" / "märz.docx").read_bytes()]


def test_an_import_ends_with_a_sentence_while_the_scanner_is_down(index, folder, settings):
    settings.VIRUS_SCANNER = "unix:/nowhere/clamd.ctl"
    with pytest.raises(CommandError, match=r"^plan\.pdf: The virus scanner does not answer"):
        index(ROWS)
    assert not Document.objects.exists()
    assert stored(folder) == []
