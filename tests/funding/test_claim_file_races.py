"""Who makes, sends or withdraws files of the same bills at the same moment.

Each was seen to fail with the locks of ``create_claim_files`` or ``load_unsent`` taken out.
"""

import time
from collections import Counter
from functools import partial

import pytest
from django.db import transaction

from apps.base.errors import Refusal
from apps.funding.models import Claim, ClaimFile, ClaimFileLine, StatusMove
from apps.funding.services.claim_files import create_claim_files, mark_sent, withdraw
from apps.funding.services.transitions import apply_transition
from tests.funding.claimable import TODAY, a_claimable_claim, a_claimable_invoice, save_settings
from tests.races import ROUNDS, call_at_once

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture(autouse=True)
def march(at, transactional_db, monkeypatch):
    """Nobody tries again who was in another's way: the locks alone keep them apart."""
    at(TODAY)
    save_settings()
    monkeypatch.setattr("apps.base.retries.ATTEMPTS", 1)


def lingering(call):
    """A call whose transaction stays open for a while, so that the other one comes in between."""

    def run():
        try:
            with transaction.atomic():
                done = call()
                time.sleep(0.02)
        except Refusal as refusal:
            return str(refusal)
        return done

    return run


@pytest.mark.parametrize("number", range(ROUNDS))
def test_two_people_who_make_a_file_of_the_same_bills_claim_each_line_once(number):
    for _ in range(5):
        a_claimable_claim(2)
        a_claimable_invoice()
    results = call_at_once(*[lingering(create_claim_files)] * 3)
    assert sorted(len(files) for files in results) == [0, 0, 1]
    assert ClaimFileLine.objects.count() == 15
    assert max(Counter(ClaimFileLine.objects.values_list("claim_line", "invoice_line")).values()) == 1
    assert StatusMove.objects.count() == 10


def test_a_file_and_somebody_who_claims_by_hand_claim_a_bill_once():
    for _ in range(ROUNDS):
        claim = a_claimable_claim()
        files, result = call_at_once(
            lingering(create_claim_files),
            lingering(partial(apply_transition, Claim, [claim.pk], "claim")),
        )
        assert (len(files), len(result.done)) in ((1, 0), (0, 1))
        assert StatusMove.objects.filter(claim=claim).count() == 1


def test_a_file_is_sent_or_withdrawn():
    for _ in range(ROUNDS):
        claim = a_claimable_claim()
        [file] = create_claim_files()
        results = call_at_once(*(lingering(partial(each, file.pk)) for each in (mark_sent, withdraw)))
        assert sum(isinstance(result, ClaimFile) for result in results) == 1
        file, claim = ClaimFile.objects.get(pk=file.pk), Claim.objects.get(pk=claim.pk)
        assert (file.status, claim.funding_status) in (("Sent", "AgencyClaimed"), ("Withdrawn", "Approved"))
        Claim.objects.filter(pk=claim.pk).update(funding_status="AgencyClaimed")


def test_files_of_different_days_have_different_numbers():
    """Made at once, of other bills each."""
    early, late = a_claimable_claim(), a_claimable_claim(end_date="2026-02-20")
    results = call_at_once(
        lingering(lambda: create_claim_files(early.end_date)), lingering(create_claim_files)
    )
    files = [file for files in results for file in files]
    assert len({file.number for file in files}) == len(files)
    assert set(ClaimFileLine.objects.values_list("claim", flat=True)) == {early.pk, late.pk}
    assert ClaimFileLine.objects.count() == 2
