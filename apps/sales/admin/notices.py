"""Notices of follow-ups that are due."""

import datetime as dt
from collections.abc import Iterator

from apps.core.models import Notice
from apps.core.notices import DUE_NOTICES, due_notice
from apps.sales.models import Opportunity

#: Of what is overdue for longer nobody is told for the first time.
OVERDUE_PERIOD = dt.timedelta(days=7)


def due_follow_ups(today: dt.date) -> Iterator[Notice]:
    """Each follow-up once, on its day, or on the first day after it that a worker runs."""
    due = Opportunity.objects.filter(
        archive_date=None,
        follow_up_date__range=(today - OVERDUE_PERIOD, today),
        follow_up_staff__isnull=False,
    )
    for opportunity in due.order_by("pk"):
        text = f"Follow up on {opportunity.name}, due {opportunity.follow_up_date:%d/%m/%Y}"
        key = f"follow-up {opportunity.pk} {opportunity.follow_up_date}"
        yield due_notice(opportunity.follow_up_staff_id, text, opportunity, key)


DUE_NOTICES.append(due_follow_ups)
