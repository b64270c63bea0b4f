"""Open money of a plan: what waits on it, what is claimed and not paid, and what is not entered yet."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.base.batched_queries import AnyOf
from apps.base.money import ZERO
from apps.engagements.drafts import WaitingSupport
from apps.engagements.models import CategoryBudget, ClientEngagement, ServiceBooking
from apps.funding.choices import ApprovalStatus
from apps.funding.models import NOT_RESUBMITTED, Claim, Invoice, ProviderInvoice
from apps.funding.services.payments import LINE_MODELS
from apps.funding.statuses import FINISHED, UNCLAIMED, OpenAmount, statuses_where
from apps.funding.validation.guards import AnyBill

#: Of these the agency, or somebody else, was asked for money that has not come.
UNPAID = statuses_where(lambda row: row.open_amount is OpenAmount.CLAIMED) - FINISHED


@dataclass(frozen=True, slots=True)
class OpenBill:
    """A bill and what its lines on a plan come to: of one that is claimed, the part that is not paid."""

    model: type[AnyBill]
    key: UUID
    number: str
    status: str
    amount: Decimal


@dataclass(frozen=True, slots=True)
class OpenBills:
    bills: Sequence[OpenBill]

    @property
    def total(self) -> Decimal:
        return sum((bill.amount for bill in self.bills), ZERO)


@dataclass(frozen=True, slots=True)
class PlanSurvey:
    """The money of a plan ``waiting`` to be claimed, claimed and ``unpaid``, and ``unclaimed`` invoices.

    Those are of the participant: which plan will pay them is known when they are entered.
    """

    waiting: OpenBills
    unpaid: OpenBills
    unclaimed: Sequence[ProviderInvoice]

    @property
    def unclaimed_total(self) -> Decimal:
        return sum((each.invoice_total or ZERO for each in self.unclaimed), ZERO)


def survey_plan(plan: ClientEngagement) -> PlanSurvey:
    invoices = ProviderInvoice.objects.filter(
        contact=plan.participant_id, archive_date=None, is_claimed=False
    ).exclude(approval_status=ApprovalStatus.REJECTED)
    return PlanSurvey(
        load_open(plan, UNCLAIMED),
        load_open(plan, UNPAID),
        list(invoices.select_related("provider").order_by("creation_date", "pk")),
    )


def load_open(plan: ClientEngagement, statuses: frozenset[str]) -> OpenBills:
    """The bills in these statuses with money open on a plan's budgets, the oldest number first."""
    found: dict[UUID, OpenBill] = {}
    for model, name, lines in open_lines(load_budgets([plan.pk]), statuses):
        for line in lines.select_related(name):
            bill = getattr(line, name)
            before = found.get(bill.pk)
            amount = line.total - line.amount_paid + (before.amount if before else ZERO)
            found[bill.pk] = OpenBill(model, bill.pk, str(bill), bill.status.label, amount)
    return OpenBills(sorted(found.values(), key=lambda bill: bill.number))


def find_waiting(plans: Collection[UUID]) -> Iterator[WaitingSupport]:
    """The lines that wait to be claimed on the budgets of plans."""
    budgets = load_budgets(plans)
    for _, name, lines in open_lines(budgets, UNCLAIMED):
        columns = ("booking", "category_budget", name, "first_day", "last_day", "total", "amount_paid")
        for booking, category_budget, bill, first_day, last_day, total, paid in lines.values_list(*columns):
            budget = booking or category_budget
            yield WaitingSupport(budgets[budget], budget, bill, first_day, last_day, total - paid)


def load_budgets(plans: Collection[UUID]) -> dict[UUID, UUID]:
    """The plans of the bookings and components of plans, by their keys."""
    budgets: dict[UUID, UUID] = {}
    for model in (ServiceBooking, CategoryBudget):
        budgets |= model._default_manager.filter(AnyOf("engagement", plans)).values_list("pk", "engagement")
    return budgets


def open_lines(
    budgets: Collection[UUID], statuses: frozenset[str]
) -> Iterator[tuple[type[AnyBill], str, QuerySet[Any]]]:
    """The lines of bills in these statuses that count on budgets: of claims, then of invoices."""
    # By their keys, so that each side of the condition has an index.
    on_budgets = Q(AnyOf("booking", budgets)) | Q(AnyOf("category_budget", budgets))
    for model in (Claim, Invoice):
        name, lines = str(model._meta.model_name), LINE_MODELS[model]
        condition = {f"{name}__archive_date": None, f"{name}__funding_status__in": sorted(statuses)}
        yield model, name, lines._default_manager.filter(on_budgets, NOT_RESUBMITTED, **condition)
