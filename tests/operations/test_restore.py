"""The restore drill: a backup becomes the installation it was made of, or nothing is written."""

import hashlib
import json
import shutil
import sqlite3
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import override_settings

from apps.core.models import Change
from apps.documents.models import Document
from apps.operations.backup_files import CHECKSUMS, MANIFEST
from apps.operations.services.backups import create_backup
from apps.operations.services.restores import holds_records
from apps.people.models import Client
from tests.operations.conftest import document_settings
from tests.operations.databases import all_rows, default_database


def files_below(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def change_manifest(backup, **members):
    """Write other members into a manifest, with the checksum that goes with it."""
    path = backup / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), **members}))
    lines = [line for line in (backup / CHECKSUMS).read_text().splitlines() if not line.endswith(MANIFEST)]
    lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {MANIFEST}")
    (backup / CHECKSUMS).write_text("\n".join(lines) + "\n")


def migrations_of(backup):
    return json.loads((backup / MANIFEST).read_text())["migrations"]


def test_every_table_and_file_is_as_it_was(installation, empty_installation, capsys):
    call_command("restore", installation.backup)
    assert all_rows() == installation.rows
    assert files_below(empty_installation) == files_below(installation.documents)
    assert len(files_below(empty_installation)) == Document.objects.count() == 3
    assert "each with the checksum of the backup, and 3 documents." in capsys.readouterr().out
    connection.check_constraints()


def test_numbers_that_the_database_gives_go_on_after_the_last(installation, empty_installation):
    call_command("restore", installation.backup)
    last = Change.objects.order_by("-pk")[0].pk
    Client.objects.create(business_name="The first after the restore")
    assert Change.objects.order_by("-pk")[0].pk == last + 1


def test_a_number_that_was_given_before_the_backup_is_not_given_again(backup, empty_installation):
    """Although its row was gone by then: cursors of programs and links to the history have such numbers."""
    tables = json.loads((backup / MANIFEST).read_text())["tables"]
    changes = tables[Change._meta.db_table]
    changes["last_number"] += 100
    change_manifest(backup, tables=tables)
    call_command("restore", backup)
    Client.objects.create(business_name="The first after the restore")
    assert Change.objects.latest("pk").pk == changes["last_number"] + 1


def test_a_backup_with_a_reference_to_a_row_that_is_gone_is_not_restored(
    installation, empty_installation, tmp_path
):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL lets no such row stand, so no backup has one")
    path = shutil.copy(installation.url.removeprefix("sqlite:///"), tmp_path / "without_a_row.sqlite3")
    with sqlite3.connect(path) as file:
        file.execute("UPDATE funding_claimline SET product_id = ?", ("0" * 32,))
    with (
        default_database(f"sqlite:///{path}"),
        override_settings(STORAGES=document_settings(installation.documents)),
    ):
        folder = create_backup(tmp_path / "backups").folder
    with pytest.raises(CommandError, match=r"A row refers to one that is missing: .* Nothing was restored"):
        call_command("restore", folder)
    assert not holds_records(connection)


def test_after_a_restore_references_are_checked_as_before(installation, empty_installation):
    call_command("restore", installation.backup)
    with pytest.raises(IntegrityError), transaction.atomic():
        Document.objects.update(category=uuid4())


def test_the_secret_key_is_restored_unless_the_environment_names_one(
    installation, empty_installation, settings, monkeypatch
):
    key = settings.VAR_DIR / "secret_key"
    monkeypatch.setenv("SECRET_KEY", "another")
    call_command("restore", installation.backup)
    assert not key.exists()
    monkeypatch.setenv("SECRET_KEY", "")  # which names none
    call_command("restore", installation.backup, "--replace")
    assert key.read_text() == settings.SECRET_KEY
    assert key.stat().st_mode & 0o777 == 0o600


def test_a_database_with_records_is_replaced_only_on_demand(installation, empty_installation):
    Client.objects.create(business_name="Somebody's own client")
    with pytest.raises(CommandError, match=r"nothing was written\. --replace deletes them first"):
        call_command("restore", installation.backup)
    assert Client.objects.count() == 1
    assert not empty_installation.exists()
    call_command("restore", installation.backup, "--replace")
    assert all_rows() == installation.rows


def test_what_migrations_write_is_no_record(empty_installation):
    assert not holds_records(connection)


def test_the_newest_backup_of_a_folder_is_restored(installation, empty_installation):
    call_command("restore", installation.backup.parent)
    assert all_rows() == installation.rows


@pytest.mark.any_engine("both restore in the tests around it, and migrate before there is a stored schema")
def test_a_backup_of_an_older_version_is_brought_up_to_date(
    installation, backup, databases, empty_installation
):
    """Into a database without tables: the schema is made as it was, and the newer migrations follow."""
    newest = max(each for each in migrations_of(backup) if each[0] == "sales")  # it makes no table
    change_manifest(backup, migrations=[each for each in migrations_of(backup) if each != newest])
    with default_database(databases.create(has_schema=False)):
        call_command("restore", backup)
        assert all_rows() == installation.rows
        call_command("migrate", "--check")


def test_a_backup_of_a_newer_version_is_refused(backup, empty_installation):
    change_manifest(backup, migrations=[*migrations_of(backup), ["people", "9999_tomorrow"]])
    with pytest.raises(CommandError, match=r"this version does not know: people\.9999_tomorrow"):
        call_command("restore", backup)
    assert not holds_records(connection)


def test_a_damaged_backup_is_refused_before_the_first_write(backup, empty_installation):
    path = backup / "tables" / "people_client.copy.gz"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(CommandError, match=r"people_client.*SHA-256 differs\n.*nothing was restored"):
        call_command("restore", backup)
    assert not holds_records(connection)
    assert not empty_installation.exists()


def test_rows_that_are_not_those_of_the_manifest_are_not_restored(backup, empty_installation):
    tables = json.loads((backup / MANIFEST).read_text())["tables"]
    tables["people_client"]["rows"] += 1
    change_manifest(backup, tables=tables)
    with pytest.raises(CommandError, match=r"people_client: 2 rows .* were loaded instead of 3 rows"):
        call_command("restore", backup)
    assert not holds_records(connection)


def test_no_document_stays_when_a_file_is_another(backup, empty_installation):
    documents = json.loads((backup / MANIFEST).read_text())["documents"]
    documents[max(documents)]["sha256"] = "0" * 64
    change_manifest(backup, documents=documents)
    with pytest.raises(CommandError, match="is not the one that was written to the backup"):
        call_command("restore", backup)
    assert not holds_records(connection)
    assert not files_below(empty_installation)


def test_a_folder_without_a_backup_is_refused(installation, tmp_path):
    with pytest.raises(CommandError, match="is no complete backup, and holds none"):
        call_command("restore", tmp_path)
