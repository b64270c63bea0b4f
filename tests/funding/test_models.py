"""What the database itself never lets stand, whoever writes."""

import datetime as dt
from decimal import Decimal

import pytest
from django.contrib.auth.models import Permission
from django.db import IntegrityError, connection, transaction

from apps.base import clock
from apps.funding.models import Claim, NumberSequence, ProviderInvoice, StatusMove
from apps.funding.services.context import PERMISSIONS
from tests.funding.builders import JULY, a_claim, a_provider_invoice, an_invoice
from tests.people.builders import a_client

pytestmark = pytest.mark.django_db


def refused_by(constraint, store):
    """The database refuses it, by that constraint where the engine says which."""
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        store()
    if connection.vendor == "postgresql":
        assert constraint in str(refused.value)


def changed(record, **columns):
    return lambda: type(record).objects.filter(pk=record.pk).update(**columns)


def test_two_claims_cannot_have_one_number_however_it_is_written():
    a_claim(claim_number="CLM-1")
    refused_by("claim_number_key", lambda: a_claim(claim_number=" clm-1"))


def test_two_invoices_cannot_have_one_number():
    an_invoice(invoice_number="INV-1")
    refused_by("invoice_number_key", lambda: an_invoice(invoice_number="inv-1"))


def test_a_single_use_provider_invoice_takes_one_claim():
    provider_invoice = a_provider_invoice()
    a_claim(provider_invoice=provider_invoice)
    refused_by("funding_one_claim_of_single_use", lambda: a_claim(provider_invoice=provider_invoice))


def test_a_reusable_provider_invoice_takes_many_claims():
    provider_invoice = a_provider_invoice(is_reusable=True)
    a_claim(provider_invoice=provider_invoice)
    a_claim(provider_invoice=provider_invoice)
    assert Claim.objects.filter(provider_invoice=provider_invoice).count() == 2


def test_a_reference_is_unique_for_a_provider():
    provider = a_client()
    a_provider_invoice(provider=provider, reference="R 1")
    a_provider_invoice(provider=a_client(), reference="R 1")
    refused_by(
        "funding_one_reference_of_a_provider", lambda: a_provider_invoice(provider=provider, reference="r 1")
    )


def test_a_provider_invoice_is_of_something():
    refused_by("funding_provider_invoice_of_something", lambda: a_provider_invoice(reference=None))


@pytest.mark.parametrize("quantity", ["0", "-1"])
def test_a_line_has_a_positive_quantity(quantity):
    line = a_claim().line_items.get()
    refused_by("funding_claimline_quantity_positive", changed(line, quantity=Decimal(quantity)))


def test_a_line_has_no_negative_price():
    line = an_invoice().line_items.get()
    refused_by("funding_invoiceline_price_not_negative", changed(line, price=Decimal("-0.0001")))


def test_dates_are_in_order():
    day_before = JULY - dt.timedelta(days=1)
    refused_by("funding_claim_dates_in_order", changed(a_claim(), end_date=day_before))
    refused_by("funding_invoice_dates_in_order", changed(an_invoice(), end_date=day_before))
    line = a_claim().line_items.get()
    refused_by("funding_claimline_dates_in_order", changed(line, last_day=day_before))
    provider_invoice = a_provider_invoice(service_start_date=JULY)
    refused_by("funding_provider_dates_in_order", changed(provider_invoice, service_end_date=day_before))


def test_a_recurring_invoice_says_since_when_and_how_often():
    invoice = an_invoice(is_recurring=True, recurring_start_date=JULY, recurring_frequency="Monthly")
    refused_by("funding_recurring_since_and_how", changed(invoice, recurring_frequency=None))
    refused_by("funding_recurring_since_and_how", changed(invoice, recurring_start_date=None))
    refused_by(
        "funding_recurring_dates_in_order", changed(invoice, recurring_end_date=JULY - dt.timedelta(days=1))
    )


def test_an_invoice_is_made_once_for_a_period():
    recurring = an_invoice(is_recurring=True, recurring_start_date=JULY, recurring_frequency="Monthly")
    an_invoice(recurrence_of=recurring, recurrence_date=JULY)
    refused_by(
        "funding_one_invoice_of_a_period", lambda: an_invoice(recurrence_of=recurring, recurrence_date=JULY)
    )


def test_a_claim_is_resubmitted_once_while_the_new_one_lives():
    old = a_claim()
    first = a_claim(resubmission_of=old)
    refused_by("funding_claim_resubmitted_once", lambda: a_claim(resubmission_of=old))
    changed(first, archive_date=clock.now())()
    a_claim(resubmission_of=old)


def test_a_move_is_of_exactly_one_record():
    words = {"verb": "hold", "from_status": "Approved", "to_status": "OnHold"}
    StatusMove.objects.create(claim=a_claim(), **words)
    refused_by("funding_move_of_one_record", lambda: StatusMove.objects.create(**words))
    refused_by(
        "funding_move_of_one_record",
        lambda: StatusMove.objects.create(claim=a_claim(), invoice=an_invoice(), **words),
    )


def test_records_say_what_they_are():
    provider = a_client(BusinessName="Care Ltd")
    assert str(ProviderInvoice(reference="R 1", provider=provider)) == "R 1 (Care Ltd)"
    assert str(ProviderInvoice(provider=provider)) == "without a reference (Care Ltd)"
    assert str(NumberSequence("claim", 7)) == "claim: 7"
    assert str(a_claim(claim_number="CLM-9").line_items.get()).startswith("2 × ")


@pytest.mark.django_db
def test_the_permissions_that_rules_ask_for_have_codenames_of_their_own():
    codenames = {name.partition(".")[2] for name in PERMISSIONS}
    found = Permission.objects.filter(codename__in=codenames).values_list("codename", flat=True)
    assert sorted(found) == sorted(codenames)
