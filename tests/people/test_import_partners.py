"""Two connections share a large import: what they store and say is what one would store and say."""

import threading
import time

import psycopg
import pytest
from django.db import OperationalError, connection, connections

from apps.core import history
from apps.core.importing import runs, sieve
from apps.core.importing.partners import Partner, partner
from apps.core.importing.sieve import Sieve
from apps.core.models import Change
from apps.people.models import Contact
from tests.people.import_files import a_csv, imported, rows_of

pytestmark = [
    pytest.mark.postgres("two connections share an import only there"),
    pytest.mark.django_db(transaction=True),
]


STEP = 10


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    monkeypatch.setattr(sieve, "STEP", STEP)
    monkeypatch.setattr(runs, "WORTH_TWO", 1)


@pytest.fixture
def threads(monkeypatch):
    """Who took which step: the names of the threads, in the order of the steps' first lines."""
    taken = {}
    step = Sieve.step

    def noted(self, first, last):
        taken[first] = threading.current_thread().name
        return step(self, first, last)

    monkeypatch.setattr(Sieve, "step", noted)
    return taken


def rows(number, header="Code,First name,Surname"):
    return [f"C{row:04},Al,Orr{row}" for row in range(number)], header


def messy(number):
    """Rows of every kind, some of them about a row that another connection has."""
    for row in range(number):
        code, first, email, born, scheme = f"C{row:04}", "Al", f"a{row}@b.au", "01/02/1990", f"431{row:06}"
        match row % 13:
            case 3:
                email = "at-home"
            case 4:
                born = "1/2/1990"
            case 5:
                code = f"C{max(row - 25, 0):04}"
            case 6:
                first = " Al"
            case 7:
                code, scheme = "", f"431{max(row - 13, 0):06}"
            case 8:
                code, scheme, email, born = "", "", "same@b.au", ""
            case 9:
                code = f"\u212a{row:04}"
            case 10:
                code = f"k{row - 1:04}"
            case 11:
                first = ""
        yield f"{code},{first},Orr{row // 30},{email},{born},{scheme},NSW,Australia"


STAMPS = ("guid", "creation_date", "modify_date")


def stored():
    found = Contact.objects.values()
    contacts = sorted(
        repr({name: value for name, value in row.items() if name not in STAMPS}) for row in found
    )
    changes = Change.objects.values_list("kind", "channel", "application", "differences")
    return contacts, sorted(map(repr, changes))


def outcome(path, monkeypatch, by_two):
    """What two runs of the file say, in their order, and what they leave."""
    Contact.objects.all().delete()
    Change.objects.all().delete()
    monkeypatch.setattr(runs, "WORTH_TWO", 1 if by_two else 1 << 40)
    told = []
    for _ in range(2):
        with history.as_author(history.Author(application="Nightly")):
            result = imported("contact", path)
        refused = rows_of(path.with_suffix(".errors.csv"))
        told += [result.out, result.remarks, result.status, refused, stored()]
    return told


def others():
    """How many connections the database has besides ours."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return cursor.fetchone()[0]


def is_alone():
    """Whether the other connection is gone, soon: a server takes its time to notice."""
    until = time.monotonic() + 10
    while others() and time.monotonic() < until:
        time.sleep(0.02)
    return others() == 0


def test_one_and_two_connections_store_and_say_the_same(tmp_path, monkeypatch, threads):
    header = "Code,First name,Surname,Email,DOB,NDIS No,State,Country"
    path = a_csv(tmp_path, *messy(237), header=header)

    by_one = outcome(path, monkeypatch, by_two=False)
    assert set(threads.values()) == {"MainThread"}
    threads.clear()
    by_two = outcome(path, monkeypatch, by_two=True)

    assert [name.partition("_")[0] for _, name in sorted(threads.items())][:4] == ["MainThread", "import"] * 2
    assert by_two == by_one
    assert by_one[0].startswith("237 rows: 1")
    assert "'Created', 'Import', 'Nightly'" in by_one[4][1][0]
    assert is_alone()


def test_two_rows_that_are_one_record_by_different_keys_are_taken_in_their_order(
    tmp_path, monkeypatch, threads
):
    good, header = rows(60)

    def outcome_of(worth_two):
        Contact.objects.all().delete()
        monkeypatch.setattr(runs, "WORTH_TWO", worth_two)
        imported("contact", a_csv(tmp_path, *good, header=header))
        first = Contact.objects.get(unique_code="C0033")
        # Row 2 takes the code away that row 35, another connection's, still gives.
        lines = [f"{first.guid},X9,Al,Orr33", *(f",{row}" for row in good)]
        again = imported("contact", a_csv(tmp_path, *lines, header=f"ContactGuid,{header}"))
        return again.out, sorted(Contact.objects.values_list("unique_code", "last_name"))

    assert outcome_of(1) == outcome_of(1 << 40)
    assert Contact.objects.filter(last_name="Orr33").count() == 2


def test_a_code_taken_while_the_other_connection_stores_is_refused_and_the_rest_goes_in(
    tmp_path, monkeypatch
):
    find_known = Sieve.find_known

    def find_known_then_lose_the_race(self, first):
        find_known(self, first)
        if self.part == 1:
            Contact.objects.create(first_name="First", last_name="Come", unique_code="C0015")

    monkeypatch.setattr(Sieve, "find_known", find_known_then_lose_the_race)
    good, header = rows(40)

    result = imported("contact", a_csv(tmp_path, *good, header=header), "--no-update")

    assert result.out.startswith("40 rows: 39 new, 0 changed, 1 unchanged, 0 refused")


def test_a_step_that_others_lock_crosswise_goes_the_careful_way(tmp_path, monkeypatch):
    step = Sieve.step

    def locked(self, first, last):
        if self.part == 1 and first == 2 + STEP:
            error = OperationalError("deadlock detected")
            raise error from psycopg.errors.DeadlockDetected()
        return step(self, first, last)

    monkeypatch.setattr(Sieve, "step", locked)
    good, header = rows(40)

    assert imported("contact", a_csv(tmp_path, *good, header=header)).out.startswith("40 rows: 40 new")


def test_a_failure_of_the_other_connection_ends_the_import_as_one_of_ours_would(tmp_path, monkeypatch):
    step = Sieve.step

    def failing(self, first, last):
        if self.part == 1 and first > 2 + STEP:
            raise OperationalError("the disk is full")
        return step(self, first, last)

    monkeypatch.setattr(Sieve, "step", failing)
    good, header = rows(200)

    with pytest.raises(OperationalError, match="the disk is full"):
        imported("contact", a_csv(tmp_path, *good, header=header))

    assert is_alone()
    assert 3 * STEP <= Contact.objects.count() < 200
    assert Contact.objects.count() % STEP == 0
    assert Change.objects.count() == Contact.objects.count()


def test_whoever_stops_an_import_stops_what_the_other_connection_does(tmp_path, monkeypatch):
    """Ctrl-C while the other connection is busy: its statement is taken back at once."""
    asleep = threading.Event()

    def sleeping(self, first, last):
        if self.part == 0:
            asleep.wait(10)
            raise KeyboardInterrupt
        with self.connection.cursor() as cursor:
            asleep.set()
            cursor.execute("SELECT pg_sleep(300)")

    monkeypatch.setattr(Sieve, "step", sleeping)
    good, header = rows(40)

    with pytest.raises(KeyboardInterrupt):
        imported("contact", a_csv(tmp_path, *good, header=header))

    assert asleep.is_set()
    assert is_alone()
    assert not [one.name for one in threading.enumerate() if one.name.startswith("import")]


def test_an_import_goes_on_with_one_connection_where_there_is_no_other(tmp_path, monkeypatch, threads):
    connection.ensure_connection()

    def refuse(self, parameters):
        raise psycopg.OperationalError("sorry, too many clients already")

    monkeypatch.setattr(type(connections["default"]), "get_new_connection", refuse)
    good, header = rows(40)

    assert imported("contact", a_csv(tmp_path, *good, header=header)).out.startswith("40 rows: 40 new")
    assert set(threads.values()) == {"MainThread"}


def test_an_import_through_a_pooler_has_one_connection(tmp_path, monkeypatch, threads):
    """Two might be dealt each other's sessions between their transactions, with the other's tables."""
    monkeypatch.setattr(psycopg.ConnectionInfo, "backend_pid", property(lambda self: 0))
    good, header = rows(40)

    assert imported("contact", a_csv(tmp_path, *good, header=header)).out.startswith("40 rows: 40 new")
    assert set(threads.values()) == {"MainThread"}


@pytest.mark.parametrize("wish", ["--dry-run", "--all-or-nothing"])
def test_what_may_have_to_be_taken_back_whole_has_one_connection(tmp_path, threads, wish):
    good, header = rows(40)

    result = imported("contact", a_csv(tmp_path, *good, "C0039,Al,Twice", header=header), wish)

    assert result.out.startswith("41 rows: 40 new, 0 changed, 0 unchanged, 1 refused")
    assert set(threads.values()) == {"MainThread"}
    assert Contact.objects.count() == 0


def test_rows_that_name_others_of_the_file_have_one_connection(tmp_path, threads):
    """Whether such a row is good may depend on which of the two comes first."""
    good, header = rows(40)
    path = a_csv(tmp_path, *(f"{row}," for row in good), header=f"{header},Representative/ContactGuid")

    assert imported("contact", path).out.startswith("40 rows: 40 new")
    assert set(threads.values()) == {"MainThread"}


def test_a_file_that_copy_reads_otherwise_is_read_here_for_both_connections(tmp_path, threads):
    good, header = rows(39)

    result = imported("contact", a_csv(tmp_path, *good, 'C0039,Al,"Orr, of ""Ur"""', header=header))

    assert result.out.startswith("40 rows: 40 new")
    assert Contact.objects.get(unique_code="C0039").last_name == 'Orr, of "Ur"'
    assert len(set(threads.values())) == 2


def test_the_author_is_known_in_the_other_thread():
    with partner(connection) as second, history.as_author(history.Author(application="Nightly")):
        assert isinstance(second, Partner)
        assert second.begin(history.author).result().application == "Nightly"


def test_the_other_thread_has_a_connection_of_its_own():
    with partner(connection) as second:
        assert others() == 1
        assert second.begin(backend).result() != backend()
    assert is_alone()


def backend():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]
