"""Remittance advice as PDF: what a payee is told about a payment, claim by claim."""

from collections.abc import Sequence
from decimal import Decimal

from django.utils.formats import date_format
from reportlab.lib.units import mm
from reportlab.platypus import Spacer

from apps.core.admin_base.display import format_amount
from apps.core.models import Subscriber
from apps.funding.models import Claim
from apps.funding.pdf_styles import (
    FIGURE,
    RULES,
    SMALL,
    STRONG,
    STRONG_FIGURE,
    TITLE,
    build_pdf,
    sender,
    text,
)
from apps.funding.tagged_pdf import data_table
from apps.funding.validation.transitions import TransitionName
from apps.payments.models import PaymentRunClaim, PaymentRunItem

#: The transitions that say why.
TAKING_BACK = (TransitionName.TAKE_BACK, TransitionName.ASK_TO_CANCEL)
COLUMNS = (72 * mm, 34 * mm, 34 * mm, 34 * mm)


def advice_pdf(item: PaymentRunItem) -> bytes:
    """The remittance advice of one payment, whose run and payee are loaded."""
    organisation = Subscriber.current()
    return build_pdf(advice_story(item, organisation), "Remittance advice", organisation.name)


def advice_story(item: PaymentRunItem, organisation: Subscriber) -> list[object]:
    day = date_format(item.run.day, "j M Y")
    claims = item.claims.select_related("claim").order_by("claim__creation_date", "pk")
    return [
        text("Remittance advice", TITLE),
        Spacer(0, 4 * mm),
        *sender(organisation),
        Spacer(0, 6 * mm),
        text(f"Paid to {item.payee}", STRONG),
        text(f"On {day}, with the reference {item.reference}"),
        Spacer(0, 8 * mm),
        data_table(rows_of(list(claims), item.amount), colWidths=COLUMNS, style=RULES),
    ]


def set_off_note(claim: Claim) -> str:
    """Why less is paid now, in the words of whoever recorded that money was taken back."""
    reasons = claim.moves.filter(verb__in=TAKING_BACK, reason__isnull=False)
    last = reasons.values_list("reason", flat=True).first()
    return f"Set off, since it was taken back: {last or 'by the agency'}"


def rows_of(claims: Sequence[PaymentRunClaim], total: Decimal) -> list[list[object]]:
    """A row for each claim; what was paid in earlier runs is no shortfall of this one."""
    rows: list[list[object]] = [
        [
            text("Your invoice", STRONG),
            *(text(each, STRONG_FIGURE) for each in ("Claimed", "Not paid", "Paid now")),
        ]
    ]
    for each in claims:
        claim = each.claim
        claimed = claim.total - claim.paid_earlier
        shortfall = claim.total - claim.amount_paid
        notes = [text(claim.provider_invoice_reference)]
        if each.amount < 0:
            notes.append(text(set_off_note(claim), SMALL))
        elif shortfall and claim.status_reason:
            notes.append(text(claim.status_reason, SMALL))
        figures = (claimed, shortfall, each.amount)
        rows.append([notes, *(text(format_amount(figure), FIGURE) for figure in figures)])
    rows.append([text("Total", STRONG), "", "", text(format_amount(total), STRONG_FIGURE)])
    return rows
