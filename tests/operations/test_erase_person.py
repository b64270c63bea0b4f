"""An erasure leaves nothing about the person, the amounts of the books, and a proof."""

import datetime as dt
import hashlib
import json

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.urls import reverse

from apps.base import clock
from apps.base.declaration.service import get_service
from apps.core.models import Change, Notice, Subscriber, TimestampedModel
from apps.core.notices import write_notices
from apps.documents.models import Document
from apps.documents.storage import document_storage
from apps.engagements.models import ClientEngagement
from apps.funding.models import Claim, ClaimLine, Invoice, InvoiceLine, ProviderInvoice
from apps.funding.services.effects import recount_budgets
from apps.operations.services import erasure
from apps.operations.services.erasure_plans import RETAINED_COLUMNS
from apps.payments.models import BankAccount, PaymentRunItem, Statement, StatementBudget, StatementLine
from apps.payments.services.accounts_exports import create_accounts_export
from apps.payments.services.invariants import find_payment_faults
from apps.people.models import Contact
from apps.sales.models import Opportunity
from tests.api.caller import Caller, an_application
from tests.api.followers import Follower
from tests.engagements.builders import a_plan
from tests.funding.builders import a_claim, an_invoice
from tests.operations.databases import all_rows
from tests.operations.persons import BIRTHDAY, LAST_SERVICE, NAME, a_participant
from tests.payments.accounts_checker import check_xero_bills
from tests.payments.bank_file_checker import read_bank_file
from tests.payments.builders import accounts_settings
from tests.people.records import a_client, a_contact, a_staff_member


@pytest.fixture
def staff(db):
    return a_staff_member()


@pytest.fixture
def certificate(tmp_path):
    return tmp_path / "certificate.json"


@pytest.fixture
def erase(staff, certificate):
    """``erase(contact)`` by the command."""

    def run(contact, **options):
        options = {"by": staff.primary_email, "certificate": certificate, "yes": True, **options}
        call_command("erase_person", str(contact.pk), **options)

    return run


def rows_with(*texts):
    return [
        (table, row)
        for table, rows in all_rows().items()
        for row in rows
        if any(text.casefold() in str(value).casefold() for value in row for text in texts)
    ]


def test_no_row_of_any_table_holds_anything_of_the_person(participant, staff, erase):
    texts = (NAME, BIRTHDAY.isoformat())
    page = reverse("admin:sales_opportunity_change", args=participant.keys[Opportunity])
    for text in (f"Follow up on {NAME}", "Due"):
        write_notices([Notice(staff_id=staff.pk, kind="Due", text=text, url=page)])
    tables = {table for table, _ in rows_with(*texts)}
    assert {"people_contact", "funding_claim", "documents_document", "core_change", "core_notice"} <= tables
    erase(participant.contact)
    assert rows_with(*texts) == []
    # One that names nobody leads to a record that is gone.
    assert not Notice.objects.filter(url=page).exists()


def test_the_books_keep_their_amounts_and_the_rest_is_gone(participant, erase):
    keys = participant.keys
    clock.reset_now()
    books = ("start_date", "end_date", "total", "amount_paid", "payment_date", "resubmitted")
    claims = Claim.objects.filter(provider=participant.provider).order_by("pk").values_list(*books)
    claims.update(payment_date=clock.now(), resubmitted=True)
    before = list(claims.all())
    erase(participant.contact)
    assert list(claims.all()) == before
    for model, rows in keys.items():
        assert model._base_manager.filter(pk__in=rows).count() == (
            len(rows) if model in RETAINED_COLUMNS else 0
        )
        if issubclass(model, TimestampedModel):
            told = Change.objects.filter(record_type=model._meta.label_lower, record_key__in=rows)
            last = {each.record_key: each.kind for each in told.order_by("pk")}
            assert set(last.values()) == ({"Erased"} if model in RETAINED_COLUMNS else {"Deleted"})
    contact = Contact.objects.get(pk=participant.contact.pk)
    assert (contact.full_name, contact.birthday, contact.client) == ("Erased Erased", None, None)
    # Whoever copies what changed is told.
    assert contact.modify_date > participant.contact.creation_date
    assert not ClaimLine.objects.filter(claim__contact=contact).exclude(booking=None, notes=None).exists()
    assert not any(recount_budgets())


def test_an_invoice_stays_in_its_series(participant, erase):
    columns = {"contact": participant.contact, "start_date": LAST_SERVICE, "end_date": LAST_SERVICE}
    first = an_invoice(**columns, funding_status="Paid")
    second = an_invoice(**columns, funding_status="Paid", recurrence_of=first, recurrence_date=LAST_SERVICE)
    erase(participant.contact)
    second.refresh_from_db()
    assert (second.recurrence_of, second.recurrence_date) == (first, LAST_SERVICE)


def test_what_the_books_rest_on_keeps_its_figures_days_numbers_and_references(participant, erase):
    """Of every record that stays but the contact; a reference to what is deleted goes with it."""
    figures = models.DecimalField | models.IntegerField | models.DateField | models.BooleanField
    deleted = {model for model in participant.keys if model not in RETAINED_COLUMNS}
    columns = [
        (model, column)
        for model in participant.keys.keys() - deleted - {Contact}
        for column in model._meta.concrete_fields
        if column.name != "modify_date"
        if isinstance(column, figures)
        or column.name in ("claim_number", "invoice_number", "payment_number", "application")
        or (column.is_relation and column.related_model not in deleted)
    ]
    keys = participant.keys

    def read():
        return {
            (model.__name__, column.name, key): value
            for model, column in columns
            for key, value in model._base_manager.filter(pk__in=keys[model]).values_list("pk", column.name)
        }

    # Zero is what an amount that is not kept becomes.
    for model in (Statement, StatementLine):
        model.objects.filter(pk__in=keys[model]).update(paid=1, claimed=2, waiting=3, refused=4)
    for model in (ClaimLine, InvoiceLine):
        model.objects.filter(pk__in=keys[model]).update(position=3)
    StatementBudget.objects.filter(pk__in=keys[StatementBudget]).update(runs_out=LAST_SERVICE)
    for model in (Claim, Invoice, ClaimLine, InvoiceLine, ProviderInvoice):
        model.objects.filter(pk__in=keys[model]).update(archive_date=clock.now())
    before = read()
    assert len({(model, column) for (model, column, _), value in before.items() if value is not None}) > 80
    erase(participant.contact)
    changed = {key[:2] for key, value in read().items() if value != before[key]}
    # A provider invoice that named nobody names the contact: it must name something.
    assert changed == {("ProviderInvoice", "contact")}


def test_records_of_others_stay_as_they_are(participant, erase):
    neighbour = a_participant(provider=participant.provider)

    def rows():
        return {
            model: list(model.objects.filter(pk__in=keys).order_by("pk").values())
            for model, keys in kept.items()
        }

    kept = neighbour.keys
    before, history = rows(), list(Change.objects.filter(record_key=str(neighbour.contact.pk)).values())
    erase(participant.contact)
    assert rows() == before
    assert list(Change.objects.filter(record_key=str(neighbour.contact.pk)).values()) == history


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL's vacuum reuses what is deleted")
def test_sqlite_overwrites_the_bytes_of_what_is_erased(participant, erase):
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete = OFF")
        erase(participant.contact)
        assert cursor.execute("PRAGMA secure_delete").fetchone() == (1,)


def test_kept_bank_files_keep_their_amounts_and_lose_the_person(participant, erase):
    paid_to_person = PaymentRunItem.objects.get(contact=participant.contact)
    to_provider = PaymentRunItem.objects.get(client=participant.provider)
    account = participant.provider.bank_accounts.get()

    def payments(item):
        (file,) = item.run.bank_files.all()
        return read_bank_file(bytes(file.content))[0]

    amounts = [payments(item)[0].amount for item in (paid_to_person, to_provider)]
    erase(participant.contact)
    ((of_person,), (of_provider,)) = (payments(item) for item in (paid_to_person, to_provider))
    assert [of_person.amount, of_provider.amount] == amounts
    assert of_person[:3] == ("000-000", "0", "ERASED")
    # Another's payment for one claim of the person: the reference is what its provider calls the claim.
    assert of_provider[:3] == (account.bsb, account.account_number, account.account_name)
    assert of_person.reference == of_provider.reference == "ERASED"
    assert all(item.run.bank_files.get().erased_at for item in (paid_to_person, to_provider))
    assert not BankAccount.objects.filter(contact=participant.contact).exists()
    assert [fault for fault in find_payment_faults() if "ever paid" not in fault] == []


def test_kept_bills_for_the_accounts_keep_their_amounts_and_lose_the_person(participant, erase):
    accounts_settings("XeroBills")
    export = create_accounts_export(clock.today())

    def bills():
        """The contact and amount of each bill, by its number."""
        return check_xero_bills(bytes(export.files.get(is_bills=True).content))

    before = bills()
    erase(participant.contact)
    file = export.files.get(is_bills=True)
    assert file.erased_at is not None
    assert NAME.encode() not in bytes(file.content)
    assert sorted(total for _, _, total in bills().values()) == sorted(t for _, _, t in before.values())
    assert {number.partition(" ")[0] for number in bills()} == {"ERASED"}
    assert {contact for contact, *_ in bills().values()} == {"ERASED", str(participant.provider)}
    assert [fault for fault in find_payment_faults() if "ever paid" not in fault] == []


def test_the_files_are_deleted(participant, erase):
    key = Document.objects.get(provider_invoices=participant.provider_invoice).storage_key
    erase(participant.contact)
    assert not document_storage().exists(key)


def test_a_file_that_cannot_be_deleted_now_is_told(participant, erase, monkeypatch):
    monkeypatch.setattr(erasure, "delete_files", lambda keys: None)
    with pytest.raises(CommandError, match=r"1 file could not be deleted: \./run sweep_documents"):
        erase(participant.contact)
    assert not Document.objects.exists()


def test_the_certificate_says_what_was_removed_and_names_nobody_else(participant, erase, certificate, staff):
    contact, keys = participant.contact, participant.keys
    claims_hash = erasure.hash_rows(Claim, keys[Claim])
    sha256 = Document.objects.get(provider_invoices=participant.provider_invoice).sha256
    erase(contact)
    text = certificate.read_text()
    proof = json.loads(text)
    assert NAME not in text
    assert certificate.stat().st_mode & 0o777 == 0o600
    assert (proof["contact"], proof["erased_by"]) == (str(contact.pk), staff.primary_email)
    assert (proof["last_service"], proof["retention_years"]) == (LAST_SERVICE.isoformat(), 7)
    assert {label: each["rows"] for label, each in proof["records"].items()} == {
        model._meta.label: len(rows) for model, rows in keys.items() if rows
    }
    assert proof["records"]["funding.Claim"] == {
        "label": "Claims",
        "rows": 2,
        "kept": True,
        "sha256": claims_hash,
    }
    assert [file["sha256"] for file in proof["files"]] == [sha256]
    change = Change.objects.get(kind="Erased", record_key=str(contact.pk))
    assert (change.record_key, change.staff_id) == (str(contact.pk), staff.pk)
    assert (change.differences["Plans"], change.differences["Files"]) == ([2, 0], [1, 0])
    assert change.differences["SHA-256 of the certificate"] == [
        None,
        hashlib.sha256(text.encode()).hexdigest(),
    ]


def test_who_follows_changes_loses_what_was_erased(participant, erase, settings):
    settings.ODATA_CHANGE_LOG = "apps.core.change_log.SerialLog"
    api = Caller(an_application())
    sets = [entity_set.path for entity_set in get_service().entity_sets]
    followers = [Follower(api, path, {"$expand": "*"}) for path in sets if path != "priceBook"]
    erase(participant.contact)
    entries = [follower.sync() for follower in followers]
    assert sum(entries) > 5
    for follower in followers:
        assert follower.copy == follower.fresh(), follower.path


def test_it_is_all_or_nothing(participant, erase, certificate, monkeypatch):
    before = all_rows()
    for name in ("record_erasure", "write_certificate"):
        with monkeypatch.context() as patch:
            patch.setattr(erasure, name, lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                erase(participant.contact)
        assert all_rows() == before
    assert not certificate.exists()
    assert document_storage().exists(Document.objects.get().storage_key)


def killed(*_):
    raise SystemExit


def test_an_erasure_that_is_killed_leaves_no_certificate_without_it(
    participant, erase, certificate, monkeypatch
):
    before = all_rows()
    write = erasure.write_certificate
    with monkeypatch.context() as patch:
        patch.setattr(erasure, "write_certificate", lambda *file: killed(write(*file)))
        with pytest.raises(SystemExit):
            erase(participant.contact)
    assert all_rows() == before
    assert not certificate.exists()
    erase(participant.contact)
    assert [path.name for path in certificate.parent.glob("certificate*")] == [certificate.name]
    sha256 = hashlib.sha256(certificate.read_bytes()).hexdigest()
    change = Change.objects.get(kind="Erased", record_key=str(participant.contact.pk))
    assert change.differences["SHA-256 of the certificate"] == [None, sha256]


def test_an_erasure_that_is_killed_when_it_is_done_gets_its_certificate_by_the_next_run(
    participant, erase, certificate, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(type(certificate), "rename", killed)
        with pytest.raises(SystemExit):
            erase(participant.contact)
    assert not certificate.exists()
    with pytest.raises(CommandError, match="It was erased before its run was killed"):
        erase(participant.contact)
    change = Change.objects.get(kind="Erased", record_key=str(participant.contact.pk))
    sha256 = hashlib.sha256(certificate.read_bytes()).hexdigest()
    assert change.differences["SHA-256 of the certificate"] == [None, sha256]


def test_a_certificate_that_is_there_is_not_replaced(participant, erase, certificate):
    certificate.write_text("another")
    with pytest.raises(CommandError, match="is there already"):
        erase(participant.contact)
    assert certificate.read_text() == "another"
    assert not Change.objects.filter(kind="Erased").exists()


def test_a_second_erasure_removes_nothing_more(participant, erase, tmp_path):
    erase(participant.contact)
    books = list(Claim.objects.order_by("pk").values_list("pk", "total", "amount_paid"))
    erase(participant.contact, certificate=tmp_path / "second.json")
    assert list(Claim.objects.order_by("pk").values_list("pk", "total", "amount_paid")) == books


# --- when it is refused ---------------------------------------------------------------------------------


def refusal(erase, contact, **options):
    before = all_rows()
    with pytest.raises(CommandError) as caught:
        erase(contact, **options)
    assert all_rows() == before
    return str(caught.value)


def test_a_contact_in_use_is_refused_with_every_reason(participant, erase):
    contact = participant.contact
    Contact.objects.filter(pk=contact.pk).update(archive_date=None)
    ClientEngagement.objects.filter(participant=contact).update(plan_end_date=clock.today())
    claim = a_claim(contact=contact)
    a_client(business_name="Acme", key_contact=contact)
    reasons = refusal(erase, contact).splitlines()
    assert reasons[0] == "The contact is in use: archive it first."
    assert reasons[1].startswith(
        f"The last service was on {clock.today():%d %b %Y}: the records are kept for 7"
    )
    assert reasons[2].startswith(f"Claims and invoices that are not closed: 1, the first is {claim}.")
    assert reasons[3] == "The contact is key contact of Acme: change that first."


def test_the_last_service_may_be_one_that_a_provider_invoice_alone_tells_of(participant, erase):
    day = dt.date(2024, 6, 30)
    ProviderInvoice.objects.filter(pk=participant.provider_invoice.pk).update(service_end_date=day)
    assert "The last service was on 30 Jun 2024" in refusal(erase, participant.contact)


def test_the_retention_ends_with_the_day_of_the_organisation(participant, erase, time_machine):
    Subscriber(time_zone="Australia/Perth").save()
    time_machine.move_to(dt.datetime.fromisoformat("2023-06-29T22:30:00+08:00"))  # the 30th in Sydney
    assert "until 30 Jun 2023" in refusal(erase, participant.contact)
    time_machine.move_to(dt.datetime.fromisoformat("2023-06-30T00:30:00+08:00"))
    erase(participant.contact)


def test_the_retention_ends_after_the_years_of_the_setting(participant, erase, settings, time_machine):
    def on(day):
        time_machine.move_to(dt.datetime.fromisoformat(f"{day}T12:00:00+00:00"))
        clock.reset_now()

    on("2023-06-29")
    assert "kept for 7 years, until 30 Jun 2023" in refusal(erase, participant.contact)
    settings.RETENTION_YEARS = 8
    on("2024-06-29")
    assert "kept for 8 years, until 30 Jun 2024" in refusal(erase, participant.contact)
    on("2024-06-30")
    erase(participant.contact)


@pytest.mark.parametrize("role", ["support_coordinator", "person_responsible_for_direct_fees"])
def test_a_role_in_a_current_plan_is_refused_and_one_in_an_old_plan_is_not(participant, erase, role):
    plan = a_plan(plan_end_date=dt.date(2999, 1, 1), **{role: participant.contact})
    assert "change that first" in refusal(erase, participant.contact)
    ClientEngagement.objects.filter(pk=plan.pk).update(
        plan_start_date=LAST_SERVICE, plan_end_date=LAST_SERVICE
    )
    erase(participant.contact)
    assert getattr(ClientEngagement.objects.get(pk=plan.pk), role).full_name == "Erased Erased"


def test_a_client_record_that_others_rest_on_is_refused(participant, erase):
    contact = participant.contact
    a_claim(provider=contact.client)
    assert "Records of others rest on these" in refusal(erase, contact, own_client=True)
    erase(contact)


def test_a_representative_of_somebody_is_refused(participant, erase):
    represented = a_contact(representative=participant.contact)
    assert f"representative of {represented}" in refusal(erase, participant.contact)


def test_a_dry_run_says_what_would_go_and_removes_nothing(participant, erase, capsys, certificate):
    before = all_rows()
    erase(participant.contact, dry_run=True, certificate=None)
    assert all_rows() == before
    assert not certificate.exists()
    lines = capsys.readouterr().out.splitlines()
    assert {"Claims: 2 without personal data", "Plans: 2 deleted", "Files: 1 deleted"} <= set(lines)


def test_it_asks_for_the_last_name(participant, erase, monkeypatch):
    assert "--yes confirms it" in refusal(erase, participant.contact, yes=False)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: "Somebody")
    assert "not the last name" in refusal(erase, participant.contact, yes=False)
    monkeypatch.setattr("builtins.input", lambda question: participant.contact.last_name)
    erase(participant.contact, yes=False)
    assert ProviderInvoice.objects.filter(contact=participant.contact, reference=None).count() == 2
