"""A price guide is read from files as they are published, and every fault is named by row and column."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.base.declaration.values import WireValueError
from apps.core.importing.fixed_columns import InvalidRows
from apps.core.table_files.opening import open_table
from apps.core.table_files.tables import ImportFileError
from apps.funding.services.price_guide_file import parse_price, read_guide
from tests.funding.guide_files import (
    BY_STATE,
    BY_ZONE,
    FLAGS,
    PLANNING,
    SWIM,
    WALK,
    a_row,
    as_csv,
    as_workbook,
    last_year,
    this_year,
)

# How days are written is a setting of the organisation.
pytestmark = [pytest.mark.django_db, pytest.mark.any_engine("a file is read, and nothing is stored")]


@pytest.fixture
def read(tmp_path):
    """read(rows): the guide of a CSV file in the layout by states."""

    def guide_of(rows, header=BY_STATE, **words):
        return read_guide(open_table(as_csv(tmp_path / "guide.csv", rows, header, **words)))

    return guide_of


@pytest.fixture
def faults(read):
    def of(*rows, header=BY_STATE):
        with pytest.raises(InvalidRows) as refused:
            read(rows, header)
        return refused.value.faults

    return of


def test_a_guide_by_states_tells_one_national_price(read):
    guide = read(last_year())
    assert (guide.rows, list(guide.items)) == (4, [WALK, SWIM, PLANNING])
    (walk,) = guide.items[WALK]
    assert (walk.start_date, walk.end_date) == (dt.date(2025, 7, 1), None)
    assert walk.amounts == {
        "National": Decimal("1616.26"),
        "Remote": Decimal("2262.76"),
        "Very Remote": Decimal("2424.39"),
    }
    assert walk.item["non_face_to_face"] == "Y"
    assert walk.item["irregular_sil"] == "NA"
    assert walk.item["type"] == "Priced"
    assert (walk.item["category_number"], walk.item["registration_group_number"]) == (1, "0107")
    assert guide.warnings == []


def test_the_days_of_a_guide_are_read_one_way(read):
    ranges = [{"Start date": "07/01/2025", "End Date": "12/31/2025"}, {"Start date": "01/13/2026"}]
    guide = read([a_row(**cells) for cells in ranges])
    assert [(row.start_date, row.end_date) for row in guide.items[WALK]] == [
        (dt.date(2025, 7, 1), dt.date(2025, 12, 31)),
        (dt.date(2026, 1, 13), None),
    ]
    assert guide.warnings == []
    doubted = read([a_row(**{"Start date": "01/07/2025"})])
    assert doubted.items[WALK][0].start_date == dt.date(2025, 7, 1)
    (warning,) = doubted.warnings
    assert warning.startswith("row 2, K2 (Start date): It is read with the day first, as 1 July 2025:")


def test_what_stands_below_a_guide_is_left_out_and_named(read):
    footer = {"Support Item Number": "Generated on 1 July 2025"}
    guide = read([*this_year(), dict.fromkeys(BY_STATE, "") | footer])
    assert guide.items == read(this_year()).items
    assert "“Generated on 1 July 2025” stands below the table" in guide.warnings[-1]


def test_an_item_may_have_several_ranges_in_any_order(read):
    guide = read(last_year()[::-1])
    assert [(row.start_date, row.end_date, row.amounts["National"]) for row in guide.items[SWIM]] == [
        (dt.date(2025, 7, 1), dt.date(2025, 11, 23), 60),
        (dt.date(2025, 11, 24), None, 50),
    ]


def test_a_quoted_item_has_no_price(read):
    (row,) = read(last_year()).items[PLANNING]
    assert set(row.amounts.values()) == {None}
    assert (row.item["type"], row.item["is_quote_required"]) == ("Quotable", True)


def test_a_guide_by_zones_and_its_workbook_tell_the_same(tmp_path, read):
    by_zone = read(this_year(), BY_ZONE)
    workbook = read_guide(open_table(as_workbook(tmp_path / "guide.xlsx", this_year())))
    assert workbook == by_zone
    assert workbook.items[WALK][0].amounts["Very Remote"] == Decimal("2550.75")
    assert workbook.items["01_704_0107_1_1"][0].item["type"] == "UnitPrice"


def test_other_blanks_dashes_and_cases_are_cleaned(read):
    row = a_row(
        f"\u00a0{WALK}  ",
        **{"Support Item Name": "Walk – outside\u00a0 by day ", "Quote": "NO", FLAGS[0]: " n/a"},
    )
    (read_row,) = read([row]).items[WALK]
    assert read_row.code == WALK
    assert read_row.item["name"] == "Walk - outside by day"
    assert (read_row.item["is_quote_required"], read_row.item["non_face_to_face"]) == (False, "NA")
    assert read([a_row(Quote="")]).items[WALK][0].item["is_quote_required"] is False


def test_headers_are_known_in_other_spellings(read):
    renamed = {"Support Item Number": "ITEM NUMBER", "Start date": "Effective from", FLAGS[2]: FLAGS[2][:-1]}
    rows = [{renamed.get(name, name): cell for name, cell in row.items()} for row in last_year()]
    assert read(rows, [renamed.get(name, name) for name in BY_STATE]) == read(last_year())


def test_codes_of_nine_digits_are_usual_and_words_are_taken_with_a_warning(read):
    guide = read([a_row("05_222903111_0103_1_2"), a_row("Bereavement")])
    assert list(guide.items) == ["05_222903111_0103_1_2", "bereavement"]
    (warning,) = guide.warnings
    assert warning.startswith("row 3, A3 (Support Item Number): “Bereavement” is no usual")


def test_columns_nobody_knows_are_reported_and_left(read):
    guide = read(last_year(), (*BY_STATE, "Remarks"))
    assert guide.warnings == ["Column Remarks is not read."]


def test_columns_that_describe_an_item_may_be_missing(read):
    header = ("Support Item Number", "Support Item Name", "Start date", "End Date", *BY_ZONE[12:15])
    (row,) = read([a_row()], header).items[WALK]
    assert row.item == {"name": "Item 01_701"}


def test_empty_rows_are_passed_over(read):
    assert read([a_row(), dict.fromkeys(BY_STATE, " "), a_row(SWIM)]).rows == 2


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        ({"Support Item Number": " "}, "row 2, A2 (Support Item Number): must not be empty."),
        ({"Support Item Name": ""}, "row 2, B2 (Support Item Name): must not be empty."),
        ({"Start date": ""}, "row 2, K2 (Start date): must not be empty."),
        (
            {"Start date": "20250229"},
            "row 2, K2 (Start date): must be a date that exists. It is “20250229”.",
        ),
        ({"End Date": "soon"}, "row 2, L2 (End Date): must be a date such as 20260701. It is “soon”."),
        ({"End Date": "20250630"}, "row 2, L2 (End Date): lies before the first day, 2025-07-01."),
        ({"Remote": "$"}, "row 2, U2 (Remote): must be a number. It is “$”."),
        ({"Remote": "NaN"}, "row 2, U2 (Remote): must be a number. It is “NaN”."),
        ({"Remote": "#N/A"}, "row 2, U2 (Remote): is the error of a formula; correct it, or empty the cell."),
        ({"Support Item Name": "#REF!"}, "row 2, B2 (Support Item Name): is the error of a formula;"),
        ({"Remote": "-1"}, "row 2, U2 (Remote): must be a price from 0 to 9,999,999,999. It is “-1”."),
        ({"Remote": "10000000000"}, "row 2, U2 (Remote): must be a price from 0 to 9,999,999,999."),
        ({"Remote": "9" * 400}, "row 2, U2 (Remote): must be a price from 0 to 9,999,999,999."),
        ({"Remote": "1.23456"}, "row 2, U2 (Remote): has more than four decimals. It is “1.23456”."),
        ({"Unit": "hourly"}, "row 2, I2 (Unit): must be one of H, Hour,"),
        ({"Type": "Free"}, "row 2, AB2 (Type): must be one of Price Limited Supports,"),
        ({"Quote": "maybe"}, "row 2, J2 (Quote): must be yes or no. It is “maybe”."),
        ({FLAGS[1]: "perhaps"}, "row 2, X2 (Provider Travel): must be one of Y, Yes, N, No,"),
        *(
            (
                {"Support Category Number": number},
                "row 2, E2 (Support Category Number): must be a number from 1 to 99.",
            )
            for number in ("0", "100")
        ),
        (
            {"Support Item Name": "x" * 256},
            "row 2, B2 (Support Item Name): must have 255 characters at most.",
        ),
        (
            {"Support Item Number": "x" * 51},
            "row 2, A2 (Support Item Number): must have 50 characters at most.",
        ),
        ({"NT": "71.00"}, "row 2, O2 (NT): differs from ACT;"),
    ],
)
def test_a_fault_names_its_row_and_column(faults, cells, fault):
    (found,) = faults(a_row(**cells))
    assert found.startswith(fault)


def test_every_fault_of_every_row_is_reported_at_once(faults):
    found = faults(a_row(Unit="?", Quote="?"), a_row(SWIM), a_row(PLANNING, remote="?"))
    assert [fault.split(":")[0] for fault in found] == [
        "row 2, I2 (Unit)",
        "row 2, J2 (Quote)",
        "row 4, U4 (Remote)",
    ]


def test_ranges_of_an_item_must_not_overlap(faults):
    found = faults(a_row(**{"End Date": "20251130"}), a_row(SWIM), a_row(**{"Start date": "20251130"}))
    assert found == [
        f"row 4, K4 (Start date): {WALK} has a price from 2025-07-01 to 2025-11-30 already, in row 2."
    ]


def test_an_item_cannot_begin_twice_on_a_day_whatever_the_case_of_its_code(faults):
    (found,) = faults(a_row("Word"), a_row("WORD"))
    assert found.endswith("WORD has a price from 2025-07-01 until further already, in row 2.")


def test_a_row_of_another_width_is_a_fault(tmp_path):
    path = as_csv(tmp_path / "guide.csv", [a_row()])
    path.write_text(path.read_text() + "01_001_0107_1_1,Lost\n")
    with pytest.raises(InvalidRows) as refused:
        read_guide(open_table(path))
    assert refused.value.faults == ["row 3 has 2 cells where the header has 28."]


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        (
            ("Name", "Email"),
            "has no column Support Item Number, Start Date, End Date, Remote, Very Remote, National",
        ),
        (BY_STATE[:12] + BY_STATE[20:], "has no column National"),
        ((*BY_ZONE, "Item Number"), "Columns A and V are both Support Item Number"),
    ],
)
def test_a_file_that_is_no_price_guide_is_not_used(read, header, sentence):
    with pytest.raises(ImportFileError, match=sentence):
        read(last_year(), header)


def test_a_header_alone_is_no_guide(read):
    with pytest.raises(ImportFileError, match="no rows"):
        read([])


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("$1,616.26", "1616.26"),
        ("82.57", "82.57"),
        ("0", "0"),
        ("115.60000000000001", "115.6"),
        ("0.12345", None),
    ],
)
def test_prices_are_decimal_from_the_file_on(text, amount):
    if amount is None:
        with pytest.raises(WireValueError):
            parse_price(text)
        return
    assert parse_price(text) == Decimal(amount)
