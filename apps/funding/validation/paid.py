"""Rules of bills of which money was paid: what it was paid for stays.

Such a bill can be changed where it resubmits another one: what was paid came along.
"""

from collections.abc import Iterator
from decimal import Decimal

from apps.base.drafts import Issue, Rule
from apps.base.money import ZERO
from apps.funding.drafts import BillContext, BillDraft, ClaimDraft, LineDraft
from apps.funding.models import is_within
from apps.funding.validation.bills import for_each_line

#: Years after which a day of payment is a slip, by hand and in a remittance whose form of days is stated.
MOST_YEARS_PAID_AGO = 7


def paid_amount(line: LineDraft) -> Decimal:
    """The amount paid of an existing line; nothing of a new one."""
    return ZERO if line.existing is None else line.existing.amount_paid


def participant_of_paid_bill_stays(draft: BillDraft, context: BillContext) -> Iterator[Issue]:
    existing = draft.existing
    if existing is None or draft.key_of("contact") in (None, existing.contact_id):
        return
    if any(map(paid_amount, draft.get("line_items") or ())):
        paid = f"{existing.amount_paid:,.2f} were paid for {existing.contact.full_name}"
        yield Issue("NotAllowed", "contact", f"{paid}: the participant stays.")


def provider_invoice_of_paid_claim_stays(draft: ClaimDraft, context: BillContext) -> Iterator[Issue]:
    """Were it left, it would be free for another claim, and paid again."""
    if draft.previous_provider_invoice_id in (None, draft.key_of("provider_invoice")):
        return
    original = draft.existing and draft.existing.resubmission_of
    while original is not None and not original.amount_paid:
        original = original.resubmission_of
    if original is not None:
        paid = f"{original.amount_paid:,.2f} of it were paid with {original}"
        yield Issue("NotAllowed", "provider_invoice", f"{paid}: the provider invoice stays.")


def days_of_paid_lines_stay(draft: BillDraft, context: BillContext) -> Iterator[Issue]:
    """A line without days of its own has those of the bill, which then stay."""
    messages: dict[str | tuple[str, int, str], str] = {}
    for number, line in enumerate(draft.get("line_items") or ()):
        record = line.existing
        if record is None or not record.amount_paid or "last_day" in line.invalid:
            continue
        new_dates = [name for name in ("from_date", "to_date") if line.get(name) != getattr(record, name)]
        for name, bill_date in (("first_day", "start_date"), ("last_day", "end_date")):
            if getattr(line, name) != getattr(record, name):
                field = ("line_items", number, new_dates[0]) if new_dates else bill_date
                messages[field] = f"{record.amount_paid:,.2f} were paid for line {number + 1}: its days stay."
    for field, message in messages.items():
        yield Issue("NotAllowed", field, message)


def product_of_paid_line_stays(line: LineDraft) -> Iterator[Issue]:
    existing = line.existing
    if existing is None or not existing.amount_paid:
        return
    if line.key_of("product") not in (None, existing.product_id):
        paid = f"{existing.amount_paid:,.2f} were paid for {existing.product.code}"
        yield Issue("NotAllowed", "product", f"{paid}: the product stays.")


def total_covers_what_was_paid(line: LineDraft) -> Iterator[Issue]:
    paid = paid_amount(line)
    if not paid or line.get("total") is None or is_within(paid, line.total):
        return
    factors = ("is_credit_item", "quantity", "price")
    changed = [name for name in factors if line.get(name) != getattr(line.existing, name, None)]
    message = f"{paid:,.2f} were paid of this line: its total, {line.total:,.2f} now, is never less."
    yield Issue("NotAllowed", changed[0] if changed else "quantity", message)


PAID_LINE_RULES = for_each_line((product_of_paid_line_stays, total_covers_what_was_paid))

#: Of updates alone: nothing was paid of what is new.
PAID_CLAIM_RULES: tuple[Rule[ClaimDraft], ...] = (
    participant_of_paid_bill_stays,
    provider_invoice_of_paid_claim_stays,
    days_of_paid_lines_stay,
    PAID_LINE_RULES,
)
PAID_INVOICE_RULES: tuple[Rule[BillDraft], ...] = (
    participant_of_paid_bill_stays,
    days_of_paid_lines_stay,
    PAID_LINE_RULES,
)
