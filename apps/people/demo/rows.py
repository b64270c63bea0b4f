"""The rows of the demo's staff, clients and contacts, drawn one after the other."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from apps.core.demo import Context, Series
from apps.core.models import Consent
from apps.people.choices import Gender, PersonalTitle
from apps.people.demo import lists, plan, tour
from apps.people.demo.businesses import NAMES, business_name, web_address
from apps.people.demo.names import HUNDRED, Names
from apps.people.demo.numbers import (
    DOMAINS,
    MOBILES,
    business_number,
    landline,
    mail_name,
    scheme_number,
)
from apps.people.demo.places import PLACES, STREETS, Place

Row = dict[str, Any]
Item = TypeVar("Item")

FEMALE, MALE, UNSPECIFIED = (gender.value for gender in (Gender.FEMALE, Gender.MALE, Gender.UNSPECIFIED))
GENDERS = (FEMALE,) * 49 + (MALE,) * 49 + (UNSPECIFIED,) * 2
CONSENTS = (Consent.YES.value,) * 17 + (Consent.NO.value,) * 2 + (Consent.UNSUBSCRIBED.value,)
TITLES: dict[str, tuple[str | None, ...]] = {
    FEMALE: ("Ms", "Ms", "Ms", "Mrs", "Mrs", "Miss", "Dr", None),
    MALE: ("Mr", "Mr", "Mr", "Mr", "Mr", "Dr", None, None),
    UNSPECIFIED: ("Mx", None),
}
OTHER_TITLES = ("Aunty", "Uncle", "Rev", "Sister", "Hon")
OTHER_TITLE = 0.01
GUARDIANS = ("Sister", "Brother", "Spouse", "Public guardian", "Friend", "Nominee")
JOBS = (
    "Practice Manager",
    "Accounts Receivable",
    "Team Leader",
    "Director",
    "Therapist",
    "Rostering Officer",
)
HOBBIES = (
    "Bushwalking and birdwatching",
    "Swimming at the local pool",
    "Football on Saturdays",
    "Painting, mostly in watercolour",
    "Trains and model railways",
    "Cooking for friends",
    "Gardening; grows tomatoes",
    "Choir on Wednesdays",
    "Wheelchair basketball",
    "Video games",
)
REMARKS = (
    "Prefers a call before a visit.",
    "Uses a communication device; allow time for answers.",
    "Auslan interpreter needed.",
    "Statements by mail, please.",
    "Has an assistance dog.",
    "Level access needed; ring the side bell.",
    "Best reached in the afternoon.",
)
EMPLOYMENT = (("Full time", 38), ("Full time", 38), ("Part time", 24), ("Part time", 16), ("Casual", 8))

NO_PASSWORD = "!demo"  # noqa: S105  begins with Django's mark of a password that nobody has


def sometimes(chance: Random, share: float, value: Item) -> Item | None:
    """The value, in that share of cases."""
    return value if chance.random() < share else None


@cache
def in_mail(name: str) -> str:
    return mail_name(name)


def street_address(chance: Random) -> str:
    return f"{1 + int(chance.random() ** 2 * 180)} {chance.choice(STREETS)}"


def address(chance: Random, place: Place) -> Row:
    """Where somebody lives or works; one in eight wants post sent to a box."""
    box = chance.random() < 0.125
    return {
        "street_address": street_address(chance),
        "street_address2": sometimes(chance, 0.1, f"Unit {1 + int(chance.random() * 20)}"),
        "suburb": place.suburb,
        "city": place.city,
        "state": place.state,
        "country": "Australia",
        "post_code": place.post_code,
        "postal_street_address": f"PO Box {1 + int(chance.random() * 900)}" if box else None,
        "postal_street_address2": None,
        "postal_suburb": place.suburb if box else None,
        "postal_city": place.city if box else None,
        "postal_state": place.state if box else None,
        "postal_post_code": place.post_code if box else None,
    }


@dataclass(frozen=True, slots=True)
class Family:
    """What the members of a family share."""

    origin: Names
    last_name: str
    home: Row
    place: Place


def family(chance: Random) -> Family:
    origin = chance.choice(HUNDRED)
    place = chance.choice(PLACES)
    return Family(origin, chance.choice(origin.last), address(chance, place), place)


def birthday(chance: Random, as_of: dt.date, youngest: int, oldest: int) -> dt.date:
    """A birthday of somebody who is between two ages, in years, on that day."""
    return as_of - dt.timedelta(days=int((youngest + chance.random() * (oldest - youngest)) * 365.25) + 1)


def person(
    chance: Random, kin: Family, as_of: dt.date, ages: tuple[int, int], gender: str | None = None
) -> Row:
    """What staff and contacts have in common, without the addresses of mail."""
    gender = gender or chance.choice(GENDERS)
    # Three in ten whose family came from elsewhere have a first name that is common here.
    origin = chance.choice(HUNDRED) if chance.random() < 0.3 else kin.origin
    adult = ages[0] >= 18
    title = chance.choice(TITLES[gender]) if adult else None
    other = chance.choice(OTHER_TITLES) if adult and chance.random() < OTHER_TITLE else None
    born = birthday(chance, as_of, *ages)
    return {
        "first_name": chance.choice(origin.first(gender)),
        "last_name": kin.last_name,
        "personal_title": PersonalTitle.OTHER.value if other else title,
        "personal_title_other": other,
        "accepts_email_contact": chance.choice(CONSENTS),
        "accepts_sms_contact": chance.choice(CONSENTS),
        "unique_code": None,
        "scheme_number": None,
        "gender": gender,
        "send_birthday_reminder": chance.random() < 0.3,
        "birthday": born,
        **partner(chance, adult, kin, as_of),
        "hobbies_interests": sometimes(chance, 0.2, chance.choice(HOBBIES)),
        "additional_information": None,
        "use_primary_email": False,
        "use_secondary_email": False,
        "primary_email": None,
        "secondary_email": None,
        "phone1": chance.choice(MOBILES),
        "phone2": sometimes(chance, 0.2, landline(chance, kin.place.area_code)),
        "fax": None,
        "home_phone": sometimes(chance, 0.3, landline(chance, kin.place.area_code)),
        "social_network_a_url": None,
        "social_network_b_url": None,
        "video_channel_url": None,
        "professional_network_url": None,
        "other_social_media_url": None,
        **kin.home,
    }


def partner(chance: Random, adult: bool, kin: Family, as_of: dt.date) -> Row:
    """A third of the adults have told about a partner."""
    told = adult and chance.random() < 0.33
    born = birthday(chance, as_of, 25, 65) if told else None
    return {
        "send_partner_birthday_reminder": told and chance.random() < 0.2,
        "partner_birthday": born,
        "partner_first_name": chance.choice(kin.origin.first(chance.choice(GENDERS))) if told else None,
        "partner_last_name": kin.last_name if told else None,
        "number_of_children": int(chance.random() * 4) if told else None,
    }


def mail_address(row: Row, number: int) -> str:
    name = f"{in_mail(row['first_name'])}.{in_mail(row['last_name'])}"
    return f"{name}.{number}@{DOMAINS[number % len(DOMAINS)]}"


def stamps(chance: Random, context: Context, made: dt.datetime, archived: bool) -> Row:
    """The three stamps: two in five were changed later, and some archived."""
    later = made + (context.anchor - made) * chance.random()
    touched = archived or chance.random() < 0.4
    later = later.replace(microsecond=0)
    return {
        "creation_date": made,
        "modify_date": later if touched else made,
        "archive_date": later if archived else None,
    }


def staff(context: Context, series: Series, found: dict[str, dict[str, UUID]]) -> Iterator[Row]:
    """The rows of staff. ``found``: the guids of roles, positions and locations by name."""
    chance = context.chance("staff")
    for number in range(series.count):
        made = series.created(number)
        row = person(chance, family(chance), context.as_of, (21, 66))
        row |= {"use_primary_email": True, "primary_email": mail_address(row, number)}
        row |= employment(chance, context, number, made)
        row |= tour.STAFF[number] if number < len(tour.STAFF) else {}
        leader = plan.supervisor(number)
        role = plan.role_of_staff(number)
        row |= stamps(chance, context, made, plan.staff_is_archived(number))
        row |= {
            "guid": series.guid(number),
            "password": NO_PASSWORD,
            "last_login": None,
            "unique_code": f"S-{number + 1:05}",
            "abbreviation": row["first_name"][0] + row["last_name"][0],
            "professional_network_url": sometimes(chance, 0.3, f"https://people.example.com/{number + 1}"),
            "role_id": found["role"][role],
            "position_id": found["position"][chance.choice(lists.POSITIONS[role])],
            "location_id": found["location"][chance.choice(lists.LOCATIONS)],
            "account_manager_id": None if leader is None else series.guid(leader),
        }
        row["disable_login_date"] = closing(context, number, row)
        yield row


def employment(chance: Random, context: Context, number: int, made: dt.datetime) -> Row:
    kind, hours = EMPLOYMENT[0] if number < len(tour.STAFF) else chance.choice(EMPLOYMENT)
    commenced = made.astimezone(context.zone).date() - dt.timedelta(days=int(chance.random() ** 3 * 2000))
    return {"employment_type": kind, "working_hours_per_week": hours, "commencement_date": commenced}


def closing(context: Context, number: int, row: Row) -> dt.datetime | None:
    """When a login closes: with the record, some time ago, or when a contract will run out."""
    if row["archive_date"] is not None:
        return row["archive_date"]
    if plan.login_is_closed(number):
        return context.anchor - dt.timedelta(days=number % 90)
    return context.anchor + dt.timedelta(days=120) if number % 23 == 11 else None


def clients(context: Context, series: Series, contacts: Series) -> Iterator[Row]:
    """The rows of clients: the subscriber itself, then providers."""
    chance = context.chance("client")
    start = chance.randrange(NAMES)
    for number in range(series.count):
        place = chance.choice(PLACES)
        name = business_name(number, start)
        contact = plan.key_contact(number, contacts.count)
        yield {
            "guid": series.guid(number),
            "business_name": name,
            "business_number": sometimes(chance, 0.96, business_number(number)),
            "unique_code": unique_code_of_client(context.seed, number),
            "is_self": False,
            "external_reference": f"demo-{number:06}",
            "business_phone": landline(chance, place.area_code),
            "business_phone2": sometimes(chance, 0.3, chance.choice(MOBILES)),
            "business_fax": sometimes(chance, 0.1, landline(chance, place.area_code)),
            "web_address": sometimes(chance, 0.6, web_address(name)),
            "key_contact_id": None if contact is None else contacts.guid(contact),
            **address(chance, place),
            **stamps(chance, context, series.created(number), plan.client_is_archived(number)),
            **(tour.CLIENTS[number] if number < len(tour.CLIENTS) else {}),
        }


#: The unique code of the first client tells whose demo data it is.
SEED_CODE = "demo-seed-"


def unique_code_of_client(seed: int, number: int) -> str:
    return f"C-{number:06}" if number else f"{SEED_CODE}{seed}"


@dataclass(frozen=True, slots=True)
class Around:
    """What the rows of contacts refer to."""

    contacts: Series
    clients: Series
    staff: Series
    roles: dict[str, UUID]
    account_managers: list[int]


AGES = {
    plan.CHILD: (3, 17),
    plan.PARENT: (30, 55),
    plan.ADULT: (18, 64),
    plan.OLDER: (64, 85),
    plan.REPRESENTED: (19, 60),
    plan.GUARDIAN: (28, 70),
    plan.WORKER: (22, 64),
}


def contacts(context: Context, around: Around) -> Iterator[Row]:
    """The rows of contacts: participants, each child before a parent, and people who work at providers."""
    chance = context.chance("contact")
    kin = family(chance)
    for number in range(around.contacts.count):
        kind = plan.kind_of_contact(number)
        if kind not in (plan.PARENT, plan.GUARDIAN):
            kin = family(chance)
        gender = plan.gender_of_parent(number) if kind == plan.PARENT else None
        row = person(chance, kin, context.as_of, AGES[kind], gender)
        row |= tour.CONTACTS[number] if number < len(tour.CONTACTS) else reachable(chance, row, number, kind)
        row |= stamps(chance, context, around.contacts.created(number), plan.contact_is_archived(number))
        row |= standing(chance, around, number, kind)
        if kind in plan.PARTICIPANTS:
            row |= participation(chance, context, around, number, kin)
        yield row


def reachable(chance: Random, row: Row, number: int, kind: int) -> Row:
    """The addresses of mail: children have none, four in five others do, and a few prefer a second one."""
    if kind == plan.CHILD or chance.random() < 0.2:
        return {}
    second = chance.random() < 0.05
    return {
        "use_primary_email": not second,
        "primary_email": mail_address(row, number),
        "use_secondary_email": second,
        "secondary_email": f"home.{number}@{DOMAINS[0]}" if second else None,
        "social_network_a_url": sometimes(chance, 0.05, f"https://social.example.com/{number}"),
    }


def standing(chance: Random, around: Around, number: int, kind: int) -> Row:
    """What a contact is to the subscriber, for a contact who is no participant."""
    role, client = lists.REPRESENTATIVE, None
    if kind == plan.WORKER:
        role, client = lists.PROVIDER_CONTACT, plan.workplace(number, around.clients.count)
    return {
        "guid": around.contacts.guid(number),
        "client_id": None if client is None else around.clients.guid(client),
        "role_id": around.roles[role],
        "position_title": chance.choice(JOBS) if kind == plan.WORKER else None,
        "scheme_price_guide_region": None,
        "representative_id": None,
        "representative_relationship": None,
        "account_manager_id": None,
    }


def participation(chance: Random, context: Context, around: Around, number: int, kin: Family) -> Row:
    """What is known of participants only. Two in three belong to a provider; each has an account manager."""
    served = plan.server(number, around.clients.count)
    speaker = plan.representative(number, around.contacts.count)
    told = tour.CONTACTS[number] if number < len(tour.CONTACTS) else {}
    return {
        "unique_code": f"P-{number + 1:06}",
        "scheme_number": told.get("scheme_number") or scheme_number(number),
        "additional_information": told.get("additional_information")
        or sometimes(chance, 0.15, chance.choice(REMARKS)),
        "role_id": around.roles[lists.PARTICIPANT],
        "client_id": None if served is None else around.clients.guid(served),
        "scheme_price_guide_region": kin.place.region,
        "representative_id": None if speaker is None else around.contacts.guid(speaker),
        "representative_relationship": None if speaker is None else relationship(chance, number, speaker),
        "account_manager_id": around.staff.guid(chance.choice(around.account_managers)),
    }


def relationship(chance: Random, number: int, speaker: int) -> str:
    """What the representative is to the participant."""
    if plan.kind_of_contact(number) == plan.REPRESENTED:
        return chance.choice(GUARDIANS)
    return "Mother" if plan.gender_of_parent(speaker) == FEMALE else "Father"
