"""Two people at the same moment: nothing is paid, made or sent twice."""

import contextlib
import datetime as dt
import threading
import time

import pytest
from django.db import transaction
from django.db.models import Sum

from apps.base import clock
from apps.base.errors import Refusal
from apps.core.archive import archive
from apps.funding.file_formats.answer_files import sha256_of
from apps.funding.file_formats.remittances import read_remittance
from apps.funding.models import Claim
from apps.funding.services.remittances import import_remittance
from apps.funding.services.transitions import apply_transition
from apps.payments.choices import StatementWork
from apps.payments.file_formats.bank_file import write_bank_file
from apps.payments.file_formats.bank_returns import read_returns
from apps.payments.models import (
    BankAccount,
    BankFile,
    PaymentRun,
    PaymentRunClaim,
    PaymentRunItem,
    StatementRun,
)
from apps.payments.services.accounts import confirm_account, confirm_anew_after_merge
from apps.payments.services.opening import record_paid_before
from apps.payments.services.remittance import mail_advice
from apps.payments.services.returns import apply_returns, mark_returned
from apps.payments.services.runs import create_run, release_run, withdraw_run
from apps.payments.services.statement_mail import mail_statement
from apps.payments.services.statement_runs import start_run
from tests.funding.answer_files import a_payment, as_csv
from tests.funding.builders import a_claim
from tests.funding.claim_files import claimed_lines
from tests.payments.bank_returns import returns_of
from tests.payments.builders import (
    a_confirmer,
    a_paid_claim,
    a_releaser,
    agency_takes_back,
    an_account,
    payment_settings,
)
from tests.payments.statement_builders import a_consent, a_statement
from tests.people.records import a_client, a_contact
from tests.races import ROUNDS, call_at_once, call_during

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def claims():
    """Claims of two providers that are ready to be paid."""
    payment_settings()
    found = []
    for _ in range(2):
        provider = a_client(key_contact=a_contact(primary_email="payee@example.org"))
        an_account(provider)
        found += [a_paid_claim("20.00", provider=provider) for _ in range(5)]
    return found


def attempt(call):
    """A call whose refusal is its result."""

    def run():
        try:
            return call()
        except Refusal as refused:
            return refused

    return run


@pytest.mark.parametrize("number", range(ROUNDS))
def test_two_runs_at_once_hold_each_claim_once(claims, number):
    results = call_at_once(*[attempt(lambda: create_run(None, clock.today(), None))] * 2)
    assert sum(isinstance(each, PaymentRun) for each in results) == 1
    assert PaymentRunClaim.objects.count() == len(claims)


def test_two_runs_of_different_claims_have_different_numbers(claims):
    for _ in range(ROUNDS):
        halves = [[each.pk for each in claims[:5]], [each.pk for each in claims[5:]]]
        runs = call_at_once(*(lambda keys=keys: create_run(keys, clock.today(), None) for keys in halves))
        assert len({run.number for run in runs}) == 2
        for run in runs:
            withdraw_run(run.pk)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_of_two_releases_one_makes_the_files(claims, number):
    releasers = [a_releaser(), a_releaser()]
    run = create_run(None, clock.today(), None)
    results = call_at_once(*(attempt(lambda who=who: release_run(run.pk, who)) for who in releasers))
    assert sum(isinstance(each, PaymentRun) for each in results) == 1
    assert BankFile.objects.count() == 1


def test_a_release_and_a_withdrawal_do_not_both_happen(claims):
    releaser = a_releaser()
    for _ in range(ROUNDS):
        run = create_run(None, clock.today(), None)
        call_at_once(
            attempt(lambda run=run: release_run(run.pk, releaser)),
            attempt(lambda run=run: withdraw_run(run.pk)),
        )
        run.refresh_from_db()
        assert run.bank_files.exists() is (run.status == "Released")
        assert PaymentRunClaim.objects.filter(item__run=run, returned=True).exists() is (
            run.status == "Withdrawn"
        )
        if run.status == "Released":
            break


def test_a_run_while_a_payment_is_recorded_has_all_of_it_or_nothing(claims):
    for _ in range(ROUNDS):
        claim = a_paid_claim("20.00", "0.00", provider=claims[0].provider)
        Claim.objects.filter(pk=claim.pk).update(funding_status="AgencyClaimed", payment_date=None)
        call_at_once(
            lambda claim=claim: apply_transition(Claim, [claim.pk], "pay"),
            attempt(lambda: create_run(None, clock.today(), None)),
        )
        with contextlib.suppress(Refusal):
            create_run(None, clock.today(), None)
        held = PaymentRunClaim.objects.filter(claim=claim).aggregate(sum=Sum("amount"))["sum"]
        claim.refresh_from_db()
        assert held == claim.amount_paid == 20


def test_two_tasks_at_once_send_a_remittance_advice_once(claims, mail_server):
    run = release_run(create_run(None, clock.today(), None).pk, a_releaser())
    item = run.items.first()
    call_at_once(*[lambda: mail_advice.call(item.pk, None, 0) or True] * 2)
    assert len(mail_server.received) == 1


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_run_while_a_remittance_is_imported_has_all_of_a_claim_or_nothing(claims, tmp_path, number):
    providers = [claim.provider for claim in claims[::5]]
    paid = [
        a_claim(2, provider=provider, funding_status="AgencyClaimed") for provider in providers for _ in "ab"
    ]
    day = f"{clock.today():%Y%m%d}"
    rows = [a_payment(line.reference, "140.00", str(at), day) for at, line in enumerate(claimed_lines(*paid))]
    path = as_csv(tmp_path / "paid.csv", rows)
    found = read_remittance(path, clock.today(), "YYYYMMDD")[1]
    call_at_once(
        lambda: import_remittance(found, path.name, sha256_of(path)),
        attempt(lambda: create_run(None, clock.today(), None)),
    )
    with contextlib.suppress(Refusal):
        create_run(None, clock.today(), None)
    parts = PaymentRunClaim.objects.filter(claim__in=paid)
    assert sorted(parts.values_list("claim", "amount")) == sorted((each.pk, 280) for each in paid)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_the_same_returns_twice_at_once_come_back_once(claims, number):
    run = release_run(create_run(None, clock.today(), None).pk, a_releaser())
    rows = read_returns(returns_of(run))
    reports = call_at_once(*[lambda: apply_returns(rows, None)] * 2, lambda: apply_returns(rows[::-1], None))
    assert sorted((len(each.returned), len(each.already)) for each in reports) == [(0, 2), (0, 2), (2, 0)]
    assert PaymentRunClaim.objects.filter(returned=True).count() == len(claims)


def test_a_payment_comes_back_by_hand_or_by_the_bank_s_file(claims):
    run = release_run(create_run(None, clock.today(), None).pk, a_releaser())
    rows = read_returns(returns_of(run))
    item = run.items.last()
    call_at_once(lambda: apply_returns(rows, None), attempt(lambda: mark_returned(item.pk, "closed", None)))
    assert PaymentRunItem.objects.filter(returned_at=None).count() == 0


@pytest.mark.parametrize("number", range(ROUNDS))
def test_the_first_run_and_what_was_paid_before_are_one_or_the_other(claims, number):
    """What has no account yet is not taken for paid beside the first run."""
    waiting = a_paid_claim("20.00", provider=a_client())
    call_at_once(
        attempt(lambda: create_run(None, clock.today(), None)), attempt(lambda: record_paid_before(None))
    )
    run = PaymentRun.objects.get()
    parts = set(PaymentRunClaim.objects.values_list("claim", flat=True))
    assert parts == {each.pk for each in [*claims, *([waiting] if run.status == "Opening" else [])]}


@pytest.mark.parametrize("number", range(ROUNDS))
def test_three_people_who_make_the_statements_of_a_month_begin_one_run(db, number):
    runs = call_at_once(*[lambda: start_run(dt.date(2026, 7, 1), StatementWork.MAKE, None)] * 3)
    assert len({run.pk for run in runs}) == StatementRun.objects.count() == 1


def test_an_account_that_changes_during_a_release_changes_after_it(claims, monkeypatch):
    releaser, writing = a_releaser(), threading.Event()

    def write_slowly(*arguments):
        writing.set()
        time.sleep(0.1)
        return write_bank_file(*arguments)

    monkeypatch.setattr("apps.payments.services.runs.write_bank_file", write_slowly)
    run = create_run(None, clock.today(), None)
    account = run.items.first().account

    def change():
        writing.wait(60)
        BankAccount.objects.filter(pk=account.pk).update(confirmed_at=None)
        return PaymentRun.objects.get(pk=run.pk).status

    _, status_after_change = call_at_once(lambda: release_run(run.pk, releaser), change)
    assert status_after_change == "Released"


# --- who comes second sees what the first has done: each fails without the lock that the call takes ------


def take_place_of(account):
    """What happens to an account when another one is entered."""
    return lambda: archive(BankAccount.objects.filter(pk=account.pk))


def test_an_account_that_loses_its_place_meanwhile_is_not_confirmed(claims):
    account, confirmer = an_account(a_client(), confirmed=False), a_confirmer()
    with pytest.raises(Refusal, match="one that took its place may be"):
        call_during(take_place_of(account), lambda: confirm_account(account.pk, confirmer, "by telephone"))


def test_an_account_that_loses_its_place_while_a_payment_comes_back_does_not_get_it_again(claims):
    run = release_run(create_run(None, clock.today(), None).pk, a_releaser())
    item = run.items.first()
    call_during(take_place_of(item.account), lambda: mark_returned(item.pk, "closed", None))
    assert BankAccount.objects.get(pk=item.account_id).is_archived


def test_an_account_that_loses_its_place_during_a_merge_does_not_get_it_again(claims):
    account = BankAccount.objects.first()

    @transaction.atomic
    def merge():
        confirm_anew_after_merge(account.client, a_client())

    call_during(take_place_of(account), merge)
    assert BankAccount.objects.get(pk=account.pk).is_archived


def test_what_the_agency_takes_back_meanwhile_is_not_released(claims):
    run, releaser = create_run(None, clock.today(), None), a_releaser()
    with pytest.raises(Refusal, match="Less is paid of"):
        call_during(lambda: agency_takes_back(claims[0], "5.00"), lambda: release_run(run.pk, releaser))


def test_a_run_that_is_withdrawn_leaves_what_another_one_has_of_its_claims(claims):
    run = create_run(None, clock.today(), None)
    Claim.objects.filter(pk=claims[0].pk).update(total=25, amount_paid=25)
    call_during(lambda: create_run(None, clock.today(), None), lambda: withdraw_run(run.pk))
    assert Claim.objects.get(pk=claims[0].pk).paid_out == 5


def test_two_tasks_at_once_send_a_statement_once(db, mail_server):
    contact = a_contact(primary_email="mia@example.org")
    a_consent(contact)
    statement = a_statement(contact)
    call_during(*[lambda: mail_statement.call(str(statement.pk), None, 0)] * 2)
    assert len(mail_server.received) == 1
