"""Drafts of the demo's provider invoices, claims and invoices: supports that plans have budgets for."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain
from random import Random

from apps.base.money import ZERO, to_cents
from apps.core.demo import Context, draft_of, existing, sometimes
from apps.documents.demo import INVOICE_TOTAL
from apps.documents.models import Document
from apps.engagements.funding_periods import (
    PeriodAmounts,
    find_period,
    left_for,
    use_days,
    with_used_elsewhere,
)
from apps.engagements.models import (
    CategoryBudget,
    ClientEngagement,
    FundingPeriod,
    ServiceBooking,
)
from apps.funding.choices import (
    CancellationReason,
    ClaimType,
    InvoiceClaimType,
    ItemType,
    RecurringFrequency,
    SendPaymentTo,
    TaxChoice,
    Unit,
)
from apps.funding.demo.price_books import PriceBooks
from apps.funding.drafts import ClaimDraft, InvoiceDraft, LineDraft, ProviderInvoiceDraft
from apps.funding.models import Claim, ClaimLine, Invoice, InvoiceLine, Product, ProviderInvoice
from apps.people.models import Client, Contact, Staff

DAY = dt.timedelta(days=1)
LEAST, MOST = 40, 700  # dollars of a line
#: One plan in so many has a reusable provider invoice for all of its claims.
REUSABLE = 17
#: Bills are of one day, of some days, or of a few weeks.
SPANS = (1, 1, 7, 7, 7, 14, 14, 28)
PAYEES = (SendPaymentTo.PROVIDER.value,) * 18 + (SendPaymentTo.CLIENT.value, SendPaymentTo.PLAN_MANAGER.value)
#: How providers number their invoices.
STYLES = ("INV-{:05}", "{:06}", "2-{:05}", "A{:05}", "T/{:05}")
HOURLY_TYPES = (ClaimType.PROVIDER_TRAVEL, ClaimType.NON_FACE_TO_FACE_SERVICES)
REASONS = tuple(each.value for each in CancellationReason if each is not CancellationReason.NONE)


@dataclass(slots=True)
class DemoBudget:
    """A budget of a plan: for a category or one item of it; ``left`` is what the demo has not claimed yet."""

    category: int
    item: str | None
    left: Decimal
    used_elsewhere: Decimal = ZERO
    #: The first and last day of each funding period of a component, and what it releases.
    released: Sequence[tuple[dt.date, dt.date, Decimal]] = ()
    #: The funding periods with what is claimed on them; of most budgets nobody asks for them.
    counted: Sequence[PeriodAmounts] | None = None

    @property
    def periods(self) -> Sequence[PeriodAmounts]:
        if self.counted is None:
            periods = [PeriodAmounts(*each) for each in self.released]
            self.counted = with_used_elsewhere(periods, self.used_elsewhere)
        return self.counted

    def left_on(self, day: dt.date) -> Decimal:
        """The money left for a support of a day."""
        if not self.periods:
            return self.left
        position = find_period(self.periods, day)
        return ZERO if position is None else min(self.left, left_for(self.periods, position))

    def claim(self, day: dt.date, total: Decimal) -> None:
        self.left -= total
        self.counted = use_days(self.periods, day, day, total)


@dataclass(slots=True)
class DemoPlan:
    """A participant's plan as the demo claims on it. ``known``: the day from which bills come in."""

    engagement: ClientEngagement
    first_day: dt.date
    last_day: dt.date
    participant: Contact
    region: str | None
    state: str | None
    known: dt.date
    budgets: list[DemoBudget]
    #: Whether one reusable provider invoice is for all of its claims, and which one.
    shares_invoice: bool
    reusable: ProviderInvoice | None = None
    #: Supports claimed already: product, day and quantity.
    claimed: set[tuple[Product, dt.date, Decimal]] = field(default_factory=set)


def load_plans(context: Context) -> list[DemoPlan]:
    """The demo's plans with their budgets, in the order of their creation."""
    budgets: dict[object, list[DemoBudget]] = defaultdict(list)
    released: dict[object, list[tuple[dt.date, dt.date, Decimal]]] = defaultdict(list)
    columns = ("category_budget", "first_day", "last_day", "released")
    for key, *period in FundingPeriod.objects.order_by("first_day").values_list(*columns):
        released[key].append(tuple(period))
    part = Decimal("0.98")
    for key, budget in chain(context.stored[ServiceBooking], context.stored[CategoryBudget]):
        used = budget.used_elsewhere
        item = budget.get("support_item") or budget.get("stated_items")
        of_plan = budgets[budget.engagement.pk]
        left = (budget.budget - used) * part
        of_plan.append(DemoBudget(budget.category.number, item, left, used, released.get(key, ())))
    contacts = {contact.pk: contact for contact in context.records[Contact]}
    plans = []
    for number, engagement in enumerate(context.records[ClientEngagement]):
        participant = contacts[engagement.participant_id]
        created = engagement.creation_date.astimezone(context.zone).date()
        first_day = engagement.endorsement_date or engagement.plan_start_date
        plans.append(
            DemoPlan(
                engagement,
                first_day,
                engagement.plan_end_date,
                participant,
                participant.scheme_price_guide_region,
                participant.state,
                max(first_day, created) + 10 * DAY,
                budgets[engagement.pk],
                shares_invoice=number % REUSABLE == REUSABLE // 2,
            )
        )
    return plans


@dataclass(slots=True)
class DemoSupport:
    """The subject of one claim. ``invoice`` is filled in once the provider invoice is created."""

    plan: DemoPlan
    days: tuple[dt.date, dt.date]
    lines: list[LineDraft]
    total: Decimal
    invoice: ProviderInvoice | None


@dataclass(frozen=True, slots=True)
class BillFactory:
    """Makes drafts of bills that come in today."""

    context: Context
    books: PriceBooks
    #: Those that are plan managed.
    plans: Sequence[DemoPlan]
    #: The staff who may administer funding.
    approvers: Sequence[Staff]
    chance: Random

    def current_plans(self) -> list[DemoPlan]:
        """The plans that bills come in for."""
        today, latest_end = self.context.today, self.context.today - 10 * DAY
        return [plan for plan in self.plans if plan.known <= today and latest_end <= plan.last_day]

    def choose_staff(self) -> Staff:
        """One of the approvers who were there by now."""
        return self.chance.choice(existing(self.approvers))

    def choose_days(self, plan: DemoPlan) -> tuple[dt.date, dt.date]:
        """First and last day of the supports of a bill: a little while ago, within the plan."""
        last = self.context.today - (1 + self.chance.randrange(12)) * DAY
        last = max(min(last, plan.last_day), plan.first_day)
        return max(last - (self.chance.choice(SPANS) - 1) * DAY, plan.first_day), last

    def choose_provider(self, plan: DemoPlan) -> Client:
        """One of the few providers of a participant."""
        providers = existing(self.context.records[Client])[1:] or self.context.records[Client][:1]
        step = self.chance.choice((1, 7, 13))
        return providers[int(plan.participant.scheme_number) * step % len(providers)]

    # --- supports ---------------------------------------------------------------------------------------

    def supports(self, count: int) -> Iterator[DemoSupport]:
        """The supports of so many claims; where nothing is left of a plan, another one comes in its place."""
        plans = [plan for plan in self.current_plans() if any(budget.left > LEAST for budget in plan.budgets)]
        while count and plans:
            number = self.chance.randrange(len(plans))
            plan = plans[number]
            days = self.choose_days(plan)
            lines = list(self.lines(ClaimLine, plan, days, 1 + self.chance.randrange(3)))
            if lines:
                total = sum((to_cents(line.quantity * line.price) for line in lines), ZERO)
                yield DemoSupport(plan, days, lines, total, plan.reusable)
                count -= 1
            else:
                plans[number] = plans[-1]
                plans.pop()

    def lines(
        self, model: type[ClaimLine | InvoiceLine], plan: DemoPlan, days: tuple[dt.date, dt.date], most: int
    ) -> Iterator[LineDraft]:
        """At most so many lines that the plan has budgets for; none where nothing is left."""
        chance = self.chance
        for _ in range(most):
            budgets = [budget for budget in plan.budgets if budget.left > LEAST]
            if not budgets:
                return
            budget = chance.choices(budgets, [float(each.left) for each in budgets])[0]
            day = days[0] + chance.randrange((days[1] - days[0]).days + 1) * DAY
            priced = self.books.priced_products(budget.category, budget.item, plan.region, plan.state, day)
            if not priced:
                continue
            product, price = chance.choice(priced)
            left = budget.left_on(day)
            if left <= LEAST:
                continue
            quantity = self.choose_quantity(product, price, left)
            while (product, day, quantity) in plan.claimed:
                quantity += Decimal("0.25")
            total = to_cents(quantity * price)
            if total > left:
                if left == budget.left:
                    budget.left = ZERO  # it has no room for another line; who claims would look elsewhere
                continue
            plan.claimed.add((product, day, quantity))
            budget.claim(day, total)
            claim_type, cancellation_reason = self.choose_claim_type(product)
            yield draft_of(
                LineDraft,
                model,
                price_book=self.books.price_guide,
                product=product,
                quantity=quantity,
                price=price,
                from_date=day,
                to_date=sometimes(chance, 0.6, day),
                tax_choice=sometimes(chance, 0.4, TaxChoice.GST_FREE_INCOME.value),
                claim_type=claim_type,
                cancellation_reason=cancellation_reason,
            )

    def choose_quantity(self, product: Product, price: Decimal, left: Decimal) -> Decimal:
        """A plausible quantity: a part of what is left, in quarters of an hour, pieces or dollars."""
        amount = min(Decimal(self.chance.randrange(LEAST, MOST)), left / 4)
        if product.unit in (Unit.MONTH, Unit.WEEK):
            return Decimal(1)
        if product.type == ItemType.UNIT_PRICE:
            return to_cents(amount)
        if product.unit == Unit.HOUR:
            return min(max(Decimal(int(amount / price * 4)) / 4, Decimal("0.25")), Decimal(8))
        return max(Decimal(int(amount / price)), Decimal(1))

    def choose_claim_type(self, product: Product) -> tuple[str | None, str | None]:
        """Claim type and cancellation reason, as the price guide allows them for the item."""
        luck = self.chance.random()
        if luck < 0.6:
            return None, None
        if luck < 0.88 or product.unit != Unit.HOUR:
            return ClaimType.DIRECT_SERVICE.value, None
        if luck < 0.92:
            return ClaimType.CANCELLATION.value, self.chance.choice(REASONS)
        return self.chance.choice(HOURLY_TYPES).value, None

    # --- bills ------------------------------------------------------------------------------------------

    def provider_invoice(self, number: int, support: DemoSupport) -> ProviderInvoiceDraft:
        plan = support.plan
        return draft_of(
            ProviderInvoiceDraft,
            ProviderInvoice,
            reference=STYLES[number % len(STYLES)].format(number + 101),
            service_start_date=support.days[0],
            service_end_date=None if plan.shares_invoice else support.days[1],
            invoice_total=None if plan.shares_invoice else support.total,
            is_reusable=plan.shares_invoice,
            send_payment_to=self.chance.choice(PAYEES),
            contact=plan.participant,
            provider=self.choose_provider(plan),
            created_by=self.choose_staff(),
        )

    def claim(self, number: int, support: DemoSupport) -> ClaimDraft:
        """A claim; for whom and by whom it is follows from its provider invoice."""
        return draft_of(
            ClaimDraft,
            Claim,
            provider_invoice=support.invoice,
            external_invoice_number=sometimes(self.chance, 0.5, f"X{number + 1:07}"),
            start_date=support.days[0],
            end_date=support.days[1],
            due_date=sometimes(self.chance, 0.4, self.context.today + 14 * DAY),
            staff=self.choose_staff(),
            line_items=support.lines,
        )

    def invoice(self, number: int, plan: DemoPlan, staff: Staff, is_credited: bool) -> InvoiceDraft:
        """Two in three invoices go to the agency for supports of the plan, the others to the client."""
        days = self.choose_days(plan)
        recipient = InvoiceClaimType.INVOICE_TO_AGENCY
        lines = list(self.lines(InvoiceLine, plan, days, 2)) if number % 3 else []
        if not lines:
            recipient = InvoiceClaimType.INVOICE_TO_CLIENT
            products = self.chance.sample(self.books.private_products, 2)
            lines = [self.private_line(each, self.chance.randint(2, 6), days[0]) for each in products]
            if is_credited:
                lines.append(self.private_line(products[0], 1, days[0], is_credit_item=True))
        for line in lines:
            line.fill("cost_centre", sometimes(self.chance, 0.7, self.chance.choice(self.books.cost_centres)))
        return draft_of(
            InvoiceDraft,
            Invoice,
            invoice_claim_type=recipient.value,
            start_date=days[0],
            end_date=days[1],
            due_date=self.context.today + 14 * DAY,
            contact=plan.participant,
            staff=staff,
            line_items=lines,
        )

    def private_line(self, product: Product, quantity: int, day: dt.date, **values: object) -> LineDraft:
        """A line of a support that the subscriber sells beside the scheme."""
        return draft_of(
            LineDraft,
            InvoiceLine,
            price_book=self.books.private_rates,
            product=product,
            quantity=Decimal(quantity),
            from_date=day,
            **values,
        )

    def recurring_invoice(self, plan: DemoPlan) -> InvoiceDraft:
        """An invoice to a client that recurs every month from today on."""
        today = self.context.today
        return draft_of(
            InvoiceDraft,
            Invoice,
            invoice_claim_type=InvoiceClaimType.INVOICE_TO_CLIENT.value,
            start_date=today,
            end_date=today,
            is_recurring=True,
            recurring_start_date=today,
            recurring_frequency=RecurringFrequency.MONTHLY.value,
            contact=plan.participant,
            staff=self.choose_staff(),
            line_items=[self.private_line(self.books.private_products[0], 4, today)],
        )

    def provider_invoice_to_review(
        self, number: int, plans: Sequence[DemoPlan], documents: list[Document]
    ) -> ProviderInvoiceDraft:
        """A provider invoice that no claim is built on yet; some have nothing but their document."""
        chance = self.chance
        document = documents.pop() if documents and number % 2 == 0 else None
        values: dict[str, object] = {"document": document, "created_by": self.choose_staff()}
        if document is not None and document.client is not None and not document.client.is_self:
            values["provider"] = document.client
        if document is not None and number % 3 == 0:
            return draft_of(ProviderInvoiceDraft, ProviderInvoice, **values)
        last = self.context.today - (1 + chance.randrange(9)) * DAY
        values |= {
            "reference": f"R-{number + 1:06}",
            "service_start_date": last - chance.randrange(14) * DAY,
            "service_end_date": last,
            "invoice_total": Decimal(chance.randrange(4_000, 180_000)) / 100,
        }
        if document is not None:  # it says so itself
            values |= {"reference": document.name.removeprefix("Invoice "), "invoice_total": INVOICE_TOTAL}
        if plans and chance.random() < 0.85:
            plan = chance.choice(plans)
            values = {"contact": plan.participant, "provider": self.choose_provider(plan)} | values
        return draft_of(ProviderInvoiceDraft, ProviderInvoice, **values)
