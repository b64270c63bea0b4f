"""What the line grid requests while somebody types: products of a price book, and the prices of lines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Replace
from django.http import HttpRequest, JsonResponse

from apps.core.admin_base.display import plain_amount
from apps.core.identifiers import normalised
from apps.funding.choices import Zone
from apps.funding.models import PriceBookEntry, Product
from apps.funding.pricing import EffectivePrice, load_price_table
from apps.odata import clock
from apps.people.models import Contact

#: As many as fit below a cell without scrolling the page.
SUGGESTIONS = 12
#: Words beyond these make a search no narrower, and lines beyond these no form has.
WORD_LIMIT, LINE_LIMIT = 8, 200


def read_key(text: str | None) -> UUID | None:
    """A guid; ``None`` for another text."""
    try:
        return UUID(text or "")
    except ValueError:
        return None


def parse_day(text: str | None) -> dt.date | None:
    """An ISO day; ``None`` for another text."""
    try:
        return dt.date.fromisoformat(text or "")
    except ValueError:
        return None


def zone_of(contact: UUID | None) -> str:
    """The price zone of a participant; the national one without a participant."""
    if contact is None:
        return Zone.NATIONAL
    region = Contact.objects.filter(pk=contact).values_list("scheme_price_guide_region", flat=True).first()
    return region if region in Zone.values else Zone.NATIONAL


def search_products(book: UUID, words: str) -> QuerySet[PriceBookEntry]:
    """Current products of a price book whose code or name has all the words, the best match first.

    A code is found without its underscores as well, as people read it from an invoice.
    """
    entries = PriceBookEntry.objects.filter(price_book=book, product__archive_date=None)
    entries = entries.alias(bare=Replace("product__code", Value("_"), Value("")))
    for word in words.split()[:WORD_LIMIT]:
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


def products_page(request: HttpRequest) -> JsonResponse:
    """``?book=&q=&contact=&on=``: products with the price in the contact's zone on that day."""
    query = request.GET
    book = read_key(query.get("book"))
    if book is None:
        return JsonResponse({"products": []})
    entries = list(search_products(book, query.get("q", ""))[:SUGGESTIONS])
    zone, day = zone_of(read_key(query.get("contact"))), parse_day(query.get("on")) or clock.today()
    prices = load_prices([(book, entry.product_id, day) for entry in entries], zone)
    found = [
        {**product_data(entry.product), **price_data(price)}
        for entry, price in zip(entries, prices, strict=True)
    ]
    return JsonResponse({"products": found, "zone": zone})


def prices_page(request: HttpRequest) -> JsonResponse:
    """``?contact=&line=book|code|day…``: for each line its product, and the price in that zone on its day."""
    lines = [line.split("|") for line in request.GET.getlist("line")[:LINE_LIMIT]]
    zone = zone_of(read_key(request.GET.get("contact")))
    return JsonResponse({"lines": price_lines(lines, zone), "zone": zone})


def price_lines(lines: Sequence[list[str]], zone: str) -> list[dict[str, Any] | None]:
    """The data of each (book, code, day) line; ``None`` for a line without a known product."""
    known = products_by_code(line[1] for line in lines if len(line) == 3)
    found: list[tuple[Product, Any] | None] = []
    for line in lines:
        product = known.get(normalised(line[1]) or "") if len(line) == 3 else None
        book, day = read_key(line[0]), parse_day(line[-1]) or clock.today()
        found.append((product, book and (book, product.pk, day)) if product else None)
    wanted = [pair[1] for pair in found if pair and pair[1]]
    prices = dict(zip(wanted, load_prices(wanted, zone), strict=True))
    return [pair and {**product_data(pair[0]), **price_data(prices.get(pair[1]))} for pair in found]


def load_prices(wanted: Sequence[tuple[Any, UUID, dt.date]], zone: str) -> list[EffectivePrice | None]:
    """The price of each (book, product, day) in the zone; the national one where the zone has none."""
    prices = load_price_table(product for _, product, _ in wanted)
    return [prices.find(book, product, zone, day) for book, product, day in wanted]


def products_by_code(codes: Iterable[str | None]) -> dict[str, Product]:
    """The products of these codes, by the normalised code; one query."""
    wanted = {key for key in map(normalised, codes) if key}
    if not wanted:
        return {}
    return {str(product.code_key): product for product in Product.objects.filter(code_key__in=wanted)}


def product_data(product: Product) -> dict[str, Any]:
    return {
        "code": product.code,
        "name": product.name,
        "unit": product.get_unit_display() or "",
        "quote": product.is_quote_required,
    }


def price_data(price: EffectivePrice | None) -> dict[str, Any]:
    """``current``: a price range covers the day; ``price`` as digits, null when it is quoted."""
    amount = price.amount if price is not None else None
    return {"current": price is not None, "price": None if amount is None else plain_amount(amount)}
