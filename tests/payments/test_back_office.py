"""Bank accounts and payment runs in the back office: what is shown to whom, and who does what."""

import datetime as dt
import re
from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.base.drafts import ValidationFailed
from apps.base.errors import Refusal
from apps.core.archive import archive
from apps.core.models import Change
from apps.core.read_log import READ_LOG
from apps.funding.models import Claim
from apps.payments.choices import RunStatus
from apps.payments.models import BankAccount, PaymentRun, PaymentSettings
from apps.payments.services.accounts import confirm_account
from apps.payments.services.ready import load_ready
from apps.payments.services.returns import mark_returned
from apps.payments.services.runs import create_run, release_run, withdraw_run
from apps.people.merging import merge
from tests.core.test_file_imports import an_import, page, press
from tests.funding.admin_forms import run_list_action
from tests.payments.bank_file_checker import read_bank_file
from tests.payments.builders import a_paid_claim, a_releaser, an_account, payment_settings
from tests.people.records import (
    a_client,
    a_contact,
    a_role,
    a_staff_member,
    an_administrator,
    form_data,
)
from tests.tasks import run_tasks

pytestmark = pytest.mark.django_db

ACCOUNTS, RUNS = "/admin/payments/bankaccount/", "/admin/payments/paymentrun/"


def signed_in(*permissions):
    """A browser of somebody with these permissions, and that person."""
    staff = a_staff_member(role=a_role(*permissions))
    browser = Browser()
    browser.force_login(staff)
    return browser, staff


def texts_of(response):
    return [str(each) for each in response.context["messages"]]


@pytest.fixture
def provider():
    return a_client(business_name="Harbour Lights")


@pytest.fixture
def ready(provider):
    """A provider with a confirmed account and two paid claims."""
    payment_settings()
    an_account(provider)
    return [a_paid_claim("20.00", provider=provider), a_paid_claim("0.10", provider=provider)]


# --- bank accounts --------------------------------------------------------------------------------------


def test_an_account_is_entered_from_the_page_of_its_owner(provider):
    browser, staff = signed_in("people.view_client", "payments.view_bankaccount", "payments.add_bankaccount")
    overview = browser.get(f"/admin/people/client/{provider.pk}/overview/")
    address = f"{ACCOUNTS}add/?client={provider.pk}"
    assert address in overview.content.decode()
    data = form_data(browser.get(address), bsb="733100", account_number="22-2222 2", account_name="Harbour")
    assert browser.post(address, data).status_code == 302
    account = BankAccount.objects.get()
    assert (account.client, account.entered_by) == (provider, staff)
    assert (account.bsb, account.account_number, account.is_confirmed) == ("733-100", "2222222", False)


def test_a_new_account_replaces_the_one_before_and_a_wrong_one_is_refused(provider, ada, client):
    before = an_account(provider)
    address = f"{ACCOUNTS}add/?client={provider.pk}"
    data = form_data(client.get(address), bsb="73310", account_number="000", account_name="Harbour")
    errors = client.post(address, data).context["adminform"].form.errors
    assert errors["bsb"] == ["A BSB is six digits: 062-000."]
    assert errors["account_number"] == ["An account number has another digit than 0."]
    unfit = form_data(client.get(address), bsb="733-100", account_number="000", account_name="李")
    errors = client.post(address, unfit).context["adminform"].form.errors
    assert (list(errors), len(errors["account_name"])) == (["account_name", "account_number"], 1)
    too_long = {**unfit, "account_name": "X" * 1000}
    errors = client.post(address, too_long).context["adminform"].form.errors
    assert errors["account_number"] == ["An account number has another digit than 0."]
    both = form_data(
        client.get(address), bsb="733-100", account_number="5", account_name="X", contact=str(a_contact().pk)
    )
    assert client.post(address, both).status_code == 200
    assert client.post(address, {**both, "contact": ""}).status_code == 302
    before.refresh_from_db()
    assert before.is_archived


def test_the_panel_is_only_for_those_who_may_see_accounts(provider):
    an_account(provider, account_number="7654321")
    for permissions, is_shown in (((), False), (("payments.view_bankaccount",), True)):
        browser, _ = signed_in("people.view_client", *permissions)
        text = browser.get(f"/admin/people/client/{provider.pk}/overview/").content.decode()
        assert ("Bank accounts" in text) is is_shown
        assert "7654321" not in text


def test_numbers_stand_on_the_pages_of_the_account_alone(provider, ada, client):
    account = an_account(provider, bsb="733-100", account_number="7654321", account_name="Zyx")
    account.archive_date = clock.now()
    account.save()
    pages = {
        "list": f"{ACCOUNTS}?archived=all",
        "history": f"{ACCOUNTS}{account.pk}/history/",
        "changes": "/admin/core/change/",
        "palette": "/admin/search/?s=7654321",
        "overview": f"/admin/people/client/{provider.pk}/overview/",
    }
    for name, address in pages.items():
        text = client.get(address).content.decode()
        assert not [secret for secret in ("733-100", "Zyx") if secret in text], name
    shown = client.get(f"{ACCOUNTS}{account.pk}/change/").content.decode()
    assert all(secret in shown for secret in ("733-100", "7654321", "Zyx"))
    assert "7654321" not in str(list(Change.objects.values_list("differences", flat=True)))


@pytest.mark.parametrize(("text", "owners"), [("lights", ["Harbour Lights"]), ("quill", ["Ada Quill"])])
def test_an_account_is_found_by_its_owner(provider, ada, client, text, owners):
    an_account(provider), an_account(a_contact(first_name="Ada", last_name="Quill"))
    found = client.get(ACCOUNTS, {"q": text}).context["cl"].result_list
    assert [str(each.owner) for each in found] == owners


def test_another_person_confirms_an_account_on_its_page(provider):
    browser, staff = signed_in(
        "payments.view_bankaccount", "payments.add_bankaccount", "payments.confirm_bankaccount"
    )
    account = an_account(provider, confirmed=False, entered_by=staff)
    address = f"{ACCOUNTS}{account.pk}/confirm/"
    assert "known before" in browser.get(address).content.decode()
    refused = browser.post(address, {"confirmation": "Rang Jo on 02 5550 1000"})
    assert texts_of(refused) == ["You entered it yourself: somebody else confirms it."]
    other, confirmer = signed_in("payments.view_bankaccount", "payments.confirm_bankaccount")
    assert other.post(address, {"confirmation": "Rang Jo on 02 5550 1000"}).status_code == 302
    account.refresh_from_db()
    assert (account.is_confirmed, account.confirmed_by) == (True, confirmer)
    assert "Confirm</a>" not in other.get(f"{ACCOUNTS}{account.pk}/change/").content.decode()


def test_who_confirms_an_account_that_was_replaced_meanwhile_is_led_to_the_new_one(provider):
    account, entered = an_account(provider, confirmed=False), {"confirmation": "Rang Jo on 02 5550 1000"}
    archive(BankAccount.objects.all())
    newer = an_account(provider, confirmed=False)
    browser, _ = signed_in("payments.view_bankaccount", "payments.confirm_bankaccount")
    answer = browser.post(f"{ACCOUNTS}{account.pk}/confirm/", entered)
    assert answer.url == f"{ACCOUNTS}{newer.pk}/change/"
    (said,) = texts_of(browser.get(answer.url))
    assert said.startswith("The account was archived on ")
    archive(BankAccount.objects.filter(pk=newer.pk))
    assert browser.post(f"{ACCOUNTS}{account.pk}/confirm/", entered).status_code == 200
    assert not BankAccount.objects.exclude(confirmed_at=None).exists()


def test_an_account_is_archived_in_the_list_and_not_restored(provider):
    account = an_account(provider)
    for permission, is_archived in (("view_bankaccount", False), ("change_bankaccount", True)):
        browser, _ = signed_in("payments.view_bankaccount", f"payments.{permission}")
        run_list_action(browser, ACCOUNTS, "archive_selected", [account])
        account.refresh_from_db()
        assert account.is_archived is is_archived
    run_list_action(browser, f"{ACCOUNTS}?archived=all", "restore_selected", [account])
    account.refresh_from_db()
    assert account.is_archived


def test_an_account_cannot_be_changed_by_its_form(provider, ada, client):
    account = an_account(provider)
    address = f"{ACCOUNTS}{account.pk}/change/"
    assert client.post(address, {"bsb": "999-999", "account_number": "1"}).status_code == 403
    assert 'name="_save"' not in client.get(address).content.decode()
    account.refresh_from_db()
    assert account.bsb == "062-000"


def test_what_a_merge_gives_to_somebody_else_is_confirmed_anew(provider):
    account = an_account(a_client())
    merge(provider, account.client)
    account.refresh_from_db()
    assert (account.client, account.is_confirmed) == (provider, False)


@pytest.mark.both_engines("accounts are locked")
def test_whoever_gets_the_claims_of_a_duplicate_is_confirmed_anew(ready, provider):
    """Whoever may merge would else redirect alone what is paid to a provider."""
    duplicate = a_client(business_name="Harbour Light")
    older = an_account(duplicate)
    BankAccount.objects.filter(pk=older.pk).update(archive_date=clock.now())
    a_paid_claim("500.00", provider=duplicate)
    run = create_run([ready[0].pk], clock.today(), None)
    merge(provider, duplicate)
    (account,) = BankAccount.objects.filter(archive_date=None)
    assert (account.owner, account.is_confirmed) == (provider, False)
    assert account.unconfirmed_because == "Harbour Light was merged into Harbour Lights."
    (payee,) = load_ready()
    assert (payee.record, payee.claims[-1].amount, "not confirmed" in payee.problem) == (provider, 500, True)
    with pytest.raises(Refusal, match="changed meanwhile"):
        release_run(run.pk, a_releaser())
    confirm_account(account.pk, an_administrator(), "Rang the number of 2019")
    assert release_run(run.pk, a_releaser()).status == RunStatus.RELEASED


def test_a_merge_that_is_refused_ends_no_confirmation(provider):
    account, other = an_account(provider), an_account(a_client())
    with pytest.raises(ValidationFailed, match=r"only one can stay: .* Archive those first."):
        merge(provider, other.client)
    account.refresh_from_db(), other.refresh_from_db()
    assert account.is_confirmed
    assert other.is_confirmed


# --- settings -------------------------------------------------------------------------------------------


def test_the_settings_say_what_is_missing_for_a_first_file(ada, client):
    address = "/admin/payments/paymentsettings/1/change/"
    page_before = client.get(address, follow=True)
    assert "account number, account name, bank, user id" in page_before.content.decode()
    values = {
        "bsb": "062-000",
        "account_number": "1",
        "account_name": "Us",
        "bank": "CBA",
        "user_id": "301500",
    }
    assert client.post(address, form_data(page_before, **values)).status_code == 302
    assert PaymentSettings.current().missing == []


# --- runs -----------------------------------------------------------------------------------------------


MAKER = ("payments.view_paymentrun", "payments.add_paymentrun")


def test_a_run_is_made_of_the_payees_that_are_ticked(ready, provider):
    other = a_client(business_name="Plain Care")
    an_account(other)
    left_out = a_paid_claim("5.00", provider=other)
    nobody = a_client(business_name="Without Account")
    unpayable = a_paid_claim("3.00", provider=nobody)
    browser, staff = signed_in(*MAKER)
    shown = browser.get(f"{RUNS}ready/")
    assert (shown.context["payable"], shown.context["total"]) == (Decimal("25.10"), Decimal("28.10"))
    text = shown.content.decode()
    assert "Without Account has no bank account here" in text
    boxes = dict(re.findall(r'aria-label="Pay ([^"]+)"(?: (disabled|checked))?', text))
    assert boxes == {"Harbour Lights": "checked", "Plain Care": "checked", "Without Account": "disabled"}
    assert ACCOUNTS not in text.partition("<main")[2]  # for those who may see accounts
    value = next(each["value"] for each in shown.context["rows"] if each["payee"].record == provider)
    made = browser.post(f"{RUNS}make/", {"payee": [value], "day": clock.today().isoformat()})
    run = PaymentRun.objects.get()
    assert made.headers["Location"] == f"{RUNS}{run.pk}/run/"
    assert (run.total, run.made_by, run.items.count()) == (Decimal("20.10"), staff, 1)
    assert [each["payee"].claims[0].claim for each in browser.get(f"{RUNS}ready/").context["rows"]] == [
        left_out,
        unpayable,
    ]


@pytest.fixture
def many_payees(monkeypatch):
    """Five payees with accounts, two on a page, by name; each is paid as many dollars as its number."""
    monkeypatch.setattr("apps.payments.admin.runs.LISTED_PAYEES", 2)
    payment_settings()
    payees = [a_client(business_name=f"Payee {number}") for number in range(1, 6)]
    for number, payee in enumerate(payees, 1):
        an_account(payee)
        a_paid_claim(f"{number}.00", provider=payee)
    return payees


def names_on(shown):
    return [str(each["payee"].record) for each in shown.context["rows"]]


def ticks(shown, *left_out):
    """What a browser would send of the form of what is ready, but for the ticks of those names."""
    found = {"day": [shown.context["day"]], "payee": [" ".join(shown.context["elsewhere"])], "set_off": []}
    found["set_off"].append(" ".join(shown.context["set_off_elsewhere"]))
    for row in shown.context["rows"]:
        if row["is_payable"] and row["is_ticked"] and str(row["payee"].record) not in left_out:
            found["payee"].append(row["value"])
        found["set_off"] += [str(key) for key, _, _, is_ticked in row["owed"] if is_ticked]
    return found


def test_what_is_ready_has_pages_that_keep_each_other_s_ticks_and_the_sum_of_all(many_payees):
    browser, _ = signed_in(*MAKER)
    first = browser.get(f"{RUNS}ready/")
    assert (names_on(first), first.context["total"]) == (["Payee 1", "Payee 2"], Decimal("15.00"))
    later = (clock.today() + dt.timedelta(days=3)).isoformat()
    last = browser.post(f"{RUNS}ready/", {**ticks(first, "Payee 2"), "page": "3", "day": later})
    assert (names_on(last), last.context["total"]) == (["Payee 5"], Decimal("15.00"))
    assert "Payees 5 to 5 of 5" in last.content.decode()
    assert "3 on the others" in last.content.decode()
    assert last.context["elsewhere_amount"] == Decimal("8.00")
    second = browser.post(f"{RUNS}ready/", {**ticks(last, "Payee 5"), "page": "2"})
    again = browser.post(f"{RUNS}ready/", {**ticks(second), "page": "1"})
    assert [each["is_ticked"] for each in again.context["rows"]] == [True, False]
    browser.post(f"{RUNS}make/", ticks(again))
    run = PaymentRun.objects.get()
    assert [str(each.payee) for each in run.items.all()] == ["Payee 1", "Payee 3", "Payee 4"]
    assert (run.total, run.day.isoformat()) == (Decimal("8.00"), later)


def test_a_page_whose_ticks_were_all_taken_away_ticks_nobody(many_payees):
    browser, _ = signed_in(*MAKER)
    everybody = names_on(browser.get(f"{RUNS}ready/"))
    first = browser.post(f"{RUNS}make/", ticks(browser.get(f"{RUNS}ready/"), *everybody) | {"payee": []})
    assert "Choose at least one payee." in first.content.decode()
    assert [each["is_ticked"] for each in first.context["rows"]] == [False, False]
    assert first.context["elsewhere"] == []


def test_a_run_that_is_refused_keeps_what_was_ticked(many_payees):
    release_run(create_run(None, clock.today(), None).pk, a_releaser())
    owed = Claim.objects.get(provider=many_payees[4])
    Claim.objects.filter(pk=owed.pk).update(amount_paid=0)
    for payee in many_payees:
        a_paid_claim("4.00", provider=payee)
    browser, _ = signed_in(*MAKER)
    day = (clock.today() + dt.timedelta(days=2)).isoformat()
    sent = ticks(browser.get(f"{RUNS}ready/"), "Payee 1") | {"set_off": [str(owed.pk)], "day": day}
    answer = browser.post(f"{RUNS}make/", sent)
    assert "owes more than they would be paid: set off less." in answer.content.decode()
    assert [each["is_ticked"] for each in answer.context["rows"]] == [False, True]
    assert (answer.context["day"], answer.context["set_off_elsewhere"]) == (day, [str(owed.pk)])
    assert not PaymentRun.objects.filter(status=RunStatus.DRAFT).exists()


def test_what_is_set_off_is_kept_on_other_pages(many_payees):
    release_run(create_run(None, clock.today(), None).pk, a_releaser())
    owed = Claim.objects.get(provider=many_payees[0])
    Claim.objects.filter(pk=owed.pk).update(amount_paid=0)
    for payee in many_payees:
        a_paid_claim("40.00", provider=payee)
    browser, _ = signed_in(*MAKER)
    first = ticks(browser.get(f"{RUNS}ready/"))
    second = browser.post(f"{RUNS}ready/", {**first, "set_off": [str(owed.pk)], "page": "2"})
    assert second.context["elsewhere_amount"] == Decimal(
        "119.00"
    )  # of payees 1, 2 and 5, less what is set off
    again = browser.post(f"{RUNS}ready/", {**ticks(second), "page": "1"})
    assert again.context["rows"][0]["owed"][0][3] is True
    browser.post(f"{RUNS}make/", ticks(second))
    assert PaymentRun.objects.get(status=RunStatus.DRAFT).total == Decimal("199.00")


def test_the_page_of_a_run_has_pages_and_a_payment_that_came_back_is_shown_on_its_own(many_payees):
    run = release_run(create_run(None, clock.today(), None).pk, a_releaser())
    browser, _ = signed_in("payments.view_paymentrun", "payments.change_paymentrun")
    address = f"{RUNS}{run.pk}/run/"
    shown = [browser.get(f"{address}?page={number}").context["items"] for number in (1, 2, 3)]
    assert [item.position for items in shown for item, _, _ in items] == [1, 2, 3, 4, 5]
    assert "?page=3" in browser.get(address).content.decode()
    answer = browser.post(f"{RUNS}{run.pk}/came-back/{shown[2][0][0].pk}/", {"reason": "closed"})
    assert answer.headers["Location"] == f"{address}?page=3"
    # Of all payments, not of the page's.
    assert len(browser.get(address).context["without_email"]) == 4


@pytest.mark.parametrize("page", ["ready", "run"])
def test_the_pages_of_payments_take_the_same_statements_for_any_number_of_payees(ready, page):
    browser, _ = signed_in(*MAKER, "people.view_contact", "payments.view_bankaccount")
    payment_to(a_contact(), "Client")

    def statements():
        address = f"{RUNS}ready/"
        if page == "run":
            run = create_run(None, clock.today(), None)
            address = f"{RUNS}{run.pk}/run/"
            release_run(run.pk, a_releaser())
        browser.get(address)
        with CaptureQueriesContext(connection) as captured:
            browser.get(address)
        if page == "run":
            withdraw_claims(run)
        # The settings of the organisation are read again when they are old.
        return sum("core_subscriber" not in query["sql"] for query in captured.captured_queries)

    before = statements()
    for _ in range(3):
        payment_to(a_client(), "Provider")
        payment_to(a_contact(), "Client")
        payment_to(a_contact(representative=a_contact()), "ClientRepresentative")
    assert statements() == before


def payment_to(payee, send_payment_to):
    """Something is ready for a payee with an account: a provider, a participant or who represents them."""
    if send_payment_to == "Provider":
        an_account(payee)
        return a_paid_claim("1.00", provider=payee)
    an_account(payee.representative or payee)
    return a_paid_claim("1.00", contact=payee, send_payment_to=send_payment_to)


def withdraw_claims(run):
    """What a released run paid came back, so that the next one has it again."""
    for item in run.items.all():
        mark_returned(item.pk, "closed", None)
    confirmed = {"confirmed_at": clock.now(), "confirmed_by": a_staff_member()}
    for account in BankAccount.objects.all():
        BankAccount.objects.filter(pk=account.pk).update(confirmed_for=account.owner.pk, **confirmed)


def test_more_claims_than_can_be_listed_are_recorded_as_paid_before_first(ready, monkeypatch):
    monkeypatch.setattr("apps.payments.admin.runs.MOST_BEFORE_OPENING", 1)
    browser, _ = signed_in(*MAKER)
    text = browser.get(f"{RUNS}ready/").content.decode()
    assert "2 claims were paid by the agency" in text
    assert "Harbour Lights" not in text


def test_what_is_owed_is_set_off_where_it_is_ticked(ready, provider):
    run = release_run(create_run(None, clock.today(), None).pk, a_releaser())
    taken_back = ready[0]
    type(taken_back).objects.filter(pk=taken_back.pk).update(amount_paid=5)
    a_paid_claim("40.00", provider=provider)
    browser, _ = signed_in(*MAKER)
    account = provider.bank_accounts.get()
    account.archive_date = clock.now()
    account.save()
    assert re.search(r'name="set_off" [^>]+ disabled>', browser.get(f"{RUNS}ready/").content.decode())
    an_account(provider)
    shown = browser.get(f"{RUNS}ready/")
    assert "Another account than was paid last." in shown.content.decode()
    (row,) = shown.context["rows"]
    answer = {"payee": [row["value"]], "day": clock.today().isoformat(), "set_off": [str(row["owed"][0][0])]}
    browser.post(f"{RUNS}make/", answer)
    assert PaymentRun.objects.exclude(pk=run.pk).get().total == Decimal("25.00")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"day": "2026-07-01"}, "Choose at least one payee."),
        ({"payee": ["client:x"], "day": "soon"}, "Choose at least one payee."),
        ({"payee": "all", "day": "soon"}, "Give the day of payment"),
        ({"payee": "all", "day": "1999-01-01", "set_off": ["x"]}, "Choose a day of payment from today"),
    ],
)
def test_a_run_that_cannot_be_made_says_why(ready, answer, sentence):
    browser, _ = signed_in(*MAKER)
    if answer.get("payee") == "all":
        rows = browser.get(f"{RUNS}ready/").context["rows"]
        answer = {**answer, "payee": [each["value"] for each in rows]}
    shown = browser.post(f"{RUNS}make/", answer, follow=True)
    assert sentence in texts_of(shown)[0]
    assert not PaymentRun.objects.exists()


def test_a_run_is_released_by_somebody_else_and_its_files_are_always_the_same(ready):
    maker, staff = signed_in(*MAKER, "payments.release_paymentrun")
    run = create_run(None, clock.today(), staff)
    own_page = maker.get(f"{RUNS}{run.pk}/run/")
    assert own_page.context["release_problem"] == "You made it yourself: somebody else releases it."
    maker.post(f"{RUNS}{run.pk}/release/")
    run.refresh_from_db()
    assert run.status == RunStatus.DRAFT
    releaser, _ = signed_in("payments.view_paymentrun", "payments.release_paymentrun")
    releaser.post(f"{RUNS}{run.pk}/release/")
    run.refresh_from_db()
    assert run.status == RunStatus.RELEASED
    address = f"{RUNS}{run.pk}/bank-file/1/"
    assert releaser.get(address).status_code == 403
    reader, _ = signed_in("payments.view_paymentrun", "payments.view_bankaccount")
    READ_LOG.waiting.clear()
    first, second = reader.get(address), reader.get(address)
    assert first.content == second.content == bytes(run.bank_files.get().content)
    assert first.headers["Content-Disposition"] == f'attachment; filename="run-{run.number}-1.aba"'
    read_bank_file(first.content)
    logged = [(each.record_type, each.query) for each in READ_LOG.waiting if each.kind == "Export"]
    assert logged == [("payments.bankaccount", f"run-{run.number}-1.aba")] * 2
    assert reader.get(f"{RUNS}{run.pk}/bank-file/2/").status_code == 404


@pytest.mark.parametrize(
    ("day", "said"),
    [
        ("2027-01-25", "25 Jan 2027</dd>"),
        ("2027-01-26", "26 Jan 2027 is no business day: banks pay on Wednesday, 27 Jan 2027</dd>"),
        ("2026-12-25", "25 Dec 2026 is no business day: banks pay on Tuesday, 29 Dec 2026</dd>"),
    ],
)
def test_the_page_of_a_run_says_when_banks_pay_where_its_day_is_no_business_day(ready, at, day, said):
    at("2026-12-20 10:00")
    browser, staff = signed_in("payments.view_paymentrun")
    run = create_run(None, dt.date.fromisoformat(day), staff)
    assert f"<dd>{said}" in browser.get(f"{RUNS}{run.pk}/run/").content.decode()


def test_a_run_is_withdrawn_before_it_is_released(ready):
    browser, staff = signed_in("payments.view_paymentrun", "payments.change_paymentrun")
    run = create_run(None, clock.today(), None)
    assert "Withdrawn by" not in browser.get(f"{RUNS}{run.pk}/run/").content.decode()
    browser.post(f"{RUNS}{run.pk}/withdraw/")
    run.refresh_from_db()
    assert run.status == RunStatus.WITHDRAWN
    other, _ = signed_in("payments.view_paymentrun")
    shown = other.get(f"{RUNS}{run.pk}/run/").content.decode()
    assert f"<dt>Withdrawn by</dt><dd>{staff}, " in shown
    assert "cannot be withdrawn" in texts_of(browser.post(f"{RUNS}{run.pk}/withdraw/", follow=True))[-1]


def test_a_payment_that_came_back_is_marked_by_hand_with_a_reason(ready):
    browser, staff = signed_in("payments.view_paymentrun", "payments.change_paymentrun")
    run = release_run(create_run(None, clock.today(), None).pk, a_releaser())
    item = run.items.get()
    address = f"{RUNS}{run.pk}/came-back/{item.pk}/"
    assert "Say why" in texts_of(browser.post(address, {"reason": " "}, follow=True))[0]
    browser.post(address, {"reason": "account closed"})
    item.refresh_from_db()
    assert (item.return_reason, item.returned_by) == ("account closed", staff)
    assert "account closed" in browser.get(f"{RUNS}{run.pk}/run/").content.decode()
    assert browser.post(f"{RUNS}{run.pk}/came-back/0/", {"reason": "x"}).status_code == 404


def test_a_payment_is_one_of_its_own_run_and_has_advice_once_that_is_released(ready, provider):
    browser, _ = signed_in("payments.view_paymentrun", "payments.change_paymentrun")
    run = create_run(None, clock.today(), None)
    item = run.items.get()
    assert browser.get(f"{RUNS}{run.pk}/advice/{item.pk}/").status_code == 404
    release_run(run.pk, a_releaser())
    assert browser.get(f"{RUNS}{run.pk}/advice/{item.pk}/").status_code == 200
    a_paid_claim("1.00", provider=provider)
    other = create_run(None, clock.today(), None)
    address = f"{RUNS}{other.pk}/came-back/{item.pk}/"
    assert browser.post(address, {"reason": "account closed"}).status_code == 404


def test_what_was_paid_before_is_offered_once_and_asked_first(ready):
    browser, _ = signed_in(*MAKER)
    assert f"{RUNS}opening/" in browser.get(f"{RUNS}ready/").content.decode()
    asked = browser.get(f"{RUNS}opening/")
    assert (asked.context["total"], asked.context["count"]) == (Decimal("20.10"), 2)
    assert not PaymentRun.objects.exists()
    browser.post(f"{RUNS}opening/")
    assert PaymentRun.objects.get().status == RunStatus.OPENING
    assert f"{RUNS}opening/" not in browser.get(f"{RUNS}ready/").content.decode()
    assert "kept already" in texts_of(browser.post(f"{RUNS}opening/", follow=True))[0]
    a_paid_claim()
    assert "There is nothing to record" in browser.get(f"{RUNS}opening/").content.decode()


# --- who may do what ------------------------------------------------------------------------------------

#: The permission of payments that each page needs besides seeing runs, by method and path.
PAGES = {
    ("GET", "ready/"): "view_paymentrun",
    ("POST", "make/"): "add_paymentrun",
    ("GET", "opening/"): "add_paymentrun",
    ("GET", "{run}/run/"): "view_paymentrun",
    ("GET", "{run}/change/"): "view_paymentrun",
    ("GET", "{run}/history/"): "view_paymentrun",
    ("POST", "{run}/withdraw/"): "change_paymentrun",
    ("POST", "{run}/send-advice/"): "change_paymentrun",
    ("POST", "{run}/came-back/{item}/"): "change_paymentrun",
    ("GET", "{run}/bank-file/1/"): "view_bankaccount",
}
PERMISSIONS = (
    "view_paymentrun",
    "add_paymentrun",
    "change_paymentrun",
    "view_bankaccount",
    "confirm_bankaccount",
)


def test_each_page_is_for_the_permission_that_it_needs(ready):
    run = release_run(create_run(None, clock.today(), None).pk, a_releaser())
    words = {"run": run.pk, "item": run.items.get().pk}
    for permission in PERMISSIONS:
        browser, _ = signed_in("payments.view_paymentrun", f"payments.{permission}")
        alone, _ = signed_in(f"payments.{permission}")
        for (method, path), needed in PAGES.items():
            address = RUNS + path.format(**words)
            is_allowed = needed in ("view_paymentrun", permission)
            assert (browser.generic(method, address).status_code != 403) is is_allowed, (permission, path)
            # To see what one may change is Django's rule; no other permission lets anybody see runs.
            sees_runs = permission in ("view_paymentrun", "change_paymentrun")
            assert (alone.generic(method, address).status_code != 403) is (sees_runs and is_allowed), path


def test_the_page_of_a_run_offers_what_its_reader_may_do(ready, provider):
    provider.key_contact = a_contact(primary_email="payee@example.org")
    provider.save()
    run = create_run(None, clock.today(), None)
    reader, _ = signed_in("payments.view_paymentrun")
    changer, _ = signed_in("payments.view_paymentrun", "payments.change_paymentrun")
    accountant, _ = signed_in("payments.view_paymentrun", "payments.view_bankaccount")

    def offered(browser):
        page = browser.get(f"{RUNS}{run.pk}/run/").content.decode()
        return set(re.findall(rf'(?:href|action)="{RUNS}{run.pk}/([a-z-]+)/', page)) - {"history"}

    assert [offered(each) for each in (reader, changer, accountant)] == [set(), {"withdraw"}, set()]
    release_run(run.pk, a_releaser())
    assert offered(reader) == {"advice"}
    assert offered(changer) == {"advice", "send-advice", "came-back"}
    assert offered(accountant) == {"advice", "bank-file"}


def test_each_page_of_an_account_is_for_the_permission_that_it_needs(provider):
    account = an_account(provider, confirmed=False)
    for permissions, statuses in {
        ("view_paymentrun",): (403, 403, 403),
        ("view_bankaccount",): (200, 403, 403),
        ("confirm_bankaccount",): (403, 403, 403),
        ("view_bankaccount", "confirm_bankaccount"): (200, 200, 403),
        ("view_bankaccount", "add_bankaccount"): (200, 403, 200),
    }.items():
        browser, _ = signed_in(*(f"payments.{each}" for each in permissions))
        addresses = (f"{ACCOUNTS}{account.pk}/change/", f"{ACCOUNTS}{account.pk}/confirm/", f"{ACCOUNTS}add/")
        assert tuple(browser.get(each).status_code for each in addresses) == statuses, permissions


# --- files of the bank, and the home page ---------------------------------------------------------------


def returned_file(run):
    line = bytes(run.bank_files.get().content).split(b"\r\n")[1]
    return (b"2" + line[1:17] + b"3" + line[18:112] + b"24301500\r\n").decode()


def test_the_bank_s_file_of_returns_is_imported_in_the_back_office(ready, ada, client):
    run = release_run(create_run(None, clock.today(), None).pk, a_releaser())
    record = an_import(client, text=returned_file(run), kind="returned-payments", name="returns.aba")
    assert page(client, record)["count_texts"] == ["1 came back"]
    assert run.items.get().returned_at is None
    press(client, record, "import")
    run_tasks()
    item = run.items.get()
    assert (item.return_reason, item.returned_by) == ("account closed", ada)
    record.delete()
    again = an_import(client, text=returned_file(run), kind="returned-payments", name="returns.aba")
    assert page(client, again)["count_texts"] == ["1 known already"]


def test_a_file_of_another_form_is_refused(ready, ada, client):
    record = an_import(client, text="a,b\n", kind="returned-payments", name="returns.txt")
    assert page(client, record)["file_import"].message.startswith("This file has no returned payment")


def test_the_home_page_says_what_is_ready_and_what_waits_for_its_release(ready):
    browser, _ = signed_in("payments.view_paymentrun")

    def rows():
        panels = browser.get("/admin/").context["panels"]
        return [(row.label, row.count, row.amount) for _, content in panels for row in content.rows]

    assert rows() == [("Ready to pay: claims", 2, Decimal("20.10"))]
    run = create_run(None, clock.today(), None)
    assert rows() == [("Runs to be released", 1, Decimal("20.10"))]
    withdraw_run(run.pk)
    assert rows() == [("Ready to pay: payees", 1, Decimal("20.10"))]
    other, _ = signed_in("people.view_client")
    assert other.get("/admin/").context["panels"] == []
