"""A backup is of one moment, complete or not there, and readable with the passphrase only."""

import base64
import errno
import json
import os
import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from apps.documents.models import Document
from apps.operations.backup_files import MANIFEST, BackupReader, BackupWriter, delete_old_backups
from apps.operations.encryption import FileEncryption
from apps.operations.services.backups import create_backup
from apps.operations.tables import OperationError
from apps.people.models import Position
from tests.operations.databases import all_rows, default_database

#: "Records of one moment" encrypted by age 1.1 with the passphrase "river otter lamp".
BY_AGE = (
    "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCB0emhzakdYMUo3UVpwMXFqKzlCb2F3IDE4CkVhNzRJVVlzQzlNWHRNUUJuVUxYeXl0"
    "YjBFSHZMTUFBQXdBU0lWOVM3MncKLS0tIDBIYndmMlF1TFI1Nk01OWxhOTJEemNkSTRLSGxVYUJKM0dEZEZsSVlXSmsKWsYEgXbyBzYVsYOP"
    "8N3ZSL5EHUiDAs4lrzNqggyXhSy124tcjn1PvzmvbR08ZemzlJFVtLE="
)


pytestmark = pytest.mark.usefixtures("on_installation")


def backups_in(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def test_the_manifest_says_what_the_backup_holds(installation):
    manifest = json.loads((installation.backup / MANIFEST).read_text())
    assert {name: table["rows"] for name, table in manifest["tables"].items()} == {
        name: len(rows) for name, rows in installation.rows.items()
    }
    assert manifest["engine"] == connection.vendor
    assert len(manifest["documents"]) == 3
    assert ["funding", "0001_initial"] in manifest["migrations"]
    assert manifest["faults"] == []


def test_only_its_owner_may_read_it(installation):
    files = [path for path in installation.backup.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert installation.backup.stat().st_mode & 0o777 == 0o700


def test_what_is_written_meanwhile_waits_for_nothing_and_is_not_in_it(databases, tmp_path, monkeypatch):
    """A position is created after the first table, on a connection of its own, as the service would."""
    write, results = BackupWriter.write, []

    def create_position():
        try:
            results.append(Position.objects.create(name="Created during the backup"))
        finally:
            connection.close()

    def write_and_create(writer, name, chunks):
        write(writer, name, chunks)
        if not results:
            other = threading.Thread(target=create_position)
            other.start()
            other.join(20)

    monkeypatch.setattr(BackupWriter, "write", write_and_create)
    with default_database(databases.create()):
        before = all_rows()
        backup = create_backup(tmp_path)
        assert list(Position.objects.all()) == results
    assert {name: table.rows for name, table in backup.manifest.tables.items()} == {
        name: len(rows) for name, rows in before.items()
    }


def test_older_backups_than_those_to_keep_are_deleted(tmp_path, capsys):
    for name in ("20260101T000000Z", "20260102T000000Z", "20260103T000000Z"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SHA256SUMS").touch()
    (tmp_path / "notes").mkdir()
    call_command("backup", tmp_path, "--keep", "2")
    names = backups_in(tmp_path)
    assert len(names) == 3
    assert (names[0], names[2]) == ("20260103T000000Z", "notes")
    assert f"{tmp_path / '20260102T000000Z'}: deleted." in capsys.readouterr().out


def test_the_rest_of_a_backup_whose_deletion_was_killed_is_deleted_by_the_next(tmp_path, monkeypatch):
    for name in ("20260101T000000Z", "20260102T000000Z"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SHA256SUMS").touch()
    with monkeypatch.context() as patched:
        patched.setattr("apps.operations.backup_files.shutil.rmtree", lambda folder: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            delete_old_backups(tmp_path, keep=1)
    new = create_backup(tmp_path).folder
    assert backups_in(tmp_path) == ["20260102T000000Z", new.name]


def test_no_older_backup_is_deleted_unless_a_number_to_keep_is_given(tmp_path):
    (tmp_path / "20260101T000000Z").mkdir()
    (tmp_path / "20260101T000000Z" / "SHA256SUMS").touch()
    assert create_backup(tmp_path).deleted == []
    assert len(backups_in(tmp_path)) == 2


@pytest.mark.parametrize("words", [("--keep", "0"), ("--keep", "all")])
def test_at_least_one_backup_is_kept(tmp_path, words):
    with pytest.raises(CommandError, match="is not a number of backups: 1 or more"):
        call_command("backup", str(tmp_path), *words)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        CommandError, match=r"The backup cannot be written to .*/file/backups: Not a directory"
    ):
        call_command("backup", tmp_path / "file" / "backups")


def test_a_full_disk_leaves_nothing_half(tmp_path, monkeypatch):
    def refuse(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("apps.operations.backup_files.os.fsync", refuse)
    with pytest.raises(CommandError, match="No space left on device"):
        call_command("backup", tmp_path)
    assert backups_in(tmp_path) == []


def test_what_a_killed_backup_left_is_removed_by_the_next(tmp_path):
    (tmp_path / ".20260101T000000Z.incomplete" / "tables").mkdir(parents=True)
    call_command("backup", tmp_path)
    (complete,) = backups_in(tmp_path)
    assert not complete.startswith(".")


def test_two_backups_into_one_folder_do_not_mix(tmp_path, monkeypatch):
    write = BackupWriter.write

    def back_up_again(writer, name, chunks):
        monkeypatch.setattr(BackupWriter, "write", write)
        with pytest.raises(CommandError, match="Another backup is being written"):
            call_command("backup", tmp_path)
        write(writer, name, chunks)

    monkeypatch.setattr(BackupWriter, "write", back_up_again)
    call_command("backup", tmp_path)
    assert len(backups_in(tmp_path)) == 1


def test_a_document_without_its_file_is_named_and_the_rest_is_backed_up(installation, tmp_path):
    document = Document.objects.order_by("pk")[0]
    path = installation.documents / document.storage_key
    content = path.read_bytes()
    path.unlink()
    try:
        with pytest.raises(CommandError, match=f"document {document.storage_key}: the file is missing\n"):
            call_command("backup", tmp_path)
    finally:
        path.write_bytes(content)
    (name,) = backups_in(tmp_path)
    assert len(BackupReader(tmp_path / name).read_manifest().documents) == 2


def test_a_database_without_tables_is_refused(databases, tmp_path):
    with (
        default_database(databases.create(has_schema=False)),
        pytest.raises(CommandError, match="The database has no tables"),
    ):
        call_command("backup", tmp_path)
    assert backups_in(tmp_path) == []


# --- encrypted ------------------------------------------------------------------------------------------


def test_a_file_of_the_passphrase_that_cannot_be_read_is_named(installation, tmp_path, settings):
    settings.BACKUP_PASSPHRASE_FILE = str(tmp_path / "passphrase")
    for words in (["backup", tmp_path / "backups"], ["verify", installation.backup]):
        with pytest.raises(CommandError, match=r"^BACKUP_PASSPHRASE_FILE cannot be read: .*passphrase"):
            call_command(*words)


def test_an_encrypted_backup_is_restored_with_its_passphrase(installation, databases, tmp_path, settings):
    (tmp_path / "passphrase").write_text("river otter lamp\n")
    settings.BACKUP_PASSPHRASE_FILE = str(tmp_path / "passphrase")
    folder = create_backup(tmp_path / "backups").folder
    stored = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert [name for name in stored if not name.endswith(".age")] == ["SHA256SUMS"]
    documents = [path.read_bytes() for path in installation.documents.rglob("*") if path.is_file()]
    assert not any(content in encrypted for content in documents for encrypted in stored.values())
    with default_database(databases.create()):
        call_command("restore", folder)
        assert all_rows() == installation.rows

    settings.BACKUP_PASSPHRASE_FILE, settings.BACKUP_PASSPHRASE = "", "river otter lamb"
    with pytest.raises(CommandError, match="The passphrase is not the one it was encrypted with"):
        call_command("restore", folder, "--replace")
    settings.BACKUP_PASSPHRASE = ""
    with pytest.raises(CommandError, match="The backup is encrypted: set BACKUP_PASSPHRASE"):
        call_command("verify", folder)


@pytest.mark.parametrize("size", [0, 1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 200_000])
def test_what_was_encrypted_is_decrypted(size):
    content = os.urandom(size)
    encrypted = b"".join(FileEncryption("river otter lamp").encrypt([content[:10], content[10:]]))
    pieces = [encrypted[start : start + 1_000] for start in range(0, len(encrypted), 1_000)]
    assert b"".join(FileEncryption("river otter lamp").decrypt(pieces)) == content


def test_a_changed_or_shortened_file_is_not_decrypted():
    encryption = FileEncryption("river otter lamp")
    encrypted = b"".join(encryption.encrypt([bytes(100_000)]))
    for damaged in (
        encrypted[:-1],
        encrypted[: len(encrypted) - (100_000 - 64 * 1024 + 16)],
        encrypted[:500] + bytes([encrypted[500] ^ 1]) + encrypted[501:],
        encrypted + b"?",
    ):
        with pytest.raises(OperationError):
            b"".join(encryption.decrypt([damaged]))


def test_a_file_of_the_program_age_is_decrypted():
    encrypted = base64.b64decode(BY_AGE)
    assert b"".join(FileEncryption("river otter lamp").decrypt([encrypted])) == b"Records of one moment"
