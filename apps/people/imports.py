"""Imports of staff, clients and contacts: columns, match fields, and corrected texts."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from django.contrib.auth.models import Permission

from apps.base.batched_queries import AnyOf
from apps.base.declaration.resource import Key, NestedType, Optional, ReadOnly, RefersTo, Required
from apps.base.declaration.values import WireValueError
from apps.base.drafts import Draft, Issue
from apps.core.importing.cells import letters_of
from apps.core.importing.columns import CellIssue, RecordColumn, RelatedColumn, SplitColumn
from apps.core.importing.definition import ImportDefinition
from apps.core.models import normalised
from apps.people.duplicates import duplicate_warnings
from apps.people.entered_texts import (
    BIRTHDAYS,
    CLEANERS,
    assumed_country,
    first_name_in,
    last_name_in,
    restored_postcodes,
)
from apps.people.models import Client, Contact, CustomField, Staff
from apps.people.services import stored_answers
from apps.people.validation import CLIENT_WARNINGS, PERSON_WARNINGS

# --- columns --------------------------------------------------------------------------------------------

#: With those of other programs: SA and PO are Xero's, Addr 1 is MYOB's, Billing and Mailing are Salesforce's.
ADDRESS_COLUMNS = (
    RecordColumn(
        "Address/StreetAddress",
        (
            *("Street", "Address", "Address 1", "Address line 1", "Street line 1", "Addr"),
            *("SA Address line 1", "Addr 1 - Line 1", "Billing street"),
        ),
    ),
    RecordColumn("Address/StreetAddress2", ("Address 2", "Address line 2", "SA Address line 2")),
    RecordColumn("Address/Suburb", ("Town", "Locality")),
    RecordColumn("Address/City", ("SA City", "Billing city")),
    RecordColumn(
        "Address/PostCode",
        (
            *("Post code", "P/code", "Zip", "Zip code", "Postal code"),
            *("SA Postal code", "Billing zip/postal code", "Billing postal code"),
        ),
    ),
    RecordColumn(
        "Address/State", ("State/Territory", "Region", "SA Region", "Billing state/province", "Billing state")
    ),
    RecordColumn("Address/Country", ("SA Country", "Billing country")),
    RecordColumn(
        "PostalAddress/PostalAddress",
        ("PO box", "Mailing address", "Postal street", "PO Address line 1", "Mailing street"),
    ),
    RecordColumn("PostalAddress/PostalAddress2", ("PO Address line 2",)),
    RecordColumn("PostalAddress/PostalCity", ("PO City", "Mailing city")),
    RecordColumn("PostalAddress/PostalState", ("PO Region", "Mailing state/province", "Mailing state")),
    RecordColumn(
        "PostalAddress/PostalPostCode", ("PO Postal code", "Mailing zip/postal code", "Mailing postal code")
    ),
)

TELEPHONE = ("Phone", "Phone number", "Phone No", "Ph", "Telephone", "Tel")
MOBILE = ("Mobile", "Mobile phone", "Mobile number", "Mobile No", "Mob", "Mob No", "Cell")
EMAIL = ("Email", "E-mail", "Email address")

#: First and last name in one column.
FULL_NAME = SplitColumn(
    "FullName",
    ("Last name, first name", "Surname, first name", "First and last name", "First name last name"),
    parts={"FirstName": first_name_in, "LastName": last_name_in},
)
PERSON_COLUMNS = (
    FULL_NAME,
    *ADDRESS_COLUMNS,
    RecordColumn("FirstName", ("Given name", "Given names", "Forename", "Christian name")),
    RecordColumn("LastName", ("Surname", "Family name", "Co./Last name")),
    RecordColumn("PersonalTitle", ("Salutation", "Title")),
    RecordColumn("Gender", ("Sex",)),
    RecordColumn("Birthday", ("DOB", "Date of birth", "Birth date", "Birthdate")),
    RecordColumn(
        "SchemeNumber",
        (
            *("NDIS", "NDIS No", "NDIS Number", "Participant number", "Participant No", "Scheme No"),
            *("NDIS reference", "NDIS Ref", "NDIS ID", "NDIS participant number"),
        ),
    ),
    RecordColumn("PrimaryEmail", EMAIL),
    RecordColumn("SecondaryEmail", ("Email 2", "Other email", "Alternative email"), second_headers=EMAIL),
    RecordColumn("Phone1", (*MOBILE, *TELEPHONE)),
    RecordColumn("Phone2", ("Other phone", "Work phone"), second_headers=(*MOBILE, *TELEPHONE)),
    RecordColumn("HomePhone", ("Landline",)),
    RecordColumn("Fax", ("Fax number",)),
    RecordColumn("NumberOfChildren", ("Children",)),
    RecordColumn("HobbiesInterests", ("Hobbies", "Interests")),
    RecordColumn("AdditionalInformation", ("Notes", "Comments")),
    RecordColumn("UniqueCode", ("Code", "Reference", "ID")),
    RecordColumn("AccountManager/PrimaryEmail", ("Account manager email",)),
)

STAFF_COLUMNS = (
    *PERSON_COLUMNS,
    RecordColumn("Abbreviation", ("Initials",)),
    RecordColumn("PrimaryRole/Name", ("Role",)),
    RecordColumn("PositionTitle/Name", ("Position", "Job title")),
    RecordColumn("Location/Name", ("Office", "Location")),
    RecordColumn("Teams/Name", ("Team", "Teams")),
    RecordColumn("WorkingHoursPerWeek", ("Hours", "Hrs")),
    RecordColumn("CommencementDate", ("Start date",)),
)

CONTACT_COLUMNS = (
    *PERSON_COLUMNS,
    RecordColumn(
        "Client/BusinessName",
        ("Company", "Organisation", "Organization", "Business name"),
        second_headers=("Account name",),
    ),
    RecordColumn("Role/Name", ("Role",)),
    RecordColumn("PositionTitle", ("Position", "Job title"), second_headers=("Title",)),
    RecordColumn("SchemePriceGuideRegion", ("Price guide region",)),
    RecordColumn("Representative/RepresentativeRelationship", ("Relationship",)),
)

CLIENT_COLUMNS = (
    *ADDRESS_COLUMNS,
    RecordColumn(
        "BusinessName",
        (
            *("Company", "Company name", "Organisation", "Organisation name", "Organization", "Name"),
            *("Business", "Supplier", "Supplier name", "Provider", "Provider name", "Vendor", "Vendor name"),
            "Co./Last name",
        ),
        # Beside another name the one is the name of a bank account, the other that of a person.
        second_headers=("Account name", "Contact name"),
    ),
    RecordColumn("BusinessNumber", ("ABN", "ABN No", "ABN number", "Tax number")),
    RecordColumn("BusinessPhone", (*TELEPHONE, *MOBILE)),
    RecordColumn("BusinessPhone2", ("Phone 2",), second_headers=(*TELEPHONE, *MOBILE)),
    RecordColumn("BusinessFax", ("Fax", "Fax number")),
    RecordColumn("WebAddress", ("Website", "Web site", "Web", "URL", "WWW")),
    RecordColumn("UniqueCode", ("Code", "ID", "Supplier code", "Supplier ID")),
    RecordColumn("ExternalReference", ("Reference",)),
)

# --- the resources --------------------------------------------------------------------------------------


class AnswersColumn(RelatedColumn):
    """The answers to custom fields, which are known by their name in every database."""

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


ANSWERS = AnswersColumn("CustomFields", attribute="custom_answers")


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


class AddressImport(ImportDefinition):
    """Records with an address: an Australian state without a country is one of Australia."""

    cleaners = CLEANERS
    model: type[Staff | Client | Contact]

    def complete_values(self, values: dict[str, Any]) -> Iterator[tuple[str, CellIssue]]:
        if "country" in values:
            values["country"] = values["country"] or assumed_country(values)
        for name, code in restored_postcodes(values):
            values[name] = code
            yield name, CellIssue("LeadingZeroRestored", f"It is taken as {code}.", is_warning=True)

    def complete_drafts(self, drafts: Sequence[Draft]) -> None:
        """Keep the stored country of existing records where the file does not have it."""
        lacking = [
            draft
            for draft in drafts
            if "country" not in draft.given
            and "country" not in draft.invalid
            and assumed_country(draft) is not None
        ]
        keys = [draft.key for draft in lacking if draft.key is not None]
        have_one = self.model.objects.filter(AnyOf("pk", keys)).exclude(country=None)
        stored = set(have_one.values_list("pk", flat=True)) if keys else set()
        for draft in lacking:
            if draft.key not in stored:
                draft.fill("country", assumed_country(draft))
                draft.given |= {"country"}


class PersonImport(AddressImport):
    """People have a first and a last name, which many lists have in one column: somebody says which."""

    def explain_missing(self, attribute: str, cells: Mapping[str, str]) -> str:
        if attribute not in ("first_name", "last_name"):
            return ""
        for header, cell in cells.items():
            if "name" in letters_of(header) and len(cell.replace(",", " ").split()) > 1:
                return (
                    f"The column “{header.strip()}” seems to have both names: say that it gives FullName"
                    f' (--map "{header.strip()}=FullName").'
                )
        return ""


class StaffImport(PersonImport):
    """Staff are found by their code, else by their login."""

    model = Staff
    columns = (*STAFF_COLUMNS, ANSWERS)
    birthdays = BIRTHDAYS
    match_fields = ("UniqueCode", "PrimaryEmail")
    warnings = PERSON_WARNINGS


#: What a draft is given that has a name alone.
BARE = frozenset({"business_name"})


class ClientImport(AddressImport):
    """Clients are found by their code, else by their name."""

    model = Client
    columns = (*CLIENT_COLUMNS, ANSWERS)
    match_fields = ("UniqueCode", "BusinessName")
    number_fields = ("BusinessNumber",)
    later_references = ("key_contact",)
    warnings = CLIENT_WARNINGS

    def find_warnings(self, drafts: Sequence[Draft]) -> Iterator[tuple[int, Issue]]:
        """New organisations of which a list says nothing but a name, where it says more of most."""
        if sum(len(draft.given) > 2 for draft in drafts) * 4 < len(drafts) * 3:
            return
        bare = [number for number, each in enumerate(drafts) if each.key is None and each.given == BARE]
        message = "Nothing but its name is given. Is it a title or a note, and no organisation?"
        yield from ((number, Issue("OnlyName", "business_name", message)) for number in bare)


class ContactImport(PersonImport):
    """Contacts are found by their code, else by their scheme number, else by equality in every column."""

    model = Contact
    columns = (*CONTACT_COLUMNS, ANSWERS)
    record_words = ("Participant", "Client", "Contact", "Customer")
    birthdays = BIRTHDAYS
    match_fields = ("UniqueCode", "SchemeNumber")
    number_fields = ("SchemeNumber",)
    descriptive_fields = ("PrimaryEmail", "LastName", "FirstName")
    warnings = PERSON_WARNINGS

    def find_warnings(self, drafts: Sequence[Draft]) -> Iterable[tuple[int, Issue]]:
        return duplicate_warnings(drafts)
