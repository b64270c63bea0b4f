"""Plans, bookings and drafts of them: each test states only what is particular to it."""

import datetime as dt
from decimal import Decimal

from django.db import transaction

from apps.base.drafts import apply_rules
from apps.core.bulk_insert import WriteBatch
from apps.engagements.amounts import Amounts, record_amounts, record_dated_amounts
from apps.engagements.drafts import BookingDraft, EngagementDraft
from apps.engagements.models import (
    CategoryBudget,
    ClientEngagement,
    FundingPeriod,
    ServiceBooking,
    SupportCategory,
)
from apps.engagements.services import create_support_categories
from tests.people.records import a_contact

START, END = dt.date(2026, 7, 1), dt.date(2027, 6, 30)


def day(text):
    return dt.date.fromisoformat(text)


def amounts(claimed="0.00", paid="0.00", waiting="0.00"):
    return Amounts(Decimal(claimed), Decimal(paid), Decimal(waiting))


def add_amounts(changes, model=ServiceBooking):
    """Record the changes of budgets by key, or those of category budgets that have days."""
    batch = WriteBatch()
    if isinstance(changes, dict):
        record_amounts(changes, model, batch)
    else:
        record_dated_amounts(changes, batch)
    with transaction.atomic():
        batch.send()


def sums(budget):
    budget.refresh_from_db()
    return Amounts(budget.claimed, budget.paid, budget.waiting)


def a_category(number=1):
    create_support_categories()
    return SupportCategory.objects.get(number=number)


def a_plan(**columns):
    values = {"plan_start_date": START, "plan_end_date": END, "total_budget_amount": Decimal("1000.00")}
    values |= {"is_plan_managed": True} | columns
    if "participant" not in values:
        values["participant"] = a_contact()
    return ClientEngagement.objects.create(**values)


def a_pace_plan(**columns):
    return a_plan(participant_type="PACE", **columns)


def a_booking(plan=None, category=1, **columns):
    values = {"support_purpose": "Custom Purpose", "category": category and a_category(category)}
    if values["category"]:
        values["support_purpose"] = values["category"].support_purpose
    return ServiceBooking.objects.create(
        engagement=plan or a_plan(), **{"budget": Decimal("100.00"), **values, **columns}
    )


def a_category_budget(plan=None, category=16, **columns):
    return CategoryBudget.objects.create(
        engagement=plan or a_pace_plan(),
        category=a_category(category),
        **{"budget": Decimal("100.00"), **columns},
    )


def with_periods(budget, *rows):
    """The component with funding periods: ("2026-07-01", "2026-09-30", "100.00")."""
    for first, last, released in rows:
        FundingPeriod.objects.create(
            category_budget=budget, first_day=day(first), last_day=day(last), released=Decimal(released)
        )
    return budget


def a_draft(model, key=None, draft_class=BookingDraft, **members):
    """A draft with every member of the model, as a form passes it to a service."""
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    return draft_class({**{field.name: field.get_default() for field in fields}, **members}, members, key=key)


def a_plan_draft(**members):
    usual = {"plan_start_date": START, "plan_end_date": END, "is_plan_managed": True}
    return a_draft(ClientEngagement, draft_class=EngagementDraft, **{"participant": None, **usual, **members})


def a_booking_draft(**members):
    return a_draft(ServiceBooking, **{"support_purpose": "Core", **members})


def found(rules, draft):
    """The (code, field) pairs of the issues in a draft."""
    return [(issue.code, issue.field) for _, issue in apply_rules([draft], rules)]
