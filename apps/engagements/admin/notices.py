"""Notices of plans that end and budgets that are spent."""

import datetime as dt
from collections.abc import Iterator

from apps.core.models import Notice
from apps.core.notices import DUE_NOTICES, due_notice
from apps.engagements.admin.budgets import spent_conditions
from apps.engagements.models import ClientEngagement, ServiceBooking, ended_before

NOTICE_PERIOD = dt.timedelta(days=30)


def ending_plans(today: dt.date) -> Iterator[Notice]:
    """Each plan once, when it ends within 30 days, for the account manager of its participant."""
    ending = ClientEngagement.objects.filter(
        ~ended_before(today) & ended_before(today + NOTICE_PERIOD + dt.timedelta(days=1)),
        archive_date=None,
        participant__account_manager__isnull=False,
    )
    for plan in ending.select_related("participant").order_by("pk"):
        text = f"The plan of {plan.participant} ends on {plan.last_day:%d/%m/%Y}"
        key = f"plan {plan.pk} {plan.last_day}"
        yield due_notice(plan.participant.account_manager_id, text, plan, key)


def spent_bookings(today: dt.date) -> Iterator[Notice]:
    """Each booking once when it is nearly spent, and once when it is overspent, for its budget manager."""
    for choice, (label, condition) in spent_conditions().items():
        bookings = ServiceBooking.objects.filter(condition, budget_manager__isnull=False)
        for booking in bookings.select_related("engagement__participant", "category").order_by("pk"):
            text = f"{label}: {booking} of {booking.engagement.participant}"
            yield due_notice(booking.budget_manager_id, text, booking, f"booking {booking.pk} {choice}")


DUE_NOTICES.extend((ending_plans, spent_bookings))
