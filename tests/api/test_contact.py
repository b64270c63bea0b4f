"""GET and POST /contact."""

import pytest

from apps.people.models import Contact
from tests.api.caller import faults, ok, refused
from tests.api.conftest import a_whole_contact_body
from tests.people.builders import a_client, a_contact, a_contact_body, a_role, a_staff_member


def test_a_whole_contact_comes_back_as_given(api):
    client, manager, role, other = a_client(), a_staff_member(), a_role(), a_contact(FirstName="Rep")
    body = a_whole_contact_body(
        Client={"ClientGuid": str(client.pk)},
        Role={"RoleGuid": str(role.pk)},
        AccountManager={"StaffGuid": str(manager.pk)},
        Representative={"ContactGuid": str(other.pk), "RepresentativeRelationship": "Aunt"},
    )
    shown = ok(api.post("contact", body), 201)
    given = {name: value for name, value in body.items() if not isinstance(value, dict)}
    assert {name: shown[name] for name in given} == given
    assert (shown["Address"], shown["PostalAddress"]) == (body["Address"], body["PostalAddress"])
    assert shown["Client"] == {
        "ClientGuid": str(client.pk),
        "BusinessName": client.business_name,
        "ArchiveDate": None,
    }
    assert shown["Role"]["RoleGuid"] == str(role.pk)
    assert shown["AccountManager"]["StaffGuid"] == str(manager.pk)
    assert shown["Representative"]["ContactGuid"] == str(other.pk)
    assert shown["Representative"]["FirstName"] == "Rep"
    assert shown["Representative"]["RepresentativeRelationship"] == "Aunt"


def test_only_names_are_required(api):
    assert faults(api.post("contact", {"value": [{"FirstName": " "}]})) == [
        ("Required", "value[0]/FirstName"),
        ("Required", "value[0]/LastName"),
    ]
    shown = ok(api.post("contact", a_contact_body()), 201)
    assert shown["PrimaryEmail"] is None
    assert shown["UsePrimaryEmail"] is False


def test_an_email_alone_is_one_that_is_used(api):
    assert (
        ok(api.post("contact", a_contact_body(PrimaryEmail="a@example.org")), 201)["UsePrimaryEmail"] is True
    )
    body = a_contact_body(PrimaryEmail="a@example.org", UsePrimaryEmail=False)
    assert ok(api.post("contact", body), 201)["UsePrimaryEmail"] is False


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"UsePrimaryEmail": True}, [("Required", "PrimaryEmail")]),
        ({"UseSecondaryEmail": True}, [("Required", "SecondaryEmail")]),
        ({"SchemePriceGuideRegion": "very remote"}, [("NotAChoice", "SchemePriceGuideRegion")]),
        (
            {"Representative": {"RepresentativeRelationship": "Aunt"}},
            [("NotAllowed", "Representative/RepresentativeRelationship")],
        ),
        ({"Representative": {"ContactGuid": "x"}}, [("InvalidGuid", "Representative/ContactGuid")]),
        (
            {"Client": {"ClientGuid": "00000000-0000-7000-8000-000000000000"}},
            [("NotFound", "Client/ClientGuid")],
        ),
        ({"PositionTitle": "x" * 91}, [("TooLong", "PositionTitle")]),
    ],
)
def test_the_rules_of_contacts_are_reported_at_their_place(api, members, expected):
    assert faults(api.post("contact", a_contact_body(**members))) == expected
    assert not Contact.objects.exists()


def test_contacts_may_share_a_name_and_an_email_but_no_code(api):
    body = a_contact_body(PrimaryEmail="a@example.org")
    ok(api.post("contact", {"value": [body, body]}), 201)
    twins = [a_contact_body(UniqueCode="x"), a_contact_body(UniqueCode="X")]
    assert faults(api.post("contact", {"value": twins})) == [("NotUnique", "value[1]/UniqueCode")]


def test_a_contact_cannot_be_put(api):
    refused(api.put(f"contact/{a_contact().pk}", a_contact_body()), 405, "MethodNotAllowed")


def test_contacts_of_a_client_are_found_by_its_guid_and_name(api):
    client = a_client(BusinessName="Works")
    mine = a_contact(Client={"ClientGuid": str(client.pk)})
    a_contact()
    for query in (
        {"$filter": f"Client/ClientGuid eq {client.pk}"},
        {"$filter": "startswith(Client/BusinessName,'Wor')"},
        {"Client/ClientGuid": str(client.pk)},
        {"Client/BusinessName": "Works"},
    ):
        found = ok(api.get("contact", query))["value"]
        assert [row["ContactGuid"] for row in found] == [str(mine.pk)], query


def test_texts_of_lists_and_forms_are_not_corrected_here(api):
    bodies = {
        "SchemeNumber": ({"SchemeNumber": "NDIS 431000195"}, "InvalidSchemeNumber"),
        "PrimaryEmail": ({"PrimaryEmail": "none"}, "InvalidEmail"),
        "Country": ({"Address": {"State": "QLD"}}, "Required"),
    }
    for name, (member, code) in bodies.items():
        answer = api.post("contact", {"value": [{"FirstName": "Ida", "LastName": "Quill", **member}]})
        assert answer.status_code == 400, name
        (detail,) = answer.json()["error"]["details"]
        assert (detail["code"], detail["target"].rpartition("/")[2]) == (code, name)
