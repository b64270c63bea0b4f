"""Reading of personal data is logged: by the interface, the back office, exports and downloads."""

import datetime as dt
import uuid

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError

from apps.base import clock
from apps.base.declaration.service import get_service
from apps.core import history, read_log, read_log_chain
from apps.core.models import PersonalDataRead, TimestampedModel
from apps.core.read_log import READ_LOG, without_values
from apps.funding.models import ClaimFile, Remittance
from apps.odata.query.options import parameters
from apps.operations.personal_records import ownerships
from apps.payments.models import PaymentRun
from apps.people.models import Contact, Staff
from apps.sales.models import OpportunityTemplate
from tests.api.caller import Caller, an_application, ok, refused
from tests.funding.builders import a_claim
from tests.people.records import a_client, a_contact, a_role, form_data
from tests.sales.builders import an_opportunity

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.both_engines("reads are stored and found by statements of their own"),
]


@pytest.fixture
def api():
    return Caller(an_application(name="Reports"))


def entries():
    """(kind, kind of record, keys, query) of what was read since the last call."""
    READ_LOG.write()
    found = list(PersonalDataRead.objects.order_by("pk"))
    PersonalDataRead.objects.all().delete()
    return [(each.kind, each.record_type, keys_of(each), each.query) for each in found]


def keys_of(entry):
    model = apps.get_model(entry.record_type)
    return {read_log.key_from_bytes(model, key) for key in read_log.split_keys(entry.record_keys)}


def test_models_about_people_are_logged_and_no_others():
    logged = {model for model in apps.get_models() if getattr(model, "has_personal_data", False)}
    personal = {row.model for row in ownerships() if issubclass(row.model, TimestampedModel)}
    # A template names its owner, a run its payees; claim files and remittances have rows of many people.
    assert logged == personal | {Staff, OpportunityTemplate, ClaimFile, PaymentRun, Remittance}


def test_the_answer_to_a_change_is_a_read(api):
    mia = a_contact(first_name="Mia")
    version = {"version": "2.1"}
    ok(api.patch(f"contact({mia.pk})", {}, version, if_match="*"))
    assert entries() == [("Record", "people.contact", {mia.pk}, "version=?")]
    minimal = {"if_match": "*", "prefer": "return=minimal"}
    assert api.patch(f"contact({mia.pk})", {}, version, **minimal).status_code == 204
    assert entries() == []


def test_reads_of_an_application_have_its_name_the_keys_and_no_values(api):
    mia, max_ = a_contact(first_name="Mia"), a_contact(first_name="Max")
    ok(api.get("contact", {"$filter": "startswith(FirstName,'M')", "FirstName": "Mia", "$search": "mia"}))
    query = "$filter=startswith(FirstName,?)&FirstName=?&$search=?"
    assert entries() == [("List", "people.contact", {mia.pk}, query)]
    ok(api.get("contact"))
    assert entries()[0][2] == {mia.pk, max_.pk}
    ok(api.get(f"contact/{max_.pk}"))
    READ_LOG.write()
    entry = PersonalDataRead.objects.get()
    assert (entry.application, entry.staff_id, entry.channel, entry.kind) == (
        "Reports",
        None,
        "API",
        "Record",
    )
    assert (entry.record_count, keys_of(entry), entry.query) == (1, {max_.pk}, "")


@pytest.mark.parametrize("accept", ["text/csv", "application/x-ndjson"])
def test_a_stream_is_logged_when_it_ends(api, accept):
    contacts = {a_contact().pk for _ in range(3)}
    b"".join(api.get("contact", Accept=accept).streaming_content)
    assert entries() == [("Export", "people.contact", contacts, "")]


def test_a_stream_that_is_given_up_is_logged_as_far_as_it_was_read(db):
    contacts = [f'{{"ContactGuid":"{uuid.uuid4()}"}}' for _ in range(3)]
    stream = READ_LOG.log_stream(get_service().by_model[Contact], iter(contacts), (), has_others=False)
    assert next(stream) == contacts[0]
    stream.close()
    ((kind, _, keys, _),) = entries()
    assert (kind, len(keys)) == ("Export", 1)


def test_what_leads_from_a_record_to_others_is_logged(api):
    claim = a_claim()
    line = claim.line_items.get()
    ok(api.get(f"claim/{claim.pk}/Contact"))
    assert {(record_type, *keys) for _, record_type, keys, _ in entries()} == {
        ("people.contact", claim.contact_id),
        ("funding.claim", claim.pk),
    }
    ok(api.get("contact", {"$expand": "Claims"}))
    assert {claim.pk, claim.contact_id, claim.provider_id} <= entries()[0][2]
    ok(api.get(f"claim/{claim.pk}/LineItems"))
    assert ("List", "funding.claimline", {line.pk}, "") in entries()
    assert api.get(f"contact/{claim.contact_id}/FirstName/$value").status_code == 200
    assert entries() == [("Record", "people.contact", {claim.contact_id}, "")]
    assert api.get(f"contact/{uuid.uuid4()}/FirstName").status_code == 404
    assert api.get("contact/$count").status_code == 200
    assert entries() == []


def test_counts_of_a_condition_are_logged_with_their_members_and_number(api):
    """Any value can be guessed by them, a character at a time."""
    mia = a_contact(first_name="Mia")
    a_claim(contact=mia)
    query = {"$filter": "startswith(FirstName,'M')"}
    for address in ("contact/$count", "claim/$count?$filter=Contact/FirstName eq 'Mia'"):
        path, _, own = address.partition("?")
        assert api.get(path, own or query).content == b"1"
    assert counted() == [
        ("people.contact", 1, "$filter=startswith(FirstName,?)"),
        ("funding.claim", 1, "$filter=Contact/FirstName eq ?"),
    ]
    assert api.get("contact/$count", {"$search": "nobody"}).content == b"0"
    assert api.get("contact/$count", {"FirstName": "Nobody"}).content == b"0"
    assert counted() == [("people.contact", 0, "$search=?"), ("people.contact", 0, "FirstName=?")]
    assert api.get(f"contact({mia.pk})/Claims/$count").content == b"1"
    assert counted() == [("people.contact", 1, "")]
    aggregated = "filter(FirstName eq 'Mia')/aggregate($count as Number)"
    ok(api.get("contact", {"$apply": aggregated}))
    assert counted() == [("people.contact", 1, "$apply=filter(FirstName eq ?)/aggregate($count as Number)")]
    ok(api.get("contact", {**query, "$top": "0", "$count": "true"}))
    assert entries()[0][0] == "List"


def counted():
    """(kind of record, number, query) of the counts since the last call, and of nothing else."""
    READ_LOG.write()
    found = list(PersonalDataRead.objects.order_by("pk"))
    PersonalDataRead.objects.all().delete()
    assert {each.kind for each in found} == {"Count"}
    return [(each.record_type, each.record_count, each.query) for each in found]


def test_the_answer_to_a_new_record_is_a_read_of_the_people_that_it_names(api):
    ada = a_contact(first_name="Ada")
    body = {"BusinessName": "Acme", "KeyContact": {"ContactGuid": str(ada.pk)}}
    created = ok(api.post("client", body, Idempotency_Key="one"), 201)
    guid = uuid.UUID(created["ClientGuid"])
    assert entries() == [("List", "people.client", {guid, ada.pk}, "")]
    again = api.post("client", body, Idempotency_Key="one")
    assert again["Idempotency-Replayed"] == "true"
    assert entries() == [("Record", "people.client", {guid, ada.pk}, "")]


def test_a_refused_change_is_logged_with_its_codes_as_its_faults_may_quote_records(api):
    a_client(business_name="Acme")
    refused(api.post("client", {"BusinessName": "acme"}), 400)
    assert entries() == [("Refusal", "people.client", set(), "NotUnique")]


def test_searches_are_logged_also_those_that_find_nothing(client, ada):
    mia = a_contact(first_name="Mia", last_name="Xyz")
    client.get("/admin/search/?s=mia xyz")
    assert entries() == [("Search", "people.contact", {mia.pk}, "s=?")]
    client.get("/admin/search/?s=nobodyatall")
    ((kind, _, keys, query),) = entries()
    assert (kind, keys, query) == ("Search", set(), "s=?")
    field = {"app_label": "funding", "model_name": "claim", "field_name": "contact"}
    client.get("/admin/autocomplete/", {**field, "term": "mia"})
    assert entries() == [("Search", "people.contact", {mia.pk}, "term=?")]


def test_the_list_of_changes_and_its_export_are_reads_of_what_was_changed(client, ada):
    mia = a_contact(first_name="Mia")
    with history.as_author(history.Author(staff_id=ada.pk)):
        mia.first_name = "Maya"
        mia.save()
    client.get("/admin/core/change/", {"q": str(mia.pk)})
    assert ("History", "people.contact", {mia.pk}, "q=?") in entries()
    b"".join(client.get("/admin/core/change/export/", {"q": str(mia.pk)}).streaming_content)
    assert ("Export", "people.contact", {mia.pk}, "changes") in entries()
    READ_LOG.waiting.clear()
    client.get("/admin/")
    assert ("List", "people.contact", {mia.pk}, "") in entries()


def test_a_warning_of_a_duplicate_is_a_read_of_the_other(client, ada):
    mia = a_contact(first_name="Mia", last_name="Xyz", scheme_number="430000001")
    page = client.get("/admin/people/contact/add/")
    READ_LOG.waiting.clear()
    data = form_data(page, first_name="Mia", last_name="Xyz", scheme_number="430000001")
    assert client.post("/admin/people/contact/add/", data).status_code == 200
    assert ("Refusal", "people.contact", {mia.pk}, "PossibleDuplicate") in entries()


def test_a_refused_form_is_logged_with_the_codes_of_its_faults(client, ada):
    a_client(business_name="Acme")
    page = client.get("/admin/people/client/add/")
    READ_LOG.waiting.clear()
    client.post("/admin/people/client/add/", form_data(page, business_name="ACME"))
    assert ("Refusal", "people.client", set(), "NotUnique") in entries()


def test_the_reads_of_a_batch_are_logged(api):
    contact = a_contact()
    requests = [
        {"id": "1", "method": "get", "url": f"contact/{contact.pk}"},
        {"id": "2", "method": "get", "url": "team"},
    ]
    ok(api.post("$batch", {"requests": requests}))
    assert entries() == [("Record", "people.contact", {contact.pk}, "")]


def test_opened_pages_and_lists_are_logged_and_a_search_by_name_leaves_no_name(client, ada):
    contact = a_contact(first_name="Mia")
    for page in ("overview", "change", "history"):
        assert client.get(f"/admin/people/contact/{contact.pk}/{page}/").status_code == 200
        assert entries() == [("Record", "people.contact", {contact.pk}, "")]
    client.get("/admin/people/contact/?q=Mia")
    assert entries() == [("List", "people.contact", {contact.pk}, "q=?")]
    opportunity = an_opportunity(owner=ada)
    opportunity.follow_up_staff, opportunity.follow_up_date = ada, clock.today()
    opportunity.save()
    READ_LOG.waiting.clear()
    for page in ("board", "follow-ups"):
        client.get(f"/admin/sales/opportunity/{page}/")
        assert entries() == [("List", "sales.opportunity", {opportunity.pk}, "")]
    client.get("/admin/people/team/")
    assert entries() == []


def test_who_opened_a_page_is_logged_and_who_may_not_is_not(client, ada):
    organisation = a_client()
    client.get(f"/admin/people/client/{organisation.pk}/overview/")
    READ_LOG.write()
    entry = PersonalDataRead.objects.get()
    assert (entry.staff_id, entry.application, entry.channel) == (ada.pk, None, "Back office")
    assert entry.request_id
    ada.role = a_role("people.view_contact")
    ada.save()
    assert client.get(f"/admin/people/client/{organisation.pk}/overview/").status_code == 403
    assert not READ_LOG.waiting


def test_an_export_is_logged_by_page_and_by_command(client, ada, tmp_path):
    mia, max_ = a_contact(first_name="Mia"), a_contact(first_name="Max")
    b"".join(client.get("/admin/people/contact/export/csv/?q=Mia").streaming_content)  # which closes the file
    assert entries() == [("Export", "people.contact", {mia.pk}, "")]
    call_command("export_records", "contact", tmp_path / "c.csv", filter="FirstName eq 'Max'")
    assert entries() == [("Export", "people.contact", {max_.pk}, "$filter=FirstName eq ?")]


def test_a_longer_read_has_its_number_of_records_alone(api, monkeypatch):
    monkeypatch.setattr(read_log, "MAX_KEYS", 1)
    a_contact(), a_contact()
    ok(api.get("contact"))
    READ_LOG.write()
    entry = PersonalDataRead.objects.get()
    assert (entry.record_count, bytes(entry.record_keys)) == (2, b"")


@pytest.mark.parametrize(
    ("query", "logged"),
    [
        (
            "$filter=A eq 'O''Hara' and B gt 2026-01-31 or Phone1 eq null",
            "$filter=A eq ? and B gt ? or Phone1 eq null",
        ),
        ("$filter=G in (0190a000-0000-7000-8000-00000000000a,-1.5)", "$filter=G in (?,-?)"),
        ("$expand=Claims($filter=Notes eq 'x';$top=3)", "$expand=Claims($filter=Notes eq ?;$top=?)"),
        ("@p='Mia'&$skiptoken=abc&first=Mia", "@p=?&$skiptoken=?&first=?"),
    ],
)
def test_a_query_is_stored_without_values(query, logged):
    assert without_values([*parameters(query.encode())]) == logged


def test_a_read_does_not_fail_with_the_log_and_is_written_later(api, monkeypatch, caplog):
    contact, other = a_contact(), a_contact()
    for each in (contact, other):
        ok(api.get(f"contact/{each.pk}"))
    with monkeypatch.context() as broken:
        broken.setattr(read_log_chain, "append", lambda *_: (_ for _ in ()).throw(DatabaseError))
        READ_LOG.write()
    assert "2 entries of the read log wait, 0 are lost" in caplog.text
    monkeypatch.setattr(read_log, "MAX_WAITING", 2)
    ok(api.get(f"contact/{contact.pk}"))
    assert (len(READ_LOG.waiting), READ_LOG.lost) == (2, 1)
    assert [keys for _, _, keys, _ in entries()] == [{contact.pk}, {other.pk}]
    assert READ_LOG.lost == 0


def test_old_entries_are_purged(api, settings):
    ok(api.get(f"contact/{a_contact().pk}"))
    READ_LOG.write()
    call_command("purge_expired")
    assert PersonalDataRead.objects.count() == 1
    PersonalDataRead.objects.update(at=clock.now() - dt.timedelta(days=731))
    settings.READ_LOG_DAYS = 0
    call_command("purge_expired")
    assert PersonalDataRead.objects.count() == 1
    settings.READ_LOG_DAYS = 730
    call_command("purge_expired")
    assert not PersonalDataRead.objects.exists()
