import requests
from odata import ODataService
from steps import SERVICE, TOKEN, VERSION, take, whole_list

session = requests.Session()
session.headers.update({"Authorization": f"Bearer {TOKEN}", "api-version": VERSION, "If-Match": "*"})
service = ODataService(SERVICE, session=session, reflect_entities=True)
Claim, Contact = service.entities["Claim"], service.entities["Contact"]
ada = Contact()


def list_claims():
    claims = list(service.query(Claim).order_by(Claim.ClaimNumber.asc()).limit(3))
    assert len(claims) == 3
    return ", ".join(claim.ClaimNumber for claim in claims)


def filter_claims():
    claims = list(service.query(Claim).filter(Claim.Total > 500).limit(100))
    assert claims
    assert all(claim.Total > 500 for claim in claims)
    return f"{len(claims)} claims"


def expand_claim():
    (claim,) = service.query(Claim).expand(Claim.LineItems, Claim.Contact).limit(1)
    assert claim.LineItems
    assert claim.Contact.LastName
    return f"{len(claim.LineItems)} lines of {claim.Contact.LastName}"


def read_pages():
    return whole_list([contact.ContactGuid for contact in service.query(Contact)])


def create_contact():
    ada.FirstName, ada.LastName = "Ada", "Byron"
    service.save(ada)
    assert ada.ContactGuid
    return ada.ContactGuid


def change_contact():
    ada.LastName = "Lovelace"
    service.save(ada)
    read = service.query(Contact).get(ada.ContactGuid)
    assert read.LastName == "Lovelace"
    return read.LastName


take(
    list=list_claims,
    filter=filter_claims,
    expand=expand_claim,
    pages=read_pages,
    create=create_contact,
    change=change_contact,
)
