"""Reads files for accounting packages as strictly as a package would: columns, days, taxes, sums, limits."""

import csv
import io
import re
from collections import defaultdict
from decimal import Decimal

XERO_TAXES = {"GST on Income", "GST Free Income", "GST Free Exports", "GST on Expenses", "GST Free Expenses"}
XERO_TAXES |= {"BAS Excluded"}
DAY = re.compile(r"(0[1-9]|[12][0-9]|3[01])/(0[1-9]|1[0-2])/20[0-9]{2}")


def read_csv(content):
    """The rows by their headers; line ends are CR LF, and each row has as many cells."""
    text = content.decode("utf-8")
    assert text.endswith("\r\n")
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert rows
    assert {len(row) for row in rows} == {len(header)}
    return [dict(zip(header, row, strict=True)) for row in rows]


def amount_of(text):
    assert re.fullmatch(r"-?[0-9]+\.[0-9]{2}", text), text
    return Decimal(text)


def check_xero_journals(content):
    """The sums of each account by narration and day."""
    rows = read_csv(content)
    assert len(rows) <= 300
    found = defaultdict(lambda: defaultdict(Decimal))
    for row in rows:
        assert DAY.fullmatch(row["*Date"])
        assert row["*TaxRate"] in XERO_TAXES
        assert row["*Narration"].strip()
        amount = amount_of(row["*Amount"])
        assert amount
        found[row["*Narration"], row["*Date"]][row["*AccountCode"]] += amount
    for journal in found.values():
        assert sum(journal.values()) == 0
    return found


def check_xero_bills(content):
    """The bills by number: contact, day, total."""
    found = {}
    for row in read_csv(content):
        assert row["*InvoiceDate"] == row["*DueDate"]
        assert DAY.fullmatch(row["*InvoiceDate"])
        assert row["*TaxType"] in XERO_TAXES
        assert row["*AccountCode"]
        assert row["*ContactName"].strip()
        amount = Decimal(row["*Quantity"]) * amount_of(row["*UnitAmount"])
        contact, day, total = found.get(row["*InvoiceNumber"], (row["*ContactName"], row["*InvoiceDate"], 0))
        assert (contact, day) == (row["*ContactName"], row["*InvoiceDate"])
        found[row["*InvoiceNumber"]] = contact, day, total + amount
    assert len(found) <= 500
    return found


def check_myob_journal(content):
    """The sums of each account by journal number and memo."""
    text = content.decode("utf-8")
    assert text.endswith("\r\n")
    header, _, body = text.partition("\r\n")
    names = header.split("\t")
    found = {}
    for entry in body.removesuffix("\r\n").split("\r\n\r\n"):
        rows = [dict(zip(names, line.split("\t"), strict=True)) for line in entry.split("\r\n")]
        assert len({(row["Journal Number"], row["Date"], row["Memo"]) for row in rows}) == 1
        sums = defaultdict(Decimal)
        for row in rows:
            assert re.fullmatch(r"[0-9]-[0-9]{4}", row["Account Number"])
            assert re.fullmatch(r"[A-Z0-9-]{3}", row["Tax Code"])
            assert DAY.fullmatch(row["Date"])
            assert len(row["Journal Number"]) <= 8
            assert (row["Debit Amount"] == "") != (row["Credit Amount"] == "")
            sums[row["Account Number"]] += amount_of(row["Debit Amount"] or "0.00")
            sums[row["Account Number"]] -= amount_of(row["Credit Amount"] or "0.00")
        assert sum(sums.values()) == 0
        key = rows[0]["Journal Number"], rows[0]["Memo"]
        assert key not in found
        found[key] = sums
    return found
