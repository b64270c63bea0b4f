"""Creating claims and invoices (interface.md 4.3, 4.4): for the API, the back office, imports and demo data.

Services raise ``ValidationFailed`` with every issue, and ``WarningsPresent`` unless warnings are ignored:
then the warnings are stored as acknowledged. Keys come in the order of the drafts.
"""

from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from functools import partial
from typing import cast
from uuid import UUID

from django.db import connection
from django.db.models import Model, QuerySet

from apps.base.batched_queries import AnyOf, PreparedQuery, SqlStatement, fetch_all, prepared_query
from apps.base.declaration import service
from apps.base.drafts import (
    Issue,
    Rule,
    WarningsPresent,
    apply_rules,
    raise_if_invalid,
    wire_target,
)
from apps.base.money import ZERO, to_cents
from apps.core import history, saving
from apps.core.bulk_insert import WriteBatch
from apps.core.models import Subscriber, normalised
from apps.funding.choices import MissingAbnReason, SendPaymentTo
from apps.funding.drafts import BillDraft, ClaimDraft, LineDraft
from apps.funding.models import AcknowledgedWarning, Claim, Invoice, NumberSequence, ProviderInvoice
from apps.funding.models.prices import PriceTable
from apps.funding.services.context import Records, load_bill_contexts, load_records
from apps.funding.services.effects import apply_claim_effects, line_posting, post_to_budgets
from apps.funding.statuses import ClaimStatus
from apps.funding.validation.bills import CLAIMS, INVOICES, BillType
from apps.funding.validation.warnings import business_number_of

#: (key of the bill, code, wire name of the member, message) of an acknowledged warning.
Acknowledged = tuple[object, str, str | None, str]


@saving.in_transaction()
def create_bills(
    bill_type: BillType, drafts: Sequence[BillDraft], ignore_warnings: bool = False
) -> list[UUID]:
    """Store new bills with their lines, history and warnings; post them to budgets and provider invoices.

    Locks provider invoices, then the running number, then budgets; each in the order of their keys.
    """
    warnings = check_bills(bill_type, drafts)
    if warnings and not ignore_warnings:
        raise WarningsPresent(warnings)
    assign_numbers(bill_type.model, drafts)
    batch, author = WriteBatch(), history.author().staff_id
    # What an application sends was entered by the staff member in charge.
    entered_by = [author or draft.staff.pk for draft in drafts]
    keys = saving.insert_records(bill_type.model, drafts, {"entered_by": entered_by}, batch)
    lines = [line for draft in drafts for line in draft.line_items]
    line_columns = {
        bill_type.name: [key for key, draft in zip(keys, drafts, strict=True) for _ in draft.line_items],
        "position": [position for draft in drafts for position, _ in enumerate(draft.line_items)],
    }
    saving.insert_rows(bill_type.line_model, lines, line_columns, batch)
    acknowledge_warnings(bill_type, warnings, keys, batch)
    if bill_type is CLAIMS:
        claims = cast("Sequence[ClaimDraft]", drafts)
        invoices = {claim.provider_invoice.pk: claim.provider_invoice for claim in claims}
        unclaimed = [key for key, invoice in invoices.items() if not invoice.is_claimed]
        batch.set_flag(ProviderInvoice, "is_claimed", unclaimed)
    status = ClaimStatus.AWAITING_STAFF_APPROVAL.value
    budgets = [line.category_budget for line in lines if line.category_budget is not None]
    periods = {budget.pk: budget.periods for budget in budgets}
    post_to_budgets([line_posting(line, status) for line in lines], batch, periods)
    batch.send()
    if bill_type is CLAIMS:
        apply_claim_effects(cast("Sequence[ClaimDraft]", drafts))
    return keys


create_claims = partial(create_bills, CLAIMS)
create_invoices = partial(create_bills, INVOICES)


# --- validation -----------------------------------------------------------------------------------------


def check_bills(
    bill_type: BillType, drafts: Sequence[BillDraft], further_rules: Sequence[Rule] = ()
) -> list[tuple[int, Issue]]:
    """Fill what the drafts leave out, and apply the rules; the warnings about them.

    Raises ``ValidationFailed`` with all issues. The number of statements is constant.
    """
    records = load_records(bill_type, drafts)
    apply_defaults(bill_type, drafts, records)
    contexts = load_bill_contexts(bill_type, drafts, records)
    issues = [*records.conflicts, *apply_rules(drafts, bill_type.requirements, contexts)]
    if not issues:
        issues += apply_rules(drafts, (*bill_type.rules, *further_rules), contexts)
    raise_if_invalid(drafts, [*records.reference_issues, *issues])
    return apply_rules(drafts, bill_type.warnings, contexts)


def find_warnings(bill_type: BillType, drafts: Sequence[BillDraft]) -> list[tuple[int, Issue]]:
    """The warnings about drafts of existing bills, whatever rules would say of them by now."""
    records = load_records(bill_type, drafts)
    apply_defaults(bill_type, drafts, records)
    return apply_rules(drafts, bill_type.warnings, load_bill_contexts(bill_type, drafts, records))


# --- defaults -------------------------------------------------------------------------------------------

#: Members of a claim that its provider invoice has as well, as {the claim's: the provider invoice's}.
SHARED_MEMBERS = {"contact": "contact", "provider": "provider", "provider_invoice_reference": "reference"}

#: Payees who are paid back what they paid the provider.
REIMBURSED = frozenset({SendPaymentTo.CLIENT.value, SendPaymentTo.CLIENT_REPRESENTATIVE.value})


def apply_defaults(bill_type: BillType, drafts: Sequence[BillDraft], records: Records) -> None:
    """Fill what drafts leave out, and work out their totals.

    Members that were given stay as they are. What depends on an invalid member is marked invalid.
    """
    for draft in drafts:
        if bill_type is CLAIMS:
            apply_claim_defaults(cast("ClaimDraft", draft), records)
        contact, total = vars(draft).get("contact"), ZERO
        region = None if contact is None else contact.scheme_price_guide_region
        for line in vars(draft).get("line_items") or ():
            total += apply_line_defaults(draft, line, region, records.prices) or ZERO
        vars(draft)["total"] = total


def apply_claim_defaults(claim: ClaimDraft, records: Records) -> None:
    """Fill what a claim leaves out from its provider invoice, also when it moves there from another."""
    members = vars(claim)
    invoice = records.provider_invoices.get(claim.key_of("provider_invoice"))
    members["takes_provider_invoice"] = invoice is None or not invoice.is_reusable
    if invoice is not None:
        members["provider_invoice"] = invoice
        moves = claim.key is not None and members.get("previous_provider_invoice_id") != invoice.pk
        for name, source in SHARED_MEMBERS.items():
            value = getattr(invoice, source)
            if name in claim.invalid or value is None:
                continue
            if members.get(name) is None or (moves and name not in claim.given):
                members[name] = value
                if claim.key is not None:
                    claim.given |= {name}
        if claim.gets_default("send_payment_to"):
            members["send_payment_to"] = invoice.send_payment_to
    # Why the claim goes without the provider's business number (interface.md 2.3).
    provider, reason = members.get("provider"), None
    if members.get("send_payment_to") in REIMBURSED:
        reason = MissingAbnReason.REIMBURSEMENT.value
    elif provider is not None and not business_number_of(provider):
        reason = MissingAbnReason.EXCLUDED.value
    members["missing_abn_reason_code"] = reason


def apply_line_defaults(
    bill: BillDraft, line: LineDraft, region: str | None, prices: PriceTable
) -> Decimal | None:
    """Fill the days, price, notes and total of a line; the total."""
    members = vars(line)
    from_date, to_date = members.get("from_date"), members.get("to_date")
    first_day, last_day = from_date, to_date or from_date
    if from_date is None and "from_date" not in line.invalid:
        first_day, last_day = vars(bill).get("start_date"), to_date or vars(bill).get("end_date")
    if "to_date" in line.invalid:
        last_day = None
    product, book = members.get("product"), members.get("price_book")
    quantity, price, book_price = members.get("quantity"), members.get("price"), None
    can_be_priced = False
    if product is not None and book is not None and first_day is not None:
        can_be_priced, book_price = True, prices.find(book.pk, product.pk, region, first_day)
    if price is None and "price" not in line.invalid:
        price = book_price and book_price.amount
        if can_be_priced:
            members["price"] = price
        else:
            line.mark_invalid("price")
    notes_were_removed = line.key is not None and "notes" in line.given - line.left_out
    if members.get("notes") is None and "notes" not in line.invalid and not notes_were_removed:
        members["notes"] = product and product.long_description
    total = None
    if quantity is not None and price is not None:
        total = to_cents(quantity * price)
        total = -total if members.get("is_credit_item") else total
    calculated = {"first_day": first_day, "last_day": last_day, "total": total}
    missing = [name for name, value in calculated.items() if value is None]
    if not can_be_priced:
        missing.append("book_price")
    members.update(calculated, book_price=book_price)
    if missing:
        line.mark_invalid(*missing)
    return total


# --- numbers --------------------------------------------------------------------------------------------

#: Reserves so many numbers of a sequence, and returns the one that follows them.
ADVANCE_SEQUENCE = (
    f"INSERT INTO {NumberSequence._meta.db_table} AS stored (name, next_number) VALUES (%s, 1 + %s)"  # noqa: S608  our own names
    " ON CONFLICT (name) DO UPDATE SET next_number = stored.next_number + %s RETURNING next_number"
)


#: PostgreSQL's lock of a sequence until the transaction ends, taken before its row is: of the transactions
#: that wait for a row each is woken by every change, only to wait for the new version.
LOCK_SEQUENCE = "SELECT pg_advisory_xact_lock(hashtext(%s))"

#: How many numbers are looked up at once where callers have used those that come next.
MAX_LOOKUP = 5_000


def used_numbers_query(bill_type: BillType) -> PreparedQuery:
    """The query of normalised numbers that bills have. Prepared, since others wait while it is sent."""

    @prepared_query
    def rows(keys: Iterable[object]) -> QuerySet[Model, tuple[object, ...]]:
        name = f"{bill_type.name}_number_key"
        bills = bill_type.model._base_manager.filter(AnyOf(name, keys))
        return bills.order_by().values_list(name)

    return rows


USED_NUMBERS = {bill_type.model: used_numbers_query(bill_type) for bill_type in (CLAIMS, INVOICES)}


def assign_numbers(model: type[Claim | Invoice], drafts: Sequence[BillDraft]) -> None:
    """Give every draft without a number the next one; used numbers are skipped.

    Callers wait for each other until they commit, so that no number is given twice and none is lost. Needs a
    transaction.
    """
    name = f"{model._meta.model_name}_number"
    numbers = [getattr(draft, name) for draft in drafts]
    unnumbered = [draft for draft, number in zip(drafts, numbers, strict=True) if number is None]
    if unnumbered:
        given = {normalised(number) for number in numbers if number is not None}
        for draft, number in zip(unnumbered, next_numbers(model, len(unnumbered), given), strict=True):
            vars(draft)[name] = number


def next_numbers(model: type[Claim | Invoice], count: int, given: Collection[str | None] = ()) -> list[str]:
    """The next numbers that no record has, and that are not among the normalised numbers ``given``."""
    sequence, settings = str(model._meta.model_name), Subscriber.current()
    prefix, digits = (getattr(settings, f"{sequence}_number_{part}") for part in ("prefix", "digits"))
    numbers: dict[str, int] = {}
    step, lock = count, None
    if connection.vendor == "postgresql":
        name = f"numbers of {sequence}s"  # imports wait for each other by the name of their set
        lock = SqlStatement(LOCK_SEQUENCE, [name], label="lock sequence")
    while len(numbers) < count:
        # The row of the sequence stays locked until the transaction ends.
        advance = SqlStatement(ADVANCE_SEQUENCE, [sequence, step, step], label="advance sequence")
        _, [(following,)] = fetch_all([lock, advance])
        first = following - step
        looked_up = {f"{prefix}{number:0{digits}d}": number for number in range(first, first + step)}
        keys = {text: normalised(text) for text in looked_up}
        (rows,) = fetch_all([USED_NUMBERS[model](keys.values())])
        used = {*given, *(key for (key,) in rows)}
        numbers |= {text: number for text, number in looked_up.items() if keys[text] not in used}
        step = min(max(2 * step, 16), MAX_LOOKUP)
    chosen = list(numbers)
    if len(numbers) > count:
        # The sequence goes on with the first number that was looked up and not needed.
        NumberSequence.objects.filter(name=sequence).update(next_number=numbers[chosen[count]])
    return chosen[:count]


# --- saving ---------------------------------------------------------------------------------------------


def acknowledge_warnings(
    bill_type: BillType,
    warnings: Sequence[tuple[int, Issue]],
    keys: Sequence[UUID],
    batch: WriteBatch,
) -> None:
    """Store which warnings were ignored and by whom."""
    if not warnings:
        return
    rows = dict.fromkeys(acknowledged(bill_type, keys[number], issue) for number, issue in warnings)
    author = history.author()
    batch.insert(
        AcknowledgedWarning,
        (f"{bill_type.name}_id", "code", "place", "message", "at", "staff_id", "application"),
        [(*row, batch.moment, author.staff_id, author.application) for row in rows],
    )


def acknowledged(bill_type: BillType, key: object, issue: Issue) -> Acknowledged:
    """A warning about a bill as it is stored when it is ignored."""
    type_ = service.get_service().by_model[bill_type.model].type
    return key, issue.code, wire_target(type_, issue.field, issue.code) or None, issue.message
