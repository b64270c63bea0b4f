"""What must be true of clients (interface.md 4.2, decisions.md 6)."""

from __future__ import annotations

from collections.abc import Iterator

from stdnum.au import abn

from apps.odata.write.drafts import Draft, Issue
from apps.people.person_rules import a_state_has_a_country


def business_number_is_an_abn(draft: Draft) -> Iterator[Issue]:
    # Stored as given all the same: foreign organisations have other numbers.
    if draft.business_number and not abn.is_valid(draft.business_number):
        yield Issue(
            "UnusualBusinessNumber",
            "business_number",
            "It is no Australian Business Number: those have 11 digits that check each other.",
        )


RULES = (a_state_has_a_country,)

WARNINGS = (business_number_is_an_abn,)
