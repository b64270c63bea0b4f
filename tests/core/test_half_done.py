"""A step of a service that fails takes back those before it: work for a worker is whole, or not there."""

from io import BytesIO

import pytest
from django.db.models import QuerySet

from apps.access.models import AccessToken
from apps.access.services import register_application, renew_secret, revoke_applications
from apps.core import archive, file_exports, file_imports, notices
from apps.core.file_import_kinds import find_kind
from apps.core.models import FileExport, FileImport, Notice, NoticePreference
from apps.people.models import Contact
from tests.operations.databases import all_rows
from tests.people.records import an_administrator

pytestmark = pytest.mark.django_db


class Broken(Exception):
    """What a step fails with."""


def fail(*arguments, **options):
    raise Broken


class BrokenTask:
    enqueue = staticmethod(fail)


def an_import():
    kind = find_kind("contact")
    record = file_imports.create_file_import(kind, "people.csv", b"First name\nIda", an_administrator().pk)
    record.refresh_from_db()
    return record


def an_export():
    return file_exports.start_file_export(Contact, "Contact.csv", "", an_administrator().pk)


def an_application():
    application, _ = register_application("Sync")
    AccessToken.objects.create(hash="0" * 64, application=application, expires_at="2100-01-01T00:00Z")
    return application


def another_import():
    kind, staff = find_kind("contact"), an_administrator()
    return lambda: file_imports.create_file_import(kind, "people.csv", b"First name\nIda", staff.pk)


def an_import_that_begins():
    record = an_import()
    return lambda: file_imports.start(record, FileImport.Status.CHECKING)


def an_import_that_is_cancelled():
    record = an_import()
    return lambda: file_imports.store_cancelled(record)


def an_import_that_ends():
    record = an_import()
    return lambda: file_imports.finish(record, FileImport.Status.IMPORTED)


def another_export():
    staff = an_administrator()
    return lambda: file_exports.start_file_export(Contact, "Contact.csv", "", staff.pk)


def an_export_that_ends():
    record = an_export()
    return lambda: file_exports.finish_export(record, FileExport.Status.READY)


def a_file_that_is_stored():
    record = an_export()
    return lambda: file_exports.store_file(record, BytesIO(b"a"))


def a_secret_that_is_renewed():
    application = an_application()
    return lambda: renew_secret(application)


def an_application_that_is_revoked():
    rows = type(an_application()).objects.all()
    return lambda: revoke_applications(rows)


def notices_that_are_mailed():
    staff = an_administrator()
    NoticePreference.objects.create(staff=staff, by_mail=True)
    return lambda: notices.write_notices([Notice(staff=staff, kind="Due", text="Due", url="/")])


@pytest.mark.parametrize(
    ("place", "name", "prepare"),
    [
        (file_imports, "start", another_import),
        (file_imports, "process_file_import", an_import_that_begins),
        (file_imports, "finish_cancelled", an_import_that_is_cancelled),
        (file_imports, "write_notices", an_import_that_ends),
        (file_exports, "process_file_export", another_export),
        (file_exports, "write_notices", an_export_that_ends),
        (file_exports, "finish_export", a_file_that_is_stored),
        (QuerySet, "delete", a_secret_that_is_renewed),
        (archive, "archive", an_application_that_is_revoked),
        (notices, "mail_notice", notices_that_are_mailed),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_what_fails_on_its_way_leaves_nothing_half_done(monkeypatch, place, name, prepare):
    call = prepare()
    before = all_rows()
    monkeypatch.setattr(place, name, BrokenTask if hasattr(getattr(place, name), "enqueue") else fail)
    with pytest.raises(Broken):
        call()
    assert all_rows() == before
