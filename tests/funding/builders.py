"""Price books, products, prices and cost centres, as little of them as will do."""

import datetime as dt
import itertools
from decimal import Decimal

from apps.funding.models import CostCentre, Price, PriceBook, PriceBookEntry, Product
from tests.people.builders import a_lookup

_numbers = itertools.count(1)

JULY = dt.date(2025, 7, 1)
END_OF_JUNE = dt.date(2026, 6, 30)


def a_cost_centre(**columns):
    return a_lookup(CostCentre, **columns)


def a_price_book(**columns):
    return a_lookup(PriceBook, **columns)


def a_product(**columns):
    number = next(_numbers)
    record = Product(**{"code": f"09_{number:03}_0116_6_3", "name": f"Support {number}", **columns})
    record.save()
    return record


def an_entry(price_book=None, product=None, **columns):
    record = PriceBookEntry(
        price_book=price_book or a_price_book(), product=product or a_product(), **columns
    )
    record.save()
    return record


def a_price(entry, amount="70.00", start=JULY, end=None, zone="National"):
    amount = None if amount is None else Decimal(amount)
    record = Price(entry=entry, zone=zone, start_date=start, end_date=end, amount=amount)
    record.save()
    return record
