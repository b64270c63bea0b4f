"""What becomes of the demo's claims and invoices: ways through the statuses, as long as their days allow."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from apps.core.demo import WORKING_SECONDS, Context
from apps.funding.choices import InvoiceStatus
from apps.funding.statuses import TRANSITIONS, Target, TransitionName

(
    AWAITING,
    SUBMITTED,
    HELD,
    APPROVED,
    CLAIMED,
    PAID_BY_AGENCY,
    PAID_IN_PART,
    CANCELLATION,
    CANCELLED,
    REJECTED,
    CLIENT_REJECTED,
    MANAGER_REJECTED,
    SENT,
    PAID,
) = (status.value for status in InvoiceStatus)

#: No status: the record is put away as it stands.
ARCHIVED = "archived"

WHY_HELD = (
    "Waiting for the participant to confirm the hours",
    "The provider will send a corrected invoice",
    "Dates overlap another invoice; asked the provider",
    "The service agreement is missing",
    "The plan is under review: budget to be confirmed",
    "Bank details changed; to be verified by phone",
)
WHY_REJECTED = (
    "The service booking has not enough left",
    "The support item is not in the plan",
    "Claimed before, according to the agency",
    "The plan had ended on the day of the service",
)
WHY_WITHDRAWN = ("Approved by mistake: the quantity was wrong", "The provider asked to wait")
WHY_CANCELLED = ("Entered twice", "The provider took the invoice back", "Wrong participant")
WHY_WRITTEN_OFF = ("The agency pays up to the cap", "Too little to be worth a dispute")
WHY_CLIENT_REJECTED = ("Was away that week", "Another price was agreed", "Already paid by card")


@dataclass(frozen=True, slots=True)
class Step:
    """A move to a status, so many working days after the one before; with one of these reasons."""

    to: str
    least: int
    most: int
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Life:
    """A way that so many in a thousand go, as far as there are days; ``again``: resubmitted days later."""

    weight: int
    steps: tuple[Step, ...]
    again: tuple[int, int] | None = None


HOLD = Step(HELD, 0, 1, WHY_HELD)
APPROVE, CLAIM = Step(APPROVED, 0, 5), Step(CLAIMED, 0, 3)
PAY = Step(PAID_BY_AGENCY, 2, 9)
SUBMIT, REJECT = Step(SUBMITTED, 0, 1), Step(REJECTED, 1, 3, WHY_REJECTED)
ASK = Step(CANCELLATION, 0, 2, WHY_CANCELLED)

OF_CLAIMS = (
    Life(760, (APPROVE, CLAIM, PAY)),
    Life(70, (APPROVE, SUBMIT, Step(CLAIMED, 1, 3), PAY)),
    Life(50, (HOLD, Step(AWAITING, 2, 14), APPROVE, CLAIM, PAY)),
    Life(10, (HOLD, Step(ARCHIVED, 25, 60))),
    Life(6, (Step(HELD, 1, 4, WHY_HELD),)),
    Life(10, (APPROVE, Step(AWAITING, 0, 1, WHY_WITHDRAWN), Step(APPROVED, 0, 2), CLAIM, PAY)),
    Life(14, (APPROVE, CLAIM, Step(PAID_IN_PART, 2, 8), Step(PAID_BY_AGENCY, 4, 15))),
    Life(10, (APPROVE, CLAIM, Step(PAID_IN_PART, 2, 8), Step(PAID_BY_AGENCY, 5, 20, WHY_WRITTEN_OFF))),
    Life(5, (APPROVE, CLAIM, Step(PAID_IN_PART, 2, 8))),
    Life(5, (APPROVE, CLAIM, Step(PAID_IN_PART, 2, 8)), again=(2, 8)),
    Life(26, (APPROVE, SUBMIT, REJECT), again=(1, 6)),
    Life(6, (APPROVE, SUBMIT, REJECT, Step(ARCHIVED, 2, 20))),
    Life(4, (APPROVE, SUBMIT, REJECT)),
    Life(6, (APPROVE, CLAIM, ASK, Step(CANCELLED, 1, 4), Step(ARCHIVED, 1, 5))),
    Life(6, (APPROVE, CLAIM, ASK, Step(CANCELLED, 1, 4)), again=(1, 6)),
    Life(4, (APPROVE, CLAIM, ASK, Step(CLAIMED, 1, 4), PAY)),
    Life(8, (Step(ARCHIVED, 0, 3),)),
)
#: A resubmitted one goes straight.
OF_RESUBMITTED = (Life(1000, (APPROVE, CLAIM, PAY)),)

OF_INVOICES_TO_AGENCY = (
    Life(850, (APPROVE, CLAIM, PAY)),
    Life(60, (HOLD, Step(AWAITING, 2, 14), APPROVE, CLAIM, PAY)),
    Life(40, (APPROVE, CLAIM, Step(PAID_IN_PART, 2, 8))),
    Life(30, (APPROVE, SUBMIT, REJECT)),
    Life(20, (APPROVE, CLAIM, ASK, Step(CANCELLED, 1, 4), Step(ARCHIVED, 1, 5))),
)
SEND = Step(SENT, 0, 1)
OF_INVOICES_TO_CLIENTS = (
    Life(800, (APPROVE, SEND, Step(PAID, 3, 25))),
    Life(60, (APPROVE, SEND)),
    Life(50, (HOLD, Step(AWAITING, 2, 14), APPROVE, SEND, Step(PAID, 3, 25))),
    Life(40, (APPROVE, SEND, Step(CLIENT_REJECTED, 2, 9, WHY_CLIENT_REJECTED))),
    Life(30, (APPROVE, SEND, Step(MANAGER_REJECTED, 2, 9, ("Not a support of the plan",)))),
    Life(
        20,
        (
            APPROVE,
            SEND,
            Step(CLIENT_REJECTED, 2, 9, WHY_CLIENT_REJECTED),
            Step(AWAITING, 1, 4),
            APPROVE,
            SEND,
            Step(PAID, 3, 25),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Moved:
    """A step that was taken, from which status, when and why."""

    step: Step
    before: str
    day: int
    at: dt.datetime
    reason: str | None


def choose(chance: Random, lives: Sequence[Life]) -> Life:
    left = chance.random() * 1000
    for life in lives:
        left -= life.weight
        if left < 0:
            return life
    return lives[0]


def lived(chance: Random, context: Context, life: Life, day: int, made: dt.datetime) -> list[Moved]:
    """The steps of a life that began on a working day (a number of ``context.mornings``) until today."""
    found: list[Moved] = []
    status, at = AWAITING, made
    for step in life.steps:
        gap = step.least + int(chance.random() * (step.most - step.least + 1))
        day += gap
        if day >= len(context.mornings):
            break
        if gap:
            at = context.mornings[day] + dt.timedelta(seconds=int(chance.random() * WORKING_SECONDS))
        else:
            at += dt.timedelta(seconds=600 + int(chance.random() * 4000))
        reason = step.reasons[int(chance.random() * len(step.reasons))] if step.reasons else None
        found.append(Moved(step, status, day, at, reason))
        status = status if step.to == ARCHIVED else step.to
    return found


@cache
def verb(before: str, after: str, has_reason: bool) -> str:
    """The verb that leads from one status to another in the table of the life of bills."""
    if after == ARCHIVED:
        return TransitionName.ARCHIVE.value
    rows = [
        row
        for row in TRANSITIONS
        if before in row.sources
        and (
            row.target == after
            or (row.target is Target.PREVIOUS and row.name is TransitionName.REFUSE_CANCELLATION)
        )
    ]
    rows.sort(key=lambda row: (row.target != after, row.needs_reason is not has_reason))
    return rows[0].name.value
