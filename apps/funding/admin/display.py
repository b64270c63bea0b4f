"""Amounts, days and links as the pages of funding show them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.http import urlencode

from apps.funding.models import ProviderInvoice
from apps.odata import clock


def format_amount(amount: Decimal | None) -> str | None:
    """``1,616.26``; further decimals only where there are any."""
    if amount is None:
        return None
    digits = 2 if amount == round(amount, 2) else 4
    return number_format(amount, digits, use_l10n=True, force_grouping=True)


def plain_amount(amount: Decimal) -> str:
    """At least two decimals, and no zeros beyond: ``70.00``, ``2262.7612``."""
    whole, _, part = f"{amount:f}".partition(".")
    return f"{whole}.{part.rstrip('0').ljust(2, '0')}"


def plain_quantity(quantity: Decimal) -> str:
    return plain_amount(quantity).removesuffix(".00")


def short_day(date: dt.date | None) -> str:
    return date_format(date, "j M Y") if date else "–"


def short_day_of(moment: dt.date | dt.datetime | None) -> str:
    """The day of a moment in the subscriber's zone, or a day."""
    return short_day(timezone.localtime(moment) if isinstance(moment, dt.datetime) else moment)


def days_since(moment: dt.datetime) -> int:
    """Whole days of the calendar from a moment until today, in the subscriber's zone."""
    return (clock.today() - timezone.localtime(moment).date()).days


def age(moment: dt.datetime) -> str:
    days = days_since(moment)
    return "today" if days <= 0 else "1 day" if days == 1 else f"{days:,} days"


def two_lines(first: Any, second: Any) -> str:
    """A cell with a fainter second line."""
    if not second:
        return str(first)
    return format_html('{}<br><span class="rs-faint">{}</span>', first, second)


def period_cell(first: dt.date | None, last: dt.date | None) -> str | None:
    """The first and last day of services, one below the other."""
    if first is None or last is None or first == last:
        return f"{first or last:%d %b %Y}" if first or last else None
    return two_lines(f"{first:%d %b %Y}", f"to {last:%d %b %Y}")


def link(url: str, text: Any) -> str:
    return format_html('<a class="rs-link" href="{}">{}</a>', url, text)


def record_link(model: Any, key: Any, text: Any) -> str:
    """A link to the page of a record."""
    return link(reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_change", args=[key]), text)


def list_url(model: Any, **filters: str) -> str:
    url = reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist")
    return f"{url}?{urlencode(filters)}" if filters else url


def new_claim_url(provider_invoice: ProviderInvoice) -> str:
    """The claim form filled from a provider invoice."""
    return f"{reverse('admin:funding_claim_add')}?{urlencode({'provider_invoice': str(provider_invoice.pk)})}"
