"""Damage is found and named, in a backup and in the installation."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.db.models import F

from apps.base import clock
from apps.documents.models import Document
from apps.engagements.models import ServiceBooking
from apps.funding.models import Claim, ClaimLine
from apps.operations.services import verification
from apps.operations.services.restores import restore_backup
from apps.payments.models import PaymentRun
from tests.operations.databases import default_database


def faults_of(*words):
    """The lines of the error that ``verify`` ends with."""
    with pytest.raises(CommandError) as error:
        call_command("verify", *words)
    return str(error.value).splitlines()


def flip_byte(path, position=-20):
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def a_document_file(backup):
    return sorted(path for path in (backup / "documents").rglob("*") if path.is_file())[0]


@pytest.mark.parametrize(
    ("name", "subject"),
    [("find_money_faults", "claims and invoices"), ("find_payment_faults", "payment runs")],
)
def test_money_that_cannot_be_read_is_a_fault(db, monkeypatch, name, subject):
    def fail():
        raise DatabaseError("disk I/O error")

    monkeypatch.setattr(verification, name, fail)
    found = [*verification.find_wrong_money(), *verification.find_wrong_payments()]
    assert found == [f"{subject}: disk I/O error"]


# --- a backup -------------------------------------------------------------------------------------------


def test_a_sound_backup_has_no_fault(installation, capsys):
    call_command("verify", installation.backup.parent)
    assert capsys.readouterr().out == f"{installation.backup}: no fault.\n"


@pytest.mark.parametrize("name", ["tables/people_client.copy.gz", "manifest.json", "secret_key"])
def test_a_flipped_byte_is_found_in_every_file(backup, name):
    flip_byte(backup / name)
    assert faults_of(backup)[0] == f"{name}: the file was changed: its SHA-256 differs"


def test_damage_of_documents_and_missing_and_foreign_files_are_found(backup):
    document = a_document_file(backup)
    flip_byte(document)
    (backup / "tables" / "people_staff.copy.gz").unlink()
    (backup / "tables" / "another.copy.gz").touch()
    assert faults_of(backup) == [
        f"{document.relative_to(backup)}: the file was changed: its SHA-256 differs",
        "tables/another.copy.gz: the file is no part of the backup",
        "tables/people_staff.copy.gz: the file is missing",
        f"{backup}: 3 faults.",
    ]


def test_a_file_swapped_together_with_its_checksum_is_found(backup):
    client, staff = (f"tables/people_{name}.copy.gz" for name in ("client", "staff"))
    (backup / client).rename(backup / "swapped")
    (backup / staff).rename(backup / client)
    (backup / "swapped").rename(backup / staff)
    checksums = (backup / "SHA256SUMS").read_text()
    swapped = checksums.replace(client, "swapped").replace(staff, client).replace("swapped", staff)
    (backup / "SHA256SUMS").write_text(swapped)
    assert faults_of(backup)[:2] == [
        "table people_client: its rows are not those of the manifest",
        "table people_staff: its rows are not those of the manifest",
    ]


# --- the installation -----------------------------------------------------------------------------------


@pytest.fixture
def restored(installation, empty_installation):
    """An installation of its own that a test may damage: the folder of the documents."""
    restore_backup(installation.backup)
    return empty_installation


def test_a_sound_installation_has_no_fault(on_installation, capsys):
    call_command("verify")
    assert capsys.readouterr().out == "The database and its documents: no fault.\n"


def test_damaged_and_missing_documents_and_wrong_budgets_are_named(restored, capsys):
    missing, changed, shortened = Document.objects.order_by("storage_key")
    (restored / missing.storage_key).unlink()
    flip_byte(restored / changed.storage_key)
    path = restored / shortened.storage_key
    path.write_bytes(path.read_bytes()[:-1])
    booking = ServiceBooking.objects.order_by("pk")[0]
    ServiceBooking.objects.filter(pk=booking.pk).update(claimed=booking.claimed + 1)
    assert faults_of() == [
        f"document {missing.storage_key}: the file is missing",
        f"document {changed.storage_key}: the file was changed: its SHA-256 differs",
        f"document {shortened.storage_key}: the file was changed: its SHA-256 differs",
        "budgets: 1 service bookings, 0 budgets by category and 0 funding periods do not agree with their"
        " claims and invoices: ./run recount_budgets puts them right",
        "The database and its documents: 4 faults.",
    ]
    assert ServiceBooking.objects.get(pk=booking.pk).claimed == booking.claimed + 1


def test_money_that_was_paid_and_cannot_be_right_is_named(restored):
    claim = Claim.objects.filter(archive_date=None, amount_paid=0, total__gt=0).order_by("pk")[0]
    line = claim.line_items.filter(total__gt=0).order_by("position")[0]
    ClaimLine.objects.filter(pk=line.pk).update(amount_paid=line.total)
    ServiceBooking.objects.filter(pk=line.booking_id).update(paid=F("paid") + line.total)
    found = [fault for fault in faults_of() if fault.startswith("claim")]
    paid, number = f"{line.total:,.2f}", line.position + 1
    assert found == [
        f"claim {claim}, paid: 0.00, its lines come to {paid}",
        f"claim {claim}, line {number}: {paid} paid, the entries of its payments come to 0.00",
    ]


def test_a_payment_run_whose_sum_was_changed_is_named(restored):
    run = PaymentRun.objects.create(number=99, day=clock.today(), total=1)
    assert faults_of()[0] == f"{run}: 1.00, its payments come to 0.00"


@pytest.mark.parametrize("place", ["service", "var"])
def test_what_a_killed_erasure_left_is_named_with_what_to_do(
    on_installation, tmp_path, monkeypatch, settings, place
):
    (tmp_path / "service").mkdir()
    monkeypatch.chdir(tmp_path / "service")
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    certificate = tmp_path / place / "mia.json"
    certificate.with_name("mia.json.unfinished").touch()
    assert faults_of() == [
        f"{certificate}.unfinished: its erase_person was killed: ./run erase_person with --certificate"
        f" {certificate} completes what was done, and erases what was not",
        "The database and its documents: 1 fault.",
    ]


def test_files_without_a_document_are_counted_and_are_no_fault(restored, capsys):
    (restored / "left").write_bytes(b"x")
    os.utime(restored / "left", (0, 0))
    call_command("verify")
    assert "1 file without a document: ./run sweep_documents." in capsys.readouterr().out


def test_a_damaged_page_of_sqlite_is_found(installation, tmp_path):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL's pages are looked at by amcheck, where it is installed")
    source = Path(installation.url.removeprefix("sqlite:///"))
    path = Path(shutil.copy(source, tmp_path / "damaged.sqlite3"))
    with sqlite3.connect(path) as file:
        (root,) = file.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'people_client'").fetchone()
        (size,) = file.execute("PRAGMA page_size").fetchone()
    content = bytearray(path.read_bytes())
    content[(root - 1) * size : (root - 1) * size + 100] = bytes(100)
    path.write_bytes(content)
    with default_database(f"sqlite:///{path}"):
        assert any("people_client" in fault or "malformed" in fault for fault in faults_of())


def test_a_reference_to_a_row_that_is_gone_is_found_on_sqlite(installation, tmp_path):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL lets no such row stand")
    source = Path(installation.url.removeprefix("sqlite:///"))
    path = Path(shutil.copy(source, tmp_path / "without_a_row.sqlite3"))
    with sqlite3.connect(path) as file:
        (row,) = file.execute("SELECT rowid FROM funding_claimline ORDER BY rowid").fetchone()
        file.execute("UPDATE funding_claimline SET product_id = ? WHERE rowid = ?", ("0" * 32, row))
    with default_database(f"sqlite:///{path}"):
        fault = f"table funding_claimline: row {row} refers to a row of funding_product that is missing"
        assert fault in faults_of()


def test_a_row_that_its_table_forbids_is_found_on_sqlite(installation, tmp_path):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL lets no such row stand")
    source = Path(installation.url.removeprefix("sqlite:///"))
    path = Path(shutil.copy(source, tmp_path / "forbidden.sqlite3"))
    with sqlite3.connect(path) as file:
        file.execute("PRAGMA ignore_check_constraints = ON")
        file.execute("UPDATE funding_claimline SET position = -1")
    with default_database(f"sqlite:///{path}"):
        assert "database: CHECK constraint failed in funding_claimline" in faults_of()


@pytest.mark.postgres("amcheck is its extension")
def test_an_index_that_lacks_rows_is_found_where_amcheck_is_installed(restored):
    """The index is over a function that has another result by now."""
    function = "CREATE OR REPLACE FUNCTION turned(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS"
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_available_extensions WHERE name = 'amcheck'")
        if cursor.fetchone() is None:
            pytest.skip("this PostgreSQL was installed without its extensions")
        cursor.execute(f"{function} 'BEGIN RETURN $1; END'")
        cursor.execute("CREATE INDEX of_yesterday ON people_client (turned(business_name))")
        cursor.execute(f"{function} 'BEGIN RETURN reverse($1); END'")
        call_command("verify")
        cursor.execute("CREATE EXTENSION amcheck")
    (fault,) = [line for line in faults_of() if "of_yesterday" in line]
    assert fault.startswith("index of_yesterday: ")
