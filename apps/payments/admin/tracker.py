"""The last stages of the tracker: what is to be paid out, and what was."""

import datetime as dt

from django.db.models import F, Min, Q, QuerySet
from django.db.models.lookups import GreaterThan

from apps.base import clock
from apps.base.money import ZERO
from apps.funding.admin.stages import STAGES, ClaimStage, is_late_since
from apps.funding.models import IS_PAID_OUT, TO_PAY_OUT, Claim
from apps.funding.public_holidays import business_days_before
from apps.funding.statuses import DAYS_TO_PAY
from apps.payments.choices import RunStatus
from apps.payments.models import PaymentRunClaim, PaymentRunItem

#: What was paid out on so many of the last days is shown.
PAID_OUT_DAYS = 7


def is_ready() -> Q:
    return IS_PAID_OUT & Q(GreaterThan(TO_PAY_OUT, ZERO), archive_date=None)


def recent_payments() -> QuerySet[PaymentRunClaim]:
    """The claims that runs of the last days paid out.

    That their payments come after the first of these days narrows nothing, and tells PostgreSQL how few they
    are: else it would join all claims that were ever paid out.
    """
    start = clock.start_of_day(clock.today() - dt.timedelta(days=PAID_OUT_DAYS))
    recent = Q(run__status=RunStatus.RELEASED, run__released_at__gte=start)
    first = PaymentRunItem.objects.filter(recent).aggregate(first=Min("pk"))["first"]
    if first is None:
        return PaymentRunClaim.objects.none()
    found = PaymentRunClaim.objects.filter(returned=False, item__run__status=RunStatus.RELEASED)
    return found.filter(item__gte=first, item__run__released_at__gte=start).order_by()


def was_paid_out_late() -> Q:
    """The condition of what the agency had paid longer before its run than that may take."""
    is_late = Q()
    for number in range(PAID_OUT_DAYS + 1):
        day = clock.today() - dt.timedelta(days=number)
        limit = clock.start_of_day(business_days_before(day, DAYS_TO_PAY))
        of_day = Q(item__run__released_at__gte=clock.start_of_day(day))
        of_day &= Q(item__run__released_at__lt=clock.start_of_day(day + dt.timedelta(days=1)))
        is_late |= of_day & Q(claim__payment_date__lt=limit)
    return Q(pk__in=recent_payments().filter(is_late).values("claim"))


STAGES.extend(
    (
        ClaimStage(
            "paid",
            "Paid by the agency, to be paid out",
            Claim,
            is_ready,
            "payment_date",
            TO_PAY_OUT,
            is_late_since("payment_date", DAYS_TO_PAY),
            f"paid by the agency over {DAYS_TO_PAY} business days ago",
        ),
        ClaimStage(
            "payee-paid",
            f"Payee paid in the last {PAID_OUT_DAYS} days",
            Claim,
            lambda: Q(pk__in=recent_payments().values("claim")),
            "payment_date",
            F("paid_out"),
            was_paid_out_late,
            f"over {DAYS_TO_PAY} business days after the agency paid",
            late_is_enough=True,
        ),
    )
)
