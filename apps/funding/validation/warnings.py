"""What is seldom meant in a claim or an invoice, and may be stored all the same by whoever says so.

The codes are those of the warnings of POST /claim and /invoice. Each rule reads what ``facts.gather`` put
beside the draft and its lines; each message says the figure, the limit and what to do, and is the same text
whenever the same is entered, since it is stored with the bill that was entered in spite of it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache

from stdnum.au import abn

from apps.engagements.choices import ManagementType
from apps.engagements.coverage import CoveringBudget
from apps.funding.choices import ClaimType, Flag, ItemType
from apps.funding.drafts import LineFacts, ProductFacts
from apps.funding.pricing import EffectivePrice
from apps.funding.public_holidays import DayType, day_types, holiday_name
from apps.odata.write.drafts import Draft, Issue, Rule

#: What a rule finds in a line: a code, the member of the line to look at (none: all of it), a sentence.
Found = tuple[str, str | None, str]
LineRule = Callable[[Draft, Draft, LineFacts], Found | None]


def in_each_line(*rules: LineRule) -> Rule:
    """One rule of several about a line, held against every line that can be read whole, line by line."""

    def each(draft: Draft) -> Iterator[Issue]:
        for line in draft.line_items or ():
            facts = line.facts
            if facts is None:
                continue
            for rule in rules:
                found = rule(draft, line, facts)
                if found is not None:
                    code, member, message = found
                    place = ("line_items", facts.number)
                    yield Issue(code, place if member is None else (*place, member), message)

    return each


# --- how figures and days are told ----------------------------------------------------------------------


def money(amount: Decimal) -> str:
    """``1616.26``; a price keeps all its digits: ``70.1250``."""
    cents = amount.quantize(Decimal("0.01"))
    return f"{cents if cents == amount else amount:,f}"


def day(date: dt.date) -> str:
    return f"{date:%d %b %Y}"


def days(first: dt.date, last: dt.date) -> str:
    return f"from {day(first)} to {day(last)}"


# --- the price guide ------------------------------------------------------------------------------------


def the_price_is_within_the_cap(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    if facts.product.type in WITHOUT_A_CAP or facts.product.is_quote_required:
        return None
    if is_over(line.price, line.price_found):
        return "PriceOverCap", "price", over_cap(line.price, line.price_found, line.first_day, facts.product)
    if is_over(line.price, facts.last_price):
        return "PriceOverCap", "price", over_cap(line.price, facts.last_price, line.last_day, facts.product)
    return None


#: Quotes decide about the one, and the other is paid by the dollar.
WITHOUT_A_CAP = frozenset({ItemType.QUOTABLE.value, ItemType.UNIT_PRICE.value})


def is_over(price: Decimal, cap: EffectivePrice | None) -> bool:
    return cap is not None and cap.amount is not None and price > cap.amount


def over_cap(price: Decimal, cap: EffectivePrice | None, on: dt.date, product: ProductFacts) -> str:
    assert cap is not None
    assert cap.amount is not None
    return (
        f"The price {money(price)} is {money(price - cap.amount)} above the {cap.zone} cap of"
        f" {money(cap.amount)} for {product.code} on {day(on)}. Lower it, or check the item and the day."
    )


def the_item_is_current(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    product = facts.product
    if product.archive_date is not None:
        return "ItemNotCurrent", "product", f"{product.code} is archived. Choose the item that replaced it."
    if line.price_found is not None and facts.last_price is not None:
        return None
    on = line.first_day if line.price_found is None else line.last_day
    return (
        "ItemNotCurrent",
        "product",
        f"{product.code} is not in the price book on {day(on)}. Choose an item that is current then, or check"
        " the day.",
    )


def the_item_needs_no_quote(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    product = facts.product
    if not product.is_quote_required and product.type != ItemType.QUOTABLE:
        return None
    return (
        "QuoteRequired",
        "product",
        f"{product.code} is paid by an approved quote only. Make sure that the quote covers"
        f" {money(line.total)}.",
    )


#: The column of a product that says whether it may be claimed so.
FLAGS = {
    ClaimType.CANCELLATION.value: "short_notice_cancellation",
    ClaimType.AGENCY_REQUIRED_REPORT.value: "agency_requested_reports",
    ClaimType.PROVIDER_TRAVEL.value: "provider_travel",
    ClaimType.NON_FACE_TO_FACE_SERVICES.value: "non_face_to_face",
    ClaimType.IRREGULAR_SIL_SUPPORTS.value: "irregular_sil",
}

REFUSED = frozenset({Flag.NO.value, Flag.NOT_APPLICABLE.value})


def the_item_may_be_claimed_so(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    claim_type: str = line.__dict__.get("claim_type") or ClaimType.NONE.value
    flag = FLAGS.get(claim_type)
    if flag is None:
        return None
    answer = getattr(facts.product, flag)
    if answer not in REFUSED:
        return None
    kind = ClaimType(claim_type).label
    return (
        "ClaimTypeNotAllowed",
        "claim_type",
        f"The price guide does not allow “{kind}” for {facts.product.code} ({answer})."
        " Choose another claim type or another item.",
    )


def the_item_is_of_that_day(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    """Of a line of several days nobody can tell on which of them it was given."""
    if line.first_day != line.last_day:
        return None
    named = named_day_types(facts.product.name)
    if not named:
        return None
    on, state = line.first_day, draft.facts.state
    kinds = day_types(on, state)
    if named & kinds:
        return None
    told = " or ".join(kind.value for kind in DayType if kind in kinds)
    if DayType.PUBLIC_HOLIDAY in kinds:
        told += f" ({holiday_name(on, state)})"
    where = f" in {state}" if state else ""
    wanted = " or ".join(kind.value for kind in DayType if kind in named)
    return (
        "DayMismatch",
        "from_date",
        f"{facts.product.code} is for {wanted}, and {day(on)} is {told}{where}. Check the item and the day.",
    )


_DAYS = {
    "weekday": {DayType.WEEKDAY},
    "saturday": {DayType.SATURDAY},
    "sunday": {DayType.SUNDAY},
    "weekend": {DayType.SATURDAY, DayType.SUNDAY},
    "public holiday": {DayType.PUBLIC_HOLIDAY},
}
_NAMED = re.compile(r"\b(weekday|saturday|sunday|weekend|public\s+holiday)s?\b", re.IGNORECASE)


@lru_cache(maxsize=4096)
def named_day_types(name: str) -> frozenset[DayType]:
    """The kinds of day that an item's name says it is for; none when it says nothing of them.

    “… - Weekday Evening”, “… - Public Holiday”; a “Night-Time Sleepover” is of any day, and so is what is
    “Weekly”.
    """
    words = (" ".join(found.casefold().split()) for found in _NAMED.findall(name))
    return frozenset(kind for word in words for kind in _DAYS[word])


# --- plans and budgets ----------------------------------------------------------------------------------


def the_participant_has_a_plan(draft: Draft) -> Iterator[Issue]:
    for line in draft.line_items or ():
        facts = line.facts
        if facts is not None and facts.cover.plan is None and facts.cover.nearest_plan is None:
            yield Issue(
                "NoEngagement",
                "contact",
                f"{draft.facts.participant.full_name} has no plan. Enter the plan first, or check the"
                " participant.",
            )
            return


def the_plan_covers_the_days(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    plan, nearest = facts.cover.plan, facts.cover.nearest_plan
    if plan is None:
        if nearest is None:
            return None
        return (
            "OutsidePlan",
            "from_date",
            f"No plan covers {day(line.first_day)}; the nearest runs"
            f" {days(nearest.first_day, nearest.last_day)}. Check the day, or enter the plan of that day.",
        )
    if line.last_day <= plan.last_day:
        return None
    return (
        "OutsidePlan",
        "to_date",
        f"The line goes on to {day(line.last_day)}, and the plan that covers its first day ends on"
        f" {day(plan.last_day)}. Make a line of its own for the days after it.",
    )


def there_is_a_booking(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    cover = facts.cover
    if cover.plan is None or cover.budget is not None or cover.nearest_budget is not None:
        return None
    product = facts.product
    number = product.category
    if cover.plan.is_pace and product.category_number_pace is not None:
        number = product.category_number_pace
    of = f"category {number:02}" if number is not None else "its category"
    what = "budget for" if cover.plan.is_pace else "service booking for"
    return (
        "NoBooking",
        "product",
        f"The plan {days(cover.plan.first_day, cover.plan.last_day)} has no {what} {of} nor for"
        f" {product.code}. Enter it in the plan, or check the item.",
    )


def the_booking_covers_the_days(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    cover = facts.cover
    if cover.plan is None:
        return None
    budget = cover.budget
    if budget is None:
        nearest = cover.nearest_budget
        if nearest is None:
            return None
        return (
            "OutsideBooking",
            "from_date",
            f"The booking {nearest} runs {days(nearest.first_day, nearest.last_day)}, which leaves out"
            f" {day(line.first_day)}. Check the day, or extend the booking.",
        )
    if min(line.last_day, cover.plan.last_day) <= budget.last_day:
        return None
    return (
        "OutsideBooking",
        "to_date",
        f"The line goes on to {day(line.last_day)}, and the booking {budget} ends on {day(budget.last_day)}."
        " Make a line of its own for the days after it, or extend the booking.",
    )


def the_booking_is_managed_by_the_plan_manager(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    budget = facts.cover.budget
    if budget is None or budget.management_type == ManagementType.PLAN:
        return None
    return (
        "WrongManagement",
        "product",
        f"The booking {budget} is managed by {MANAGERS[budget.management_type]}, and only bookings managed by"
        " a plan manager are claimed for. Check the item, or the booking's management.",
    )


MANAGERS = {
    ManagementType.AGENCY.value: "the agency",
    ManagementType.SELF.value: "the participant",
    ManagementType.PLAN.value: "a plan manager",
}


def the_budget_is_enough(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    budget, left = facts.cover.budget, facts.left
    if budget is None or left is None or line.total <= left or line.total <= 0:
        return None
    return "OverBudget", "quantity", over_budget(line.total, left, budget)


def over_budget(total: Decimal, left: Decimal, budget: CoveringBudget) -> str:
    if left > 0:
        remains = f"is {money(total - left)} more than the {money(left)} left of {budget}"
    elif left:
        remains = f"comes when {budget} is overdrawn by {money(-left)} already"
    else:
        remains = f"comes when nothing is left of {budget}"
    return (
        f"The line's total of {money(total)} {remains}, unpaid claims counted."
        " Lower it, or have the budget raised."
    )


def it_is_not_too_late_for_the_booking(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    """Today counts: bookings are paid from for some time after their end, and for no longer."""
    cover = facts.cover
    budget = cover.budget or (cover.nearest_budget if cover.plan is not None else None)
    if budget is None:
        return None
    late = (draft.facts.today - budget.last_day).days
    if late <= DAYS_AFTER_BOOKING:
        return None
    return (
        "AfterBooking",
        "from_date",
        f"The booking {budget} ended on {day(budget.last_day)}, {late} days ago; it is paid from for"
        f" {DAYS_AFTER_BOOKING} days after its end. Ask the agency first, or check the day.",
    )


DAYS_AFTER_BOOKING = 90


# --- days -----------------------------------------------------------------------------------------------


def it_is_not_too_old(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    limit = years_before(draft.facts.today, YEARS)
    if line.first_day >= limit:
        return None
    return (
        "TooOld",
        "from_date",
        f"{day(line.first_day)} is over two years ago; supports are paid for back to {day(limit)}."
        " Check the day.",
    )


YEARS = 2


@lru_cache(maxsize=16)
def years_before(today: dt.date, years: int) -> dt.date:
    """The same day of the year; the 28th of February for the 29th."""
    try:
        return today.replace(year=today.year - years)
    except ValueError:
        return today.replace(year=today.year - years, day=28)


def it_lies_not_in_the_future(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    today = draft.facts.today
    if line.last_day <= today:
        return None
    member = "from_date" if line.first_day > today or line.last_day == line.first_day else "to_date"
    return (
        "FutureService",
        member,
        f"{day(line.last_day)} is after today, {day(today)}. Enter supports when they have been given, or"
        " check the day.",
    )


# --- others that say the same ---------------------------------------------------------------------------


def the_line_is_not_claimed_already(draft: Draft, line: Draft, facts: LineFacts) -> Found | None:
    if facts.twin is None:
        return None
    when = day(line.first_day)
    if line.last_day != line.first_day:
        when = days(line.first_day, line.last_day)
    return (
        "DuplicateLine",
        None,
        f"{line.quantity.normalize():f} × {facts.product.code}, {when}, is already in {facts.twin}, for the"
        " same participant and claim type. Take it out, or make sure that it was given twice.",
    )


def the_reference_is_not_claimed_already(draft: Draft) -> Iterator[Issue]:
    twin = draft.facts.twin
    if twin is not None:
        yield Issue(
            "DuplicateInvoice",
            "provider_invoice_reference",
            f"{draft.provider_invoice_reference} of {draft.facts.provider.business_name} is already claimed"
            f" for {draft.facts.participant.full_name} in {twin}. Make sure that it is another invoice.",
        )


# --- the provider ---------------------------------------------------------------------------------------


def the_provider_has_a_business_number(draft: Draft) -> Iterator[Issue]:
    provider = draft.facts.provider
    if provider is not None and not (provider.business_number or "").strip():
        yield Issue(
            "AbnMissing",
            "provider",
            f"{provider.business_name} has no business number (ABN); {draft.missing_abn_reason_code} will be"
            " sent in its place. Enter the number with the provider if there is one.",
        )


def the_business_number_is_an_abn(draft: Draft) -> Iterator[Issue]:
    provider = draft.facts.provider
    number = provider and (provider.business_number or "").strip()
    if number and not is_an_abn(number):
        yield Issue(
            "AbnInvalid",
            "provider",
            f"{number}, the business number of {provider.business_name}, is no ABN: those have 11 digits that"
            " check each other. Put it right with the provider.",
        )


@lru_cache(maxsize=8192)
def is_an_abn(number: str) -> bool:
    return bool(abn.is_valid(number))


def the_provider_invoice_says_the_same(draft: Draft) -> Iterator[Issue]:
    for name in draft.differing:
        given, told = given_name(draft, name), draft.facts.paper_names[name]
        yield Issue(
            "GivenDiffers",
            name,
            f"The {MEMBERS[name]} given is {given}, and the provider invoice's is {told}. Take out what is"
            " given to use the provider invoice's.",
        )


MEMBERS = {"contact": "participant", "provider": "provider", "provider_invoice_reference": "reference"}


def given_name(draft: Draft, name: str) -> str:
    if name == "contact":
        return str(draft.facts.participant.full_name)
    if name == "provider":
        return str(draft.facts.provider.business_name)
    return str(draft.provider_invoice_reference)


#: About the lines of any bill, in the order in which people would ask.
OF_LINES: tuple[LineRule, ...] = (
    the_price_is_within_the_cap,
    the_item_is_current,
    the_item_needs_no_quote,
    the_item_may_be_claimed_so,
    the_item_is_of_that_day,
    the_plan_covers_the_days,
    there_is_a_booking,
    the_booking_covers_the_days,
    the_budget_is_enough,
    it_is_not_too_late_for_the_booking,
    it_is_not_too_old,
    it_lies_not_in_the_future,
    the_line_is_not_claimed_already,
)

INVOICE_WARNINGS: tuple[Rule, ...] = (the_participant_has_a_plan, in_each_line(*OF_LINES))

CLAIM_WARNINGS: tuple[Rule, ...] = (
    the_provider_invoice_says_the_same,
    the_reference_is_not_claimed_already,
    the_provider_has_a_business_number,
    the_business_number_is_an_abn,
    the_participant_has_a_plan,
    in_each_line(*OF_LINES, the_booking_is_managed_by_the_plan_manager),
)
