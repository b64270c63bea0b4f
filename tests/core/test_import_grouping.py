"""Records with a list: which rows of a file are one record, and what a file of JSON gives."""

import json

import pytest

from apps.base.declaration import service
from apps.core.importing.batches import BatchImporter
from apps.core.importing.definition import ImportOptions
from apps.core.importing.file_declaration import file_entity_set
from apps.core.importing.headers import item_list_of, recognise_columns
from apps.core.importing.report import ImportReport
from apps.core.importing.runs import definition_for
from apps.core.table_files.opening import open_table
from apps.core.table_files.tables import ImportFileError, Row
from apps.odata.read.flattening import columns, rows
from apps.odata.read.record_json import select_all


class Sheet:
    """A table that is only its header."""

    row_word, has_cell_addresses, has_formula_guards, list_name = "row", True, True, None

    def __init__(self, *header):
        self.header = header


def grouper(header, path="claim"):
    """What groups rows of that header."""
    found = service.get_service().by_path[path]
    definition, entity_set, sheet = definition_for(found), file_entity_set(found), Sheet(*header)
    columns, _ = recognise_columns(sheet, entity_set, definition, ImportOptions())
    report = ImportReport(sheet, None, print)
    return BatchImporter(entity_set, columns, definition, (), report, ImportOptions()).grouper


def grouped(header, *cells, path="claim"):
    """The numbers of the rows of each record."""
    file = [Row(number, list(row)) for number, row in enumerate(cells, start=2)]
    return [[row.number for row in record.rows] for record in grouper(header, path).records(file)]


#: Days are compared, whose order is a setting of the organisation.
with_settings = pytest.mark.usefixtures("db")

CLAIM = ("ClaimNumber", "DueDate", "LineItems/Quantity")


def test_rows_below_each_other_with_one_number_are_one_record():
    assert grouped(CLAIM, ("C1", "x", "1"), ("C1", "x", "2"), ("C2", "x", "3")) == [[2, 3], [4]]


def test_a_number_is_the_same_in_any_case_and_with_blanks_around_it():
    assert grouped(CLAIM, ("C1", "", "1"), (" c1\u00a0", "", "2")) == [[2, 3]]


def test_what_the_record_says_may_be_given_in_its_first_row_only():
    assert grouped(CLAIM, ("C1", "x", "1"), ("", "", "2"), ("", "", "3"), ("C2", "", "4")) == [[2, 3, 4], [5]]


@with_settings
def test_a_row_without_a_number_that_says_something_else_is_another_record():
    assert grouped(CLAIM, ("C1", "x", "1"), ("", "y", "2")) == [[2], [3]]
    assert grouped(CLAIM, ("C1", "x", "1"), ("", "x", "2")) == [[2, 3]]


@with_settings
def test_rows_that_no_reference_names_are_a_record_each_unless_they_are_only_lines():
    header = ("DueDate", "LineItems/Quantity")
    assert grouped(header, ("x", "1"), ("x", "2"), ("", "3")) == [[2], [3, 4]]


def test_the_first_way_that_the_first_row_gives_counts():
    header = ("ClaimNumber", "ProviderInvoiceReference", "Provider name", "LineItems/Quantity")
    assert grouped(header, ("C1", "R1", "A", "1"), ("C2", "R1", "A", "1")) == [[2], [3]]
    assert grouped(header, ("", "R1", "A", "1"), ("", "R1", "A", "2")) == [[2, 3]]
    assert grouped(header, ("", "R1", "A", "1"), ("C2", "R1", "A", "2")) == [[2], [3]]
    assert grouped(header, ("", "R1", "A", "1"), ("", "R1", "B", "2")) == [[2], [3]]
    assert grouped(header, ("", "R1", "A", "1"), ("", "R1", "", "2")) == [[2, 3]]


def test_a_column_of_its_own_can_say_which_rows_belong_together():
    header = ("Import reference", "DueDate", "LineItems/Quantity")
    rows_of_file = ("1", "x", "1"), ("1", "x", "2"), ("2", "x", "3")
    assert grouped(header, *rows_of_file) == [[2, 3], [4]]
    assert grouped(header, *rows_of_file, path="invoice") == [[2, 3], [4]]


def test_without_columns_of_a_list_each_row_is_a_record():
    assert grouped(("ClaimNumber", "DueDate"), ("C1", "x"), ("C1", "x")) == [[2], [3]]


def test_a_row_whose_form_is_broken_belongs_to_the_record_above_it_unless_it_names_another():
    lines = [Row(2, ["C1", "", "1"]), Row(3, ["", "2"], "has 2 cells"), Row(4, ["C2", "x"], "has 2 cells")]
    assert [len(record.rows) for record in grouper(CLAIM).records(lines)] == [2, 1]


def test_the_rows_of_a_record_are_never_in_two_batches():
    file = [Row(number, [f"C{number // 3}", "", "1"]) for number in range(3, 3003)]
    batches = list(grouper(CLAIM).batches(file, 100))
    assert [len(record.rows) for batch in batches for record in batch] == [3] * 1000
    assert max(sum(len(record.rows) for record in batch) for batch in batches) <= 102


def test_a_record_without_end_does_not_fill_the_memory(settings):
    settings.MAX_LINES = 10
    file = (Row(number, ["C1", "", "1"]) for number in range(2, 1002))
    records = list(grouper(CLAIM).records(file))
    assert sum(len(record.rows) for record in records) == 1000
    assert max(len(record.rows) for record in records) <= 21
    assert all(record.too_long for record in records)


# --- JSON -----------------------------------------------------------------------------------------------

NESTED = [
    {"N": "1", "LineItems": [{"Q": 1, "P": {"Code": "a"}}, {"Q": 2.50}]},
    {"N": "2", "LineItems": []},
    {"N": "3", "lineitems": None, "T": [{"K": 1}, {"K": 2}]},
]


@pytest.mark.parametrize("ending", ["json", "ndjson"])
def test_a_record_of_json_is_a_row_for_each_item_of_its_list(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.write_text(json.dumps({"value": NESTED}) if ending == "json" else "\n".join(map(json.dumps, NESTED)))
    table = open_table(path, list_name="LineItems")
    assert table.header == ["N", "LineItems/Q", "LineItems/P/Code", "T/K"]
    assert [(row.number, row.item, list(row.cells)) for row in table.rows()] == [
        (1, 0, ["1", "1", "a", ""]),
        (1, 1, ["1", "2.5", "", ""]),
        (2, 0, ["2", "", "", ""]),
        (3, 0, ["3", "", "", "1; 2"]),
    ]


@pytest.mark.parametrize("wrong", ["text", 5, {"Q": 1}, [1], [{"Q": 1}, None]])
def test_a_list_that_is_none_is_a_fault_of_its_record(tmp_path, wrong):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([NESTED[0], {"N": "9", "LineItems": wrong}]))
    (row,) = [row for row in open_table(path, list_name="LineItems").rows() if row.number == 2]
    assert row.defect == "gives no list of objects as LineItems."


def test_two_records_of_json_are_never_one():
    file = [
        Row(1, ["C1", "", "1"], item=0),
        Row(1, ["C1", "", "2"], item=1),
        Row(2, ["C1", "", "3"], item=0),
    ]
    assert [len(record.rows) for record in grouper(CLAIM).records(file)] == [2, 1]


# --- headers --------------------------------------------------------------------------------------------


def test_the_list_as_one_column_of_a_table_is_not_understood():
    with pytest.raises(ImportFileError, match="column B “LineItems”"):
        grouper(("ClaimNumber", "LineItems"))


def test_two_columns_for_one_value_of_an_item_stop_the_import():
    with pytest.raises(ImportFileError, match="both give LineItems/Quantity"):
        grouper(("Qty", "LineItems/Quantity"))


def test_several_names_of_a_referred_record_may_be_given_side_by_side():
    known = grouper(("Provider ABN", "Provider name", "ProviderGuid", "Qty")).own
    assert [column.name for column in known] == [
        "ProviderBusinessNumber",
        "ProviderBusinessName",
        "ProviderGuid",
    ]


# --- exports --------------------------------------------------------------------------------------------


def test_an_export_has_a_row_for_each_item_with_the_records_own_cells_in_each():
    found = service.get_service().by_path["invoice"].type
    wanted = [
        column
        for column in columns(found, select_all(found, item=False), item_list_of(found))
        if column.name in ("InvoiceNumber", "LineItems/Quantity", "LineItems/Product/Code")
    ]
    record = {
        "InvoiceNumber": "I1",
        "LineItems": [{"Quantity": 1, "Product": {"Code": "a"}}, {"Quantity": 2, "Product": None}],
    }
    assert list(rows(record, wanted)) == [["I1", 1, "a"], ["I1", 2, None]]
    assert list(rows({"InvoiceNumber": "I2", "LineItems": []}, wanted)) == [["I2", None, None]]
