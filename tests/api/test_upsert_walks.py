"""Random upserts, delta payloads, changes and archives of contacts: a model knows what each one does.

After every step the table is what the model says, and a copy that follows delta links is what the service
shows. ``UPSERT_STEPS=2000`` takes so many steps, each time elsewhere.
"""

import os
from random import Random

import pytest

from apps.core.archive import restore
from apps.people.models import Contact
from tests.api.caller import Caller
from tests.api.followers import Follower

STEPS = int(os.environ.get("UPSERT_STEPS", "0"))
LATER = {"api_version": "2.1"}
CODES = [f"P-{number}" for number in range(12)]
NAMES = {"FirstName": "Ada", "LastName": "Byron"}
STALE = 'W/"0"'
EXCEPTION = "@Org.OData.Core.V1.DataModificationException"


class Office:
    """Programs and people who write contacts; ``expected`` are the phone and state of each, by its code."""

    def __init__(self, api, chance):
        self.api, self.chance = Caller(api.authorization), chance
        self.expected, self.calls = {}, 0

    def step(self):
        self.calls += 1
        self.chance.choice(self.writes)(self)

    # --- what is chosen

    def code(self):
        """A code, and how somebody writes it."""
        code = self.chance.choice(CODES)
        return code, self.chance.choice([code, code.lower(), f" {code}"])

    def phone(self):
        return f"04 {self.calls} {self.chance.randint(0, 9)}"

    def key(self, code):
        return str(Contact.objects.get(unique_code_key=code.lower()).pk)

    def tag(self, code):
        return self.api.get(f"contact({self.key(code)})")["ETag"]

    # --- one record

    def patch_by_code(self):
        code, written = self.code()
        exists, phone = code in self.expected, self.phone()
        conditions = [({}, 428, 201), ({"If_Match": "*"}, 200, 412), ({"If_Match": STALE}, 412, 412)]
        conditions.append(({"If_None_Match": "*"}, 412, 201))
        if exists:
            conditions.append(({"If_Match": self.tag(code)}, 200, 0))
        headers, if_known, if_new = self.chance.choice(conditions)
        body = {"Phone1": phone, **self.chance.choice([NAMES, {}])}
        status = if_known if exists else if_new
        if status == 201 and len(body) == 1:
            status = 400  # a new one has a name
        answer = self.api.patch(f"contact(UniqueCode='{written}')", body, **headers, **LATER)
        assert answer.status_code == status, answer.content
        if status in (200, 201):
            self.expected[code] = (phone, self.expected.get(code, (None, False))[1])

    def patch_by_guid(self):
        """Now and then with another code, which may be somebody's."""
        if not self.expected:
            return
        code, phone = self.chance.choice([*self.expected]), self.phone()
        other = self.chance.choice([code, *CODES])
        body = {"Phone1": phone, "UniqueCode": other}
        answer = self.api.patch(f"contact({self.key(code)})", body, If_Match="*", **LATER)
        if other != code and other in self.expected:
            assert answer.status_code == 400, answer.content
            return
        assert answer.status_code == 200, answer.content
        self.expected[other] = phone, self.expected.pop(code)[1]

    def delete(self):
        code, written = self.code()
        answer = self.api.delete(f"contact(UniqueCode='{written}')", If_Match="*", **LATER)
        phone, is_archived = self.expected.get(code, (None, None))
        assert answer.status_code == {None: 404, True: 409, False: 204}[is_archived], answer.content
        if is_archived is False:
            self.expected[code] = phone, True

    def restore_all(self):
        """As the office does: programs cannot."""
        restore(Contact.objects.all())
        self.expected = {code: (phone, False) for code, (phone, _) in self.expected.items()}

    # --- delta payloads

    def apply_payload(self):
        items = [self.item() for _ in range(self.chance.randint(1, 6))]
        continues = self.chance.random() < 0.5
        is_wrong = self.find_wrong(items)
        body = {"@context": "#$delta", "value": [value for _, value in items]}
        preference = ", ".join(["continue-on-error"] * continues + ["return=representation"])
        answer = self.api.patch("contact", body, Prefer=preference, **LATER)
        if any(is_wrong) and not continues:
            assert answer.status_code in (400, 412), answer.content
            return
        assert answer.status_code == 200, answer.content
        told = [EXCEPTION in entry for entry in answer.json()["value"]]
        assert told == is_wrong, (body, answer.content)
        for (code, value), wrong in zip(items, is_wrong, strict=True):
            known = self.expected.get(code)
            if wrong or (known is None and "@removed" in value):
                continue
            if "@removed" in value:
                self.expected[code] = known[0], True
            else:
                self.expected[code] = value["Phone1"], known is not None and known[1]

    def item(self):
        code, written = self.code()
        value = {"UniqueCode": written, "Phone1": self.phone()}
        if code in self.expected and self.chance.random() < 0.3:
            value = {"ContactGuid": self.key(code), "Phone1": self.phone()}
        if self.chance.random() < 0.2:
            value["@removed"] = {"reason": "deleted"}
        if self.chance.random() < 0.8:
            value |= NAMES
        if self.chance.random() < 0.1:
            value["Gender"] = "?"
        if self.chance.random() < 0.2:
            value["@odata.etag"] = (
                STALE if code not in self.expected else self.chance.choice([STALE, "*", self.tag(code)])
            )
        return code, value

    def find_wrong(self, items):
        """Whether each item has a fault: of two items for one record it is the second."""
        found, seen = [], set()
        for code, value in items:
            is_removal, is_new = "@removed" in value, code not in self.expected
            found.append(
                code in seen
                or value.get("@odata.etag") == STALE
                or (not is_removal and (value.get("Gender") == "?" or (is_new and "LastName" not in value)))
            )
            seen.add(code)
        return found

    writes = (
        *(patch_by_code,) * 3,
        *(apply_payload,) * 4,
        patch_by_guid,
        delete,
        restore_all,
    )

    # --- what holds

    def stored(self):
        rows = Contact.objects.values_list("unique_code_key", "phone1", "archive_date")
        return {code.upper(): (phone, archived is not None) for code, phone, archived in rows}


@pytest.mark.django_db(transaction=True)
def test_a_copy_that_follows_upserts_equals_the_table_at_every_step(api):
    office = Office(api, Random() if STEPS else Random(3))
    query = {"$filter": "startswith(Phone1,'04')", "$expand": "Client,Role"}
    current = {"$filter": "ArchiveDate eq null"}
    followers = [Follower(api, "contact"), Follower(api, "contact", query), Follower(api, "contact", current)]
    for _ in range(STEPS or 60):
        office.step()
        assert office.stored() == office.expected
        for follower in followers:
            follower.sync()
            assert follower.copy == follower.fresh()
        codes = {entry["UniqueCode"].strip().upper() for entry in followers[2].copy.values()}
        assert codes == {code for code, (_, is_archived) in office.expected.items() if not is_archived}
