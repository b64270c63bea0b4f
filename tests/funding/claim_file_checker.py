"""Checks a claim file strictly by the agency's rules of the format, and reads it."""

import csv
import datetime as dt
from decimal import ROUND_HALF_UP, Decimal

COLUMNS = [
    "RegistrationNumber",
    "NDISNumber",
    "SupportsDeliveredFrom",
    "SupportsDeliveredTo",
    "SupportNumber",
    "ClaimReference",
    "Quantity",
    "Hours",
    "UnitPrice",
    "GSTCode",
    "AuthorisedBy",
    "ParticipantApproved",
    "InKindFundingProgram",
    "ClaimType",
    "CancellationReason",
    "ABN of Support Provider",
]
LETTERS = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")


def read_file(name, content):
    """The rows by column; fails with a sentence for a file that the agency would reject as a whole."""
    assert name.endswith(".csv"), name
    assert len(name) <= 20, name
    assert max(content) < 128, "there is a byte beyond ASCII"
    lines = content.split(b"\r\n")
    assert lines.pop() == b"", "the last line has no end"
    assert not any(b"\r" in line or b"\n" in line for line in lines), "a line ends otherwise than with CR LF"
    header, *rows = csv.reader(line.decode() for line in lines)
    assert header == COLUMNS
    assert 1 <= len(rows) <= 5_000, f"{len(rows)} rows"
    assert {len(row) for row in rows} == {16}
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def amount_of(row):
    """The amount in cents that a row claims."""
    price = Decimal(row["UnitPrice"])
    if row["Hours"]:
        hours, minutes = map(int, row["Hours"].split(":"))
        amount = price * (60 * hours + minutes) / 60
    else:
        amount = price * Decimal(row["Quantity"])
    return amount.quantize(Decimal("0.01"), ROUND_HALF_UP)


def faults_of(row, today):
    """What the agency would reject a row for."""
    if not (row["RegistrationNumber"].isdigit() and 6 <= len(row["RegistrationNumber"]) <= 10):
        yield "RegistrationNumber"
    number = row["NDISNumber"]
    if not (number.isdigit() and len(number) == 9 and number[:2] in ("31", "43", "44", "45")):
        yield "NDISNumber"
    first, last = (day_of(row[f"SupportsDelivered{end}"]) for end in ("From", "To"))
    if None in (first, last) or not first <= last <= today:
        yield "SupportsDelivered"
    if not 1 <= len(row["SupportNumber"]) <= 60:
        yield "SupportNumber"
    reference = row["ClaimReference"]
    if not 1 <= len(reference) <= 50 or set(reference) - LETTERS - set("/-_"):
        yield "ClaimReference"
    yield from faults_of_amount(row)
    if row["GSTCode"] not in ("P1", "P2", "P5"):
        yield "GSTCode"
    if row["AuthorisedBy"] + row["ParticipantApproved"] + row["InKindFundingProgram"]:
        yield "a column that stays empty"
    if row["ClaimType"] not in ("", "CANC", "REPW", "TRAN", "NF2F", "IRSS", "THLT"):
        yield "ClaimType"
    allowed = ("NSDH", "NSDF", "NSDT", "NSDO") if row["ClaimType"] == "CANC" else ("",)
    if row["CancellationReason"] not in allowed:
        yield "CancellationReason"
    abn = row["ABN of Support Provider"]
    if abn not in ("EXCLS", "REIMB") and not is_business_number(abn):
        yield "ABN of Support Provider"


def faults_of_amount(row):
    if bool(row["Quantity"]) == bool(row["Hours"]):
        yield "Quantity or Hours, one of them"
    elif row["Hours"]:
        hours, colon, minutes = row["Hours"].partition(":")
        if not (colon and hours.isdigit() and len(hours) <= 3 and len(minutes) == 2 and minutes < "60"):
            yield "Hours"
    else:
        whole, point, part = row["Quantity"].partition(".")
        digits, most = (whole + part, 3) if point else (whole, 5)
        if not digits.isdigit() or len(whole) > most or (point and len(part) != 2) or not int(digits):
            yield "Quantity"
    whole, _, cents = row["UnitPrice"].partition(".")
    if not (
        whole.isdigit() and len(whole) <= 7 and cents.isdigit() and len(cents) == 2 and int(whole + cents)
    ):
        yield "UnitPrice"


def day_of(text):
    try:
        return dt.date(*map(int, text.split("/"))) if len(text) == 10 else None
    except (TypeError, ValueError):
        return None


def is_business_number(text):
    if not (text.isdigit() and len(text) == 11):
        return False
    digits = [int(text[0]) - 1, *map(int, text[1:])]
    weights = (10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19)
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=True)) % 89 == 0
