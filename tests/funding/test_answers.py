"""Results and remittances in any order, twice and half: the end is the same, and no cent is lost."""

import datetime as dt
import os
from itertools import permutations
from random import Random

import pytest
from django.db import transaction

from apps.base.money import ZERO
from apps.core.file_import_kinds import import_kinds
from apps.engagements.models import ServiceBooking
from apps.funding.file_formats.answer_files import sha256_of
from apps.funding.file_formats.remittances import read_remittance
from apps.funding.file_formats.results import read_results
from apps.funding.models import (
    Claim,
    ClaimFileLine,
    ClaimLine,
    ClaimResult,
    Invoice,
    InvoiceLine,
    RemittanceLine,
    StatusMove,
)
from apps.funding.services.claim_results import import_results
from apps.funding.services.effects import recount_budgets
from apps.funding.services.invariants import find_money_faults
from apps.funding.services.remittances import import_remittance
from tests.engagements.builders import a_booking
from tests.funding.agency import Agency
from tests.funding.builders import a_claim, an_invoice
from tests.funding.claim_files import claimed_lines

pytestmark = pytest.mark.django_db

TODAY = dt.date(2026, 11, 24)
#: Walks of the test; ``ANSWER_WALKS`` asks for more.
SEEDS = range(1, 1 + int(os.environ.get("ANSWER_WALKS", "4")))


@pytest.fixture(autouse=True)
def today(at):
    at("2026-11-24 12:00")


def claimed_bills(random):
    """A file of claims and an invoice of one to four lines of any amounts."""
    bookings = [a_booking() for _ in range(2)]
    bills = []
    for number in range(10):
        lines = [
            {
                "booking": random.choice(bookings),
                "quantity": "1",
                "price": f"{random.randint(1, 30_000) / 100:.2f}",
            }
            for _ in range(random.randint(1, 4))
        ]
        make = an_invoice if number == 9 else a_claim
        bills.append(make(lines, funding_status="AgencyClaimed"))
    recount_budgets()
    return bills, claimed_lines(*bills)


def read_answers(files):
    """The imports of files, by name: each gives its report and the number of its rows."""

    def importer(name, path):
        if name == "results":
            _, rows = read_results(path)
            return lambda: (import_results(rows, path.name), len(rows))
        _, rows = read_remittance(path, TODAY)
        return lambda: (import_remittance(rows, path.name, sha256_of(path)), len(rows))

    return {name: importer(name, path) for name, path in files.items()}


def import_twice(run):
    """Import a file twice, since the second time must change nothing."""
    report, row_count = run()
    before = snapshot(all_of_it=True)
    run()
    assert snapshot(all_of_it=True) == before
    assert sum(tally.count for tally in report.tallies.values()) == row_count
    assert list(find_money_faults()) == []
    assert recount_budgets() == (0, 0, 0)


def snapshot(all_of_it=False):
    """What is known of bills, lines and budgets; with all of it, also how it came to that."""
    found = [
        sorted(model.objects.values_list("pk", "funding_status", "amount_paid")) for model in (Claim, Invoice)
    ]
    found += [sorted(model.objects.values_list("pk", "amount_paid")) for model in (ClaimLine, InvoiceLine)]
    found.append(sorted(ServiceBooking.objects.values_list("pk", "claimed", "paid", "waiting")))
    if all_of_it:
        found.append(sorted(RemittanceLine.objects.values_list("pk", "is_applied", "reason", "remittance")))
        found.append(sorted(ClaimResult.objects.values_list("pk", "is_accepted", "text", "at")))
        found.append(StatusMove.objects.count())
    return found


def reset(bills):
    """The records as they were before the first answer."""
    RemittanceLine.objects.all().delete()
    ClaimResult.objects.all().delete()
    for bill in bills:
        type(bill).objects.filter(pk=bill.pk).update(
            funding_status="AgencyClaimed", amount_paid=0, payment_date=None, status_reason=None
        )
        bill.line_items.update(amount_paid=0)
    StatusMove.objects.all().delete()
    recount_budgets()


def check_sums(file_lines, agency, answered):
    """Each line is what the agency decided about it, as far as it was told: to the cent."""
    lines = ClaimFileLine.objects.filter(pk__in=[each.pk for each in file_lines]).select_related("result")
    for line in lines.prefetch_related("payments"):
        paid = sum((each.amount for each in line.payments.all() if each.is_applied), ZERO)
        result = getattr(line, "result", None)
        refused = line.amount if result is not None and not result.is_accepted else ZERO
        assert line.amount >= paid + refused
        if answered:
            assert paid == agency.paid.get(line.reference, ZERO)
            assert bool(refused) == (line.reference in agency.refused)


@pytest.mark.parametrize("seed", SEEDS)
def test_in_whatever_order_the_answers_come_the_end_is_the_same(tmp_path, seed):
    """Files of either form of dates, plain and odd."""
    random, odd = Random(seed), seed % 4 in (2, 3)
    bills, file_lines = claimed_bills(random)
    agency = Agency(random, "%d%m%Y" if seed % 2 else "%Y%m%d").answer(file_lines)
    imports = read_answers(agency.write(tmp_path / "answers", odd))
    orders = list(permutations(sorted(imports)))
    ends = []
    for order in [orders[0], orders[-1], *random.sample(orders, 2)]:
        reset(bills)
        for number, name in enumerate(order, start=1):
            import_twice(imports[name])
            check_sums(file_lines, agency, answered=number == len(order))
        ends.append(snapshot())
    assert all(end == ends[0] for end in ends)
    check_end(bills, agency)


def test_results_and_three_remittances_come_in_all_orders(tmp_path):
    """After each beginning all that may follow, so that 24 orders take 64 imports."""
    random = Random(11)
    bills, file_lines = claimed_bills(random)
    agency = Agency(random).answer(file_lines)
    imports = read_answers(agency.write(tmp_path / "answers"))
    assert sorted(imports) == ["paid0", "paid1", "paid2", "results"]
    ends = []

    def follow(left):
        for name in left:
            with transaction.atomic():
                imports[name]()
                follow([each for each in left if each != name])
                transaction.set_rollback(True)
        if not left:
            ends.append(snapshot())
            if len(ends) == 1:
                check_end(bills, agency)

    follow(sorted(imports))
    assert len(ends) == 24
    assert all(end == ends[0] for end in ends)


def check_end(bills, agency):
    """The status of each bill follows from what the agency decided about its lines."""
    for bill in bills:
        bill.refresh_from_db()
        lines = list(bill.file_lines.all())
        paid = sum((agency.paid.get(line.reference, ZERO) for line in lines), ZERO)
        if paid:
            expected = "AgencyFullyPaid" if paid == bill.total else "AgencyPartiallyPaid"
        else:
            is_refused = all(line.reference in agency.refused for line in lines)
            expected = "PaymentProviderRejected" if is_refused else "AgencyClaimed"
        assert (bill.funding_status, bill.amount_paid) == (expected, paid)


def test_half_of_a_remittance_and_then_all_of_it_pays_the_rest(tmp_path):
    random = Random(3)
    bills, file_lines = claimed_bills(random)
    agency = Agency(random).answer(file_lines)
    imports = read_answers(agency.write(tmp_path / "answers"))
    del agency.remittances[0][::2]
    half = read_answers(agency.write(tmp_path / "half"))
    for run in (half["paid0"], *imports.values()):
        import_twice(run)
    check_end(bills, agency)


def test_both_kinds_of_answers_are_imported_in_the_back_office():
    kinds = {kind.name: kind.title for kind in import_kinds()}
    assert kinds["results"] == "Results of the agency"
    assert kinds["remittances"] == "Remittances of the agency"
