"""History older than the retention moves into files that can be verified; nothing of it is lost."""

import contextlib
import datetime as dt
import gzip
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.base import clock
from apps.base.errors import Gone
from apps.core.change_log import change_log, entry_hash
from apps.core.models import Change
from apps.operations.backup_files import complete_backups
from apps.operations.services import history_archives
from tests.operations.databases import default_database

NOW = dt.datetime(2027, 4, 4, 2, 30, tzinfo=dt.UTC)
#: The first moments of 4 April 2020 in Sydney, seven years before.
SEVEN_YEARS_AGO = dt.datetime(2020, 4, 3, 13, 0, tzinfo=dt.UTC)


@pytest.fixture
def history(databases):
    """A database with entries of before and after the day, and the clock set."""
    with default_database(databases.create()), clock.set_to(NOW):
        for name, seconds in (("old", -9e7), ("last", -1), ("first to stay", 0), ("new", 9e7)):
            at = SEVEN_YEARS_AGO + dt.timedelta(seconds=seconds)
            Change.objects.create(at=at, record_type="people.client", record_key=name, kind="Created")
        yield


def keys():
    return [*Change.objects.order_by("id").values_list("record_key", flat=True)]


def test_entries_older_than_seven_years_are_moved_into_a_folder_that_can_be_verified(
    history, tmp_path, capsys
):
    call_command("archive_history", tmp_path)
    archive = tmp_path / "history-before-2020-04-04"
    assert capsys.readouterr().out == f"{archive}: 2 rows of the history.\n"
    assert keys() == ["first to stay", "new"]
    lines = gzip.decompress((archive / "tables/core_change.copy.gz").read_bytes()).decode().splitlines()
    assert [key for key in ("old", "last") if any(f"\t{key}\t" in line for line in lines)] == ["old", "last"]
    call_command("verify", archive)
    assert not json.loads((archive / "manifest.json").read_text())["has_secret_key"]
    assert complete_backups(tmp_path) == []  # backup --keep counts and deletes others only


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--years", "6"), "The history stays for RETENTION_YEARS: 7, not 6."),
        (("--years", "10"), "No entry of the history is from before 2017-04-04."),
        (("--years", "3000"), "No entry of the history is from before 0001-01-01."),
    ],
)
def test_what_must_stay_is_not_archived(history, tmp_path, words, message):
    with pytest.raises(CommandError, match=message):
        call_command("archive_history", tmp_path, *words)
    assert len(keys()) == 4
    assert [*tmp_path.iterdir()] == []


def test_nothing_is_deleted_when_the_archive_is_damaged(history, tmp_path, monkeypatch):
    rename = Path.rename

    def damage_and_rename(folder, target):
        (folder / "tables/core_change.copy.gz").write_bytes(b"")
        return rename(folder, target)

    monkeypatch.setattr(Path, "rename", damage_and_rename)
    with pytest.raises(CommandError, match="nothing was deleted"):
        call_command("archive_history", tmp_path)
    assert len(keys()) == 4
    with pytest.raises(CommandError, match="nothing was deleted"):
        call_command("archive_history", tmp_path)
    assert len(keys()) == 4


def test_killed_before_it_deletes_it_goes_on_with_the_same_folder(history, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(history_archives, "verify_backup", lambda *each: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            call_command("archive_history", tmp_path)
    assert len(keys()) == 4
    call_command("archive_history", tmp_path)
    assert keys() == ["first to stay", "new"]
    assert [path.name for path in tmp_path.glob("*history*")] == ["history-before-2020-04-04"]


def test_a_folder_that_holds_other_entries_deletes_nothing(history, tmp_path):
    call_command("archive_history", tmp_path)
    for number, name in enumerate(("another old", "another last")):
        Change.objects.create(
            id=number, at=dt.datetime(2019, 1, 1, tzinfo=dt.UTC), record_type="people.client", record_key=name
        )
    assert len(keys()) == 4
    with pytest.raises(CommandError, match="does not hold them: nothing was deleted"):
        call_command("archive_history", tmp_path)
    assert len(keys()) == 4


def test_delta_links_that_are_older_than_the_archive_end_and_younger_ones_go_on(history, tmp_path):
    log = change_log()
    database, snapshot, *_ = log.moment()
    names = Change.objects.values_list("record_key", "id")
    moments = {name: (database, snapshot, number, entry_hash(number)) for name, number in names}
    call_command("archive_history", tmp_path)
    for name, moment in moments.items():
        is_archived = name in ("old", "last")
        with pytest.raises(Gone, match="history archived") if is_archived else contextlib.nullcontext():
            log.entries(moment, log.moment(), {"people.client"}, None, 10)
