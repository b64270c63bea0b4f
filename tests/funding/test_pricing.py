"""The price of a product on a day: either side of a range's end, in its zone, for many lines at once."""

import datetime as dt
from decimal import ROUND_HALF_UP, Decimal

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.funding.models import Invoice
from apps.funding.models.prices import load_price_table
from tests.funding.bodies import a_funder, a_line_body, a_priced_entry, an_invoice_body, submitted
from tests.funding.builders import END_OF_JUNE, JULY, a_price, a_price_book, an_entry

pytestmark = pytest.mark.django_db

NEXT_JULY = dt.date(2026, 7, 1)


def find_price(entry, day, zone="National"):
    """The price of a price book entry in one zone."""
    prices = load_price_table([entry.product_id])
    return prices.find(entry.price_book_id, entry.product_id, zone, day)


def amounts(entry, *days, zone="National"):
    found = [find_price(entry, day, zone) for day in days]
    return [each and each.amount for each in found]


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
    assert amounts(entry, *days) == list(map(Decimal, ("70.00", "70.00", "73.5", "73.5")))


def test_before_the_first_and_after_the_last_range_there_is_no_price(entry):
    assert amounts(entry, JULY - dt.timedelta(days=1)) == [None]
    assert amounts(entry, JULY - dt.timedelta(days=1), zone="Remote") == [None]


def test_a_remote_zone_without_a_price_on_the_day_has_the_national_one(entry):
    found = [amounts(entry, JULY, NEXT_JULY, zone=zone) for zone in ("Remote", "Very Remote", "NSW")]
    national = [Decimal("70.00"), Decimal("73.5")]
    assert found == [[Decimal("98.00"), Decimal("73.5")], national, national]


def test_each_price_book_has_its_own_price(entry):
    other = an_entry(product=entry.product, gst_inclusive=True)
    a_price(other, "99.00")
    found = [find_price(other, JULY), find_price(entry, JULY)]
    assert [(each.amount, each.gst_inclusive) for each in found] == [
        (Decimal("99.00"), True),
        (Decimal("70.00"), False),
    ]


def test_a_quoted_product_is_current_and_has_no_amount():
    entry = an_entry()
    a_price(entry, None, JULY, END_OF_JUNE)
    current, over = find_price(entry, END_OF_JUNE), find_price(entry, NEXT_JULY)
    assert (current.amount, current.start_date, current.end_date) == (None, JULY, END_OF_JUNE)
    assert over is None


def test_a_product_that_is_not_in_the_book_has_no_price_there(entry):
    prices = load_price_table([entry.product_id])
    assert prices.find(a_price_book().pk, entry.product_id, "National", JULY) is None


def test_the_prices_of_a_thousand_lines_are_one_query(entry, django_assert_num_queries):
    entries = [entry, *(an_entry(entry.price_book) for _ in range(9))]
    for number, each in enumerate(entries[1:]):
        a_price(each, f"{number}.25")
    with django_assert_num_queries(1):
        prices = load_price_table(each.product_id for each in entries)
        found = [
            prices.find(each.price_book_id, each.product_id, "National", JULY + dt.timedelta(days=number))
            for number, each in enumerate(entries * 100)
        ]
    assert [each.amount for each in found[1:10]] == [Decimal(f"{number}.25") for number in range(9)]
    assert (found[360].amount, found[370].amount) == (Decimal("70.00"), Decimal("73.5"))


# --- sums -----------------------------------------------------------------------------------------------

CENT = Decimal("0.01")
quantities, prices = st.decimals("0.0001", 100, places=4), st.decimals(0, 1000, places=4)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.tuples(quantities, prices, st.booleans()), min_size=1, max_size=12))
def test_an_invoice_is_the_sum_of_its_lines_to_the_cent(db, lines):
    with transaction.atomic():
        entry, staff = a_priced_entry(), a_funder()
        written = [
            a_line_body(entry, Quantity=float(quantity), Price=float(price), IsCreditItem=is_credit)
            for quantity, price, is_credit in lines
        ]
        expected = [
            (quantity * price).quantize(CENT, ROUND_HALF_UP) * (-1 if is_credit else 1)
            for quantity, price, is_credit in lines
        ]
        (key,) = submitted("invoice", an_invoice_body(staff=staff, LineItems=written))
        invoice = Invoice.objects.get(pk=key)
        assert list(invoice.line_items.order_by("position").values_list("total", flat=True)) == expected
        assert invoice.total == sum(expected)
        transaction.set_rollback(True)
