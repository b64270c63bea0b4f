"""Rules of opportunities and their templates (interface.md 2.7, 2.8, 4.7; decisions.md 6)."""

from __future__ import annotations

from collections.abc import Iterator

from apps.core.models import Subscriber
from apps.odata import clock
from apps.odata.write.drafts import Draft, InvalidValue, Issue, Rule
from apps.sales.choices import DECIDED, MAILING_LIST_OUTCOMES, Source

REFERRER = ("referrer_email", "referrer_first_name", "referrer_last_name", "referrer_organisation")

#: Dates that lie after today when they are set.
FUTURE_DATES = ("expiry_date", "follow_up_date", "expected_date")

# --- opportunities and templates ------------------------------------------------------------------------


def has_details(source: str | None) -> bool:
    """Whether the source can be described: a referral is described by its referrer."""
    return source is not None and source != Source.REFERRAL


def source_details_have_a_source(draft: Draft) -> Iterator[Issue]:
    if draft.source_details is not None and not has_details(draft.source):
        yield Issue(
            "NotAllowed", "source_details", "It is allowed only with a source, and not with a referral."
        )


def is_allowed_for_referrals_only(name: str) -> Rule:
    """The rule for one of the referrer's members."""

    def rule(draft: Draft) -> Iterator[Issue]:
        if getattr(draft, name) is not None and draft.source != Source.REFERRAL:
            yield Issue("NotAllowed", name, "It is allowed only when the source is Referral.")

    return rule


TEMPLATE_RULES: tuple[Rule, ...] = (
    source_details_have_a_source,
    *(is_allowed_for_referrals_only(name) for name in REFERRER),
)


# --- opportunities --------------------------------------------------------------------------------------


def is_in_result_stage(draft: Draft) -> bool:
    return draft.stage is not None and draft.stage.is_result


def may_join_mailing_list(draft: Draft) -> bool:
    """Whether AddEMarketingContactList is available (interface.md 2.7, rule 5)."""
    return Subscriber.current().email_marketing_module and draft.outcome in MAILING_LIST_OUTCOMES


def is_given_or_in_the_template(name: str, message: str) -> Rule:
    """The rule for a member that every opportunity has."""

    def rule(draft: Draft) -> Iterator[Issue]:
        if "template" in draft.invalid:
            raise InvalidValue("template")  # a valid template might have it
        if getattr(draft, name) is None:
            yield Issue("Required", name, message)

    return rule


def values_of_the_template_are_current(draft: Draft) -> Iterator[Issue]:
    if draft.template is None or draft.key is not None:
        return
    for name in ("team", "type", "stage"):
        record = getattr(draft, name)
        if record is not None and record.is_archived:
            yield Issue("Archived", name, f"The template's {name}, {record}, is archived; name another.")


def outcome_is_in_the_result_stage(draft: Draft) -> Iterator[Issue]:
    if draft.outcome is not None and not is_in_result_stage(draft):
        yield Issue("NotAllowed", "outcome", "It is allowed only in the stage that is the result.")


def outcome_date_belongs_to_a_decision(draft: Draft) -> Iterator[Issue]:
    if draft.outcome_moment is not None and not (is_in_result_stage(draft) and draft.outcome in DECIDED):
        yield Issue(
            "NotAllowed",
            "outcome_moment",
            "It is allowed only in the result stage, with an outcome other than Deferred.",
        )


def outcome_date_is_past(draft: Draft) -> Iterator[Issue]:
    if draft.outcome_moment is not None and draft.outcome_moment > clock.now():
        yield Issue("MustBePast", "outcome_moment", "An outcome date lies in the past.")


def outcome_reasons_are_of_the_outcome(draft: Draft) -> Iterator[Issue]:
    for number, reason in enumerate(draft.outcome_reasons):
        if not is_in_result_stage(draft):
            yield Issue(
                "NotAllowed",
                ("outcome_reasons", number),
                "It is allowed only in the stage that is the result.",
            )
        elif reason.outcome != draft.outcome:
            yield Issue(
                "NotAllowed",
                ("outcome_reasons", number),
                f"{reason} is a reason of {reason.outcome}, not of {draft.outcome}.",
            )


def mailing_list_is_available(draft: Draft) -> Iterator[Issue]:
    if draft.add_e_marketing_contact_list and not may_join_mailing_list(draft):
        yield Issue(
            "NotAllowed",
            "add_e_marketing_contact_list",
            "It needs the email marketing module and an outcome that is Deferred or SaleUnsuccessful.",
        )


def is_future_when_set(name: str) -> Rule:
    """The rule for a date that must be after today when it is set; later it may pass."""

    def rule(draft: Draft) -> Iterator[Issue]:
        day = getattr(draft, name)
        if day is not None and name in draft.given and day <= clock.today():
            yield Issue("MustBeFuture", name, "It must be after today.")

    return rule


def team_is_named_when_the_owner_has_one(draft: Draft) -> Iterator[Issue]:
    """Any current team will do: colleagues of several teams work on one opportunity."""
    if draft.team is not None or draft.owner is None or not Subscriber.current().team_on_opportunities:
        return
    if any(not team.is_archived for team in draft.owner.teams.all()):
        yield Issue("Required", "team", "A team is required, since the owner belongs to one.")


def follow_up_has_a_staff_member(draft: Draft) -> Iterator[Issue]:
    if draft.follow_up_date is not None and draft.follow_up_staff is None:
        yield Issue("Required", "follow_up_staff", "Somebody is required to follow up on the date given.")


OPPORTUNITY_RULES: tuple[Rule, ...] = (
    is_given_or_in_the_template("name", "A name is required, here or in the template."),
    is_given_or_in_the_template("owner", "An owner is required, here or in the template."),
    is_given_or_in_the_template("stage", "A stage is required, here or in the template."),
    values_of_the_template_are_current,
    *TEMPLATE_RULES,
    outcome_is_in_the_result_stage,
    outcome_date_belongs_to_a_decision,
    outcome_date_is_past,
    outcome_reasons_are_of_the_outcome,
    mailing_list_is_available,
    *(is_future_when_set(name) for name in FUTURE_DATES),
    team_is_named_when_the_owner_has_one,
    follow_up_has_a_staff_member,
)
