from http import HTTPStatus

from generated_records import (
    ApiClient,
    ClaimApi,
    Configuration,
    ContactApi,
    ContactBody,
    ContactChange,
    CreateContactRequest,
    SendBatchRequest,
    ServiceApi,
)
from steps import SERVICE, TOKEN, VERSION, take, whole_list

# The paths of the document begin with /api/.
client = ApiClient(Configuration(host=SERVICE.removesuffix("/api/"), access_token=TOKEN))
claims, contacts, service = ClaimApi(client), ContactApi(client), ServiceApi(client)
contact_guid = None


def list_claims():
    page = claims.list_claim(VERSION, top=3, orderby="ClaimNumber")
    assert len(page.value) == 3
    return ", ".join(claim.claim_number for claim in page.value)


def filter_claims():
    page = claims.list_claim(VERSION, filter="Total gt 500 and FundingStatus eq 'OnHold'")
    assert page.value
    assert all(claim.total > 500 for claim in page.value)
    return f"{len(page.value)} claims"


def expand_claim():
    (claim,) = claims.list_claim(VERSION, top=1, expand="LineItems,Contact($select=LastName)").value
    assert claim.line_items
    return f"{len(claim.line_items)} lines of {claim.contact['LastName']}"


def read_pages():
    found = []
    while True:
        page = contacts.list_contact(VERSION, top=150, skip=len(found), orderby="ContactGuid")
        found += [contact.contact_guid for contact in page.value]
        if not page.value:
            return whole_list(found)


def create():
    global contact_guid
    body = CreateContactRequest(ContactBody(FirstName="Ada", LastName="Byron"))
    answer = contacts.create_contact_with_http_info(VERSION, body)
    assert answer.status_code == HTTPStatus.CREATED
    contact_guid = answer.data.actual_instance.contact_guid
    return contact_guid


def change():
    etag = contacts.get_contact_with_http_info(contact_guid, VERSION).headers["ETag"]
    return contacts.change_contact(contact_guid, VERSION, etag, ContactChange(LastName="Lovelace")).last_name


def batch():
    requests = [
        {"id": str(number), "method": "get", "url": f"{name}?$top=2"}
        for number, name in enumerate(("client", "claim"))
    ]
    answer = service.send_batch(VERSION, SendBatchRequest.from_dict({"requests": requests}))
    assert [response.status for response in answer.responses] == [200, 200]
    return "2 lists"


take(
    list=list_claims,
    filter=filter_claims,
    expand=expand_claim,
    pages=read_pages,
    create=create,
    change=change,
    batch=batch,
)
