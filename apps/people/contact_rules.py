"""What must be true of contacts (decisions.md 6, 7)."""

from __future__ import annotations

from collections.abc import Iterator

from apps.odata.write.drafts import Draft, Issue
from apps.people.person_rules import PERSON_RULES, PERSON_WARNINGS


def a_used_primary_email_is_given(draft: Draft) -> Iterator[Issue]:
    if draft.use_primary_email and draft.primary_email is None:
        yield Issue("Required", "primary_email", "The primary email is required when it is used.")


def nobody_represents_themselves(draft: Draft) -> Iterator[Issue]:
    representative = draft.representative
    if representative is not None and draft.key is not None and representative.pk == draft.key:
        yield Issue("NotAllowed", "representative", "Nobody is their own representative.")


def a_relationship_is_to_a_representative(draft: Draft) -> Iterator[Issue]:
    if draft.representative_relationship and draft.representative is None:
        yield Issue(
            "NotAllowed", "representative_relationship", "It is told only when there is a representative."
        )


RULES = (
    *PERSON_RULES,
    a_used_primary_email_is_given,
    nobody_represents_themselves,
    a_relationship_is_to_a_representative,
)

WARNINGS = PERSON_WARNINGS
