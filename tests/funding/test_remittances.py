"""Remittances: what the agency paid is recorded once, line by line, and what is not certain is shown."""

import datetime as dt
from decimal import Decimal
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from apps.base import clock
from apps.core.models import Change, Subscriber
from apps.funding.file_formats.answer_files import sha256_of
from apps.funding.file_formats.remittances import read_remittance
from apps.funding.models import Claim, ClaimLine, ClaimResult, Remittance, RemittanceLine, StatusMove
from apps.funding.services import transitions
from apps.funding.services.answer_faults import find_answer_faults
from apps.funding.services.effects import recount_budgets
from apps.funding.services.invariants import find_money_faults
from apps.funding.services.remittances import import_remittance
from apps.funding.services.transitions import apply_transition, explain_obstacle
from apps.funding.validation.transitions import TransitionName
from tests.engagements.builders import a_booking, amounts, sums
from tests.funding.answer_files import a_payment, as_csv
from tests.funding.builders import a_claim, an_invoice
from tests.funding.claim_files import claimed_lines

pytestmark = pytest.mark.django_db

CLAIMED = {"funding_status": "AgencyClaimed"}


@pytest.fixture(autouse=True)
def today(at):
    at("2026-11-24 12:00")


@pytest.fixture
def paid(tmp_path):
    """paid(rows): the report of importing a file of these rows."""

    def run(*rows, name="paid.csv", dry_run=False):
        path = as_csv(tmp_path / name, rows)
        _, found = read_remittance(path, dt.date(2026, 11, 24))
        report = import_remittance(found, name, sha256_of(path), dry_run)
        assert list(find_money_faults()) == []
        assert recount_budgets() == (0, 0, 0)
        return report

    return run


def counts(report):
    return {word: count for word, count in report.counts.items() if count}


def everything():
    lines = ClaimLine.objects.order_by("pk").values_list("pk", "amount_paid")
    claims = Claim.objects.order_by("pk").values()
    return [list(each) for each in (claims, lines, RemittanceLine.objects.order_by("pk").values())] + [
        StatusMove.objects.count(),
        Change.objects.count(),
        Remittance.objects.count(),
    ]


def status(bill):
    bill.refresh_from_db()
    return bill.funding_status, bill.amount_paid


def test_a_line_that_is_paid_pays_its_claim_in_full(paid):
    claim = a_claim([{"booking": a_booking()}], **CLAIMED)
    recount_budgets()
    (line,) = claimed_lines(claim)
    report = paid(a_payment(line.reference, "140.00", day="20261120"))
    assert counts(report) == {"applied": 1}
    assert status(claim) == ("AgencyFullyPaid", Decimal("140.00"))
    assert timezone.localtime(claim.payment_date).date() == dt.date(2026, 11, 20)
    assert StatusMove.objects.get(claim=claim).verb == "pay"
    stored = RemittanceLine.objects.get()
    assert (stored.is_applied, stored.reason, stored.remittance.row_count) == (True, "", 1)
    assert "ParticipantName" not in stored.extra


def test_a_claim_is_paid_on_the_day_of_its_last_payment_whatever_comes_last(paid):
    claim = a_claim([{"booking": a_booking()}], **CLAIMED)
    recount_budgets()
    (line,) = claimed_lines(claim)
    paid(a_payment(line.reference, "40.00", "1", day="20261118"))
    paid(a_payment(line.reference, "60.00", "2", day="20261120"), name="2.csv")
    paid(a_payment(line.reference, "40.00", "3", day="20261119"), name="3.csv")
    claim.refresh_from_db()
    assert timezone.localtime(claim.payment_date).date() == dt.date(2026, 11, 20)


def test_a_claim_is_paid_on_the_last_day_of_its_lines(paid):
    claim = a_claim(2, **CLAIMED)
    first, second = claimed_lines(claim)
    paid(
        a_payment(first.reference, "140.00", day="20261120"),
        a_payment(second.reference, "140.00", day="20261118"),
    )
    claim.refresh_from_db()
    assert timezone.localtime(claim.payment_date).date() == dt.date(2026, 11, 20)
    assert Remittance.objects.get().day == dt.date(2026, 11, 20)


def test_a_claim_that_is_paid_on_a_day_ahead_is_paid_today(tmp_path):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    path = as_csv(tmp_path / "paid.csv", [a_payment(line.reference, "140.00", day="20261127")])
    _, found = read_remittance(path, clock.today(), "YYYYMMDD")
    assert counts(import_remittance(found, path.name, sha256_of(path))) == {"applied": 1}
    claim.refresh_from_db()
    assert timezone.localtime(claim.payment_date).date() == clock.today()
    assert RemittanceLine.objects.get().day == dt.date(2026, 11, 27)


def test_references_are_matched_in_any_case(paid):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    assert counts(paid(a_payment(line.reference.upper(), "140.00"))) == {"applied": 1}


def test_parts_come_one_after_the_other(paid):
    claim = a_claim(2, **CLAIMED)
    one, two = claimed_lines(claim)
    paid(a_payment(one.reference, "40.00", "1"))
    assert status(claim) == ("AgencyPartiallyPaid", Decimal("40.00"))
    paid(a_payment(one.reference, "60.00", "2"), a_payment(two.reference, "1.00", "3"), name="2.csv")
    assert status(claim) == ("AgencyPartiallyPaid", Decimal("101.00"))
    paid(a_payment(one.reference, "40.00", "4"), a_payment(two.reference, "139.00", "5"), name="3.csv")
    assert status(claim) == ("AgencyFullyPaid", Decimal("280.00"))
    verbs = StatusMove.objects.filter(claim=claim).order_by("id").values_list("verb", flat=True)
    assert list(verbs) == ["pay-in-part", "pay-further", "pay-the-rest"]


def test_a_line_that_is_paid_in_part_is_a_warning_beside_what_was_applied(paid):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    (note,) = paid(a_payment(line.reference, "40.00", "1")).notes
    assert (note.code, note.is_warning) == ("Short", True)
    assert "40.00 of 140.00 are paid so far." in note.message
    assert paid(a_payment(line.reference, "100.00", "2"), name="2.csv").notes == []


def test_two_references_that_were_exchanged_are_applied_and_told(paid):
    first, second = claimed_lines(a_claim(**CLAIMED), a_claim(2, **CLAIMED))[:2]
    first.amount, first_claim = Decimal("100.00"), first.claim
    first.save()
    report = paid(
        a_payment(first.reference, "80.00", "1", AmountClaimed="140.00"),
        a_payment(second.reference, "60.00", "2", AmountClaimed="$100.00"),
    )
    assert counts(report) == {"applied": 2}
    notes = [each.message for each in report.notes if each.code == "ClaimedDiffers" and each.is_warning]
    assert notes == [
        f"{first.reference} of {first_claim}: the agency names 140.00 as claimed, and 100.00 were claimed.",
        f"{second.reference} of {second.claim}: the agency names 100.00 as claimed, and 140.00 were claimed.",
    ]
    other = paid(a_payment(second.reference, "80.00", "3", AmountClaimed="140.00"), name="2.csv")
    assert other.notes == []


def test_a_payment_of_before_its_line_was_claimed_is_applied_and_told(paid):
    first, second = claimed_lines(a_claim(2, **CLAIMED))  # in a file of 10 November
    report = paid(
        a_payment(first.reference, "140.00", day="20261109"),
        a_payment(second.reference, "140.00", day="20261110"),
    )
    assert counts(report) == {"applied": 2}
    (note,) = report.notes
    assert (note.code, note.is_warning) == ("PaidTooEarly", True)
    assert note.message == (
        f"{first.reference} of {first.claim}: it was paid on 9 Nov 2026, before its claim file was made on"
        " 10 Nov 2026."
    )


def test_several_payments_of_a_line_in_one_file_are_one_transition(paid):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    paid(a_payment(line.reference, "100.00", "1"), a_payment(line.reference, "40.00", "2"))
    assert status(claim) == ("AgencyFullyPaid", Decimal("140.00"))
    assert StatusMove.objects.filter(claim=claim).count() == 1


def test_invoices_to_the_agency_are_paid_like_claims(paid):
    invoice = an_invoice(**CLAIMED)
    (line,) = claimed_lines(invoice)
    paid(a_payment(line.reference, "140.00"))
    assert status(invoice) == ("AgencyFullyPaid", Decimal("140.00"))
    assert invoice.payment_date == dt.date(2026, 11, 20)


def test_the_same_file_twice_changes_nothing(paid):
    claim, other = a_claim(**CLAIMED), a_claim(funding_status="PaymentProviderCancelled")
    (line,), (cancelled,) = claimed_lines(claim), claimed_lines(other)
    rows = [
        a_payment(line.reference, "100.00"),
        a_payment(cancelled.reference, "140.00"),
        a_payment("OTHER-1", "50.00"),
        a_payment(line.reference, "-5.00", "9"),
    ]
    first = paid(*rows)
    assert counts(first) == {"applied": 1, "unmatched": 1, "not_applicable": 2}
    before = everything()
    again = paid(*rows)
    assert counts(again) == {"applied_already": 1, "unmatched": 1, "not_applicable": 2}
    assert everything() == before


def test_the_same_payment_in_another_file_and_twice_in_one_is_paid_once(paid):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    row = a_payment(line.reference, "100.00", "1")
    assert counts(paid(row, row)) == {"applied": 1, "applied_already": 1}
    report = paid(row, a_payment(line.reference, "40.00", "2"), name="next.csv")
    assert counts(report) == {"applied": 1, "applied_already": 1}
    assert status(claim) == ("AgencyFullyPaid", Decimal("140.00"))


def test_a_trial_reports_the_same_and_stores_nothing(paid):
    claim = a_claim(2, **CLAIMED)
    one, _ = claimed_lines(claim)
    rows = [
        a_payment(one.reference, "140.00"),
        a_payment("OTHER", "1.00"),
        a_payment(one.reference, "-1", "2"),
    ]
    before = everything()
    trial = paid(*rows, dry_run=True)
    assert everything() == before
    real = paid(*rows)
    assert (trial.summary(), trial.notes) == (real.summary(), real.notes)


def test_the_rows_come_to_what_became_of_them(paid):
    claim = a_claim(2, **CLAIMED)
    one, two = claimed_lines(claim)
    report = paid(
        a_payment(one.reference, "140.00", "1"),
        a_payment(one.reference, "140.00", "1"),
        a_payment("OTHER", "50.00", "2"),
        a_payment(two.reference, "140.01", "3"),
        a_payment(two.reference, "-1.00", "4"),
    )
    assert report.summary() == [
        "5 rows (469.01) = 1 applied (140.00) + 1 applied already (140.00) + 1 unmatched (50.00)"
        " + 1 in conflict (140.01) + 1 not applicable (-1.00).",
        "Claims and invoices: 1 paid in part.",
    ]
    remittance = Remittance.objects.get()
    assert (remittance.row_count, remittance.total) == (5, Decimal("469.01"))
    assert (remittance.unmatched_count, remittance.unmatched_total) == (1, Decimal("50.00"))


# --- what is not applied --------------------------------------------------------------------------------


def test_the_same_number_with_another_amount_is_in_conflict(paid):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    paid(a_payment(line.reference, "100.00", "1"))
    report = paid(a_payment(line.reference, "40.00", "1"), name="other.csv")
    assert counts(report) == {"in_conflict": 1}
    assert [(note.code, note.message) for note in report.notes] == [
        ("InConflict", f"{line.reference} of {claim}: the payment 1 was 100.00 before, and is 40.00 now.")
    ]
    assert status(claim) == ("AgencyPartiallyPaid", Decimal("100.00"))
    stored = RemittanceLine.objects.get(is_applied=False)
    assert stored.reason == "the payment 1 was 100.00 before, and is 40.00 now."


def test_more_than_was_claimed_is_in_conflict(paid):
    claim = a_claim(2, **CLAIMED)
    one, two = claimed_lines(claim)
    report = paid(a_payment(one.reference, "140.01", "1"), a_payment(two.reference, "140.00", "2"))
    assert counts(report) == {"applied": 1, "in_conflict": 1}
    assert "140.01 is more than the 140.00 that were claimed." in report.notes[0].message
    assert status(claim) == ("AgencyPartiallyPaid", Decimal("140.00"))
    report = paid(a_payment(two.reference, "0.01", "3"), name="2.csv")
    assert "of which 140.00 were paid" in report.notes[0].message


@pytest.mark.parametrize(("amount", "sentence"), [("-5.00", "takes money back"), ("0.00", "it pays nothing")])
def test_amounts_that_are_no_payment_are_shown_and_not_applied(paid, amount, sentence):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    report = paid(a_payment(line.reference, amount))
    assert counts(report) == {"not_applicable": 1}
    assert sentence in report.notes[0].message
    assert status(claim) == ("AgencyClaimed", 0)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("resubmitted", "{claim} was resubmitted as {other}."),
        ("cancelled", "{claim} is cancelled."),
        ("archived", "{claim} is archived."),
        ("withdrawn", "{claim}: its file {file} was withdrawn."),
        ("paid", "{claim} is fully paid by the agency."),
    ],
)
def test_a_payment_of_what_waits_for_none_is_named_and_not_applied(paid, name, sentence):
    statuses = {
        "resubmitted": "AgencyPartiallyPaid",
        "archived": "PaymentProviderCancelled",
        "cancelled": "PaymentProviderCancelled",
    }
    claim = a_claim(funding_status=statuses.get(name, "AgencyClaimed"))
    (line,) = claimed_lines(claim, is_withdrawn=name == "withdrawn")
    other = None
    if name == "resubmitted":
        result = apply_transition(Claim, [claim.pk], "resubmit")
        other = Claim.objects.get(pk=result.resubmissions[claim.pk])
    elif name == "archived":
        apply_transition(Claim, [claim.pk], "archive")
    elif name == "paid":
        apply_transition(Claim, [claim.pk], "pay")
    before = status(claim)
    report = paid(a_payment(line.reference, "140.00"))
    assert counts(report) == {"not_applicable": 1}
    text = sentence.format(claim=claim, other=other, file=line.claim_file.file_name)
    assert report.notes[0].message == f"{line.reference} of {claim}: {text}"
    assert status(claim) == before
    assert RemittanceLine.objects.get().is_applied is False


def a_resubmitted_gap(paid, *prices):
    """A claim of which the first line was paid short and resubmitted while the others waited; its lines."""
    booking = a_booking()
    claim = a_claim([{"booking": booking, "quantity": "1", "price": price} for price in prices], **CLAIMED)
    recount_budgets()
    lines = claimed_lines(claim)
    assert counts(paid(a_payment(lines[0].reference, "10.00", "1"), name="1.csv")) == {"applied": 1}
    result = apply_transition(Claim, [claim.pk], "resubmit-gap")
    new = Claim.objects.get(pk=result.resubmissions[claim.pk])
    assert recount_budgets() == (0, 0, 0)
    return claim, new, lines, booking


def test_a_line_that_waited_when_the_gap_was_resubmitted_is_paid_with_the_old_claim(paid):
    claim, new, (short, waiting, other), booking = a_resubmitted_gap(paid, "50.00", "30.00", "20.00")
    assert [line.total for line in new.line_items.all()] == [Decimal("40.00")]
    # What still waits counts on the budget as claimed.
    assert sums(booking) == amounts(claimed="60.00", paid="10.00", waiting="40.00")
    report = paid(
        a_payment(waiting.reference, "30.00", "2"), a_payment(short.reference, "40.00", "3"), name="2.csv"
    )
    assert counts(report) == {"applied": 1, "not_applicable": 1}
    assert report.notes[0].message == f"{short.reference} of {claim}: {claim} was resubmitted as {new}."
    assert status(claim) == ("AgencyPartiallyPaid", Decimal("40.00"))
    assert sums(booking) == amounts(claimed="60.00", paid="40.00", waiting="40.00")
    # All that was not resubmitted is paid: nothing more is, until the newer one is archived.
    assert counts(paid(a_payment(other.reference, "20.00", "4"), name="3.csv")) == {"applied": 1}
    assert status(claim) == ("AgencyPartiallyPaid", Decimal("60.00"))
    assert "was resubmitted as" in explain_obstacle(claim, TransitionName.PAY_FURTHER)
    apply_transition(Claim, [new.pk], "archive")
    assert counts(paid(a_payment(short.reference, "40.00", "3"), name="4.csv")) == {"applied": 1}
    assert status(claim) == ("AgencyFullyPaid", Decimal("100.00"))


def test_by_hand_no_more_is_paid_than_what_was_not_resubmitted(paid):
    claim, new, _, _ = a_resubmitted_gap(paid, "50.00", "30.00")
    short, waiting = claim.line_items.order_by("position")

    def refusal(amount):
        return (
            apply_transition(Claim, [claim.pk], "pay-further", amounts={claim.pk: amount}).refused[0].message
        )

    assert refusal(Decimal("30.01")) == "30.01 is more than the 30.00 that is outstanding."
    assert refusal({short.pk: Decimal("5.00")}) == f"Line 1 was resubmitted as {new}: go on with that one."
    apply_transition(Claim, [claim.pk], "pay-further", amounts={claim.pk: Decimal("30.00")})
    waiting.refresh_from_db()
    assert waiting.amount_paid == waiting.total
    assert (list(find_money_faults()), recount_budgets()) == ([], (0, 0, 0))


def test_a_resubmission_is_not_restored_when_its_lines_were_resubmitted_anew(paid):
    claim, new, _, _ = a_resubmitted_gap(paid, "50.00", "30.00")
    apply_transition(Claim, [new.pk], "archive")
    result = apply_transition(Claim, [claim.pk], "resubmit-gap")
    newest = Claim.objects.get(pk=result.resubmissions[claim.pk])
    apply_transition(Claim, [newest.pk], "archive")
    (refused,) = apply_transition(Claim, [new.pk], "restore").refused
    sentence = f"{claim}, which it resubmits, was resubmitted again as {newest}: restore that one."
    assert refused.message == sentence
    assert apply_transition(Claim, [newest.pk], "restore").done == [newest.pk]
    assert recount_budgets() == (0, 0, 0)


def test_which_lines_were_resubmitted_before_that_was_kept_is_filled_in(paid):
    claim, new, _, _ = a_resubmitted_gap(paid, "50.00", "30.00")
    ClaimLine.objects.update(resubmitted_as=None)
    migration = import_module("apps.funding.migrations.0021_resubmitted_lines")
    migration.keep_resubmissions(apps, SimpleNamespace(connection=connection))
    assert set(claim.line_items.values_list("resubmitted_as", flat=True)) == {new.pk}
    assert set(new.line_items.values_list("resubmitted_as", flat=True)) == {None}


def test_a_refusal_longer_than_its_column_is_kept_up_to_its_length(paid, monkeypatch):
    (line,) = claimed_lines(a_claim(**CLAIMED))
    text = "".join(f"{number} " for number in range(300))
    monkeypatch.setattr(transitions, "find_bill_problem", lambda *given: text)
    paid(a_payment(line.reference, "140.00"))
    size = RemittanceLine._meta.get_field("reason").max_length
    assert RemittanceLine.objects.get().reason == text[:size]


def test_the_end_of_a_file_name_longer_than_its_column_is_kept(tmp_path):
    (line,) = claimed_lines(a_claim(**CLAIMED))
    path = as_csv(tmp_path / "paid.csv", [a_payment(line.reference, "140.00")])
    _, found = read_remittance(path, dt.date(2026, 11, 24))
    name = "".join(f"{number}-" for number in range(100)) + ".csv"
    import_remittance(found, name, sha256_of(path), dry_run=False)
    size = Remittance._meta.get_field("file_name").max_length
    assert Remittance.objects.get().file_name == name[-size:]


def test_what_could_not_be_applied_is_applied_once_it_can(paid):
    claim = a_claim(funding_status="AgencyPartiallyPaid")
    (line,) = claimed_lines(claim)
    result = apply_transition(Claim, [claim.pk], "resubmit")
    row = a_payment(line.reference, "140.00")
    assert counts(paid(row)) == {"not_applicable": 1}
    apply_transition(Claim, result.resubmissions.values(), "archive")
    assert counts(paid(row)) == {"applied": 1}
    assert status(claim) == ("AgencyFullyPaid", Decimal("140.00"))
    stored = RemittanceLine.objects.get()
    assert (stored.is_applied, stored.reason) == (True, "")


def test_a_payment_that_somebody_recorded_by_hand_is_not_paid_again(paid):
    claim = a_claim(2, **CLAIMED)
    one, two = claimed_lines(claim)
    line = claim.line_items.get(position=0)
    apply_transition(Claim, [claim.pk], "pay-in-part", amounts={claim.pk: {line.pk: Decimal("140.00")}})
    report = paid(a_payment(one.reference, "140.00", "1"))
    assert counts(report) == {"not_applicable": 1}
    assert "Of line 1 0.00 is outstanding" in report.notes[0].message
    part = paid(a_payment(one.reference, "100.00", "3"), name="3.csv")
    assert [note.code for note in part.notes] == ["NotApplicable"]
    assert status(claim) == ("AgencyPartiallyPaid", Decimal("140.00"))
    assert counts(paid(a_payment(two.reference, "140.00", "2"), name="2.csv")) == {"applied": 1}
    assert status(claim) == ("AgencyFullyPaid", Decimal("280.00"))


def test_of_another_organisation_nothing_is_stored(paid):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    paid(a_payment("OTHER-1", "50.00"), a_payment("", "5.00"), name="theirs.csv")
    assert not Remittance.objects.exists()
    report = paid(a_payment("OTHER-1", "50.00"), a_payment(line.reference, "140.00"))
    assert report.notes == []
    assert RemittanceLine.objects.count() == 1
    assert "OTHER" not in str(list(RemittanceLine.objects.values()) + list(Remittance.objects.values()))


# --- the tolerance --------------------------------------------------------------------------------------


@pytest.fixture
def tolerance():
    Subscriber.objects.update_or_create(pk=1, defaults={"remittance_tolerance": Decimal("0.05")})
    Subscriber.clear_cache()
    yield
    Subscriber.clear_cache()


def test_a_claim_that_is_short_by_no_more_than_the_tolerance_counts_as_paid(paid, tolerance):
    claims = [a_claim([{"booking": a_booking()}], **CLAIMED) for _ in range(2)]
    recount_budgets()
    lines = claimed_lines(*claims)
    paid(a_payment(lines[0].reference, "139.95", "1"), a_payment(lines[1].reference, "139.94", "2"))
    assert status(claims[0]) == ("AgencyFullyPaid", Decimal("139.95"))
    assert claims[0].status_reason == "Paid short by no more than the tolerance of 0.05"
    assert status(claims[1]) == ("AgencyPartiallyPaid", Decimal("139.94"))


def test_without_a_tolerance_every_cent_counts(paid):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    paid(a_payment(line.reference, "139.99"))
    assert status(claim) == ("AgencyPartiallyPaid", Decimal("139.99"))


def test_a_small_line_that_still_waits_is_not_written_off(paid, tolerance):
    claim = a_claim([{}, {"quantity": "1", "price": "0.04"}], **CLAIMED)
    one, two = claimed_lines(claim)
    paid(a_payment(one.reference, "140.00", "1"))
    assert status(claim) == ("AgencyPartiallyPaid", Decimal("140.00"))
    paid(a_payment(two.reference, "0.04", "2"), name="2.csv")
    assert status(claim) == ("AgencyFullyPaid", Decimal("140.04"))


def test_a_payment_that_does_not_fit_what_was_paid_by_hand_writes_nothing_off(paid, tolerance):
    claim = a_claim(**CLAIMED)
    (line,) = claimed_lines(claim)
    ClaimResult.objects.create(
        file_line=line, is_accepted=True, amount=Decimal("140.00"), file_name="r.csv", at=clock.now()
    )
    by_hand = {claim.line_items.get().pk: Decimal("139.97")}
    apply_transition(Claim, [claim.pk], "pay-in-part", amounts={claim.pk: by_hand})
    report = paid(a_payment(line.reference, "140.00"))
    assert counts(report) == {"not_applicable": 1}
    assert status(claim) == ("AgencyPartiallyPaid", Decimal("139.97"))


# --- what verify finds ----------------------------------------------------------------------------------


def test_verify_finds_more_paid_than_claimed_and_bills_that_say_less(paid):
    claim = a_claim(2, **CLAIMED)
    one, two = claimed_lines(claim)
    paid(a_payment(one.reference, "140.00", "1"), a_payment(two.reference, "40.00", "2"))
    assert list(find_answer_faults()) == []
    apply_transition(Claim, [claim.pk], "take-back", amounts={claim.pk: Decimal(50)}, reason="Debt 1")
    assert list(find_answer_faults()) == []
    RemittanceLine.objects.filter(payment_number="2").update(amount=Decimal("140.01"))
    assert list(find_answer_faults()) == [
        f"{two.reference}: remittances paid 140.01 of the 140.00 that were claimed",
        f"claim {claim}: remittances paid 280.01 of it, its status history has 180.00",
    ]
