"""Files of returned payments that come twice, in part or late; and who owes what was paid out too much."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.base import clock
from apps.funding.models import Claim
from apps.funding.services.invariants import find_money_faults
from apps.funding.services.transitions import apply_transition
from apps.payments.file_formats.bank_returns import read_returns
from apps.payments.models import BankAccount, PaymentRunItem
from apps.payments.services.accounts import confirm_account
from apps.payments.services.invariants import find_payment_faults
from apps.payments.services.ready import load_ready
from apps.payments.services.returns import apply_returns, mark_returned, return_sentences
from apps.payments.services.runs import create_run, release_run
from apps.people.merging import merge
from apps.people.models import Contact
from tests.payments.bank_returns import returns_of
from tests.payments.builders import (
    a_claimed_claim,
    a_confirmer,
    a_paid_claim,
    a_releaser,
    agency_pays,
    an_account,
    owed_amount,
    payment_settings,
)
from tests.people.records import a_client, a_contact, a_staff_member

pytestmark = pytest.mark.django_db

TODAY = dt.date(2026, 7, 15)


@pytest.fixture
def provider():
    payment_settings(pays_each_claim=True)
    provider = a_client()
    an_account(provider)
    return provider


@pytest.fixture
def today(provider, at):
    at(f"{TODAY} 12:00")


def a_run(day=TODAY):
    return release_run(create_run(None, day, None).pk, a_releaser())


def again(run, day):
    """The bank's file of a run: its payments came back, and the claims are paid again."""
    file = read_returns(returns_of(run, day=run.day))
    assert len(apply_returns(file, None).returned) == run.items.count()
    for account in BankAccount.objects.filter(confirmed_at=None):
        confirm_account(account.pk, a_confirmer(), "Rang them on the old number")
    return file, a_run(day)


def came_back():
    return set(PaymentRunItem.objects.exclude(returned_at=None).values_list("run__number", "position"))


@pytest.mark.parametrize("days", [0, 2])
def test_the_file_of_the_first_time_does_not_bring_the_second_payment_back(today, provider, days):
    """Else the claim would be paid a third time."""
    a_paid_claim("20.00", provider=provider, provider_invoice_reference="INV-1")
    first = a_run()
    file, second = again(first, TODAY + dt.timedelta(days=days))
    report = apply_returns(file, None)
    assert (report.returned, report.already, came_back()) == ([], file, {(first.number, 1)})
    # Of the same day the file does not tell which of the two it means.
    assert bool(list(return_sentences(report))) is (days == 0)
    assert load_ready() == []
    if days:
        assert len(apply_returns(read_returns(returns_of(second, day=second.day)), None).returned) == 1
        assert came_back() == {(first.number, 1), (second.number, 1)}


def test_half_a_file_twice_brings_one_of_two_equal_payments_back(today, provider):
    for _ in range(2):
        a_paid_claim("20.00", provider=provider, provider_invoice_reference="INV-1")
    run = a_run()
    whole = read_returns(returns_of(run, day=run.day))
    found = [apply_returns(rows, None) for rows in (whole[:1], whole[:1], whole, whole)]
    assert [len(each.returned) for each in found] == [1, 0, 1, 0]
    assert [len(each.doubtful) for each in found] == [0, 1, 0, 0]
    assert "If this one came back as well, mark it" in next(return_sentences(found[1]))


def test_a_row_is_doubtful_about_one_payment_of_several(today, provider):
    for _ in range(3):
        a_paid_claim("20.00", provider=provider, provider_invoice_reference="INV-1")
    run = a_run()
    one = read_returns(returns_of(run, day=run.day))[:1]
    assert [len(apply_returns(one, None).doubtful) for _ in range(2)] == [0, 1]


def test_of_equal_payments_on_the_same_day_of_two_months_the_latest_comes_back(today, provider):
    for months in range(2):
        a_paid_claim("20.00", provider=provider, provider_invoice_reference="INV-1")
        run = a_run(TODAY + dt.timedelta(days=31 * months))
    apply_returns(read_returns(returns_of(run, day=run.day)), None)
    assert came_back() == {(run.number, 1)}


def test_a_file_without_days_is_read(today, provider):
    a_paid_claim("20.00", provider=provider)
    run = a_run()
    (row,) = read_returns(returns_of(run).replace(b"24301500", b"        "))
    assert row.day is None
    assert len(apply_returns([row], None).returned) == 1


def owed():
    return {str(payee.record): owed_amount(payee) for payee in load_ready() if payee.owed}


def test_whoever_was_paid_owes_what_the_agency_took_back(provider):
    """Another representative got nothing, so that nothing can be set off against what they get."""
    before, after = (a_contact(first_name=name, last_name="Doe") for name in ("Before", "After"))
    an_account(before)
    participant = a_contact(representative=before)
    claim = a_paid_claim("20.00", contact=participant, send_payment_to="ClientRepresentative")
    a_run(clock.today())
    Contact.objects.filter(pk=participant.pk).update(representative=after)
    Claim.objects.filter(pk=claim.pk).update(amount_paid=5)
    assert owed() == {"Before Doe": 15}
    one = a_contact(first_name="Merged", last_name="Doe")
    merge(one, before)
    assert owed() == {"Merged Doe": 15}


def test_of_several_who_were_paid_the_last_whose_payment_did_not_come_back_owes(provider):
    before, after = (a_contact(first_name=name, last_name="Doe") for name in ("Before", "After"))
    an_account(before), an_account(after)
    participant = a_contact(representative=before)
    claim = a_paid_claim("20.00", "5.00", contact=participant, send_payment_to="ClientRepresentative")
    a_run(clock.today())
    Contact.objects.filter(pk=participant.pk).update(representative=after)
    Claim.objects.filter(pk=claim.pk).update(amount_paid=20)
    second = a_run(clock.today())
    Claim.objects.filter(pk=claim.pk).update(amount_paid=1)
    assert owed() == {"After Doe": 19}
    mark_returned(second.items.get().pk, "Account closed", None)
    assert owed() == {"Before Doe": 4}


def test_a_payment_comes_back_whose_payee_was_erased(provider):
    """An erasure takes the account off the payment."""
    a_paid_claim("20.00", provider=provider)
    run = a_run(clock.today())
    run.items.update(account=None)
    returned = mark_returned(run.items.get().pk, "Account closed", None)
    assert returned.return_reason == "Account closed"
    assert returned.claims.get().returned


def test_what_is_set_off_is_never_paid(provider):
    """A claim that was owed on the page, and of which the agency paid more before it was sent."""
    other = a_client()
    an_account(other)
    chosen = a_paid_claim("20.00", provider=provider)
    not_chosen = a_paid_claim("30.00", provider=other)
    run = create_run([chosen.pk], clock.today(), None, set_off=[not_chosen.pk])
    assert [item.client for item in run.items.all()] == [provider]
    assert run.total == 20


def test_a_payment_that_returns_months_after_it_was_set_off_is_ready_again_and_nothing_twice(at):
    at("2026-02-27 10:00")
    payment_settings()
    provider, maker = a_client(), a_staff_member()
    account = an_account(provider)
    claim, later = (
        agency_pays(a_claimed_claim(amount, provider=provider)) for amount in ("100.00", "150.00")
    )
    first = release_run(create_run([claim.pk], clock.today(), maker).pk, a_releaser())
    for name in ("ask-to-cancel", "confirm-cancellation", "archive"):
        assert apply_transition(Claim, [claim.pk], name, reason="Given twice").done
    second = release_run(create_run(None, clock.today(), maker, [claim.pk]).pk, a_releaser())
    assert (second.total, load_ready()) == (Decimal("50.00"), [])

    at("2026-08-31 10:00")
    provider.archive_date = clock.now()
    provider.save()
    assert apply_returns(read_returns(returns_of(first, day=first.day)), maker).returned
    assert [(each.amount, owed_amount(each)) for each in load_ready()] == [(Decimal("100.00"), 0)]
    confirm_account(account.pk, a_confirmer(), "Rang them on the number that was known")
    assert apply_returns(read_returns(returns_of(second, day=second.day)), maker).returned
    assert [(each.amount, owed_amount(each)) for each in load_ready()] == [(later.total, 0)]
    assert [*find_payment_faults(), *find_money_faults()] == []
