"""The $skiptoken: what it carries, and which ones are refused."""

import datetime as dt
import re
import uuid
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.core.signing import Signer
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from apps.odata.errors import BadQuery
from apps.odata.query.ast import ValueKind
from apps.odata.query.ordering import sort_keys
from apps.odata.query.parser import parse_orderby
from apps.odata.read.paging import DECODERS, ENCODERS, convert_values, make_token, rows_after_token
from tests.odata import sample

JOBS = sample.JOBS.type
GUID = uuid.UUID(int=5)


def keys_of(text):
    return sort_keys(JOBS, parse_orderby(text))


def token(text="Code", values=("a", GUID)):
    return make_token("Job", keys_of(text), values)


def refusal(given, text="Code", entity_set="Job"):
    with pytest.raises(BadQuery) as refused:
        rows_after_token(entity_set, keys_of(text), given)
    return refused.value


def test_an_order_has_sixteen_terms_at_most():
    assert keys_of(",".join(["Code"] * 16))
    with pytest.raises(BadQuery, match="takes at most 16 terms"):
        keys_of(",".join(["Code"] * 17))


VALUES = [
    (ValueKind.STRING, st.text(st.characters(exclude_categories=["Cs"]))),
    (ValueKind.BOOLEAN, st.booleans()),
    (ValueKind.INTEGER, st.integers()),
    (ValueKind.DECIMAL, st.decimals(allow_nan=False, allow_infinity=False)),
    (ValueKind.GUID, st.uuids()),
    (ValueKind.DATE, st.dates()),
    (ValueKind.DATETIME, st.datetimes(timezones=st.just(dt.UTC))),
    (ValueKind.TIME, st.times()),
]


@given(pair=st.one_of(*(st.tuples(st.just(kind), st.none() | values) for kind, values in VALUES)))
def test_a_token_carries_every_value_exactly(pair):
    kind, value = pair
    signer = Signer()
    keys = [SimpleNamespace(kind=kind)]
    token_values = signer.unsign_object(signer.sign_object(convert_values(keys, [value], ENCODERS)))
    (carried,) = convert_values(keys, token_values, DECODERS)
    assert carried == value
    assert str(carried) == str(value)


def test_a_token_can_stand_in_an_address_as_it_is():
    assert re.fullmatch(r"[A-Za-z0-9._-]+", token(values=("é/+&=?#% 日本", GUID)))


@pytest.mark.parametrize(
    "forged",
    ["", "x", "a.b", "é.é", ".", "..", "eyJhIjoxfQ.x", Signer().sign_object(["a"]), "\x00", "A" * 10_000],
)
def test_a_token_of_another_maker_is_refused(forged):
    refused = refusal(forged)
    assert (refused.status, refused.code, refused.target) == (400, "InvalidSkiptoken", "$skiptoken")
    assert "none that this service gave" in refused.message


def test_a_token_that_was_changed_is_refused():
    good = token()
    for at in range(len(good)):
        other = "A" if good[at] != "A" else "B"
        refusal(good[:at] + other + good[at + 1 :])


@pytest.mark.parametrize("text", ["Code desc", "Name", "Code,Rank", "JobGuid"])
def test_a_token_of_another_order_is_refused(text):
    assert "another order or entity set" in refusal(token("Code"), text).message


def test_a_token_of_another_entity_set_is_refused():
    assert "another order or entity set" in refusal(token(), entity_set="Client").message


def page_sql(text, values):
    rows = sample.Job.objects.filter(rows_after_token("Job", keys_of(text), token(text, values)))
    with CaptureQueriesContext(connection) as asked:
        list(rows.values_list("pk"))
    return asked[0]["sql"].partition(" WHERE ")[2]


@pytest.mark.usefixtures("stored_jobs")
def test_keys_of_one_direction_compare_as_one_row():
    assert re.match(r"\(\(.*code.*, .*guid.*\) > \('?a", page_sql("Code", ("a", GUID)))
    assert ") < (" in page_sql("Total desc", (Decimal("8.10"), GUID))
    assert ") > (" in page_sql("Name", ("a", GUID))


@pytest.mark.usefixtures("stored_jobs")
def test_keys_of_two_directions_compare_one_by_one():
    sql = page_sql("Rank,Code desc", (1, "a", GUID))
    assert re.match(r"\(\(.*rank.* >= 1\) AND \(", sql)
    assert " OR " in sql
    assert "NULL" not in sql


@pytest.mark.usefixtures("stored_jobs")
def test_nothing_comes_after_the_last_null_of_a_falling_order_but_its_equals():
    assert "1 = 0" in page_sql("Name desc", (None, GUID))
