"""A kind of files that creates no records: answers of another system, matched by a number and applied."""

from collections import Counter

import pytest

from apps.core import file_import_kinds
from apps.core.file_import_kinds import ImportKind, ImportOutcome, fixed_columns
from apps.core.importing.columns import ImportColumn
from apps.core.importing.fixed_columns import find_columns, read_row
from apps.core.importing.report import ImportReport, RowIssue
from apps.core.models import FileImport
from apps.core.table_files.opening import open_table
from apps.core.table_files.tables import ImportFileError
from apps.people.drafts import ContactDraft
from apps.people.models import Contact
from apps.people.services import update_contacts
from tests.core.test_file_imports import an_import, page, press
from tests.people.records import a_contact
from tests.tasks import run_tasks

pytestmark = pytest.mark.django_db

ANSWERS = (
    ImportColumn("number", ("NDIS number",), in_every_row=True),
    ImportColumn("phone", ("Mobile",), in_every_row=True),
)


def apply_answers(order):
    """Give each contact its telephone number; a file that is applied already changes nothing."""
    table = open_table(order.path)
    found = find_columns(table, ANSWERS)
    if found.missing:
        raise ImportFileError(f"The file lacks {found.missing[0].name}; is it the agency's list of answers?")
    columns = found.by_name
    report = ImportReport(table, order.errors, order.display.show_issue, order.issues)
    contacts = {contact.scheme_number: contact for contact in Contact.objects.all()}
    counts, drafts = Counter(), []
    for row in table.rows():
        if row.defect is not None:
            report.reject([row], [RowIssue(row, None, "InvalidRow", f"The row {row.defect}")])
            counts["unmatched"] += 1
            continue
        values, issues = read_row(row, columns)
        errors = [RowIssue(row, column.index, each.code, each.about("It").message) for column, each in issues]
        contact = contacts.get(values["number"])
        if contact is None and not errors:
            index = columns["number"].index
            errors = [RowIssue(row, index, "NotFound", "No participant has it: it is of another office.")]
        if contact is None or errors:
            report.reject([row], errors)
            counts["unmatched"] += 1
        elif contact.phone1 == values["phone"]:
            counts["applied_already"] += 1
        else:
            counts["matched"] += 1
            drafts.append(ContactDraft({"phone1": values["phone"]}, ["phone1"], key=contact.pk))
    if not order.dry_run:
        update_contacts(drafts)
    order.display.show_notice(f"{counts.total()} answers in the file.")
    report.close()
    return ImportOutcome(counts, report.kinds)


@pytest.fixture
def answers(monkeypatch):
    kind = ImportKind(
        "answers",
        "Answers of the agency",
        Contact,
        apply_answers,
        options=(),
        read_columns=fixed_columns,
        count_words=("matched", "unmatched", "applied_already"),
        good_words=("matched",),
        good_noun="matched answer",
        undoable=False,
    )
    monkeypatch.setattr(file_import_kinds, "FILE_KINDS", [*file_import_kinds.FILE_KINDS, kind])


FILE = "Mobile,NDIS number\n0400000001,430000001\n0400000002,430000002\n,430000003\n"


def test_a_kind_of_its_own_shows_its_own_numbers_and_applies_what_matches(client, ada, answers):
    known = a_contact(scheme_number="430000001")
    record = an_import(client, text=FILE, kind="answers", name="answers.csv")
    shown = page(client, record)
    assert shown["count_texts"] == ["1 matched", "2 unmatched"]
    assert b"Import 1 matched answer" in client.get(f"/admin/core/fileimport/{record.pk}/file/").content
    assert shown["file_import"].notices == ["3 answers in the file."]
    assert [row["number"] for row in shown["rows"]] == [3, 4]
    assert Contact.objects.get(pk=known.pk).phone1 is None

    press(client, record, "import")
    run_tasks()
    assert Contact.objects.get(pk=known.pk).phone1 == "0400000001"
    record.refresh_from_db()
    assert (record.status, page(client, record)["count_texts"][0]) == ("Imported", "1 matched")
    press(client, record, "undo")
    run_tasks()
    assert FileImport.objects.get().status == "Imported"
    assert b"Undo this import" not in client.get(f"/admin/core/fileimport/{record.pk}/file/").content


def test_a_file_that_is_applied_twice_changes_nothing_the_second_time(client, ada, answers):
    a_contact(scheme_number="430000001", phone1="0400000001")
    record = an_import(client, text=FILE, kind="answers", name="answers.csv")
    assert page(client, record)["count_texts"] == ["2 unmatched", "1 applied already"]
    assert b'value="import"' not in client.get(f"/admin/core/fileimport/{record.pk}/file/").content


def test_another_file_is_refused_and_a_broken_row_named(client, ada, answers):
    record = an_import(client, text="Name,Town\nMia,Perth\n", kind="answers", name="people.csv")
    assert (record.status, record.message) == (
        "Failed",
        "The file lacks number; is it the agency's list of answers?",
    )
    record.delete()
    record = an_import(client, text="Mobile,NDIS number\n0400000001\n", kind="answers", name="answers.csv")
    assert page(client, record)["count_texts"] == ["1 unmatched"]
    assert "has 1 cell" in page(client, record)["rows"][0]["issues"][0][1]
