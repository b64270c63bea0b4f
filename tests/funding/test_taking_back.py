"""What the agency does after it was claimed from: it refuses, pays in several parts, takes money back."""

import datetime as dt
import uuid
from decimal import Decimal

import pytest
from django.contrib.auth.models import Permission

from apps.core.models import Change
from apps.funding.models import Claim, ProviderInvoice, StatusMove
from apps.funding.services.effects import recount_budgets, recount_claim_flags
from apps.funding.services.invariants import find_money_faults
from apps.funding.services.transitions import apply_transition, explain_obstacle, list_transitions
from apps.funding.statuses import ClaimStatus, InvoiceStatus
from apps.funding.validation.transitions import TransitionName
from tests.engagements.builders import a_booking, amounts, sums
from tests.funding.applied import (
    applied,
    fresh,
    moves,
    paid_of_lines,
    priced,
    refused,
    resubmitted,
)
from tests.funding.builders import a_claim, an_invoice
from tests.people.builders import a_role, a_staff_member

pytestmark = pytest.mark.django_db

PAID_DAY = dt.date(2026, 1, 2)


@pytest.fixture
def booking():
    return a_booking()


@pytest.fixture
def claim(booking):
    """Three lines of 50.00, 30.00 and 20.00, claimed from the agency."""
    record = a_claim(priced("50.00", "30.00", "20.00", booking=booking), funding_status="AgencyClaimed")
    recount_budgets()
    return record


@pytest.fixture(autouse=True)
def money_is_right_afterwards(db):
    """Whatever a test did: what ``verify`` and ``recount_budgets`` look at agrees."""
    yield
    assert list(find_money_faults()) == []
    assert recount_budgets() == (0, 0, 0)
    assert recount_claim_flags() == 0


def paid(bill, amount=None):
    """The bill, paid in full or in part on a day in January."""
    name, options = ("pay", {}) if amount is None else ("pay-in-part", given(bill, amount))
    return applied(bill, name, day=PAID_DAY, **options)


def given(bill, amount):
    return {"amounts": {bill.pk: amount if isinstance(amount, dict) else Decimal(amount)}}


def taken_back(bill, amount, reason="Debt 17"):
    return applied(bill, "take-back", reason=reason, **given(bill, amount))


def refused_to_take(bill, amount):
    return refused(bill, "take-back", reason="Debt 17", **given(bill, amount))


def cancelled(bill):
    asked = applied(bill, "ask-to-cancel", reason="Entered twice")
    assert asked.funding_status == "PaymentProviderCancellationRequested"
    return applied(bill, "confirm-cancellation")


def entries(bill):
    """(verb, amounts by the positions of lines) of the entries that moved money."""
    positions = {str(line.pk): line.position for line in bill.line_items.all()}
    rows = StatusMove.objects.filter(**{bill._meta.model_name: bill}, paid_lines__isnull=False)
    return [
        (each.verb, {positions[key]: amount for key, amount in each.paid_lines.items()})
        for each in rows.order_by("id")
    ]


def line_keys(bill):
    return list(bill.line_items.order_by("position").values_list("pk", flat=True))


# --- refused --------------------------------------------------------------------------------------------


def test_a_claim_that_the_agency_refused_has_its_text_and_can_be_resubmitted(claim, booking):
    assert refused(claim, "refuse") == "Refused by the agency: give a reason."
    answer = applied(claim, "refuse", reason="C04 quantity over what is approved")
    assert (answer.funding_status, answer.status_reason) == (
        "PaymentProviderRejected",
        "C04 quantity over what is approved",
    )
    assert (answer.amount_paid, sums(booking)) == (0, amounts())
    assert answer.get_funding_status_display() == "Refused"
    assert resubmitted(claim, "resubmit").total == claim.total
    assert sums(booking) == amounts(waiting="100.00")


# --- paid further ---------------------------------------------------------------------------------------


def test_the_agency_pays_in_as_many_parts_as_it_likes(claim, booking, at):
    at("2026-08-20 10:00")
    since = paid(claim, "10.00").status_date
    at("2026-08-21 10:00")
    second = applied(claim, "pay-further", **given(claim, "45.00"))
    assert (second.funding_status, str(second.amount_paid)) == ("AgencyPartiallyPaid", "55.00")
    assert second.status_date == since  # its age is not that of its last part
    assert second.payment_date > since
    assert (paid_of_lines(claim), sums(booking)) == (["50.00", "5.00", "0.00"], amounts("100.00", "55.00"))
    by_line = {line_keys(claim)[2]: Decimal("20.00")}
    assert applied(claim, "pay-further", **given(claim, by_line)).amount_paid == Decimal("75.00")
    assert refused(claim, "pay-further", **given(claim, "25.00")) == (
        "25.00 is all that is outstanding: say that it is paid in full."
    )
    assert applied(claim, "pay-the-rest").funding_status == "AgencyFullyPaid"
    assert entries(claim) == [
        ("pay-in-part", {0: "10.00"}),
        ("pay-further", {0: "40.00", 1: "5.00"}),
        ("pay-further", {2: "20.00"}),
        ("pay-the-rest", {1: "25.00"}),
    ]


# --- taken back -----------------------------------------------------------------------------------------


def test_one_amount_is_taken_from_the_lines_the_last_first(claim, booking):
    paid(claim)
    answer = taken_back(claim, "35.01")
    assert (answer.funding_status, str(answer.amount_paid)) == ("AgencyPartiallyPaid", "64.99")
    assert (answer.status_reason, answer.payment_date) == ("Debt 17", paid_date(claim))
    assert paid_of_lines(claim) == ["50.00", "14.99", "0.00"]
    assert sums(booking) == amounts("100.00", "64.99")
    assert entries(claim)[-1] == ("take-back", {1: "-15.01", 2: "-20.00"})
    assert moves(claim)[-1] == ("take-back", "AgencyFullyPaid", "AgencyPartiallyPaid", "Debt 17")
    change = Change.objects.filter(record_type="funding.claim", record_key=str(claim.pk)).first()
    assert change.differences["amount_paid"] == ["100.00", "64.99"]
    taken_back(claim, "4.99")
    assert entries(claim)[-1] == ("take-back", {1: "-4.99"})


def paid_date(claim):
    return fresh(claim).payment_date


def test_money_is_taken_back_of_the_lines_that_are_named(claim, booking):
    paid(claim)
    first, second, third = line_keys(claim)
    answer = taken_back(claim, {first: Decimal("50.00"), third: Decimal("0.50")})
    assert (paid_of_lines(claim), str(answer.amount_paid)) == (["0.00", "30.00", "19.50"], "49.50")
    assert refused_to_take(claim, {first: Decimal("0.01")}) == (
        "Of line 1 0.00 was paid itself: 0.01 cannot be taken back from it."
    )
    assert refused_to_take(claim, {second: Decimal("-1.00"), third: Decimal("2.00")}) == (
        "Of line 2 30.00 was paid itself: -1.00 cannot be taken back from it."
    )
    assert "It has no line" in refused_to_take(claim, {uuid.uuid4(): Decimal("1.00")})
    assert sums(booking) == amounts("100.00", "49.50")


def test_when_nothing_is_left_the_claim_is_cancelled(claim, booking):
    paid(claim, "70.00")
    taken_back(claim, "20.00")
    answer = taken_back(claim, "50.00")
    assert (answer.funding_status, answer.amount_paid, answer.payment_date) == (
        "PaymentProviderCancelled",
        0,
        None,
    )
    assert (paid_of_lines(claim), sums(booking)) == (["0.00"] * 3, amounts())
    assert applied(claim, "archive").is_archived


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        ("0.00", "0.00 cannot be taken back: give an amount above 0."),
        ("-5.00", "-5.00 cannot be taken back: give an amount above 0."),
        ("60.01", "60.01 is more than the 60.00 that was paid of it itself."),
        ("9.999", "9.999 is no amount of money: cents are its smallest part."),
    ],
)
def test_what_cannot_be_taken_back_is_refused(claim, amount, said):
    paid(claim, "60.00")
    assert refused_to_take(claim, amount) == said


def test_to_take_money_back_needs_an_amount_and_a_reason(claim):
    paid(claim, "60.00")
    assert refused(claim, "take-back", reason="Debt") == (
        "Say how much of the 60.00 that was paid is taken back."
    )
    assert refused(claim, "take-back", **given(claim, "1.00")) == "Money taken back: give a reason."


def test_a_gap_that_was_written_off_is_open_again_when_money_is_taken_back(claim, booking):
    paid(claim, "60.00")
    applied(claim, "write-off", reason="Too small")
    assert sums(booking) == amounts("60.00", "60.00")
    taken_back(claim, "10.00")
    assert sums(booking) == amounts("100.00", "50.00")
    assert resubmitted(claim, "resubmit-gap").total == Decimal("50.00")


def test_credits_stay_used_up_until_all_is_taken_back():
    lines = [*priced("50.00", "30.00"), *priced("20.00", is_credit_item=True)]
    invoice = an_invoice(lines, funding_status="AgencyClaimed")
    paid(invoice)
    taken_back(invoice, "45.00")
    assert paid_of_lines(invoice) == ["35.00", "0.00", "-20.00"]
    first = line_keys(invoice)[0]
    assert refused_to_take(invoice, {first: Decimal("15.00")}) == (
        "15.00 is all that was paid: take it back as one amount."
    )
    assert refused_to_take(invoice, {first: Decimal("20.00")}) == (
        "20.00 is more than the 15.00 that was paid of it itself."
    )
    answer = taken_back(invoice, "15.00")
    assert (answer.funding_status, answer.amount_paid) == ("PaymentProviderCancelled", 0)
    assert paid_of_lines(invoice) == ["0.00"] * 3
    assert entries(invoice)[-1] == ("take-back", {0: "-35.00", 2: "20.00"})


def test_an_invoice_that_is_a_credit_is_cancelled_and_nothing_of_it_is_taken_back():
    invoice = an_invoice(priced("20.00", is_credit_item=True), funding_status="AgencyClaimed")
    paid(invoice)
    assert refused_to_take(invoice, "1.00") == "Nothing was paid of it."
    assert cancelled(invoice).amount_paid == 0


# --- cancelled ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("amount", [None, "60.00"])
def test_of_a_cancelled_claim_nothing_is_paid_any_more(claim, booking, amount):
    before = paid(claim, amount)
    assert refused(claim, "ask-to-cancel") == "Ask to cancel: give a reason."
    asked = applied(claim, "ask-to-cancel", reason="Entered twice")
    assert (asked.amount_paid, asked.payment_date) == (before.amount_paid, before.payment_date)
    # What is paid stays paid, and what is open counts, until the agency has answered.
    assert sums(booking) == amounts("100.00", before.amount_paid)
    answer = applied(claim, "confirm-cancellation")
    assert (answer.funding_status, answer.amount_paid, answer.payment_date) == (
        "PaymentProviderCancelled",
        0,
        None,
    )
    assert (paid_of_lines(claim), sums(booking)) == (["0.00"] * 3, amounts())
    verb, by_line = entries(claim)[-1]
    assert (verb, sum(map(Decimal, by_line.values()))) == ("confirm-cancellation", -before.amount_paid)


@pytest.mark.parametrize("amount", [None, "60.00"])
def test_a_refused_cancellation_leads_a_paid_claim_back(claim, booking, amount):
    before, counted = paid(claim, amount), sums(booking)
    applied(claim, "ask-to-cancel", reason="Entered twice")
    after = applied(claim, "refuse-cancellation")
    assert (after.funding_status, after.amount_paid, after.payment_date) == (
        before.funding_status,
        before.amount_paid,
        before.payment_date,
    )
    assert sums(booking) == counted


def test_a_cancelled_claim_is_no_longer_why_its_provider_invoice_is_on_hold(claim):
    paid(claim)
    ProviderInvoice.objects.update(approval_status="OnHoldByClient", claim_on_hold=True)
    taken_back(claim, "100.00")
    assert not ProviderInvoice.objects.get().claim_on_hold


# --- resubmitted ----------------------------------------------------------------------------------------

MONEY = ("pay-further", "take-back", "ask-to-cancel")


@pytest.mark.parametrize("how", ["resubmit", "resubmit-gap"])
@pytest.mark.parametrize("name", MONEY)
def test_the_money_of_a_resubmitted_claim_does_not_change(claim, how, name):
    paid(claim, "60.00")
    new = resubmitted(claim, how)
    said = f"It was resubmitted as {new}: go on with that one."
    assert refused(claim, name, reason="Because", **given(claim, "1.00")) == said
    applied(new, "archive")
    applied(claim, name, reason="Because", **given(claim, "1.00"))


@pytest.fixture
def resubmission(claim):
    """Of the claim 60.00 were paid before it was resubmitted, and 40.00 of this one."""
    paid(claim, "60.00")
    new = resubmitted(claim, "resubmit")
    for name in ("approve", "claim"):
        applied(new, name)
    return paid(new)


def test_what_was_paid_before_it_was_resubmitted_is_not_taken_back_here(claim, resubmission, booking):
    assert refused_to_take(resubmission, "40.01") == (
        "40.01 is more than the 40.00 that was paid of it itself."
        f" 60.00 were paid of {claim}, which it resubmits."
    )
    second = line_keys(resubmission)[1]
    assert refused_to_take(resubmission, {second: Decimal("20.01")}) == (
        "Of line 2 20.00 was paid itself: 20.01 cannot be taken back from it."
    )
    taken_back(resubmission, "25.00")
    assert (paid_of_lines(resubmission), sums(booking)) == (
        ["50.00", "25.00", "0.00"],
        amounts("100.00", "75.00"),
    )
    assert taken_back(resubmission, "15.00").funding_status == "PaymentProviderCancelled"
    assert (paid_of_lines(resubmission), sums(booking)) == (
        ["50.00", "10.00", "0.00"],
        amounts("60.00", "60.00"),
    )
    assert resubmission.payment_date is not None
    assert fresh(resubmission).payment_date is None


def test_what_was_paid_before_is_taken_back_of_the_older_one_once_the_newer_is_archived(
    claim, resubmission, booking
):
    cancelled(resubmission)
    assert paid_of_lines(resubmission) == ["50.00", "10.00", "0.00"]
    applied(resubmission, "archive")
    assert sums(booking) == amounts("100.00", "60.00")
    assert taken_back(claim, "60.00").funding_status == "PaymentProviderCancelled"
    assert sums(booking) == amounts()


def test_of_a_resubmission_that_brought_no_money_nothing_is_taken_back(claim):
    paid(claim, "60.00")
    new = resubmitted(claim, "resubmit")
    Claim.objects.filter(pk=new.pk).update(funding_status="AgencyFullyPaid")
    recount_budgets()
    new.refresh_from_db()
    assert TransitionName.TAKE_BACK not in [row.name for row in list_transitions(new)]
    assert refused_to_take(new, "1.00") == (
        f"Nothing was paid of it itself: 60.00 were paid of {claim}, which it resubmits."
    )


def test_money_is_not_taken_back_when_nobody_knows_which_lines_were_paid_before(claim, resubmission):
    StatusMove.objects.filter(verb="resubmit").update(paid_lines=None)
    assert refused_to_take(resubmission, "10.00") == (
        f"60.00 of it were paid with {claim}, before the status history had the amounts of lines: what was"
        " paid of this one itself is not known by line."
    )


@pytest.mark.parametrize("how", ["resubmit", "resubmit-gap"])
@pytest.mark.parametrize("name", ["pay-further", "take-back"])
def test_a_resubmission_is_not_restored_once_the_older_one_was_paid_or_lost_money(claim, booking, how, name):
    """Else the same dollars would be claimed with both, or paid ones with neither."""
    paid(claim, "60.00")
    new = resubmitted(claim, how)
    for verb in ("archive", "restore", "archive"):
        applied(new, verb)
    applied(claim, name, reason="Debt 17", **given(claim, "10.00"))
    said = f"Of {claim}, which it resubmits, something was paid or taken back meanwhile: resubmit it anew."
    assert refused(new, "restore") == said
    assert explain_obstacle(fresh(new), TransitionName.RESTORE) == said
    assert resubmitted(claim, how)


def test_a_refused_request_to_cancel_does_not_keep_a_resubmission_from_being_restored(claim):
    paid(claim, "60.00")
    new = resubmitted(claim, "resubmit-gap")
    applied(new, "archive")
    applied(claim, "ask-to-cancel", reason="Entered twice")
    assert "is now cancellation requested" in refused(new, "restore")
    applied(claim, "refuse-cancellation")
    applied(new, "restore")


# --- from every status, and by whom ---------------------------------------------------------------------

NEW = {
    "refuse": {"AgencyClaimed"},
    "pay-further": {"AgencyPartiallyPaid"},
    "take-back": {"AgencyPartiallyPaid", "AgencyFullyPaid"},
    "ask-to-cancel": {
        *("SubmittedToPaymentProvider", "AgencyClaimed", "AgencyPartiallyPaid", "AgencyFullyPaid")
    },
    "confirm-cancellation": {"PaymentProviderCancellationRequested"},
}


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("make", [a_claim, an_invoice])
def test_from_each_other_status_it_is_refused_with_what_is_possible(make, name):
    statuses = ClaimStatus if make is a_claim else InvoiceStatus
    for status in statuses.values:
        bill = make(priced("100.00"), funding_status="AgencyClaimed")
        if status in ("AgencyPartiallyPaid", "PaymentProviderCancellationRequested"):
            paid(bill, "60.00")
        elif status == "AgencyFullyPaid":
            paid(bill)
        type(bill).objects.filter(pk=bill.pk).update(funding_status=status)
        options = {"reason": "Because", **given(bill, "1.00")}
        if status in NEW[name]:
            applied(bill, name, **options)
        else:
            assert refused(bill, name, **options).startswith("It is ")


def a_person(*permissions):
    names = [f"{name}_funding_invoices" for name in ("administer", *permissions)]
    role = a_role()
    role.permissions.set(Permission.objects.filter(codename__in=names))
    return a_staff_member(role=role)


@pytest.mark.parametrize(
    ("name", "permission", "said"),
    [
        ("pay-further", "claim", "record payments of claims and invoices"),
        ("take-back", "claim", "record payments of claims and invoices"),
        ("ask-to-cancel", "pay", "claim from the agency, submit and send"),
    ],
)
def test_each_step_needs_its_permission(claim, name, permission, said):
    paid(claim, "60.00")
    options = {"reason": "Because", **given(claim, "1.00")}
    assert f"the permission to {said}" in refused(claim, name, staff=a_person(permission), **options)
    other = "claim" if permission == "pay" else "pay"
    applied(claim, name, staff=a_person(other), **options)


def test_who_confirms_a_cancellation_that_takes_money_back_may_record_payments(claim):
    paid(claim, "60.00")
    applied(claim, "ask-to-cancel", reason="Entered twice")
    assert refused(claim, "confirm-cancellation", staff=a_person("claim")) == (
        "60.00 were paid of it, which this takes back: your role lacks the permission to record payments of"
        " claims and invoices."
    )
    applied(claim, "confirm-cancellation", staff=a_person("claim", "pay"))
    unpaid = a_claim(funding_status="PaymentProviderCancellationRequested")
    applied(unpaid, "confirm-cancellation", staff=a_person("claim"))


def test_many_paid_claims_are_cancelled_together(claim, booking):
    other = a_claim(priced("10.00", booking=booking), funding_status="AgencyClaimed")
    recount_budgets()
    paid(claim, "60.00")
    paid(other)
    keys = [claim.pk, other.pk]
    for name in ("ask-to-cancel", "confirm-cancellation"):
        assert apply_transition(Claim, keys, name, reason="Because").done == keys
    assert sums(booking) == amounts()
