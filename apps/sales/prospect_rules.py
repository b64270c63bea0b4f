"""What must be true of opportunities and of the templates they start from (interface.md 2.7, 2.8)."""

from __future__ import annotations

from collections.abc import Iterator

from apps.odata.write.drafts import Draft, Issue, Rule
from apps.sales.choices import Source

REFERRER = ("referrer_email", "referrer_first_name", "referrer_last_name", "referrer_organisation")


def has_details(source: str | None) -> bool:
    """Whether the source can be described: of a referral the referrer tells."""
    return source is not None and source != Source.REFERRAL


def details_describe_a_source(draft: Draft) -> Iterator[Issue]:
    if draft.source_details is not None and not has_details(draft.source):
        yield Issue(
            "NotAllowed", "source_details", "It is told only of a source that is given and is no referral."
        )


def told_of_a_referral_only(name: str) -> Rule:
    """The rule for one of the referrer's members."""

    def rule(draft: Draft) -> Iterator[Issue]:
        if getattr(draft, name) is not None and draft.source != Source.REFERRAL:
            yield Issue("NotAllowed", name, "It is told only when the source is Referral.")

    return rule


PROSPECT_RULES: tuple[Rule, ...] = (
    details_describe_a_source,
    *(told_of_a_referral_only(name) for name in REFERRER),
)
