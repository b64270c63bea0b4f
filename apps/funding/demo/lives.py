"""The lives of the demo's claims and invoices: the transitions that they take, and after how many days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from apps.core.demo import listed
from apps.funding.statuses import TransitionName

WHY_HELD = (
    "Waiting for the participant to confirm the hours",
    "The provider will send a corrected invoice",
    "Dates overlap another invoice; asked the provider",
    "The service agreement is missing",
    "The plan is under review: budget to be confirmed",
)
WHY_REJECTED = (
    "The service booking has not enough left",
    "The support item is not in the plan",
    "Claimed before, according to the agency",
)
WHY_WITHDRAWN = ("Approved by mistake: the quantity was wrong", "The provider asked to wait")
WHY_CANCELLED = listed("Entered twice, The provider took the invoice back, Wrong participant")
WHY_WRITTEN_OFF = ("The agency pays up to the cap", "Too little to be worth a dispute")
WHY_CLIENT_REJECTED = ("Was away that week", "Another price was agreed", "Already paid by card")


@dataclass(frozen=True, slots=True)
class Step:
    """A transition so many workdays after the step before, for one of these reasons."""

    transition: TransitionName
    days: int
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Life:
    """The steps that so many bills of a thousand take, as far as there are days."""

    weight: int
    steps: tuple[Step, ...]


# Few different numbers of days: the bills of a day take each step together, in one call of the service.
HOLD, RELEASE = Step(TransitionName.HOLD, 1, WHY_HELD), Step(TransitionName.RELEASE, 5)
APPROVE, CLAIM, PAY = (
    Step(TransitionName.APPROVE, 1),
    Step(TransitionName.CLAIM, 1),
    Step(TransitionName.PAY, 5),
)
SUBMIT, ACCEPT, REJECT = (
    Step(TransitionName.SUBMIT, 1),
    Step(TransitionName.ACCEPT, 1),
    Step(TransitionName.REJECT, 1, WHY_REJECTED),
)
PAY_IN_PART = Step(TransitionName.PAY_IN_PART, 5)
ASK_TO_CANCEL = Step(TransitionName.ASK_TO_CANCEL, 1, WHY_CANCELLED)
CONFIRM_CANCELLATION = Step(TransitionName.CONFIRM_CANCELLATION, 3)
ARCHIVE, SEND = Step(TransitionName.ARCHIVE, 5), Step(TransitionName.SEND, 1)

#: So many lives besides the common one, which comes first, occur among the bills of one day.
OTHERS_OF_DAY = 4

CLAIMS = (
    Life(760, (APPROVE, CLAIM, PAY)),
    Life(70, (APPROVE, SUBMIT, ACCEPT, PAY)),
    Life(50, (HOLD, RELEASE, APPROVE, CLAIM, PAY)),
    Life(10, (HOLD, Step(TransitionName.ARCHIVE, 30))),
    Life(6, (HOLD,)),
    Life(10, (APPROVE, Step(TransitionName.WITHDRAW, 1, WHY_WITHDRAWN), APPROVE, CLAIM, PAY)),
    Life(14, (APPROVE, CLAIM, PAY_IN_PART, Step(TransitionName.PAY_THE_REST, 5))),
    Life(10, (APPROVE, CLAIM, PAY_IN_PART, Step(TransitionName.WRITE_OFF, 10, WHY_WRITTEN_OFF))),
    Life(5, (APPROVE, CLAIM, PAY_IN_PART)),
    Life(5, (APPROVE, CLAIM, PAY_IN_PART, Step(TransitionName.RESUBMIT_GAP, 3))),
    Life(26, (APPROVE, SUBMIT, REJECT, Step(TransitionName.RESUBMIT, 3))),
    Life(6, (APPROVE, SUBMIT, REJECT, ARCHIVE)),
    Life(4, (APPROVE, SUBMIT, REJECT)),
    Life(6, (APPROVE, CLAIM, ASK_TO_CANCEL, CONFIRM_CANCELLATION, ARCHIVE)),
    Life(6, (APPROVE, CLAIM, ASK_TO_CANCEL, CONFIRM_CANCELLATION, Step(TransitionName.RESUBMIT, 3))),
    Life(4, (APPROVE, CLAIM, ASK_TO_CANCEL, Step(TransitionName.REFUSE_CANCELLATION, 3), PAY)),
    Life(8, (Step(TransitionName.ARCHIVE, 1),)),
)
RESUBMITTED = (Life(1000, (APPROVE, CLAIM, PAY)),)
INVOICES_TO_AGENCY = (
    Life(850, (APPROVE, CLAIM, PAY)),
    Life(60, (HOLD, RELEASE, APPROVE, CLAIM, PAY)),
    Life(40, (APPROVE, CLAIM, PAY_IN_PART)),
    Life(30, (APPROVE, SUBMIT, REJECT)),
    Life(20, (APPROVE, CLAIM, ASK_TO_CANCEL, CONFIRM_CANCELLATION, ARCHIVE)),
)
INVOICES_TO_CLIENTS = (
    Life(800, (APPROVE, SEND, Step(TransitionName.PAY, 10))),
    Life(60, (APPROVE, SEND)),
    Life(50, (HOLD, RELEASE, APPROVE, SEND, Step(TransitionName.PAY, 10))),
    Life(40, (APPROVE, SEND, Step(TransitionName.CLIENT_REJECTS, 5, WHY_CLIENT_REJECTED))),
    Life(30, (APPROVE, SEND, Step(TransitionName.PLAN_MANAGER_REJECTS, 5, ("Not a support of the plan",)))),
    Life(
        20,
        (
            *(
                APPROVE,
                SEND,
                Step(TransitionName.CLIENT_REJECTS, 5, WHY_CLIENT_REJECTED),
                Step(TransitionName.REOPEN, 1),
            ),
            *(APPROVE, SEND, Step(TransitionName.PAY, 10)),
        ),
    ),
)


def lives_of_day(chance: Random, lives: Sequence[Life]) -> tuple[Sequence[Life], Sequence[float]]:
    """The lives that bills of one day can have, with their weights: the common one, and a few of the others.

    Each life that only one bill of a day has costs calls of its own.
    """
    common, *others = lives
    few = chance.sample(others, min(OTHERS_OF_DAY, len(others)))
    share = sum(life.weight for life in others) / max(sum(life.weight for life in few), 1)
    return [common, *few], [common.weight, *(life.weight * share for life in few)]
