"""Warnings about claims and invoices: what is seldom meant, and may be saved all the same on confirmation.

The codes are those of the warnings of POST /claim and /invoice. Each message says the figure, the limit and
what to do. The same entry gives the same text whenever it is entered, since the text is stored with the bill;
``TODAY_PARTS`` has what follows the day of entry.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from stdnum.au import abn

from apps.base.drafts import Issue, Rule
from apps.core.models import normalised
from apps.funding.choices import ClaimType, Flag, ItemType
from apps.funding.drafts import BillContext, BillDraft, ClaimDraft, LineContext, LineDraft
from apps.funding.models import find_expired_window
from apps.funding.public_holidays import DayType, day_types, holiday_name, named_day_types
from apps.funding.validation.duplicates import DUPLICATE_INVOICE
from apps.funding.validation.plan_warnings import (
    PLAN_WARNINGS,
    booking_is_managed_by_a_plan_manager,
    participant_has_a_plan,
)
from apps.funding.validation.warning_codes import LineWarning, warning_code
from apps.funding.validation.warning_messages import (
    cap_message,
    format_day,
    format_days,
    format_money,
    same_claim_message,
    same_line_message,
    window_message,
)
from apps.people.choices import state_code
from apps.people.entered_texts import PLACEHOLDERS
from apps.people.models import Client


def warn_of_each_line(rules: Sequence[LineWarning]) -> Rule[BillDraft]:
    """The rules applied line by line, to all lines without invalid members."""

    def rule(draft: BillDraft, bill: BillContext) -> Iterator[Issue]:
        for line, context in zip(draft.line_items or (), bill.lines, strict=True):
            if context is None:
                continue
            for line_rule in rules:
                issue = line_rule(line, context, bill)
                if issue is not None:
                    item = ("line_items", context.number)
                    field = (*item, str(issue.field)) if issue.field else item
                    yield Issue(issue.code, field, issue.message)

    return rule


# --- the price guide ------------------------------------------------------------------------------------


PRICE_OVER_CAP = warning_code("PriceOverCap", "Price over cap")


def price_is_within_the_cap(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    product = line.product
    if product.type in TYPES_WITHOUT_CAP or product.is_quote_required:
        return None
    for cap, day in ((line.book_price, line.first_day), (context.last_price, line.last_day)):
        if cap is not None and cap.amount is not None and line.price > cap.amount:
            return Issue(PRICE_OVER_CAP, "price", cap_message(line, cap, cap.amount, day))
    return None


#: Items without a cap: quotes decide about the one, and the other is paid by the dollar.
TYPES_WITHOUT_CAP = frozenset({ItemType.QUOTABLE.value, ItemType.UNIT_PRICE.value})


ITEM_NOT_CURRENT = warning_code("ItemNotCurrent", "Item not current")


def item_is_current(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    code = line.product.code
    if line.product.archive_date is not None:
        return Issue(ITEM_NOT_CURRENT, "product", f"{code} is archived. Choose the item that replaced it.")
    if line.book_price is not None and context.last_price is not None:
        return None
    day = line.first_day if line.book_price is None else line.last_day
    return Issue(
        ITEM_NOT_CURRENT,
        "product",
        f"{code} is not in the price book on {format_day(day)}. Choose an item that is current then, or check"
        " the day.",
    )


QUOTE_REQUIRED = warning_code("QuoteRequired", "Quote required")


def item_needs_no_quote(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    product = line.product
    if not product.is_quote_required and product.type != ItemType.QUOTABLE:
        return None
    return Issue(
        QUOTE_REQUIRED,
        "product",
        f"{product.code} is paid by an approved quote only. Make sure that the quote covers"
        f" {format_money(line.total)}.",
    )


#: The column of a product that says whether it may be claimed with a claim type.
FLAGS = {
    ClaimType.CANCELLATION.value: "short_notice_cancellation",
    ClaimType.AGENCY_REQUIRED_REPORT.value: "agency_requested_reports",
    ClaimType.PROVIDER_TRAVEL.value: "provider_travel",
    ClaimType.NON_FACE_TO_FACE_SERVICES.value: "non_face_to_face",
    ClaimType.IRREGULAR_SIL_SUPPORTS.value: "irregular_sil",
}

REFUSED = frozenset({Flag.NO.value, Flag.NOT_APPLICABLE.value})


CLAIM_TYPE_NOT_ALLOWED = warning_code("ClaimTypeNotAllowed", "Claim type not allowed")


def item_allows_the_claim_type(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    claim_type = line.claim_type
    if claim_type is None or claim_type not in FLAGS:
        return None
    answer = getattr(line.product, FLAGS[claim_type])
    if answer not in REFUSED:
        return None
    label = ClaimType(claim_type).label
    return Issue(
        CLAIM_TYPE_NOT_ALLOWED,
        "claim_type",
        f"The price guide does not allow “{label}” for {line.product.code} ({answer})."
        " Choose another claim type or another item.",
    )


DAY_MISMATCH = warning_code("DayMismatch", "Day mismatch")


def item_is_for_that_day(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    """Not of a line of several days: on which of them the support was given is unknown."""
    if line.first_day != line.last_day:
        return None
    named = named_day_types(line.product.name)
    if not named:
        return None
    types = day_types(line.first_day, bill.participant_state)
    if named & types:
        return None
    state = state_code(bill.participant_state)
    actual = " or ".join(each.value for each in DayType if each in types)
    if DayType.PUBLIC_HOLIDAY in types:
        actual += f" ({holiday_name(line.first_day, state)})"
    where = f" in {state}" if state else ""
    expected = " or ".join(each.value for each in DayType if each in named)
    return Issue(
        DAY_MISMATCH,
        "from_date",
        f"{line.product.code} is for {expected}, and {format_day(line.first_day)} is {actual}{where}."
        " Check the item and the day.",
    )


# --- days -----------------------------------------------------------------------------------------------


TOO_OLD = warning_code("TooOld", "Too old")


def support_is_recent(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    expired = find_expired_window(bill.windows, line.first_day, bill.today)
    if expired is None:
        return None
    return Issue(TOO_OLD, "from_date", window_message(line.first_day, expired))


OUTSIDE_PERIOD = warning_code("OutsidePeriod", "Outside period")


def line_lies_within_the_period(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    if bill.start_date is None or bill.end_date is None:
        return None
    days = {"from_date": line.first_day, "to_date": line.last_day}
    outside = [name for name, day in days.items() if not bill.start_date <= day <= bill.end_date]
    if not outside:
        return None
    return Issue(
        OUTSIDE_PERIOD,
        outside[0],
        f"{format_day(days[outside[0]])} is outside the period that is billed,"
        f" {format_days(bill.start_date, bill.end_date)}. Check the day of the line, or the period.",
    )


FUTURE_SERVICE = warning_code("FutureService", "Future service")


def support_was_given(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    if line.last_day <= bill.today:
        return None
    only_to_date = line.first_day <= bill.today and line.last_day != line.first_day
    return Issue(
        FUTURE_SERVICE,
        "to_date" if only_to_date else "from_date",
        f"{format_day(line.last_day)} is after today, {format_day(bill.today)}. Enter supports when they have"
        " been given, or check the day.",
    )


# --- what was entered already ---------------------------------------------------------------------------


DUPLICATE_LINE = warning_code("DuplicateLine", "Duplicate line")


def line_is_no_duplicate(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    if context.duplicate is None:
        return None
    return Issue(DUPLICATE_LINE, "", same_line_message(line, context))


def claim_is_no_duplicate(draft: ClaimDraft, bill: BillContext) -> Iterator[Issue]:
    if bill.duplicate is None:
        return
    if bill.same_total and any(line is not None and line.duplicate for line in bill.lines):
        return  # the line says it already
    message = same_claim_message(draft, bill)
    yield Issue(DUPLICATE_INVOICE, "provider_invoice_reference", message)


# --- the provider ---------------------------------------------------------------------------------------

MARKS_AND_ZEROS = re.compile(r"[\W_0]")
#: What people write where there is no number, without marks and zeros.
WORDS_FOR_NONE = frozenset({"", *(MARKS_AND_ZEROS.sub("", each) for each in PLACEHOLDERS)})


ABN_MISSING = warning_code("AbnMissing", "ABN missing")
ABN_INVALID = warning_code("AbnInvalid", "ABN invalid")


def provider_has_a_business_number(draft: ClaimDraft, bill: BillContext) -> Iterator[Issue]:
    provider, number = draft.provider, business_number_of(draft.provider)
    if not number:
        yield Issue(
            ABN_MISSING,
            "provider",
            f"{provider.business_name} has no business number (ABN); {draft.missing_abn_reason_code} will be"
            " sent in its place. Enter the number with the provider if there is one.",
        )
    elif not is_an_abn(number):
        yield Issue(
            ABN_INVALID,
            "provider",
            f"{number}, the business number of {provider.business_name}, is no ABN: those have 11"
            " digits that check each other. Put it right with the provider.",
        )


def business_number_of(provider: Client) -> str:
    """The business number; empty where there is none, or what stands there says so (“N/A”, “-”, “0”)."""
    number = (provider.business_number or "").strip()
    return "" if MARKS_AND_ZEROS.sub("", number).casefold() in WORDS_FOR_NONE else number


@lru_cache(maxsize=8192)
def is_an_abn(number: str) -> bool:
    return bool(abn.is_valid(number))


def provider_invoice_agrees(draft: ClaimDraft, bill: BillContext) -> Iterator[Issue]:
    invoice, contact, provider = draft.provider_invoice, draft.contact, draft.provider
    reference = draft.provider_invoice_reference
    if invoice.contact_id not in (None, contact.pk):
        yield given_differs("contact", "participant", contact.full_name, invoice.contact.full_name)
    if invoice.provider_id not in (None, provider.pk):
        names = provider.business_name, invoice.provider.business_name
        yield given_differs("provider", "provider", *names)
    if invoice.reference not in (None, reference) and invoice.reference_key != normalised(reference):
        yield given_differs("provider_invoice_reference", "reference", reference, invoice.reference)


TOTAL_DIFFERS = warning_code("TotalDiffers", "Total differs")


def total_agrees_with_the_provider_invoice(draft: ClaimDraft, bill: BillContext) -> Iterator[Issue]:
    """With the other claims on a reusable provider invoice; its first one may be a part of the total."""
    invoice_total, others = draft.provider_invoice.invoice_total, bill.other_claims_total
    total = draft.total if others is None else draft.total + others
    if invoice_total is None or invoice_total == total:
        return
    if draft.provider_invoice.is_reusable and others is None and total < invoice_total:
        return
    what, check = f"The claim comes to {format_money(total)}", "Check the lines against the provider invoice"
    if others is not None:
        what = f"This claim and the others on its provider invoice come to {format_money(total)} together"
        check += ", unless further claims follow" if total < invoice_total else ""
    difference = f"{format_money(abs(total - invoice_total))} {'more' if total > invoice_total else 'less'}"
    yield Issue(
        TOTAL_DIFFERS,
        "line_items",
        f"{what}, {difference} than the provider invoice's total of {format_money(invoice_total)}. {check}.",
    )


GIVEN_DIFFERS = warning_code("GivenDiffers", "Given differs")


def given_differs(field: str, label: str, given: str, value: str) -> Issue:
    message = (
        f"The {label} given is {given}, and the provider invoice's is {value}. Take out what is given to use"
        " the provider invoice's."
    )
    return Issue(GIVEN_DIFFERS, field, message)


#: In the order in which people would ask.
LINE_WARNINGS: tuple[LineWarning, ...] = (
    price_is_within_the_cap,
    item_is_current,
    item_needs_no_quote,
    item_allows_the_claim_type,
    item_is_for_that_day,
    *PLAN_WARNINGS,
    line_lies_within_the_period,
    support_is_recent,
    support_was_given,
    line_is_no_duplicate,
)

INVOICE_WARNINGS: tuple[Rule[BillDraft], ...] = (participant_has_a_plan, warn_of_each_line(LINE_WARNINGS))

CLAIM_WARNINGS: tuple[Rule[ClaimDraft], ...] = (
    provider_invoice_agrees,
    total_agrees_with_the_provider_invoice,
    claim_is_no_duplicate,
    provider_has_a_business_number,
    participant_has_a_plan,
    warn_of_each_line((*LINE_WARNINGS, booking_is_managed_by_a_plan_manager)),
)
