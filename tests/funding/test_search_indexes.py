"""Parts of names, numbers and references are found by an index of PostgreSQL."""

import pytest
from django.contrib import admin
from django.db import connection
from django.db.models import QuerySet

from apps.funding.models import Claim, Invoice, ProviderInvoice
from apps.odata.query.search import search_condition
from apps.people.models import Client, Contact
from records_site.service import service

pytestmark = [
    pytest.mark.postgres("SQLite reads all rows"),
    pytest.mark.django_db,
    pytest.mark.parametrize("model", [Claim, Invoice, ProviderInvoice, Client, Contact]),
]


def assert_indexes_answer(found):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_indexscan = off")
        sql, params = found.order_by().query.sql_with_params()
        cursor.execute(f"EXPLAIN {sql}", params)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    for column in service.by_model[found.model].resource.search:
        assert f"{found.model._meta.db_table}_{column}_search" in plan


def test_a_search_can_be_answered_by_an_index(model):
    assert_indexes_answer(model.objects.filter(search_condition(service.by_model[model], "00123")))


def test_a_search_of_the_back_office_can_be_answered_by_an_index(model, rf, monkeypatch):
    monkeypatch.setattr(QuerySet, "count", lambda found: 1)  # of none, all records are compared
    page = admin.site.get_model_admin(model)
    assert_indexes_answer(page.get_search_results(rf.get("/"), model.objects.all(), "T/00123")[0])
