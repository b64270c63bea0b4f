"""Imports of staff, clients and contacts: usual headers, match fields, and corrected texts."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from django.contrib.auth.models import Permission

from apps.core.importing.definition import CleanedText, ImportDefinition, RelatedColumn
from apps.core.models import normalised
from apps.odata.declaration.resource import Key, NestedType, Optional, ReadOnly, RefersTo, Required
from apps.odata.declaration.values import WireValueError
from apps.odata.write.drafts import Draft, Issue
from apps.people.choices import state_code
from apps.people.duplicates import duplicate_warnings
from apps.people.models import CustomField
from apps.people.services import stored_answers
from apps.people.validation import CLIENT_WARNINGS, PERSON_WARNINGS

# --- texts that are corrected ---------------------------------------------------------------------------


def clean_state(text: str) -> CleanedText:
    """``Vic.`` and ``Victoria`` are VIC; what is no Australian state is left alone."""
    code = state_code(text)
    if code is None or code == text:
        return CleanedText(text)
    return CleanedText(code, "StateAbbreviated", f"It is taken as {code}.")


def clean_mobile(text: str) -> CleanedText:
    """A mobile number that a spreadsheet took for a number, without its leading zero."""
    if not re.fullmatch(r"4[0-9]{8}", text):
        return CleanedText(text)
    return CleanedText(f"0{text}", "LeadingZeroRestored", f"It is taken as 0{text}.")


CLEANERS = {
    "state": clean_state,
    "postal_state": clean_state,
    "phone1": clean_mobile,
    "phone2": clean_mobile,
    "business_phone": clean_mobile,
    "business_phone2": clean_mobile,
}

# --- headers --------------------------------------------------------------------------------------------

ADDRESS_HEADERS = {
    "Address/StreetAddress": ("Street", "Address", "Address 1", "Address line 1", "Street line 1"),
    "Address/StreetAddress2": ("Address 2", "Address line 2"),
    "Address/Suburb": ("Town", "Locality"),
    "Address/PostCode": ("Post code", "Zip", "Zip code", "Postal code"),
    "Address/State": ("State/Territory", "Region"),
    "PostalAddress/PostalAddress": ("PO box", "Mailing address"),
}

PERSON_HEADERS = {
    **ADDRESS_HEADERS,
    "FirstName": ("Given name", "Given names", "Forename", "Christian name"),
    "LastName": ("Surname", "Family name"),
    "PersonalTitle": ("Salutation", "Title"),
    "Gender": ("Sex",),
    "Birthday": ("DOB", "Date of birth", "Birth date", "Birthdate"),
    "SchemeNumber": ("NDIS", "NDIS No", "NDIS Number", "Participant number", "Participant No", "Scheme No"),
    "PrimaryEmail": ("Email", "E-mail", "Email address"),
    "SecondaryEmail": ("Email 2", "Other email", "Alternative email"),
    "Phone1": ("Mobile", "Mobile phone", "Mobile number", "Phone", "Phone number", "Telephone"),
    "Phone2": ("Other phone", "Work phone"),
    "HomePhone": ("Landline",),
    "Fax": ("Fax number",),
    "NumberOfChildren": ("Children",),
    "HobbiesInterests": ("Hobbies", "Interests"),
    "AdditionalInformation": ("Notes", "Comments"),
    "UniqueCode": ("Code", "Reference"),
    "AccountManager/PrimaryEmail": ("Account manager email",),
}

STAFF_HEADERS = {
    **PERSON_HEADERS,
    "Abbreviation": ("Initials",),
    "PrimaryRole/Name": ("Role",),
    "PositionTitle/Name": ("Position", "Job title"),
    "Location/Name": ("Office", "Location"),
    "Teams/Name": ("Team", "Teams"),
    "WorkingHoursPerWeek": ("Hours",),
    "CommencementDate": ("Start date",),
}

CONTACT_HEADERS = {
    **PERSON_HEADERS,
    "Client/BusinessName": ("Company", "Organisation", "Organization", "Business name"),
    "Role/Name": ("Role",),
    "PositionTitle": ("Position", "Job title"),
    "SchemePriceGuideRegion": ("Price guide region",),
    "Representative/RepresentativeRelationship": ("Relationship",),
}

CLIENT_HEADERS = {
    **ADDRESS_HEADERS,
    "BusinessName": ("Company", "Company name", "Organisation", "Organization", "Name"),
    "BusinessNumber": ("ABN",),
    "BusinessPhone": ("Phone", "Telephone", "Phone number"),
    "BusinessPhone2": ("Phone 2",),
    "BusinessFax": ("Fax",),
    "WebAddress": ("Website", "Web site", "Web", "URL"),
    "UniqueCode": ("Code",),
    "ExternalReference": ("Reference",),
}

# --- the resources --------------------------------------------------------------------------------------


class AnswersColumn(RelatedColumn):
    """The answers to custom fields, which are known by their name in every database."""

    name = "CustomFields"
    attribute = "custom_answers"

    @cached_property
    def fields(self) -> dict[str | None, Any]:
        """The keys of the custom fields that are asked of the records, by name."""
        fields = CustomField.objects.filter(applies_to=self.model.__name__)
        return {normalised(name): key for key, name in fields.values_list("pk", "name")}

    def convert(self, text: str) -> dict[Any, list[str]]:
        try:
            answers = {
                str(answer["Name"]): [str(one["Response"]) for one in answer["Responses"]]
                for answer in json.loads(text)
            }
        except (ValueError, KeyError, TypeError):
            message = 'must be JSON such as [{"Name": "Diet", "Responses": [{"Response": "Vegan"}]}].'
            raise WireValueError("InvalidJson", message) from None
        unknown = [name for name in answers if normalised(name) not in self.fields]
        if unknown:
            raise WireValueError("NotFound", f"answers a custom field that does not exist: {unknown[0]}.")
        return {self.fields[normalised(name)]: responses for name, responses in answers.items()}

    def load(self, keys: Sequence[Any]) -> dict[Any, dict[Any, list[str]]]:
        found: dict[Any, dict[Any, list[str]]] = defaultdict(dict)
        for (key, field), answer in stored_answers(self.model, keys).items():
            found[key][field] = answer.texts
        return found

    def is_same(self, existing: dict[Any, list[str]] | None, given: dict[Any, list[str]]) -> bool:
        return all((existing or {}).get(field, []) == responses for field, responses in given.items())


class PermissionType(NestedType):
    """A permission, as files of roles name it."""

    model = Permission
    fields = (Key("PermissionId", source="id"), ReadOnly("Codename"))


class RoleImport(ImportDefinition):
    """Roles are found by their name; files have their permissions, which the interface does not show."""

    match_fields = ("Name",)
    fields = (
        Required("Name"),
        Optional("AllPermissions"),
        RefersTo("Permissions", PermissionType, many=True),
    )


class StaffImport(ImportDefinition):
    """Staff are found by their code, else by their login."""

    header_synonyms = STAFF_HEADERS
    birthdays = ("birthday", "partner_birthday")
    match_fields = ("UniqueCode", "PrimaryEmail")
    related_columns = (AnswersColumn,)
    cleaners = CLEANERS
    warnings = PERSON_WARNINGS


class ClientImport(ImportDefinition):
    """Clients are found by their code, else by their name."""

    header_synonyms = CLIENT_HEADERS
    match_fields = ("UniqueCode", "BusinessName")
    number_fields = ("BusinessNumber",)
    later_references = ("key_contact",)
    related_columns = (AnswersColumn,)
    cleaners = CLEANERS
    warnings = CLIENT_WARNINGS


class ContactImport(ImportDefinition):
    """Contacts are found by their code, else by their scheme number, else by equality in every column."""

    header_synonyms = CONTACT_HEADERS
    birthdays = ("birthday", "partner_birthday")
    match_fields = ("UniqueCode", "SchemeNumber")
    number_fields = ("SchemeNumber",)
    descriptive_fields = ("PrimaryEmail", "LastName", "FirstName")
    related_columns = (AnswersColumn,)
    cleaners = CLEANERS
    warnings = PERSON_WARNINGS

    def find_warnings(self, drafts: Sequence[Draft]) -> Iterable[tuple[int, Issue]]:
        return duplicate_warnings(drafts)
