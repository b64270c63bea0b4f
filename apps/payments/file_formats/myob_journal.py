"""The general journal for MYOB AccountRight: tab separated, a blank line between entries.

Source: MYOB's help on the fields of imports, for the form of accounts (``4-1000``), of tax codes (three
letters) and the length of numbers. Debits and credits have a column each, since it takes no negative amounts.
The assistant of the import lets the user say which column is which field, so the headers are for people.
"""

import re
from collections.abc import Sequence
from decimal import Decimal

from apps.base.money import ZERO
from apps.payments.file_formats.journals import (
    Journal,
    JournalLine,
    UnfitAccountsFile,
    check_journal,
    read_day,
)

HEADERS = (
    *("Journal Number", "Date", "Memo", "Inclusive", "Account Number", "Debit Amount", "Credit Amount"),
    *("Tax Code", "Allocation Memo"),
)
DAY = "%d/%m/%Y"
ACCOUNT = re.compile(r"[0-9]-?[0-9]{4}")
TAX_CODE = re.compile(r"[A-Z0-9\-]{1,3}")


def write_myob_journal(journals: Sequence[Journal]) -> bytes:
    """The file of these journals; ``UnfitAccountsFile`` for what it cannot hold."""
    if not journals:
        raise UnfitAccountsFile("There is nothing to be booked.")
    entries = ["\t".join(HEADERS)]
    for journal in journals:
        check_journal(journal)
        lines = [_line(journal, line) for line in journal.lines]
        entries.append("\r\n".join(lines))
    return ("\r\n".join((entries[0], "\r\n\r\n".join(entries[1:]))) + "\r\n").encode()


def _line(journal: Journal, line: JournalLine) -> str:
    if not ACCOUNT.fullmatch(line.account):
        raise UnfitAccountsFile(f"MYOB has no account {line.account}: its accounts are written 4-1000.")
    if not TAX_CODE.fullmatch(line.tax):
        raise UnfitAccountsFile(f"MYOB has no tax code “{line.tax}”: its codes have three letters.")
    amounts = (f"{line.amount:.2f}", "") if line.amount > 0 else ("", f"{-line.amount:.2f}")
    texts = (journal.narration, "X", line.account, *amounts, line.tax, line.description)
    # Tabs and line ends would begin another column or line.
    return "\t".join(" ".join(text.split()) for text in (journal.number, journal.day.strftime(DAY), *texts))


def read_myob_journal(content: bytes) -> list[Journal]:
    """The journals in a file that ``write_myob_journal`` wrote."""
    header, _, text = content.decode().partition("\r\n")
    if tuple(header.split("\t")) != HEADERS:
        raise UnfitAccountsFile("This is no file of a general journal.")
    return [
        _journal([row.split("\t") for row in entry.split("\r\n") if row]) for entry in text.split("\r\n\r\n")
    ]


def _journal(rows: Sequence[Sequence[str]]) -> Journal:
    number, day, narration = rows[0][:3]
    lines = [
        JournalLine(row[4], Decimal(row[5] or ZERO) - Decimal(row[6] or ZERO), row[7], row[8]) for row in rows
    ]
    return Journal(number, narration, read_day(day), lines)
