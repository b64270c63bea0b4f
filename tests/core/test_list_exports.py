"""Files of what a list of the back office shows with its filters."""

import csv
import errno
import io

import pytest
from django.contrib import admin
from django_tasks import TaskResultStatus
from django_tasks_db.models import DBTaskResult
from openpyxl import load_workbook

from apps.access.services import purge_expired
from apps.base.declaration.service import declared_set, declared_sets
from apps.core import exporting
from apps.core.admin_base import RecordAdmin, exports
from apps.core.models import FileExport, FileExportPart, Notice, PersonalDataRead
from apps.core.read_log import READ_LOG
from tests.funding.builders import a_claim
from tests.people.records import a_client, a_contact, a_role, a_staff_member, an_administrator, get_unrendered
from tests.tasks import run_tasks

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.both_engines("each list is exported by statements of its own"),
]
CONTACTS = "/admin/people/contact/"
EXPORTED = [
    model
    for model in (entity_set.model for entity_set in declared_sets().values())
    if admin.site.is_registered(model) and isinstance(admin.site.get_model_admin(model), RecordAdmin)
]


@pytest.fixture
def large(monkeypatch):
    """Lists of more than one record are exported by a worker."""
    monkeypatch.setattr(exports, "SMALL_EXPORT", 1)


def content(client, file_export):
    answer = client.get(f"/admin/core/fileexport/{file_export.pk}/content/")
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)


def csv_rows(client, address, **query):
    answer = client.get(address, query)
    assert answer.status_code == 200
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("model", EXPORTED, ids=lambda model: model._meta.label)
def test_every_list_is_exported_with_a_header(client, ada, model):
    entity_set = declared_set(model)
    answer = client.get(admin.site.get_model_admin(model).page_url("export", "csv"))
    assert answer["Content-Disposition"] == f'attachment; filename="{entity_set.name}.csv"'
    text = b"".join(answer.streaming_content).decode()  # read to its end, which closes the file
    assert text.startswith(f"\ufeff{entity_set.type.key.name},")


def test_a_file_has_what_the_filters_leave_and_the_list_links_it(client, ada):
    a_contact(last_name="Silva"), a_contact(last_name="=1+1"), a_contact(last_name="Nguyen")
    links = get_unrendered(client, CONTACTS, {"q": "silva", "p": "1"}).context["export_links"]
    files = [f"{CONTACTS}export/{name}/" for name in ("csv", "xlsx")]
    assert [each["link"] for each in links] == [f"{file}?q=silva" for file in files]
    assert [row["LastName"] for row in csv_rows(client, files[0], q="silva")] == ["Silva"]
    assert {row["LastName"] for row in csv_rows(client, files[0])} == {"Silva", "Nguyen", "'=1+1"}


def test_a_workbook_has_the_lines_of_claims_as_rows(client, ada):
    claim = a_claim([{"quantity": "2"}, {"quantity": "3"}])
    a_claim(funding_status="Approved")
    answer = client.get("/admin/funding/claim/export/xlsx/", {"status": "AwaitingStaffApproval"})
    sheet = load_workbook(io.BytesIO(b"".join(answer.streaming_content)), read_only=True).active
    header, *rows = sheet.iter_rows(values_only=True)
    number, quantity = header.index("ClaimNumber"), header.index("LineItems/Quantity")
    assert [(row[number], row[quantity]) for row in rows] == [(str(claim), 2), (str(claim), 3)]


def test_other_files_and_filters_do_not_exist_and_a_file_needs_the_permission_to_view(client, ada):
    for address in (f"{CONTACTS}export/exe/", f"{CONTACTS}export/csv/?nothing__of=1"):
        assert client.get(address).status_code == 404
    a_client()
    client.force_login(a_staff_member(role=a_role("people.view_client")))
    assert client.get(f"{CONTACTS}export/csv/").status_code == 403
    assert len(csv_rows(client, "/admin/people/client/export/csv/")) == 1


def test_a_worker_writes_a_large_file_and_its_person_downloads_it(client, ada, large, at):
    a_contact(last_name="Silva"), a_contact(last_name="Silva"), a_contact(last_name="Nguyen")
    pressed = [client.get(f"{CONTACTS}export/csv/", {"q": "silva", "p": "1"}) for _ in range(2)]
    file_export = FileExport.objects.get()  # of the same list once
    page = f"/admin/core/fileexport/{file_export.pk}/file/"
    assert [answer["Location"] for answer in pressed] == [page, page]
    assert client.get(f"/admin/core/fileexport/{file_export.pk}/progress/").json()["running"]
    assert client.get(f"/admin/core/fileexport/{file_export.pk}/content/").status_code == 404
    run_tasks()
    notice = Notice.objects.get(staff=ada)
    assert (notice.text, notice.url) == ("Your export is ready: Contact.csv, 2 records", page)
    assert "Download Contact.csv" in client.get(page).content.decode()
    rows = list(csv.DictReader(io.StringIO(content(client, file_export).decode("utf-8-sig"))))
    assert [row["LastName"] for row in rows] == ["Silva", "Silva"]
    READ_LOG.write()
    logged = PersonalDataRead.objects.filter(staff=ada, record_count=2).order_by("pk")
    assert list(logged.values_list("kind", "record_type")) == [
        ("Export", "people.contact"),
        ("Download", "people.contact"),
    ]
    client.force_login(an_administrator())
    assert client.get(page).status_code == 302
    assert client.get(f"/admin/core/fileexport/{file_export.pk}/content/").status_code == 302


def test_a_list_whose_worker_died_is_exported_anew_when_the_button_is_pressed_again(client, ada, large):
    a_client(), a_client()
    client.get("/admin/people/client/export/csv/")
    dead = FileExport.objects.get()
    DBTaskResult.objects.filter(pk=dead.task_id).update(status=TaskResultStatus.FAILED)
    client.get("/admin/people/client/export/csv/")
    dead.refresh_from_db()
    assert (dead.status, "ended unexpectedly" in dead.message) == ("Failed", True)
    run_tasks()
    assert FileExport.objects.exclude(pk=dead.pk).get().status == "Ready"


def test_a_large_workbook_is_stored_in_parts(client, ada, large, monkeypatch):
    monkeypatch.setattr("apps.core.file_exports.PART_SIZE", 1000)
    claims = [a_claim(), a_claim()]
    client.get("/admin/funding/claim/export/xlsx/", {"status": "AwaitingStaffApproval"})
    run_tasks()
    assert FileExportPart.objects.count() > 1
    sheet = load_workbook(io.BytesIO(content(client, FileExport.objects.get())), read_only=True).active
    header, *rows = sheet.iter_rows(values_only=True)
    assert {row[header.index("ClaimNumber")] for row in rows} == set(map(str, claims))


def test_an_export_fails_with_a_reason_and_ends_with_the_permission(client, large):
    a_client(), a_client()
    role = a_role("people.view_client")
    person = a_staff_member(role=role)
    client.force_login(person)
    exported = []
    for is_permitted in (True, False):
        client.get("/admin/people/client/export/csv/")
        exported += FileExport.objects.filter(status="Exporting")
        if not is_permitted:
            role.permissions.set(a_role("people.view_contact").permissions.all())
        run_tasks()
    ready, failed = exported
    assert client.get(f"/admin/core/fileexport/{ready.pk}/content/").status_code == 403
    assert (
        "You may not view these records."
        in client.get(f"/admin/core/fileexport/{failed.pk}/file/").content.decode()
    )
    assert Notice.objects.filter(
        text="Your export failed: Client.csv. You may not view these records."
    ).exists()


@pytest.fixture
def full_disk(monkeypatch):
    def write(file, wanted, records):
        next(iter(records))
        raise OSError(errno.ENOSPC, "No space left on device", "/srv/records/tmp")

    monkeypatch.setitem(exporting.WRITERS, "csv", write)


def test_an_export_that_the_disk_has_no_space_for_says_so(client, ada, large, full_disk):
    a_client(), a_client()
    client.get("/admin/people/client/export/csv/")
    run_tasks()
    text = "The server could not write it: No space left on device. Tell who runs the service."
    found = FileExport.objects.get()
    assert (found.status, found.message) == ("Failed", text)
    assert not FileExportPart.objects.exists()


def test_a_small_export_that_the_disk_has_no_space_for_leads_back_to_the_list(client, ada, full_disk):
    a_client()
    answer = client.get("/admin/people/client/export/csv/", {"q": "Org"}, follow=True)
    assert answer.redirect_chain == [("/admin/people/client/?q=Org", 302)]
    shown = answer.content.decode()
    assert "The file was not written: No space left on device" in shown
    assert "/srv/records" not in shown


def test_exports_are_deleted_after_some_days(client, ada, large, at):
    at("2026-03-02 10:00")
    a_client(), a_client()
    client.get("/admin/people/client/export/csv/")
    run_tasks()
    assert purge_expired()["exports"] == 0
    at("2026-03-09 10:01")
    assert purge_expired()["exports"] == 1
    assert not FileExportPart.objects.exists()
