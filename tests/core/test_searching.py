"""The search of lists: words, numbers in any spelling and misspelt names, on the indexes of PostgreSQL."""

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.admin_base import COUNT_LIMIT, filters, lists
from apps.core.admin_base.searching import search_records
from apps.people.models import Contact
from tests.people.records import a_contact, an_administrator, get_unrendered

pytestmark = pytest.mark.both_engines("what is found is the database's search")


@pytest.fixture
def people(db):
    a_contact(first_name="Matilda", last_name="Walsh", phone1="(04) 1234-5678", scheme_number="430123456")
    a_contact(first_name="Mia", last_name="Clarke", primary_email="mia@example.org")
    a_contact(first_name="Omar", last_name="Chahine", home_phone="02 9000 0000")


@pytest.mark.parametrize(
    ("text", "last_names"),
    [
        ("Walsh, Matilda", ["Walsh"]),
        ("matilda wal", ["Walsh"]),
        ("0412 345 678", ["Walsh"]),
        ("+61 412 345 678", ["Walsh"]),
        ("430 123 456", ["Walsh"]),
        ("90000000", ["Chahine"]),
        ("mia@example", ["Clarke"]),
        ("Clrake", ["Clarke"]),
        ("Mattilda Wallsh", ["Walsh"]),
        ("a", ["Chahine", "Clarke", "Walsh"]),
        ("Featherstonehaugh", []),
        ("430 999 999", []),
        (" , ", ["Chahine", "Clarke", "Walsh"]),
    ],
)
def test_people_are_found_by_name_or_number_in_any_spelling(client, people, text, last_names):
    client.force_login(an_administrator())
    found = get_unrendered(client, "/admin/people/contact/", {"q": text}).context["cl"].result_list
    assert [each.last_name for each in found] == last_names


@pytest.mark.django_db
def test_every_list_answers_a_search_whether_or_not_it_offers_one(client):
    client.force_login(an_administrator())
    for model in admin.site._registry:
        name = f"{model._meta.app_label}/{model._meta.model_name}"
        assert client.get(f"/admin/{name}/", {"q": "Walsh 7"}).status_code in (200, 302, 403), name


@pytest.mark.parametrize(
    ("order", "last_names"),
    [({}, ["Walsh", "Walsham", "Walshe"]), ({"o": "-1"}, ["Walshe", "Walsham", "Walsh"])],
)
def test_a_searched_list_has_the_order_of_the_list(client, people, order, last_names):
    a_contact(first_name="Zoe", last_name="Walshe")
    a_contact(first_name="Zoe", last_name="Walsham")
    client.force_login(an_administrator())
    page = get_unrendered(client, "/admin/people/contact/", {"q": "walsh", **order})
    found = page.context["cl"].result_list
    assert [each.last_name for each in found] == last_names


@pytest.mark.django_db
@pytest.mark.postgres("SQLite reads all rows")
@pytest.mark.parametrize("text", ["Walsh, Matilda", "0412 345 678"])
def test_a_search_in_the_list_of_contacts_can_be_answered_by_indexes(people, text):
    page = admin.site.get_model_admin(Contact)
    searched = page.searched
    found = search_records(
        Contact.objects.order_by("last_name", "pk"), text, searched.lists, searched.numbers
    )
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        sql, params = found.query.sql_with_params()
        cursor.execute(f"EXPLAIN {sql} LIMIT 50", params)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert plan.count("Bitmap Index Scan") >= len(searched.numbers)
    assert "_by_name" not in plan  # its order is the list's, and would be read for matches from end to end


def test_a_list_is_counted_and_has_pages_to_the_limit(client, people, monkeypatch):
    client.force_login(an_administrator())
    assert COUNT_LIMIT == 10_000
    monkeypatch.setattr(admin.site.get_model_admin(Contact), "list_per_page", 1)
    for module in (filters, lists):
        monkeypatch.setattr(module, "COUNT_LIMIT", 2)
    page = client.get("/admin/people/contact/?p=3000")
    assert page.status_code == 200
    assert "There is no page 3,000." in page.content.decode()
    assert "2+ contacts" in page.content.decode()
    assert len(page.context["cl"].result_list) == 1


@pytest.mark.parametrize("query", ["", "&q=Ada", "&archived=current"])
def test_choices_of_filters_are_counted_in_short_lists_alone(client, people, monkeypatch, query):
    client.force_login(an_administrator())
    page = "/admin/people/contact/?_facets=True" + query
    assert b"Hide counts" in client.get(page).content
    for module in (filters, lists):
        monkeypatch.setattr(module, "COUNT_LIMIT", 2)
    with CaptureQueriesContext(connection) as statements:
        content = client.get(page).content
    assert b"Show counts" not in content
    assert b"Hide counts" not in content
    assert not [each for each in statements if "__c" in each["sql"]]


def test_a_page_has_the_records_that_follow_the_page_before(client, people, monkeypatch):
    client.force_login(an_administrator())
    contacts = admin.site.get_model_admin(Contact)
    whole = [row.pk for row in get_unrendered(client, "/admin/people/contact/").context["cl"].result_list]
    monkeypatch.setattr(contacts, "list_per_page", 2)
    shown = []
    for number in (1, 2):
        with CaptureQueriesContext(connection) as statements:
            page = get_unrendered(client, f"/admin/people/contact/?p={number}")
            shown += [row.pk for row in page.context["cl"].result_list]
        # What is joined to a record is read for those of the page alone.
        joined = [
            each["sql"] for each in statements if "JOIN" in each["sql"] and "people_contact" in each["sql"]
        ]
        assert all(" IN (" in sql for sql in joined)
    assert len(whole) > 2
    assert shown == whole[:4]
