from http import HTTPStatus

from records import AuthenticatedClient
from records.api.claim import list_claim
from records.api.contact import change_contact, create_contact, get_contact, list_contact
from records.api.service import send_batch
from records.models import ContactBody, ContactChange, SendBatchJsonBody
from steps import SERVICE, TOKEN, VERSION, take, whole_list

# The paths of the document begin with /api/.
client = AuthenticatedClient(SERVICE.removesuffix("/api/"), TOKEN, raise_on_unexpected_status=True)
sent = {"client": client, "api_version": VERSION}
contact_guid = None


def list_claims():
    page = list_claim.sync(**sent, top=3, orderby="ClaimNumber")
    assert len(page.value) == 3
    return ", ".join(claim.claim_number for claim in page.value)


def filter_claims():
    page = list_claim.sync(**sent, filter_="Total gt 500 and FundingStatus eq 'OnHold'")
    assert page.value
    assert all(claim.total > 500 for claim in page.value)
    return f"{len(page.value)} claims"


def expand_claim():
    (claim,) = list_claim.sync(**sent, top=1, expand="LineItems,Contact($select=LastName)").value
    assert claim.line_items
    assert claim.contact["LastName"]
    return f"{len(claim.line_items)} lines of {claim.contact['LastName']}"


def read_pages():
    found = []
    while True:
        page = list_contact.sync(**sent, top=150, skip=len(found), orderby="ContactGuid")
        found += [contact.contact_guid for contact in page.value]
        if not page.value:
            return whole_list(found)


def create():
    global contact_guid
    answer = create_contact.sync_detailed(**sent, body=ContactBody(first_name="Ada", last_name="Byron"))
    assert answer.status_code == HTTPStatus.CREATED
    contact_guid = answer.parsed.contact_guid
    return contact_guid


def change():
    etag = get_contact.sync_detailed(contact_guid, **sent).headers["ETag"]
    change = ContactChange(last_name="Lovelace")
    return change_contact.sync(contact_guid, **sent, if_match=etag, body=change).last_name


def batch():
    requests = [
        {"id": str(number), "method": "get", "url": f"{name}?$top=2"}
        for number, name in enumerate(("client", "claim"))
    ]
    answer = send_batch.sync(**sent, body=SendBatchJsonBody.from_dict({"requests": requests}))
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
