"""One record and pages of records, read through ``JsonReader`` from the sample's tables."""

import json
from itertools import count

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base.declaration.schema import bind_resource
from apps.base.errors import NotFound
from apps.odata.query.options import parse_options
from apps.odata.read.reader import JsonReader, is_whole_table
from tests.odata.sample import JOBS, Job, JobResource

pytestmark = pytest.mark.usefixtures("stored_jobs")


class FirstRankResource(JobResource):
    def visible_to(self, caller):
        return Job.objects.filter(rank=1)


def reader(query="", entity_set=JOBS, item=False):
    rows = entity_set.resource.visible_to(None)
    return JsonReader(entity_set, rows, parse_options(query), item)


@pytest.mark.parametrize("query", ["", "$select=Code,Moment", "$expand=Owner,Lines", "$expand=Lines($top=1)"])
def test_a_record_says_alone_what_it_says_in_a_page(query):
    keys = Job.objects.order_by("-created", "-guid").values_list("pk", flat=True)
    rows = reader(query).page(100).records
    assert len(rows) == 60
    for key, row in zip(keys, rows, strict=True):
        assert json.loads(reader(query, item=True).record(key)[0]) == json.loads(row)


def test_a_record_that_a_caller_may_not_see_is_not_there():
    some = bind_resource(FirstRankResource)
    for job in Job.objects.all():
        if job.rank == 1:
            row, _ = reader(entity_set=some, item=True).record(job.pk)
            assert json.loads(row)["JobGuid"] == str(job.pk)
        else:
            with pytest.raises(NotFound):
                reader(entity_set=some, item=True).record(job.pk)


@pytest.mark.parametrize(
    "choose",
    [
        lambda rows: rows.filter(rank=1),
        lambda rows: rows.exclude(rank=1),
        lambda rows: rows.filter(lines__isnull=False),
        lambda rows: rows.none(),
        lambda rows: rows[:3],
        lambda rows: rows.filter(rank=1).union(rows.filter(rank=2)),
        lambda rows: rows.intersection(rows.filter(rank=2)),
        lambda rows: rows.extra(where=["rank = 1"]),
        lambda rows: rows.extra(tables=["odata_line"]),
    ],
)
def test_chosen_rows_are_not_taken_for_the_whole_table(choose):
    assert is_whole_table(Job.objects.all())
    assert not is_whole_table(choose(Job.objects.all()))


@pytest.mark.parametrize(
    "order", ["", "Moment", "Moment desc", "Created desc,Name", "date(Moment),Start", "Price"]
)
def test_pages_that_go_on_behind_each_other_hold_every_record_once(order):
    query = f"$orderby={order}" if order else ""
    whole = [json.loads(row)["JobGuid"] for row in reader(query).page(100).records]
    assert len(set(whole)) == 60
    walked, token = [], None
    for page_number in count():
        page = reader("&".join(filter(None, (query, token and f"$skiptoken={token}")))).page(7)
        walked += [json.loads(row)["JobGuid"] for row in page.records]
        token = page.next_token
        if token is None:
            break
        assert page_number < 60
    assert walked == whole


@pytest.mark.postgres("SQLite has the page's keys chosen in an inner query")
def test_rows_are_sorted_and_cut_before_they_are_rendered():
    with CaptureQueriesContext(connection) as captured:
        assert len(reader("$orderby=Size").page(3).records) == 3
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (VERBOSE, FORMAT JSON) " + captured.captured_queries[-1]["sql"])
        plan = cursor.fetchone()[0][0]["Plan"]
    sort = next(node for node in nodes(plan) if node["Node Type"] == "Sort")
    assert "SubPlan" in str(plan["Output"])
    assert not any("SubPlan" in str(node["Output"]) for node in nodes(sort))


def nodes(plan):
    """A node of an execution plan and all below it."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)
