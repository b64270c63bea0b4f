"""The chain of the read log: what was changed, removed or added is found, and lines elsewhere prove it."""

import datetime as dt
import hashlib
import json
import logging
import socket

import pytest
from django.core.management import call_command

from apps.base import clock
from apps.core import history, read_log_chain, read_log_shipping
from apps.core.models import PersonalDataRead
from apps.core.read_log import READ_LOG, key_bytes
from apps.core.read_log_chain import find_break
from apps.people.models import Contact, Staff
from tests.people.records import a_contact, a_staff_member, an_administrator
from tests.races import call_at_once

pytestmark = pytest.mark.django_db


def read(count=1, staff=None):
    """So many entries, written together, and none that other tests have left."""
    READ_LOG.waiting.clear()
    with history.as_author(history.Author("API", staff and staff.pk, "Reports", "r-1")):
        for number in range(count):
            READ_LOG.add(Contact, "Record", 1, number.to_bytes(16, "big"), "$filter=FirstName eq ?")
    READ_LOG.write()


def entry(position):
    return PersonalDataRead.objects.order_by("pk")[position]


def change(position, **values):
    PersonalDataRead.objects.filter(pk=entry(position).pk).update(**values)


def forge(position):
    """Change an entry, with a hash of its own."""
    found = entry(position)
    values = [getattr(found, name) for name in read_log_chain.COLUMNS]
    values[read_log_chain.COLUMNS.index("application")] = "Nobody"
    previous = entry(position - 1).hash
    change(
        position,
        application="Nobody",
        hash=read_log_chain.hash_of(read_log_chain.hashed_text(previous, values)),
    )


def test_entries_of_several_writes_are_one_chain():
    assert find_break() is None
    read(3)
    read(2, a_staff_member())
    assert find_break() is None
    assert read_log_chain.head_of_chain() == entry(4).hash
    assert len(set(PersonalDataRead.objects.values_list("hash", flat=True))) == 5


def test_an_entry_outlives_its_person_unchanged():
    staff = a_staff_member()
    read(1, staff)
    key = staff.pk
    Staff.objects.filter(pk=key).delete()
    assert entry(0).staff_id == key
    assert find_break() is None


TAMPERINGS = {
    "who": (lambda: change(2, application="Nobody"), 2),
    "when": (lambda: change(2, at=clock.now() - dt.timedelta(days=1)), 2),
    "whose records": (lambda: change(2, record_keys=b"\1" * 16), 2),
    "query": (lambda: change(2, query=""), 2),
    "one removed": (lambda: entry(2).delete(), 2),
    "the first removed": (lambda: entry(0).delete(), 0),
    "two exchanged": (lambda: (change(1, query="x"), change(2, query="y")), 1),
    "a new hash": (lambda: forge(2), 3),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_the_first_entry_that_was_changed_or_follows_a_gap_is_named(name):
    tamper, broken = TAMPERINGS[name]
    read(5)
    tamper()
    assert find_break().startswith(f"entry {entry(broken).pk} of ")


def test_entries_that_are_missing_at_the_end_are_found():
    read(5)
    last = entry(3).pk
    entry(4).delete()
    assert find_break() == f"the entries after {last} are missing"


def test_an_entry_that_something_else_added_is_found():
    read(2)
    later = clock.now() + dt.timedelta(days=2)
    added = PersonalDataRead.objects.create(
        at=later,
        channel="API",
        kind="Record",
        record_type="people.contact",
        record_count=1,
        record_keys=b"",
        query="",
    )
    assert find_break().startswith(f"entry {added.pk} of ")
    assert "was added by something else" in find_break()


def test_entries_of_before_the_chain_are_not_proved_and_no_fault():
    values = {"channel": "API", "kind": "Record", "record_type": "people.contact", "record_count": 1}
    PersonalDataRead.objects.create(
        at=clock.now() - dt.timedelta(days=90), record_keys=b"", query="", **values
    )
    assert find_break() is None
    read(2)
    # A worker of the version before, during the upgrade.
    PersonalDataRead.objects.create(at=clock.now(), record_keys=b"", query="", **values)
    read(2)
    assert find_break() is None


def test_old_entries_are_deleted_and_the_rest_is_proved(settings, monkeypatch):
    monkeypatch.setattr(read_log_chain, "BATCH", 2)
    settings.READ_LOG_DAYS = 730
    now = clock.now()
    for days, count in ((800, 3), (10, 2)):
        monkeypatch.setattr(clock, "now", lambda days=days: now - dt.timedelta(days=days))
        read(count)
    monkeypatch.undo()
    assert find_break() is None
    call_command("purge_expired")
    assert PersonalDataRead.objects.count() == 2
    assert find_break() is None
    entry(0).delete()
    assert find_break() is not None


def test_the_chain_is_proved_when_everything_is_gone():
    read(2)
    assert read_log_chain.delete_entries_before(clock.now() + dt.timedelta(days=1)) == 2
    assert find_break() is None
    read(1)
    assert find_break() is None


def test_names_of_options_are_stored_whatever_a_caller_sends(client):
    """PostgreSQL stores no NUL: the log would have stood still."""
    client.force_login(an_administrator())
    contact = a_contact()
    client.get(f"/admin/people/contact/{contact.pk}/overview/?a%00b=1")
    READ_LOG.write()
    assert not READ_LOG.waiting
    assert entry(0).query == "a?b=?"


@pytest.mark.postgres("the tests' SQLite lies in memory, where connections refuse instead of waiting")
@pytest.mark.django_db(transaction=True)
def test_several_workers_write_one_chain():
    def worker():
        for _ in range(5):
            values = (clock.now(), None, "W", "API", None, "Record", "people.contact", 1, b"", "")
            read_log_chain.append([values] * 3)
        return True

    call_at_once(*[worker] * 4)
    assert PersonalDataRead.objects.count() == 60
    assert find_break() is None


# --- lines elsewhere ------------------------------------------------------------------------------------


@pytest.fixture
def shipped_to(settings):
    """``shipped_to(address)``: entries are sent there from now on."""

    def start(address):
        settings.READ_LOG_TO = address
        read_log_shipping.outbox.cache_clear()

    yield start
    read_log_shipping.outbox.cache_clear()


def prove(lines):
    """The lines are a chain, by nothing but what is in them."""
    previous = read_log_chain.NOTHING
    for line in lines:
        text, _, _ = line.partition(',"hash":')
        assert json.loads(line)["previous"] == previous
        previous = hashlib.sha256(f"{text}}}".encode()).hexdigest()
        assert json.loads(line)["hash"] == previous


def test_lines_of_syslog_are_a_chain_with_the_keys_of_few_records(shipped_to):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(20)
        shipped_to(f"syslog://127.0.0.1:{receiver.getsockname()[1]}")
        contact = a_contact()
        READ_LOG.add(Contact, "Record", 1, key_bytes(contact.pk))
        READ_LOG.add(Contact, "List", 41, b"\0" * 16 * 41)
        READ_LOG.write()
        texts = [receiver.recv(65_536).decode() for _ in range(2)]
    assert all(text.startswith("<86>records-reads: {") for text in texts)
    lines = [text.partition(": ")[2] for text in texts]
    prove(lines)
    assert json.loads(lines[0])["keys"] == [contact.pk.hex]
    assert "keys" not in json.loads(lines[1])
    assert json.loads(lines[1])["hash"] == read_log_chain.head_of_chain()


def test_lines_of_a_file_are_a_chain_and_the_file_may_be_moved_away(shipped_to, tmp_path):
    path = tmp_path / "reads.jsonl"
    shipped_to(f"file:{path}")
    read(2)
    read_log_shipping.flush()
    assert path.stat().st_mode & 0o777 == 0o600
    path.rename(tmp_path / "reads.1")
    read(1)
    read_log_shipping.flush()
    prove([*(tmp_path / "reads.1").read_text().splitlines(), *path.read_text().splitlines()])


def test_a_receiver_that_is_away_keeps_no_entry_out_of_the_database(shipped_to, tmp_path, caplog):
    shipped_to(f"syslog:{tmp_path / 'nothing'}")
    with caplog.at_level(logging.ERROR):
        read(3)
        read_log_shipping.flush()
    assert PersonalDataRead.objects.count() == 3
    assert caplog.text.count("do not reach syslog:") == 1
