"""Records that somebody changes at the same moment: each test fails without the lock that its call takes."""

import pytest
from django.test import Client

from apps.core import history
from apps.core.archive import archive
from apps.core.import_undo import UndoRefused, undo_changes
from apps.core.models import Change
from apps.people.models import Contact
from tests.core.conflict_forms import page_of, sides
from tests.people.records import a_contact, an_administrator, form_data, get_unrendered
from tests.races import call_during

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]


def test_a_record_is_archived_once():
    contacts = Contact.objects.filter(pk=a_contact().pk)
    assert call_during(*[lambda: archive(contacts)] * 2) == 0
    assert Change.objects.filter(kind="Archived").count() == 1


def change_name(contact):
    contact.first_name = "Eve"
    contact.save()


def test_an_import_whose_record_is_changed_meanwhile_is_not_undone():
    with history.as_author(history.Author("Import", request_id="an import")):
        contact = a_contact()
    imported = Change.objects.filter(request_id="an import")
    with pytest.raises(UndoRefused, match="Changed since the import"):
        call_during(lambda: change_name(contact), lambda: undo_changes(imported))


def test_who_saves_a_form_second_waits_and_sees_what_the_first_has_saved():
    contact, client = a_contact(), Client()
    client.force_login(an_administrator())
    data = form_data(get_unrendered(client, page_of(contact)), first_name="Minh")
    answer = call_during(lambda: change_name(contact), lambda: client.post(page_of(contact), data))
    assert sides(answer) == {"First name": ("Eve", "Minh", "theirs")}
