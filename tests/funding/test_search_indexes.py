"""Parts of names, numbers and references are found by an index of PostgreSQL."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.db.models import QuerySet

from apps.funding.models import Claim, Invoice, ProviderInvoice
from apps.odata.query.binding import bind_filter
from apps.odata.query.parser import parse_expression
from apps.odata.query.search import search_condition
from apps.people.models import Client, Contact
from records_site.service import service

pytestmark = [
    pytest.mark.postgres("SQLite reads all rows"),
    pytest.mark.django_db,
    pytest.mark.parametrize("model", [Claim, Invoice, ProviderInvoice, Client, Contact]),
]


def plan_of(found):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_indexscan = off")
        sql, params = found.order_by().query.sql_with_params()
        cursor.execute(f"EXPLAIN {sql}", params)
        return "\n".join(line for (line,) in cursor.fetchall())


def assert_indexes_answer(found):
    plan = plan_of(found)
    for column in service.by_model[found.model].resource.search:
        assert f"{found.model._meta.db_table}_{column}_search" in plan


def test_a_search_can_be_answered_by_an_index(model):
    assert_indexes_answer(model.objects.filter(search_condition(service.by_model[model], "00123")))


def test_a_search_of_the_back_office_can_be_answered_by_an_index(model, rf, monkeypatch):
    monkeypatch.setattr(QuerySet, "count", lambda found: 1)  # of none, all records are compared
    page, request = admin.site.get_model_admin(model), rf.get("/")
    request.user = AnonymousUser()
    assert_indexes_answer(page.get_search_results(request, model.objects.all(), "T/00123")[0])


@pytest.mark.parametrize("condition", ["{} eq 'Abc 00123'", "contains({},'Bc')", "startswith({},'Abc')"])
def test_a_condition_on_a_searched_member_can_be_answered_by_an_index(model, condition):
    entity_set = service.by_model[model]
    properties = entity_set.type.readable_properties.items()
    searched = [name for name, prop in properties if prop.path in entity_set.resource.search]
    assert searched
    for name in searched:
        chosen = bind_filter(parse_expression(condition.format(name)), entity_set.type)
        assert "Seq Scan" not in plan_of(model.objects.filter(chosen)), name
