"""Services of opportunities and their templates: the only writers of these records.

Each takes drafts and raises ``ValidationFailed`` with every issue; keys come in the order of the drafts.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from uuid import UUID

from django.db import transaction
from django.db.models import prefetch_related_objects
from django.utils import timezone

from apps.base import clock
from apps.base.drafts import D, Draft, InvalidValue
from apps.core import saving
from apps.core.services import Checks, load_references
from apps.people.models import Staff
from apps.sales.choices import DECIDED, Outcome
from apps.sales.drafts import OpportunityDraft
from apps.sales.models import Opportunity, OpportunityStage, OpportunityTemplate
from apps.sales.validation import (
    AVAILABILITY,
    AVAILABILITY_BY_SOURCE,
    FUTURE_DATES,
    MAILING_LIST,
    OPPORTUNITY_RULES,
    REFERRER,
    TEMPLATE_RULES,
    Availability,
    is_in_result_stage,
    may_join_mailing_list,
)

#: What opportunities take from a template, as {their own member: the template's}.
TEMPLATE_MEMBERS = {
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
#: Dates that lie so many days after the day an opportunity is created.
TEMPLATE_INTERVALS = {"expiry_date": "expiry_date_interval", "follow_up_date": "follow_up_date_interval"}

# --- opportunities --------------------------------------------------------------------------------------


def create_opportunities(drafts: Sequence[OpportunityDraft]) -> list[UUID]:
    """Store new opportunities (interface.md 4.7)."""
    apply_templates(drafts)
    saving.apply_model_defaults(Opportunity, drafts)
    load_teams(drafts)
    for draft in drafts:
        apply_defaults(draft)
    saving.validate(Opportunity, drafts, OPPORTUNITY_RULES)
    return saving.insert_records(Opportunity, drafts)


def update_opportunities(drafts: Sequence[OpportunityDraft]) -> list[UUID]:
    """Change what drafts of existing opportunities give; the keys of those that changed.

    What the change makes unavailable is cleared: an opportunity that leaves the result has no outcome.
    """
    existing = saving.load_existing(Opportunity, drafts)
    load_unchanged_references(drafts, existing)
    load_teams(drafts)
    for draft in drafts:
        # A date that is only repeated may have passed meanwhile: it is not set anew.
        record = existing[draft.key]
        draft.given -= {name for name in FUTURE_DATES if draft.get(name) == getattr(record, name)}
        keep_moment_of_day(draft, record)
        apply_defaults(draft)
    saving.validate(Opportunity, drafts, OPPORTUNITY_RULES, existing)
    return saving.save_changes(Opportunity, drafts, existing)


def keep_moment_of_day(draft: OpportunityDraft, record: Opportunity) -> None:
    """Keep the time of an outcome where only its date is given, which is all that responses have of it."""
    given, stored = draft.get("outcome_moment"), record.outcome_moment
    if given is None or stored is None:
        return
    midnight = timezone.localtime(given)
    if midnight.time() == dt.time.min and midnight.date() == timezone.localtime(stored).date():
        draft.fill("outcome_moment", stored)


@transaction.atomic
def change_stage(opportunity: Opportunity, stage: OpportunityStage) -> None:
    """Put an opportunity into another stage: its outcome becomes Deferred in the result, none elsewhere."""
    update_opportunities([OpportunityDraft({"stage": stage}, given=["stage"], key=opportunity.pk)])


@transaction.atomic
def complete_follow_up(opportunity: Opportunity, next_date: dt.date | None) -> None:
    """Set the date of the next follow-up; without one nobody has to follow up."""
    values: dict[str, dt.date | None] = {"follow_up_date": next_date}
    if next_date is None:
        values["follow_up_staff"] = None
    update_opportunities([OpportunityDraft(values, given=values, key=opportunity.pk)])


def load_teams(drafts: Iterable[OpportunityDraft]) -> None:
    """Load the teams of all owners at once, for the rules."""
    owners = [owner for owner in (draft.get("owner") for draft in drafts) if owner is not None]
    prefetch_related_objects(owners, "teams")


def load_unchanged_references(
    drafts: Sequence[OpportunityDraft], existing: Mapping[object, Opportunity]
) -> None:
    """Fill in the whole stage, owner and outcome reasons of the records where drafts do not give them."""
    prefetch_related_objects(list(existing.values()), "outcome_reasons")
    for name, model in (("stage", OpportunityStage), ("owner", Staff)):
        incomplete = [draft for draft in drafts if name not in draft.given | draft.invalid]
        load_references(model, name, incomplete)
    for draft in drafts:
        if "outcome_reasons" not in draft.given | draft.invalid:
            draft.fill("outcome_reasons", list(existing[draft.key].outcome_reasons.all()))


# --- templates ------------------------------------------------------------------------------------------


TEMPLATE_CHECKS = Checks(
    TEMPLATE_RULES, prepare=lambda drafts: clear_unavailable(drafts, AVAILABILITY_BY_SOURCE)
)


def apply_templates(drafts: Sequence[OpportunityDraft]) -> None:
    """Fill what drafts leave out from the templates they name; one query for all of them."""
    named = [(draft, template) for draft in drafts if (template := draft.get("template")) is not None]
    if not named:
        return
    rows = OpportunityTemplate.objects.select_related("owner", "team", "type", "stage", "follow_up_staff")
    templates = rows.in_bulk({template.pk for _, template in named})
    for draft, template in named:
        apply_template(templates[template.pk], draft)


def apply_template(template: OpportunityTemplate, draft: OpportunityDraft) -> None:
    """Fill what the draft leaves out. A member given as null counts as given."""
    given = draft.given | draft.invalid
    for name, source in TEMPLATE_MEMBERS.items():
        if name not in given:
            draft.fill(name, getattr(template, source))
    for name, source in TEMPLATE_INTERVALS.items():
        days = getattr(template, source)
        if name not in given and days is not None:
            draft.fill(name, clock.today() + dt.timedelta(days=days))


# --- defaults -------------------------------------------------------------------------------------------
# Members that were given stay as they are, for the rules to check.


def apply_defaults(draft: OpportunityDraft) -> None:
    """Clear what source, stage and outcome make unavailable, and fill what they make necessary.

    The default of Outcome is Deferred, that of OutcomeDate is now (interface.md 4.7). Whatever depends on an
    invalid member stays as it is.
    """
    clear_unavailable([draft], AVAILABILITY)
    with suppress(InvalidValue):
        apply_outcome_defaults(draft)


def apply_outcome_defaults(draft: OpportunityDraft) -> None:
    is_result = is_in_result_stage(draft)
    if is_result and draft.outcome is None:
        set_member(draft, "outcome", Outcome.DEFERRED.value)
    if is_result and draft.outcome in DECIDED and draft.outcome_moment is None:
        set_member(draft, "outcome_moment", clock.now())
    if "outcome_reasons" not in draft.given and draft.outcome_reasons:
        reasons = [reason for reason in draft.outcome_reasons if reason.outcome == draft.outcome]
        set_member(draft, "outcome_reasons", reasons)
    if not draft.add_e_marketing_contact_list:
        # False is the default where the list is available, and may always be given; null means unavailable.
        set_member(draft, MAILING_LIST, False if may_join_mailing_list(draft) else None)
    moment = draft.outcome_moment
    set_member(draft, "outcome_date", moment and timezone.localtime(moment).date())


def unavailable_members(draft: D, availability: Availability[D]) -> set[str]:
    """The members that the source, the stage and the outcome make unavailable."""
    unavailable: set[str] = set()
    for name, (condition, _) in availability.items():
        with suppress(InvalidValue):
            if not condition(draft):
                unavailable.add(name)
    # The mailing list depends on an outcome that is available itself.
    return unavailable | {MAILING_LIST} if "outcome" in unavailable else unavailable


def clear_unavailable(drafts: Iterable[D], availability: Availability[D]) -> None:
    """Clear the members that are not available and were not given."""
    for draft in drafts:
        for name in unavailable_members(draft, availability) - draft.given - draft.invalid:
            if draft.get(name):
                set_member(draft, name, [] if isinstance(draft.get(name), list) else None)


def set_member(draft: Draft, name: str, value: object) -> None:
    """Set a member as if it were given, so that an update stores it."""
    draft.fill(name, value)
    draft.given |= {name}
