"""Operators beside those who work: each test fails without the lock that its command takes."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection

from apps.base import clock
from apps.core.models import Change
from apps.operations.services import backups, history_archives
from apps.operations.services.erasure import erase_person
from tests.engagements.builders import a_plan
from tests.people.records import a_contact, a_staff_member
from tests.races import call_during

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]


def test_the_certificate_of_a_second_erasure_names_nothing_that_the_first_has_removed(tmp_path):
    contact, staff = a_contact(archive_date=clock.now()), a_staff_member()
    a_plan(participant=contact, plan_start_date=dt.date(2015, 7, 1), plan_end_date=dt.date(2016, 6, 30))
    second = call_during(
        lambda: erase_person(contact, None, staff, tmp_path / "first.json"),
        lambda: erase_person(contact, None, staff, tmp_path / "second.json"),
    )
    assert set(second.certificate.records) == {"people.Contact"}


def change_table():
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 200")
            cursor.execute("ALTER TABLE core_change ADD COLUMN later integer")
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("module", "name", "write"),
    [
        (backups, "write_content", backups.create_backup),
        (history_archives, "write_table", lambda folder: history_archives.archive_history(folder, 7)),
    ],
    ids=["backup", "archive"],
)
def test_no_migration_changes_a_table_that_is_written_into_a_file(
    tmp_path, settings, monkeypatch, module, name, write
):
    for days in (3000, 0):
        at = clock.now() - dt.timedelta(days=days)
        Change.objects.create(at=at, record_type="people.client", record_key="1", kind="Created")
    settings.VAR_DIR, unbroken, tried = tmp_path, getattr(module, name), []

    def beside_a_migration(*arguments, **options):
        with pytest.raises(OperationalError, match="lock timeout"), ThreadPoolExecutor(1) as threads:
            threads.submit(change_table).result()
        tried.append(name)
        return unbroken(*arguments, **options)

    monkeypatch.setattr(module, name, beside_a_migration)
    write(tmp_path / "files")
    assert tried == [name]
