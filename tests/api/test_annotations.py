"""Control information in bodies: addresses of records, and annotations that are not understood."""

import pytest

from tests.api.caller import faults, ok, refused
from tests.people.builders import (
    a_client,
    a_client_body,
    a_contact,
    a_contact_body,
    a_role,
    a_staff_body,
    a_staff_member,
    a_team,
)


@pytest.fixture
def client(db):
    return a_client()


@pytest.mark.parametrize(
    "address",
    [
        *("client({})", "Client({})", "/api/client({})", "http://testserver/api/Client({})", "client/{}"),
        *("client('{}')", "client(ClientGuid={})", "https://records.example/api/CLIENT({})/"),
    ],
)
def test_a_record_is_named_by_any_spelling_of_its_address(api, client, address):
    body = {**a_contact_body(), "Client@odata.bind": address.format(client.pk)}
    body.pop("Client", None)
    contact = ok(api.post("contact", body), 201)
    assert contact["Client"]["ClientGuid"] == str(client.pk)
    short = {**a_contact_body(), "Client@bind": address.format(str(client.pk).upper())}
    assert ok(api.post("contact", {"value": [short]}), 201)["value"][0]["Client"] == contact["Client"]


def test_guids_parts_and_lists_are_bound(api, client):
    contact, teams, owner = a_contact(), [a_team(), a_team()], a_staff_member()
    invoice = {
        "ProviderInvoiceReference": "R-1",
        "Provider@odata.bind": f"client({client.pk})",
        "Contact@odata.bind": f"contact({contact.pk})",
    }
    stored = ok(api.post("providerInvoice", invoice), 201)
    assert (stored["ProviderGuid"], stored["ContactGuid"]) == (str(client.pk), str(contact.pk))
    staff = a_staff_body(AccountManager=None)
    del staff["PrimaryRole"], staff["AccountManager"]
    staff |= {
        "PrimaryRole@odata.bind": f"role({a_role().pk})",
        "Teams@odata.bind": [f"team({team.pk})" for team in teams],
        "AccountManager@odata.bind": f"staff({owner.pk})",
    }
    stored = ok(api.post("staff", staff), 201)
    assert sorted(team["TeamId"] for team in stored["Teams"]) == sorted(team.pk for team in teams)
    assert stored["AccountManager"]["StaffGuid"] == str(owner.pk)
    assert stored["PrimaryRole"]["Name"]


@pytest.mark.parametrize("id", ["@id", "@odata.id"])
def test_an_object_names_a_record_by_its_address(api, client, id):
    """OData 4.01's form of bind: of members, of lists, of navigation properties to other sets."""
    contact, teams = a_contact(), [a_team(), a_team()]
    stored = ok(api.post("contact", a_contact_body(Client={id: f"client({client.pk})"})), 201)
    assert stored["Client"]["ClientGuid"] == str(client.pk)
    staff = a_staff_body(Teams=[{id: f"team({team.pk})"} for team in teams])
    assert len(ok(api.post("staff", staff), 201)["Teams"]) == 2
    invoice = {"ProviderInvoiceReference": "R-1", "Contact": {id: f"contact({contact.pk})"}}
    stored = ok(api.post("providerInvoice", {**invoice, "ProviderGuid": str(client.pk)}), 201)
    assert stored["ContactGuid"] == str(contact.pk)

    wrong = a_contact_body(Client={id: f"contact({contact.pk})"})
    assert faults(api.post("contact", wrong)) == [("InvalidAddress", "Client/@id")]
    invoice |= {"ProviderInvoiceReference": "R-2", "ProviderGuid": str(client.pk)}
    wrong = {**invoice, "Contact": {id: "client(5)"}}
    assert faults(api.post("providerInvoice", wrong)) == [("InvalidAddress", "Contact")]
    both = a_contact_body(Client={id: "client(5)", "ClientGuid": str(client.pk)})
    assert ok(api.post("contact", both), 201)["Client"]["ClientGuid"] == str(client.pk)


def test_null_binds_nothing(api, db):
    assert ok(api.post("contact", {**a_contact_body(), "Client@odata.bind": None}), 201)["Client"] is None


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        ("Client@odata.bind", "contact({})", ("InvalidAddress", "Client@odata.bind")),
        ("Client@odata.bind", "client", ("InvalidAddress", "Client@odata.bind")),
        ("Client@odata.bind", "client()", ("InvalidAddress", "Client@odata.bind")),
        (
            "Client@odata.bind",
            "https://elsewhere.example/client({})",
            ("InvalidAddress", "Client@odata.bind"),
        ),
        ("Client@odata.bind", 5, ("InvalidAddress", "Client@odata.bind")),
        ("Client@odata.bind", ["client({})"], ("InvalidAddress", "Client@odata.bind")),
        ("Client@odata.bind", {"@odata.id": "client({})"}, ("InvalidAddress", "Client@odata.bind")),
        ("Client@odata.bind", "client(none)", ("InvalidGuid", "Client/ClientGuid")),
        (
            "Client@odata.bind",
            "client(00000000-0000-7000-8000-000000000000)",
            ("NotFound", "Client/ClientGuid"),
        ),
        ("Nothing@odata.bind", "client({})", ("UnknownAnnotation", "Nothing@odata.bind")),
        ("Claims@odata.bind", ["claim({})"], ("UnknownAnnotation", "Claims@odata.bind")),
        ("@odata.removed", {"reason": "deleted"}, ("UnknownAnnotation", "@odata.removed")),
        ("@removed", {"reason": "deleted"}, ("UnknownAnnotation", "@removed")),
        ("Client@odata.delta", [], ("UnknownAnnotation", "Client@odata.delta")),
        ("FirstName@odata.nothing", 1, ("UnknownAnnotation", "FirstName@odata.nothing")),
        ("@odata.type", "#Records.Staff", ("WrongType", "@odata.type")),
        ("@type", "http://testserver/api/$metadata#Records.Client", ("WrongType", "@type")),
    ],
)
def test_what_names_no_record_or_is_not_understood_is_refused(api, client, annotation, value, expected):
    if isinstance(value, str):
        value = value.format(client.pk)
    body = {**a_contact_body(), annotation: value}
    body.pop("Client", None)
    assert faults(api.post("contact", body)) == [expected]


def test_a_member_is_not_given_twice(api, client):
    body = a_contact_body(Client={"ClientGuid": str(client.pk)})
    body["Client@odata.bind"] = f"client({client.pk})"
    assert faults(api.post("contact", body)) == [("Duplicate", "Client@odata.bind")]


def test_a_required_member_that_is_bound_wrongly_is_one_fault(api, db):
    body = a_staff_body()
    del body["PrimaryRole"]
    body["PrimaryRole@odata.bind"] = "team(1)"
    assert faults(api.post("staff", body)) == [("InvalidAddress", "PrimaryRole@odata.bind")]


def test_annotations_around_and_inside_records_are_read_as_well(api, client):
    wrapped = {"value": [a_client_body()], "@odata.context": "x", "@odata.count": 1}
    ok(api.post("client", wrapped), 201)
    refused(api.post("client", {**wrapped, "@odata.nothing": 1}), 400, "UnknownAnnotation")
    body = a_contact_body(Client={"ClientGuid": str(client.pk), "@odata.type": "#Records.ClientBrief"})
    ok(api.post("contact", body), 201)
    body["Client"]["@odata.nothing"] = 1
    assert faults(api.post("contact", body)) == [("UnknownAnnotation", "Client/@odata.nothing")]


def test_what_a_client_sends_back_of_an_answer_is_accepted(api, db):
    """The control information of an answer with full metadata, and annotations of vocabularies."""
    member = a_staff_member()
    address = f"staff/{member.pk}"
    record = ok(api.get(address, {"$expand": "*"}, Accept="application/json;odata.metadata=full"))
    assert sum("@odata." in name for name in record) > 10
    record |= {"@Core.Description": "x", "FirstName@example.note": 1, "FirstName": "Changed"}
    assert ok(api.put(address, record))["FirstName"] == "Changed"
