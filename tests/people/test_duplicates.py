"""Contacts that may be the same person: forms and imports warn, and the interface stores what comes."""

import datetime as dt

import pytest

from apps.base import clock
from apps.base.drafts import Draft
from apps.people.duplicates import duplicate_warnings, find_duplicates, load_candidates, marks_of
from apps.people.models import Contact
from tests.api.caller import Caller, an_application
from tests.people.records import a_contact, form_data, get_unrendered

pytestmark = pytest.mark.django_db
ADD = "/admin/people/contact/add/"
BORN = dt.date(1990, 5, 17)


def a_draft(key=None, **values):
    return Draft(values, given=values, key=key)


@pytest.fixture
def mia():
    return a_contact(
        first_name="Mia",
        last_name="O'Neill",
        scheme_number="430123456",
        birthday=BORN,
        phone1="0400 123 456",
        secondary_email="Mia@example.org",
    )


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"last_name": "Silva", "scheme_number": "430 123 456"}, "scheme_number"),
        ({"first_name": "MIA", "last_name": "o'neill", "birthday": BORN}, "birthday"),
        ({"home_phone": "+61 400 123 456"}, "phone1"),
        ({"primary_email": "mia@EXAMPLE.org"}, "primary_email"),
        ({}, None),
        ({"scheme_number": "430123457", "birthday": dt.date(1990, 5, 18), "phone1": "0400 123 457"}, None),
        ({"first_name": "Max", "birthday": BORN, "phone1": "0400 123 456"}, None),
    ],
)
def test_a_person_is_recognised_by_number_or_by_name_and_one_thing_more(mia, values, field):
    found = list(find_duplicates([a_draft(**{"first_name": "Mia", "last_name": "O'Neill", **values})]))
    assert [(each.contact, each.field) for each in found] == ([(mia, field)] if field else [])


def test_a_record_is_no_duplicate_of_itself_and_its_other_columns_do_not_matter(mia):
    same = {"first_name": "Mia", "last_name": "O'Neill", "birthday": BORN}
    assert list(find_duplicates([a_draft(key=mia.pk, **same)])) == []
    a_contact(**same)
    assert len(list(find_duplicates([a_draft(key=mia.pk, **same)]))) == 1
    draft = a_draft(key=mia.pk, **same)
    draft.given = {"hobbies_interests"}
    assert list(find_duplicates([draft])) == []


def test_many_are_compared_by_one_statement_and_with_each_other(mia, django_assert_num_queries):
    person = {"first_name": "Leo", "last_name": "Silva", "birthday": BORN}
    drafts = [a_draft(**person), a_draft(**person), a_draft(first_name="Zoe", scheme_number="430123456")]
    Contact.objects.filter(pk=mia.pk).update(archive_date=clock.now())
    with django_assert_num_queries(1):
        warnings = [(number, issue.message) for number, issue in duplicate_warnings(drafts)]
    advice = "Make sure that this is somebody else, or use that record."
    assert warnings == [
        (1, f"An earlier record has the same name and birthday. {advice}"),
        (2, f"Mia O'Neill (430123456, archived) has the same scheme number. {advice}"),
    ]


def test_the_form_links_the_other_record_before_anything_is_saved(client, ada, mia):
    data = form_data(get_unrendered(client, ADD), first_name="Mia", last_name="O'Neill", phone1="0400123456")
    answer = client.post(ADD, data)
    assert Contact.objects.count() == 1
    page = answer.content.decode()
    link = (
        f'<a class="rs-link" href="/admin/people/contact/{mia.pk}/change/">Mia O&#x27;Neill (430123456)</a>'
    )
    assert f"{link} has the same name and phone number." in page
    (warning,) = answer.context["warnings"]
    assert (warning["label"], answer.status_code) == ("Possible duplicate", 200)
    confirmed = {"_save_anyway": "1", "confirmed": [warning["token"]]}
    assert client.post(ADD, {**data, "phone1": "", "birthday": "1990-05-17"} | confirmed).status_code == 200
    assert client.post(ADD, data | confirmed).status_code == 302
    assert Contact.objects.count() == 2


def test_the_interface_stores_what_comes(mia):
    body = {"FirstName": "Mia", "LastName": "O'Neill", "SchemeNumber": "430123456"}
    assert Caller(an_application()).post("contact", {"value": [body]}).status_code == 201


def test_the_name_of_one_draft_and_the_birthday_of_another_bring_no_record(mia):
    other_day = {"first_name": "Mia", "last_name": "O'Neill", "birthday": dt.date(1991, 1, 2)}
    other_name = {"first_name": "Zoe", "last_name": "Ng", "birthday": BORN}
    assert load_candidates([*marks_of(other_day.get), *marks_of(other_name.get)], Contact.objects.all()) == []
    both = {**other_day, "birthday": BORN}
    assert [row["pk"] for row in load_candidates(marks_of(both.get), Contact.objects.all())] == [mia.pk]
