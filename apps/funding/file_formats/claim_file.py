"""The agency's bulk claim file: rows to bytes.

Columns, forms and codes are of the agency's bulk payment guide, the headers of three independent exporters.
"""

import csv
import datetime as dt
import io
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from apps.base.money import CENT, to_cents
from apps.funding.choices import CancellationReason, ClaimType, ItemType, TaxChoice, Unit

HEADER = (
    *("RegistrationNumber", "NDISNumber", "SupportsDeliveredFrom", "SupportsDeliveredTo", "SupportNumber"),
    *("ClaimReference", "Quantity", "Hours", "UnitPrice", "GSTCode", "AuthorisedBy", "ParticipantApproved"),
    *("InKindFundingProgram", "ClaimType", "CancellationReason", "ABN of Support Provider"),
)
MAX_ROWS = 5_000

#: Without a choice free of GST, as supports mostly are. P5 for BAS excluded is said by one source only.
GST_CODES: Mapping[str | None, str] = {
    None: "P2",
    TaxChoice.GST_ON_INCOME: "P1",
    TaxChoice.GST_FREE_INCOME: "P2",
    TaxChoice.GST_FREE_EXPORTS: "P2",
    TaxChoice.BAS_EXCLUDED: "P5",
}
CLAIM_TYPES: Mapping[str | None, str] = {
    None: "",
    ClaimType.NONE: "",
    ClaimType.DIRECT_SERVICE: "",
    ClaimType.CANCELLATION: "CANC",
    ClaimType.AGENCY_REQUIRED_REPORT: "REPW",
    ClaimType.PROVIDER_TRAVEL: "TRAN",
    ClaimType.NON_FACE_TO_FACE_SERVICES: "NF2F",
    ClaimType.IRREGULAR_SIL_SUPPORTS: "IRSS",
    ClaimType.TELEHEALTH: "THLT",
}
CANCELLATION_REASONS: Mapping[str | None, str] = {
    CancellationReason.HEALTH_REASON: "NSDH",
    CancellationReason.FAMILY_ISSUES: "NSDF",
    CancellationReason.UNAVAILABILITY_OF_TRANSPORT: "NSDT",
    CancellationReason.OTHER: "NSDO",
}

#: Of a quantity with decimals, of one without, of minutes, of a price.
MAX_PARTS, MAX_WHOLE, MAX_MINUTES, MAX_PRICE = Decimal("999.99"), 99_999, 59_999, Decimal("9999999.99")
FORMS = "A quantity is whole, has two decimals up to 999.99, or is whole minutes; a price has two decimals."
#: Items that the price guide sets no limit for: their number of units says nothing.
WITHOUT_LIMIT = (ItemType.QUOTABLE, ItemType.UNIT_PRICE)


class DoesNotFit(Exception):
    """An amount that cannot be written, and why."""


class WrittenAmount(NamedTuple):
    """The amount of a row as texts: a quantity or hours, and the price of a unit."""

    quantity: str
    hours: str
    price: str


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A row, its codes as the choices of lines. ``abn`` is a number, EXCLS or REIMB."""

    scheme_number: str
    first_day: dt.date
    last_day: dt.date
    support_number: str
    reference: str
    amount: WrittenAmount
    tax_choice: str | None
    claim_type: str | None
    cancellation_reason: str | None
    abn: str


def write_amount(
    quantity: Decimal, price: Decimal, total: Decimal, unit: str | None, item_type: str | None
) -> WrittenAmount:
    """The total of a line, never another amount; one of it where the item has no price limit.

    Raises ``DoesNotFit``.
    """
    if not CENT <= total <= MAX_PRICE:
        raise DoesNotFit(f"A row claims from 0.01 to {MAX_PRICE:,}, and this comes to {total:,.2f}.")
    if CENT <= price == price.quantize(CENT) <= MAX_PRICE:
        text = write_quantity(quantity)
        if text and to_cents(quantity * price) == total:
            return WrittenAmount(text, "", f"{price:.2f}")
        minutes = whole_minutes(quantity) if unit == Unit.HOUR else 0
        if minutes and to_cents(price * minutes / 60) == total:
            return WrittenAmount("", f"{minutes // 60:03d}:{minutes % 60:02d}", f"{price:.2f}")
    if item_type in WITHOUT_LIMIT:
        return WrittenAmount("1", "", f"{total:.2f}")
    raise DoesNotFit(f"{quantity.normalize():f} × {price.normalize():f} cannot be written. {FORMS}")


def write_quantity(quantity: Decimal) -> str:
    """The quantity as NNNNN or NNN.NN; empty when it fits neither."""
    if quantity == quantity.to_integral_value():
        return f"{quantity:.0f}" if 0 < quantity <= MAX_WHOLE else ""
    return f"{quantity:.2f}" if quantity == quantity.quantize(CENT) and quantity <= MAX_PARTS else ""


def whole_minutes(hours: Decimal) -> int:
    """The minutes of which the hours are the rounded decimal (0.333 are 20); 0 when there are none."""
    minutes = int((hours * 60).to_integral_value(ROUND_HALF_UP))
    decimals = Decimal(1).scaleb(min(int(hours.normalize().as_tuple().exponent), 0))
    is_exact = (Decimal(minutes) / 60).quantize(decimals, ROUND_HALF_UP) == hours
    return minutes if is_exact and minutes <= MAX_MINUTES else 0


def write_claim_file(registration_number: str, rows: Iterable[ClaimRow]) -> bytes:
    """The file: ASCII, with a header and CR LF, without a byte order mark."""
    return write_table([HEADER, *((registration_number, *write_row(row)) for row in rows)])


def write_row(row: ClaimRow) -> tuple[str, ...]:
    claim_type = CLAIM_TYPES[row.claim_type]
    reason = CANCELLATION_REASONS[row.cancellation_reason] if claim_type == "CANC" else ""
    days = (f"{row.first_day:%Y/%m/%d}", f"{row.last_day:%Y/%m/%d}")
    codes = (GST_CODES[row.tax_choice], "", "", "", claim_type, reason, row.abn)
    return (row.scheme_number, *days, row.support_number, row.reference, *row.amount, *codes)


def blank_scheme_numbers(content: bytes, positions: Collection[int]) -> bytes:
    """The file without the scheme numbers of the rows at these positions, of which the first is 1."""
    rows = list(csv.reader(io.StringIO(content.decode("ascii"), newline="")))
    for position in positions:
        rows[position][HEADER.index("NDISNumber")] = ""
    return write_table(rows)


def write_table(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("ascii")
