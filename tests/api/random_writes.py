"""Random writes, and copies that follow them by delta links while the rights to read change as well."""

import datetime as dt
from contextlib import suppress
from decimal import Decimal

from django.db import transaction

from apps.access.models import ApiApplication
from apps.base.drafts import ValidationFailed
from apps.core import archive
from apps.engagements.drafts import PeriodDraft, WholeComponentDraft
from apps.engagements.services import delete_budget, update_components
from apps.funding.choices import Zone
from apps.funding.drafts import PriceDraft, PriceListDraft
from apps.funding.services.price_guide import update_price_lists
from apps.people.drafts import StaffDraft
from apps.people.merging import merge
from apps.people.services import update_staff
from tests.api.caller import Caller, an_application, refused
from tests.api.followers import Follower
from tests.engagements.builders import END, START, a_booking, a_category_budget, a_pace_plan, a_plan
from tests.funding.builders import a_claim, an_entry
from tests.people.builders import a_client, a_contact, a_staff_member, a_team
from tests.races import ROUNDS

#: `RACE_ROUNDS=70` makes 2,100 of them.
STEPS = 30 * ROUNDS

AMOUNTS = [Decimal(1), Decimal(2), None]
#: Days on which funding periods may begin.
DAYS_WITHIN = [START + dt.timedelta(days=30 * each) for each in range(1, 11)]

QUERIES = (
    ("client", {"$expand": "*"}),
    ("client", {"$filter": "ArchiveDate eq null and KeyContact/LastName ne 'Byron'"}),
    ("client", {"$search": "renamed"}),
    ("contact", {"$expand": "*"}),
    ("contact", {"Representative/LastName": "Byron"}),
    ("claim", {}),
    ("claim", {"$filter": "Contact/LastName eq 'Byron'", "$expand": "LineItems,Contact($select=FirstName)"}),
    ("claim", {"$filter": "LineItems/any(line:line/Quantity gt 2)"}),
    ("clientengagement", {"$expand": "*"}),
    ("clientengagement", {"$filter": "TotalAllocateAmount gt 150", "$select": "UnAllocateAmount"}),
    ("clientengagement", {"$filter": "ServiceBookings/$count gt 1"}),
    ("component", {"version": "2.1", "$expand": "FundingPeriods"}),
    ("priceBookEntry", {"version": "2.1", "$expand": "Prices"}),
    ("staff", {"$expand": "Teams,AccountManager"}),
    ("team", {}),
)


def changed(record, **columns):
    for name, value in columns.items():
        setattr(record, name, value)
    record.save()
    return record


class Walk:
    """Random writes through the services and models, as the entry points call them."""

    def __init__(self, chance):
        self.chance = chance
        self.clients, self.contacts = [a_client() for _ in range(3)], [a_contact() for _ in range(3)]
        self.staff, self.teams = [a_staff_member() for _ in range(2)], [a_team() for _ in range(2)]
        self.claims, self.bookings = [a_claim(contact=self.contacts[0])], []
        self.plans = [a_plan(participant=contact) for contact in self.contacts[:2]]
        self.entries = [an_entry() for _ in range(2)]
        self.components = [a_category_budget(a_pace_plan(participant=each)) for each in self.contacts[:2]]

    def one(self, records):
        record = self.chance.choice(records)
        record.refresh_from_db()
        return record

    def step(self):
        with transaction.atomic():
            self.chance.choice(self.writes)(self)

    def create(self):
        self.clients.append(a_client(KeyContact={"ContactGuid": str(self.one(self.contacts).pk)}))
        self.contacts.append(a_contact())

    def rename(self):
        changed(self.one(self.clients), business_name=f"Renamed {self.chance.random()}")
        changed(self.one(self.teams), name=f"Team {self.chance.random()}")

    def name_somebody_else(self):
        changed(self.one(self.contacts), last_name=self.chance.choice(["Byron", "Lovelace"]))
        changed(self.one(self.clients), key_contact=self.one(self.contacts))
        changed(self.one(self.staff[1:]), account_manager=self.staff[0])
        changed(self.one(self.staff), first_name=self.chance.choice("ABC"))

    def move(self):
        changed(self.one(self.contacts), client=self.one(self.clients))
        contact, representative = self.one(self.contacts), self.one(self.contacts)
        if contact is not representative:
            changed(contact, representative=representative)

    def archive_or_restore(self):
        records = type(self.one(self.clients)).objects.filter(pk=self.one(self.clients).pk)
        self.chance.choice([archive.archive, archive.restore])(records)

    def claim(self):
        self.claims.append(
            a_claim([{"quantity": self.chance.choice("123")}], contact=self.one(self.contacts))
        )
        changed(self.one(self.claims), due_date=f"2026-07-0{self.chance.randint(1, 9)}")

    def book(self):
        self.bookings.append(a_booking(self.one(self.plans)))
        changed(self.one(self.bookings), budget=self.chance.randint(50, 200))
        changed(self.one(self.bookings), engagement=self.one(self.plans))

    def delete_a_booking(self):
        if self.bookings:
            delete_budget(self.bookings.pop(self.chance.randrange(len(self.bookings))))

    def divide_a_component(self):
        component = self.one(self.components)
        days = [START, *sorted(self.chance.sample(DAYS_WITHIN, self.chance.randint(0, 3)))]
        ends = [*(day - dt.timedelta(days=1) for day in days[1:]), END]
        rows = [
            PeriodDraft(
                {"first_day": first, "last_day": last, "released": Decimal(self.chance.randint(1, 3))}
            )
            for first, last in zip(days, ends, strict=True)
        ]
        members = {"periods": self.chance.choice([rows, []]), "budget": Decimal(self.chance.randint(1, 9))}
        given = self.chance.choice([["periods"], ["budget"], list(members)])
        draft = WholeComponentDraft({name: members[name] for name in given}, given=given, key=component.pk)
        update_components([draft], ignore_warnings=True)

    def price(self):
        entry = self.one(self.entries)
        rows = [
            {
                "zone": zone,
                "start_date": START,
                "end_date": None,
                "amount": Decimal(self.chance.choice("123")),
            }
            for zone in self.chance.sample(Zone.values, 2)
        ]
        # What a program leaves out of the list is refused.
        with suppress(ValidationFailed):
            prices = [PriceDraft(row) for row in rows]
            update_price_lists([PriceListDraft({"prices": prices}, given=["prices"], key=entry.pk)])
        changed(entry.product, name=f"Product {self.chance.random()}")

    def change_teams(self):
        teams = self.chance.sample(self.teams, self.chance.randint(0, 2))
        key = self.one(self.staff).pk
        update_staff([StaffDraft({"teams": teams}, given=["teams"], key=key)])

    def merge_contacts(self):
        """Two contacts become one: bulk updates of whatever refers to the second."""
        target, duplicate = self.chance.sample(self.contacts, 2)
        with suppress(ValidationFailed):
            merge(target, duplicate)

    writes = (
        create,
        rename,
        name_somebody_else,
        move,
        archive_or_restore,
        claim,
        book,
        delete_a_booking,
        divide_a_component,
        price,
        change_teams,
        merge_contacts,
    )


class RandomPages:
    """Page sizes that a copy asks for; while ``is_busy``, records are written between the pages."""

    def __init__(self, chance, write):
        self.chance, self.write, self.is_busy = chance, write, False

    def __iter__(self):
        while True:
            if self.is_busy and self.chance.random() < 0.3:
                self.write()
            yield self.chance.choice([1, 2, 3, 7, 1000])


def follow_random_writes(chance):
    """Write, take and give the right to read, let a copy follow: it equals the service at every step."""
    walk, name = Walk(chance), f"Follower {chance.random()}"
    reader, application = Caller(an_application(name=name)), ApiApplication.objects.filter(name=name)
    pages = RandomPages(chance, walk.step)
    followers = [Follower(reader, path, query, page_sizes=pages) for path, query in QUERIES]
    for _ in range(STEPS):
        walk.step()
        follower = chance.choice(followers)
        if chance.random() < 0.1:
            rights = application.get().scope
            application.update(scope="")
            refused(reader.follow(follower.link), 403, "Forbidden")
            walk.step()
            application.update(scope=rights)
        pages.is_busy = True
        follower.sync()
        pages.is_busy = False
        follower.sync()
        assert follower.copy == follower.fresh(), (follower.path, follower.query)
