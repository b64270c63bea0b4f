"""Drafts of opportunities and their templates: the members that rules and services read."""

import datetime as dt

from apps.base.drafts import Draft
from apps.people.models import Staff, Team
from apps.sales.models import OpportunityOutcomeReason, OpportunityStage, OpportunityTemplate, OpportunityType


class TemplateDraft(Draft):
    """A draft of a template, or of an opportunity, which has the same members and more."""

    source: str | None


class OpportunityDraft(TemplateDraft):
    """A member without a default is ``None`` until the template fills it in, and where it does not."""

    template: OpportunityTemplate | None
    stage: OpportunityStage | None
    outcome: str | None
    outcome_moment: dt.datetime | None
    outcome_reasons: list[OpportunityOutcomeReason]
    add_e_marketing_contact_list: bool | None
    owner: Staff | None
    team: Team | None
    type: OpportunityType | None
    follow_up_date: dt.date | None
    follow_up_staff: Staff | None
