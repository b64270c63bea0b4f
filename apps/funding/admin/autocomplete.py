"""Answers to the line grid while somebody types: products of a price book, and the prices of lines."""

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Replace
from django.http import HttpRequest, JsonResponse

from apps.base import clock
from apps.base.batched_queries import fetch_all
from apps.core.admin_base.display import plain_amount, plain_quantity, short_day
from apps.core.admin_base.record_fields import find_visible, guid_of
from apps.core.models import normalised
from apps.core.read_log import log_shown
from apps.engagements.choices import ManagementType
from apps.engagements.coverage import CoveringBudget, load_coverages, plan_query
from apps.engagements.funding_periods import find_period, left_for
from apps.funding.models import Claim, ClaimLine, InvoiceLine, PriceBookEntry, Product
from apps.funding.models.prices import EffectivePrice, load_price_table
from apps.funding.services.context import RELEASED_AMOUNTS, released_by_budget
from apps.people.models import Contact

#: As many as fit below a cell without scrolling the page.
SUGGESTIONS = 12
#: The condition that no record fulfils.
NEVER = Q(pk__in=())
#: Words beyond these make a search no narrower, and a form asks for the prices of no more lines at once.
WORD_LIMIT, LINE_LIMIT = 8, 50


def read_day(text: str | None) -> dt.date | None:
    """An ISO day; ``None`` for another text."""
    try:
        return dt.date.fromisoformat(text or "")
    except ValueError:
        return None


def find_participant(request: HttpRequest) -> Contact | None:
    """The participant in the address of a request, if the person sees them."""
    return find_visible(Contact.objects.all(), request.GET.get("contact"), request.user)


def search_products(products: QuerySet[Any], text: str, path: str = "") -> QuerySet[Any]:
    """The products that a text is about, the best match first; ``path`` leads to them from other records.

    A code is found by a part of it in any spelling: ``04 104``, ``04_104`` and ``4104`` (a spreadsheet drops
    the zero) are the beginning of one. All words are in the name, else in the name and the category.
    """
    tokens = re.findall(r"[^\W_]+", text)[:WORD_LIMIT]
    if not tokens:
        return products
    digits = "".join(token for token in tokens if token.isdecimal())
    code, name = f"{path}code", f"{path}name"
    category = [f"{path}{column}" for column in ("category_name", "registration_group_name", "code")]
    in_name, anywhere = Q(), Q()
    for token in tokens:
        in_name &= Q(**{f"{name}__icontains": token})
        if not token.isdecimal():
            places = (Q(**{f"{column}__icontains": token}) for column in (name, *category))
            anywhere &= reduce(or_, places)
    at_start = Q(plain_code__startswith=digits) | Q(plain_code__startswith=f"0{digits}") if digits else NEVER
    rank = Case(
        When(Q(plain_code__iexact="".join(tokens)) | Q(**{f"{code}__iexact": text.strip()}), then=0),
        When(at_start & anywhere, then=1),
        When(**{f"{name}__istartswith": text.strip()}, then=2),
        When(in_name, then=3),
        default=4,
        output_field=IntegerField(),
    )
    found = products.alias(plain_code=Replace(code, Value("_"), Value(""))).alias(rank=rank)
    in_code = Q(plain_code__contains=digits)
    return found.filter(in_name | (in_code & anywhere)).order_by("rank", code, "pk")


def products_page(request: HttpRequest) -> JsonResponse:
    """``?book=&q=&contact=&on=``: products with the price in the contact's zone on that day."""
    query = request.GET
    book = guid_of(query.get("book"))
    if book is None:
        return JsonResponse({"products": []})
    current = PriceBookEntry.objects.filter(price_book=book, product__archive_date=None)
    ordered = current.select_related("product").order_by("product__code", "pk")
    entries = list(search_products(ordered, query.get("q", ""), "product__")[:SUGGESTIONS])
    contact, day = find_participant(request), read_day(query.get("on")) or clock.today()
    region = contact.scheme_price_guide_region if contact is not None else None
    prices = load_price_table(entry.product_id for entry in entries)
    found = [
        product_data(entry.product, prices.find(book, entry.product_id, region, day)) for entry in entries
    ]
    return JsonResponse({"products": found})


def prices_page(request: HttpRequest, line_model: type[ClaimLine | InvoiceLine]) -> JsonResponse:
    """``?contact=&bill=&line=book|code|day…``: for each line its product, and its price there on that day.

    ``null`` for a line without a known product. ``bill`` is the saved claim or invoice whose form asks.
    """
    lines = [(*line.split("|"), "", "")[:3] for line in request.GET.getlist("line")[:LINE_LIMIT]]
    contact = find_participant(request)
    region = contact.scheme_price_guide_region if contact is not None else None
    products = records_by_text(Product.objects, "code_key", (code for _, code, _ in lines))
    prices = load_price_table(product.pk for product in products.values())
    found: list[dict[str, object] | None] = []
    priced: list[tuple[dict[str, object], Product, dt.date]] = []
    for book, code, day in lines:
        product = products.get(normalised(code) or "")
        key, on = guid_of(book), read_day(day) or clock.today()
        if product is None:
            found.append(None)
            continue
        price = prices.find(key, product.pk, region, on) if key else None
        found.append(data := product_data(product, price))
        priced.append((data, product, on))
    if contact is not None and request.user.has_perm("engagements.view_categorybudget"):
        supports = [(product, on) for _, product, on in priced]
        lefts = left_on_days(contact.pk, supports, line_model, guid_of(request.GET.get("bill")))
        for (data, _, _), left in zip(priced, lefts, strict=True):
            data["left"] = left
    return JsonResponse({"lines": found})


def last_lines_page(request: HttpRequest) -> JsonResponse:
    """``?contact=&provider=``: the lines of the newest claim of both, without days and prices.

    The supports of a week are often those of the week before; its prices are asked for anew.
    """
    contact, provider = find_participant(request), guid_of(request.GET.get("provider"))
    claims = Claim.objects.filter(contact=contact, provider=provider, archive_date=None)
    last = claims.order_by("-creation_date", "-guid").first() if contact and provider else None
    if last is None:
        return JsonResponse({"lines": []})
    log_shown("Record", {Claim: [last.pk]}, "contact=?&provider=?")
    lines = [
        {
            "product": line.product.code,
            "quantity": plain_quantity(line.quantity),
            "claim_type": line.claim_type or "",
        }
        for line in last.line_items.order_by("position").select_related("product")
    ]
    return JsonResponse({"claim": f"{last}, {short_day(last.start_date)}", "lines": lines})


def left_on_days(
    contact: UUID,
    supports: Sequence[tuple[Product, dt.date]],
    line_model: type[ClaimLine | InvoiceLine],
    bill: UUID | None,
) -> list[str]:
    """The money left for each support on its day, in words; without a funding period nothing is said.

    Two trips to the database, whatever the number of supports. What is saved counts, not what is being typed;
    the saved lines of ``bill``, which its form replaces, are left again.
    """
    if not supports:
        return []
    rows = [product.support(contact, day, ManagementType.PLAN) for product, day in supports]
    own_amounts = RELEASED_AMOUNTS["claim" if line_model is ClaimLine else "invoice"]
    plans, own_lines = fetch_all([plan_query({contact}), own_amounts({bill}) if bill is not None else None])
    coverages = load_coverages(rows, plans, released_by_budget(own_lines))
    return [
        left_in_words(coverage.budget, support.day) for coverage, support in zip(coverages, rows, strict=True)
    ]


def left_in_words(budget: CoveringBudget | None, day: dt.date) -> str:
    if budget is None or not budget.periods:
        return ""
    position = find_period(budget.periods, day)
    if position is None:
        return f"{budget} has no funding period on {short_day(day)}"
    # Of the whole component no more can be left than its budget has.
    left = min(left_for(budget.periods, position), budget.remaining)
    until = short_day(budget.periods[position].last_day)
    return f"Left for {short_day(day)}: {left:,.2f} of {budget} (period to {until})"


def records_by_text(records: Any, column: str, texts: Iterable[str | None]) -> dict[str, Any]:
    """The records with these texts in a normalised column, by that text; one query, none for no texts."""
    keys = {key for key in map(normalised, texts) if key}
    return {getattr(each, column): each for each in records.filter(**{f"{column}__in": keys})} if keys else {}


def product_data(product: Product, price: EffectivePrice | None) -> dict[str, object]:
    """``current``: a price range covers the day; ``price`` as digits, null when it is quoted."""
    amount = price.amount if price is not None else None
    return {
        "code": product.code,
        "name": product.name,
        "unit": product.get_unit_display() or "",
        "quote": product.is_quote_required,
        "current": price is not None,
        "price": None if amount is None else plain_amount(amount),
    }
