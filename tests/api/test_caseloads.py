"""Callers who are limited to a caseload: of every entity set they see what belongs to it, nothing else."""

import json
import re
import uuid
from random import Random

import pytest
from django.test import Client as Session

from apps.access.models import ApiApplication
from apps.base.declaration.service import get_service
from apps.core import caseload
from apps.core.caseload import caseload_path
from apps.payments.models import Statement
from apps.people.models import Contact
from tests.api.caller import Caller, LaterCaller, an_application, faults, ok, refused
from tests.api.test_set_navigations import filter_of
from tests.caseloads import a_limited_application, keys_in_caseload, limit
from tests.documents.builders import PDF, a_category, a_document, a_file, fields, form, part
from tests.funding.bodies import a_claim_body, a_full_provider_invoice
from tests.funding.builders import a_claim
from tests.people.builders import a_client, a_contact, a_contact_body, a_location, a_staff_member, a_team
from tests.people.records import a_role
from tests.people.records import a_staff_member as a_login

pytestmark = pytest.mark.django_db

SETS = [each for each in get_service("2.1").entity_sets if not each.resource.is_own]
OPEN = [each for each in SETS if caseload_path(each.model) is not None and each.path != "importJob"]
CLOSED = [each for each in SETS if each not in OPEN]
NAVIGATIONS = [
    pytest.param(entity_set, navigation, id=f"{entity_set.name}-{navigation.name}")
    for entity_set in OPEN
    for navigation in entity_set.type.set_navigations.values()
    if navigation.entity_set in OPEN
]


def name_of(entity_set):
    return entity_set.name


each_open_set = pytest.mark.parametrize("entity_set", OPEN, ids=name_of)
each_navigation = pytest.mark.parametrize(("entity_set", "navigation"), NAVIGATIONS)


@pytest.fixture(scope="module")
def module_mine(module_records):
    mine, other = a_staff_member(), a_staff_member()
    chance = Random(5)
    for contact in Contact.objects.order_by("pk"):
        manager = chance.choice([mine.pk, mine.pk, other.pk, None])
        Contact.objects.filter(pk=contact.pk).update(account_manager=manager)
    return mine


@pytest.fixture
def mine(records, module_mine):
    """A member of staff who looks after every second contact; others look after the rest, or nobody does."""
    return module_mine


@pytest.fixture(scope="module")
def module_limited(module_mine):
    return a_limited_application(staff=[module_mine]).authorization


@pytest.fixture
def limited(mine, module_limited):
    return LaterCaller(module_limited)


@pytest.fixture(params=[True, False], ids=["few", "many"])
def either_way(request, monkeypatch):
    """Both ways to find what belongs to a caseload: by its participants, or record by record."""
    monkeypatch.setattr(caseload, "are_few", lambda *_: request.param)


def key_of(entity_set, row):
    return entity_set.model._meta.pk.to_python(str(row[entity_set.key.name]))


def keys_of(entity_set, rows):
    return {key_of(entity_set, row) for row in rows}


# --- reading ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("either_way")
@each_open_set
def test_a_list_has_what_belongs_to_the_caseload(limited, mine, entity_set):
    expected = keys_in_caseload(entity_set.model, {mine.pk})
    shown = limited.all(entity_set.path)
    assert keys_of(entity_set, shown) == expected
    assert limited.get(f"{entity_set.path}/$count").content.decode() == str(len(expected))
    assert ok(limited.get(entity_set.path, {"$count": "true", "$top": 0}))["@odata.count"] == len(expected)
    (counted,) = ok(limited.get(entity_set.path, {"$apply": "aggregate($count as Number)"}))["value"]
    assert counted["Number"] == len(expected)
    lines = b"".join(limited.get(entity_set.path, {"$format": "ndjson"}).streaming_content)
    assert len(lines.splitlines()) == len(expected)
    assert len(ok(limited.get(f"{entity_set.path}/$ref"))["value"]) == len(expected)
    if caseload_path(entity_set.model):
        assert keys_in_caseload(entity_set.model, set()) == set()  # and none of it is everybody's


@each_open_set
def test_a_record_that_is_not_in_the_caseload_is_not_there(limited, mine, entity_set):
    expected = keys_in_caseload(entity_set.model, {mine.pk})
    for key in entity_set.model._base_manager.values_list("pk", flat=True):
        address = f"{entity_set.path}({key})"
        answers = [limited.get(address), limited.get(f"{address}/{entity_set.key.name}")]
        answers += [limited.get(f"{address}/{name}") for name in entity_set.type.set_navigations]
        if key in expected:
            assert answers[0].status_code == 200
            continue
        for answer in answers:
            assert answer.status_code in (403, 404), answer.content
        for method in ("PUT", "PATCH", "DELETE"):
            if entity_set.supports(method):
                body = None if method == "DELETE" else {}
                refused(limited.call(method, address, body=body, If_Match="*"), 404)


def documented_operations():
    """(path, method) of everything that the interface does with one record."""
    document = json.loads(Session().get("/docs/openapi.json", {"version": "2.1"}).content)
    return [
        (path, method)
        for path, operations in document["paths"].items()
        for method in operations
        if "{" in path and method in ("get", "post", "put", "patch", "delete")
    ]


def test_no_address_of_a_hidden_record_does_anything(limited):
    """Downloads, steps of provider invoices and whatever is added tomorrow."""
    limit("Limited")
    contact = Contact.objects.first()
    Statement(contact=contact, made_for=contact.pk, month="2025-07-01", content=b"%PDF", sha256="0").save()
    tried = 0
    for path, method in documented_operations():
        name, _, rest = path.removeprefix("/api/").partition("({")
        name, _, rest = (name, "", rest) if rest else path.removeprefix("/api/").partition("/{")
        entity_set = next((each for each in OPEN if each.path.lower() == name.lower()), None)
        if entity_set is None or not caseload_path(entity_set.model):
            continue
        hidden = entity_set.model._base_manager.values_list("pk", flat=True).first()
        assert hidden, f"OTHER_APPS of tests/api/conftest.py makes no {name}."
        before = entity_set.model._base_manager.filter(pk=hidden).values().get()
        address = re.sub(r"\{[^}]*\}", str(hidden), path.removeprefix("/api/"))
        body = None if method in ("get", "delete") else {"reason": "x", "Reason": "x"}
        answer = limited.call(method.upper(), address, body=body)
        assert answer.status_code in (403, 404), (path, method, answer.content)
        assert entity_set.model._base_manager.filter(pk=hidden).values().get() == before
        tried += 1
    assert tried > 20


@pytest.mark.parametrize("entity_set", CLOSED, ids=name_of)
def test_what_tells_of_several_participants_is_for_those_who_see_all(limited, entity_set):
    error = refused(limited.get(entity_set.path), 403, "Forbidden")
    assert error["message"].endswith("and to see all participants.")


def test_each_set_is_somebodys(records):
    """A set that forgets to say whose its records are is closed; these are meant to be."""
    assert {each.path for each in CLOSED} == {"claimFile", "remittance", "paymentRun", "importJob"}


@pytest.mark.usefixtures("either_way")
@each_navigation
def test_no_navigation_leads_out_of_the_caseload(limited, mine, entity_set, navigation):
    target = navigation.entity_set
    expected = keys_in_caseload(target.model, {mine.pk})
    rows = limited.all(entity_set.path, {"$expand": navigation.name})
    shown = [
        each for row in rows for each in (row[navigation.name] if navigation.many else [row[navigation.name]])
    ]
    assert keys_of(target, filter(None, shown)) <= expected
    answer = limited.get(entity_set.path, {"$filter": filter_of(navigation)})
    if answer.status_code == 403:
        assert not navigation.many
        assert caseload_path(target.model)
        return
    found = keys_of(entity_set, ok(answer)["value"])
    holders = {key_of(entity_set, row) for row in rows if row[navigation.name] not in (None, [])}
    assert found == holders


def test_nothing_is_found_by_what_is_not_seen(api, limited, mine):
    """A provider invoice may be another participant's, or nobody's: its members choose no claims."""
    own = a_contact(AccountManager={"StaffGuid": str(mine.pk)})
    paper = a_full_provider_invoice(contact=a_contact(), approval_status="Rejected", rejection_reason="Chess")
    claim = a_claim(contact=own, provider_invoice=paper)
    condition = "ProviderInvoice/RejectionReason eq 'Chess'"
    (found,) = ok(api.get("claim", {"$filter": condition}))["value"]
    assert found["ClaimGuid"] == str(claim.pk)
    for query in (
        {"$filter": condition},
        {"$orderby": "ProviderInvoice/RejectionReason"},
        {"$apply": "groupby((ProviderInvoice/RejectionReason))"},
        {"$compute": "ProviderInvoice/RejectionReason as Reason"},
    ):
        refused(limited.get("claim", query), 403, "Forbidden")
    (shown,) = ok(
        limited.get("claim", {"$filter": f"ClaimGuid eq {claim.pk}", "$expand": "ProviderInvoice"})
    )["value"]
    assert shown["ProviderInvoice"] is None
    assert ok(
        limited.get("claim", {"$filter": "Contact/LastName eq 'Byron'", "$orderby": "Contact/LastName"})
    )
    name = "Hidden away"
    a_contact(FirstName=name, Client={"ClientGuid": str(a_client().pk)})
    for query in ({"$search": "Hidden"}, {"$filter": f"Contacts/any(each:each/FirstName eq '{name}')"}):
        for path in ("contact", "client"):
            answer = limited.get(path, query)
            assert answer.status_code == 400 or ok(answer)["value"] == []


def test_a_representative_is_a_participant_of_their_own(limited, mine):
    """A participant shows the representative's name; the rest belongs to the caseload of that contact."""
    mother = a_contact(FirstName="Mother")
    child = a_contact(
        Representative={"ContactGuid": str(mother.pk)},
        RepresentativeRelationship="Mother",
        AccountManager={"StaffGuid": str(mine.pk)},
    )
    shown = ok(limited.get(f"contact({child.pk})", {"$expand": "*"}))
    assert shown["Representative"]["FirstName"] == "Mother"
    refused(limited.get(f"contact({mother.pk})"), 404)
    Contact.objects.filter(pk=mother.pk).update(account_manager=mine)
    assert ok(limited.get(f"contact({mother.pk})"))["FirstName"] == "Mother"


@pytest.mark.parametrize("by", ["locations", "teams", "staff"])
def test_a_caseload_is_by_place_by_team_and_by_person(api, by):
    place, team = a_location(), a_team()
    manager = a_staff_member(
        Location={"LocationGuid": str(place.pk)}, Teams=[{"TeamId": team.pk}, {"TeamId": a_team().pk}]
    )
    other = a_staff_member(Location={"LocationGuid": str(a_location().pk)}, Teams=[{"TeamId": a_team().pk}])
    own, foreign = (a_contact(AccountManager={"StaffGuid": str(each.pk)}) for each in (manager, other))
    a_contact()
    limits = {by: [{"locations": place, "teams": team, "staff": manager}[by]]}
    limited = a_limited_application(name="By one", **limits)
    assert [row["ContactGuid"] for row in limited.all("contact")] == [str(own.pk)]
    limit("By one")
    assert limited.all("contact") == []
    ApiApplication.objects.update(sees_everybody=True)
    assert len(limited.all("contact")) == Contact.objects.count()
    refused(Caller(an_application("client.read", name="Other")).get(f"contact({foreign.pk})"), 403)


def test_a_session_sees_the_caseload_of_its_person(client):
    place = a_location()
    for participants in ("All", "Location", "Teams", "Own"):
        role = a_role("people.view_contact", "funding.view_claim", participants=participants)
        login = a_login(role=role, location=place)
        client.force_login(login, backend="apps.people.authentication.StaffBackend")
        colleague = a_staff_member(Location={"LocationGuid": str(place.pk)})
        a_contact(), a_contact(AccountManager={"StaffGuid": str(colleague.pk)})
        a_contact(AccountManager={"StaffGuid": str(login.pk)})
        seen = Caller(session=client).all("contact", {"$select": "AccountManager"})
        number = {"All": Contact.objects.count(), "Teams": 1, "Own": 1}.get(participants)
        assert len(seen) == (number or Contact.objects.filter(account_manager__location=place).count())


# --- writing ------------------------------------------------------------------------------------------------


def claim_of(contact, mine):
    own = a_contact(AccountManager={"StaffGuid": str(mine.pk)})
    return a_claim_body(a_full_provider_invoice(contact=own), ContactGuid=str(contact))


def test_a_hidden_record_is_as_unknown_as_one_that_is_not_there(limited, mine):
    hidden = a_contact()
    answers = [limited.post("claim", claim_of(key, mine)) for key in (hidden.pk, uuid.uuid4())]
    told = [[(code, target) for code, target in faults(answer)] for answer in answers]
    assert ("NotFound", "ContactGuid") in told[0]
    assert ("NotFound", "ContactGuid") in told[1]
    assert len(told[0]) == 1  # no rule has looked at the hidden one
    message = refused(answers[0], 400)["details"][0]["message"]
    assert message == f"There is no contact {hidden.pk}."
    own = a_contact(AccountManager={"StaffGuid": str(mine.pk)})
    created = ok(limited.post("claim", claim_of(own.pk, mine), {"ignoreWarnings": "true"}), 201)
    refused(
        limited.patch(f"claim({created['ClaimGuid']})", {"ContactGuid": str(hidden.pk)}, If_Match="*"), 400
    )


def test_a_caller_creates_nothing_that_it_would_not_see(limited, mine):
    count = Contact.objects.count()
    assert faults(limited.post("contact", a_contact_body())) == [("NotAllowed", None)]
    payload = {"@context": "#$delta", "value": [a_contact_body(UniqueCode="Q-1")]}
    assert limited.patch("contact", payload).status_code == 400
    refused(limited.patch("contact(UniqueCode='Q-2')", a_contact_body(), If_Match="", If_None_Match="*"), 400)
    assert Contact.objects.count() == count
    body = a_contact_body(AccountManager={"StaffGuid": str(mine.pk)}, UniqueCode="Q-3")
    key = ok(limited.post("contact", body), 201)["ContactGuid"]
    # It may give the participant out of hand, and sees the record once more.
    other = a_staff_member()
    handed = limited.patch(f"contact({key})", {"AccountManager": {"StaffGuid": str(other.pk)}}, If_Match="*")
    assert ok(handed)["AccountManager"]["StaffGuid"] == str(other.pk)
    refused(limited.get(f"contact({key})"), 404)
    # The code is taken, by a record that the caller does not see.
    again = limited.patch("contact(UniqueCode='Q-3')", body, If_Match="", If_None_Match="*")
    assert again.status_code == 400


def test_a_payload_leaves_out_what_is_not_of_the_caseload(limited, mine):
    hidden = a_contact(UniqueCode="H-1")
    own = a_contact(UniqueCode="O-1", AccountManager={"StaffGuid": str(mine.pk)})
    values = [
        {"ContactGuid": str(hidden.pk), "Phone1": "1"},
        {"ContactGuid": str(own.pk), "Phone1": "2"},
        {"ContactGuid": str(hidden.pk), "@removed": {"reason": "deleted"}},
    ]
    body = {"@context": "#$delta", "value": values[:2]}
    answer = limited.patch("contact", body, Prefer="continue-on-error, return=representation")
    told = ["@Org.OData.Core.V1.DataModificationException" in entry for entry in ok(answer)["value"]]
    assert told == [True, False]
    limited.patch("contact", {"@context": "#$delta", "value": values[2:]}, Prefer="continue-on-error")
    hidden.refresh_from_db()
    own.refresh_from_db()
    assert (hidden.phone1, hidden.archive_date, own.phone1) == (None, None, "2")


def test_who_is_limited_changes_no_staff_by_whom_it_is_limited(limited, mine):
    """With another manager's location or teams it would choose itself what it sees."""
    other = a_staff_member()
    address, moved = f"staff({other.pk})", {"FirstName": "Moved"}
    requests = [
        ("POST", "staff", moved),
        ("PATCH", "staff", {"@context": "#$delta", "value": [{"StaffGuid": str(other.pk), **moved}]}),
        *((method, address, moved) for method in ("PUT", "PATCH")),
        ("DELETE", address, None),
    ]
    for method, path, body in requests:
        error = refused(limited.call(method, path, body=body, If_Match="*"), 403, "Forbidden")
        assert error["message"].endswith("and to see all participants.")
    unchanged = (other.first_name, other.archive_date)
    other.refresh_from_db()
    assert (other.first_name, other.archive_date) == unchanged
    assert ok(limited.get(address))["FirstName"] == other.first_name


def test_documents_of_others_are_neither_read_nor_added(limited, mine):
    hidden = a_document(contact=a_contact(), category=a_category())
    own = a_document(contact=a_contact(AccountManager={"StaffGuid": str(mine.pk)}), category=a_category())
    refused(limited.get(f"document({hidden.pk})/Download"), 404)
    assert limited.get(f"document({own.pk})/Download").status_code == 200
    body, content_type = form(
        *fields("StaffGuidList", str(mine.pk)),
        *fields("DocumentCategoryGuidList", str(a_category().pk)),
        *fields("ClientGuidList", str(a_client().pk)),
        a_file(PDF),
    )
    answer = limited.call("POST", "document", body=body, content_type=content_type)
    assert answer.status_code == 400, answer.content


def test_files_are_imported_by_those_who_see_all(limited):
    body, content_type = form(
        *fields("Resource", "contact"), part("File", b"FirstName,LastName\nAda,Byron\n", "people.csv")
    )
    refused(limited.call("POST", "importJob", body=body, content_type=content_type), 403, "Forbidden")


def test_a_batch_goes_the_same_ways(limited, mine):
    hidden = a_contact()
    requests = [
        {"id": "1", "method": "GET", "url": f"contact({hidden.pk})"},
        {
            "id": "2",
            "method": "POST",
            "url": "claim",
            "body": claim_of(hidden.pk, mine),
            "headers": {"content-type": "application/json"},
        },
    ]
    answer = ok(limited.post("$batch", {"requests": requests}))
    assert [each["status"] for each in answer["responses"]] == [404, 400]
    assert json.dumps(answer).count(str(hidden.pk)) == 1  # as the caller wrote it
