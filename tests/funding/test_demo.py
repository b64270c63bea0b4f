"""The demo's price books are plausible, hold by the rules, and are the same for the same day."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from apps.core.demo import Context
from apps.engagements.categories import support_item
from apps.funding.choices import Zone
from apps.funding.demo import guide
from apps.funding.demo.prices import first_days, load
from apps.funding.models import CostCentre, Price, PriceBook, PriceBookEntry, Product
from apps.funding.pricing import PriceRequest, find_prices
from apps.funding.validation.prices import PRICE_RULES, is_support_item
from apps.odata.write.drafts import Draft, apply_rules
from tests.funding.builders import a_price_book, a_product

DAY = dt.date(2026, 7, 1)


def load_demo(as_of=DAY):
    load(Context(1, as_of, ZoneInfo("Australia/Sydney"), {}, lambda *stored: None))


def test_items_have_numbers_of_the_scheme_s_form_once_each():
    items = list(guide.items())
    assert 55 <= len(items) <= 80
    assert len({item.code for item in items}) == len(items)
    for item in items:
        assert is_support_item(item.code)
        assert support_item(item.code).purpose
        assert item.registration_group in guide.REGISTRATION_GROUPS
        assert item.category in guide.CATEGORY_NAMES
    assert {guide.REPRICED, guide.DISCONTINUED} <= {item.code for item in items}


@pytest.mark.parametrize(
    ("as_of", "first"),
    [(dt.date(2026, 6, 30), 2025), (dt.date(2026, 7, 1), 2026), (dt.date(2027, 1, 1), 2026)],
)
def test_years_begin_in_july(as_of, first):
    assert first_days(as_of) == [dt.date(first - ago, 7, 1) for ago in range(3)]


@pytest.mark.django_db
@pytest.mark.parametrize("as_of", [DAY, dt.date(2026, 2, 28)])
def test_every_item_had_a_price_on_every_day_of_two_years(as_of):
    load_demo(as_of)
    book = PriceBook.objects.get(name=guide.PRICE_BOOK)
    entries = PriceBookEntry.objects.filter(price_book=book).exclude(product__code=guide.DISCONTINUED)
    requests = [
        PriceRequest(book.pk, product, zone, as_of - dt.timedelta(days=ago))
        for product in entries.values_list("product_id", flat=True)
        for zone in Zone.values
        for ago in (0, 1, 219, 220, 364, 365, 366, 730)
    ]
    assert len(requests) > 1_000
    assert None not in find_prices(requests)


@pytest.mark.django_db
def test_prices_hold_by_the_rules():
    load_demo()
    for entry in PriceBookEntry.objects.prefetch_related("prices"):
        assert not list(apply_rules([Draft({"prices": list(entry.prices.all())})], PRICE_RULES))
    over = Price.objects.filter(entry__product__code=guide.DISCONTINUED)
    assert set(over.values_list("end_date", flat=True)) == {dt.date(2025, 6, 30), dt.date(2026, 6, 30)}


@pytest.mark.django_db
def test_the_subscriber_s_own_rates_include_gst():
    load_demo()
    told = set(PriceBookEntry.objects.values_list("price_book__name", "gst_inclusive"))
    assert told == {(guide.PRICE_BOOK, False), (guide.PRIVATE_RATES, True)}
    assert CostCentre.objects.filter(archive_date=None).count() == len(guide.COST_CENTRES)


@pytest.mark.django_db
def test_the_same_day_gives_the_same_and_what_is_there_is_used():
    load_demo()
    before = set(Price.objects.values_list("pk", flat=True))
    load_demo()
    assert set(Price.objects.values_list("pk", flat=True)) == before


@pytest.mark.django_db
def test_products_that_stand_are_used_and_a_price_book_that_stands_is_left():
    product = a_product(code=guide.REPRICED, name="Ours")
    a_price_book(name="private RATES")
    load_demo()
    assert Product.objects.get(code=guide.REPRICED).name == "Ours"
    assert product.entries.get().prices.count() == 12
    assert not PriceBookEntry.objects.filter(price_book__name="private RATES").exists()
