"""The documented interface, field by field: contract.yaml against what is served."""

import datetime as dt
import re
from pathlib import Path

import pytest
import yaml

from apps.base.declaration.service import get_service
from tests.api.caller import faults, ok, refused
from tests.api.conftest import a_whole_client_body, a_whole_staff_body
from tests.people.builders import a_client_body, a_staff_body
from tests.sales.builders import a_result_body

CONTRACT = yaml.safe_load(Path(__file__).with_name("contract.yaml").read_text())["resources"]

BODIES = {"Staff": a_whole_staff_body, "Client": a_whole_client_body}
LEAST_BODIES = {"Staff": a_staff_body, "Client": a_client_body, "Opportunity": a_result_body}

#: Parts that even a bare record has.
REQUIRED_PARTS = {"PrimaryRole", "OpportunityOwner", "Stage", "DocumentCategory", "Participant"}
#: What a whole record cannot have beside its other members.
NEVER_ALL = {
    "Opportunity": {"ReferrerEmail", "ReferrerFirstName", "ReferrerLastName", "ReferrerOrganisation"}
}
NEVER_ALL["OpportunityTemplate"] = NEVER_ALL["Opportunity"]

served = pytest.mark.parametrize("name", CONTRACT)
#: Those that take bodies; the rules of their members are told by their names in contract.yaml.
created = pytest.mark.parametrize("name", LEAST_BODIES)
#: Those whose members do not hang on each other, and that have addresses and custom fields.
of_people = pytest.mark.parametrize("name", BODIES)


def is_text(pattern):
    whole = re.compile(pattern, re.DOTALL)
    return lambda value: isinstance(value, str) and bool(whole.fullmatch(value))


def is_date(value):
    return isinstance(value, str) and dt.date.fromisoformat(value).isoformat() == value


TYPES = {
    "string": is_text(".+"),
    "guid": is_text("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int,
    "decimal": lambda value: type(value) in (int, float),
    "date": is_date,
    "datetime": is_text(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?[+-]\d\d:\d\d"),
}


def holds(value, declared, place):
    """A value is null or of the documented type; objects have exactly the documented members, in order."""
    if value is None:
        return
    if isinstance(declared, str):
        assert TYPES[declared](value), f"{place}: {value!r} is no {declared}"
    elif "list" in declared:
        assert isinstance(value, list), place
        for item in value:
            holds_object(item, declared["list"], place)
    else:
        holds_object(value, declared["object"], place)


def holds_object(value, members, place):
    assert list(value) == list(members), place
    for name, declared in members.items():
        holds(value[name], declared, f"{place}/{name}")


def without_context(record):
    assert next(iter(record)) == "@odata.context"
    return {name: value for name, value in record.items() if name != "@odata.context"}


def nested(name, item):
    return {
        part: declared
        for part, declared in CONTRACT[name]["nested"].items()
        if item or not declared.get("item_only")
    }


@served
def test_every_documented_resource_is_served_at_its_address(name):
    assert get_service().by_path[CONTRACT[name]["path"].lower()].name == name


@served
def test_a_plain_record_has_the_documented_fields_and_no_others(api, records, name):
    facts = CONTRACT[name]
    for keys in (records.whole, records.bare):
        record = without_context(ok(api.get(f"{facts['path']}/{keys[name]}")))
        holds_object(record, facts["fields"], name)
    for record in api.all(facts["path"]):
        holds_object(record, facts["fields"], name)


@served
def test_an_expanded_record_has_the_documented_parts_behind_its_fields(api, records, name):
    facts = CONTRACT[name]
    whole = {**facts["fields"], **nested(name, item=True)}
    for keys in (records.whole, records.bare):
        record = without_context(ok(api.get(f"{facts['path']}/{keys[name]}", {"$expand": "*"})))
        holds_object(record, whole, name)


@served
def test_an_expanded_collection_has_all_parts_but_those_of_single_records(api, records, name):
    facts = CONTRACT[name]
    shown = {**facts["fields"], **nested(name, item=False)}
    for record in api.all(facts["path"], {"$expand": "*"}):
        holds_object(record, shown, name)


@served
def test_a_whole_record_shows_a_value_in_every_field(api, records, name):
    facts = CONTRACT[name]
    record = ok(api.get(f"{facts['path']}/{records.whole[name]}", {"$expand": "*"}))
    empty = {"ArchiveDate"} | NEVER_ALL.get(name, set())
    assert {field for field, value in record.items() if value in (None, [])} == empty
    for part, declared in nested(name, item=True).items():
        shown = record[part][0] if "list" in declared else record[part]
        assert {field for field, value in shown.items() if value is None} <= {"ArchiveDate"}, part


@served
def test_what_a_bare_record_lacks_is_null_and_what_it_lists_is_empty(api, records, name):
    facts = CONTRACT[name]
    record = ok(api.get(f"{facts['path']}/{records.bare[name]}", {"$expand": "*"}))
    for part, declared in nested(name, item=True).items():
        if part not in REQUIRED_PARTS:
            assert record[part] == ([] if "list" in declared else None), part


@served
def test_each_documented_part_can_be_expanded_by_its_name(api, records, name):
    facts = CONTRACT[name]
    item = f"{facts['path']}/{records.whole[name]}"
    whole = ok(api.get(item, {"$expand": "*"}))
    for part, declared in nested(name, item=True).items():
        record = without_context(ok(api.get(item, {"$expand": part})))
        holds_object(record, {**facts["fields"], part: declared}, name)
        assert record[part] == whole[part]


@of_people
def test_parts_of_single_records_are_refused_on_collections_with_the_reason(api, name):
    error = refused(api.get(CONTRACT[name]["path"], {"$expand": "CustomFields"}), 400, "InvalidQuery")
    assert "one record only" in error["message"]


@served
def test_only_the_documented_methods_are_offered(api, records, name):
    facts = CONTRACT[name]
    addresses = {facts["path"]: facts["collection"], f"{facts['path']}/{records.whole[name]}": facts["item"]}
    for address, documented in addresses.items():
        allowed = {*documented, "HEAD", "OPTIONS"}
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            if method not in documented:
                answer = api.call(method, address, body={})
                refused(answer, 405, "MethodNotAllowed")
                assert {word.strip() for word in answer["Allow"].split(",")} == allowed


# --- the rules of bodies --------------------------------------------------------------------------------


def rules(name, pattern):
    """``(field, match)`` of the request fields whose rule has this form."""
    for field, rule in CONTRACT[name]["write"].items():
        found = re.match(pattern, rule)
        if found:
            yield field, found


@of_people
def test_texts_may_have_the_documented_length_and_no_more(api, name):
    path = CONTRACT[name]["path"]
    emails = {"PrimaryEmail", "SecondaryEmail"}
    limits = {field: int(found[1]) for field, found in rules(name, r". string\((\d+)\)")}
    limits = {field: limit for field, limit in limits.items() if field not in emails}
    assert len(limits) > 5
    longest = {field: "é" * limit for field, limit in limits.items()}
    if name == "Staff":
        longest["PersonalTitle"] = "Other"
    record = ok(api.post(path, LEAST_BODIES[name](**longest)), 201)
    assert {field: record[field] for field in limits} == {field: longest[field] for field in limits}
    longer = {field: "é" * (limit + 1) for field, limit in limits.items()}
    found = faults(api.post(path, {"value": [LEAST_BODIES[name](**longer)]}))
    assert sorted(found) == sorted(("TooLong", f"value[0]/{field}") for field in limits)


def test_emails_may_have_90_characters(api):
    fits = f"{'a' * 60}@{'b' * 25}.com"
    assert len(fits) == 90
    body = a_staff_body(PrimaryEmail=fits, SecondaryEmail=f"x{fits[1:]}", UseSecondaryEmail=True)
    assert ok(api.post("staff", body), 201)["PrimaryEmail"] == fits
    longer = a_staff_body(PrimaryEmail=f"a{fits}", SecondaryEmail=f"a{fits}")
    assert faults(api.post("staff", {"value": [longer]})) == [
        ("TooLong", "value[0]/PrimaryEmail"),
        ("TooLong", "value[0]/SecondaryEmail"),
    ]


@created
def test_required_members_are_required_each_of_them_reported_at_once(api, name):
    required = [field for field, _ in rules(name, "r ")]
    found = faults(api.post(CONTRACT[name]["path"], {"value": [{"Abbreviation": None, "Filler": 1}]}))
    assert set(found) >= {("Required", f"value[0]/{field}") for field in required}
    conditional = {("Required", "value[0]/UsePrimaryEmail")} if name == "Staff" else set()
    assert set(found) - {("Required", f"value[0]/{field}") for field in required} == conditional


@created
def test_enumerations_take_the_documented_names_in_their_case(api, name):
    path = CONTRACT[name]["path"]
    enumerations = {field: found[1].split(", ") for field, found in rules(name, r". enum\((.*)\)")}
    assert enumerations or name == "Client"
    for field, words in enumerations.items():
        for word in words:
            assert ok(api.post(path, LEAST_BODIES[name](**{field: word})), 201)[field] == word
        for wrong in (words[0].lower(), words[0] + "x", f" {words[0]}"):
            bad = {"value": [LEAST_BODIES[name](**{field: wrong})]}
            assert faults(api.post(path, bad)) == [("NotAChoice", f"value[0]/{field}")]


@of_people
def test_documented_request_fields_come_back_as_given(api, name):
    body = BODIES[name](UniqueCode="A code of its own")
    record = ok(api.post(CONTRACT[name]["path"], body), 201)
    told = {field: value for field, value in body.items() if field in CONTRACT[name]["write"]}
    given_by_key = {"PrimaryRole"}
    assert {field: record[field] for field in told if field not in given_by_key} == {
        field: value for field, value in told.items() if field not in given_by_key
    }


@of_people
def test_texts_of_addresses_may_have_90_characters(api, name):
    path = CONTRACT[name]["path"]
    parts = {part: list(CONTRACT[name]["nested"][part]["object"]) for part in ("Address", "PostalAddress")}
    full = {part: dict.fromkeys(fields, "x" * 90) for part, fields in parts.items()}
    record = ok(api.post(path, LEAST_BODIES[name](**full)), 201)
    assert {part: record[part] for part in parts} == full
    over = {part: dict.fromkeys(fields, "x" * 91) for part, fields in parts.items()}
    found = faults(api.post(path, {"value": [LEAST_BODIES[name](**over)]}))
    expected = [("TooLong", f"value[0]/{part}/{field}") for part, fields in parts.items() for field in fields]
    assert sorted(found) == sorted(expected)
