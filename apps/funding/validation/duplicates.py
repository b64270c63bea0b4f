"""Warnings about provider invoices that were entered already."""

import datetime as dt
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from django.utils.html import format_html

from apps.base.drafts import Issue
from apps.funding.validation.warning_codes import warning_code
from apps.funding.validation.warning_messages import format_money, format_period


class BillMark(NamedTuple):
    """The mark of two provider invoices that are likely to be the same; the keys of whom they are about."""

    contact: UUID
    provider: UUID
    first_day: dt.date
    last_day: dt.date
    total: Decimal


DUPLICATE_INVOICE = warning_code("DuplicateInvoice", "Duplicate invoice")


def same_total_issue(field: str, other: object, mark: BillMark) -> Issue:
    """The issue that another provider invoice has the mark; ``other`` names it, or links to it."""
    message = format_html(
        "{} of the same provider, for the same participant, {}, has the same total of {}."
        " Make sure that it is another invoice.",
        other,
        format_period(mark.first_day, mark.last_day),
        format_money(mark.total),
    )
    return Issue(DUPLICATE_INVOICE, field, message)
