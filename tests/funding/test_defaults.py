"""Defaults of claims and invoices, also where members are invalid (apps/funding/services/create.py)."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.base.drafts import Draft, InvalidValue
from apps.funding.services.context import load_records
from apps.funding.services.create import apply_defaults
from apps.funding.validation.bills import CLAIMS, INVOICES
from tests.funding.bodies import a_full_provider_invoice, a_priced_entry
from tests.funding.builders import a_price
from tests.people.builders import a_contact

pytestmark = pytest.mark.django_db

FIRST, LAST = dt.date(2025, 7, 7), dt.date(2025, 7, 13)


def a_line(entry=None, **values):
    entry = entry or a_priced_entry()
    held = dict.fromkeys(("from_date", "to_date", "price", "notes"))
    held |= {"price_book": entry.price_book, "product": entry.product, "quantity": Decimal(2)}
    return Draft(held | values, given=values)


def a_bill(*lines, **values):
    held = {"start_date": FIRST, "end_date": LAST, "contact": None, "line_items": list(lines)}
    return Draft(held | values, given=values)


def apply_claim_defaults(*claims):
    apply_defaults(CLAIMS, claims, load_records(CLAIMS, claims))


def apply_invoice_defaults(*invoices):
    apply_defaults(INVOICES, invoices, load_records(INVOICES, invoices))


@pytest.mark.parametrize(
    ("from_date", "to_date", "first", "last"),
    [
        (None, None, FIRST, LAST),
        (dt.date(2025, 7, 8), None, dt.date(2025, 7, 8), dt.date(2025, 7, 8)),
        (None, dt.date(2025, 7, 9), FIRST, dt.date(2025, 7, 9)),
        (dt.date(2025, 7, 8), dt.date(2025, 7, 9), dt.date(2025, 7, 8), dt.date(2025, 7, 9)),
    ],
)
def test_days_that_a_line_does_not_say_are_its_bills(from_date, to_date, first, last):
    line = a_line(from_date=from_date, to_date=to_date)
    apply_invoice_defaults(a_bill(line))
    assert (line.first_day, line.last_day) == (first, last)


def test_a_total_is_the_sum_of_what_can_be_summed():
    lines = [a_line(), a_line(quantity=None), a_line(price=Decimal("0.005"), quantity=Decimal(1))]
    bill = a_bill(*lines)
    apply_invoice_defaults(bill)
    assert bill.total == Decimal("140.01")
    with pytest.raises(InvalidValue):
        assert lines[1].total


@pytest.mark.parametrize("name", ["product", "price_book", "from_date", "quantity", "price"])
def test_what_hangs_on_a_fault_is_left_open(name):
    line = a_line()
    line.mark_invalid(name)
    apply_invoice_defaults(a_bill(line))
    with pytest.raises(InvalidValue):
        assert line.total


def test_a_day_with_a_fault_is_not_the_bills():
    line = a_line()
    line.mark_invalid("from_date")
    apply_invoice_defaults(a_bill(line))
    with pytest.raises(InvalidValue):
        assert line.first_day


def test_drafts_with_faults_of_every_kind_get_the_defaults_that_they_can():
    whole = ("start_date", "end_date", "contact", "provider", "provider_invoice", "line_items")
    empty, broken = Draft({}), Draft({}, invalid=whole)
    apply_claim_defaults(empty, broken)
    assert (empty.total, broken.total) == (0, 0)
    for name in whole:
        with pytest.raises(InvalidValue):
            getattr(broken, name)


def test_what_a_claim_gives_itself_stays():
    provider_invoice, other = a_full_provider_invoice(reference="Ours"), a_contact()
    claim = a_bill(
        a_line(), provider_invoice=provider_invoice, contact=other, provider_invoice_reference="Theirs"
    )
    apply_claim_defaults(claim)
    assert (claim.contact, claim.provider, claim.provider_invoice_reference) == (
        other,
        provider_invoice.provider,
        "Theirs",
    )


def test_the_price_is_of_the_zone_of_the_contact():
    entry = a_priced_entry()
    for zone in ("Remote", "Very Remote"):
        a_price(entry, zone=zone)
    lines = [a_line(entry) for _ in range(3)]
    regions = ("Remote", "Very Remote", "NT/SA/TAS/WA")
    bills = [
        a_bill(line, contact=a_contact(SchemePriceGuideRegion=region))
        for line, region in zip(lines, regions, strict=True)
    ]
    apply_invoice_defaults(*bills)
    assert [line.book_price.zone for line in lines] == ["Remote", "Very Remote", "National"]
