"""The gap of a claim in a file: what was refused or paid short for good, not what may still be paid."""

from decimal import Decimal

import pytest

from apps.funding.models import Claim, ClaimResult
from apps.funding.services.effects import recount_budgets
from apps.funding.services.invariants import find_money_faults
from apps.funding.services.transitions import apply_transition, explain_obstacle
from apps.funding.validation.transitions import TransitionName
from tests.engagements.builders import a_booking
from tests.funding.builders import a_claim
from tests.funding.claim_files import claimed_lines

pytestmark = pytest.mark.django_db

WAITING = "All that is open of it still waits for the agency: nothing was refused or paid short for good."


def a_paid_claim(*paid):
    """A claim of a line of 140.00 for each of these amounts, which the agency paid of them; and its file."""
    claim = a_claim([{"booking": a_booking()} for _ in paid], funding_status="AgencyClaimed")
    recount_budgets()
    lines = claim.line_items.order_by("position")
    amounts = {line.pk: Decimal(amount) for line, amount in zip(lines, paid, strict=True) if amount}
    apply_transition(Claim, [claim.pk], "pay-in-part", amounts={claim.pk: amounts})
    claim.refresh_from_db()
    return claim, claimed_lines(claim)


def gap_of(claim):
    """The totals of the lines of a new claim over the gap; why there is none."""
    result = apply_transition(Claim, [claim.pk], "resubmit-gap")
    assert list(find_money_faults()) == []
    assert recount_budgets() == (0, 0, 0)
    if result.refused:
        return result.refused[0].message
    new = Claim.objects.get(pk=result.resubmissions[claim.pk])
    return [str(line.total) for line in new.line_items.order_by("position")]


def told(file_line, is_accepted, amount=None):
    ClaimResult.objects.create(file_line=file_line, is_accepted=is_accepted, amount=amount, file_name="r.csv")


def test_the_gap_has_what_was_refused_and_what_was_paid_short_for_good():
    claim, (paid, refused, capped, unanswered, accepted) = a_paid_claim(140, 0, 100, 0, 0)
    told(paid, True, 140)
    told(refused, False)
    told(capped, True, 100)
    told(accepted, True, 140)
    assert unanswered.amount == 140
    assert gap_of(claim) == ["140.00", "40.00"]


def test_a_line_of_which_more_is_promised_still_waits():
    claim, (promised, refused) = a_paid_claim(100, 0)
    told(promised, True, 140)
    told(refused, False)
    assert gap_of(claim) == ["140.00"]


def test_a_line_that_is_paid_short_without_a_result_is_in_the_gap():
    claim, _ = a_paid_claim(100, 0)
    assert gap_of(claim) == ["40.00"]


def test_where_all_that_is_open_still_waits_there_is_no_gap():
    claim, (_, accepted) = a_paid_claim(140, 0)
    told(accepted, True, 140)
    assert explain_obstacle(claim, TransitionName.RESUBMIT_GAP) == WAITING
    assert gap_of(claim) == WAITING
    assert not Claim.objects.filter(resubmission_of=claim).exists()


def test_a_part_of_a_dollar_that_was_refused_is_a_gap():
    claim, (short, accepted) = a_paid_claim("139.50", 0)
    told(short, True, Decimal("139.50"))
    told(accepted, True, 140)
    assert gap_of(claim) == ["0.50"]


def test_what_was_taken_back_is_in_the_gap():
    claim, (paid, accepted) = a_paid_claim(140, 0)
    told(paid, True, 140)
    told(accepted, True, 140)
    line = claim.line_items.get(position=0)
    taken = {claim.pk: {line.pk: Decimal(60)}}
    apply_transition(Claim, [claim.pk], "take-back", amounts=taken, reason="Debt 1")
    claim.refresh_from_db()
    assert gap_of(claim) == ["60.00"]


def test_of_a_file_that_was_withdrawn_nothing_waits():
    claim = a_claim(2, funding_status="AgencyPartiallyPaid")
    claimed_lines(claim, is_withdrawn=True)
    assert gap_of(claim) == ["140.00", "140.00"]


def test_of_a_refused_claim_all_is_in_the_gap():
    claim = a_claim(2, funding_status="PaymentProviderRejected")
    claimed_lines(claim)
    assert gap_of(claim) == ["140.00", "140.00"]


def test_in_full_everything_is_resubmitted():
    claim, _ = a_paid_claim(100, 0)
    result = apply_transition(Claim, [claim.pk], "resubmit")
    assert Claim.objects.get(pk=result.resubmissions[claim.pk]).outstanding == Decimal("180.00")


def test_a_file_that_was_answered_is_not_withdrawn():
    claim = a_claim(funding_status="AgencyClaimed")
    (line,) = claimed_lines(claim)
    file = line.claim_file
    file.status = "NotSent"
    file.save()
    assert explain_obstacle(claim, TransitionName.TAKE_OUT_OF_FILE) is None
    told(line, True, 140)
    sentence = f"The agency has answered to its claim file {file}: mark that as sent."
    assert explain_obstacle(claim, TransitionName.TAKE_OUT_OF_FILE) == sentence
