"""Query options together and in their spellings."""

import pytest

from tests.api.caller import ok, refused
from tests.people.builders import (
    a_client,
    a_contact,
    a_role,
    a_staff_body,
    a_staff_member,
    a_team,
    posted,
)


def names(answer, member="BusinessName"):
    return [row[member] for row in ok(answer)["value"]]


@pytest.fixture(scope="module", autouse=True)
def clients(module_transaction):
    """Four clients, of which one has no address and one no suburb."""
    a_client(BusinessName="Alpha", Address={"Suburb": "Perth", "Country": "Australia"}, UniqueCode="a")
    a_client(BusinessName="Beta", Address={"Suburb": "Ayr", "State": "QLD", "Country": "Australia"})
    a_client(BusinessName="Gamma", Address={"City": "Rome"}, UniqueCode="g")
    a_client(BusinessName="delta")


def test_options_work_together(api):
    answer = api.get(
        "client",
        {
            "$filter": "Address/Suburb ne null or UniqueCode eq 'g'",
            "$orderby": "Address/Suburb desc, BusinessName",
            "$select": "BusinessName",
            "$expand": "Address($select=Suburb)",
            "$top": "2",
            "$skip": "1",
            "$count": "true",
        },
    )
    keys = {row["BusinessName"]: row["ClientGuid"] for row in ok(api.get("client"))["value"]}
    assert ok(answer) == {
        "@odata.context": "http://testserver/api/$metadata#Client(ClientGuid,BusinessName,Address/Suburb)",
        "@odata.count": 3,
        "value": [
            {"ClientGuid": keys["Beta"], "BusinessName": "Beta", "Address": {"Suburb": "Ayr"}},
            {"ClientGuid": keys["Gamma"], "BusinessName": "Gamma", "Address": {"Suburb": None}},
        ],
    }


def test_the_dollar_may_be_left_out_and_names_of_options_are_in_any_case(api):
    expected = ok(api.get("client", {"$filter": "BusinessName eq 'Beta'", "$select": "BusinessName"}))
    for option, other in (("filter", "select"), ("$FILTER", "$Select"), ("Filter", "SELECT")):
        assert ok(api.get("client", {option: "BusinessName eq 'Beta'", other: "BusinessName"})) == expected
    assert ok(api.get("client", {"$filter": "BUSINESSNAME eq 'Beta'"}), 400)["error"]["message"].endswith(
        "Is BusinessName meant?"
    )
    upper = {"$filter": "CONTAINS(ToLower(BusinessName),'bet')", "$select": "BusinessName"}
    assert ok(api.get("client", upper)) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("BusinessName eq 'Alpha'", ["Alpha"]),
        ("BusinessName eq 'alpha'", []),
        ("'Alpha' eq BusinessName", ["Alpha"]),
        ("BusinessName gt 'Gamma'", ["delta"]),
        ("not (BusinessName gt 'Gamma')", ["Alpha", "Beta", "Gamma"]),
        ("UniqueCode eq null", ["Beta", "delta"]),
        ("UniqueCode ne 'a'", ["Beta", "Gamma", "delta"]),
        ("not (UniqueCode eq 'a')", ["Beta", "Gamma", "delta"]),
        ("UniqueCode gt 'a'", ["Gamma"]),
        ("not (UniqueCode gt 'a')", ["Alpha", "Beta", "delta"]),
        ("UniqueCode gt null", []),
        ("contains(BusinessName,'a') and not contains(BusinessName,'ta')", ["Alpha", "Gamma"]),
        ("contains(UniqueCode,'a')", ["Alpha"]),
        ("not contains(UniqueCode,'a')", ["Gamma"]),
        ("startswith(Address/Suburb,'P') or endswith(Address/City,'e')", ["Alpha", "Gamma"]),
        ("Address/Suburb in ('Perth','Ayr')", ["Alpha", "Beta"]),
        ("not (Address/Suburb in ('Perth','Ayr'))", ["Gamma", "delta"]),
        ("Address/State eq 'QLD' and Address/Country eq 'Australia'", ["Beta"]),
        ("length(BusinessName) eq 5 and IsSelf eq false", ["Alpha", "Gamma", "delta"]),
        ("indexof(BusinessName,'a') eq 1", ["Gamma"]),
        ("substring(BusinessName,1,2) eq 'lp'", ["Alpha"]),
        ("concat(concat(BusinessName,'-'),UniqueCode) eq 'Gamma-g'", ["Gamma"]),
        ("toupper(BusinessName) eq 'DELTA'", ["delta"]),
        ("CreationDate le now() and year(CreationDate) ge 2024", ["Alpha", "Beta", "Gamma", "delta"]),
        ("CreationDate gt 2999-01-01T00:00:00Z", []),
        ("KeyContact/LastName eq null", ["Alpha", "Beta", "Gamma", "delta"]),
        ("ArchiveDate eq null and true", ["Alpha", "Beta", "Gamma", "delta"]),
        ("false", []),
    ],
)
def test_filters_choose_what_odata_says(api, condition, expected):
    assert names(api.get("client", {"$filter": condition, "$orderby": "BusinessName"})) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"BusinessName": "Alpha"}, ["Alpha"]),
        ({"Address/Suburb": "Perth"}, ["Alpha"]),
        ({"BusinessName__in": "Alpha,Beta"}, ["Alpha", "Beta"]),
        ({"BusinessName__contains": "ta", "Address/State__isnull": "true"}, ["delta"]),
        ({"UniqueCode__ne": "a"}, ["Beta", "Gamma", "delta"]),
        ({"CreationDate__ge": "2020-01-01", "IsSelf": "false", "BusinessName__startswith": "d"}, ["delta"]),
        ({"UniqueCode": "a", "$filter": "BusinessName eq 'Beta'"}, []),
    ],
)
def test_plain_filters_are_for_people_with_curl(api, query, expected):
    assert names(api.get("client", {"$orderby": "BusinessName", **query})) == expected


def test_parameter_aliases_hold_constants(api):
    query = {"$filter": "BusinessName eq @name or UniqueCode eq @none", "@name": "'Beta'", "@none": "null"}
    assert names(api.get("client", {**query, "$orderby": "BusinessName"})) == ["Beta", "delta"]
    refused(api.get("client", {"$filter": "BusinessName eq @name", "@name": "UniqueCode"}), 400)


def test_a_search_finds_all_words_without_regard_to_case(api):
    assert names(api.get("client", {"$search": "ALPH"})) == ["Alpha"]
    assert names(api.get("client", {"$search": "lph a"})) == ["Alpha"]
    assert names(api.get("client", {"$search": "alpha beta"})) == []
    assert names(api.get("client", {"$search": '"amma"', "$count": "true"})) == ["Gamma"]
    error = refused(api.get("position", {"$search": "x"}), 400, "InvalidQuery")
    assert error["message"] == "Position cannot be searched; use $filter."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alpha OR beta", ["Alpha", "Beta"]),
        ("NOT alpha", ["Beta", "Gamma", "delta"]),
        ("a NOT (alpha OR gamma)", ["Beta", "delta"]),
        ("(alpha OR beta) AND NOT bet", ["Alpha"]),
        ("alpha OR beta bet", ["Alpha", "Beta"]),
        ('NOT NOT "elt"', ["delta"]),
    ],
)
def test_a_search_has_or_not_phrases_and_parentheses(api, text, expected):
    assert names(api.get("client", {"$search": text, "$orderby": "BusinessName"})) == expected


@pytest.mark.parametrize(
    ("text", "position"),
    [
        (" ".join("abcdefghijklm"), 25),
        ('""', 1),
        ('alpha "beta', 6),
        ("alpha OR", 9),
        ("NOT", 4),
        ("(alpha", 7),
        ("alpha)", 6),
        ("OR alpha", 1),
        ("NOT " * 20 + "alpha", 49),
    ],
)
def test_a_search_that_cannot_be_read_is_refused_with_the_position(api, text, position):
    error = refused(api.get("client", {"$search": text}), 400, "InvalidQuery")
    assert f"at position {position}: " in error["message"]
    assert "AND, OR, NOT and parentheses" in error["message"]
    assert error["target"] == "$search"


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_search_is_refused(api, text):
    refused(api.get("client", {"$search": text}), 400)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("BusinessName in ()", []),
        ("not (BusinessName in ())", ["Alpha", "Beta", "Gamma", "delta"]),
        ("$it/BusinessName eq 'Beta'", ["Beta"]),
        ("$this/BusinessName eq 'Beta'", ["Beta"]),
    ],
)
def test_filters_have_empty_lists_and_the_names_of_the_record(api, condition, expected):
    assert names(api.get("client", {"$filter": condition, "$orderby": "BusinessName"})) == expected


def test_a_search_takes_percent_signs_and_underscores_as_they_are(api):
    for name in ("50% off", "50_ off", "50 off", "ÉCOLE \\ d'été"):
        a_client(BusinessName=name)
    assert names(api.get("client", {"$search": "50%"})) == ["50% off"]
    assert names(api.get("client", {"$search": "50_"})) == ["50_ off"]
    assert names(api.get("client", {"$search": "école"})) == ["ÉCOLE \\ d'été"]
    assert names(api.get("client", {"$search": "d'"})) == ["ÉCOLE \\ d'été"]


def test_archived_records_are_shown_unless_left_out(api):
    gone = a_client(BusinessName="Gone")
    type(gone).objects.filter(pk=gone.pk).update(archive_date="2024-10-05T15:59:59Z")
    kept = ["Alpha", "Beta", "Gamma", "delta"]
    assert sorted(names(api.get("client"))) == sorted(["Gone", *kept])
    assert sorted(names(api.get("client", {"$filter": "ArchiveDate eq null"}))) == kept
    assert ok(api.get(f"client/{gone.pk}"))["ArchiveDate"] == "2024-10-06T01:59:59+10:00"


# --- options inside $expand ---------------------------------------------------------------------------


@pytest.fixture
def teamed(api):
    """Two members of staff, of whom one is in four teams and one in none."""
    role = a_role()
    for name in ("Delta", "alpha", "Charlie", "Bravo"):
        a_team(name=name)
    teams = {team.name: team.pk for team in type(a_team(name="Unused")).objects.all()}
    listed = [{"TeamId": teams[name]} for name in ("Delta", "alpha", "Charlie", "Bravo")]
    posted("staff", a_staff_body(role, FirstName="Many", Teams=listed), a_staff_body(role, FirstName="None"))
    return api


def expanded(api, options, **query):
    query = {"$expand": f"Teams({options})", "$orderby": "FirstName", "$select": "FirstName", **query}
    return ok(api.get("staff", query))["value"]


def teams_of(row):
    return [team["Name"] for team in row["Teams"]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("$orderby=Name", ["Bravo", "Charlie", "Delta", "alpha"]),
        ("$orderby=Name desc;$top=2", ["alpha", "Delta"]),
        ("$orderby=Name;$skip=1;$top=2", ["Charlie", "Delta"]),
        ("$filter=Name gt 'C' and Name lt 'a';$orderby=Name", ["Charlie", "Delta"]),
        ("filter=contains(Name,'l');orderby=tolower(Name)", ["alpha", "Charlie", "Delta"]),
        ("$top=0", []),
        ("$filter=Name eq 'a;b)('", []),
    ],
)
def test_lists_are_filtered_ordered_and_cut_in_place(teamed, options, expected):
    many, none = expanded(teamed, options)
    assert (teams_of(many), none["Teams"]) == (expected, [])


def test_a_list_can_tell_how_many_it_has_before_it_is_cut(teamed):
    many, none = expanded(teamed, "$count=true;$top=1;$orderby=Name;$select=Name")
    assert [many["Teams@odata.count"], teams_of(many)] == [4, ["Bravo"]]
    assert [none["Teams@odata.count"], none["Teams"]] == [0, []]
    assert list(many) == ["StaffGuid", "FirstName", "Teams@odata.count", "Teams"]


def test_two_lists_of_conditions_keep_their_own_parameters(teamed):
    query = {"$filter": "Teams/any(t:t/Name eq 'Delta') and FirstName eq 'Many'", "$count": "true"}
    (many,) = expanded(teamed, "$filter=Name eq 'Bravo' or Name eq 'alpha';$orderby=Name", **query)
    assert teams_of(many) == ["Bravo", "alpha"]


@pytest.mark.parametrize(
    "condition",
    [
        "Teams/any(t:t/Name eq 'alpha')",
        "Teams/any(t:t/Name eq 'alpha' and not (t/Name eq 'Bravo'))",
        "Teams/$count eq 4",
        "Teams/any()",
        "not Teams/all(t:t/Name eq 'alpha')",
        "Teams/any(t:t/ArchiveDate eq null and contains(t/Name,'e'))",
        "Teams/any(t:Teams/any(u:u/Name gt t/Name))",
    ],
)
def test_lambdas_ask_about_the_items_of_a_list(teamed, condition):
    assert names(teamed.get("staff", {"$filter": condition}), "FirstName") == ["Many"]
    assert names(teamed.get("staff", {"$filter": f"not ({condition})"}), "FirstName") == ["None"]


def test_an_unused_list_is_right_under_all_and_not_any(teamed):
    for condition in ("Teams/all(t:t/Name eq 'x')", "not Teams/any()", "not Teams/any(t:t/Name ne 'x')"):
        assert names(teamed.get("staff", {"$filter": condition}), "FirstName") == ["None"]


def test_an_item_of_which_a_condition_is_null_does_not_fulfil_all(teamed):
    condition = "Teams/all(t:t/ArchiveDate lt 2100-01-01T00:00:00Z)"  # current teams have none
    assert names(teamed.get("staff", {"$filter": condition}), "FirstName") == ["None"]
    assert names(teamed.get("staff", {"$filter": f"not ({condition})"}), "FirstName") == ["Many"]


def test_parts_inside_parts_are_chosen_by_name(api):
    manager = a_staff_member(FirstName="Boss", LastName="Person")
    client = a_client(BusinessName="Works")
    contact = a_contact(
        Client={"ClientGuid": str(client.pk)},
        AccountManager={"StaffGuid": str(manager.pk)},
        Representative=None,
    )
    query = {
        "$expand": "Client($select=BusinessName),AccountManager($select=FirstName,LastName)",
        "$select": "LastName",
    }
    body = ok(api.get("contact", query))
    assert body["value"] == [
        {
            "ContactGuid": str(contact.pk),
            "LastName": "Byron",
            "Client": {"ClientGuid": str(client.pk), "BusinessName": "Works"},
            "AccountManager": {"StaffGuid": str(manager.pk), "FirstName": "Boss", "LastName": "Person"},
        }
    ]
    parts = "Client(ClientGuid,BusinessName),AccountManager(StaffGuid,FirstName,LastName)"
    assert body["@odata.context"].endswith(f"#Contact(ContactGuid,LastName,{parts})")


@pytest.mark.parametrize(
    ("expand", "status"),
    [
        ("Address($filter=Suburb eq 'x')", 400),
        ("Address($top=1)", 400),
        ("Teams($nothing=1)", 400),
        ("Teams($filter=Nothing eq 1)", 400),
        ("Teams($orderby=Nothing)", 400),
        ("Teams($select=Nothing)", 400),
        ("Teams($expand=Nothing)", 400),
        ("Teams($top=-1)", 400),
        ("Teams($top=1;$top=2)", 400),
        ("Teams(", 400),
        ("Teams)", 400),
        ("Teams()x", 400),
        ("Teams,Teams", 400),
        ("Teams/Name", 400),
        ("*($top=1)", 400),
        (",", 400),
        ("FirstName", 400),
        ("Teams/$ref", 400),
        ("Address/$count", 400),
        ("Teams($levels=0)", 400),
        ("Teams($search=x)", 400),
        ("Teams($compute=1 as Name)", 400),
        ("Teams(" * 1000, 400),
        ("Teams($expand=" * 50 + ")" * 50, 400),
    ],
)
def test_what_cannot_stand_in_expand_is_refused(api, expand, status):
    refused(api.get("staff", {"$expand": expand}), status)


def test_a_star_beside_a_part_with_options_shows_the_others_whole(teamed):
    rows = ok(teamed.get("staff", {"$expand": "*,Teams($top=1;$orderby=Name)", "$orderby": "FirstName"}))[
        "value"
    ]
    assert teams_of(rows[0]) == ["Bravo"]
    assert rows[0]["PrimaryRole"]["Name"].startswith("Role")
    assert list(rows[0])[-7:] == [
        "Address",
        "PostalAddress",
        "Teams",
        "AccountManager",
        "PrimaryRole",
        "PositionTitle",
        "Location",
    ]


# --- one record --------------------------------------------------------------------------------------


def test_one_record_takes_select_and_expand_and_refuses_what_chooses_rows(api):
    client = a_client(BusinessName="One", Address={"Suburb": "Ayr"})
    body = ok(
        api.get(f"client/{client.pk}", {"$select": "BusinessName", "$expand": "Address($select=Suburb)"})
    )
    assert body == {
        "@odata.context": "http://testserver/api/$metadata#Client(ClientGuid,BusinessName,Address/Suburb)/$entity",
        "ClientGuid": str(client.pk),
        "BusinessName": "One",
        "Address": {"Suburb": "Ayr"},
    }
    for option, value in {
        "$filter": "true",
        "$orderby": "BusinessName",
        "$top": "1",
        "$top ": "1",
        "$skip": "0",
        "$search": "x",
        "$skiptoken": "x",
        "BusinessName": "One",
        "$format": "csv",
        "ignoreCase": "true",
    }.items():
        error = refused(api.get(f"client/{client.pk}", {option: value}), 400)
        assert error["target"].strip() == option.strip()


def test_a_select_of_only_a_part_shows_no_field_but_the_key(api):
    client = a_client(Address={"Suburb": "Ayr"})
    body = ok(api.get(f"client/{client.pk}", {"$select": "Address", "$expand": "Address"}))
    assert list(body) == ["@odata.context", "ClientGuid", "Address"]


# --- formats -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("application/json", "application/json"),
        ("application/json;odata.metadata=minimal", "application/json"),
        ("*/*", "application/json"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json"),
        ("text/csv;q=0.5, application/json", "application/json"),
        ("application/x-ndjson", "application/x-ndjson"),
        ("text/csv", "text/csv"),
        ("TEXT/CSV; Q=1", "text/csv"),
        ("", "application/json"),
    ],
)
def test_the_accept_header_chooses_the_format(api, accept, media):
    assert api.get("client", Accept=accept)["Content-Type"].split(";")[0] == media


def test_a_format_not_served_is_406(api):
    refused(api.get("client", Accept="application/xml"), 406, "NotAcceptable")
    refused(api.get("client", Accept="text/csv;q=0"), 406, "NotAcceptable")
    refused(api.get("client", {"$format": "xml"}), 406, "NotAcceptable")
    for unknown in ("json;odata.metadata=verbose", "atom"):
        error = refused(api.get("client", {"$format": unknown}), 406, "NotAcceptable")
        assert "odata.metadata=none, minimal, full" in error["message"]
    refused(api.get("client", {"$format": ""}), 400)
    ok(api.get("client", {"$format": "json"}, Accept="text/csv"))
    ok(api.get("client", {"format": "JSON"}))
