"""Running numbers (apps/funding/services/create.py)."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base.drafts import Draft
from apps.core.models import Subscriber
from apps.funding.models import Claim, Invoice, NumberSequence
from apps.funding.services.create import assign_numbers
from tests.funding.builders import a_claim, an_invoice

pytestmark = pytest.mark.django_db


def numbers(*given, model=Claim):
    name = f"{model._meta.model_name}_number"
    drafts = [Draft({name: number}) for number in given]
    assign_numbers(model, drafts)
    return [getattr(draft, name) for draft in drafts]


def test_numbers_run_on_with_the_settings_prefix_and_zeros():
    assert numbers(None, None) == ["CLM-0000001", "CLM-0000002"]
    assert numbers(None) == ["CLM-0000003"]
    assert numbers(None, model=Invoice) == ["INV-0000001"]


def test_given_numbers_stay_and_take_none_of_the_sequence():
    assert numbers("A", None, "B") == ["A", "CLM-0000001", "B"]
    assert numbers("C") == ["C"]
    assert NumberSequence.objects.get(name="claim").next_number == 2


def test_numbers_that_callers_have_used_are_skipped_whatever_their_case():
    a_claim(claim_number="clm-0000001")
    a_claim(claim_number=" CLM-0000003 ")
    assert numbers(None, "CLM-0000004", None) == ["CLM-0000002", "CLM-0000004", "CLM-0000005"]


def test_a_long_run_of_used_numbers_is_skipped_with_few_statements():
    first = a_claim(claim_number="CLM-0000001")
    Claim.objects.bulk_create(
        Claim(**{**columns_of(first), "claim_number": number, "claim_number_key": number})
        for number in (f"clm-{n:07}" for n in range(2, 3000))
    )
    with CaptureQueriesContext(connection) as captured:
        assert numbers(None) == ["CLM-0003000"]
    assert len(captured) < 30
    assert numbers(None, None) == ["CLM-0003001", "CLM-0003002"]


def columns_of(claim):
    left_out = {"guid", "claim_number", "claim_number_key", "takes_provider_invoice"}
    fields = [field.attname for field in Claim._meta.concrete_fields if field.name not in left_out]
    return {name: getattr(claim, name) for name in fields} | {"takes_provider_invoice": False}


def test_claims_and_invoices_count_apart():
    an_invoice(invoice_number="CLM-0000001")
    assert numbers(None) == ["CLM-0000001"]


def test_numbers_go_on_where_they_were_when_the_settings_change():
    assert numbers(None) == ["CLM-0000001"]
    Subscriber(pk=1, claim_number_prefix="", claim_number_digits=1).save()
    assert numbers(None) == ["2"]
    NumberSequence.objects.filter(name="claim").update(next_number=9_999)
    assert numbers(None, None) == ["9999", "10000"]


def test_nobody_waits_for_numbers_they_do_not_need():
    with CaptureQueriesContext(connection) as captured:
        assert numbers("A", "B") == ["A", "B"]
    assert len(captured) == 0
