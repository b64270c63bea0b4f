"""What the demo's lines are of: support items by category and time of the week, with their prices."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from uuid import UUID

from apps.core.identifiers import normalised
from apps.funding.choices import Unit
from apps.funding.demo import guide
from apps.funding.models import Price, PriceBook
from apps.funding.public_holidays import DayType, day_types

#: The kinds of day of ``guide.TIMES``, whose first two are of weekdays.
DAYS = (DayType.WEEKDAY, DayType.SATURDAY, DayType.SUNDAY, DayType.PUBLIC_HOLIDAY)
#: Lines of a day have no more hours than this, in hundredths.
LONGEST_DAY = 800
LONGEST_PERIOD = 3000
FAR_OFF = dt.date.max


@dataclass(slots=True)
class Article:
    """A product on the shelf. Prices are in cents, by zone: (first day, last day, price)."""

    product: UUID
    code: str
    name: str
    unit: str
    is_dollar: bool
    prices: dict[str, list[tuple[dt.date, dt.date, int]]] = field(default_factory=dict)

    @property
    def is_hourly(self) -> bool:
        return self.unit == Unit.HOUR and not self.is_dollar

    def price(self, zone: str, day: dt.date) -> int | None:
        """The price of the day in cents; ``None`` where it has none then."""
        for first, last, cents in self.prices.get(zone, ()):
            if first <= day <= last:
                return cents
        return None


@dataclass(frozen=True, slots=True)
class Offer:
    """A support: one article for all times, or articles for each kind of day, of which chance takes one."""

    at_all_times: Article | None = None
    on_days: Mapping[DayType, tuple[Article, ...]] = field(default_factory=dict)

    def on(self, chance: Random, day: dt.date, state: str | None) -> Article | None:
        """What is given on a day in a state; ``None`` when nothing is, or it is not sure what day it is."""
        if self.at_all_times is not None:
            return self.at_all_times
        kinds = day_types(day, state)
        found = self.on_days.get(next(iter(kinds)), ()) if len(kinds) == 1 else ()
        return found[int(chance.random() ** 2 * len(found))] if found else None


@dataclass(slots=True)
class Shelf:
    """The offers of each category, and single articles by their code."""

    price_book: UUID
    articles: dict[str, Article]
    offers: dict[int, tuple[Offer, ...]]

    def only(self, code: str) -> tuple[Offer, ...]:
        """What a booking for one item allows."""
        article = self.articles.get(code)
        if article is None:
            return ()
        if article.name.endswith(guide.TIMES[0][0]):
            return (Offer(on_days={DayType.WEEKDAY: (article,)}),)
        return (Offer(article),)


def read_shelf(price_book: str) -> Shelf:
    """The shelf of a price book that stands, with the prices that stand in it."""
    book = PriceBook.objects.get(name_key=normalised(price_book))
    articles: dict[str, Article] = {}
    rows = Price.objects.filter(entry__price_book=book).order_by("start_date", "entry__product__code", "zone")
    for product, code, name, unit, zone, first, last, amount in rows.values_list(
        *("entry__product", "entry__product__code", "entry__product__name", "entry__product__unit"),
        *("zone", "start_date", "end_date", "amount"),
    ):
        if code not in articles:
            articles[code] = Article(product, code, name, unit, amount == 1)
        if amount is not None:
            articles[code].prices.setdefault(zone, []).append((first, last or FAR_OFF, int(amount * 100)))
    offers: defaultdict[int, list[Offer]] = defaultdict(list)
    for category, offer in offered(articles):
        offers[category].append(offer)
    return Shelf(book.pk, articles, {category: tuple(found) for category, found in offers.items()})


def offered(articles: dict[str, Article]) -> Iterator[tuple[int, Offer]]:
    """The offers made of the demo's articles that have prices, with their categories."""
    told: set[str] = {guide.DISCONTINUED}
    for category, first, rest, _, _ in guide.AT_ALL_TIMES:
        codes = [f"{category}_{first + later:03}_{rest}" for later in range(len(guide.TIMES))]
        told.update(codes)
        if all(code in articles for code in codes):
            daytime, evening, *days = (articles[code] for code in codes)
            of_kinds = zip(DAYS, [(daytime, evening), *((each,) for each in days)], strict=True)
            yield int(category), Offer(on_days=dict(of_kinds))
    for item in guide.items():
        if item.code in articles and item.code not in told and articles[item.code].prices:
            yield item.category, Offer(articles[item.code])
