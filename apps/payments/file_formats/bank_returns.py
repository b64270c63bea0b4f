"""Files of payments that came back from the bank: records that begin with 2 (Direct Entry)."""

from dataclasses import dataclass
from decimal import Decimal

from apps.payments.file_formats.bank_file import LINE_LENGTH, UnfitBankFile

#: More than any bank sends: what is larger is another file.
MAX_RETURNS, MAX_BYTES = 10_000, 25 << 20


@dataclass(frozen=True, slots=True)
class ReturnedPayment:
    """A payment that came back, with the bank's reason in words.

    ``day``: of the month on which the bank was asked to pay it; ``None`` where the file does not say.
    """

    bsb: str
    number: str
    name: str
    amount: Decimal
    reference: str
    reason: str
    day: int | None = None


RETURN_REASONS = {
    "1": "invalid BSB number",
    "2": "payment stopped",
    "3": "account closed",
    "4": "customer deceased",
    "5": "no such account",
    "6": "refer to customer",
    "8": "invalid user number",
    "9": "technically invalid",
}


def read_returns(content: bytes) -> list[ReturnedPayment]:
    """The payments of a bank's file of returns; ``UnfitBankFile`` for another file."""
    if len(content) > MAX_BYTES:
        raise UnfitBankFile(f"This file is larger than {MAX_BYTES >> 20} MiB: it is no bank's.")
    if b"\0" in content:
        raise UnfitBankFile("This is no file of returned payments: it holds a NUL character.")
    try:
        lines = content.decode("ascii").splitlines()
    except UnicodeDecodeError:
        raise UnfitBankFile("This is no file of returned payments: it has characters beyond ASCII.") from None
    returned = [_read_return(number, line) for number, line in enumerate(lines, 1) if line[:1] == "2"]
    if not returned:
        raise UnfitBankFile("This file has no returned payment: none of its lines begins with 2.")
    if len(returned) > MAX_RETURNS:
        raise UnfitBankFile(f"This file has more than {MAX_RETURNS:,} returned payments: split it.")
    return returned


def _read_return(number: int, line: str) -> ReturnedPayment:
    if len(line) != LINE_LENGTH or not line[20:30].isdigit():
        raise UnfitBankFile(f"Line {number} is no returned payment: it needs 120 characters and an amount.")
    reason = RETURN_REASONS.get(line[17], f"code {line[17]}")
    return ReturnedPayment(
        line[1:8],
        line[8:17].strip(),
        line[30:62].rstrip(),
        Decimal(int(line[20:30])) / 100,
        line[62:80].rstrip(),
        reason,
        int(line[112:114]) if line[112:114].isdigit() else None,
    )
