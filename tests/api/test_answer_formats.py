"""What the media type and the preferences of a request change in the JSON of its answer."""

import json

import pytest

from tests.api.caller import Caller, ok, refused

FULL = {"$format": "json;odata.metadata=full"}
TEXT_NUMBERS = "application/json;odata.metadata=minimal;IEEE754Compatible=true"


def test_without_metadata_only_links_and_counts_stand_beside_the_records(api, records):
    answer = api.get("claim", {"$count": "true", "$top": "1"}, Accept="application/json;odata.metadata=none")
    assert answer["Content-Type"] == "application/json; odata.metadata=none"
    body = ok(answer)
    assert list(body) == ["@odata.count", "value"]
    assert not [name for name in body["value"][0] if "@" in name]
    guid = body["value"][0]["ClaimGuid"]
    assert ok(api.get(f"claim/{guid}", {"$format": "json;odata.metadata=none"})) == body["value"][0]


def test_full_metadata_names_types_and_links(api, records):
    guid = records.whole["Claim"]
    body = ok(api.get(f"claim({guid})", {**FULL, "$expand": "LineItems"}))
    address = f"http://testserver/api/Claim({guid})"
    assert body["@odata.type"] == "#Records.Claim"
    assert body["@odata.id"] == body["@odata.editLink"] == address
    assert body["ClaimGuid@odata.type"] == "#Guid"
    assert body["StartDate@odata.type"] == "#Date"
    assert body["Total@odata.type"] == "#Decimal"
    assert body["FundingStatus@odata.type"] == "#Records.ClaimStatus"
    assert "ClaimNumber@odata.type" not in body
    assert body["LineItems@odata.navigationLink"] == f"{address}/LineItems"
    assert body["Contact@odata.associationLink"] == f"{address}/Contact/$ref"
    line = body["LineItems"][0]
    assert line["@odata.type"].startswith("#Records.")
    assert line["@odata.id"] == f"{address}/LineItems({line['LineItemGuid']})"


@pytest.mark.parametrize("version", ["2.0", "2.1"])
@pytest.mark.parametrize("entity_set", ["Staff", "Client", "Claim", "Invoice", "Opportunity"])
def test_the_types_of_full_metadata_are_those_of_the_data_model(api, records, entity_set, version):
    model = ok(api.get("$metadata", {"$format": "json", "version": version}))["Records"]
    query = {**FULL, "$expand": "*", "version": version}
    body = ok(api.get(f"{entity_set}({records.whole[entity_set]})", query))

    def check(value):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                assert item["@odata.type"].removeprefix("#Records.") in model
                for member in item.values():
                    check(member)

    check(body)


def test_full_metadata_adds_annotations_and_changes_no_value(api, records):
    for query in ({"$expand": "*"}, {"$select": "ClientGuid,BusinessName"}):
        plain = ok(api.get("client", query))["value"]
        full = ok(api.get("client", {**query, **FULL}))["value"]
        assert plain == [without_annotations(record) for record in full]


def without_annotations(value):
    if isinstance(value, list):
        return [without_annotations(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: without_annotations(item) for name, item in value.items() if "@odata" not in name}


def test_decimals_and_long_numbers_are_strings_with_all_their_digits_when_asked(api, records):
    query = {"$expand": "LineItems", "$count": "true", "$filter": f"ClaimGuid eq {records.whole['Claim']}"}
    plain = api.get("claim", query).content.decode()
    answer = api.get("claim", query, Accept=TEXT_NUMBERS)
    assert answer["Content-Type"].endswith("; IEEE754Compatible=true")
    body = ok(answer)
    assert body["@odata.count"] == "1"
    claim = body["value"][0]
    assert f'"Total":{claim["Total"]}' in plain
    assert isinstance(claim["LineItems"][0]["Quantity"], str)
    (staff, *_) = ok(api.get("staff", {"$filter": "NumberOfChildren ne null"}, Accept=TEXT_NUMBERS))["value"]
    assert isinstance(staff["NumberOfChildren"], int)


def test_nulls_are_left_out_when_preferred(api, records):
    answer = api.get("client", {"$expand": "*"}, Prefer="omit-values=nulls")
    assert answer["Preference-Applied"] == "omit-values=nulls"
    assert "null" not in json.dumps(ok(answer)["value"])
    plain = ok(api.get("client", {"$expand": "*"}))["value"]
    assert "null" in json.dumps(plain)
    bare = ok(api.get(f"client/{records.bare['Client']}", Prefer="odata.omit-values=nulls"))
    assert "WebAddress" not in bare
    assert bare["BusinessName"]


@pytest.mark.parametrize("entity_set", ["staff", "client", "contact"])
def test_rows_have_their_etags_when_the_request_names_a_level_of_metadata(api, records, entity_set):
    assert "@odata.etag" not in ok(api.get(entity_set))["value"][0]
    for accept in ("application/json;odata.metadata=minimal", "application/json;odata.metadata=full"):
        for row in ok(api.get(entity_set, Accept=accept))["value"]:
            guid = next(value for name, value in row.items() if name.endswith("Guid"))
            item = api.get(f"{entity_set}/{guid}", Accept=accept)
            assert row["@odata.etag"] == item["ETag"] == ok(item)["@odata.etag"]


def test_an_etag_of_a_row_is_one_that_if_match_takes(api, records):
    guid = records.whole["Staff"]
    row = ok(api.get("staff", {"$filter": f"StaffGuid eq {guid}", "$format": "json;odata.metadata=minimal"}))
    etag = row["value"][0]["@odata.etag"]
    assert api.get(f"staff/{guid}", If_None_Match=etag).status_code == 304


@pytest.mark.parametrize("version", ["4.0", "4.01", "4.0;NetFx", "5.0"])
def test_clients_of_version_4_and_later_are_answered_in_4_0(api, version):
    assert api.get("client", OData_MaxVersion=version, OData_Version="4.0")["OData-Version"] == "4.0"


@pytest.mark.parametrize("version", ["3.0", "2.0", "x", "40"])
def test_clients_of_older_versions_are_told_which_there_are(api, version):
    for name in ("OData_MaxVersion", "OData_Version"):
        error = refused(api.get("client", **{name: version}), 400, "InvalidQuery")
        assert error["target"] == name.replace("_", "-")
        assert "4.0 and 4.01" in error["message"]


def test_a_written_record_comes_in_the_json_that_was_asked_for(api):
    answer = api.post(
        "client",
        {"BusinessName": "New"},
        Accept=TEXT_NUMBERS,
        Prefer="return=representation,omit-values=nulls",
    )
    record = ok(answer, 201)
    assert answer["Preference-Applied"] == "return=representation, omit-values=nulls"
    assert record["@odata.etag"] == api.get(f"client/{record['ClientGuid']}")["ETag"]
    assert "WebAddress" not in record


def test_metadata_that_the_caller_has_is_not_sent_again(api):
    for accept in ("application/xml", "application/json"):
        answer = api.get("$metadata", Accept=accept)
        assert answer["Cache-Control"] == "private, no-cache"
        again = api.get("$metadata", Accept=accept, If_None_Match=answer["ETag"])
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", answer["ETag"])
    assert api.get("$metadata", If_None_Match='W/"0"').status_code == 200
    assert Caller().get("$metadata", If_None_Match=answer["ETag"]).status_code == 401


def types_of(row):
    """The types that an object names, by its members."""
    return {name.removesuffix("@odata.type"): type_ for name, type_ in row.items() if "@odata.type" in name}


APPLY = (
    "groupby((FundingStatus,StartDate,Contact/CreationDate),aggregate($count as N,Total with sum as S,"
    "Total with average as A,FundingStatus with countdistinct as D,StartDate with max as M,"
    "ClaimNumber with min as F))"
)
COMPUTE = "year(M) as Y,time(2020-01-01T10:00:00Z) as T,N gt 1 as B,M as L,FundingStatus as E"


def test_rows_name_the_types_of_their_values(api, records):
    query = {"$apply": APPLY, "$compute": COMPUTE, "$filter": "StartDate ne null", "$top": "1"}
    minimal = ok(api.get("claim", {**query, "$format": "json;odata.metadata=minimal"}))["value"][0]
    computed = {
        **{"N": "#Decimal", "S": "#Decimal", "A": "#Decimal", "D": "#Decimal", "M": "#Date"},
        **{"Y": "#Int64", "T": "#TimeOfDay", "L": "#Date", "E": "#Records.ClaimStatus"},
    }
    assert types_of(minimal) == computed
    assert types_of(minimal["Contact"]) == {}
    full = ok(api.get("claim", {**query, **FULL}))["value"][0]
    declared = {"": "#Records.Claim", "FundingStatus": "#Records.ClaimStatus", "StartDate": "#Date"}
    assert types_of(full) == declared | computed
    assert types_of(full["Contact"]) == {"": "#Records.Contact", "CreationDate": "#DateTimeOffset"}
    assert full["@odata.id"] is full["Contact"]["@odata.id"] is None
    assert not [name for name in full if name.endswith("Link")]
    plain = ok(api.get("claim", query))["value"][0]
    for row in (minimal, full):
        assert {name: row[name] for name in plain if name != "Contact"} == {
            name: value for name, value in plain.items() if name != "Contact"
        }


@pytest.mark.parametrize("select", [None, "ClaimNumber,Month,Key"])
def test_computed_values_name_their_types(api, records, select):
    query = {
        "$compute": "month(StartDate) as Month,ClaimGuid as Key,tolower(ClaimNumber) as Text",
        "$expand": "LineItems($compute=Quantity mul Price as Amount,ClaimType as Kind),"
        "Contact($compute=CreationDate as Made)",
        "$filter": f"ClaimGuid eq {records.whole['Claim']}",
        **({"$select": select} if select else {}),
    }
    computed = {"Month": "#Int64", "Key": "#Guid"}
    (row,) = ok(api.get("claim", {**query, "$format": "json;odata.metadata=minimal"}))["value"]
    assert types_of(row) == computed
    assert types_of(row["LineItems"][0]) == {"Amount": "#Decimal", "Kind": "#Records.ClaimType"}
    assert types_of(row["Contact"]) == {"Made": "#DateTimeOffset"}
    (row,) = ok(api.get("claim", {**query, **FULL}))["value"]
    assert computed.items() <= types_of(row).items()
    assert types_of(row)["ClaimGuid"] == "#Guid"
    assert types_of(row["LineItems"][0])["Amount"] == "#Decimal"
    query.pop("$filter")
    one = ok(api.get(f"claim({row['ClaimGuid']})", {**query, "$format": "json;odata.metadata=minimal"}))
    assert types_of(one) == computed
    for level in ("none", ""):
        answer = api.get("claim", {**query, "$format": f"json;odata.metadata={level}" if level else "json"})
        assert "@odata.type" not in answer.content.decode()


def test_values_without_a_type_of_their_own_are_strings_for_ieee_754(api, records):
    query = {"$compute": "month(StartDate) as Month,Total mul 2 as Double,length(ClaimNumber) gt 1 as B"}
    row = ok(api.get("claim", {**query, "$format": TEXT_NUMBERS}))["value"][0]
    assert isinstance(row["Month"], str)
    assert isinstance(row["Double"], str)
    assert row["B"] is True
