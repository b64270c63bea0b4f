"""Random walks in which plans are replaced between entries, approvals, payments and resubmissions."""

import datetime as dt
from decimal import Decimal

from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    precondition,
    rule,
)

from apps.base.drafts import ValidationFailed
from apps.base.money import ZERO
from apps.engagements.models import CategoryBudget, ClientEngagement, ServiceBooking
from apps.engagements.plan_copies import PlanTerms
from apps.funding.models import Claim, ClaimLine, Invoice, InvoiceLine
from apps.funding.services.plan_changes import change_plan, find_successor, move_lines, preview_change
from apps.funding.services.transitions import apply_transition, list_transitions
from apps.funding.statuses import UNCLAIMED
from tests.engagements.builders import (
    START,
    a_booking,
    a_category_budget,
    a_pace_plan,
    a_plan,
    with_periods,
)
from tests.funding.bodies import (
    a_claim_body,
    a_full_provider_invoice,
    a_line_body,
    a_priced_entry,
    an_invoice_body,
    submitted,
)
from tests.funding.claim_files import claimed_lines
from tests.funding.walks import Office, walk

LINES = ((ClaimLine, "claim"), (InvoiceLine, "invoice"))
#: After the start of the first plans.
day_numbers = st.integers(0, 500)
which = st.integers(0, 11)


def after_start(number):
    return START + dt.timedelta(days=number)


class PlanChanges(Office):
    """Two participants, one of whose plans is of PACE with funding periods, and what is claimed of them."""

    @initialize()
    def open_office(self):
        self.open()
        plan, pace = a_plan(), a_pace_plan()
        a_booking(plan, category=9, budget=Decimal(500))
        a_booking(plan, category=9, support_item="09_111_0116_6_3", budget=Decimal(50))
        budget = a_category_budget(pace, 9, budget=Decimal(500))
        with_periods(budget, ("2026-07-01", "2026-12-31", "200.00"), ("2027-01-01", "2027-06-30", "300.00"))
        self.participants = [plan.participant, pace.participant]
        self.entries = [a_priced_entry("10.00"), a_priced_entry("33.3333")]

    def newest_plan(self, participant):
        plans = ClientEngagement.objects.filter(participant=self.participants[participant])
        return plans.order_by("-plan_start_date").first()

    # --- what is done

    @precondition(lambda self: len(self.keys) < 12)
    @rule(
        participant=st.integers(0, 1),
        kind=st.sampled_from([Claim, Claim, Invoice]),
        days=st.lists(st.tuples(day_numbers, st.sampled_from([0, 0, 9])), min_size=1, max_size=3),
        product=st.integers(0, 1),
    )
    def enter(self, participant, kind, days, product):
        """A bill whose lines are of any days, one or ten of them."""
        contact, entry = self.participants[participant], self.entries[product]
        lines = [
            a_line_body(
                entry,
                Quantity=1 + at,
                FromDate=after_start(first).isoformat(),
                ToDate=after_start(first + more).isoformat(),
            )
            for at, (first, more) in enumerate(days)
        ]
        numbers = [number for first, more in days for number in (first, first + more)]
        of_bill = {
            "StartDate": after_start(min(numbers)).isoformat(),
            "EndDate": after_start(max(numbers)).isoformat(),
            "LineItems": lines,
        }
        if kind is Invoice:
            keys = submitted("invoice", an_invoice_body(contact, self.staff, **of_bill))
        else:
            invoice = a_full_provider_invoice(contact=contact, provider=self.provider)
            keys = submitted("claim", a_claim_body(invoice, self.staff, **of_bill))
        self.keys += [(kind, key) for key in keys]

    @precondition(lambda self: self.keys)
    @rule(number=which, steps=st.lists(which, min_size=1, max_size=3), percent=st.integers(1, 99))
    def move(self, number, steps, percent):
        """Transitions that the bill may take, one after the other."""
        for step in steps:
            bill = self.bill(number)
            rows = list_transitions(bill)
            if rows:
                self.take(bill, rows[step % len(rows)], percent)

    def take(self, bill, row, percent):
        amounts = None
        if row.asks_for_amount:
            known = bill.paid_itself if row.takes_back else bill.outstanding
            amounts = {bill.pk: (known * percent / 100).quantize(Decimal("0.01"))}
        result = apply_transition(type(bill), [bill.pk], row.name, reason="Because", amounts=amounts)
        self.keys += [(type(bill), key) for key in result.resubmissions.values()]

    @precondition(lambda self: self.keys)
    @rule(number=which)
    def put_into_a_file(self, number):
        bill = self.bill(number)
        is_claimed = bill.funding_status == "AgencyClaimed" and not bill.is_archived
        if is_claimed and not bill.file_lines.filter(is_withdrawn=False).exists():
            claimed_lines(bill)

    @rule(
        participant=st.integers(0, 1),
        days=st.integers(1, 200),
        length=st.integers(20, 400),
        preview=st.booleans(),
    )
    def replace(self, participant, days, length, preview):
        """The newest plan by another one, from some day after its start on."""
        plan = self.newest_plan(participant)
        first = plan.plan_start_date + dt.timedelta(days=days)
        terms = PlanTerms(first, first + dt.timedelta(days=length), Decimal(600))
        before, counted = self.budgets_of_lines(), self.counted()
        if preview:
            shown = preview_change(plan.pk, terms)
            assert (self.budgets_of_lines(), self.counted()) == (before, counted)
            assert self.newest_plan(participant) == plan
        change = change_plan(plan.pk, terms)
        assert change.is_new
        assert not preview or len(shown.moved) == len(change.moved)
        self.check(change, before, counted)
        again = change_plan(plan.pk, terms)
        assert (again.is_new, again.new) == (False, change.new)

    @rule(participant=st.integers(0, 1), number=which)
    def move_later(self, participant, number):
        plans = list(ClientEngagement.objects.filter(participant=self.participants[participant]))
        plan = plans[number % len(plans)]
        before, counted = self.budgets_of_lines(), self.counted()
        if find_successor(plan) is None:
            try:
                move_lines(plan.pk)
            except ValidationFailed:
                return
            raise AssertionError("its lines moved, and it was not replaced")
        self.check(move_lines(plan.pk), before, counted)
        assert move_lines(plan.pk).moved == []

    # --- what holds

    def budgets_of_lines(self):
        return {
            line.pk: line.booking_id or line.category_budget_id
            for model, _ in LINES
            for line in model.objects.all()
        }

    def counted(self):
        """What all budgets come to, with their periods' sums."""
        budgets = [*ServiceBooking.objects.all(), *CategoryBudget.objects.all()]
        return sum((each.claimed + each.waiting for each in budgets), ZERO)

    def check(self, change, before, counted):
        """No line lost its budget, and the sums are the same but for lines that had none."""
        after = self.budgets_of_lines()
        assert after.keys() == before.keys()
        assert all(after[key] is not None for key, budget in before.items() if budget is not None)
        changed = {key for key in after if after[key] != before[key]}
        assert len(changed) == len(change.moved)
        gained = sum((line.total for line in change.moved if line.counts and not line.before), ZERO)
        assert self.counted() == counted + gained
        named = {(line.bill, line.number) for line in change.staying}
        for model, name in LINES:
            rows = model.objects.filter(
                **{
                    f"{name}__contact": change.new.participant_id,
                    f"{name}__archive_date": None,
                    f"{name}__funding_status__in": UNCLAIMED,
                },
                amount_paid=0,
                first_day__gte=change.new.plan_start_date,
            )
            for line in rows.select_related("booking__engagement", "category_budget__engagement"):
                budget = line.booking or line.category_budget
                is_right = budget is not None and budget.engagement.covers(line.first_day)
                assert is_right or (getattr(line, f"{name}_id"), line.position + 1) in named

    @invariant()
    def lines_are_on_plans_of_their_participant(self):
        if not hasattr(self, "keys"):
            return
        for model, name in LINES:
            for line in model.objects.select_related(
                name, "booking__engagement", "category_budget__engagement"
            ):
                budget = line.booking or line.category_budget
                whose = getattr(line, name).contact_id
                assert budget is None or budget.engagement.participant_id == whose


def test_wherever_plans_are_replaced_nothing_is_lost(db):
    walk(PlanChanges, steps=20)
