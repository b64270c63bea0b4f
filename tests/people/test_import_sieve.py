"""The sieve and the careful way are one: what the sieve lets pass is what the careful way would store."""

import inspect

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from apps.core.importing.careful import CarefulWay
from apps.core.importing.sieve import Sieve
from apps.core.models import Change
from apps.odata.declaration import service
from apps.people.importing import ClientImport, ContactImport
from apps.people.models import Client, Contact, Role
from tests.people.import_files import a_csv, imported

# What each column can hold; the first is good beside the first of all others. {n} is the row's own number.
HEADERS = {
    "Unique code": ["A{n}", "A001", "a001 ", "B2", "\u212a9", "k9", "", "", "é1", "É1", "'=x", "c" * 91],
    "NDIS No": ["431000{n}", "431000001", "43 1", "311", "991000001", "", "", " 431000001", "'431000001"],
    "First name": ["Al", "Bo", "al", "", "Zoë", "\u00a0Al", "'Al", "Al\u200b", "n" * 91, "A\tl"],
    "Surname": ["Orr", "O’Brien", "O'Brien", "'O'Brien", "Orr ", "", "=Orr"],
    "Email": ["a@b.au", "A.B-c+d@x-y.example.org", "a@b", "a..b@c.au", ".a@b.au", "a@-b.au", "", "é@b.au"],
    "DOB": ["01/02/1990", "1/2/1990", "1990-02-01", "29/02/1990", "29/02/1992", "31/04/1990", "44562", ""],
    "Title": ["Mr", "mr", "MR.", "Sir", "", "Other"],
    "PersonalTitleOther": ["", "Rev"],
    "SendBirthdayReminder": ["yes", "No", "", "maybe", "1", "true"],
    "UsePrimaryEmail": ["yes", "", "no"],
    "UseSecondaryEmail": ["", "yes", "no"],
    "SecondaryEmail": ["", "s@b.au"],
    "Children": ["0", "3", "-1", "2.0", "007", "99999", "3000000000", "", "x", "1,000"],
    "AcceptsSmsContact": ["Yes", "", "unsubscribed", "Maybe"],
    "State": ["NSW", "nsw", "Vic.", "Elsewhere", ""],
    "Postcode": ["2000", "830", "", "SW1A"],
    "Country": ["Australia", "australia", "New Zealand", ""],
    "Company": ["Quay Pty Ltd", "", "quay pty ltd", "Harbour Café", "None such"],
    "Role": ["participant", "", "Nobody"],
    "Relationship": ["", "Mother"],
    "Representative/ContactGuid": ["", "x", "00000000-0000-7000-8000-000000000000"],
}

# A good row with a few cells of other kinds: rows of many faults show nothing of any one.
CHANGES = st.lists(
    st.sampled_from([(header, cell) for header, cells in HEADERS.items() for cell in cells[1:]]), max_size=3
)
FILE = st.tuples(
    st.one_of(st.just(set()), st.sets(st.sampled_from(sorted(HEADERS)), max_size=3)),
    st.lists(CHANGES, min_size=1, max_size=8),
    st.integers(0, 3),
)


def a_row(number, changes=()):
    row = {header: cells[0] for header, cells in HEADERS.items()} | dict(changes)
    return {header: cell.replace("{n}", f"{number:03}") for header, cell in row.items()}


STAMPS = ("guid", "creation_date", "modify_date")


def stored():
    """Every contact without what differs from run to run, and how much history there is."""
    rows = [
        {name: value for name, value in row.items() if name not in STAMPS}
        for row in Contact.objects.order_by("last_name", "first_name").values()
    ]
    return sorted(map(repr, rows)), Change.objects.filter(record_type="people.contact").count()


def outcome(path, sieved, monkeypatch):
    """What two runs of the file say and leave, with the sieve or without."""
    Contact.objects.all().delete()
    Change.objects.all().delete()
    monkeypatch.setattr(ContactImport, "is_sieved", sieved)
    first = imported("contact", path, "--ignore-unknown")
    left = stored()
    second = imported("contact", path, "--ignore-unknown")
    return sorted(first.remarks), first.out, left, sorted(second.remarks), second.out, stored()


@pytest.mark.postgres("the sieve is PostgreSQL's")
@pytest.mark.django_db
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILE)
@example((set(), [[]], 0))
@example((set(), [[("Unique code", "k9")], [("Unique code", "\u212a9")]], 0))
@example(({"Unique code", "NDIS No"}, [[], [("DOB", "1/2/1990")]], 1))
@example(({"Unique code", "NDIS No"}, [[("AcceptsSmsContact", "")]], 0))
@example((set(), [[(header, cell)] for header, cells in HEADERS.items() for cell in cells[1:]], 0))
def test_with_and_without_the_sieve_the_same_is_stored_and_said(tmp_path, monkeypatch, file):
    left_out, rows, again = file
    Client.objects.get_or_create(business_name="Quay Pty Ltd")
    Client.objects.get_or_create(business_name="Harbour Café")
    Role.objects.get_or_create(name="Participant")
    headers = [header for header in HEADERS if header not in left_out]
    table = [a_row(number, changes) for number, changes in enumerate(rows)]
    lines = [",".join(f'"{row[header]}"' for header in headers) for row in [*table, *table[:again]]]
    path = a_csv(tmp_path, *lines, header=",".join(headers))

    assert outcome(path, True, monkeypatch) == outcome(path, False, monkeypatch)


@pytest.mark.postgres("the sieve is PostgreSQL's")
@pytest.mark.django_db
def test_good_rows_pass_the_sieve(tmp_path, monkeypatch):
    """Else the test above would show nothing."""
    judged = []
    monkeypatch.setattr(CarefulWay, "judge", lambda self, rows: judged.extend(rows))
    Client.objects.create(business_name="Quay Pty Ltd")
    Role.objects.create(name="Participant")
    rows = [",".join(a_row(number).values()) for number in range(20)]

    result = imported("contact", a_csv(tmp_path, *rows, header=",".join(HEADERS)))

    assert result.out.startswith("20 rows: 20 new")
    assert judged == []
    assert (Contact.objects.count(), Change.objects.filter(kind="Created", channel="Import").count()) == (
        20,
        20,
    )


@pytest.mark.parametrize("importing", [ContactImport, ClientImport])
def test_every_rule_has_its_twin_or_a_reason(importing):
    rules = {*importing.rules, *importing.warnings}
    assert rules == set(importing.twins)
    for rule, twin in importing.twins.items():
        assert twin.reads, f"{rule.__name__} reads nothing"
        assert twin.passes is None or not twin.because


@pytest.mark.parametrize("importing", [ContactImport, ClientImport])
def test_a_twin_reads_what_its_rule_reads(importing):
    """Attributes are words in a rule's source; a rule that asks for one more needs a new twin."""
    found = service.get_service().by_path[importing.__name__.removesuffix("Import").lower()]
    attributes = {field.name for field in found.model._meta.concrete_fields} - {"guid"}
    for rule, twin in importing.twins.items():
        source = inspect.getsource(rule)
        asked = {
            name for name in attributes if f"draft.{name} " in f"{source} " or f"draft.{name}\n" in source
        }
        assert asked <= set(twin.reads) | {"country"}, rule.__name__


@pytest.mark.postgres("a race needs two connections and locks by row")
@pytest.mark.django_db
def test_a_code_taken_meanwhile_is_refused_and_the_rest_goes_in(tmp_path, monkeypatch):
    find_known = Sieve.find_known

    def find_known_then_lose_the_race(self, first):
        find_known(self, first)
        Contact.objects.create(first_name="First", last_name="Come", unique_code="C1")

    monkeypatch.setattr(Sieve, "find_known", find_known_then_lose_the_race)
    path = a_csv(tmp_path, "C1,Al,Orr", "C2,Bo,Orr", header="Code,First name,Surname")

    result = imported("contact", path, "--no-update")

    assert result.out.startswith("2 rows: 1 new, 0 changed, 1 unchanged, 0 refused")
