"""Open money of a plan: what waits on it, what is claimed and not paid, and what is not entered yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Q

from apps.engagements.models import ClientEngagement
from apps.funding.choices import ApprovalStatus
from apps.funding.models import NOT_RESUBMITTED, ZERO, Claim, Invoice, ProviderInvoice
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
    # By their keys, so that each side of the condition has an index.
    budgets = Q(booking__in=list(plan.bookings.values_list("pk", flat=True)))
    budgets |= Q(category_budget__in=list(plan.category_budgets.values_list("pk", flat=True)))
    found: dict[UUID, OpenBill] = {}
    for model in (Claim, Invoice):
        name, lines = str(model._meta.model_name), LINE_MODELS[model]
        rows: Any = lines._default_manager.filter(
            budgets,
            NOT_RESUBMITTED,
            **{f"{name}__archive_date": None, f"{name}__funding_status__in": sorted(statuses)},
        )
        for line in rows.select_related(name):
            bill = getattr(line, name)
            before = found.get(bill.pk)
            amount = line.total - line.amount_paid + (before.amount if before else ZERO)
            found[bill.pk] = OpenBill(model, bill.pk, str(bill), bill.status.label, amount)
    return OpenBills(sorted(found.values(), key=lambda bill: bill.number))
