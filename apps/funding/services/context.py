"""What the warnings of bills need to know: plans, budgets, products, people, and bills that say the same."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar, cast
from uuid import UUID

from django.db import models
from django.db.models import Q, QuerySet

from apps.core.identifiers import normalised
from apps.engagements.choices import ManagementType
from apps.engagements.coverage import CoveringBudget, Support, covering
from apps.engagements.models import Budget, ServiceBooking
from apps.funding.choices import InvoiceClaimType, Zone
from apps.funding.drafts import BillFacts, ContactFacts, LineFacts, ProductFacts, ProviderFacts
from apps.funding.duplicates import LineKey, ReferenceKey, lineage_of, twin_claims, twin_lines
from apps.funding.models import ZERO, Claim, ClaimLine, Invoice, InvoiceLine, Product
from apps.funding.pricing import EffectivePrice, PriceRequest, find_prices
from apps.funding.public_holidays import state_code
from apps.funding.statuses import ENDED
from apps.odata import clock
from apps.odata.any_of import AnyOf
from apps.odata.batched_queries import Conversation, PreparedQuery, all_of, alone, prepared_query, together
from apps.odata.write.drafts import Draft
from apps.people.models import Client, Contact

#: Products by key.
Products = Mapping[Any, ProductFacts]

#: Who manages the bookings that a bill draws on, where there is a choice.
MANAGED_BY = {
    None: ManagementType.PLAN.value,
    InvoiceClaimType.INVOICE_TO_AGENCY.value: ManagementType.AGENCY.value,
    InvoiceClaimType.INVOICE_TO_CLIENT.value: ManagementType.SELF.value,
}

#: Without one of these nothing is known of a line.
NEEDED = ("product", "price_book", "first_day", "last_day", "quantity", "price", "total")


def gather(model: type[Claim | Invoice], drafts: Sequence[Draft], products: Products | None = None) -> None:
    """Put beside settled drafts and their lines what covers them, and all that the warnings ask.

    Drafts get ``facts``: ``BillFacts``. Lines get ``cover``; ``booking`` or ``category_budget``, whichever
    they draw on, with a ``pk``, the other ``None``; and ``facts``: ``LineFacts``. All are ``None`` of a line
    that has a fault. ``products`` are those of ``looking_around``, where that was asked before.
    The number of statements does not grow with the drafts.
    """
    if products is None:
        products = alone(looking_around(model, drafts))
    own = {draft.key for draft in drafts if draft.key is not None}
    placed = list(readable_lines(drafts))
    but = lineage_of(model, own | resubmitted(drafts))
    _, twins, _ = together(
        cover_lines(model, placed, own, products),
        twins_of_lines(model, drafts, placed, but),
        find_twin_claims(drafts if model is Claim else (), but),
    )
    for (_, line, _), twin in zip(placed, twins, strict=True):
        line.facts.twin = twin


def looking_around(model: type[Claim | Invoice], drafts: Sequence[Draft]) -> Conversation[Products]:
    """The products that drafts name; drafts get ``facts``, their lines none yet."""
    sold = {line.product.guid for draft in drafts for line in lines_named(draft)}
    people, providers, products = yield from all_of(
        finding(ContactFacts, people_asked, contacts_named(drafts)),
        finding(ProviderFacts, providers_asked, providers_named(drafts) if model is Claim else set()),
        finding(ProductFacts, products_asked, sold),
    )
    today = clock.today()
    for draft in drafts:
        draft.__dict__["facts"] = bill_facts(draft, today, people, providers)
    return cast("Products", products)


# --- records beside -------------------------------------------------------------------------------------

Facts = TypeVar("Facts", ProductFacts, ContactFacts, ProviderFacts)


def finding(kind: type[Facts], asked: PreparedQuery, keys: set[Any]) -> Conversation[dict[Any, Facts]]:
    """A few columns of records, by key."""
    rows = (yield asked(keys)) if keys else []
    return {row[0]: kind._make(row) for row in rows}


def asking_for(kind: type[Facts], model: type[models.Model]) -> PreparedQuery:
    @prepared_query
    def rows(keys: Any) -> QuerySet[Any, Any]:
        key: Any = model._meta.pk
        return model._base_manager.filter(AnyOf(key, keys)).order_by().values_list(*kind._fields)

    return rows


people_asked = asking_for(ContactFacts, Contact)
providers_asked = asking_for(ProviderFacts, Client)
products_asked = asking_for(ProductFacts, Product)


def lines_named(draft: Draft) -> Iterator[Draft]:
    """The lines of a draft that name a product."""
    for line in draft.__dict__.get("line_items") or ():
        if line.__dict__.get("product") is not None:
            yield line


def key_of(draft: Draft, name: str) -> Any:
    """The key of the record a draft names; ``None`` where it names none or it has a fault."""
    record = draft.__dict__.get(name)
    return None if record is None else record.guid


def differing(draft: Draft) -> tuple[str, ...]:
    """What the draft says otherwise than its provider invoice does."""
    return draft.__dict__.get("differing") or ()


def contacts_named(drafts: Iterable[Draft]) -> set[Any]:
    named = {key_of(draft, "contact") for draft in drafts}
    named |= {draft.provider_invoice.contact_id for draft in drafts if "contact" in differing(draft)}
    return named - {None}


def providers_named(drafts: Iterable[Draft]) -> set[Any]:
    named = {key_of(draft, "provider") for draft in drafts}
    named |= {draft.provider_invoice.provider_id for draft in drafts if "provider" in differing(draft)}
    return named - {None}


def bill_facts(
    draft: Draft,
    today: dt.date,
    people: Mapping[Any, ContactFacts],
    providers: Mapping[Any, ProviderFacts],
) -> BillFacts:
    participant = people.get(key_of(draft, "contact"))
    told: dict[str, str] = {}
    for name in differing(draft):
        paper = draft.provider_invoice
        if name == "contact":
            told[name] = people[paper.contact_id].full_name
        elif name == "provider":
            told[name] = providers[paper.provider_id].business_name
        else:
            told[name] = paper.reference
    state = None if participant is None else state_code(participant.state)
    return BillFacts(today, participant, state, providers.get(key_of(draft, "provider")), told)


def resubmitted(drafts: Iterable[Draft]) -> set[Any]:
    """The bills that the drafts are sent again for."""
    return {key_of(draft, "resubmission_of") for draft in drafts} - {None}


# --- lines ----------------------------------------------------------------------------------------------

#: A bill, one of its lines, and the number of the line in it.
Placed = tuple[Draft, Draft, int]


def readable_lines(drafts: Iterable[Draft]) -> Iterator[Placed]:
    """The lines that can be read whole; all others get no facts."""
    for draft in drafts:
        known = draft.facts.participant is not None
        for number, line in enumerate(draft.__dict__.get("line_items") or ()):
            held = line.__dict__
            held["facts"] = held["cover"] = held["booking"] = held["category_budget"] = None
            if known and None not in map(held.get, NEEDED) and "price_found" in held:
                yield draft, line, number


def cover_lines(
    model: type[Claim | Invoice],
    placed: Sequence[Placed],
    own: set[Any],
    known: Products,
) -> Conversation[None]:
    """Find what covers the lines, and what of it is left for each when those before it have drawn."""
    categories = {key: product.category for key, product in known.items()}
    products = [known[line.product.guid] for _, line, _ in placed]
    supports = [
        Support(
            draft.facts.participant.pk,
            line.first_day,
            product.code,
            categories[product.pk],
            MANAGED_BY[draft.__dict__.get("invoice_claim_type")],
            product.category_number_pace,
        )
        for (draft, line, _), product in zip(placed, products, strict=True)
    ]
    covers = yield from covering(supports, drawn_by(model, own))
    last_prices = prices_on_last_days(placed)
    drawn: defaultdict[int, Decimal] = defaultdict(lambda: ZERO)  # by the identity of the budget
    for (_, line, number), product, cover in zip(placed, products, covers, strict=True):
        held = line.__dict__
        budget, left = cover.budget, None
        if budget is not None:
            left = budget.remaining - drawn[id(budget)]
            drawn[id(budget)] += held["total"]
            held["booking" if budget.model is ServiceBooking else "category_budget"] = budget
        last_price = last_prices.get(id(line), held["price_found"]) if last_prices else held["price_found"]
        held["cover"] = cover
        held["facts"] = LineFacts(number, product, cover, left, last_price)


def drawn_by(model: type[Claim | Invoice], bills: set[Any]) -> Mapping[UUID, Decimal]:
    """What standing bills that are entered anew draw on each budget; they stop to."""
    drawn: defaultdict[UUID, Decimal] = defaultdict(lambda: ZERO)
    if not bills:
        return drawn
    lines, bill = (ClaimLine, "claim") if model is Claim else (InvoiceLine, "invoice")
    field: Any = lines._meta.get_field(bill)
    held = lines._default_manager.filter(AnyOf(field, bills))
    live = held.filter(**{f"{bill}__archive_date": None}).exclude(**{f"{bill}__funding_status__in": ENDED})
    for booking, category_budget, total in live.order_by().values_list("booking", "category_budget", "total"):
        drawn[booking or category_budget] += total
    return drawn


def prices_on_last_days(placed: Iterable[Placed]) -> Mapping[int, EffectivePrice | None]:
    """The prices on the last days of lines that outlast the price of their first day, by ``id`` of them."""
    outlasting = [
        line
        for _, line, _ in placed
        if line.price_found is not None and not line.price_found.holds_on(line.last_day)
    ]
    asked = [
        PriceRequest(line.price_book.pk, line.product.pk, zone, line.last_day)
        for line in outlasting
        for zone in (line.zone, Zone.NATIONAL.value)
    ]
    found = find_prices(asked)
    return {
        id(line): zonal or national
        for line, zonal, national in zip(outlasting, found[::2], found[1::2], strict=True)
    }


# --- others that say the same ---------------------------------------------------------------------------


def twins_of_lines(
    model: type[Claim | Invoice], drafts: Sequence[Draft], placed: Sequence[Placed], but: set[UUID]
) -> Conversation[list[str | None]]:
    """The line of a live bill, or one before it in the same body, that claims the same support; in words."""
    first: dict[LineKey, int] = {}
    places = [first.setdefault(line_key(model, *each), number) for number, each in enumerate(placed)]
    found = yield from twin_lines(model, list(first), but)
    standing = dict(zip(first.values(), found, strict=True))
    twins: list[str | None] = []
    for number, ((draft, _, _), place) in enumerate(zip(placed, places, strict=True)):
        twin = standing[place]
        if twin is None and place != number:
            earlier, _, at = placed[place]
            where = f"this {noun(model)}" if earlier is draft else called(model, earlier, drafts)
            twin = f"line {at + 1} of {where}"
        twins.append(twin)
    return twins


def line_key(model: type[Claim | Invoice], draft: Draft, line: Draft, _: int) -> LineKey:
    held = line.__dict__
    return LineKey(
        draft.facts.participant.pk,
        key_of(draft, "provider") if model is Claim else None,
        held["product"].guid,
        held["first_day"],
        held["last_day"],
        held["quantity"],
        str(held.get("claim_type") or "None"),
        bool(held.get("is_credit_item")),
    )


def find_twin_claims(drafts: Sequence[Draft], but: set[UUID]) -> Conversation[None]:
    """Tell live claims, and claims before them in the same body, that are built on the same reference."""
    keys = [(draft, key) for draft in drafts if (key := reference_key(draft)) is not None]
    first: dict[ReferenceKey, Draft] = {}
    for draft, key in keys:
        first.setdefault(key, draft)
    found = yield from twin_claims(list(first), but)
    standing = dict(zip(first, found, strict=True))
    for draft, key in keys:
        if (twin := standing[key]) is not None:
            draft.facts.twin = twin
        elif first[key] is not draft:
            draft.facts.twin = called(Claim, first[key], drafts)


def reference_key(draft: Draft) -> ReferenceKey | None:
    held = draft.__dict__
    contact, provider = key_of(draft, "contact"), key_of(draft, "provider")
    reference = normalised(held.get("provider_invoice_reference"))
    if contact is None or provider is None or reference is None:
        return None
    return ReferenceKey(contact, provider, reference)


def noun(model: type[models.Model]) -> str:
    return str(model._meta.verbose_name)


def called(model: type[Claim | Invoice], draft: Draft, drafts: Sequence[Draft]) -> str:
    """How another bill of the same body is named: by its number, or by its place."""
    number = draft.__dict__.get("claim_number" if model is Claim else "invoice_number")
    return str(number) if number else f"record {drafts.index(draft) + 1} of this request"


# --- what draws on a budget -----------------------------------------------------------------------------


def lines_on_budget(budget: Budget | CoveringBudget) -> dict[str, QuerySet[Any]]:
    """The lines of claims, and of invoices, that stand for a service booking or a budget by category.

    With their bills, the latest support first. Those of archived, refused or cancelled bills are among them:
    they draw nothing.
    """
    kind = budget.model if isinstance(budget, CoveringBudget) else type(budget)
    name = "booking" if kind is ServiceBooking else "category_budget"
    chosen = Q(**{name: budget.pk})
    return {
        "claims": ClaimLine.objects.filter(chosen)
        .select_related("claim", "product")
        .order_by("-first_day", "guid"),
        "invoices": InvoiceLine.objects.filter(chosen)
        .select_related("invoice", "product")
        .order_by("-first_day", "guid"),
    }
