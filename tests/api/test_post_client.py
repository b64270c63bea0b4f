"""POST /client: what is stored, what is answered, and who is told to have done it."""

import json
import uuid

import pytest

from apps.core.bulk_insert import FEW
from apps.core.models import Change
from apps.people.models import Client
from tests.api.caller import Caller, an_application, faults, ok, refused
from tests.api.conftest import a_whole_client_body
from tests.people.builders import a_client, a_client_body, a_contact

ECHO = "http://testserver/api/$metadata#Client(KeyContact())"


def test_the_answer_shows_the_records_as_get_does_expanded_in_the_order_given(api):
    contact = a_contact(FirstName="Kim", LastName="Lee")
    bodies = [a_whole_client_body(UniqueCode=f"U{n}", BusinessName=f"Name {n}") for n in (3, 1, 2)]
    bodies[1]["KeyContact"] = {"ContactGuid": str(contact.pk).upper()}
    answer = api.post("client", {"value": bodies})
    body = ok(answer, 201)
    assert list(body) == ["@odata.context", "value"]
    assert body["@odata.context"] == ECHO
    assert [row["BusinessName"] for row in body["value"]] == ["Name 3", "Name 1", "Name 2"]
    assert "Location" not in answer
    assert "ETag" not in answer
    shown = {row["ClientGuid"]: row for row in ok(api.get("client", {"$expand": "*"}))["value"]}
    assert [shown[row["ClientGuid"]] for row in body["value"]] == body["value"]
    assert body["value"][1]["KeyContact"] == {
        "ContactGuid": str(contact.pk),
        "FirstName": "Kim",
        "LastName": "Lee",
        "ArchiveDate": None,
    }


def test_the_order_of_the_answer_is_that_of_a_large_body(api):
    names = [f"Client {n * 7919 % 1000:03d}" for n in range(1000)]
    body = ok(api.post("client", {"value": [{"BusinessName": name} for name in names]}), 201)
    assert [row["BusinessName"] for row in body["value"]] == names


def test_one_record_has_a_location_that_leads_to_it(api):
    answer = api.post("client", {"value": [a_client_body()]})
    guid = ok(answer, 201)["value"][0]["ClientGuid"]
    assert answer["Location"] == f"http://testserver/api/Client({guid})"
    read = api.follow(answer["Location"])
    assert ok(read)["ClientGuid"] == guid
    assert answer["ETag"] == read["ETag"]


def test_a_bare_record_is_answered_bare(api):
    answer = api.post("client", a_client_body(BusinessName="Bare"))
    body = ok(answer, 201)
    assert body["@odata.context"] == f"{ECHO}/$entity"
    assert (body["BusinessName"], "value" in body) == ("Bare", False)
    assert answer["Location"].endswith(f"({body['ClientGuid']})")


def test_a_caller_may_prefer_no_answer(api):
    for sent in (a_client_body(), {"value": [a_client_body()]}):
        answer = api.post("client", sent, Prefer="return=minimal")
        assert (answer.status_code, answer.content) == (204, b"")
        assert answer["Preference-Applied"] == "return=minimal"
        assert answer["Location"] == answer["OData-EntityId"]
        assert ok(api.follow(answer["Location"]))
    answer = api.post("client", {"value": [a_client_body(), a_client_body()]}, Prefer="return=minimal")
    assert (answer.status_code, "Location" in answer) == (204, False)
    answer = api.post("client", a_client_body(), Prefer="return=representation")
    assert ok(answer, 201)
    assert answer["Preference-Applied"] == "return=representation"


def test_what_only_the_system_sets_is_ignored_and_never_stored(api):
    guid = str(uuid.uuid4())
    body = ok(
        api.post(
            "client",
            a_client_body(
                ClientGuid=guid,
                guid=guid,
                pk=guid,
                id=1,
                IsSelf=True,
                is_self=True,
                CreationDate="2000-01-01T00:00:00Z",
                ModifyDate="2000-01-01T00:00:00Z",
                ArchiveDate="2000-01-01T00:00:00Z",
                archive_date="2000-01-01",
                CustomFields=[{"CustomFieldGuid": guid}],
                business_name_key="other",
                Misspelt={"deep": [1, {"er": None}]},
            ),
        ),
        201,
    )
    assert body["ClientGuid"] != guid
    assert (body["IsSelf"], body["ArchiveDate"]) == (False, None)
    assert body["CreationDate"][:4] >= "2024"
    assert body["CreationDate"] == body["ModifyDate"]
    assert body["ClientGuid"][14] == "7"  # a version 7 guid: what cannot be guessed is 74 bits long


def test_names_and_codes_are_unique_however_they_are_spelled(api):
    a_client(BusinessName="Café Straße", UniqueCode="Ab-1")
    for twin in ("CAFÉ STRASSE", "Cafe\u0301 Straße", "  café straße\t", "café strasse"):
        found = faults(api.post("client", {"value": [a_client_body(BusinessName=twin)]}))
        assert found == [("NotUnique", "value[0]/BusinessName")], twin
    for twin in ("AB-1", "ab-1 "):
        found = faults(api.post("client", {"value": [a_client_body(UniqueCode=twin)]}))
        assert found == [("NotUnique", "value[0]/UniqueCode")], twin
    ok(api.post("client", a_client_body(BusinessName="Cafe Straße", UniqueCode="Ab1")), 201)


def test_an_archived_client_keeps_its_name(api):
    client = a_client(BusinessName="Gone")
    Client.objects.filter(pk=client.pk).update(archive_date="2024-01-01T00:00:00Z")
    assert faults(api.post("client", a_client_body(BusinessName="gone"))) == [("NotUnique", "BusinessName")]


def test_twins_within_one_body_are_reported_of_the_second(api):
    bodies = [a_client_body(BusinessName="One"), a_client_body(), a_client_body(BusinessName=" ONE")]
    assert faults(api.post("client", {"value": bodies})) == [("NotUnique", "value[2]/BusinessName")]
    assert not Client.objects.exists()


def test_any_text_is_stored_and_shown_as_it_came(api):
    texts = [
        'O\'Hara & Söhne <b>"100%"</b> \\ / {x} %s %(y)d',
        "line\nbreak\r\nand\ttab",
        "\u2028\u2029\u200b\u202e\ufeff rtl",
        "𝔘𝔫𝔦 🚀👩‍👩‍👧 é x\u0301",
        "\x01\x1f\x7f\x80",
        "=cmd|' /C calc'!A0",
        "null",
        "  padded  ",
        "'; drop table people_client; --",
    ]
    bodies = [a_client_body(ExternalReference=text, Address={"City": text}) for text in texts]
    made = ok(api.post("client", {"value": bodies}), 201)["value"]
    assert [row["ExternalReference"] for row in made] == texts
    for row, text in zip(made, texts, strict=True):
        read = ok(api.get(f"client/{row['ClientGuid']}", {"$expand": "*"}))
        assert (read["ExternalReference"], read["Address"]["City"]) == (text, text)


def test_empty_texts_and_empty_addresses_are_null(api):
    empty = {
        "UniqueCode": "",
        "WebAddress": "  ",
        "Address": {"City": "", "Suburb": None},
        "PostalAddress": {},
    }
    body = ok(api.post("client", a_client_body(**empty)), 201)
    for name in ("UniqueCode", "WebAddress", "Address", "PostalAddress"):
        assert body[name] is None, name


def test_both_spellings_of_a_postal_address_are_taken(api):
    postal = {"PostalStreetAddress": "PO Box 1", "PostalStreetAddress2": "Level 2"}
    body = ok(api.post("client", a_client_body(PostalAddress=postal)), 201)
    assert (body["PostalAddress"]["PostalAddress"], body["PostalAddress"]["PostalAddress2"]) == (
        "PO Box 1",
        "Level 2",
    )


@pytest.mark.parametrize("part", ["Address", "PostalAddress"])
def test_a_state_needs_the_country(api, part):
    state = {"Address": {"State": "NSW"}, "PostalAddress": {"PostalState": "NSW"}}[part]
    found = faults(api.post("client", {"value": [a_client_body(**{part: state})]}))
    assert found == [("Required", "value[0]/Address/Country")]
    address = {"Address": {"Country": "Australia"}, **{part: state}}
    if part == "Address":
        address = {"Address": {**state, "Country": "Australia"}}
    ok(api.post("client", a_client_body(**address)), 201)


def test_a_byte_order_mark_is_forgiven_and_charset_utf_8_is_read(api):
    raw = b"\xef\xbb\xbf" + json.dumps(a_client_body()).encode()
    ok(api.post("client", raw), 201)
    for media in ("application/json; charset=UTF-8", 'application/json;charset="utf-8"', "Application/JSON"):
        ok(api.call("POST", "client", body=a_client_body(), content_type=media), 201)


def test_a_business_number_that_is_none_is_stored_as_given(api):
    assert ok(api.post("client", a_client_body(BusinessNumber="GB 123")), 201)["BusinessNumber"] == "GB 123"


# --- the same request again ----------------------------------------------------------------------------


def test_the_same_request_with_its_key_is_stored_once_and_answered_alike(api):
    body = {"value": [a_client_body(), a_client_body()]}
    first = api.post("client", body, Idempotency_Key="order-1")
    again = api.post("client", body, Idempotency_Key="order-1")
    assert ok(first, 201) == ok(again, 201)
    assert "Idempotency-Replayed" not in first
    assert again["Idempotency-Replayed"] == "true"
    assert Client.objects.count() == 2


def test_a_repeated_minimal_answer_has_its_location(api):
    body = a_client_body()
    first, again = (api.post("client", body, Prefer="return=minimal", Idempotency_Key="k") for _ in range(2))
    assert (again.status_code, again["Location"]) == (204, first["Location"])
    assert again["Idempotency-Replayed"] == "true"


def test_a_key_of_another_request_is_refused(api):
    ok(api.post("client", a_client_body(), Idempotency_Key="k"), 201)
    refused(api.post("client", a_client_body(), Idempotency_Key="k"), 422, "IdempotencyKeyReused")
    refused(
        api.post("contact", {"FirstName": "a", "LastName": "b"}, Idempotency_Key="k"),
        422,
        "IdempotencyKeyReused",
    )
    assert Client.objects.count() == 1


def test_a_refused_request_may_use_its_key_again(api):
    faults(api.post("client", {"BusinessName": ""}, Idempotency_Key="k"))
    ok(api.post("client", a_client_body(), Idempotency_Key="k"), 201)


def test_a_key_is_the_callers_own(api):
    other = Caller(an_application(name="Other"))
    one, two = a_client_body(), a_client_body()
    ok(api.post("client", one, Idempotency_Key="k"), 201)
    assert ok(other.post("client", two, Idempotency_Key="k"), 201)["BusinessName"] == two["BusinessName"]


# --- who did it ------------------------------------------------------------------------------------------


def test_each_record_has_one_line_of_history_with_the_application_and_the_request(api):
    answer = api.post("client", {"value": [a_client_body() for _ in range(5)]}, X_Request_ID="job-17")
    keys = [row["ClientGuid"] for row in ok(answer, 201)["value"]]
    lines = Change.objects.filter(record_key__in=keys).order_by("id")
    assert [line.record_key for line in lines] == keys
    told = {
        (one.kind, one.record_type, one.application, one.channel, one.request_id, one.staff_id)
        for one in lines
    }
    assert told == {("Created", "people.client", "Integration", "API", "job-17", None)}
    assert answer["X-Request-ID"] == "job-17"
    assert not Change.objects.filter(channel="API").exclude(record_key__in=keys).exists()


# --- statements ------------------------------------------------------------------------------------------


def test_fifty_records_take_no_more_statements_than_a_dozen(api, statements):
    contact = str(a_contact().pk)

    def posting(number):
        bodies = [
            a_client_body(UniqueCode=f"{number}-{n}", KeyContact={"ContactGuid": contact})
            for n in range(number)
        ]
        return len(statements(lambda: ok(api.post("client", {"value": bodies}), 201)))

    ok(api.post("client", a_client_body()), 201)
    assert posting(50) <= posting(FEW + 1) <= 12
