"""Two people change one record in the back office: the second sees both sides and chooses for each field."""

import datetime as dt

import pytest

from apps.base import clock
from apps.core import history
from apps.core.history import Author
from apps.core.models import Change
from apps.people.choices import AnswerKind, AppliesTo
from apps.people.models import CustomField, Role
from tests.core.conflict_forms import page_of, sent_again, sides
from tests.people.records import a_client, a_contact, a_role, a_staff_member, form_data, get_unrendered

pytestmark = [pytest.mark.django_db, pytest.mark.both_engines("somebody else writes meanwhile")]


def saved_by_cora(record, **columns):
    """Somebody else changes the record."""
    clock.reset_now()
    cora = a_staff_member(first_name="Cora", last_name="Smith")
    with history.as_author(Author(channel="Back office", staff_id=cora.pk)):
        for name, value in columns.items():
            setattr(record, name, value)
        record.save()
    clock.reset_now()


def test_the_second_sees_what_differs_and_saves_a_choice_a_field(client, ada):
    record = a_contact(first_name="Mia", last_name="Nguyen", partner_first_name="Owner")
    mine = {"first_name": "Minh", "partner_first_name": "Partner"}
    data = form_data(get_unrendered(client, page_of(record)), **mine)
    saved_by_cora(record, last_name="Tran", partner_first_name="Director")
    answer = client.post(page_of(record), data)
    text = answer.content.decode()
    assert answer.status_code == 200
    assert "Cora Smith changed this record" in text
    assert "Choose what to keep" in text
    assert sides(answer) == {
        "First name": ("Mia", "Minh", "mine"),
        "Last name": ("Tran", "Nguyen", "theirs"),
        "Partner's first name": ("Director", "Partner", "theirs"),
    }
    record.refresh_from_db()
    assert (record.first_name, record.last_name) == ("Mia", "Tran")
    again = sent_again(data, answer, partner_first_name="mine")
    assert client.post(page_of(record), again).status_code == 302
    record.refresh_from_db()
    assert (record.first_name, record.last_name, record.partner_first_name) == ("Minh", "Tran", "Partner")
    last = Change.objects.filter(record_key=str(record.pk)).first()
    assert (last.staff_id, set(last.differences)) == (ada.pk, {"first_name", "partner_first_name"})


def test_what_somebody_saved_is_kept_also_when_the_clock_was_put_back(client, ada):
    record = a_contact(first_name="Mia", last_name="Nguyen")
    data = form_data(get_unrendered(client, page_of(record)), first_name="Minh")
    with clock.set_to(record.modify_date - dt.timedelta(minutes=5)):
        saved_by_cora(record, last_name="Tran")
    answer = client.post(page_of(record), data)
    assert "Cora Smith changed this record" in answer.content.decode()
    assert sides(answer) == {
        "First name": ("Mia", "Minh", "mine"),
        "Last name": ("Tran", "Nguyen", "theirs"),
    }


def test_a_third_person_between_the_choice_and_the_save_is_seen_too(client, ada):
    record = a_client(business_name="First", business_phone="a")
    data = form_data(get_unrendered(client, page_of(record)), business_name="Mine")
    saved_by_cora(record, business_phone="b")
    answer = client.post(page_of(record), data)
    saved_by_cora(record, business_name="Third")
    again = client.post(page_of(record), sent_again(data, answer))
    assert again.status_code == 200
    kept = {label: keep for label, (_, _, keep) in sides(again).items()}
    assert kept == {"Business name": "theirs", "Business phone": "theirs"}
    assert client.post(page_of(record), sent_again(data, again)).status_code == 302
    record.refresh_from_db()
    assert (record.business_name, record.business_phone) == ("Third", "b")


def test_a_choice_stays_while_something_else_is_to_be_fixed(client, ada):
    record = a_contact(first_name="Mia", last_name="Nguyen")
    data = form_data(get_unrendered(client, page_of(record)), primary_email="nobody")
    saved_by_cora(record, last_name="Tran")
    answer = client.post(page_of(record), data)
    again = client.post(page_of(record), sent_again(data, answer))
    assert again.status_code == 200
    assert sides(again)["Last name"] == ("Tran", "Nguyen", "theirs")
    assert 'name="keep_last_name"' in again.content.decode()
    fixed = {**sent_again(data, again), "primary_email": "mia@example.org"}
    assert client.post(page_of(record), fixed).status_code == 302
    record.refresh_from_db()
    assert (record.last_name, record.primary_email) == ("Tran", "mia@example.org")


def test_custom_fields_and_lists_are_chosen_too(client, ada):
    shared = {"applies_to": AppliesTo.CONTACT, "options": ""}
    pets = CustomField.objects.create(name="Pets", kind=AnswerKind.TEXT, **shared)
    record = a_contact(first_name="Mia", last_name="Nguyen")
    name = f"custom_{pets.pk.hex}"
    opened = form_data(get_unrendered(client, page_of(record)))
    clock.reset_now()
    assert client.post(page_of(record), {**opened, name: "A cat"}).status_code == 302
    clock.reset_now()
    answer = client.post(page_of(record), {**opened, name: "A dog"})
    assert sides(answer) == {"Pets": ("A cat", "A dog", "theirs")}
    assert client.post(page_of(record), sent_again({**opened, name: "A dog"}, answer)).status_code == 302
    assert get_unrendered(client, page_of(record)).context["adminform"].form[name].value() == "A cat"

    role = a_role("people.view_client", name="Reception")
    opened = form_data(get_unrendered(client, page_of(role)))
    clock.reset_now()
    both = [*opened["permissions"], a_role("people.view_staff").permissions.get().pk]
    assert client.post(page_of(role), {**opened, "permissions": both}).status_code == 302
    clock.reset_now()
    answer = client.post(page_of(role), {**opened, "permissions": []})
    (theirs, mine, keep) = sides(answer)["Permissions"]
    assert (theirs.count(","), mine, keep) == (1, "Nothing more", "theirs")
    assert client.post(page_of(role), sent_again(opened, answer)).status_code == 302
    assert Role.objects.get(pk=role.pk).permissions.count() == 2
