"""Results: what the agency accepts waits for money, what it refuses says why, and what to do about it."""

from decimal import Decimal

import pytest

from apps.core import history
from apps.core.models import Subscriber
from apps.funding.file_formats.results import read_results
from apps.funding.models import Claim, ClaimResult, StatusMove
from apps.funding.rejection_codes import REJECTION_CODES, next_step
from apps.funding.services.claim_results import import_results
from apps.funding.services.effects import recount_budgets
from apps.funding.services.invariants import find_money_faults
from apps.funding.services.transitions import apply_transition
from tests.engagements.builders import a_booking
from tests.funding.answer_files import a_result, as_csv
from tests.funding.builders import a_claim, an_invoice
from tests.funding.claim_files import claimed_lines
from tests.people.records import a_staff_member

pytestmark = pytest.mark.django_db

CLAIMED = {"funding_status": "AgencyClaimed"}


@pytest.fixture
def told(tmp_path):
    """told(rows): the report of importing a file of these rows."""

    def run(*rows, name="results.csv", dry_run=False):
        _, found = read_results(as_csv(tmp_path / name, rows))
        report = import_results(found, name, dry_run)
        assert list(find_money_faults()) == []
        assert recount_budgets() == (0, 0, 0)
        return report

    return run


def counts(report):
    return {word: count for word, count in report.counts.items() if count}


def everything():
    claims = list(Claim.objects.order_by("pk").values())
    return [claims, list(ClaimResult.objects.order_by("pk").values()), StatusMove.objects.count()]


def status(bill):
    bill.refresh_from_db()
    return bill.funding_status


def test_a_line_that_is_accepted_waits_for_its_money(told):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    assert counts(told(a_result(line.reference.lower(), amount="140.00"))) == {"accepted": 1}
    assert status(claim) == "AgencyClaimed"
    result = ClaimResult.objects.get(file_line=line)
    assert (result.is_accepted, result.amount, result.file_name) == (True, Decimal("140.00"), "results.csv")
    assert not StatusMove.objects.exists()


def test_the_end_of_a_file_name_longer_than_its_column_is_kept(tmp_path):
    (line,) = claimed_lines(a_claim(**CLAIMED))
    _, found = read_results(as_csv(tmp_path / "results.csv", [a_result(line.reference)]))
    name = "".join(f"{number}-" for number in range(100)) + ".csv"
    import_results(found, name)
    size = ClaimResult._meta.get_field("file_name").max_length
    assert ClaimResult.objects.get().file_name == name[-size:]


def test_a_line_may_be_accepted_without_an_amount(told):
    (line,) = claimed_lines(a_claim(**CLAIMED))
    report = told(a_result(line.reference))
    assert (counts(report), report.notes) == ({"accepted": 1}, [])
    assert ClaimResult.objects.get(file_line=line).amount is None


def test_a_claim_whose_lines_are_all_refused_is_refused_with_the_agency_s_texts(told):
    claim = a_claim([{"booking": a_booking()}, {}], **CLAIMED)
    recount_budgets()
    one, two = claimed_lines(claim)
    texts = ("C04 Quantity over approved", "Insufficient funds")
    report = told(a_result(one.reference, "ERROR", texts[0]), a_result(two.reference, "ERROR", texts[1]))
    assert counts(report) == {"refused": 2}
    assert status(claim) == "PaymentProviderRejected"
    assert claim.status_reason == " · ".join(texts)
    assert StatusMove.objects.get().reason == " · ".join(texts)
    assert [note.message for note in report.notes] == [
        f"{one.reference} of {claim}, 140.00: {texts[0]} – {REJECTION_CODES['C04']}",
        f"{two.reference} of {claim}, 140.00: {texts[1]}",
    ]


def test_each_claim_is_refused_with_texts_of_its_own(told, django_assert_max_num_queries):
    claims = [a_claim(**CLAIMED) for _ in range(30)]
    lines = claimed_lines(*claims, an_invoice(**CLAIMED))
    rows = [a_result(line.reference, "ERROR", f"{at}.00 is left") for at, line in enumerate(lines)]
    with django_assert_max_num_queries(70):
        told(*rows)
    reasons = dict(Claim.objects.values_list("pk", "status_reason"))
    assert [reasons[claim.pk] for claim in claims] == [f"{at}.00 is left" for at in range(30)]
    moves = dict(StatusMove.objects.exclude(claim=None).values_list("claim", "reason"))
    assert moves == reasons


def test_a_long_text_is_cut_where_a_reason_ends(told):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    told(a_result(line.reference, "ERROR", "x" * 1000))
    assert status(claim) == "PaymentProviderRejected"
    assert len(claim.status_reason) == 400
    assert ClaimResult.objects.get().text == "x" * 1000


def test_lines_of_a_file_that_was_withdrawn_wait_for_no_answer(told):
    claim = a_claim(**CLAIMED)
    claimed_lines(claim, is_withdrawn=True)
    (line,) = claimed_lines(claim)
    told(a_result(line.reference, "ERROR", "C04"))
    assert status(claim) == "PaymentProviderRejected"


def test_while_another_line_waits_the_claim_does(told):
    claim = a_claim(2, **CLAIMED)
    one, two = claimed_lines(claim)
    told(a_result(one.reference, "ERROR", "C04"))
    assert status(claim) == "AgencyClaimed"
    told(a_result(two.reference, "ERROR", "C04"), name="2.csv")
    assert status(claim) == "PaymentProviderRejected"


def test_a_line_under_review_that_is_cancelled_later_is_refused(told):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    told(a_result(line.reference, amount="140.00"))
    person = a_staff_member()
    with history.as_author(history.Author(staff_id=person.pk)):
        assert counts(told(a_result(line.reference, "CANCELLED"), name="later.csv")) == {"refused": 1}
    assert status(claim) == "PaymentProviderRejected"
    result = ClaimResult.objects.get()
    assert (result.is_accepted, result.text, result.file_name) == (False, "CANCELLED", "later.csv")
    assert result.staff == person


def test_a_second_time_nothing_changes(told):
    claims = [a_claim(**CLAIMED), a_claim(2, **CLAIMED), a_claim(funding_status="PaymentProviderCancelled")]
    lines = claimed_lines(*claims)
    rows = [
        a_result(lines[0].reference, "ERROR", "C04"),
        a_result(lines[1].reference, amount="140.00"),
        a_result(lines[2].reference, amount="126.00", capped="Y"),
        a_result(lines[3].reference),
        a_result("OTHER-1", "ERROR", "C01"),
    ]
    first = told(*rows)
    expected = {"accepted": 2, "refused": 1, "unmatched": 1, "not_applicable": 1}
    assert counts(first) == expected
    before = everything()
    again = {"known_already": 3, "unmatched": 1, "not_applicable": 1}
    assert counts(told(*rows)) == again
    assert everything() == before
    assert first.notes[1].message == f"{lines[2].reference} of {claims[1]}: 126.00 of 140.00 will be paid."


def test_a_file_that_was_read_is_known_after_its_bills_were_cancelled_archived_and_resubmitted(told):
    cancelled, archived, again = (a_claim(**CLAIMED) for _ in range(3))
    lines = claimed_lines(cancelled, archived, again)
    rows = [
        a_result(lines[0].reference, amount="140.00"),
        *(a_result(each.reference, "ERROR", "C04") for each in lines[1:]),
    ]
    told(*rows)
    for claim, *names in ((cancelled, "ask-to-cancel", "confirm-cancellation"), (archived, "archive")):
        for name in names:
            assert apply_transition(Claim, [claim.pk], name, reason="Sent twice").done
    assert apply_transition(Claim, [again.pk], "resubmit").done
    before = everything()
    assert counts(told(*rows)) == {"known_already": 3}
    assert counts(told(a_result(lines[0].reference, "ERROR", "C04"))) == {"not_applicable": 1}
    assert everything() == before


def test_a_trial_reports_the_same_and_stores_nothing(told):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    before = everything()
    trial = told(a_result(line.reference, "ERROR", "C04"), dry_run=True)
    assert everything() == before
    real = told(a_result(line.reference, "ERROR", "C04"))
    assert (trial.summary(), trial.notes) == (real.summary(), real.notes)
    assert trial.summary()[1] == "Claims and invoices: 1 refused by the agency."


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        (("ERROR", "C04 Over"), ("SUCCESSFUL", ""), "accepted, but refused before (C04 Over)."),
        (
            ("SUCCESSFUL", "", "140"),
            ("SUCCESSFUL", "", "120"),
            "120.00 are promised now, 140.00 were before.",
        ),
    ],
)
def test_results_that_contradict_each_other_are_shown(told, first, second, sentence):
    claim = a_claim(2, **CLAIMED)
    one, _ = claimed_lines(claim)
    told(a_result(one.reference, *first))
    before = everything()
    report = told(a_result(one.reference, *second), name="2.csv")
    assert counts(report) == {"in_conflict": 1}
    assert [note.message for note in report.notes] == [f"{one.reference} of {claim}: {sentence}"]
    assert everything() == before


def test_an_amount_that_comes_later_says_that_it_is_capped(told):
    (line,) = claimed_lines(a_claim(**CLAIMED))
    told(a_result(line.reference))
    told(a_result(line.reference, amount="120.00", capped="Y"), name="2.csv")
    result = ClaimResult.objects.get()
    assert (result.amount, result.is_capped, result.file_name) == (Decimal("120.00"), True, "2.csv")


def test_an_unknown_status_is_shown_as_it_is(told):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    report = told(a_result(line.reference, "UNDER REVIEW"))
    assert counts(report) == {"not_applicable": 1}
    assert "“UNDER REVIEW” is neither accepted nor refused" in report.notes[0].message
    assert not ClaimResult.objects.exists()


@pytest.mark.parametrize("name", ["archived", "withdrawn"])
def test_a_result_of_what_waits_for_none_is_named(told, name):
    claim = a_claim(funding_status="PaymentProviderRejected" if name == "archived" else "AgencyClaimed")
    (line,) = claimed_lines(claim, is_withdrawn=name == "withdrawn")
    if name == "archived":
        apply_transition(Claim, [claim.pk], "archive")
    report = told(a_result(line.reference, "ERROR", "C04"))
    assert counts(report) == {"not_applicable": 1}
    assert name in report.notes[0].message
    assert not ClaimResult.objects.exists()


def test_a_refused_rest_within_the_tolerance_is_written_off(told):
    Subscriber.objects.update_or_create(pk=1, defaults={"remittance_tolerance": Decimal("0.05")})
    Subscriber.clear_cache()
    claim = a_claim([{}, {"quantity": "1", "price": "0.04"}], **CLAIMED)
    one, two = claimed_lines(claim)
    line = claim.line_items.get(position=0)
    apply_transition(Claim, [claim.pk], "pay-in-part", amounts={claim.pk: {line.pk: line.total}})
    assert one.amount == line.total
    told(a_result(two.reference, "ERROR", "C04"))
    assert status(claim) == "AgencyFullyPaid"


def test_codes_have_a_sentence_and_unknown_ones_none():
    assert set(REJECTION_CODES) == {*(f"C{number:02}" for number in range(1, 24)), "A01"}
    assert all(each.endswith(".") and ":" in each for each in REJECTION_CODES.values())
    assert (next_step(" c04 ", "", {}), next_step("V12", "", {})) == (REJECTION_CODES["C04"], "")


@pytest.mark.parametrize(
    ("code", "text", "step"),
    [
        ("C04", "", "Ours"),
        ("c04", "Over", "Ours"),
        ("", "The PLAN ended on Monday", "Ask for the plan"),
        ("V12", "The plan is over", "Ask for the new plan"),
        ("", "The planner is away", ""),
        ("C1", "", "One"),
        ("C10", "", REJECTION_CODES["C10"]),
        ("", "", ""),
    ],
)
def test_the_longest_beginning_of_the_organisations_sentences_counts(code, text, step):
    own = {"c04": "Ours", "c1": "One", "the plan": "Ask for the plan", "the plan is": "Ask for the new plan"}
    assert next_step(code, text, own) == step
