"""The base of random walks through bills: their transaction, their number, and what holds of money.

``MONEY_WALKS=500`` walks as often, each time elsewhere.
"""

import os

from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, run_state_machine_as_test

from apps.funding.services.claim_sums import find_claim_sum_faults
from apps.funding.services.effects import recount_budgets, recount_claim_flags
from apps.funding.services.invariants import find_money_faults
from tests.funding.bodies import a_funder
from tests.people.builders import a_client

WALKS = int(os.environ.get("MONEY_WALKS", "0"))


class Office(RuleBasedStateMachine):
    """An office in a transaction that is taken back; ``keys`` has its bills, with their models."""

    def open(self):
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.staff, self.provider = a_funder(), a_client(BusinessNumber="51 824 753 556")
        self.keys = []

    def teardown(self):
        if hasattr(self, "transaction"):
            transaction.set_rollback(True)
            self.transaction.__exit__(None, None, None)

    def bill(self, number):
        model, key = self.keys[number % len(self.keys)]
        return model.objects.get(pk=key)

    @invariant()
    def money_is_right(self):
        if hasattr(self, "keys"):
            assert list(find_money_faults()) == []
            assert recount_budgets() == (0, 0, 0)
            assert recount_claim_flags() == 0
            assert list(find_claim_sum_faults()) == []


def walk(office, steps):
    """Six walks, the same in each run of the tests."""
    random = {"max_examples": WALKS} if WALKS else {"max_examples": 6, "derandomize": True}
    checks = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
    walks = settings(deadline=None, stateful_step_count=steps, suppress_health_check=checks, **random)
    run_state_machine_as_test(office, settings=walks)
