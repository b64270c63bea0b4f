"""Pages by nextLink: every record once, whatever others write meanwhile."""

import datetime as dt
import json
import queue
import threading
import uuid
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import pytest
from django.db import connection
from requests.utils import parse_header_links

from apps.people.models import Client, Contact
from tests.api.caller import Caller, ok, refused
from tests.people.builders import (
    a_client,
    a_client_body,
    a_contact_body,
    a_staff_member,
    a_team,
    posted,
)

MANY = 1_050


def clients(number, prefix="Client"):
    """So many clients, a thousand to a body."""
    bodies = [a_client_body(BusinessName=f"{prefix} {n:05d}") for n in range(number)]
    for start in range(0, number, 1000):
        posted("client", *bodies[start : start + 1000])


def guids(rows):
    return [row["ClientGuid"] for row in rows]


def query_of(link):
    return dict(parse_qsl(urlsplit(link).query))


def test_a_thousand_records_come_in_pages_of_300_each_once(api):
    clients(MANY)
    pages = list(api.pages("client"))
    assert [len(page) for page in pages] == [300, 300, 300, 150]
    found = [guid for page in pages for guid in guids(page)]
    assert len(set(found)) == MANY


def test_pages_go_on_where_they_were_while_others_insert_and_archive(api):
    clients(MANY)
    existing = {str(key) for key in Client.objects.values_list("pk", flat=True)}
    for query in ({}, {"$orderby": "BusinessName"}, {"$orderby": "UniqueCode desc,BusinessName desc"}):
        found = []
        for number, page in enumerate(api.pages("client", {"$select": "ClientGuid", **query})):
            found += guids(page)
            posted("client", *(a_client_body() for _ in range(50)))  # before, behind and among the rows shown
            a_client(BusinessName=f"Client 00500 {query} {number}")
        mine = [guid for guid in found if guid in existing]
        assert len(mine) == MANY, query
        assert set(mine) == existing, query
        assert len(found) == len(set(found)), query


@pytest.mark.postgres("SQLite has one writer and its test database one connection")
@pytest.mark.django_db(transaction=True)
def test_pages_go_on_where_they_were_while_another_connection_inserts(api):
    clients(MANY)
    existing = {str(key) for key in Client.objects.values_list("pk", flat=True)}
    done, inserted = threading.Event(), queue.SimpleQueue[int]()

    def insert():
        try:
            while not done.is_set():
                posted("client", *(a_client_body() for _ in range(20)))
                inserted.put(20)
        finally:
            connection.close()

    writer = threading.Thread(target=insert)
    writer.start()
    try:
        found = []
        for page in api.pages("client", {"$orderby": "BusinessName"}, Prefer="odata.maxpagesize=50"):
            found += guids(page)
            inserted.get(timeout=30)  # between any two pages something was inserted, however slow the machine
    finally:
        done.set()
        writer.join()
    assert len(found) == len(set(found))
    assert [guid for guid in found if guid in existing] == [
        str(key)
        for key in Client.objects.filter(pk__in=existing)
        .order_by("business_name")
        .values_list("pk", flat=True)
    ]


# --- $top, $skip, Prefer ------------------------------------------------------------------------------


def test_top_beyond_a_page_comes_in_pages_of_which_the_last_is_cut(api, settings):
    settings.API_TOP_PAGE_SIZE = 300
    clients(700)
    pages = list(api.pages("client", {"$top": "650"}))
    assert [len(page) for page in pages] == [300, 300, 50]
    assert len({guid for page in pages for guid in guids(page)}) == 650


def test_a_page_with_a_top_is_larger_for_clients_that_read_one_page_only(api):
    clients(301)
    assert len(ok(api.get("client"))["value"]) == 300
    body = ok(api.get("client", {"$top": "1000"}))
    assert len(body["value"]) == 301
    assert "@odata.nextLink" not in body


@pytest.mark.parametrize("top", [1, 4, 5])
def test_top_within_a_page_is_all_there_is(api, top):
    clients(5)
    body = ok(api.get("client", {"$top": str(top)}))
    assert len(body["value"]) == top
    assert "@odata.nextLink" not in body


def test_top_of_nothing_is_an_empty_page_that_still_counts(api):
    clients(3)
    body = ok(api.get("client", {"$top": "0", "$count": "true"}))
    assert (body["value"], body["@odata.count"]) == ([], 3)
    assert "@odata.nextLink" not in body


def test_a_page_that_ends_with_the_last_record_has_no_link(api):
    clients(6)
    assert [len(page) for page in api.pages("client", Prefer="odata.maxpagesize=3")] == [3, 3]
    body = ok(api.get("client", Prefer="odata.maxpagesize=6"))
    assert "@odata.nextLink" not in body


def test_skip_leaves_out_the_first_rows_and_pages_from_there(api):
    clients(10)
    whole = guids(api.all("client"))
    assert guids(ok(api.get("client", {"$skip": "4"}))["value"]) == whole[4:]
    assert guids(ok(api.get("client", {"$skip": "4", "$top": "3"}))["value"]) == whole[4:7]
    assert ok(api.get("client", {"$skip": "10"}))["value"] == []
    first = ok(api.get("client", {"$skip": "4"}, Prefer="odata.maxpagesize=2"))
    rest = ok(api.follow(first["@odata.nextLink"]))
    assert guids(first["value"]) + guids(rest["value"]) == whole[4:]


def test_the_largest_skip_and_top_are_answered_at_once(api):
    clients(3)
    assert ok(api.get("client", {"$skip": str(2**31 - 1)}))["value"] == []
    assert len(ok(api.get("client", {"$top": str(2**31 - 1)}))["value"]) == 3


def test_a_page_size_is_preferred_up_to_the_limit_and_reported_back(api, settings):
    clients(12)
    answer = api.get("client", Prefer="odata.maxpagesize=5")
    assert len(ok(answer)["value"]) == 5
    assert answer["Preference-Applied"] == "odata.maxpagesize=5"
    assert len(ok(api.get("client", Prefer="respond-async, maxpagesize=5"))["value"]) == 5
    settings.API_MAX_PAGE_SIZE = 7
    answer = api.get("client", Prefer='odata.maxpagesize="5000"')
    assert len(ok(answer)["value"]) == 7
    assert answer["Preference-Applied"] == "odata.maxpagesize=7"
    for ignored in ("odata.maxpagesize=0", "odata.maxpagesize=-1", "odata.maxpagesize=x", "maxpagesize", ""):
        answer = api.get("client", Prefer=ignored)
        assert len(ok(answer)["value"]) == 12
        assert "Preference-Applied" not in answer


# --- the link -----------------------------------------------------------------------------------------


def test_a_link_is_absolute_with_the_host_that_was_asked(api, settings):
    clients(4)
    settings.ALLOWED_HOSTS = ["records.example:8443", "records.example"]
    other = Caller(api.authorization, host="records.example:8443")
    body = ok(other.get("client", {"$top": "3"}, Prefer="odata.maxpagesize=2"))
    assert body["@odata.nextLink"].startswith("http://records.example:8443/api/Client?$top=1&$skiptoken=")
    assert body["@odata.context"].startswith("http://records.example:8443/api/$metadata#Client(ClientGuid,")
    assert len(ok(other.follow(body["@odata.nextLink"]))["value"]) == 1


def test_a_host_that_only_a_proxy_names_is_not_believed(api):
    clients(4)
    body = ok(api.get("client", X_Forwarded_Host="evil.example", Prefer="odata.maxpagesize=2"))
    assert "evil" not in json.dumps(body)


def test_a_link_keeps_everything_else_that_was_asked(api):
    for number in range(6):
        a_client(BusinessName=f"O'Hara & Söhne 100% +{number} #", UniqueCode=f"ü{number}")
    query = {
        "$filter": "startswith(BusinessName,@start) and UniqueCode ne 'a&b=c+d%'",
        "@start": "'O''Hara & Söhne 100% +'",
        "$orderby": "BusinessName desc",
        "$select": "BusinessName,ClientGuid",
        "$expand": "Address",
        "$count": "true",
        "version": "2.0",
        "UniqueCode__contains": "ü",
    }
    names = []
    answer = ok(api.get("client", query, Prefer="odata.maxpagesize=4"))
    while True:
        assert answer["@odata.count"] == 6
        assert all(set(row) == {"BusinessName", "ClientGuid", "Address"} for row in answer["value"])
        names += [row["BusinessName"] for row in answer["value"]]
        if "@odata.nextLink" not in answer:
            break
        assert query.items() <= query_of(answer["@odata.nextLink"]).items()
        answer = ok(api.follow(answer["@odata.nextLink"]))
    assert names == [f"O'Hara & Söhne 100% +{number} #" for number in reversed(range(6))]


def test_what_programs_add_to_every_address_changes_no_answer(api):
    clients(3)
    query, added = {"$orderby": "BusinessName", "$top": "2"}, {"_": "1700000000", "sap-client": "100"}
    plain = ok(api.get("client", query))
    assert ok(api.get("client", {**query, **added})) == plain
    assert ok(ask(api, "$orderby=BusinessName&$top=2&_=1&sap-language=EN")) == plain
    url = "client?$orderby=BusinessName&$top=2&_=1"
    batch = api.post("$batch", {"requests": [{"id": "1", "method": "GET", "url": url}]}, added)
    assert ok(batch)["responses"][0]["body"] == plain
    page = ok(api.get("client", {**added, "$orderby": "BusinessName"}, Prefer="odata.maxpagesize=2"))
    assert "_=" not in page["@odata.nextLink"]
    assert "sap-" not in page["@odata.nextLink"]
    guid = page["value"][0]["ClientGuid"]
    for path in ("", "$metadata", "client/$count", f"client({guid})", f"client({guid})/BusinessName"):
        assert api.get(path, added).status_code == 200
    assert api.post("client", a_client_body(), added).status_code == 201
    assert api.get("$entity", {"$id": f"client({guid})", **added}).status_code == 200


def test_options_without_the_dollar_are_not_doubled_in_a_link(api):
    clients(7)
    body = ok(
        api.get("client", {"top": "5", "skip": "1", "orderby": "BusinessName"}, Prefer="odata.maxpagesize=2")
    )
    assert query_of(body["@odata.nextLink"]).keys() == {"orderby", "$top", "$skiptoken"}
    assert len(ok(api.follow(body["@odata.nextLink"]))["value"]) == 3


# --- tokens -------------------------------------------------------------------------------------------


@pytest.fixture
def token(api):
    clients(4)
    body = ok(api.get("client", {"$orderby": "BusinessName"}, Prefer="odata.maxpagesize=2"))
    return query_of(body["@odata.nextLink"])["$skiptoken"]


def test_a_token_that_was_tampered_with_is_refused(api, token):
    ok(api.get("client", {"$orderby": "BusinessName", "$skiptoken": token}))
    swapped = token[:5] + ("a" if token[5] != "a" else "b") + token[6:]
    cut, signature = token[:-1], token.rpartition(".")[2]
    for bad in (
        swapped,
        cut,
        token + "A",
        f".{signature}",
        "x",
        ".",
        "...",
        "é",
        "W10" + token,
        "a" * 16_000,
    ):
        refused(api.get("client", {"$orderby": "BusinessName", "$skiptoken": bad}), 400, "InvalidSkiptoken")
    refused(api.get("client", {"$orderby": "BusinessName", "$skiptoken": ""}), 400)


def test_a_token_of_another_order_or_collection_is_refused(api, token):
    for path, query in (
        ("client", {}),
        ("client", {"$orderby": "BusinessName desc"}),
        ("client", {"$orderby": "BusinessName,UniqueCode"}),
        ("contact", {}),
        ("role", {"$orderby": "Name"}),
    ):
        refused(api.get(path, {**query, "$skiptoken": token}), 400, "InvalidSkiptoken")


def test_a_token_does_not_go_with_a_stream(api, token):
    query = {"$orderby": "BusinessName", "$skiptoken": token, "$format": "ndjson"}
    refused(api.get("client", query), 400, "InvalidQuery")


# --- orders -------------------------------------------------------------------------------------------

CODES = [None, "", "a", "B", "b", "Z", "é", "z", "ﬁ", "🚀", "10", "9", " a", "a b", None, "_", "A"]


@pytest.mark.parametrize("order", ["UniqueCode", "UniqueCode desc", "UniqueCode desc,BusinessName asc"])
def test_pages_of_an_order_with_nulls_agree_with_the_order_by_code_point(api, order):
    named = {}
    for number, code in enumerate(CODES):
        # Folded alike are refused, so each has a mark of its own behind it.
        given = f"{code}{number:02d}" if code else None
        named[f"Name {number:02d}"] = given
        a_client(BusinessName=f"Name {number:02d}", UniqueCode=given)
    rows = []
    query = {"$orderby": order, "$select": "UniqueCode,BusinessName"}
    answer = ok(api.get("client", query, Prefer="odata.maxpagesize=2"))
    while True:
        rows += answer["value"]
        if "@odata.nextLink" not in answer:
            break
        link = urlsplit(answer["@odata.nextLink"])
        answer = ok(api.get(link.path, link.query, Prefer="odata.maxpagesize=2"))
    falling = "desc" in order
    codes = sorted((code for code in named.values() if code), reverse=falling)
    nulls = [None] * sum(code is None for code in named.values())
    assert [row["UniqueCode"] for row in rows] == (codes + nulls if falling else nulls + codes)
    assert {row["BusinessName"]: row["UniqueCode"] for row in rows} == named


@pytest.mark.parametrize(
    "order",
    [
        "Birthday",
        "Birthday desc",
        "Gender,Birthday desc",
        "Gender desc,NumberOfChildren",
        "NumberOfChildren desc,Birthday desc,FirstName",
        "Client/BusinessName,LastName desc",
        "Client/BusinessName desc",
        "Address/Suburb desc,Birthday",
        "tolower(FirstName) desc",
        "length(FirstName),FirstName desc",
        "SendBirthdayReminder desc,Birthday",
        "CreationDate",
    ],
)
def test_pages_of_any_order_are_the_list_cut_in_pieces(api, order):
    owner = str(a_client(BusinessName="Zeta").pk), str(a_client(BusinessName="alpha").pk), None
    bodies = []
    for number in range(24):
        body = a_contact_body(FirstName="abcABC"[number % 6] * (number % 4 + 1), LastName=f"L{number:02d}")
        body["Birthday"] = (None, "1950-01-01", "1999-12-31", "2000-02-29")[number % 4]
        body["Gender"] = (None, "Male", "Female")[number % 3]
        body["NumberOfChildren"] = (None, 0, 3, -0, 11)[number % 5]
        body["SendBirthdayReminder"] = body["Birthday"] is not None and number % 2 == 0
        body["Address"] = {"Suburb": (None, "Perth", "Ayr")[number // 8]}
        guid = owner[number % 3]
        body["Client"] = None if guid is None else {"ClientGuid": guid}
        bodies.append(body)
    posted("contact", *bodies)
    query = {"$orderby": order, "$select": "LastName"}
    whole = [row["LastName"] for row in ok(api.get("contact", query))["value"]]
    assert len(set(whole)) == 24
    pieces = []
    address = "/api/contact"
    asked = "&".join(f"{name}={quote(value)}" for name, value in query.items())
    while asked:
        page = ok(api.get(address, asked, Prefer="odata.maxpagesize=3"))
        pieces += [row["LastName"] for row in page["value"]]
        asked = urlsplit(page.get("@odata.nextLink", "")).query
    assert pieces == whole


def test_records_of_one_moment_are_paged_by_their_key(api):
    keys = posted("contact", *(a_contact_body() for _ in range(30)))
    assert Contact.objects.values("creation_date").distinct().count() == 1
    found = [row["ContactGuid"] for row in api.all("contact")]
    assert found == sorted(map(str, keys), reverse=True)


# --- the Link header ------------------------------------------------------------------------------------


def next_of_header(answer):
    """What a program that knows nothing of OData follows, and one that cuts the header at each comma."""
    assert answer["Link"].count(",") == 0
    (link,) = parse_header_links(answer["Link"])
    assert link["rel"] == "next"
    return link["url"]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("client", {}),
        ("client", {"$select": "BusinessName,CreationDate", "$orderby": "BusinessName desc,CreationDate"}),
        ("client", {"$filter": 'BusinessName ne \'<\r\n>"; rel="prev",é%\''}),
        ("client/$ref", {}),
        ("client", {"$apply": "groupby((BusinessName,ClientGuid),aggregate($count as N))"}),
        ("client", {"$apply": "topcount(3,BusinessName)"}),
    ],
)
def test_a_page_names_the_next_one_in_a_header_as_well(api, path, query):
    clients(4)
    first = api.get(path, query, Prefer="odata.maxpagesize=2")
    link = next_of_header(first)
    assert unquote(link) == unquote(ok(first)["@odata.nextLink"])
    assert api.call("HEAD", path, query, Prefer="odata.maxpagesize=2")["Link"] == first["Link"]
    last = api.follow(link, Prefer="odata.maxpagesize=5")
    assert ok(last)["value"] == ok(api.follow(ok(first)["@odata.nextLink"]))["value"] != []
    assert "Link" not in last


@pytest.mark.django_db(transaction=True)  # of changes that are not committed a delta tells nothing
def test_lists_behind_a_record_bodies_and_deltas_name_the_next_page_in_a_header(api):
    teams = [a_team(name=f"T{n}") for n in range(3)]
    member = a_staff_member(Teams=[{"TeamId": team.pk} for team in teams])
    clients(3)
    size = {"Prefer": "odata.track-changes,odata.maxpagesize=2"}
    assert "/Teams?" in next_of_header(api.get(f"staff({member.pk})/Teams", **size))
    assert next_of_header(ask(api, "$select=BusinessName", **size)).startswith(
        "http://testserver/api/Client?"
    )
    first = api.get("client", **size)
    last = api.follow(next_of_header(first), **size)
    assert "Link" not in last  # that to the changes is none to the next page
    for guid in Client.objects.values_list("pk", flat=True):
        body, headers = {"WebAddress": "https://x.example"}, {"api_version": "2.1", "If_Match": "*"}
        ok(api.patch(f"client({guid})", body, **headers))
    changes = api.follow(ok(last)["@odata.deltaLink"], **size)
    assert len(ok(api.follow(next_of_header(changes), **size))["value"]) == 1


def test_a_link_longer_than_proxies_take_is_in_the_body_only(api):
    clients(2)
    for length, has_header in ((3_000, True), (5_000, False)):
        query = {"$filter": f"BusinessName ne '{'x' * length}'"}
        answer = api.get("client", query, Prefer="odata.maxpagesize=1")
        assert "@odata.nextLink" in ok(answer)
        assert ("Link" in answer) is has_header


# --- POST /{set}/$query -------------------------------------------------------------------------------


def ask(api, text, path="client/$query", query=None, media="text/plain", **headers):
    return api.call("POST", path, query, text.encode(), content_type=media, **headers)


def test_a_query_sent_as_a_body_is_answered_like_one_in_the_address(api):
    clients(5)
    query = {"$filter": "BusinessName gt 'Client 00001'", "$orderby": "BusinessName", "$count": "true"}
    text = "&".join(f"{name}={quote(value)}" for name, value in query.items())
    expected = ok(api.get("client", query))
    assert ok(ask(api, text)) == expected
    assert ok(ask(api, text, media="text/plain; charset=utf-8")) == expected
    assert ok(ask(api, text, media="application/x-www-form-urlencoded")) == expected
    assert ok(ask(api, text, path="/API/Client/$Query/")) == expected
    assert (
        ok(ask(api, "$orderby=BusinessName", query={k: query[k] for k in ("$filter", "$count")})) == expected
    )


def test_a_query_too_long_for_an_address_goes_in_a_body(api):
    clients(3)
    wanted = ",".join(f"'Client {number:05d}'" for number in range(1, 400))
    text = f"$filter={quote(f'BusinessName in ({wanted})')}"
    assert len(text) > 8_000
    assert len(ok(ask(api, text))["value"]) == 2


NUMBERS = range(5_000)
#: Conditions with lists of 5,000 values, of which one is of each of three clients.
LISTS = {
    "ClientGuid in": lambda found: [
        *(row["ClientGuid"] for row in found),
        *(str(uuid.UUID(int=n)) for n in NUMBERS[3:]),
    ],
    "BusinessName in": lambda found: [f"'Client {n:05d} of \\ the \"list\"'" for n in NUMBERS],
    "length(BusinessName) in": lambda found: [str(n) for n in NUMBERS],
    "(length(BusinessName) divby 2) in": lambda found: [f"{n}.5" if n % 2 else f"{n}.0" for n in NUMBERS],
    "date(CreationDate) in": lambda found: [
        str(dt.date.fromisoformat(found[0]["CreationDate"][:10]) - dt.timedelta(n)) for n in NUMBERS
    ],
}


@pytest.mark.parametrize("operand", LISTS)
def test_a_list_of_5000_values_is_sent_in_a_body(api, operand):
    for number in range(3):
        a_client(BusinessName=f'Client {number:05d} of \\ the "list"')
    values = LISTS[operand](ok(api.get("client"))["value"])
    assert len(values) == 5_000
    condition = quote(f"{operand} ({','.join(values)})")
    assert len(ok(ask(api, f"$filter={condition}&$count=true"))["value"]) == 3
    by_number = quote(f"filter({operand} ({','.join(values)}))/aggregate($count as N)")
    assert ok(ask(api, f"$apply={by_number}"))["value"] == [{"N": 3}]
    batch = {
        "id": "1",
        "method": "POST",
        "url": "client/$query",
        "headers": {"content-type": "text/plain"},
        "body": f"$filter={condition}",
    }
    (answer,) = ok(api.post("$batch", {"requests": [batch]}))["responses"]
    assert len(answer["body"]["value"]) == 3
    more = quote(f"{operand} ({','.join([*values, values[0]])})")
    assert "a list holds at most 5,000 values." in refused(ask(api, f"$filter={more}"), 400)["message"]


def test_an_address_takes_lists_and_expressions_of_the_size_it_took(api):
    values = ",".join(map(str, range(501)))
    error = refused(api.get("client", {"$filter": f"length(BusinessName) in ({values})"}), 400)
    assert "a list holds at most 500 values, and 5,000 in the body of $query." in error["message"]
    for text in (
        f"$filter=BusinessName eq '{'x' * 20_000}'",
        "$filter=" + " or ".join(["true"] * 50_000),
        f"$apply=filter(BusinessName eq '{'x' * 20_000}')",
        f"$filter=BusinessName in ('{'x' * 500_000}')",
        "$filter=" + " or ".join(["1 in (" + ",".join(["1"] * 4_000) + ")"] * 3),
        f"$orderby={'BusinessName,' * 2_000}ClientGuid",
        f"$search={'x' * 20_000}",
    ):
        answer = ask(api, text)
        refused(answer, 400)
        assert answer.seconds < 5


def test_a_query_longer_than_an_address_goes_on_with_the_same_body(api):
    clients(7)
    names = ",".join(f"'Client {n:05d}'" for n in range(3_000))
    condition = quote(f"BusinessName in ({names})")
    for options, expected in (
        ("$orderby=BusinessName", [[0, 1, 2], [3, 4, 5], [6]]),
        ("$orderby=BusinessName desc&$skip=1&$top=5", [[5, 4, 3], [2, 1]]),
    ):
        text, query, found = f"$filter={condition}&{options}", "$count=true&version=2", []
        while True:
            answer = ask(api, text, query=query, Prefer="odata.maxpagesize=3")
            body = ok(answer)
            assert "@odata.count" in body
            assert "Link" not in answer  # which would be followed by GET
            found.append([int(row["BusinessName"][-5:]) for row in body["value"]])
            if "@odata.nextLink" not in body:
                break
            address, _, query = body["@odata.nextLink"].partition("?")
            assert address == "http://testserver/api/Client/$query"
        assert found == expected
    groups = f"$apply=filter({condition})/groupby((BusinessName),aggregate($count as N))&$skip=1&$top=4"
    first = ok(ask(api, groups, Prefer="odata.maxpagesize=3"))
    query = first["@odata.nextLink"].partition("?")[2]
    rest = ok(ask(api, groups, query=query, Prefer="odata.maxpagesize=3"))
    shown = [row["BusinessName"][-1] for row in (*first["value"], *rest["value"])]
    assert ("".join(shown), "@odata.nextLink" in rest) == ("1234", False)


@pytest.mark.django_db(transaction=True)  # of changes that are not committed a delta tells nothing
def test_changes_of_a_long_query_are_asked_for_with_the_same_body(api):
    clients(3)
    names = ",".join(f"'Client {n:05d}'" for n in range(3_000))
    text = f"$filter={quote(f'BusinessName in ({names})')}"
    tracked = ok(ask(api, text, Prefer="odata.track-changes"))
    address, _, query = tracked["@odata.deltaLink"].partition("?")
    assert address == "http://testserver/api/Client/$query"
    assert ok(ask(api, text, query=query))["value"] == []
    a_client(BusinessName="Client 02000")
    changes = ok(ask(api, text, query=query))
    assert [row["BusinessName"] for row in changes["value"]] == ["Client 02000"]
    refused(ask(api, "$filter=true", query=query), 400)


def test_the_link_of_a_query_sent_as_a_body_can_be_followed_by_get(api):
    clients(7)
    answer = ok(ask(api, "$orderby=BusinessName%20desc", Prefer="odata.maxpagesize=3"))
    names = [row["BusinessName"] for row in answer["value"]]
    answer = ok(api.follow(answer["@odata.nextLink"]))
    assert names + [row["BusinessName"] for row in answer["value"]] == [
        f"Client {n:05d}" for n in range(6, -1, -1)
    ]


def test_a_query_in_a_body_is_read_as_strictly_as_one_in_an_address(api):
    clients(1)
    for text in ("$filter=Nothing eq 1", "$top=1&$top=1", "$top=x", "$filter=%ff", "$nothing=1", "a" * 200):
        refused(ask(api, text), 400)
    refused(ask(api, "$count=true", query={"$count": "true"}), 400)
    refused(ask(api, "{}", media="application/json"), 415, "UnsupportedMediaType")
    refused(ask(api, "$top=1", media=""), 415, "UnsupportedMediaType")
