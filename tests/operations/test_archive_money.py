"""Old claim files, answers and payment runs move into files; nothing is lost, and nothing is ready again."""

import datetime as dt
import hashlib
import io
import json
import zipfile
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from apps.base import clock
from apps.core.models import Change
from apps.funding.models import Claim, ClaimFile, ClaimFileLine, ClaimResult, Remittance, RemittanceLine
from apps.funding.services.answer_faults import find_answer_faults
from apps.funding.services.invariants import find_claim_file_faults
from apps.operations import archived_books, money_files
from apps.operations.encryption import FileEncryption
from apps.operations.services import money_archives, money_plans
from apps.payments.models import BankFile, PaymentRun, PaymentRunClaim, PaymentRunItem
from apps.payments.services import archived_runs
from apps.payments.services.accounts_exports import create_accounts_export, plan_accounts_export
from apps.payments.services.accounts_faults import find_accounts_faults
from apps.payments.services.invariants import find_payment_faults
from apps.payments.services.ready import load_ready
from apps.payments.services.returns import mark_returned
from apps.payments.services.runs import create_run, release_run, withdraw_run
from tests.funding.builders import a_claim, a_claim_file, a_remittance
from tests.payments.builders import (
    a_paid_claim,
    a_releaser,
    accounts_settings,
    an_account,
    owed_amount,
    payment_settings,
)
from tests.people.records import a_client, a_contact, a_staff_member
from tests.races import call_during

pytestmark = pytest.mark.django_db

OLD, YOUNG, NOW = "2019-03-05 10:00", "2020-06-01 10:00", "2027-04-04 10:00"
MODELS = (
    *(ClaimFile, ClaimFileLine, ClaimResult, Remittance, RemittanceLine),
    *(PaymentRun, PaymentRunItem, PaymentRunClaim, BankFile),
)


@pytest.fixture
def provider():
    payment_settings()
    provider = a_client()
    an_account(provider)
    return provider


def way_of_a_claim(provider, amount="20.00"):
    """A claim with its file, the agency's answers, and the run that paid it out, all of now."""
    claim = a_paid_claim(amount, provider=provider)
    file = a_claim_file([claim], status="Sent")
    (line,) = file.lines.all()
    ClaimResult.objects.create(file_line=line, is_accepted=True, file_name="results.csv")
    remittance = a_remittance(line)
    run = release_run(create_run([claim.pk], clock.today(), a_staff_member()).pk, a_releaser())
    return claim, file, remittance, run


@pytest.fixture
def old(at, provider):
    at(OLD)
    found = way_of_a_claim(provider)
    at(NOW)
    return found


def archive(folder, *words):
    out = io.StringIO()
    call_command("archive_money", folder, *words, stdout=out)
    return out.getvalue().splitlines()


def counts():
    return {model: model._default_manager.count() for model in MODELS}


def faults():
    """But those of the status history, which the claims of builders do not have."""
    money = [each for each in find_answer_faults() if "status history" not in each]
    return [*money, *find_claim_file_faults(), *find_payment_faults()]


def ready():
    return [(each.record, each.amount, owed_amount(each)) for each in load_ready()]


def test_what_is_old_is_moved_into_a_file_of_its_year_and_the_claim_stays(at, provider, old, tmp_path):
    claim, file, _, run = old
    at(YOUNG)
    younger = way_of_a_claim(provider)
    at(NOW)
    (bank_file,) = run.bank_files.all()
    first, *others = archive(tmp_path)
    (path,) = tmp_path.glob("money-*.zip")
    assert first == f"2019: 1 remittance, 1 claim file, 1 payment run: {path}"
    assert others == []
    with zipfile.ZipFile(path) as stored:
        sums = dict(reversed(line.split("  ")) for line in stored.read("SHA256SUMS").decode().splitlines())
        names = set(stored.namelist()) - {"SHA256SUMS"}
        assert {name: hashlib.sha256(stored.read(name)).hexdigest() for name in names} == sums
        assert stored.read(f"files/funding_claimfile/{file.pk}-{file}") == bytes(file.content)
        assert stored.read(f"files/payments_bankfile/{bank_file.pk}-{bank_file}") == bytes(bank_file.content)
        (row,) = stored.read("rows/payments_paymentrunclaim.jsonl").splitlines()
        assert (json.loads(row)["claim_id"], json.loads(row)["amount"]) == (str(claim.pk), "20.00")
        assert len(names) == len(MODELS) + 2
    assert path.stat().st_mode & 0o777 == 0o600
    assert Claim.objects.filter(pk=claim.pk).exists()
    assert not ClaimFile.objects.filter(pk=file.pk).exists()
    for record in younger:
        assert type(record).objects.filter(pk=record.pk).exists()
    assert {each.kind for each in Change.objects.filter(record_key=str(file.pk))} == {"Created", "Deleted"}
    assert faults() == []


def test_nothing_is_ready_to_be_paid_again(old, tmp_path):
    assert ready() == []
    archive(tmp_path)
    assert ready() == []
    (kept,) = PaymentRun.objects.all()
    assert (kept.status, kept.total, kept.day) == ("Opening", 20, dt.date(2019, 3, 5))
    assert kept.items.get().account is None
    assert not BankFile.objects.exists()
    assert faults() == []


@pytest.mark.postgres("SQLite has one writer and its test database one connection")
@pytest.mark.django_db(transaction=True)
def test_what_is_changed_meanwhile_is_not_moved(old, tmp_path):
    *_, run = old
    rows = PaymentRun.objects.filter(pk=run.pk)
    call_during(lambda: rows.update(day=dt.date(2020, 6, 1)), lambda: archive(tmp_path))
    assert rows.get().status == "Released"


def test_what_came_back_or_was_withdrawn_is_as_ready_as_before(at, provider, tmp_path):
    at(OLD)
    *_, run = way_of_a_claim(provider)
    mark_returned(run.items.get().pk, "closed", None)
    at(NOW)
    before = ready()
    assert [amount for _, amount, _ in before] == [20]
    archive(tmp_path)
    assert ready() == before
    # It has paid out nothing, so nothing of it is kept.
    assert not PaymentRun.objects.exists()


def test_what_was_set_off_counts_once(at, provider, tmp_path):
    at(OLD)
    first, *_ = way_of_a_claim(provider, "30.00")
    Claim.objects.filter(pk=first.pk).update(amount_paid=10)
    second = a_paid_claim("50.00", provider=provider)
    run = create_run([second.pk], clock.today(), a_staff_member(), set_off=[first.pk])
    release_run(run.pk, a_releaser())
    assert run.total == 30
    at(NOW)
    assert ready() == []
    archive(tmp_path)
    assert ready() == []
    assert PaymentRun.objects.get().total == 60
    assert faults() == []


def test_runs_that_would_come_to_less_than_nothing_stay(at, provider, tmp_path):
    at(OLD)
    first, *_, run = way_of_a_claim(provider, "30.00")
    Claim.objects.filter(pk=first.pk).update(amount_paid=10)
    second = a_paid_claim("20.01", provider=provider)
    later = create_run([second.pk], clock.today(), a_staff_member(), set_off=[first.pk])
    release_run(later.pk, a_releaser())
    PaymentRunClaim.objects.filter(item__run=later, amount__gt=0).update(returned=True)
    PaymentRunClaim.objects.filter(item__run=run).update(returned=True)
    at(NOW)
    before = ready()
    lines = archive(tmp_path)
    assert (
        f"Stays: 2 payment runs: what is owed of it was set off, and the rest came back ({run}, {later})"
        in lines
    )
    assert (ready(), PaymentRun.objects.count()) == (before, 2)


def test_an_accounts_export_keeps_its_files_and_its_run_goes(at, provider, old, tmp_path):
    at(OLD)
    accounts_settings(first_day=dt.date(2019, 1, 1))
    export = create_accounts_export(clock.today())
    at(NOW)
    archive(tmp_path)
    assert not PaymentRun.objects.filter(pk=old[-1].pk).exists()
    entries = export.entries.filter(kind="Paid")
    assert list(entries.values_list("item", "amount")) == [(None, Decimal("20.00"))]
    assert bytes(export.files.get().content).count(b"20.00")
    assert faults() == []
    assert list(find_accounts_faults()) == []
    assert not plan_accounts_export(clock.today()).sources


def test_a_second_run_finds_nothing(old, tmp_path):
    archive(tmp_path)
    before = counts()
    first, *others = archive(tmp_path)
    assert first == "Nothing from before 2020-04-04 can be archived."
    assert others == ["Stays: 1 payment run: it has what was paid out before (Payment run 2)"]
    assert counts() == before
    assert len([*tmp_path.glob("money-*")]) == 1


def test_a_trial_stores_and_deletes_nothing(old, tmp_path):
    before = counts()
    lines = archive(tmp_path / "new", "--dry-run")
    assert lines == ["2019: 1 remittance, 1 claim file, 1 payment run would be archived."]
    assert counts() == before
    assert [*tmp_path.iterdir()] == []


def test_what_is_within_the_retention_is_refused_and_an_earlier_day_takes_less(old, tmp_path):
    with pytest.raises(CommandError, match="until 2020-04-04, not until 2020-04-05"):
        archive(tmp_path, "--until", "2020-04-05")
    for day in ("0001-01-01", "2019-03-05"):
        assert archive(tmp_path, "--until", day) == [f"Nothing from before {day} can be archived."]
    assert len(archive(tmp_path, "--until", "2019-03-06")) == 1


# --- what stays -----------------------------------------------------------------------------------------


def test_what_stays_is_named_with_its_reason(at, provider, tmp_path):
    at(OLD)
    unsent = a_claim_file([a_claim(funding_status="AgencyFullyPaid")], status="NotSent")
    open_claim = a_claim(funding_status="AgencyPartiallyPaid")
    half_paid = a_claim_file([open_claim])
    draft_claim = a_paid_claim("20.00", provider=provider)
    draft = create_run([draft_claim.pk], clock.today(), None)
    at(NOW)
    before = counts()
    first, *others = archive(tmp_path)
    assert first.startswith("Nothing")
    assert sorted(others) == sorted(
        [
            f"Stays: 1 claim file: not sent ({unsent})",
            f"Stays: 1 claim file: claims or invoices in it are open ({half_paid})",
            f"Stays: 1 payment run: not released ({draft})",
        ]
    )
    assert counts() == before
    withdraw_run(draft.pk)
    Claim.objects.filter(pk=open_claim.pk).update(resubmitted=True)
    assert "1 claim file, 1 payment run" in archive(tmp_path)[0]


def test_a_file_and_its_remittances_go_together_or_stay(at, provider, old, tmp_path):
    """The old file stays with a younger remittance, and its old remittance with the file."""
    _, file, remittance, _ = old
    at(YOUNG)
    younger = a_remittance(*file.lines.all())
    at(NOW)
    lines = archive(tmp_path)
    assert lines[0].startswith("2019: 1 payment run: ")
    assert any("refer to it that stay" in line and str(file) in line for line in lines)
    assert any("it refers to a claim file that stays" in line and str(remittance) in line for line in lines)
    assert Remittance.objects.count() == 2
    younger.lines.all().delete()
    younger.delete()
    assert archive(tmp_path)[0].startswith("2019: 1 remittance, 1 claim file: ")


def test_what_other_records_refer_to_stays(old, tmp_path, monkeypatch):
    others = tuple(book for book in archived_books.BOOKS if book.model is not Remittance)
    monkeypatch.setattr(money_plans, "BOOKS", others)
    monkeypatch.setattr(money_archives, "BOOKS", others)
    lines = archive(tmp_path)
    assert lines[0].startswith("2019: 1 payment run: ")
    assert any("claim file: " in line and "refer to it that stay" in line for line in lines[1:])
    assert ClaimFile.objects.exists()


def test_rows_that_would_go_unwritten_stop_it(old, tmp_path, monkeypatch):
    """Rows that are deleted with others and are in no book, as when a reference is overlooked."""
    monkeypatch.setattr(money_plans.Going, "keep_linked", lambda *each: False)
    others = tuple(book for book in archived_books.BOOKS if book.model is not Remittance)
    monkeypatch.setattr(money_plans, "BOOKS", others)
    monkeypatch.setattr(money_archives, "BOOKS", others)
    before = counts()
    with pytest.raises(CommandError, match="nothing was deleted"):
        archive(tmp_path)
    assert counts() == before


# --- faults ---------------------------------------------------------------------------------------------


def test_killed_before_the_rows_are_deleted_it_goes_on_with_the_same_file(old, tmp_path, monkeypatch):
    before = counts()
    with monkeypatch.context() as patched:
        patched.setattr(money_archives, "delete_books", lambda *each: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            archive(tmp_path)
    (path,) = tmp_path.glob("money-*")
    written = path.stat()
    assert counts() == before
    assert archive(tmp_path) == [f"2019: 1 remittance, 1 claim file, 1 payment run: {path}"]
    assert [*tmp_path.glob("money-*")] == [path]
    assert path.stat().st_mtime_ns == written.st_mtime_ns
    assert [*tmp_path.glob(".*incomplete")] == []


@pytest.mark.parametrize(
    "damage", [lambda content: content[:200], lambda content: content.replace(b"20.00", b"20.01")]
)
def test_nothing_is_deleted_when_a_file_is_damaged(old, tmp_path, monkeypatch, damage):
    monkeypatch.setattr(money_files, "ZIP_DEFLATED", zipfile.ZIP_STORED)
    rename = money_files.os.rename

    def damage_and_rename(source, target):
        source.write_bytes(damage(source.read_bytes()))
        rename(source, target)

    monkeypatch.setattr(money_files.os, "rename", damage_and_rename)
    before = counts()
    with pytest.raises(CommandError, match=r"[Nn]othing was deleted"):
        archive(tmp_path)
    assert counts() == before


def test_it_is_encrypted_when_backups_are(old, tmp_path, settings):
    settings.BACKUP_PASSPHRASE = "correct horse"
    (line,) = archive(tmp_path)
    (path,) = tmp_path.glob("money-*")
    assert line.endswith(".zip.age")
    content = b"".join(FileEncryption("correct horse").decrypt([path.read_bytes()]))
    assert "SHA256SUMS" in zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert b"SHA256SUMS" not in path.read_bytes()


# --- large books ----------------------------------------------------------------------------------------


def test_many_rows_are_deleted_few_at_a_time(at, provider, tmp_path, monkeypatch):
    monkeypatch.setattr(money_archives, "BOOKS_AT_ONCE", 2)
    monkeypatch.setattr(money_archives, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(archived_runs, "PAYEES_AT_ONCE", 2)
    at(OLD)
    payees = [provider, *(a_client() for _ in range(4))]
    for payee in payees[1:]:
        an_account(payee)
    claims = [a_paid_claim(f"{number}.00", provider=payee) for number, payee in enumerate(payees * 2, 1)]
    files = [a_claim_file(part, status="Sent") for part in (claims[:5], claims[5:], claims[:0])]
    for file in files:
        if lines := list(file.lines.all()):
            a_remittance(*lines)
    person = a_contact()
    an_account(person)
    a_paid_claim("11.00", send_payment_to="Client", contact=person)
    release_run(create_run(None, clock.today(), a_staff_member()).pk, a_releaser())
    at(NOW)
    paid = set(PaymentRunClaim.objects.values_list("claim", "amount"))
    archive(tmp_path)
    assert not ClaimFileLine.objects.exists()
    assert not RemittanceLine.objects.exists()
    (run,) = PaymentRun.objects.all()
    assert (run.status, run.total) == ("Opening", 66)
    assert set(PaymentRunClaim.objects.values_list("claim", "amount")) == paid
    assert [each.position for each in run.items.all()] == [1, 2, 3, 4, 5, 6]
    assert {each.payee for each in run.items.all()} == {*payees, person}
    assert ready() == [] == faults()


def test_a_plan_has_each_pair_of_books_once_however_many_rows_they_have(at, provider):
    at(OLD)
    file = a_claim_file([a_paid_claim(provider=provider) for _ in range(5)], status="Sent")
    remittance = a_remittance(*file.lines.all())
    at(NOW)
    going = money_plans.Going({book: set() for book in archived_books.BOOKS})
    (link,) = (each for each in money_plans.links_between_books() if each.model is RemittanceLine)
    going.keys[link.to] = {file.pk}
    assert list(going.pairs(link, link.to, "to")) == [(file.pk, remittance.pk)]
