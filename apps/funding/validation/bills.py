"""Rules of claims and invoices alike, and of their lines (interface.md 4.3, 4.4, 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal

from apps.funding.choices import CancellationReason, ClaimType
from apps.funding.drafts import BillContext
from apps.odata.write.drafts import Draft, InvalidValue, Issue, Rule

ADMINISTER_PERMISSION = "funding.administer_funding_invoices"
CREDIT_PERMISSION = "funding.administer_credit_invoices"

#: Totals have twelve digits before the point.
MAX_TOTAL = Decimal("999999999999.99")


def required(draft: Draft, labels: Mapping[str, str]) -> Iterator[Issue]:
    """``Required`` for each missing member; invalid ones have an issue already."""
    for name, label in labels.items():
        if name not in draft.invalid and draft.get(name) in (None, []):
            yield Issue("Required", name, f"{label} is required.")


def bill_dates_are_in_order(draft: Draft, context: BillContext) -> Iterator[Issue]:
    if draft.end_date < draft.start_date:
        message = f"EndDate {draft.end_date} lies before StartDate {draft.start_date}."
        yield Issue("OutOfOrder", "end_date", message)


def staff_may_administer_funding(draft: Draft, context: BillContext) -> Iterator[Issue]:
    if context.permissions is None:
        message = f"The login of {draft.staff} is closed; name somebody who is still there."
        yield Issue("PermissionNeeded", "staff", message)
    elif ADMINISTER_PERMISSION not in context.permissions:
        message = (
            f"{draft.staff} lacks the permission to view/administer funding invoices; name somebody"
            " whose role has it."
        )
        yield Issue("PermissionNeeded", "staff", message)


def bill_total_fits(draft: Draft, context: BillContext) -> Iterator[Issue]:
    if abs(draft.total) > MAX_TOTAL:
        message = f"The lines come to {abs(draft.total):,.2f}; {MAX_TOTAL:,} is the most. Divide them."
        yield Issue("OutOfRange", "line_items", message)


# --- lines ----------------------------------------------------------------------------------------------

#: Finds issues with the fields of a line.
LineRule = Callable[[Draft], Iterator[Issue]]


def for_each_line(rules: Sequence[LineRule]) -> Rule:
    """The rule of a bill that all its lines keep these rules."""

    def rule(bill: Draft, context: BillContext) -> Iterator[Issue]:
        for number, line in enumerate(bill.line_items):
            for line_rule in rules:
                try:
                    for issue in line_rule(line):
                        field = ("line_items", number, str(issue.field))
                        yield Issue(issue.code, field, issue.message)
                except InvalidValue:
                    continue

    return rule


def line_has_its_members(line: Draft) -> Iterator[Issue]:
    return required(line, {"product": "Product", "price_book": "PriceBook", "quantity": "Quantity"})


def line_has_a_price(line: Draft) -> Iterator[Issue]:
    # Without a product, a price book or a day, those are required first.
    if line.price is not None:
        return
    if line.book_price is None:
        why = f"{line.product.code} has no price in the price book on {line.first_day:%d %b %Y}"
    else:
        why = f"{line.product.code} is quoted and has no price of its own in the price book"
    yield Issue("Required", "price", f"Price is required: {why}.")


LINE_REQUIREMENTS = for_each_line((line_has_its_members, line_has_a_price))


def quantity_is_positive(line: Draft) -> Iterator[Issue]:
    if line.quantity <= 0:
        yield Issue("OutOfRange", "quantity", "Quantity must be more than 0.")


def line_price_is_not_negative(line: Draft) -> Iterator[Issue]:
    if line.price < 0:
        yield Issue("OutOfRange", "price", "A price is not negative; invoices have credit items.")


def line_days_are_in_order(line: Draft) -> Iterator[Issue]:
    if line.last_day < line.first_day:
        message = f"It ends on {line.last_day:%d %b %Y}, before it begins on {line.first_day:%d %b %Y}."
        yield Issue("OutOfOrder", "to_date", message)


def only_cancellations_have_a_reason(line: Draft) -> Iterator[Issue]:
    reason = line.cancellation_reason
    if reason in (None, CancellationReason.NONE) or line.claim_type == ClaimType.CANCELLATION:
        return
    yield Issue("NotAllowed", "cancellation_reason", "Only a ClaimType of Cancellation has a reason.")


def line_total_fits(line: Draft) -> Iterator[Issue]:
    if abs(line.total) > MAX_TOTAL:
        message = f"Quantity × Price is {abs(line.total):,.2f}; a line comes to {MAX_TOTAL:,} at most."
        yield Issue("OutOfRange", "quantity", message)


LINE_RULES = for_each_line(
    (
        quantity_is_positive,
        line_price_is_not_negative,
        line_days_are_in_order,
        only_cancellations_have_a_reason,
        line_total_fits,
    )
)
