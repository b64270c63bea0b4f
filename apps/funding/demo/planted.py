"""Claims planted among the demo's, one for each warning: a tour for whoever wants to see them at work.

They came in on the demo's last working day, await approval, and their provider invoices are called by the
warning: search the claims for ``DEMO PriceOverCap``. What is warned of was acknowledged when they were
entered, as it must be. Where two claims are needed to be twins, there are two.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import UUID

from apps.engagements.choices import ManagementType
from apps.funding.choices import ClaimType, SendPaymentTo, Zone
from apps.funding.demo import guide, prices
from apps.funding.demo.bills import DAY, ZERO, Drawn, Office, Row, State, settle
from apps.funding.demo.claims import (
    UNDECIDED,
    acknowledged,
    can_be_claimed_for,
    identify,
    missing_abn_reason,
)
from apps.funding.demo.purses import Plan, Purse, cents, dollars
from apps.funding.public_holidays import DayType, day_types

#: The support that most of them are of: its category is in the first participants' plans.
USUAL, CATEGORY = "01_011_0107_1_1", 1
HOURS = 200
#: What a claim of a support that has no price of its own asks.
QUOTED = 420_000

HARBOUR_LIGHTS, AUNTY_BEV, OLD_MILL = 1, 3, 4


@dataclass(slots=True)
class Seed:
    """What one planted claim is like, where it is not like the others."""

    code: str
    message: str
    plan: Plan | None
    day: dt.date
    place: str = "LineItems[0]/FromDate"
    last_day: dt.date | None = None
    participant: UUID | None = None
    item: str = USUAL
    quantity: int = HOURS
    price: int | None = None
    claim_type: str | None = None
    provider: int = HARBOUR_LIGHTS
    reference: str | None = None
    #: The first of twins is warned of nothing.
    is_first: bool = False
    shares_paper: bool = False


class Field:
    """Where the seeds are chosen from."""

    def __init__(self, office: Office) -> None:
        self.office, self.today = office, office.context.as_of
        self.plans = [plan for plan in office.plans if can_be_claimed_for(plan) and purse_for(plan, USUAL)]
        self.current = [plan for plan in self.plans if plan.first + 30 * DAY < self.today <= plan.last]

    def workday(self, plan: Plan | None, before: dt.date) -> dt.date:
        """The last day before another that is surely a plain weekday."""
        day, state = before - DAY, plan.state if plan else None
        while day_types(day, state) != {DayType.WEEKDAY}:
            day -= DAY
        return day

    def cap(self, plan: Plan, day: dt.date) -> int:
        return self.office.shelf.articles[USUAL].price(plan.zone, day) or 0

    def first(self, wanted: Callable[[Plan], bool], plans: list[Plan] | None = None) -> Plan | None:
        return next(filter(wanted, self.plans if plans is None else plans), None)


def purse_for(plan: Plan, code: str) -> Purse | None:
    """What a support would draw on."""
    for purse in plan.purses:
        if purse.category == int(code[:2]) and is_offered(purse, code):
            return purse
    return None


def is_offered(purse: Purse, code: str) -> bool:
    articles = [
        article
        for offer in purse.offers
        for article in (offer.at_all_times, *(each for found in offer.on_days.values() for each in found))
    ]
    return any(article is not None and article.code == code for article in articles)


def seeds(field: Field) -> Iterator[Seed]:
    """All that can be planted: what needs a plan that the demo is too small for is left out."""
    plan = field.first(lambda plan: True, field.current)
    if plan is None:
        return
    yield from of_items(field, plan, field.workday(plan, field.today - 5 * DAY))
    yield from of_days_and_people(field, plan, field.workday(plan, field.today - 7 * DAY))
    yield from of_plans(field, plan)


def of_items(field: Field, plan: Plan, day: dt.date) -> Iterator[Seed]:
    cap = field.cap(plan, day)
    over = cap * 23 // 20
    yield Seed(
        "PriceOverCap",
        f"The price {dollars(over)} is {dollars(over - cap)} above the cap of {dollars(cap)} ({plan.zone}).",
        plan,
        day,
        "LineItems[0]/Price",
        price=over,
    )
    latest = field.workday(plan, field.today)
    if latest >= prices.first_days(field.today)[0]:
        yield Seed(
            "ItemNotCurrent",
            f"{guide.DISCONTINUED} has no price on that day: choose the item that took its place.",
            plan,
            latest,
            "LineItems[0]/Product",
            item=guide.DISCONTINUED,
            price=8090,
        )
    wheelchair = "05_122100101_0105_1_2"
    yield Seed(
        "QuoteRequired",
        f"{wheelchair} is paid by an approved quote: have it at hand.",
        plan,
        day,
        "LineItems[0]/Product",
        item=wheelchair,
        quantity=100,
        price=QUOTED,
    )
    night = "01_010_0107_1_1"
    yield Seed(
        "ClaimTypeNotAllowed",
        f"{night} cannot be claimed as provider travel.",
        plan,
        day,
        "LineItems[0]/ClaimType",
        item=night,
        quantity=100,
        claim_type=ClaimType.PROVIDER_TRAVEL.value,
    )
    yield Seed(
        "NoBooking", "No service booking is for this item.", plan, day, item="11_022_0110_7_3", quantity=100
    )


def of_days_and_people(field: Field, plan: Plan, day: dt.date) -> Iterator[Seed]:
    sunday = field.today - (field.today.isoweekday() % 7 or 7) * DAY
    yield Seed("DayMismatch", f"The item is of weekdays, and {sunday} is a Sunday.", plan, sunday)
    yield Seed(
        "FutureService",
        "The service ends after today.",
        plan,
        day,
        "LineItems[0]/ToDate",
        last_day=field.today + 9 * DAY,
    )
    twin = f"Another claim of this provider and participant has the reference {name_of('DuplicateInvoice')}."
    for is_first in (True, False):
        yield Seed(
            "DuplicateInvoice",
            twin,
            plan,
            day - (7 if is_first else 14) * DAY,
            "ProviderInvoiceReference",
            is_first=is_first,
            shares_paper=True,
        )
    line = "The same support, day and hours are claimed already."
    for is_first in (True, False):
        yield Seed("DuplicateLine", line, plan, day, quantity=375, is_first=is_first)
    yield Seed(
        "GivenDiffers",
        "The reference is not that of the provider invoice.",
        plan,
        day,
        "ProviderInvoiceReference",
        quantity=125,
        reference=f"{name_of('GivenDiffers')}, second copy",
    )
    clients = field.office.context.series["clients"]
    for provider, code, message in (
        (AUNTY_BEV, "AbnMissing", "The provider has no business number: the claim goes with the code EXCLS."),
        (OLD_MILL, "AbnInvalid", "The provider's business number fails its check: ask for the right one."),
    ):
        if provider < clients.count:
            yield Seed(code, message, plan, day, "ProviderGuid", quantity=150, provider=provider)


def of_plans(field: Field, plan: Plan) -> Iterator[Seed]:
    contacts = field.office.context.series["contacts"]
    day = field.workday(plan, field.today - 10 * DAY)
    if contacts.count > 1:
        # The second contact is the first one's mother.
        yield Seed(
            "NoEngagement", "No plan is known of the participant.", None, day, participant=contacts.guid(1)
        )
    known: dict[UUID, int] = {}
    for each in field.office.plans:
        known[each.participant] = known.get(each.participant, 0) + 1
    if lone := field.first(lambda plan: known[plan.participant] == 1, field.current):
        before = field.workday(lone, lone.first - 20 * DAY)
        yield Seed("OutsidePlan", f"The plan begins on {lone.first}; {before} is before.", lone, before)
    if over := field.first(lambda plan: plan is not field.current[0], field.current):
        yield too_much(field, over)
    managed = [
        plan
        for plan in field.office.plans
        if plan.management == ManagementType.SELF and purse_for(plan, USUAL) and plan.last >= field.today
    ]
    if own := field.first(lambda plan: plan.first < day, managed):
        message = "The service booking is self managed."
        yield Seed("WrongManagement", message, own, field.workday(own, day))
    if old := field.first(lambda plan: plan.last + 100 * DAY < field.today):
        message = f"The service booking ended on {old.last}, more than 90 days ago."
        yield Seed("AfterBooking", message, old, field.workday(old, old.last))
    yield Seed(
        "TooOld",
        "The service lies more than two years back.",
        plan,
        field.workday(plan, field.today - 740 * DAY),
        price=6500,
    )


def too_much(field: Field, plan: Plan) -> Seed:
    """More hours than are left of the budget."""
    day = field.workday(plan, field.today - 6 * DAY)
    purse, cap = purse_for(plan, USUAL), field.cap(plan, day)
    assert purse is not None
    left = purse.budget - max(purse.gone, purse.drawn)
    hours = max(left, 0) // max(cap, 1) + 8
    message = f"The line comes to more than the {dollars(left)} left of the service booking."
    return Seed("OverBudget", message, plan, day, "LineItems[0]/Quantity", quantity=100 * hours)


#: The warnings there are seeds for, in their order; twins are told twice.
PLANTED = (
    *("PriceOverCap", "ItemNotCurrent", "QuoteRequired", "ClaimTypeNotAllowed", "NoBooking", "DayMismatch"),
    *("FutureService", "DuplicateInvoice", "DuplicateInvoice", "DuplicateLine", "DuplicateLine"),
    *("GivenDiffers", "AbnMissing", "AbnInvalid", "NoEngagement", "OutsidePlan", "OverBudget"),
    *("WrongManagement", "AfterBooking", "TooOld"),
)


def name_of(code: str) -> str:
    """The reference of a planted claim's provider invoice."""
    return f"DEMO {code}"


def how_many(office: Office) -> int:
    """How many claims can be planted: on the first day of a financial year, no item has just ended."""
    return sum(1 for _ in seeds(Field(office)))


def planted(office: Office, from_number: int) -> Iterator[Drawn]:
    """The planted claims; their numbers go on from the others'."""
    papers: dict[str, Row] = {}
    for nth, seed in enumerate(seeds(Field(office))):
        yield sown(office, seed, nth, from_number + nth, papers)


def sown(office: Office, seed: Seed, nth: int, number: int, papers: dict[str, Row]) -> Drawn:
    """The claim of a seed with its provider invoice, entered in the last working hours."""
    context = office.context
    made = context.mornings[-1] + dt.timedelta(hours=7, minutes=6 * nth)
    providers = context.series["clients"]
    provider = providers.guid(min(seed.provider, providers.count - 1))
    staff = office.funders.guids[0]
    payee = SendPaymentTo.PROVIDER.value
    last = seed.last_day or seed.day
    line = line_of(office, seed, last)
    row: Row = {
        "guid": context.guid(f"claim/planted/{nth}", made),
        "claim_number": office.claim_number(number),
        "creation_date": made,
        "external_invoice_number": None,
        "start_date": seed.day,
        "end_date": last,
        "due_date": None,
        "contact_id": seed.participant or (seed.plan.participant if seed.plan else None),
        "staff_id": staff,
        "entered_by_id": staff,
        "paid_earlier": ZERO,
        "resubmitted": False,
        "resubmission_of_id": None,
        "provider_id": provider,
        "send_payment_to": payee,
        "missing_abn_reason_code": missing_abn_reason(office, payee, provider),
        "payment_date": None,
        "takes_provider_invoice": not seed.shares_paper,
    }
    purse = purse_for(seed.plan, seed.item) if seed.plan and covers(seed.plan, seed.day) else None
    line |= {
        "booking_id": purse.guid if purse and purse.is_booking else None,
        "category_budget_id": purse.guid if purse and not purse.is_booking else None,
    }
    if purse is not None:
        # On top of what is gone by the plan's stage.
        purse.drawn += cents(line["total"])
        purse.gone += cents(line["total"])
        office.drawn[purse.guid] = purse
    drawn = Drawn(row, [line], [purse])
    settle(drawn, State(), 100)
    paper = papers.get(seed.code) if seed.shares_paper else None
    if paper is None:
        drawn.paper = paper = paper_of(office, seed, drawn, nth)
        papers[seed.code] = paper
    row |= {
        "provider_invoice_id": paper["guid"],
        "provider_invoice_reference": seed.reference or paper["reference"],
    }
    if not seed.is_first:
        drawn.warnings.append(acknowledged(drawn, seed.code, seed.place, seed.message))
    identify(office, drawn, number)
    return drawn


def covers(plan: Plan, day: dt.date) -> bool:
    return plan.first <= day <= plan.last


def line_of(office: Office, seed: Seed, last: dt.date) -> Row:
    article = office.shelf.articles[seed.item]
    zone = seed.plan.zone if seed.plan else Zone.NATIONAL.value
    price = seed.price if seed.price is not None else article.price(zone, seed.day) or 0
    return {
        "archive_date": None,
        "price_book_id": office.shelf.price_book,
        "product_id": article.product,
        "from_date": seed.day,
        "to_date": last,
        "quantity": dollars(seed.quantity),
        "price": dollars(price),
        "total": dollars((seed.quantity * price + 50) // 100),
        "amount_paid": ZERO,
        "tax_choice": None,
        "claim_type": seed.claim_type,
        "cancellation_reason": None,
        "notes": article.name,
        "first_day": seed.day,
        "last_day": last,
    }


def paper_of(office: Office, seed: Seed, drawn: Drawn, nth: int) -> Row:
    """The provider invoice, named by the warning; of twins with their own, the second has a mark."""
    came = drawn.row["creation_date"] - dt.timedelta(hours=2)
    mark = " (again)" if not seed.is_first and seed.code == "DuplicateLine" else ""
    return {
        "guid": office.context.guid(f"paper/planted/{nth}", came),
        "creation_date": came,
        "modify_date": came,
        "archive_date": None,
        "reference": name_of(seed.code) + mark,
        "service_start_date": drawn.row["start_date"],
        "service_end_date": drawn.row["end_date"],
        "invoice_total": None if seed.shares_paper else drawn.row["total"],
        "is_reusable": seed.shares_paper,
        "send_payment_to": SendPaymentTo.PROVIDER.value,
        "contact_id": drawn.row["contact_id"],
        "provider_id": drawn.row["provider_id"],
        "document_id": None,
        "created_by_id": drawn.row["staff_id"],
        **UNDECIDED,
        "is_claimed": True,
    }
