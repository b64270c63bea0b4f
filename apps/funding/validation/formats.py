"""Amounts and days in the words of warnings."""

import datetime as dt
from decimal import Decimal


def format_money(amount: Decimal) -> str:
    """``1616.26``; a price keeps all its digits: ``70.1250``."""
    cents = amount.quantize(Decimal("0.01"))
    return f"{cents if cents == amount else amount:,f}"


def format_day(date: dt.date) -> str:
    return f"{date:%d %b %Y}"


def format_days(first: dt.date, last: dt.date) -> str:
    return f"from {format_day(first)} to {format_day(last)}"


def format_period(first: dt.date, last: dt.date) -> str:
    """The day, or the days from the first to the last."""
    return f"{first:%d %b %Y}" if last == first else format_days(first, last)
