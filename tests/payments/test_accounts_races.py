"""Two people at the same moment: nothing is exported twice, nothing is lost."""

import pytest

from apps.base import clock
from apps.base.errors import Conflict, Refusal
from apps.payments.models import AccountsEntry, AccountsExport
from apps.payments.services.accounts_exports import create_accounts_export
from apps.payments.services.invariants import find_payment_faults
from apps.payments.services.runs import create_run, release_run
from tests.payments.builders import (
    a_claimed_claim,
    a_releaser,
    accounts_settings,
    agency_pays,
    an_account,
)
from tests.people.records import a_client
from tests.races import ROUNDS, call_at_once

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]


def attempt(call):
    """A call whose refusal is its result."""

    def run():
        try:
            return call()
        except (Refusal, Conflict) as refused:
            return refused

    return run


@pytest.fixture
def provider():
    accounts_settings()
    found = a_client()
    an_account(found)
    return found


def test_of_two_exports_at_once_one_has_everything(provider):
    for number in range(1, ROUNDS + 1):
        for _ in range(3):
            agency_pays(a_claimed_claim(provider=provider))
        results = call_at_once(*[attempt(lambda: create_accounts_export(clock.today()))] * 2)
        assert sum(isinstance(each, AccountsExport) for each in results) == 1
        assert AccountsExport.objects.count() == number
        assert AccountsEntry.objects.count() == 3 * number
    assert list(find_payment_faults()) == []


def test_an_export_while_a_run_is_released_and_the_agency_pays_has_all_of_it_or_the_next_one_has(provider):
    releaser = a_releaser()
    for number in range(1, ROUNDS + 1):
        agency_pays(a_claimed_claim(provider=provider))
        run = create_run(None, clock.today(), None)
        later = a_claimed_claim(provider=provider)
        call_at_once(
            attempt(lambda run=run: release_run(run.pk, releaser)),
            attempt(lambda later=later: agency_pays(later)),
            attempt(lambda: create_accounts_export(clock.today())),
        )
        attempt(lambda: create_accounts_export(clock.today()))()
        release_run(create_run(None, clock.today(), None).pk, releaser)
        attempt(lambda: create_accounts_export(clock.today()))()
        assert AccountsEntry.objects.count() == 4 * number
    assert list(find_payment_faults()) == []
