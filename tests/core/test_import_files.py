"""What can be wrong with a file as a whole: one sentence, exit status 2, nothing stored."""

import datetime as dt
import io
import json
import zipfile

import openpyxl
import pytest

from apps.core.table_files import json_files, workbooks
from apps.core.table_files.formats import open_table
from apps.core.table_files.tables import MAX_ROW, UNCALCULATED, ImportFileError


def cells_of(path, **words):
    table = open_table(path, **words)
    return [list(table.header), *[list(row.cells) for row in table.rows()]]


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


UNUSABLE = {
    "an empty file": ("a.csv", b"", "a.csv is empty."),
    "no header": ("a.csv", b"\n\n", "a.csv has no header"),
    "another kind of file": ("a.pdf", b"%PDF", "a.pdf is none of .csv"),
    "another encoding": ("a.csv", "Name\nZoë".encode("cp1252"), "line 2 is not UTF-8. Save it as"),
    "half a letter at the end": ("a.csv", "Name\nZoë".encode()[:-1], "a.csv, line 2 is not UTF-8."),
    "a NUL": ("a.csv", b"Name\nA\0l", "a.csv, line 2 holds a NUL character"),
    "an open quotation mark": ("a.csv", b'Name,B\n"Al,1\nBo,2\n', "opening quotation mark is never closed"),
    "a stray quotation mark": ("a.csv", b'Name\n"Al" Orr"\n', "inside a quoted cell must be doubled"),
    "a million columns": ("a.csv", b"a," * 400_000, "The header has 400,001 columns"),
    "a row that is too long": ("a.csv", b"Name\n" + b"a" * (MAX_ROW + 1), "Line 2 is longer than 1,000,000"),
    "a text that is no workbook": ("a.xlsx", b"Name\nAl\n", "a.xlsx is not an XLSX workbook."),
    "JSON that breaks off": ("a.json", b'[{"Name": "Al"}, {"Na', "a.json is no JSON list of records"),
    "JSON without a list": ("a.json", b'{"Name": "Al"}', "the object has no member value"),
    "JSON of no records": ("a.json", b"[]", "a.json holds no records."),
    "a member twice": ("a.ndjson", b'{"A": 1}\n{"B": 1, "B": 2}\n', "line 2: a member is given twice"),
    "JSON nested deep": ("a.json", b"[" + b'{"a":' * 100_000, "a.json is no JSON list of records"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "expected"), UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_file_is_refused_in_one_sentence(tmp_path, name, content, expected):
    with pytest.raises(ImportFileError) as refusal:
        list(open_table(write(tmp_path, name, content)).rows())
    assert expected in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [("A;B\n1,5;2\n", ";"), ("A\tB\n1,5\t2\n", "\t"), ('A,B\n"1,5",2\n', ","), ("A|B\n1,5|2\n", "|")],
)
def test_the_sign_between_cells_is_found_out(tmp_path, content, delimiter):
    path = write(tmp_path, "a.csv", content)
    assert open_table(path).delimiter == delimiter
    assert cells_of(path) == [["A", "B"], ["1,5", "2"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_byte_order_mark_tells_the_encoding(tmp_path, encoding):
    path = write(tmp_path, "a.csv", "Name\nZoë 😀\n".encode(encoding))
    assert cells_of(path) == [["Name"], ["Zoë 😀"]]


def test_what_an_older_excel_saved_is_read_and_named(tmp_path):
    path = write(tmp_path, "a.csv", "Name\nZoë Ng\nJosé Ruiz\n".encode("cp1252"))
    assert cells_of(path) == [["Name"], ["Zoë Ng"], ["José Ruiz"]]
    assert open_table(path).notices() == ["Read as a text of Windows (cp1252), as an older Excel saves it."]


def test_damaged_letters_are_not_taken_for_those_of_windows(tmp_path):
    path = write(tmp_path, "a.csv", "Name\nZoë Ng\n".encode() + b"Jos\xe9 Ruiz\n")
    with pytest.raises(ImportFileError, match="line 3 is not UTF-8"):
        cells_of(path)


def test_an_encoding_can_be_named(tmp_path):
    path = write(tmp_path, "a.csv", "Name\nŁódź\n".encode("cp1250"))
    assert cells_of(path, encoding="cp1250") == [["Name"], ["Łódź"]]
    with pytest.raises(ImportFileError, match="There is no encoding called klingon"):
        open_table(path, encoding="klingon")


def test_rows_are_numbered_as_a_spreadsheet_shows_them(tmp_path):
    path = write(tmp_path, "a.csv", 'A,B\n"1\n2",x\n\n3,y\n')
    assert [(row.number, row.cells[0]) for row in open_table(path).rows()] == [(2, "1\n2"), (4, "3")]


def test_a_ragged_row_is_named_and_empty_cells_beyond_are_not_ragged(tmp_path):
    path = write(tmp_path, "a.csv", "A,B\n1,2,,\n1\n1,2,3\n")
    troubles = [row.defect for row in open_table(path).rows()]
    assert troubles == [None, "has 1 cells where the header has 2.", "has 3 cells where the header has 2."]


# --- workbooks ------------------------------------------------------------------------------------------


def a_workbook(folder, rows, name="a.xlsx", more=()):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title in more:
        book.create_sheet(title).append([title])
    book.save(folder / name)
    return folder / name


def test_cells_of_a_workbook_come_as_texts_that_read_back(tmp_path):
    rows = [["A", "B", "C", "D", "E"], [dt.date(1990, 2, 1), 431000001, True, 1.5, None], [None, "=1+1"]]
    assert cells_of(a_workbook(tmp_path, rows)) == [
        ["A", "B", "C", "D", "E"],
        ["1990-02-01", "431000001", "true", "1.5", ""],
        ["", UNCALCULATED, "", "", ""],
    ]


def test_another_sheet_can_be_named(tmp_path):
    path = a_workbook(tmp_path, [["A"], ["1"]], more=["Other"])
    assert cells_of(path, sheet="Other") == [["Other"]]
    assert open_table(path).notices() == ["Read from the sheet Sheet; --sheet names another of 2."]
    with pytest.raises(ImportFileError, match="has no sheet Third; it has Sheet, Other"):
        open_table(path, sheet="Third")


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    path = a_workbook(tmp_path, [["A"]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet9.xml", b"0" * 5_000_000)
    monkeypatch.setattr(workbooks, "MAX_UNPACKED", 4_000_000)
    monkeypatch.setattr(openpyxl, "load_workbook", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(ImportFileError, match="unpacks into too much"):
        open_table(path)


HOARDS = {
    "one endless cell": b"<c t='inlineStr'><is><t>%s</t></is></c>" % (b"A" * 2_000_000),
    "one endless attribute": b"<c r='%s'/>" % (b"A" * 2_000_000),
    "one row of endless cells": b"<c><v>1</v></c>" * 1_300_000,
    "tags that are text": b"<c t='inlineStr'><is><t><![CDATA[%s]]></t></is></c>" % (b"<row " * 400_000),
}


@pytest.mark.parametrize("hoard", HOARDS.values(), ids=HOARDS)
def test_a_sheet_that_the_parser_would_hold_whole_is_refused_unparsed(tmp_path, monkeypatch, hoard):
    path = replaced(
        a_workbook(tmp_path, [["A"], [1]]), "xl/worksheets/sheet1.xml", b"</row>", hoard + b"</row>"
    )
    monkeypatch.setattr(openpyxl, "load_workbook", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(ImportFileError, match="too much in one cell or row"):
        open_table(path)


def test_a_long_sheet_of_ordinary_rows_is_no_bomb(tmp_path):
    rows = [["A", "B"], *[["x" * 30_000, "plain"]] * 700]
    assert len(cells_of(a_workbook(tmp_path, rows))) == 701


def test_a_workbook_of_too_many_sheets_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(workbooks, "MAX_SHEETS", 3)
    with pytest.raises(ImportFileError, match="has 4 sheets"):
        open_table(a_workbook(tmp_path, [["A"]], more="BCD"))


def replaced(path, member, old, new):
    """A workbook with one of its files changed."""
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    assert old in held[member]
    held[member] = held[member].replace(old, new)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in held.items():
            archive.writestr(name, content)
    return path


def test_entities_in_a_workbook_are_not_expanded(tmp_path):
    path = a_workbook(tmp_path, [["A"], [1]])
    bomb = b'<!DOCTYPE x [<!ENTITY a "ha">]><worksheet'
    replaced(path, "xl/worksheets/sheet1.xml", b"<worksheet", bomb)
    with pytest.raises(ImportFileError):
        cells_of(path)


def test_a_far_row_does_not_make_a_million_empty_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(workbooks, "MAX_ROWS", 1_000)
    path = replaced(
        a_workbook(tmp_path, [["A"], [1]]), "xl/worksheets/sheet1.xml", b'<row r="2"', b'<row r="999999999"'
    )
    with pytest.raises(ImportFileError, match="has rows beyond 1,000"):
        cells_of(path)


# --- JSON -----------------------------------------------------------------------------------------------

RECORDS = [
    {"Name": "Al", "Address": {"Suburb": "Hobart"}, "Teams": [{"TeamId": 1}, {"TeamId": 2}]},
    {"Name": "Bo", "Address": None, "Teams": [], "Hours": 7},
]


@pytest.mark.parametrize("wrapped", [False, True])
def test_records_of_json_are_rows_with_parts_in_columns(tmp_path, wrapped):
    content = {"@odata.context": "x", "value": RECORDS} if wrapped else RECORDS
    path = write(tmp_path, "a.json", json.dumps(content))
    assert cells_of(path) == [
        ["Name", "Address/Suburb", "Teams/TeamId", "Hours"],
        ["Al", "Hobart", "1; 2", ""],
        ["Bo", "", "", "7"],
    ]


def test_ndjson_is_a_record_to_a_line(tmp_path):
    path = write(tmp_path, "a.ndjson", "\n".join(["", *map(json.dumps, RECORDS)]))
    assert [row.number for row in open_table(path).rows()] == [2, 3]


def test_numbers_of_json_keep_their_digits(tmp_path):
    path = write(tmp_path, "a.json", '[{"A": 8.00, "B": 12345678901234567890.1, "C": true}]')
    assert cells_of(path)[1] == ["8.00", "12345678901234567890.1", "true"]


@pytest.mark.parametrize("block", [1, 2, 3, 7, 64])
def test_a_json_array_is_read_block_by_block(monkeypatch, block):
    """Whatever is cut where: numbers, words, strings, escapes."""
    monkeypatch.setattr(json_files, "BLOCK", block)
    values = [1, 12, -3, 4.5, True, None, 'a\\"b', {"x": [1, {"y": "ü"}]}, [], "", 100]
    text = io.StringIO(" [ " + " , ".join(map(json.dumps, values)) + " ] ")
    assert [str(item) for item in json_files.array_items(text)] == [str(value) for value in values]
