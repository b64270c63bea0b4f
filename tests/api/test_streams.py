"""A whole collection as one body: NDJSON and CSV."""

import csv
import io
import json

import pytest

from tests.api.caller import Caller, an_application, ok, refused
from tests.people.builders import a_client, a_client_body, a_contact, a_staff_body, a_team, posted

NDJSON = "application/x-ndjson"


def streamed(answer, media):
    assert answer.status_code == 200, answer.content
    assert answer.streaming
    assert answer["Content-Type"] == f"{media}; charset=utf-8"
    return b"".join(answer.streaming_content).decode()


def ndjson(api, path, query=None):
    text = streamed(api.get(path, query, Accept=NDJSON), NDJSON)
    assert not text or text.endswith("\n")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def rows(api, path, query=None):
    text = streamed(api.get(path, query, Accept="text/csv"), "text/csv")
    return list(csv.reader(io.StringIO(text, newline="")))


def test_a_stream_holds_every_record_of_the_collection_in_its_order(api):
    posted("client", *(a_client_body(UniqueCode=f"{n:04d}") for n in range(700)))
    query = {"$orderby": "UniqueCode desc", "$select": "UniqueCode"}
    codes = [f"{number:04d}" for number in reversed(range(700))]
    assert [row["UniqueCode"] for row in ndjson(api, "client", query)] == codes
    header, *table = rows(api, "client", query)
    assert (header, [code for _, code in table]) == (["ClientGuid", "UniqueCode"], codes)
    assert len(ndjson(api, "client")) == 700


def test_the_records_of_a_stream_are_those_of_pages(api):
    team = a_team(name='A "team"')
    posted("staff", *(a_staff_body(Teams=[{"TeamId": team.pk}, {"TeamId": a_team().pk}]) for _ in range(3)))
    for query in ({}, {"$expand": "*"}, {"$expand": "Teams($top=1;$orderby=Name)", "$select": "FirstName"}):
        assert ndjson(api, "staff", query) == ok(api.get("staff", query))["value"]


@pytest.mark.parametrize("format_", ["ndjson", "application/x-ndjson", "NDJSON"])
def test_the_format_option_streams_as_well(api, format_):
    client = a_client(BusinessName="One")
    text = streamed(api.get("client", {"$format": format_, "$select": "BusinessName"}), NDJSON)
    assert text == f'{{"ClientGuid":"{client.pk}","BusinessName":"One"}}\n'


def test_filters_skip_and_top_choose_the_rows_of_a_stream(api):
    for letter in "abcdef":
        a_client(BusinessName=letter)
    query = {"$filter": "BusinessName gt 'a'", "$orderby": "BusinessName", "$skip": "1", "$top": "3"}
    assert [row["BusinessName"] for row in ndjson(api, "client", query)] == ["c", "d", "e"]
    assert [row[1] for row in rows(api, "client", query)] == ["BusinessName", "c", "d", "e"]
    assert ndjson(api, "client", {"$top": "0"}) == []
    assert ndjson(api, "client", {"$search": "b"})[0]["BusinessName"] == "b"
    assert ndjson(api, "client", {"BusinessName": "c"})[0]["BusinessName"] == "c"


def test_an_empty_collection_is_an_empty_stream_and_a_csv_header(api):
    assert ndjson(api, "client") == []
    header, *others = rows(api, "client", {"$expand": "*"})
    assert others == []
    assert header[:2] == ["ClientGuid", "BusinessName"]
    assert header[-4:] == [
        "KeyContact/ContactGuid",
        "KeyContact/FirstName",
        "KeyContact/LastName",
        "KeyContact/ArchiveDate",
    ]


def test_csv_flattens_parts_and_tells_what_file_it_is(api):
    first, second = a_team(name="One"), a_team(name="Two")
    posted(
        "staff", a_staff_body(Teams=[{"TeamId": first.pk}, {"TeamId": second.pk}], Address={"City": "Rome"})
    )
    answer = api.get(
        "staff", {"$format": "csv", "$select": "FirstName,SendBirthdayReminder", "$expand": "Address,Teams"}
    )
    assert answer["Content-Disposition"] == 'attachment; filename="Staff.csv"'
    (header, row) = list(csv.reader(io.StringIO(streamed(answer, "text/csv"), newline="")))
    told = dict(zip(header, row, strict=True))
    assert told["Address/City"] == "Rome"
    assert told["Address/Suburb"] == ""
    assert told["Teams/TeamId"] == f"{first.pk}; {second.pk}"
    assert told["Teams/Name"] == "One; Two"
    assert told["SendBirthdayReminder"] == "false"


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "'=1", "=cmd|' /C calc'!A0", "-", '=HYPERLINK("http://x")'],
)
def test_a_cell_that_a_spreadsheet_would_run_is_made_text(api, text):
    a_client(ExternalReference=text)
    header, row = rows(api, "client")
    assert row[header.index("ExternalReference")] == f"'{text}"


@pytest.mark.parametrize(
    "text", ['a "b", c', "line\nbreak", "a\u2028b", "é🚀", "50%", "a;b", "x=1", "\\", "null", " a "]
)
def test_any_other_text_comes_through_both_streams_as_it_is(api, text):
    a_client(ExternalReference=text)
    header, row = rows(api, "client")
    assert row[header.index("ExternalReference")] == text
    assert ndjson(api, "client")[0]["ExternalReference"] == text


def test_a_line_is_a_record_even_when_texts_hold_line_breaks(api):
    a_client(ExternalReference="a\nb\r\nc\u2028d", Address={"City": "x\ny"})
    text = streamed(api.get("client", {"$expand": "*"}, Accept=NDJSON), NDJSON)
    assert text.count("\n") == 1
    assert json.loads(text)["ExternalReference"] == "a\nb\r\nc\u2028d"


def test_a_stream_keeps_the_promises_of_every_answer(api):
    answer = api.get("client", Accept=NDJSON)
    assert answer["Cache-Control"] == "no-store"
    assert answer["OData-Version"] == "4.0"
    refused(Caller().get("client", Accept=NDJSON), 401, "Unauthenticated")
    refused(
        Caller(an_application("staff.read", name="Other")).get("client", Accept="text/csv"), 403, "Forbidden"
    )
    refused(api.get("client", {"$filter": "Nothing eq 1"}, Accept=NDJSON), 400)
    refused(api.get("client", {"Nothing": "x"}, Accept="text/csv"), 400)


def test_a_stream_is_one_statement_however_many_records(api, statements):
    posted("client", *(a_client_body() for _ in range(600)))
    api.get("client")
    assert len(statements(lambda: ndjson(api, "client", {"$expand": "*"}))) == 2


def test_sums_stream_as_tables_and_lines(api):
    guids = posted("client", *(a_client_body(BusinessName=name, UniqueCode=name) for name in "ab"))
    for guid, name in zip((guids[0], guids[0], guids[1]), ("=Ash", "Birch", "Cedar"), strict=True):
        a_contact(LastName=name, Client={"ClientGuid": str(guid)})
    groups = "groupby((rollup(Client/BusinessName,LastName)),aggregate($count as Number))"
    query = {"$apply": f"filter(Client ne null)/{groups}", "$compute": "Number div 2 as Half"}
    assert rows(api, "contact", query) == [
        ["Client/BusinessName", "LastName", "Number", "Half"],
        *([["a", "'=Ash", "1", "0.5"], ["a", "Birch", "1", "0.5"], ["b", "Cedar", "1", "0.5"]]),
        *([["a", "", "2", "1"], ["b", "", "1", "0.5"]]),
    ]
    assert ndjson(api, "contact", query) == ok(api.get("contact", query))["value"]
    chosen = {**query, "$select": "LastName,Number", "$skip": "1", "$top": "2"}
    assert rows(api, "contact", chosen) == [["LastName", "Number"], ["Birch", "1"], ["Cedar", "1"]]
    joined = "join(Contacts as Person)/groupby((BusinessName),aggregate(Person/LastName with max as Last))"
    assert rows(api, "client", {"$apply": joined, "$orderby": "Last desc"}) == [
        ["BusinessName", "Last"],
        ["b", "Cedar"],
        ["a", "Birch"],
    ]
    assert rows(api, "client", {"$apply": "topcount(1,BusinessName)", "$select": "UniqueCode"})[1:] == [
        [str(guids[1]), "b"]
    ]


def test_more_groups_than_a_page_holds_stream_in_order(api):
    posted("client", *(a_client_body(UniqueCode=f"{n:04d}") for n in range(700)))
    query = {"$apply": "groupby((UniqueCode),aggregate($count as N))", "$orderby": "UniqueCode desc"}
    codes = [f"{number:04d}" for number in reversed(range(700))]
    assert [row["UniqueCode"] for row in ndjson(api, "client", query)] == codes
    assert len(rows(api, "client", query)) == 701
