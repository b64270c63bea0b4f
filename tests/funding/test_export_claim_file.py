"""The command ``export_claim_file``."""

import datetime as dt

import pytest
from django.core.management import CommandError, call_command

from apps.funding.models import ClaimFile
from tests.funding.claim_file_checker import read_file
from tests.funding.claimable import DAY, TODAY, a_claimable_claim, a_participant, save_settings

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def march(at):
    at(TODAY)
    save_settings()


@pytest.fixture
def export(tmp_path, capsys):
    def run(*words):
        call_command("export_claim_file", "--out", str(tmp_path), *words)
        return capsys.readouterr().out

    return run


def test_the_files_are_written_into_the_folder(export, tmp_path):
    claim = a_claimable_claim(2)
    said = export()
    [path] = tmp_path.iterdir()
    file = ClaimFile.objects.get()
    assert (path.name, path.read_bytes()) == (file.file_name, bytes(file.content))
    assert said == f"{path}: 2 lines, 280.00.\n"
    assert {row["NDISNumber"] for row in read_file(path.name, path.read_bytes())} == {
        claim.contact.scheme_number
    }
    assert (file.created_by, file.until) == (None, dt.date(2026, 3, 2))


def test_a_dry_run_stores_and_writes_nothing(export, tmp_path):
    a_claimable_claim()
    left_out = a_claimable_claim(contact=a_participant(scheme_number=None))
    assert export("--dry-run") == (
        f"{left_out}: No scheme number of nine digits. {left_out.contact} has no scheme number.\n"
        "1 bill left out, 140.00.\n"
        "1 file of 1 line, 140.00, would be made.\n"
    )
    assert not ClaimFile.objects.exists()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_nothing_to_be_sent_is_a_status_of_its_own(export, words):
    a_claimable_claim()
    day = DAY - dt.timedelta(days=1)
    with pytest.raises(CommandError, match=f"There is nothing to be sent of what ends by {day}") as refused:
        export("--until", str(day), *words)
    assert refused.value.returncode == 1
    assert not ClaimFile.objects.exists()


@pytest.mark.parametrize("day", ["2026-02-30", "16/02/2026", "\0", ""])
def test_a_bad_day_is_refused(export, day):
    a_claimable_claim()
    with pytest.raises(CommandError, match="is no date"):
        export("--until", day)
    assert not ClaimFile.objects.exists()


def test_without_its_folder_nothing_is_made(export, tmp_path):
    a_claimable_claim()
    with pytest.raises(CommandError, match="is no folder") as refused:
        call_command("export_claim_file", "--out", str(tmp_path / "gone"))
    assert refused.value.returncode == 2
    assert not ClaimFile.objects.exists()


def test_a_file_that_cannot_be_written_is_still_on_its_page(export, tmp_path, monkeypatch):
    a_claimable_claim()

    def fail(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", fail)
    with pytest.raises(CommandError, match=r"No space left on device\. Download it from its page"):
        export()
    assert ClaimFile.objects.count() == 1
