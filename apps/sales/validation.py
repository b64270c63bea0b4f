"""Rules of opportunities and their templates (interface.md 2.7, 2.8, 4.7)."""

from collections.abc import Callable, Iterator, Mapping

from apps.base import clock
from apps.base.drafts import D, InvalidValue, Issue, Rule, is_allowed_when, is_refused_when, is_required
from apps.core.models import Subscriber
from apps.sales.choices import DECIDED, MAILING_LIST_OUTCOMES, Source
from apps.sales.drafts import OpportunityDraft, TemplateDraft

REFERRER = ("referrer_email", "referrer_first_name", "referrer_last_name", "referrer_organisation")
MAILING_LIST = "add_e_marketing_contact_list"

#: Dates that lie after today when they are set.
FUTURE_DATES = ("expiry_date", "follow_up_date", "expected_date")

# --- members that are available only with others --------------------------------------------------------


def is_in_result_stage(draft: OpportunityDraft) -> bool:
    return draft.stage is not None and draft.stage.is_result


def may_join_mailing_list(draft: OpportunityDraft) -> bool:
    """True when AddEMarketingContactList is available (interface.md 2.7, rule 5)."""
    return Subscriber.current().email_marketing_module and draft.outcome in MAILING_LIST_OUTCOMES


#: When a member is available, and what is said of it when it is given all the same.
Availability = Mapping[str, tuple[Callable[[D], bool], str]]

IN_RESULT_STAGE = (is_in_result_stage, "It is allowed only in the stage that is the result.")
AVAILABILITY_BY_SOURCE: Availability[TemplateDraft] = {
    # A referral is described by its referrer.
    "source_details": (
        lambda draft: draft.source not in (None, Source.REFERRAL),
        "It is allowed only with a source, and not with a referral.",
    ),
    **dict.fromkeys(
        REFERRER,
        (lambda draft: draft.source == Source.REFERRAL, "It is allowed only when the source is Referral."),
    ),
}
AVAILABILITY: Availability[OpportunityDraft] = {
    **AVAILABILITY_BY_SOURCE,
    "outcome": IN_RESULT_STAGE,
    "outcome_moment": (
        lambda draft: is_in_result_stage(draft) and draft.outcome in DECIDED,
        "It is allowed only in the result stage, with an outcome other than Deferred.",
    ),
    "outcome_reasons": IN_RESULT_STAGE,
    MAILING_LIST: (
        may_join_mailing_list,
        "It needs the email marketing module and an outcome that is Deferred or SaleUnsuccessful.",
    ),
}


def is_available(name: str, availability: Availability[D]) -> Rule[D]:
    """The rule that a member is given only when it is available."""
    condition, message = availability[name]
    return is_allowed_when(name, message, condition)


TEMPLATE_RULES: tuple[Rule[TemplateDraft], ...] = tuple(
    is_available(name, AVAILABILITY_BY_SOURCE) for name in AVAILABILITY_BY_SOURCE
)


# --- opportunities --------------------------------------------------------------------------------------


def is_given_or_in_the_template(name: str, message: str) -> Rule[OpportunityDraft]:
    """The rule for a member that every opportunity has."""

    def rule(draft: OpportunityDraft) -> Iterator[Issue]:
        if "template" in draft.invalid:
            raise InvalidValue("template")  # a valid template might have it
        if getattr(draft, name) is None:
            yield Issue("Required", name, message)

    return rule


def values_of_the_template_are_current(draft: OpportunityDraft) -> Iterator[Issue]:
    if draft.template is None or draft.key is not None:
        return
    for name, record in (("team", draft.team), ("type", draft.type), ("stage", draft.stage)):
        if record is not None and record.is_archived:
            yield Issue("Archived", name, f"The template's {name}, {record}, is archived; name another.")


def outcome_reasons_are_of_the_outcome(draft: OpportunityDraft) -> Iterator[Issue]:
    for number, reason in enumerate(draft.outcome_reasons):
        if is_in_result_stage(draft) and reason.outcome != draft.outcome:
            message = f"{reason} is a reason of {reason.outcome}, not of {draft.outcome}."
            yield Issue("NotAllowed", ("outcome_reasons", number), message)


def is_future_when_set(name: str) -> Rule[OpportunityDraft]:
    """The rule for a date that must be after today when it is set; later it may pass."""

    def rule(draft: OpportunityDraft) -> Iterator[Issue]:
        day = getattr(draft, name)
        if day is not None and name in draft.given and day <= clock.today():
            yield Issue("MustBeFuture", name, "It must be after today.")

    return rule


def team_is_named_when_the_owner_has_one(draft: OpportunityDraft) -> Iterator[Issue]:
    """Any current team will do: colleagues of several teams work on one opportunity."""
    if draft.team is not None or draft.owner is None or not Subscriber.current().team_on_opportunities:
        return
    if any(not team.is_archived for team in draft.owner.teams.all()):
        yield Issue("Required", "team", "A team is required, since the owner belongs to one.")


OPPORTUNITY_RULES: tuple[Rule[OpportunityDraft], ...] = (
    is_given_or_in_the_template("name", "A name is required, here or in the template."),
    is_given_or_in_the_template("owner", "An owner is required, here or in the template."),
    is_given_or_in_the_template("stage", "A stage is required, here or in the template."),
    values_of_the_template_are_current,
    *TEMPLATE_RULES,
    is_available("outcome", AVAILABILITY),
    is_available("outcome_moment", AVAILABILITY),
    is_refused_when(
        "outcome_moment",
        "MustBePast",
        "An outcome date lies in the past.",
        lambda draft: draft.outcome_moment is not None and draft.outcome_moment > clock.now(),
    ),
    is_available("outcome_reasons", AVAILABILITY),
    outcome_reasons_are_of_the_outcome,
    is_available(MAILING_LIST, AVAILABILITY),
    *(is_future_when_set(name) for name in FUTURE_DATES),
    team_is_named_when_the_owner_has_one,
    is_required(
        "follow_up_staff",
        "Somebody is required to follow up on the date given.",
        lambda draft: draft.follow_up_date is not None and draft.follow_up_staff is None,
    ),
)
