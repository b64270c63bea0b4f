"""Notices of plans that end."""

import datetime as dt
from collections.abc import Iterator

from django.urls import reverse

from apps.core.models import Notice
from apps.core.notices import DUE_NOTICES, NewNotice
from apps.engagements.models import ClientEngagement

NOTICE_PERIOD = dt.timedelta(days=30)


def ending_plans(today: dt.date) -> Iterator[NewNotice]:
    """Each plan once, when it ends within 30 days, for the account manager of its participant."""
    ending = ClientEngagement.objects.filter(
        archive_date=None,
        plan_end_date__range=(today, today + NOTICE_PERIOD),
        participant__account_manager__isnull=False,
    )
    for plan in ending.select_related("participant").order_by("pk"):
        yield NewNotice(
            plan.participant.account_manager_id,
            Notice.Kind.DUE,
            f"The plan of {plan.participant} ends on {plan.plan_end_date:%d/%m/%Y}",
            reverse("admin:engagements_clientengagement_change", args=[plan.pk]),
            f"plan {plan.pk} {plan.plan_end_date}",
        )


DUE_NOTICES.append(ending_plans)
