"""The steps of a salesperson's day: an opportunity moves to another stage, a follow-up is done."""

from __future__ import annotations

import datetime as dt

from django.db import transaction

from apps.odata.write.drafts import Draft
from apps.sales.models import Opportunity, OpportunityStage
from apps.sales.opening import revise_opportunities


@transaction.atomic
def move(opportunity: Opportunity, stage: OpportunityStage) -> None:
    """Put an opportunity into another stage; ``Refused`` when it cannot stand there.

    In the result its outcome is Deferred until somebody says more; out of it there is none.
    """
    revise_opportunities([Draft({"stage": stage}, given=["stage"], key=opportunity.pk)])


@transaction.atomic
def finish_follow_up(opportunity: Opportunity, next_day: dt.date | None) -> None:
    """Note that a follow-up is done and when the next one is due; without one nobody has to follow up."""
    values: dict[str, dt.date | None] = {"follow_up_date": next_day}
    if next_day is None:
        values["follow_up_staff"] = None
    revise_opportunities([Draft(values, given=values, key=opportunity.pk)])
