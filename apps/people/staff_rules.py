"""What must be true of staff (interface.md 4.1, decisions.md 6)."""

from __future__ import annotations

from collections.abc import Iterator

from apps.odata.write.drafts import Draft, Issue
from apps.people.person_rules import PERSON_RULES, PERSON_WARNINGS, nobody_manages_their_own_account


def an_email_is_used(draft: Draft) -> Iterator[Issue]:
    if not draft.use_primary_email and not draft.use_secondary_email:
        yield Issue(
            "Required",
            "use_primary_email",
            "The primary or the secondary email must be used for communication.",
        )


RULES = (*PERSON_RULES, an_email_is_used, nobody_manages_their_own_account)

WARNINGS = PERSON_WARNINGS
