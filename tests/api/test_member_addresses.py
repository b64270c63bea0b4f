"""Addresses behind a record: every member has one, and answers what the record shows of it."""

import json

import pytest

from apps.base.declaration.service import get_service
from tests.api.caller import Caller, an_application, ok, refused

SETS = get_service().entity_sets
each_set = pytest.mark.parametrize("entity_set", SETS, ids=[entity_set.name for entity_set in SETS])


def record_of(api, records, entity_set):
    """The address of a whole record, and all that it shows."""
    address = f"{entity_set.path}({records.whole[entity_set.name]})"
    return address, ok(api.get(address, {"$expand": "*"}))


@each_set
def test_every_value_has_an_address(api, records, entity_set):
    address, record = record_of(api, records, entity_set)
    key, types = f"{entity_set.name}({record[entity_set.key.name]})", set()
    for name, prop in entity_set.type.readable_properties.items():
        value = record[name]
        if (prop.edm.name, value is None) in types:
            continue
        types.add((prop.edm.name, value is None))
        answer = api.get(f"{address}/{name}")
        bare = api.get(f"{address}/{name}/$value", Accept="text/plain")
        if value is None:
            assert (answer.status_code, bare.status_code, answer.content) == (204, 204, b"")
            continue
        context = f"http://testserver/api/$metadata#{key}/{name}"
        assert ok(answer) == {"@odata.context": context, "value": value}
        assert bare["Content-Type"].startswith("text/plain")
        text = bare.content.decode()
        assert (text if isinstance(value, str) else json.loads(text)) == value


@each_set
def test_every_object_and_list_has_an_address(api, records, entity_set):
    address, record = record_of(api, records, entity_set)
    for name, navigation in entity_set.type.navigations.items():
        answer = api.get(f"{address}/{name}", {"$expand": "*"})
        if record[name] is None:
            assert answer.status_code == 204
        elif navigation.many:
            assert ok(answer)["value"] == record[name]
            assert api.get(f"{address}/{name}/$count").content == b"%d" % len(record[name])
        else:
            found = ok(answer)
            assert found.pop("@odata.context").startswith("http://testserver/api/$metadata#")
            assert found == record[name]


@each_set
def test_what_a_record_leads_to_in_another_set_has_an_address(api, records, entity_set):
    address, _ = record_of(api, records, entity_set)
    for name, navigation in entity_set.type.set_navigations.items():
        expanded = ok(api.get(address, {"$expand": name}))[name]
        answer = api.get(f"{address}/{name}")
        if expanded is None:
            assert answer.status_code == 204
        elif navigation.many:
            assert ok(answer)["value"] == expanded
            assert ok(answer)["@odata.context"].split("#")[1].split("(")[0] == navigation.entity_set.name
        else:
            found = ok(answer)
            assert (
                found.pop("@odata.context").split("#")[1].split("(")[0].split("/")[0]
                == navigation.entity_set.name
            )
            assert found == expanded


def test_another_set_needs_the_right_to_it(api, records):
    caller = Caller(an_application("claim.read", name="Claims only"))
    claim = f"claim({records.whole['Claim']})"
    assert ok(caller.get(f"{claim}/LineItems"))["value"]
    assert caller.get(f"{claim}/ContactGuid").status_code == 200
    for name in ("Contact", "Contact/LastName", "ProviderInvoice/Document"):
        refused(caller.get(f"{claim}/{name}"), 403, "Forbidden")
    refused(caller.get(f"contact({records.whole['Contact']})/Claims"), 403)


def test_the_lines_of_a_claim_are_a_collection(api, records):
    claim = f"claim({records.whole['Claim']})"
    lines = ok(api.get(claim, {"$expand": "LineItems($expand=*)"}))["LineItems"]
    assert len(lines) > 1
    address, first = f"{claim}/LineItems", lines[0]["LineItemGuid"]
    page = ok(
        api.get(address, {"$top": 1, "$count": "true", "$select": "Quantity", "$orderby": "Total desc"})
    )
    assert page["@odata.context"].endswith(
        f"#Claim({records.whole['Claim']})/LineItems(LineItemGuid,Quantity)"
    )
    assert (page["@odata.count"], len(page["value"])) == (len(lines), 1)
    assert [row["LineItemGuid"] for row in api.all(address, Prefer="odata.maxpagesize=1")] == [
        line["LineItemGuid"] for line in lines
    ]
    found = ok(api.get(address, {"$filter": f"LineItemGuid eq {first}"}))["value"]
    assert [row["LineItemGuid"] for row in found] == [first]
    assert len(ok(api.get(address, {"LineItemGuid": first}))["value"]) == 1
    assert api.get(f"{address}/$count", {"$filter": f"LineItemGuid ne {first}"}).content == b"%d" % (
        len(lines) - 1
    )
    for item in (
        f"{address}({first})",
        f"{address}/{first}",
        f"{address}(LineItemGuid={first})",
        f"{address}({first})/",
    ):
        line = ok(api.get(item, {"$expand": "*"}))
        assert line.pop("@odata.context").endswith("/LineItems(PriceBook(),Product())/$entity")
        assert line == lines[0]
    assert ok(api.get(f"{address}({first})/Product"))["ProductGuid"] == lines[0]["Product"]["ProductGuid"]
    assert ok(api.get(f"{address}({first})/Product/Code"))["value"] == lines[0]["Product"]["Code"]
    csv = api.get(address, Accept="text/csv")
    assert csv.getvalue().decode().count("\r\n") == len(lines) + 1


def test_values_inside_complex_properties_have_addresses(api, records):
    client = f"client({records.whole['Client']})"
    assert ok(api.get(f"{client}/Address/Suburb"))["value"] == "St Kilda"
    assert api.get(f"{client}/Address/Suburb/$value").content == b"St Kilda"
    assert ok(api.get(f"{client}/Address", {"$select": "Suburb"}))["Suburb"] == "St Kilda"
    bare = f"client({records.bare['Client']})"
    assert api.get(f"{bare}/Address").status_code == 204
    refused(api.get(f"{bare}/Address/Suburb"), 404)


@pytest.mark.parametrize(
    ("members", "status"),
    [
        ("Nothing", 404),
        ("LineItems/Nothing", 400),
        ("LineItems(1)", 400),
        ("LineItems(00000000-0000-0000-0000-000000000000)", 404),
        ("LineItems/00000000-0000-0000-0000-000000000000/Product", 404),
        ("LineItems()", 400),
        ("LineItems/$value", 404),
        ("LineItems/$count/$value", 404),
        ("LineItems/$ref", 404),
        ("Total(1)", 404),
        ("Total/$count", 404),
        ("Total/x", 404),
        ("Total/$value/x", 404),
        ("$value", 404),
        ("LineItems//", 400),
        ("(x)", 404),
        ("%00", 404),
    ],
)
def test_what_no_member_is_has_no_address(api, records, members, status):
    answer = api.get(f"claim({records.whole['Claim']})/{members}")
    assert answer.status_code == status, answer.content


def test_options_of_lists_are_refused_where_there_is_no_list(api, records):
    claim = f"claim({records.whole['Claim']})"
    for address in (
        f"{claim}/Total",
        f"{claim}/Total/$value",
        f"{claim}/Contact",
        f"client({records.whole['Client']})/Address",
    ):
        refused(api.get(address, {"$top": 1}), 400, "InvalidQuery")
        refused(api.get(address, {"Total": 1}), 400, "InvalidQuery")
    for option in ("$select", "$expand"):
        assert refused(api.get(f"{claim}/Total", {option: "Total"}), 400, "InvalidQuery")["target"] == option
    refused(api.get(f"{claim}/LineItems", {"$filter": "Nothing eq 1"}), 400)
    refused(api.get(f"{claim}/LineItems", {"$search": "x"}), 400, "InvalidQuery")


def test_an_address_has_few_segments(api, records):
    claim = f"claim({records.whole['Claim']})"
    there_and_back = f"Contact/Claims({records.whole['Claim']})"
    assert ok(api.get("/".join([claim, *[there_and_back] * 4])))["ClaimGuid"] == records.whole["Claim"]
    refused(api.get("/".join([claim, *[there_and_back] * 6])), 400, "TooCostly")


def test_an_unknown_record_has_no_members(api, records):
    nobody = "claim(00000000-0000-0000-0000-000000000000)"
    for members in ("Total", "Total/$value", "LineItems", "LineItems/$count", "Contact", "Contact/LastName"):
        refused(api.get(f"{nobody}/{members}"), 404, "NotFound")


def test_members_are_only_read(api, records):
    refused(api.post(f"claim({records.whole['Claim']})/LineItems", {"Quantity": 1}), 405)
    refused(api.put(f"claim({records.whole['Claim']})/Total", {"value": 1}), 405)


def test_a_key_may_be_an_alias(api, records):
    key = records.whole["Claim"]
    assert ok(api.get("claim(@k)", {"@k": key}))["ClaimGuid"] == key
    assert ok(api.get("claim(ClaimGuid=@k)/Total", {"@k": key}))["value"] is not None
    assert ok(api.get("team(@k)", {"@k": records.whole["Team"]}))["TeamId"] == records.whole["Team"]
    refused(api.get("claim(@k)"), 400, "InvalidQuery")
    refused(api.get("claim(@k)", {"@k": "5"}), 400)
    refused(api.get("claim(@k)", {"@k": "null"}), 400)


def test_an_id_names_a_record(api, records):
    key = records.whole["Claim"]
    alone = ok(api.get(f"claim({key})", {"$select": "Total"}))
    for identifier in (
        f"claim({key})",
        f"/api/Claim({key})",
        f"http://testserver/api/Claim(ClaimGuid={key})",
    ):
        answer = api.get("$entity", {"$id": identifier, "$select": "Total"})
        assert (ok(answer), answer["ETag"]) == (alone, api.get(f"claim({key})")["ETag"])
    for wrong, status in (
        ({}, 400),
        ({"$id": ""}, 400),
        ({"$id": "claim"}, 404),
        ({"$id": "claim(1)"}, 400),
        ({"$id": f"claim({key})/LineItems"}, 404),
        ({"$id": f"http://evil.example/api/claim({key})"}, 404),
        ({"$id": "/admin/"}, 404),
        ({"$id": "claim(00000000-0000-0000-0000-000000000000)"}, 404),
        ({"$id": f"claim({key})", "$top": "1"}, 400),
        ({"$id": f"claim({key})", "$nothing": "1"}, 400),
    ):
        assert api.get("$entity", wrong).status_code == status, wrong
    staff = Caller(an_application("staff.read", name="Staff only"))
    refused(staff.get("$entity", {"$id": f"claim({key})"}), 403)
