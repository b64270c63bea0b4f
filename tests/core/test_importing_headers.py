"""Which column gives which member, and what is said when that is not clear."""

import pytest

from apps.core.importing.headers import REFERENCE, plain, understood
from apps.core.importing.runs import importing_of
from apps.core.importing.tables import Unusable
from apps.odata.declaration import service


class Header:
    """A table that is only its header."""

    row_word, has_letters = "row", True

    def __init__(self, *header):
        self.header = header


def columns(resource, *header, told=None, **words):
    found = service.get_service().by_path[resource.lower()]
    importing = importing_of(found)
    words = {"finders": importing.finders, **words}
    return understood(Header(*header), importing.entity_set, importing.synonyms, told or {}, **words)


def names(resource, *header, **words):
    return [column.member.name for column in columns(resource, *header, **words).columns]


@pytest.mark.parametrize(
    ("header", "name"),
    {
        "FirstName": "FirstName",
        "first_name": "FirstName",
        " FIRST NAME ": "FirstName",
        "Surname": "LastName",
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


def test_unknown_headers_stop_the_import_and_are_all_told_with_a_suggestion():
    with pytest.raises(Unusable) as refusal:
        columns("contact", "First name", "Sirname", "Shoe size")
    assert "column B “Sirname” (is LastName meant?); column C “Shoe size”." in str(refusal.value)


def test_unknown_headers_are_left_out_when_told():
    found = columns("contact", "First name", "Shoe size", ignore_unknown=True)
    assert [column.member.name for column in found.columns] == ["FirstName"]
    assert found.remarks == ("Imported without column B “Shoe size”.",)


def test_two_columns_for_one_field_stop_the_import():
    with pytest.raises(Unusable, match="column A “Phone” and column B “Mobile” both give Phone1"):
        columns("contact", "Phone", "Mobile")
    assert names("contact", "Phone", "Mobile", told={"Mobile": "Phone2"}) == ["Phone1", "Phone2"]
    assert names("contact", "Phone", "Mobile", told={"Mobile": ""}) == ["Phone1"]


def test_what_is_told_must_be_there():
    with pytest.raises(Unusable, match=r"--map: the file has no column Fone\."):
        columns("contact", "Phone", told={"Fone": "Phone1"})
    with pytest.raises(Unusable, match=r"--map: there is no field Fone1 \(is Phone1 meant\?\)."):
        columns("contact", "Phone", told={"Phone": "Fone1"})
    with pytest.raises(Unusable, match="there is no field CreationDate"):
        columns("contact", "Phone", told={"Phone": "CreationDate"})


def test_what_only_the_service_sets_is_left_out_and_told():
    found = columns("contact", "LastName", "CreationDate", "Representative/FirstName")
    assert [column.member.name for column in found.columns] == ["LastName"]
    assert found.remarks == (
        "Not read, because the service knows it better: CreationDate, Representative/FirstName.",
    )


def test_a_guid_goes_before_a_name_of_the_same_record():
    assert names("contact", "Client/BusinessName", "Client/ClientGuid") == ["Client/ClientGuid"]


def test_a_reason_of_an_earlier_import_is_no_column():
    assert names("contact", "LastName", "Reason") == ["LastName"]


def test_a_file_that_gives_nothing_is_refused():
    with pytest.raises(Unusable, match="No column of the file gives anything"):
        columns("contact", "CreationDate", "")


@pytest.mark.parametrize(
    "found", [f for f in service.get_service().entity_sets if f.resource.importing], ids=lambda f: f.path
)
def test_every_synonym_leads_to_a_member_that_bodies_have(found):
    for text, name in found.resource.importing.synonyms.items():
        # A reference alone gives nothing.
        header = (text, "StartDate") if name == REFERENCE else (text,)
        member = columns(found.path, *header).columns[0].member
        assert member.name == name
        assert not member.silent


def test_headers_are_compared_without_case_blanks_and_punctuation():
    assert plain(" Date-of_Birth: ") == "dateofbirth"
