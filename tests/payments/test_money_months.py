"""Random months from approved claims to the second payment run: every cent is somewhere, after each step."""

import os
import random

import pytest

from tests.funding.claimable import save_settings
from tests.payments.builders import payment_settings
from tests.payments.money_months import Office

pytestmark = pytest.mark.django_db

#: How many months each office has; `MONEY_MONTHS` asks for more.
MONTHS = int(os.environ.get("MONEY_MONTHS", "2"))


@pytest.mark.parametrize("seed", [1, 2])  # with a payment for each claim, and for each payee
def test_after_each_step_of_the_months_every_cent_is_somewhere(at, tmp_path, seed):
    at("2026-01-02 09:00")
    save_settings()
    payment_settings(payments_per_file=3, pays_each_claim=bool(seed % 2))
    office = Office(random.Random(seed), at, tmp_path)
    for number in range(MONTHS):
        office.month(2026 + number // 12, 1 + number % 12)
    assert office.done["approve"] == MONTHS
    assert {name for name, count in office.done.items() if count} >= {"results", "paid", "returns"}
