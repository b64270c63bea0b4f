"""The command load_demo fills an empty database once, and leaves one in use alone."""

import datetime as dt
import fnmatch
import io
import re

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from apps.core.demo import DemoSet, demo_sets
from apps.core.models import Change, Subscriber
from apps.people.demo import lists, tour
from apps.people.models import (
    Client,
    Contact,
    CustomField,
    CustomFieldAnswer,
    Location,
    Role,
    Staff,
    Team,
)

pytestmark = pytest.mark.django_db

FEW = (
    *("--clients", "8", "--staff", "7", "--contacts", "45", "--as-of", "2026-07-01"),
    *("--claims", "30", "--invoices", "12", "--inbox", "6"),
)


def load_demo(*words):
    said = io.StringIO()
    call_command("load_demo", *(words or FEW), stdout=said)
    return said.getvalue()


def counts():
    return Client.objects.count(), Staff.objects.count(), Contact.objects.count()


def an_existing_client():
    return Client.objects.create(business_name="Somebody's own client")


def test_it_loads_as_many_records_as_asked_and_says_so():
    said = load_demo()
    assert counts() == (8, 7, 45)
    assert re.fullmatch(
        r"Loaded 7 staff, 8 clients, 45 contacts.* \(seed 1, as of 2026-07-01\) "
        r"in \d+\.\d s: [\d,]+ rows a second\.\n",
        said,
    )


def test_without_words_there_is_enough_to_look_around():
    load_demo("--seed", "1")
    assert counts() == (120, 25, 400)


def test_every_reference_of_the_loaded_records_holds():
    load_demo()
    connection.check_constraints()
    assert Client.objects.filter(key_contact__isnull=False).exists()
    assert Contact.objects.filter(representative__isnull=False).exists()


def test_every_record_has_a_line_in_the_history_written_by_the_command():
    load_demo()
    for model in (Client, Staff, Contact, Role, Team, CustomField):
        written = Change.objects.filter(record_type=model._meta.label_lower, kind="Created")
        assert set(written.values_list("channel", "staff", "application")) == {("Command", None, None)}
        keys = model.objects.values_list("pk", flat=True)
        assert sorted(written.values_list("record_key", flat=True)) == sorted(map(str, keys))


def test_what_is_unique_is_held_in_its_folded_form():
    load_demo()
    assert Client.objects.get(business_name_key="harbour lights support services (demo)")
    assert Staff.objects.get_by_natural_key("Administrator@Example.com").first_name == "Morgan"
    assert not Contact.objects.filter(unique_code__isnull=False, unique_code_key=None).exists()


def test_a_second_run_says_so_and_adds_nothing():
    load_demo()
    lines = Change.objects.count()
    assert load_demo() == "The demo data of seed 1 is loaded already; nothing was added.\n"
    assert counts() == (8, 7, 45)
    assert Change.objects.count() == lines


def test_two_seeds_do_not_share_a_database():
    load_demo()
    with pytest.raises(CommandError, match="holds the demo data of seed 1; load seed 2 into another"):
        load_demo(*FEW, "--seed", "2", "--yes-add-to-existing")
    assert counts() == (8, 7, 45)


def test_a_database_in_use_is_left_alone():
    an_existing_client()
    with pytest.raises(CommandError, match=r"holds records already.*--yes-add-to-existing"):
        load_demo()
    assert counts() == (1, 0, 0)


def test_if_empty_is_content_with_a_database_in_use():
    an_existing_client()
    assert load_demo(*FEW, "--if-empty") == ""
    assert counts() == (1, 0, 0)


def test_if_empty_loads_into_an_empty_database():
    assert load_demo(*FEW, "--if-empty").startswith("Loaded 7 staff")


def test_it_adds_to_a_database_in_use_when_told():
    an_existing_client()
    role = Role.objects.create(name="PLAN MANAGER")
    load_demo(*FEW, "--yes-add-to-existing")
    assert counts() == (9, 7, 45)
    assert role.staff.exists()


@pytest.mark.parametrize("clients", ["8", "80"])  # few are inserted otherwise than many
def test_a_clash_with_a_record_that_is_there_loads_nothing(clients):
    Client.objects.create(business_name=tour.ORGANISATION.upper())
    with pytest.raises(CommandError, match="Nothing was loaded: a record clashes"):
        load_demo(*FEW, "--clients", clients, "--yes-add-to-existing")
    assert counts() == (1, 0, 0)
    assert not Role.objects.exists()


def everything_loaded(*words):
    """What a load stores, times of writing apart; it is taken back."""
    with transaction.atomic():
        load_demo(*words)
        found = {
            model: list(model.objects.order_by("pk").values())
            for model in (Client, Staff, Contact, Role, Location, CustomField)
        }
        found[Team] = list(
            Team.objects.order_by("name").values("name", "staff__guid").order_by("staff__guid")
        )
        found[CustomFieldAnswer] = sorted(
            CustomFieldAnswer.objects.values_list(
                "custom_field__name", "staff", "client", "contact", "responses__response"
            ),
            key=str,
        )
        transaction.set_rollback(True)
    return found


def test_the_same_seed_and_day_load_the_same_records():
    assert everything_loaded() == everything_loaded()


def test_another_day_moves_the_stamps():
    moved = everything_loaded(*FEW, "--as-of", "2026-07-02")
    for model, kind in everything_loaded().items():
        if model in (Client, Staff, Contact):
            assert not {row["guid"] for row in kind} & {row["guid"] for row in moved[model]}


def test_the_subscriber_gets_a_name_only_where_none_was_saved():
    load_demo()
    assert Subscriber.objects.get().name == tour.ORGANISATION
    assert Client.objects.get(is_self=True).business_name == tour.ORGANISATION


def test_a_subscriber_who_has_a_name_keeps_it():
    Subscriber(name="Our own").save()
    load_demo()
    assert Subscriber.objects.get().name == "Our own"


def test_roles_grant_what_their_names_say():
    load_demo()
    administrator, reader = (
        Staff.objects.filter(role__name=name).first() for name in (lists.ADMINISTRATOR, lists.READ_ONLY)
    )
    assert administrator.has_perm("people.delete_client")
    assert reader.has_perm("people.view_contact")
    assert all(name.partition(".")[2].startswith("view_") for name in reader.granted)
    assert not Role.objects.get(name=lists.PARTICIPANT).permissions.exists()


def test_every_permission_that_a_role_names_exists():
    known = [f"{permission.content_type.app_label}.{permission.codename}" for permission in all_permissions()]
    for patterns in lists.ROLES.values():
        for pattern in patterns:
            assert fnmatch.filter(known, pattern), pattern


def all_permissions():
    return Permission.objects.select_related("content_type")


def test_nobody_can_sign_in_until_given_a_password():
    load_demo()
    assert not any(person.has_usable_password() for person in Staff.objects.all())
    assert not any(person.check_password("demo") for person in Staff.objects.all())


def test_some_logins_are_closed_and_some_records_archived():
    load_demo("--as-of", "2026-07-01")
    assert Staff.objects.filter(
        disable_login_date__lt=dt.datetime(2026, 7, 1, tzinfo=dt.UTC), archive_date=None
    ).exists()
    for model in (Client, Staff, Contact, Team, Location):
        assert model.objects.filter(archive_date__isnull=False).exists()
        assert model.objects.filter(archive_date=None).exists()


def test_every_custom_field_has_answers_of_its_own_kind_of_record():
    load_demo()
    for field in CustomField.objects.all():
        assert field.answers.filter(**{f"{field.applies_to.lower()}__isnull": False}).exists()
        assert not field.answers.filter(responses=None).exists()


def test_one_in_seven_of_the_staff_is_in_no_team():
    load_demo()
    assert Staff.objects.filter(teams=None).count() == 1


def test_it_says_nothing_on_standard_error_where_nobody_watches(capfd):
    load_demo()
    assert capfd.readouterr().err == ""


def test_a_day_to_come_is_refused():
    with pytest.raises(CommandError, match=r"--as-of 2999-01-01 lies in the future"):
        load_demo("--as-of", "2999-01-01")


@pytest.mark.parametrize("words", [("--clients", "0"), ("--staff", "-1"), ("--contacts", "many")])
def test_a_number_that_cannot_be_is_refused(words):
    with pytest.raises(CommandError, match=r"is not a number from [01] on"):
        load_demo(*words)


def test_the_smallest_load_is_one_client_and_one_member_of_staff():
    load_demo("--clients", "1", "--staff", "1", "--contacts", "0")
    connection.check_constraints()
    assert counts() == (1, 1, 0)


@pytest.mark.postgres("SQLite checks references with plans of its own")
def test_references_are_checked_with_plans_for_the_tables_as_they_have_become():
    load_demo()
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = 'people_contact'")
        assert cursor.fetchone() == (45,)


def test_every_set_named_in_the_settings_is_one():
    sets = demo_sets()
    assert len(sets) == len(settings.DEMO_DATA)
    assert all(isinstance(each, DemoSet) for each in sets)
    options = [size.name for each in sets for size in each.sizes]
    assert len(set(options)) == len(options)
