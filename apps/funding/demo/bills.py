"""How the demo's claims and invoices are drawn: their lines on a plan's purses, and what became of them."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

from apps.core.demo import WORKING_SECONDS, Context, Series
from apps.funding.choices import CancellationReason, ClaimType, TaxChoice, Unit
from apps.funding.demo import lives
from apps.funding.demo.lives import Moved
from apps.funding.demo.purses import Plan, Purse, dollars, usual_share
from apps.funding.demo.shelf import LONGEST_DAY, LONGEST_PERIOD, Article, Offer, Shelf
from apps.funding.services.budgets import budget_amounts
from apps.people.demo import lists
from apps.people.demo import plan as people

Row = dict[str, Any]
#: A row of ``MOVE_COLUMNS``, and one of ``WARNING_COLUMNS``.
Move = tuple[Any, ...]
Warned = tuple[Any, ...]
ZERO = Decimal("0.00")
DAY = dt.timedelta(days=1)

#: A line comes to this at most, and to about this at least, in cents.
MOST, LEAST = 90_000, 2_500
#: Of how many days a bill is, in turn.
SPANS = (1, 1, 7, 7, 7, 14, 14, 28)
#: Of a budget so much is left when the demo has drawn it, in hundredths.
RESERVE = 2

APPROVING = (lists.PLAN_MANAGER, lists.ACCOUNTS_OFFICER, lists.ADMINISTRATOR)
CREDITING = (lists.ACCOUNTS_OFFICER, lists.ADMINISTRATOR)

MOVE_COLUMNS = (
    *("claim_id", "invoice_id", "provider_invoice_id", "verb", "from_status", "to_status"),
    *("reason", "at", "staff_id"),
)
WARNING_COLUMNS = ("claim_id", "invoice_id", "code", "place", "message", "at", "staff_id")


class Workers:
    """The staff who may do something, each from the day they came."""

    def __init__(self, staff: Series, roles: Sequence[str]) -> None:
        self.numbers = [
            number
            for number in range(staff.count)
            if people.role_of_staff(number) in roles
            and not people.staff_is_archived(number)
            and not people.login_is_closed(number)
        ] or [0]
        self.guids = [staff.guid(number) for number in self.numbers]
        self.since = [staff.created(number) for number in self.numbers]

    def at(self, chance: Random, moment: dt.datetime) -> UUID:
        """One of those who were there; the first while there was nobody."""
        there = max(bisect_left(self.since, moment), 1)
        return self.guids[int(chance.random() * there)]


@dataclass(frozen=True, slots=True)
class Order:
    """A provider invoice that is reusable, and the first claim on it."""

    paper: UUID
    reference: str
    claim: Row

    @property
    def provider(self) -> UUID:
        found: UUID = self.claim["provider_id"]
        return found


@dataclass(slots=True)
class Office:
    """What the bills of the demo are drawn with."""

    context: Context
    shelf: Shelf
    private: Shelf
    plans: list[Plan]
    funders: Workers
    creditors: Workers
    #: Providers whose business number is missing, and those whose number fails its check.
    without_number: frozenset[UUID]
    wrong_number: dict[UUID, str]
    cost_centres: tuple[UUID, ...]
    claim_number: Callable[[int], str]
    invoice_number: Callable[[int], str]
    #: Provider invoices that several claims are built on, by the number of their plan.
    orders: dict[int, Order] = field(default_factory=dict)
    drawn: dict[UUID, Purse] = field(default_factory=dict)


@dataclass(slots=True)
class Drawn:
    """A bill with all that is stored with it, and the purses that its lines draw on."""

    row: Row
    lines: list[Row]
    purses: list[Purse | None]
    moves: list[Move] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)
    paper: Row | None = None
    #: Whether it takes its provider invoice as long as it lives.
    takes: bool = True
    #: When it is to be resubmitted.
    due: dt.datetime | None = None


# --- days -----------------------------------------------------------------------------------------------


def first_morning(context: Context, years: int) -> int:
    """The number of the first working day of so many years before the demo's day."""
    day = context.as_of - dt.timedelta(days=round(365.25 * years))
    return bisect_left(context.mornings, dt.datetime.combine(day, dt.time(), dt.UTC))


def day_of(context: Context, morning: int) -> dt.date:
    return context.mornings[morning].astimezone(context.zone).date()


def crowd(context: Context, plans: Sequence[Plan], late: int = 14) -> Iterator[tuple[int, list[Plan]]]:
    """Each working day of two years with the plans that bills come in for then; one list, which changes.

    Bills come from a fortnight after a plan was known on, until some days after its end.
    """
    coming = sorted(plans, key=lambda plan: (plan.known_from, plan.number), reverse=True)
    there: list[Plan] = []
    for morning in range(first_morning(context, 2), len(context.mornings)):
        day = day_of(context, morning)
        while coming and coming[-1].known_from + 14 * DAY <= day:
            there.append(coming.pop())
        if any(plan.last + late * DAY < day for plan in there):
            there[:] = [plan for plan in there if plan.last + late * DAY >= day]
        yield morning, there


def spread(weights: Sequence[int], count: int) -> list[int]:
    """``count`` divided by weights, to whole numbers that sum up to it."""
    total, found, before, gone = sum(weights), [], 0, 0
    for weight in weights:
        gone += weight
        upto = count * gone // total if total else 0
        found.append(upto - before)
        before = upto
    return found


def within_hours(context: Context, morning: int, nth: int, of: int) -> dt.datetime:
    return context.mornings[morning] + dt.timedelta(seconds=int((nth + 0.5) * WORKING_SECONDS / of))


def days_of_service(chance: Random, plan: Plan, today: dt.date) -> tuple[dt.date, dt.date]:
    """First and last day of what is claimed: a little while ago, within the plan."""
    last = min(today - (1 + int(chance.random() * 12)) * DAY, plan.last)
    span = SPANS[int(chance.random() * len(SPANS))]
    return max(last - (span - 1) * DAY, plan.first), last


# --- lines ----------------------------------------------------------------------------------------------


def draw_lines(
    chance: Random,
    office: Office,
    plan: Plan,
    days: tuple[dt.date, dt.date],
    wanted: int,
    categories: frozenset[int] | None = None,
) -> tuple[list[Row], list[Purse | None]]:
    """At most so many lines for a plan within days; none where nothing can be bought.

    Together they bring what is gone of the plan's purses to what would be usual by then.
    """
    lines: list[Row] = []
    purses: list[Purse | None] = []
    share = usual_share(plan, days[1], office.context.as_of)
    for _ in range(wanted * 4):
        if len(lines) == wanted:
            break
        purse, room = fullest(chance, plan, share, categories)
        if purse is None:
            break
        line = draw_line(chance, office, plan, purse, days, room // (wanted - len(lines)))
        if line is not None:
            lines.append(line)
            purses.append(purse)
            purse.drawn += int(line["total"] * 100)
            office.drawn[purse.guid] = purse
    return lines, purses


def fullest(
    chance: Random, plan: Plan, share: float, categories: frozenset[int] | None
) -> tuple[Purse | None, int]:
    """A purse to draw on, the more likely the more is usual to be gone of it by then; and how much more."""
    rooms = [
        (max(int(purse.gone * share) - purse.drawn, LEAST), purse)
        for purse in plan.purses
        if purse.offers and (categories is None or purse.category in categories)
    ]
    left = chance.random() * sum(room for room, _ in rooms)
    for room, purse in rooms:
        left -= room
        if left < 0:
            return purse, room
    return (rooms[-1][1], rooms[-1][0]) if rooms else (None, 0)


def draw_line(
    chance: Random, office: Office, plan: Plan, purse: Purse, days: tuple[dt.date, dt.date], room: int
) -> Row | None:
    """A line of about that many cents; ``None`` where chance found nothing that fits."""
    offer = purse.offers[int(chance.random() * len(purse.offers))]
    when = days_of_line(chance, offer, days)
    article = offer.on(chance, when[0] or days[0], plan.state)
    if article is None:
        return None
    first, last = when[0] or days[0], when[1] or when[0] or days[1]
    price = article.price(plan.zone, first)
    if price is None:
        return None
    most = purse.budget * (100 - RESERVE) // 100 - purse.drawn
    aim = min(int(room * (0.5 + 0.7 * chance.random())), MOST, most)
    quantity = quantity_of(article, price, aim, is_of_a_day=first == last)
    mark = (article.product.int & 0xFFFFF, first.toordinal(), last.toordinal() - first.toordinal())
    while not plan.remember(((mark[0] << 20 | mark[1]) << 10 | mark[2]) << 20 | quantity):
        quantity += step_of(article)
    total = (quantity * price + 50) // 100
    if total > most:
        return None
    return line_row(chance, office.shelf.price_book, article, when, (first, last), quantity, price, purse)


def days_of_line(
    chance: Random, offer: Offer, days: tuple[dt.date, dt.date]
) -> tuple[dt.date | None, dt.date | None]:
    """From and to: a day of the bill's, where the support is one of a time; else often left out."""
    if offer.at_all_times is not None and chance.random() < 0.5:
        return None, None
    day = days[0] + int(chance.random() * ((days[1] - days[0]).days + 1)) * DAY
    return day, (day if chance.random() < 0.6 else None)


def quantity_of(article: Article, price: int, aim: int, is_of_a_day: bool) -> int:
    """A plausible quantity, in hundredths, that comes to about so many cents."""
    step = step_of(article)
    if article.unit in (Unit.MONTH, Unit.WEEK):
        return step
    quantity = max(aim * 100 // price // step * step, step)
    if article.is_dollar:
        return max(quantity, 450)
    return min(quantity, LONGEST_DAY if is_of_a_day else LONGEST_PERIOD)


def step_of(article: Article) -> int:
    """The least difference of quantities, in hundredths: five cents, a quarter of an hour, or one."""
    if article.is_dollar:
        return 5
    return 25 if article.is_hourly else 100


def line_row(
    chance: Random,
    price_book: UUID,
    article: Article,
    when: tuple[dt.date | None, dt.date | None],
    days: tuple[dt.date, dt.date],
    quantity: int,
    price: int,
    purse: Purse | None,
) -> Row:
    claim_type, reason = way_of_claiming(chance, article)
    return {
        "archive_date": None,
        "price_book_id": price_book,
        "product_id": article.product,
        "from_date": when[0],
        "to_date": when[1],
        "quantity": dollars(quantity),
        "price": dollars(price),
        "total": dollars((quantity * price + 50) // 100),
        "amount_paid": ZERO,
        "tax_choice": TaxChoice.GST_FREE_INCOME.value if chance.random() < 0.4 else None,
        "claim_type": claim_type,
        "cancellation_reason": reason,
        "notes": article.name,
        "first_day": days[0],
        "last_day": days[1],
        "booking_id": purse.guid if purse is not None and purse.is_booking else None,
        "category_budget_id": purse.guid if purse is not None and not purse.is_booking else None,
    }


REASONS = tuple(reason.value for reason in CancellationReason if reason is not CancellationReason.NONE)
HOURLY_WAYS = (ClaimType.PROVIDER_TRAVEL, ClaimType.NON_FACE_TO_FACE_SERVICES, ClaimType.TELEHEALTH)


def way_of_claiming(chance: Random, article: Article) -> tuple[str | None, str | None]:
    """Claim type and cancellation reason; ways that the guide's flags allow."""
    luck = chance.random()
    if luck < 0.6:
        return None, None
    if luck < 0.88 or not article.is_hourly:
        return ClaimType.DIRECT_SERVICE.value, None
    if luck < 0.92:
        return ClaimType.CANCELLATION.value, REASONS[int(chance.random() * len(REASONS))]
    return HOURLY_WAYS[int(chance.random() * len(HOURLY_WAYS))].value, None


# --- what became of them --------------------------------------------------------------------------------


@dataclass(slots=True)
class State:
    """Where a bill stands after what it lived through."""

    status: str = lives.AWAITING
    since: dt.datetime | None = None
    reason: str | None = None
    approved: dt.datetime | None = None
    paid_at: dt.datetime | None = None
    archived: dt.datetime | None = None
    touched: dt.datetime | None = None
    paid: bool = False
    partly: bool = False
    reopened: bool = False


#: An invoice that was rejected so is opened again as the same record, resubmitted.
REJECTED_BY_OTHERS = (lives.CLIENT_REJECTED, lives.MANAGER_REJECTED)


def state_after(moved: Iterable[Moved]) -> State:
    state = State()
    for each in moved:
        to, state.touched = each.step.to, each.at
        if to == lives.ARCHIVED:
            state.archived = each.at
            continue
        state.status, state.since, state.reason = to, each.at, each.reason
        if to == lives.APPROVED:
            state.approved = each.at
        elif to == lives.AWAITING:
            state.approved = None
            state.reopened = each.before in REJECTED_BY_OTHERS or state.reopened
        elif to == lives.PAID_IN_PART:
            state.partly, state.paid_at = True, each.at
        elif to in (lives.PAID_BY_AGENCY, lives.PAID):
            # Written off with a reason: what was paid in part stays all that was paid.
            state.paid = each.reason is None
            state.paid_at = each.at if state.paid else state.paid_at
    return state


def settle(drawn: Drawn, state: State, share: int, frees: bool = True) -> None:
    """Write into row and lines where the bill stands, and tell the purses what the lines draw on them.

    ``share``: so many hundredths of it are paid where it is paid in part.
    """
    paid_sum, total = ZERO, ZERO
    archived = state.archived is not None
    for line, purse in zip(drawn.lines, drawn.purses, strict=True):
        amount = line["total"]
        if state.paid:
            line["amount_paid"] = amount
        elif state.partly:
            line["amount_paid"] = dollars(int(amount * 100) * share // 100)
        total += amount
        paid_sum += line["amount_paid"]
        if purse is not None:
            told = budget_amounts(state.status, archived, amount, line["amount_paid"])
            purse.amounts += told
            # Refused or put away it can be drawn again, unless it is kept for what it is resubmitted as.
            if frees:
                purse.drawn += int((told.claimed + told.waiting - amount) * 100)
    made = drawn.row["creation_date"]
    drawn.row |= {
        "modify_date": state.touched or made,
        "archive_date": state.archived,
        "total": total,
        "amount_paid": paid_sum,
        "status_date": state.since or made,
        "status_reason": state.reason,
        "approved_date": state.approved,
        "funding_status": state.status,
    }


def moves_of(chance: Random, office: Office, key: str, drawn: Drawn, moved: list[Moved]) -> Iterator[Move]:
    """Who moved it, and when; ``key`` is the column that refers to it."""
    for each in moved:
        verb = lives.verb(each.before, each.step.to, each.reason is not None)
        after = each.before if each.step.to == lives.ARCHIVED else each.step.to
        staff = office.funders.at(chance, each.at)
        yield move(key, drawn.row["guid"], verb, (each.before, after), each.reason, each.at, staff)


def move(
    key: str,
    record: UUID,
    verb: str,
    way: tuple[str, str],
    reason: str | None,
    at: dt.datetime,
    staff: UUID | None,
) -> Move:
    """A row of ``MOVE_COLUMNS``."""
    of_which = (record if key == name else None for name in MOVE_COLUMNS[:3])
    return *of_which, verb, *way, reason, at, staff
