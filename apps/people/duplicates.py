"""Contacts that may be the same person as another, for the warnings of forms and imports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.db.models import Q

from apps.core.models import normalised
from apps.odata.write.drafts import Draft, Issue
from apps.people.models import FULL_NAME, Contact

PHONES = ("phone1", "phone2", "home_phone")
EMAILS = ("primary_email", "secondary_email")
#: The columns by which people are compared.
COMPARED = ("scheme_number", "first_name", "last_name", "birthday", *PHONES, *EMAILS)
#: The columns that are read of other contacts.
LOADED = ("pk", *COMPARED, "archive_date")
#: The digits of a phone number beyond the trunk zero or the country code.
PHONE_DIGITS = 9
#: The warning; first comes the other contact, then what both have.
MESSAGE = "{} has {}. Make sure that this is somebody else, or use that record."


#: What two people may share: the column at which the warning stands, words for it, and the value.
Mark = tuple[str, str, Any]


@dataclass(frozen=True, slots=True)
class ComparedPerson:
    """What people are compared by: two who share one of the marks are likely to be one person.

    Texts are normalised; of phone numbers a mark has the digits that all spellings share.
    """

    scheme_number: str | None
    full_name: str
    marks: Sequence[Mark]

    @classmethod
    def of(cls, value_of: Callable[[str], Any]) -> ComparedPerson:
        """The person whose columns have these values; a draft may lack some, or could not read them."""
        values = {name: value_of(name) for name in COMPARED}
        number = "".join((values["scheme_number"] or "").split()) or None
        name = normalised(f"{values['first_name'] or ''} {values['last_name'] or ''}") or ""
        marks: list[Mark] = [("scheme_number", "the same scheme number", number)] if number else []
        if name and values["birthday"] is not None:
            marks.append(("birthday", "the same name and birthday", (name, values["birthday"])))
        phones = (re.sub(r"\D", "", values[each]) for each in PHONES if name and values[each])
        for digits in phones:
            if len(digits) >= PHONE_DIGITS:
                marks.append(("phone1", "the same name and phone number", (name, digits[-PHONE_DIGITS:])))
        for email in (normalised(values[each]) for each in EMAILS if name):
            if email:
                marks.append(("primary_email", "the same name and email", (name, email)))
        return cls(number, name, marks)


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A contact that may be the same person as a draft; ``None``: an earlier draft of the same call may be.

    ``number``: of the draft. ``contact`` has the columns ``LOADED`` only. ``shared`` says what both have,
    ``field`` is the column for it.
    """

    number: int
    contact: Contact | None
    field: str
    shared: str


def find_duplicates(drafts: Sequence[Draft]) -> Iterator[Duplicate]:
    """At most one for each draft; one query, however many drafts.

    Drafts of existing contacts are compared when they give any of the compared columns.
    """
    compared = [
        (number, draft, ComparedPerson.of(draft.get))
        for number, draft in enumerate(drafts)
        if draft.key is None or not draft.given.isdisjoint(COMPARED)
    ]
    # By mark, since a name alone may be that of thousands.
    candidates: dict[Mark, list[dict[str, Any] | None]] = {
        mark: [] for _, _, person in compared for mark in person.marks
    }
    for row in load_candidates([person for _, _, person in compared]):
        for mark in ComparedPerson.of(row.get).marks:
            if mark in candidates:
                candidates[mark].append(row)
    for number, draft, person in compared:
        shared = (
            Duplicate(number, None if row is None else Contact(**row), *mark[:2])
            for mark in person.marks
            for row in candidates[mark]
            if row is None or row["pk"] != draft.key
        )
        yield from islice(shared, 1)
        if draft.key is None:
            for mark in person.marks:
                candidates[mark].append(None)


def load_candidates(people: Sequence[ComparedPerson]) -> Iterable[dict[str, Any]]:
    """The columns of contacts with the scheme number or name of any of the people, archived ones included."""
    numbers = {person.scheme_number for person in people} - {None}
    names = {person.full_name for person in people} - {""}
    if not numbers and not names:
        return []
    contacts = Contact.objects.alias(lower_name=FULL_NAME)
    same = Q(scheme_number__in=numbers) | Q(lower_name__in=names)
    return contacts.filter(same).order_by("creation_date", "pk").values(*LOADED)


def duplicate_warnings(drafts: Sequence[Draft]) -> Iterator[tuple[int, Issue]]:
    """``PossibleDuplicate`` for each draft that may be of a person who is there already."""
    for each in find_duplicates(drafts):
        named = "An earlier record" if each.contact is None else describe(each.contact)
        yield each.number, Issue("PossibleDuplicate", each.field, MESSAGE.format(named, each.shared))


def describe(contact: Contact) -> str:
    """``Mia Nguyen (430123456, archived)``."""
    details = [contact.scheme_number, "archived" if contact.is_archived else None]
    known = ", ".join(filter(None, details))
    return f"{contact} ({known})" if known else str(contact)
