"""Import jobs of programs: a file is posted, a worker imports it, what came of it is read."""

import io
import json
import zipfile
from itertools import product
from random import Random

import pytest
from django.utils import timezone
from openpyxl import load_workbook

from apps.access.models import ApiApplication
from apps.access.services import purge_expired, revoke_applications
from apps.base.declaration.service import get_service
from apps.core.importing.mappings import keep_mapping
from apps.core.models import Change, FileImport
from apps.core.read_log import READ_LOG
from apps.integration.import_forms import importable_sets
from apps.people.models import Contact
from tests.api.caller import Caller, LaterCaller, an_application, ok, refused
from tests.caseloads import limit
from tests.core.test_virus_scanner import a_dead_address
from tests.documents.builders import form, part
from tests.people.import_files import GOOD, HEADER
from tests.people.records import a_contact, an_administrator
from tests.tasks import run_tasks
from tests.virus_scanner import EICAR, running_scanner

pytestmark = pytest.mark.django_db
FAULTY = "Al,Orr,al-at-home,431000009,02/03/1990,0400,1 Low Road,Hobart,TAS,7000,Australia"
CONTACTS = "\n".join([HEADER, *GOOD, FAULTY])


def job_form(content=CONTACTS, name="people.csv", **fields):
    """The body and media type of a form; a field that is ``None`` is left out."""
    given = {"Resource": "contact", **fields}
    parts = [] if content is None else [part("File", content, name)]
    for field, values in given.items():
        values = values if isinstance(values, list) else [values]
        parts += [part(field, value) for value in values if value is not None]
    return form(*parts)


def post(caller, content=CONTACTS, name="people.csv", headers=None, **fields):
    body, media_type = job_form(content, name, **fields)
    return caller.call("POST", "importJob", body=body, content_type=media_type, **(headers or {}))


def finished(caller, *args, **fields):
    """The job of a file once a worker has done it."""
    job = ok(post(caller, *args, **fields), 201)
    run_tasks()
    return ok(caller.get(f"importJob({job['ImportJobGuid']})"))


def counts(job):
    names = ("NewCount", "ChangedCount", "UnchangedCount", "RejectedCount", "WarningCount")
    return [job[name] for name in names]


def test_a_file_is_imported_and_its_bad_rows_come_back(application):
    answer = post(application)
    job = ok(answer, 201)
    key = job["ImportJobGuid"]
    assert answer["Location"].endswith(f"/api/ImportJob({key})")
    assert (job["Resource"], job["FileName"], job["Status"]) == ("contact", "people.csv", "Reading")
    assert counts(job) == [None] * 5
    refused(application.get(f"importJob({key})/Issues"), 404, "NotFound")
    run_tasks()
    job = ok(application.get(f"importJob({key})"))
    assert (job["Status"], job["Message"], counts(job)) == ("Imported", "", [3, 0, 0, 1, 0])
    assert job["RowsDone"] == job["RowsTotal"] or job["RowsTotal"] == 0
    assert job["FinishedDate"] is not None
    assert Contact.objects.count() == 3
    issues = application.get(f"importJob({key})/Issues")
    assert issues["Content-Disposition"] == 'attachment; filename="people.issues.csv"'
    _, line = issues.content.decode("utf-8-sig").splitlines()
    assert "InvalidEmail" in line
    rejected = application.get(f"importJob({key})/RejectedRows")
    rows = list(load_workbook(io.BytesIO(rejected.content)).active.iter_rows(values_only=True))
    assert [row[0] for row in rows] == ["First Name", "Al"]
    name = ApiApplication.objects.get().name
    found = Change.objects.filter(record_type="people.contact").values_list(
        "channel", "application", "request_id"
    )
    assert {*found} == {("Import", name, key)}


def test_the_file_of_issues_speaks_of_fields_of_the_form(application):
    """Not of options that only the command has."""
    job = finished(application, b"First Name,Last Name,Birthday\nAda,Byron,03/04/1990\n", CheckOnly="true")
    issues = application.get(f"importJob({job['ImportJobGuid']})/Issues").content.decode("utf-8-sig")
    assert "DayFirst or DayFirst=false does" in issues
    assert "--" not in issues


def test_a_check_stores_nothing_and_is_imported_afterwards(application):
    job = finished(application, CheckOnly="true")
    address = f"importJob({job['ImportJobGuid']})"
    assert (job["Status"], counts(job)) == ("Checked", [3, 0, 0, 1, 0])
    assert not Contact.objects.exists()
    refused(application.post(f"{address}/Undo", None), 409, "Conflict")
    assert ok(application.post(f"{address}/Import", None))["Status"] == "Importing"
    refused(application.post(f"{address}/Import", None), 409, "Conflict")
    run_tasks()
    assert (ok(application.get(address))["Status"], Contact.objects.count()) == ("Imported", 3)


@pytest.mark.parametrize("field", ["CheckOnly", "AllOrNothing", "Updates"])
def test_a_job_that_is_done_has_done_all_rows(application, field):
    job = finished(application, **{field: "true"})
    assert (job["RowsDone"], job["RowsTotal"]) == (4, 4)


def test_an_import_is_undone(application):
    address = f"importJob({finished(application)['ImportJobGuid']})"
    assert ok(application.post(f"{address}/Undo", None))["Status"] == "Undoing"
    run_tasks()
    assert (ok(application.get(address))["Status"], Contact.objects.count()) == ("Undone", 0)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("people.ndjson", "\n".join(json.dumps({"FirstName": n, "LastName": "Fox"}) for n in ("Ned", "Ada"))),
        ("people.json", json.dumps({"value": [{"FirstName": n, "LastName": "Fox"} for n in ("Ned", "Ada")]})),
        ("people.csv", "FirstName;LastName\nNed;Fox\nAda;Fox"),
    ],
)
def test_files_of_each_form_are_imported(application, name, content):
    job = finished(application, content, name)
    assert (job["Status"], counts(job)[:4]) == ("Imported", [2, 0, 0, 0])


def test_a_kept_mapping_a_match_and_a_map_say_what_columns_give(application):
    a_contact(first_name="Ida", last_name="Old", unique_code="P-1")
    keep_mapping("contact", "payroll", {"Nick": "FirstName", "Rest": ""}, {"Nick": {"Idaa": "Ida"}})
    text = "Nick,Name,Ref,Rest\nIdaa,Quill,P-1,x"
    given = {"Mapping": "payroll", "Map": ["Name=LastName", "Ref=UniqueCode"], "Match": "UniqueCode"}
    assert counts(finished(application, text, **given))[:2] == [0, 1]
    assert Contact.objects.values_list("first_name", "last_name", "unique_code").get() == (
        "Ida",
        "Quill",
        "P-1",
    )


def test_a_header_that_is_not_understood_stops_the_import_unless_it_is_ignored(application):
    text = "First name,Surname,Shoe size\nIda,Quill,39"
    job = finished(application, text)
    assert job["Status"] == "Failed"
    assert "“Shoe size”" in job["Message"]
    assert "Map" in job["Message"]
    assert "IgnoreUnknown" in job["Message"]
    assert "--" not in job["Message"]
    assert not Contact.objects.exists()
    assert counts(finished(application, text, IgnoreUnknown="true"))[0] == 1


def test_days_and_sheets_are_read_as_the_form_says(application):
    text = "First name,Surname,DOB\nIda,Quill,03/04/1990"
    finished(application, text, DayFirst="false")
    assert str(Contact.objects.get().birthday) == "1990-03-04"
    job = finished(application, text, DayFirst="true", AllOrNothing="true", Updates="false", HeaderRow="1")
    assert job["Status"] == "Imported"


@pytest.mark.parametrize(("given", "name"), [({}, "René"), ({"Encoding": "MAC_ROMAN"}, "RenÈ")])
def test_letters_are_those_of_the_encoding_that_the_form_names(application, given, name):
    text = "First name,Surname\nRené,Quill".encode("cp1252")
    assert finished(application, text, **given)["Status"] == "Imported"
    assert Contact.objects.get().first_name == name


def test_a_second_import_finds_everything_unchanged(application):
    finished(application)
    assert counts(finished(application)) == [0, 0, 3, 1, 0]


#: What a request leads to from a status, and what the worker makes of that.
BEGUN = {
    ("Checked", "Import"): "Importing",
    ("Imported", "Undo"): "Undoing",
    **dict.fromkeys(product(("Reading", "Importing", "Cancelled"), ["Cancel"]), "Cancelled"),
}
DONE = {"Importing": "Imported", "Undoing": "Undone"}


@pytest.mark.parametrize("seed", range(4))
def test_jobs_at_random_are_where_their_requests_led_them(application, seed):
    """A job's record is there while it is imported; a request of another status changes nothing."""
    chance, statuses, first = Random(seed), {}, {}
    for number in range(25):
        step = chance.choice(["post", "Import", "Undo", "Import", "Undo", "Cancel", "work"])
        if step == "post":
            only_check = chance.random() < 0.6
            text = f"First name,Surname\nIda,Fox{number}"
            key = ok(post(application, text, CheckOnly=str(only_check)), 201)["ImportJobGuid"]
            statuses[key], first[key] = "Reading", "Checked" if only_check else "Imported"
        elif step == "work":
            run_tasks()
            statuses = {
                key: DONE.get(was, first[key] if was == "Reading" else was) for key, was in statuses.items()
            }
            names = Contact.objects.values_list("last_name", flat=True)
            imported = [key for key, status in statuses.items() if status == "Imported"]
            assert len(names) == len(set(names)) == len(imported)
        elif statuses:
            key = chance.choice([*statuses])
            answer = application.post(f"importJob({key})/{step}", None)
            following = BEGUN.get((statuses[key], step))
            assert answer.status_code == (200 if following else 409)
            statuses[key] = following or statuses[key]
        shown = {each["ImportJobGuid"]: each["Status"] for each in application.all("importJob")}
        assert shown == statuses


# --- what is refused ------------------------------------------------------------------------------------


def faults_of(answer):
    error = refused(answer, 400)
    return [(each["code"], each["target"]) for each in error.get("details", [{**error}])]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"Resource": "elephant"}, [("NotAChoice", "Resource")]),
        ({"Resource": None}, [("Required", "Resource")]),
        ({"Resource": "staff"}, [("NotAChoice", "Resource")]),
        ({"Resource": "document"}, [("NotAChoice", "Resource")]),
        ({"Resource": ["contact", "client"]}, [("Repeated", "Resource")]),
        ({"content": None}, [("Required", "File")]),
        ({"content": ""}, [("InvalidFile", "File")]),
        ({"name": "people.pdf"}, [("InvalidFile", "File")]),
        ({"name": "people"}, [("InvalidFile", "File")]),
        ({"CheckOnly": "perhaps"}, [("WrongType", "CheckOnly")]),
        ({"Mapping": "nobody's"}, [("NotAChoice", "Mapping")]),
        ({"HeaderRow": "zero"}, [("InvalidNumber", "HeaderRow")]),
        ({"HeaderRow": "0"}, [("InvalidNumber", "HeaderRow")]),
        ({"HeaderRow": "9" * 20}, [("InvalidNumber", "HeaderRow")]),
        ({"Encoding": "punycode"}, [("NotAChoice", "Encoding")]),
        ({"Map": "nothing"}, [("InvalidText", "Map")]),
        ({"CheckOnyl": "true"}, [("InvalidBody", "File")]),
        ({"DayFirst": "x", "Resource": "x"}, [("NotAChoice", "Resource"), ("WrongType", "DayFirst")]),
    ],
    ids=str,
)
def test_bad_forms_are_refused_with_every_fault_and_nothing_is_stored(application, fields, expected):
    assert faults_of(post(application, **fields)) == expected
    assert not FileImport.objects.exists()


def test_two_files_a_file_as_text_and_broken_forms_are_refused(application):
    a_file, resource = part("File", CONTACTS, "a.csv"), part("Resource", "contact")
    whole, media_type = form(a_file, resource)
    for body in (
        form(a_file, a_file, resource)[0],
        form(part("File", CONTACTS), resource)[0],
        form(a_file, part("Resource", "contact", "r.txt"))[0],
        whole[:-30],
        b"",
    ):
        assert application.call("POST", "importJob", body=body, content_type=media_type).status_code == 400
    many = form(a_file, resource, *[part("Map", "a=b")] * 400)[0]
    refused(application.call("POST", "importJob", body=many, content_type=media_type), 413, "TooLarge")
    refused(application.post("importJob", {"Resource": "contact"}), 415)
    assert not FileImport.objects.exists()


@pytest.mark.parametrize("says_length", [True, False])
def test_a_file_that_is_too_large_is_refused(application, settings, says_length):
    settings.DOCUMENT_MAX_BYTES = 1_000 if says_length else len(CONTACTS) - 1
    content = CONTACTS + "x" * 2_000_000 if says_length else CONTACTS
    error = refused(post(application, content), 413, "TooLarge")
    assert f"{settings.DOCUMENT_MAX_BYTES:,} bytes" in error["message"]
    assert not FileImport.objects.exists()


def test_a_virus_and_a_scanner_that_is_away_are_refusals(application, settings):
    with running_scanner(settings):
        error = refused(post(application, CONTACTS.encode() + EICAR), 400)
    assert "Eicar-Test-Signature" in error["details"][0]["message"]
    settings.VIRUS_SCANNER = a_dead_address()
    refused(post(application), 503, "Unavailable")
    assert not FileImport.objects.exists()


def a_bomb():
    """A workbook that would unpack into more than a gigabyte."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in ("[Content_Types].xml", "xl/workbook.xml"):
            archive.writestr(name, "<x/>")
        with archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet:
            for _ in range(1_100):
                sheet.write(bytes(1 << 20))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param(
            "bomb.xlsx", a_bomb, marks=pytest.mark.any_engine("refused before a record is asked for")
        ),
        ("not.xlsx", lambda: b"PK\x03\x04 nonsense"),
        ("nul.csv", lambda: b"First name,Surname\nI\0da,Quill"),
        ("not.json", lambda: b"{"),
        ("header.csv", lambda: b"First name,Surname"),
    ],
)
def test_files_that_cannot_be_read_fail_with_a_sentence(application, name, content):
    job = finished(application, content(), name)
    assert job["Status"] == "Failed" or (job["NewCount"] or 0) <= 1
    assert (job["Status"] == "Failed") is bool(job["Message"])
    assert "Traceback" not in job["Message"]


# --- rights ---------------------------------------------------------------------------------------------


def a_caller(*scope, name):
    return LaterCaller(an_application(*scope, name=name))


def test_a_job_needs_its_own_scope_and_that_of_its_records(application):
    narrow = a_caller("importjob.write", "importjob.read", "contact.write", name="Narrow")
    assert post(narrow).status_code == 201
    refused(post(narrow, Resource="client"), 403, "Forbidden")
    refused(post(a_caller("contact.write", name="Other")), 403, "Forbidden")
    refused(post(a_caller("importjob.write", "contact.read", name="Reader")), 403, "Forbidden")
    assert FileImport.objects.count() == 1


def test_a_right_that_was_taken_away_starts_nothing(application):
    narrow = a_caller("importjob.write", "importjob.read", "contact.write", name="Narrow")
    job = finished(narrow, CheckOnly="true")
    ApiApplication.objects.filter(name="Narrow").update(scope="importjob.write importjob.read")
    refused(narrow.post(f"importJob({job['ImportJobGuid']})/Import", None), 403, "Forbidden")
    assert FileImport.objects.get().status == "Checked"


def taken_away(name):
    ApiApplication.objects.filter(name=name).update(scope="importjob.write importjob.read contact.read")


def revoked(name):
    revoke_applications(ApiApplication.objects.filter(name=name))


def limited(name):
    limit(name)


@pytest.mark.parametrize("change", [taken_away, revoked, limited])
def test_a_worker_does_nothing_for_an_application_that_may_no_longer(change):
    narrow = a_caller("importjob.write", "importjob.read", "contact.write", name="Narrow")
    ok(post(narrow), 201)
    change("Narrow")
    run_tasks()
    job = FileImport.objects.get()
    assert (job.status, job.message) == ("Failed", "Narrow may no longer import these records.")
    assert not Contact.objects.exists()


def test_an_undo_that_is_no_longer_allowed_leaves_what_was_imported():
    narrow = a_caller("importjob.write", "importjob.read", "contact.write", name="Narrow")
    key = finished(narrow)["ImportJobGuid"]
    ok(narrow.post(f"importJob({key})/Undo", None))
    taken_away("Narrow")
    run_tasks()
    assert (FileImport.objects.get().status, Contact.objects.count()) == ("Imported", 3)


def test_the_history_names_who_imports_what_another_brought(application, client):
    """A person may import, or undo, what an application had checked, though that is revoked since."""
    key = finished(application, CheckOnly="true")["ImportJobGuid"]
    revoke_applications(ApiApplication.objects.all())
    person = an_administrator()
    client.force_login(person)
    for action, expected in (("import", 3), ("undo", 0)):
        client.post(f"/admin/core/fileimport/{key}/file/", {"action": action})
        run_tasks()
        assert Contact.objects.count() == expected
        authors = {*Change.objects.filter(request_id=key).values_list("staff", "application", "channel")}
        assert authors == {(person.pk, None, "Import")}


def test_an_application_sees_its_own_jobs_only_and_staff_none(application, client):
    key = finished(application)["ImportJobGuid"]
    other = a_caller("read", "write", name="Other")
    client.force_login(an_administrator())
    session = LaterCaller(session=client)
    for caller in (other, session):
        assert ok(caller.get("importJob"))["value"] == []
        for address in (f"importJob({key})", f"importJob({key})/Issues", f"importJob({key})/RejectedRows"):
            refused(caller.get(address), 404, "NotFound")
    refused(other.post(f"importJob({key})/Undo", None), 404, "NotFound")
    refused(LaterCaller().get("importJob"), 401)
    refused(Caller(application.authorization).get("importJob"), 404, "NotFound")
    assert Contact.objects.count() == 3


def test_imports_of_people_are_no_jobs(application):
    FileImport.objects.create(kind="contact", file_name="a.csv", staff=an_administrator())
    assert ok(application.get("importJob"))["value"] == []


def test_only_what_programs_post_is_imported():
    assert {"contact", "client", "claim"} <= importable_sets().keys()
    posted = {path for path, each in get_service("2.1").by_path.items() if each.supports("POST")}
    assert importable_sets().keys() <= posted - {"document", "staff", "role"}


# --- the rest -------------------------------------------------------------------------------------------


def test_an_idempotency_key_stores_a_file_once(application):
    key = {"Idempotency_Key": "file-1"}
    first, again = (post(application, headers=key) for _ in range(2))
    assert first.content == again.content
    assert (again["Idempotency-Replayed"], FileImport.objects.count()) == ("true", 1)
    refused(post(application, CONTACTS + "\n", headers=key), 422, "IdempotencyKeyReused")


def test_the_read_log_has_downloads(application):
    key = finished(application)["ImportJobGuid"]
    READ_LOG.waiting.clear()
    application.get(f"importJob({key})/RejectedRows")
    assert [(each.kind, each.record_type, each.record_count) for each in READ_LOG.waiting] == [
        ("Download", "people.contact", 1)
    ]


def test_files_are_deleted_after_a_while(application):
    key = finished(application)["ImportJobGuid"]
    FileImport.objects.update(created_at=timezone.now() - timezone.timedelta(days=31))
    purge_expired()
    refused(application.get(f"importJob({key})/RejectedRows"), 404, "NotFound")
    assert counts(ok(application.get(f"importJob({key})")))[0] == 3
    FileImport.objects.update(status="Checked")
    error = refused(application.post(f"importJob({key})/Import", None), 409, "Conflict")
    assert error["message"] == "The file was deleted since: post it again."


def test_the_list_is_filtered_and_not_tracked(application):
    finished(application)
    answer = application.get(
        "importJob", {"$filter": "Status eq 'Imported' and RejectedCount gt 0"}, Prefer="odata.track-changes"
    )
    assert len(ok(answer)["value"]) == 1
    assert "@odata.deltaLink" not in ok(answer)
    assert "track" not in answer.headers.get("Preference-Applied", "")
    container = ok(application.get("$metadata", {"$format": "json"}))["Records"]["Container"]
    tracking = "@Org.OData.Capabilities.V1.ChangeTracking"
    assert [container[name][tracking]["Supported"] for name in ("ImportJob", "Client")] == [False, True]


def test_the_office_shows_whose_job_it_is(application, client):
    key = finished(application)["ImportJobGuid"]
    client.force_login(an_administrator())
    name = ApiApplication.objects.get().name
    assert name in client.get("/admin/core/fileimport/").content.decode()
    assert name in client.get(f"/admin/core/fileimport/{key}/file/").content.decode()
