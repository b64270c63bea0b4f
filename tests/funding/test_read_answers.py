"""Reading results and remittances: columns by name, amounts strictly, one form of days for a file."""

import csv
import datetime as dt
from decimal import Decimal

import pytest

from apps.core.importing.fixed_columns import InvalidRows
from apps.core.table_files.tables import ImportFileError
from apps.funding.file_formats import answer_files
from apps.funding.file_formats.remittances import read_remittance
from apps.funding.file_formats.results import read_results
from tests.funding.answer_files import (
    REMITTANCE,
    RESULTS,
    a_payment,
    a_result,
    as_csv,
    as_remittance_notification,
    as_results_notification,
)

TODAY = dt.date(2026, 11, 24)


@pytest.fixture
def results(tmp_path):
    return lambda rows, **layout: read_results(as_csv(tmp_path / "results.csv", rows, **layout))[1]


@pytest.fixture
def remittance(tmp_path):
    def read(rows, day_form=None, **layout):
        return read_remittance(as_csv(tmp_path / "paid.csv", rows, **layout), TODAY, day_form)[1]

    return read


# --- results --------------------------------------------------------------------------------------------


def test_a_result_has_what_the_agency_said_in_our_words(results):
    accepted, refused, unknown = results(
        [
            a_result("R1", "SUCCESSFUL", amount="1,234.50", capped="Y"),
            a_result("R2", "ERROR", "C04 Quantity over approved"),
            a_result("R3", "PENDING"),
        ]
    )
    assert (accepted.reference, accepted.is_accepted, accepted.amount) == ("R1", True, Decimal("1234.50"))
    assert (accepted.is_capped, accepted.code, accepted.text) == (True, "", "")
    assert (refused.is_accepted, refused.code) == (False, "C04")
    assert (refused.text, refused.amount, refused.is_capped) == ("C04 Quantity over approved", None, False)
    assert (unknown.is_accepted, unknown.status) == (None, "PENDING")


def test_columns_come_in_any_order_and_case_with_a_mark_and_quotes(results):
    header = [name.upper() for name in reversed((*RESULTS, "Comment"))]
    row = {**a_result("R1", amount="5"), "Comment": "on time"}
    rows = [{name.upper(): cell for name, cell in row.items()}]
    (found,) = results(rows, header=header, quoting=csv.QUOTE_ALL, mark="\ufeff")
    assert (found.reference, found.amount, found.extra) == ("R1", 5, {"COMMENT": "on time"})


def test_the_notification_has_the_same_rows_as_the_file(results, tmp_path):
    rows = [a_result("R1", amount="5.00"), a_result("R2", "CANCELLED")]
    _, told = read_results(as_results_notification(tmp_path / "event.json", rows))
    assert [(each.reference, each.is_accepted, each.amount) for each in told] == [
        ("R1", True, 5),
        ("R2", False, None),
    ]


def test_nothing_about_participants_is_kept_of_a_row(results, remittance):
    row = {**a_result("R1"), "Participant Name": "Mia Walsh", "NDISNumber": "430123456", "Note": "n"}
    (found,) = results([row])
    assert found.extra == {"Note": "n"}
    assert not {"Mia Walsh", "430123456"} & set(found.row.cells)
    (paid,) = remittance([a_payment("R1", "5")])
    assert "ParticipantName" not in paid.extra
    assert "A PARTICIPANT" not in paid.row.cells


# --- remittances ----------------------------------------------------------------------------------------


def test_a_remittance_has_a_payment_of_a_line_in_each_row(remittance):
    (row,) = remittance([a_payment("R1", "$1,234.50", "40", ItemID="01_011", AmountClaimed="2000")])
    assert (row.reference, row.payment_number, row.day) == ("R1", "40", dt.date(2026, 11, 20))
    assert (row.amount, row.claimed, row.extra) == (Decimal("1234.50"), 2000, {"ItemID": "01_011"})


def test_the_notification_is_read_like_the_file(remittance, tmp_path):
    rows = [a_payment("R1", "5.00"), a_payment("R2", "-1.00", "41")]
    _, told = read_remittance(as_remittance_notification(tmp_path / "event.json", rows), TODAY)
    assert [(each.reference, each.amount) for each in told] == [("R1", 5), ("R2", -1)]


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["20261101", "20241124"], [dt.date(2026, 11, 1), dt.date(2024, 11, 24)]),
        (["01112026", "12102026"], [dt.date(2026, 11, 1), dt.date(2026, 10, 12)]),
        (["1112026"], [dt.date(2026, 11, 1)]),
        (["2026-11-01"], [dt.date(2026, 11, 1)]),
        (["20112026"], [dt.date(2026, 11, 20)]),
    ],
)
def test_the_days_of_a_file_have_the_form_in_which_all_are_of_the_last_two_years(remittance, texts, days):
    rows = [a_payment(f"R{at}", "5", day=text) for at, text in enumerate(texts)]
    assert [row.day for row in remittance(rows)] == days


@pytest.mark.parametrize("texts", [["20261101", "01112026"], ["20190101"], ["20261125"], ["yesterday"]])
def test_where_no_form_fits_every_row_somebody_is_asked(remittance, texts):
    rows = [a_payment(f"R{at}", "5", day=text) for at, text in enumerate(texts)]
    with pytest.raises(ImportFileError, match=rf"such as “{texts[0]}”, is not in every row a day"):
        remittance(rows)


def test_the_form_that_somebody_states_is_taken(remittance):
    (row,) = remittance([a_payment("R1", "5", day="01122026")], "DDMMYYYY")
    assert row.day == dt.date(2026, 12, 1)


@pytest.mark.parametrize("text", ["01011899", "01112019", "01122999"])
def test_a_day_that_is_stated_and_a_slip_is_a_fault_of_its_row(remittance, text):
    with pytest.raises(InvalidRows) as refused:
        remittance([a_payment("R1", "5", day=text)], "DDMMYYYY")
    assert refused.value.faults == [
        f"row 2: PayReqDocDate is no day of the last 7 years written as DDMMYYYY. It is “{text}”."
    ]
    with pytest.raises(InvalidRows) as refused:
        remittance([a_payment("R1", "5", day="31122026")], "YYYYMMDD")
    assert refused.value.faults == [
        "row 2: PayReqDocDate is no day of the last 7 years written as YYYYMMDD. It is “31122026”."
    ]


# --- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1.234,50", "AmountPaid must be a number. It is “1.234,50”."),
        ("12.345", "AmountPaid has more than two decimals. It is “12.345”."),
        ("(50.00)", "AmountPaid must be a number. It is “(50.00)”."),
        ("50.00-", "AmountPaid must be a number. It is “50.00-”."),
        ("50.00 CR", "AmountPaid must be a number. It is “50.00 CR”."),
        ("NaN", "AmountPaid must be a number. It is “NaN”."),
        ("1e3", "AmountPaid must be a number. It is “1e3”."),
        ("99999999999", "AmountPaid is more than any claim comes to. It is “99999999999”."),
        ("", "AmountPaid is required."),
    ],
)
def test_an_amount_that_is_none_is_refused_with_its_row_and_column(remittance, text, sentence):
    with pytest.raises(InvalidRows, match="Nothing was stored: 1 fault") as refused:
        remittance([a_payment("R1", "5"), a_payment("R2", text)])
    assert refused.value.faults == [f"row 3, K3: {sentence}"]


def test_every_fault_of_a_file_is_named(remittance):
    rows = [a_payment("R1", "x"), a_payment("R2", "5", number=""), a_payment("R3", "5", number="9" * 51)]
    with pytest.raises(InvalidRows) as refused:
        remittance(rows)
    assert [fault.partition(":")[0] for fault in refused.value.faults] == [
        "row 2, K2",
        "row 3, D3",
        "row 4, D4",
    ]


def test_a_row_that_lost_a_cell_is_named(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("Claim Reference,Payment Request Status\nR1,SUCCESSFUL\nR2\n")
    with pytest.raises(InvalidRows) as refused:
        read_results(path)
    assert refused.value.faults == ["row 3 has 1 cells where the header has 2."]


HEADER = ",".join(RESULTS)
UNUSABLE = {
    "another file": ("a.csv", b"Name,Town\nMia,Perth\n", "a.csv does not hold results of the agency"),
    "a missing column": (
        "a.csv",
        b"Claim Reference,Error Message\nR1,\n",
        "a.csv lacks the column Payment Request Status: is it what the agency sent?",
    ),
    "a remittance": (
        "a.csv",
        ",".join(REMITTANCE).encode() + b"\n" + b"," * 18 + b"\n",
        "a.csv has a remittance of the agency, not results: import it as such.",
    ),
    "a column twice": ("a.csv", f"{HEADER},Claim Reference\n".encode(), "Columns A and F are both"),
    "no rows": ("a.csv", f"{HEADER}\r\n".encode(), "a.csv has no rows."),
    "nothing": ("a.csv", b"", "a.csv is empty."),
    "a NUL": ("a.csv", f"{HEADER}\nR1,ERROR,a\0b,,\n".encode(), "a.csv, line 2 holds a NUL character"),
    "a NUL in JSON": (
        "a.json",
        b'{"response": [{"invoice_number": "R1", "claim_status": "a\\u0000"}]}',
        "a.json, record 1 holds a NUL character",
    ),
    "half a letter": ("a.csv", f"{HEADER}\nR1,ERROR,é,,\nR2".encode() + b"\xc3", "line 3 is not UTF-8"),
    "no list": ("a.json", b'{"event_id": "X"}', "a.json is no JSON list of records"),
    "another format": ("a.pdf", b"%PDF", "a.pdf is none of"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "sentence"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_is_no_file_of_results_is_refused_with_one_clear_sentence(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ImportFileError) as refused:
        read_results(path)
    assert sentence in str(refused.value)


def test_results_are_no_remittance(tmp_path):
    path = as_csv(tmp_path / "r.csv", [a_result("R1")])
    with pytest.raises(ImportFileError, match=r"r.csv has results of the agency, not a remittance"):
        read_remittance(path, TODAY)


def test_too_many_rows_and_too_large_files_are_refused(tmp_path, monkeypatch):
    path = as_csv(tmp_path / "r.csv", [a_result("R1"), a_result("R2"), a_result("R3")])
    monkeypatch.setattr(answer_files, "MAX_ROWS", 2)
    with pytest.raises(ImportFileError, match=r"r.csv has more than 2 rows: split it."):
        read_results(path)
    monkeypatch.setattr(answer_files, "MAX_BYTES", 100)
    with pytest.raises(ImportFileError, match=r"r.csv is larger than 0 MiB: split it."):
        read_results(path)
