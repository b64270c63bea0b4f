"""Brings a price guide into a price book: new items and prices in, old ranges ended, nothing twice."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Model

from apps.core import history
from apps.core.bulk_insert import bulk_insert
from apps.core.identifiers import normalised
from apps.core.importing.runs import import_author
from apps.core.importing.tables import ImportFileError
from apps.core.saving import update
from apps.funding.choices import Zone
from apps.funding.models import Price, PriceBook, PriceBookEntry, Product
from apps.funding.services.price_guide_file import Guide, GuideRow
from apps.odata.any_of import AnyOf

DAY = dt.timedelta(days=1)


@dataclass
class GuideReport:
    """What an import did. A row counts once; ``ended`` are ranges of the price book that the guide closed.

    ``missing`` are the codes of current items that are not in the guide, ``unended`` those of them whose
    price begins with the guide or later, so that no day before it is left to end them on.
    """

    price_book: str
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    ended: int = 0
    missing: list[str] = field(default_factory=list)
    unended: list[str] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Range:
    """A price from its first day, which is its key, to its last."""

    end_date: dt.date | None
    amount: Decimal | None


def import_guide(
    guide: Guide, price_book: str, end_missing: bool = False, dry_run: bool = False
) -> GuideReport:
    """Store the guide in the price book of that name, made when there is none; all of it or nothing.

    With ``end_missing`` items the guide does not have end the day before it begins.
    """
    with transaction.atomic(), history.as_author(import_author()):
        report = _Import(guide, book_called(price_book), end_missing).run()
        transaction.set_rollback(dry_run)
    return report


def book_called(name: str) -> PriceBook:
    """The price book, locked: of two imports the second finds what the first has stored."""
    book = PriceBook.objects.select_for_update().filter(name_key=normalised(name)).first()
    if book is None:
        book = PriceBook(name=name)
        book.save()
    if book.is_archived:
        raise ImportFileError(f"The price book {book.name} is archived; restore it, or name another.")
    return book


def after(standing: Mapping[dt.date, Range], told: Mapping[dt.date, Range]) -> dict[dt.date, Range]:
    """The ranges of a product in one zone once the guide is in, by first day.

    The guide's take the place of those that begin on the same day, and every range ends before the next.
    So last year's guide, imported again, does not open anew what this year's has ended.
    """
    merged = dict(sorted({**standing, **told}.items()))
    for start, following in pairwise(list(merged)):
        last = following - DAY
        if (merged[start].end_date or dt.date.max) > last:
            merged[start] = replace(merged[start], end_date=last)
    return merged


class _Import:
    """One guide on its way into one price book."""

    def __init__(self, guide: Guide, book: PriceBook, end_missing: bool) -> None:
        self.guide, self.book, self.end_missing = guide, book, end_missing
        self.report = GuideReport(book.name)
        self.products = products_called(guide.items)
        entries = PriceBookEntry.objects.filter(price_book=book).select_for_update(of=("self",))
        self.entries = {entry.product_id: entry for entry in entries.order_by("pk")}
        self.prices: defaultdict[UUID, defaultdict[str, dict[dt.date, Price]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        for price in Price.objects.filter(entry__price_book=book):
            self.prices[price.entry_id][price.zone][price.start_date] = price
        self.new: dict[type[Model], list[Any]] = {Product: [], PriceBookEntry: [], Price: []}

    def run(self) -> GuideReport:
        for code, rows in self.guide.items.items():
            self._take(code, rows)
        self._look_for_missing()
        # Ended before others begin: in a zone one price at most is open.
        standing = [
            price for zones in self.prices.values() for held in zones.values() for price in held.values()
        ]
        store_changes(Product, self.products.values())
        store_changes(Price, standing)
        for model, records in self.new.items():
            store_new(model, records)
        return self.report

    def _take(self, code: str, rows: Sequence[GuideRow]) -> None:
        """Bring in one item with its rows, the oldest first."""
        product = self.products.get(code)
        if product is None:
            product = Product(code=rows[-1].code)
            self.new[Product].append(product)
        elif product.is_archived:
            self.report.archived.append(product.code)
        entry = self.entries.get(product.pk)
        if entry is None:
            entry = PriceBookEntry(price_book=self.book, product=product)
            self.new[PriceBookEntry].append(entry)
        held = self.prices[entry.pk]
        latest = max((start for ranges in held.values() for start in ranges), default=dt.date.min)
        touched: set[dt.date] = set()
        if rows[-1].start_date >= latest and describe(product, rows[-1].item):
            touched.add(rows[-1].start_date)
        fresh: set[dt.date] = set()
        for zone in Zone.values:
            told = {row.start_date: Range(row.end_date, row.amounts[zone]) for row in rows}
            self._take_zone(entry, zone, told, fresh, touched)
        self._count({row.start_date for row in rows}, fresh, touched)

    def _take_zone(
        self,
        entry: PriceBookEntry,
        zone: str,
        told: Mapping[dt.date, Range],
        fresh: set[dt.date],
        touched: set[dt.date],
    ) -> None:
        held = self.prices[entry.pk][zone]
        standing = {start: Range(price.end_date, price.amount) for start, price in held.items()}
        for start, wanted in after(standing, told).items():
            if start not in held:
                fresh.add(start)
                self.new[Price].append(
                    Price(
                        entry=entry,
                        zone=zone,
                        start_date=start,
                        end_date=wanted.end_date,
                        amount=wanted.amount,
                    )
                )
            elif standing[start] != wanted:
                touched.add(start)
                held[start].end_date, held[start].amount = wanted.end_date, wanted.amount

    def _count(self, told: set[dt.date], fresh: set[dt.date], touched: set[dt.date]) -> None:
        self.report.new += len(told & fresh)
        self.report.changed += len((told & touched) - fresh)
        self.report.unchanged += len(told - fresh - touched)
        self.report.ended += len(touched - told)

    def _look_for_missing(self) -> None:
        """Items of the price book that are current and not in the guide."""
        first, last = self.guide.first_day, self.guide.last_start
        there = {product.pk for product in self.products.values()}
        missing = {key: entry for key, entry in self.entries.items() if key not in there}
        codes = dict(Product.objects.filter(entries__in=missing.values()).values_list("pk", "code"))
        for key, entry in sorted(missing.items(), key=lambda pair: codes[pair[0]]):
            current = [
                price
                for ranges in self.prices[entry.pk].values()
                for price in ranges.values()
                if price.start_date <= last and (price.end_date or dt.date.max) >= first
            ]
            if not current:
                continue
            self.report.missing.append(codes[key])
            if any(price.start_date >= first for price in current):
                self.report.unended.append(codes[key])
                continue
            if self.end_missing:
                self.report.ended += len({price.start_date for price in current})
                for price in current:
                    price.end_date = first - DAY


def products_called(codes: Collection[str]) -> dict[str, Product]:
    """The products that have these folded codes, by them; locked."""
    by_code = AnyOf(Product._meta.get_field("code_key"), codes)
    found = Product.objects.filter(by_code).select_for_update().order_by("pk")
    return {str(product.code_key): product for product in found}


def describe(product: Product, item: Mapping[str, Any]) -> bool:
    """Give a product what the guide tells of it; whether anything changed of one that stands.

    Notes of lines begin with its name, until somebody has written a long description.
    """
    if product._state.adding or product.long_description == product.name:
        item = {**item, "long_description": item["name"]}
    changed = any(getattr(product, name) != value for name, value in item.items())
    for name, value in item.items():
        setattr(product, name, value)
    return changed


# --- storing --------------------------------------------------------------------------------------------


def store_new(model: type[Model], records: Sequence[Any]) -> None:
    """Insert the records and their history, one statement each."""
    columns = [column.attname for column in model._meta.concrete_fields if not hasattr(column, "text_field")]
    bulk_insert(model, columns, ([getattr(record, name) for name in columns] for record in records))
    history.write_entries(model, [record.pk for record in records], "Created")


def store_changes(model: type[Model], records: Iterable[Any]) -> None:
    """Write the columns that differ from what was read, and what they were into the history.

    One statement for each set of columns that changed together.
    """
    together: defaultdict[tuple[str, ...], list[Any]] = defaultdict(list)
    changed: list[tuple[Any, str, dict[str, list[Any]]]] = []
    for record, differences in _differing(records):
        together[tuple(differences)].append(record)
        changed.append((record.pk, "Changed", differences))
    for names, alike in together.items():
        update(model, names, alike)
    history.write_changes(model, changed)


def _differing(records: Iterable[Any]) -> Iterator[tuple[Any, dict[str, list[Any]]]]:
    for record in records:
        differences = history.differences(record)
        if differences:
            yield record, differences
