"""The codes of the warnings about claims and invoices, those of POST /claim and /invoice."""

from collections.abc import Callable
from typing import NamedTuple

from django.db.models import TextChoices

from apps.base.drafts import Issue
from apps.funding.drafts import BillContext, LineContext, LineDraft


class WarningCode(TextChoices):
    """The warnings about claims and invoices, and their words on screen (docs/warnings.md)."""

    GIVEN_DIFFERS = "GivenDiffers", "Given differs"
    TOTAL_DIFFERS = "TotalDiffers", "Total differs"
    DUPLICATE_INVOICE = "DuplicateInvoice", "Duplicate invoice"
    DUPLICATE_LINE = "DuplicateLine", "Duplicate line"
    OUTSIDE_PERIOD = "OutsidePeriod", "Outside period"
    ABN_MISSING = "AbnMissing", "ABN missing"
    ABN_INVALID = "AbnInvalid", "ABN invalid"
    NO_ENGAGEMENT = "NoEngagement", "No plan"
    OUTSIDE_PLAN = "OutsidePlan", "Outside plan"
    NO_BOOKING = "NoBooking", "No booking"
    OUTSIDE_BOOKING = "OutsideBooking", "Outside booking"
    WRONG_MANAGEMENT = "WrongManagement", "Wrong management"
    OVER_BUDGET = "OverBudget", "Over budget"
    OVER_PERIOD = "OverPeriod", "Over funding period"
    NOT_STATED = "NotStated", "Not a stated support"
    NOT_ENDORSED = "NotEndorsed", "Not endorsed yet"
    AFTER_BOOKING = "AfterBooking", "After booking"
    PRICE_OVER_CAP = "PriceOverCap", "Price over cap"
    ITEM_NOT_CURRENT = "ItemNotCurrent", "Item not current"
    QUOTE_REQUIRED = "QuoteRequired", "Quote required"
    CLAIM_TYPE_NOT_ALLOWED = "ClaimTypeNotAllowed", "Claim type not allowed"
    DAY_MISMATCH = "DayMismatch", "Day mismatch"
    TOO_OLD = "TooOld", "Too old"
    FUTURE_SERVICE = "FutureService", "Future service"


#: Finds an issue with a field of the line; with an empty field, the whole line.
LineWarning = Callable[[LineDraft, LineContext, BillContext], Issue | None]


def warning_label(code: str) -> str:
    """The words for a code; itself when another version of the service stored it."""
    return str(dict(WarningCode.choices).get(code, code))


class ShownWarning(NamedTuple):
    """A warning as it is shown before a bill is approved.

    ``is_new``: it has come since the bill was entered, and nobody has acknowledged it.
    """

    code: str
    place: str | None
    message: str
    is_new: bool = False

    def __str__(self) -> str:
        since = ", since it was entered" if self.is_new else ""
        return f"{warning_label(self.code)}{since}: {self.message}"
