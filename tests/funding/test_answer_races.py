"""Answers of the agency that arrive at the same moment: nothing is paid twice, whoever is first."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.funding.file_formats.answer_files import sha256_of
from apps.funding.file_formats.remittances import read_remittance
from apps.funding.file_formats.results import read_results
from apps.funding.models import Claim, ClaimResult, Remittance, RemittanceLine, StatusMove
from apps.funding.services.answer_faults import find_answer_faults
from apps.funding.services.claim_results import import_results
from apps.funding.services.effects import recount_budgets
from apps.funding.services.invariants import find_money_faults
from apps.funding.services.remittances import import_remittance
from apps.funding.services.transitions import apply_transition
from tests.engagements.builders import a_booking
from tests.funding.answer_files import a_payment, a_result, as_csv
from tests.funding.builders import a_claim
from tests.funding.claim_files import claimed_lines
from tests.races import ROUNDS, call_at_once

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]

TODAY = dt.date(2026, 11, 24)


@pytest.fixture
def claims():
    bookings = [a_booking() for _ in range(4)]
    made = [
        a_claim([{"booking": each} for each in bookings], funding_status="AgencyClaimed") for _ in range(8)
    ]
    recount_budgets()
    return made


def remittance_of(path, rows):
    as_csv(path, rows)
    _, found = read_remittance(path, TODAY, "YYYYMMDD")
    return lambda: import_remittance(found, path.name, sha256_of(path))


def check(paid):
    assert sum(Claim.objects.values_list("amount_paid", flat=True)) == Decimal(paid)
    assert list(find_money_faults()) == []
    assert list(find_answer_faults()) == []
    assert recount_budgets() == (0, 0, 0)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_the_same_remittance_twice_at_once_pays_once(tmp_path, claims, number):
    lines = claimed_lines(*claims)
    rows = [a_payment(line.reference, "100.00", str(at)) for at, line in enumerate(lines)]
    run = remittance_of(tmp_path / "paid.csv", rows)
    reports = call_at_once(run, run)
    counts = sorted((each.counts["applied"], each.counts["applied_already"]) for each in reports)
    assert counts == [(0, 32), (32, 0)]
    assert (Remittance.objects.count(), RemittanceLine.objects.count()) == (1, 32)
    check("3200.00")


@pytest.mark.parametrize("number", range(ROUNDS))
def test_two_remittances_with_a_payment_in_common_pay_it_once(tmp_path, claims, number):
    lines = claimed_lines(*claims)
    rows = [a_payment(line.reference, "40.00", f"1{at}") for at, line in enumerate(lines)]
    more = [a_payment(line.reference, "100.00", f"2{at}") for at, line in enumerate(lines)]
    one = remittance_of(tmp_path / "one.csv", [*rows, *more[:16]])
    two = remittance_of(tmp_path / "two.csv", [*more, *rows[::-1]][::-1])
    call_at_once(one, two)
    assert set(Claim.objects.values_list("funding_status", flat=True)) == {"AgencyFullyPaid"}
    assert RemittanceLine.objects.filter(is_applied=True).count() == 64
    check("4480.00")


@pytest.mark.parametrize("number", range(ROUNDS))
def test_results_and_their_remittance_at_once_end_as_one_after_the_other(tmp_path, claims, number):
    lines = claimed_lines(*claims)
    refused, paid = lines[:6], lines[6:]
    path = as_csv(
        tmp_path / "results.csv",
        [a_result(line.reference, "ERROR", "C04") for line in refused]
        + [a_result(line.reference, amount="140.00") for line in paid],
    )
    _, found = read_results(path)
    rows = [a_payment(line.reference, "140.00", str(at)) for at, line in enumerate(paid)]
    call_at_once(lambda: import_results(found, path.name), remittance_of(tmp_path / "paid.csv", rows[::-1]))
    statuses = dict(Claim.objects.values_list("pk", "funding_status"))
    assert [statuses[claim.pk] for claim in claims] == [
        "PaymentProviderRejected",
        "AgencyPartiallyPaid",
        *["AgencyFullyPaid"] * 6,
    ]
    assert ClaimResult.objects.count() == 32
    check(26 * 140)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_payment_by_hand_and_a_remittance_at_once_pay_once(tmp_path, claims, number):
    lines = claimed_lines(*claims)
    rows = [a_payment(line.reference, "140.00", str(at)) for at, line in enumerate(lines)]
    keys = [claim.pk for claim in claims]
    report, by_hand = call_at_once(
        remittance_of(tmp_path / "paid.csv", rows), lambda: apply_transition(Claim, keys, "pay")
    )
    assert (report.counts["applied"], len(by_hand.done)) in ((32, 0), (0, 8))
    assert StatusMove.objects.count() == 8
    check("4480.00")
