"""Conditions on members that are searched distinguish letters, also where the index is of small letters."""

import pytest

from apps.odata.query.binding import bind_filter
from apps.odata.query.parser import parse_expression
from apps.people.models import Contact
from records_site.service import service
from tests.people.records import a_contact

NAMES = [
    "Nguyen",
    "NGUYEN",
    "nguyen",
    "ΟΔΟΣ",
    "οδος",
    "οδοσ",
    "ΟΔΟΣΑ",
    "İpek",
    "ipek",
    "I",
    "ı",
    "Straße",
    "STRASSE",
]
NAMES += ["Ångström", "100%_", "100x_", "a\\b", "O'Hara"]
CONDITIONS = {
    "{} eq {}": lambda name, text: name == text,
    "{} ne {}": lambda name, text: name != text,
    "not ({} eq {})": lambda name, text: name != text,
    "contains({},{})": lambda name, text: text in name,
    "startswith({},{})": lambda name, text: name.startswith(text),
    "not startswith({},{})": lambda name, text: not name.startswith(text),
}


@pytest.mark.django_db
@pytest.mark.parametrize("condition", CONDITIONS)
def test_letters_are_distinguished(condition):
    for name in NAMES:
        a_contact(last_name=name)
    type_ = service.by_model[Contact].type
    for text in {part for name in NAMES for part in (name, name[:3], name[1:], name[-1:]) if part}:
        literal = "'" + text.replace("'", "''") + "'"
        chosen = bind_filter(parse_expression(condition.format("LastName", literal)), type_)
        found = Contact.objects.filter(chosen).values_list("last_name", flat=True)
        assert sorted(found) == sorted(name for name in NAMES if CONDITIONS[condition](name, text)), text
