"""Stores a price guide in a price book: new items and prices, current ranges ended, nothing twice."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain, pairwise
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Model

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.drafts import apply_rules, raise_if_invalid
from apps.core import history
from apps.core.importing.runs import import_author
from apps.core.models import normalised
from apps.core.saving import insert_instances, load_existing, save_changes, save_records, validate
from apps.core.table_files.tables import ImportFileError
from apps.funding.choices import Zone
from apps.funding.drafts import PriceDraft, PriceListDraft
from apps.funding.models import Price, PriceBook, PriceBookEntry, Product
from apps.funding.services.price_guide_file import Guide, GuideRow
from apps.funding.validation.prices import PRICE_RULES

DAY = dt.timedelta(days=1)


@dataclass
class GuideReport:
    """The report of an import. A row counts once; ``ended`` are ranges that the guide closed.

    ``missing`` are the codes of current items that are not in the guide, ``unended`` those of them whose
    price begins with the guide or later, so that no day before it is left to end them on. ``later`` are the
    codes of items with prices that the guide does not have, and that begin within one of its ranges.
    """

    price_book: str
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    ended: int = 0
    missing: list[str] = field(default_factory=list)
    unended: list[str] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)


class Range(NamedTuple):
    """A price from its first day, which is its key, to its last."""

    end_date: dt.date | None
    amount: Decimal | None


def import_guide(
    guide: Guide, price_book: str, end_missing: bool = False, dry_run: bool = False
) -> GuideReport:
    """Store the guide in the price book of that name, created when there is none; all of it or nothing.

    With ``end_missing`` items the guide does not have end the day before it begins.
    """
    with transaction.atomic(), history.as_author(import_author()):
        report = GuideImport(guide, load_price_book(price_book)).run(end_missing)
        transaction.set_rollback(dry_run)
    return report


def save_prices(new: Sequence[Price], current: Iterable[Price]) -> None:
    """Store new price ranges, and what changed of current ones, with their history.

    Current ranges are ended before others begin: in a zone one price at most has no last day.
    """
    save_records(Price, current)
    insert_all(Price, new)


@transaction.atomic
def save_entry_prices(entry: PriceBookEntry, prices: Sequence[Price]) -> None:
    """Store all prices of a product in a book, with its history; ``ValidationFailed`` by their rules."""
    drafts = [PriceListDraft({"prices": [price_draft(price) for price in prices]})]
    raise_if_invalid(drafts, apply_rules(drafts, PRICE_RULES))
    before = [price.label for price in entry.prices.all()]
    new = [price for price in prices if price._state.adding]
    save_prices(new, [price for price in prices if not price._state.adding])
    after = [price.label for price in entry.prices.all()]
    if sorted(before) != sorted(after):
        history.record_list(entry, "prices", before, after)
        PriceBookEntry.objects.filter(pk=entry.pk).update(modify_date=clock.now())


def price_draft(price: Price) -> PriceDraft:
    return PriceDraft({name: getattr(price, name) for name in ("zone", "start_date", "end_date", "amount")})


@transaction.atomic
def update_price_lists(drafts: Sequence[PriceListDraft]) -> list[UUID]:
    """Change products in price books, and their prices where drafts give them; the keys of those changed.

    ``prices`` given is the whole new list. A price is known by its zone and its first day, and stays: claims
    were checked against it.
    """
    entries = load_existing(PriceBookEntry, drafts)
    stored: dict[UUID, dict[tuple[str, dt.date], Price]] = defaultdict(dict)
    for price in Price.objects.filter(AnyOf("entry", entries)):
        stored[price.entry_id][price.zone, price.start_date] = price
    for draft in drafts:
        draft.stored = list(stored[draft.key].values())
        if "prices" not in draft.given | draft.invalid:
            draft.fill("prices", [price_draft(price) for price in draft.stored])
    validate(PriceBookEntry, drafts, PRICE_RULES, entries)
    changed = save_changes(PriceBookEntry, drafts, entries)
    for draft in drafts:
        known = stored[draft.key]
        for each in draft.prices:
            new = Price(entry_id=draft.key, zone=each.zone, start_date=each.start_date)
            price = known.setdefault((each.zone, each.start_date), new)
            price.end_date, price.amount = each.end_date, each.amount
        save_entry_prices(entries[draft.key], list(known.values()))
    return changed


def load_price_book(name: str) -> PriceBook:
    """The price book, locked: of two imports the second finds what the first has stored."""
    book = PriceBook.objects.select_for_update().filter(name_key=normalised(name)).first()
    if book is None:
        book = PriceBook(name=name)
        book.save()
    if book.is_archived:
        raise ImportFileError(f"The price book {book.name} is archived; restore it, or name another.")
    return book


def merge_ranges(current: Mapping[dt.date, Range], given: Mapping[dt.date, Range]) -> dict[dt.date, Range]:
    """The ranges of a product in one zone once the guide's are stored, by first day.

    The guide's replace those that begin on the same day, and every range ends before the next. So last
    year's guide, imported again, does not reopen what this year's has ended.
    """
    merged = dict(sorted({**current, **given}.items()))
    for start, following in pairwise(list(merged)):
        last = following - DAY
        if (merged[start].end_date or dt.date.max) > last:
            merged[start] = merged[start]._replace(end_date=last)
    return merged


class GuideImport:
    """The import of one guide into one price book."""

    def __init__(self, guide: Guide, book: PriceBook) -> None:
        self.guide, self.book = guide, book
        self.report = GuideReport(book.name)
        products = Product.objects.filter(AnyOf("code_key", guide.items)).select_for_update()
        self.products = {str(product.code_key): product for product in products.order_by("pk")}
        #: Of an own list, the products that another price book has as well: they keep its descriptions.
        self.described: set[UUID] = set()
        if guide.is_own:
            others = PriceBookEntry.objects.exclude(price_book=book)
            self.described = set(others.values_list("product_id", flat=True))
        entries = PriceBookEntry.objects.filter(price_book=book).select_for_update(of=("self",))
        self.entries = {entry.product_id: entry for entry in entries.order_by("pk")}
        #: The current prices, by entry, zone and first day.
        self.prices: defaultdict[UUID, defaultdict[str, dict[dt.date, Price]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        for price in Price.objects.filter(entry__price_book=book):
            self.prices[price.entry_id][price.zone][price.start_date] = price
        self.new_products: list[Product] = []
        self.new_entries: list[PriceBookEntry] = []
        self.new_prices: list[Price] = []

    def run(self, end_missing: bool) -> GuideReport:
        for code, rows in self.guide.items.items():
            self.import_item(code, rows)
        self.find_missing_items(end_missing)
        save_records(Product, self.products.values())
        save_records(PriceBookEntry, self.entries.values())
        insert_all(Product, self.new_products)
        insert_all(PriceBookEntry, self.new_entries)
        save_prices(self.new_prices, chain.from_iterable(map(self.prices_of_entry, self.prices)))
        return self.report

    def prices_of_entry(self, entry: UUID) -> list[Price]:
        return [price for prices in self.prices[entry].values() for price in prices.values()]

    def import_item(self, code: str, rows: Sequence[GuideRow]) -> None:
        """Import the rows of one item, the oldest first."""
        product = self.products.get(code)
        if product is None:
            product = Product(code=rows[-1].code)
            self.new_products.append(product)
        elif product.is_archived:
            self.report.archived.append(product.code)
        entry = self.entries.get(product.pk)
        if entry is None:
            entry = PriceBookEntry(price_book=self.book, product=product)
            self.new_entries.append(entry)
        gst_inclusive = rows[-1].gst_inclusive
        has_other_gst = gst_inclusive not in (None, entry.gst_inclusive)
        if gst_inclusive is not None:
            entry.gst_inclusive = gst_inclusive
        starts = {row.start_date for row in rows}
        latest = max((price.start_date for price in self.prices_of_entry(entry.pk)), default=dt.date.min)
        others = {price.start_date for price in self.prices_of_entry(entry.pk)} - starts
        if any(row.start_date < day <= (row.end_date or dt.date.max) for row in rows for day in others):
            self.report.later.append(product.code)
        created: set[dt.date] = set()
        changed: set[dt.date] = set()
        # An older guide describes no item that a younger one has described.
        is_youngest = rows[-1].start_date >= latest and product.pk not in self.described
        has_other_text = is_youngest and describe_product(product, rows[-1].item)
        if has_other_text or has_other_gst:
            changed.add(rows[-1].start_date)
        for zone in Zone.values:
            prices = self.prices[entry.pk][zone]
            current = {start: Range(price.end_date, price.amount) for start, price in prices.items()}
            given = {
                row.start_date: Range(row.end_date, row.amounts[zone]) for row in rows if zone in row.amounts
            }
            for start, merged in merge_ranges(current, given).items():
                if start not in prices:
                    created.add(start)
                    values = merged._asdict()
                    self.new_prices.append(Price(entry=entry, zone=zone, start_date=start, **values))
                elif current[start] != merged:
                    changed.add(start)
                    prices[start].end_date, prices[start].amount = merged
        self.report.new += len(starts & created)
        self.report.changed += len((starts & changed) - created)
        self.report.unchanged += len(starts - created - changed)
        self.report.ended += len(changed - starts)

    def find_missing_items(self, end_missing: bool) -> None:
        """Report the current items of the price book that are not in the guide, and end them if asked to."""
        first, last = self.guide.first_day, self.guide.last_start
        in_guide = {product.pk for product in self.products.values()}
        missing = [entry for product, entry in self.entries.items() if product not in in_guide]
        codes = dict(Product.objects.filter(entries__in=missing).values_list("pk", "code"))
        for entry in sorted(missing, key=lambda entry: codes[entry.product_id]):
            current = [
                price
                for price in self.prices_of_entry(entry.pk)
                if price.start_date <= last and (price.end_date or dt.date.max) >= first
            ]
            if not current:
                continue
            code = codes[entry.product_id]
            self.report.missing.append(code)
            if any(price.start_date >= first for price in current):
                self.report.unended.append(code)
            elif end_missing:
                self.report.ended += len({price.start_date for price in current})
                for price in current:
                    price.end_date = first - DAY


def describe_product(product: Product, item: Mapping[str, object]) -> bool:
    """Set what the guide says of a product; whether anything changed.

    Notes of lines begin with its name, until somebody has written a long description.
    """
    if product._state.adding or product.long_description == product.name:
        item = {**item, "long_description": item["name"]}
    changed = any(getattr(product, name) != value for name, value in item.items())
    for name, value in item.items():
        setattr(product, name, value)
    return changed


def insert_all(model: type[Model], records: Sequence[Model]) -> None:
    """Insert new records and their history, one statement each."""
    insert_instances(model, records)
    history.write_entries(model, [record.pk for record in records], "Created")
