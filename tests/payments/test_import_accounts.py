"""Lists of bank accounts that the back office imports (apps/payments/imports/bank_accounts.py)."""

import pytest

from apps.base import clock
from apps.core.models import Change, FileImport
from apps.payments.models import BankAccount
from apps.people.merging import merge
from apps.people.models import Client
from tests.core.test_file_imports import an_import, press
from tests.payments.builders import an_account
from tests.people.records import a_client, a_contact, a_role, a_staff_member, an_administrator
from tests.tasks import run_tasks

pytestmark = pytest.mark.django_db

HEADER = "ABN,NDIS number,Name,BSB,Account number,Account name"
LIGHTS = "51824753556,,Harbour Lights,062000,1234 5678,Harbour  Lights Pty Ltd"
MIA = ",430 000 001,Mia Nguyen,083-170,00777,Mia Nguyen"


@pytest.fixture
def lights():
    return a_client(business_name="Harbour Lights", business_number="51 824 753 556")


@pytest.fixture
def mia():
    return a_contact(first_name="Mia", last_name="Nguyen", scheme_number="430000001")


def checked(client, *rows, header=HEADER):
    FileImport.objects.all().delete()
    text = "\n".join([header, *rows, ""])
    return an_import(client, text=text, kind="bank-accounts", name="accounts.csv")


def imported(client, *rows, header=HEADER):
    record = checked(client, *rows, header=header)
    press(client, record, "import")
    run_tasks()
    record.refresh_from_db()
    return record


def issues_of(record):
    return [(kind["code"], kind["message"]) for kind in record.issue_kinds]


def accounts():
    found = BankAccount.objects.filter(archive_date=None).order_by("bsb")
    return [(str(each.owner), each.bsb, each.account_number, each.account_name) for each in found]


def test_accounts_arrive_as_if_entered_by_hand_and_wait_for_their_confirmation(client, ada, lights, mia):
    record = checked(client, LIGHTS, MIA)
    assert (record.counts["new"], record.counts["rejected"]) == (2, 0)
    assert not BankAccount.objects.exists()
    record = imported(client, LIGHTS, MIA)
    assert record.status == "Imported"
    assert accounts() == [
        ("Harbour Lights", "062-000", "12345678", "Harbour Lights Pty Ltd"),
        ("Mia Nguyen", "083-170", "00777", "Mia Nguyen"),
    ]
    for account in BankAccount.objects.all():
        assert (account.entered_by, account.confirmed_at, account.is_confirmed) == (ada, None, False)
        change = Change.objects.get(record_key=str(account.pk))
        assert (change.channel, change.request_id) == ("Import", str(record.pk))
        assert "12345678" not in str(change.differences)
        text = client.post(
            f"/admin/payments/bankaccount/{account.pk}/confirm/", {"confirmation": "Mia, 0400 000 000"}
        ).content.decode()
        assert "You entered it yourself: somebody else confirms it." in text
    assert b"Undo this import" not in client.get(f"/admin/core/fileimport/{record.pk}/file/").content


def test_a_list_that_comes_again_changes_nothing(client, ada, lights, mia):
    an_account(lights, bsb="062-000", account_number="012345678", account_name="HARBOUR LIGHTS PTY LTD")
    imported(client, LIGHTS, MIA)
    before = list(BankAccount.objects.order_by("pk").values())
    record = checked(client, LIGHTS, MIA)
    counts = record.counts
    assert (counts["new"], counts["changed"], counts["unchanged"]) == (0, 0, 2)
    assert list(BankAccount.objects.order_by("pk").values()) == before
    assert BankAccount.objects.get(client=lights).is_confirmed


def test_another_account_takes_the_place_of_a_confirmed_one_with_a_warning(client, ada, lights):
    known = an_account(lights)
    record = checked(client, LIGHTS)
    ((code, sentence),) = issues_of(record)
    assert code == "Replaced"
    assert sentence.startswith(
        "It takes the place of the account that Harbour Lights has, which is confirmed."
    )
    record = imported(client, LIGHTS)
    assert record.counts["changed"] == 1
    known.refresh_from_db()
    assert known.is_archived
    assert not BankAccount.objects.get(client=lights, archive_date=None).is_confirmed


@pytest.mark.parametrize(
    ("row", "code", "sentence"),
    [
        (
            "51824753556,,,62000,1,A",
            "InvalidBsb",
            "It has five digits. Did it lose its leading zero: 062-000?",
        ),
        ("51824753556,,,0620,1,A", "InvalidBsb", "It must be six digits: 062-000."),
        ("51824753556,,,062000,1.2E+07,A", "DigitsLost", None),
        ("51824753556,,,062000,1234567890,A", "InvalidAccountNumber", "It must have one to nine digits."),
        ("51824753556,,,062000,000,A", "NotAllowed", "An account number has another digit than 0."),
        ("51824753556,,,062000,1,", "Required", "It is required."),
        ("51824753556,,,062000,1,愛", "NotAllowed", "No character of it can stand in a file for the bank."),
        (",,,062000,1,A", "Required", "Say whose account it is."),
        ("99,,Harbour Lights,062000,1,A", "NotFound", "No organisation or person has this."),
        (
            "51824753556,430000001,,062000,1,A",
            "Differs",
            "It is of Harbour Lights; the row is of Mia Nguyen.",
        ),
        (",,Old Care,062000,1,A", "Archived", "Old Care is archived."),
    ],
)
def test_a_row_that_cannot_be_is_rejected_with_its_reason(client, ada, lights, mia, row, code, sentence):

    a_client(business_name="Old Care", archive_date=clock.now())
    record = checked(client, row, MIA)
    assert (record.counts["new"], record.counts["rejected"]) == (1, 1)
    ((found, message),) = issues_of(record)
    assert found == code
    assert sentence in (None, message)
    imported(client, row, MIA)
    assert [owner for owner, *_ in accounts()] == ["Mia Nguyen"]


def test_an_owner_has_one_account_of_a_list(client, ada, lights):
    record = checked(client, LIGHTS, "51824753556,,,062000,9,Harbour Lights")
    assert issues_of(record) == [("NotUnique", "Row 2 has an account of Harbour Lights: one is theirs.")]


def test_of_branches_with_one_number_the_name_decides_and_another_name_is_named(client, ada, lights):
    a_client(business_name="Harbour Lights West", business_number="51824753556")
    record = checked(client, LIGHTS, "51824753556,,,062000,9,A")
    assert issues_of(record) == [("Ambiguous", "2 organisations or people have this.")]
    Client.objects.get(business_name="Harbour Lights West").delete()
    record = checked(client, "51824753556,,Habour Light,062000,9,A")
    assert issues_of(record) == [("OtherName", "The record is called Harbour Lights.")]


def test_the_number_of_a_merged_record_means_the_one_in_use(client, ada, lights):
    merge(lights, a_client(business_name="Harbor Lights", unique_code="HL"))
    record = imported(client, "HL,062000,1,A", header="Supplier code,BSB,Account,Account holder")
    assert (record.counts["new"], BankAccount.objects.get().client) == (1, lights)


def test_a_file_that_lacks_what_an_account_needs_says_so(client, ada):
    record = checked(client, "A,062000 1", header="Name,Bank account number")
    assert (record.status, record.message) == (
        "Failed",
        "The file lacks BSB number, Bank account name. Where one column has BSB and account number, make two"
        " of it.",
    )


def test_nobody_confirms_numbers_that_they_brought_though_another_lets_them_be_imported(client, ada, lights):
    record = checked(client, LIGHTS)
    client.force_login(an_administrator())
    press(client, record, "import")
    run_tasks()
    record.refresh_from_db()
    assert (record.status, record.message) == (
        "Failed",
        "Bank accounts are imported by the person who brought the file; bring it yourself.",
    )
    assert not BankAccount.objects.exists()


def test_who_may_not_see_accounts_imports_none(client, ada):
    codes = ("payments.add_bankaccount", "payments.change_bankaccount")
    for role, is_offered in ((a_role(*codes, "payments.view_bankaccount"), True), (a_role(*codes), False)):
        client.force_login(a_staff_member(role=role))
        text = client.get("/admin/core/fileimport/add/").content.decode()
        assert ("bank-accounts" in text) == is_offered
