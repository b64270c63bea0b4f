"""The journals and bills of events: which account is debited, which is credited."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from apps.base.batched_queries import AnyOf
from apps.base.money import ZERO, to_cents
from apps.core.bulk_insert import in_batches
from apps.funding.choices import TaxChoice
from apps.funding.models import ClaimLine, CostCentre
from apps.payments.choices import CodeUse, EntryKind
from apps.payments.file_formats.accounts_forms import FORMS
from apps.payments.file_formats.journals import Journal, JournalLine
from apps.payments.file_formats.xero_bills import BillLine, XeroBill
from apps.payments.models import AccountCode, PaymentRunClaim, PaymentSettings, find_account_code
from apps.payments.services.account_codes import bill_tax, income_tax, package_name
from apps.payments.services.accounts_sources import AccountsSource, SupplyLine

#: Bills name at most so many characters of what a payee calls its own.
REFERENCE_LENGTH = 100
#: The day of a journal, its place among those of the day, and what it is about.
JournalKey = tuple[dt.date, int, str]


@dataclass(frozen=True, slots=True)
class Books:
    """The settings and account codes that everything of an export is booked by."""

    settings: PaymentSettings
    codes: Sequence[AccountCode]

    @classmethod
    def current(cls) -> "Books":
        codes = AccountCode.objects.filter(archive_date=None).select_related("cost_centre")
        return cls(PaymentSettings.current(), list(codes))

    @property
    def has_bills(self) -> bool:
        return FORMS[self.settings.accounts_style].has_bills

    def income_code(self, line: SupplyLine) -> str | None:
        values = (line.cost_centre, line.category, line.tax_choice)
        return find_account_code(self.codes, CodeUse.OWN_FEE, values)

    def bill_code(self, category: int | None, tax_choice: str | None) -> str:
        """The account of a provider's bill: the clearing account, unless a row says another."""
        found = find_account_code(self.codes, CodeUse.PROVIDER_BILL, (None, category, tax_choice))
        return found or self.settings.clearing_code


def missing_settings(books: Books) -> list[str]:
    """The options that an export needs and that are missing or cannot be used, in words."""
    settings = books.settings
    needed = {
        "the package": settings.accounts_style,
        "the first day": settings.accounts_from,
        "the account of money in transit": settings.bank_code,
        "the clearing account": settings.clearing_code,
    }
    found = [label for label, value in needed.items() if not value]
    others = {settings.clearing_code, settings.gst_code, *(row.code for row in books.codes)}
    if settings.bank_code and settings.bank_code in others:
        found.append("an account of money in transit that is used for nothing else")
    return found


def missing_codes(books: Books, sources: Iterable[AccountsSource]) -> list[str]:
    """The own fees that no account code fits, in words."""
    lines = {line for source in sources for line in source.supplies if books.income_code(line) is None}
    kinds = {(line.cost_centre, line.category, line.tax_choice) for line in lines}
    centres = CostCentre.objects.in_bulk([centre for centre, *_ in kinds if centre]) if kinds else {}
    return sorted(code_words(centres, *kind) for kind in kinds)


def code_words(
    centres: Mapping[UUID, CostCentre], centre: UUID | None, category: int | None, tax_choice: str | None
) -> str:
    """``own fee, cost centre North, category 14, GST free income``"""
    words = ["own fee"]
    if centre is not None:
        words.append(f"cost centre {centres[centre]}")
    if category is not None:
        words.append(f"category {category}")
    words.append(str(TaxChoice(tax_choice).label) if tax_choice else "without a tax")
    return ", ".join(words)


# --- journals -------------------------------------------------------------------------------------------


def make_journals(books: Books, sources: Iterable[AccountsSource], number: int) -> list[Journal]:
    """The journals of an export of that number, by day: one of each kind, payments one for each run."""
    groups: dict[JournalKey, list[AccountsSource]] = defaultdict(list)
    fees: dict[JournalKey, list[AccountsSource]] = defaultdict(list)
    for each in sources:
        if each.kind in (EntryKind.RECEIVED, EntryKind.FEE):
            groups[each.day, 0, "Received from the agency"].append(each)
        elif each.kind in (EntryKind.TAKEN_BACK, EntryKind.FEE_TAKEN_BACK):
            groups[each.day, 1, "Taken back by the agency"].append(each)
        elif not books.has_bills and each.kind == EntryKind.PAID:
            groups[each.day, 3, f"Paid to payees, payment run {each.run_number}"].append(each)
        elif not books.has_bills:
            groups[each.day, 4, f"Came back of payment run {each.run_number}"].append(each)
        if each.supplies:
            fees[each.day, 2, "Own fee"].append(each)
    drafts = {key: list(transfer_lines(books, own)) for key, own in groups.items()}
    drafts |= {key: lines for key, own in fees.items() if (lines := list(fee_lines(books, own)))}
    return [
        Journal(
            f"A{number % 1_000:03}{nth % 10_000:04}", f"{key[2]}, accounts export {number}", key[0], lines
        )
        for nth, (key, lines) in enumerate(sorted(drafts.items(), key=lambda each: each[0]), 1)
    ]


def transfer_lines(books: Books, sources: Sequence[AccountsSource]) -> Iterator[JournalLine]:
    """Between the bank and the clearing account."""
    into_bank = sources[0].kind in (EntryKind.RECEIVED, EntryKind.FEE, EntryKind.RETURNED)
    amount = sum((each.amount for each in sources), ZERO) * (1 if into_bank else -1)
    tax = package_name(books.settings, "tax_excluded")
    yield JournalLine(books.settings.bank_code, amount, tax, "Bank")
    yield JournalLine(books.settings.clearing_code, -amount, tax, "Clearing")


def fee_lines(books: Books, sources: Sequence[AccountsSource]) -> Iterator[JournalLine]:
    """From the clearing account to income and GST; back where more was taken back than paid."""
    settings = books.settings
    excluded = package_name(settings, "tax_excluded")
    sums: dict[tuple[str, str, str], Decimal] = defaultdict(lambda: ZERO)
    for line in (line for each in sources for line in each.supplies):
        code = books.income_code(line)
        assert code is not None  # an export with missing codes is not made
        sums[settings.clearing_code, excluded, "Clearing"] += line.amount
        if settings.gst_code:
            sums[code, excluded, "Own fee without GST"] -= line.amount - line.gst
            sums[settings.gst_code, excluded, "GST of own fee"] -= line.gst
        else:
            sums[code, income_tax(settings, line.tax_choice), "Own fee"] -= line.amount
    for (code, tax, description), amount in sums.items():
        if amount:
            yield JournalLine(code, amount, tax, description)


# --- bills ----------------------------------------------------------------------------------------------


def make_bills(books: Books, sources: Iterable[AccountsSource]) -> list[XeroBill]:
    """A bill of each claim that was paid to a payee; below zero what was taken off or came back."""
    events: dict[int | None, list[AccountsSource]] = defaultdict(list)
    for source in sources:
        if source.item is not None:
            events[source.item].append(source)
    bills = []
    for batch in in_batches(sorted(key for key in events if key)):
        related = ("item__client", "item__contact", "item__run", "claim")
        rows = PaymentRunClaim.objects.filter(AnyOf("item", batch)).select_related(*related)
        parts = list(rows.order_by("item", "pk"))
        lines = load_bill_lines({part.claim_id for part in parts})
        bills += [
            make_bill(books, source, part, lines[part.claim_id])
            for part in parts
            for source in events[part.item_id]
        ]
    return sorted(bills, key=lambda bill: bill.day)


def load_bill_lines(claims: Iterable[UUID]) -> Mapping[UUID, list[ClaimLine]]:
    """The lines of claims of which something was paid."""
    lines = ClaimLine.objects.filter(AnyOf("claim", claims)).exclude(amount_paid=ZERO)
    found: dict[UUID, list[ClaimLine]] = defaultdict(list)
    for line in lines.select_related("product").order_by("position", "pk"):
        found[line.claim_id].append(line)
    return found


def bill_mark(part: PaymentRunClaim, is_returned: bool) -> str:
    """The end of a bill's number, which no other number has."""
    return f"RUN{part.item.run.number}-{part.pk}{'-BACK' if is_returned else ''}"


def make_bill(
    books: Books, source: AccountsSource, part: PaymentRunClaim, lines: Sequence[ClaimLine]
) -> XeroBill:
    is_returned = source.kind == EntryKind.RETURNED
    claim = part.claim
    return XeroBill(
        contact=" ".join(str(part.item.payee).split()),
        reference=" ".join(claim.provider_invoice_reference.split())[:REFERENCE_LENGTH],
        mark=bill_mark(part, is_returned),
        day=source.day,
        description=f"Claim {claim}, {claim.start_date:%d/%m/%Y} to {claim.end_date:%d/%m/%Y}",
        lines=divide_bill(books, -part.amount if is_returned else part.amount, lines),
    )


def divide_bill(books: Books, amount: Decimal, lines: Sequence[ClaimLine]) -> list[BillLine]:
    """An amount by account and tax, in proportion to what was paid of the claim's lines."""
    weights: dict[tuple[str, str], Decimal] = defaultdict(lambda: ZERO)
    for line in lines:
        code = books.bill_code(line.product.category, line.tax_choice)
        weights[code, bill_tax(books.settings, line.tax_choice)] += line.amount_paid
    total = sum(weights.values(), ZERO)
    if not total:  # nothing is paid of its lines any more
        weights[books.bill_code(None, None), bill_tax(books.settings, None)], total = amount, amount
    shares = {key: to_cents(amount * weight / total) for key, weight in weights.items()}
    # The cents that rounding leaves over go to the last.
    *_, last = shares
    shares[last] += amount - sum(shares.values(), ZERO)
    return [BillLine(code, tax, share) for (code, tax), share in shares.items() if share]
