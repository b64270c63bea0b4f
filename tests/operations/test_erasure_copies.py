"""An erasure reaches each copy of a person's values: it is looked for in every column and every file."""

import base64
import io
import json
import re
import zipfile
import zlib

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django_tasks_db.models import DBTaskResult
from openpyxl import Workbook

from apps.access.callers import SecretDraft
from apps.access.models import ApiApplication, IdempotencyKey, WebhookMessage
from apps.access.webhooks import create_webhooks, send_changes
from apps.base import clock
from apps.core.file_exports import start_file_export
from apps.core.models import FileExport, FileImport, Notice, SavedFilter
from apps.core.read_log import READ_LOG
from apps.funding.models import Claim
from apps.operations.services.erasure_copies import (
    IDENTIFYING,
    find_bank_files,
    find_statement_addresses,
    marks_of,
)
from apps.payments.models import PaymentRunItem
from apps.payments.services.runs import create_run, release_run
from apps.payments.services.statement_mail import note_error
from apps.people.models import Contact
from tests.api.caller import Caller, an_application, ok, refused
from tests.operations.persons import NAME
from tests.payments.bank_file_checker import read_bank_file
from tests.payments.builders import a_paid_claim, a_releaser, an_account, payment_settings
from tests.payments.statement_builders import a_statement
from tests.payments.test_statements import a_participant
from tests.people.records import a_client, a_contact, an_administrator
from tests.tasks import run_tasks

pytestmark = pytest.mark.both_engines("copies are found by statements of their own")


@pytest.fixture
def data_folder(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    settings.ODATA_CHANGE_LOG = "apps.core.change_log.SerialLog"  # which sees the test's own transaction
    settings.WEBHOOK_HTTP, settings.WEBHOOK_NETWORKS = True, ["127.0.0.0/8"]
    return tmp_path


@pytest.fixture
def office(client, db):
    """An administrator, who is signed in."""
    person = an_administrator(first_name="Ada", last_name="Byron")
    client.force_login(person)
    return person


@pytest.fixture
def erase(office, tmp_path, capsys):
    """``erase(contact)`` by the command: the lines that it writes."""

    def run(contact, **options):
        options = {"certificate": tmp_path / "certificate.json", "yes": True, **options}
        call_command("erase_person", str(contact.pk), by=office.primary_email, **options)
        return capsys.readouterr().out.splitlines()

    return run


# --- where values are -----------------------------------------------------------------------------------


def texts_in(content, depth=3):
    """What stands in some bytes, packed or encoded as it may be."""
    yield content.decode("utf-8", "replace")
    yield content.decode("utf-16-le", "replace")
    if depth and zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield from texts_in(archive.read(name), depth - 1)
    for text in re.findall(rb"[\w-]{16,}", content) if depth else ():
        try:
            unpacked = base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
            yield from texts_in(zlib.decompress(unpacked), depth - 1)  # a session
        except (ValueError, zlib.error):
            continue


def is_in(value, marker):
    if isinstance(value, memoryview | bytes):
        content = bytes(value)
    else:
        content = json.dumps(value, default=str, ensure_ascii=False).encode()
    return any(marker.casefold() in text.casefold() for text in texts_in(content))


def places_of(marker, folder):
    """Each table and column, and each file below the folder, that holds a text."""
    found = set()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            columns = [column[0] for column in cursor.description]
            for row in cursor.fetchall():
                found |= {
                    f"{table}.{name}"
                    for name, value in zip(columns, row, strict=True)
                    if is_in(value, marker)
                }
    for path in folder.rglob("*"):
        if path.is_file() and (is_in(path.read_bytes(), marker) or marker.casefold() in path.name.casefold()):
            found.add(path.relative_to(folder).parts[0])
    return found


# --- copies ---------------------------------------------------------------------------------------------


def upload(client, name, content):
    client.post("/admin/core/fileimport/add/", {"kind": "contact", "file": SimpleUploadedFile(name, content)})


def a_workbook(*rows):
    book = Workbook()
    for row in rows:
        book.active.append(row)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def copy_everywhere(client, staff, contact):
    """The person's values in each place that the service copies them to."""
    # As the interface would store it, so that it may be changed.
    valid = dict.fromkeys(
        ("archive_date", "personal_title_other", "postal_state", "representative_relationship")
    )
    Contact.objects.filter(pk=contact.pk).update(scheme_number="430000001", **valid)
    clock.reset_now()
    api = Caller(an_application(name="Copies"))
    application = ApiApplication.objects.get(name="Copies")
    address = {"address": "http://127.0.0.1:9/hook", "includes_records": True}  # where nobody listens
    create_webhooks(
        [SecretDraft({"application": application, "entity_set": "Contact", "filter": "", **address})]
    )
    headers = {"api_version": "2.1", "if_match": "*", "Idempotency_Key": "a-key"}
    ok(api.patch(f"contact({contact.pk})", {}, **headers))
    contact = Contact.objects.get(pk=contact.pk)
    contact.phone1 = f"{NAME} 1"
    contact.save()
    clock.reset_now()
    send_changes()
    Contact.objects.filter(pk=contact.pk).update(archive_date=clock.now())
    first, last = contact.first_name, contact.last_name
    upload(client, f"{last} 2026.csv", f"FirstName,LastName,Birthday\n{first},{last},nonsense\n".encode())
    upload(client, "list.xlsx", a_workbook(("FirstName", "LastName", "Birthday"), (first, last, "nonsense")))
    start_file_export(Contact, "Contact.xlsx", f"archived=all&q={NAME}", staff.pk)
    run_tasks()
    SavedFilter.objects.create(
        staff=staff, record_type="people.contact", name="Of one", query=f"q={first.lower()}+{last}"
    )
    Notice.objects.create(staff=staff, kind="Finished", text=f"{first} {last}: done", url="/admin/")
    task = DBTaskResult.objects.first()
    DBTaskResult.objects.filter(pk=task.pk).update(traceback=f"DETAIL: Key (name)=({first} {last}) exists")
    READ_LOG.write()


COPIES = {
    "access_idempotencykey.body",
    *(f"core_fileimport.{name}" for name in ("content", "rejected_rows", "columns", "issues", "file_name")),
    *("core_fileexport.query", "core_fileexportpart.content"),
    *("access_webhookmessage.body", "core_notice.text", "core_savedfilter.query"),
    f"{DBTaskResult._meta.db_table}.traceback",
}


def test_no_column_and_no_file_holds_anything_of_the_person(participant, office, erase, client, data_folder):
    copy_everywhere(client, office, participant.contact)
    before = places_of(NAME, data_folder)
    assert before >= COPIES, COPIES - before
    lines = erase(participant.contact)
    assert places_of(NAME, data_folder) == set()
    assert {
        "Answers kept for Idempotency-Key: 1 emptied",
        "Files of imports: 2 deleted, with their rejected rows",
        "Exported files: 1 deleted",
        "Messages of webhooks: 1 without the records",
        "Saved filters: 1 deleted",
        "Errors of background tasks: 1 without their text",
    } <= set(lines)
    proof = json.loads((data_folder / "certificate.json").read_text())
    assert proof["copies"]["Files of imports"] == 2
    assert any("127.0.0.1:9/hook" in line for line in proof["remains"])


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "cp1252"])
def test_a_file_with_the_person_in_it_is_emptied_whatever_its_name(
    participant, office, erase, client, data_folder, codec
):
    contact = participant.contact
    others = "".join(f"Mia{number},Nguyen\n" for number in range(40))  # the page of the import quotes some
    text = f"FirstName,LastName\n{others}{contact.first_name},{contact.last_name}\n"
    upload(client, "new people.csv", text.encode(codec))
    run_tasks()
    erase(contact)
    record = FileImport.objects.get()
    assert record.content is None


def test_a_key_of_before_repeats_nothing_and_stores_nothing(participant, office, erase, client, data_folder):
    copy_everywhere(client, office, participant.contact)
    erase(participant.contact)
    api = Caller(f"Bearer {a_token()}")
    headers = {"api_version": "2.1", "if_match": "*", "Idempotency_Key": "a-key"}
    answer = api.patch(f"contact({participant.contact.pk})", {}, **headers)
    refused(answer, 410)
    assert "were erased" in answer.content.decode()


def a_token():
    from apps.access.callers import ApplicationCaller
    from apps.access.services import issue_token

    application = ApiApplication.objects.get(name="Copies")
    return issue_token(ApplicationCaller(application.pk, application.name, ()), ["read", "write"])


def test_copies_of_others_stay(participant, office, erase, client, data_folder):
    upload(client, "others.csv", b"FirstName,LastName,Birthday\nMia,Nguyen,nonsense\n")
    run_tasks()
    SavedFilter.objects.create(staff=office, record_type="people.contact", name="Mine", query="q=mia")
    answer = {"caller": "c", "key": "k", "fingerprint": "f", "status": 201, "body": b'{"a": 1}'}
    IdempotencyKey.objects.create(**answer)
    erase(participant.contact)
    record = FileImport.objects.get()
    assert b"Mia" in bytes(record.content)
    assert record.issues
    assert record.rejected_rows
    assert SavedFilter.objects.exists()
    assert bytes(IdempotencyKey.objects.get().body) == b'{"a": 1}'


def test_a_message_still_tells_what_changed(participant, office, erase, client, data_folder):
    copy_everywhere(client, office, participant.contact)
    erase(participant.contact)
    (change,) = json.loads(WebhookMessage.objects.get().body)["data"]["changes"]
    assert (change["key"], change["record"]) == (str(participant.contact.pk), None)


@pytest.mark.parametrize("model", [FileImport, FileExport])
def test_it_waits_for_imports_and_exports_that_run(participant, erase, model, data_folder):
    kind = {"record_type": "people.contact"} if model is FileExport else {"kind": "contact"}
    running = model.objects.create(file_name="running.csv", status=next(iter(model.running_statuses)), **kind)
    with pytest.raises(CommandError, match=r"running\.csv is not finished: wait until it is"):
        erase(participant.contact)
    running.delete()
    erase(participant.contact)


def test_exports_of_programs_go_whatever_set_they_begin_at(participant, erase, data_folder):
    application = ApiApplication.objects.create(name="Payroll")
    FileExport.objects.create(
        record_type="access.webhook", file_name="x.json", status="Ready", application=application
    )
    of_staff = FileExport.objects.create(record_type="access.webhook", file_name="y.csv", status="Ready")
    erase(participant.contact)
    assert list(FileExport.objects.all()) == [of_staff]


def test_of_the_payments_in_a_bank_file_those_of_the_person_alone_are_erased(db):
    """The reference of a payment for several claims is the run's, and names nobody."""
    payment_settings(payments_per_file=3)
    payees = [a_client(business_name=f"Payee {number}") for number in range(1, 5)]
    for payee in payees:
        an_account(payee)
    claims = [
        a_paid_claim(amount, provider=payee, provider_invoice_reference=f"INV {amount}")
        for payee, amount in zip([*payees, payees[1]], (40, 30, 20, 10, 5), strict=True)
    ]
    run = create_run([claim.pk for claim in claims], clock.today(), None)
    release_run(run.pk, a_releaser())
    to_person = run.items.get(client=payees[3]).pk
    find_bank_files({PaymentRunItem: [to_person], Claim: [claims[0].pk, claims[1].pk]}).erase()
    files = run.bank_files.order_by("position")
    found = [each for file in files for each in read_bank_file(bytes(file.content))[0]]
    assert [(each.name, each.reference) for each in found] == [
        ("Payee 1", "ERASED"),
        ("Payee 2", f"RUN {run.number}"),
        ("Payee 3", "INV 20"),
        ("ERASED", "ERASED"),
    ]
    references = run.items.order_by("position").values_list("reference", flat=True)
    assert list(references) == ["Erased", f"RUN {run.number}", "INV 20", "INV 10"]


@pytest.mark.parametrize("column", IDENTIFYING)
def test_a_copy_is_known_by_each_text_that_is_nobody_else_s(db, column):
    person = a_contact(**{column: "Mia@Example.org"})
    marks = marks_of({Contact: [person.pk]})
    assert marks.are_in("To mia@example.org, on Monday")
    assert not marks.are_in("To max@example.org, on Monday")


def test_why_a_statement_was_not_taken_loses_the_person_too(db):
    person = a_contact(first_name="Mia", last_name="Quill")
    statement = a_statement(a_participant())
    note_error(statement.pk, OSError("Mia Quill has no mailbox here"))
    find_statement_addresses(marks_of({Contact: [person.pk]})).erase()
    statement.refresh_from_db()
    assert statement.mail_error is None


def test_the_report_names_what_remains_and_until_when(participant, erase, settings, tmp_path, at):
    at("2026-11-20 09:00")
    settings.BACKUP_DAYS, settings.READ_LOG_DAYS = 30, 0
    for stamp in ("20261118T011500Z", "20261119T011500Z"):
        (tmp_path / "backups" / stamp).mkdir(parents=True)
        (tmp_path / "backups" / stamp / "SHA256SUMS").touch()
    lines = erase(participant.contact, backups=tmp_path / "backups")
    remains = lines[lines.index("What remains:") + 1 :]
    assert remains[0] == (
        f"Backups: The 2 in {tmp_path / 'backups'}, the newest of 20261119T011500Z, hold the records,"
        " until 20 Dec 2026 (BACKUP_DAYS)."
    )
    assert remains[1] == "The log of reads: identifiers of records and no value of them, for ever."
    assert remains[2].startswith("Archives of old history, claim files and payment runs: ")


def test_an_export_of_the_person_tells_of_the_copies(participant, office, client, data_folder):
    copy_everywhere(client, office, participant.contact)
    path = data_folder / "person.zip"
    call_command("export_person", str(participant.contact.pk), str(path), by=office.primary_email)
    archive = zipfile.ZipFile(path)
    copies = json.loads(archive.read("records.json"))["copies"]
    assert copies["Files of imports"] == 2
    assert copies["Answers kept for Idempotency-Key"] == 1
    assert "Copies for some days" in archive.read("index.html").decode()
