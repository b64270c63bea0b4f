"""An access request gets everything of one person, and nothing of others."""

import datetime as dt
import json
import zipfile

import pytest
from django.core.management import CommandError, call_command

from apps.core.models import Change, Subscriber
from apps.documents.models import Document
from apps.documents.storage import document_storage
from apps.operations.personal_records import ownerships
from apps.people.models import Client
from tests.documents.builders import PDF, a_document
from tests.operations.persons import NAME, a_participant
from tests.people.records import a_staff_member


@pytest.fixture
def staff(db):
    return a_staff_member()


@pytest.fixture
def export(staff, tmp_path):
    """``export(contact)``: the archive that the command writes."""

    def run(contact, **options):
        path = tmp_path / "person.zip"
        call_command("export_person", str(contact.pk), str(path), by=staff.primary_email, **options)
        return zipfile.ZipFile(path)

    return run


def test_records_of_every_model_are_in_it_and_nothing_of_others(participant, export):
    neighbour = a_participant(provider=participant.provider)
    archive = export(participant.contact)
    text = archive.read("records.json").decode()
    records = json.loads(text)["records"]
    shown = [
        row.model for row in ownerships() if row.model is not Client and not row.model._meta.auto_created
    ]
    assert set(records) == {model._meta.label for model in shown}
    for model in shown:
        assert len(records[model._meta.label]) == len(participant.keys[model])
    assert str(neighbour.contact.pk) not in text
    assert records["people.Contact"][0]["birthday"] == "1907-01-07"
    assert len(records["sales.Opportunity"][0]["outcome_reasons"]) == 1


def test_its_times_are_in_the_zone_of_the_organisation(participant, export):
    Subscriber(time_zone="Australia/Perth").save()
    moment = dt.datetime.fromisoformat("2026-07-01T22:30:00+00:00")
    Change.objects.filter(record_key=str(participant.contact.pk)).update(at=moment)
    page = export(participant.contact).read("index.html").decode()
    assert "2 Jul 2026, 6:30 a.m." in page
    assert "2 Jul 2026, 8:30 a.m." not in page


def test_the_page_shows_records_changes_and_files(participant, export):
    page = export(participant.contact).read("index.html").decode()
    for text in (
        participant.contact.full_name,
        participant.claim.claim_number,
        "7 Jan 1907",
        "documents/0001-",
    ):
        assert text in page
    assert f"Number: {NAME} deleted → –" in page


def test_the_files_are_those_that_were_uploaded(participant, export):
    archive = export(participant.contact)
    assert archive.read("documents/0001-plan.pdf") == PDF


def test_only_its_owner_may_read_it(participant, export, tmp_path):
    export(participant.contact)
    assert (tmp_path / "person.zip").stat().st_mode & 0o777 == 0o600


def test_the_history_says_who_exported(participant, export, staff):
    export(participant.contact)
    change = Change.objects.latest("id")
    assert (change.kind, change.staff_id) == ("Exported", staff.pk)
    assert change.record_key == str(participant.contact.pk)


def test_the_own_client_record_comes_with_its_documents_when_asked_for(participant, export, capsys):
    document = a_document(client=participant.contact.client)
    archive = export(participant.contact, own_client=True)
    documents = json.loads(archive.read("records.json"))["records"]["documents.Document"]
    assert str(document.pk) in {each["guid"] for each in documents}


def test_without_it_the_client_record_is_named(participant, export, capsys):
    export(participant.contact)
    assert f"Not included: the client record {participant.contact.client}" in capsys.readouterr().out


def test_a_missing_file_is_named_and_everything_else_written(participant, export, tmp_path):
    document_storage().delete(
        Document.objects.get(provider_invoices=participant.provider_invoice).storage_key
    )
    with pytest.raises(CommandError, match=r"0001-plan\.pdf: the file of the document is missing"):
        export(participant.contact)
    names = zipfile.ZipFile(tmp_path / "person.zip").namelist()
    assert names == ["statements/0001-2016-06-version-1.pdf", "records.json", "index.html"]


def test_a_file_that_is_there_is_not_replaced(participant, export, tmp_path):
    (tmp_path / "person.zip").write_text("another")
    with pytest.raises(CommandError, match="is there already"):
        export(participant.contact)
    assert (tmp_path / "person.zip").read_text() == "another"
    assert not Change.objects.filter(kind="Exported").exists()


def test_an_export_that_fails_leaves_no_file(participant, export, tmp_path, monkeypatch):
    monkeypatch.setattr("apps.operations.services.person_exports.write_file", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export(participant.contact)
    assert [path.name for path in tmp_path.iterdir()] == ["files"]


def test_what_a_killed_export_left_is_removed_by_the_next(participant, export, tmp_path):
    of_another = ".5e6f7a8b.the.person.zip"
    for name in (".1a2b3c4d.person.zip", of_another):
        (tmp_path / name).write_text(NAME)
    export(participant.contact)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == [of_another]


def test_somebody_without_a_login_cannot_export(participant, tmp_path):
    with pytest.raises(CommandError, match="Nobody signs in as"):
        call_command(
            "export_person", str(participant.contact.pk), str(tmp_path / "x.zip"), by="no@example.org"
        )
