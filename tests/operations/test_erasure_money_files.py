"""An erasure reaches the archives of claim files, answers and payment runs; `verify` reads them."""

import json
import zipfile

import pytest
from django.core.management import CommandError, call_command

from apps.base import clock
from apps.core.models import Change
from apps.funding.models import Claim, ClaimResult, RemittanceLine
from apps.operations import money_files
from apps.operations.services.erasure_money_files import erase_from_money_files
from apps.payments.services.runs import create_run, release_run
from tests.funding.builders import a_claim_file, a_remittance
from tests.operations.conftest import document_settings
from tests.operations.databases import default_database, enter_support_categories
from tests.operations.persons import LAST_SERVICE, NAME
from tests.payments.bank_file_checker import read_bank_file
from tests.payments.builders import a_paid_claim, a_releaser, an_account, payment_settings
from tests.people.records import a_client, a_contact, a_staff_member

NUMBERS = "430000001", "430000002"
PASSPHRASE = "correct horse"


@pytest.fixture(params=[None, PASSPHRASE], ids=["plain", "encrypted"])
def archived(databases, settings, tmp_path, at, request):
    """Two participants, of whom one is erased, with their way to payment in one archive; who erases."""
    settings.STORAGES, settings.VAR_DIR = document_settings(tmp_path / "files"), tmp_path
    settings.BACKUP_PASSPHRASE = request.param or ""
    with default_database(databases.create()):
        at("2016-07-05 10:00")
        enter_support_categories()
        payment_settings()
        provider, staff = a_client(business_name="Harbour Lights"), a_staff_member()
        an_account(provider)
        people = [
            a_contact(first_name=name, last_name=name, scheme_number=number)
            for name, number in zip((NAME, "Maya"), NUMBERS, strict=True)
        ]
        claims = [claim for person in people for claim in claims_of(person, provider)]
        file = a_claim_file(claims, status="Sent")
        for line in file.lines.all():
            said = {"text": f"Accepted for {line.claim.contact.first_name}", "extra": {"Name": "Zyx"}}
            ClaimResult.objects.create(file_line=line, is_accepted=True, file_name="r.csv", **said)
        a_remittance(*file.lines.all())
        for line in RemittanceLine.objects.all():
            line.extra = {"Comment": line.file_line.claim.contact.first_name}
            line.save()
        for claim in claims:  # a run for each payee, and one payment a claim
            release_run(create_run([claim.pk], clock.today(), None).pk, a_releaser())
        at("2027-04-04 10:00")
        Change.objects.all().delete()
        for person in people:
            person.archive_date = clock.now()
            person.save()
        call_command("archive_money", tmp_path / "archives")
        (path,) = (tmp_path / "archives").glob("money-*")
        yield people[0], staff, path


def claims_of(person, provider):
    """A claim that is paid to the person, and one to the provider, by the provider's name of it."""
    days = {"start_date": LAST_SERVICE, "end_date": LAST_SERVICE, "contact": person}
    name = person.first_name
    an_account(person, account_name=f"{name} own")
    found = []
    for number, (payee, amount) in enumerate((("Client", "20.00"), ("Provider", "30.00"))):
        claim = a_paid_claim(amount, provider=provider, send_payment_to=payee, **days)
        claim.line_items.update(first_day=LAST_SERVICE, last_day=LAST_SERVICE)
        Claim.objects.filter(pk=claim.pk).update(provider_invoice_reference=f"{name} {number}")
        found.append(Claim.objects.get(pk=claim.pk))
    return found


def erase(person, staff, folder, **options):
    certificate = folder.parent / "certificate.json"
    options = {"certificate": certificate, "yes": True, "archives": folder, **options}
    call_command("erase_person", str(person.pk), by=staff.primary_email, **options)
    return json.loads(certificate.read_text())


def entries(path):
    with money_files.opened(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def table(found, name):
    return [json.loads(line) for line in found[f"rows/{name}.jsonl"].splitlines()]


def test_the_archive_loses_the_values_of_the_person_and_no_amount(archived, capsys):
    person, staff, path = archived
    before = entries(path)
    proof = erase(person, staff, path.parent)
    (written,) = path.parent.glob("money-*")
    assert written.name != path.name
    after = entries(written)
    assert list(after) == list(before)
    for name, content in after.items():
        assert NAME.encode() not in content, name
        assert NAME.upper().encode() not in content, name
        assert NUMBERS[0].encode() not in content, name
        # What is about the other is as it was.
        for text in (b"Maya", NUMBERS[1].encode()):
            assert content.count(text) == before[name].count(text), name
    assert sum(content.count(b"Maya") for content in after.values()) >= 2 * 2 + 4
    for name in ("funding_claimfileline", "funding_remittance", "payments_paymentrun"):
        assert table(after, name) == table(before, name)
    for name in ("funding_claimresult", "funding_remittanceline", "payments_paymentrunitem"):
        assert [row["amount"] for row in table(after, name)] == [row["amount"] for row in table(before, name)]
    payments = [name for name in after if name.startswith("files/payments_bankfile/")]
    for name in payments:
        assert read_bank_file(after[name])
    # Two results, two payments of the agency, two to payees, their two files, and the claim file, with rows.
    assert proof["archives"] == {written.name: 2 + 2 + 2 + 2 * 2 + 2}
    assert f"{written.name}: 12 rows without values" in capsys.readouterr().out
    call_command("verify", written)


def test_what_was_erased_is_not_written_again(archived):
    person, staff, path = archived
    erase(person, staff, path.parent)
    (written,) = path.parent.glob("money-*")
    keys = {Claim: list(Claim.objects.filter(contact=person).values_list("pk", flat=True))}
    assert erase_from_money_files([written], {**keys, type(person): [person.pk]}) == {written.name: 0}


def test_an_archive_about_others_stays_as_it_is(archived):
    _, staff, path = archived
    stranger = a_contact(archive_date=clock.now())
    assert erase(stranger, staff, path.parent)["archives"] == {path.name: 0}
    assert [*path.parent.glob("money-*")] == [path]


def test_damage_is_named_by_verify_and_ends_an_erasure(archived, settings):
    person, staff, path = archived
    call_command("verify", path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(CommandError, match=r"(?s)cannot be read: .*1 fault"):
        call_command("verify", path)
    with pytest.raises(CommandError, match="An archive is damaged"):
        erase(person, staff, path.parent)
    person.refresh_from_db()
    assert person.first_name == NAME


def changed(path, change):
    """The archive with other entries, each a name and bytes."""
    found = change(entries(path))
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in found.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda found: {**found, "rows/payments_bankfile.jsonl": b"{}\n"}, "bankfile.jsonl: the entry was"),
        (lambda found: {**found, "more": b""}, "more: the entry is no part of the archive"),
        (
            lambda found: {name: content for name, content in found.items() if "remittanceline" not in name},
            "remittanceline.jsonl: the entry is missing",
        ),
        (lambda found: {"SHA256SUMS": b""}, "SHA256SUMS: it is not that of the archive's name"),
    ],
)
@pytest.mark.parametrize("archived", [None], indirect=True)
def test_verify_names_what_is_changed_missing_or_added(archived, change, fault):
    *_, path = archived
    changed(path, change)
    with pytest.raises(CommandError, match=f"{fault}.*"):
        call_command("verify", path)


@pytest.mark.parametrize("archived", [PASSPHRASE], indirect=True)
def test_without_the_passphrase_neither_can_read_it(archived, settings):
    person, staff, path = archived
    settings.BACKUP_PASSPHRASE = ""
    with pytest.raises(CommandError, match="BACKUP_PASSPHRASE"):
        call_command("verify", path)
    with pytest.raises(CommandError, match="BACKUP_PASSPHRASE"):
        erase(person, staff, path.parent)
    settings.BACKUP_PASSPHRASE = "another"
    with pytest.raises(CommandError, match="passphrase is not the one"):
        call_command("verify", path)
