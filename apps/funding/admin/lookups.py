"""What the line grid asks while somebody types: products of a price book, and what lines cost."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Replace
from django.http import HttpRequest, JsonResponse

from apps.core.identifiers import normalised
from apps.funding.choices import Zone
from apps.funding.models import PriceBookEntry, Product
from apps.funding.pricing import EffectivePrice, PriceRequest, find_prices
from apps.odata import clock
from apps.people.models import Contact

#: As many as fit below a cell without scrolling the page.
MOST_OFFERED = 12
#: Words beyond these make a search no narrower, and lines beyond these no form has.
MOST_WORDS, MOST_LINES = 8, 200


def key_in(text: str | None) -> UUID | None:
    """The guid that a text is, if it is one."""
    try:
        return UUID(text or "")
    except ValueError:
        return None


def day_in(text: str | None) -> dt.date | None:
    """The day that an ISO text is, if it is one."""
    try:
        return dt.date.fromisoformat(text or "")
    except ValueError:
        return None


def zone_of(contact: UUID | None) -> str:
    """The zone a participant's supports are priced in; the national one of nobody."""
    if contact is None:
        return Zone.NATIONAL
    region = Contact.objects.filter(pk=contact).values_list("scheme_price_guide_region", flat=True).first()
    return region if region in Zone.values else Zone.NATIONAL


def products_in(book: UUID, words: str) -> QuerySet[PriceBookEntry]:
    """Current products of a price book whose code or name has all the words, the best match first.

    A code is found without its underscores as well: people read it off paper.
    """
    entries = PriceBookEntry.objects.filter(price_book=book, product__archive_date=None)
    entries = entries.alias(bare=Replace("product__code", Value("_"), Value("")))
    for word in words.split()[:MOST_WORDS]:
        entries = entries.filter(
            Q(product__code__icontains=word)
            | Q(product__name__icontains=word)
            | Q(bare__icontains=word.replace("_", ""))
        )
    start = words.strip()
    rank = Case(
        When(product__code_key=normalised(start), then=0),
        When(Q(product__code__istartswith=start) | Q(bare__istartswith=start), then=1),
        When(product__name__istartswith=start, then=2),
        default=3,
        output_field=IntegerField(),
    )
    ranked = entries.annotate(rank=rank) if start else entries.annotate(rank=Value(0))
    return ranked.select_related("product").order_by("rank", "product__code", "pk")


def products(request: HttpRequest) -> JsonResponse:
    """``?book=&q=&contact=&on=``: products with the price that holds there and then."""
    asked = request.GET
    book = key_in(asked.get("book"))
    if book is None:
        return JsonResponse({"products": []})
    found = list(products_in(book, asked.get("q", ""))[:MOST_OFFERED])
    zone, day = zone_of(key_in(asked.get("contact"))), day_in(asked.get("on")) or clock.today()
    holding = prices_in([(book, entry.product_id, day) for entry in found], zone)
    told = [
        {**product_told(entry.product), **price_told(price)}
        for entry, price in zip(found, holding, strict=True)
    ]
    return JsonResponse({"products": told, "zone": zone})


def prices(request: HttpRequest) -> JsonResponse:
    """``?contact=&line=book|code|day…``: for each line its product, and the price there and then."""
    lines = [line.split("|") for line in request.GET.getlist("line")[:MOST_LINES]]
    zone = zone_of(key_in(request.GET.get("contact")))
    return JsonResponse({"lines": priced(lines, zone), "zone": zone})


def priced(lines: Sequence[list[str]], zone: str) -> list[dict[str, Any] | None]:
    """What is told of each (book, code, day) line; ``None`` of one that names no product."""
    known = products_by_code(line[1] for line in lines if len(line) == 3)
    products = [known.get(normalised(line[1]) or "") if len(line) == 3 else None for line in lines]
    asked = [
        (book, product.pk, day_in(line[2]) or clock.today())
        for line, product in zip(lines, products, strict=True)
        if product is not None and (book := key_in(line[0])) is not None
    ]
    found = dict(zip(asked, prices_in(asked, zone), strict=True))
    told: list[dict[str, Any] | None] = []
    for line, product in zip(lines, products, strict=True):
        if product is None:
            told.append(None)
            continue
        book, day = key_in(line[0]), day_in(line[2]) or clock.today()
        price = found.get((book, product.pk, day)) if book is not None else None
        told.append({**product_told(product), **price_told(price)})
    return told


def prices_in(asked: Sequence[tuple[Any, UUID, dt.date]], zone: str) -> list[EffectivePrice | None]:
    """The price of each (book, product, day) in the zone; the national one where the zone has none."""
    zones = [zone] if zone == Zone.NATIONAL else [zone, Zone.NATIONAL.value]
    found = find_prices([PriceRequest(*each[:2], place, each[2]) for place in zones for each in asked])
    count = len(asked)
    return [found[at] or found[at + len(found) - count] for at in range(count)]


def products_by_code(codes: Iterable[str | None]) -> dict[str, Product]:
    """The products of these codes, by the folded code; one query."""
    wanted = {key for key in map(normalised, codes) if key}
    if not wanted:
        return {}
    return {str(product.code_key): product for product in Product.objects.filter(code_key__in=wanted)}


def product_told(product: Product) -> dict[str, Any]:
    return {
        "code": product.code,
        "name": product.name,
        "unit": product.get_unit_display() or "",
        "quote": product.is_quote_required,
    }


def price_told(price: EffectivePrice | None) -> dict[str, Any]:
    """``current``: whether a price range covers the day; ``price`` as digits, null when it is quoted."""
    amount = price.amount if price is not None else None
    return {"current": price is not None, "price": None if amount is None else digits(amount)}


def digits(amount: Decimal) -> str:
    """At least two decimals, and no zeros beyond: ``70.00``, ``2262.7612``."""
    whole, _, part = f"{amount:f}".partition(".")
    return f"{whole}.{part.rstrip('0').ljust(2, '0')}"
