"""Claims of the demo's last workday, one for each warning: a tour for whoever wants to see them at work.

They await approval, and the references of their provider invoices name the warning: search the claims for
``DEMO PriceOverCap``. Where a warning takes two claims, there are two.
"""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from apps.base.money import to_cents
from apps.core.demo import Context, draft_of
from apps.funding.choices import ClaimType
from apps.funding.demo.bills import DAY, DemoPlan
from apps.funding.demo.price_books import PriceBooks, first_days
from apps.funding.drafts import ClaimDraft, LineDraft, ProviderInvoiceDraft
from apps.funding.models import Claim, ClaimLine, ProviderInvoice
from apps.funding.public_holidays import DayType, day_types
from apps.funding.services.create import create_claims
from apps.funding.services.provider_invoices import create_provider_invoices
from apps.funding.validation import duplicates, plan_warnings, warnings
from apps.people.models import Client, Contact, Staff

#: The support of most of them, a weekday's, and the category that it is of.
USUAL, CATEGORY = "01_011_0107_1_1", 1
NIGHT, WHEELCHAIR, BEHAVIOUR = "01_010_0107_1_1", "05_122100101_0105_1_2", "11_022_0110_7_3"
DISCONTINUED, NOT_STATED = "13_030_0102_4_3", "15_054_0128_1_3"
ONE = Decimal(1)
#: The numbers of clients that people's demo.toml describes.
HARBOUR_LIGHTS, WITHOUT_ABN, WRONG_ABN = 1, 3, 4


@dataclass(frozen=True, slots=True)
class Example:
    """A claim of one line that a warning is about; ``values`` are further ones of the line."""

    code: str
    participant: Contact
    day: dt.date
    item: str = USUAL
    quantity: Decimal = Decimal(2)
    values: dict[str, Any] = field(default_factory=dict)
    provider: int = HARBOUR_LIGHTS
    #: The reference that the claim gives in place of its provider invoice's.
    given_reference: str | None = None
    #: The total of the provider invoice, where it has one.
    invoice_total: Decimal | None = None
    #: The only day of the claim, where it is not that of its line.
    period: dt.date | None = None
    #: Whether it says the same as the example before.
    is_repeated: bool = False

    @property
    def reference(self) -> str:
        return f"DEMO {self.code}{' (again)' if self.is_repeated else ''}"


def create_claims_with_warnings(
    context: Context, books: PriceBooks, examples: Sequence[Example], approvers: Sequence[Staff]
) -> None:
    """Create the claims and their provider invoices; what they warn of is acknowledged."""
    with context.clock_at(context.workdays[-1], 16):
        drafts = {
            example.reference: draft_of(
                ProviderInvoiceDraft,
                ProviderInvoice,
                reference=example.reference,
                invoice_total=example.invoice_total,
                is_reusable=example.code == duplicates.DUPLICATE_INVOICE,
                contact=example.participant,
                provider=context.records[Client][example.provider],
                created_by=approvers[0],
            )
            for example in examples
        }
        created = context.create(ProviderInvoice, create_provider_invoices, list(drafts.values()))
        invoices = dict(zip(drafts, created, strict=True))
    with context.clock_at(context.workdays[-1], 16.5):
        for example in examples:
            line = draft_of(
                LineDraft,
                ClaimLine,
                price_book=books.price_guide,
                product=books.products[example.item],
                quantity=example.quantity,
                from_date=example.day,
                **example.values,
            )
            claim = draft_of(
                ClaimDraft,
                Claim,
                provider_invoice=invoices[example.reference],
                provider_invoice_reference=example.given_reference,
                start_date=example.period or example.day,
                end_date=example.period or example.values.get("to_date", example.day),
                staff=approvers[0],
                line_items=[line],
            )
            # One by one: the second of two duplicates is warned of, and the first is not.
            context.report(Claim, len(create_claims([claim], ignore_warnings=True)))


def examples_of(context: Context, books: PriceBooks, plans: Sequence[DemoPlan]) -> list[Example]:
    """An example for each warning; one that the demo is too small for, or the day not right, is left out."""
    usual = [
        plan for plan in plans if any(each.category == CATEGORY and not each.item for each in plan.budgets)
    ]
    managed = [plan for plan in usual if plan.engagement.is_plan_managed]
    current = [plan for plan in managed if plan.first_day + 30 * DAY < context.as_of <= plan.last_day]
    if not current:
        return []

    def day(ago: int) -> dt.date:
        return weekday_before(context.day(ago), current[0])

    cap = books.price(books.products[USUAL], current[0].region, day(5)) or Decimal(0)
    return [
        *examples_of_one(context, current[0].participant, day, cap),
        *examples_of_others(context, usual, managed, current, day(10), cap),
    ]


def examples_of_one(
    context: Context, participant: Contact, day: Callable[[int], dt.date], cap: Decimal
) -> Iterator[Example]:
    """The warnings about what is billed, all of one participant; ``day`` is a weekday so many days ago."""
    overpriced = {"price": to_cents(cap * Decimal("1.15"))}
    travel = {"claim_type": ClaimType.PROVIDER_TRAVEL.value}
    sunday = context.as_of - (context.as_of.isoweekday() % 7 or 7) * DAY
    yield from (
        Example(warnings.PRICE_OVER_CAP, participant, day(5), values=overpriced),
        Example(warnings.QUOTE_REQUIRED, participant, day(5), WHEELCHAIR, ONE, {"price": Decimal(4200)}),
        Example(warnings.CLAIM_TYPE_NOT_ALLOWED, participant, day(5), NIGHT, ONE, travel),
        Example(plan_warnings.NO_BOOKING, participant, day(5), BEHAVIOUR, ONE),
        Example(warnings.DAY_MISMATCH, participant, sunday),
        Example(warnings.FUTURE_SERVICE, participant, day(7), values={"to_date": context.day(-9)}),
        Example(duplicates.DUPLICATE_INVOICE, participant, day(7) - 7 * DAY),
        Example(duplicates.DUPLICATE_INVOICE, participant, day(7) - 14 * DAY),
        Example(warnings.DUPLICATE_LINE, participant, day(7), quantity=Decimal("3.75")),
        Example(warnings.DUPLICATE_LINE, participant, day(7), quantity=Decimal("3.75"), is_repeated=True),
        Example(
            warnings.GIVEN_DIFFERS,
            participant,
            day(7),
            quantity=Decimal("1.25"),
            given_reference="DEMO GivenDiffers, second copy",
        ),
        Example(
            warnings.TOTAL_DIFFERS,
            participant,
            day(7),
            quantity=Decimal("2.75"),
            invoice_total=Decimal(250),
        ),
        Example(warnings.OUTSIDE_PERIOD, participant, day(7), quantity=Decimal("0.75"), period=day(7) - DAY),
        Example(warnings.TOO_OLD, participant, day(740), values={"price": Decimal(65)}),
    )
    if day(0) >= first_days(context.as_of)[-1]:
        price = {"price": Decimal("80.90")}
        yield Example(warnings.ITEM_NOT_CURRENT, participant, day(0), DISCONTINUED, values=price)
    for code, provider in ((warnings.ABN_MISSING, WITHOUT_ABN), (warnings.ABN_INVALID, WRONG_ABN)):
        if provider < len(context.records[Client]):
            hours = Decimal("1.5")
            yield Example(code, participant, day(7), quantity=hours, provider=provider)


def examples_of_others(
    context: Context,
    usual: Sequence[DemoPlan],
    managed: Sequence[DemoPlan],
    current: Sequence[DemoPlan],
    day: dt.date,
    cap: Decimal,
) -> Iterator[Example]:
    """The warnings about plans and their budgets, each of a participant whose plan is so."""
    for contact in [each for each in context.records[Contact] if not each.scheme_number][:1]:
        yield Example(plan_warnings.NO_ENGAGEMENT, contact, day)
    planned = Counter(each.participant.pk for each in usual)
    for each in [each for each in current if planned[each.participant.pk] == 1][:1]:
        before = weekday_before(each.first_day - 20 * DAY, each)
        yield Example(plan_warnings.OUTSIDE_PLAN, each.participant, before)
    # Of the plan with the least: one claim of hundreds of thousands would hide the others in the charts.
    for each in sorted(current[1:], key=left_of)[:1]:
        hours = to_cents(left_of(each) / 50 + 20)  # an hour costs more than 50 in each region
        yield Example(plan_warnings.OVER_BUDGET, each.participant, day, quantity=hours)
    in_periods = [each for each in current if each.budgets[0].periods and each.first_day < day]
    for each in [each for each in in_periods if each.budgets[0].left_on(day) > 0][:1]:
        # More than the period and the earlier ones have, and not more than the year.
        hours = each.budgets[0].left_on(day) / cap + 3
        yield Example(plan_warnings.OVER_PERIOD, each.participant, day, quantity=to_cents(hours))
    for each in [
        each for each in current if any(part.category == 15 and part.periods for part in each.budgets)
    ][:1]:
        yield Example(plan_warnings.NOT_STATED, each.participant, day, NOT_STATED, ONE)
    for each in [each for each in current if each.first_day > each.engagement.plan_start_date][:1]:
        before = weekday_before(each.first_day, each)
        yield Example(plan_warnings.NOT_ENDORSED, each.participant, before, quantity=ONE)
    self_managed = [each for each in usual if each.engagement.is_self_managed]
    for each in [each for each in self_managed if each.first_day < day < each.last_day][:1]:
        yield Example(plan_warnings.WRONG_MANAGEMENT, each.participant, day)
    for each in [each for each in managed if each.last_day + 100 * DAY < context.as_of][:1]:
        yield Example(plan_warnings.AFTER_BOOKING, each.participant, weekday_before(each.last_day, each))


def left_of(plan: DemoPlan) -> Decimal:
    return sum((budget.left for budget in plan.budgets), Decimal(0))


def weekday_before(day: dt.date, plan: DemoPlan) -> dt.date:
    """The last day before another that is surely a plain weekday where the participant lives."""
    day -= DAY
    while day_types(day, plan.state) != {DayType.WEEKDAY}:
        day -= DAY
    return day
