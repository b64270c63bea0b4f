"""The demo's price books: support items with numbers of the scheme's form, in words and prices of our own."""

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from apps.base.batched_queries import fetch_all
from apps.base.money import to_cents
from apps.core.demo import Context, load_lookups
from apps.core.models import normalised
from apps.core.table_files.formats import read_table
from apps.funding.choices import ItemType
from apps.funding.models import CostCentre, Price, PriceBook, PriceBookEntry, Product
from apps.funding.models.prices import PriceTable, prices_of_products
from apps.funding.public_holidays import day_types, named_day_types
from apps.funding.services.price_guide import import_guide
from apps.funding.services.price_guide_file import Guide, read_guide

PRICE_GUIDE, PRIVATE_RATES = "Price guide", "Private rates"
COST_CENTRES = ("Plan management", "Support coordination", "Therapy", "Community access", "Administration")
#: Prices of each financial year, the oldest first, as a share of this one's.
YEARS = (Decimal("0.931"), Decimal("0.966"), Decimal(1))


@dataclass(frozen=True, slots=True)
class PriceBooks:
    """The price books of the demo with their products by code, and the cost centres."""

    price_guide: PriceBook
    private_rates: PriceBook
    products: Mapping[str, Product]
    by_category: Mapping[int | None, Sequence[Product]]
    private_products: Sequence[Product]
    prices: PriceTable
    cost_centres: Sequence[CostCentre]
    #: What ``priced_products`` found before: bills of one day ask for the same again and again.
    found: dict[tuple[object, ...], list[tuple[Product, Decimal]]] = field(default_factory=dict)

    def price(self, product: Product, region: str | None, day: dt.date) -> Decimal | None:
        """The price guide's price of a product; none where it has none on that day, or wants a quote."""
        found = self.prices.find(self.price_guide.pk, product.pk, region, day)
        return None if found is None else found.amount

    def priced_products(
        self, category: int, item: str | None, region: str | None, state: str | None, day: dt.date
    ) -> list[tuple[Product, Decimal]]:
        """The products of a category, or one item of it, that are for that day, with their prices."""
        key = (category, item, region, state, day)
        if key not in self.found:
            types = day_types(day, state)
            prices = (
                (product, self.price(product, region, day))
                for product in self.by_category[category]
                if item in (None, product.code) and types <= (named_day_types(product.name) or types)
            )
            self.found[key] = [(product, price) for product, price in prices if price is not None]
        return self.found[key]


def load_price_books(context: Context) -> PriceBooks:
    """Import the price guide of this and two earlier financial years, and the private rates, GST included.

    A price book of one of their names is left as it is.
    """
    guide, rates = read_guide_file("price_guide.csv"), read_guide_file("private_rates.csv")
    years = first_days(context.as_of)
    with context.clock_at(context.workdays[0], 8.6):
        cost_centres = load_lookups(CostCentre, COST_CENTRES)
        load_lookups(CostCentre, ["Transition project"], is_archived=True)
        if not book_exists(PRIVATE_RATES):
            import_guide(guide_of_year(rates, years[0], Decimal(1)), PRIVATE_RATES)
            for entry in PriceBookEntry.objects.filter(price_book__name=PRIVATE_RATES):
                entry.gst_inclusive = True
                entry.save()
    if not book_exists(PRICE_GUIDE):
        for start, factor in zip(years, YEARS, strict=True):
            with context.clock_at(min(max(start, context.workdays[0]), context.day(1)), 7):
                import_guide(guide_of_year(guide, start, factor), PRICE_GUIDE, end_missing=True)
        context.report(Product, len(guide.items))
        context.report(Price, Price.objects.filter(entry__price_book__name=PRICE_GUIDE).count())
    codes = {**guide.items, **rates.items}
    products = {product.code_key: product for product in Product.objects.filter(code_key__in=codes)}
    [prices] = fetch_all([prices_of_products([product.pk for product in products.values()])])
    by_category = defaultdict(list)
    for code in guide.items:
        by_category[products[code].category].append(products[code])
    return PriceBooks(
        PriceBook.objects.get(name_key=normalised(PRICE_GUIDE)),
        PriceBook.objects.get(name_key=normalised(PRIVATE_RATES)),
        {product.code: product for code, product in products.items() if code in guide.items},
        by_category,
        [products[code] for code in rates.items],
        PriceTable(prices),
        list(cost_centres.values()),
    )


def read_guide_file(name: str) -> Guide:
    return read_guide(read_table(Path(__file__).with_name(name)))


def book_exists(name: str) -> bool:
    return PriceBook.objects.filter(name_key=normalised(name)).exists()


def first_days(as_of: dt.date) -> list[dt.date]:
    """The first days of this financial year and of those before it, the oldest first."""
    year = as_of.year if as_of >= dt.date(as_of.year, 7, 1) else as_of.year - 1
    return [dt.date(year - ago, 7, 1) for ago in reversed(range(len(YEARS)))]


def guide_of_year(guide: Guide, start: dt.date, factor: Decimal) -> Guide:
    """The guide as it begins on that day; what has an end in the file is not in this year's any more."""
    rows = {}
    for code, [row] in guide.items.items():
        if row.end_date is not None and factor == 1:
            continue
        is_fixed = row.item.get("type") == ItemType.UNIT_PRICE
        amounts = {
            zone: amount if amount is None or is_fixed else to_cents(amount * factor)
            for zone, amount in row.amounts.items()
        }
        rows[code] = [replace(row, start_date=start, end_date=None, amounts=amounts)]
    return Guide(rows)
