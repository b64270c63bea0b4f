"""What must be true of opportunities (interface.md 2.7, 4.7; decisions.md 6)."""

from __future__ import annotations

from collections.abc import Iterator

from apps.core.models import Subscriber
from apps.odata import clock
from apps.odata.write.drafts import Draft, InvalidValue, Issue, Rule
from apps.sales.choices import DECIDED, WORTH_WRITING_TO
from apps.sales.prospect_rules import PROSPECT_RULES

#: Dates that lie after today when they are set.
AHEAD = ("expiry_date", "follow_up_date", "expected_date")


def is_result(draft: Draft) -> bool:
    """Whether the opportunity stands in the stage that is the result."""
    return draft.stage is not None and draft.stage.is_result


def may_join_the_mailing_list(draft: Draft) -> bool:
    """Whether AddEMarketingContactList is available (interface.md 2.7, rule 5)."""
    return Subscriber.current().email_marketing_module and draft.outcome in WORTH_WRITING_TO


def is_given_or_comes_from_the_template(name: str, sentence: str) -> Rule:
    """The rule for a member without which there is no opportunity."""

    def rule(draft: Draft) -> Iterator[Issue]:
        if "template" in draft.invalid:
            raise InvalidValue("template")  # who knows what it would have given
        if getattr(draft, name) is None:
            yield Issue("Required", name, sentence)

    return rule


def what_a_template_gives_is_current(draft: Draft) -> Iterator[Issue]:
    if draft.template is None or draft.key is not None:
        return
    for name in ("team", "type", "stage"):
        chosen = getattr(draft, name)
        if chosen is not None and chosen.is_archived:
            yield Issue("Archived", name, f"The template's {name}, {chosen}, is archived; name another.")


def an_outcome_is_told_in_the_result_stage(draft: Draft) -> Iterator[Issue]:
    if draft.outcome is not None and not is_result(draft):
        yield Issue("NotAllowed", "outcome", "It is told only in the stage that is the result.")


def an_outcome_date_belongs_to_a_decision(draft: Draft) -> Iterator[Issue]:
    if draft.outcome_moment is not None and not (is_result(draft) and draft.outcome in DECIDED):
        yield Issue(
            "NotAllowed",
            "outcome_moment",
            "It is told only in the result stage, of an outcome other than Deferred.",
        )


def an_outcome_lies_in_the_past(draft: Draft) -> Iterator[Issue]:
    if draft.outcome_moment is not None and draft.outcome_moment > clock.now():
        yield Issue("MustBePast", "outcome_moment", "An outcome date lies in the past.")


def reasons_are_of_the_outcome(draft: Draft) -> Iterator[Issue]:
    for number, reason in enumerate(draft.outcome_reasons):
        if not is_result(draft):
            yield Issue(
                "NotAllowed",
                ("outcome_reasons", number),
                "It is told only in the stage that is the result.",
            )
        elif reason.outcome != draft.outcome:
            yield Issue(
                "NotAllowed",
                ("outcome_reasons", number),
                f"{reason} is a reason of {reason.outcome}, not of {draft.outcome}.",
            )


def only_those_not_won_join_the_mailing_list(draft: Draft) -> Iterator[Issue]:
    if draft.add_e_marketing_contact_list and not may_join_the_mailing_list(draft):
        yield Issue(
            "NotAllowed",
            "add_e_marketing_contact_list",
            "It needs the email marketing module and an outcome that is Deferred or SaleUnsuccessful.",
        )


def lies_ahead(name: str) -> Rule:
    """The rule for a date that must be after today when it is set; afterwards time may pass it."""

    def rule(draft: Draft) -> Iterator[Issue]:
        day = getattr(draft, name)
        if day is not None and name in draft.given and day <= clock.today():
            yield Issue("MustBeFuture", name, "It must be after today.")

    return rule


def the_team_is_named_where_the_owner_has_one(draft: Draft) -> Iterator[Issue]:
    """Any current team will do: colleagues of several teams work on one opportunity."""
    if draft.team is not None or draft.owner is None or not Subscriber.current().team_on_opportunities:
        return
    if any(not team.is_archived for team in draft.owner.teams.all()):
        yield Issue("Required", "team", "A team is required, since the owner belongs to one.")


def a_follow_up_has_somebody_to_do_it(draft: Draft) -> Iterator[Issue]:
    if draft.follow_up_date is not None and draft.follow_up_staff is None:
        yield Issue("Required", "follow_up_staff", "Somebody is required to follow up on the date given.")


RULES: tuple[Rule, ...] = (
    is_given_or_comes_from_the_template("name", "A name is required, here or in the template."),
    is_given_or_comes_from_the_template("owner", "An owner is required, here or in the template."),
    is_given_or_comes_from_the_template("stage", "A stage is required, here or in the template."),
    what_a_template_gives_is_current,
    *PROSPECT_RULES,
    an_outcome_is_told_in_the_result_stage,
    an_outcome_date_belongs_to_a_decision,
    an_outcome_lies_in_the_past,
    reasons_are_of_the_outcome,
    only_those_not_won_join_the_mailing_list,
    *(lies_ahead(name) for name in AHEAD),
    the_team_is_named_where_the_owner_has_one,
    a_follow_up_has_somebody_to_do_it,
)
