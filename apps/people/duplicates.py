"""Contacts that may be the same person as another, for the warnings of forms and imports."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from django.db.models import CharField, F, Func, Q, QuerySet, Value
from django.db.models.functions import Lower, Right

from apps.base.batched_queries import AnyOf, AnyRowOf
from apps.base.drafts import Draft, Issue
from apps.core.models import normalised
from apps.people.models import FULL_NAME, Contact

PHONES = ("phone1", "phone2", "home_phone")
EMAILS = ("primary_email", "secondary_email")
#: The columns by which people are compared.
COMPARED = ("scheme_number", "first_name", "last_name", "birthday", *PHONES, *EMAILS)
#: The columns that are read of other contacts.
LOADED = ("pk", *COMPARED, "archive_date", "creation_date", "merged_into_id")
NOT_DIGITS = re.compile(r"\D")
ALL_CONTACTS = Contact.objects.all()
#: The digits of a phone number beyond the trunk zero or the country code.
PHONE_DIGITS = 9
#: The warning; first comes the other contact, then what both have.
MESSAGE = "{} has {}. Make sure that this is somebody else, or use that record."

#: What two people may share: the column at which the warning stands, words for it, and the value. Beside the
#: value stands the name that they must share as well; a scheme number is enough without.
Mark = tuple[str, str, tuple[str, object]]


def marks_of(value_of: Callable[[str], Any]) -> list[Mark]:
    """The marks of the person whose columns have these values: two who share one are likely to be the same.

    A draft may lack some values, or could not read them. Texts are normalised; of phone numbers a mark has
    the digits that all spellings share.
    """
    number = "".join((value_of("scheme_number") or "").split())
    name = normalised(f"{value_of('first_name') or ''} {value_of('last_name') or ''}")
    marks: list[Mark] = [("scheme_number", "the same scheme number", ("", number))] if number else []
    if not name:
        return marks
    if (birthday := value_of("birthday")) is not None:
        marks.append(("birthday", "the same name and birthday", (name, birthday)))
    for phone in map(value_of, PHONES):
        if phone and len(digits := NOT_DIGITS.sub("", phone)) >= PHONE_DIGITS:
            marks.append(("phone1", "the same name and phone number", (name, digits[-PHONE_DIGITS:])))
    for email in map(normalised, map(value_of, EMAILS)):
        if email:
            marks.append(("primary_email", "the same name and email", (name, email)))
    return marks


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


def find_duplicates(
    drafts: Sequence[Draft], contacts: QuerySet[Contact] = ALL_CONTACTS
) -> Iterator[Duplicate]:
    """At most one of the contacts for each draft; one query, however many drafts.

    Drafts of existing contacts are compared when they give any of the compared columns.
    """
    compared = [
        (number, draft, marks_of(vars(draft).get))
        for number, draft in enumerate(drafts)
        if draft.key is None or not draft.given.isdisjoint(COMPARED)
    ]
    wanted = {mark for _, _, marks in compared for mark in marks}
    # By mark, since a name alone may be that of thousands.
    candidates: dict[Mark, list[dict[str, object]]] = defaultdict(list)
    for row in load_candidates(wanted, contacts):
        for mark in wanted.intersection(marks_of(row.get)):
            candidates[mark].append(row)
    if not candidates and len(wanted) == sum(len(marks) for _, _, marks in compared):
        return  # nobody shares anything, as in most lists of new people
    of_new_drafts: set[Mark] = set()
    for number, draft, marks in compared:
        for mark in marks:
            other = next((row for row in candidates.get(mark, ()) if not is_the_same(row, draft.key)), None)
            if other is not None or mark in of_new_drafts:
                yield Duplicate(number, None if other is None else Contact(**other), *mark[:2])
                break
        if draft.key is None:
            of_new_drafts.update(marks)


def is_the_same(row: Mapping[str, object], key: object) -> bool:
    """True for the contact of that key, and for a duplicate that somebody merged into it."""
    return key is not None and (
        row["pk"] == key or (row["merged_into_id"] == key and row["archive_date"] is not None)
    )


def load_candidates(marks: Iterable[Mark], contacts: QuerySet[Contact]) -> Iterable[dict[str, object]]:
    """The columns of contacts that may have one of the marks, archived ones included, the oldest first.

    A name may be that of thousands: the database leaves out those who share nothing else with anybody.
    """
    values: dict[str, set[object]] = defaultdict(set)
    # Together: of one name among many, most were born on some day that is somebody's.
    birthdays: set[tuple[object, ...]] = set()
    for field, _, (name, value) in marks:
        values["name"].add(name)
        values[field].add(value)
        if field == "birthday":
            birthdays.add((name, value))
    if not values:
        return []
    beside_name = Q(AnyRowOf(("compared_name", "birthday"), birthdays))
    for column in PHONES:
        beside_name |= Q(AnyOf(f"{column}_digits", values["phone1"]))
    for column in EMAILS:
        beside_name |= Q(AnyOf(f"{column}_lower", values["primary_email"]))
    no_digits = (Value(NOT_DIGITS.pattern), Value(""), Value("g"))
    digits = {
        column: Func(F(column), *no_digits, function="regexp_replace", output_field=CharField())
        for column in PHONES
    }
    found = contacts.alias(
        compared_name=FULL_NAME,
        **{f"{column}_digits": Right(bare, PHONE_DIGITS) for column, bare in digits.items()},
        **{f"{column}_lower": Lower(column) for column in EMAILS},
    ).filter(
        Q(AnyOf("scheme_number", values["scheme_number"]))
        | Q(AnyOf("compared_name", values["name"] - {""})) & beside_name
    )
    # Not by the database, which would walk all contacts in their order to find a few.
    return sorted(found.order_by().values(*LOADED), key=itemgetter("creation_date", "pk"))


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
