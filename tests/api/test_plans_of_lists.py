"""Pages of claims and invoices are read from an index in their order."""

import pytest
from django.db import connection

from tests.api.caller import ok

LISTS = {
    "what changed since": (
        "modified",
        {"$filter": "ModifyDate gt 2026-11-01T00:00:00Z", "$orderby": "ModifyDate"},
    ),
    "those of an old month": ("entered", {"$filter": "StartDate le 2022-05-31"}),
}


@pytest.mark.postgres("SQLite has other plans")
@pytest.mark.parametrize("path", ["claim", "invoice"])
@pytest.mark.parametrize(("index", "query"), LISTS.values(), ids=LISTS)
def test_an_index_has_the_order_of_the_list_and_its_condition(api, path, index, query, statements):
    told = statements(lambda: ok(api.get(path, {**query, "$top": 100}, api_version="2.1")))
    (sql,) = [each for each in told if f'FROM "funding_{path}"' in each]
    with connection.cursor() as cursor:
        for other in ("seqscan", "bitmapscan", "sort"):
            cursor.execute(f"SET LOCAL enable_{other} = off")
        cursor.execute(f"EXPLAIN {sql}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert f"funding_{path}_{index}" in plan
    assert "Index Cond" in plan
    assert "Sort" not in plan
    assert "Filter" not in plan
