"""What must be true of the lines of claims and invoices (interface.md 4.3, 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from apps.funding.choices import CancellationReason, ClaimType
from apps.odata.write.drafts import Draft, InvalidValue, Issue

#: Finds places of a line: its own members.
LineRule = Callable[[Draft], Iterator[Issue]]

#: Sums have twelve digits before the point.
MOST = Decimal("999999999999.99")


def of_each_line(rules: Sequence[LineRule]) -> Callable[[Draft], Iterator[Issue]]:
    """The rule of a bill that all its lines keep these rules."""

    def rule(bill: Draft) -> Iterator[Issue]:
        for number, line in enumerate(bill.line_items):
            for one in rules:
                try:
                    for found in one(line):
                        yield Issue(found.code, ("line_items", number, str(found.field)), found.message)
                except InvalidValue:
                    continue

    return rule


# --- is it all there? -----------------------------------------------------------------------------------

NEEDED = {"product": "Product", "price_book": "PriceBook", "quantity": "Quantity"}


def what_is_billed_is_told(line: Draft) -> Iterator[Issue]:
    for name, label in NEEDED.items():
        if name not in line.invalid and line.__dict__.get(name) is None:
            yield Issue("Required", name, f"{label} is required.")


def the_price_is_known(line: Draft) -> Iterator[Issue]:
    # Which product, in which book, on which day: what is not told is asked for already.
    if line.price is not None:
        return
    if line.price_found is None:
        why = f"{line.product.code} has no price in the price book on {line.first_day:%d %b %Y}"
    else:
        why = f"{line.product.code} is quoted and has no price of its own in the price book"
    yield Issue("Required", "price", f"Price is required: {why}.")


LINE_REQUIREMENTS = (what_is_billed_is_told, the_price_is_known)

# --- may it be? -----------------------------------------------------------------------------------------


def the_quantity_is_more_than_nothing(line: Draft) -> Iterator[Issue]:
    if line.quantity <= 0:
        yield Issue("OutOfRange", "quantity", "Quantity must be more than 0.")


def the_price_is_not_negative(line: Draft) -> Iterator[Issue]:
    if line.price < 0:
        yield Issue("OutOfRange", "price", "A price is not negative; invoices have credit items.")


def the_days_are_in_order(line: Draft) -> Iterator[Issue]:
    if line.last_day < line.first_day:
        message = f"It ends on {line.last_day:%d %b %Y}, before it begins on {line.first_day:%d %b %Y}."
        yield Issue("OutOfOrder", "to_date", message)


def only_cancellations_have_a_reason(line: Draft) -> Iterator[Issue]:
    reason = line.cancellation_reason
    if reason in (None, CancellationReason.NONE) or line.claim_type == ClaimType.CANCELLATION:
        return
    yield Issue("NotAllowed", "cancellation_reason", "Only a ClaimType of Cancellation has a reason.")


def the_total_can_be_written(line: Draft) -> Iterator[Issue]:
    if abs(line.total) > MOST:
        message = f"Quantity × Price is {abs(line.total):,.2f}; a line comes to {MOST:,} at most."
        yield Issue("OutOfRange", "quantity", message)


LINE_RULES = (
    the_quantity_is_more_than_nothing,
    the_price_is_not_negative,
    the_days_are_in_order,
    only_cancellations_have_a_reason,
    the_total_can_be_written,
)
