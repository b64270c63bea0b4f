"""A plan that replaces another one: what is copied, which lines move and stay, and that nothing is lost."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.base import clock
from apps.base.drafts import ValidationFailed
from apps.core.models import Change
from apps.engagements.amounts import Amounts
from apps.engagements.models import CategoryBudget, ClientEngagement, FundingPeriod, ServiceBooking
from apps.engagements.plan_copies import PlanTerms
from apps.funding.models import Claim, ClaimLine, InvoiceLine
from apps.funding.services import plan_changes
from apps.funding.services.effects import recount_budgets
from apps.funding.services.invariants import find_money_faults
from apps.funding.services.plan_changes import (
    change_plan,
    choose_successor,
    find_successor,
    move_lines,
    preview_change,
    preview_moves,
)
from apps.funding.services.plan_survey import survey_plan
from apps.funding.services.transitions import apply_transition
from tests.engagements.builders import (
    a_booking,
    a_category_budget,
    a_pace_plan,
    a_plan,
    day,
    sums,
    with_periods,
)
from tests.funding.builders import a_claim, a_claim_file, a_product, a_provider_invoice, an_entry, an_invoice

pytestmark = pytest.mark.django_db

#: The old plan runs from 1 July 2026 to 30 June 2027, the new one from 14 February 2027 for a year.
FIRST, LAST = day("2027-02-14"), day("2028-02-13")
TERMS = PlanTerms(FIRST, LAST, Decimal("900.00"))
BEFORE, AFTER = day("2027-02-13"), FIRST


def an_item(code="01_011_0107_1_1", **columns):
    return an_entry(product=a_product(code=code, **columns))


@pytest.fixture
def entry():
    return an_item()


def line(budget, entry, first, last=None, **columns):
    name = "booking" if isinstance(budget, ServiceBooking) else "category_budget"
    given = {"quantity": "1", "price": "100.00", "entry": entry, **columns}
    return {name: budget, "first_day": first, "last_day": last or first, **given}


def waiting(amount):
    return Amounts(waiting=Decimal(amount))


def is_whole():
    """What holds whatever was done: sums are those of lines, and lines are on plans of their participant."""
    for model, bill in ((ClaimLine, "claim"), (InvoiceLine, "invoice")):
        for each in model.objects.select_related(bill, "booking__engagement", "category_budget__engagement"):
            budget = each.booking or each.category_budget
            whose = getattr(each, bill).contact_id
            assert budget is None or budget.engagement.participant_id == whose
    return (recount_budgets(), list(find_money_faults())) == ((0, 0, 0), [])


def placed(lines):
    return [(each.bill_number, each.number, each.before, each.after) for each in lines]


# --- the new plan ---------------------------------------------------------------------------------------


def test_the_new_plan_begins_with_the_budgets_of_the_old_one_and_closes_it():
    plan = a_plan(is_agency_managed=True, booking_start_date=day("2026-07-01"))
    a_booking(plan, category=1, budget=Decimal("600.00"), booking_number="SB-1", management_type="Agency")
    a_booking(plan, category=15, support_item="15_056_0128_1_3", used_elsewhere=Decimal("5.00"))
    change = change_plan(plan.pk, TERMS)
    plan.refresh_from_db()
    new = ClientEngagement.objects.get(pk=change.new.pk)
    assert (plan.no_active_plan_from_date, plan.last_day) == (FIRST, BEFORE)
    assert (new.plan_start_date, new.plan_end_date, new.total_budget_amount) == TERMS
    assert (new.participant, new.is_agency_managed, new.is_plan_managed) == (plan.participant, True, True)
    assert (new.no_active_plan_from_date, new.booking_start_date) == (None, None)
    columns = ("category__number", "support_item", "budget", "used_elsewhere", "booking_number")
    assert list(new.bookings.order_by("category__number").values_list(*columns, "management_type")) == [
        (1, None, Decimal("600.00"), 0, None, "Agency"),
        (15, "15_056_0128_1_3", Decimal("100.00"), 0, None, "Plan"),
    ]
    assert (change.is_new, find_successor(plan), change.allocated) == (True, new, Decimal("700.00"))


def test_days_of_bookings_move_with_the_plan():
    plan = a_plan()
    for start, end in [
        ("2026-07-01", "2026-12-31"),
        ("2027-01-01", "2027-06-30"),
        ("2026-08-11", "2026-08-20"),
    ]:
        a_booking(plan, booking_start_date=day(start), booking_end_date=day(end))
    change = change_plan(plan.pk, TERMS)
    days = change.new.bookings.values_list("booking_start_date", "booking_end_date")
    assert sorted(days) == [
        (FIRST, day("2027-08-13")),
        (day("2027-03-27"), day("2027-04-05")),
        (day("2027-08-14"), LAST),
    ]


def test_a_booking_that_would_begin_after_a_shorter_plan_is_not_copied():
    plan = a_plan()
    a_booking(plan, booking_start_date=day("2027-01-01"), booking_end_date=day("2027-06-30"))
    kept = a_booking(plan, booking_start_date=day("2026-07-01"), booking_end_date=day("2026-12-31"))
    change = change_plan(plan.pk, TERMS._replace(last_day=day("2027-05-31")))
    assert [each.budget for each in change.copies if each.is_copied] == [kept]
    assert list(change.new.bookings.values_list("booking_end_date", flat=True)) == [day("2027-05-31")]


def test_components_are_copied_with_their_periods_from_the_new_first_day():
    plan = a_pace_plan(endorsement_date=day("2026-07-05"))
    budget = a_category_budget(
        plan, 1, budget=Decimal("120.00"), component_name="Flexible core", further_categories="02 03"
    )
    with_periods(
        budget,
        ("2026-07-01", "2026-09-30", "30.00"),
        ("2026-10-01", "2026-12-31", "40.00"),
        ("2027-01-01", "2027-06-30", "50.00"),
    )
    a_category_budget(plan, 15, stated_items="15_056_0128_1_3", management_type="Self")
    change = change_plan(plan.pk, TERMS)
    new = CategoryBudget.objects.get(engagement=change.new, component_name="Flexible core")
    assert new.further_categories == "02 03"
    assert list(new.periods.values_list("first_day", "last_day", "released")) == [
        (FIRST, day("2027-05-13"), Decimal("30.00")),
        (day("2027-05-14"), day("2027-08-13"), Decimal("40.00")),
        (day("2027-08-14"), LAST, Decimal("50.00")),
    ]
    other = CategoryBudget.objects.get(engagement=change.new, category__number=15)
    assert (other.stated_items, other.periods.count()) == ("15_056_0128_1_3", 0)
    assert other.management_type == "Self"
    assert change.new.endorsement_date == day("2026-07-05")


def test_periods_that_began_before_the_old_plan_are_one_from_the_first_day_of_the_new_one():
    plan = a_pace_plan()
    with_periods(
        a_category_budget(plan, 1),
        ("2026-05-01", "2026-06-14", "60.00"),
        ("2026-06-15", "2027-06-30", "40.00"),
    )
    change = change_plan(plan.pk, TERMS)
    periods = FundingPeriod.objects.filter(category_budget__engagement=change.new)
    assert list(periods.values_list("first_day", "last_day", "released")) == [
        (FIRST, LAST, Decimal("100.00"))
    ]


def test_a_shorter_plan_releases_with_its_last_period_what_came_later():
    plan = a_pace_plan()
    with_periods(
        a_category_budget(plan, 1),
        ("2026-07-01", "2026-12-31", "60.00"),
        ("2027-01-01", "2027-03-31", "30.00"),
        ("2027-04-01", "2027-06-30", "10.00"),
    )
    change = change_plan(plan.pk, TERMS._replace(last_day=day("2027-08-31")))
    periods = FundingPeriod.objects.filter(category_budget__engagement=change.new)
    assert list(periods.values_list("first_day", "last_day", "released")) == [
        (FIRST, day("2027-08-13"), Decimal("60.00")),
        (day("2027-08-14"), day("2027-08-31"), Decimal("40.00")),
    ]


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        (TERMS._replace(first_day=day("2026-07-01")), [("OutOfOrder", "first_day")]),
        (TERMS._replace(first_day=day("2026-06-30")), [("OutOfOrder", "first_day")]),
        (TERMS._replace(last_day=BEFORE), [("OutOfOrder", "last_day")]),
        (TERMS._replace(last_day=day("2207-02-13")), [("OutOfRange", "last_day")]),
        (
            TERMS._replace(first_day=day("2127-02-14"), last_day=day("2128-02-13")),
            [("OutOfRange", "first_day")],
        ),
        (TERMS._replace(total=Decimal("-0.01")), [("OutOfRange", "total")]),
    ],
)
def test_impossible_terms_are_refused_on_their_fields(terms, found):
    plan = a_plan()
    with pytest.raises(ValidationFailed) as refusal:
        change_plan(plan.pk, terms)
    assert [(issue.code, issue.field) for _, issue in refusal.value.issues] == found
    assert ClientEngagement.objects.get() == plan
    assert find_successor(plan) is None


@pytest.mark.parametrize(
    ("start", "end", "field"),
    [("2027-07-01", "2028-06-30", "last_day"), ("2027-01-01", "2027-03-01", "first_day")],
)
def test_a_third_plan_of_the_same_days_is_refused_and_named(start, end, field):
    plan = a_plan()
    a_plan(participant=plan.participant, plan_start_date=day(start), plan_end_date=day(end))
    with pytest.raises(ValidationFailed, match="Another plan of the participant runs from") as refusal:
        change_plan(plan.pk, TERMS)
    assert [(issue.code, issue.field) for _, issue in refusal.value.issues] == [("PlansOverlap", field)]


def test_an_archived_plan_of_the_same_days_is_no_obstacle_and_an_archived_plan_is_not_replaced(at):
    at("2026-12-01 09:00")
    plan = a_plan()
    a_plan(
        participant=plan.participant,
        plan_start_date=FIRST - dt.timedelta(days=9),
        archive_date=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    )
    assert change_plan(plan.pk, TERMS).is_new
    archived = a_plan(archive_date=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    with pytest.raises(ValidationFailed, match="is archived"):
        change_plan(archived.pk, TERMS)


def test_a_plan_that_ended_before_keeps_its_end():
    plan = a_plan(no_active_plan_from_date=day("2027-01-10"))
    change = change_plan(plan.pk, TERMS)
    plan.refresh_from_db()
    assert plan.no_active_plan_from_date == day("2027-01-10")
    assert find_successor(plan) == change.new


@pytest.mark.parametrize(("first_day", "follows"), [(9, False), (10, False), (11, True)])
def test_a_plan_that_ended_on_its_first_day_is_followed_by_one_that_begins_later(first_day, follows):
    day = dt.date(2026, 1, 1)
    begin, end = day.replace(day=10), day.replace(day=9)
    old = ClientEngagement(plan_start_date=begin, no_active_plan_from_date=end)
    other = ClientEngagement(plan_start_date=day.replace(day=first_day))
    assert choose_successor(old, [other]) is (other if follows else None)


def test_what_is_warned_of_in_the_old_plan_does_not_stop_the_new_one():
    plan = a_plan(is_plan_managed=False)  # nobody is said to manage it
    assert change_plan(plan.pk, TERMS).is_new


def test_a_plan_may_follow_one_that_ran_to_its_end():
    plan = a_plan()
    change = change_plan(plan.pk, PlanTerms(day("2027-07-01"), day("2028-06-30"), Decimal(0)))
    assert find_successor(ClientEngagement.objects.get(pk=plan.pk)) == change.new


# --- lines ----------------------------------------------------------------------------------------------


def test_lines_from_the_first_day_on_move_and_both_sums_change(entry):
    plan = a_plan()
    booking = a_booking(plan, category=1)
    claim = a_claim(
        [
            line(booking, entry, BEFORE, price="10.00"),
            line(booking, entry, AFTER, price="20.00"),
            line(booking, entry, AFTER, day("2027-02-20"), price="3.00"),
        ],
        contact=plan.participant,
        start_date=BEFORE,
        end_date=LAST,
    )
    invoice = an_invoice(
        [line(booking, entry, AFTER, price="40.00")], contact=plan.participant, funding_status="Approved"
    )
    recount_budgets()
    stamp = claim.modify_date
    clock.reset_now()
    change = change_plan(plan.pk, TERMS)
    new = change.new.bookings.get()
    assert (sums(booking), sums(new)) == (waiting("10.00"), waiting("63.00"))
    assert placed(change.moved) == [
        (str(claim), 2, str(booking), str(new)),
        (str(claim), 3, str(booking), str(new)),
        (str(invoice), 1, str(booking), str(new)),
    ]
    assert (change.moved_total, change.staying, is_whole()) == (Decimal("63.00"), [], True)
    claim.refresh_from_db()
    assert claim.modify_date > stamp
    entry = Change.objects.get(record_type="funding.claim", record_key=str(claim.pk), kind="Changed")
    label = "01 Assistance with Daily Life"
    budgets = [f"{label}, plan from 01 Jul 2026", f"{label}, plan from 14 Feb 2027"]
    assert entry.differences == {"Budget of line 2": budgets, "Budget of line 3": budgets}


def test_funding_periods_of_both_plans_count_by_days(entry):
    plan = a_pace_plan()
    budget = with_periods(
        a_category_budget(plan, 1),
        ("2026-07-01", "2026-12-31", "50.00"),
        ("2027-01-01", "2027-06-30", "50.00"),
    )
    # Ten days of 1.00, of which five lie in each period of the new component.
    first = day("2027-08-09")
    a_claim(
        [line(budget, entry, first, day("2027-08-18"), price="10.00")],
        contact=plan.participant,
        start_date=first,
        end_date=day("2027-08-18"),
    )
    recount_budgets()
    change = change_plan(plan.pk, TERMS)
    new = change.new.category_budgets.get()
    assert sums(new) == waiting("10.00")
    assert [sums(period) for period in new.periods.all()] == [waiting("5.00"), waiting("5.00")]
    assert [sums(period) for period in budget.periods.all()] == [Amounts(), Amounts()]
    assert is_whole()


STAYS = [
    ("AgencyClaimed", "It is “Claimed from the agency”: its money was asked for already."),
    (
        "SubmittedToPaymentProvider",
        "It is “Submitted to the payment provider”: its money was asked for already.",
    ),
    (
        "PaymentProviderCancellationRequested",
        "It is “Cancellation requested”: its money was asked for already.",
    ),
]


@pytest.mark.parametrize(("status", "reason"), STAYS)
def test_lines_whose_money_was_asked_for_stay_and_say_why(entry, status, reason):
    plan = a_plan()
    booking = a_booking(plan)
    a_claim([line(booking, entry, AFTER)], contact=plan.participant, funding_status=status)
    recount_budgets()
    before = sums(booking)
    change = change_plan(plan.pk, TERMS)
    assert ([each.reason for each in change.staying], change.moved) == ([reason], [])
    assert (sums(booking), change.staying_total, is_whole()) == (before, Decimal("100.00"), True)


def test_what_was_paid_of_a_line_stays_on_its_budget(entry):
    plan = a_plan()
    booking = a_booking(plan)
    lines = [line(booking, entry, AFTER), line(booking, entry, AFTER)]
    claim = a_claim(lines, contact=plan.participant, funding_status="AgencyClaimed")
    recount_budgets()
    apply_transition(Claim, [claim.pk], "pay-in-part", amounts={claim.pk: Decimal("40.00")})
    change = change_plan(plan.pk, TERMS)
    assert [each.reason for each in change.staying] == [
        "40.00 was paid of it, and stays on the budget it was paid from.",
        "It is “Partially paid by the agency”: its money was asked for already.",
    ]
    # The gap waits with a new claim, of which nothing is paid: that moves.
    apply_transition(Claim, [claim.pk], "resubmit-gap")
    moved = move_lines(plan.pk)
    assert [each.total for each in moved.moved] == [Decimal("60.00"), Decimal("100.00")]
    assert [each.number for each in moved.staying] == [1]  # the other is asked for anew
    assert sums(booking) == Amounts(claimed=Decimal("40.00"), paid=Decimal("40.00"))
    assert sums(moved.new.bookings.get()) == waiting("160.00")
    assert is_whole()


@pytest.mark.parametrize(("sent", "moves"), [("NotSent", True), ("Sent", False)])
def test_lines_in_a_claim_file_move_until_it_is_sent(entry, sent, moves):
    plan = a_plan()
    booking = a_booking(plan)
    claim = a_claim([line(booking, entry, AFTER)], contact=plan.participant, funding_status="AgencyClaimed")
    a_claim_file([claim], status=sent)
    recount_budgets()
    change = change_plan(plan.pk, TERMS)
    assert (bool(change.moved), bool(change.staying)) == (moves, not moves)
    claimed = Amounts(claimed=Decimal("100.00"))
    new = change.new.bookings.get()
    assert (sums(booking), sums(new)) == ((Amounts(), claimed) if moves else (claimed, Amounts()))
    assert is_whole()


@pytest.mark.parametrize("status", ["PaymentProviderRejected", "PaymentProviderCancelled"])
def test_a_refused_line_moves_so_that_its_resubmission_is_on_the_plan_of_its_day(entry, status):
    plan = a_plan()
    booking = a_booking(plan)
    claim = a_claim([line(booking, entry, AFTER)], contact=plan.participant, funding_status=status)
    recount_budgets()
    change = change_plan(plan.pk, TERMS)
    assert ([each.counts for each in change.moved], change.moved_total) == ([False], 0)
    apply_transition(Claim, [claim.pk], "resubmit")
    assert (sums(booking), sums(change.new.bookings.get())) == (Amounts(), waiting("100.00"))
    assert is_whole()


def test_an_archived_claim_that_is_restored_is_on_the_plan_of_its_day(entry):
    plan = a_plan()
    booking = a_booking(plan)
    claim = a_claim([line(booking, entry, AFTER)], contact=plan.participant)
    recount_budgets()
    apply_transition(Claim, [claim.pk], "archive")
    change = change_plan(plan.pk, TERMS)
    assert [each.status for each in change.moved] == ["Archived"]
    assert apply_transition(Claim, [claim.pk], "restore").done
    assert (sums(booking), sums(change.new.bookings.get())) == (Amounts(), waiting("100.00"))
    assert is_whole()


def test_a_line_over_both_plans_is_named_and_not_divided(entry):
    plan = a_plan()
    booking = a_booking(plan)
    a_claim([line(booking, entry, BEFORE, AFTER)], contact=plan.participant)
    recount_budgets()
    change = change_plan(plan.pk, TERMS)
    assert [each.reason for each in change.staying] == [
        "A line over two plans is not divided: it began before 14 Feb 2027."
    ]
    assert (change.moved, sums(booking), is_whole()) == ([], waiting("100.00"), True)


def test_lines_after_the_new_plan_or_of_no_budget_of_it_stay(entry):
    plan = a_plan()
    booking = a_booking(plan, booking_start_date=day("2027-01-01"), booking_end_date=day("2027-06-30"))
    late = a_claim([line(booking, entry, day("2027-06-01"))], contact=plan.participant)
    other = a_claim([line(booking, entry, day("2027-03-01"))], contact=plan.participant)
    recount_budgets()
    change = change_plan(plan.pk, TERMS._replace(last_day=day("2027-05-31")))
    reasons = {each.bill: each.reason for each in change.staying}
    assert reasons == {
        late.pk: "No plan covers 01 Jun 2027.",
        other.pk: "No budget of the plan from 14 Feb 2027 is for it.",
    }
    assert (sums(booking), is_whole()) == (waiting("200.00"), True)


def test_a_line_without_a_budget_gets_that_of_the_plan_of_its_day(entry):
    plan = a_plan()
    a_booking(plan)
    claim = a_claim(
        [{"entry": entry, "quantity": "1", "first_day": LAST, "last_day": LAST}], contact=plan.participant
    )
    recount_budgets()
    change = change_plan(plan.pk, TERMS)
    assert placed(change.moved) == [(str(claim), 1, "", str(change.new.bookings.get()))]
    assert (sums(change.new.bookings.get()), is_whole()) == (waiting("70.00"), True)


def test_lines_of_others_stay(entry):
    plan, other = a_plan(), a_plan()
    booking = a_booking(other)
    a_claim([line(booking, entry, AFTER)], contact=other.participant)
    recount_budgets()
    a_booking(plan)
    change = change_plan(plan.pk, TERMS)
    assert (change.moved, change.staying, sums(booking)) == ([], [], waiting("100.00"))


# --- again ----------------------------------------------------------------------------------------------


def test_a_plan_is_replaced_once(entry):
    plan = a_plan()
    booking = a_booking(plan)
    a_claim([line(booking, entry, AFTER)], contact=plan.participant)
    recount_budgets()
    first = change_plan(plan.pk, TERMS)
    lines = Change.objects.count()
    for terms in (TERMS, TERMS._replace(first_day=day("2027-03-01"))):
        again = change_plan(plan.pk, terms)
        assert (again.is_new, again.new, again.moved) == (False, first.new, [])
    assert (move_lines(plan.pk).moved, Change.objects.count()) == ([], lines)
    assert ClientEngagement.objects.count() == 2


def test_the_new_plan_is_replaced_in_its_turn_with_what_moved_to_it(entry):
    plan = a_plan()
    booking = a_booking(plan)
    a_claim([line(booking, entry, day("2027-06-01"))], contact=plan.participant)
    recount_budgets()
    second = change_plan(plan.pk, TERMS).new
    third = change_plan(second.pk, TERMS._replace(first_day=day("2027-05-01"), last_day=day("2028-04-30")))
    assert sums(third.new.bookings.get()) == waiting("100.00")
    plan.refresh_from_db()
    assert (find_successor(plan), is_whole()) == (second, True)


def test_a_preview_says_the_same_and_stores_nothing(entry):
    plan = a_plan()
    booking = a_booking(plan)
    a_claim([line(booking, entry, AFTER)], contact=plan.participant)
    recount_budgets()
    count = Change.objects.count()
    shown = preview_change(plan.pk, TERMS)
    assert ClientEngagement.objects.get().no_active_plan_from_date is None
    assert (ServiceBooking.objects.get(), sums(booking)) == (booking, waiting("100.00"))
    assert Change.objects.count() == count
    done = change_plan(plan.pk, TERMS)
    assert (placed(shown.moved), shown.allocated) == (placed(done.moved), done.allocated)
    claim = a_claim([line(booking, entry, AFTER)], contact=plan.participant)
    recount_budgets()
    assert [each.bill for each in preview_moves(plan.pk).moved] == [claim.pk]
    assert [each.bill for each in move_lines(plan.pk).moved] == [claim.pk]
    assert is_whole()


def test_lines_are_not_moved_of_a_plan_that_was_not_replaced():
    with pytest.raises(ValidationFailed, match="not replaced"):
        move_lines(a_plan().pk)


def test_bills_that_are_entered_before_the_plans_are_locked_are_locked_with_a_second_try(entry, monkeypatch):
    plan = a_plan()
    booking = a_booking(plan)
    lock = plan_changes.lock_provider_invoices
    late = []

    def enter_one_meanwhile(claims):
        if not late:
            late.append(a_claim([line(booking, entry, AFTER)], contact=plan.participant))
        return lock(claims)

    monkeypatch.setattr(plan_changes, "lock_provider_invoices", enter_one_meanwhile)
    monkeypatch.setattr(plan_changes, "ATTEMPTS", 1)
    with pytest.raises(plan_changes.Conflict):
        change_plan(plan.pk, TERMS)


# --- what is open ---------------------------------------------------------------------------------------


def test_what_is_open_of_a_plan(entry):
    plan, other = a_plan(), a_plan()
    booking = a_booking(plan)
    two = [line(booking, entry, BEFORE), line(booking, entry, BEFORE)]
    a_claim(two, contact=plan.participant, claim_number="W-1")
    a_claim(two[:1], contact=plan.participant, funding_status="AgencyClaimed", claim_number="U-1")
    a_claim(two[:1], contact=plan.participant, funding_status="PaymentProviderRejected")
    a_claim([line(a_booking(other), entry, BEFORE)], contact=other.participant)
    a_claim(
        [line(booking, entry, BEFORE, amount_paid=Decimal("30.00"))],
        contact=plan.participant,
        funding_status="AgencyPartiallyPaid",
        claim_number="U-2",
    )
    a_provider_invoice(contact=plan.participant, invoice_total=Decimal("12.50"))
    a_provider_invoice(contact=plan.participant)
    a_provider_invoice(contact=plan.participant, approval_status="Rejected")
    a_provider_invoice(contact=other.participant)
    survey = survey_plan(plan)
    assert [(each.number, each.amount) for each in survey.waiting.bills] == [("W-1", Decimal("200.00"))]
    assert [(each.number, each.amount) for each in survey.unpaid.bills] == [
        ("U-1", Decimal("100.00")),
        ("U-2", Decimal("70.00")),
    ]
    assert (survey.waiting.total, survey.unpaid.total) == (Decimal("200.00"), Decimal("170.00"))
    assert (len(survey.unclaimed), survey.unclaimed_total) == (2, Decimal("12.50"))
