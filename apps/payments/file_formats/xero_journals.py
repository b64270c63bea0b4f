"""Manual journals for Xero: CSV, debits above zero and credits below, at most 300 lines in a file.

Source: Xero's help on importing manual journals, and tests of others with its import. Lines of one journal
have the same narration and date.
"""

import csv
import io
from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby

from apps.payments.file_formats.journals import (
    Journal,
    JournalLine,
    UnfitAccountsFile,
    check_journal,
    read_day,
)

MAX_LINES = 300
HEADERS = ("*Narration", "*Date", "Description", "*AccountCode", "*TaxRate", "*Amount")
DAY = "%d/%m/%Y"


def write_xero_journals(journals: Sequence[Journal]) -> bytes:
    """The file of these journals; ``UnfitAccountsFile`` for what it cannot hold."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(HEADERS)
    count = 0
    for journal in journals:
        check_journal(journal)
        for line in journal.lines:
            count += 1
            day = journal.day.strftime(DAY)
            row = (journal.narration, day, line.description, line.account, line.tax, f"{line.amount:.2f}")
            writer.writerow(row)
    if not 0 < count <= MAX_LINES:
        raise UnfitAccountsFile(f"A file has 1 to {MAX_LINES} lines of journals, this one has {count:,}.")
    return text.getvalue().encode()


def read_xero_journals(content: bytes) -> list[Journal]:
    """The journals in a file that ``write_xero_journals`` wrote; they have no numbers."""
    header, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
    if tuple(header) != HEADERS:
        raise UnfitAccountsFile("This is no file of manual journals.")
    return [
        Journal(
            "",
            narration,
            read_day(day),
            [JournalLine(row[3], Decimal(row[5]), row[4], row[2]) for row in lines],
        )
        for (narration, day), lines in groupby(rows, key=lambda row: (row[0], row[1]))
    ]
