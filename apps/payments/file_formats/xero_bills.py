"""Bills for Xero: CSV, a row for each line of a bill, at most 500 bills in a file.

Source: Xero's help on importing bills, and tests of others with its import. Rows of one bill share number,
contact and dates; amounts include GST, which whoever imports the file says there.
"""

import csv
import datetime as dt
import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

from apps.base.money import ZERO
from apps.payments.file_formats.journals import UnfitAccountsFile

MAX_BILLS = 500
#: Stands for what was erased.
ERASED = "ERASED"
#: The columns of the template in their order; those that are empty in every row stand there as well.
HEADERS = (
    *("*ContactName", "EmailAddress", "POAddressLine1", "POAddressLine2", "POAddressLine3"),
    *("POAddressLine4", "POCity", "PORegion", "POPostalCode", "POCountry"),
    *("*InvoiceNumber", "*InvoiceDate", "*DueDate", "Total", "InventoryItemCode", "Description"),
    *("*Quantity", "*UnitAmount", "*AccountCode", "*TaxType", "TaxAmount"),
    *("TrackingName1", "TrackingOption1", "TrackingName2", "TrackingOption2", "Currency"),
)
CONTACT, NUMBER, AMOUNT = map(HEADERS.index, ("*ContactName", "*InvoiceNumber", "*UnitAmount"))
DAY = "%d/%m/%Y"


@dataclass(frozen=True, slots=True)
class BillLine:
    """The part of a bill that goes on one account with one tax."""

    account: str
    tax: str
    amount: Decimal


@dataclass(frozen=True, slots=True)
class XeroBill:
    """A payee's amount for one claim; below zero where it is taken off, or came back.

    ``mark`` is what its number ends with, and no other bill's does; ``reference`` is the payee's own.
    """

    contact: str
    reference: str
    mark: str
    day: dt.date
    description: str
    lines: Sequence[BillLine]

    @property
    def number(self) -> str:
        return f"{self.reference} {self.mark}".strip()

    @property
    def total(self) -> Decimal:
        return sum((line.amount for line in self.lines), ZERO)


def split_bills(bills: Sequence[XeroBill]) -> list[Sequence[XeroBill]]:
    """The bills of each file."""
    return [bills[start : start + MAX_BILLS] for start in range(0, len(bills), MAX_BILLS)]


def write_xero_bills(bills: Sequence[XeroBill]) -> bytes:
    """The file of these bills; ``UnfitAccountsFile`` for what it cannot hold."""
    if not 0 < len(bills) <= MAX_BILLS:
        raise UnfitAccountsFile(f"A file has 1 to {MAX_BILLS} bills, this one has {len(bills):,}.")
    return _write([dict(zip(HEADERS, HEADERS, strict=True)), *(row for bill in bills for row in _rows(bill))])


def _rows(bill: XeroBill) -> list[dict[str, str]]:
    day = bill.day.strftime(DAY)
    if not bill.contact.strip():
        raise UnfitAccountsFile(f"The bill {bill.number} has no contact.")
    if not bill.lines or any(line.amount != round(line.amount, 2) for line in bill.lines):
        raise UnfitAccountsFile(f"The bill {bill.number} has no amounts of money.")
    common = {"*ContactName": bill.contact, "*InvoiceNumber": bill.number, "*Quantity": "1"}
    common |= {"*InvoiceDate": day, "*DueDate": day, "Description": bill.description}
    return [
        {
            **common,
            "*UnitAmount": f"{line.amount:.2f}",
            "*AccountCode": line.account,
            "*TaxType": line.tax,
        }
        for line in bill.lines
    ]


def _write(rows: Sequence[dict[str, str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.DictWriter(text, HEADERS, restval="", lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode()


def _read(content: bytes) -> list[list[str]]:
    header, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
    if tuple(header) != HEADERS:
        raise UnfitAccountsFile("This is no file of bills.")
    return rows


def total_of_bills(content: bytes) -> Decimal:
    """The sum of the bills in a file."""
    return sum((Decimal(row[AMOUNT]) for row in _read(content)), ZERO)


def erase_from_bills(content: bytes, payees: Collection[str], references: Collection[str]) -> bytes:
    """The file without the names of payees of some bills, and without the references of further ones.

    Bills are named by their marks; amounts, days and marks stay.
    """
    rows = _read(content)
    for row in rows:
        mark = row[NUMBER].rpartition(" ")[2]
        if mark in payees:
            row[CONTACT] = ERASED
        if mark in payees or mark in references:
            row[NUMBER] = f"{ERASED} {mark}"
    named = [dict(zip(HEADERS, row, strict=True)) for row in (list(HEADERS), *rows)]
    return _write(named)
