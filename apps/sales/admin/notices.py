"""Notices of follow-ups that are due."""

import datetime as dt
from collections.abc import Iterator

from django.urls import reverse

from apps.core.models import Notice
from apps.core.notices import DUE_NOTICES, NewNotice
from apps.sales.models import Opportunity

#: Of what is overdue for longer nobody is told for the first time.
OVERDUE_PERIOD = dt.timedelta(days=7)


def due_follow_ups(today: dt.date) -> Iterator[NewNotice]:
    """Each follow-up once, on its day, or on the first day after it that a worker runs."""
    due = Opportunity.objects.filter(
        archive_date=None,
        follow_up_date__range=(today - OVERDUE_PERIOD, today),
        follow_up_staff__isnull=False,
    )
    for opportunity in due.order_by("pk"):
        yield NewNotice(
            opportunity.follow_up_staff_id,
            Notice.Kind.DUE,
            f"Follow up on {opportunity.name}, due {opportunity.follow_up_date:%d/%m/%Y}",
            reverse("admin:sales_opportunity_change", args=[opportunity.pk]),
            f"follow-up {opportunity.pk} {opportunity.follow_up_date}",
        )


DUE_NOTICES.append(due_follow_ups)
