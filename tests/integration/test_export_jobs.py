"""Export jobs: a whole set as a file, and the changes since it by its delta link."""

import csv
import errno
import io
import json
from random import Random

import pytest
from django.db import OperationalError
from django.db.models import QuerySet
from django.utils import timezone
from django_tasks import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from apps.access.models import ApiApplication
from apps.access.services import purge_expired, revoke_applications
from apps.core import archive, file_exports
from apps.core.file_exports import with_progress
from apps.core.models import FileExport, PersonalDataRead
from apps.core.read_log import READ_LOG
from apps.integration import export_jobs
from apps.people.models import Contact
from tests.api.caller import Caller, LaterCaller, an_application, faults, ok, refused
from tests.caseloads import a_limited_application, limit
from tests.funding.builders import a_claim
from tests.people.builders import a_client, a_contact, a_staff_member
from tests.people.records import an_administrator
from tests.tasks import run_tasks

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("log_of_one_writer")]


def started(caller, address):
    return ok(caller.post("exportJob", {"Address": address}), 201)


def finished(caller, address):
    """The job of an address once a worker has done it."""
    key = started(caller, address)["ExportJobGuid"]
    run_tasks()
    return ok(caller.get(f"exportJob({key})"))


def file_of(caller, job):
    answer = caller.get(f"exportJob({job['ExportJobGuid']})/File")
    assert answer.status_code == 200, answer.content
    return answer, b"".join(answer.streaming_content).decode()


def test_a_set_is_exported_and_the_changes_since_follow(application):
    made = [a_contact(LastName=f"Fox{number}") for number in range(3)]
    answer = application.post("exportJob", {"Address": "contact?$select=LastName&$orderby=LastName"})
    job = ok(answer, 201)
    assert answer["Location"].endswith(f"/api/ExportJob({job['ExportJobGuid']})")
    assert (job["Status"], job["FileName"], job["DeltaLink"]) == ("Exporting", "Contact.json", None)
    assert job["Address"] == "http://testserver/api/Contact?$select=LastName&$orderby=LastName"
    refused(application.get(f"exportJob({job['ExportJobGuid']})/File"), 409, "Conflict")
    run_tasks()
    job = ok(application.get(f"exportJob({job['ExportJobGuid']})"))
    assert (job["Status"], job["RowsDone"], job["RowsTotal"], job["Message"]) == ("Ready", 3, 3, "")
    response, text = file_of(application, job)
    assert response["Content-Disposition"] == 'attachment; filename="Contact.json"'
    assert response["Content-Type"] == "application/json; charset=utf-8"
    assert [each["LastName"] for each in json.loads(text)["value"]] == ["Fox0", "Fox1", "Fox2"]
    assert ok(application.follow(job["DeltaLink"]))["value"] == []
    new = a_contact(LastName="Owl")
    archive.archive(Contact.objects.filter(pk=made[0].pk))
    delta = ok(application.follow(job["DeltaLink"]))
    assert {each["ContactGuid"]: each["LastName"] for each in delta["value"]} == {
        str(new.pk): "Owl",
        str(made[0].pk): "Fox0",
    }
    assert "@odata.deltaLink" in delta


@pytest.mark.parametrize("form", ["csv", "ndjson"])
@pytest.mark.parametrize(
    "query",
    [
        "$expand=*",
        "$filter=LastName ne 'Fox1'&$top=2&$skip=1",
        "$select=LastName&$search=Fox2",
        "$expand=AccountManager($select=LastName)",
    ],
)
def test_the_file_is_what_a_get_answers(application, form, query):
    for number in range(4):
        a_contact(LastName=f"Fox{number}")
    address = f"contact?{query}&$format={form}"
    job = finished(application, address)
    got = b"".join(
        application.get("contact", f"{query}&$format={form}".replace(" ", "%20")).streaming_content
    )
    assert file_of(application, job)[1] == got.decode()
    is_tracked = "$top" not in query
    assert (job["DeltaLink"] is not None) is is_tracked
    if is_tracked:
        assert "format" not in job["DeltaLink"]
        assert ok(application.follow(job["DeltaLink"]))["value"] == []


def test_a_filter_holds_for_the_changes_too(application):
    stays, leaves = a_contact(LastName="Fox"), a_contact(LastName="Owl")
    job = finished(application, "contact?$filter=ArchiveDate eq null")
    archive.archive(Contact.objects.filter(pk=leaves.pk))
    (removed,) = ok(application.follow(job["DeltaLink"]))["value"]
    assert (removed["reason"], removed["id"][-37:-1]) == ("changed", str(leaves.pk))
    assert stays.pk != leaves.pk


def test_addresses_may_be_whole(application):
    for address in ("http://testserver/api/Client", "/api/client/", "CLIENT?", "client?$count=true"):
        assert started(application, address)["Address"].startswith("http://testserver/api/Client?")


def test_cells_are_guarded_as_in_a_get(application):
    a_client(BusinessName="=1+1")
    _, text = file_of(application, finished(application, "client?$select=BusinessName&$format=csv"))
    header, row = csv.reader(io.StringIO(text))
    assert dict(zip(header, row, strict=True))["BusinessName"] == "'=1+1"


def write_something(chance):
    """A change of the contacts, by its services; most are found by the filter below, some leave it."""
    records = list(Contact.objects.order_by("pk"))
    if not records or chance.random() < 0.4:
        a_contact(LastName=chance.choice(["Fox", "Owl"]))
        return
    record = chance.choice(records)
    if chance.random() < 0.5:
        record.last_name = chance.choice(["Fox", "Owl", "Hen"])
        record.save()
    else:
        (archive.restore if record.is_archived else archive.archive)(Contact.objects.filter(pk=record.pk))


@pytest.mark.parametrize("seed", range(8))
def test_a_copy_of_the_file_and_its_changes_is_the_set(application, monkeypatch, seed):
    """Others write before, while and after the file is made."""
    chance = Random(seed)

    def with_writes(job, records):
        for record in with_progress(job, records):
            if chance.random() < 0.3:
                write_something(chance)
            yield record

    monkeypatch.setattr(export_jobs, "with_progress", with_writes)
    query = "$select=LastName,ArchiveDate&$filter=LastName ne 'Hen' and ArchiveDate eq null"
    for _ in range(chance.randrange(12)):
        write_something(chance)
    job = finished(application, f"contact?{query}&$format=ndjson")
    rows = map(json.loads, file_of(application, job)[1].splitlines())
    copy = {row["ContactGuid"]: row for row in rows}
    link = job["DeltaLink"]
    for _ in range(3):
        for _ in range(chance.randrange(8)):
            write_something(chance)
        page = ok(application.follow(link))
        for entry in page["value"]:
            if "reason" in entry:
                copy.pop(entry["id"][-37:-1], None)
            else:
                copy[entry["ContactGuid"]] = entry
        link = page["@odata.deltaLink"]
        now = {row["ContactGuid"]: row for row in application.all("contact", query.replace(" ", "%20"))}
        assert copy == now


# --- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "elephant", "http://elsewhere.example/api/client", "//elsewhere.example/api/client", "client/$count",
        "client(0198c0de-0000-7000-8000-000000000001)", "../admin/", "http://[", "client#x", "?", "$metadata",
        "client?$filter=Nonsense eq 1", "client?$select=Nonsense", "client?$apply=aggregate($count as N)",
        "client?$deltatoken=x", "client?$skiptoken=x", "client?BusinessName=x", "client?$format=xml",
        "client?$compute=BusinessName as B&$select=B&$format=csv", "client?$top=-1", "client?$nonsense=1",
        "client?$filter=%zz", "client?$expand=Nonsense", "client?$top=1&$top=2", "client?version=2.0",
        "client?api-version=2", "client?$format=json;odata.metadata=full",
        "client?$format=application/json;IEEE754Compatible=true",
    ],
)  # fmt: skip
def test_addresses_that_cannot_be_exported_are_refused(application, address):
    ((_, target),) = faults(application.post("exportJob", {"Address": address}))
    assert target == "Address"
    assert not FileExport.objects.exists()


@pytest.mark.parametrize(
    "body", [{}, {"Address": None}, {"Address": ""}, {"Address": 5}, {"Address": ["client"]}]
)
def test_bodies_without_an_address_are_refused(application, body):
    assert application.post("exportJob", body).status_code == 400
    assert not FileExport.objects.exists()


def test_many_at_once_wait_for_each_other(application, monkeypatch):
    monkeypatch.setattr(export_jobs, "MOST_RUNNING", 2)
    started(application, "client")
    refused(application.post("exportJob", {"value": [{"Address": "client"}] * 2}), 409, "Conflict")
    started(application, "client")
    refused(application.post("exportJob", {"Address": "client"}), 409, "Conflict")
    run_tasks()
    started(application, "client")
    assert FileExport.objects.count() == 3


def test_exports_whose_worker_ended_hold_up_no_others(application, monkeypatch):
    monkeypatch.setattr(export_jobs, "MOST_RUNNING", 1)
    started(application, "client")
    DBTaskResult.objects.update(status=TaskResultStatus.FAILED)
    started(application, "client")
    assert sorted(FileExport.objects.values_list("status", flat=True)) == ["Exporting", "Failed"]


def test_an_idempotency_key_begins_one(application):
    first, again = (
        application.post("exportJob", {"Address": "client"}, Idempotency_Key="e-1") for _ in range(2)
    )
    assert (first.content, FileExport.objects.count()) == (again.content, 1)


# --- rights ---------------------------------------------------------------------------------------------


def a_caller(*scope, name):
    return LaterCaller(an_application(*scope, name=name))


def test_a_job_reads_what_its_application_reads(application):
    narrow = a_caller("exportjob.write", "exportjob.read", "client.read", name="Narrow")
    assert started(narrow, "client")["Status"] == "Exporting"
    refused(narrow.post("exportJob", {"Address": "contact"}), 403, "Forbidden")
    refused(narrow.post("exportJob", {"Address": "client?$expand=KeyContact($expand=Claims)"}), 400)
    both = a_caller("exportjob.write", "contact.read", name="Both")
    refused(both.post("exportJob", {"Address": "contact?$expand=Claims"}), 403, "Forbidden")
    refused(both.post("exportJob", {"Address": "contact?$filter=Claims/any()"}), 403, "Forbidden")
    refused(both.get("exportJob"), 403)
    refused(a_caller("client.read", name="Reader").post("exportJob", {"Address": "client"}), 403)


def test_a_narrow_token_exports_no_more_than_it_reads(application):
    ApiApplication.objects.get().tokens.update(scope="exportjob.write exportjob.read client.read")
    refused(application.post("exportJob", {"Address": "contact"}), 403, "Forbidden")


def test_rights_are_those_of_the_moment(application):
    narrow = a_caller("exportjob.write", "exportjob.read", "client.read", name="Narrow")
    done, waiting = finished(narrow, "client"), started(narrow, "client")
    ApiApplication.objects.filter(name="Narrow").update(scope="exportjob.write exportjob.read")
    refused(narrow.get(f"exportJob({done['ExportJobGuid']})/File"), 403, "Forbidden")
    run_tasks()
    job = ok(narrow.get(f"exportJob({waiting['ExportJobGuid']})"))
    assert (job["Status"], job["DeltaLink"]) == ("Failed", None)
    assert "client.read" in job["Message"]


def test_a_caseload_that_changes_while_the_file_is_made_is_that_of_another_file(monkeypatch):
    """A limited application that sees others afterwards gets neither the file nor goes on from it."""
    first, other = a_staff_member(), a_staff_member()
    a_contact(AccountManager={"StaffGuid": str(first.pk)})
    limited = LaterCaller(a_limited_application(staff=[first]).authorization)

    def with_a_change(job, records):
        limit("Limited", staff=[other])
        yield from with_progress(job, records)

    monkeypatch.setattr(export_jobs, "with_progress", with_a_change)
    job = finished(limited, "contact")
    assert (job["Status"], job["RowsDone"]) == ("Ready", 1)
    refused(limited.get(f"exportJob({job['ExportJobGuid']})/File"), 403, "Forbidden")
    refused(limited.follow(job["DeltaLink"]), 410, "Gone")


def test_a_revoked_application_gets_no_file(application):
    started(application, "client")
    revoke_applications(ApiApplication.objects.all())
    run_tasks()
    assert FileExport.objects.get().status == "Failed"


def test_a_file_that_the_disk_has_no_space_for_fails_with_the_reason(application, monkeypatch):
    def write(job, query, file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(export_jobs, "write_records", write)
    job = finished(application, "client")
    text = "The server could not write it: No space left on device. Tell who runs the service."
    assert (job["Status"], job["Message"], job["DeltaLink"]) == ("Failed", text, None)


def test_others_do_not_see_it(application, client):
    key = finished(application, "client")["ExportJobGuid"]
    client.force_login(an_administrator())
    for caller in (a_caller("read", "write", name="Other"), LaterCaller(session=client)):
        assert ok(caller.get("exportJob"))["value"] == []
        refused(caller.get(f"exportJob({key})"), 404)
        refused(caller.get(f"exportJob({key})/File"), 404)
    refused(Caller(application.authorization).get("exportJob"), 404)
    assert client.get(f"/admin/core/fileexport/{key}/content/").status_code != 200


# --- the rest -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expand", ["", "&$expand=Claims"])
def test_the_read_log_has_what_a_get_would_have(application, expand):
    claim = a_claim()
    made = claim.contact
    READ_LOG.waiting.clear()
    application.get("contact", f"$filter=LastName%20ne%20'x'{expand}&$format=ndjson").getvalue()
    (expected,) = READ_LOG.waiting
    READ_LOG.waiting.clear()
    job = finished(application, f"contact?$filter=LastName ne 'x'{expand}&$format=ndjson")
    entry = PersonalDataRead.objects.get()
    name = ApiApplication.objects.get().name
    columns = ("kind", "record_type", "record_count", "query", "channel", "application")
    assert [getattr(entry, column) for column in columns] == [getattr(expected, each) for each in columns]
    assert (bytes(entry.record_keys), entry.application) == (bytes(expected.record_keys), name)
    assert bytes(entry.record_keys).startswith(made.pk.bytes)
    assert (claim.pk.bytes in bytes(entry.record_keys)) == bool(expand)
    assert entry.request_id == job["ExportJobGuid"]
    file_of(application, job)
    assert [(each.kind, each.record_count) for each in READ_LOG.waiting] == [("Download", 1)]


def test_files_are_deleted_after_a_while(application):
    key = finished(application, "client")["ExportJobGuid"]
    FileExport.objects.update(created_at=timezone.now() - timezone.timedelta(days=8))
    purge_expired()
    refused(application.get(f"exportJob({key})/File"), 404)
    refused(application.get(f"exportJob({key})"), 404)


def test_a_fault_in_the_middle_leaves_no_half_file_and_a_repetition_a_whole_one(application, monkeypatch):
    a_client()
    key = started(application, "client")["ExportJobGuid"]
    with monkeypatch.context() as broken:
        broken.setattr(file_exports, "finish_export", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            export_jobs.process_export_job.call(key)
    job = FileExport.objects.get()
    assert (job.status, job.delta_link, job.parts.count()) == ("Exporting", None, 0)
    export_jobs.process_export_job.call(key)
    export_jobs.process_export_job.call(key)
    job.refresh_from_db()
    assert (job.status, job.parts.count()) == ("Ready", 1)


def test_an_export_goes_on_where_its_progress_cannot_be_shown(application, monkeypatch):
    """SQLite refuses a write beside a long read once somebody else has written."""
    a_client()
    key = started(application, "client")["ExportJobGuid"]
    refusals = []

    def update(rows, **values):
        if [*values] == ["rows_done", "rows_total"]:
            refusals.append(values)
            raise OperationalError("database is locked")
        return unbroken(rows, **values)

    unbroken = QuerySet.update
    monkeypatch.setattr(QuerySet, "update", update)
    export_jobs.process_export_job.call(key)
    assert (len(refusals), ok(application.get(f"exportJob({key})"))["Status"]) == (1, "Ready")


def test_a_job_whose_worker_ended_has_failed(application, monkeypatch):
    key = started(application, "client")["ExportJobGuid"]
    monkeypatch.setattr(file_exports, "has_failed", lambda task: True)
    assert ok(application.get(f"exportJob({key})"))["Status"] == "Failed"


def test_lists_of_others_are_read_as_the_caller_reads_them(application):
    claim = a_claim()
    _, text = file_of(
        application, finished(application, "contact?$expand=Claims($select=ClaimNumber)&$format=ndjson")
    )
    found = [each for line in text.splitlines() for each in json.loads(line)["Claims"]]
    assert [each["ClaimGuid"] for each in found] == [str(claim.pk)]


def test_a_limited_application_exports_its_participants_and_no_file_of_before(application):
    mine, other = a_staff_member(), a_staff_member()
    a_contact(LastName="Own", AccountManager={"StaffGuid": str(mine.pk)})
    foreign = a_contact(LastName="Foreign", AccountManager={"StaffGuid": str(other.pk)})
    everything = finished(application, "contact?$format=ndjson")
    limit("Integration", staff=[mine])
    address = f"exportJob({everything['ExportJobGuid']})/File"
    refused(application.get(address), 403, "Forbidden")
    job = finished(application, "contact?$format=ndjson")
    _, text = file_of(application, job)
    assert [json.loads(line)["LastName"] for line in text.splitlines()] == ["Own"]
    assert job["RowsTotal"] == 1
    foreign.phone1 = "1"
    foreign.save()
    assert ok(application.follow(job["DeltaLink"]))["value"] == []
    limit("Integration", staff=[mine, other])
    refused(application.follow(job["DeltaLink"]), 410, "Gone")
    refused(application.post("exportJob", {"Address": "claimFile"}), 403)


@pytest.mark.parametrize(
    "query", ["contact", "contact?$top=5", "claim?$format=csv", "client?$expand=Contacts", "team"]
)
@pytest.mark.parametrize("changes_at_once", [1, 100])
def test_a_file_is_refused_once_a_record_of_a_limited_application_was_handed_over(
    monkeypatch, query, changes_at_once
):
    monkeypatch.setattr(export_jobs, "CHANGES_AT_ONCE", changes_at_once)
    mine, other = a_staff_member(), a_staff_member()
    contact = a_contact(AccountManager={"StaffGuid": str(mine.pk)})
    a_claim(contact=contact)
    limited = LaterCaller(a_limited_application(staff=[mine]).authorization)
    job = finished(limited, query)
    address = f"exportJob({job['ExportJobGuid']})/File"

    def handed_to(person, record=contact):
        record.account_manager = person
        record.save()

    for number in range(3):
        a_contact(LastName=f"New{number}", AccountManager={"StaffGuid": str(mine.pk)})
    contact.phone1 = "1"
    contact.save()
    file_of(limited, job)
    handed_to(other)
    if query == "team":
        file_of(limited, job)
        return
    answer = refused(limited.get(address), 403, "Forbidden")
    assert "handed over" in str(answer)
    handed_to(mine)
    file_of(limited, job)
    assert "ContactGuid" in file_of(limited, finished(limited, "contact"))[1]


@pytest.mark.parametrize("moment", [None, ["", "", 1, "of another database"]])
def test_a_file_of_an_unknown_moment_is_refused_to_a_limited_application(moment):
    """It was made before moments were stored, or the database was restored since."""
    limited = LaterCaller(a_limited_application(staff=[a_staff_member()]).authorization)
    job = finished(limited, "contact")
    FileExport.objects.update(moment=moment)
    refused(limited.get(f"exportJob({job['ExportJobGuid']})/File"), 403, "Forbidden")
