"""Drafts of the demo's provider invoices, claims and invoices: supports that plans have budgets for."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from random import Random
from typing import Any

from apps.core.demo import Context, draft_of, existing, sometimes
from apps.engagements.models import CategoryBudget, ClientEngagement, ServiceBooking, SupportCategory
from apps.funding.choices import (
    CancellationReason,
    ClaimType,
    InvoiceClaimType,
    RecurringFrequency,
    SendPaymentTo,
    TaxChoice,
    Zone,
)
from apps.funding.demo import guide
from apps.funding.demo.guide import ITEMS, DemoItem, price_on
from apps.funding.models import (
    Claim,
    ClaimLine,
    CostCentre,
    Invoice,
    InvoiceLine,
    PriceBook,
    Product,
    ProviderInvoice,
)
from apps.funding.public_holidays import day_types, state_code
from apps.odata import clock
from apps.odata.write.drafts import Draft
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


@dataclass(slots=True)
class DemoPlan:
    """A participant's plan as the demo claims on it. ``known``: the day from which bills come in."""

    participant: Contact
    zone: str
    state: str | None
    first_day: dt.date
    last_day: dt.date
    known: dt.date
    is_plan_managed: bool
    is_self_managed: bool
    budgets: list[DemoBudget]
    #: Whether one reusable provider invoice is for all of its claims, and which one.
    shares_invoice: bool
    reusable: ProviderInvoice | None = None
    #: Supports claimed already: item, day and quantity.
    claimed: set[tuple[str, dt.date, Decimal]] = field(default_factory=set)


@dataclass(slots=True)
class Support:
    """What one claim is about. ``invoice`` is filled in once the provider invoice is created."""

    plan: DemoPlan
    days: tuple[dt.date, dt.date]
    lines: list[Draft]
    total: Decimal
    invoice: ProviderInvoice | None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The price books of the demo with their products by code, and the cost centres."""

    price_guide: PriceBook
    private_rates: PriceBook
    products: Mapping[str, Product]
    cost_centres: Sequence[CostCentre]


def load_catalogue() -> Catalogue:
    codes = (*ITEMS, *(code for code, *_ in guide.PRIVATE))
    products = {product.code: product for product in Product.objects.filter(code__in=codes)}
    books = {book.name: book for book in PriceBook.objects.filter(archive_date=None)}
    centres = list(CostCentre.objects.filter(archive_date=None).order_by("name"))
    return Catalogue(books[guide.PRICE_BOOK], books[guide.PRIVATE_RATES], products, centres)


def load_plans(context: Context) -> list[DemoPlan]:
    """The demo's plans with their budgets, in the order of their creation."""
    budgets: dict[Any, list[DemoBudget]] = defaultdict(list)
    numbers = dict(SupportCategory.objects.values_list("pk", "number"))
    for model in (ServiceBooking, CategoryBudget):
        for budget in context.records.get(model, ()):
            item = getattr(budget, "support_item", None)
            left = (budget.budget - budget.used_elsewhere) * Decimal("0.98")
            budgets[budget.engagement_id].append(DemoBudget(numbers[budget.category_id], item, left))
    contacts = {contact.pk: contact for contact in context.records.get(Contact, ())}
    plans: list[DemoPlan] = []
    for plan in context.records.get(ClientEngagement, ()):
        contact = contacts[plan.participant_id]
        region, created = (
            contact.scheme_price_guide_region,
            plan.creation_date.astimezone(context.zone).date(),
        )
        zone = region if region in guide.ZONES else Zone.NATIONAL.value
        known = max(plan.plan_start_date, created) + 10 * DAY
        plans.append(
            DemoPlan(
                *(contact, zone, state_code(contact.state), plan.plan_start_date, plan.plan_end_date, known),
                *(plan.is_plan_managed, plan.is_self_managed, budgets[plan.pk]),
                shares_invoice=len(plans) % REUSABLE == REUSABLE // 2,
            )
        )
    return plans


# --- lines ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def items_of_category(category: int) -> tuple[DemoItem, ...]:
    """The items of a category that are not quoted and have a price in every year."""
    return tuple(
        item
        for item in ITEMS.values()
        if item.category == category and item.price is not None and item.code != guide.DISCONTINUED
    )


def line_draft(
    model: type[ClaimLine | InvoiceLine], catalogue: Catalogue, item: str, quantity: Decimal, **values: Any
) -> Draft:
    return draft_of(
        model, price_book=catalogue.price_guide, product=catalogue.products[item], quantity=quantity, **values
    )


def support_lines(
    context: Context,
    chance: Random,
    catalogue: Catalogue,
    plan: DemoPlan,
    days: tuple[dt.date, dt.date],
    most: int,
    model: type[ClaimLine | InvoiceLine] = ClaimLine,
) -> tuple[list[Draft], Decimal]:
    """Lines that a plan has budgets for, on some of the days, and their total; none where nothing is left."""
    lines: list[Draft] = []
    sum_of_lines = Decimal(0)
    for _ in range(most):
        open_budgets = [budget for budget in plan.budgets if budget.left > LEAST]
        if not open_budgets:
            break
        budget = chance.choices(open_budgets, [float(each.left) for each in open_budgets])[0]
        day = days[0] + chance.randrange((days[1] - days[0]).days + 1) * DAY
        kinds = day_types(day, plan.state)
        items = (ITEMS[budget.item],) if budget.item else items_of_category(budget.category)
        items = tuple(item for item in items if item.day is None or kinds == {item.day})
        if not items:
            continue
        item = chance.choice(items)
        price = price_on(item, day, plan.zone, context.as_of)
        quantity = quantity_of(chance, item, price, budget.left)
        while (item.code, day, quantity) in plan.claimed:
            quantity += Decimal("0.25")
        total = guide.rounded(quantity * price)
        if total > budget.left:
            continue
        plan.claimed.add((item.code, day, quantity))
        budget.left -= total
        sum_of_lines += total
        claim_type, reason = claim_type_of(chance, item)
        lines.append(
            line_draft(
                *(model, catalogue, item.code, quantity),
                from_date=day,
                to_date=sometimes(chance, 0.6, day),
                tax_choice=sometimes(chance, 0.4, TaxChoice.GST_FREE_INCOME.value),
                claim_type=claim_type,
                cancellation_reason=reason,
            )
        )
    return lines, sum_of_lines


def quantity_of(chance: Random, item: DemoItem, price: Decimal, left: Decimal) -> Decimal:
    """A plausible quantity: a part of what is left, in quarters of an hour, pieces or dollars."""
    amount = min(Decimal(chance.randrange(LEAST, MOST)), left / 4)
    if item.unit in (guide.MONTH, guide.WEEK):
        return Decimal(1)
    if item.is_dollar:
        return guide.rounded(amount)
    if item.unit == guide.HOUR:
        return min(max(Decimal(int(amount / price * 4)) / 4, Decimal("0.25")), Decimal(8))
    return max(Decimal(int(amount / price)), Decimal(1))


def claim_type_of(chance: Random, item: DemoItem) -> tuple[str | None, str | None]:
    """Claim type and cancellation reason, as the price guide allows them for the item."""
    luck = chance.random()
    if luck < 0.6:
        return None, None
    if luck < 0.88 or item.unit != guide.HOUR or item.is_dollar:
        return ClaimType.DIRECT_SERVICE.value, None
    if luck < 0.92:
        return ClaimType.CANCELLATION.value, chance.choice(REASONS)
    return chance.choice(HOURLY_TYPES).value, None


# --- bills ----------------------------------------------------------------------------------------------


def days_of_service(chance: Random, plan: DemoPlan) -> tuple[dt.date, dt.date]:
    """First and last day of the supports of a bill of today: a little while ago, within the plan."""
    last = max(min(clock.today() - (1 + chance.randrange(12)) * DAY, plan.last_day), plan.first_day)
    return max(last - (chance.choice(SPANS) - 1) * DAY, plan.first_day), last


def provider_of(context: Context, chance: Random, plan: DemoPlan) -> Client:
    """One of the few providers of a participant."""
    providers = existing(context.records[Client])[1:] or context.records[Client][:1]
    few = [(int(plan.participant.scheme_number) * step) % len(providers) for step in (1, 7, 13)]
    return providers[chance.choice(few)]


def provider_invoice_draft(
    context: Context, chance: Random, number: int, support: Support, created_by: Staff
) -> Draft:
    plan = support.plan
    return draft_of(
        ProviderInvoice,
        reference=STYLES[number % len(STYLES)].format(number + 101),
        service_start_date=support.days[0],
        service_end_date=None if plan.shares_invoice else support.days[1],
        invoice_total=None if plan.shares_invoice else support.total,
        is_reusable=plan.shares_invoice,
        send_payment_to=chance.choice(PAYEES),
        contact=plan.participant,
        provider=provider_of(context, chance, plan),
        created_by=created_by,
    )


def claim_draft(chance: Random, number: int, support: Support, staff: Staff) -> Draft:
    """A claim; for whom and by whom it is follows from its provider invoice."""
    return draft_of(
        Claim,
        provider_invoice=support.invoice,
        external_invoice_number=sometimes(chance, 0.5, f"X{number + 1:07}"),
        start_date=support.days[0],
        end_date=support.days[1],
        due_date=sometimes(chance, 0.4, clock.today() + 14 * DAY),
        staff=staff,
        line_items=support.lines,
    )


def invoice_draft(
    context: Context,
    chance: Random,
    number: int,
    catalogue: Catalogue,
    plan: DemoPlan,
    staff: Staff,
    is_credited: bool,
) -> Draft:
    """Two in three invoices go to the agency for supports of the plan, the others to the client."""
    days = days_of_service(chance, plan)
    goes_to = InvoiceClaimType.INVOICE_TO_AGENCY
    lines: list[Draft] = []
    if number % 3:
        lines, _ = support_lines(context, chance, catalogue, plan, days, 2, InvoiceLine)
    if not lines:
        goes_to = InvoiceClaimType.INVOICE_TO_CLIENT
        first, second = chance.sample(guide.PRIVATE, 2)
        lines = [private_line(catalogue, code, chance.randint(2, 6), days[0]) for code, *_ in (first, second)]
        if is_credited:
            lines.append(private_line(catalogue, first[0], 1, days[0], is_credit_item=True))
    for line in lines:
        line.fill("cost_centre", sometimes(chance, 0.7, chance.choice(catalogue.cost_centres)))
    return draft_of(
        Invoice,
        invoice_claim_type=goes_to.value,
        start_date=days[0],
        end_date=days[1],
        due_date=clock.today() + 14 * DAY,
        contact=plan.participant,
        staff=staff,
        line_items=lines,
    )


def private_line(catalogue: Catalogue, code: str, quantity: int, day: dt.date, **values: Any) -> Draft:
    """A line of a support that the subscriber sells beside the scheme."""
    return draft_of(
        InvoiceLine,
        price_book=catalogue.private_rates,
        product=catalogue.products[code],
        quantity=Decimal(quantity),
        from_date=day,
        **values,
    )


def recurring_draft(catalogue: Catalogue, plan: DemoPlan, staff: Staff) -> Draft:
    """An invoice to a client that recurs every month from today on."""
    today = clock.today()
    return draft_of(
        Invoice,
        invoice_claim_type=InvoiceClaimType.INVOICE_TO_CLIENT.value,
        start_date=today,
        end_date=today,
        is_recurring=True,
        recurring_start_date=today,
        recurring_frequency=RecurringFrequency.MONTHLY.value,
        contact=plan.participant,
        staff=staff,
        line_items=[private_line(catalogue, "GYM-01", 4, today)],
    )
