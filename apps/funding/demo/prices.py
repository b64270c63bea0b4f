"""The demo's price books with the prices of three financial years, and its cost centres."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from uuid import UUID

from django.db import models

from apps.core.demo import Context
from apps.core.identifiers import normalised
from apps.funding.choices import Zone
from apps.funding.demo import guide
from apps.funding.models import CostCentre, Price, PriceBook, PriceBookEntry, Product
from apps.people.demo.loading import entry

DAY = dt.timedelta(days=1)
#: What prices of years ago were of this year's, the present year first.
YEARS = ("1", "0.966", "0.931")
#: What a zone's price is of the national one.
ZONES = {Zone.NATIONAL.value: "1", Zone.REMOTE.value: "1.4", Zone.VERY_REMOTE.value: "1.5"}
CENT = Decimal("0.01")

#: (first day, last day, national price), the oldest first.
Range = tuple[dt.date, dt.date | None, Decimal | None]
Row = dict[str, Any]


def load(context: Context) -> None:
    """Store price books and cost centres. A price book of one of their names is left as it is."""
    for name in guide.COST_CENTRES:
        entry(context, CostCentre, name)
    for name in guide.CLOSED_COST_CENTRES:
        entry(context, CostCentre, name, archive_date=context.anchor)
    load_book(context, guide.PRICE_BOOK, list(guide_rows(context)), gst_inclusive=False)
    load_book(context, guide.PRIVATE_RATES, list(private_rows(context)), gst_inclusive=True)


def guide_rows(context: Context) -> Iterator[tuple[Row, list[Range]]]:
    """The columns of each support item, and its prices outside remote areas."""
    for item in guide.items():
        group = item.registration_group
        columns = {
            "code": item.code,
            "name": item.name,
            "unit": item.unit,
            "type": item.type,
            "is_quote_required": item.price is None,
            "category_number": item.category,
            "category_name": guide.CATEGORY_NAMES[item.category],
            "category_number_pace": item.category,
            "category_name_pace": guide.CATEGORY_NAMES[item.category],
            "registration_group_number": group,
            "registration_group_name": guide.REGISTRATION_GROUPS[group],
            "non_face_to_face": item.flag,
            "provider_travel": item.flag,
            "short_notice_cancellation": item.flag,
            "agency_requested_reports": item.flag,
            "irregular_sil": item.flag if group == "0115" else "N",
        }
        yield columns, ranges(context.as_of, item)


def private_rows(context: Context) -> Iterator[tuple[Row, list[Range]]]:
    start = first_days(context.as_of)[-1]
    for code, name, unit, price in guide.PRIVATE:
        yield {"code": code, "name": name, "unit": unit}, [(start, None, Decimal(price))]


def first_days(as_of: dt.date) -> list[dt.date]:
    """The first days of this financial year and of those before it, the youngest first."""
    year = as_of.year if as_of >= dt.date(as_of.year, 7, 1) else as_of.year - 1
    return [dt.date(year - ago, 7, 1) for ago in range(len(YEARS))]


def ranges(as_of: dt.date, item: guide.DemoItem) -> list[Range]:
    """An item's prices over the years."""
    starts = first_days(as_of)
    found: list[Range] = []
    end: dt.date | None = None
    for start, factor in zip(starts, YEARS, strict=True):
        price = item.price if item.price in (None, 1) else rounded(item.price * Decimal(factor))
        if item.code == guide.REPRICED and start == starts[1]:
            fall = dt.date(start.year, 11, 24)
            found.append((fall, end, price))
            end, price = fall - DAY, rounded(Decimal(price or 0) * Decimal("1.2"))
        if item.code != guide.DISCONTINUED or start != starts[0]:
            found.append((start, end, price))
        end = start - DAY
    return found[::-1]


def rounded(amount: Decimal) -> Decimal:
    return amount.quantize(CENT, ROUND_HALF_UP)


def load_book(context: Context, name: str, rows: list[tuple[Row, list[Range]]], gst_inclusive: bool) -> None:
    """Store a price book with its products and their prices; products that there are already are used."""
    if PriceBook.objects.filter(name_key=normalised(name)).exists():
        return
    book = entry(context, PriceBook, name)
    made = context.mornings[0]
    standing = dict(Product.objects.values_list("code_key", "pk"))
    keys: dict[str, UUID] = {}
    fresh: list[Row] = []
    for columns, _ in rows:
        code = columns["code"]
        there = standing.get(str(normalised(code)))
        keys[code] = there or context.guid(f"product/{code}", made)
        if there is None:
            fresh.append({"guid": keys[code], "long_description": columns["name"], **columns})
    entries = {code: context.guid(f"entry/{name}/{code}", made) for code in keys}
    store(context, Product, fresh)
    store(
        context,
        PriceBookEntry,
        [
            {
                "guid": entries[code],
                "price_book_id": book.pk,
                "product_id": keys[code],
                "gst_inclusive": gst_inclusive,
            }
            for code in keys
        ],
    )
    store(context, Price, list(price_rows(context, rows, entries)))


def price_rows(
    context: Context, rows: list[tuple[Row, list[Range]]], entries: dict[str, UUID]
) -> Iterator[Row]:
    """A price for each zone and range of the products."""
    made = context.mornings[0]
    for columns, held in rows:
        key = entries[columns["code"]]
        for zone, factor in ZONES.items():
            for start, end, price in held:
                yield {
                    "guid": context.guid(f"price/{key}/{zone}/{start}", made),
                    "entry_id": key,
                    "zone": zone,
                    "start_date": start,
                    "end_date": end,
                    "amount": price if price in (None, 1) else rounded(price * Decimal(factor)),
                }


def store(context: Context, model: type[models.Model], rows: list[Row]) -> None:
    """Insert rows that all tell the same columns."""
    if not rows:
        return
    made = context.mornings[0]
    columns = (*rows[0], "creation_date", "modify_date")
    values = ((*row.values(), made, made) for row in rows)
    context.insert(model, columns, values, len(rows))
