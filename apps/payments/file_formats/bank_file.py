"""Files of payments for an Australian bank (Direct Entry, "ABA").

Source: the format as cemtexaba and abafile.net describe it. Lines have 120 characters and end with CR LF.
Banks differ a little in the characters that they take; these are the ones that all of them name.
"""

import datetime as dt
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

LINE_LENGTH = 120
#: What the columns of amounts and of the count hold.
MAX_CENTS, MAX_PAYMENTS = 9_999_999_999, 999_999
CREDIT, DEBIT = "50", "13"
#: Stands for what was erased.
ERASED = "ERASED"
_REFUSED = re.compile(r"[^A-Za-z0-9 &',\-./+$!%()*#=:?\[\]_^@]")
#: Letters that Unicode does not take apart into a Latin letter and a mark.
_LATIN = str.maketrans(
    {"ß": "ss", "Æ": "AE", "æ": "ae", "Ø": "O", "ø": "o", "Œ": "OE", "œ": "oe", "Đ": "D", "đ": "d", "Ł": "L"}
    | {"ł": "l", "Þ": "Th", "þ": "th", "Ð": "D", "ð": "d", "ı": "i", "’": "'", "‘": "'", "–": "-", "—": "-"}
)


class UnfitBankFile(ValueError):
    """A value that the file cannot hold; the text is a sentence that names it."""


@dataclass(frozen=True, slots=True)
class OwnAccount:
    """Our side of a file: the account that is debited, and what the bank knows us by.

    ``bank`` is its three letters (``CBA``), ``user_id`` the six digits that it gave for Direct Entry.
    """

    bsb: str
    number: str
    name: str
    bank: str
    user_id: str


@dataclass(frozen=True, slots=True)
class OutgoingPayment:
    """One amount to one account, above zero and to the cent; ``reference`` is what the payee reads."""

    bsb: str
    number: str
    name: str
    amount: Decimal
    reference: str


def plain_text(text: str) -> str:
    """The text in the characters that banks take: ``José`` is ``Jose``, what has no such form is left out."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_LATIN))
    return " ".join(_REFUSED.sub("", " ".join(decomposed.split())).split())


def write_bank_file(
    own: OwnAccount,
    payments: Sequence[OutgoingPayment],
    day: dt.date,
    description: str,
    debits_own_account: bool = False,
) -> bytes:
    """The file that pays on a day; ``UnfitBankFile`` for what it cannot hold.

    ``debits_own_account``: the last payment is the debit of our account, which some banks ask for.
    """
    if not payments:
        raise UnfitBankFile("There is nothing to pay.")
    lines = [_payment_line(CREDIT, each, own) for each in payments]
    total = sum((each.amount for each in payments), Decimal(0))
    if debits_own_account:
        debit = OutgoingPayment(own.bsb, own.number, own.name, total, description)
        lines.append(_payment_line(DEBIT, debit, own))
    if len(lines) > MAX_PAYMENTS:
        raise UnfitBankFile(
            f"A bank file has at most {MAX_PAYMENTS:,} payments, this one has {len(lines):,}."
        )
    credit, debited = _cents(total), _cents(total) if debits_own_account else 0
    head = (
        f"0{'':17}01{own.bank:3}{'':7}{_field(own.name, 26, 'our name')}{own.user_id:0>6}"
        f"{_field(description, 12, 'the description')}{day:%d%m%y}{'':40}"
    )
    last = f"7999-999{'':12}{credit - debited:010}{credit:010}{debited:010}{'':24}{len(lines):06}{'':40}"
    return "".join(f"{line}\r\n" for line in (head, *lines, last)).encode("ascii")


def total_of(content: bytes) -> Decimal:
    """The sum of the payments in a file, as its last line says it."""
    return Decimal(int(content.split(b"\r\n")[-2][30:40])) / 100


def erase_payments(content: bytes, payees: Collection[int], references: Collection[int]) -> bytes:
    """The file without the names and accounts of payments, and without the references of further ones.

    Payments are named by their place in the file, from 0; amounts and sums stay.
    """
    lines = content.decode("ascii").split("\r\n")
    for place in {*payees, *references}:
        line = lines[place + 1]
        lines[place + 1] = f"{line[:62]}{ERASED:18}{line[80:]}"
    for place in payees:
        line = lines[place + 1]
        lines[place + 1] = f"{line[0]}000-000{0:>9}{line[17:30]}{ERASED:32}{line[62:]}"
    return "\r\n".join(lines).encode("ascii")


def _payment_line(code: str, payment: OutgoingPayment, own: OwnAccount) -> str:
    return (
        f"1{payment.bsb}{payment.number:>9} {code}{_cents(payment.amount):010}"
        f"{_field(payment.name, 32, 'the payee')}{_field(payment.reference, 18, 'the reference')}"
        f"{own.bsb}{own.number:>9}{_field(own.name, 16, 'our name')}{0:08}"
    )


def _cents(amount: Decimal) -> int:
    cents = amount * 100
    if cents != cents.to_integral_value() or not 0 < cents <= MAX_CENTS:
        raise UnfitBankFile(f"A bank file cannot hold the amount {amount:,f}.")
    return int(cents)


def _field(text: str, length: int, label: str) -> str:
    """The text from the left, cut to its column; a bank refuses one that is blank."""
    plain = plain_text(text)[:length]
    if not plain:
        raise UnfitBankFile(f"No character of “{text}” ({label}) can stand in a bank file.")
    return plain.ljust(length)
