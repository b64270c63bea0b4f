"""Bodies that are broken, hostile or just wrong: refused with a place, and nothing is left behind."""

import gzip
import json

import pytest

from apps.access.models import IdempotencyKey
from apps.core.models import Change
from apps.people.models import Client, Contact, Staff
from tests.api.caller import faults, ok, refused
from tests.people.builders import a_client_body, a_contact_body, a_location, a_role, a_staff_body

pytestmark = pytest.mark.django_db
refused_unasked = pytest.mark.any_engine("the body is refused before the database is asked for a record")


@pytest.fixture(autouse=True)
def nothing_left_behind(api):
    """The tests of this file refuse every body; no row of any kind may come of them."""
    yield
    assert [model.objects.count() for model in (Client, Contact, Staff, IdempotencyKey)] == [0, 0, 0, 0]
    assert not Change.objects.filter(channel="API").exists()


def client_with(raw):
    """A body of one client with the raw text of a member's value."""
    return b'{"value": [{"BusinessName": %s}]}' % raw


NOT_JSON = {
    "empty": b"",
    "blank": b" \n ",
    "cut in a string": b'{"a": "',
    "cut in an object": b'{"value": [{"BusinessName": "x"}',
    "words": b"BusinessName=x",
    "single quotes": b"{'value': []}",
    "trailing comma": b'{"value": [{"BusinessName": "x"},]}',
    "two values": b'{"value": [{"BusinessName": "x"}]}{}',
    "comment": b'/* */{"value": [{"BusinessName": "x"}]}',
    "NaN": client_with(b"NaN"),
    "Infinity": client_with(b"-Infinity"),
    "leading zero": client_with(b"01"),
    "raw control character": client_with(b'"a\x01b"'),
    "raw line break": client_with(b'"a\nb"'),
    "bad escape": client_with(b'"\\x41"'),
    "half an escape": client_with(b'"\\u12"'),
    "not UTF-8": client_with(b'"\xff\xfe"'),
    "overlong UTF-8": client_with(b'"\xc0\x80"'),
    "surrogate in UTF-8": client_with(b'"\xed\xa0\x80"'),
    "beyond Unicode": client_with(b'"\xf4\x90\x80\x80"'),
    "UTF-16": '{"value": [{"BusinessName": "x"}]}'.encode("utf-16"),
    "UTF-32": '{"value": [{"BusinessName": "x"}]}'.encode("utf-32"),
    "gzip": gzip.compress(b'{"value": [{"BusinessName": "x"}]}'),
    "NUL behind": b'{"value": [{"BusinessName": "x"}]}\x00',
}
WRONG_TOP = {
    "null": b"null",
    "a list": b'[{"BusinessName": "x"}]',
    "an empty list": b"[]",
    "a string": b'"x"',
    "a number": b"1",
    "true": b"true",
    "nothing known": b"{}",
    "unknown members": b'{"values": [{"BusinessName": "x"}]}',
    "value is null": b'{"value": null}',
    "value is an object": b'{"value": {"BusinessName": "x"}}',
    "value is empty": b'{"value": []}',
    "value is text": b'{"value": "x"}',
    "value twice": b'{"value": [{"BusinessName": "x"}], "value": [{"BusinessName": "y"}]}',
}


@refused_unasked
@pytest.mark.parametrize("raw", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_no_json_is_refused(api, raw):
    for path in ("client", "contact", "staff"):
        refused(api.post(path, raw), 400, "InvalidBody")


@refused_unasked
@pytest.mark.parametrize("raw", WRONG_TOP.values(), ids=WRONG_TOP)
def test_what_is_no_list_of_records_is_refused(api, raw):
    for path in ("client", "staff"):
        refused(api.post(path, raw), 400, "InvalidBody")


@refused_unasked
@pytest.mark.parametrize("depth", [33, 1_000, 100_000])
@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"value":[', b'{"value":[{"Address":'])
def test_deep_nesting_is_refused(api, depth, opening):
    for raw in (
        opening * depth,
        b'{"value":[{"BusinessName":"x","y":' + opening * depth,
        b"[" * depth + b"]" * depth,
    ):
        refused(api.post("client", raw), 400, "InvalidBody")


@refused_unasked
def test_deep_nesting_in_a_member_nobody_knows_is_refused_too(api):
    filler = b"[" * 5_000 + b"]" * 5_000
    refused(api.post("client", b'{"value":[{"BusinessName":"x","Other":%s}]}' % filler), 400, "InvalidBody")


@refused_unasked
def test_a_body_over_the_limit_is_413_and_says_the_limit(api, settings):
    settings.API_MAX_BODY_BYTES = 2_000
    for length in (2_001, 20_000):
        raw = client_with(b'"x"').ljust(length)
        error = refused(api.post("client", raw), 413, "TooLarge")
        assert "2,000" in error["message"]
        refused(api.put(f"staff/{'0' * 8}-0000-7000-8000-{'0' * 12}", raw), 413, "TooLarge")
        refused(api.post("client", raw, Idempotency_Key=f"key {length}"), 413, "TooLarge")
        refused(api.call("POST", "client/$query", body=raw, content_type="text/plain"), 413, "TooLarge")


@refused_unasked
def test_the_real_limit_holds_at_once(api, settings):
    assert settings.API_MAX_BODY_BYTES == 10 * 1024 * 1024
    answer = api.post("client", b" " * (10 * 1024 * 1024 + 1))
    refused(answer, 413, "TooLarge")
    assert answer.seconds < 1


@refused_unasked
def test_more_records_than_a_body_may_hold_are_413_and_say_the_limit(api):
    for number in (1_001, 20_000):
        bodies = {"value": [{"BusinessName": f"{n}"} for n in range(number)]}
        answer = api.post("client", bodies)
        assert "1,000" in refused(answer, 413, "TooLarge")["message"]
        assert answer.seconds < 2


@refused_unasked
@pytest.mark.parametrize("length", ["-1", "x", "1e3", "²", " ", "9" * 30])
def test_a_content_length_that_is_none_is_refused(api, length):
    answer = api.client.generic(
        "POST",
        "/api/client",
        b"{}",
        "application/json",
        headers={"Authorization": api.authorization},
        CONTENT_LENGTH=length,
    )
    assert answer.status_code in (400, 413), answer.content


@refused_unasked
@pytest.mark.parametrize(
    "media",
    [
        "text/plain",
        "application/xml",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        ";;;/",
        "application/jsonx",
        "application/json; charset=utf-16",
        "application/json; charset=latin-1",
        "application/jsonp",
        "*/*",
        "json",
    ],
)
def test_other_content_types_are_415(api, media):
    raw = json.dumps({"value": [a_client_body()]}).encode()
    refused(api.call("POST", "client", body=raw, content_type=media), 415, "UnsupportedMediaType")


@refused_unasked
def test_a_missing_content_type_is_415(api):
    raw = json.dumps({"value": [a_client_body()]}).encode()
    refused(api.call("POST", "client", body=raw, content_type=""), 415, "UnsupportedMediaType")


@refused_unasked
def test_xml_with_entities_is_never_read(api):
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]><x>&f;&b;</x>'
    answer = api.call("POST", "client", body=bomb, content_type="application/xml")
    refused(answer, 415, "UnsupportedMediaType")
    refused(api.post("client", bomb), 400, "InvalidBody")


@refused_unasked
def test_packed_bodies_are_415_and_never_unpacked(api):
    bomb = gzip.compress(b" " * 50_000_000)
    for encoding in ("gzip", "deflate", "br", "GZIP", "identity, gzip", "x"):
        refused(api.post("client", bomb, Content_Encoding=encoding), 415, "UnsupportedMediaType")


# --- values of the wrong type --------------------------------------------------------------------------

WRONG_TYPES = {
    "FirstName": (1, True, [], {}, 1.5),
    "UniqueCode": (0, False, ["x"]),
    "SendBirthdayReminder": (1, 0, "true", "false", "Yes", [], {}),
    "NumberOfChildren": ("1", True, [], {}),
    "WorkingHoursPerWeek": ("38", False, [38]),
    "Birthday": (19061209, True, ["1906-12-09"], {}),
    "DisableLoginDate": (1_700_000_000, False, {}),
    "Gender": (1, True, ["Male"], {}),
    "PersonalTitle": (2, False),
    "Address": ("1 High St", 1, True, []),
    "Teams": ({"TeamId": 1}, "1", 1, True),
    "PrimaryRole": ("x", 1, [], True),
    "AccountManager": (["x"], "x", 0),
}


@pytest.mark.parametrize("field", WRONG_TYPES)
def test_a_value_of_another_type_is_refused_at_its_place(api, field):
    for wrong in WRONG_TYPES[field]:
        found = faults(api.post("staff", {"value": [a_staff_body(**{field: wrong})]}))
        assert found == [("WrongType", f"value[0]/{field}")], wrong


@pytest.mark.parametrize("record", [None, 1, "x", True, [], [[]]])
def test_a_record_that_is_no_object_is_refused_at_its_place(api, record):
    found = faults(api.post("client", {"value": [a_client_body(), record]}))
    assert found == [("WrongType", "value[1]")]


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("NumberOfChildren", 2**31, "OutOfRange"),
        ("NumberOfChildren", 2**63, "OutOfRange"),
        ("NumberOfChildren", -(2**31) - 1, "OutOfRange"),
        ("NumberOfChildren", -1, "OutOfRange"),
        ("NumberOfChildren", 1.5, "InvalidNumber"),
        ("WorkingHoursPerWeek", 169, "OutOfRange"),
        ("WorkingHoursPerWeek", -1, "OutOfRange"),
        ("WorkingHoursPerWeek", 32_768, "OutOfRange"),
        ("WorkingHoursPerWeek", 2**64, "OutOfRange"),
        ("Birthday", "2025-02-30", "InvalidDate"),
        ("Birthday", "2025-02-29", "InvalidDate"),
        ("Birthday", "0000-00-00", "InvalidDate"),
        ("Birthday", "10000-01-01", "InvalidDate"),
        ("Birthday", "2025-13-01", "InvalidDate"),
        ("Birthday", "25-01-01", "InvalidDate"),
        ("Birthday", "01/02/2025", "InvalidDate"),
        ("Birthday", "2025-01-01T00:00:60", "InvalidDate"),
        ("Birthday", "2025-01-01T24:00:00", "InvalidDate"),
        ("Birthday", "2025-01-01T00:00:00+99:99", "InvalidDate"),
        ("Birthday", "２０２５-01-01", "InvalidDate"),
        ("Birthday", "2025-01-01 ", "InvalidDate"),
        ("Birthday", "0001-01-01T00:00:00+14:00", "InvalidDate"),
        ("DisableLoginDate", "2024-10-06T02:30:00", "InvalidDate"),
        ("DisableLoginDate", "2024-10-06 02:00:00", "InvalidDate"),
        ("DisableLoginDate", "9999-12-31T23:59:59-14:00", "InvalidDate"),
        ("DisableLoginDate", "0001-01-01T00:00:00+00:01", "InvalidDate"),
        ("DisableLoginDate", "tomorrow", "InvalidDate"),
        ("DisableLoginDate", "2024-10-06T02", "InvalidDate"),
        ("PrimaryEmail", "nobody", "InvalidEmail"),
        ("PrimaryEmail", "a@b@c.de", "InvalidEmail"),
        ("PrimaryEmail", "a b@example.com", "InvalidEmail"),
        ("PrimaryEmail", "a@example.com\nBcc: x@example.com", "InvalidEmail"),
        ("SecondaryEmail", "@example.com", "InvalidEmail"),
        ("SchemeNumber", "42", "InvalidSchemeNumber"),
        ("SchemeNumber", "43 000 0001", "InvalidSchemeNumber"),
        ("SchemeNumber", "43٣", "InvalidSchemeNumber"),
        ("SchemeNumber", "43000001\n", "InvalidSchemeNumber"),
        ("SchemeNumber", "43" + "0" * 19, "TooLong"),
        ("FirstName", "\x00", "InvalidText"),
        ("FirstName", "a\x00b", "InvalidText"),
        ("LastName", "", "Required"),
        ("LastName", " \t\n\u3000", "Required"),
        ("LastName", None, "Required"),
        ("Gender", "male", "NotAChoice"),
        ("Gender", "Male ", "NotAChoice"),
        ("PersonalTitleOther", "Sir", "NotAllowed"),
    ],
)
def test_a_value_that_cannot_be_is_refused_at_its_place(api, field, value, code):
    assert faults(api.post("staff", {"value": [a_staff_body(**{field: value})]})) == [
        (code, f"value[0]/{field}")
    ]


@pytest.mark.parametrize(
    "literal", ["1e400", "-1e400", "1e99999999999999999999", "1E2", "1.0", "0.5", "-0.5", "1" * 5_000]
)
def test_numbers_in_strange_forms_are_refused_for_whole_numbers(api, literal):
    body = json.dumps({"value": [a_staff_body(NumberOfChildren="HERE")]}).replace('"HERE"', literal)
    ((code, place),) = faults(api.post("staff", body.encode()))
    assert place == "value[0]/NumberOfChildren"
    assert code in ("InvalidNumber", "OutOfRange")


@pytest.mark.parametrize(
    "text", [rb'"\ud800"', rb'"\udc00"', rb'"a\udfffb"', rb'"\ud83d"', rb'"\u0000"', rb'"\ud800\ud800"']
)
def test_characters_that_are_none_are_refused(api, text):
    raw = client_with(text)
    assert faults(api.post("client", raw)) == [("InvalidText", "value[0]/BusinessName")]


def test_members_that_stand_twice_are_refused(api):
    raw = b'{"value": [{"BusinessName": "x", "UniqueCode": "a", "UniqueCode": "b"}]}'
    assert faults(api.post("client", raw)) == [("Duplicate", "value[0]/UniqueCode")]
    raw = b'{"value": [{"BusinessName": "x", "Address": {"City": "a", "City": "a"}}]}'
    assert faults(api.post("client", raw)) == [("Duplicate", "value[0]/Address/City")]
    raw = b'{"BusinessName": "x", "BusinessName": "x"}'
    assert faults(api.post("client", raw)) == [("Duplicate", "BusinessName")]


def test_two_spellings_of_one_member_are_refused(api):
    address = {"PostalAddress": "PO Box 1", "PostalStreetAddress": "PO Box 2"}
    ((_, place),) = faults(api.post("client", {"value": [a_client_body(PostalAddress=address)]}))
    assert place.startswith("value[0]/PostalAddress/Postal")


# --- references --------------------------------------------------------------------------------------

UNKNOWN = "00000000-0000-7000-8000-000000000000"


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("PrimaryRole", "RoleGuid"),
        ("AccountManager", "StaffGuid"),
        ("PositionTitle", "PositionGuid"),
        ("Location", "LocationGuid"),
    ],
)
def test_references_that_lead_nowhere_are_reported_on_their_guid(api, part, key):
    for given, code in (
        (UNKNOWN, "NotFound"),
        (UNKNOWN.upper(), "NotFound"),
        ("x", "InvalidGuid"),
        (f"{{{UNKNOWN}}}", "InvalidGuid"),
        ("", "InvalidGuid"),
        (1, "WrongType"),
        (None, "Required"),
    ):
        body = {"value": [a_staff_body(**{part: {key: given}})]}
        assert faults(api.post("staff", body)) == [(code, f"value[0]/{part}/{key}")], given
    assert faults(api.post("staff", {"value": [a_staff_body(**{part: {}})]})) == [
        ("Required", f"value[0]/{part}/{key}")
    ]


def test_an_archived_lookup_cannot_be_chosen(api):
    place, role = a_location(archive_date="2024-01-01T00:00:00Z"), a_role(archive_date="2024-01-01T00:00:00Z")
    body = a_staff_body(role, Location={"LocationGuid": str(place.pk)})
    assert faults(api.post("staff", {"value": [body]})) == [
        ("Archived", "value[0]/PrimaryRole/RoleGuid"),
        ("Archived", "value[0]/Location/LocationGuid"),
    ]


def test_teams_that_are_none_are_reported_by_their_number_in_the_list(api):
    teams = [{"TeamId": 1}, {"TeamId": 2**31}, {"TeamId": "1"}, {}, None, {"TeamId": -5}]
    assert sorted(faults(api.post("staff", {"value": [a_staff_body(Teams=teams)]}))) == [
        ("OutOfRange", "value[0]/Teams[1]/TeamId"),
        ("Required", "value[0]/Teams[3]/TeamId"),
        ("WrongType", "value[0]/Teams[2]/TeamId"),
        ("WrongType", "value[0]/Teams[4]"),
    ]
    assert faults(api.post("staff", {"value": [a_staff_body(Teams=[{"TeamId": 1}, {"TeamId": -5}])]})) == [
        ("NotFound", "value[0]/Teams[0]/TeamId"),
        ("NotFound", "value[0]/Teams[1]/TeamId"),
    ]


# --- all of it at once -------------------------------------------------------------------------------


def test_every_fault_of_every_record_is_reported_at_once_in_order(api):
    role = a_role()
    body = {
        "value": [
            a_staff_body(role, UniqueCode="one"),
            a_staff_body(role, UniqueCode="ONE ", SendBirthdayReminder=True, Gender="x"),
            a_staff_body(role, FirstName=None, Address={"State": "NSW"}, UsePrimaryEmail=False),
            a_staff_body(role),
            {"LastName": "x" * 91, "PrimaryEmail": "nobody", "PrimaryRole": {"RoleGuid": UNKNOWN}},
        ]
    }
    error = refused(api.post("staff", body), 400, "ValidationFailed")
    assert error["message"] == "Nothing was stored: 11 faults in 3 records."
    found = [(fault["code"], fault["target"]) for fault in error["details"]]
    assert set(found) == {
        ("NotAChoice", "value[1]/Gender"),
        ("NotUnique", "value[1]/UniqueCode"),
        ("Required", "value[1]/Birthday"),
        ("Required", "value[2]/FirstName"),
        ("Required", "value[2]/Address/Country"),
        ("Required", "value[2]/UsePrimaryEmail"),
        ("Required", "value[4]/FirstName"),
        ("TooLong", "value[4]/LastName"),
        ("InvalidEmail", "value[4]/PrimaryEmail"),
        ("NotFound", "value[4]/PrimaryRole/RoleGuid"),
        ("Required", "value[4]/UsePrimaryEmail"),
    }
    assert len(found) == 11
    assert [place[:8] for _, place in found] == sorted(place[:8] for _, place in found)
    assert all(fault["message"].endswith(".") for fault in error["details"])


def test_one_bad_record_among_a_hundred_keeps_all_of_them_out(api):
    bodies = [a_client_body() for _ in range(99)] + [{"BusinessName": None}]
    assert faults(api.post("client", {"value": bodies})) == [("Required", "value[99]/BusinessName")]


def test_a_thousand_bad_records_are_all_reported_in_time(api):
    answer = api.post("contact", {"value": [{"FirstName": 1, "LastName": None}] * 1_000})
    assert len(faults(answer)) == 2_000


def test_a_bare_record_has_places_without_a_number(api):
    assert faults(api.post("client", {"BusinessName": "", "UniqueCode": 1})) == [
        ("Required", "BusinessName"),
        ("WrongType", "UniqueCode"),
    ]


def test_hostile_texts_in_a_fault_are_reported_as_data(api):
    wild = "<script>alert(1)</script>\u2028\U0001f600\\\"'"
    error = refused(api.post("contact", {"value": [a_contact_body(Gender=wild)]}), 400)
    assert error["details"][0]["target"] == "value[0]/Gender"
    ok(api.get("contact"))


@refused_unasked
@pytest.mark.parametrize("key", ["", "é", "x" * 256, "a\tb", "a\x7f"])
def test_an_idempotency_key_that_cannot_be_is_refused(api, key):
    answer = api.post("client", {"value": [a_client_body()]}, Idempotency_Key=key)
    refused(answer, 400, "InvalidIdempotencyKey")


@pytest.mark.parametrize("value", ["true", "1", "maybe", ""])
def test_ignoring_warnings_is_for_resources_that_warn(api, value):
    answer = api.post("client", {"value": [a_client_body(BusinessName=None)]}, {"ignoreWarnings": value})
    assert answer.status_code == 400


@refused_unasked
def test_a_post_takes_no_filters(api):
    refused(api.post("client", a_client_body(), {"BusinessName": "x"}), 400, "InvalidQuery")
