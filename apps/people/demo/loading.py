"""Creates the demo's people: their short lists, clients, staff and contacts, and answers to custom fields."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from random import Random
from typing import Any

from django.contrib.auth.models import Permission

from apps.core.demo import (
    Context,
    DemoSet,
    Size,
    change_of,
    draft_of,
    existing,
    find_or_create,
    listed,
    sometimes,
)
from apps.core.models import Consent, Subscriber
from apps.odata import clock
from apps.odata.write.drafts import Draft
from apps.people.choices import AnswerKind, AppliesTo, Gender
from apps.people.demo import lists, words
from apps.people.models import Client, Contact, CustomField, Location, Position, Role, Staff, Team
from apps.people.services import (
    create_clients,
    create_contacts,
    create_staff,
    update_clients,
    update_contacts,
    update_roles,
    update_staff,
)

Values = dict[str, Any]

FEMALE, MALE, UNSPECIFIED = Gender.FEMALE.value, Gender.MALE.value, Gender.UNSPECIFIED.value
GENDERS = (FEMALE,) * 49 + (MALE,) * 49 + (UNSPECIFIED,) * 2
CONSENTS = (Consent.YES.value,) * 17 + (Consent.NO.value,) * 2 + (Consent.UNSUBSCRIBED.value,)
TITLES: dict[str, tuple[str | None, ...]] = {
    FEMALE: ("Ms", "Ms", "Ms", "Mrs", "Mrs", "Miss", "Dr", None),
    MALE: ("Mr", "Mr", "Mr", "Mr", "Mr", "Dr", None, None),
    UNSPECIFIED: ("Mx", None),
}
GUARDIANS = listed("Sister, Brother, Spouse, Public guardian, Friend, Nominee")
JOBS = listed("Practice Manager, Accounts Receivable, Team Leader, Director, Therapist, Rostering Officer")
HOBBIES = listed("""
    Bushwalking and birdwatching, Swimming at the local pool, Football on Saturdays,
    Painting with watercolours,
    Trains and model railways, Cooking for friends, Choir on Wednesdays, Wheelchair basketball, Video games
""")
REMARKS = listed("""
    Prefers a call before a visit., Auslan interpreter needed., Statements by mail please.,
    Has an assistance dog.,
    Level access needed; ring the side bell., Best reached in the afternoon.
""")
EMPLOYMENT = (("Full time", 38), ("Full time", 38), ("Part time", 24), ("Part time", 16), ("Casual", 8))

#: The kinds of contacts, in turn: whoever is represented comes just before the representative.
CHILD, PARENT, ADULT, OLDER, REPRESENTED, GUARDIAN, WORKER = range(7)
TURNS = (
    *(CHILD, PARENT, ADULT, ADULT, WORKER),
    *(CHILD, PARENT, REPRESENTED, GUARDIAN, WORKER),
    *(ADULT, OLDER, ADULT, WORKER, ADULT),
    *(CHILD, PARENT, ADULT, WORKER, ADULT),
)
AGES = {
    **{CHILD: (3, 17), PARENT: (30, 55), ADULT: (18, 64), OLDER: (64, 85)},
    **{REPRESENTED: (19, 60), GUARDIAN: (28, 70), WORKER: (22, 64)},
}
PARTICIPANTS = frozenset({CHILD, ADULT, OLDER, REPRESENTED})

#: Of how many records one has answers to custom fields, and the service that stores them.
ANSWERED = {Staff: 1, Client: 3, Contact: 5}
UPDATES = {Staff: update_staff, Client: update_clients, Contact: update_contacts}
#: The unique code of the first client names the seed of the demo data.
SEED_CODE = "demo-seed-"


def load(context: Context) -> None:
    """Create the people of the context's sizes."""
    with context.clock_at(context.workdays[0], 8):
        if not Subscriber.objects.exists():
            # Some of the demo's claims go through a payment provider.
            Subscriber(name=lists.ORGANISATION, payment_provider_module=True).save()
        roles = {name: find_or_create(Role, name) for name in lists.ROLES}
        grant_permissions(roles)
        find_or_create(Location, lists.CLOSED_LOCATION, is_archived=True)
        find_or_create(Team, lists.CLOSED_TEAM, is_archived=True)
    load_clients(context)
    load_staff(context, roles)
    load_contacts(context, roles)
    for applies_to, model in (
        (AppliesTo.STAFF, Staff),
        (AppliesTo.CLIENT, Client),
        (AppliesTo.CONTACT, Contact),
    ):
        answer_custom_fields(context, applies_to.value, model)
    archive_some(context)


def grant_permissions(roles: dict[str, Role]) -> None:
    """Give each role that grants nothing yet the permissions of ``lists.ROLES``."""
    known = {
        f"{permission.content_type.app_label}.{permission.codename}": permission
        for permission in Permission.objects.select_related("content_type").order_by("pk")
    }
    changes = []
    for name, role in roles.items():
        if role.all_permissions or role.permissions.exists():
            continue
        codes = {code for each in lists.ROLES[name] for code in fnmatch.filter(known, each)}
        permissions = [known[code] for code in sorted(codes)]
        changes.append(change_of(role, all_permissions=name == lists.ADMINISTRATOR, permissions=permissions))
    update_roles(changes)


# --- organisations --------------------------------------------------------------------------------------


def load_clients(context: Context) -> None:
    """The subscriber itself, then providers."""
    chance = context.chance("clients")
    start = chance.randrange(words.BUSINESS_NAMES)
    for numbers in context.batches(range(context.sizes["clients"]), "clients"):
        drafts = [draft_of(Client, **client_values(context, chance, number, start)) for number in numbers]
        context.create(Client, create_clients, drafts)


def client_values(context: Context, chance: Random, number: int, start: int) -> Values:
    place = chance.choice(words.PLACES)
    name = words.business_name(number, start)
    return {
        "business_name": name,
        "business_number": sometimes(chance, 0.96, words.business_number(number)),
        "unique_code": f"C-{number:06}" if number else f"{SEED_CODE}{context.seed}",
        "external_reference": f"demo-{number:06}",
        "business_phone": words.landline(chance, place.area_code),
        "business_phone2": sometimes(chance, 0.3, chance.choice(words.MOBILES)),
        "web_address": sometimes(chance, 0.6, words.web_address(name)),
        **address(chance, place),
        **(lists.CLIENTS[number] if number < len(lists.CLIENTS) else {}),
    }


def address(chance: Random, place: words.Place) -> Values:
    """Where somebody lives or works; one in eight receives post in a box."""
    values = {"suburb": place.suburb, "city": place.city, "state": place.state, "post_code": place.post_code}
    street = f"{1 + int(chance.random() ** 2 * 180)} {chance.choice(words.STREETS)}"
    box = {f"postal_{name}": value for name, value in values.items()}
    if chance.random() < 0.125:
        values |= {"postal_street_address": f"PO Box {chance.randrange(1, 900)}", **box}
    return values | {"street_address": street, "country": "Australia"}


# --- persons --------------------------------------------------------------------------------------------


def person(
    context: Context,
    chance: Random,
    ages: tuple[int, int],
    last_name: str | None = None,
    gender: str | None = None,
) -> Values:
    """The members that staff and contacts have in common, without addresses."""
    origin = chance.choice(words.ORIGINS)
    gender = gender or chance.choice(GENDERS)
    days = int((ages[0] + chance.random() * (ages[1] - ages[0])) * 365.25) + 1
    return {
        "first_name": chance.choice(origin.first(gender)),
        "last_name": last_name or chance.choice(origin.last),
        "personal_title": chance.choice(TITLES[gender]) if ages[0] >= 18 else None,
        "accepts_email_contact": chance.choice(CONSENTS),
        "accepts_sms_contact": chance.choice(CONSENTS),
        "gender": gender,
        "birthday": context.day(days),
        "send_birthday_reminder": chance.random() < 0.3,
        "hobbies_interests": sometimes(chance, 0.2, chance.choice(HOBBIES)),
        "phone1": chance.choice(words.MOBILES),
    }


def load_staff(context: Context, roles: dict[str, Role]) -> None:
    """The staff, each led by a colleague who came before; one in seven is in no team."""
    chance = context.chance("staff")
    with context.clock_at(context.workdays[0], 8.1):
        positions = {
            role: [find_or_create(Position, name) for name in names]
            for role, names in lists.POSITIONS.items()
        }
        locations = [find_or_create(Location, name) for name in lists.LOCATIONS]
        teams = [find_or_create(Team, name) for name in lists.TEAMS]
    for numbers in context.batches(range(context.sizes["staff"]), "staff"):
        colleagues = list(context.records.get(Staff, ()))
        drafts = []
        for number in numbers:
            role = lists.STAFF_ROLES[number % len(lists.STAFF_ROLES)]
            values = person(context, chance, (21, 66))
            email = words.email_address(values["first_name"], values["last_name"], number)
            kind, hours = chance.choice(EMPLOYMENT)
            if number < len(lists.STAFF):
                title, first, last, gender, mailbox, role = lists.STAFF[number]
                values |= {"personal_title": title, "first_name": first, "last_name": last, "gender": gender}
                email = f"{mailbox}@example.com"
            in_teams = 0 if number % 7 == 6 else 2 if number % 5 == 0 else 1
            values |= {
                **address(chance, chance.choice(words.PLACES)),
                "abbreviation": values["first_name"][0] + values["last_name"][0],
                "unique_code": f"S-{number + 1:05}",
                "primary_email": email,
                "use_primary_email": True,
                "employment_type": kind,
                "working_hours_per_week": hours,
                "commencement_date": context.day(1000 + chance.randrange(900)),
                "role": roles[role],
                "position": chance.choice(positions[role]),
                "location": chance.choice(locations),
                "account_manager": colleagues[min(number // 6, len(colleagues) - 1)] if colleagues else None,
                "teams": [teams[(number + nth) % len(teams)] for nth in range(in_teams)],
            }
            drafts.append(draft_of(Staff, **values))
        context.create(Staff, create_staff, drafts)


def load_contacts(context: Context, roles: dict[str, Role]) -> None:
    """Participants, their representatives and people who work at clients."""
    chance = context.chance("contacts")
    for families in context.batches(list(numbered_families(context.sizes["contacts"])), "contacts"):
        speakers = [contact_draft(context, chance, family[-1], roles) for family in families]
        made = context.create(Contact, create_contacts, speakers)
        represented = []
        for family, speaker in zip(families, made, strict=True):
            if len(family) == 2:
                represented.append(contact_draft(context, chance, family[0], roles, speaker))
        context.create(Contact, create_contacts, represented)
    with context.clock_at(context.day(90)):
        workers = {
            contact.client_id: contact
            for contact in existing(context.records.setdefault(Contact, []))
            if contact.position_title
        }
        changes = [
            change_of(client, key_contact=workers[client.pk])
            for client in existing(context.records[Client])
            if client.pk in workers
        ]
        update_clients(changes)


def numbered_families(count: int) -> Iterator[tuple[int, ...]]:
    """The numbers of contacts who come together: a represented person with the representative, or one."""
    number = 0
    while number < count:
        pair = TURNS[number % len(TURNS)] in (CHILD, REPRESENTED) and number + 1 < count
        yield (number, number + 1) if pair else (number,)
        number += 2 if pair else 1


def contact_draft(
    context: Context, chance: Random, number: int, roles: dict[str, Role], speaker: Contact | None = None
) -> Draft:
    """A contact of the kind that the number has in ``TURNS``; ``speaker`` is the representative."""
    kind = TURNS[number % len(TURNS)]
    gender = sometimes(chance, 0.66, FEMALE) if kind == PARENT else None
    values = person(context, chance, AGES[kind], speaker.last_name if speaker else None, gender)
    place = chance.choice(words.PLACES)
    values |= address(chance, place)
    if kind != CHILD and chance.random() < 0.8:
        values["primary_email"] = words.email_address(values["first_name"], values["last_name"], number)
    values |= lists.CONTACTS[number] if number < len(lists.CONTACTS) else {}
    values["use_primary_email"] = "primary_email" in values
    providers = existing(context.records[Client])[1:]
    provider = chance.choice(providers) if providers else None
    if kind == WORKER:
        role = lists.PROVIDER_CONTACT
        values |= {"client": provider, "position_title": chance.choice(JOBS)}
    elif kind in PARTICIPANTS:
        role = lists.PARTICIPANT
        values |= {
            "unique_code": f"P-{number + 1:06}",
            "scheme_number": values.get("scheme_number") or words.scheme_number(number),
            "additional_information": values.get("additional_information")
            or sometimes(chance, 0.15, chance.choice(REMARKS)),
            "client": sometimes(chance, 0.66, provider),
            "scheme_price_guide_region": place.region,
            "account_manager": choose_account_manager(context, chance),
            "representative": speaker,
            "representative_relationship": speaker and relationship(chance, kind, speaker),
        }
    else:
        role = lists.REPRESENTATIVE
    return draft_of(Contact, role=roles[role], **values)


def choose_account_manager(context: Context, chance: Random) -> Staff:
    """One of the plan managers and support coordinators."""
    staff = existing(context.records[Staff])
    able = [each for each in staff if each.role.name in (lists.PLAN_MANAGER, lists.SUPPORT_COORDINATOR)]
    return chance.choice(able or staff)


def relationship(chance: Random, kind: int, speaker: Contact) -> str:
    """The relation of a representative to the participant."""
    if kind == REPRESENTED:
        return chance.choice(GUARDIANS)
    return "Father" if speaker.gender == MALE else "Mother"


# --- custom fields and archives -------------------------------------------------------------------------


def answer_custom_fields(context: Context, applies_to: str, model: type[Staff | Client | Contact]) -> None:
    """Create the custom fields of a kind of record and their answers; the first record answers all."""
    chance = context.chance(f"answers of {applies_to}")
    with context.clock_at(context.workdays[0], 8.2):
        fields = [
            find_or_create(
                CustomField,
                name,
                applies_to=applies_to,
                kind=kind.value,
                options="\n".join(listed(examples)) if kind in CHOSEN else "",
                position=position,
            )
            for position, (name, kind, examples) in enumerate(lists.CUSTOM_FIELDS[applies_to])
        ]
    examples = {name: listed(text) for name, _, text in lists.CUSTOM_FIELDS[applies_to]}
    with context.clock_at(context.day(60)):
        changes = []
        for number, record in enumerate(existing(context.records.setdefault(model, []))[:: ANSWERED[model]]):
            asked = chance.sample(fields, chance.randint(1, 3)) if number else fields
            answers = {each.pk: draw_responses(context, chance, each, examples[each.name]) for each in asked}
            changes.append(change_of(record, custom_answers=answers))
        UPDATES[model](changes)


CHOSEN = frozenset({AnswerKind.CHOICE, AnswerKind.CHOICES})


def draw_responses(
    context: Context, chance: Random, field: CustomField, examples: tuple[str, ...]
) -> list[str]:
    """The responses of one answer: one text, or several to a field of kind Choices."""
    if field.kind == AnswerKind.CHOICES:
        return sorted(chance.sample(examples, chance.randint(1, 3)))
    if field.kind == AnswerKind.YES_NO:
        return [chance.choice(("Yes", "No"))]
    if field.kind == AnswerKind.NUMBER:
        return [str(chance.randint(1, 35))]
    if field.kind == AnswerKind.DATE:
        return [context.day(-chance.randint(20, 700)).isoformat()]
    return [chance.choice(examples)]


def archive_some(context: Context) -> None:
    """Archive a few records that nothing refers to, and close some logins. Later sets use the others."""
    with context.clock_at(context.day(45), 16):
        for model, turns, references in (
            (Contact, 40, ((Client, "key_contact"), (Contact, "representative"))),
            (Client, 25, ((Contact, "client"),)),
            (Staff, 13, ((Contact, "account_manager"), (Staff, "account_manager"))),
        ):
            records = existing(context.records.setdefault(model, []))[len(lists.STAFF) :]
            referred = {key for by, name in references for key in by.objects.values_list(name, flat=True)}
            free = [record for record in records if record.pk not in referred]
            context.archive(model, free[: (len(records) + turns // 2) // turns])
        closed = existing(context.records[Staff])[5::17]
        update_staff([change_of(each, disable_login_date=clock.now()) for each in closed])
        context.records[Staff] = [each for each in context.records[Staff] if each not in closed]


def loaded_seeds() -> set[int]:
    """The seeds that the first clients of earlier loads name."""
    codes = Client.objects.filter(unique_code_key__startswith=SEED_CODE)
    texts = (code.removeprefix(SEED_CODE) for code in codes.values_list("unique_code_key", flat=True))
    return {int(text) for text in texts if text.lstrip("-").isdecimal()}


SIZES = (
    Size("clients", 120, 1, "organisations: the subscriber itself, then providers"),
    Size("staff", 25, 1, "members of staff, who are the users of the back office"),
    Size("contacts", 400, 0, "participants, their representatives and people who work at clients"),
)
PEOPLE = DemoSet("people", SIZES, (Staff, Client, Contact), load, loaded_seeds)
