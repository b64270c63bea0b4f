"""Rules of claims, of invoices and of their lines (interface.md 4.3, 4.4, 5)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from apps.base.drafts import Draft, InvalidValue, Issue, Rule, is_refused_when
from apps.funding.choices import ADMINISTER_PERMISSION, ApprovalStatus, CancellationReason, ClaimType
from apps.funding.drafts import BillContext, BillDraft, ClaimDraft, InvoiceDraft, LineDraft
from apps.funding.models import Claim, ClaimLine, Invoice, InvoiceLine
from apps.funding.validation.warnings import CLAIM_WARNINGS, INVOICE_WARNINGS

CREDIT_PERMISSION = "funding.administer_credit_invoices"

LACKS_PERMISSION = (
    "lacks the permission to view/administer funding invoices; name somebody whose role has it."
)

#: Totals have twelve digits before the point.
MAX_TOTAL = Decimal("999999999999.99")


def members_are_given(labels: Mapping[str, str]) -> Rule:
    """The rule that no member is missing; invalid ones have an issue already."""

    def rule(draft: Draft, *context: BillContext) -> Iterator[Issue]:
        for name, label in labels.items():
            value = vars(draft).get(name)
            if (value is None or value == []) and name not in draft.invalid:
                yield Issue("Required", name, f"{label} is required.")

    return rule


def bill_dates_are_in_order(draft: BillDraft, context: BillContext) -> Iterator[Issue]:
    if draft.end_date < draft.start_date:
        message = f"The end date {draft.end_date} lies before the start date {draft.start_date}."
        yield Issue("OutOfOrder", "end_date", message)


def staff_may_administer_funding(draft: BillDraft, context: BillContext) -> Iterator[Issue]:
    if context.permissions is None:
        message = f"The login of {draft.staff} is closed; name somebody who is still there."
        yield Issue("PermissionNeeded", "staff", message)
    elif ADMINISTER_PERMISSION not in context.permissions:
        yield Issue("PermissionNeeded", "staff", f"{draft.staff} {LACKS_PERMISSION}")


def bill_total_fits(draft: BillDraft, context: BillContext) -> Iterator[Issue]:
    if abs(draft.total) > MAX_TOTAL:
        message = f"The lines come to {abs(draft.total):,.2f}; {MAX_TOTAL:,} is the most. Divide them."
        yield Issue("OutOfRange", "line_items", message)


# --- lines ----------------------------------------------------------------------------------------------

#: Finds issues with the fields of a line.
LineRule = Rule[LineDraft]


def for_each_line(rules: Sequence[LineRule]) -> Rule[BillDraft]:
    """The rule of a bill that all its lines keep these rules."""

    def rule(bill: BillDraft, context: BillContext) -> Iterator[Issue]:
        for number, line in enumerate(bill.line_items):
            for line_rule in rules:
                try:
                    for issue in line_rule(line):
                        field = ("line_items", number, str(issue.field))
                        yield Issue(issue.code, field, issue.message)
                except InvalidValue:
                    continue

    return rule


REQUIRED_LINE_MEMBERS = {"product": "Product", "price_book": "PriceBook", "quantity": "Quantity"}


def line_has_a_price(line: LineDraft) -> Iterator[Issue]:
    # Without a product, a price book or a day, those are required first.
    if line.price is not None:
        return
    if line.book_price is None:
        why = f"{line.product.code} has no price in the price book on {line.first_day:%d %b %Y}"
    else:
        why = f"{line.product.code} is quoted and has no price of its own in the price book"
    yield Issue("Required", "price", f"Price is required: {why}.")


LINE_REQUIREMENTS = for_each_line((members_are_given(REQUIRED_LINE_MEMBERS), line_has_a_price))


def line_days_are_in_order(line: LineDraft) -> Iterator[Issue]:
    if line.last_day < line.first_day:
        message = f"It ends on {line.last_day:%d %b %Y}, before it begins on {line.first_day:%d %b %Y}."
        yield Issue("OutOfOrder", "to_date", message)


def only_cancellations_have_a_reason(line: LineDraft) -> Iterator[Issue]:
    reason = line.cancellation_reason
    if reason in (None, CancellationReason.NONE) or line.claim_type == ClaimType.CANCELLATION:
        return
    yield Issue("NotAllowed", "cancellation_reason", "Only a ClaimType of Cancellation has a reason.")


def line_total_fits(line: LineDraft) -> Iterator[Issue]:
    if abs(line.total) > MAX_TOTAL:
        message = f"Quantity × Price is {abs(line.total):,.2f}; a line comes to {MAX_TOTAL:,} at most."
        yield Issue("OutOfRange", "quantity", message)


LINE_RULES = for_each_line(
    (
        is_refused_when(
            "quantity", "OutOfRange", "Quantity must be more than 0.", lambda line: line.quantity <= 0
        ),
        is_refused_when(
            "price",
            "OutOfRange",
            "A price is not negative: a claim has less of the item, an invoice has a credit item.",
            lambda line: line.price < 0,
        ),
        line_days_are_in_order,
        only_cancellations_have_a_reason,
        line_total_fits,
    )
)

# --- claims ---------------------------------------------------------------------------------------------

REQUIRED_CLAIM_MEMBERS = {
    "provider_invoice": "ProviderInvoiceGuid",
    "start_date": "StartDate",
    "end_date": "EndDate",
    "staff": "StaffGuid",
    "line_items": "LineItems",
}
#: Required unless the provider invoice has it: the claim's member, and what the provider invoice calls it.
PROVIDER_INVOICE_MEMBERS = {
    "provider_invoice_reference": ("ProviderInvoiceReference", "reference"),
    "contact": ("ContactGuid", "contact"),
    "provider": ("ProviderGuid", "provider"),
}


def claim_has_what_its_provider_invoice_lacks(draft: ClaimDraft, context: BillContext) -> Iterator[Issue]:
    if draft.provider_invoice is None:
        return
    for name, (label, lacking) in PROVIDER_INVOICE_MEMBERS.items():
        if name not in draft.invalid and getattr(draft, name) is None:
            yield Issue("Required", name, f"{label} is required: the provider invoice has no {lacking}.")


CLAIM_REQUIREMENTS: tuple[Rule[ClaimDraft], ...] = (
    members_are_given(REQUIRED_CLAIM_MEMBERS),
    claim_has_what_its_provider_invoice_lacks,
    LINE_REQUIREMENTS,
)


#: Of a claim whose provider invoice is created with it.
NEW_INVOICE_REQUIREMENTS: tuple[Rule[ClaimDraft], ...] = (
    members_are_given({name: label for name, (label, _) in PROVIDER_INVOICE_MEMBERS.items()}),
)


def provider_invoice_accepts_claims(draft: ClaimDraft, context: BillContext) -> Iterator[Issue]:
    invoice = draft.provider_invoice
    if draft.key is not None and draft.previous_provider_invoice_id == invoice.pk:
        return
    if invoice.archive_date is not None:
        yield Issue("Archived", "provider_invoice", f"The provider invoice {invoice.pk} is archived.")
    elif invoice.approval_status == ApprovalStatus.REJECTED:
        why = f" ({invoice.rejection_reason})" if invoice.rejection_reason else ""
        named = invoice.reference or "without a reference"
        message = f"The provider invoice {named} was rejected{why}; release it before it is claimed."
        yield Issue("NotAllowed", "provider_invoice", message)


def provider_invoice_is_free(draft: ClaimDraft, context: BillContext) -> Iterator[Issue]:
    if context.taken_by is not None:
        said = "The provider invoice is not reusable, and {} is built on it already.".format
        message, unnamed = said(context.taken_by), said("another claim")
        race, other = context.lost_race, context.taken_by_record
        yield Issue("AlreadyUsed", "provider_invoice", message, lost_race=race, other=other, unnamed=unnamed)


def reference_is_unique_for_the_provider(draft: ClaimDraft, context: BillContext) -> Iterator[Issue]:
    if context.reference_owner is not None:
        reference = draft.provider_invoice_reference
        said = f"{reference} is the reference of {{}} already.".format
        message, unnamed = said(context.reference_owner), said("another record")
        other = context.reference_record
        yield Issue("NotUnique", "provider_invoice_reference", message, other=other, unnamed=unnamed)


CLAIM_RULES: tuple[Rule[ClaimDraft], ...] = (
    provider_invoice_accepts_claims,
    provider_invoice_is_free,
    reference_is_unique_for_the_provider,
    bill_dates_are_in_order,
    staff_may_administer_funding,
    bill_total_fits,
    LINE_RULES,
)

# --- invoices -------------------------------------------------------------------------------------------

REQUIRED_INVOICE_MEMBERS = {
    "invoice_claim_type": "InvoiceClaimTypeId",
    "start_date": "StartDate",
    "end_date": "EndDate",
    "is_recurring": "IsRecurring",
    "contact": "ContactGuid",
    "staff": "StaffGuid",
    "line_items": "LineItems",
}
REQUIRED_TO_RECUR = {
    "recurring_start_date": "RecurringStartDate",
    "recurring_frequency": "RecurringFrequencyId",
}
RECURRENCE_MEMBERS = {**REQUIRED_TO_RECUR, "recurring_end_date": "RecurringEndDate"}


def recurring_invoice_has_its_members(draft: InvoiceDraft, context: BillContext) -> Iterator[Issue]:
    for name, label in REQUIRED_TO_RECUR.items() if draft.is_recurring else ():
        if name not in draft.invalid and getattr(draft, name) is None:
            yield Issue("Required", name, f"{label} is required: IsRecurring is true.")


INVOICE_REQUIREMENTS: tuple[Rule[InvoiceDraft], ...] = (
    members_are_given(REQUIRED_INVOICE_MEMBERS),
    recurring_invoice_has_its_members,
    LINE_REQUIREMENTS,
)


def only_recurring_invoices_recur(draft: InvoiceDraft, context: BillContext) -> Iterator[Issue]:
    if draft.is_recurring:
        return
    for name, label in RECURRENCE_MEMBERS.items():
        if draft.get(name) is not None:
            yield Issue("NotAllowed", name, f"{label} is for recurring invoices; IsRecurring is false.")


def recurrence_ends_after_its_start(draft: InvoiceDraft, context: BillContext) -> Iterator[Issue]:
    start, end = draft.recurring_start_date, draft.recurring_end_date
    if draft.is_recurring and start and end and end < start:
        message = f"The last day {end} lies before the first, {start}."
        yield Issue("OutOfOrder", "recurring_end_date", message)


def staff_may_credit(draft: InvoiceDraft, context: BillContext) -> Iterator[Issue]:
    if context.permissions is None or CREDIT_PERMISSION in context.permissions:
        return
    if any(line.get("is_credit_item") for line in draft.line_items):
        message = (
            f"{draft.staff} lacks the permission to administer credit invoices, which credit items need;"
            " name somebody whose role has it."
        )
        yield Issue("PermissionNeeded", "staff", message)


INVOICE_RULES: tuple[Rule[InvoiceDraft], ...] = (
    bill_dates_are_in_order,
    only_recurring_invoices_recur,
    recurrence_ends_after_its_start,
    staff_may_administer_funding,
    staff_may_credit,
    bill_total_fits,
    LINE_RULES,
)


# --- claims and invoices --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BillType:
    """The differences of claims and invoices. ``name``: by which lines and warnings refer to their bill."""

    name: str
    model: type[Claim] | type[Invoice]
    line_model: type[Any]
    requirements: Sequence[Rule]
    rules: Sequence[Rule]
    warnings: Sequence[Rule]

    @property
    def line_references(self) -> list[str]:
        """The references of a line that rules and history read whole."""
        names = {column.name for column in self.line_model._meta.concrete_fields}
        return [name for name in ("product", "price_book", "cost_centre") if name in names]


CLAIMS = BillType("claim", Claim, ClaimLine, CLAIM_REQUIREMENTS, CLAIM_RULES, CLAIM_WARNINGS)
INVOICES = BillType("invoice", Invoice, InvoiceLine, INVOICE_REQUIREMENTS, INVOICE_RULES, INVOICE_WARNINGS)
