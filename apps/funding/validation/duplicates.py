"""Warnings about lines, claims and provider invoices that were entered already."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.utils.html import format_html

from apps.base.drafts import Draft, Issue
from apps.funding.drafts import BillContext, LineContext
from apps.funding.validation.formats import format_money, format_period


def line_is_no_duplicate(line: Draft, context: LineContext, bill: BillContext) -> Issue | None:
    if context.duplicate is None:
        return None
    when = format_period(line.first_day, line.last_day)
    what, how = f"{line.quantity.normalize():f} × {line.product.code}", ""
    if context.same_total:
        what, how = (
            f"{format_money(line.total)} for {line.product.code}",
            " as another quantity at another price,",
        )
    return Issue(
        "DuplicateLine",
        "",
        f"{what}, {when}, is already in {context.duplicate},{how}"
        " for the same participant and claim type. Take it out, or make sure that it was given twice.",
    )


def claim_is_no_duplicate(draft: Draft, bill: BillContext) -> Iterator[Issue]:
    if bill.duplicate is None:
        return
    if bill.same_total and any(line is not None and line.duplicate for line in bill.lines):
        return  # the line says it already
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
    yield Issue(
        "DuplicateInvoice", "provider_invoice_reference", f"{text} Make sure that it is another invoice."
    )


class BillMark(NamedTuple):
    """What two provider invoices share that are likely to be the same; the keys of whom they are about."""

    contact: UUID
    provider: UUID
    first_day: dt.date
    last_day: dt.date
    total: Decimal


def same_total_issue(field: str, other: Any, mark: BillMark) -> Issue:
    """That another provider invoice has the mark; ``other`` names it, or links to it."""
    message = format_html(
        "{} of the same provider, for the same participant, {}, has the same total of {}."
        " Make sure that it is another invoice.",
        other,
        format_period(mark.first_day, mark.last_day),
        format_money(mark.total),
    )
    return Issue("DuplicateInvoice", field, message)
