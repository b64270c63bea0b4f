"""Twins are found within what is sent and against all that stands (apps/core/uniqueness.py)."""

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.models import NormalisedField
from apps.core.unique import find_conflicts, uniques_of
from apps.funding.models import Claim
from apps.odata import clock
from apps.odata.batched_queries import alone
from apps.odata.write.drafts import Draft
from apps.people.models import Client, CustomField

pytestmark = pytest.mark.django_db

#: Twins that are only looked up by: many claims may stand on one reusable provider invoice's reference.
MAY_STAND_TWICE = {Claim._meta.get_field("provider_invoice_reference_key")}

FOLDED = [
    (model, field)
    for model in apps.get_models()
    for field in model._meta.concrete_fields
    if isinstance(field, NormalisedField) and field not in MAY_STAND_TWICE
]


def a_client(**columns):
    client = Client(**columns)
    client.save()
    return client


def found(*drafts, model=Client):
    return [(number, finding.code, finding.field) for number, finding in alone(find_conflicts(model, drafts))]


def name(text, **words):
    return Draft({"business_name": text, "unique_code": None}, **words)


@pytest.mark.parametrize(("model", "field"), FOLDED, ids=str)
def test_every_folded_text_is_judged(model, field):
    assert any(field in unique.columns and unique.field == field.of for unique in uniques_of(model))


@pytest.mark.parametrize("twin", ["Café", " CAFE\u0301\t", "cafÉ"])
def test_a_text_that_stands_is_taken_however_it_is_written(twin):
    a_client(business_name="Café")
    assert found(name(twin)) == [(0, "NotUnique", "business_name")]
    assert found(name("Cafe")) == []


def test_archived_records_keep_their_texts():
    a_client(business_name="Old", archive_date=clock.now())
    assert found(name("old")) == [(0, "NotUnique", "business_name")]


def test_within_the_drafts_the_first_one_holds():
    assert found(name("One"), name("two"), name("ONE"), name("one ")) == [
        (2, "NotUnique", "business_name"),
        (3, "NotUnique", "business_name"),
    ]


def test_a_record_is_not_its_own_twin():
    client, other = a_client(business_name="One"), a_client(business_name="Other")
    assert found(name("ONE", key=client.pk)) == []
    assert found(name("ONE", key=other.pk)) == [(0, "NotUnique", "business_name")]


def test_nulls_and_blanks_have_no_twins():
    a_client(business_name="One", unique_code=None)
    drafts = [
        Draft({"business_name": f"n{n}", "unique_code": code}) for n, code in enumerate((None, " ", None))
    ]
    assert found(*drafts) == []


def test_faulty_members_are_not_judged():
    a_client(business_name="One")
    assert found(Draft({"unique_code": None}, invalid={"business_name"})) == []


def test_columns_that_are_unique_together_are_judged_together():
    CustomField(name="Shirt size", applies_to="Staff").save()
    same = Draft({"name": "shirt SIZE", "applies_to": "Staff"})
    other = Draft({"name": "shirt SIZE", "applies_to": "Client"})
    assert found(same, other, model=CustomField) == [(0, "NotUnique", "name")]


def test_there_is_one_query_for_each_unique_text():
    drafts = [Draft({"business_name": f"n{n}", "unique_code": f"c{n}"}) for n in range(300)]
    with CaptureQueriesContext(connection) as queries:
        assert found(*drafts) == []
    # PostgreSQL is asked both in one trip.
    assert len(queries) == (1 if connection.vendor == "postgresql" else 2)
