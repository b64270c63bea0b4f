"""Random writes and changes of rights, followed by programs that see a caseload only.

After every step a copy that follows delta links is what its caller is shown, and that is what belongs to the
caseload by a second way to say it. ``CASELOAD_STEPS=2000`` takes so many steps, each time elsewhere.
"""

import os
from random import Random

import pytest
from django.db import transaction

from apps.access.models import ApiApplication
from apps.base.declaration.service import get_service
from apps.core import caseload
from apps.core.change_log import SerialLog
from apps.odata.delta.tokens import sight_of
from apps.people.drafts import StaffDraft
from apps.people.models import Contact, Staff
from apps.people.services import update_staff
from tests.api.caller import LaterCaller, refused
from tests.api.followers import TRACK_CHANGES, Follower
from tests.api.random_writes import Walk, changed
from tests.caseloads import a_limited_application, keys_in_caseload, limit, managers_of
from tests.people.builders import a_location

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("log_of_one_writer")]

STEPS = int(os.environ.get("CASELOAD_STEPS", "0"))

QUERIES = (
    ("contact", {}),
    ("contact", {"$filter": "LastName ne 'Byron'"}),
    ("claim", {}),
    ("claim", {"$expand": "LineItems,Contact($select=LastName)"}),
    ("clientengagement", {"$expand": "*"}),
    ("booking", {}),
    ("component", {"$expand": "FundingPeriods"}),
    ("client", {}),
    ("staff", {"$expand": "Teams"}),
)


class Office(Walk):
    """Participants change hands, their managers move, and what the program may see is given and taken."""

    def __init__(self, chance):
        super().__init__(chance)
        self.places = [a_location() for _ in range(2)]
        self.limited = LaterCaller(a_limited_application(name="Program").authorization)
        self.application = ApiApplication.objects.get(name="Program")
        self.change_rights()

    def change_rights(self):
        chance = self.chance
        if chance.random() < 0.15:
            ApiApplication.objects.filter(pk=self.application.pk).update(sees_everybody=True)
            return
        some = [
            chance.sample(each, chance.randint(0, len(each)))
            for each in (self.places, self.teams, self.staff)
        ]
        limit("Program", *some)

    def hand_over(self):
        contact, manager = self.one(self.contacts), self.chance.choice([None, *self.staff])
        changed(contact, account_manager=manager)

    def move_a_manager(self):
        manager, place = self.one(self.staff), self.chance.choice([None, *self.places])
        update_staff([StaffDraft({"location": place}, given=["location"], key=manager.pk)])

    def represent(self):
        contact, other = self.chance.sample(self.contacts, 2)
        contact.refresh_from_db()
        changed(contact, representative=self.chance.choice([None, other]))

    def claim_for_another(self):
        changed(self.one(self.claims), contact=self.one(self.contacts))

    writes = (*Walk.writes, *(hand_over, move_a_manager, represent, claim_for_another) * 3)


def expected_keys(office, follower):
    office.application.refresh_from_db()
    entity_set = follower.entity_set
    if office.application.sees_everybody:
        return {str(key) for key in entity_set.model._base_manager.values_list("pk", flat=True)}
    return {str(key) for key in keys_in_caseload(entity_set.model, managers_of(office.application))}


class Copy(Follower):
    """A copy by version 2.1, which knows every record that it was ever shown."""

    def __init__(self, api, path, query, **options):
        self.seen = set()
        super().__init__(api, path, query, **options)

    @property
    def entity_set(self):
        return get_service("2.1").by_path[self.path]

    def apply_entry(self, entry):
        super().apply_entry(entry)
        self.seen |= self.copy.keys()


def follow(office, steps):
    copies = [Copy(office.limited, path, query, page_sizes=(1, 2, 3, 300)) for path, query in QUERIES]
    left = 0
    for _ in range(steps):
        with transaction.atomic():
            office.chance.choice(office.writes)(office)
        number = office.chance.randrange(len(copies))
        copy = copies[number]
        if office.chance.random() < 0.1:
            before = sight_of(office.application.caller)
            office.change_rights()
            office.application.refresh_from_db()
            if sight_of(office.application.caller) != before:
                refused(office.limited.follow(copy.link), 410, "Gone")
                copies = [
                    Copy(office.limited, path, query, page_sizes=(1, 2, 3, 300)) for path, query in QUERIES
                ]
                copy = copies[number]
        known = len(copy.removed)
        copy.sync()
        assert copy.copy == copy.fresh(), (copy.path, copy.query)
        left += any(key in copy.seen for key, reason in copy.removed[known:] if reason == "changed")
        keys = expected_keys(office, copy)
        assert copy.copy.keys() <= keys
        if "$filter" not in copy.query:
            assert copy.copy.keys() == keys, copy.path
            count = office.limited.get(f"{copy.path}/$count").content.decode()
            assert int(count) == len(keys)
    return left


def test_a_copy_follows_participants_that_change_hands(monkeypatch):
    seed = Random().randrange(10**6) if STEPS else 11
    print(f"seed {seed}")
    chance = Random(seed)
    # A record is found by its participant, or the other way round.
    monkeypatch.setattr(caseload, "are_few", lambda *_: chance.random() < 0.5)
    assert follow(Office(Random(seed)), STEPS or 120) > 0  # some have left the caseload


def test_records_of_others_are_not_removed_keys():
    """Their changes are no entries, not even as removed."""
    office = Office(Random(3))
    manager, other = office.staff
    limit("Program", staff=[manager])
    Contact.objects.update(account_manager=other)
    copy = Copy(office.limited, "claim", {})
    assert copy.copy == {}
    for _ in range(5):
        office.claim()
    assert copy.sync() == 0
    contact = Contact.objects.get(pk=office.claims[0].contact_id)
    changed(contact, account_manager=Staff.objects.get(pk=manager.pk))
    assert copy.sync() > 0
    assert copy.copy.keys() == {str(each.pk) for each in contact.claims.all()}
    changed(contact, account_manager=Staff.objects.get(pk=other.pk))
    copy.sync()
    assert copy.copy == {}
    assert {reason for _, reason in copy.removed} == {"changed"}


def test_a_first_read_whose_rights_change_between_its_pages_begins_anew():
    office = Office(Random(4))
    limit("Program", staff=office.staff)
    Contact.objects.update(account_manager=office.staff[0])
    headers = {"Prefer": f"{TRACK_CHANGES}, maxpagesize=1"}
    page = office.limited.get("contact", **headers).json()
    limit("Program", staff=office.staff[:1])
    while "@odata.nextLink" in page:
        page = office.limited.follow(page["@odata.nextLink"], **headers).json()
    refused(office.limited.follow(page["@odata.deltaLink"]), 410, "Gone")


@pytest.mark.parametrize("reads_delta", [False, True])
def test_a_manager_who_moves_between_the_rights_and_the_moment_of_a_read_is_missed_by_none(
    monkeypatch, reads_delta
):
    """The answer is to ask again: the new participants would be neither in this read nor in later changes."""
    office = Office(Random(5))
    place, (manager, _) = office.places[0], office.staff
    update_staff([StaffDraft({"location": None}, given=["location"], key=manager.pk)])
    Contact.objects.update(account_manager=manager)
    limit("Program", locations=[place])
    copy = Copy(office.limited, "contact", {}) if reads_delta else None
    moment = SerialLog.moment

    def moment_after_a_move(log):
        monkeypatch.undo()
        update_staff([StaffDraft({"location": place}, given=["location"], key=manager.pk)])
        return moment(log)

    monkeypatch.setattr(SerialLog, "moment", moment_after_a_move)
    if copy is None:
        answer = office.limited.get("contact", Prefer=TRACK_CHANGES)
    else:
        answer = office.limited.follow(copy.link)
    refused(answer, 503, "Unavailable")
    assert answer["Retry-After"]
    copy = copy or Copy(office.limited, "contact", {})
    copy.sync()
    assert copy.copy.keys() == {str(each.pk) for each in office.contacts}


@pytest.mark.parametrize(("member", "limits"), [("location", "locations"), ("teams", "teams")])
def test_participants_come_and_go_with_the_place_and_the_teams_of_their_manager(member, limits):
    office = Office(Random(5))
    manager = office.staff[0]
    place = (office.places if member == "location" else office.teams)[0]
    nowhere = [] if member == "teams" else None
    for person in office.staff:
        update_staff([StaffDraft({member: nowhere}, given=[member], key=person.pk)])
    limit("Program", **{limits: [place]})
    Contact.objects.update(account_manager=manager)
    copies = [Copy(office.limited, path, {}) for path in ("contact", "claim")]
    for there in (True, False):
        value = nowhere if not there else [place] if member == "teams" else place
        update_staff([StaffDraft({member: value}, given=[member], key=manager.pk)])
        for copy in copies:
            assert copy.sync() > 0
            assert copy.copy == copy.fresh()
            assert bool(copy.copy) is there
    assert {reason for copy in copies for _, reason in copy.removed} == {"changed"}
