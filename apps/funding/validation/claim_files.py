"""The reasons that keep a bill out of a claim file: each is a function that yields sentences."""

import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from apps.base.money import ZERO
from apps.funding.choices import ApprovalStatus, CancellationReason, ClaimType
from apps.funding.file_formats.claim_file import MAX_ROWS, DoesNotFit, WrittenAmount, write_amount
from apps.funding.models import ClaimWindows, find_expired_window
from apps.funding.validation.guards import AnyBill, lower_first
from apps.funding.validation.warnings import is_an_abn
from apps.people.validation import SCHEME_NUMBER_DIGITS, SCHEME_NUMBER_FORMAT

SUPPORT_NUMBER = re.compile(r"[A-Za-z0-9_]{1,60}")
BLOCKED = (
    ApprovalStatus.ON_HOLD_BY_CLIENT,
    ApprovalStatus.ON_HOLD_BY_PLAN_MANAGER,
    ApprovalStatus.REJECTED,
)


@dataclass(frozen=True, slots=True)
class ClaimableLine:
    """A line as a claim file says it; without an ``amount`` where it cannot, for the reason ``misfit``."""

    key: UUID
    first_day: dt.date
    last_day: dt.date
    support_number: str
    total: Decimal
    amount: WrittenAmount | None
    misfit: str
    tax_choice: str | None
    claim_type: str | None
    cancellation_reason: str | None


@dataclass(slots=True)
class ClaimableBill:
    """An approved claim or invoice to the agency with its lines.

    ``abn`` is that of who gave the support, or the exemption of the claim. ``provider_invoice_status`` is
    empty for an invoice. ``claim_file``: a file that has it already.
    """

    model: type[AnyBill]
    key: UUID
    number: str
    participant: str
    total: Decimal
    scheme_number: str
    abn: str
    is_exempt: bool
    paid_earlier: Decimal
    provider_invoice_status: str
    claim_file: str = ""
    lines: list[ClaimableLine] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ClaimFileContext:
    """The values that reasons read beside the bill."""

    registration_number: str
    today: dt.date
    windows: ClaimWindows


def fit_amount(
    quantity: Decimal, price: Decimal, total: Decimal, unit: str | None, item_type: str | None
) -> tuple[WrittenAmount | None, str]:
    """The amount as a file writes it, or why none can."""
    try:
        return write_amount(quantity, price, total, unit, item_type), ""
    except DoesNotFit as misfit:
        return None, str(misfit)


# --- the reasons ----------------------------------------------------------------------------------------

Sentences = Iterator[str]
FindSentences = Callable[[ClaimableBill, ClaimFileContext], Sentences]


@dataclass(frozen=True, slots=True)
class LeftOutReason:
    """A reason with its label in lists, and the function that says it of a bill."""

    label: str
    find: FindSentences


#: In the order of this page, which is the order of lists.
REASONS: list[LeftOutReason] = []


def reason(label: str) -> Callable[[FindSentences], FindSentences]:
    """Add the function to the reasons, with its label."""

    def add(find: FindSentences) -> FindSentences:
        REASONS.append(LeftOutReason(label, find))
        return find

    return add


@reason("The organisation has no registration number")
def organisation_has_no_registration_number(bill: ClaimableBill, context: ClaimFileContext) -> Sentences:
    if not context.registration_number:
        yield "Every row of a claim file has it."


@reason("No scheme number of nine digits")
def scheme_number_is_missing_or_wrong(bill: ClaimableBill, context: ClaimFileContext) -> Sentences:
    number = bill.scheme_number
    if not number:
        yield f"{bill.participant} has no scheme number."
    elif len(number) != SCHEME_NUMBER_DIGITS or not SCHEME_NUMBER_FORMAT.fullmatch(number):
        yield f"{number} of {bill.participant} is not nine digits that begin with 31, 43, 44 or 45."


@reason("No valid ABN and no exemption")
def business_number_is_missing_or_wrong(bill: ClaimableBill, context: ClaimFileContext) -> Sentences:
    if bill.is_exempt or (len(bill.abn) == 11 and is_an_abn(bill.abn)):
        return
    yield f"“{bill.abn}” is no ABN." if bill.abn else "There is none, and no exemption."


@reason("Provider invoice on hold or rejected")
def provider_invoice_is_blocked(bill: ClaimableBill, context: ClaimFileContext) -> Sentences:
    if bill.provider_invoice_status in BLOCKED:
        yield f"It is {lower_first(ApprovalStatus(bill.provider_invoice_status).label)}."


@reason("Partly paid earlier")
def part_was_paid_earlier(bill: ClaimableBill, context: ClaimFileContext) -> Sentences:
    if bill.paid_earlier:
        yield (
            f"{bill.paid_earlier:,.2f} were paid of what it resubmits in full: the agency would refuse it as"
            " claimed twice. Archive it, and resubmit the gap."
        )


@reason("In a claim file already")
def bill_is_in_a_file(bill: ClaimableBill, context: ClaimFileContext) -> Sentences:
    if bill.claim_file:
        yield f"It is in {bill.claim_file}, and a line is claimed once. Archive it, and enter it anew."


@reason("Credits")
def line_is_a_credit(bill: ClaimableBill, context: ClaimFileContext) -> Sentences:
    for number, line in enumerate(bill.lines, 1):
        if line.total < ZERO:
            yield f"Line {number}: {line.total:,.2f}."


@reason("Amount that cannot be written")
def amount_does_not_fit(bill: ClaimableBill, context: ClaimFileContext) -> Sentences:
    if not bill.lines:
        yield "It has no lines."
    for number, line in enumerate(bill.lines, 1):
        if line.misfit and line.total >= ZERO:
            yield f"Line {number}: {line.misfit}"


@reason("Support number not of the scheme")
def support_number_is_none_of_the_scheme(bill: ClaimableBill, context: ClaimFileContext) -> Sentences:
    for number, line in enumerate(bill.lines, 1):
        if not SUPPORT_NUMBER.fullmatch(line.support_number):
            yield f"Line {number}: “{line.support_number}” has other characters than letters, digits and _."


@reason("Cancellation without a reason")
def cancellation_has_no_reason(bill: ClaimableBill, context: ClaimFileContext) -> Sentences:
    for number, line in enumerate(bill.lines, 1):
        has_reason = line.cancellation_reason not in (None, CancellationReason.NONE)
        if line.claim_type == ClaimType.CANCELLATION and not has_reason:
            yield f"Line {number}: the agency asks for one."


@reason("Support too old to be claimed")
def support_is_too_old(bill: ClaimableBill, context: ClaimFileContext) -> Sentences:
    for number, line in enumerate(bill.lines, 1):
        expired = find_expired_window(context.windows, line.first_day, context.today)
        if expired is not None:
            yield (
                f"Line {number}: {line.first_day:%d %b %Y} could be claimed until {expired.last_day:%d %b %Y}"
                f" ({expired.window.length})."
            )


@reason("Support that lies ahead")
def support_lies_ahead(bill: ClaimableBill, context: ClaimFileContext) -> Sentences:
    for number, line in enumerate(bill.lines, 1):
        if line.last_day > context.today:
            yield f"Line {number}: {line.last_day:%d %b %Y}."


@reason("Too many lines for a file")
def bill_is_too_long(bill: ClaimableBill, context: ClaimFileContext) -> Sentences:
    if len(bill.lines) > MAX_ROWS:
        yield f"It has {len(bill.lines):,} lines, a file {MAX_ROWS:,} at most."
