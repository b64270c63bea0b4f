"""Thirty PACE plans and their claims, worked by hand to the cent: what is warned of, and what is left after.

The plan runs from July 2026 to June 2027. A component releases its amount in equal parts of some months, or
as the amounts say. Claims are entered in their order, whatever they warn of. Money is drawn in the order of
days: what is missing is missing of the last.
"""

import datetime as dt
from decimal import Decimal
from typing import NamedTuple

import pytest

from apps.engagements.calendars import calendar_of, divide_evenly
from apps.engagements.funding_periods import left_for, with_used_elsewhere
from apps.engagements.models import CategoryBudget
from apps.funding.drafts import ClaimDraft, LineDraft
from apps.funding.models import AcknowledgedWarning
from apps.funding.services.create import create_claims
from apps.funding.services.effects import recount_budgets
from tests.engagements.builders import a_category_budget, a_pace_plan, day, with_periods
from tests.funding.bodies import a_funder
from tests.funding.builders import a_provider_invoice
from tests.funding.warned import ABN, a_guide_item, period_of
from tests.people.records import a_client, a_contact

pytestmark = pytest.mark.django_db

ABOUT_PLANS = ("OverPeriod", "OverBudget", "NotStated", "NotEndorsed", "NoBooking", "OutsidePlan")
#: The items of the claims: a code and its category. Each is paid by the dollar.
ITEMS = {
    "A": ("01_1_0107_1_1", 1),
    "B": ("04_1_0107_1_1", 4),
    "C": ("15_1_0128_1_3", 15),
    "D": ("15_2_0128_1_3", 15),
}


class Part(NamedTuple):
    """A component: its amount and the months of its periods, or what each quarter releases."""

    amount: str = "1200"
    months: int = 3
    releases: tuple[str, ...] = ()
    category: int = 1
    further: str | None = None
    stated: str | None = None
    elsewhere: str = "0"
    until: str | None = None


class Worked(NamedTuple):
    """``claims``: (item, day, amount) or (item, first day, last day, amount), or a list of these as lines.

    ``warned``: the codes by the number of the claim; ``left``: of each component, for its periods.
    """

    claims: list
    warned: dict
    left: list
    parts: tuple = (Part(),)
    plan: dict = {}


def one(date, amount):
    return ("A", date, amount)


def growing(first, step, number):
    return [str(Decimal(first) + Decimal(step) * at) for at in range(number)]


PLANS = {
    "twelve months": Worked(
        [one("2026-07-10", "700"), one("2026-08-01", "500"), one("2026-08-02", "0.01")],
        {2: "OverBudget"},
        [["-0.01"]],
        (Part(months=12),),
    ),
    "six months, each half used up": Worked(
        [
            one("2026-07-10", "600"),
            one("2026-08-01", "0.01"),
            one("2027-01-01", "599.99"),
            one("2027-01-02", "0.01"),
        ],
        {1: "OverPeriod", 3: "OverBudget"},
        [["-0.01", "0"]],
        (Part(months=6),),
    ),
    "six months, what the first half left": Worked(
        [one("2026-07-10", "100"), one("2027-01-05", "1100")], {}, [["0", "0"]], (Part(months=6),)
    ),
    "three months, carried": Worked(
        [
            one("2026-07-10", "250"),
            one("2026-10-05", "300"),
            one("2026-10-06", "50"),
            one("2026-10-07", "0.01"),
        ],
        {3: "OverPeriod"},
        [["0", "-0.01", "300", "600"]],
    ),
    "one month": Worked(
        [
            one("2026-07-10", "100"),
            one("2026-07-11", "0.01"),
            one("2026-08-05", "100"),
            one("2026-09-05", "150"),
            one("2026-10-05", "100"),
        ],
        {1: "OverPeriod", 3: "OverPeriod"},
        [["-0.01", "0", "-50", "0", *growing(100, 100, 8)]],
        (Part(months=1),),
    ),
    "front-loaded": Worked(
        [one("2026-07-10", "500"), one("2026-10-10", "300"), one("2027-01-10", "201")],
        {2: "OverPeriod"},
        [["0", "0", "-1", "200"]],
        (Part(releases=("600", "200", "200", "200")),),
    ),
    "equipment at once": Worked(
        [("C", "2026-07-02", "5000"), ("C", "2026-07-03", "1")],
        {1: "OverBudget"},
        [["-1"]],
        (Part("5000", 12, category=15),),
    ),
    "carried over two periods": Worked(
        [one("2027-01-10", "900"), one("2027-01-11", "0.01")], {1: "OverPeriod"}, [["0", "0", "-0.01", "300"]]
    ),
    "the latest of the earlier ones first": Worked(
        [
            one("2027-01-10", "400"),
            one("2026-07-10", "300"),
            one("2026-10-10", "200"),
            one("2026-10-11", "0.01"),
        ],
        {3: "OverPeriod"},
        [["0", "0", "-0.01", "300"]],
    ),
    "a later period does not help": Worked(
        [one("2026-07-10", "300"), one("2026-07-11", "1")], {1: "OverPeriod"}, [["-1", "300", "600", "900"]]
    ),
    "a used-up period blocks its days for good": Worked(
        [one("2026-07-10", "300"), one("2026-10-10", "100"), one("2026-07-12", "1")],
        {2: "OverPeriod"},
        [["-1", "200", "500", "800"]],
    ),
    "a line over two periods": Worked(
        [("A", "2026-09-30", "2026-10-01", "100")], {0: "OverPeriod"}, [["250", "500", "800", "1100"]]
    ),
    "a line over two periods, in cents": Worked(
        [("A", "2026-09-29", "2026-10-01", "100")],
        {0: "OverPeriod"},
        [["233.33", "500", "800", "1100"]],
    ),
    "a line of a month within a period": Worked(
        [("A", "2026-07-01", "2026-07-31", "300")], {}, [["0", "300", "600", "900"]]
    ),
    "used elsewhere before": Worked(
        [one("2026-10-10", "250"), one("2026-07-10", "0.01")],
        {1: "OverPeriod"},
        [["0", "0", "299.99", "599.99"]],
        (Part(elsewhere="350"),),
    ),
    "the plan is cut short": Worked(
        [one("2027-01-05", "10"), one("2026-12-31", "10")],
        {0: "OutsidePlan"},
        [["300", "590", "890", "1190"]],
        plan={"no_active_plan_from_date": day("2027-01-01")},
    ),
    "a stated support": Worked(
        [("C", "2026-07-10", "100"), ("D", "2026-07-10", "10")],
        {1: "NotStated"},
        [["900"]],
        (Part("1000", 12, category=15, stated=ITEMS["C"][0]),),
    ),
    "a stated support beside its category": Worked(
        [("C", "2026-07-10", "500"), ("C", "2026-07-11", "1"), ("D", "2026-07-10", "1000")],
        {1: "OverBudget"},
        [["-1"], ["0"]],
        (Part("500", 12, category=15, stated=ITEMS["C"][0]), Part("1000", 12, category=15)),
    ),
    "flexible core": Worked(
        [one("2026-07-10", "200"), ("B", "2026-07-10", "100"), ("B", "2026-07-20", "0.01")],
        {2: "OverPeriod"},
        [["-0.01", "300", "600", "900"]],
        (Part(further="02 03 04"),),
    ),
    "a category of no component": Worked(
        [("B", "2026-07-10", "10")], {0: "NoBooking"}, [["300", "600", "900", "1200"]]
    ),
    "components do not help each other": Worked(
        [one("2026-07-10", "300"), ("D", "2026-07-10", "1000"), one("2026-07-11", "1")],
        {2: "OverPeriod"},
        [["-1", "300", "600", "900"], ["0"]],
        (Part(), Part("1000", 12, category=15)),
    ),
    "before the endorsement": Worked(
        [one("2026-07-31", "10"), one("2026-08-01", "10")],
        {0: "NotEndorsed"},
        [["280", "580", "880", "1180"]],
        plan={"endorsement_date": day("2026-08-01")},
    ),
    "a day of no period": Worked(
        [one("2027-01-05", "10")], {0: "OverPeriod"}, [["300", "600"]], (Part("600", 3, until="2026-12-31"),)
    ),
    "a period that releases nothing": Worked(
        [one("2026-10-10", "300"), one("2026-10-11", "0.01")],
        {1: "OverPeriod"},
        [["0", "-0.01", "300", "900"]],
        (Part(releases=("300", "0", "300", "600")),),
    ),
    "months of cents that do not divide": Worked(
        [one("2026-07-10", "83.33"), one("2026-07-11", "0.01")],
        {1: "OverPeriod"},
        [["-0.01", *growing("83.33", "83.33", 10), "916.67"]],
        (Part("1000", 1),),
    ),
    "two lines of one claim": Worked(
        [[one("2026-07-10", "200"), one("2026-07-11", "101")]],
        {0: "OverPeriod"},
        [["-1", "300", "600", "900"]],
    ),
    "months that begin on the 31st": Worked(
        [one("2026-09-29", "100"), one("2026-09-30", "100"), one("2026-10-30", "0.01")],
        {2: "OverPeriod"},
        [["0", "-0.01", *growing(100, 100, 10)]],
        (Part(months=1),),
        {"plan_start_date": day("2026-08-31"), "plan_end_date": day("2027-08-30")},
    ),
    "the last day and the first": Worked(
        [one("2026-09-30", "300"), one("2026-10-01", "300"), one("2026-09-30", "0.01")],
        {2: "OverPeriod"},
        [["-0.01", "0", "300", "600"]],
    ),
    "all in the last period": Worked(
        [one("2027-04-10", "1200"), one("2027-04-11", "0.01")],
        {1: "OverBudget"},
        [["0", "0", "0", "-0.01"]],
    ),
    "a month ahead": Worked(
        [one("2026-07-05", "150")], {0: "OverPeriod"}, [["-50", *growing(100, 100, 11)]], (Part(months=1),)
    ),
    "to the last cent": Worked(
        [one("2026-07-05", "99.99"), one("2026-07-06", "0.01"), one("2026-07-07", "0.01")],
        {2: "OverPeriod"},
        [["-0.01", *growing(100, 100, 11)]],
        (Part(months=1),),
    ),
}


@pytest.fixture(scope="module")
def scene(module_transaction):
    """The items by their letters, a provider and somebody who claims."""
    entries = {
        name: a_guide_item(code=code, type="UnitPrice", category_number=number, category_number_pace=number)
        for name, (code, number) in ITEMS.items()
    }
    return entries, a_client(business_number=ABN), a_funder()


def make_component(plan, part):
    component = a_category_budget(
        plan,
        part.category,
        budget=Decimal(part.amount),
        further_categories=part.further,
        stated_items=part.stated,
        used_elsewhere=Decimal(part.elsewhere),
    )
    days = calendar_of(
        plan.plan_start_date, day(part.until) if part.until else plan.plan_end_date, part.months
    )
    released = part.releases or divide_evenly(component.budget, len(days))
    rows = ((str(first), str(last), amount) for (first, last), amount in zip(days, released, strict=True))
    return with_periods(component, *rows)


def a_claim_of(lines, contact, scene):
    entries, provider, staff = scene
    drafts = []
    for item, first, *last, amount in lines:
        entry, until = entries[item], day(last[0]) if last else None
        left_out = dict.fromkeys(("tax_choice", "claim_type", "cancellation_reason", "notes", "cost_centre"))
        given = {
            "price_book": entry.price_book,
            "product": entry.product,
            "from_date": day(first),
            "to_date": until,
            "quantity": Decimal(amount),
            "price": Decimal(1),
        }
        drafts.append(LineDraft({**left_out, **given}, given))
    given = {
        "provider_invoice": a_provider_invoice(contact=contact, provider=provider),
        **period_of(drafts),
        "line_items": drafts,
        "staff": staff,
    }
    taken = ("contact", "provider", "provider_invoice_reference", "send_payment_to")
    left_out = dict.fromkeys((*taken, "claim_number", "external_invoice_number", "due_date"))
    return ClaimDraft({**left_out, **given}, given)


def left_of(component):
    component.refresh_from_db()
    periods = with_used_elsewhere(
        [each.amounts for each in component.periods.all()], component.used_elsewhere
    )
    return [left_for(periods, at) for at in range(len(periods))]


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_worked_by_hand(name, scene, at):
    at("2027-05-20 10:00")
    worked = PLANS[name]
    contact = a_contact(state="NSW")
    days = {"plan_start_date": dt.date(2026, 7, 1), "plan_end_date": dt.date(2027, 6, 30)}
    plan = a_pace_plan(participant=contact, **{**days, **worked.plan})
    components = [make_component(plan, part) for part in worked.parts]
    warned = {}
    for number, claim in enumerate(worked.claims):
        lines = claim if isinstance(claim, list) else [claim]
        (key,) = create_claims([a_claim_of(lines, contact, scene)], ignore_warnings=True)
        warnings = AcknowledgedWarning.objects.filter(claim=key, code__in=ABOUT_PLANS)
        if codes := list(warnings.values_list("code", flat=True)):
            (warned[number],) = codes
    assert warned == worked.warned
    assert [left_of(each) for each in components] == [
        [Decimal(each) for each in left] for left in worked.left
    ]
    assert recount_budgets() == (0, 0, 0)
    assert CategoryBudget.objects.filter(engagement=plan).count() == len(worked.parts)
