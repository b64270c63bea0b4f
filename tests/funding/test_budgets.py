"""What claims and invoices draw on budgets, by where they stand (apps/funding/services/effects.py)."""

import datetime as dt
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.engagements.amounts import Amounts
from apps.engagements.drafts import PeriodDraft, PeriodsDraft
from apps.engagements.models import CategoryBudget, ServiceBooking
from apps.engagements.services import save_periods
from apps.funding.services.effects import BudgetPosting, budget_amounts, post_to_budgets, recount_budgets
from apps.funding.statuses import InvoiceStatus
from apps.funding.validation.transitions import Resubmission
from tests.engagements.builders import a_booking, a_category_budget, a_pace_plan, amounts, day, sums
from tests.funding.builders import a_claim, an_invoice

TOTAL, PAID = Decimal("100.00"), Decimal("40.00")
NOTHING = Amounts()
DAY = dt.date(2026, 8, 3)


@pytest.mark.parametrize("status", ["AwaitingStaffApproval", "OnHold", "Approved"])
def test_before_somebody_is_requested_the_money_it_waits(status):
    assert budget_amounts(status, False, TOTAL, Decimal("0.00")) == amounts(waiting="100.00")


@pytest.mark.parametrize(
    "status", ["SubmittedToPaymentProvider", "AgencyClaimed", "PaymentProviderCancellationRequested", "Sent"]
)
def test_once_somebody_is_asked_it_is_claimed(status):
    assert budget_amounts(status, False, TOTAL, Decimal("0.00")) == amounts(claimed="100.00")


@pytest.mark.parametrize(
    "status",
    ["PaymentProviderRejected", "PaymentProviderCancelled", "ClientRejected", "PlanManagerRejected"],
)
def test_what_was_refused_or_cancelled_counts_nothing(status):
    assert budget_amounts(status, False, TOTAL, Decimal("0.00")) == NOTHING


def test_a_partial_payment_leaves_the_whole_claimed():
    assert budget_amounts("AgencyPartiallyPaid", False, TOTAL, PAID) == amounts("100.00", "40.00")


def test_a_gap_that_is_written_off_is_claimed_no_longer():
    assert budget_amounts("AgencyFullyPaid", False, TOTAL, PAID) == amounts("40.00", "40.00")
    assert budget_amounts("AgencyFullyPaid", False, TOTAL, TOTAL) == amounts("100.00", "100.00")


def test_the_gap_of_a_resubmitted_claim_counts_with_its_resubmission():
    assert budget_amounts("AgencyPartiallyPaid", False, TOTAL, PAID, Resubmission.GAP) == amounts(
        "40.00", "40.00"
    )
    assert budget_amounts("AgencyPartiallyPaid", False, TOTAL, PAID, Resubmission.FULL) == NOTHING
    resubmitted = budget_amounts("AwaitingStaffApproval", False, TOTAL, PAID)
    assert resubmitted == amounts("40.00", "40.00", "60.00")


@pytest.mark.parametrize("status", InvoiceStatus.values)
def test_what_is_archived_counts_nothing(status):
    assert budget_amounts(status, True, TOTAL, PAID) == NOTHING


@pytest.mark.parametrize("status", InvoiceStatus.values)
def test_what_was_paid_is_never_lost_nor_more_than_what_is_claimed(status):
    drawn = budget_amounts(status, False, TOTAL, PAID)
    assert drawn.paid == PAID <= drawn.claimed
    assert drawn.claimed + drawn.waiting <= TOTAL


@pytest.mark.django_db
def test_both_kinds_of_budgets_are_posted_to_and_lines_without_one_count_nowhere():
    booking, category = a_booking(), a_category_budget()
    one = amounts(waiting="1.00")
    post_to_budgets(
        [
            BudgetPosting(booking.pk, None, DAY, DAY, one),
            BudgetPosting(None, category.pk, DAY, DAY, one),
            BudgetPosting(booking.pk, None, DAY, DAY, one),
            BudgetPosting(None, None, DAY, DAY, one),
        ]
    )
    assert (sums(booking), sums(category)) == (amounts(waiting="2.00"), one)


@pytest.mark.django_db
def test_changes_that_cancel_each_other_touch_no_budget(django_assert_num_queries):
    booking = a_booking()
    with django_assert_num_queries(0):
        post_to_budgets(
            [
                BudgetPosting(booking.pk, None, DAY, DAY, amounts("1.00")),
                BudgetPosting(booking.pk, None, DAY, DAY, -amounts("1.00")),
            ]
        )


@pytest.mark.django_db
def test_what_falls_to_nothing_is_nothing_in_the_database_too():
    """Binary numbers leave 5.6e-17 of these, which the model's field would hide."""
    booking = a_booking()
    for amount in ("0.10", "0.20", "-0.30"):
        post_to_budgets([BudgetPosting(booking.pk, None, DAY, DAY, amounts(amount, amount, amount))])
    assert ServiceBooking.objects.filter(claimed=0, paid=0, waiting=0).exists()


def lines_on(booking, *prices):
    return [{"booking": booking, "quantity": "1", "price": price} for price in prices]


@pytest.mark.django_db
def test_a_recount_sums_what_lines_of_claims_and_invoices_count():
    booking, category = a_booking(), a_category_budget()
    a_claim(lines_on(booking, "10.10", "0.20"))
    a_claim(lines_on(booking, "1.00"), funding_status="AgencyClaimed")
    a_claim(lines_on(booking, "500.00"), archive_date=clock.now())
    a_claim(lines_on(booking, "700.00"), funding_status="PaymentProviderRejected")
    a_claim([{"quantity": "1", "price": "900.00"}])
    an_invoice(
        [
            {"category_budget": category, "quantity": "1", "price": "3.00", "amount_paid": Decimal("3.00")},
            {"category_budget": category, "quantity": "1", "price": "1.00", "is_credit_item": True},
        ],
        funding_status="Paid",
    )
    assert recount_budgets() == (1, 1, 0)
    assert sums(booking) == amounts(claimed="1.00", waiting="10.30")
    assert sums(category) == amounts(claimed="2.00", paid="3.00")
    assert recount_budgets() == (0, 0, 0)


@pytest.mark.django_db
@pytest.mark.parametrize("paid_earlier", ["0.00", "40.00"])
def test_a_recount_respects_resubmissions(paid_earlier):
    """As gap: 40 stay with the old one; in full: they came along to the new one."""
    booking = a_booking()
    line = {"booking": booking, "quantity": "1", "price": "100.00", "amount_paid": PAID}
    old = a_claim([line], funding_status="AgencyPartiallyPaid", takes_provider_invoice=False)
    in_full = Decimal(paid_earlier) > 0
    price = "100.00" if in_full else "60.00"
    new_line = {**line, "price": price, "amount_paid": Decimal(paid_earlier)}
    new = a_claim([new_line], resubmission_of=old, paid_earlier=Decimal(paid_earlier))
    old.line_items.update(resubmitted_as=new)
    recount_budgets()
    assert sums(booking) == amounts("40.00", "40.00", "60.00")
    new.archive_date = clock.now()
    new.save()
    recount_budgets()
    assert sums(booking) == amounts("100.00", "40.00")


@pytest.mark.django_db
def test_the_command_says_what_it_corrected():
    booking = a_booking(claimed=Decimal("5.00"))
    differing = "1 service bookings, 0 budgets by category and 0 funding periods"
    assert said("--dry-run") == f"{differing} do not agree with their claims and invoices."
    assert sums(booking) == amounts("5.00")
    assert said() == f"Put right: {differing}."
    assert sums(booking) == NOTHING
    assert said() == "Every budget agrees with its claims and invoices."


def said(*words):
    out = StringIO()
    call_command("recount_budgets", *words, stdout=out)
    return out.getvalue().splitlines()[0]


@pytest.mark.django_db
def test_a_recount_takes_the_same_statements_for_any_number_of_lines():
    counted = []
    for number in (1, 3):
        for _ in range(number):
            a_claim(lines_on(a_booking(), "1.00", "2.00"))
        recount_budgets()
        with CaptureQueriesContext(connection) as statements:
            recount_budgets()
        counted.append(len(statements))
    assert counted[0] == counted[1] <= 9
    assert ServiceBooking.objects.filter(waiting="3.00").count() == 4
    assert not CategoryBudget.objects.exists()


@pytest.mark.django_db
def test_money_that_was_claimed_is_divided_anew_when_periods_are_cut_anew():
    component = a_category_budget(a_pace_plan(), budget=Decimal("300.00"))
    for make, status in ((a_claim, "AwaitingStaffApproval"), (an_invoice, "AgencyClaimed")):
        line = {"category_budget": component, "from_date": dt.date(2026, 9, 30), "price": "10.00"}
        of_days = {**line, "to_date": dt.date(2026, 10, 3), "quantity": "4"}
        make(contact=component.engagement.participant, lines=[line, of_days], funding_status=status)
    recount_budgets()
    for ends, of_each_bill in {
        ("2026-09-30", "2027-06-30"): ("30.00", "30.00"),
        ("2027-06-30",): ("60.00",),
        ("2026-09-30", "2026-10-01", "2027-06-30"): ("30.00", "10.00", "20.00"),
    }.items():
        starts = [day("2026-07-01"), *(day(end) + dt.timedelta(days=1) for end in ends[:-1])]
        rows = [
            {"first_day": first, "last_day": day(last), "released": Decimal(50)}
            for first, last in zip(starts, ends, strict=True)
        ]
        periods = [PeriodDraft(row, row) for row in rows]
        save_periods([PeriodsDraft({"periods": periods}, key=component.pk)], ignore_warnings=True)
        found = [sums(period) for period in component.periods.all()]
        assert found == [amounts(claimed=amount, waiting=amount) for amount in of_each_bill]
