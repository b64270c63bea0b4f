"""Random days of an office that exports its accounts: each amount is booked once, and adds up to the cent."""

import random
from decimal import Decimal

import pytest

from apps.base import clock
from apps.base.errors import Refusal
from apps.base.money import ZERO
from apps.funding.choices import SendPaymentTo
from apps.funding.models import Claim, StatusMove
from apps.payments.models import AccountsEntry, AccountsExport, BankAccount, BankFile, PaymentRunItem
from apps.payments.services.accounts import confirm_account
from apps.payments.services.accounts_exports import create_accounts_export
from apps.payments.services.accounts_sources import load_sources
from apps.payments.services.invariants import find_payment_faults
from apps.payments.services.returns import mark_returned
from apps.payments.services.runs import create_run, release_run
from tests.payments.accounts_checker import check_myob_journal, check_xero_bills, check_xero_journals
from tests.payments.builders import (
    a_claimed_claim,
    a_confirmer,
    a_releaser,
    accounts_settings,
    agency_pays,
    agency_takes_back,
    an_account,
)
from tests.people.records import a_client

pytestmark = pytest.mark.django_db

STEPS = 30
CHECKS = {"XeroJournals": check_xero_journals, "XeroBills": check_xero_journals}
CHECKS |= {"MyobJournal": check_myob_journal}


class Office:
    """What can happen on a day, each by chance with one of the records that there are."""

    def __init__(self, chance, style):
        self.chance, self.style = chance, style
        self.settings = accounts_settings(style, gst_code=chance.choice(["", "2-2000"]))
        self.providers = [a_client() for _ in range(2)]
        for provider in self.providers:
            an_account(provider)
        self.confirmer, self.releaser = a_confirmer(), a_releaser()

    def agency_pays_something(self):
        to = self.chance.choice(list(SendPaymentTo)[::2])  # provider, plan manager, representative
        to = to if to != SendPaymentTo.CLIENT_REPRESENTATIVE else SendPaymentTo.PROVIDER
        tax = self.chance.choice([None, "GstOnIncome", "GstFreeIncome", "BasExcluded"])
        amount = self.chance.choice(["0.05", "20.00", "99.95"])
        provider = self.chance.choice(self.providers)
        claim = a_claimed_claim(amount, tax, provider=provider, send_payment_to=to.value)
        agency_pays(claim, self.chance.choice([None, "0.02"]))

    def agency_takes_something_back(self):
        claim = self.any_of(Claim.objects.filter(amount_paid__gt=0))
        agency_takes_back(claim, self.chance.choice(["0.01", str(claim.amount_paid)]))

    def office_pays(self):
        release_run(create_run(None, clock.today(), None).pk, self.releaser)

    def payment_comes_back(self):
        mark_returned(self.any_of(PaymentRunItem.objects.filter(returned_at=None)).pk, "closed", None)
        for account in BankAccount.objects.filter(confirmed_at=None):
            confirm_account(account.pk, self.confirmer, "Rang them on the old number")

    def accounts_are_exported(self):
        create_accounts_export(clock.today())

    def any_of(self, records):
        found = list(records.order_by("pk"))
        if not found:
            raise Refusal("There is none yet.")
        return self.chance.choice(found)

    def check_books(self):
        """Of all that happened, what is not new is exported; the accounts have exactly that."""
        new = load_sources(self.settings.accounts_from, clock.today())
        booked = list(AccountsEntry.objects.all())
        money = StatusMove.objects.exclude(paid_lines=None)
        assert len(booked) + len(new) == (
            sum(bool(move.money_moved) for move in money)
            + PaymentRunItem.objects.count()
            + PaymentRunItem.objects.exclude(returned_at=None).count()
        )
        bank = sum(
            (each.amount if each.kind in ("Received", "Fee") else -each.amount)
            for each in booked
            if each.item_id is None
        )
        paid = sum(
            -each.amount if each.kind == "Returned" else each.amount for each in booked if each.item_id
        )
        found = {"bank": ZERO, "bills": ZERO}
        for export in AccountsExport.objects.all():
            for file in export.files.all():
                content = bytes(file.content)
                if file.is_bills:
                    found["bills"] += sum(total for _, _, total in check_xero_bills(content).values())
                    continue
                journals = CHECKS[self.style](content)
                found["bank"] += sum(sums[self.settings.bank_code] for sums in journals.values())
        if self.style == "XeroBills":
            assert found == {"bank": bank, "bills": paid}
        else:
            assert found == {"bank": bank - paid, "bills": ZERO}
        assert list(find_payment_faults()) == []


@pytest.mark.parametrize("style", CHECKS)
@pytest.mark.parametrize("seed", range(2))
def test_whatever_happens_each_amount_is_booked_once(seed, style):
    office = Office(random.Random(f"{seed}{style}"), style)
    steps = [
        *(office.agency_pays_something, office.agency_pays_something, office.agency_takes_something_back),
        *(office.office_pays, office.office_pays, office.payment_comes_back, office.accounts_are_exported),
    ]
    done = set()
    for _ in range(STEPS):
        step = office.chance.choice(steps)
        try:
            step()
            done.add(step.__name__)
        except Refusal:
            pass
    office.check_books()
    if load_sources(office.settings.accounts_from, clock.today()):
        office.accounts_are_exported()
    assert load_sources(office.settings.accounts_from, clock.today()) == []
    office.check_books()
    paid = AccountsEntry.objects.filter(kind="Paid").values_list("amount", flat=True)
    files = BankFile.objects.values_list("total", flat=True)
    assert sum(paid, Decimal(0)) == sum(files, Decimal(0))
    assert len(done) > 3
