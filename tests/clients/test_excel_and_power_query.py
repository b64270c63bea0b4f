"""Requests as Excel and Power BI send them: OData.Feed of Power Query, which was not at hand itself.

Headers, folded columns: https://learn.microsoft.com/power-query/read-query-diagnostics. Expanded columns in
$select too: https://github.com/microsoft/DataConnectors/issues/233. A request for each row: issues/250 there.
A list in an expanded list: https://github.com/OData/WebApi/issues/854. Batches: EnableBatch of OData.Feed.
"""

import base64
import json
from xml.etree import ElementTree

import pytest

from apps.access.services import register_application
from apps.base.declaration.service import get_service
from tests.api.batches import as_multipart, get, read_multipart
from tests.api.caller import Caller, ok, refused
from tests.funding.builders import a_claim
from tests.people.builders import a_client, a_contact

ACCEPT = (
    "application/json;odata.metadata=minimal;q=1.0,application/json;odata=minimalmetadata;q=0.9,"
    "application/atomsvc+xml;q=0.8,application/atom+xml;q=0.8,application/xml;q=0.7,text/plain;q=0.7"
)
EDM = "{http://docs.oasis-open.org/odata/ns/edm}"


class PowerQuery(Caller):
    """The evaluator of M, with the id and the secret of an application as user name and password."""

    def call(self, method, path, query=None, body=None, **headers):
        sent = {"Accept": ACCEPT, "OData_MaxVersion": "4.0", "MaxDataServiceVersion": "3.0"}
        return super().call(method, path, query, body, **{**sent, **headers})


@pytest.fixture
def excel(db):
    application, secret = register_application("Excel", ["read"])
    credentials = base64.b64encode(f"{application.client_id}:{secret}".encode()).decode()
    return PowerQuery(f"Basic {credentials}")


@pytest.fixture
def claim(db):
    return a_claim(contact=a_contact(LastName="Walsh"), lines=2)


def test_credentials_are_asked_for_before_anything_is_shown(excel):
    answer = PowerQuery().get("")
    refused(answer, 401)
    assert "Basic" in answer["WWW-Authenticate"]
    assert {"name": "Claim", "kind": "EntitySet", "url": "claim"} in ok(excel.get(""))["value"]


def test_the_data_model_is_xml_of_version_4(excel):
    answer = excel.get("$metadata", Accept="application/xml")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/xml")
    assert ElementTree.fromstring(answer.content).get("Version") == "4.0"


def test_the_columns_of_the_data_model_can_all_be_asked_for(excel, claim):
    """Once a column is removed or expanded, the request names all others, complex ones and navigation too."""
    a_client()
    model = ElementTree.fromstring(excel.get("$metadata", Accept="application/xml").content)
    for entity_set in get_service().entity_sets:
        (entity_type,) = model.iterfind(f".//{EDM}EntityType[@Name='{entity_set.type.name}']")
        properties = [member.get("Name") for member in entity_type.iterfind(f"{EDM}Property")]
        navigation = [member.get("Name") for member in entity_type.iterfind(f"{EDM}NavigationProperty")]
        columns = "%2C".join([*properties, *navigation])
        for row in ok(excel.get(entity_set.name, f"$select={columns}&$top=1000"))["value"]:
            assert [member for member in row if "@" not in member] == properties, entity_set.name


def test_a_preview_has_the_types_of_the_data_model(excel, claim):
    (row,) = ok(excel.get("Claim", "$top=1000"))["value"]
    assert (row["ClaimGuid"], row["Total"]) == (str(claim.pk), float(claim.total))


def test_an_expanded_column_is_selected_as_well(excel, claim):
    query = "$select=ClaimNumber%2CContact&$expand=Contact%28%24select%3DContactGuid%2CLastName%29"
    answer = ok(excel.get("Claim", query))
    assert answer["@odata.context"].endswith("#Claim(ClaimGuid,ClaimNumber,Contact(ContactGuid,LastName))")
    (row,) = answer["value"]
    assert row["Contact"]["LastName"] == "Walsh"


def test_the_lists_of_each_row_are_asked_for_one_by_one(excel, claim):
    lines = ok(excel.get(f"Claim({claim.pk})/LineItems", "$select=Quantity%2CTotal"))
    context = f"$metadata#Claim({claim.pk})/LineItems(LineItemGuid,Quantity,Total)"
    assert lines["@odata.context"].endswith(context)
    assert len(lines["value"]) == 2
    assert ok(excel.get(f"Claim({claim.pk})/Contact", "$select=LastName"))["LastName"] == "Walsh"
    assert ok(excel.get(f"Contact({claim.contact_id})/Claims"))["value"][0]["ClaimGuid"] == str(claim.pk)


def test_a_list_in_an_expanded_list_can_be_selected(excel, claim):
    (row,) = ok(excel.get("Contact", "$expand=Claims($select=ClaimNumber,LineItems)"))["value"]
    assert row["Claims"][0]["ClaimNumber"] == claim.claim_number


def test_filters_orders_and_counts_are_folded(excel, claim):
    query = "$filter=Contact/LastName eq 'Walsh' and CreationDate ge 2020-01-01T00:00:00Z&$orderby=Total desc"
    assert len(ok(excel.get("Claim", f"{query}&$skip=0&$top=1"))["value"]) == 1
    assert ok(excel.get("Claim", "$top=0&$count=true"))["@odata.count"] == 1
    assert excel.get("Claim/$count", "$filter=Total gt 0", Accept="text/plain").content.strip() == b"1"


def test_pages_are_followed_to_the_end(excel, settings):
    settings.API_PAGE_SIZE = 2
    keys = {str(a_contact().pk) for _ in range(5)}
    assert {row["ContactGuid"] for row in excel.all("Contact")} == keys


def test_a_long_address_goes_in_a_batch(excel, claim):
    body = as_multipart(
        [get("Claim?$select=ClaimNumber", headers={"Accept": ACCEPT, "OData-MaxVersion": "4.0"})]
    )
    answer = excel.call("POST", "$batch", body=body, content_type="multipart/mixed; boundary=b")
    (part,) = read_multipart(answer)
    assert json.loads(part.body)["value"][0]["ClaimNumber"] == claim.claim_number


def test_nothing_is_written_with_basic_credentials(excel):
    refused(excel.post("contact", {"FirstName": "Ada", "LastName": "Byron"}), 403)
