"""A letter with its marks is stored as one character, however it comes in, and found in both spellings."""

import time
import tracemalloc
import unicodedata
from io import StringIO

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection

from apps.base.texts import MOST_MARKS, composed
from apps.core.database.composed_texts import compose_texts_of_app
from apps.documents.form_files import document_draft, store_form_file
from apps.odata.query.options import PIECE, unescaped
from apps.people.models import Client, Contact
from tests.api.caller import ok
from tests.people.builders import a_client, a_contact, a_contact_body
from tests.people.records import an_administrator

pytestmark = pytest.mark.django_db

COMPOSED, APART = "Zoë Brontë", "Zoe\u0308 Bronte\u0308"
QUERIES = (
    lambda name: {"$filter": f"LastName eq '{name}'"},
    lambda name: {"$filter": f"contains(LastName,'{name}')"},
    lambda name: {"$filter": f"LastName in ('{name}')"},
    lambda name: {"LastName": name},
    lambda name: {"LastName__startswith": name.split()[0]},
    lambda name: {"$search": f'"{name}"'},
    lambda name: {"$filter": "LastName eq @name", "@name": f"'{name}'"},
)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("stored", [COMPOSED, APART], ids=["composed", "apart"])
def test_a_name_is_found_in_both_spellings(api, query, stored):
    made = ok(api.post("contact", a_contact_body(LastName=stored)), 201)
    assert made["LastName"] == COMPOSED
    for name in (COMPOSED, APART):
        assert [each["LastName"] for each in api.all("contact", query(name))] == [COMPOSED], name


def test_a_change_is_composed_and_its_length_is_that_of_the_composed_text(api):
    contact = f"contact({a_contact().pk})"
    changed = ok(api.patch(contact, {"LastName": "e\u0301" * 90}, api_version="2.1", If_Match="*"))
    assert changed["LastName"] == "é" * 90


def test_the_back_office_stores_and_finds_the_composed_text(client):
    client.force_login(an_administrator())
    answer = client.post("/admin/people/client/add/", {"business_name": APART, "country": APART})
    assert answer.status_code == 302, answer.content.decode()[:2000]
    stored = Client.objects.get()
    assert (stored.business_name, stored.country) == (COMPOSED, COMPOSED)
    for name in (COMPOSED, APART):
        page = client.get("/admin/people/client/", {"q": name})
        assert list(page.context["cl"].result_list) == [stored]


def test_an_import_stores_the_composed_text_and_meets_it_again(tmp_path):
    path = tmp_path / "clients.csv"
    path.write_text(f"BusinessName,UniqueCode\n{APART},{APART}\n")
    for _ in range(2):
        call_command("import_records", "client", path, stdout=StringIO())
    client = Client.objects.get()
    assert (client.business_name, client.unique_code) == (COMPOSED, COMPOSED)


def test_the_name_of_a_file_is_composed():
    stored = store_form_file(SimpleUploadedFile(f"{APART}.txt", b"text"))
    draft = document_draft(stored)
    assert draft.file_name == draft.name == f"{COMPOSED}.txt"


def test_texts_that_were_stored_apart_are_composed_by_the_migration():
    client, other = a_client(), "Ängelholm 🚀"
    Client.objects.filter(pk=client.pk).update(business_name=APART, country=APART, city=other)
    contact = a_contact()
    Contact.objects.filter(pk=contact.pk).update(first_name=APART)
    compose_texts_of_app("people", apps, connection.SchemaEditorClass(connection, atomic=False))
    client.refresh_from_db()
    contact.refresh_from_db()
    assert (client.business_name, client.country, client.city) == (COMPOSED, COMPOSED, other)
    assert contact.first_name == COMPOSED


#: Marks behind one letter, in the order that takes longest to put right: eight seconds.
ENDLESS = "e" + "\u0300\u0316" * 20_000


@pytest.fixture
def takes_no_time():
    began = time.process_time()
    yield
    assert time.process_time() - began < 3


@pytest.mark.parametrize("text", [ENDLESS, "\u0f73" * 40_000, ENDLESS[1:]], ids=["letter", "double", "alone"])
def test_endless_marks_are_left_as_they_are(takes_no_time, text):
    assert composed(text) == text


@pytest.mark.parametrize("text", [APART, "e" + "\u0300\u0316" * (MOST_MARKS // 2), f"{APART} " * 20])
def test_as_many_marks_as_letters_have_are_composed(text):
    assert composed(text) == unicodedata.normalize("NFC", text) != text


def test_endless_marks_in_a_request_cost_no_time(api, takes_no_time):
    query = f"$filter=LastName eq '{ENDLESS}'".encode()
    answer = api.post("contact/$query", query, content_type="text/plain")
    assert answer.status_code == 400
    answer = api.post("contact", a_contact_body(LastName=ENDLESS))
    assert answer.json()["error"]["details"][0]["code"] == "TooLong"


def test_endless_marks_for_a_login_cost_no_time(client, takes_no_time):
    answer = client.post("/admin/login/", {"username": ENDLESS, "password": "x"})
    assert answer.status_code == 200


def test_a_long_query_of_escapes_takes_no_memory():
    raw = b"%41" * 1_000_000
    tracemalloc.start()
    text = unescaped(raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text == b"A" * 1_000_000
    assert peak < 20_000_000


@pytest.mark.parametrize("before", range(4))
def test_no_escape_is_cut_in_two(before):
    raw = b"x" * (PIECE - before) + b"%C3%A9" * 3
    assert unescaped(raw) == b"x" * (PIECE - before) + "ééé".encode()
