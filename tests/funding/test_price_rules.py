"""A product has one price in a zone on a day: by rule, and by what the database refuses."""

import datetime as dt
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from apps.base.drafts import apply_rules
from apps.funding.drafts import PriceDraft, PriceListDraft, ProductDraft
from apps.funding.models import Price, Product
from apps.funding.validation.prices import PRICE_RULES, PRODUCT_WARNINGS, is_support_item
from tests.funding.builders import END_OF_JUNE, JULY, a_price, a_price_book, a_product, an_entry


def a_range(start, end=None, zone="National", amount="1"):
    amount = None if amount is None else Decimal(amount)
    return PriceDraft({"zone": zone, "start_date": start, "end_date": end, "amount": amount})


def found(*prices):
    return [
        (finding.code, finding.field)
        for _, finding in apply_rules([PriceListDraft({"prices": list(prices)})], PRICE_RULES)
    ]


def test_ranges_that_touch_do_not_overlap():
    assert found(a_range(dt.date(2026, 7, 1)), a_range(JULY, END_OF_JUNE)) == []


@pytest.mark.parametrize("end", [None, dt.date(2026, 7, 1)])
def test_the_later_of_two_overlapping_ranges_is_refused(end):
    overlap = found(a_range(dt.date(2026, 7, 1)), a_range(JULY, end))
    assert overlap == [("NotUnique", ("prices", 0, "start_date"))]


def test_ranges_of_different_zones_may_overlap():
    assert found(a_range(JULY), a_range(JULY, zone="Remote"), a_range(JULY, zone="Very Remote")) == []


def test_a_range_may_be_one_day_and_no_less():
    assert found(a_range(JULY, JULY)) == []
    assert found(a_range(JULY, JULY - dt.timedelta(days=1))) == [("OutOfRange", ("prices", 0, "end_date"))]


def test_a_price_may_be_nothing_or_unknown_and_is_never_negative():
    assert found(a_range(JULY, amount="0")) == found(a_range(JULY, amount=None)) == []
    assert found(a_range(JULY, amount="-0.0001")) == [("OutOfRange", ("prices", 0, "amount"))]


@pytest.mark.parametrize(
    ("code", "usual"),
    [
        ("01_011_0107_1_1", True),
        ("05_222903111_0103_1_2", True),
        ("01_011_0107_1_1_T", False),
        ("1_011_0107_1_1", False),
        ("٠١_011_0107_1_1", False),
        ("Bereavement", False),
    ],
)
def test_a_code_of_another_form_than_the_price_guide_s_is_a_warning(code, usual):
    assert is_support_item(code) is usual
    codes = [finding.code for _, finding in apply_rules([ProductDraft({"code": code})], PRODUCT_WARNINGS)]
    assert codes == ([] if usual else ["UnusualCode"])


@pytest.mark.parametrize(
    ("code", "purpose"),
    [
        ("01_011_0107_1_1", "Core"),
        ("05_222903111_0103_1_2", "Capital"),
        ("15_056_0128_1_3", "Capacity Building"),
        ("15_056_0128_1_9", None),
        ("Bereavement", None),
    ],
)
def test_the_last_digit_of_a_code_is_the_purpose(code, purpose):
    assert Product(code=code).support_purpose == purpose


# --- what the database refuses --------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize(
    "columns",
    [
        {"start": JULY, "end": JULY},
        {"start": dt.date(2026, 7, 1)},
        {"start": dt.date(2026, 7, 1), "end": END_OF_JUNE},
        {"start": JULY, "zone": "Remote", "amount": "-1"},
    ],
    ids=["one start", "one open end", "dates in order", "no negative price"],
)
def test_the_database_refuses_what_must_never_be(columns):
    entry = an_entry()
    a_price(entry)
    with pytest.raises(IntegrityError), transaction.atomic():
        a_price(entry, **columns)
    assert Price.objects.count() == 1


@pytest.mark.django_db
def test_a_product_is_in_a_book_once_and_a_code_is_of_one_product():
    book, product = a_price_book(), a_product(code="Word")
    an_entry(book, product)
    with pytest.raises(IntegrityError), transaction.atomic():
        an_entry(book, product)
    with pytest.raises(IntegrityError), transaction.atomic():
        a_product(code=" WORD ")


@pytest.mark.django_db
def test_what_others_refer_to_is_not_deleted():
    entry = an_entry()
    a_price(entry)
    for record in (entry, entry.product, entry.price_book):
        with pytest.raises(ProtectedError):
            record.delete()
