"""The last stages of the tracker: what is to be paid out, and what was."""

import datetime as dt

from django.db.models import F, Q
from django.db.models.lookups import GreaterThan

from apps.base import clock
from apps.funding.admin.stages import STAGES, Stage, is_late_since
from apps.funding.models import MAY_BE_PAID_OUT, Claim
from apps.funding.public_holidays import business_days_before
from apps.funding.statuses import DAYS_TO_PAY
from apps.payments.choices import RunStatus
from apps.payments.models import ZERO, PaymentRunClaim
from apps.payments.services.ready import ready_amount

#: What was paid out on so many of the last days is shown.
PAID_OUT_DAYS = 7


def is_ready() -> Q:
    return MAY_BE_PAID_OUT & Q(GreaterThan(ready_amount(), ZERO), archive_date=None)


def paid_out_between(first: dt.date, last: dt.date) -> Q:
    """The condition of claims that runs paid out which were released on these days."""
    rows = PaymentRunClaim.objects.filter(
        returned=False,
        item__run__status=RunStatus.RELEASED,
        item__run__released_at__gte=clock.start_of_day(first),
        item__run__released_at__lt=clock.start_of_day(last + dt.timedelta(days=1)),
    )
    return Q(pk__in=rows.order_by().values("claim"))


def was_paid_out() -> Q:
    today = clock.today()
    return paid_out_between(today - dt.timedelta(days=PAID_OUT_DAYS), today)


def was_paid_out_late() -> Q:
    """On each of the days, what the agency had paid more business days before than it may take."""
    found = Q(pk__in=())
    for number in range(PAID_OUT_DAYS + 1):
        day = clock.today() - dt.timedelta(days=number)
        limit = clock.start_of_day(business_days_before(day, DAYS_TO_PAY))
        found |= paid_out_between(day, day) & Q(payment_date__lt=limit)
    return found


STAGES.extend(
    (
        Stage(
            "paid",
            "Paid by the agency, to be paid out",
            Claim,
            is_ready,
            "payment_date",
            ready_amount(),
            is_late_since("payment_date", DAYS_TO_PAY),
            f"paid by the agency over {DAYS_TO_PAY} business days ago",
        ),
        Stage(
            "payee-paid",
            f"Payee paid in the last {PAID_OUT_DAYS} days",
            Claim,
            was_paid_out,
            "payment_date",
            F("paid_out"),
            was_paid_out_late,
            f"over {DAYS_TO_PAY} business days after the agency paid",
        ),
    )
)
