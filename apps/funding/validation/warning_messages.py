"""The longer sentences of warnings, and their amounts and days in words."""

import datetime as dt
import re
from collections.abc import Sequence
from decimal import Decimal

from apps.base.money import CENT
from apps.engagements.coverage import CoveringBudget
from apps.engagements.funding_periods import PeriodAmounts
from apps.funding.drafts import BillContext, ClaimDraft, LineContext, LineDraft
from apps.funding.models import ExpiredWindow
from apps.funding.models.prices import EffectivePrice


def format_money(amount: Decimal) -> str:
    """``1616.26``; a price keeps all its digits: ``70.1250``."""
    cents = amount.quantize(CENT)
    return f"{cents if cents == amount else amount:,f}"


def format_day(date: dt.date) -> str:
    return f"{date:%d %b %Y}"


def format_days(first: dt.date, last: dt.date) -> str:
    return f"from {format_day(first)} to {format_day(last)}"


def format_period(first: dt.date, last: dt.date) -> str:
    """The day, or the days from the first to the last."""
    return f"{first:%d %b %Y}" if last == first else format_days(first, last)


#: Parts of messages that follow today: they differ from one day to the next, and say nothing new.
TODAY_PARTS = re.compile(r"\d+ days ago|after today, \d\d \w+ \d{4}")


def without_today(message: str) -> str:
    """The message as it is on any day, by which one that was acknowledged is known."""
    return TODAY_PARTS.sub("", message)


# --- sentences ------------------------------------------------------------------------------------------


def same_line_message(line: LineDraft, context: LineContext) -> str:
    when = format_period(line.first_day, line.last_day)
    what, how = f"{line.quantity.normalize():f} × {line.product.code}", ""
    if context.same_total:
        what, how = (
            f"{format_money(line.total)} for {line.product.code}",
            " as another quantity at another price,",
        )
    return (
        f"{what}, {when}, is already in {context.duplicate},{how}"
        " for the same participant and claim type. Take it out, or make sure that it was given twice."
    )


def same_claim_message(draft: ClaimDraft, bill: BillContext) -> str:
    provider, participant = draft.provider.business_name, draft.contact.full_name
    text = (
        f"{draft.provider_invoice_reference} of {provider} is already claimed for {participant} in"
        f" {bill.duplicate}."
    )
    if bill.same_total:
        when = format_period(draft.start_date, draft.end_date)
        text = (
            f"{bill.duplicate} has the same total of {format_money(draft.total)}, {provider} for"
            f" {participant}, {when}, under another reference."
        )
    return f"{text} Make sure that it is another invoice."


def cap_message(line: LineDraft, cap: EffectivePrice, amount: Decimal, day: dt.date) -> str:
    return (
        f"The price {format_money(line.price)} is {format_money(line.price - amount)} above the"
        f" {cap.zone} cap of {format_money(amount)} for {line.product.code} on {format_day(day)}."
        " Lower it, or check the item and the day."
    )


def budget_message(total: Decimal, remaining: Decimal, budget: CoveringBudget) -> str:
    if remaining > 0:
        excess = format_money(total - remaining)
        why = f"is {excess} more than the {format_money(remaining)} left of {budget}"
    elif remaining:
        why = f"comes when {budget} is overdrawn by {format_money(-remaining)} already"
    else:
        why = f"comes when nothing is left of {budget}"
    return (
        f"The line's total of {format_money(total)} {why}, unpaid claims counted."
        " Lower it, or have the budget raised."
    )


def period_message(
    total: Decimal,
    left: Decimal,
    period: PeriodAmounts,
    following: PeriodAmounts | None,
    budget: CoveringBudget,
) -> str:
    """A sentence about what periods have left, and that the money of the next is for days of its own."""
    days = format_days(period.first_day, period.last_day)
    if left > 0:
        why = f"is {format_money(total - left)} more than the {format_money(left)} left"
    elif left:
        why = f"comes when {format_money(-left)} too much was used already"
    else:
        why = "comes when nothing is left"
    text = (
        f"The line's total of {format_money(total)} {why} of {budget} for the funding period {days} and those"
        " before it, unpaid claims counted."
    )
    if following is None:
        return f"{text} It is the last one. Lower it, or have the plan changed."
    return (
        f"{text} The next one begins on {format_day(following.first_day)} with"
        f" {format_money(following.released)}, for no day before. Lower the line, or have the plan changed."
    )


def no_period_message(day: dt.date, periods: Sequence[PeriodAmounts], budget: CoveringBudget) -> str:
    days = format_days(periods[0].first_day, periods[-1].last_day)
    return (
        f"{budget} has funding periods {days}, and {format_day(day)} lies in none of them. Check the day, or"
        " enter the periods of the plan."
    )


def window_message(support: dt.date, expired: ExpiredWindow) -> str:
    window = expired.window
    since = "" if window.claimed_from == dt.date.min else f" from {format_day(window.claimed_from)} on"
    text = (
        f"{format_day(support)} is too old: supports are claimed within {window.length}{since}, and this one"
        f" could be claimed until {format_day(expired.last_day)}. Check the day."
    )
    if window.is_confirmed:
        return text
    return (
        f"{text} The window of {window.length} is reported, not confirmed: your organisation should confirm"
        " or remove it in its settings (claim windows)."
    )
