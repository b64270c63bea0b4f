"""The back office's history, archiving and forms, as they are for every record."""

import csv
import datetime as dt
import re
import uuid
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.core import archive, history, history_display
from apps.core.history import Author
from apps.core.models import Change, Subscriber, TimestampedModel
from apps.payments.models import BankAccount
from apps.payments.services.accounts import confirm_account
from apps.people.models import Client, Team
from tests.engagements.builders import a_plan
from tests.payments.builders import an_account
from tests.people.records import (
    a_client,
    a_contact,
    a_role,
    a_staff_member,
    form_data,
    get_unrendered,
)

pytestmark = [pytest.mark.django_db, pytest.mark.both_engines("changes are found by statements of their own")]


def page_of(record, name="change"):
    label = record._meta
    return f"/admin/{label.app_label}/{label.model_name}/{record.pk}/{name}/"


def last_lines(record, count=1):
    return list(history_display.changes_of(record)[:count])


def test_a_change_names_its_person_its_channel_and_its_fields(client, ada):
    record = a_contact(personal_title="Dr")
    cora = a_staff_member(first_name="Cora", last_name="Smith")
    page = client.get(page_of(record))
    data = form_data(page, personal_title="Mx", account_manager=str(cora.pk), use_primary_email=None)
    assert client.post(page_of(record), data).status_code == 302
    (line,) = history_display.history_lines(last_lines(record))
    assert (line.who, line.channel, line.kind) == ("Ada Byron", "Back office", "Changed")
    differences = {each.label: (each.before, each.after) for each in line.differences}
    assert differences["Title"] == ("Dr", "Mx")
    assert differences["Account manager"] == ("–", "Cora Smith")
    assert "Cora Smith" in client.get(page_of(record, "history")).content.decode()


def test_the_colour_of_a_line_of_the_history_tells_what_was_done():
    record = a_client()
    for archive_date in (clock.now(), None):
        record.archive_date = archive_date
        record.save()
    record.business_name = "Renamed"
    record.save()
    changes = history_display.changes_of(record)
    record.delete()
    assert [(line.kind, line.colour) for line in history_display.history_lines(changes)] == [
        ("Deleted", "danger"),
        ("Changed", "info"),
        ("Restored", "success"),
        ("Archived", "warning"),
        ("Created", "success"),
    ]


def test_a_record_that_was_deleted_has_the_name_that_it_had():
    mia = a_contact(first_name="Mia", last_name="Nguyen")
    plan = a_plan(participant=mia)
    keys = [str(mia.pk), str(plan.pk)]
    plan.delete()
    mia.delete()
    for kind in ("Deleted", "Created"):
        lines = history_display.history_lines(Change.objects.filter(record_key__in=keys, kind=kind))
        # The name of a plan has its participant's in it, who is gone as well.
        assert {(line.record, line.url) for line in lines} == {
            ("Mia Nguyen", None),
            (f"Plan {keys[1]}", None),
        }


def test_the_entries_of_a_deleted_record_are_found_by_its_name(client, ada):
    mia, other = a_contact(first_name="Mia", last_name="Ng"), a_contact(first_name="Mia", last_name="Tran")
    acme = a_client(business_name="Nguyen & Ng", unique_code="NG-7")
    mia_key, acme_key = str(mia.pk), str(acme.pk)
    for record in (mia, other, acme):
        record.delete()
    for words, key in zip(("Mia NG", "nguyen", "ng-7"), (mia_key, acme_key, acme_key), strict=True):
        page = client.get("/admin/core/change/", {"q": words})
        found = [(each.kind, each.record_key) for each in page.context["cl"].result_list]
        assert found == [("Deleted", key), ("Created", key)], words
    assert not client.get("/admin/core/change/", {"q": "mia xylophone"}).context["cl"].result_list


@pytest.mark.postgres("SQLite has other plans")
def test_names_of_deleted_records_are_looked_for_among_deletions_alone(client, ada):
    with CaptureQueriesContext(connection) as captured:
        client.get("/admin/core/change/", {"q": "xylophone"})
    (sql,) = [each["sql"] for each in captured.captured_queries if "= 'Deleted'" in each["sql"]]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN {sql}")
        assert "core_change_deletions" in "".join(line for (line,) in cursor.fetchall())


def test_times_of_the_history_are_in_the_zone_of_the_subscriber(client, ada):
    Subscriber(time_zone="Pacific/Auckland").save()
    record = a_client()
    Change.objects.filter(record_key=str(record.pk)).update(at="2026-07-01T20:30:00+00:00")
    assert "2 Jul 2026, 8:30 a.m." in client.get(page_of(record, "history")).content.decode()


def test_an_api_application_is_named_in_the_history(client, ada):
    with history.as_author(Author(channel="API", application="Payroll")):
        record = a_client()
    page = client.get(page_of(record, "history")).content.decode()
    assert "Payroll" in page
    assert "API" in page


def coded_columns(model):
    """Its columns whose values are codes, or keys that are no references."""
    columns = model._meta.concrete_fields
    return [each for each in columns if each.choices or each.get_internal_type() == "UUIDField"]


@pytest.mark.parametrize(
    "model",
    [each for each in apps.get_models() if issubclass(each, TimestampedModel) and coded_columns(each)],
    ids=lambda model: model.__name__,
)
def test_no_column_of_a_history_is_shown_as_a_key_or_as_a_code(model):
    columns = coded_columns(model)
    values = {each.attname: each.choices[0][0] if each.choices else str(uuid.uuid4()) for each in columns}
    entry = Change(
        record_type=model._meta.label_lower,
        record_key=str(uuid.uuid4()),
        at=clock.now(),
        kind="Changed",
        differences={name: [None, value] for name, value in values.items()},
    )
    (line,) = history_display.history_lines([entry])
    labels = {str(label) for each in columns for _, label in each.choices or ()}
    assert {each.after for each in line.differences} <= labels


def test_the_history_of_a_bank_account_says_who_confirmed_it_and_shows_no_key(client, ada):
    account = an_account(a_client(business_name="Harbour Lights"), confirmed=False)
    confirm_account(account.pk, ada, "Jo, by the number of the contract")
    shown = client.get(page_of(account, "history")).content.decode()
    assert "Confirmed by" in shown
    assert "Confirmed for" not in shown
    assert str(account.client_id) not in shown


def test_a_history_page_takes_one_query_for_each_kind_of_record(django_assert_max_num_queries):
    record = a_contact()
    for _ in range(12):
        record.account_manager = a_staff_member()
        record.client = a_client()
        record.save()
    changes = last_lines(record, 20)
    with django_assert_max_num_queries(3):
        assert len(history_display.history_lines(changes)) == 13


def test_a_list_that_changes_is_in_the_history_and_makes_the_record_modified(client, ada):
    person = a_staff_member()
    before = person.modify_date
    Team.objects.create(name="North")
    data = form_data(get_unrendered(client, page_of(person)), teams=[Team.objects.get().pk])
    assert client.post(page_of(person), data).status_code == 302
    (line,) = history_display.history_lines(last_lines(person))
    assert [(each.label, each.before, each.after) for each in line.differences] == [("Teams", "–", "North")]
    person.refresh_from_db()
    assert person.modify_date > before


def test_django_keeps_no_second_history(client, ada):
    record = a_client()
    client.post(page_of(record), form_data(get_unrendered(client, page_of(record)), business_name="Other"))
    assert Client.objects.get().business_name == "Other"
    assert not LogEntry.objects.exists()


def test_the_first_page_shows_what_this_person_did(client, ada):
    a_client(business_name="By nobody")
    with history.as_author(Author(channel="Back office", staff_id=ada.pk)):
        made = a_client(business_name="By Ada")
    page = client.get("/admin/").content.decode()
    assert re.search(rf'href="/admin/people/client/{made.pk}/[^"]*"[^>]*>\s*By Ada', page)
    assert "By nobody" not in page


def test_whoever_saves_second_overwrites_nothing_and_sees_why(client, ada):
    record = a_client(business_name="First")
    opened = form_data(get_unrendered(client, page_of(record)), business_name="Second thoughts")
    cora = a_staff_member(first_name="Cora", last_name="Smith")
    clock.reset_now()
    with history.as_author(Author(channel="Back office", staff_id=cora.pk)):
        record.business_name = "Changed meanwhile"
        record.save()
    answer = client.post(page_of(record), opened)
    assert answer.status_code == 200
    assert "Cora Smith changed this record" in answer.content.decode()
    record.refresh_from_db()
    assert record.business_name == "Changed meanwhile"


def test_a_form_sent_without_its_version_is_refused(client, ada):
    record = a_client(business_name="First")
    data = form_data(get_unrendered(client, page_of(record)), opened_version=None, business_name="Second")
    assert client.post(page_of(record), data).status_code == 200
    record.refresh_from_db()
    assert record.business_name == "First"


def test_lists_show_current_records_unless_filtered_for_others(client, ada):
    a_client(business_name="Here still")
    a_client(business_name="Long gone", archive_date=clock.now())
    address = "/admin/people/client/"

    def shown(query):
        page = client.get(address + query).content.decode()
        return "Here still" in page, "Long gone" in page

    assert shown("") == (True, False)
    assert shown("?archived=yes") == (False, True)
    assert shown("?archived=all") == (True, True)


def test_archived_records_are_not_offered_for_reference(client, ada):
    a_client(business_name="Acme here")
    a_client(business_name="Acme gone", archive_date=clock.now())
    answer = client.get(
        "/admin/autocomplete/?term=acme&app_label=people&model_name=contact&field_name=client"
    )
    assert [each["text"] for each in answer.json()["results"]] == ["Acme here"]


def test_selected_records_are_archived_and_restored_with_a_line_for_each(client, ada):
    records = [a_client() for _ in range(3)]
    for done, kind in (("archive_selected", "Archived"), ("restore_selected", "Restored")):
        data = {"action": done, "_selected_action": [str(each.pk) for each in records]}
        client.post("/admin/people/client/?archived=all", data)
        assert {last_lines(each)[0].kind for each in records} == {kind}
        assert {last_lines(each)[0].staff_id for each in records} == {ada.pk}
    assert not Client.objects.exclude(archive_date=None).exists()


def test_archiving_many_takes_the_same_queries_as_archiving_one(django_assert_num_queries):
    for _ in range(30):
        a_client()
    with django_assert_num_queries(5):  # two of them are the savepoint's
        assert archive.archive(Client.objects.all()) == 30
    assert archive.archive(Client.objects.all()) == 0
    assert archive.restore(Client.objects.all()) == 30


def test_archiving_counts_as_a_modification():
    record = a_client()
    before = record.modify_date
    clock.reset_now()
    archive.archive(Client.objects.all())
    record.refresh_from_db()
    assert record.modify_date > before


def test_one_record_is_archived_after_a_question(client, ada):
    record = a_client(business_name="Acme")
    a_contact(client=record)
    asked = client.get(page_of(record, "archiving")).content.decode()
    assert "1 contact (organisation)" in asked
    record.refresh_from_db()
    assert not record.is_archived
    client.post(page_of(record, "archiving"))
    record.refresh_from_db()
    assert record.is_archived


def test_nobody_deletes_records(client, ada):
    record = a_client()
    assert client.post(page_of(record, "delete"), {"post": "yes"}).status_code == 403
    assert Client.objects.filter(pk=record.pk).exists()


def test_whoever_may_only_look_changes_nothing(client):
    client.force_login(a_staff_member(role=a_role("people.view_client")))
    record = a_client(business_name="Acme")
    assert client.get(page_of(record)).status_code == 200
    assert client.get(page_of(record, "history")).status_code == 200
    for page in ("change", "archiving"):
        assert client.post(page_of(record, page), {"business_name": "Mine"}).status_code == 403
    data = {"action": "archive_selected", "_selected_action": [str(record.pk)]}
    client.post("/admin/people/client/", data)
    record.refresh_from_db()
    assert (record.business_name, record.is_archived) == ("Acme", False)
    for other in (a_contact(), a_staff_member()):
        for page in ("change", "history", "archiving"):
            assert client.get(page_of(other, page)).status_code == 403


def test_the_history_of_all_records_shows_only_those_that_somebody_may_view(client):
    organisation = a_client(business_name="Acme")
    a_contact(first_name="Mia", last_name="Nguyen")
    Change.objects.create(
        at=clock.now(), record_type="sales.opportunity", record_key="1", kind="Changed", channel="Command"
    )
    client.force_login(a_staff_member(role=a_role("core.view_change", "people.view_client")))
    found = get_unrendered(client, "/admin/core/change/").context["cl"].result_list
    assert {(each.record_type, each.record_key) for each in found} == {
        ("people.client", str(organisation.pk))
    }


def test_the_menu_shows_only_what_somebody_may_see(client):
    client.force_login(a_staff_member(role=a_role("people.view_client")))
    page = client.get("/admin/").content.decode()
    assert "/admin/people/client/" in page
    for hidden in ("/admin/people/staff/", "/admin/people/contact/", "/admin/core/subscriber/"):
        assert hidden not in page


def test_settings_are_one_form_that_starts_with_the_defaults(client, ada):
    answer = client.get("/admin/core/subscriber/", follow=True)
    data = form_data(answer, name="Blue Gum Support", time_zone="Australia/Perth")
    assert client.post("/admin/core/subscriber/1/change/", data).status_code == 302
    assert (Subscriber.objects.get().name, Subscriber.objects.get().pk) == ("Blue Gum Support", 1)
    assert client.get("/admin/core/subscriber/add/").status_code == 403


@pytest.mark.parametrize("is_new", [True, False])
def test_only_a_new_installation_begins_with_four_eyes(is_new):
    Subscriber.objects.all().delete()
    Change.objects.all().delete()
    if not is_new:
        a_client()  # its history shows that the installation was in use
    migration = import_module("apps.core.migrations.0004_four_eyes_by_default")
    migration.keep_setting(apps, SimpleNamespace(connection=connection))
    Subscriber.clear_cache()
    assert Subscriber.current().four_eyes is is_new


def test_settings_refuse_a_zone_that_does_not_exist(client, ada):
    data = form_data(get_unrendered(client, "/admin/core/subscriber/1/change/"), time_zone="Mars/Olympus")
    answer = client.post("/admin/core/subscriber/1/change/", data)
    assert "Mars/Olympus is not a time zone" in answer.content.decode()
    assert not Subscriber.objects.exists()


@pytest.mark.parametrize(
    ("zone", "moment", "new_zone"),
    [
        ("Australia/Perth", "9999-12-31T23:59:59+08:00", "Australia/Sydney"),
        ("Australia/Lord_Howe", "0001-01-01T00:00:00+00:00", "America/New_York"),
    ],
)
def test_settings_refuse_a_zone_in_which_a_stored_time_has_no_date(client, ada, zone, moment, new_zone):
    Subscriber(time_zone=zone).save()
    address = "/admin/core/subscriber/1/change/"
    cora = a_staff_member(
        first_name="Cora", last_name="Smith", disable_login_date=dt.datetime.fromisoformat(moment)
    )
    refused = client.post(address, form_data(get_unrendered(client, address), time_zone=new_zone))
    message = f"In {new_zone} “Login disabled from” of the staff member Cora Smith is not between the years"
    assert message in refused.content.decode()
    assert Subscriber.objects.get().time_zone == zone
    cora.disable_login_date = None
    cora.save()
    data = form_data(get_unrendered(client, address), time_zone=new_zone)
    assert client.post(address, data).status_code == 302
    # The history still has it, in a zone that cannot show it.
    page = client.get(page_of(cora, "history")).content.decode()
    assert dt.datetime.fromisoformat(moment).astimezone(dt.UTC).isoformat() in page


def test_the_history_of_all_records_is_read_only_and_takes_few_queries(
    client, ada, django_assert_max_num_queries
):
    for _ in range(20):
        a_client()
    with django_assert_max_num_queries(15):
        page = client.get("/admin/core/change/").content.decode()
    assert "Organisation" in page
    assert client.get("/admin/core/change/add/").status_code == 403


def shown(client, **query):
    page = get_unrendered(client, "/admin/core/change/", query)
    assert page.status_code == 200
    lines = [change.display_line for change in page.context["cl"].result_list]
    return {(line.record, line.who) for line in lines}


def exported(client, **query):
    answer = client.get("/admin/core/change/export/", query)
    return list(csv.DictReader(b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()))


#: The two changes as the list shows them.
WALSH, HARBOUR = ("Matilda Walsh", "Cora Smith"), ("=Harbour Physio", "Xero sync")


@pytest.fixture
def changes(ada, at):
    """Changes by two people and an application, of two kinds of record, on two days."""
    cora = a_staff_member(first_name="Cora", last_name="Smith")
    at("2026-11-19 23:30")
    with history.as_author(Author("Back office", staff_id=cora.pk)):
        matilda = a_contact(first_name="Matilda", last_name="Walsh")
    at("2026-11-20 00:30")
    with history.as_author(Author("API", application="Xero sync")):
        harbour = a_client(business_name="=Harbour Physio")
        harbour.unique_code = "H1"
        harbour.save()
    return cora, matilda, harbour


def test_changes_are_found_by_person_application_and_kind_of_record(client, changes):
    cora, _, _ = changes
    assert shown(client, staff__guid__exact=str(cora.pk)) == {WALSH}
    assert shown(client, application__icontains="xero") == {HARBOUR}
    assert shown(client, record_kind="people.contact") == {WALSH}


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        ("2026-11-19", "2026-11-19", {WALSH}),
        ("20/11/2026", "20/11/26", {HARBOUR}),
        ("19/11/2026 23:30", "19/11/2026 23:30", {WALSH}),
        ("19/11/2026 23:31", "20/11/2026 00:29", set()),
        (" 19/11/2026 23:31:00 ", "20/11/2026", {HARBOUR}),
    ],
)
def test_changes_between_two_days_or_moments_are_shown(client, changes, first, last, found):
    assert shown(client, at_from=first, at_to=last) == found


@pytest.mark.parametrize("text", ["yesterday", "31/02/2026", "20/11/2026 25:00", "31/12/9999 23:59"])
def test_a_text_that_is_no_day_does_not_filter_and_is_named(client, changes, text):
    page = client.get("/admin/core/change/", {"at_from": text, "at_to": "19/11/2026"}).content.decode()
    assert f"“{text}” does not filter the list: write 31/12/2026 or 31/12/2026 14:30." in page
    assert "Matilda Walsh" in page
    assert "=Harbour Physio" not in page


def test_changes_are_searched_by_the_names_of_records(client, changes):
    assert {record for record, _ in shown(client, q="Walsh, Matilda")} == {"Matilda Walsh"}
    assert {record for record, _ in shown(client, q="physio")} == {"=Harbour Physio"}
    assert {record for record, _ in shown(client, q=str(changes[1].pk))} == {"Matilda Walsh"}
    assert shown(client, q="xylophone") == set()


def test_the_changes_of_a_record_are_found_by_its_identifier_without_reading_all_others(client, changes):
    with CaptureQueriesContext(connection) as queries:
        assert {record for record, _ in shown(client, q=str(changes[1].pk))} == {"Matilda Walsh"}
    assert not any('"request_id" =' in query["sql"] for query in queries)


def test_a_search_finds_the_changes_of_many_records_and_of_what_belongs_to_them(client, changes):
    walshes = [a_contact(first_name=f"Mia {number}", last_name="Walsh") for number in range(10)]
    assert len(shown(client, q="walsh")) == len(walshes) + 1
    account = an_account(changes[2], entered_by=changes[0])
    BankAccount.objects.filter(pk=account.pk).update(archive_date=account.creation_date)
    role = a_role(name="Physio desk")
    assert {name for name, _ in shown(client, q="physio")} == {"=Harbour Physio", str(account), str(role)}


def test_what_is_filtered_is_exported_for_an_auditor(client, changes):
    rows = exported(client, record_kind="people.client")
    assert [(row["Change"], row["Field"], row["Before"], row["After"]) for row in rows] == [
        ("Changed", "Unique code", "–", "H1"),
        ("Created", "", "", ""),
    ]
    assert rows[0]["Record"] == "'=Harbour Physio"
    assert rows[0]["Time"] == "2026-11-20T00:30:00+11:00"
    assert (rows[0]["Person"], rows[0]["Application"]) == ("", "Xero sync")


def test_the_export_has_only_records_that_the_person_may_view(client, changes):
    client.force_login(a_staff_member(role=a_role("core.view_change", "people.view_contact")))
    kinds = {row["Kind of record"] for row in exported(client)}
    assert kinds == {"Contact"}
    client.force_login(a_staff_member(role=a_role("people.view_contact")))
    assert client.get("/admin/core/change/export/").status_code == 403


def test_an_export_with_filters_that_there_are_not_does_not_exist(client, ada):
    assert client.get("/admin/core/change/export/", {"nothing": "1"}).status_code == 404


def test_the_changes_of_a_person_are_linked_from_their_overview(client, ada, changes):
    page = client.get(f"/admin/people/staff/{changes[0].pk}/overview/").content.decode()
    assert f"/admin/core/change/?staff__guid__exact={changes[0].pk}" in page
