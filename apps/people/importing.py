"""Imports of people: the headers others use, what finds a record, and the SQL twins of the rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from apps.core.importing.additions import Cleaning, Importing, Twin, ValueSql
from apps.core.models import Subscriber
from apps.odata.write.drafts import Draft, Issue, Rule
from apps.people import client_rules, contact_rules, person_rules, staff_rules
from apps.people.enrolling import (
    create_clients,
    create_contacts,
    create_staff,
    update_clients,
    update_contacts,
    update_staff,
)

# --- Australian addresses -------------------------------------------------------------------------------

STATES = {
    "ACT": "australian capital territory",
    "NSW": "new south wales",
    "NT": "northern territory",
    "QLD": "queensland",
    "SA": "south australia",
    "TAS": "tasmania",
    "VIC": "victoria",
    "WA": "western australia",
}
_STATE_BY_TEXT = {name: code for code, name in STATES.items()} | {code.lower(): code for code in STATES}
_DOTS = re.compile(r"[.\s]+")

AUSTRALIA = frozenset({"australia", "au", "aus"})


def clean_state(text: str) -> Cleaning:
    """``Vic.`` and ``Victoria`` are VIC; what is no Australian state is left alone."""
    plain = _DOTS.sub(" ", text).strip().casefold()
    code = _STATE_BY_TEXT.get(plain) or _STATE_BY_TEXT.get(plain.replace(" ", ""))
    if code is None or code == text:
        return Cleaning(text)
    return Cleaning(code, "StateAbbreviated", f"It is taken as {code}.")


def is_australian(draft: Draft) -> bool:
    return bool(draft.country) and draft.country.strip().casefold() in AUSTRALIA


def an_australian_state_is_abbreviated(draft: Draft) -> Iterator[Issue]:
    for name, state in (("state", draft.state), ("postal_state", draft.postal_state)):
        if is_australian(draft) and state and state not in STATES:
            yield Issue("UnusualState", name, f"Australian states are {', '.join(STATES)}.")


def an_australian_postcode_has_four_digits(draft: Draft) -> Iterator[Issue]:
    for name, code in (("post_code", draft.post_code), ("postal_post_code", draft.postal_post_code)):
        if not is_australian(draft) or not code or re.fullmatch(r"[0-9]{4}", code):
            continue
        lost = re.fullmatch(r"[0-9]{3}", code)
        meant = f" Did it lose its leading zero: 0{code}?" if lost else ""
        yield Issue("UnusualPostCode", name, f"Australian postcodes have four digits.{meant}")


ADDRESS_WARNINGS: tuple[Rule, ...] = (
    an_australian_state_is_abbreviated,
    an_australian_postcode_has_four_digits,
)

CLEAN_STATE = f"{{}} IN ({', '.join(repr(code) for code in STATES)})"

# --- headers --------------------------------------------------------------------------------------------

ADDRESS_HEADERS = {
    "Street": "Address/StreetAddress",
    "Address": "Address/StreetAddress",
    "Address 1": "Address/StreetAddress",
    "Address line 1": "Address/StreetAddress",
    "Street line 1": "Address/StreetAddress",
    "Address 2": "Address/StreetAddress2",
    "Address line 2": "Address/StreetAddress2",
    "Town": "Address/Suburb",
    "Locality": "Address/Suburb",
    "Post code": "Address/PostCode",
    "Zip": "Address/PostCode",
    "Zip code": "Address/PostCode",
    "Postal code": "Address/PostCode",
    "State/Territory": "Address/State",
    "Region": "Address/State",
    "PO box": "PostalAddress/PostalAddress",
    "Mailing address": "PostalAddress/PostalAddress",
}

PERSON_HEADERS = {
    **ADDRESS_HEADERS,
    "Given name": "FirstName",
    "Given names": "FirstName",
    "Forename": "FirstName",
    "Christian name": "FirstName",
    "Surname": "LastName",
    "Family name": "LastName",
    "Salutation": "PersonalTitle",
    "Title": "PersonalTitle",
    "Sex": "Gender",
    "DOB": "Birthday",
    "Date of birth": "Birthday",
    "Birth date": "Birthday",
    "Birthdate": "Birthday",
    "NDIS": "SchemeNumber",
    "NDIS No": "SchemeNumber",
    "NDIS Number": "SchemeNumber",
    "Participant number": "SchemeNumber",
    "Participant No": "SchemeNumber",
    "Scheme No": "SchemeNumber",
    "Email": "PrimaryEmail",
    "E-mail": "PrimaryEmail",
    "Email address": "PrimaryEmail",
    "Email 2": "SecondaryEmail",
    "Other email": "SecondaryEmail",
    "Alternative email": "SecondaryEmail",
    "Mobile": "Phone1",
    "Mobile phone": "Phone1",
    "Mobile number": "Phone1",
    "Phone": "Phone1",
    "Phone number": "Phone1",
    "Telephone": "Phone1",
    "Other phone": "Phone2",
    "Work phone": "Phone2",
    "Landline": "HomePhone",
    "Fax number": "Fax",
    "Children": "NumberOfChildren",
    "Hobbies": "HobbiesInterests",
    "Interests": "HobbiesInterests",
    "Notes": "AdditionalInformation",
    "Comments": "AdditionalInformation",
    "Code": "UniqueCode",
    "Reference": "UniqueCode",
    "Account manager email": "AccountManager/PrimaryEmail",
}

STAFF_HEADERS = {
    **PERSON_HEADERS,
    "Initials": "Abbreviation",
    "Role": "PrimaryRole/Name",
    "Position": "PositionTitle/Name",
    "Job title": "PositionTitle/Name",
    "Office": "Location/Name",
    "Location": "Location/Name",
    "Team": "Teams/Name",
    "Teams": "Teams/Name",
    "Hours": "WorkingHoursPerWeek",
    "Start date": "CommencementDate",
}

CONTACT_HEADERS = {
    **PERSON_HEADERS,
    "Company": "Client/BusinessName",
    "Organisation": "Client/BusinessName",
    "Organization": "Client/BusinessName",
    "Business name": "Client/BusinessName",
    "Role": "Role/Name",
    "Position": "PositionTitle",
    "Job title": "PositionTitle",
    "Price guide region": "SchemePriceGuideRegion",
    "Relationship": "Representative/RepresentativeRelationship",
}

CLIENT_HEADERS = {
    **ADDRESS_HEADERS,
    "Company": "BusinessName",
    "Company name": "BusinessName",
    "Organisation": "BusinessName",
    "Organization": "BusinessName",
    "Name": "BusinessName",
    "ABN": "BusinessNumber",
    "Phone": "BusinessPhone",
    "Telephone": "BusinessPhone",
    "Phone number": "BusinessPhone",
    "Phone 2": "BusinessPhone2",
    "Fax": "BusinessFax",
    "Website": "WebAddress",
    "Web site": "WebAddress",
    "Web": "WebAddress",
    "URL": "WebAddress",
    "Code": "UniqueCode",
    "Reference": "ExternalReference",
}

# --- SQL twins of the rules -----------------------------------------------------------------------------


def _country_is_given_with_a_state(value: ValueSql) -> str:
    return f"({value('state')} IS NULL AND {value('postal_state')} IS NULL) OR {value('country')} IS NOT NULL"


def _scheme_number_has_its_form(value: ValueSql) -> str:
    number = value("scheme_number")
    return f"{number} IS NULL OR ({number} ~ '^[0-9]+$' AND left({number}, 2) IN ('31', '43', '44', '45'))"


def _is_given_when(flag: str, name: str) -> Callable[[ValueSql], str]:
    return lambda value: f"NOT coalesce({value(flag)}, false) OR {value(name)} IS NOT NULL"


def _only_with_title_other(value: ValueSql) -> str:
    return f"{value('personal_title_other')} IS NULL OR {value('personal_title')} = 'Other'"


def _state_is_abbreviated(value: ValueSql) -> str:
    codes = ", ".join(f"'{code}'" for code in STATES)
    return " AND ".join(
        f"({value(name)} IS NULL OR {value(name)} IN ({codes}))" for name in ("state", "postal_state")
    )


def _postcode_has_four_digits(value: ValueSql) -> str:
    return " AND ".join(
        f"({value(name)} IS NULL OR {value(name)} ~ '^[0-9][0-9][0-9][0-9]$')"
        for name in ("post_code", "postal_post_code")
    )


ADDRESS_TWINS: dict[Rule, Twin] = {
    person_rules.a_state_has_a_country: Twin(
        ("state", "postal_state", "country"), _country_is_given_with_a_state
    ),
    an_australian_state_is_abbreviated: Twin(("state", "postal_state"), _state_is_abbreviated),
    an_australian_postcode_has_four_digits: Twin(
        ("post_code", "postal_post_code"), _postcode_has_four_digits
    ),
}

PERSON_TWINS: dict[Rule, Twin] = {
    **ADDRESS_TWINS,
    person_rules.scheme_number_has_its_form: Twin(("scheme_number",), _scheme_number_has_its_form),
    person_rules.scheme_number_has_its_length: Twin(
        ("scheme_number",),
        lambda value: (
            f"{value('scheme_number')} IS NULL"
            f" OR length({value('scheme_number')}) = {person_rules.SCHEME_NUMBER_DIGITS}"
        ),
    ),
    person_rules.another_title_is_told_only_for_other: Twin(
        ("personal_title", "personal_title_other"), _only_with_title_other
    ),
    person_rules.a_birthday_reminder_has_a_birthday: Twin(
        ("send_birthday_reminder", "birthday"), _is_given_when("send_birthday_reminder", "birthday")
    ),
    person_rules.a_partner_birthday_reminder_has_a_birthday: Twin(
        ("send_partner_birthday_reminder", "partner_birthday"),
        _is_given_when("send_partner_birthday_reminder", "partner_birthday"),
    ),
    person_rules.a_used_secondary_email_is_given: Twin(
        ("use_secondary_email", "secondary_email"), _is_given_when("use_secondary_email", "secondary_email")
    ),
}

CONTACT_TWINS: dict[Rule, Twin] = {
    **PERSON_TWINS,
    contact_rules.a_used_primary_email_is_given: Twin(
        ("use_primary_email", "primary_email"), _is_given_when("use_primary_email", "primary_email")
    ),
    contact_rules.nobody_represents_themselves: Twin(
        ("representative",), because="A new record has no guid that its row could name."
    ),
    contact_rules.a_relationship_is_to_a_representative: Twin(
        ("representative_relationship", "representative"),
        lambda value: (
            f"{value('representative_relationship')} IS NULL OR {value('representative')} IS NOT NULL"
        ),
    ),
}

CLIENT_TWINS: dict[Rule, Twin] = {
    **ADDRESS_TWINS,
    # Check digits are not for SQL: a row with a business number is judged by the rule itself.
    client_rules.business_number_is_an_abn: Twin(("business_number",)),
}

# --- the resources --------------------------------------------------------------------------------------


class StaffImport(Importing):
    """Staff are found by their code, else by their login."""

    synonyms = STAFF_HEADERS
    match = ("UniqueCode", "PrimaryEmail")
    cleaners = {"Address/State": clean_state, "PostalAddress/PostalState": clean_state}
    rules = staff_rules.RULES
    warnings = (*staff_rules.WARNINGS, *ADDRESS_WARNINGS)

    def create(self, drafts: Sequence[Draft]) -> Any:
        return create_staff(drafts)

    def revise(self, drafts: Sequence[Draft]) -> Any:
        return update_staff(drafts)


class ClientImport(Importing):
    """Clients are found by their code, else by their name."""

    synonyms = CLIENT_HEADERS
    match = ("UniqueCode", "BusinessName")
    cleaners = {"Address/State": clean_state, "PostalAddress/PostalState": clean_state}
    clean_when = {"Address/State": CLEAN_STATE, "PostalAddress/PostalState": CLEAN_STATE}
    rules = client_rules.RULES
    warnings = (*client_rules.WARNINGS, *ADDRESS_WARNINGS)
    twins = CLIENT_TWINS
    is_sieved = True

    def create(self, drafts: Sequence[Draft]) -> Any:
        return create_clients(drafts)

    def revise(self, drafts: Sequence[Draft]) -> Any:
        return update_clients(drafts)


class ContactImport(Importing):
    """Contacts are found by their code, else by their scheme number, else by being the same in everything."""

    synonyms = CONTACT_HEADERS
    match = ("UniqueCode", "SchemeNumber")
    alike = ("last_name", "first_name")
    cleaners = {"Address/State": clean_state, "PostalAddress/PostalState": clean_state}
    clean_when = {"Address/State": CLEAN_STATE, "PostalAddress/PostalState": CLEAN_STATE}
    rules = contact_rules.RULES
    warnings = (*contact_rules.WARNINGS, *ADDRESS_WARNINGS)
    twins = CONTACT_TWINS
    is_sieved = True

    def create(self, drafts: Sequence[Draft]) -> Any:
        return create_contacts(drafts)

    def revise(self, drafts: Sequence[Draft]) -> Any:
        return update_contacts(drafts)

    def defaults(self) -> Mapping[str, Any]:
        return {"accepts_email_contact": str(Subscriber.current().email_consent_default)}

    def filled(self) -> Mapping[str, Callable[[ValueSql], str]]:
        return {
            "use_primary_email": lambda given: (
                f"({given('primary_email')} IS NOT NULL AND {given('use_secondary_email')} IS NULL)"
            )
        }
