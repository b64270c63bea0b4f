"""How lines are written into the agency's claim file."""

import datetime as dt
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from apps.funding.choices import CancellationReason, ClaimType, TaxChoice
from apps.funding.file_formats.claim_file import (
    CANCELLATION_REASONS,
    CLAIM_TYPES,
    GST_CODES,
    ClaimRow,
    DoesNotFit,
    WrittenAmount,
    blank_scheme_numbers,
    write_amount,
    write_claim_file,
)
from apps.funding.models import ClaimLine
from apps.funding.services.resubmit import reduce_to_gap
from tests.funding.claim_file_checker import amount_of, faults_of, faults_of_amount, read_file

DAY = dt.date(2026, 2, 16)


def written(quantity, price, unit="H", item_type="Priced", total=None):
    quantity, price = Decimal(quantity), Decimal(price)
    total = Decimal(total) if total else round_half_up(quantity * price)
    return write_amount(quantity, price, total, unit, item_type)


def round_half_up(amount):
    return amount.quantize(Decimal("0.01"), "ROUND_HALF_UP")


def a_row(**values):
    given = {
        "scheme_number": "430000001",
        "first_day": DAY,
        "last_day": DAY,
        "support_number": "01_011_0107_1_1",
        "reference": "C0000001-ABCDE-0001",
        "amount": WrittenAmount("2", "", "70.17"),
        "tax_choice": None,
        "claim_type": None,
        "cancellation_reason": None,
        "abn": "51824753556",
    }
    return ClaimRow(**{**given, **values})


def rows_of(*rows):
    return read_file("C0000001-ABCDE.csv", write_claim_file("4050000001", rows))


@pytest.mark.parametrize(
    ("quantity", "price", "unit", "item_type", "expected"),
    [
        ("1.0000", "70.0000", "H", "Priced", ("1", "", "70.00")),
        ("99999", "0.01", "E", "Priced", ("99999", "", "0.01")),
        ("1.2500", "70.17", "H", "Priced", ("1.25", "", "70.17")),
        ("0.5", "70.17", "D", "Priced", ("0.50", "", "70.17")),
        ("999.99", "3.00", "E", "Priced", ("999.99", "", "3.00")),
        # 20 minutes twice, 5 minutes, and a minute more than 100 hours.
        ("0.333", "9.00", "H", "Priced", ("", "000:20", "9.00")),
        ("0.3333", "66.30", "H", "Priced", ("", "000:20", "66.30")),
        ("0.0833", "60.00", "H", "Priced", ("", "000:05", "60.00")),
        ("0.3333", "66.30", "H", None, ("", "000:20", "66.30")),
        ("100.0167", "60.00", "H", "Priced", ("", "100:01", "60.00")),
        ("500.125", "2.00", "E", "UnitPrice", ("1", "", "1000.25")),
        ("1000.5", "1.00", "E", "UnitPrice", ("1", "", "1000.50")),
        ("2.125", "33.3333", "E", "Quotable", ("1", "", "70.83")),
        ("1000.5", "0.10", "E", "Quotable", ("1", "", "100.05")),
        ("100000", "1.00", "E", "UnitPrice", ("1", "", "100000.00")),
        ("2", "50.005", "E", "Quotable", ("1", "", "100.01")),
    ],
)
def test_an_amount_is_written_without_changing_it(quantity, price, unit, item_type, expected):
    amount = written(quantity, price, unit, item_type)
    assert tuple(amount) == expected
    row = dict(zip(("Quantity", "Hours", "UnitPrice"), amount, strict=True))
    assert list(faults_of_amount(row)) == []
    assert amount_of(row) == round_half_up(Decimal(quantity) * Decimal(price))


@pytest.mark.parametrize(
    ("quantity", "price", "unit", "item_type", "reason"),
    [
        ("1000.5", "70.00", "H", "Priced", "1000.5 × 70 cannot be written"),
        ("1.125", "70.00", "H", "Priced", "1.125 × 70 cannot be written"),
        ("0.335", "60.00", "H", "Priced", "cannot be written"),
        # As 20 minutes it would be 20.00, and the line comes to 19.98.
        ("0.333", "60.00", "H", "Priced", "cannot be written"),
        ("0.3333", "60.00", "E", "Priced", "cannot be written"),
        ("1.125", "60.00", None, None, "cannot be written"),
        ("2", "35.0025", "H", "Priced", "2 × 35.0025 cannot be written"),
        ("100000", "1.00", "E", "Priced", "cannot be written"),
        ("1", "0.00", "E", "Quotable", "comes to 0.00"),
        ("1", "10000000.00", "E", "Quotable", "comes to 10,000,000.00"),
    ],
)
def test_an_amount_that_does_not_fit_is_refused_with_its_reason(quantity, price, unit, item_type, reason):
    with pytest.raises(DoesNotFit, match=reason):
        written(quantity, price, unit, item_type)


def test_a_total_that_is_not_quantity_times_price_is_never_written_as_that():
    with pytest.raises(DoesNotFit):
        written("2", "70.00", total="140.01")
    assert written("2", "70.00", item_type="Quotable", total="140.01") == ("1", "", "140.01")


def test_every_choice_has_its_code_and_no_other():
    assert set(GST_CODES) == {None, *TaxChoice.values}
    assert set(CLAIM_TYPES) == {None, *ClaimType.values}
    assert set(CANCELLATION_REASONS) == {*CancellationReason.values} - {"None"}
    rows = [
        a_row(tax_choice=tax, claim_type=kind, cancellation_reason=reason, reference=f"R-{number}")
        for number, (tax, kind, reason) in enumerate(
            (tax, kind, reason)
            for tax in GST_CODES
            for kind in CLAIM_TYPES
            for reason in CANCELLATION_REASONS
        )
    ]
    found = rows_of(*rows)
    assert [fault for row in found for fault in faults_of(row, DAY)] == []
    assert {row["ClaimType"] for row in found} == {"", "CANC", "REPW", "TRAN", "NF2F", "IRSS", "THLT"}


def test_a_row_says_what_the_line_says():
    [row] = rows_of(a_row(last_day=dt.date(2026, 2, 20), abn="REIMB", claim_type="Telehealth"))
    assert row == {
        "RegistrationNumber": "4050000001",
        "NDISNumber": "430000001",
        "SupportsDeliveredFrom": "2026/02/16",
        "SupportsDeliveredTo": "2026/02/20",
        "SupportNumber": "01_011_0107_1_1",
        "ClaimReference": "C0000001-ABCDE-0001",
        "Quantity": "2",
        "Hours": "",
        "UnitPrice": "70.17",
        "GSTCode": "P2",
        "AuthorisedBy": "",
        "ParticipantApproved": "",
        "InKindFundingProgram": "",
        "ClaimType": "THLT",
        "CancellationReason": "",
        "ABN of Support Provider": "REIMB",
    }


def test_scheme_numbers_are_blanked_in_their_rows_alone():
    rows = [a_row(scheme_number=f"43000000{number}") for number in (1, 2, 3)]
    content = write_claim_file("4050000001", rows)
    blanked = blank_scheme_numbers(content, [2])
    assert blanked == content.replace(b"430000002", b"")
    assert blanked.count(b"\r\n") == 4


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("NDISNumber", "43 000001"),
        ("SupportsDeliveredFrom", "2026-02-16"),
        ("SupportsDeliveredTo", "2026/02/15"),
        ("Quantity", "1.125"),
        ("Quantity", "1000.50"),
        ("Quantity", "0"),
        ("UnitPrice", "70.1"),
        ("GSTCode", ""),
        ("ClaimType", "STANDARD"),
        ("CancellationReason", "NSDH"),
        ("ABN of Support Provider", "51824753557"),
        ("ClaimReference", "A B"),
    ],
)
def test_the_checker_finds_a_fault_in_each_column(column, text):
    [row] = rows_of(a_row())
    assert list(faults_of(row, DAY)) == []
    assert list(faults_of({**row, column: text}, DAY))


@settings(max_examples=60)
@given(
    st.decimals("0.25", "40", places=2),
    st.decimals("0.50", "250", places=2),
    st.decimals("0.02", "0.98", places=2),
)
def test_a_gap_is_written_in_a_claim_file_up_to_the_price_of_its_original(quantity, price, part):
    total = (quantity * price).quantize(Decimal("0.01"))
    paid = (total * part).quantize(Decimal("0.01"))
    assume(0 < paid < total)
    line = ClaimLine(quantity=quantity, price=price, total=total, amount_paid=paid)
    reduce_to_gap(line)
    assert (line.total, line.amount_paid) == (total - paid, 0)
    assert (line.quantity * line.price).quantize(Decimal("0.01"), ROUND_HALF_UP) == line.total
    assert line.price <= price or line.quantity == 1
    if total - paid >= 1:
        write_amount(line.quantity, line.price, line.total, "each", None)  # raises where it cannot
