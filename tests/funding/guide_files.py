"""Price guides in the shapes they are published in, with items of our own."""

import csv
import datetime as dt
import io

from openpyxl import Workbook

DESCRIBED = (
    "Support Item Number",
    "Support Item Name",
    "Registration Group Number",
    "Registration Group Name",
    "Support Category Number",
    "Support Category Number (PACE)",
    "Support Category Name",
    "Support Category Name (PACE)",
    "Unit",
    "Quote",
    "Start date",
    "End Date",
)
STATES = ("ACT", "NSW", "NT", "QLD", "SA", "TAS", "VIC", "WA")
REMOTE = ("Remote", "Very Remote")
FLAGS = (
    "Non-Face-to-Face Support Provision",
    "Provider Travel",
    "Short Notice Cancellations.",
    "NDIA Requested Reports",
    "Irregular SIL Supports",
)
BY_STATE = (*DESCRIBED, *STATES, *REMOTE, *FLAGS, "Type")
BY_ZONE = (*DESCRIBED, "National", *REMOTE, *FLAGS, "Type")

WALK = "01_701_0107_1_1"
SWIM = "04_702_0125_6_1"
PLANNING = "15_703_0128_1_3"


def a_row(code=WALK, national="70.00", remote="98.00", very_remote="105.00", **cells):
    """A row by its headers, in both layouts; other headers are given as they are spelt."""
    return {
        "Support Item Number": code,
        "Support Item Name": f"Item {code[:6]}",
        "Registration Group Number": "0107",
        "Registration Group Name": "Daily Activities",
        "Support Category Number": "1",
        "Support Category Number (PACE)": "1",
        "Support Category Name": "Daily Life",
        "Support Category Name (PACE)": "Daily Life",
        "Unit": "H",
        "Quote": "No",
        "Start date": "20250701",
        "End Date": "99991231",
        **dict.fromkeys((*STATES, "National"), national),
        "Remote": remote,
        "Very Remote": very_remote,
        **dict.fromkeys(FLAGS, "N"),
        "Type": "Price Limited Supports",
        **cells,
    }


def last_year():
    """By states, with dollar signs: three items, of which one has two ranges and one is quoted."""
    return [
        a_row(WALK, "$1,616.26", "$2,262.76", "$2,424.39", **{FLAGS[0]: "Y", FLAGS[4]: "NA"}),
        a_row(SWIM, "$60.00", "$84.00", "$90.00", **{"End Date": "20251123"}),
        a_row(SWIM, "$50.00", "$70.00", "$75.00", **{"Start date": "20251124"}),
        a_row(PLANNING, "", "", "", Quote="Yes", Type="Quotable Supports", Unit="E"),
    ]


def this_year():
    """By zones, without dollar signs; one item is new, one is not there any more."""
    start = {"Start date": "20260701", "Type": "Priced Supports"}
    return [
        a_row(WALK, "1700.5", "2380.7", "2550.75", **start),
        a_row(PLANNING, "", "", "", **{**start, "Quote": "Yes", "Type": "Quotable Supports", "Unit": "E"}),
        a_row("01_704_0107_1_1", "1", "1", "1", **{**start, "Type": "Unit Price = $1"}),
    ]


def as_csv(path, rows, header=BY_STATE, encoding="utf-8-sig"):
    text = io.StringIO()
    writer = csv.DictWriter(text, header, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding=encoding)
    return path


def as_workbook(path, rows, header=BY_ZONE):
    """Typed cells, as a spreadsheet keeps them: prices as binary numbers, days as dates."""
    book = Workbook()
    book.active.append(header)
    for row in rows:
        book.active.append([typed(name, row[name]) for name in header])
    book.save(path)
    return path


def typed(name, text):
    if name in ("National", *REMOTE):
        return float(text.replace("$", "").replace(",", "")) if text else None
    if name == "Start date":
        return dt.date.fromisoformat(text)
    return int(text) if name == "End Date" else text
