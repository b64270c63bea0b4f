"""What follows from what a bill says: whom it is for by its provider invoice, its days, prices and sums.

Members that were given stay as they are, for the rules to judge. What cannot be worked out, because a member
is missing or has a fault, is left for the rules to find ``Unreadable``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.db import models

from apps.core.identifiers import normalised
from apps.funding.choices import MissingAbnReason, SendPaymentTo, Zone
from apps.funding.models import ZERO, Claim, ProviderInvoice
from apps.funding.pricing import EffectivePrice, PriceRequest, finding_prices
from apps.odata.any_of import AnyOf
from apps.odata.batched_queries import Conversation, PreparedQuery, alone, prepared_query
from apps.odata.write.drafts import Draft
from apps.people.models import Client, Contact

CENT = Decimal("0.01")

#: Who is paid back what somebody paid the provider.
REIMBURSED = frozenset({SendPaymentTo.CLIENT.value, SendPaymentTo.CLIENT_REPRESENTATIVE.value})

#: Members that a provider invoice may say as well, as {the claim's: the provider invoice's}.
TAKEN = {"contact": "contact", "provider": "provider", "provider_invoice_reference": "reference"}

#: A bill with one of its lines.
Line = tuple[Draft, Draft]


def apply_claim_defaults(drafts: Sequence[Draft]) -> None:
    """Settle claims before any rule is asked; the number of statements does not grow with them.

    What they take from their provider invoices, see ``taking``; what lines and sums come to, see
    ``settling_lines``. Needs a transaction.
    """
    alone(taking(drafts))
    alone(settling_lines(drafts))


def apply_invoice_defaults(drafts: Sequence[Draft]) -> None:
    """Settle invoices before any rule is asked; one query, however many there are. See ``settling_lines``."""
    alone(settling_lines(drafts))


# --- provider invoices ----------------------------------------------------------------------------------


def taking(drafts: Sequence[Draft]) -> Conversation[None]:
    """Lock the provider invoices of claims, and fill in what the claims leave out and those say.

    They are put whole into ``provider_invoice``; contact, provider, reference and payee are theirs when not
    given, and ``differing`` names what was given and is not theirs.
    """
    papers, used = yield from locking_provider_invoices(drafts)
    for draft in drafts:
        key = key_of(draft, "provider_invoice")
        draft.fill("was_used", key in used)
        take_from(papers.get(key), draft)
        draft.fill("missing_abn_reason_code", missing_abn_reason(draft))


def locking_provider_invoices(
    drafts: Sequence[Draft],
) -> Conversation[tuple[Mapping[Any, ProviderInvoice], set[Any]]]:
    """The provider invoices that claims name or stand on, whole, by key, with contacts and providers.

    Nobody else builds on them now: they are locked in the order of their keys, before anything else, so
    that two callers never wait for each other. With them the keys of those that a claim had taken before
    they were waited for: who finds one taken now, and not among these, has lost it meanwhile.
    """
    keys = {key_of(draft, "provider_invoice") for draft in drafts}
    keys = (keys | {draft.__dict__.get("stands_on") for draft in drafts}) - {None}
    if not keys:
        return {}, set()
    # The second of the questions locks what those after it look at.
    users, rows, *asked = yield [users_of(keys), papers_locked(keys), *(one(keys) for one in WHOSE.values())]
    papers = [ProviderInvoice.from_db("default", PAPER_COLUMNS, row) for row in rows]
    for (name, (model, columns)), told in zip(ASKED.items(), asked, strict=True):
        found = {row[0]: model.from_db("default", columns, row) for row in told}
        for paper in papers:
            if (key := getattr(paper, f"{name}_id")) is not None:
                setattr(paper, name, found[key])
    return {paper.pk: paper for paper in papers}, {paper for paper, _, _ in users}


@prepared_query
def users_of(keys: Any) -> models.QuerySet[Any, Any]:
    """(provider invoice, key, number) of the claims that took these provider invoices."""
    field: Any = Claim._meta.get_field("provider_invoice")
    taken = Claim.objects.filter(AnyOf(field, keys), takes_provider_invoice=True).order_by()
    return taken.values_list("provider_invoice", "pk", "claim_number")


PAPER_COLUMNS = tuple(column.attname for column in ProviderInvoice._meta.concrete_fields)


@prepared_query
def papers_locked(keys: Any) -> models.QuerySet[Any, Any]:
    chosen = ProviderInvoice.objects.filter(AnyOf(PAPER_KEY, keys))
    return chosen.order_by("pk").select_for_update().values_list(*PAPER_COLUMNS)


PAPER_KEY: Any = ProviderInvoice._meta.get_field("guid")

#: What rules ask of the contacts and providers that provider invoices name; the key comes first.
ASKED: Mapping[str, tuple[type[models.Model], tuple[str, ...]]] = {
    "contact": (Contact, ("guid", "first_name", "last_name", "scheme_price_guide_region")),
    "provider": (Client, ("guid", "business_name", "business_number")),
}


def asking_whose(name: str) -> PreparedQuery:
    model, columns = ASKED[name]

    @prepared_query
    def rows(keys: Any) -> models.QuerySet[Any, Any]:
        papers = ProviderInvoice.objects.filter(AnyOf(PAPER_KEY, keys)).order_by().values(name)
        return model._default_manager.filter(pk__in=papers).order_by().values_list(*columns)

    return rows


WHOSE = {name: asking_whose(name) for name in ASKED}


def takes(draft: Draft, name: str) -> bool:
    """Whether a draft takes a member from its provider invoice."""
    moves = draft.key is not None and draft.stands_on != key_of(draft, "provider_invoice")
    return name not in draft.invalid and (
        draft.__dict__.get(name) is None or (moves and name not in draft.given)
    )


def key_of(draft: Draft, name: str) -> Any:
    """The key of the record that a draft refers to; ``None`` where there is none or it has a fault."""
    record = draft.__dict__.get(name)
    return record.pk if isinstance(record, models.Model) else None


def take_from(paper: ProviderInvoice | None, draft: Draft) -> None:
    """Fill what a claim leaves out from its provider invoice, and note what it says differently."""
    if paper is None:
        draft.fill("differing", ())
        draft.fill("takes_provider_invoice", True)
        return
    draft.fill("provider_invoice", paper)
    draft.fill("takes_provider_invoice", not paper.is_reusable)
    for name, source in TAKEN.items():
        if takes(draft, name) and (known := getattr(paper, source)) is not None:
            draft.fill(name, known)
            draft.given |= {name} if draft.key is not None else set()
    if draft.key is None and "send_payment_to" not in draft.given | draft.invalid:
        draft.fill("send_payment_to", paper.send_payment_to)
    draft.fill("differing", tuple(name for name, source in TAKEN.items() if differs(draft, name, source)))


def differs(draft: Draft, name: str, source: str) -> bool:
    """Whether a claim says otherwise than its provider invoice; one that says nothing does not."""
    said, paper = draft.__dict__.get(name), draft.provider_invoice
    if name == "provider_invoice_reference":
        return None not in (said, paper.reference) and normalised(said) != normalised(paper.reference)
    known = getattr(paper, f"{source}_id")
    return said is not None and known is not None and said.pk != known


def missing_abn_reason(draft: Draft) -> str | None:
    """Why the claim goes without the provider's business number (interface.md 2.3)."""
    payee, provider = draft.__dict__.get("send_payment_to"), draft.__dict__.get("provider")
    if payee in REIMBURSED:
        return MissingAbnReason.REIMBURSEMENT.value
    if provider is None or (provider.business_number or "").strip():
        return None
    return MissingAbnReason.EXCLUDED.value


# --- lines ----------------------------------------------------------------------------------------------


def settling_lines(drafts: Sequence[Draft]) -> Conversation[None]:
    """Work out the days, the price, the notes and the total of every line, and the total of each bill.

    Lines get ``zone``, ``first_day``, ``last_day``, ``price_found``, ``price``, ``notes`` and ``total``;
    bills get ``total``. One question for the prices of all lines.
    """
    lines = list(lines_of(drafts))
    for bill, line in lines:
        line.fill("zone", zone_of(bill))
        settle_days(bill, line)
    yield from finding_prices_of(lines)
    for _, line in lines:
        settle_amount(line)
    for draft in drafts:
        totals = [line.__dict__.get("total") for line in draft.__dict__.get("line_items") or ()]
        draft.fill("total", sum((total for total in totals if total is not None), ZERO))


def lines_of(drafts: Iterable[Draft]) -> Iterator[Line]:
    for draft in drafts:
        for line in draft.__dict__.get("line_items") or ():
            yield draft, line


def zone_of(bill: Draft) -> str:
    """Where the supports of a bill were given, by the region of its contact."""
    contact = bill.__dict__.get("contact")
    region = None if contact is None else contact.scheme_price_guide_region
    return region if region in REMOTE else Zone.NATIONAL.value


#: Regions of the price guide with prices of their own; they are called as their zones are.
REMOTE = frozenset({Zone.REMOTE.value, Zone.VERY_REMOTE.value})


def settle_days(bill: Draft, line: Draft) -> None:
    """The first and the last day of a line, with its bill's where it has none of its own."""
    from_date, to_date = (day_or_fault(line, name) for name in ("from_date", "to_date"))
    start, end = (day_or_fault(bill, name) for name in ("start_date", "end_date"))
    set_or_spoil(line, "first_day", from_date or start)
    set_or_spoil(line, "last_day", to_date or from_date or end)


#: In place of a day that has a fault: it hides the days that would else hold.
FAULT = object()


def day_or_fault(draft: Draft, name: str) -> Any:
    return FAULT if name in draft.invalid else draft.__dict__.get(name)


def set_or_spoil(line: Draft, name: str, day: Any) -> None:
    if isinstance(day, dt.date):
        line.fill(name, day)
    else:
        line.mark_invalid(name)


def finding_prices_of(lines: Sequence[Line]) -> Conversation[None]:
    """Put the price that holds into ``price_found`` of each line; the national where its zone has none."""
    asked = [line for _, line in lines if can_be_priced(line)]
    priced = [line for line in asked if line.zone == Zone.NATIONAL]
    elsewhere = [line for line in asked if line.zone != Zone.NATIONAL]
    requests = [request_of(line, Zone.NATIONAL.value) for line in (*priced, *elsewhere)]
    requests += [request_of(line, line.zone) for line in elsewhere]
    found = yield from finding_prices(requests)
    national, zonal = found[: len(asked)], found[len(asked) :]
    for line, price in zip((*priced, *elsewhere), national, strict=True):
        line.fill("price_found", price)
    for line, price in zip(elsewhere, zonal, strict=True):
        line.fill("price_found", price or line.price_found)
    for _, line in lines:
        if "price_found" not in line.__dict__:
            line.mark_invalid("price_found")


def can_be_priced(line: Draft) -> bool:
    held = line.__dict__
    return None not in (held.get("product"), held.get("price_book"), held.get("first_day"))


def request_of(line: Draft, zone: str) -> PriceRequest:
    return PriceRequest(line.price_book.pk, line.product.pk, zone, line.first_day)


def settle_amount(line: Draft) -> None:
    """Price and notes where they were not given, and the total, half up to cents; credit counts negative."""
    held = line.__dict__
    if held.get("price") is None and "price" not in line.invalid:
        settle_price(line)
    if held.get("notes") is None and not keeps_no_notes(line):
        product = held.get("product")
        held["notes"] = None if product is None else product.long_description
    quantity, price = held.get("quantity"), held.get("price")
    if quantity is None or price is None:
        line.mark_invalid("total")
        return
    total = (quantity * price).quantize(CENT, ROUND_HALF_UP)
    held["total"] = -total if held.get("is_credit_item") else total


def settle_price(line: Draft) -> None:
    """The price that holds; unreadable where a fault leaves open which."""
    if "price_found" not in line.__dict__:
        line.mark_invalid("price")
        return
    found: EffectivePrice | None = line.price_found
    line.fill("price", None if found is None else found.amount)


def keeps_no_notes(line: Draft) -> bool:
    """Whether its notes have a fault, or were taken out of a line that stands."""
    return "notes" in line.invalid or (line.key is not None and "notes" in line.given)
