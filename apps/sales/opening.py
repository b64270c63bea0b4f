"""The verbs by which opportunities and templates enter the records and change, whoever asks.

The interface, the back office and an import call the same ones. Each takes drafts and raises ``Refused``
with all that its rules find; keys come in the order of the drafts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import prefetch_related_objects

from apps.core import saving
from apps.odata.write.drafts import Draft
from apps.people.models import Staff
from apps.sales import opportunity_rules, template_rules
from apps.sales.models import Opportunity, OpportunityStage, OpportunityTemplate
from apps.sales.opportunity_rules import AHEAD
from apps.sales.settling import fill_from_templates, settle


def open_opportunities(drafts: Sequence[Draft]) -> list[Any]:
    """Store new opportunities (interface.md 4.7)."""
    fill_from_templates(drafts)
    find_teams(drafts)
    for draft in drafts:
        settle(draft)
    saving.validate(Opportunity, drafts, opportunity_rules.RULES)
    return saving.insert_records(Opportunity, drafts)


def revise_opportunities(drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of standing opportunities give; the keys of those that were not so already.

    What the change makes unavailable is cleared: an opportunity that leaves the result has no outcome.
    """
    standing = saving.load_existing(Opportunity, drafts)
    complete_references(drafts, standing)
    find_teams(drafts)
    for draft in drafts:
        leave_out_dates_that_stand(draft, standing[draft.key])
        settle(draft)
    saving.validate(Opportunity, drafts, opportunity_rules.RULES)
    return saving.save_changes(Opportunity, drafts, standing)


def keep_templates(drafts: Sequence[Draft]) -> list[Any]:
    """Store new templates (interface.md 2.8)."""
    saving.validate(OpportunityTemplate, drafts, template_rules.RULES)
    return saving.insert_records(OpportunityTemplate, drafts)


def revise_templates(drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of standing templates give; the keys of those that were not so already."""
    standing = saving.load_existing(OpportunityTemplate, drafts)
    saving.validate(OpportunityTemplate, drafts, template_rules.RULES)
    return saving.save_changes(OpportunityTemplate, drafts, standing)


def find_teams(drafts: Iterable[Draft]) -> None:
    """Read the teams of all owners at once, for the rules to ask."""
    owners = [draft.owner for draft in drafts if draft.__dict__.get("owner") is not None]
    prefetch_related_objects(owners, "teams")


def complete_references(drafts: Sequence[Draft], standing: Mapping[Any, Opportunity]) -> None:
    """Put the whole record where a draft leaves a reference as it stands, and the reasons that stand."""
    prefetch_related_objects(list(standing.values()), "outcome_reasons")
    for name, model in (("stage", OpportunityStage), ("owner", Staff)):
        waiting = [draft for draft in drafts if name not in draft.given | draft.invalid]
        found = model._default_manager.in_bulk({getattr(draft, name).pk for draft in waiting})
        for draft in waiting:
            draft.fill(name, found[getattr(draft, name).pk])
    for draft in drafts:
        if "outcome_reasons" not in draft.given | draft.invalid:
            draft.fill("outcome_reasons", list(standing[draft.key].outcome_reasons.all()))


def leave_out_dates_that_stand(draft: Draft, record: Opportunity) -> None:
    """A date that is only repeated is not given: that it passed meanwhile is no fault of a new name."""
    repeated = [name for name in AHEAD if draft.__dict__.get(name) == getattr(record, name)]
    draft.given -= set(repeated)
