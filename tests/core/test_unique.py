"""Values that must be unique are compared within the drafts and with all records of the table."""

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.base.batched_queries import fetch_all
from apps.base.drafts import Draft
from apps.core.models import NormalisedField
from apps.core.saving import find_conflicts, owner_query, uniques_of
from apps.funding.models import Claim, ProviderInvoice
from apps.people.models import Client, CustomField

pytestmark = pytest.mark.django_db

#: Only looked up by: many claims may have the reference of one reusable provider invoice.
NOT_UNIQUE = {Claim._meta.get_field("provider_invoice_reference_key")}

NORMALISED = [
    (model, field)
    for model in apps.get_models()
    for field in model._meta.concrete_fields
    if isinstance(field, NormalisedField) and field not in NOT_UNIQUE
]


def a_client(**columns):
    client = Client(**columns)
    client.save()
    return client


def found(*drafts, model=Client):
    return [(number, issue.code, issue.field) for number, issue in find_conflicts(model, drafts)]


def name(text, **words):
    return Draft({"business_name": text, "unique_code": None}, **words)


@pytest.mark.parametrize(("model", "field"), NORMALISED, ids=str)
def test_every_normalised_text_is_compared(model, field):
    assert any(field in unique.columns and unique.field == field.text_field for unique in uniques_of(model))


@pytest.mark.parametrize("spelling", ["Café", " CAFE\u0301\t", "cafÉ"])
def test_a_text_of_another_record_is_taken_however_it_is_written(spelling):
    a_client(business_name="Café")
    assert found(name(spelling)) == [(0, "NotUnique", "business_name")]
    assert found(name("Cafe")) == []


def test_texts_of_archived_records_are_taken():
    a_client(business_name="Old", archive_date=clock.now())
    assert found(name("old")) == [(0, "NotUnique", "business_name")]


def test_within_the_drafts_the_first_one_holds():
    assert found(name("One"), name("two"), name("ONE"), name("one ")) == [
        (2, "NotUnique", "business_name"),
        (3, "NotUnique", "business_name"),
    ]


def test_a_record_is_not_in_conflict_with_itself():
    client, other = a_client(business_name="One"), a_client(business_name="Other")
    assert found(name("ONE", key=client.pk)) == []
    assert found(name("ONE", key=other.pk)) == [(0, "NotUnique", "business_name")]


def test_of_values_that_are_unique_together_only_records_with_all_of_them_are_read():
    """Thousands of provider invoices may have the reference 1, each of another provider."""
    providers = [a_client(business_name=name) for name in ("One", "Other")]
    taken = ProviderInvoice.objects.create(provider=providers[0], reference="A-1")
    (unique,) = (each for each in uniques_of(ProviderInvoice) if len(each.columns) == 2)
    references = {(provider.pk, "a-1") for provider in providers}
    assert fetch_all([owner_query(ProviderInvoice, unique)(references)]) == [
        [(providers[0].pk, "a-1", taken.pk)]
    ]
    assert fetch_all([owner_query(ProviderInvoice, unique)({(providers[1].pk, "a-1")})]) == [[]]
    drafts = [Draft({"provider": provider, "reference": " a-1"}) for provider in providers]
    assert found(*drafts, model=ProviderInvoice) == [(0, "NotUnique", "reference")]


def test_nulls_and_blanks_are_never_in_conflict():
    a_client(business_name="One", unique_code=None)
    drafts = [
        Draft({"business_name": f"n{n}", "unique_code": code}) for n, code in enumerate((None, " ", None))
    ]
    assert found(*drafts) == []


def test_invalid_members_are_not_compared():
    a_client(business_name="One")
    assert found(Draft({"unique_code": None}, invalid={"business_name"})) == []


def test_columns_that_are_unique_together_are_compared_together():
    CustomField(name="Shirt size", applies_to="Staff").save()
    same = Draft({"name": "shirt SIZE", "applies_to": "Staff"})
    other = Draft({"name": "shirt SIZE", "applies_to": "Client"})
    assert found(same, other, model=CustomField) == [(0, "NotUnique", "name")]


def test_there_is_one_query_for_each_unique_text():
    drafts = [Draft({"business_name": f"n{n}", "unique_code": f"c{n}"}) for n in range(300)]
    with CaptureQueriesContext(connection) as queries:
        assert found(*drafts) == []
    # PostgreSQL gets both in one trip.
    assert len(queries) == (1 if connection.vendor == "postgresql" else 2)
