"""The demo's invoices: fees that recur, supports the subscriber gives, what it sells beside the scheme."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from random import Random

from apps.core.demo import Context
from apps.engagements.choices import ManagementType
from apps.funding.choices import InvoiceClaimType, RecurringFrequency, TaxChoice
from apps.funding.demo import lives
from apps.funding.demo.bills import (
    DAY,
    ZERO,
    Drawn,
    Office,
    Row,
    day_of,
    days_of_service,
    draw_lines,
    first_morning,
    line_row,
    moves_of,
    settle,
    state_after,
    within_hours,
)
from apps.funding.demo.purses import Plan, Purse
from apps.funding.demo.shelf import Article

TO_AGENCY, TO_CLIENT = InvoiceClaimType.INVOICE_TO_AGENCY.value, InvoiceClaimType.INVOICE_TO_CLIENT.value
FEE, SUPPORTS, SALE = "fee", "supports", "sale"
MONTHLY_FEE = "14_034_0127_8_3"
#: What the subscriber does itself of what is managed by plan managers.
OWN_CATEGORIES = frozenset({7, 14})
LINES = (1, 1, 2, 2, 3)
#: The place of a cost centre in the demo's list, by category; others have the fourth.
COST_CENTRES = {14: 0, 7: 1, 15: 2}


@dataclass(frozen=True, slots=True)
class Order:
    """An invoice to draw for a plan, on a working day; or the one of a month of a recurring ``series``."""

    morning: int
    plan: Plan
    kind: str
    series: int = 0
    month: dt.date | None = None
    is_first: bool = False


def invoices(office: Office, count: int) -> Iterator[Drawn]:
    """So many invoices of two years, in the order they were issued; none where nobody can be billed."""
    chance = office.context.chance("invoice")
    heads: dict[int, Row] = {}
    number = 0
    orders = sorted(ordered(chance, office, count), key=attrgetter("morning"))
    for morning, found in groupby(orders, attrgetter("morning")):
        of_day = list(found)
        for nth, order in enumerate(of_day):
            made = within_hours(office.context, morning, nth, len(of_day))
            drawn = draw_invoice(chance, office, order, heads, made, number)
            if drawn is not None:
                number += 1
                yield drawn


# --- what is ordered ------------------------------------------------------------------------------------


def ordered(chance: Random, office: Office, count: int) -> list[Order]:
    """What is to be invoiced. Of a recurring one come the invoices of later months after the first."""
    found: list[Order] = []
    served: set[int] = set()
    plans = [plan for plan in office.plans if working_days(office.context, plan)]
    while plans and len(found) < count:
        plan = plans[int(chance.random() * len(plans))]
        days = working_days(office.context, plan)
        luck = chance.random()
        if luck < 0.15:
            found.append(Order(any_of(chance, days), plan, SALE))
        elif luck < 0.3 and plan.number not in served and fee_of(office, plan) is not None:
            served.add(plan.number)
            months = list(months_of(office.context, plan))
            found += months if len(found) + len(months) <= count else []
        elif any(is_billed(plan, purse) for purse in plan.purses):
            found.append(Order(any_of(chance, days), plan, SUPPORTS))
        elif luck > 0.9:
            found.append(Order(any_of(chance, days), plan, SALE))
    return found[:count]


def any_of(chance: Random, days: range) -> int:
    return days[int(chance.random() * len(days))]


def working_days(context: Context, plan: Plan) -> range:
    """The working days of two years on which something of a plan may be billed."""
    first = max(morning_of(context, plan.known_from + 14 * DAY), first_morning(context, 2))
    return range(first, morning_of(context, plan.last))


def morning_of(context: Context, day: dt.date) -> int:
    """The number of the working day on which, or after which, a day comes."""
    return bisect_left(context.mornings, dt.datetime.combine(day, dt.time(), context.zone))


def is_billed(plan: Plan, purse: Purse) -> bool:
    """Whether the subscriber bills supports of this budget itself."""
    if not purse.offers or not purse.gone:
        return False
    return plan.management != ManagementType.PLAN or purse.category in OWN_CATEGORIES - {14}


def fee_of(office: Office, plan: Plan) -> tuple[Article, Purse] | None:
    """The monthly fee and what it is drawn on, for a plan that pays for plan management."""
    article = office.shelf.articles.get(MONTHLY_FEE)
    for purse in plan.purses:
        if article is not None and purse.category == 14 and plan.management == ManagementType.PLAN:
            return article, purse
    return None


def months_of(context: Context, plan: Plan) -> Iterator[Order]:
    """An invoice on the first of each month of the plan, up to the demo's day."""
    days, is_first = working_days(context, plan), True
    month = next_month(day_of(context, days[0]))
    while month <= plan.last and morning_of(context, month) < len(context.mornings):
        yield Order(morning_of(context, month), plan, FEE, plan.number, month, is_first)
        month, is_first = next_month(month), False


def next_month(day: dt.date) -> dt.date:
    return (day.replace(day=1) + 32 * DAY).replace(day=1)


# --- what is drawn --------------------------------------------------------------------------------------


def draw_invoice(
    chance: Random, office: Office, order: Order, heads: dict[int, Row], made: dt.datetime, number: int
) -> Drawn | None:
    """The invoice of an order, and what became of it; ``None`` where nothing is left to bill."""
    plan, today = order.plan, day_of(office.context, order.morning)
    days = (order.month, order.month) if order.month else days_of_service(chance, plan, today)
    lines, purses = lines_of(chance, office, order, days)
    if not lines:
        return None
    to_client = order.kind == SALE or (order.kind == SUPPORTS and plan.management == ManagementType.SELF)
    row = invoice_row(chance, office, plan, days, made, number)
    row |= {"invoice_claim_type": TO_CLIENT if to_client else TO_AGENCY, **recurrence(order, heads, plan)}
    if order.is_first:
        heads[order.series] = row
    if any(line["is_credit_item"] for line in lines):
        row["staff_id"] = office.creditors.at(chance, made)
    drawn = Drawn(row, lines, purses)
    of_kind = lives.OF_INVOICES_TO_CLIENTS if to_client else lives.OF_INVOICES_TO_AGENCY
    # One that was refused would not come again.
    life = of_kind[0] if order.is_first else lives.choose(chance, of_kind)
    live(chance, office, drawn, life, order.morning)
    identify(office, drawn, number)
    return drawn


def lines_of(
    chance: Random, office: Office, order: Order, days: tuple[dt.date, dt.date]
) -> tuple[list[Row], list[Purse | None]]:
    """The lines with what they draw on; now and then the last is a credit, of less than the others are."""
    if order.kind == SALE:
        return [sold(chance, office, order.plan, days)], [None]
    lines, purses = fee_lines(chance, office, order.plan, days) if order.kind == FEE else ([], [])
    if order.kind == SUPPORTS:
        categories = frozenset(purse.category for purse in order.plan.purses if is_billed(order.plan, purse))
        wanted = LINES[int(chance.random() * len(LINES))]
        lines, purses = draw_lines(chance, office, order.plan, days, wanted, categories)
    for line, purse in zip(lines, purses, strict=True):
        centre = COST_CENTRES.get(purse.category, 3) if purse is not None else 3
        told = office.cost_centres and chance.random() < 0.7
        line |= {
            "is_credit_item": False,
            "cost_centre_id": office.cost_centres[centre % len(office.cost_centres)] if told else None,
        }
    others = sum((line["total"] for line in lines[:-1]), ZERO)
    if lines and lines[-1]["total"] < others and chance.random() < 0.3:
        credit(lines[-1], purses[-1])
    return lines, purses


def credit(line: Row, purse: Purse | None) -> None:
    """Let a line count negative."""
    if purse is not None:
        purse.drawn -= 2 * int(line["total"] * 100)
    line |= {"is_credit_item": True, "total": -line["total"]}


def fee_lines(
    chance: Random, office: Office, plan: Plan, days: tuple[dt.date, dt.date]
) -> tuple[list[Row], list[Purse | None]]:
    found = fee_of(office, plan)
    price = found and found[0].price(plan.zone, days[0])
    if found is None or price is None or found[1].drawn + price > found[1].budget:
        return [], []
    article, purse = found
    purse.drawn += price
    office.drawn[purse.guid] = purse
    line = line_row(chance, office.shelf.price_book, article, (None, None), days, 100, price, purse)
    return [line], [purse]


def sold(chance: Random, office: Office, plan: Plan, days: tuple[dt.date, dt.date]) -> Row:
    """A line of what is sold at the subscriber's own rates, which include GST."""
    shelf = office.private
    articles: Sequence[Article] = list(shelf.articles.values())
    article = articles[int(chance.random() * len(articles))]
    price = article.price(plan.zone, days[0]) or 0
    quantity = 100 * (1 + int(chance.random() * 3))
    line = line_row(chance, shelf.price_book, article, (None, None), days, quantity, price, None)
    return line | {
        "tax_choice": TaxChoice.GST_ON_INCOME.value,
        "claim_type": None,
        "cancellation_reason": None,
        "is_credit_item": False,
        "cost_centre_id": office.cost_centres[-1] if office.cost_centres else None,
    }


def invoice_row(
    chance: Random, office: Office, plan: Plan, days: tuple[dt.date, dt.date], made: dt.datetime, number: int
) -> Row:
    staff = office.funders.at(chance, made)
    return {
        "guid": office.context.guid(f"invoice/{number}", made),
        "invoice_number": office.invoice_number(number),
        "creation_date": made,
        "external_invoice_number": None,
        "start_date": days[0],
        "end_date": days[1],
        "due_date": made.date() + 14 * DAY,
        "contact_id": plan.participant,
        "staff_id": staff,
        "entered_by_id": staff if chance.random() < 0.5 else office.funders.at(chance, made),
        "paid_earlier": ZERO,
        "resubmitted": False,
        "resubmission_of_id": None,
    }


def recurrence(order: Order, heads: dict[int, Row], plan: Plan) -> Row:
    """When it comes again, or what it was made from."""
    head = heads.get(order.series) if order.kind == FEE else None
    return {
        "is_recurring": order.is_first,
        "recurring_start_date": order.month if order.is_first else None,
        "recurring_end_date": plan.last if order.is_first and plan.number % 2 else None,
        "recurring_frequency": RecurringFrequency.MONTHLY.value if order.is_first else None,
        "recurrence_of_id": head["guid"] if head else None,
        "recurrence_date": order.month if head else None,
    }


def live(chance: Random, office: Office, drawn: Drawn, life: lives.Life, morning: int) -> None:
    """Let the invoice live until the demo's day."""
    moved = lives.lived(chance, office.context, life, morning, drawn.row["creation_date"])
    state = state_after(moved)
    settle(drawn, state, 40 + int(50 * chance.random()))
    paid = state.paid_at
    drawn.row["payment_date"] = None if paid is None else paid.astimezone(office.context.zone).date()
    drawn.row["resubmitted"] = state.reopened
    drawn.moves.extend(moves_of(chance, office, "invoice_id", drawn, moved))


def identify(office: Office, drawn: Drawn, number: int) -> None:
    """Name the lines, in their order."""
    made = drawn.row["creation_date"]
    for position, line in enumerate(drawn.lines):
        line |= {
            "guid": office.context.guid(f"invoiceline/{number}/{position}", made),
            "invoice_id": drawn.row["guid"],
            "creation_date": made,
            "modify_date": made,
            "position": position,
        }
