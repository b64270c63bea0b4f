"""What follows from what an opportunity says: what a template fills in, what stage and source leave open.

Members that were given stay as they are, for the rules to judge. A member given as null counts as given; a
template does not fill it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from django.utils import timezone

from apps.odata import clock
from apps.odata.write.drafts import Draft, InvalidValue
from apps.sales.choices import DECIDED, Outcome, Source
from apps.sales.models import OpportunityTemplate
from apps.sales.opportunity_rules import is_result, may_join_the_mailing_list
from apps.sales.prospect_rules import REFERRER, has_details

#: What opportunities take from a template, as {their own member: the template's}.
TAKEN = {
    "name": "opportunity_name",
    **{
        name: name
        for name in (
            *("source", "source_details", *REFERRER),
            *("upfront_value_of_sale", "chance_of_sales", "recurring_annual_value"),
            *("owner", "team", "type", "stage", "follow_up_staff"),
        )
    },
}
#: Dates that lie so many days after the day an opportunity is made.
INTERVALS = {"expiry_date": "expiry_date_interval", "follow_up_date": "follow_up_date_interval"}
#: What is told in the result stage only.
OF_THE_RESULT = ("outcome", "outcome_moment", "outcome_reasons", "add_e_marketing_contact_list")


def fill_from_templates(drafts: Sequence[Draft]) -> None:
    """Fill what drafts leave out from the templates they name; one query for all of them."""
    named = {draft.template.pk for draft in drafts if draft.__dict__.get("template") is not None}
    if not named:
        return
    rows = OpportunityTemplate.objects.select_related("owner", "team", "type", "stage", "follow_up_staff")
    templates = rows.in_bulk(named)
    for draft in drafts:
        if draft.__dict__.get("template") is not None:
            fill_from(templates[draft.template.pk], draft)


def fill_from(template: OpportunityTemplate, draft: Draft) -> None:
    """Fill what the draft leaves out from a template."""
    said = draft.given | draft.invalid
    for name, source in TAKEN.items():
        if name not in said:
            draft.fill(name, getattr(template, source))
    for name, source in INTERVALS.items():
        days = getattr(template, source)
        if name not in said and days is not None:
            draft.fill(name, clock.today() + dt.timedelta(days=days))


def settle(draft: Draft) -> None:
    """Clear what source, stage and outcome make unavailable, and fill what they make necessary.

    Outcome is Deferred and OutcomeDate is now when not told (interface.md 4.7). Whatever hangs on a member
    with a fault stays as it is.
    """
    for settle_some in (settle_source, settle_outcome):
        with suppress(InvalidValue):
            settle_some(draft)


def settle_source(draft: Draft) -> None:
    """Clear the details or the referrer that the source has not."""
    if not has_details(draft.source):
        clear(draft, ["source_details"])
    if draft.source != Source.REFERRAL:
        clear(draft, REFERRER)


def settle_outcome(draft: Draft) -> None:
    """Let the outcome and all that hangs on it follow the stage."""
    if not is_result(draft):
        clear(draft, OF_THE_RESULT)
    elif draft.outcome is None:
        put(draft, "outcome", Outcome.DEFERRED.value)
    if draft.outcome not in DECIDED:
        clear(draft, ["outcome_moment"])
    elif is_result(draft) and draft.outcome_moment is None:
        put(draft, "outcome_moment", clock.now())
    if "outcome_reasons" not in draft.given and draft.outcome_reasons:
        put(draft, "outcome_reasons", [one for one in draft.outcome_reasons if one.outcome == draft.outcome])
    settle_mailing_list(draft)
    put(draft, "outcome_date", day_of(draft.outcome_moment))


def settle_mailing_list(draft: Draft) -> None:
    """False is the default where the list is available, and may always be said; null tells that it is not."""
    name = "add_e_marketing_contact_list"
    available = may_join_the_mailing_list(draft)
    if not available:
        clear(draft, [name])
    if not draft.add_e_marketing_contact_list:
        put(draft, name, False if available else None)


def clear(draft: Draft, names: Iterable[str]) -> None:
    """Take out the members that nobody gave."""
    for name in names:
        if name not in draft.given | draft.invalid and draft.__dict__.get(name):
            put(draft, name, [] if isinstance(getattr(draft, name), list) else None)


def put(draft: Draft, name: str, value: Any) -> None:
    """Say a member for the draft, so that it is stored where the draft revises a record."""
    draft.fill(name, value)
    draft.given |= {name}


def day_of(moment: dt.datetime | None) -> dt.date | None:
    """The day of a moment in the subscriber's time zone."""
    return moment and timezone.localtime(moment).date()
