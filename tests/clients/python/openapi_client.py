from http import HTTPStatus

from records import AuthenticatedClient
from records.api.claim import list_claim
from records.api.contact import create_contact, list_contact
from records.api.service import send_batch
from records.models import ContactBody, SendBatchJsonBody
from steps import SERVICE, TOKEN, take, whole_list

# The paths of the document begin with /api/.
client = AuthenticatedClient(SERVICE.removesuffix("/api/"), TOKEN, raise_on_unexpected_status=True)


def list_claims():
    page = list_claim.sync(client=client, top=3, orderby="ClaimNumber")
    assert len(page.value) == 3
    return ", ".join(claim.claim_number for claim in page.value)


def filter_claims():
    page = list_claim.sync(client=client, filter_="Total gt 500 and FundingStatus eq 'OnHold'")
    assert page.value
    assert all(claim.total > 500 for claim in page.value)
    return f"{len(page.value)} claims"


def expand_claim():
    (claim,) = list_claim.sync(client=client, top=1, expand="LineItems,Contact($select=LastName)").value
    assert claim.line_items
    assert claim.contact["LastName"]
    return f"{len(claim.line_items)} lines of {claim.contact['LastName']}"


def read_pages():
    found = []
    while True:
        page = list_contact.sync(client=client, top=150, skip=len(found), orderby="ContactGuid")
        found += [contact.contact_guid for contact in page.value]
        if not page.value:
            return whole_list(found)


def create():
    answer = create_contact.sync_detailed(
        client=client, body=ContactBody(first_name="Ada", last_name="Byron")
    )
    assert answer.status_code == HTTPStatus.CREATED
    return answer.parsed.contact_guid


def batch():
    requests = [
        {"id": str(number), "method": "get", "url": f"{name}?$top=2"}
        for number, name in enumerate(("client", "claim"))
    ]
    answer = send_batch.sync(client=client, body=SendBatchJsonBody.from_dict({"requests": requests}))
    assert [response.status for response in answer.responses] == [200, 200]
    return "2 lists"


take(
    list=list_claims, filter=filter_claims, expand=expand_claim, pages=read_pages, create=create, batch=batch
)
