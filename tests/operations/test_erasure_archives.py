"""An erasure reaches the archives of old history, and leaves there what is about others."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.base import clock
from apps.core.models import Change
from apps.engagements.models import ClientEngagement
from apps.operations.services import erasure_archives
from tests.engagements.builders import a_booking
from tests.operations.conftest import document_settings
from tests.operations.databases import default_database, enter_support_categories
from tests.operations.persons import NAME, a_participant
from tests.people.records import a_contact, a_staff_member


@pytest.fixture
def archived(databases, settings, tmp_path):
    """A participant and a neighbour whose history was archived, and the staff member who erases."""
    settings.STORAGES, settings.VAR_DIR = document_settings(tmp_path / "files"), tmp_path
    with default_database(databases.create()):
        enter_support_categories()
        participant, staff = a_participant(), a_staff_member()
        neighbour = a_contact(first_name="Mia")
        neighbour.first_name = "Maya"
        neighbour.save()
        Change.objects.update(at=clock.now().replace(year=2017, day=1))
        Change.objects.create(at=clock.now(), record_type="people.team", record_key="1", kind="Created")
        call_command("archive_history", tmp_path / "archives")
        (folder,) = (tmp_path / "archives").glob("history-*")
        yield participant, staff, folder


def rows(folder):
    text = gzip.decompress((folder / "tables/core_change.copy.gz").read_bytes()).decode()
    return text.splitlines()


def erase(participant, staff, folder, **options):
    certificate = folder.parent.parent / "certificate.json"
    options = {"certificate": certificate, "yes": True, "archives": folder.parent, **options}
    call_command("erase_person", str(participant.contact.pk), by=staff.primary_email, **options)
    return json.loads(certificate.read_text())


def test_the_archive_loses_the_values_of_the_person_and_no_row(archived, capsys):
    participant, staff, folder = archived
    before = rows(folder)
    assert any("Deleted" in row and NAME in row for row in before)
    proof = erase(participant, staff, folder)
    after = rows(folder)
    assert not [row for row in after if NAME in row]
    assert len(after) == len(before)
    assert [row for row in after if "Maya" in row] == [row for row in before if "Maya" in row] != []
    changed = sum(old != new for old, new in zip(before, after, strict=True))
    assert proof["archives"] == {folder.name: changed}
    said = capsys.readouterr().out
    assert f"{folder.name}: {changed} changes without values" in said
    assert "Archives of old history" not in said  # nothing of the person remains in these
    call_command("verify", folder)
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]


def test_the_archive_loses_the_changes_of_a_record_that_was_deleted_later(archived):
    """The deletion, which names whose record it was, is in the history that was not archived."""
    participant, staff, folder = archived
    shutil.rmtree(folder)
    booking = a_booking(ClientEngagement.objects.filter(participant=participant.contact).first())
    booking.booking_number = f"{NAME} 7"
    booking.save()
    Change.objects.update(at=clock.now().replace(year=2017, day=1))
    a_contact()
    call_command("archive_history", folder.parent)
    booking.delete()
    assert any(NAME in row for row in rows(folder))
    erase(participant, staff, folder)
    assert not any(NAME in row for row in rows(folder))


def test_a_damaged_archive_ends_the_erasure_and_nothing_is_erased(archived):
    participant, staff, folder = archived
    path = folder / "tables/core_change.copy.gz"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CommandError, match="is damaged"):
        erase(participant, staff, folder)
    participant.contact.refresh_from_db()
    assert participant.contact.first_name.startswith(NAME)


def test_a_folder_without_archives_is_refused(archived, tmp_path):
    participant, staff, folder = archived
    with pytest.raises(CommandError, match="has no archive of the history"):
        erase(participant, staff, folder, archives=tmp_path)


@pytest.mark.parametrize("killed_at", ["verify_backup", "shutil"])
def test_killed_while_an_archive_is_written_anew_a_second_erasure_ends_it(archived, monkeypatch, killed_at):
    """Before the new one has its place, and before the one before is deleted."""
    participant, staff, folder = archived
    with monkeypatch.context() as patched:
        patched.setattr(erasure_archives, killed_at, None)
        with pytest.raises((TypeError, AttributeError)):
            erase(participant, staff, folder)
    erase(participant, staff, folder)
    assert not [row for row in rows(folder) if NAME in row]
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]


def test_killed_between_the_two_names_a_second_erasure_ends_it(archived, monkeypatch):
    participant, staff, folder = archived
    rename = Path.rename

    def rename_and_end(path, target):
        rename(path, target)
        if path == folder:
            raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", rename_and_end)
        with pytest.raises(ZeroDivisionError):
            erase(participant, staff, folder)
    erase(participant, staff, folder)
    assert not [row for row in rows(folder) if NAME in row]
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]
