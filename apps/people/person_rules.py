"""What must be true of staff and contacts alike (interface.md 4.1, decisions.md 6)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from apps.odata.write.drafts import Draft, Issue
from apps.people.choices import PersonalTitle

_SCHEME_NUMBER = re.compile(r"(?:31|43|44|45)\d*", re.ASCII)
SCHEME_NUMBER_DIGITS = 9


def scheme_number_has_its_form(draft: Draft) -> Iterator[Issue]:
    if draft.scheme_number and not _SCHEME_NUMBER.fullmatch(draft.scheme_number):
        yield Issue(
            "InvalidSchemeNumber",
            "scheme_number",
            "A scheme number is digits only and starts with 31, 43, 44 or 45.",
        )


def another_title_is_told_only_for_other(draft: Draft) -> Iterator[Issue]:
    if draft.personal_title_other and draft.personal_title != PersonalTitle.OTHER:
        yield Issue("NotAllowed", "personal_title_other", "It is told only when the title is Other.")


def a_birthday_reminder_has_a_birthday(draft: Draft) -> Iterator[Issue]:
    if draft.send_birthday_reminder and draft.birthday is None:
        yield Issue("Required", "birthday", "The birthday is required for a birthday reminder.")


def a_partner_birthday_reminder_has_a_birthday(draft: Draft) -> Iterator[Issue]:
    if draft.send_partner_birthday_reminder and draft.partner_birthday is None:
        yield Issue(
            "Required", "partner_birthday", "The partner's birthday is required for a reminder of it."
        )


def a_used_secondary_email_is_given(draft: Draft) -> Iterator[Issue]:
    if draft.use_secondary_email and draft.secondary_email is None:
        yield Issue("Required", "secondary_email", "The secondary email is required when it is used.")


def a_state_has_a_country(draft: Draft) -> Iterator[Issue]:
    if (draft.state or draft.postal_state) and not draft.country:
        yield Issue("Required", "country", "The country is required when a state is given.")


def nobody_manages_their_own_account(draft: Draft) -> Iterator[Issue]:
    manager = draft.account_manager
    if manager is not None and draft.key is not None and manager.pk == draft.key:
        yield Issue("NotAllowed", "account_manager", "Nobody is their own account manager.")


def scheme_number_has_its_length(draft: Draft) -> Iterator[Issue]:
    if draft.scheme_number and len(draft.scheme_number) != SCHEME_NUMBER_DIGITS:
        yield Issue(
            "UnusualSchemeNumber",
            "scheme_number",
            f"Scheme numbers have {SCHEME_NUMBER_DIGITS} digits; this one has {len(draft.scheme_number)}.",
        )


PERSON_RULES = (
    scheme_number_has_its_form,
    another_title_is_told_only_for_other,
    a_birthday_reminder_has_a_birthday,
    a_partner_birthday_reminder_has_a_birthday,
    a_used_secondary_email_is_given,
    a_state_has_a_country,
)

PERSON_WARNINGS = (scheme_number_has_its_length,)
