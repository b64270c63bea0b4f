"""Random walks through claims, invoices and provider invoices: after each step their money is right.

Requests, forms and commands call the services that are called here.
"""

import datetime as dt
import json
from collections import defaultdict
from decimal import Decimal
from uuid import UUID

from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    precondition,
    rule,
)

from apps.base import clock
from apps.base.declaration.resource import V2_1, BodyKind
from apps.base.declaration.service import get_service
from apps.base.drafts import ValidationFailed
from apps.base.errors import Conflict, InvalidRecords
from apps.base.money import ZERO
from apps.core import archive
from apps.core.models import Subscriber
from apps.engagements.drafts import PeriodDraft, PeriodsDraft
from apps.engagements.models import ClientEngagement, ServiceBooking
from apps.engagements.services import save_periods
from apps.funding.choices import ApprovalAction
from apps.funding.drafts import ProviderInvoiceDraft
from apps.funding.models import (
    NOT_RESUBMITTED,
    Claim,
    ClaimLine,
    Invoice,
    InvoiceLine,
    ProviderInvoice,
    StatusMove,
)
from apps.funding.services.provider_invoices import archive_provider_invoices, update_provider_invoices
from apps.funding.services.transitions import apply_transition, list_transitions
from apps.funding.validation.transitions import TransitionName, transition_named
from apps.odata.query.options import EXPAND_ALL
from apps.odata.read.reader import JsonReader
from apps.odata.write.dispatch import Target, update
from apps.people.merging import merge, undo_merge
from apps.people.models import Contact
from tests.engagements.builders import a_booking, a_category_budget, a_pace_plan, a_plan
from tests.engagements.builders import day as day_of
from tests.funding.bodies import (
    a_claim_body,
    a_full_provider_invoice,
    a_line_body,
    a_priced_entry,
    an_invoice_body,
    submitted,
)
from tests.funding.builders import act
from tests.funding.claim_files import claimed_lines
from tests.funding.walks import Office, walk
from tests.people.builders import a_contact

CENT = Decimal("0.01")
LINE_MODELS = {Claim: ClaimLine, Invoice: InvoiceLine}

quantities = st.sampled_from(["0.01", "1", "2.5", "3"])
prices = st.sampled_from(["0.01", "10", "33.3333", "70"])
days = st.sampled_from(["2025-07-07", "2025-07-09", "2025-07-13", "2025-08-01"])
which = st.integers(0, 11)

PAY_IN_PART = transition_named("pay-in-part")
RESUBMISSIONS = [TransitionName.RESUBMIT, TransitionName.RESUBMIT_GAP]


class Money(Office):
    """An office with two participants, three products, two budgets and a claim; what is done there.

    One plan has a booking, the other is a PACE plan with a component whose funding periods are cut anew.

    ``given`` is what the payments of the walk came to, without what was taken back. ``paid`` is what was paid
    of each line before a step, ``counted`` what of it counts on each booking; ``lost`` are the lines of which
    money was taken back by the step.
    """

    @initialize(amounts=st.tuples(quantities, prices), resubmitted=st.none() | st.sampled_from(RESUBMISSIONS))
    def open_office(self, amounts, resubmitted):
        self.open()
        Subscriber.objects.update_or_create(pk=1, defaults={"payment_provider_module": True})
        Subscriber.clear_cache()
        self.participants = [a_contact(), a_contact()]
        for number, participant in enumerate(self.participants):
            plan = {"participant": participant, "plan_start_date": day_of(f"2025-07-0{number + 1}")}
            if number == 0:
                a_booking(a_plan(**plan), category=9, budget=Decimal(5000))
            else:
                self.component = a_category_budget(a_pace_plan(**plan), 9, budget=Decimal(5000))
                self.cut_periods([7])
        self.entries = [a_priced_entry(amount) for amount in ("10.00", "33.3333", "70.00")]
        self.given, self.paid, self.counted = ZERO, {}, {}
        self.merged, self.may_count_less, self.lost, self.shown = False, False, set(), {}
        self.enter(0, [amounts, ("1", "20")], 0, "claim")
        if resubmitted:
            self.pay_in_part_and_resubmit(0, 60, resubmitted)

    def teardown(self):
        super().teardown()
        Subscriber.clear_cache()

    # --- what there is

    def editable_bill(self, number):
        """One that may be changed, where there is one; more often than others one with money paid."""
        bills = [self.bill(at) for at in range(len(self.keys))]
        editable = [bill for bill in bills if bill.is_editable] or bills
        paid = [bill for bill in editable if bill.amount_paid]
        chosen = paid if paid and number % 2 else editable
        return chosen[number % len(chosen)]

    def line_body(self, product, **members):
        return a_line_body(self.entries[product % len(self.entries)], **members)

    def note(self, model, keys):
        self.keys += [(model, key) for key in keys]

    # --- entering

    @precondition(lambda self: len(self.keys) < 8)
    @rule(
        product=which,
        amounts=st.lists(st.tuples(quantities, prices), min_size=1, max_size=2),
        participant=st.integers(0, 1),
        kind=st.sampled_from(["claim", "reusable", "again", "invoice"]),
    )
    def enter(self, product, amounts, participant, kind):
        """A claim on a new provider invoice, or on one that has a claim; or an invoice with a credit."""
        lines = [self.line_body(product, Quantity=float(one), Price=float(two)) for one, two in amounts]
        contact = self.participants[participant]
        if kind == "invoice":
            lines += [self.line_body(product, Quantity=0.01, Price=0.5, IsCreditItem=True)]
            names = {"InvoiceClaimType": ["InvoiceToAgency", "InvoiceToClient"][product % 2]}
            body = an_invoice_body(contact, self.staff, LineItems=lines, **names)
            self.note(Invoice, submitted("invoice", body))
            return
        earlier = self.bill(product) if kind == "again" else None
        if isinstance(earlier, Claim):
            provider_invoice = earlier.provider_invoice
        else:
            provider_invoice = a_full_provider_invoice(
                contact=contact, provider=self.provider, is_reusable=kind == "reusable"
            )
        body = a_claim_body(provider_invoice, self.staff, LineItems=lines)
        self.note(Claim, self.tried(submitted, "claim", body) or [])

    # --- changing

    def tried(self, service, *arguments, **options):
        """What a service returns; ``None`` when it refuses."""
        try:
            with transaction.atomic():
                return service(*arguments, **options)
        except (ValidationFailed, InvalidRecords, Conflict):
            return None

    def sent(self, bill, body, kind):
        entity_set = get_service(V2_1).by_model[type(bill)]
        target = Target(entity_set, bill.pk, type(bill).objects.all(), None)
        self.tried(update, target, json.dumps(body).encode(), kind, ignore_warnings=True)

    @rule(
        number=which,
        at=st.integers(0, 1),
        what=st.sampled_from(
            ["Quantity", "Price", "both", "FromDate", "ToDate", "Product", "credit", "gone", "order"]
        ),
        amounts=st.tuples(quantities, prices),
        day=days,
        product=which,
        whole=st.booleans(),
    )
    def change_a_line(self, number, at, what, amounts, day, product, whole):
        """By PATCH, or by PUT of the whole bill; the other lines stay."""
        bill = self.editable_bill(number)
        lines = [self.stored_line(line, whole) for line in bill.line_items.order_by("position")]
        changed = lines[at % len(lines)]
        quantity, price = map(float, amounts)
        if what == "gone":
            lines.remove(changed)
            lines = lines or [self.line_body(product)]
        elif what == "order":
            lines.reverse()
        elif what == "credit":
            changed["IsCreditItem"] = True
        elif what == "Product":
            changed |= {**self.line_body(product), "Quantity": 1, "Price": 5000}
        elif what in ("FromDate", "ToDate"):
            changed[what] = day
        else:
            changed |= {"Quantity": quantity} if what != "Price" else {}
            changed |= {"Price": price} if what != "Quantity" else {}
        body = {"LineItems": lines}
        if whole:
            of_type = a_claim_body if isinstance(bill, Claim) else an_invoice_body
            parent = bill.provider_invoice if isinstance(bill, Claim) else bill.contact
            body = of_type(parent, self.staff, LineItems=lines)
        self.sent(bill, body, BodyKind.WHOLE if whole else BodyKind.PARTIAL)

    def stored_line(self, line, whole):
        body = {"LineItemGuid": str(line.pk)}
        if whole:
            body |= {"Quantity": float(line.quantity), "Price": float(line.price)}
            body |= {"PriceBook": {"PriceBookGuid": str(line.price_book_id)}}
            body |= {"Product": {"ProductGuid": str(line.product_id)}}
            body |= {"IsCreditItem": getattr(line, "is_credit_item", None)}
        return body

    @rule(
        number=which,
        other=which,
        member=st.sampled_from(
            ["StartDate", "EndDate", "DueDate", "ContactGuid", "InvoiceClaimTypeId", "ProviderInvoiceGuid"]
        ),
        day=days,
    )
    def change_a_member(self, number, other, member, day):
        """A day, the participant, who is billed; or the provider invoice: another claim's, or a new one."""
        bill, second = self.editable_bill(number), self.bill(other)
        value = day
        if member == "ContactGuid":
            value = str(self.participants[other % 2].pk)
        elif member == "InvoiceClaimTypeId":
            value = ["InvoiceToAgency", "InvoiceToClient"][other % 2]
        elif member == "ProviderInvoiceGuid":
            is_new = not isinstance(second, Claim) or second.pk == bill.pk
            contact = {} if other % 2 else {"contact": bill.contact}
            made = a_full_provider_invoice(**contact) if is_new else second.provider_invoice
            value = str(made.pk)
        self.sent(bill, {member: value}, BodyKind.PARTIAL)

    # --- transitions

    @rule(number=which, verb=which, percent=st.integers(1, 99), by_line=st.booleans(), twice=st.booleans())
    def move(self, number, verb, percent, by_line, twice):
        """A transition that the bill may take; asked for twice, it happens once."""
        bill = self.bill(number)
        rows = list_transitions(bill)
        if rows:
            self.take(bill, rows[verb % len(rows)], percent, by_line, 1 + twice)

    @rule(number=which, percent=st.integers(1, 99), name=st.sampled_from(RESUBMISSIONS))
    def pay_in_part_and_resubmit(self, number, percent, name):
        """What a walk would seldom come to by itself."""
        bill = self.bill(number)
        for step in ("approve", "claim", "pay-in-part", name):
            rows = [row for row in list_transitions(self.refreshed(bill)) if row.name == step]
            if rows:
                self.take(bill, rows[0], percent, False, 1)

    @rule(
        number=which,
        percent=st.integers(1, 99),
        further=st.booleans(),
        name=st.sampled_from(["take-back", "ask-to-cancel"]),
        answer=st.sampled_from(["confirm-cancellation", "refuse-cancellation", "take-back"]),
        by_line=st.booleans(),
    )
    def pay_and_take_back(self, number, percent, further, name, answer, by_line):
        """What the agency paid it wants back, in part or altogether."""
        steps = [
            "approve",
            "claim",
            "pay-in-part",
            "pay-further" if further else "pay-the-rest",
            name,
            answer,
        ]
        for step in steps:
            bill = self.bill(number)
            rows = [row for row in list_transitions(bill) if row.name == step]
            if rows:
                self.take(bill, rows[0], percent, by_line, 1)

    @rule(name=st.sampled_from(list(TransitionName)), numbers=st.lists(which, min_size=2, max_size=3))
    def move_many(self, name, numbers):
        """Any transition for several claims at once; those that it does not suit stay as they are."""
        keys = {bill.pk: bill for bill in map(self.bill, numbers) if isinstance(bill, Claim)}
        row = transition_named(name)
        amounts = {key: sum(self.amounts(bill, row).values(), ZERO) for key, bill in keys.items()}
        result = apply_transition(Claim, keys, name, reason="Because")
        self.after(Claim, row, result, {key: amounts[key] for key in result.done})

    @rule(number=which, at=which)
    def agency_pays_what_waited_when_the_gap_was_resubmitted(self, number, at):
        """Of a claim in a file a line is paid short and resubmitted; the others are paid by the old claim."""
        bill = self.bill(number)
        for step in ("approve", "claim"):
            rows = [row for row in list_transitions(self.refreshed(bill)) if row.name == step]
            if rows:
                self.take(bill, rows[0], 100, False, 1)
        open_lines = {key: amount for key, amount in self.amounts(bill, PAY_IN_PART).items() if amount > CENT}
        is_claimed = bill.funding_status == "AgencyClaimed" and not bill.is_archived
        if not is_claimed or len(open_lines) < 2 or bill.file_lines.filter(is_withdrawn=False).exists():
            return
        claimed_lines(bill)
        short, *waiting = open_lines
        self.pay_lines(bill, PAY_IN_PART, {short: CENT})
        result = apply_transition(type(bill), [bill.pk], TransitionName.RESUBMIT_GAP)
        self.after(type(bill), transition_named("resubmit-gap"), result, {})
        assert len(result.done) == 1
        further = transition_named("pay-further")
        refused = apply_transition(
            type(bill), [bill.pk], further.name, amounts={bill.pk: {short: CENT}}
        ).refused
        assert "was resubmitted as" in refused[0].message
        paid = waiting[at % len(waiting)]
        self.pay_lines(bill, further, {paid: open_lines[paid]})

    def pay_lines(self, bill, row, lines):
        result = apply_transition(type(bill), [bill.pk], row.name, amounts={bill.pk: lines})
        assert result.done == [bill.pk]
        self.after(type(bill), row, result, {bill.pk: sum(lines.values(), ZERO)})

    def refreshed(self, bill):
        bill.refresh_from_db()
        return bill

    def take(self, bill, row, percent, by_line, times):
        payment, lines = None, self.amounts(bill, row)
        if row.asks_for_amount:
            # All is taken back now and then; a part that is all that is outstanding is none.
            percent = 100 if row.takes_back and percent > 70 else percent
            lines = {key: (amount * percent / 100).quantize(CENT) for key, amount in lines.items()}
            payment = lines if by_line else sum(lines.values(), ZERO)
        amounts = None if payment is None else {bill.pk: payment}
        for _ in range(times):
            result = apply_transition(type(bill), [bill.pk], row.name, reason="Because", amounts=amounts)
            self.after(type(bill), row, result, dict.fromkeys(result.done, sum(lines.values(), ZERO)))

    def amounts(self, bill, row):
        """By line, what is outstanding; or, to be taken back, what the bill's own entries come to."""
        lines = {line.pk: line.total - line.amount_paid for line in bill.line_items.all()}
        if row.name == "pay-further":  # what was resubmitted is paid with the newer one
            own = bill.line_items.filter(NOT_RESUBMITTED).values_list("pk", flat=True)
            lines = {key: lines[key] for key in own}
        if not row.takes_back:
            return lines
        entries = StatusMove.objects.filter(**{bill._meta.model_name: bill}, paid_lines__isnull=False)
        paid = dict.fromkeys(lines, ZERO)
        for entry in entries.exclude(verb__in=RESUBMISSIONS):
            for key, amount in entry.paid_lines.items():
                paid[UUID(key)] += Decimal(amount)
        return paid

    def after(self, model, row, result, amounts):
        amount = sum(amounts.values(), ZERO)
        if row.pays:
            self.given += amount
        elif row.takes_back:
            self.given -= amount
            lines = LINE_MODELS[model].objects.filter(**{f"{model._meta.model_name}__in": list(amounts)})
            self.lost |= set(lines.values_list("pk", flat=True))
        # What an archived one had taken over counts with its original again, on the budget of that time.
        self.may_count_less |= row.name in (TransitionName.ARCHIVE, TransitionName.RESTORE)
        self.may_count_less |= row.takes_back is not None
        self.note(model, result.resubmissions.values())

    # --- around them

    @precondition(lambda self: len(self.keys) > 1)
    @rule(
        number=which,
        what=st.sampled_from(["act", "total", "reusable", "archive", "booking", "merge"]),
        action=st.sampled_from(list(ApprovalAction)),
    )
    def change_what_is_around(self, number, what, action):
        """The provider invoice, the bookings, of which one for an item is preferred, or who is who."""
        bill = self.bill(number)
        if what == "booking":
            plan = ClientEngagement.objects.filter(participant=self.participants[number % 2]).first()
            if plan is not None and not plan.is_pace:
                code = self.entries[number % len(self.entries)].product.code
                a_booking(plan, category=9, support_item=code, budget=Decimal(50))
        elif what == "merge":
            target, duplicate = (Contact.objects.get(pk=each.pk) for each in self.participants)
            self.tried(*((undo_merge, duplicate) if self.merged else (merge, target, duplicate)))
            self.merged = not self.merged
        elif isinstance(bill, Claim):
            self.change_provider_invoice(bill.provider_invoice, what, action, number)

    @rule(cuts=st.lists(st.integers(1, 40), max_size=3, unique=True))
    def cut_periods(self, cuts):
        """The component has periods that begin on these days of its plan as well, or none at all."""
        plan = self.component.engagement
        starts = [plan.plan_start_date + dt.timedelta(days=each) for each in sorted({0, *cuts})]
        ends = [*(start - dt.timedelta(days=1) for start in starts[1:]), plan.plan_end_date]
        days = zip(starts, ends, strict=True) if cuts else []
        rows = [{"first_day": first, "last_day": last, "released": Decimal(50)} for first, last in days]
        periods = [PeriodDraft(row, row) for row in rows]
        save_periods([PeriodsDraft({"periods": periods}, key=self.component.pk)], ignore_warnings=True)

    def change_provider_invoice(self, provider_invoice, what, action, number):
        if what == "act":
            self.tried(act, [provider_invoice.pk], action, self.staff, "Because")
        elif what == "archive":
            records = ProviderInvoice.objects.filter(pk=provider_invoice.pk)
            if not self.tried(archive_provider_invoices, records):
                archive.restore(records)
        else:
            totals = {"invoice_total": Decimal(["0.01", "20", "500"][number % 3])}
            values = totals if what == "total" else {"is_reusable": not provider_invoice.is_reusable}
            self.tried(
                update_provider_invoices, [ProviderInvoiceDraft(values, values, key=provider_invoice.pk)]
            )

    # --- what holds

    @invariant()
    def what_was_paid_is_what_payments_came_to(self):
        """Each counted once: where it was paid, not where it came along."""
        if not hasattr(self, "given"):
            return
        bills = [bill for model in LINE_MODELS for bill in model.objects.all()]
        assert sum((bill.amount_paid - bill.paid_earlier for bill in bills), ZERO) == self.given

    @invariant()
    def what_was_paid_stays(self):
        if not hasattr(self, "given"):
            return
        lines = {line.pk: line for model in LINE_MODELS.values() for line in model.objects.all()}
        for key, (paid, product, first_day, last_day) in self.paid.items():
            line = lines[key]
            if key in self.lost:  # no more than was paid: it is never below nothing
                continue
            assert (line.product_id, line.first_day, line.last_day) == (product, first_day, last_day)
            assert abs(line.amount_paid) >= abs(paid)
        self.paid = {
            key: (line.amount_paid, line.product_id, line.first_day, line.last_day)
            for key, line in lines.items()
            if line.amount_paid
        }
        counted = dict(ServiceBooking.objects.values_list("pk", "paid"))
        if not self.may_count_less:
            assert all(counted[key] >= paid for key, paid in self.counted.items())
        self.counted, self.may_count_less, self.lost = counted, False, set()

    @invariant()
    def whatever_the_interface_shows_of_a_bill_changes_with_its_modify_date(self):
        if not hasattr(self, "given"):
            return
        clock.reset_now()  # the next step is a request of its own
        for model in LINE_MODELS:
            stamps = dict(model.objects.values_list("pk", "modify_date"))
            rows = JsonReader(get_service(V2_1).by_model[model], model.objects.all(), EXPAND_ALL)
            for key, (shown, _) in rows.read(list(stamps)).items():
                text, stamp = self.shown.get(key, (shown, None))
                assert text == shown or stamps[key] > stamp, (text, shown)
                self.shown[key] = shown, stamps[key]

    @invariant()
    def a_provider_invoice_that_was_paid_is_not_free(self):
        if not hasattr(self, "given"):
            return
        claims = defaultdict(list)
        for claim in Claim.objects.filter(archive_date=None, takes_provider_invoice=False, amount_paid__gt=0):
            claims[claim.provider_invoice_id].append(claim)
        of_single_use = ProviderInvoice.objects.filter(pk__in=claims, is_reusable=False)
        taken = Claim.objects.filter(takes_provider_invoice=True).values_list("provider_invoice", flat=True)
        assert {each.pk for each in of_single_use} <= set(taken)


def test_whatever_is_done_money_that_was_paid_is_neither_lost_nor_paid_twice(db):
    walk(Money, steps=25)
