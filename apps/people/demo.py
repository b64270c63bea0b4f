"""Creates the demo's people: their short lists, organisations, staff and contacts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from random import Random
from typing import Any, Self
from uuid import UUID

from django.utils.text import slugify
from stdnum.au import abn

from apps.base import clock
from apps.core.demo import (
    Context,
    DemoSet,
    Size,
    change_of,
    draft_of,
    existing,
    load_lookups,
    read_data,
    sometimes,
)
from apps.core.models import Consent, Subscriber, normalised
from apps.core.services import SettingsDraft, save_settings
from apps.people.choices import AppliesTo, Gender
from apps.people.drafts import ClientDraft, ContactDraft, StaffDraft
from apps.people.models import Client, Contact, CustomField, Location, Position, Role, Staff, Team
from apps.people.services import (
    create_clients,
    create_contacts,
    create_staff,
    update_clients,
    update_staff,
)
from apps.people.usual_roles import USUAL_ROLES, add_usual_roles

DATA = read_data(__file__)
WORDS, LISTS = DATA["words"], DATA["lists"]
ORGANISATION = DATA["clients"][0]["business_name"]
ADDRESS = "Level 2, 16 Church Street\nParramatta NSW 2150\n(02) 5550 0100\naccounts@southern-light.example"
PAYMENT_DETAILS = """Please pay by the day it is due, with the number of the invoice:
Southern Light Plan Management (demo), BSB 999-100, account 100201"""
#: The unique code of the first client names the seed of the demo data.
SEED_CODE = "demo-seed-"

Values = dict[str, Any]
#: Examples of responses by their custom field.
Examples = Mapping[CustomField, Sequence[str]]

# --- names, places and numbers: plausible, and nobody's own ---------------------------------------------

FEMALE, MALE, UNSPECIFIED = Gender.FEMALE.value, Gender.MALE.value, Gender.UNSPECIFIED.value
GENDERS = (FEMALE,) * 49 + (MALE,) * 49 + (UNSPECIFIED,) * 2
CONSENTS = (Consent.YES.value,) * 17 + (Consent.NO.value,) * 2 + (Consent.UNSUBSCRIBED.value,)
#: The beginnings of landline numbers that are kept free for fiction, after an area code.
LANDLINES = ("5550", "7010")
#: Domains that are reserved for examples (RFC 2606): no letter sent there arrives.
DOMAINS = ("example.com", "example.net", "example.org")


@dataclass(frozen=True, slots=True)
class Place:
    """A suburb or town with its postcode, its telephone area and its region of the price guide."""

    address: Mapping[str, str]
    area_code: str
    region: str


PLACES = tuple(
    Place(
        {
            "suburb": suburb,
            "city": group.get("city", suburb),
            "state": group["state"],
            "post_code": post_code,
        },
        group["area_code"],
        group["region"],
    )
    for group in DATA["places"]
    for suburb, _, post_code in (text.rpartition(" ") for text in group["suburbs"])
)
#: One entry for each person in a hundred: a choice from it is a choice by weight.
ORIGINS = tuple(origin for origin in DATA["origins"] for _ in range(origin["share"]))
#: The number of names of organisations before a suburb is added to tell them apart.
BUSINESS_NAMES = len(WORDS["first"]) * len(WORDS["second"]) * len(WORDS["services"])
#: It has no factor in common with BUSINESS_NAMES, so that steps of this length meet every name once.
STEP = 10_007


def business_name(number: int, start: int = 0) -> str:
    """The name of the demo client of that number; no two have the same. ``start`` begins elsewhere."""
    rounds, step = divmod(number, BUSINESS_NAMES)
    left, service = divmod((start + step * STEP) % BUSINESS_NAMES, len(WORDS["services"]))
    first, second = divmod(left, len(WORDS["second"]))
    legal_form = ("", " Pty Ltd", "", " Inc.")[step % 4]
    name = f"{WORDS['first'][first]} {WORDS['second'][second]} {WORDS['services'][service]}{legal_form}"
    return f"{name} {PLACES[rounds].address['suburb']}" if rounds else name


def business_number(number: int) -> str:
    """The ABN of the demo client of that number: eleven digits, different for a thousand million."""
    body = f"{(number * 618_033_989 + 120_000_017) % 1_000_000_000:09}"
    return f"{abn.calc_check_digits(body)}{body}"


def scheme_number(number: int) -> str:
    """The scheme number of the demo participant of that number: nine digits, most of them from 43 on."""
    start = {7: "31", 12: "44", 18: "45"}.get(number % 20, "43")
    return f"{start}{1_000_000 + (number * 3_819_661 + 271_829) % 9_000_000}"


def email_address(first_name: str, last_name: str, number: int) -> str:
    """``siobhan.obrien.7@example.net`` for Siobhán O'Brien."""
    mailbox = slugify(f"{first_name} {last_name} {number}").replace("-", ".")
    return f"{mailbox}@{DOMAINS[number % len(DOMAINS)]}"


def address(chance: Random, place: Place) -> Values:
    """The address where somebody lives or works; one in eight receives post in a box."""
    values: Values = {
        **place.address,
        "street_address": f"{1 + int(chance.random() ** 2 * 180)} {chance.choice(WORDS['streets'])}",
        "country": "Australia",
    }
    if chance.random() < 0.125:
        values |= {f"postal_{name}": value for name, value in place.address.items()}
        values["postal_street_address"] = f"PO Box {chance.randrange(1, 900)}"
    return values


def person(
    context: Context,
    chance: Random,
    ages: tuple[int, int],
    last_name: str | None = None,
    gender: str | None = None,
) -> Values:
    """The members that staff and contacts have in common, without addresses."""
    origin = chance.choice(ORIGINS)
    gender = gender or chance.choice(GENDERS)
    first_names = {FEMALE: origin["women"], MALE: origin["men"]}.get(gender, origin["women"] + origin["men"])
    days = int((ages[0] + chance.random() * (ages[1] - ages[0])) * 365.25) + 1
    return {
        "first_name": chance.choice(first_names),
        "last_name": last_name or chance.choice(origin["last_names"]),
        "personal_title": (chance.choice(WORDS["titles"][gender]) or None) if ages[0] >= 18 else None,
        "accepts_email_contact": chance.choice(CONSENTS),
        "accepts_sms_contact": chance.choice(CONSENTS),
        "gender": gender,
        "birthday": context.day(days),
        "send_birthday_reminder": chance.random() < 0.3,
        "hobbies_interests": sometimes(chance, 0.2, chance.choice(WORDS["hobbies"])),
        "phone1": chance.choice(WORDS["mobiles"]),
    }


def values_in_file(first_records: Sequence[Values], number: int) -> Values:
    """The values of ``demo.toml`` for the record of that number; an empty text is no value."""
    values = first_records[number] if number < len(first_records) else {}
    return {name: None if value == "" else value for name, value in values.items()}


# --- short lists ----------------------------------------------------------------------------------------


def load(context: Context) -> None:
    """Create the people of the context's sizes."""
    with context.clock_at(context.workdays[0], 8):
        if not Subscriber.objects.exists():
            # Some of the demo's claims go through a payment provider.
            values = {
                "name": ORGANISATION,
                "payment_provider_module": True,
                "registration_number": "4050000001",
                "business_number": business_number(0),
                "invoice_sender": ADDRESS,
                "payment_details": PAYMENT_DETAILS,
            }
            save_settings([SettingsDraft(values, given=values)])
        roles = load_roles()
        examples = {applies_to: load_custom_fields(context, applies_to) for applies_to in AppliesTo.values}
    load_clients(context, examples[AppliesTo.CLIENT])
    load_staff(context, roles, examples[AppliesTo.STAFF])
    load_contacts(context, roles, examples[AppliesTo.CONTACT])


def load_roles() -> dict[str, Role]:
    """The roles by name. Roles that the database has keep the permissions that they have there."""
    names = {normalised(role.name): role.name for role in USUAL_ROLES}
    add_usual_roles(names.values())
    return {names[role.name_key]: role for role in Role.objects.filter(name_key__in=names)}


def load_custom_fields(context: Context, applies_to: str) -> Examples:
    """The custom fields of a kind of record; the dates of their examples are so many days ahead."""
    rows = {row["name"]: row for row in DATA["custom_fields"][applies_to]}
    entries = [
        {
            "name": name,
            "kind": row["kind"],
            "options": "\n".join(row["examples"]) if row["kind"].startswith("Choice") else "",
            "position": position,
        }
        for position, (name, row) in enumerate(rows.items())
    ]
    fields = load_lookups(CustomField, entries, applies_to=applies_to)
    return {
        field: [
            context.day(-each).isoformat() if field.kind == "Date" else each
            for each in rows[name]["examples"]
        ]
        for name, field in fields.items()
    }


def answers(chance: Random, examples: Examples, number: int, one_in: int) -> dict[UUID, list[str]]:
    """The responses of one record in so many, by the key of the custom field; the first one answers all."""
    if number % one_in:
        return {}
    fields = chance.sample(list(examples), chance.randint(1, 3)) if number else examples
    return {
        field.pk: sorted(
            chance.sample(examples[field], chance.randint(1, 3) if field.kind == "Choices" else 1)
        )
        for field in fields
    }


# --- clients --------------------------------------------------------------------------------------------


def load_clients(context: Context, examples: Examples) -> None:
    """The subscriber itself, then providers."""
    chance = context.chance("clients")
    start = chance.randrange(BUSINESS_NAMES)
    for numbers in context.batches(range(context.sizes["clients"]), "clients"):
        drafts = []
        for number in numbers:
            place, name = chance.choice(PLACES), business_name(number, start)
            first, second, *_ = name.lower().split()
            phone = f"({place.area_code}) {chance.choice(LANDLINES)} {chance.randrange(10_000):04}"
            values = {
                "business_name": name,
                "business_number": sometimes(chance, 0.96, business_number(number)),
                "unique_code": f"C-{number:06}" if number else f"{SEED_CODE}{context.seed}",
                "external_reference": f"demo-{number:06}",
                "business_phone": phone,
                "business_phone2": sometimes(chance, 0.3, chance.choice(WORDS["mobiles"])),
                "web_address": sometimes(chance, 0.6, f"https://{first}-{second}.example.com"),
                **address(chance, place),
                **values_in_file(DATA["clients"], number),
                "custom_answers": answers(chance, examples, number, 3),
            }
            drafts.append(draft_of(ClientDraft, Client, **values))
        context.create(Client, create_clients, drafts)
    with context.clock_at(context.day(45), 16):
        context.archive(Client, existing(context.records[Client])[17::25])


# --- staff ----------------------------------------------------------------------------------------------


def load_staff(context: Context, roles: Mapping[str, Role], examples: Examples) -> None:
    """The staff, each led by a colleague who came before; one in seven is in no team."""
    chance = context.chance("staff")
    with context.clock_at(context.workdays[0], 8.1):
        positions = {
            role: list(load_lookups(Position, names).values()) for role, names in DATA["positions"].items()
        }
        locations = list(load_lookups(Location, LISTS["locations"]).values())
        load_lookups(Location, LISTS["archived_locations"], is_archived=True)
        teams = list(load_lookups(Team, LISTS["teams"]).values())
        load_lookups(Team, LISTS["archived_teams"], is_archived=True)
    for numbers in context.batches(range(context.sizes["staff"]), "staff"):
        colleagues = list(context.records[Staff])
        drafts = []
        for number in numbers:
            values = person(context, chance, (21, 66))
            values["primary_email"] = email_address(values["first_name"], values["last_name"], number)
            values["role"] = LISTS["roles_of_staff"][number % len(LISTS["roles_of_staff"])]
            values |= values_in_file(DATA["staff"], number)
            hours = chance.choice((38, 38, 24, 16, 8))
            in_teams = 0 if number % 7 == 6 else 2 if number % 5 == 0 else 1
            values |= {
                **address(chance, chance.choice(PLACES)),
                "abbreviation": values["first_name"][0] + values["last_name"][0],
                "unique_code": f"S-{number + 1:05}",
                "use_primary_email": True,
                "employment_type": {38: "Full time", 8: "Casual"}.get(hours, "Part time"),
                "working_hours_per_week": hours,
                "commencement_date": context.day(1000 + chance.randrange(900)),
                "role": roles[values["role"]],
                "position": chance.choice(positions[values["role"]]),
                "location": chance.choice(locations),
                "account_manager": colleagues[min(number // 6, len(colleagues) - 1)] if colleagues else None,
                "teams": [teams[(number + nth) % len(teams)] for nth in range(in_teams)],
                "custom_answers": answers(chance, examples, number, 1),
            }
            drafts.append(draft_of(StaffDraft, Staff, **values))
        context.create(Staff, create_staff, drafts)
    with context.clock_at(context.day(45), 16):
        staff = existing(context.records[Staff])
        # Those who come late lead nobody.
        context.archive(Staff, staff[11 + len(staff) // 6 :: 13])
        closed = existing(context.records[Staff])[5::17]
        update_staff([change_of(StaffDraft, each, disable_login_date=clock.now()) for each in closed])
        context.records[Staff] = [each for each in context.records[Staff] if each not in closed]


# --- contacts -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ContactKind:
    role: str
    ages: tuple[int, int]


PARTICIPANT, REPRESENTATIVE, PROVIDER_CONTACT = "Participant", "Representative", "Provider contact"
CHILD, PARENT = ContactKind(PARTICIPANT, (3, 17)), ContactKind(REPRESENTATIVE, (30, 55))
REPRESENTED, GUARDIAN = ContactKind(PARTICIPANT, (19, 60)), ContactKind(REPRESENTATIVE, (28, 70))
ADULT, OLDER = ContactKind(PARTICIPANT, (18, 64)), ContactKind(PARTICIPANT, (64, 85))
WORKER = ContactKind(PROVIDER_CONTACT, (22, 64))
#: The contacts who come together, in turn: a participant, or one with the representative.
FAMILIES: tuple[tuple[ContactKind, ...], ...] = (
    *((CHILD, PARENT), (ADULT,), (ADULT,), (WORKER,), (CHILD, PARENT), (REPRESENTED, GUARDIAN), (WORKER,)),
    *((ADULT,), (OLDER,), (ADULT,), (WORKER,), (ADULT,), (CHILD, PARENT), (ADULT,), (WORKER,), (ADULT,)),
)


@dataclass(frozen=True, slots=True)
class Known:
    """Whom new contacts are entrusted to: the providers and the staff of today."""

    providers: Sequence[Client]
    managers: Sequence[Staff]

    @classmethod
    def today(cls, context: Context) -> Self:
        staff = existing(context.records[Staff])
        managers = [each for each in staff if each.role.name in ("Plan manager", "Support coordinator")]
        return cls(existing(context.records[Client])[1:], managers or staff)


def numbered_families(count: int) -> Iterator[list[tuple[ContactKind, int]]]:
    """So many contacts: those who come together, with their numbers."""
    numbers = iter(range(count))
    for kinds in cycle(FAMILIES):
        family = list(zip(kinds, numbers, strict=False))
        if not family:
            return
        yield family


def load_contacts(context: Context, roles: Mapping[str, Role], examples: Examples) -> None:
    """Participants, their representatives and people who work at clients."""
    chance = context.chance("contacts")
    for families in context.batches(list(numbered_families(context.sizes["contacts"])), "contacts"):
        known = Known.today(context)
        speakers = [
            contact_draft(context, chance, *family[-1], roles, examples, known) for family in families
        ]
        made = context.create(Contact, create_contacts, speakers)
        represented = [
            contact_draft(context, chance, *family[0], roles, examples, known, speaker)
            for family, speaker in zip(families, made, strict=True)
            if len(family) == 2
        ]
        context.create(Contact, create_contacts, represented)
    with context.clock_at(context.day(45), 16):
        contacts = existing(context.records[Contact])
        independent = [each for each in contacts[5:] if each.scheme_number and not each.representative_id]
        context.archive(Contact, independent[15::25])
        workers = {contact.client_id: contact for contact in contacts if contact.position_title}
        clients = [client for client in context.records[Client] if client.pk in workers]
        update_clients([change_of(ClientDraft, client, key_contact=workers[client.pk]) for client in clients])


def contact_draft(
    context: Context,
    chance: Random,
    kind: ContactKind,
    number: int,
    roles: Mapping[str, Role],
    examples: Examples,
    known: Known,
    speaker: Contact | None = None,
) -> ContactDraft:
    """A contact of a kind; ``speaker`` is the representative."""
    gender = sometimes(chance, 0.66, FEMALE) if kind is PARENT else None
    values = person(context, chance, kind.ages, speaker.last_name if speaker else None, gender)
    place = chance.choice(PLACES)
    values |= address(chance, place)
    if kind is not CHILD and chance.random() < 0.8:
        values["primary_email"] = email_address(values["first_name"], values["last_name"], number)
    if kind.role == PARTICIPANT:
        values["scheme_number"] = scheme_number(number)
        values["additional_information"] = sometimes(chance, 0.15, chance.choice(WORDS["remarks"]))
    values |= values_in_file(DATA["contacts"], number)
    values |= {
        "role": roles[kind.role],
        "use_primary_email": "primary_email" in values,
        "custom_answers": answers(chance, examples, number, 5),
    }
    provider = chance.choice(known.providers) if known.providers else None
    if kind is WORKER:
        values |= {"client": provider, "position_title": chance.choice(WORDS["jobs"])}
    elif kind.role == PARTICIPANT:
        parent = {MALE: "Father"}.get(speaker.gender, "Mother") if speaker else None
        values |= {
            "unique_code": f"P-{number + 1:06}",
            "client": sometimes(chance, 0.66, provider),
            "scheme_price_guide_region": place.region,
            "account_manager": chance.choice(known.managers),
            "representative": speaker,
            "representative_relationship": chance.choice(WORDS["relationships"])
            if kind is REPRESENTED
            else parent,
        }
    return draft_of(ContactDraft, Contact, **values)


def loaded_seeds() -> set[int]:
    """The seeds that the first clients of earlier loads name."""
    codes = Client.objects.filter(unique_code_key__startswith=SEED_CODE)
    texts = codes.values_list("unique_code_key", flat=True)
    return {int(text.removeprefix(SEED_CODE)) for text in texts}


SIZES = (
    Size("clients", 120, 1, "organisations: the subscriber itself, then providers"),
    Size("staff", 25, 1, "members of staff, who are the users of the back office"),
    Size("contacts", 400, 0, "participants, their representatives and people who work at clients"),
)
DEMO = DemoSet(SIZES, (Staff, Client, Contact), load, loaded_seeds)
