"""Contacts that may be the same person as another, for the warnings of forms and imports."""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from django.db.models import Q

from apps.core.models import normalised
from apps.odata.write.drafts import Draft, Issue
from apps.people.models import FULL_NAME, Contact

PHONES = ("phone1", "phone2", "home_phone")
EMAILS = ("primary_email", "secondary_email")
#: The columns by which people are compared.
COMPARED = ("scheme_number", "first_name", "last_name", "birthday", *PHONES, *EMAILS)
#: The digits of a phone number beyond the trunk zero or the country code.
PHONE_DIGITS = 9
#: The warning; first comes the other contact, then what both have.
MESSAGE = "{} has {}. Make sure that this is somebody else, or use that record."


@dataclass(frozen=True, slots=True)
class ComparedPerson:
    """What people are compared by: texts normalised, of phone numbers the digits that all spellings share."""

    scheme_number: str | None
    full_name: str
    birthday: dt.date | None
    phones: frozenset[str]
    emails: frozenset[str]

    @classmethod
    def of(cls, record: Contact | Draft) -> ComparedPerson:
        # A draft may lack a column, or could not read it.
        value_of = record.get if isinstance(record, Draft) else partial(getattr, record)
        values = {name: value_of(name) for name in COMPARED}
        digits = (re.sub(r"\D", "", values[name] or "") for name in PHONES)
        return cls(
            "".join((values["scheme_number"] or "").split()) or None,
            normalised(f"{values['first_name'] or ''} {values['last_name'] or ''}") or "",
            values["birthday"],
            frozenset(each[-PHONE_DIGITS:] for each in digits if len(each) >= PHONE_DIGITS),
            frozenset(normalised(values[name]) or "" for name in EMAILS) - {""},
        )

    def shared_with(self, other: ComparedPerson) -> tuple[str, str] | None:
        """A column and words for what makes both likely to be one person; ``None`` for two people."""
        if self.scheme_number is not None and self.scheme_number == other.scheme_number:
            return "scheme_number", "the same scheme number"
        if not self.full_name or self.full_name != other.full_name:
            return None
        if self.birthday is not None and self.birthday == other.birthday:
            return "birthday", "the same name and birthday"
        if self.phones & other.phones:
            return "phone1", "the same name and phone number"
        return ("primary_email", "the same name and email") if self.emails & other.emails else None


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A contact that may be the same person as a draft; ``None``: an earlier draft of the same call may be.

    ``number``: of the draft. ``shared`` says what both have, ``field`` is the column for it.
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
        (number, draft, ComparedPerson.of(draft))
        for number, draft in enumerate(drafts)
        if draft.key is None or not draft.given.isdisjoint(COMPARED)
    ]
    candidates: dict[str, list[tuple[Contact | None, ComparedPerson]]] = defaultdict(list)
    for contact in load_candidates([person for _, _, person in compared]):
        add_candidate(candidates, contact, ComparedPerson.of(contact))
    for number, draft, person in compared:
        for other, same in (*candidates[person.scheme_number or ""], *candidates[person.full_name]):
            shared = person.shared_with(same)
            if shared is not None and (other is None or other.pk != draft.key):
                yield Duplicate(number, other, *shared)
                break
        if draft.key is None:
            add_candidate(candidates, None, person)


def add_candidate(
    candidates: dict[str, list[tuple[Contact | None, ComparedPerson]]],
    contact: Contact | None,
    person: ComparedPerson,
) -> None:
    for key in {person.scheme_number, person.full_name} - {None, ""}:
        candidates[str(key)].append((contact, person))


def load_candidates(people: Sequence[ComparedPerson]) -> Sequence[Contact]:
    """The contacts with the scheme number or the name of any of the people, archived ones included."""
    numbers = {person.scheme_number for person in people} - {None}
    names = {person.full_name for person in people} - {""}
    if not numbers and not names:
        return []
    contacts = Contact.objects.alias(lower_name=FULL_NAME)
    same = Q(scheme_number__in=numbers) | Q(lower_name__in=names)
    return list(contacts.filter(same).order_by("creation_date", "pk").only(*COMPARED, "archive_date"))


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
