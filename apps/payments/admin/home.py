"""The panel of the home page: what is ready to pay, runs to be released, and what no accounts export has."""

from typing import Any

from django.db.models import Count, Exists, Min, OuterRef, Q, Subquery
from django.http import HttpRequest

from apps.core.admin_base import HOME_PANELS, HomeContent, HomePanel, Work
from apps.core.admin_base.display import admin_url, list_url
from apps.core.computed import MoneySum
from apps.funding.models import Claim, ClaimFile
from apps.payments.choices import EntryKind, RunStatus
from apps.payments.models import AccountsEntry, AccountsExport, PaymentRun, PaymentSettings
from apps.payments.services.ready import sum_ready, sum_ready_payees


def payment_work(request: HttpRequest) -> HomeContent:
    """The payees that something is ready for, and the runs that somebody has to release."""
    rows = []
    address = admin_url(PaymentRun, "ready")
    statuses = set(PaymentRun.objects.order_by().values_list("status", flat=True).distinct())
    # Before the first run, all that was ever paid is ready: too much to be loaded for a row of this page.
    if not statuses:
        count, amount = sum_ready()
        if count:
            rows.append(Work("Ready to pay: claims", count, address, amount))
    else:
        count, amount = sum_ready_payees()
        if count:
            rows.append(Work("Ready to pay: payees", count, address, amount))
    found = sum_runs()
    if found["drafts"]:
        link = list_url(PaymentRun, status__exact=RunStatus.DRAFT.value)
        row = Work("Runs to be released", found["drafts"], link, found["amount"], found["oldest"])
        rows.append(row)
    if found["unexported"] and request.user.has_perm("payments.view_accountsexport"):
        link = admin_url(AccountsExport, "add")
        rows.append(Work("Runs in no accounts export", found["unexported"], link, found["unexported_amount"]))
    links = [("Tracker", admin_url(Claim, "tracker"))] if request.user.has_perm("funding.view_claim") else []
    if not (RunStatus.RELEASED in statuses and ClaimFile.objects.exists()):
        if not Claim.objects.exists():
            return HomeContent(rows)  # the panel "Getting started" is there, and nothing to track
        links.append(("Getting started", admin_url(ClaimFile, "first_steps")))
    return HomeContent(rows, links=links)


def sum_runs() -> dict[str, Any]:
    """How many runs wait for their release, and how many no accounts export has; one statement."""
    exported = AccountsEntry.objects.filter(item__run=OuterRef("pk"), kind=EntryKind.PAID)
    # Nothing, while nobody has said from which day on accounts are exported.
    first_day = Subquery(PaymentSettings.objects.values("accounts_from")[:1])
    draft = Q(status=RunStatus.DRAFT)
    unexported = Q(status=RunStatus.RELEASED, day__gte=first_day) & ~Exists(exported)
    runs = PaymentRun.objects.filter(draft | unexported).order_by()
    released = Q(status=RunStatus.RELEASED)
    return runs.aggregate(
        drafts=Count("pk", filter=draft),
        amount=MoneySum("total", filter=draft),
        oldest=Min("creation_date", filter=draft),
        unexported=Count("pk", filter=released),
        unexported_amount=MoneySum("total", filter=released),
    )


HOME_PANELS.append(HomePanel("Payments", PaymentRun, 35, payment_work))
