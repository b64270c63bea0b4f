"""Amounts, days and links as the pages of the back office show them."""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from django.contrib import admin
from django.db.models import EmailField, Field
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.http import urlencode
from unfold.decorators import display

from apps.base import clock
from apps.base.errors import plural
from apps.core.admin_base.filters import COUNT_LIMIT

# --- amounts --------------------------------------------------------------------------------------------


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


def capped_label(count: int) -> str:
    """A count that ends at the limit of lists: ``10,000+``."""
    text = number_format(min(count, COUNT_LIMIT), force_grouping=True)
    return f"{text}+" if count > COUNT_LIMIT else text


# --- days -----------------------------------------------------------------------------------------------


def short_day(moment: dt.date | dt.datetime | None) -> str:
    """A day, or the day of a moment in the subscriber's zone."""
    if moment is None:
        return "–"
    return date_format(timezone.localtime(moment) if isinstance(moment, dt.datetime) else moment, "j M Y")


def short_period(first: dt.date, last: dt.date) -> str:
    return short_day(first) if first == last else f"{short_day(first)} – {short_day(last)}"


def days_since(moment: dt.datetime) -> int:
    """Whole days of the calendar from a moment until today, in the subscriber's zone."""
    return (clock.today() - timezone.localtime(moment).date()).days


def age(moment: dt.datetime) -> str:
    days = days_since(moment)
    return "today" if days <= 0 else plural(days, "day")


# --- cells and links ------------------------------------------------------------------------------------


def amount_cell(amount: Decimal | None) -> str | None:
    """An amount in a list; the script of the list sums those of the selected rows."""
    if amount is None:
        return None
    return format_html("<span data-amount>{}</span>", format_amount(amount))


def staff_name(staff: object) -> str:
    """Who did something; the service itself where it was nobody."""
    return str(staff or "System")


def list_column(
    title: str,
    name: str,
    show: Callable[[Any], object] = lambda value: value,
    is_sorted: bool = True,
    ordering: str = "",
    label: Mapping[str, str] | None = None,
) -> Callable[[object, Any], object]:
    """A column of a list with an attribute of its records: ``made = list_column("made", "at", short_day)``.

    The list is sorted by it, or by the column ``ordering``, unless that is none of the database. ``label``:
    the colours of its texts as badges.
    """

    @display(description=title, ordering=(ordering or name) if is_sorted else None, label=label)
    def cell(page: object, record: Any) -> object:
        value = getattr(record, name)
        return show(value() if callable(value) else value)

    return cell


def two_lines(first: object, second: object) -> str:
    """A cell with a fainter second line."""
    if not second:
        return str(first)
    return format_html('{}<br><span class="rs-faint">{}</span>', first, second)


def period_cell(first: dt.date | None, last: dt.date | None) -> str | None:
    """The first and last day, one below the other."""
    if first is None or last is None or first == last:
        return f"{first or last:%d %b %Y}" if first or last else None
    return two_lines(f"{first:%d %b %Y}", f"to {last:%d %b %Y}")


def link(url: str, text: object) -> str:
    return format_html('<a class="rs-link" href="{}">{}</a>', url, text)


def contact_href(column: Field, value: Any) -> str | None:
    """``mailto:`` or ``tel:`` for the value of a column with an email address or a telephone number."""
    if isinstance(column, EmailField):
        return f"mailto:{quote(value, safe='@')}" if value else None
    digits = re.sub(r"[^\d+]", "", value) if value and "phone" in column.name else ""
    return f"tel:{digits}" if digits else None


def admin_url(model: Any, page: str, *arguments: object, **query: Any) -> str:
    """The address of a model's page in the back office: ``add``, ``change``, ``changelist`` …"""
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=arguments)
    return f"{address}?{urlencode(query)}" if query else address


def list_url(model: object, **filters: object) -> str:
    return admin_url(model, "changelist", **filters)


def record_link(record: object) -> str:
    """A link to the main page of a record."""
    page: Any = admin.site.get_model_admin(type(record))
    return link(page.record_url(record), record)
