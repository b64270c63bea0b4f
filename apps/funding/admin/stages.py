"""The tracker: how far claims have come from the receipt of an invoice to the payment of its payee.

A stage is a condition, which the tracker counts by and the lists filter by. Payments adds the last ones.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import ModelAdmin
from django.db.models import (
    BooleanField,
    Case,
    Count,
    F,
    IntegerField,
    Min,
    Model,
    Q,
    Subquery,
    Value,
    When,
)
from django.db.models.expressions import Combinable, OuterRef
from django.db.models.functions import Coalesce
from django.db.models.lookups import Exact
from django.http import HttpRequest

from apps.base.money import to_cents
from apps.core.admin_base import COUNT_LIMIT, ConditionFilter, Conditions, Figure
from apps.core.admin_base.display import list_url
from apps.core.caseload import visible_rows
from apps.core.computed import MoneySum
from apps.funding.admin.bill_filters import over_business_days
from apps.funding.admin.queues import Queue
from apps.funding.models import WAITS_FOR_CLAIM, Claim, ClaimFile, ClaimFileLine, ProviderInvoice
from apps.funding.statuses import DAYS_TO_CLAIM, EDITABLE, ClaimStatus

#: The parameter that chooses a stage in its list, and the end of the value that chooses what is late in it.
STAGE = "stage"
LATE = "-late"


@dataclass(frozen=True, slots=True)
class ClaimStage:
    """A row of the tracker: the condition of its records, since when they count, and what they come to.

    ``late``: the condition of those of its records that are late; ``late_label`` says it in words.
    ``late_is_enough``: no other records fulfil it, so that lists need not ask for both.
    """

    name: str
    label: str
    model: type[Claim] | type[ProviderInvoice]
    condition: Callable[[], Q]
    moment: str
    amount: Combinable
    late: Callable[[], Q] | None = None
    late_label: str = ""
    late_is_enough: bool = False

    def late_condition(self) -> Q:
        """The condition of its records that are late."""
        if self.late is None:
            return Q(pk__in=())
        return self.late() if self.late_is_enough else self.condition() & self.late()

    @property
    def link(self) -> str:
        return list_url(self.model, **{STAGE: self.name})

    @property
    def late_link(self) -> str:
        return list_url(self.model, **{STAGE: f"{self.name}{LATE}"})


# --- claims in their files ------------------------------------------------------------------------------

FILE_LINES = ClaimFileLine.objects.filter(claim=OuterRef("pk"), is_withdrawn=False).order_by()
#: How many lines of a claim in its file have no answer. As a value of its own PostgreSQL looks them up for
#: each open claim by an index; joined, it would read all lines.
UNANSWERED = Subquery(
    FILE_LINES.values("claim").annotate(number=Count("pk") - Count("result")).values("number"),
    output_field=IntegerField(),
)
IS_ANSWERED = Q(Exact(Coalesce(UNANSWERED, Value(-1)), 0))
#: Found by the few files that were not sent.
IS_NOT_SENT = Q(
    pk__in=ClaimFileLine.objects.filter(claim_file__status=ClaimFile.Status.NOT_SENT, claim__isnull=False)
    .order_by()
    .values("claim")
)
CLAIMED = (ClaimStatus.AGENCY_CLAIMED.value, ClaimStatus.SUBMITTED_TO_PAYMENT_PROVIDER.value)


def in_status(*statuses: str) -> Q:
    return Q(archive_date=None, funding_status__in=statuses)


def is_late_since(column: str, days: int) -> Callable[[], Q]:
    """The condition that a moment is longer ago than so many business days."""
    return lambda: Q(**{f"{column}__lt": over_business_days(days)})


RECEIVED = "provider_invoice__creation_date"
LATE_LABEL = f"received over {DAYS_TO_CLAIM} business days ago"
UNCLAIMED_IS_LATE = is_late_since(RECEIVED, DAYS_TO_CLAIM)

#: In the order of a claim's life.
STAGES: list[ClaimStage] = [
    ClaimStage(
        "received",
        "Received, no claim yet",
        ProviderInvoice,
        lambda: WAITS_FOR_CLAIM,
        "creation_date",
        F("invoice_total"),
        is_late_since("creation_date", DAYS_TO_CLAIM),
        LATE_LABEL,
    ),
    ClaimStage(
        "entered",
        "Entered, to be approved",
        Claim,
        lambda: in_status(*sorted(EDITABLE)),
        RECEIVED,
        F("total"),
        UNCLAIMED_IS_LATE,
        LATE_LABEL,
    ),
    ClaimStage(
        "approved",
        "Approved",
        Claim,
        lambda: in_status(ClaimStatus.APPROVED.value),
        RECEIVED,
        F("total"),
        UNCLAIMED_IS_LATE,
        LATE_LABEL,
    ),
    ClaimStage(
        "in-file",
        "In a claim file that was not sent",
        Claim,
        lambda: in_status(*CLAIMED) & IS_NOT_SENT & ~IS_ANSWERED,
        RECEIVED,
        F("total"),
        UNCLAIMED_IS_LATE,
        LATE_LABEL,
    ),
    ClaimStage(
        "sent",
        "Sent, no answer yet",
        Claim,
        lambda: in_status(*CLAIMED) & ~IS_NOT_SENT & ~IS_ANSWERED,
        "status_date",
        F("total"),
    ),
    ClaimStage(
        "accepted",
        "Accepted by the agency",
        Claim,
        lambda: in_status(*CLAIMED) & IS_ANSWERED,
        "status_date",
        F("total"),
    ),
]


class StageFilter(ConditionFilter):
    """How far records have come, by the stages of the tracker, and those that are late there."""

    title = "stage"
    parameter_name = STAGE

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        return [("", "All"), *((value, label) for value, label, _ in stage_choices(model_admin.model))]

    def conditions(self, model: type[Model]) -> Conditions:
        """The chosen condition alone: those of other stages would cost each list their statements."""
        chosen = self.value()
        return {
            value: (label, condition()) for value, label, condition in stage_choices(model) if value == chosen
        }


def stage_choices(model: type[Model]) -> Iterator[tuple[str, str, Callable[[], Q]]]:
    """The stages of a model's records, and what is late in them: value, label and condition."""
    for stage in STAGES:
        if stage.model is model:
            yield stage.name, stage.label, stage.condition
            if stage.late:
                yield f"{stage.name}{LATE}", f"{stage.label}: {stage.late_label}", stage.late_condition


@dataclass(frozen=True, slots=True)
class TrackerRow:
    """A stage with its records; without links for those who may not see their list."""

    stage: ClaimStage
    queue: Queue
    is_linked: bool

    @property
    def late(self) -> Figure | None:
        """The records that are late; ``None`` where no time is set."""
        return Figure(self.queue.late, self.stage.late_link) if self.stage.late else None


def load_stage(stage: ClaimStage, person: object) -> Queue:
    """The records of a stage that a person sees, the oldest up to the limit of lists; one statement."""
    late: Any = Case(
        When(stage.late() if stage.late else Q(pk__in=()), then=True),
        default=False,
        output_field=BooleanField(),
    )
    records = visible_rows(person, stage.model._default_manager.filter(stage.condition()))
    records = records.annotate(since=F(stage.moment), sum=stage.amount, is_late=late)
    found = records.order_by("since")[: COUNT_LIMIT + 1].aggregate(
        count=Count("pk"),
        oldest=Min("since"),
        amount=MoneySum("sum"),
        late=Count("pk", filter=Q(is_late=True)),
    )
    return Queue(stage.name, stage.label, **{**found, "amount": to_cents(found["amount"])})


def tracker_rows(request: HttpRequest) -> list[TrackerRow]:
    """The stages in their order; a statement for each."""
    return [
        TrackerRow(
            stage,
            load_stage(stage, request.user),
            request.user.has_perm(f"funding.view_{stage.model._meta.model_name}"),
        )
        for stage in STAGES
    ]
