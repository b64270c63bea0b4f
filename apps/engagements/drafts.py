"""Drafts of plans and their budgets: what rules and services read, and what services work out besides."""

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal

from apps.base.drafts import Draft, Extra
from apps.engagements.models import ZERO, ClientEngagement, SupportCategory
from apps.people.models import Contact


class EngagementDraft(Draft):
    """A draft of a plan. The services load what its warnings compare it with.

    ``other_plans`` are the participant's other current plans, ``allocated_amount`` the sum of its
    budgets.
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


class BudgetDraft(Draft):
    """A draft of a category budget, or of a service booking.

    ``allocated_to_others`` is the sum of the plan's other service bookings, which the services load.
    """

    engagement: ClientEngagement | None
    budget: Decimal
    used_elsewhere: Decimal
    management_type: str
    allocated_to_others: Extra[Decimal] = ZERO


class BookingDraft(BudgetDraft):
    category: SupportCategory | None
    support_purpose: str
    support_item: str | None
    booking_start_date: dt.date | None
    booking_end_date: dt.date | None
