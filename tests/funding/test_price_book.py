"""GET /priceBook and /costCentre: products with the national price of today."""

import base64
import datetime as dt

import pytest

from apps.access.services import register_application
from apps.core.models import Subscriber
from tests.api.caller import Caller, ok
from tests.funding.builders import (
    END_OF_JUNE,
    JULY,
    a_cost_centre,
    a_price,
    a_price_book,
    a_product,
    an_entry,
)

pytestmark = pytest.mark.django_db

NEXT_JULY = dt.date(2026, 7, 1)
MEMBERS = ["ProductGuid", "Code", "Name", "LongDescription", "Price", "GstInclusive"]


@pytest.fixture
def api():
    """Called with a secret: tokens run out when the clock is moved."""
    application, secret = register_application("Integration", ("read",))
    pair = f"{application.client_id}:{secret}".encode()
    return Caller(f"Basic {base64.b64encode(pair).decode()}")


@pytest.fixture
def book():
    """Three products: one whose price changes with the year, one that is quoted, one never priced."""
    book = a_price_book(name="Price guide")
    walk = an_entry(book, a_product(code="01_001_0107_1_1", name="Walk", long_description="A walk outside"))
    a_price(walk, "70", JULY, END_OF_JUNE)
    a_price(walk, "73.5", NEXT_JULY)
    a_price(walk, "98", dt.date(2025, 8, 1), zone="Remote")
    quoted = an_entry(book, a_product(code="02_001_0107_1_1", name="Swim"), gst_inclusive=True)
    a_price(quoted, None)
    an_entry(book, a_product(code="03_001_0107_1_1", name="Run"))
    return book


def products(api, book, options="$expand=Products"):
    return ok(api.get(f"priceBook/{book.pk}", options))["Products"]


def prices(api, book, options="$expand=Products"):
    return [product["Price"] for product in products(api, book, options)]


def test_products_have_what_a_line_needs(api, book, at):
    at("2026-03-01 12:00")
    walk, swim, _ = products(api, book)
    assert list(walk) == MEMBERS
    assert [walk[name] for name in MEMBERS[1:]] == ["01_001_0107_1_1", "Walk", "A walk outside", 70, False]
    assert (swim["Price"], swim["GstInclusive"]) == (None, True)
    assert walk["ProductGuid"] == str(book.entries.get(product__name="Walk").product_id)


def test_products_are_hidden_until_expanded(api, book):
    assert list(ok(api.get("priceBook"))["value"][0]) == [
        "PriceBookGuid", "Name", "CreationDate", "ModifyDate", "ArchiveDate",
    ]  # fmt: skip


def test_a_price_has_all_its_digits(api, book, at):
    at("2026-08-01 12:00")
    assert b'"Price":73.5000' in api.get(f"priceBook/{book.pk}", "$expand=Products").content


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2025-06-30 23:59:59", None),
        ("2025-07-01 00:00:00", 70),
        ("2026-06-30 23:59:59", 70),
        ("2026-07-01 00:00:00", 73.5),
    ],
)
def test_the_price_is_that_of_today_in_the_subscriber_s_zone(api, book, at, moment, expected):
    at(moment)
    assert prices(api, book) == [expected, None, None]
    assert prices(api, book, "$expand=Products($orderby=Code)") == [expected, None, None]
    (row,) = ok(api.get("priceBook", "$expand=Products"))["value"]
    assert row["Products"][0]["Price"] == expected


def test_another_zone_s_subscriber_has_another_today(api, book, at):
    Subscriber(time_zone="Pacific/Honolulu").save()
    at("2026-07-01 12:00")
    assert prices(api, book)[0] == 70
    at("2026-07-01 21:00")
    assert prices(api, book)[0] == 73.5


def test_a_prepared_statement_goes_by_the_day_of_each_request(api, book, at):
    told = []
    for moment in ("2026-06-30 12:00", "2026-07-01 12:00", "2026-06-30 12:00"):
        at(moment)
        told.append(prices(api, book)[0])
    assert told == [70, 73.5, 70]


def test_products_are_chosen_by_code_name_and_price(api, book, at):
    at("2026-08-01 12:00")

    def chosen(condition):
        return [row["Name"] for row in products(api, book, f"$expand=Products($filter={condition})")]

    assert chosen("Code eq '02_001_0107_1_1'") == ["Swim"]
    assert chosen("contains(Name,'u')") == ["Run"]
    assert chosen("Price gt 73") == ["Walk"]
    assert chosen("Price gt 73.5") == []
    assert chosen("Price eq null") == ["Swim", "Run"]
    at("2026-06-01 12:00")
    assert chosen("Price gt 73") == []


def test_a_book_of_many_products_takes_no_more_statements(api, book, django_assert_max_num_queries):
    for number in range(30):
        a_price(an_entry(book), f"{number}")
    ok(api.get("priceBook", "$expand=*"))
    with django_assert_max_num_queries(4):
        assert len(ok(api.get("priceBook", "$expand=*"))["value"][0]["Products"]) == 33


def test_books_and_cost_centres_come_by_name(api):
    for name in ("Beta", "Alpha"):
        a_price_book(name=name)
        a_cost_centre(name=name)
    for path in ("priceBook", "costCentre"):
        assert [row["Name"] for row in ok(api.get(path))["value"]] == ["Alpha", "Beta"]
