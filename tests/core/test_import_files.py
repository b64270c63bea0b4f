"""What can be wrong with a file as a whole: one sentence, exit status 2, nothing stored."""

import datetime as dt
import io
import json
import time
import zipfile

import openpyxl
import pytest

from apps.core.importing.first_pass import is_note
from apps.core.table_files import json_files, workbooks
from apps.core.table_files.formats import read_table
from apps.core.table_files.opening import open_table
from apps.core.table_files.tables import MAX_ROW, UNCALCULATED, ImportFileError

pytestmark = pytest.mark.usefixtures("reader_process")


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
    "an old workbook": ("a.xls", b"\xd0\xcf\x11\xe0", "open it in a spreadsheet, save it as XLSX or CSV"),
    "an old workbook with a new name": ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1", "or has a password: open it"),
    "an old workbook as text": ("a.csv", b"\xd0\xcf\x11\xe0\xa1\xb1", "an old workbook (Excel 97 to 2003)"),
    "a PDF as text": ("a.csv", b"%PDF-1.7\n%\xe2\xe3", "a.csv is a PDF document: ask for the list"),
    "a web page as text": ("a.csv", b"\xef\xbb\xbf\n<html>", "a.csv is a web page: open it in"),
    "a workbook as text": ("a.csv", b"PK\x03\x04\x14\0", "a.csv is a packed file: it is a workbook"),
    "OpenDocument": (
        "a.xlsx",
        b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
        "a.xlsx is an OpenDocument file: save it as XLSX",
    ),
    "another encoding": ("a.csv", "Name\nZoë".encode("cp1252"), "line 2 is not UTF-8. Save it as"),
    "half a letter at the end": ("a.csv", "Name\nZoë".encode()[:-1], "a.csv, line 2 is not UTF-8."),
    "a NUL": ("a.csv", b"Name\nA\0l", "a.csv, line 2 holds a NUL character"),
    "an open quotation mark": ("a.csv", b'Name,B\n"Al,1\nBo,2\n', "opening quotation mark is never closed"),
    "a stray quotation mark": ("a.csv", b'Name\n"Al" Orr"\n', "inside a quoted cell must be doubled"),
    "a million columns": ("a.csv", b"a," * 400_000, "The header has 400,001 columns"),
    "a row that is too long": ("a.csv", b"Name\n" + b"a" * (MAX_ROW + 1), "Line 2 is longer than 1,000,000"),
    "a text that is no workbook": ("a.xlsx", b"Name\nAl\n", "a.xlsx is not an XLSX workbook."),
    "JSON that breaks off": (
        "a.json",
        b'[{"Name": "Al"}, {"Na',
        "a.json is no JSON list of records behind record 1: Unterminated string.",
    ),
    "an empty object": ("a.json", b"{}", "the object has no member value."),
    "JSON without a list": ("a.json", b'{"Name": "Al"}', "the object has no member value"),
    "JSON of no records": ("a.json", b"[]", "a.json holds no records."),
    "a tiny number": ("a.json", b'[{"A": 1e-99999999}]', "the number 1e-99999999 has more than 1,000 digits"),
    "no exponent": ("a.ndjson", b'{"A": 1e99999999999999999999}', "has more than 1,000 digits"),
    "a long number": ("a.ndjson", b'{"A": %s}' % (b"9" * 5_000), "line 1: the number 9999999999999999999"),
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
    assert open_table(path).notices() == [
        "Read as a text of Windows (cp1252), as an older Excel saves it: “Zoë”, “José”."
    ]


@pytest.mark.parametrize("encoding", ["cp1252", "mac_roman"])
@pytest.mark.parametrize("end", ["\r", "\r\n"])
@pytest.mark.parametrize(
    "names",
    [("René Müller", "Zoë O’Brien"), ("MARÍA NÚÑEZ", "Björn"), ("Siân – North", "L’Haÿ", "Anaïs…", "Café™")],
)
def test_what_excel_saved_on_a_macintosh_is_told_from_what_it_saved_on_windows(
    tmp_path, encoding, end, names
):
    path = write(tmp_path, "a.csv", end.join(("Name", *names, "")).encode(encoding))
    assert cells_of(path) == [["Name"], *([name] for name in names)]


def test_letters_that_could_be_of_both_are_decided_by_the_line_ends(tmp_path):
    for encoding, end in (("mac_roman", "\r"), ("cp1252", "\n")):
        path = write(tmp_path, "a.csv", f"Name{end}Jos\xfa{end}".encode(encoding))
        assert cells_of(path) == [["Name"], ["Josú"]]
    assert (
        "as Excel saves it there"
        in open_table(write(tmp_path, "b.csv", "Name\rNo’s\r".encode("mac_roman"))).notices()[0]
    )


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


def test_a_blank_before_a_quotation_mark_makes_it_no_part_of_the_text(tmp_path):
    path = write(tmp_path, "a.csv", 'List\n"A", "B"\n"1, 2", "x"\n"3", ""\n')
    assert cells_of(path) == [["A", "B"], ["1, 2", "x"], ["3", ""]]
    path = write(tmp_path, "a.csv", 'A,B\n1, "x" y\n')
    assert cells_of(path) == [["A", "B"], ["1", ' "x" y']]


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


def replaced(path, member, old, new, count=-1):
    """A workbook with one of its files changed."""
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    assert old in held[member]
    held[member] = held[member].replace(old, new, count)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in held.items():
            archive.writestr(name, content)
    return path


def test_cells_of_a_workbook_come_as_texts_that_read_back(tmp_path):
    rows = [["A", "B", "C", "D", "E"], [dt.date(1990, 2, 1), 431000001, True, 1.5, None], [None, "=1+1"]]
    assert cells_of(a_workbook(tmp_path, rows)) == [
        ["A", "B", "C", "D", "E"],
        ["1990-02-01", "431000001", "true", "1.5", ""],
        ["", UNCALCULATED, "", "", ""],
    ]


def test_a_number_that_a_formula_gave_is_read_as_a_spreadsheet_shows_it(tmp_path):
    """A spreadsheet keeps 71.4 as 71.39999999999999 where it was calculated; both libraries tell it so."""
    numbers = ["71.399999999999991", "0.30000000000000004", "-1.1500000000000001", "12345.6789012345"]
    path = a_workbook(tmp_path, [["A"], *([float(number)] for number in numbers)])
    for number in numbers:
        written = f"<v>{float(number):.16g}</v>".encode()
        replaced(path, "xl/worksheets/sheet1.xml", written, f"<v>{number}</v>".encode())
    read = [["A"], ["71.4"], ["0.3"], ["-1.15"], ["12345.6789012345"]]
    assert cells_of(path) == read
    replaced(
        path,
        "xl/worksheets/sheet1.xml",
        b"</sheetData>",
        b'<row r="6"><c r="A6"><f>1+1</f></c></row></sheetData>',
    )
    assert cells_of(path) == [*read, [UNCALCULATED]]


def formatted(folder, cells):
    """A workbook with a cell in each row of its second column, from the third row on: value and format."""
    book = openpyxl.Workbook()
    for number, (value, number_format) in enumerate([("Value", None), *cells], start=3):
        cell = book.active.cell(number, 2, value)
        cell.number_format = number_format or cell.number_format
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


VALUES = [
    (dt.date(1990, 2, 1), None, "1990-02-01"),
    (45_000, "[$-C09]dd/mm/yy;@", "2023-03-15"),
    (45_000.5, "d mmm yyyy", "2023-03-15 12:00:00"),
    (dt.time(8, 30), None, "08:30:00"),
    (dt.timedelta(hours=26, minutes=5), None, "26:05:00"),
    (45_000, '0 "days"', "45000"),
    (0.5, "0.00%", "0.5"),
    (431_000_001, None, "431000001"),
    (0.1, "$#,##0.00", "0.1"),
    ("00123", None, "00123"),
    (" two\nlines ", None, " two\nlines "),
    (False, None, "false"),
    (4e-7, None, "4e-07"),
]


@pytest.mark.parametrize("has_formulas", [False, True])
def test_values_are_read_alike_by_both_readers_of_workbooks(tmp_path, has_formulas):
    """The slow one is asked where a sheet has a formula without a value."""
    more = [("=1+1", None)] if has_formulas else []
    table = read_table(formatted(tmp_path, [*(value[:2] for value in VALUES), *more]))
    assert table.has_untold_cells is has_formulas
    assert (table.header_row, list(table.header)) == (3, ["", "Value"])
    texts = [*(value[2] for value in VALUES), *([UNCALCULATED] if has_formulas else [])]
    assert [(row.number, row.cells[1]) for row in table.rows()] == list(enumerate(texts, start=4))


def test_days_are_counted_from_1904_where_the_workbook_says_so(tmp_path):
    path = formatted(tmp_path, [(43_538, "dd/mm/yyyy")])
    replaced(path, "xl/workbook.xml", b"<workbookPr", b'<workbookPr date1904="1"')
    assert [row.cells[1] for row in read_table(path).rows()] == ["2023-03-15"]


CELLS = {
    "an error": (b'<c r="A2" t="e"><f>1/0</f><v>#DIV/0!</v></c>', "#DIV/0!", True),
    "a formula without a value": (b'<c r="A2"><f>1+1</f></c>', UNCALCULATED, True),
    "a formula with an empty value": (b'<c r="A2"><f>1+1</f><v></v></c>', UNCALCULATED, True),
    "a formula of other cells": (b'<c r="A2"><f t="shared" si="0"/><v/></c>', UNCALCULATED, True),
    "a formula that gives no text": (b'<c r="A2" t="str"><f>""</f><v></v></c>', "", True),
    "a formula with a value": (b'<c r="A2"><f>1+1</f><v>2</v></c>', "2", False),
    "a number of many digits": (b'<c r="A2"><v>1234567890123456789</v></c>', "1234567890123456789", True),
    "a formula that gives a text": (b'<c r="A2" t="str"><f>B1&amp;""</f><v>B</v></c>', "B", False),
    "a text like a tag": (b'<c r="A2" t="inlineStr"><is><t>&lt;f/&gt;</t></is></c>', "<f/>", False),
}  # fmt: skip


@pytest.mark.parametrize(("cell", "text", "is_slow"), CELLS.values(), ids=CELLS)
def test_formulas_and_errors_are_told_from_empty_cells(tmp_path, cell, text, is_slow):
    path = a_workbook(tmp_path, [["A", "B"], ["old", "x"]])
    old = b'<c r="A2" t="inlineStr"><is><t>old</t></is></c>'
    table = read_table(replaced(path, "xl/worksheets/sheet1.xml", old, cell))
    assert table.has_untold_cells is is_slow
    assert [list(row.cells) for row in table.rows()] == [[text, "x"]]


def test_a_sheet_may_have_any_name_within_the_workbook(tmp_path):
    path = a_workbook(tmp_path, [["A"], ["old"]])
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in held.items():
            moved = content.replace(b"worksheets/sheet1.xml", b"pages/one.part")
            moved = moved.replace(b't="inlineStr"><is><t>old</t></is>', b't="e"><v>#N/A</v>')
            archive.writestr(name.replace("worksheets/sheet1.xml", "pages/one.part"), moved)
    assert cells_of(path) == [["A"], ["#N/A"]]


def test_a_hidden_sheet_is_read_by_its_name_only_and_an_empty_one_is_passed_over(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["Hidden"])
    book.active.sheet_state = "hidden"
    book.create_sheet("Empty")
    book.create_sheet("People").append(["A"])
    book.create_chartsheet("Chart")
    book.save(tmp_path / "a.xlsx")
    assert cells_of(tmp_path / "a.xlsx") == [["A"]]
    assert cells_of(tmp_path / "a.xlsx", sheet="Sheet") == [["Hidden"]]


STYLES = "xl/styles.xml"


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"</cellXfs>", b"<xf/>" * 400_000 + b"</cellXfs>"), (b"</fonts>", b"<font/>" * 200_000 + b"</fonts>")],
    ids=["formats", "fonts"],
)
def test_a_workbook_with_endless_formats_is_refused_unread(tmp_path, monkeypatch, old, new):
    path = replaced(a_workbook(tmp_path, [["A"], [1]]), STYLES, old, new)
    monkeypatch.setattr(workbooks, "CalamineWorkbook", None)
    with pytest.raises(ImportFileError, match="too many formats of cells to be read; save the sheet as CSV"):
        read_table(path)


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
    monkeypatch.setattr(workbooks, "CalamineWorkbook", None)
    with pytest.raises(ImportFileError, match="unpacks into too much"):
        read_table(path)


HOARDS = {
    "one endless cell": b"<c t='inlineStr'><is><t>%s</t></is></c>" % (b"A" * 2_000_000),
    "one endless attribute": b"<c r='%s'/>" % (b"A" * 2_000_000),
    "one row of endless cells": b"<c><v>1</v></c>" * 1_300_000,
    "tags that are text": b"<c t='inlineStr'><is><t><![CDATA[%s]]></t></is></c>" % (b"<row " * 400_000),
}


@pytest.mark.parametrize("hoard", HOARDS.values(), ids=HOARDS)
def test_a_sheet_with_too_much_in_one_row_is_refused(tmp_path, hoard):
    path = replaced(
        a_workbook(tmp_path, [["A"], [1]]), "xl/worksheets/sheet1.xml", b"</row>", hoard + b"</row>"
    )
    with pytest.raises(ImportFileError, match=r"more than 1,000,000 characters|is damaged|cannot be read"):
        open_table(path)


def test_a_long_sheet_of_ordinary_rows_is_no_bomb(tmp_path):
    rows = [["A", "B"], *[["x" * 30_000, "plain"]] * 700]
    assert len(cells_of(a_workbook(tmp_path, rows))) == 701


def test_a_workbook_of_too_many_sheets_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(workbooks, "MAX_SHEETS", 3)
    with pytest.raises(ImportFileError, match="has 4 sheets"):
        read_table(a_workbook(tmp_path, [["A"]], more="BCD"))


def test_entities_in_a_workbook_are_not_expanded(tmp_path):
    path = a_workbook(tmp_path, [["A"], [1]])
    bomb = b'<!DOCTYPE x [<!ENTITY a "ha">]><worksheet'
    replaced(path, "xl/worksheets/sheet1.xml", b"<worksheet", bomb)
    with pytest.raises(ImportFileError):
        cells_of(path)


def test_a_part_that_unpacks_into_more_than_it_says_is_refused(tmp_path):
    for member in (STYLES, "xl/worksheets/sheet1.xml"):
        path = replaced(a_workbook(tmp_path, [["A"], [1]]), member, b">", b">" + b" " * 3_000_000, count=1)
        with zipfile.ZipFile(path) as archive:
            size = archive.getinfo(member).file_size
        content = path.read_bytes()
        path.write_bytes(content.replace(size.to_bytes(4, "little"), (1_000).to_bytes(4, "little")))
        with pytest.raises(ImportFileError):
            open_table(path)


@pytest.mark.parametrize("place", ["XFD1048576", "XFD999999999", "ZZZZZZ3"])
def test_a_cell_at_the_end_of_the_world_is_refused_with_advice(tmp_path, place):
    path = a_workbook(tmp_path, [["A"], [1]])
    cell = f'<row><c r="{place}"><v>1</v></c></row></sheetData>'.encode()
    replaced(path, "xl/worksheets/sheet1.xml", b"</sheetData>", cell)
    with pytest.raises(ImportFileError, match=r"needs more memory than imports may use|is damaged|cannot be"):
        open_table(path)


def test_a_path_that_leads_out_of_a_workbook_leads_nowhere(tmp_path):
    path = a_workbook(tmp_path, [["A"], [1]])
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../../outside.xml", "x")
        link = zipfile.ZipInfo("xl/link.xml")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    assert cells_of(path) == [["A"], ["1"]]
    assert not (tmp_path.parent.parent / "outside.xml").exists()


def test_a_far_row_does_not_make_a_million_empty_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(workbooks, "MAX_ROWS", 1_000)
    path = replaced(
        a_workbook(tmp_path, [["A"], [1]]),
        "xl/worksheets/sheet1.xml",
        b'<row r="2"><c r="A2"',
        b'<row r="2000"><c r="A2000"',
    )
    with pytest.raises(ImportFileError, match="has rows beyond 1,000"):
        list(read_table(path).rows())


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


def test_a_cell_of_endless_commas_is_no_note_and_costs_no_time():
    """Each comma was tried as the first of a number: 100,000 took two minutes."""
    began = time.process_time()
    assert not is_note(["," * 100_000])
    assert is_note([", 1,234 records"])
    assert time.process_time() - began < 2
