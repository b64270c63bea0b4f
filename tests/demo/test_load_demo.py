"""The command load_demo fills an empty database once, and changes nothing in one that is in use."""

import datetime as dt
import gc
import re

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.core.demo import DemoSet, Size, complete_sizes, demo_sets
from apps.core.management.commands import load_demo as command
from apps.core.models import Change, Subscriber
from apps.funding.demo import DEMO as FUNDING
from apps.funding.models import Claim, Invoice, Price, Product, ProviderInvoice
from apps.people.demo import ORGANISATION
from apps.people.models import Client, Contact, CustomFieldAnswer, Role, Staff
from apps.sales.models import Opportunity, OpportunityTemplate
from tests.demo.loading import SMALL, load_demo

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def settings_of_no_other_test():
    # What is rolled back stays in the cache for some seconds, and the next test may need less.
    yield
    Subscriber.clear_cache()


DAY = dt.date(2026, 7, 1)
#: No record but the subscriber and its administrator.
LEAST = {"clients": 1, "staff": 1, "contacts": 0}


@pytest.fixture(autouse=True)
def on_a_day(at):
    at("2026-09-16 10:00")


@pytest.fixture
def people_only(settings):
    """The command with the people's set alone, for tests in which others add nothing but time."""
    settings.DEMO_APPS = ["apps.people"]


def counts():
    return Client.objects.count(), Staff.objects.count(), Contact.objects.count()


def an_existing_client():
    return Client.objects.create(business_name="Somebody's own client")


def test_it_loads_as_many_records_as_requested_and_reports_them():
    output = load_demo(as_of=DAY)
    assert counts() == (8, 7, 45)
    assert re.fullmatch(
        r"Loaded 7 staff, 8 clients, 45 contacts.* \(seed 1, as of 2026-07-01\) "
        r"in \d+\.\d s: [\d,]+ rows a second\.\n",
        output,
    )
    connection.check_constraints()


def test_garbage_is_looked_for_again_once_it_is_loaded(people_only):
    load_demo(as_of=DAY)
    assert gc.isenabled()


def test_the_default_sizes_are_enough_to_look_around():
    sizes = [size for each in demo_sets() for size in each.sizes]
    enough = {"clients": 120, "staff": 25, "contacts": 400, "documents": 60, "opportunities": 240}
    enough |= {"claims": 1_500, "invoices": 200, "inbox": 100}
    assert enough.items() <= complete_sizes(sizes, {}).items()


def test_more_claims_need_more_people_where_those_are_not_requested():
    sizes = [Size("people", 10, 0, ""), Size("claims", 5, 0, "", least_ratio={"people": 4})]
    assert complete_sizes(sizes, {"claims": 400}) == {"people": 100, "claims": 400}
    assert complete_sizes(FUNDING.sizes, {"claims": 200_000})["invoices"] == 10_000
    assert complete_sizes(FUNDING.sizes, {"claims": 200_000, "invoices": 7})["invoices"] == 7


def test_the_smallest_load_is_one_client_and_one_member_of_staff():
    load_demo(**LEAST, inbox=6, claims=20, invoices=50)
    connection.check_constraints()
    assert counts() == (1, 1, 0)
    # Nobody can be billed, and the inbox holds what came from elsewhere.
    assert (Claim.objects.count(), Invoice.objects.count(), ProviderInvoice.objects.count()) == (0, 0, 6)
    assert not Opportunity.objects.exists()
    assert OpportunityTemplate.objects.exists()


def test_a_second_run_reports_that_and_adds_nothing(people_only):
    load_demo(**LEAST)
    lines = Change.objects.count()
    assert load_demo(**LEAST) == "The demo data of seed 1 is loaded already; nothing was added.\n"
    assert counts() == (1, 1, 0)
    assert Change.objects.count() == lines


def test_two_seeds_do_not_share_a_database(people_only):
    load_demo(**LEAST)
    with pytest.raises(CommandError, match="holds the demo data of seed 1; load seed 2 into another"):
        load_demo(**LEAST, seed=2, yes_add_to_existing=True)
    assert counts() == (1, 1, 0)


def test_a_database_in_use_is_not_changed(people_only):
    an_existing_client()
    with pytest.raises(CommandError, match=r"holds records already.*--yes-add-to-existing"):
        load_demo()
    assert load_demo(if_empty=True) == ""
    assert counts() == (1, 0, 0)


def test_if_empty_loads_into_an_empty_database(people_only):
    assert load_demo(**LEAST, if_empty=True).startswith("Loaded 1 staff")


def test_it_adds_to_a_database_in_use_when_requested():
    an_existing_client()
    Subscriber(name="Our own").save()
    role = Role.objects.create(name="PLAN MANAGER")
    product = Product.objects.create(code="15_043_0128_1_3", name="Ours")
    load_demo(yes_add_to_existing=True)
    assert counts() == (9, 7, 45)
    assert role.staff.exists()
    assert Subscriber.objects.get().name == "Our own"
    assert product.entries.get().prices.count() == 9  # three years in three zones


def test_the_subscriber_gets_a_name_where_none_was_saved(people_only):
    load_demo(**LEAST)
    assert Subscriber.objects.get().name == ORGANISATION
    assert Client.objects.get(is_self=True).business_name == ORGANISATION


def test_a_clash_with_an_existing_record_loads_nothing(people_only):
    Client.objects.create(business_name=ORGANISATION.upper())
    with pytest.raises(CommandError, match="Nothing was loaded: a record clashes"):
        load_demo(yes_add_to_existing=True)
    assert counts() == (1, 0, 0)
    assert not Role.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres("SQLite loads all in one transaction, which costs it nothing")
def test_a_large_load_is_stored_step_by_step(monkeypatch):
    before, meanwhile = foreign_keys(), []
    monkeypatch.setattr(command, "MOST_AT_ONCE", 0)
    monkeypatch.setattr(command, "FEW_ROWS", 1)
    monkeypatch.setattr(command, "gather_statistics", lambda **options: meanwhile.append(foreign_keys()))
    assert load_demo(**LEAST | {"contacts": 4}, claims=20).startswith("Loaded 1 staff, 1 clients, 4 contacts")
    assert counts() == (1, 1, 4)
    assert meanwhile[0] == []
    assert foreign_keys() == before != []


def foreign_keys():
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT keys.* FROM ({command.FOREIGN_KEYS}) keys ORDER BY 1, 2")
        return cursor.fetchall()


@pytest.mark.postgres("SQLite loads all in one transaction, which costs it nothing")
def test_a_large_load_that_breaks_off_says_that_some_is_left(people_only, monkeypatch):
    def fail(**options):
        raise IntegrityError("the end")

    before = foreign_keys()
    monkeypatch.setattr(command, "MOST_AT_ONCE", 0)
    monkeypatch.setattr(command, "gather_statistics", fail)
    with pytest.raises(CommandError, match=r"broke off; begin again with an empty database: .* the end"):
        load_demo(**LEAST)
    assert counts() == (1, 1, 0)
    assert foreign_keys() == before


@pytest.mark.postgres("SQLite loads all in one transaction, which costs it nothing")
def test_a_database_in_which_a_large_load_was_killed_is_refused(people_only, monkeypatch):
    monkeypatch.setattr(command, "MOST_AT_ONCE", 0)
    monkeypatch.setattr(command, "FOREIGN_KEYS", "SELECT '', '', '' WHERE false")
    with pytest.raises(CommandError, match="has no foreign keys"):
        load_demo(**LEAST)
    assert counts() == (0, 0, 0)


@pytest.mark.postgres("SQLite keeps no statistics")
def test_statistics_are_gathered_of_tables_that_have_grown():
    def analysed(**options):
        with CaptureQueriesContext(connection) as statements:
            command.gather_statistics(**options)
        return [each["sql"] for each in statements if each["sql"].startswith("ANALYZE")]

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE people_client CASCADE")  # it may be large by what other tests took back
    command.gather_statistics()
    assert analysed() == []
    for number in range(600):
        Client.objects.create(business_name=f"Client {number}")
    (statement,) = analysed()
    assert '"people_client"' in statement
    assert '"people_contact"' not in statement
    assert analysed() == []
    (statement,) = analysed(of_all=True)
    assert '"people_contact"' in statement


def test_a_large_load_beside_other_records_leaves_nothing_when_it_fails(people_only, monkeypatch):
    monkeypatch.setattr(command, "MOST_AT_ONCE", 0)
    Client.objects.create(business_name=ORGANISATION.upper())
    with pytest.raises(CommandError, match="Nothing was loaded: a record clashes"):
        load_demo(yes_add_to_existing=True)
    assert counts() == (1, 0, 0)


def test_every_record_has_a_line_in_the_history_written_by_the_command(people_only):
    load_demo()
    for model in (Client, Staff, Contact, Role):
        lines = Change.objects.filter(record_type=model._meta.label_lower, kind="Created")
        assert set(lines.values_list("channel", "staff", "application")) == {("Command", None, None)}
        keys = model.objects.values_list("pk", flat=True)
        assert sorted(lines.values_list("record_key", flat=True)) == sorted(map(str, keys))


def loaded_records(**options):
    """What a load stores, but for random passwords; it is rolled back."""
    with transaction.atomic():
        load_demo(**{"contacts": 12, "claims": 12, "invoices": 6, "inbox": 4, "opportunities": 6, **options})
        models = (Client, Staff, Contact, Role, Opportunity, Price, ProviderInvoice, Claim, Invoice)
        found = {model: list(model.objects.order_by("pk").values()) for model in models}
        for staff in found[Staff]:
            del staff["password"]
        for opportunity in found[Opportunity]:
            # Numbers that the database gives out are not given out again after a rollback.
            for name in ("id", "stage_id", "type_id", "team_id"):
                del opportunity[name]
        found[CustomFieldAnswer] = sorted(
            CustomFieldAnswer.objects.values_list("custom_field", "staff", "client", "contact"), key=str
        )
        transaction.set_rollback(True)
    return found


@pytest.mark.any_engine("records are made in Python, and loaded on both by the tests above")
def test_the_same_seed_and_day_load_the_same_records_and_another_seed_others():
    first = loaded_records()
    assert first == loaded_records()
    other = loaded_records(seed=2, claims=6, invoices=0, inbox=0, opportunities=0)
    for model in (Client, Staff, Contact, Claim):
        assert not {row["guid"] for row in first[model]} & {row["guid"] for row in other[model]}


def test_nothing_is_written_to_standard_error_where_nobody_watches(people_only, capfd):
    load_demo(**LEAST)
    assert capfd.readouterr().err == ""


def test_a_day_to_come_is_refused():
    with pytest.raises(CommandError, match=r"--as-of 2999-01-01 lies in the future"):
        load_demo(as_of=dt.date(2999, 1, 1))


@pytest.mark.parametrize("words", [("--clients", "0"), ("--staff", "-1"), ("--contacts", "many")])
def test_a_number_that_cannot_be_is_refused(words):
    with pytest.raises(CommandError, match=r"is not a number from [01] on"):
        call_command("load_demo", *words)


@pytest.mark.postgres("SQLite checks references with plans of its own")
def test_references_are_checked_with_plans_for_the_tables_as_they_have_become(people_only):
    load_demo()
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = 'people_contact'")
        assert cursor.fetchone() == (SMALL["contacts"],)


def test_every_domain_app_has_a_set():
    sets = demo_sets()
    assert len(sets) == len(settings.DOMAIN_APPS)
    assert all(isinstance(each, DemoSet) for each in sets)
    options = [size.name for each in sets for size in each.sizes]
    assert len(set(options)) == len(options)
