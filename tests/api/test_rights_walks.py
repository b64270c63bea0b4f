"""A program whose rights change while messages wait for its receiver and files for its download.

After every step nothing is told that it does not see at that moment; once its receiver has heard everything,
what they made of its copy is what it is shown. Each run walks elsewhere, ``RIGHTS_WALKS=20`` 20 times;
``RIGHTS_SEED=5`` begins with that walk.
"""

import json
import os
from random import Random, randrange

import pytest

from apps.access import webhooks
from apps.access.models import ApiApplication, Webhook, WebhookMessage
from apps.access.webhooks import send_changes
from apps.core.models import FileExport
from tests.api.caller import Caller, ok
from tests.api.followers import key_of
from tests.api.test_caseload_walks import Office
from tests.tasks import run_tasks

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("log_of_one_writer")]

#: The sets of the walk: participants themselves, what belongs to them, what belongs to nobody.
SETS = ("Contact", "Claim", "Team")
STEPS = 60
WALKS = int(os.environ.get("RIGHTS_WALKS", "1"))
SEED = os.environ.get("RIGHTS_SEED")
SCOPES = ("read write", "contact.read team.read subscription.write", "claim.read exportjob.read")


class Program(Office):
    """Has a webhook with records of each set and a copy of what these told; writes nothing itself."""

    def __init__(self, chance, monkeypatch):
        super().__init__(chance)
        monkeypatch.setattr(webhooks, "post", lambda *_: pytest.fail("a thread has no database"))
        monkeypatch.setattr(webhooks.SENDING.threads, "submit", self.receive)
        self.is_up = True
        self.copies = {name: {} for name in SETS}
        body = [{"EntitySet": name, "IncludesRecords": True, "Address": "http://127.0.0.1/"} for name in SETS]
        ok(self.limited.post("subscription", {"value": body}), 201)
        for name in SETS:
            self.read_again(name)

    def receive(self, _, address, body, headers):
        """What a receiver does with a message; nothing in it is hidden from the program now."""
        return Answer(self.is_up and self.hear(json.loads(body)))

    def hear(self, message):
        name, event = message["type"].split(".")
        application = ApiApplication.objects.get(pk=self.application.pk)
        assert application.archive_date is None
        assert {"read", f"{name.lower()}.read"} & set(application.scope.split())
        visible = self.visible(name)
        for change in message["data"]["changes"]:
            if "record" in change:
                assert change["key"] in visible, (name, change)
                self.copies[name][change["key"]] = change["record"]
            elif change["change"] in ("removed", "deleted"):
                self.copies[name].pop(change["key"], None)
        if event == "reset":
            self.read_again(name)
        return True

    def visible(self, name):
        """What the set shows to the program now, by key, with the members that messages have."""
        return {key_of(record): record for record in Caller(self.limited.authorization).all(name.lower())}

    def read_again(self, name):
        self.copies[name] = self.visible(name)

    def change_program(self):
        """Another caseload, other scopes, revoked or restored."""
        chance, rows = self.chance, ApiApplication.objects.filter(pk=self.application.pk)
        change = chance.randrange(3)
        if change == 0:
            self.change_rights()
        elif change == 1:
            rows.update(scope=chance.choice(SCOPES))
        else:
            rows.update(archive_date=chance.choice([None, None, "2026-07-01T00:00Z"]))

    def begin_export(self):
        answer = self.limited.post("exportJob", {"Address": f"{self.chance.choice(SETS)}?$format=ndjson"})
        assert answer.status_code in (201, 401, 403, 409)

    def make_files(self):
        """A file that is made now has what the program sees now, or there is none."""
        waiting = set(FileExport.objects.filter(status="Exporting").values_list("pk", flat=True))
        run_tasks()
        for job in FileExport.objects.filter(pk__in=waiting):
            answer = self.limited.get(f"exportJob({job.pk})/File")
            if answer.status_code == 200:
                assert keys_in(answer) == self.visible(set_of(job)).keys()
            else:
                assert answer.status_code in (401, 403, 409)

    def fetch_old_files(self):
        """A file of which the program may no longer see a record is kept back."""
        for job in FileExport.objects.filter(status="Ready"):
            answer = self.limited.get(f"exportJob({job.pk})/File")
            if answer.status_code == 200:
                assert keys_in(answer) <= self.visible(set_of(job)).keys()

    actions = (change_program, begin_export, make_files, fetch_old_files)


def set_of(job):
    return job.file_name.partition(".")[0]


def keys_in(file):
    return {key_of(json.loads(line)) for line in file.getvalue().decode().splitlines()}


class Answer:
    """The answer of a receiver, which is there at once."""

    def __init__(self, is_accepted):
        self.is_accepted = is_accepted

    def result(self):
        return self.is_accepted, "Status"


def wait_for_receivers():
    """As if all pauses were over."""
    Webhook.objects.update(failures=0, paused_until=None)
    WebhookMessage.objects.filter(state="Waiting").update(next_attempt="2026-01-01T00:00Z")


@pytest.mark.parametrize("walk", range(WALKS))
def test_a_program_is_told_of_nothing_that_it_may_no_longer_see(walk, monkeypatch, settings):
    settings.WEBHOOK_HTTP, settings.WEBHOOK_NETWORKS = True, ["127.0.0.0/8"]
    monkeypatch.setattr(webhooks, "wait", lambda waiting, *_: (list(waiting), None))
    monkeypatch.setattr(webhooks, "ROUND_SECONDS", 600.0)  # on a slow machine too all is sent
    seed = randrange(10**6) if SEED is None else int(SEED) + walk
    print(f"seed {seed}")
    chance = Random(seed)
    program = Program(chance, monkeypatch)
    for _ in range(STEPS):
        program.step()
        if chance.random() < 0.3:
            chance.choice(program.actions)(program)
        program.is_up = chance.random() < 0.5
        if chance.random() < 0.7:
            wait_for_receivers()
            send_changes()
    program.is_up = True
    ApiApplication.objects.filter(pk=program.application.pk).update(archive_date=None, scope="read write")
    for _ in range(3):
        wait_for_receivers()
        send_changes()
    assert program.copies == {name: program.visible(name) for name in SETS}
