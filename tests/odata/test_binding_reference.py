"""The answers of the engine under test against a Python reading of OData's words."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.odata.query.binding import bind_filter
from apps.odata.query.ordering import sort_keys
from apps.odata.query.parser import parse_expression, parse_orderby
from apps.odata.read.paging import make_token, rows_after_token
from tests.odata import reference, sample, trees

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

JOBS = sample.JOBS.type
# Generating is what takes the time, and each example only reads.
examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@examples
@given(tree=trees.conditions)
def test_the_database_keeps_what_odata_keeps(stored_jobs, tree):
    condition = bind_filter(parse_expression(trees.spelled(tree)), JOBS)
    found = set(sample.Job.objects.filter(condition).values_list("guid", flat=True))
    assert found == reference.kept(tree, stored_jobs)


@examples
@given(terms=st.lists(trees.sort_terms, min_size=1, max_size=3))
def test_the_database_orders_as_odata_orders(stored_jobs, terms):
    keys = sort_keys(JOBS, parse_orderby(",".join(map(trees.spelled, terms))))
    rows = sample.Job.objects.order_by(*(key.order_by for key in keys))
    assert list(rows.values_list("guid", flat=True)) == reference.in_order(terms, stored_jobs)


@examples
@given(terms=st.lists(trees.sort_terms, min_size=1, max_size=3), size=st.integers(3, 25))
def test_pages_in_any_order_show_each_row_once(stored_jobs, terms, size):
    keys = sort_keys(JOBS, parse_orderby(",".join(map(trees.spelled, terms))))
    ordered = sample.Job.objects.order_by(*(key.order_by for key in keys))
    seen, rows = [], ordered
    while page := list(rows.values_list("guid", *(key.value for key in keys))[:size]):
        seen += [guid for guid, *_ in page]
        token = make_token("Job", keys, page[-1][1:])
        rows = ordered.filter(rows_after_token("Job", keys, token))
        assert len(seen) <= len(stored_jobs)
    assert seen == reference.in_order(terms, stored_jobs)
