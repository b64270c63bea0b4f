"""Which column gives which member, and what is said when that is not clear."""

import pytest

from apps.base.declaration import service
from apps.core.importing.cells import letters_of
from apps.core.importing.checks import check_imports
from apps.core.importing.columns import RecordColumn
from apps.core.importing.definition import ImportOptions
from apps.core.importing.file_declaration import definition_of, file_entity_set
from apps.core.importing.headers import recognise_columns
from apps.core.importing.runs import definition_for
from apps.core.table_files.tables import ImportFileError
from apps.people.imports import ContactImport
from apps.sales.resources import OpportunityResource


class Header:
    """A table that is only its header."""

    row_word, has_cell_addresses, has_formula_guards, header_row = "row", True, True, 1

    def __init__(self, *header):
        self.header = header
        self.first_rows = [header]


def columns(resource, *header, **options):
    found = service.get_service().by_path[resource.lower()]
    entity_set = file_entity_set(found)
    return recognise_columns(Header(*header), entity_set, definition_for(found), ImportOptions(**options))


def names(resource, *header, **options):
    return [column.name for column in columns(resource, *header, **options)[0]]


@pytest.mark.parametrize(
    ("header", "name"),
    {
        "FirstName": "FirstName",
        "first_name": "FirstName",
        " FIRST NAME ": "FirstName",
        "Surname": "LastName",
        "Mob": "Phone1",
        "P/code": "Address/PostCode",
        "D.O.B.": "Birthday",
        "Date of birth": "Birthday",
        "NDIS No": "SchemeNumber",
        "NDIS Number": "SchemeNumber",
        "Participant number": "SchemeNumber",
        "Mobile": "Phone1",
        "E-Mail": "PrimaryEmail",
        "Street": "Address/StreetAddress",
        "Suburb": "Address/Suburb",
        "Address/Suburb": "Address/Suburb",
        "address suburb": "Address/Suburb",
        "Postcode": "Address/PostCode",
        "PostalStreetAddress": "PostalAddress/PostalAddress",
        "Company": "Client/BusinessName",
        "ClientGuid": "Client/ClientGuid",
        "Contact Guid": "ContactGuid",
    }.items(),
)
def test_a_header_is_understood_however_it_is_spelt(header, name):
    assert names("contact", header) == [name]


def test_the_headers_of_clients_are_their_own():
    assert names("client", "Company", "ABN", "Phone", "Website") == [
        "BusinessName",
        "BusinessNumber",
        "BusinessPhone",
        "WebAddress",
    ]


def test_unknown_headers_stop_the_import_and_are_all_named_with_a_suggestion():
    with pytest.raises(ImportFileError) as refusal:
        columns("contact", "First name", "Sirname", "Shoe size")
    assert "column B “Sirname” (is LastName meant?); column C “Shoe size”." in str(refusal.value)


def test_unknown_headers_are_left_out_on_request():
    found, notices = columns("contact", "First name", "Shoe size", ignore_unknown=True)
    assert [column.name for column in found] == ["FirstName"]
    assert notices == ["Imported without column B “Shoe size”."]


def test_two_columns_for_one_field_stop_the_import_and_all_are_named():
    with pytest.raises(ImportFileError) as refusal:
        columns("contact", "DOB", "Suburb", "Town", "Birth date")
    assert str(refusal.value) == (
        "column B “Suburb” and column C “Town” both give Address/Suburb; column A “DOB” and column D"
        ' “Birth date” both give Birthday; give one of them another field (--map "column C=Field"), or leave'
        ' it out (--map "column C=" --map "column D=").'
    )
    assert names("contact", "DOB", "Birth date", column_map={"DOB": "PartnerBirthday"}) == [
        "PartnerBirthday",
        "Birthday",
    ]
    assert names("contact", "DOB", "Birth date", column_map={"DOB": ""}) == ["Birthday"]


@pytest.mark.parametrize(
    ("header", "fields"),
    [
        (("Phone", "Mobile"), ["Phone2", "Phone1"]),
        (("Phone", "Phone"), ["Phone1", "Phone2"]),
        (("Mobile", "Phone", "Home phone"), ["Phone1", "Phone2", "HomePhone"]),
        (("Email", "Email address"), ["PrimaryEmail", "SecondaryEmail"]),
        (("Title", "Salutation"), ["PositionTitle", "PersonalTitle"]),
        (("Title",), ["PersonalTitle"]),
        (("Account name", "Last name"), ["Client/BusinessName", "LastName"]),
    ],
)
def test_a_second_header_of_one_field_is_that_of_the_next(header, fields):
    assert names("contact", *header) == fields


@pytest.mark.parametrize("resource", ["claim", "providerInvoice", "invoice"])
def test_a_participant_beside_the_number_is_a_name(resource):
    assert names(resource, "Participant") == ["ContactSchemeNumber"]
    found, notices = columns(resource, "Participant", "NDIS number", ignore_unknown=True)
    assert [column.header for column in found] == ["NDIS number"]
    assert notices[0].startswith("Imported without column A “Participant”")
    with pytest.raises(ImportFileError, match="Not understood: column A “Participant”"):
        columns(resource, "Participant", "ContactGuid")


def test_a_second_header_is_told_and_what_a_person_says_holds():
    _, notices = columns("contact", "Mobile", "Phone")
    assert notices == ["Column B “Phone” is read as Phone2."]
    assert names("contact", "Mobile", "Phone", column_map={"Phone": "Phone1", "Mobile": "Fax"}) == [
        "Fax",
        "Phone1",
    ]
    assert names("contact", "Mobile", "Phone", column_map={"Phone": "Phone1"}) == ["Phone2", "Phone1"]
    with pytest.raises(ImportFileError, match="“Mobile” and column B “Phone” both give Phone1"):
        columns("contact", "Mobile", "Phone", "Work phone")
    with pytest.raises(ImportFileError, match="both give Phone1"):
        columns("contact", "Mobile", "Phone", column_map={"Mobile": "Phone1", "Phone": "Phone1"})


def test_the_name_of_a_bank_account_is_not_that_of_an_organisation():
    assert names("client", "Account name", "ABN") == ["BusinessName", "BusinessNumber"]
    found, _ = columns("client", "Company", "Account name", ignore_unknown=True)
    assert [column.name for column in found] == ["BusinessName"]


XERO = (
    "*ContactName,FirstName,POAddressLine1,POCity,PORegion,POPostalCode,SAAddressLine1,SACity,SARegion,"
    "SAPostalCode"
)
MYOB = (
    "Co./Last Name,First Name,Addr 1 - Line 1,          - City,          - State,          - Postcode,A.B.N."
)
SALESFORCE = (
    "Salutation,First Name,Last Name,Title,Mailing Street,Mailing City,Mailing State/Province,Phone,Mobile"
)
LUMARY = "Participant: First Name,Participant: Last Name,Participant: NDIS Number,Participant: Date of Birth"


@pytest.mark.parametrize(
    ("resource", "header", "fields"),
    [
        (
            "client",
            XERO,
            "BusinessName KeyContact/FirstName PostalAddress/PostalAddress PostalAddress/PostalCity"
            " PostalAddress/PostalState PostalAddress/PostalPostCode Address/StreetAddress Address/City"
            " Address/State Address/PostCode",
        ),
        (
            "client",
            MYOB,
            "BusinessName KeyContact/FirstName Address/StreetAddress Address/City Address/State"
            " Address/PostCode BusinessNumber",
        ),
        (
            "contact",
            SALESFORCE,
            "PersonalTitle FirstName LastName PositionTitle PostalAddress/PostalAddress"
            " PostalAddress/PostalCity PostalAddress/PostalState Phone2 Phone1",
        ),
        ("contact", LUMARY, "FirstName LastName SchemeNumber Birthday"),
        ("contact", "Client surname,Client DOB,Client phone", "LastName Birthday Phone1"),
    ],
    ids=["Xero", "MYOB", "Salesforce", "Lumary", "ShiftCare"],
)
def test_headers_of_other_programs_are_understood(resource, header, fields):
    assert names(resource, *header.split(",")) == fields.split()


def test_beside_a_plain_header_that_of_a_client_is_left_to_a_person():
    found, notices = columns("contact", "Client phone", "Client mobile")
    assert [column.name for column in found] == ["Phone2", "Phone1"]
    assert notices == ["Column A “Client phone” is read as Phone2."]
    found, notices = columns("contact", "Last name", "Client phone", "Phone", ignore_unknown=True)
    assert [column.header for column in found] == ["Last name", "Phone"]
    assert notices[0].startswith("Imported without column B “Client phone”")


def test_the_code_of_what_others_call_a_client_is_left_to_a_person():
    with pytest.raises(ImportFileError, match="Not understood: column B “Client ID”"):
        columns("contact", "Last name", "Client ID")


def test_what_is_mapped_must_exist():
    with pytest.raises(ImportFileError, match=r"--map: the file has no column Fone\."):
        columns("contact", "Phone", column_map={"Fone": "Phone1"})
    with pytest.raises(ImportFileError, match=r"--map: there is no field Fone1 \(is Phone1 meant\?\)."):
        columns("contact", "Phone", column_map={"Phone": "Fone1"})
    with pytest.raises(ImportFileError, match="there is no field CreationDate"):
        columns("contact", "Phone", column_map={"Phone": "CreationDate"})


def test_what_only_the_service_sets_is_left_out_with_a_notice():
    found, notices = columns("contact", "LastName", "CreationDate", "Client/ArchiveDate")
    assert [column.name for column in found] == ["LastName"]
    assert notices == ["Not read, because the service determines it: CreationDate, Client/ArchiveDate."]


def test_a_record_may_be_named_by_its_guid_and_by_names_side_by_side():
    header = ("Client/BusinessName", "Client/ClientGuid", "Client/UniqueCode")
    assert names("contact", *header) == list(header)


def test_the_guids_of_a_list_go_before_names():
    assert names("staff", "Teams/Name", "Teams/TeamId") == ["Teams/TeamId"]


def test_one_of_two_columns_with_the_same_header_can_be_left_out_by_its_letter():
    with pytest.raises(ImportFileError, match=r'or leave it out \(--map "column B="\)'):
        columns("contact", "Suburb", "Suburb")
    found, _ = columns("contact", "Suburb", "Suburb", column_map={"column B": ""})
    assert [column.index for column in found] == [0]


def test_a_reason_of_an_earlier_import_is_no_column():
    assert names("contact", "LastName", "Reason") == ["LastName"]


def test_a_file_that_gives_nothing_is_refused():
    with pytest.raises(ImportFileError, match="No column of the file gives anything"):
        columns("contact", "CreationDate", "")


def test_our_imports_name_what_there_is():
    assert check_imports() == []


@pytest.mark.parametrize(
    ("place", "value", "name"),
    [
        ("columns", (RecordColumn("Birtday", ("DOB",)),), "Birtday"),
        ("columns", (RecordColumn("CreationDate"),), "CreationDate"),
        ("match_fields", ("Unique",), "Unique"),
        ("number_fields", ("Scheme",), "Scheme"),
        ("group_fields", (("UniqueCode", "Batch"),), "Batch"),
    ],
)
def test_a_name_of_no_column_is_named(monkeypatch, place, value, name):
    monkeypatch.setattr(ContactImport, place, value)
    (error,) = check_imports()
    assert (error.id, error.msg) == ("core.E031", f"Contact has no column {name} that files can give.")
    assert "apps/people/imports.py" in error.hint


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (RecordColumn("Phone2", ("Phone",)), "The header “Phone” of Phone2 is that of Phone1."),
        (
            RecordColumn("LastName", ("First name",)),
            "The header “First name” of LastName is that of FirstName.",
        ),
    ],
)
def test_a_header_of_two_columns_is_named(monkeypatch, column, message):
    monkeypatch.setattr(ContactImport, "columns", (RecordColumn("Phone1", ("Phone",)), column))
    (error,) = check_imports()
    assert (error.id, error.msg) == ("core.E032", message)
    assert "apps/people/imports.py" in error.hint


def test_a_misspelt_column_is_named_with_the_one_that_is_meant(monkeypatch):
    monkeypatch.setattr(ContactImport, "columns", (RecordColumn("Birtday"),))
    (error,) = check_imports()
    assert error.hint.endswith("(is Birthday meant?).")


def test_an_import_that_no_resource_names_is_named(monkeypatch):
    monkeypatch.setattr(OpportunityResource, "importing", None)
    definition_of.cache_clear()
    (error,) = check_imports()
    definition_of.cache_clear()
    assert (error.id, error.msg) == ("core.E030", "No resource is imported by OpportunityImport.")
    assert "apps/sales/resources.py: importing = OpportunityImport" in error.hint


def test_headers_are_compared_without_case_blanks_and_punctuation():
    assert letters_of(" Date-of_Birth: ") == "dateofbirth"
