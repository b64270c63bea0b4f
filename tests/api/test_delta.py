"""Prefer: odata.track-changes: whoever follows delta links has what a fresh read would answer."""

import random

import pytest
from django.core.signing import Signer

from apps.core import archive, history
from apps.core.models import Change
from apps.people.models import Client, Contact
from tests.api.caller import Caller, an_application, ok, refused
from tests.api.followers import TRACK_CHANGES, Follower
from tests.api.random_writes import changed, follow_random_writes
from tests.engagements.builders import a_plan
from tests.funding.builders import a_claim
from tests.people.builders import a_client, a_contact

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("log_of_one_writer")]


def test_a_delta_has_what_changed_and_what_is_new_in_the_selection_of_the_first_read(api):
    first, _second = a_client(), a_client()
    query = {"$select": "BusinessName", "$expand": "KeyContact($select=LastName)", "$count": "true"}
    follower = Follower(api, "client", query)
    changed(first, business_name="Renamed")
    third = a_client()
    answer = ok(api.follow(follower.link))
    expected = "http://testserver/api/$metadata#Client(ClientGuid,BusinessName,KeyContact(ContactGuid,LastName))/$delta"
    assert answer["@odata.context"] == expected
    assert "@odata.count" not in answer
    rows = {record["ClientGuid"]: record for record in answer["value"]}
    assert rows.keys() == {str(first.pk), str(third.pk)}
    assert rows[str(first.pk)] == {"ClientGuid": str(first.pk), "BusinessName": "Renamed", "KeyContact": None}
    assert follower.sync() == 2
    assert follower.sync() == 0


def test_the_preference_is_applied_and_named_and_links_appear_on_the_last_page_only(api):
    for _ in range(3):
        a_client()
    answer = api.get("client", {"$filter": "ArchiveDate eq null"}, Prefer="track-changes, maxpagesize=2")
    assert answer["Preference-Applied"] == "odata.track-changes, odata.maxpagesize=2"
    first = ok(answer)
    assert "@odata.deltaLink" not in first
    a_client()  # between the pages: in the delta, whatever the second page shows
    second = ok(api.follow(first["@odata.nextLink"], Prefer="maxpagesize=2"))
    assert "@odata.nextLink" not in second
    delta = ok(api.follow(second["@odata.deltaLink"]))
    assert len(delta["value"]) == 1
    assert "$filter=ArchiveDate" in delta["@odata.deltaLink"]
    assert "@odata.deltaLink" not in ok(api.get("client"))


@pytest.mark.parametrize(
    ("version", "entry"),
    [
        (
            "4.0",
            {
                "@odata.context": "http://testserver/api/$metadata#Client/$deletedEntity",
                "id": "http://testserver/api/Client({key})",
                "reason": "changed",
            },
        ),
        ("4.01", {"@removed": {"reason": "changed"}, "@odata.id": "http://testserver/api/Client({key})"}),
    ],
)
def test_a_record_that_leaves_the_filter_is_removed_in_the_form_of_the_version(api, version, entry):
    client = a_client()
    follower = Follower(api, "client", {"$filter": "ArchiveDate eq null"}, OData_MaxVersion=version)
    archive.archive(Client.objects.all())
    answer = api.client.get(
        follower.link, headers={"Authorization": api.authorization, "OData-MaxVersion": version}
    )
    assert answer["OData-Version"] == version
    expected = {
        name: text if name == "@removed" else text.format(key=client.pk) for name, text in entry.items()
    }
    assert answer.json()["value"] == [expected]


def test_a_deleted_record_is_removed_as_deleted(api):
    client = a_client()
    follower = Follower(api, "client")
    Client.objects.get(pk=client.pk).delete()
    follower.sync()
    assert follower.removed == [(str(client.pk), "deleted")]


def test_a_change_of_a_record_that_is_shown_inside_is_a_change_of_the_one_around_it(api):
    contact = a_contact()
    client = a_client(KeyContact={"ContactGuid": str(contact.pk)})
    with_names = Follower(api, "client", {"$expand": "KeyContact"})
    without = Follower(api, "client")
    changed(contact, phone1="02 9000 0000")  # is not shown
    assert (with_names.sync(), without.sync()) == (0, 0)
    changed(contact, last_name="Lovelace")
    assert (with_names.sync(), without.sync()) == (1, 0)
    assert with_names.copy[str(client.pk)]["KeyContact"]["LastName"] == "Lovelace"


def test_a_record_that_a_search_finds_by_another_s_name_follows_that(api):
    contact = a_contact()
    plan = a_plan(participant=contact)
    follower = Follower(api, "clientEngagement", {"$search": "Quillfeather"})
    changed(contact, last_name="Quillfeather")
    assert (follower.sync(), list(follower.copy)) == (1, [str(plan.pk)])


def test_an_erasure_is_a_change_wherever_the_person_is_shown_and_an_export_of_theirs_is_none(api):
    contact = a_contact()
    client = a_client(KeyContact={"ContactGuid": str(contact.pk)})
    followers = Follower(api, "contact"), Follower(api, "client", {"$expand": "KeyContact"})
    history.write_entries(Contact, [contact.pk], Change.Kind.EXPORTED)
    assert [each.sync() for each in followers] == [0, 0]
    Contact.objects.filter(pk=contact.pk).update(last_name="Erased")
    history.write_entries(Contact, [contact.pk], Change.Kind.ERASED, {"Contacts": [1, 1]})
    assert [each.sync() for each in followers] == [1, 1]
    assert followers[1].copy[str(client.pk)]["KeyContact"]["LastName"] == "Erased"


@pytest.mark.parametrize(
    "query",
    [
        {"$expand": "LineItems($filter=Quantity gt 0;$expand=Product($select=Name))"},
        {"$expand": "LineItems($expand=Product($select=Name))"},
    ],
    ids=str,
)
def test_a_change_of_a_record_deep_inside_is_a_change_of_the_one_around_it(api, query):
    claim = a_claim()
    a_claim()
    product = claim.line_items.get().product
    changed(product, name="Walks")
    follower = Follower(api, "claim", query)
    changed(product, name="Walks and talks")
    assert follower.sync() == 1
    assert follower.copy == follower.fresh()


@pytest.mark.parametrize("name", ["KeyContact/LastName", "KeyContact/LastName__contains"])
def test_a_plain_filter_of_a_record_inside_is_followed(api, name):
    contact = a_contact(LastName="Byron")
    a_client(KeyContact={"ContactGuid": str(contact.pk)})
    of_byron, of_lovelace = (Follower(api, "client", {name: each}) for each in ("Byron", "Lovelace"))
    changed(contact, last_name="Lovelace")
    assert (of_byron.sync(), of_lovelace.sync()) == (1, 1)
    assert (len(of_byron.copy), len(of_lovelace.copy)) == (0, 1)


def test_one_change_that_many_records_show_comes_in_pages(api):
    contact = a_contact()
    for _ in range(5):
        a_client(KeyContact={"ContactGuid": str(contact.pk)})
    follower = Follower(api, "client", {"$expand": "KeyContact"}, page_sizes=[2])
    changed(contact, last_name="Lovelace")
    assert follower.sync() == 5
    assert follower.copy == follower.fresh()


@pytest.mark.parametrize("sizes", [(300, 1, 1000), (300, 2, 1, 3, 1000), (300, 1000, 1), (300, 3, 1)])
def test_a_page_size_that_changes_between_the_pages_loses_nothing(api, sizes):
    contact, before_the_others = a_contact(), a_client()
    for _ in range(8):
        a_client(KeyContact={"ContactGuid": str(contact.pk)})
    follower = Follower(api, "client", {"$expand": "KeyContact"}, page_sizes=sizes)
    changed(contact, last_name="Lovelace")
    changed(before_the_others, business_name="Changed after the contact")
    follower.sync()
    assert follower.copy == follower.fresh()


def test_what_cannot_be_tracked_is_answered_without_a_delta_link(api):
    contact = a_contact()
    for path, query in (
        ("claim", {"$filter": "DueDate lt now()"}),
        ("claim", {"$top": 5}),
        ("claim", {"$apply": "aggregate($count as Number)"}),
        ("contact", {"$expand": "Claims"}),
        ("contact", {"$filter": "Claims/any()"}),
        ("priceBook", {"$expand": "Products"}),
        (f"contact({contact.pk})/Claims", {}),
    ):
        answer = api.get(path, query, Prefer=TRACK_CHANGES)
        assert "@odata.deltaLink" not in ok(answer), (path, query)
        assert "Preference-Applied" not in answer, (path, query)


def test_a_token_that_was_changed_or_belongs_to_another_query_is_refused(api):
    link = Follower(api, "client", {"$filter": "ArchiveDate eq null"}).link
    for wrong in (
        link[:-3] + "abc",
        link.replace("ArchiveDate eq null".replace(" ", "+"), "ArchiveDate+ne+null"),
        link.replace("/Client?", "/Contact?"),
        link.split("$deltatoken=")[0]
        + "$deltatoken="
        + Signer(salt="odata.skiptoken", sep=".").sign_object([1]),
    ):
        assert wrong != link
        refused(api.follow(wrong), 400, "InvalidDeltatoken")
    token = link.split("$deltatoken=")[1]
    for path in (f"client({a_client().pk})", "client/$count"):
        refused(api.get(path, f"$deltatoken={token}"), 400)
    refused(api.follow(link, Accept="text/csv"), 400)


def test_a_token_of_a_database_that_was_restored_is_gone(api):
    a_client()
    follower = Follower(api, "client")
    Change.objects.latest("id").delete()  # as in a backup from before it
    error = refused(api.follow(follower.link), 410, "Gone")
    assert "read the entity set again" in error["message"]


def test_a_delta_needs_the_right_to_read_as_it_is_now(api):
    link = Follower(api, "client", {"$expand": "KeyContact"}).link
    refused(Caller(an_application("contact.read", name="Contacts only")).follow(link), 403, "Forbidden")
    refused(Caller().follow(link), 401)


def test_a_delta_has_few_statements(api, statements):
    claims = [a_claim() for _ in range(3)]
    follower = Follower(api, "claim", {"$expand": "LineItems"})
    for claim in claims:
        changed(claim, due_date="2026-07-01")
    assert len(statements(follower.sync)) == 6


def test_a_copy_that_follows_any_sequence_of_writes_equals_the_service_at_every_step():
    follow_random_writes(random.Random(1))
