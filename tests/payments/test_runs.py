"""Payment runs: what is ready, who may release it, what came back."""

import datetime as dt
from decimal import Decimal
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from apps.base import clock
from apps.base.errors import Refusal
from apps.core.models import Change
from apps.funding.choices import SendPaymentTo
from apps.funding.models import Claim
from apps.funding.services.transitions import apply_transition
from apps.funding.validation.transitions import TransitionName
from apps.payments.choices import RunStatus
from apps.payments.drafts import AccountDraft
from apps.payments.file_formats.bank_returns import ReturnedPayment
from apps.payments.models import BankAccount, PaymentRun, PaymentRunClaim
from apps.payments.services.accounts import confirm_account, create_bank_accounts
from apps.payments.services.opening import record_paid_before
from apps.payments.services.ready import load_ready, sum_ready_payees
from apps.payments.services.returns import apply_returns, mark_returned
from apps.payments.services.runs import create_run, release_run, run_problem, withdraw_run
from apps.people.models import Contact
from tests.engagements.builders import a_plan
from tests.funding.builders import END_OF_JUNE, JULY, a_claim
from tests.payments.bank_file_checker import read_bank_file
from tests.payments.builders import (
    a_confirmer,
    a_paid_claim,
    a_releaser,
    an_account,
    owed_amount,
    payment_settings,
    somebody,
)
from tests.people.records import a_client, a_contact, a_staff_member

DAY = dt.timedelta(days=1)

pytestmark = pytest.mark.django_db


def ready_amounts():
    return {str(each.record): (each.amount, owed_amount(each)) for each in load_ready()}


def a_released_run(**columns):
    payment_settings()
    provider = a_client()
    an_account(provider)
    claim = a_paid_claim("20.00", provider=provider, **columns)
    run = create_run(None, clock.today(), a_staff_member())
    return release_run(run.pk, a_releaser()), claim


def test_a_run_takes_as_many_statements_whatever_the_number_of_payees(django_assert_max_num_queries):
    counts = []
    for payees in (2, 12):
        for _ in range(payees):
            provider = a_client()
            an_account(provider)
            a_paid_claim("20.00", provider=provider)
        with django_assert_max_num_queries(40) as captured:
            assert create_run(None, clock.today(), None).items.count() == payees
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_each_payee_gets_what_the_agency_paid():
    coordinator = a_contact(client=a_client(business_name="Coordinators"))
    participant = a_contact(representative=a_contact(first_name="Rita", last_name="Representative"))
    a_plan(
        participant=participant,
        support_coordinator=coordinator,
        plan_start_date=JULY,
        plan_end_date=END_OF_JUNE,
    )
    provider = a_client(business_name="Provider")
    common = {"provider": provider, "contact": participant}
    for number, to in enumerate(SendPaymentTo, 1):
        a_paid_claim(f"{number}.00", send_payment_to=to.value, **common)
    a_paid_claim("10.00", "4.00", **common)
    a_claim(funding_status="AgencyClaimed", **common)
    amounts = {name: amount for name, (amount, _) in ready_amounts().items()}
    assert amounts == {
        "Provider": Decimal("5.00"),  # 1.00 and the 4.00 of 10.00 that were paid
        str(participant): Decimal("2.00"),
        "Coordinators": Decimal("4.00"),
        "Rita Representative": Decimal("5.00"),
    }  # what is sent to the plan manager is our own
    assert sum_ready_payees() == (4, Decimal("16.00"))


def test_claims_that_name_nobody_are_one_payee_whom_nothing_can_be_paid():
    coordinator = a_contact(client=a_client())
    participant = a_contact()
    plan = {"participant": participant, "support_coordinator": coordinator}
    a_plan(plan_start_date=JULY, plan_end_date=END_OF_JUNE, archive_date=clock.now(), **plan)
    a_plan(plan_start_date=JULY - DAY, plan_end_date=JULY - DAY, **plan)
    a_plan(plan_start_date=JULY - 9 * DAY, plan_end_date=END_OF_JUNE, no_active_plan_from_date=JULY, **plan)
    for to in (SendPaymentTo.CLIENT_REPRESENTATIVE, SendPaymentTo.SUPPORT_COORDINATOR):
        a_paid_claim("3.00", send_payment_to=to.value, contact=participant)
    (payee,) = load_ready()
    assert (payee.record, payee.amount) == (None, Decimal("6.00"))
    assert "Nobody is named" in payee.problem
    assert sum_ready_payees() == (1, Decimal("6.00"))


def test_a_run_pays_each_payee_once_and_nothing_stays_ready():
    payment_settings()
    first, second = a_client(), a_client()
    an_account(first), an_account(second)
    for amount in ("20.00", "0.10"):
        a_paid_claim(amount, provider=first)
    a_paid_claim("7.00", provider=second)
    run = release_run(create_run(None, clock.today(), a_staff_member()).pk, a_releaser())
    (file,) = run.bank_files.all()
    found, day = read_bank_file(bytes(file.content))
    assert sorted(each.amount for each in found) == [Decimal("7.00"), Decimal("20.10")]
    assert day == f"{clock.today():%d%m%y}"
    assert run.total == file.total == Decimal("27.10")
    assert load_ready() == []
    with pytest.raises(Refusal, match="Nothing is ready"):
        create_run(None, clock.today(), None)


@pytest.mark.parametrize(
    ("most", "debits", "counts"),
    [(2, False, [2, 2, 1]), (2, True, [1] * 5), (1, True, [1] * 5)],  # the debit is a payment of its file
)
def test_files_have_as_many_payments_as_the_bank_takes(most, debits, counts):
    payment_settings(payments_per_file=most, debits_own_account=debits, pays_each_claim=True)
    provider = a_client()
    an_account(provider)
    for _ in range(5):
        a_paid_claim(provider=provider)
    run = release_run(create_run(None, clock.today(), None).pk, a_releaser())
    assert [file.payment_count for file in run.bank_files.all()] == counts
    assert sum(file.total for file in run.bank_files.all()) == run.total == Decimal("100.00")


def test_nobody_releases_a_run_that_they_made():
    payment_settings()
    provider = a_client()
    an_account(provider)
    a_paid_claim(provider=provider)
    maker = a_releaser()
    run = create_run(None, clock.today(), maker)
    with pytest.raises(Refusal, match="You made it yourself"):
        release_run(run.pk, maker)
    with pytest.raises(Refusal, match="lacks the permission"):
        release_run(run.pk, somebody())
    release_run(run.pk, a_releaser())
    with pytest.raises(Refusal, match="released already"):
        release_run(run.pk, a_releaser())


def test_an_account_without_confirmation_is_paid_nothing():
    provider, other = a_client(), a_client()
    an_account(provider, confirmed=False)
    a_paid_claim(provider=provider)
    a_paid_claim(provider=other)
    problems = sorted(each.problem for each in load_ready())
    assert "has no bank account" in problems[0]
    assert "is not confirmed" in problems[1]
    with pytest.raises(Refusal, match="confirmed account"):
        create_run(None, clock.today(), None)


def test_an_account_that_changes_before_the_release_stops_the_run():
    payment_settings()
    provider = a_client()
    an_account(provider)
    a_paid_claim(provider=provider)
    run = create_run(None, clock.today(), None)
    assert run_problem(run) is None
    create_bank_accounts([account_draft(client=provider)])
    with pytest.raises(Refusal, match="was changed meanwhile"):
        release_run(run.pk, a_releaser())
    assert "was changed meanwhile" in run_problem(run)
    withdraw_run(run.pk)
    assert [each.problem is None for each in load_ready()] == [False]


def test_a_run_is_not_released_once_money_was_taken_back():
    payment_settings()
    provider = a_client()
    an_account(provider)
    claim = a_paid_claim("20.00", provider=provider)
    run = create_run(None, clock.today(), None)
    type(claim).objects.filter(pk=claim.pk).update(amount_paid=5)
    with pytest.raises(Refusal, match="Less is paid of"):
        release_run(run.pk, a_releaser())


def test_what_was_taken_back_afterwards_is_owed_and_set_off_by_hand_only():
    run, claim = a_released_run()
    type(claim).objects.filter(pk=claim.pk).update(amount_paid=5)
    later = a_paid_claim("40.00", provider=claim.provider)
    assert ready_amounts() == {str(claim.provider): (Decimal("40.00"), Decimal("15.00"))}
    untouched = create_run(None, clock.today(), None)
    assert untouched.total == Decimal("40.00")
    withdraw_run(untouched.pk)
    run = create_run(None, clock.today(), None, set_off=[claim.pk])
    assert run.total == Decimal("25.00")
    amounts = {row.claim_id: row.amount for row in PaymentRunClaim.objects.filter(item__run=run)}
    assert amounts == {claim.pk: Decimal("-15.00"), later.pk: Decimal("40.00")}
    assert load_ready() == []


def test_what_is_owed_is_set_off_though_each_claim_is_a_payment_of_its_own():
    payment_settings(pays_each_claim=True)
    provider = a_client()
    an_account(provider)
    owed = a_paid_claim("20.00", provider=provider)
    release_run(create_run(None, clock.today(), None).pk, a_releaser())
    Claim.objects.filter(pk=owed.pk).update(amount_paid=5)
    for amount in ("40.00", "8.00"):
        a_paid_claim(amount, provider=provider)
    run = create_run(None, clock.today(), None, set_off=[owed.pk])
    assert [item.amount for item in run.items.all()] == [Decimal("33.00")]
    assert load_ready() == []


def test_who_was_paid_last_and_kept_it_owes_what_was_taken_back():
    payment_settings()
    first, second = a_contact(first_name="First"), a_contact(first_name="Second")
    an_account(first), an_account(second)
    participant = a_contact(representative=first)
    to = SendPaymentTo.CLIENT_REPRESENTATIVE.value
    claim = a_paid_claim("20.00", "10.00", send_payment_to=to, contact=participant)
    runs = []
    for representative, paid in ((first, 10), (second, 15)):
        Contact.objects.filter(pk=participant.pk).update(representative=representative)
        Claim.objects.filter(pk=claim.pk).update(amount_paid=paid)
        runs.append(release_run(create_run(None, clock.today(), None).pk, a_releaser()))
    Claim.objects.filter(pk=claim.pk).update(amount_paid=0)
    assert ready_amounts() == {str(second): (Decimal(0), Decimal("15.00"))}
    mark_returned(runs[1].items.get().pk, "Account closed", None)
    assert ready_amounts() == {str(first): (Decimal(0), Decimal("10.00"))}


def test_a_run_is_released_though_more_was_taken_back_of_what_it_sets_off():
    _, claim = a_released_run()
    type(claim).objects.filter(pk=claim.pk).update(amount_paid=5)
    a_paid_claim("40.00", provider=claim.provider)
    run = create_run(None, clock.today(), None, set_off=[claim.pk])
    type(claim).objects.filter(pk=claim.pk).update(amount_paid=3)
    assert release_run(run.pk, a_releaser()).total == Decimal("25.00")
    assert ready_amounts() == {str(claim.provider): (Decimal("0.00"), Decimal("2.00"))}


def test_a_payment_that_came_back_is_ready_again_and_its_account_is_confirmed_anew():
    run, claim = a_released_run()
    item = run.items.get()
    account = item.account
    row = ReturnedPayment(
        account.bsb, account.account_number, account.account_name, item.amount, item.reference, "closed"
    )
    report = apply_returns([row], None)
    assert [each.pk for each in report.returned] == [item.pk]
    again = apply_returns([row], None)
    assert (again.returned, again.already, again.unknown) == ([], [row], [])
    (payee,) = load_ready()
    assert payee.amount == Decimal("20.00")
    assert "not confirmed" in payee.problem
    assert payee.account.unconfirmed_because == f"A payment of {run} came back: closed."
    with pytest.raises(Refusal, match="come back already"):
        mark_returned(item.pk, "closed", None)
    confirm_account(account.pk, a_confirmer(), "Rang Jo on the number of last year")
    assert create_run([claim.pk], clock.today(), None).total == Decimal("20.00")


def test_a_reason_longer_than_its_column_is_kept_up_to_its_length():
    run, _ = a_released_run()
    item = mark_returned(run.items.get().pk, "x" * 300, None)
    item.refresh_from_db()
    assert item.return_reason == "x" * 200
    assert len(item.account.unconfirmed_because) == 200


def test_a_return_of_somebody_else_is_unknown():
    row = ReturnedPayment("062-000", "1", "X", Decimal("1.00"), "RUN 1", "closed")
    assert apply_returns([row], None).unknown == [row]


def test_a_withdrawn_run_gives_back_what_it_held():
    payment_settings()
    provider = a_client()
    an_account(provider)
    a_paid_claim(provider=provider)
    run = create_run(None, clock.today(), None)
    assert load_ready() == []
    withdraw_run(run.pk)
    assert ready_amounts() == {str(provider): (Decimal("20.00"), Decimal("0.00"))}
    with pytest.raises(Refusal, match="cannot be withdrawn"):
        withdraw_run(run.pk)


@pytest.mark.parametrize("days", [-1, 46])
def test_a_day_that_no_bank_takes_is_refused(days):
    with pytest.raises(Refusal, match="day of payment"):
        create_run(None, clock.today() + dt.timedelta(days=days), None)


def test_settings_that_lack_something_stop_the_release():
    payment_settings(user_id="", bank="")
    provider = a_client()
    an_account(provider)
    a_paid_claim(provider=provider)
    run = create_run(None, clock.today(), None)
    with pytest.raises(Refusal, match="bank, user id"):
        release_run(run.pk, a_releaser())


def test_what_was_paid_before_is_recorded_once():
    a_paid_claim("12.00")
    run = record_paid_before(None)
    assert (run.status, run.total) == (RunStatus.OPENING, Decimal("12.00"))
    assert load_ready() == []
    with pytest.raises(Refusal, match="kept already"):
        record_paid_before(None)


# --- accounts -------------------------------------------------------------------------------------------


def account_draft(**values):
    given = {
        "client": None,
        "contact": None,
        "bsb": "733-100",
        "account_number": "222222",
        "account_name": "Harbour Lights",
        **values,
    }
    return AccountDraft(given, given=given)


def test_a_new_account_takes_the_place_of_the_one_before():
    provider = a_client()
    before = an_account(provider)
    (key,) = create_bank_accounts([account_draft(client=provider)])
    account = BankAccount.objects.get(pk=key)
    assert not account.is_confirmed
    assert list(BankAccount.objects.filter(client=provider, archive_date=None)) == [account]
    before.refresh_from_db()
    assert before.is_archived


def test_a_new_account_leaves_those_of_others_as_they_are():
    others = [an_account(owner).pk for owner in (a_client(), a_contact(), a_contact())]
    create_bank_accounts([account_draft(client=a_client()), account_draft(contact=a_contact())])
    assert BankAccount.objects.filter(pk__in=others, archive_date=None).count() == 3


def test_the_history_never_tells_an_account():
    provider = a_client()
    (key,) = create_bank_accounts([account_draft(client=provider)])
    texts = "".join(str(each.differences) for each in Change.objects.filter(record_key=str(key)))
    assert not any(secret in texts for secret in ("733-100", "222222", "Harbour"))
    assert "222222" not in str(BankAccount.objects.get(pk=key))


def test_another_person_confirms_an_account_and_says_how():
    entered_by = a_confirmer()
    account = an_account(a_client(), confirmed=False, entered_by=entered_by)
    for staff, how, sentence in (
        (entered_by, "Rang Jo on the old number", "You entered it yourself"),
        (a_staff_member(), "Rang Jo on the old number", "lacks the permission"),
        (a_confirmer(), " ?", "Say with whom"),
        (a_confirmer(), "x" * 401, "in 400 characters"),
    ):
        with pytest.raises(Refusal, match=sentence):
            confirm_account(account.pk, staff, how)
    confirmer = a_confirmer()
    confirmed = confirm_account(account.pk, confirmer, "Rang Jo on the old number")
    assert (confirmed.is_confirmed, confirmed.confirmed_by) == (True, confirmer)
    with pytest.raises(Refusal, match="confirmed already"):
        confirm_account(account.pk, a_confirmer(), "Rang Jo on the old number")


def test_a_payee_with_another_account_than_was_paid_last_is_marked():
    run, claim = a_released_run()
    assert run.items.get().account.client == claim.provider
    a_paid_claim(provider=claim.provider)
    assert [each.is_changed for each in load_ready()] == [False]
    (key,) = create_bank_accounts([account_draft(client=claim.provider)])
    assert [each.is_changed for each in load_ready()] == [True]
    assert PaymentRun.objects.count() == 1
    # A run that was withdrawn paid nothing to it.
    confirm_account(key, a_confirmer(), "Rang Jo on the old number")
    withdraw_run(create_run(None, clock.today(), None).pk)
    assert [each.is_changed for each in load_ready()] == [True]
    release_run(create_run(None, clock.today(), None).pk, a_releaser())
    a_paid_claim(provider=claim.provider)
    assert [each.is_changed for each in load_ready()] == [False]


def test_what_runs_had_before_it_was_kept_is_filled_in():
    run, claim = a_released_run()
    other = a_paid_claim("7.00", provider=claim.provider)
    withdraw_run(create_run([other.pk], clock.today(), a_staff_member()).pk)
    Claim.objects.update(paid_out=0)
    migration = import_module("apps.payments.migrations.0004_paid_out")
    migration.keep_paid_out(apps, SimpleNamespace(connection=connection))
    assert dict(Claim.objects.values_list("pk", "paid_out")) == {claim.pk: run.total, other.pk: 0}


def test_of_a_claim_that_was_resubmitted_in_full_only_what_was_paid_of_it_is_ready():
    provider = a_client()
    original = a_paid_claim("0.30", "0.10", provider=provider)
    new = a_paid_claim("0.30", provider=provider, resubmission_of=original, paid_earlier=Decimal("0.10"))
    (payee,) = load_ready()
    assert {each.claim.pk: each.amount for each in payee.claims} == {
        original.pk: Decimal("0.10"),
        new.pk: Decimal("0.20"),
    }
    payment_settings()
    an_account(provider)
    create_run(None, clock.today(), None)
    assert load_ready() == []
    Claim.objects.filter(pk=new.pk).update(amount_paid="0.20")
    (payee,) = load_ready()
    assert [(each.claim.pk, each.amount) for each in payee.owed] == [(new.pk, Decimal("-0.10"))]


def test_a_new_claim_that_resubmits_one_has_nothing_paid_out():
    payment_settings()
    claim = a_paid_claim("20.00", "5.00")
    an_account(claim.provider)
    create_run(None, clock.today(), None)
    made = apply_transition(Claim, [claim.pk], TransitionName.RESUBMIT_GAP).resubmissions
    assert Claim.objects.get(pk=claim.pk).paid_out == Decimal("5.00")
    assert Claim.objects.get(pk=made[claim.pk]).paid_out == 0
