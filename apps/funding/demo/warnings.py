"""Claims of the demo's last workday, one for each warning: a tour for whoever wants to see them at work.

They await approval, and the references of their provider invoices name the warning: search the claims for
``DEMO PriceOverCap``. Where a warning takes two claims, there are two.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from apps.core.demo import Context, draft_of
from apps.funding.choices import ClaimType
from apps.funding.demo import guide
from apps.funding.demo.bills import DAY, Catalogue, DemoPlan, line_draft
from apps.funding.demo.guide import ITEMS, first_days, price_on, rounded
from apps.funding.models import Claim, ClaimLine, ProviderInvoice
from apps.funding.public_holidays import DayType, day_types
from apps.funding.services.create import create_claims
from apps.funding.services.provider_invoices import create_provider_invoices
from apps.people.models import Client, Contact, Staff

#: The warnings in the order of their claims; some take two.
WARNING_CODES = (
    *("PriceOverCap", "ItemNotCurrent", "QuoteRequired", "ClaimTypeNotAllowed", "NoBooking", "DayMismatch"),
    *("FutureService", "DuplicateInvoice", "DuplicateInvoice", "DuplicateLine", "DuplicateLine"),
    *("GivenDiffers", "AbnMissing", "AbnInvalid", "NoEngagement", "OutsidePlan", "OverBudget"),
    *("WrongManagement", "AfterBooking", "TooOld"),
)
#: The support of most of them, a weekday's, and the category that it is of.
USUAL, CATEGORY = "01_011_0107_1_1", 1
NIGHT, WHEELCHAIR, BEHAVIOUR = "01_010_0107_1_1", "05_122100101_0105_1_2", "11_022_0110_7_3"
#: The numbers of clients that lists.py describes.
HARBOUR_LIGHTS, WITHOUT_ABN, WRONG_ABN = 1, 3, 4


@dataclass(frozen=True, slots=True)
class Example:
    """A claim of one line that a warning is about."""

    code: str
    participant: Contact
    day: dt.date
    last_day: dt.date | None = None
    item: str = USUAL
    quantity: Decimal = Decimal(2)
    price: Decimal | None = None
    claim_type: str | None = None
    provider: int = HARBOUR_LIGHTS
    #: The reference that the claim gives in place of its provider invoice's.
    reference: str | None = None
    #: Whether it says the same as the example before.
    is_repeated: bool = False


def create_claims_with_warnings(
    context: Context, catalogue: Catalogue, plans: list[DemoPlan], staff: Staff
) -> int:
    """Create the claims and their provider invoices; what they warn of is acknowledged. Their number."""
    providers, invoices = context.records[Client], {}
    examples = list(examples_of(context, plans))
    with context.clock_at(context.workdays[-1], 16):
        for example in examples:
            name = reference_of(example)
            if name in invoices:
                continue
            draft = draft_of(
                ProviderInvoice,
                reference=name,
                is_reusable=example.code == "DuplicateInvoice",
                contact=example.participant,
                provider=providers[min(example.provider, len(providers) - 1)],
                created_by=staff,
            )
            (invoices[name],) = context.create(ProviderInvoice, create_provider_invoices, [draft])
    with context.clock_at(context.workdays[-1], 16.5):
        for example in examples:
            # One by one: the second of two duplicates is warned of, and the first is not.
            line = line_draft(
                ClaimLine,
                catalogue,
                example.item,
                example.quantity,
                price=example.price,
                from_date=example.day,
                to_date=example.last_day,
                claim_type=example.claim_type,
            )
            claim = draft_of(
                Claim,
                provider_invoice=invoices[reference_of(example)],
                provider_invoice_reference=example.reference,
                start_date=example.day,
                end_date=example.last_day or example.day,
                staff=staff,
                line_items=[line],
            )
            context.report(Claim, len(create_claims([claim], ignore_warnings=True)))
    return len(examples)


def reference_of(example: Example) -> str:
    return f"DEMO {example.code}{' (again)' if example.is_repeated else ''}"


def examples_of(context: Context, plans: list[DemoPlan]) -> Iterator[Example]:
    """An example for each warning; one that the demo is too small for, or the day not right, is left out."""
    usual = [
        plan for plan in plans if any(each.category == CATEGORY and not each.item for each in plan.budgets)
    ]
    managed = [plan for plan in usual if plan.is_plan_managed]
    current = [plan for plan in managed if plan.first_day + 30 * DAY < context.as_of <= plan.last_day]
    if not current:
        return
    plan, day = current[0], weekday_before(context.day(5), current[0])
    yield from examples_of_items(context, plan, day)
    yield from examples_of_bills(context, plan, weekday_before(context.day(7), plan))
    yield from examples_of_plans(context, plan, usual, managed, current)


def examples_of_items(context: Context, plan: DemoPlan, day: dt.date) -> Iterator[Example]:
    participant = plan.participant
    cap = price_on(ITEMS[USUAL], day, plan.zone, context.as_of)
    yield Example("PriceOverCap", participant, day, price=rounded(cap * Decimal("1.15")))
    latest = weekday_before(context.as_of, plan)
    if latest >= first_days(context.as_of)[-1]:
        item, price = guide.DISCONTINUED, Decimal("80.90")
        yield Example("ItemNotCurrent", participant, latest, item=item, price=price)
    yield Example(
        "QuoteRequired", participant, day, item=WHEELCHAIR, quantity=Decimal(1), price=Decimal(4200)
    )
    travel = ClaimType.PROVIDER_TRAVEL.value
    yield Example("ClaimTypeNotAllowed", participant, day, item=NIGHT, quantity=Decimal(1), claim_type=travel)
    yield Example("NoBooking", participant, day, item=BEHAVIOUR, quantity=Decimal(1))


def examples_of_bills(context: Context, plan: DemoPlan, day: dt.date) -> Iterator[Example]:
    participant = plan.participant
    yield Example("DayMismatch", participant, context.as_of - (context.as_of.isoweekday() % 7 or 7) * DAY)
    yield Example("FutureService", participant, day, last_day=context.day(-9))
    for weeks in (1, 2):
        yield Example("DuplicateInvoice", participant, day - 7 * weeks * DAY)
    for is_repeated in (False, True):
        yield Example("DuplicateLine", participant, day, quantity=Decimal("3.75"), is_repeated=is_repeated)
    other = "DEMO GivenDiffers, second copy"
    yield Example("GivenDiffers", participant, day, quantity=Decimal("1.25"), reference=other)
    clients = len(context.records[Client])
    for code, provider in (("AbnMissing", WITHOUT_ABN), ("AbnInvalid", WRONG_ABN)):
        if provider < clients:
            yield Example(code, participant, day, quantity=Decimal("1.5"), provider=provider)


def examples_of_plans(
    context: Context,
    plan: DemoPlan,
    usual: list[DemoPlan],
    managed: list[DemoPlan],
    current: list[DemoPlan],
) -> Iterator[Example]:
    day = weekday_before(context.day(10), plan)
    planned = Counter(each.participant.pk for each in usual)
    unplanned = [contact for contact in context.records[Contact] if not contact.scheme_number]
    if unplanned:
        yield Example("NoEngagement", unplanned[0], day)
    for each in [each for each in current if planned[each.participant.pk] == 1][:1]:
        yield Example("OutsidePlan", each.participant, weekday_before(each.first_day - 20 * DAY, each))
    for each in current[1:2]:
        budget = sum((part.left for part in each.budgets), Decimal(1000))
        yield Example("OverBudget", each.participant, day, quantity=rounded(budget / 20))
    for each in [each for each in usual if each.is_self_managed and each.first_day < day < each.last_day][:1]:
        yield Example("WrongManagement", each.participant, day)
    for each in [each for each in managed if each.last_day + 100 * DAY < context.as_of][:1]:
        yield Example("AfterBooking", each.participant, weekday_before(each.last_day, each))
    yield Example("TooOld", plan.participant, weekday_before(context.day(740), plan), price=Decimal(65))


def weekday_before(day: dt.date, plan: DemoPlan) -> dt.date:
    """The last day before another that is surely a plain weekday where the participant lives."""
    day -= DAY
    while day_types(day, plan.state) != {DayType.WEEKDAY}:
        day -= DAY
    return day
