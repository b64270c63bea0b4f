"""Files for Xero and MYOB: what they hold, what they refuse, and what an erasure leaves of them."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.payments.file_formats import accounts_forms
from apps.payments.file_formats.accounts_forms import FORMS, check_forms
from apps.payments.file_formats.journals import Journal, JournalLine, UnfitAccountsFile, split_journals
from apps.payments.file_formats.myob_journal import read_myob_journal, write_myob_journal
from apps.payments.file_formats.xero_bills import (
    BillLine,
    XeroBill,
    erase_from_bills,
    split_bills,
    total_of_bills,
    write_xero_bills,
)
from apps.payments.file_formats.xero_journals import read_xero_journals, write_xero_journals
from tests.payments.accounts_checker import check_myob_journal, check_xero_bills, check_xero_journals

DAY = dt.date(2026, 3, 9)


def a_journal(*amounts, narration="Received", number="A0010001", account="1-1234", tax="N-T"):
    lines = [JournalLine(account, Decimal(each), tax, "Clearing") for each in amounts]
    return Journal(number, narration, DAY, lines)


def a_bill(*amounts, reference="INV-1", mark="RUN1-1", contact="Harbour Lights"):
    lines = [BillLine("800", "BAS Excluded", Decimal(each)) for each in amounts]
    return XeroBill(contact, reference, mark, DAY, "Claim C-1", lines)


@pytest.mark.parametrize("style", FORMS)
def test_each_package_reads_what_it_writes(style):
    form = FORMS[style]
    journals = [a_journal("5.00", "-5.00", tax=tax[:3].upper()) for tax in form.tax_names.values()]
    read = form.read(form.write(journals))
    assert [line for journal in read for line in journal.lines] == [
        line for journal in journals for line in journal.lines
    ]


def test_a_package_without_a_form_is_named(monkeypatch):
    assert check_forms() == []
    others = {style: form for style, form in FORMS.items() if style != "MyobJournal"}
    monkeypatch.setattr(accounts_forms, "FORMS", others)
    (error,) = check_forms()
    assert error.id == "payments.E001"
    assert error.msg == "The accounting package MyobJournal has no row in FORMS."


def test_journals_of_xero_have_debits_above_zero_and_credits_below():
    journal = a_journal("110.00", "-100.00", "-10.00", tax="BAS Excluded")
    content = write_xero_journals(
        [journal, a_journal("5.00", "-5.00", narration="Paid, “x”", tax="BAS Excluded")]
    )
    assert content.split(b"\r\n")[:2] == [
        b"*Narration,*Date,Description,*AccountCode,*TaxRate,*Amount",
        b"Received,09/03/2026,Clearing,1-1234,BAS Excluded,110.00",
    ]
    assert list(check_xero_journals(content)) == [
        ("Received", "09/03/2026"),
        ("Paid, “x”", "09/03/2026"),
    ]
    assert read_xero_journals(content)[0].lines == journal.lines


def test_the_journal_of_myob_has_a_column_for_each_side_and_a_blank_line_between_entries():
    journals = [
        a_journal("5.00", "-5.00"),
        a_journal("7.10", "-7.10", number="A0010002", narration="Pa\tid\n"),
    ]
    content = write_myob_journal(journals)
    assert content.decode().split("\r\n")[1:5] == [
        "A0010001\t09/03/2026\tReceived\tX\t1-1234\t5.00\t\tN-T\tClearing",
        "A0010001\t09/03/2026\tReceived\tX\t1-1234\t\t5.00\tN-T\tClearing",
        "",
        "A0010002\t09/03/2026\tPa id\tX\t1-1234\t7.10\t\tN-T\tClearing",
    ]
    assert len(check_myob_journal(content)) == 2
    assert [each.debits for each in read_myob_journal(content)] == [Decimal("5.00"), Decimal("7.10")]


@pytest.mark.parametrize(
    ("journal", "sentence"),
    [
        (a_journal("5.00", "-4.99"), "“Received” does not balance: 0.01 are left over."),
        (a_journal(), "“Received” has no lines."),
        (a_journal("0.005", "-0.005"), "“Received” cannot have the amount 0.005."),
        (a_journal("0.00"), "“Received” cannot have the amount 0.00."),
        (a_journal("5.00", "-5.00", account=""), "has a line without an account or a tax"),
        (a_journal("5.00", "-5.00", tax=""), "has a line without an account or a tax"),
    ],
)
@pytest.mark.parametrize("write", [write_xero_journals, write_myob_journal])
def test_a_journal_that_no_package_books_is_refused(write, journal, sentence):
    with pytest.raises(UnfitAccountsFile, match=sentence.replace(".", r"\.")):
        write([journal])


def test_myob_takes_its_own_accounts_and_tax_codes_alone():
    with pytest.raises(UnfitAccountsFile, match=r"no account 200: its accounts are written 4-1000"):
        write_myob_journal([a_journal("5.00", "-5.00", account="200")])
    with pytest.raises(UnfitAccountsFile, match="no tax code “BAS Excluded”"):
        write_myob_journal([a_journal("5.00", "-5.00", tax="BAS Excluded")])


def test_a_file_of_journals_has_so_many_lines_and_divides_none():
    three = [
        a_journal("3.00", "-2.00", "-1.00", narration=str(each), tax="BAS Excluded") for each in range(150)
    ]
    files = split_journals(three, 300)
    assert [len(file) for file in files] == [100, 50]
    assert [len(check_xero_journals(write_xero_journals(file))) for file in files] == [100, 50]
    with pytest.raises(UnfitAccountsFile, match="more than 2 lines"):
        split_journals(three, 2)
    with pytest.raises(UnfitAccountsFile, match="1 to 300 lines of journals, this one has 303"):
        write_xero_journals(three[:101])
    for write in (write_xero_journals, write_myob_journal):
        with pytest.raises(UnfitAccountsFile):
            write([])


def test_bills_have_a_row_for_each_line():
    bills = [a_bill("50.25", "9.50"), a_bill("-3.00", reference='Say "7", please', mark="RUN1-2")]
    content = write_xero_bills(bills)
    assert check_xero_bills(content) == {
        "INV-1 RUN1-1": ("Harbour Lights", "09/03/2026", Decimal("59.75")),
        'Say "7", please RUN1-2': ("Harbour Lights", "09/03/2026", Decimal("-3.00")),
    }
    assert total_of_bills(content) == Decimal("56.75")
    for unfit in (a_bill(), a_bill("0.005"), a_bill("1.00", contact=" ")):
        with pytest.raises(UnfitAccountsFile):
            write_xero_bills([unfit])


def test_a_file_has_at_most_five_hundred_bills():
    bills = [a_bill("1.00", mark=f"RUN1-{each}") for each in range(501)]
    assert [len(file) for file in split_bills(bills)] == [500, 1]
    assert len(check_xero_bills(write_xero_bills(bills[:500]))) == 500
    with pytest.raises(UnfitAccountsFile, match="1 to 500 bills, this one has 501"):
        write_xero_bills(bills)


def test_an_erasure_leaves_amounts_and_the_bills_of_others_as_they_were():
    bills = [a_bill("1.00", "2.00"), a_bill("3.00", mark="RUN1-2"), a_bill("4.00", mark="RUN1-21")]
    content = write_xero_bills(bills)
    erased = erase_from_bills(content, {"RUN1-1"}, {"RUN1-2"})
    assert check_xero_bills(erased) == {
        "ERASED RUN1-1": ("ERASED", "09/03/2026", Decimal("3.00")),
        "ERASED RUN1-2": ("Harbour Lights", "09/03/2026", Decimal("3.00")),
        "INV-1 RUN1-21": ("Harbour Lights", "09/03/2026", Decimal("4.00")),
    }
    assert erase_from_bills(erased, {"RUN1-1"}, {"RUN1-2"}) == erased
    assert erase_from_bills(content, set(), set()) == content


@pytest.mark.parametrize("read", [read_xero_journals, read_myob_journal, total_of_bills])
def test_other_files_are_not_read(read):
    with pytest.raises(UnfitAccountsFile, match="This is no file of"):
        read(b"Name,Amount\r\nx,1\r\n")
