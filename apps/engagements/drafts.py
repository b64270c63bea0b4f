"""Drafts of plans and their budgets: what rules and services read, and what services work out besides."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, Self
from uuid import UUID

from apps.base.drafts import Draft, Extra
from apps.base.money import ZERO
from apps.engagements.models import ClientEngagement, SupportCategory, codes_of, component_label, numbers_of
from apps.people.models import Contact


class WaitingSupport(NamedTuple):
    """A line of a claim or invoice (``bill``) that waits on a budget of a plan to be claimed."""

    plan: UUID
    budget: UUID
    bill: UUID
    first_day: dt.date
    last_day: dt.date
    amount: Decimal


@dataclass(frozen=True, slots=True)
class LosingDays:
    """Supports that wait for days that a change takes from a plan or a booking, before and after it."""

    before: Sequence[WaitingSupport] = ()
    after: Sequence[WaitingSupport] = ()


class EngagementDraft(Draft):
    """A draft of a plan. The services load what its warnings compare it with.

    ``other_plans`` are the participant's other current plans, ``allocated_amount`` the sum of its
    budgets, ``losing_days`` what waits on it and is for days that it loses.
    """

    participant_type: str
    participant: Contact
    plan_start_date: dt.date
    plan_end_date: dt.date
    booking_start_date: dt.date | None
    booking_end_date: dt.date | None
    plan_commencement_date: dt.date | None
    no_active_plan_from_date: dt.date | None
    is_agency_managed: bool
    is_self_managed: bool
    is_plan_managed: bool
    support_coordinator: Contact | None
    endorsement_date: dt.date | None
    total_budget_amount: Decimal
    other_plans: Extra[Sequence[ClientEngagement]] = ()
    allocated_amount: Extra[Decimal] = ZERO
    losing_days: Extra[LosingDays] = LosingDays()


class Component(NamedTuple):
    """The supports of a component: categories by their numbers, or the stated supports alone."""

    label: str
    categories: tuple[int, ...]
    stated_items: tuple[str, ...]


class BudgetDraft(Draft):
    """A draft of a category budget, or of a service booking."""

    engagement: ClientEngagement | None
    budget: Decimal
    used_elsewhere: Decimal
    management_type: str


class PeriodDraft(Draft):
    """A draft of a funding period."""

    first_day: dt.date
    last_day: dt.date
    released: Decimal

    @classmethod
    def of(cls, first_day: dt.date, last_day: dt.date, released: Decimal) -> Self:
        return cls({"first_day": first_day, "last_day": last_day, "released": released})

    @property
    def days(self) -> str:
        return f"{self.first_day:%d %b %Y} – {self.last_day:%d %b %Y}"


class ComponentDraft(BudgetDraft):
    """A draft of a category budget. ``others`` are the other components of its plan, which services load."""

    category: SupportCategory | None
    component_name: str | None
    further_categories: str | None
    stated_items: str | None
    others: Extra[Sequence[Component]] = ()

    @property
    def component(self) -> Component | None:
        """The supports that it pays for; ``None`` while its category is not known."""
        if self.category is None:
            return None
        label = component_label(self.component_name, str(self.category), self.stated_items)
        numbers = (self.category.number, *numbers_of(self.further_categories))
        return Component(label, numbers, codes_of(self.stated_items))


class WholeComponentDraft(ComponentDraft):
    """A draft of a component with the whole list of its funding periods, as bodies give it."""

    periods: list[PeriodDraft]


class PeriodsDraft(Draft):
    """All funding periods of a component, whose key is the draft's; services load its budget and its plan."""

    budget: Decimal
    periods: Extra[Sequence[PeriodDraft]]
    plan: Extra[ClientEngagement]


@dataclass(frozen=True, slots=True)
class EnteredComponent:
    """A component that is entered together with its periods; ``None``: those that it has stay."""

    component: ComponentDraft
    periods: Sequence[PeriodDraft] | None = None


class BookingDraft(BudgetDraft):
    """A draft of a service booking; services load the sum of the other ones of its plan."""

    category: SupportCategory | None
    support_purpose: str
    support_item: str | None
    booking_start_date: dt.date | None
    booking_end_date: dt.date | None
    allocated_to_others: Extra[Decimal] = ZERO
    losing_days: Extra[LosingDays] = LosingDays()
