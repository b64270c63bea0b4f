"""Rules of products and of their prices in price books."""

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Protocol, TypeVar

from apps.base.drafts import Issue, Rule, is_refused_when
from apps.funding.drafts import PriceDraft, PriceListDraft, ProductDraft

# --- prices ---------------------------------------------------------------------------------------------


class DayRange(Protocol):
    """The days on which something holds, both included; without an end until further."""

    @property
    def start_date(self) -> dt.date: ...

    @property
    def end_date(self) -> dt.date | None: ...


R = TypeVar("R", bound=DayRange)


def price_dates_are_in_order(draft: PriceListDraft) -> Iterator[Issue]:
    for number, price in enumerate(draft.prices):
        if price.end_date is not None and price.end_date < price.start_date:
            message = f"The last day lies before the first, {price.start_date}."
            yield Issue("OutOfRange", ("prices", number, "end_date"), message)


def price_is_not_negative(draft: PriceListDraft) -> Iterator[Issue]:
    for number, price in enumerate(draft.prices):
        if price.amount is not None and price.amount < 0:
            yield Issue("OutOfRange", ("prices", number, "amount"), "A price is not negative.")


def price_ranges_do_not_overlap(draft: PriceListDraft) -> Iterator[Issue]:
    """On no day does a product have two prices in one zone."""
    by_zone: defaultdict[str, list[tuple[int, PriceDraft]]] = defaultdict(list)
    for number, price in enumerate(draft.prices):
        by_zone[price.zone].append((number, price))
    for ranges in by_zone.values():
        for (_, earlier), (number, later) in overlapping(ranges):
            until = f"to {earlier.end_date}" if earlier.end_date else "until further"
            message = f"Another {later.zone} price holds from {earlier.start_date} {until}."
            yield Issue("NotUnique", ("prices", number, "start_date"), message)


def stored_prices_stay(draft: PriceListDraft) -> Iterator[Issue]:
    """Claims were checked against them."""
    given = {(price.zone, price.start_date) for price in draft.prices}
    for price in draft.stored:
        if (price.zone, price.start_date) not in given:
            yield Issue("NotAllowed", "prices", f"{price.label} is missing: a price stays, and can be ended.")


def overlapping(ranges: Iterable[tuple[int, R]]) -> Iterator[tuple[tuple[int, R], tuple[int, R]]]:
    """The neighbours of (number, range) pairs of which the later begins before the earlier has ended."""
    in_order = sorted(ranges, key=lambda pair: (pair[1].start_date, pair[0]))
    for earlier, later in pairwise(in_order):
        if later[1].start_date <= (earlier[1].end_date or dt.date.max):
            yield earlier, later


PRICE_RULES: tuple[Rule[PriceListDraft], ...] = (
    price_dates_are_in_order,
    price_is_not_negative,
    price_ranges_do_not_overlap,
    stored_prices_stay,
)

# --- products -------------------------------------------------------------------------------------------

#: Category, item, registration group, outcome domain, purpose: 01_011_0107_1_1. The items of assistive
#: technology have nine digits, those of their codes.
SUPPORT_ITEM_CODE = re.compile(r"\d{2}_\d{3}(\d{6})?_\d{4}_\d_\d", re.ASCII)


def is_support_item(code: str) -> bool:
    """True when a code has the form that codes of the price guide have; a few are words."""
    return SUPPORT_ITEM_CODE.fullmatch(code) is not None


PRODUCT_WARNINGS: tuple[Rule[ProductDraft], ...] = (
    is_refused_when(
        "code",
        "UnusualCode",
        "It is no support item code such as 01_011_0107_1_1; claims to the agency need one.",
        lambda draft: draft.code and not is_support_item(draft.code),
    ),
)
