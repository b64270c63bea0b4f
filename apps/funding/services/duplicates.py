"""Duplicates: lines for the same support, claims and provider invoices with the same reference or total."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Min, Model, QuerySet, Value
from django.db.models.functions import Coalesce

from apps.base.batched_queries import (
    AnyOf,
    AnyRowOf,
    PreparedQuery,
    Rows,
    prepared_query,
    query_by_values,
)
from apps.base.drafts import Draft, label_of
from apps.base.money import ZERO
from apps.funding.choices import ApprovalStatus
from apps.funding.drafts import DraftBill, DraftLine
from apps.funding.models import Claim, ClaimLine, ProviderInvoice
from apps.funding.statuses import ENDED
from apps.funding.validation.bills import CLAIMS, INVOICES, BillType
from apps.funding.validation.duplicates import BillMark


def label_bill(bill_type: BillType, bill: DraftBill) -> str:
    """The number of a bill of the same body, or its place in the body."""
    return str(bill.draft.get(f"{bill_type.name}_number") or label_of(bill.draft, bill.number))


# --- lines ----------------------------------------------------------------------------------------------


def lines_of_day_query(line_model: type[Any]) -> PreparedQuery:
    """The query of current lines for any of these participants, products and first days.

    Rows as ``find_duplicate_lines`` compares them, each once: thousands of lines may be alike.
    """
    bill, provider_or_credit = "invoice", "is_credit_item"
    if line_model is ClaimLine:
        bill, provider_or_credit = "claim", "claim__provider"

    # By the participant or by the product and the day: of either there may be thousands of lines.
    @query_by_values
    def rows(
        contacts: Iterable[object],
        products: Iterable[object],
        days: Iterable[object],
        excluded: Iterable[object],
    ) -> QuerySet[Model, tuple[object, ...]]:
        lines = line_model.objects.filter(
            AnyOf(f"{bill}__contact", contacts),
            AnyOf("product", products),
            AnyOf("first_day", days),
            archive_date=None,
            **{f"{bill}__archive_date": None},
        )
        others = lines.exclude(AnyOf(bill, excluded))
        current = others.exclude(**{f"{bill}__funding_status__in": sorted(ENDED)})
        claimed = current.order_by().values_list(
            *(f"{bill}__contact", provider_or_credit, "product", "first_day", "last_day"),
            *(Coalesce("claim_type", Value("None")), "quantity", "total"),
        )
        return claimed.annotate(number=Min(f"{bill}__{bill}_number"))

    return rows


LINES_OF_DAY = {each.name: lines_of_day_query(each.line_model) for each in (CLAIMS, INVOICES)}


def find_duplicate_lines(bill_type: BillType, bills: Sequence[DraftBill], rows: Rows) -> None:
    """Find the lines that claim the same support: those of other bills, and those before it in the body.

    The same quantity of it, or another quantity at another price that comes to the same.
    """
    existing: dict[tuple[object, ...], str] = {}
    for *support, quantity, total, number in rows:
        for same in ((*support, "quantity", quantity), (*support, "total", total)):
            existing[same] = min(number, existing.get(same, number))
    first: dict[tuple[object, ...], tuple[DraftBill, DraftLine]] = {}
    for bill in bills:
        for each in bill.lines:
            line, context = each.draft, bill.context.lines[each.number]
            assert context is not None
            members = (
                bill.contact,
                bill.provider if bill_type is CLAIMS else each.is_credit,
                *(line.product.pk, line.first_day, line.last_day, each.claim_type),
            )
            for name in ("quantity", "total") if line.total else ("quantity",):
                same = (*members, name, vars(line)[name])
                earlier_bill, earlier = first.setdefault(same, (bill, each))
                if context.duplicate is not None:
                    continue
                if same in existing:
                    context.duplicate = existing[same]
                elif earlier is not each:
                    is_own = earlier_bill is bill
                    label = f"this {bill_type.name}" if is_own else label_bill(bill_type, earlier_bill)
                    context.duplicate = f"line {earlier.number + 1} of {label}"
                context.same_total = context.duplicate is not None and name == "total"


# --- bills ----------------------------------------------------------------------------------------------

#: What claims on one bill under two references have in common, besides the total.
PERIOD = ("contact", "provider", "start_date", "end_date")


@prepared_query
def claims_with(references: Any, periods: Any) -> QuerySet[Model, tuple[object, ...]]:
    """The unarchived claims of pairs of a provider and a normalised reference, or of rows of ``PERIOD``.

    Each condition has an index of its own, which OR would not use.
    """
    keys = Claim.objects.order_by().values("pk")
    by_reference = keys.filter(AnyRowOf(("provider", "provider_invoice_reference_key"), references))
    of_period = keys.filter(AnyRowOf(PERIOD, periods))
    claims = Claim.objects.filter(pk__in=by_reference.union(of_period), archive_date=None)
    columns = ("provider_invoice", "claim_number", "pk", "funding_status", "resubmission_of", "paid_earlier")
    return claims.order_by("pk").values_list(
        "provider", "provider_invoice_reference_key", *columns, *PERIOD, "total"
    )


def find_duplicate_claims(claims: Sequence[DraftBill], claim_rows: Rows, own_bills: set[UUID]) -> None:
    """Find the claims for the same participant with the same reference of the provider, or the same total."""
    existing: dict[tuple[object, ...], str] = {}
    for provider, reference, _, claim_number, key, status, _, _, contact, *others in claim_rows:
        if status not in ENDED and key not in own_bills:
            for same in ((contact, provider, reference), (contact, *others)):
                existing[same] = min(claim_number, existing.get(same, claim_number))
    first: dict[tuple[object, ...], DraftBill] = {}
    for claim in claims:
        if claim.contact is None:
            continue
        context, reference = claim.context, (claim.contact, claim.provider, claim.reference)
        period = (claim.contact, claim.provider, context.start_date, context.end_date, claim.draft.total)
        for same in (reference, period) if claim.draft.total else (reference,):
            earlier = first.setdefault(same, claim)
            if context.duplicate is not None:
                continue
            if same in existing:
                context.duplicate = existing[same]
            elif earlier is not claim:
                context.duplicate = label_bill(CLAIMS, earlier)
            context.same_total = context.duplicate is not None and same is period


def sum_other_claims(claims: Sequence[DraftBill], claim_rows: Rows) -> None:
    """Sum up what the other claims on each provider invoice ask for, those of the same body included.

    Of those that exist, the ones with its reference, which are loaded to find duplicates. Two that resubmit
    one another ask for the same: the gap is part of the older, and in full the newer takes its place, which
    may be that of a gap.
    """
    sharing: defaultdict[UUID, list[DraftBill]] = defaultdict(list)
    for claim in claims:
        if claim.provider_invoice is not None:
            sharing[claim.provider_invoice.pk].append(claim)
    totals: defaultdict[UUID, dict[object, Decimal]] = defaultdict(dict)
    originals: dict[object, UUID | None] = {}
    ended, replaced = set[object](), set[object]()
    for _, _, invoice, _, key, status, original, paid_earlier, *_, total in claim_rows:
        if invoice in sharing:
            originals[key] = original
            if status in ENDED:
                ended.add(key)
            else:
                totals[invoice][key] = total
                if paid_earlier:
                    replaced.add(original)
    counted_elsewhere = replaced | find_gaps(originals, ended | replaced)
    for invoice, bills in sharing.items():
        of_invoice = totals[invoice]
        of_invoice |= {bill.draft.key or bill.number: bill.draft.total for bill in bills}
        if len(of_invoice) > 1:
            asked = sum((of_invoice[key] for key in of_invoice.keys() - counted_elsewhere), ZERO)
            for bill in bills:
                bill.context.other_claims_total = asked - bill.draft.total


def find_gaps(originals: Mapping[object, UUID | None], replaced: Collection[object]) -> set[object]:
    """The claims that are the gap of another, which still counts, or resubmit one that was, in full.

    ``originals``: what each claim resubmits; ``replaced``: those whose place a resubmission has taken.
    """
    gaps = set[object]()
    for key, original in originals.items():
        while original is not None and original in replaced:
            original = originals.get(original)
        if original in originals:
            gaps.add(key)
    return gaps


# --- provider invoices ----------------------------------------------------------------------------------

#: The columns of provider invoices that a mark has.
MARKED = ("contact", "provider", "service_start_date", "service_end_date", "invoice_total")


def mark_of(draft: Draft, columns: Sequence[str] = MARKED) -> BillMark | None:
    """The mark of a draft that has these columns; ``None`` while it is not complete."""
    contact, provider = map(draft.key_of, columns[:2])
    start, end, total = map(draft.get, columns[2:])
    if not (contact and provider and start and total):
        return None
    return BillMark(contact, provider, start, end or start, total)


def find_marked_invoices(marks: Collection[BillMark]) -> Mapping[BillMark, Sequence[ProviderInvoice]]:
    """The provider invoices with these marks, neither archived nor rejected, the oldest first; one query."""
    found: dict[BillMark, list[ProviderInvoice]] = defaultdict(list)
    if not marks:
        return found
    of_period = AnyRowOf(MARKED[:3], {mark[:3] for mark in marks})
    current = ProviderInvoice.objects.filter(of_period, archive_date=None)
    others = current.exclude(approval_status=ApprovalStatus.REJECTED).order_by("creation_date", "guid")
    for each in others.select_related("provider", "contact"):
        mark = mark_of(Draft({name: getattr(each, name) for name in MARKED}))
        if mark is not None and mark in marks:
            found[mark].append(each)
    return found


def find_duplicate_invoices(
    drafts: Sequence[Draft],
) -> Iterator[tuple[int, BillMark, ProviderInvoice | None]]:
    """At most one other with its mark for each draft of a provider invoice; ``None``: an earlier draft.

    Drafts of existing ones are compared when they change what is compared.
    """
    marks = {
        number: mark
        for number, draft in enumerate(drafts)
        if (draft.key is None or not draft.given.isdisjoint(MARKED)) and (mark := mark_of(draft))
    }
    found, first = find_marked_invoices(set(marks.values())), dict[BillMark, int]()
    for number, mark in marks.items():
        other = next((each for each in found.get(mark, ()) if each.pk != drafts[number].key), None)
        if other is not None or first.setdefault(mark, number) != number:
            yield number, mark, other
