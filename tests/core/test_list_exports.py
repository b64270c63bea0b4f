"""Files of what a list of the back office shows with its filters."""

import csv
import io

import pytest
from django.contrib import admin
from openpyxl import load_workbook

from apps.core.admin_base import RecordAdmin
from apps.odata.declaration.service import get_service
from tests.funding.builders import a_claim
from tests.people.records import a_client, a_contact, a_role, a_staff_member, get_unrendered

pytestmark = pytest.mark.django_db
CONTACTS = "/admin/people/contact/"
EXPORTED = [
    model
    for model in get_service().by_model
    if admin.site.is_registered(model) and isinstance(admin.site.get_model_admin(model), RecordAdmin)
]


def csv_rows(client, address, **query):
    answer = client.get(address, query)
    assert answer.status_code == 200
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("model", EXPORTED, ids=lambda model: model._meta.label)
def test_every_list_is_exported_with_a_header(client, ada, model):
    entity_set = get_service().by_model[model]
    answer = client.get(admin.site.get_model_admin(model).page_url("export", "csv"))
    assert answer["Content-Disposition"] == f'attachment; filename="{entity_set.name}.csv"'
    assert next(iter(answer.streaming_content)).decode().startswith(f"\ufeff{entity_set.type.key.name},")


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
