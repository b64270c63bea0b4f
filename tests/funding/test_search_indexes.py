"""Parts of numbers and references are found by an index of PostgreSQL."""

import pytest
from django.db import connection

from apps.funding.models import Claim, Invoice, ProviderInvoice
from apps.odata.query.search import search_condition
from records_site.service import service

pytestmark = [
    pytest.mark.postgres("SQLite reads all rows"),
    pytest.mark.django_db,
]


@pytest.mark.parametrize("model", [Claim, Invoice, ProviderInvoice])
def test_a_search_can_be_answered_by_an_index(model):
    found = model.objects.filter(search_condition(service.by_model[model], "00123")).order_by()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_indexscan = off")
        sql, params = found.query.sql_with_params()
        cursor.execute(f"EXPLAIN {sql}", params)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    for column in service.by_model[model].resource.search:
        assert f"{model._meta.db_table}_{column}_search" in plan
