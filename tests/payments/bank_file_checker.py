"""Reads a bank file as strictly as a bank would: by the columns of the format, with the sums of its lines."""

import re
from decimal import Decimal
from typing import NamedTuple

CHARACTERS = re.compile(r"[A-Za-z0-9 &',\-./+$!%()*#=:?\[\]_^@]*")


class Payment(NamedTuple):
    """A line of a bank file."""

    bsb: str
    number: str
    name: str
    amount: Decimal
    reference: str


def read_bank_file(content: bytes) -> tuple[list[Payment], str]:
    """The payments (without the debit of the own account) and the day as ``DDMMYY``; asserts the format."""
    assert content.endswith(b"\r\n")
    lines = content.decode("ascii").split("\r\n")[:-1]
    assert all(len(line) == 120 and CHARACTERS.fullmatch(line) for line in lines)
    head, *details, last = lines
    assert re.fullmatch(r"0 {17}01[A-Z]{3} {7}\S.{25}[0-9]{6}\S.{11}[0-9]{6} {40}", head)
    account = "([0-9]{3}-[0-9]{3})([ 0-9-]{9})"
    pattern = rf"1{account} (13|50)([0-9]{{10}})(\S.{{31}})(\S.{{17}}){account}\S.{{15}}0{{8}}"
    found = [re.fullmatch(pattern, line) for line in details]
    assert found
    assert all(found)
    payments = [
        Payment(m[1], m[2].strip(), m[5].rstrip(), Decimal(int(m[4])) / 100, m[6].rstrip())
        for m in found
        if m[3] == "50"
    ]
    assert all(each.amount > 0 for each in payments)
    assert all(each.number.strip("0-") for each in payments if each.name != "ERASED")
    credit = sum(int(m[4]) for m in found if m[3] == "50")
    debit = sum(int(m[4]) for m in found if m[3] == "13")
    assert debit in (0, credit)
    sums = f"{credit - debit:010}{credit:010}{debit:010}"
    assert last == f"7999-999{'':12}{sums}{'':24}{len(details):06}{'':40}"
    return payments, head[74:80]
