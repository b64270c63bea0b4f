"""Imports in the back office: upload, columns, a preview with every fault, import, result."""

import errno
import io
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from openpyxl import Workbook, load_workbook

from apps.access.services import purge_expired
from apps.core import history
from apps.core.file_import_kinds import FILE_KINDS, import_kinds
from apps.core.file_imports import start_import
from apps.core.import_undo import undo_changes
from apps.core.importing import runs
from apps.core.models import Change, FileImport
from apps.core.table_files import opening
from apps.funding.models import Claim, PriceBook, Product, ProviderInvoice
from apps.people.models import Contact, Staff
from tests.engagements.builders import a_plan
from tests.engagements.test_import_service_bookings import USUAL
from tests.funding.guide_files import a_row, as_csv, last_year
from tests.funding.import_claims import GOOD as CLAIMS
from tests.funding.import_claims import HEADER as CLAIM_HEADER
from tests.funding.import_claims import an_office
from tests.people.import_files import GOOD, HEADER
from tests.people.records import a_contact, a_role, a_staff_member, get_unrendered
from tests.tasks import run_tasks

pytestmark = pytest.mark.django_db
IMPORTS = "/admin/core/fileimport/"
FAULTY = "Al,Orr,al-at-home,431000009,02/03/1990,0400,1 Low Road,Hobart,TAS,7000,Australia"
CONTACTS = "\n".join([HEADER, *GOOD, FAULTY])


def upload(client, text=CONTACTS, kind="contact", name="people.csv", **more):
    content = text.encode() if isinstance(text, str) else text
    return client.post(
        f"{IMPORTS}add/?kind={kind}", {"kind": kind, "file": SimpleUploadedFile(name, content), **more}
    )


def page(client, record):
    return get_unrendered(client, f"{IMPORTS}{record.pk}/file/").context


def press(client, record, action, **values):
    return client.post(f"{IMPORTS}{record.pk}/file/", {"action": action, **values})


def an_import(client, **file):
    """The record of an uploaded and checked file."""
    assert upload(client, **file).status_code == 302
    run_tasks()
    return FileImport.objects.get()


def chosen(record, **options):
    """What the page's form sends back, with other columns or options."""
    columns = {f"column_{number}": column["member"] for number, column in enumerate(record.columns)}
    switches = {name: "1" if value is True else value for name, value in record.options.items() if value}
    return {**columns, **switches, **options}


def test_a_file_is_checked_then_imported_and_its_bad_rows_come_back(client, ada):
    record = an_import(client)
    assert (record.status, record.counts["new"], record.counts["rejected"]) == ("Checked", 3, 1)
    assert not Contact.objects.exists()
    (row,) = page(client, record)["rows"]
    assert row["number"] == 5
    assert [(cell, issues) for cell, issues in row["cells"] if issues] == [
        ("al-at-home", [(False, "Must be an email address.")])
    ]
    press(client, record, "import")
    assert page(client, record)["file_import"].is_running
    run_tasks()
    record.refresh_from_db()
    assert (record.status, record.counts["new"]) == ("Imported", 3)
    assert Contact.objects.count() == 3
    rejected = client.get(f"{IMPORTS}{record.pk}/rejected-rows/")
    sheet = load_workbook(io.BytesIO(rejected.content)).active
    assert [row[-1].value for row in sheet.iter_rows()] == [
        "Reason",
        "Email: InvalidEmail: PrimaryEmail must be an email address. It is “al-at-home”.",
    ]
    changes = Change.objects.filter(request_id=str(record.pk))
    assert set(changes.values_list("channel", "staff_id", "kind")) == {("Import", ada.pk, "Created")}


def test_headers_that_are_no_text_of_a_workbook_come_back_with_the_rejected_rows(client, ada):
    record = an_import(client, text="First name,Surname,Email,=1+1,No\x19te\nAl,Orr,al-at-home,x,y")
    assert (record.status, record.counts["rejected"]) == ("Checked", 1)
    rejected = client.get(f"{IMPORTS}{record.pk}/rejected-rows/")
    header = next(load_workbook(io.BytesIO(rejected.content)).active.iter_rows())
    assert [(cell.value, cell.data_type) for cell in header[3:5]] == [("=1+1", "s"), ("Note", "s")]


def test_columns_that_are_not_recognised_can_be_chosen(client, ada):
    record = an_import(client, text="First name,Known as,Called\nIda,Quill,Q")
    context = page(client, record)
    assert context["left_out"] == ["Known as", "Called"]
    assert context["columns"][1] == (
        "B",
        {"header": "Known as", "samples": ["Quill"], "member": "", "values": {}},
    )
    assert context["members"]["UniqueCode"] == "Unique code"
    assert "CreationDate" not in context["members"]
    press(client, record, "check", **chosen(record, column_1="LastName", column_2="UniqueCode"))
    run_tasks()
    press(client, FileImport.objects.get(), "import")
    run_tasks()
    assert Contact.objects.values_list("first_name", "last_name", "unique_code").get() == (
        "Ida",
        "Quill",
        "Q",
    )


def test_a_second_telephone_is_one_of_its_own(client, ada):
    record = an_import(client, text="First name,Surname,Phone,Mobile\nIda,Quill,02 6555 1234,0400 000 001")
    assert [column["member"] for _, column in page(client, record)["columns"]][2:] == ["Phone2", "Phone1"]
    press(client, record, "import")
    run_tasks()
    assert Contact.objects.values_list("phone1", "phone2").get() == ("0400 000 001", "02 6555 1234")


def test_two_columns_of_one_field_are_refused_in_words_of_the_page(client, ada):
    record = an_import(client, text="First name,Surname,Other\nIda,Quill,Q")
    press(client, record, "check", **chosen(record, column_2="LastName"))
    run_tasks()
    record.refresh_from_db()
    assert record.status == "Failed"
    assert record.message.endswith("both give LastName; give one of them another field, or leave it out.")


def test_options_decide_how_rows_are_read(client, ada):
    a_contact(first_name="Ida", last_name="Old", unique_code="P-1", birthday="1990-03-04")
    record = an_import(client, text="Code,First name,Surname,DOB\nP-1,Ida,Old,03/04/1990")
    (row,) = page(client, record)["rows"]
    sentence = "the column does not show it; “day first” or “month first” does."
    assert row["cells"][3][1] == [(True, f"It is read with the day first, as 3 April 1990: {sentence}")]
    assert record.counts["changed"] == 1
    press(client, record, "check", **chosen(record, day_order="month"))
    run_tasks()
    record.refresh_from_db()
    assert (record.counts["unchanged"], record.counts["with_warnings"]) == (1, 0)
    press(client, record, "check", **chosen(record, day_order="day"))
    run_tasks()
    record.refresh_from_db()
    assert (record.counts["changed"], record.counts["with_warnings"]) == (1, 0)
    without_updates = chosen(record)
    del without_updates["updates"]
    press(client, record, "check", **without_updates)
    run_tasks()
    record.refresh_from_db()
    assert (record.counts["changed"], record.counts["unchanged"]) == (0, 1)


def test_letters_of_a_macintosh_are_shown_and_read_as_a_person_says(client, ada):
    """Nothing in the file tells that it is none of Windows."""
    record = an_import(client, text="First name,Surname\nBjörn,Quill\nJOSÉ,Fox\n".encode("mac_roman"))
    (notice,) = page(client, record)["file_import"].notices
    assert notice == ("Read as a text of Windows (cp1252), as an older Excel saves it: “Bjšrn”, “JOSƒ”.")
    press(client, record, "check", **chosen(record, encoding="mac_roman"))
    run_tasks()
    record.refresh_from_db()
    assert record.notices[0].endswith(": “Björn”, “JOSÉ”.")
    press(client, record, "import")
    run_tasks()
    assert sorted(Contact.objects.values_list("first_name", "last_name")) == [
        ("Björn", "Quill"),
        ("JOSÉ", "Fox"),
    ]


def test_a_file_with_a_header_alone_says_that_nothing_stands_below_it(client, ada):
    record = an_import(client, text="First name,Surname\n,\n")
    assert (record.status, record.notices) == (
        "Checked",
        ["There is no row below the header in row 1: nothing to import."],
    )
    answer = client.get(f"{IMPORTS}{record.pk}/file/").content.decode()
    assert "nothing to import" in answer
    assert 'value="import"' not in answer


@pytest.mark.parametrize("cell", ['"Nguyen, Mai"', "Mai Nguyen"])
def test_names_in_one_column_are_split_where_somebody_says_that_they_are_names(client, ada, cell):
    record = an_import(client, text=f"Participant name,NDIS No\n{cell},431000009\n")
    (kind,) = [each for each in record.issue_kinds if each["message"].startswith("FirstName")]
    assert kind["message"] == (
        "FirstName is required. The column “Participant name” seems to have both names: say that it gives"
        " FullName."
    )
    assert "FullName" in client.get(f"{IMPORTS}{record.pk}/file/").content.decode()
    press(client, record, "check", **chosen(record, column_0="FullName"))
    run_tasks()
    record.refresh_from_db()
    assert record.counts["new"] == 1
    press(client, record, "import")
    run_tasks()
    assert [(each.first_name, each.last_name) for each in Contact.objects.all()] == [("Mai", "Nguyen")]


def test_a_name_of_one_word_or_an_empty_cell_is_only_required(client, ada):
    record = an_import(client, text="First name,Surname,NDIS No\n,van Dyk,431000009\n")
    assert [each["message"] for each in record.issue_kinds] == ["FirstName is required."]
    FileImport.objects.all().delete()
    record = an_import(client, text="Surname,NDIS No\nQuill,431000009\n")
    assert [each["message"] for each in record.issue_kinds] == ["FirstName is required."]


def test_another_sheet_has_other_columns(client, ada):
    record = an_import(client)
    press(client, record, "check", **chosen(record, header_row="2"))
    assert page(client, record)["file_import"].status == "Reading"
    run_tasks()
    context = page(client, record)
    assert (context["file_import"].status, context["count_texts"]) == ("Uploaded", [])
    assert "<strong>Read</strong>" in client.get(f"{IMPORTS}{record.pk}/file/").content.decode()
    assert context["headers"][:2] == ["Ida", "Quill"]
    answer = client.post(
        f"{IMPORTS}{record.pk}/file/", {"action": "check", **chosen(record, header_row="two")}, follow=True
    )
    assert "The row with the headers is a number" in answer.content.decode()


BAD_FILES = {
    "an empty file": ("", "people.csv", "people.csv is empty."),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "people.csv", "."),
    "a name of no table": ("x", "people.pdf", "is none of .csv"),
    "an old workbook": (
        b"\xd0\xcf\x11\xe0",
        "people.xls",
        "open it in a spreadsheet, save it as XLSX or CSV",
    ),
    "a workbook with a password": (b"\xd0\xcf\x11\xe0", "people.xlsx", "or has a password"),
    "no workbook": ("PK but no zip", "people.xlsx", "is not an XLSX workbook"),
    "a header alone": ("First name,Surname", "people.csv", ""),
    "no JSON": ("{", "people.json", "people.json"),
}


@pytest.mark.parametrize(("content", "name", "sentence"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_is_none_is_refused_in_a_sentence(client, ada, content, name, sentence):
    answer = upload(client, text=content, name=name)
    if answer.status_code == 200:
        error = re.search(r'role="alert">([^<]*)', answer.content.decode())[1]
        assert not FileImport.objects.exists()
    else:
        run_tasks()
        record = FileImport.objects.get()
        error = record.message
        assert (record.status, record.counts.get("new", 0)) == ("Failed" if sentence else "Checked", 0)
    assert sentence in error
    assert "--" not in error
    assert not Contact.objects.exists()


def test_the_web_server_stores_a_file_and_reads_none(client, ada, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(opening, "run_limited", lambda *_: pytest.fail("it was read"))
        assert upload(client).status_code == 302
        record = FileImport.objects.get()
        assert page(client, record)["file_import"].is_running
    run_tasks()
    record.refresh_from_db()
    assert (record.status, record.counts["new"]) == ("Checked", 3)
    with monkeypatch.context() as patched:
        patched.setattr(opening, "run_limited", lambda *_: pytest.fail("it was read"))
        press(client, record, "check", **chosen(record, header_row="2"))


def test_a_file_that_cannot_be_read_is_read_again_with_other_options(client, ada):
    record = an_import(client, text=f"{HEADER}\n\n{GOOD[0]}")
    FileImport.objects.update(status="Failed", columns=[], options=record.options | {"header_row": "9"})
    record.refresh_from_db()
    press(client, record, "check", **chosen(record))
    run_tasks()
    record.refresh_from_db()
    assert (record.status, record.message) == ("Failed", "people.csv has no header in row 9.")
    assert "Is read as" not in client.get(f"{IMPORTS}{record.pk}/file/").content.decode()
    press(client, record, "check", **chosen(record, header_row=""))
    run_tasks()
    record.refresh_from_db()
    assert (record.status, record.counts["new"], record.options["header_row"]) == ("Checked", 1, "")


def test_a_file_that_needs_too_much_fails_with_advice_and_the_worker_goes_on(client, ada, reader_process):
    book = Workbook()
    book.active.append(["First name", "Surname"])
    book.active["XFD1048576"] = "far away"
    content = io.BytesIO()
    book.save(content)
    record = an_import(client, text=content.getvalue(), name="people.xlsx")
    assert record.status == "Failed"
    assert record.message.startswith("people.xlsx needs more memory than imports may use (1,024 MB).")
    assert upload(client).status_code == 302
    run_tasks()
    assert FileImport.objects.exclude(pk=record.pk).get().status == "Checked"


def test_without_a_file_or_a_kind_nothing_is_stored(client, ada):
    answer = client.post(f"{IMPORTS}add/", {"kind": "contact"})
    assert "Choose what the file contains, and the file." in answer.content.decode()
    assert upload(client, kind="staff").status_code == 200
    assert not FileImport.objects.exists()


def test_a_button_pressed_twice_imports_once(client, ada):
    record = an_import(client)
    press(client, record, "import")
    again = client.get(press(client, record, "import").url)
    assert "was begun already" in str(*again.context["messages"])
    press(client, record, "check", **chosen(record))
    run_tasks()
    assert FileImport.objects.get().status == "Imported"
    assert Change.objects.filter(kind="Created", record_type="people.contact").count() == 3


def test_of_two_who_begin_an_import_at_once_one_does(client, ada):
    record, same = an_import(client), FileImport.objects.get()
    assert [start_import(record), start_import(same)] == [True, False]


def test_an_import_whose_worker_was_killed_goes_on_and_counts_all(client, ada, monkeypatch):
    monkeypatch.setattr(runs, "BATCH", 2)
    record = an_import(client)
    press(client, record, "import")

    def killed(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("apps.core.file_imports.ImportWatch.show_progress", killed)
        run_tasks()
    assert Contact.objects.count() == 2
    assert "ended unexpectedly" in page(client, record)["file_import"].message
    record.refresh_from_db()
    press(client, record, "check", **chosen(record))
    run_tasks()
    record.refresh_from_db()
    assert (record.counts["new"], record.counts["unchanged"]) == (1, 2)


def test_an_import_that_the_disk_has_no_space_for_says_so_and_goes_on_later(client, ada, monkeypatch):
    monkeypatch.setattr(runs, "BATCH", 2)
    record = an_import(client)
    press(client, record, "import")

    def fill_disk(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device", "/srv/records/tmp")

    with monkeypatch.context() as patched:
        patched.setattr("apps.core.file_imports.ImportWatch.show_progress", fill_disk)
        run_tasks()
    record.refresh_from_db()
    assert (record.status, Contact.objects.count()) == ("Failed", 2)
    assert record.message.startswith("The server could not write its files: No space left on device. What")
    press(client, record, "check", **chosen(record))
    run_tasks()
    record.refresh_from_db()
    assert (record.counts["new"], record.counts["unchanged"]) == (1, 2)


def test_a_kind_is_imported_by_those_who_may_add_and_change_its_records(client, db):
    person = a_staff_member()
    person.role = a_role(
        "people.view_contact", "people.add_contact", "people.change_contact", "people.view_client"
    )
    person.save()
    client.force_login(person)
    kinds = get_unrendered(client, f"{IMPORTS}add/").context["kinds"]
    assert [kind.name for kind in kinds] == ["contact"]
    assert upload(client, text="Business name\nAcme", kind="client").status_code == 200
    other = FileImport.objects.create(kind="client", file_name="clients.csv", content=b"x")
    for address in ("file", "progress", "content", "rejected-rows"):
        assert client.get(f"{IMPORTS}{other.pk}/{address}/").status_code == 302
    links = {
        each["title"]
        for model in ("contact", "client")
        for each in get_unrendered(client, f"/admin/people/{model}/").context["import_links"]
    }
    assert links == {"Import"}
    client.force_login(a_staff_member(role=a_role("people.view_contact")))
    assert client.get(IMPORTS).status_code == 403
    assert client.get(f"{IMPORTS}add/").status_code in {302, 403}


def test_every_kind_has_options_and_columns_that_its_page_shows(client, ada):
    names = [kind.name for kind in import_kinds()]
    assert len(names) == len(set(names)) > 10
    assert {"staff", "role", "document"}.isdisjoint(names)
    for kind in import_kinds():
        assert bool(kind.columns()) == (kind not in FILE_KINDS)


def test_files_are_deleted_after_some_days_and_results_stay(client, ada, at, settings):
    at("2026-03-02 09:00")
    record = an_import(client)
    at("2026-04-02 09:00")
    assert purge_expired()["files of imports"] == 1
    record.refresh_from_db()
    assert (record.content, record.rejected_rows, record.issues, record.counts["new"]) == (None, None, [], 3)
    client.force_login(ada)
    assert client.get(f"{IMPORTS}{record.pk}/content/").status_code == 404
    assert page(client, record)["has_file"] is False


def test_progress_is_told_while_it_runs(client, ada):
    record = an_import(client)
    press(client, record, "import")
    FileImport.objects.update(rows_done=5, rows_total=10)
    assert client.get(f"{IMPORTS}{record.pk}/progress/").json() == {"running": True, "done": 5, "total": 10}
    run_tasks()
    assert client.get(f"{IMPORTS}{record.pk}/progress/").json()["running"] is False


# --- undoing ------------------------------------------------------------------------------------------


def an_undone_import(client, record):
    press(client, record, "undo")
    run_tasks()
    record.refresh_from_db()
    return record


def imported_contacts(client):
    """An import that has created Ida and changed Ned's name."""
    a_contact(first_name="Ned", last_name="Before", unique_code="P-2")
    record = an_import(client, text="Code,First name,Surname\nP-1,Ida,Quill\nP-2,Ned,After")
    press(client, record, "import")
    run_tasks()
    assert set(Contact.objects.values_list("last_name", flat=True)) == {"Quill", "After"}
    return record


def test_an_import_is_undone(client, ada):
    record = an_undone_import(client, imported_contacts(client))
    assert (record.status, record.message) == ("Undone", "")
    assert Contact.objects.values_list("last_name").get() == ("Before",)
    kinds = Change.objects.filter(request_id=str(record.pk)).values_list("kind", flat=True)
    assert sorted(kinds) == ["Changed", "Changed", "Created", "Deleted"]


def test_nothing_is_undone_for_a_person_whose_login_was_disabled_meanwhile(client, ada):
    record = imported_contacts(client)
    press(client, record, "undo")
    Staff.objects.filter(pk=ada.pk).update(disable_login_date=timezone.now())
    run_tasks()
    record.refresh_from_db()
    assert record.status == "Imported"
    assert "may no longer import these records" in record.message
    assert set(Contact.objects.values_list("last_name", flat=True)) == {"Quill", "After"}


def test_a_record_that_an_import_changed_twice_is_as_it_was_before_it():
    contact = a_contact(first_name="Ada")
    with history.as_author(history.Author("Import", request_id="an import")):
        for name in ("Eve", "Mia"):
            contact.first_name = name
            contact.save()
    undo_changes(Change.objects.filter(request_id="an import"))
    contact.refresh_from_db()
    assert contact.first_name == "Ada"


def test_an_import_is_undone_though_the_clock_was_set_back_before_it(client, ada, at):
    at("2026-03-02 10:00")
    record = an_import(client)
    at("2026-03-02 09:00")
    press(client, record, "import")
    run_tasks()
    assert Contact.objects.count() == 3
    an_undone_import(client, record)
    assert not Contact.objects.exists()


def test_an_import_whose_record_was_changed_since_is_not_undone(client, ada):
    record = imported_contacts(client)
    ned = Contact.objects.get(last_name="After")
    ned.first_name = "Edward"
    ned.save()
    an_undone_import(client, record)
    assert record.status == "Imported"
    assert record.message == "It cannot be undone. Changed since the import: Edward After."
    assert Contact.objects.count() == 2


def test_an_import_whose_record_others_refer_to_is_not_undone(client, ada):
    record = imported_contacts(client)
    a_plan(participant=Contact.objects.get(last_name="Quill"))
    an_undone_import(client, record)
    assert record.status == "Imported"
    assert record.message.startswith("It cannot be undone. Others refer to what it created: ")
    assert Contact.objects.filter(last_name="After").exists()


@pytest.mark.both_engines("stored by statements that no other test has")
def test_what_claims_counted_on_is_restated_when_their_import_is_undone(client, ada, at):
    at("2025-08-20 10:00")
    client.force_login(ada)
    an_office()
    record = an_import(client, text="\n".join([CLAIM_HEADER, *CLAIMS]), kind="claim", name="claims.csv")
    assert record.counts["unconfirmed"] == 2
    press(client, record, "check", **chosen(record, ignore_warnings="1"))
    run_tasks()
    press(client, FileImport.objects.get(), "import")
    run_tasks()
    claimed = ProviderInvoice.objects.filter(is_claimed=True)
    assert (Claim.objects.count(), claimed.count()) == (2, 2)
    record = an_undone_import(client, FileImport.objects.get())
    assert (record.status, Claim.objects.count(), claimed.count()) == ("Undone", 0, 0)


# --- files of other forms -------------------------------------------------------------------------------


@pytest.mark.both_engines("stored by statements that no other test has")
def test_the_price_guide_is_imported_and_undone_as_a_whole(client, ada, tmp_path):
    guide = as_csv(tmp_path / "guide.csv", last_year()).read_bytes()
    record = an_import(client, text=guide, kind="price-guide", name="guide.csv")
    assert (record.status, record.columns, Product.objects.count()) == ("Checked", [], 0)
    press(client, record, "import")
    run_tasks()
    assert FileImport.objects.get().counts["new"] == record.counts["new"] > 0
    assert an_undone_import(client, FileImport.objects.get()).status == "Undone"
    assert not PriceBook.objects.exists()
    assert not Product.objects.exists()


def test_a_fault_in_the_price_guide_is_shown_and_keeps_all_of_it_out(client, ada, tmp_path):
    rows = [*last_year(), a_row(national="seventy")]
    guide = as_csv(tmp_path / "guide.csv", rows).read_bytes()
    record = an_import(client, text=guide, kind="price-guide", name="guide.csv")
    assert set(record.counts) == {"rejected"}
    assert any("seventy" in notice for notice in record.notices)
    press(client, record, "undo")
    assert FileImport.objects.get().status == "Checked"


@pytest.mark.both_engines("stored by statements that no other test has")
def test_the_booking_list_creates_participants_where_the_page_says_so(client, ada):
    header, row = ",".join(USUAL), ",".join(USUAL.values())
    text = f"service_booking_id,{header}\n50000001,{row}"
    record = an_import(client, text=text, kind="service-bookings", name="bookings.csv")
    (found,) = page(client, record)["rows"]
    sentences = [text for _, issues in found["cells"] for _, text in issues]
    assert page(client, record)["headers"][:2] == ["service_booking_id", "participant_name"]
    assert sentences == ["No contact has this scheme number. “Create participants” would create one."]
    press(client, record, "check", create_participants="1")
    run_tasks()
    press(client, FileImport.objects.get(), "import")
    run_tasks()
    record = FileImport.objects.get()
    assert (record.counts["new"], record.notices[1:]) == (1, ["Also created: 1 plans, 1 participants."])
    assert an_undone_import(client, record).status == "Undone"
    assert not Contact.objects.exists()
