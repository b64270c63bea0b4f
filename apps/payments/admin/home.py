"""The panel of the home page about what is ready to pay, and runs that wait for their release."""

from django.db.models import Count, Min
from django.http import HttpRequest

from apps.core.admin_base import HOME_PANELS, HomeContent, HomePanel, Work
from apps.core.admin_base.display import admin_url, list_url
from apps.core.computed import MoneySum
from apps.funding.models import Claim
from apps.payments.choices import RunStatus
from apps.payments.models import ZERO, PaymentRun
from apps.payments.services.ready import load_ready, sum_ready


def payment_work(request: HttpRequest) -> HomeContent:
    """The payees that something is ready for, and the runs that somebody has to release."""
    rows = []
    address = admin_url(PaymentRun, "ready")
    # Before the first run, all that was ever paid is ready: too much to be loaded for a row of this page.
    if not PaymentRun.objects.exists():
        count, amount = sum_ready()
        if count:
            rows.append(Work("Ready to pay: claims", count, address, amount))
    elif payees := [each for each in load_ready() if each.claims]:
        amount = sum((each.amount for each in payees), ZERO)
        rows.append(Work("Ready to pay: payees", len(payees), address, amount))
    drafts = PaymentRun.objects.filter(status=RunStatus.DRAFT).order_by()
    found = drafts.aggregate(count=Count("pk"), amount=MoneySum("total"), oldest=Min("creation_date"))
    if found["count"]:
        link = list_url(PaymentRun, status__exact=RunStatus.DRAFT.value)
        rows.append(Work("Runs to be released", found["count"], link, found["amount"], found["oldest"]))
    may_track = request.user.has_perm("funding.view_claim")
    return HomeContent(rows, links=[("Tracker", admin_url(Claim, "tracker"))] if may_track else [])


HOME_PANELS.append(HomePanel("Payments", PaymentRun, 60, payment_work))
