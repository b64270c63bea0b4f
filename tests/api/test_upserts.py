"""Records found, created and changed by the caller's key: version 2.1 of the interface (docs/versions.md)."""

import json
from functools import partial

import pytest
from django.test import override_settings

from apps.access.models import IdempotencyKey
from apps.base.declaration.resource import V2_1
from apps.base.declaration.service import get_service
from apps.core.models import Change
from apps.people.models import Contact, Staff
from tests.api.batches import Request, send_json
from tests.api.caller import Caller, an_application, ok, refused
from tests.people.builders import a_client_body, a_contact_body, a_role, a_staff_body, a_team

KEYED = [each for each in get_service(V2_1).entity_sets if each.alternate_keys]
BODIES = {"Staff": a_staff_body, "Client": a_client_body, "Contact": a_contact_body}
NO_RECORD = "00000000-0000-7000-8000-000000000000"
OTHER_RECORD = "00000000-0000-7000-8000-000000000001"
EXCEPTION = "@Org.OData.Core.V1.DataModificationException"

of_each_set = pytest.mark.parametrize("entity_set", KEYED, ids=lambda each: each.name)


class LaterCaller(Caller):
    """Sends every request in version 2.1."""

    def call(self, method, path, query=None, body=None, **headers):
        return super().call(method, path, query, body, **{"api_version": "2.1", **headers})

    def delta(self, path, *items, **headers):
        return self.patch(path, {"@context": "#$delta", "value": list(items)}, **headers)


@pytest.fixture
def later(api):
    return LaterCaller(api.authorization)


@pytest.fixture
def stored(later):
    """``stored(entity_set, code)``: a new record with that code."""

    def make(entity_set, code, **members):
        body = BODIES[entity_set.name](UniqueCode=code, **members)
        return ok(later.post(entity_set.path, body), 201)

    return make


def contact(code, **members):
    return a_contact_body(UniqueCode=code, **members)


def count():
    return Contact.objects.count(), Change.objects.count()


# --- addresses ------------------------------------------------------------------------------------------


def test_the_sets_of_people_have_the_key(later):
    assert {each.name for each in KEYED} == {"Staff", "Client", "Contact"}


@of_each_set
def test_a_record_is_read_by_its_code_as_by_its_guid(later, stored, entity_set):
    made = stored(entity_set, "P-1")
    key, path = made[entity_set.key.name], entity_set.path
    by_guid = ok(later.get(f"{path}({key})"))
    for code in ("'P-1'", "'p-1'", "' P-1 '", "%27P-1%27", "@c"):
        query = {"@c": "'P-1'"} if code == "@c" else {}
        assert ok(later.get(f"{path}(UniqueCode={code})", query)) == by_guid
        assert ok(later.get(f"{path}(uniquecode={code})", query)) == by_guid
    assert later.get(f"{path}(UniqueCode='P-1')/UniqueCode/$value").content == b"P-1"
    answer = later.get(f"{path}(UniqueCode='P-2')")
    assert (
        refused(answer, 404, "NotFound")["message"] == f"There is no {entity_set.name} with UniqueCode 'P-2'."
    )


@pytest.mark.parametrize("code", ["", "P-1", "''", "'", "'a'b'", "@none", "1", "null", "' '"])
def test_what_is_no_code_is_refused(later, code):
    refused(later.get(f"contact(UniqueCode={code})"), 400, "InvalidQuery")
    refused(later.patch(f"contact(UniqueCode={code})", contact("X")), 400, "InvalidQuery")


def test_codes_with_quotes_slashes_and_percents_are_named_too(later):
    for code in ("O'Hara", "50%25", "A/1", "ü(1)"):
        made = ok(later.post("contact", contact(code)), 201)
        quoted = "'" + code.replace("'", "''") + "'"
        assert ok(later.get("contact(UniqueCode=@c)", {"@c": quoted}))["ContactGuid"] == made["ContactGuid"]
    assert ok(later.get("contact(UniqueCode='O''Hara')"))["UniqueCode"] == "O'Hara"


@of_each_set
def test_version_2_0_has_no_such_address(api, entity_set):
    message = f"The key of {entity_set.name} is {entity_set.key.name}, not UniqueCode."
    for method in ("GET", "PATCH", "DELETE"):
        answer = api.call(method, f"{entity_set.path}(UniqueCode='P-1')", body={})
        if method == "GET":
            assert refused(answer, 400, "InvalidQuery")["message"] == message
        else:
            refused(answer, 405, "MethodNotAllowed")
    answer = api.patch(entity_set.path, {"@context": "#$delta", "value": [{}]})
    message = refused(answer, 405, "MethodNotAllowed")["message"]
    assert message == "Version 2.1 has PATCH here: send the header api-version: 2.1."


# --- PATCH, PUT and DELETE of one -----------------------------------------------------------------------


@of_each_set
def test_a_patch_of_an_unknown_code_creates_the_record(later, entity_set):
    body = BODIES[entity_set.name]()
    answer = later.patch(f"{entity_set.path}(UniqueCode='P-9')", body)
    made = ok(answer, 201)
    assert made["UniqueCode"] == "P-9"
    assert answer["Location"].endswith(f"/api/{entity_set.name}({made[entity_set.key.name]})")
    assert answer["ETag"] == later.get(f"{entity_set.path}({made[entity_set.key.name]})")["ETag"]
    (change,) = Change.objects.filter(record_key=made[entity_set.key.name])
    assert (change.kind, change.application) == ("Created", "Integration")


def test_a_code_in_the_body_is_that_of_the_address_or_a_fault(later):
    ok(later.patch("contact(UniqueCode='P-9')", contact("p-9")), 201)
    answer = later.patch("contact(UniqueCode='P-8')", contact("P-7"))
    (fault,) = refused(answer, 400, "ValidationFailed")["details"]
    assert (fault["code"], fault["target"]) == ("NotAllowed", "UniqueCode")
    assert Contact.objects.count() == 1
    ok(later.patch("contact(UniqueCode='P-9')", {"UniqueCode": "P-10"}, If_Match="*"))
    assert Contact.objects.get().unique_code == "P-10"


def test_a_code_that_is_null_in_the_body_is_cleared(later, stored):
    made = stored(get_service(V2_1).by_path["contact"], "P-9")
    assert (
        ok(later.patch("contact(UniqueCode='P-9')", {"UniqueCode": None}, If_Match="*"))["UniqueCode"] is None
    )
    refused(later.get("contact(UniqueCode='P-9')"), 404)
    assert ok(later.get(f"contact({made['ContactGuid']})"))["UniqueCode"] is None
    assert ok(later.patch("contact(UniqueCode='P-9')", contact(None)), 201)["UniqueCode"] == "P-9"


@pytest.mark.parametrize("text", ["%E9", "P-%FF", "%ED%A0%80", "%C0%80"])
def test_a_code_that_is_no_utf_8_names_no_record(later, text):
    for answer in (
        later.get(f"contact(UniqueCode='{text}')"),
        later.patch(f"contact(UniqueCode='{text}')", contact(None)),
    ):
        error = refused(answer, 400, "InvalidQuery")
        assert error["message"] == "UniqueCode is not UTF-8 here: give it as UniqueCode=@code."
    assert Contact.objects.count() == 0


def test_a_new_record_by_its_code_has_every_fault_of_a_post(later):
    for body in ({"Gender": "?"}, {}, {"value": [contact("P-9")]}):
        refused(later.patch("contact(UniqueCode='P-9')", body), 400)
    assert Contact.objects.count() == 0


@of_each_set
def test_an_existing_record_needs_its_etag_or_any(later, stored, entity_set):
    address = f"{entity_set.path}(UniqueCode='P-1')"
    made = stored(entity_set, "P-1")
    tag = later.get(address)["ETag"]
    refused(later.patch(address, {}), 428, "PreconditionRequired")
    refused(later.patch(address, {}, If_Match='W/"0"'), 412, "PreconditionFailed")
    refused(later.patch(address, {}, If_None_Match="*"), 412, "PreconditionFailed")
    member = "BusinessPhone" if entity_set.name == "Client" else "Phone1"
    for condition in (tag, "*"):
        shown = ok(later.patch(address, {member: f"04 {condition}"}, If_Match=condition))
        assert (shown[entity_set.key.name], shown[member]) == (made[entity_set.key.name], f"04 {condition}")


def test_if_match_asks_that_there_be_a_record_and_if_none_match_that_there_be_none(later):
    for condition in ("*", 'W/"0"'):
        answer = later.patch("contact(UniqueCode='P-9')", contact("P-9"), If_Match=condition)
        refused(answer, 412, "PreconditionFailed")
    assert Contact.objects.count() == 0
    ok(later.patch("contact(UniqueCode='P-9')", contact("P-9"), If_None_Match="*"), 201)


@pytest.mark.parametrize("name", ["Staff", "Client"])
def test_a_put_keeps_the_code_that_its_address_names(later, name):
    path, body = name.lower(), BODIES[name]()
    ok(later.put(f"{path}(UniqueCode='P-1')", body), 201)
    shown = ok(later.put(f"{path}(UniqueCode='p-1')", body, If_Match="*"))
    assert shown["UniqueCode"] == "P-1"


@of_each_set
def test_a_delete_archives_once(later, stored, entity_set):
    address = f"{entity_set.path}(UniqueCode='P-1')"
    refused(later.delete(address, If_Match="*"), 404, "NotFound")
    stored(entity_set, "P-1")
    refused(later.delete(address), 428, "PreconditionRequired")
    refused(later.delete(address, If_Match='W/"0"'), 412, "PreconditionFailed")
    assert later.delete(address, If_Match="*").status_code == 204
    assert ok(later.get(address))["ArchiveDate"] is not None
    (reason,) = refused(later.delete(address, If_Match="*"), 409, "Conflict")["details"]
    assert reason["code"] == "Archived"


def test_the_last_administrator_stays(later):
    role = a_role(all_permissions=True)
    ok(later.post("staff", a_staff_body(role=role, UniqueCode="S-1")), 201)
    refused(later.delete("staff(UniqueCode='S-1')", If_Match="*"), 409, "Conflict")
    answer = later.delta("staff", {"UniqueCode": "S-1", "@removed": {"reason": "deleted"}})
    (fault,) = refused(answer, 409, "Conflict")["details"]
    assert fault["target"].startswith("value[0]")
    assert Staff.objects.get().archive_date is None


# --- delta payloads -------------------------------------------------------------------------------------


@of_each_set
def test_a_delta_payload_creates_and_changes_in_its_order(later, stored, entity_set):
    first, second = stored(entity_set, "P-1"), stored(entity_set, "P-2")
    key, make = entity_set.key.name, BODIES[entity_set.name]
    member = "BusinessPhone" if entity_set.name == "Client" else "Phone1"
    answer = later.delta(
        entity_set.path,
        make(UniqueCode="P-3", **{member: "3"}),
        {key: first[key], member: "1"},
        {"UniqueCode": "p-2", member: "2"},
        {"@odata.id": f"{entity_set.path}({stored(entity_set, 'P-4')[key]})", member: "4"},
    )
    page = ok(answer)
    assert page["@odata.context"].endswith(f"/api/$metadata#{entity_set.name}{select_of(entity_set)}/$delta")
    assert [(each["UniqueCode"], each[member]) for each in page["value"]] == [
        ("P-3", "3"),
        ("P-1", "1"),
        ("P-2", "2"),
        ("P-4", "4"),
    ]
    assert page["value"][1][key] == first[key]
    assert page["value"][2][key] == second[key]
    assert ok(later.get(f"{entity_set.path}(UniqueCode='P-3')"))[member] == "3"


def select_of(entity_set):
    parts = [part for part in entity_set.type.navigations.values() if not part.item_only]
    return f"({','.join(f'{part.name}()' for part in parts if not part.is_complex)})" if parts else ""


def test_an_answer_without_a_body_is_preferred_by_the_header(later):
    answer = later.delta("contact", contact("P-1"), Prefer="return=minimal")
    assert (answer.status_code, answer.content, answer["Preference-Applied"]) == (204, b"", "return=minimal")


def test_what_is_removed_is_archived_and_what_is_not_there_is_no_fault(later):
    made = ok(later.post("contact", contact("P-1")), 201)
    gone = {"@removed": {"reason": "deleted"}}
    items = ({"UniqueCode": "P-1", **gone}, {"UniqueCode": "P-2", **gone}, {"ContactGuid": NO_RECORD, **gone})
    for _ in range(2):
        entries = ok(later.delta("contact", *items))["value"]
        assert [each["@removed"]["reason"] for each in entries] == ["deleted"] * 3
        assert entries[0]["@odata.id"].endswith(f"/api/Contact({made['ContactGuid']})")
    named_twice = {"ContactGuid": made["ContactGuid"], "@id": entries[0]["@odata.id"], "Phone1": "1"}
    assert ok(later.delta("contact", named_twice))["value"][0]["Phone1"] == "1"
    assert Contact.objects.get().archive_date is not None
    assert Change.objects.filter(record_key=made["ContactGuid"], kind="Archived").count() == 1


@pytest.mark.parametrize(
    ("item", "fault"),
    [
        ({"FirstName": "Ada"}, ("Required", "UniqueCode")),
        ({"UniqueCode": None}, ("Required", "UniqueCode")),
        ({"UniqueCode": " "}, ("Required", "UniqueCode")),
        ({"UniqueCode": 7}, ("WrongType", "UniqueCode")),
        ({"UniqueCode": "x" * 91}, ("TooLong", "UniqueCode")),
        ({"ContactGuid": "x"}, ("InvalidGuid", "ContactGuid")),
        ({"ContactGuid": NO_RECORD}, ("NotFound", "ContactGuid")),
        ({"@id": "client(1)"}, ("InvalidAddress", "@id")),
        ({"@id": f"contact({NO_RECORD})"}, ("NotFound", "ContactGuid")),
        ({"@id": f"contact({NO_RECORD})", "ContactGuid": OTHER_RECORD}, ("NotAllowed", "@id")),
        ({"@id": "x", "ContactGuid": NO_RECORD}, ("InvalidAddress", "@id")),
        ({"UniqueCode": "P-9"}, ("Required", "FirstName")),
        ({"UniqueCode": "P-1", "Gender": "?"}, ("NotAChoice", "Gender")),
        ({"UniqueCode": "P-1", "FirstName": None}, ("Required", "FirstName")),
        ({"UniqueCode": "P-1", "@odata.etag": 'W/"0"'}, ("PreconditionFailed", "@odata.etag")),
        ({"UniqueCode": "P-9", "@etag": "*"}, ("PreconditionFailed", "@odata.etag")),
        ({"UniqueCode": "P-1", "@removed": {"reason": "changed"}}, ("NotAllowed", "@removed")),
        ({"UniqueCode": "P-1", "@odata.removed": None}, ("NotAllowed", "@removed")),
        ({"UniqueCode": "p-2"}, ("Duplicate", "")),
        ({"UniqueCode": "P-1", "@odata.nonsense": 1}, ("UnknownAnnotation", "@odata.nonsense")),
        ({"UniqueCode": "P-1", "Client": {"ClientGuid": NO_RECORD}}, ("NotFound", "Client/ClientGuid")),
        ("P-1", ("WrongType", "")),
        (7, ("WrongType", "")),
        (None, ("WrongType", "")),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "continues",
    [pytest.param(False, marks=pytest.mark.any_engine("refused before anything is stored")), True],
)
def test_an_item_with_a_fault_is_told_with_its_place(later, item, fault, continues):
    ok(later.post("contact", {"value": [contact("P-1"), contact("P-2")]}), 201)
    before = count()
    items = (contact("P-3"), {"UniqueCode": "P-2", "Phone1": "2"}, item)
    headers = {"Prefer": "continue-on-error"} if continues else {}
    answer = later.delta("contact", *items, **headers)
    code, member = fault
    place = "value[2]" + (f"/{member}" if member else "")
    if not continues:
        status = 412 if code == "PreconditionFailed" else 400
        details = refused(answer, status)["details"]
        assert count() == before
    else:
        *stored, refusal = ok(answer)["value"]
        assert answer["Preference-Applied"] == "continue-on-error"
        assert [each["UniqueCode"] for each in stored] == ["P-3", "P-2"]
        assert refusal[EXCEPTION]["responseCode"] == (412 if code == "PreconditionFailed" else 400)
        details = refusal[EXCEPTION]["info"]["details"]
        assert Contact.objects.count() == 3
    assert (code, place) in [(each["code"], each["target"]) for each in details]


def test_every_fault_of_every_item_is_told_at_once(later):
    ok(later.post("contact", contact("P-1")), 201)
    items = [
        {"UniqueCode": "P-1", "Gender": "?", "Birthday": "x"},
        {"UniqueCode": "P-2", "FirstName": "A"},
        {"Phone1": "1"},
        {"UniqueCode": "P-1"},
        contact("P-5", SchemeNumber="1"),
    ]
    details = refused(later.delta("contact", *items), 400)["details"]
    assert {each["target"].partition("/")[0] for each in details} == {f"value[{at}]" for at in range(5)}
    assert Contact.objects.count() == 1


@pytest.mark.parametrize(
    "body",
    [
        {"value": [{"UniqueCode": "P-1"}]},
        {"@context": "#Contact", "value": [{}]},
        {"@context": 1, "value": [{}]},
        {"@context": "#$delta"},
        {"@context": "#$delta", "value": []},
        {"@context": "#$delta", "value": {}},
        {"@context": "#$delta", "value": [{}], "@odata.delta": 1},
        [],
        b"",
        b"{",
    ],
    ids=str,
)
def test_what_is_no_delta_payload_is_refused(later, body):
    refused(later.patch("contact", body), 400, None)
    assert Contact.objects.count() == 0


@pytest.mark.parametrize(
    "option", ["$filter=true", "$top=1", "$search=Ada", "$apply=aggregate($count%20as%20N)"]
)
def test_a_delta_payload_has_no_options_that_choose_records(later, option):
    body = {"@context": "#$delta", "value": [contact("P-1")]}
    error = refused(later.patch("contact", body, option), 400, "InvalidQuery")
    assert error["target"] == option.partition("=")[0]
    assert Contact.objects.count() == 0


@pytest.mark.parametrize("condition", [{"If_Match": 'W/"0"'}, {"If_None_Match": "*"}])
def test_a_delta_payload_has_no_etag_of_its_own(later, condition):
    refused(later.delta("contact", contact("P-1"), **condition), 412, "PreconditionFailed")
    assert Contact.objects.count() == 0
    assert ok(later.delta("contact", contact("P-1"), If_Match="*"))


def test_a_delta_payload_has_as_many_records_as_a_post(later):
    with override_settings(API_MAX_RECORDS=3):
        ok(later.delta("contact", *[contact(f"P-{at}") for at in range(3)]))
        refused(later.delta("contact", *[{"UniqueCode": f"P-{at}"} for at in range(4)]), 413, "TooLarge")


def test_codes_may_not_meet_in_one_payload(later):
    """One takes the code of another, or a code that a new one gets."""
    first = ok(later.post("contact", contact("P-1")), 201)["ContactGuid"]
    ok(later.post("contact", contact("P-2")), 201)
    for items in (
        ({"ContactGuid": first, "UniqueCode": "P-2"},),
        ({"ContactGuid": first, "UniqueCode": "P-3"}, contact("P-3")),
        (contact("P-3"), {"ContactGuid": first, "UniqueCode": "P-3"}),
    ):
        details = refused(later.delta("contact", *items), 400, "ValidationFailed")["details"]
        assert {each["code"] for each in details} == {"NotUnique"}
    items = {"ContactGuid": first, "UniqueCode": "P-4"}, contact("P-1")
    (fault,) = refused(later.delta("contact", *items), 400)["details"]
    assert fault["code"] == "Duplicate", "a code is whose it was before the payload"
    assert sorted(Contact.objects.values_list("unique_code", flat=True)) == ["P-1", "P-2"]


def test_an_archived_team_stays_with_who_has_it(later):
    teams = [a_team() for _ in range(2)]
    for at, team in enumerate(teams):
        ok(later.post("staff", a_staff_body(UniqueCode=f"S-{at}", Teams=[{"TeamId": team.pk}])), 201)
    type(teams[0]).objects.update(archive_date="2026-01-01T00:00:00Z")
    own = [{"UniqueCode": f"S-{at}", "Teams": [{"TeamId": team.pk}]} for at, team in enumerate(teams)]
    ok(later.delta("staff", *own))
    other = {"UniqueCode": "S-0", "Teams": [{"TeamId": teams[1].pk}]}
    (fault,) = refused(later.delta("staff", other), 400)["details"]
    assert (fault["code"], fault["target"]) == ("Archived", "value[0]/Teams[0]/TeamId")


def test_a_payload_with_an_idempotency_key_is_applied_once(later):
    answers = [later.delta("contact", contact("P-1"), Idempotency_Key="k") for _ in range(2)]
    assert ok(answers[0]) == ok(answers[1])
    assert answers[1]["Idempotency-Replayed"] == "true"
    assert IdempotencyKey.objects.count() == Contact.objects.count() == 1
    refused(later.delta("contact", contact("P-2"), Idempotency_Key="k"), 422)


def test_who_may_not_write_may_not_upsert(later, nobody):
    reader = LaterCaller(an_application("read", "client.write", name="Reader"))
    for caller, status in ((reader, 403), (LaterCaller(), 401)):
        refused(caller.delta("contact", contact("P-1")), status)
        refused(caller.patch("contact(UniqueCode='P-1')", contact("P-1")), status)
    ok(reader.delta("client", a_client_body(UniqueCode="C-1")))
    assert Contact.objects.count() == 0


@of_each_set
def test_more_records_take_no_more_statements(later, stored, statements, entity_set):
    make, member = BODIES[entity_set.name], "BusinessPhone" if entity_set.name == "Client" else "Phone1"
    if entity_set.name == "Staff":
        make = partial(a_staff_body, role=a_role())
    told = {}
    for size in (12, 40):  # ten are inserted otherwise
        codes = [f"{size}-{at}" for at in range(size)]
        ok(later.post(entity_set.path, {"value": [make(UniqueCode=code) for code in codes]}), 201)
        items = [{"UniqueCode": code, member: "1"} for code in codes]
        items += [make(UniqueCode=f"{code}-new") for code in codes]
        items += [{"UniqueCode": f"{code}-none", "@removed": {}} for code in codes]
        told[size] = len(statements(lambda items=items: ok(later.delta(entity_set.path, *items))))
        wrong = [{"UniqueCode": f"{code}-wrong"} for code in codes]
        told[size, "faults"] = len(
            statements(
                lambda items=items + wrong: ok(
                    later.delta(entity_set.path, *items, Prefer="continue-on-error")
                )
            )
        )
    assert told[40] <= told[12]
    assert told[40, "faults"] <= told[12, "faults"] <= 2 * told[12]


def test_requests_of_a_batch_upsert_too(api):
    headers = {"api-version": "2.1"}
    address, any_state = "contact(UniqueCode='P-1')", {"If-Match": "*", **headers}
    requests = [
        Request("PATCH", address, contact("P-1"), headers=headers),
        Request("PATCH", address, {"Phone1": "2"}, headers=any_state),
        Request("PATCH", "contact", {"@context": "#$delta", "value": [contact("P-2")]}, headers=headers),
    ]
    assert [each.status for each in send_json(api, *requests)] == [201, 200, 200]
    assert sorted(Contact.objects.values_list("unique_code", "phone1")) == [("P-1", "2"), ("P-2", None)]


def test_a_payload_in_other_forms_is_answered_in_them(later):
    form = "application/json;odata.metadata=full"
    gone = {"UniqueCode": "P-7", "@removed": {"reason": "deleted"}}
    headers = {"Accept": form, "Prefer": "continue-on-error,omit-values=nulls"}
    stored, removed, wrong = ok(later.delta("contact", contact("P-1"), gone, {"Phone1": "1"}, **headers))[
        "value"
    ]
    assert stored["@odata.id"].endswith(f"Contact({stored['ContactGuid']})")
    assert "Phone1" not in stored
    assert removed["@removed"] == {"reason": "deleted"}
    assert wrong[EXCEPTION]["failedOperation"] == "upsert"


# --- descriptions ---------------------------------------------------------------------------------------


def test_the_metadata_declares_the_keys_in_version_2_1_alone(api, later):
    term = "@Org.OData.Core.V1.AlternateKeys"
    for caller, has_keys in ((api, False), (later, True)):
        container = json.loads(caller.get("$metadata", {"$format": "json"}).content)["Records"]["Container"]
        for entity_set in KEYED:
            found = container[entity_set.name].get(term)
            assert found == ([{"Key": [{"Name": "UniqueCode", "Alias": "UniqueCode"}]}] if has_keys else None)


def test_the_openapi_document_has_the_addresses_in_version_2_1_alone(api):
    documents = [ok(api.get("/docs/openapi.json", query)) for query in ({}, {"version": "2.1"})]
    for entity_set in KEYED:
        path = f"/api/{entity_set.path}"
        assert [("patch" in each["paths"][path]) for each in documents] == [False, True]
        address = f"{path}(UniqueCode={{UniqueCode}})"
        assert address not in documents[0]["paths"]
        methods = {*entity_set.resource.methods, *entity_set.resource.methods_of_2_1} - {"POST"}
        assert {method.upper() for method in documents[1]["paths"][address]} == methods
    assert "201" in documents[1]["paths"]["/api/contact(UniqueCode={UniqueCode})"]["patch"]["responses"]
