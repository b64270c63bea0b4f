"""The price of a product on a day: either side of a range's end, in its zone, for many lines at once."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.funding.pricing import load_prices
from tests.funding.builders import END_OF_JUNE, JULY, a_price, a_price_book, an_entry

pytestmark = pytest.mark.django_db

NEXT_JULY = dt.date(2026, 7, 1)


def found(*lines):
    """The price of each (entry, day, zone), loaded together."""
    prices = load_prices(entry.product_id for entry, _, _ in lines)
    return [prices.find(entry.price_book_id, entry.product_id, [zone], day) for entry, day, zone in lines]


def amounts(*lines):
    return [price and price.amount for price in found(*lines)]


@pytest.fixture
def entry():
    """A product whose price changed with the year."""
    entry = an_entry()
    a_price(entry, "70.00", JULY, END_OF_JUNE)
    a_price(entry, "73.5", NEXT_JULY)
    a_price(entry, "98.00", JULY, END_OF_JUNE, zone="Remote")
    return entry


def test_the_service_date_picks_the_price_on_either_side_of_a_range_s_end(entry):
    days = (JULY, END_OF_JUNE, NEXT_JULY, dt.date(2099, 1, 1))
    assert amounts(*((entry, day, "National") for day in days)) == list(
        map(Decimal, ("70.00", "70.00", "73.5", "73.5"))
    )


def test_before_the_first_and_after_the_last_range_there_is_no_price(entry):
    assert amounts((entry, JULY - dt.timedelta(days=1), "National"), (entry, NEXT_JULY, "Remote")) == [
        None,
        None,
    ]


def test_each_zone_has_its_own_price(entry):
    requests = ((entry, JULY, zone) for zone in ("Remote", "Very Remote", "National"))
    assert amounts(*requests) == [Decimal("98.00"), None, Decimal("70.00")]


def test_each_price_book_has_its_own_price(entry):
    other = an_entry(product=entry.product, gst_inclusive=True)
    a_price(other, "99.00")
    prices = found((other, JULY, "National"), (entry, JULY, "National"))
    assert [(each.amount, each.gst_inclusive) for each in prices] == [
        (Decimal("99.00"), True),
        (Decimal("70.00"), False),
    ]


def test_a_quoted_product_is_current_and_has_no_amount():
    entry = an_entry()
    a_price(entry, None, JULY, END_OF_JUNE)
    current, over = found((entry, END_OF_JUNE, "National"), (entry, NEXT_JULY, "National"))
    assert (current.amount, current.start_date, current.end_date) == (None, JULY, END_OF_JUNE)
    assert over is None


def test_a_product_that_is_not_in_the_book_has_no_price_there(entry):
    prices = load_prices([entry.product_id])
    assert prices.find(a_price_book().pk, entry.product_id, ["National"], JULY) is None


def test_a_thousand_lines_take_one_query(entry, django_assert_num_queries):
    entries = [entry, *(an_entry(entry.price_book) for _ in range(9))]
    for number, each in enumerate(entries[1:]):
        a_price(each, f"{number}.25")
    lines = [(entries[number % 10], JULY + dt.timedelta(days=number), "National") for number in range(1000)]
    with django_assert_num_queries(1):
        prices = amounts(*lines)
    assert prices[1:10] == [Decimal(f"{number}.25") for number in range(9)]
    assert (prices[360], prices[370]) == (Decimal("70.00"), Decimal("73.5"))


def test_no_lines_take_no_query(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert found() == []
