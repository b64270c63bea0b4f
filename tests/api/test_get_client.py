"""GET /client: one record, its parts and its stamps."""

import uuid

from apps.people.models import Client
from tests.api.caller import ok, refused
from tests.people.builders import a_client, a_contact


def test_a_client_in_full(api):
    contact = a_contact(FirstName="Kim", LastName="Lee")
    client = a_client(
        BusinessName="Works",
        BusinessNumber="51824753556",
        Address={"Suburb": "Ayr"},
        KeyContact={"ContactGuid": str(contact.pk)},
    )
    Client.objects.filter(pk=client.pk).update(
        creation_date="2024-10-05T15:59:59Z", modify_date="2024-10-05T16:00:00.5Z", is_self=True
    )
    assert api.get(f"client/{client.pk}", {"$expand": "*"}).content.decode() == (
        '{"@odata.context":"http://testserver/api/$metadata'
        '#Client(CustomFields(),KeyContact())/$entity",'
        f'"ClientGuid":"{client.pk}","BusinessName":"Works","BusinessNumber":"51824753556","UniqueCode":null,'
        '"IsSelf":true,"ExternalReference":null,"BusinessPhone":null,"BusinessPhone2":null,"BusinessFax":null,'
        '"WebAddress":null,"CreationDate":"2024-10-06T01:59:59+10:00","ModifyDate":"2024-10-06T03:00:00.5+11:00",'
        '"ArchiveDate":null,"Address":{"StreetAddress":null,"StreetAddress2":null,"Suburb":"Ayr","City":null,'
        '"State":null,"Country":null,"PostCode":null},"PostalAddress":null,"CustomFields":[],'
        f'"KeyContact":{{"ContactGuid":"{contact.pk}","FirstName":"Kim","LastName":"Lee","ArchiveDate":null}}}}'
    )


def test_an_unknown_guid_is_404_whatever_its_version(api):
    a_client()
    for guid in (uuid.uuid4(), uuid.uuid1(), uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)):
        refused(api.get(f"client/{guid}"), 404, "NotFound")


def test_the_newest_client_comes_first(api):
    keys = [str(a_client().pk) for _ in range(3)]
    for day, key in enumerate(keys, 1):
        Client.objects.filter(pk=key).update(creation_date=f"2024-01-0{4 - day}T00:00:00Z")
    assert [row["ClientGuid"] for row in ok(api.get("client"))["value"]] == keys


def test_an_empty_collection_is_an_empty_list(api):
    assert ok(api.get("client", {"$count": "true", "$expand": "*"})) == {
        "@odata.context": "http://testserver/api/$metadata#Client(KeyContact())",
        "@odata.count": 0,
        "value": [],
    }
