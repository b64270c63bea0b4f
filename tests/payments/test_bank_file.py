"""The bank's file format (apps/payments/file_formats)."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.payments.file_formats.bank_file import (
    OutgoingPayment,
    OwnAccount,
    UnfitBankFile,
    erase_payments,
    plain_text,
    total_of,
    write_bank_file,
)
from apps.payments.file_formats.bank_returns import read_returns
from tests.payments.bank_file_checker import Payment, read_bank_file

OWN = OwnAccount("062-000", "12345678", "Plain Plans Pty Ltd, a long name", "CBA", "301500")
DAY = dt.date(2026, 11, 24)


def a_payment(amount="123.45", name="Harbour Lights", **values):
    return OutgoingPayment(
        **{"bsb": "733-100", "number": "222222", "reference": "INV-1", **values},
        name=name,
        amount=Decimal(amount),
    )


@pytest.mark.parametrize("debits", [False, True])
def test_a_bank_reads_what_is_paid_to_whom(debits):
    payments = [a_payment(), a_payment("0.01", number="1"), a_payment("9999999.99", bsb="062-001")]
    found, day = read_bank_file(write_bank_file(OWN, payments, DAY, "PROVIDERS", debits))
    assert day == "241126"
    assert found == [Payment(p.bsb, p.number, p.name, p.amount, p.reference) for p in payments]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("José Núñez", "Jose Nunez"),
        ("Søren & Łukasz Straße", "Soren & Lukasz Strasse"),
        ("O’Brien – Care", "O'Brien - Care"),
        ("‘Þóra’ — Guðrún, Æsa Sæþór", "'Thora' - Gudrun, AEsa Saethor"),
        ("Ðorđe Øst-Cœur Œuvre, Işık", "Dorde Ost-Coeur OEuvre, Isik"),
        ("Nguyễn  Văn\tĐức", "Nguyen Van Duc"),
        ("“Care” «Plus» ™", "Care Plus TM"),
        ("李", ""),
    ],
)
def test_names_are_written_in_the_characters_of_banks(written, read):
    assert plain_text(written) == read


def test_names_are_cut_to_their_columns_and_never_blank():
    (found,), _ = read_bank_file(write_bank_file(OWN, [a_payment(name="N" * 60)], DAY, "PROVIDERS"))
    assert found.name == "N" * 32
    # A letter that becomes two, and what is left out, count as they are written.
    (found,), _ = read_bank_file(write_bank_file(OWN, [a_payment(name=f"{'ß' * 20}李")], DAY, "PROVIDERS"))
    assert found.name == "s" * 32
    with pytest.raises(UnfitBankFile, match="No character of “李” \\(the payee\\)"):
        write_bank_file(OWN, [a_payment(name="李")], DAY, "PROVIDERS")


@pytest.mark.parametrize("amount", ["0", "-1.00", "0.001", "100000000.00"])
def test_an_amount_that_does_not_fit_is_refused(amount):
    with pytest.raises(UnfitBankFile, match="cannot hold the amount"):
        write_bank_file(OWN, [a_payment(amount)], DAY, "PROVIDERS")


def test_a_file_without_payments_is_refused():
    with pytest.raises(UnfitBankFile, match="nothing to pay"):
        write_bank_file(OWN, [], DAY, "PROVIDERS")


def test_erased_payments_keep_their_amounts_and_the_file_its_form():
    payments = [a_payment(), a_payment("5.00", name="Mia Nguyen"), a_payment("7.00")]
    content = write_bank_file(OWN, payments, DAY, "PROVIDERS", debits_own_account=True)
    erased = erase_payments(content, [1], [2])
    found, day = read_bank_file(erased)
    assert found == [
        Payment("733-100", "222222", "Harbour Lights", Decimal("123.45"), "INV-1"),
        Payment("000-000", "0", "ERASED", Decimal("5.00"), "ERASED"),
        Payment("733-100", "222222", "Harbour Lights", Decimal("7.00"), "ERASED"),
    ]
    assert (day, total_of(erased)) == ("241126", Decimal("135.45"))


def a_return(payment=b"", code=b"5"):
    line = payment or write_bank_file(OWN, [a_payment()], DAY, "PROVIDERS").split(b"\r\n")[1]
    return b"2" + line[1:17] + code + line[18:112] + b"24301500"


def test_returned_payments_are_read_with_their_reason():
    found = read_returns(a_return() + b"\r\n" + a_return(code=b"7") + b"\r\n")
    assert [each.reason for each in found] == ["no such account", "code 7"]
    first = found[0]
    assert (first.bsb, first.number, first.name) == ("733-100", "222222", "Harbour Lights")
    assert (first.amount, first.reference) == (Decimal("123.45"), "INV-1")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "no returned payment"),
        (b"Claim Reference,Status\r\n", "no returned payment"),
        (b"\xff\xfe2", "beyond ASCII"),
        (b"2 short\r\n", "Line 1 is no returned payment"),
    ],
)
def test_another_file_is_no_file_of_returns(content, sentence):
    with pytest.raises(UnfitBankFile, match=sentence):
        read_returns(content)
