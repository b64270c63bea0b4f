"""Writers that commit in any order, and a reader who follows delta links meanwhile: nothing is missed."""

import random
import time

import pytest
from django.db import connection, transaction

from apps.people.models import Client
from tests.api.caller import Caller
from tests.api.followers import Follower
from tests.api.random_writes import follow_random_writes
from tests.people.builders import a_client
from tests.races import call_at_once

pytestmark = [
    pytest.mark.postgres("SQLite has one writer at a time, so its commits are in order"),
    pytest.mark.django_db(transaction=True),
]

WRITERS, TRANSACTIONS = 4, 12


def write(seed):
    """Transactions of changes and creations that stay open for a random time."""
    chance = random.Random(seed)
    for number in range(TRANSACTIONS):
        with transaction.atomic():
            a_client(BusinessName=f"New {seed} {number}")
            for client in Client.objects.filter(business_name__startswith=f"Client of {seed}"):
                client.web_address = f"https://{chance.random()}.example"
                client.save()
            time.sleep(chance.random() / 50)
    return True


def test_a_reader_misses_no_transaction_whatever_the_order_of_commits(api):
    for seed in range(WRITERS):
        a_client(BusinessName=f"Client of {seed}")
    follower = Follower(Caller(api.authorization), "client", page_sizes=[5, 1, 300])
    done = []

    def follow():
        while len(done) < WRITERS:
            follower.sync()
        return True

    def writer(seed):
        return lambda: write(seed) and not done.append(seed)

    call_at_once(follow, *map(writer, range(WRITERS)))
    follower.sync()
    assert follower.copy == follower.fresh()
    assert len(follower.copy) == WRITERS * (TRANSACTIONS + 1)
    assert follower.sync() == 0


def test_a_copy_that_follows_random_transactions_equals_the_service_at_every_step(db):
    follow_random_writes(random.Random(7))


@pytest.mark.parametrize(("most", "entries_of_syncs"), [(50, [1, 1]), (0, [0, 2])])
def test_changes_of_a_transaction_that_was_open_come_once_it_is_committed(
    api, monkeypatch, most, entries_of_syncs
):
    """Where more are open than a moment names, what began later waits with them."""
    monkeypatch.setattr("apps.core.change_log.MAX_IN_PROGRESS", most)
    late = a_client(BusinessName="Late")
    follower = Follower(api, "client")

    def hold_open():
        with transaction.atomic():
            late.web_address = "https://late.example"
            late.save()
            began.append(True)
            while not followed:
                time.sleep(0.01)
        return True

    def change_meanwhile():
        while not began:
            time.sleep(0.01)
        a_client(BusinessName="Early")
        entries = follower.sync()
        followed.append(True)
        return entries

    began, followed = [], []
    _, entries = call_at_once(hold_open, change_meanwhile)
    assert [entries, follower.sync()] == entries_of_syncs
    assert follower.copy == follower.fresh()


def test_the_index_serves_a_delta(api, statements):
    follower = Follower(api, "client")
    a_client()
    (sql,) = [text for text in statements(follower.sync) if '"differences"' in text]
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off; SET enable_sort = off")  # of a small table it reads all
        cursor.execute(f"EXPLAIN {sql}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
        cursor.execute("RESET enable_seqscan; RESET enable_sort")
    assert "core_change_by_transaction" in plan
