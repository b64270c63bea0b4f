"""The command palette: records by names, numbers and references, misspelt names, permissions."""

import pytest

from apps.base import clock
from tests.engagements.builders import a_plan
from tests.funding.builders import a_claim, a_provider_invoice, an_invoice
from tests.people.records import a_client, a_contact, a_role, a_staff_member, an_administrator

pytestmark = [pytest.mark.django_db, pytest.mark.both_engines("what is found is the database's search")]


@pytest.fixture
def records(client):
    client.force_login(an_administrator(first_name="Ada", last_name="Byron"))
    matilda = a_contact(first_name="Matilda", last_name="Walsh", scheme_number="430123456")
    harbour = a_client(business_name="Harbour Physiotherapy")
    a_contact(first_name="Matilda", last_name="Nguyen")
    a_plan(participant=matilda)
    billed = a_provider_invoice(reference="HP/2026-77", provider=harbour)
    a_claim(
        claim_number="CLM-0000101",
        contact=matilda,
        provider=harbour,
        provider_invoice=billed,
        provider_invoice_reference="HP/2026-77",
    )
    an_invoice(invoice_number="INV-0000033", contact=matilda)
    return matilda


def found(client, text):
    page = client.get("/admin/search/", {"s": text, "extended": "1"})
    assert page.status_code == 200
    return [(str(item.title), str(item.description)) for item in page.context["results"]]


@pytest.mark.parametrize("text", ["walsh", "Walsh, Matilda", "matilda WALSH", "430 123 456", "Matlida Walhs"])
def test_a_participant_is_found_with_the_plan(client, records, text):
    assert found(client, text) == [
        ("Matilda Walsh · 430123456", "contact"),
        ("Matilda Walsh, 01 Jul 2026 – 30 Jun 2027", "plan"),
    ]


def test_records_are_found_by_their_numbers_and_references(client, records):
    assert found(client, "clm-0000101") == [("CLM-0000101 · Matilda Walsh · 140.00", "claim")]
    assert found(client, "0000033") == [("INV-0000033 · Matilda Walsh · 140.00", "invoice")]
    references = found(client, "hp/2026")
    assert {kind for _, kind in references} == {"provider invoice", "claim"}
    assert found(client, "harbuor") == [("Harbour Physiotherapy", "client")]


def test_staff_and_pages_are_found_by_name(client, records):
    assert found(client, "byron") == [("Ada Byron", "staff member")]
    assert ("Month end", "Funding") in found(client, "month")


def test_an_archived_record_says_so(client, records):
    records.archive_date = clock.now()
    records.save()
    assert ("Matilda Walsh · 430123456", "contact, archived") in found(client, "walsh")


def test_only_records_that_the_person_may_view_are_found_at_once_after_a_change(client, records):
    role = a_role("people.view_contact", "people.view_team")
    person = a_staff_member(role=role)
    client.force_login(person)
    assert found(client, "walsh") == [("Matilda Walsh · 430123456", "contact")]
    role.permissions.remove(role.permissions.get(codename="view_contact"))
    assert client.get("/admin/search/", {"s": "walsh"}).context["results"] == []


def test_the_palette_says_when_there_is_nothing(client, records):
    assert "Nothing found" in client.get("/admin/search/", {"s": "xylophone"}).content.decode()
    assert "two characters" in client.get("/admin/search/", {"s": "w"}).content.decode()


@pytest.mark.parametrize("text", ["%", "__", "'", '"; --', "\\", "walsh " * 500, "🚀🚀"])
def test_any_text_is_answered(client, records, text):
    found(client, text)


def test_nobody_searches_without_signing_in(client):
    assert client.get("/admin/search/", {"s": "walsh"}).status_code == 302
