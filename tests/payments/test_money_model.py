"""Random days of an office that pays: after each step what is paid out agrees with what the agency paid."""

import random
from collections import defaultdict

import pytest

from apps.base import clock
from apps.base.errors import Refusal
from apps.base.money import ZERO
from apps.funding.models import Claim
from apps.payments.choices import RunStatus
from apps.payments.file_formats.bank_file import total_of
from apps.payments.file_formats.bank_returns import read_returns
from apps.payments.models import BankAccount, PaymentRun, PaymentRunClaim, PaymentRunItem
from apps.payments.services.accounts import confirm_account
from apps.payments.services.ready import load_ready, sum_ready_payees
from apps.payments.services.returns import apply_returns, mark_returned
from apps.payments.services.runs import create_run, release_run, withdraw_run
from tests.payments.bank_file_checker import read_bank_file
from tests.payments.bank_returns import returns_of
from tests.payments.builders import a_confirmer, a_paid_claim, a_releaser, an_account, payment_settings
from tests.people.records import a_client, a_contact

pytestmark = pytest.mark.django_db

STEPS = 60


def check_invariants():
    """Of each claim, what stands in runs and is ready is what the agency paid; files are what runs are."""
    out = defaultdict(lambda: ZERO)
    for part in PaymentRunClaim.objects.filter(returned=False):
        out[part.claim_id] += part.amount
    payees = load_ready()
    paid = [payee for payee in payees if payee.claims]
    assert sum_ready_payees() == (len(paid), sum((payee.amount for payee in paid), ZERO))
    ready = {each.claim.pk: each.amount for payee in payees for each in (*payee.claims, *payee.owed)}
    for payee in payees:
        for each in payee.owed:
            parts = PaymentRunClaim.objects.filter(claim=each.claim, returned=False, amount__gt=0)
            last = parts.order_by("item__run__number").last()
            assert last is None or last.item.payee == payee.record
    for claim in Claim.objects.all():
        owed = max(-ready.get(claim.pk, ZERO), ZERO)
        assert out[claim.pk] == claim.paid_out
        assert out[claim.pk] == claim.amount_paid - claim.paid_earlier - ready.get(claim.pk, ZERO)
        assert ZERO <= out[claim.pk] <= claim.amount_paid + owed
    for run in PaymentRun.objects.prefetch_related("items", "bank_files"):
        assert sum(item.amount for item in run.items.all()) == run.total
        files = [bytes(file.content) for file in run.bank_files.all()]
        assert bool(files) is (run.status == RunStatus.RELEASED)
        if files:
            paid = [each.amount for file in files for each in read_bank_file(file)[0]]
            assert sum(paid) == sum(map(total_of, files)) == run.total


class Office:
    """What can happen on a day, each by chance with one of the records that there are."""

    def __init__(self, chance):
        self.chance = chance
        self.providers = [a_client() for _ in range(3)]
        for provider in self.providers:
            an_account(provider)
        self.representatives = [a_contact() for _ in range(2)]
        for representative in self.representatives:
            an_account(representative)
        self.participant = a_contact(representative=self.representatives[0])
        self.confirmer, self.releaser = a_confirmer(), a_releaser()
        #: Files of the bank that were read, with the payments that have come back by then.
        self.returns = []

    def agency_pays(self):
        total = self.chance.choice(["0.01", "20.00", "99.95"])
        paid = self.chance.choice([total, "0.01"])
        # Of one reference, so that payments are alike.
        payee = self.chance.choice(
            [
                {"provider": self.chance.choice(self.providers)},
                {"contact": self.participant, "send_payment_to": "ClientRepresentative"},
            ]
        )
        a_paid_claim(total, paid, provider_invoice_reference="INV-1", **payee)

    def participant_has_another_representative(self):
        self.participant.representative = self.chance.choice(self.representatives)
        self.participant.save()

    def agency_pays_the_rest_or_takes_back(self):
        claim = self.any_of(Claim.objects.all())
        amount = self.chance.choice([claim.total, claim.amount_paid / 2, 0])
        Claim.objects.filter(pk=claim.pk).update(amount_paid=round(amount, 2))

    def office_makes_a_run(self):
        owed = [each.claim.pk for payee in load_ready() for each in payee.owed]
        create_run(None, clock.today(), None, self.chance.sample(owed, self.chance.randint(0, len(owed))))

    def somebody_releases(self):
        release_run(self.any_of(PaymentRun.objects.all()).pk, self.releaser)

    def somebody_withdraws(self):
        withdraw_run(self.any_of(PaymentRun.objects.all()).pk)

    def payment_comes_back(self):
        mark_returned(self.any_of(PaymentRunItem.objects.all()).pk, "closed", None)

    def bank_sends_returns(self):
        """The file of a run, or the first half of it."""
        run = self.any_of(PaymentRun.objects.filter(status=RunStatus.RELEASED))
        rows = read_returns(returns_of(run, day=run.day))
        rows = rows[: self.chance.choice([1, len(rows)])]
        known = PaymentRunItem.objects.exclude(returned_at=None).count()
        report = apply_returns(rows, None)
        assert PaymentRunItem.objects.exclude(returned_at=None).count() == known + len(report.returned)
        self.returns.append(rows)

    def old_returns_are_read_again(self):
        for rows in self.returns:
            assert apply_returns(rows, None).returned == []

    def accounts_are_confirmed(self):
        for account in BankAccount.objects.filter(confirmed_at=None):
            confirm_account(account.pk, self.confirmer, "Rang them on the old number")

    def any_of(self, records):
        found = list(records.order_by("pk"))
        if not found:
            raise Refusal("There is none yet.")
        return self.chance.choice(found)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_nothing_is_paid_out_twice_or_lost(seed):
    chance = random.Random(seed)
    payment_settings(payments_per_file=2, pays_each_claim=bool(seed % 2))
    office = Office(chance)
    steps = [
        *(office.agency_pays, office.agency_pays_the_rest_or_takes_back, office.office_makes_a_run),
        *(office.somebody_releases, office.somebody_releases, office.somebody_withdraws),
        *(office.payment_comes_back, office.bank_sends_returns, office.old_returns_are_read_again),
        *(office.accounts_are_confirmed, office.participant_has_another_representative),
    ]
    done = set()
    for _ in range(STEPS):
        step = chance.choice(steps)
        try:
            step()
            done.add(step.__name__)
        except Refusal:
            pass
        check_invariants()
    assert len(done) > 4
