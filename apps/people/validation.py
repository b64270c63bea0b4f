"""Rules and warnings of staff, clients and contacts (interface.md 4.1, 4.2)."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from stdnum.au import abn

from apps.base import clock
from apps.base.drafts import D, Issue, Rule, is_allowed_when, is_required
from apps.people.choices import NAMES_OF_AUSTRALIA, STATES, Participants, PersonalTitle, state_code
from apps.people.drafts import (
    AddressedDraft,
    ClientDraft,
    ContactDraft,
    GrantingDraft,
    MergeableDraft,
    PersonDraft,
    RoleDraft,
    StaffDraft,
)

#: Nobody is older in years; a day before is what an empty field became elsewhere: 1 January 1900.
OLDEST_AGE = 119
#: What was typed where a name could not be left empty.
NO_NAMES = frozenset({"", "n/a", "na", "n.a", "nil", "null", "none", "unknown", "tba", "tbc", "test", "xxx"})

SCHEME_NUMBER_FORMAT = re.compile(r"(?:31|43|44|45)\d*", re.ASCII)
SCHEME_NUMBER_DIGITS = 9

# --- rules of all or several of them --------------------------------------------------------------------


def state_has_a_country(draft: AddressedDraft) -> Iterator[Issue]:
    if (draft.state or draft.postal_state) and not draft.country:
        message = "The country is required when a state is given."
        others = [state for state in (draft.state, draft.postal_state) if state and state_code(state) is None]
        if others:  # lists and forms take Australia for granted, and the state was misspelt
            message = f"{message} “{others[0]}” is no state of Australia."
        yield Issue("Required", "country", message)


def scheme_number_has_its_format(draft: PersonDraft) -> Iterator[Issue]:
    if draft.scheme_number and not SCHEME_NUMBER_FORMAT.fullmatch(draft.scheme_number):
        yield Issue(
            "InvalidSchemeNumber",
            "scheme_number",
            "A scheme number is digits only and starts with 31, 43, 44 or 45.",
        )


def duplicate_stays_as_it_is(draft: MergeableDraft) -> Iterator[Issue]:
    """A change of a merged record would be seen by nobody: the other one is in use."""
    if draft.key is not None and draft.archive_date is not None and draft.merged_into is not None:
        other = draft.merged_into
        message, unnamed = f"It was merged into {other.pk}: change that one.", "It was merged into another."
        named = (type(other), other.pk)
        yield Issue("NotAllowed", "", message, is_state=True, other=named, unnamed=unnamed)


def is_somebody_else(name: str, person_and_key: Callable[[D], tuple[Any, object]]) -> Rule[D]:
    """The rule that the person in a member is another than the one of the key, if there is one."""

    def rule(draft: D) -> Iterator[Issue]:
        person, key = person_and_key(draft)
        if person is not None and person.pk == key:
            yield Issue("NotAllowed", name, f"Nobody is their own {name.replace('_', ' ')}.")

    return rule


PERSON_RULES: tuple[Rule[PersonDraft], ...] = (
    scheme_number_has_its_format,
    is_allowed_when(
        "personal_title_other",
        "It is allowed only when the title is Other.",
        lambda draft: draft.personal_title == PersonalTitle.OTHER,
    ),
    is_required(
        "birthday",
        "The birthday is required for a birthday reminder.",
        lambda draft: draft.send_birthday_reminder and draft.birthday is None,
    ),
    is_required(
        "partner_birthday",
        "The partner's birthday is required for a reminder of it.",
        lambda draft: draft.send_partner_birthday_reminder and draft.partner_birthday is None,
    ),
    is_required(
        "secondary_email",
        "The secondary email is required when it is used.",
        lambda draft: draft.use_secondary_email and draft.secondary_email is None,
    ),
    state_has_a_country,
)

# --- logins and roles: services fill in the author and what the change does to the administrators -------


def can_sign_in(draft: StaffDraft) -> bool:
    """True when the login of a staff member is enabled once the draft is stored."""
    moment = draft.get("disable_login_date")  # a service asks: it may be invalid
    return draft.archive_date is None and (moment is None or moment > clock.now())


def author_covers_the_role_given(draft: StaffDraft) -> Iterator[Issue]:
    author = draft.author
    if author is not None and "role" in draft.given and not author.covers(draft.role):
        yield Issue("NotAllowed", "role", "This role allows more than your own, so you cannot give it.")


def author_can_sign_in_afterwards(draft: StaffDraft) -> Iterator[Issue]:
    author = draft.author
    if author is not None and author.pk == draft.key and not can_sign_in(draft):
        message = "You would lock yourself out. Somebody else has to disable your login."
        yield Issue("NotAllowed", "disable_login_date", message)


def an_administrator_remains(draft: GrantingDraft) -> Iterator[Issue]:
    field = draft.removes_administrators_by
    if field is not None:
        message = "Nobody would be left who may do everything. Give somebody else such a role first."
        yield Issue("NotAllowed", field, message)


def author_has_the_permissions_granted(draft: RoleDraft) -> Iterator[Issue]:
    author = draft.author
    if author is None:
        return
    if draft.all_permissions and not author.is_superuser:
        message = "Only somebody who may do everything grants everything."
        yield Issue("NotAllowed", "all_permissions", message)
    if "permissions" in draft.given:
        codes = {each: f"{each.content_type.app_label}.{each.codename}" for each in draft.permissions}
        refused = [each for each, code in codes.items() if not author.has_perm(code)]
        if refused:
            names = ", ".join(each.name.removeprefix("Can ") for each in refused)
            yield Issue("NotAllowed", "permissions", f"You may not do this yourself: {names}.")


def who_may_do_everything_sees_everybody(draft: RoleDraft) -> Iterator[Issue]:
    if draft.all_permissions and draft.participants != Participants.ALL:
        message = "A role that may do everything sees all participants."
        yield Issue("NotAllowed", "participants", message)


# --- staff ----------------------------------------------------------------------------------------------

LOGIN_RULES: tuple[Rule[StaffDraft], ...] = (
    author_covers_the_role_given,
    author_can_sign_in_afterwards,
    an_administrator_remains,
)
STAFF_RULES: tuple[Rule[StaffDraft], ...] = (
    *PERSON_RULES,
    is_required(
        "use_primary_email",
        "The primary or the secondary email must be used for communication.",
        lambda draft: not draft.use_primary_email and not draft.use_secondary_email,
    ),
    is_somebody_else("account_manager", lambda draft: (draft.account_manager, draft.key)),
    *LOGIN_RULES,
)
ROLE_RULES: tuple[Rule[RoleDraft], ...] = (
    author_has_the_permissions_granted,
    who_may_do_everything_sees_everybody,
    an_administrator_remains,
)

# --- clients --------------------------------------------------------------------------------------------

CLIENT_RULES: tuple[Rule[ClientDraft], ...] = (duplicate_stays_as_it_is, state_has_a_country)

# --- contacts -------------------------------------------------------------------------------------------


CONTACT_RULES: tuple[Rule[ContactDraft], ...] = (
    duplicate_stays_as_it_is,
    *PERSON_RULES,
    is_required(
        "primary_email",
        "The primary email is required when it is used.",
        lambda draft: draft.use_primary_email and draft.primary_email is None,
    ),
    is_somebody_else("representative", lambda draft: (draft.representative, draft.key)),
    is_allowed_when(
        "representative_relationship",
        "It is allowed only when there is a representative.",
        lambda draft: draft.representative is not None,
    ),
)

# --- warnings: unusual, and stored all the same ---------------------------------------------------------
# Forms and imports apply them after the services, which do not: the interface has no warnings about people,
# and an import would call the services twice for nearly every batch.


def scheme_number_has_its_length(draft: PersonDraft) -> Iterator[Issue]:
    if draft.scheme_number and len(draft.scheme_number) != SCHEME_NUMBER_DIGITS:
        yield Issue(
            "UnusualSchemeNumber",
            "scheme_number",
            f"Scheme numbers have {SCHEME_NUMBER_DIGITS} digits; this one has {len(draft.scheme_number)}.",
        )


def business_number_is_an_abn(draft: ClientDraft) -> Iterator[Issue]:
    # Stored as given all the same: foreign organisations have other numbers.
    if draft.business_number and not abn.is_valid(draft.business_number):
        yield Issue(
            "UnusualBusinessNumber",
            "business_number",
            "It is no Australian Business Number: those have 11 digits that check each other.",
        )


def is_australian(draft: AddressedDraft) -> bool:
    return draft.country is not None and draft.country.strip().casefold() in NAMES_OF_AUSTRALIA


def australian_states_are_abbreviated(draft: AddressedDraft) -> Iterator[Issue]:
    for name, state in (("state", draft.state), ("postal_state", draft.postal_state)):
        if state and state not in STATES and is_australian(draft):
            yield Issue("UnusualState", name, f"Australian states are {', '.join(STATES)}.")


def australian_postcodes_have_four_digits(draft: AddressedDraft) -> Iterator[Issue]:
    for name, code in (("post_code", draft.post_code), ("postal_post_code", draft.postal_post_code)):
        if not code or re.fullmatch(r"[0-9]{4}", code) or not is_australian(draft):
            continue
        lost = re.fullmatch(r"[0-9]{3}", code)
        meant = f" Did it lose its leading zero: 0{code}?" if lost else ""
        yield Issue("UnusualPostCode", name, f"Australian postcodes have four digits.{meant}")


def birthdays_are_of_living_people(draft: PersonDraft) -> Iterator[Issue]:
    today = clock.today()
    for name, day in (("birthday", draft.birthday), ("partner_birthday", draft.partner_birthday)):
        if day is None:
            continue
        if day > today:
            yield Issue("UnusualBirthday", name, "This day is still to come.")
        elif today.year - day.year > OLDEST_AGE:
            message = f"Nobody is {today.year - day.year} years old: was the birthday unknown?"
            yield Issue("UnusualBirthday", name, message)


def names_are_names(draft: PersonDraft) -> Iterator[Issue]:
    for name, text in (("first_name", draft.first_name), ("last_name", draft.last_name)):
        if text is not None and text.casefold().strip(" .-–*?/") in NO_NAMES:
            yield Issue("PlaceholderName", name, "It seems to stand for a name that was not known.")


ADDRESS_WARNINGS: tuple[Rule[AddressedDraft], ...] = (
    australian_states_are_abbreviated,
    australian_postcodes_have_four_digits,
)
PERSON_WARNINGS: tuple[Rule[PersonDraft], ...] = (
    names_are_names,
    birthdays_are_of_living_people,
    scheme_number_has_its_length,
    *ADDRESS_WARNINGS,
)
CLIENT_WARNINGS: tuple[Rule[ClientDraft], ...] = (business_number_is_an_abn, *ADDRESS_WARNINGS)
