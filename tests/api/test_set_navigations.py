"""Navigation between entity sets: what it shows, who may use it, and where it ends."""

import csv
import io
import json

import pytest
from django.test import Client as Session

from apps.base.declaration.service import get_service
from apps.engagements.models import ClientEngagement
from apps.funding.models import Claim, ClaimLine
from apps.odata.read import reader
from apps.people.models import Contact
from tests.api.caller import Caller, an_application, ok, refused
from tests.people.records import a_role, a_staff_member

NAVIGATIONS = [
    pytest.param(entity_set, navigation, id=f"{entity_set.name}-{navigation.name}")
    for entity_set in get_service().entity_sets
    for navigation in entity_set.type.set_navigations.values()
]
SETS = [entity_set for entity_set in get_service().entity_sets if entity_set.type.set_navigations]
each_navigation = pytest.mark.parametrize(("entity_set", "navigation"), NAVIGATIONS)
compared_in_python = pytest.mark.any_engine("scopes and permissions are compared in Python")


def rows_of(api, path, **query):
    return ok(api.get(path, {f"${name}": value for name, value in query.items()}))["value"]


def by_key(entity_set, rows):
    return {row[entity_set.key.name]: row for row in rows}


def filter_of(navigation):
    key = navigation.entity_set.key.name
    if navigation.many:
        return f"{navigation.name}/any(each:each/{key} ne null)"
    return f"{navigation.name}/{key} ne null"


# --- what is shown -----------------------------------------------------------------------------------


@each_navigation
def test_an_expanded_record_is_the_record_that_its_own_set_shows(api, records, entity_set, navigation):
    target = navigation.entity_set
    whole = by_key(target, rows_of(api, target.path))
    rows = rows_of(api, entity_set.path, expand=navigation.name)
    plain = by_key(entity_set, rows_of(api, entity_set.path))
    found = rows_of(api, entity_set.path, filter=filter_of(navigation))
    related = {}
    for row in rows:
        shown = row.pop(navigation.name)
        assert row == plain[row[entity_set.key.name]]
        for record in shown if navigation.many else filter(None, [shown]):
            assert record == whole[record[target.key.name]]
            related.setdefault(row[entity_set.key.name], []).append(record[target.key.name])
        if navigation.dependent is not None:
            assert (shown and shown[target.key.name]) == row[navigation.dependent.name]
    assert by_key(entity_set, found).keys() == related.keys()
    if navigation.many and navigation.partner:
        back = rows_of(api, target.path, filter=f"{navigation.partner} ne null", expand=navigation.partner)
        expected = [(row[navigation.partner][entity_set.key.name], row[target.key.name]) for row in back]
        assert sorted(expected) == sorted((owner, key) for owner, keys in related.items() for key in keys)


def test_a_star_expands_no_other_set(api, records):
    for entity_set in get_service().entity_sets:
        for row in rows_of(api, entity_set.path, expand="*"):
            assert not row.keys() & entity_set.type.set_navigations.keys()


def test_filters_and_orders_follow_navigation(api, records):
    claims = rows_of(api, "claim", expand="Contact($select=LastName)")
    names = [claim["Contact"]["LastName"] for claim in claims]
    ordered = rows_of(api, "claim", orderby="Contact/LastName desc", expand="Contact($select=LastName)")
    assert [claim["Contact"]["LastName"] for claim in ordered] == sorted(names, reverse=True)
    one = rows_of(api, "claim", filter=f"Contact/LastName eq '{names[0]}'", select="ClaimGuid")
    assert len(one) == names.count(names[0])
    assert rows_of(api, "claim", filter="Provider/BusinessName eq 'Nobody'") == []
    busy = rows_of(api, "contact", filter="Claims/$count gt 0", expand="Claims($orderby=Total desc;$top=1)")
    assert {contact["Claims"][0]["ContactGuid"] for contact in busy} == {
        claim["ContactGuid"] for claim in claims
    }


def test_pages_go_on_in_an_order_along_a_navigation(api, records):
    query = {"$orderby": "Provider/BusinessName,Contact/FirstName desc", "$select": "ClaimNumber"}
    whole = ok(api.get("claim", query))["value"]
    assert api.all("claim", query, Prefer="odata.maxpagesize=1") == whole
    assert len(whole) > 1


def test_plans_that_the_set_hides_are_hidden_along_a_navigation(api, records):
    (contact, *_) = rows_of(api, "contact", filter="ClientEngagements/any()", expand="ClientEngagements")
    guids = [plan["ClientEngagementGuid"] for plan in contact["ClientEngagements"]]
    ClientEngagement.objects.filter(pk__in=guids).update(participant_type="PACE")
    address = f"contact/{contact['ContactGuid']}"
    assert ok(api.get(address, {"$expand": "ClientEngagements"}))["ClientEngagements"] == []
    assert (
        rows_of(api, "contact", filter=f"ContactGuid eq {contact['ContactGuid']} and ClientEngagements/any()")
        == []
    )


def test_one_record_leads_only_into_sets_that_show_all_their_records():
    """Paths of $filter join the table of the other set; a set that hides records would need a condition."""
    for entity_set in get_service().entity_sets:
        for type_ in entity_set.type.walk():
            for navigation in type_.set_navigations.values():
                rows = navigation.entity_set.resource.visible_to(None)
                assert navigation.many or reader.is_whole_table(rows), navigation.name


@each_navigation
def test_references_are_the_addresses_of_the_related_records(api, records, entity_set, navigation):
    def address_of(record):
        return f"http://testserver/api/{target.name}({record[target.key.name]})"

    name, target = navigation.name, navigation.entity_set
    rows = rows_of(api, entity_set.path, expand=name)
    page = ok(api.get(entity_set.path, {"$expand": f"{name}/$ref", "$select": entity_set.key.name}))
    assert page["@odata.context"].endswith(f"#{entity_set.name}({entity_set.key.name},{name}())")
    for row, whole in zip(page["value"], rows, strict=True):
        related = whole[name] if navigation.many else [whole[name]]
        expected = [record and {"@odata.id": address_of(record)} for record in related]
        assert row[name] == (expected if navigation.many else expected[0])
        answer = api.get(f"{entity_set.path}({row[entity_set.key.name]})/{name}/$ref")
        if expected == [None]:
            assert answer.status_code == 204
            continue
        fragment = "Collection($ref)" if navigation.many else "$ref"
        shown = {"value": expected} if navigation.many else expected[0]
        assert ok(answer) == {"@odata.context": f"http://testserver/api/$metadata#{fragment}", **shown}


def test_references_are_filtered_ordered_and_paged(api, records, monkeypatch):
    numbers = [claim["ClaimNumber"] for claim in rows_of(api, "claim", orderby="ClaimNumber desc")]
    guids = {claim["ClaimNumber"]: claim["ClaimGuid"] for claim in rows_of(api, "claim")}
    found = api.all("claim/$ref", {"$orderby": "ClaimNumber desc"}, Prefer="odata.maxpagesize=1")
    assert [row["@odata.id"][-37:-1] for row in found] == [guids[number] for number in numbers]
    monkeypatch.setattr(reader, "MAX_LIST_ROWS", 1)
    Claim.objects.update(contact=Claim.objects.first().contact)
    expand = "Claims/$ref($orderby=ClaimNumber desc;$count=true)"
    (contact,) = rows_of(api, "contact", filter="Claims/any()", expand=expand)
    rest = ok(api.follow(contact["Claims@odata.nextLink"]))
    assert contact["Claims@odata.count"] == len(contact["Claims"] + rest["value"]) > 1
    assert rest["@odata.context"].endswith("#Collection($ref)")
    for address, query in {
        "claim": {"$expand": "LineItems/$ref"},
        "claim/$ref": {"$select": "Total"},
        f"claim({guids[numbers[0]]})/Contact/$ref": {"$expand": "Claims"},
    }.items():
        refused(api.get(address, query), 400)
    refused(api.get(f"claim({guids[numbers[0]]})/LineItems/$ref"), 404)


def test_it_is_the_record_that_the_address_names_and_this_the_one_inside(api, records, monkeypatch):
    contacts = rows_of(api, "contact", expand="Claims", filter="Claims/any()")
    for comparison, expected in (
        ("$it/ContactGuid eq $this/ContactGuid", True),
        ("$it/LastName eq 'x'", False),
    ):
        expand = f"Claims($filter={comparison} and '$it/' ne '')"
        found = rows_of(api, "contact", expand=expand, filter="Claims/any()")
        assert [c["Claims"] for c in found] == [c["Claims"] if expected else [] for c in contacts]
    # Behind two navigation properties it is still the record of the address.
    for guid, number in (("ContactGuid", 1), ("ClaimGuid", 0)):
        inner = f"Contact($expand=Claims($filter=$it/{guid} eq ContactGuid;$top=1))"
        for claim in rows_of(api, "claim", expand=inner):
            assert len(claim["Contact"]["Claims"]) == number
    # Any looks into a list around which there are two records.
    inner = "Claims($filter=LineItems/any(item:item/Total eq $this/Total or item/Notes eq $it/LastName))"
    assert len(rows_of(api, "contact", expand=inner)) >= len(contacts)
    # All rows of a list have the same record around them, so that it orders nothing.
    of_record, own = (
        rows_of(api, "contact", expand=f"Claims($orderby={order}ClaimNumber desc)")
        for order in ("length($it/LastName) desc,", "")
    )
    assert of_record == own
    for wrong in ("$filter=$it/ClaimNumber eq 'x'", "$orderby=concat($it/LastName,ClaimNumber)"):
        refused(api.get("contact", {"$expand": f"Claims({wrong})"}), 400)
    # The link to the rest begins at the claims, where what the contact is has another path.
    monkeypatch.setattr(reader, "MAX_LIST_ROWS", 1)
    Claim.objects.update(contact=Claim.objects.first().contact)
    expand = "Claims($filter=$it/LastName ne '$it/x';$count=true)"
    (contact,) = rows_of(api, "contact", expand=expand, filter="Claims/any()")
    rest = ok(api.follow(contact["Claims@odata.nextLink"]))["value"]
    assert len(contact["Claims"] + rest) == contact["Claims@odata.count"] > 1
    refused(api.get("claim", {"$expand": "Contact($expand=Claims($filter=$it/Total gt 0))"}), 400)


# --- who may use it ----------------------------------------------------------------------------------


def requests_along(entity_set, navigation):
    """The queries that read records of the other set."""
    name, key = navigation.name, navigation.entity_set.key.name
    yield {"$expand": name}
    yield {"$expand": f"{name}($select={key})", "$select": entity_set.key.name}
    yield {"$filter": filter_of(navigation)}
    yield {"$orderby": f"{name}/$count" if navigation.many else f"{name}/{key}"}
    yield {"$filter": f"{name}/$count ge 0" if navigation.many else f"{name} ne null"}


@compared_in_python
@each_navigation
def test_a_caller_needs_to_read_both_sets(db, entity_set, navigation):
    source, target = entity_set.path.lower(), navigation.entity_set.path.lower()
    queries = list(requests_along(entity_set, navigation))
    narrow = Caller(an_application(f"{source}.read", name="narrow"))
    assert narrow.get(entity_set.path).status_code == 200
    for query in queries:
        error = refused(narrow.get(entity_set.path, query), 403, "Forbidden")
        assert navigation.entity_set.name.lower() in error["message"].lower()
        if "$filter" in query:
            refused(narrow.get(f"{entity_set.path}/$count", query), 403)
    wide = Caller(an_application(f"{source}.read", f"{target}.read", name="wide"))
    # Each way to read along a navigation property is tried with some of them.
    number = sorted(entity_set.type.set_navigations).index(navigation.name)
    assert wide.get(entity_set.path, queries[number % len(queries)]).status_code == 200


@compared_in_python
@pytest.mark.parametrize("entity_set", SETS, ids=lambda entity_set: entity_set.name)
def test_staff_need_to_read_both_sets(db, entity_set):
    model = entity_set.model._meta
    session = Session()
    session.force_login(a_staff_member(role=a_role(f"{model.app_label}.view_{model.model_name}")))
    member = Caller(session=session)
    assert member.get(entity_set.path).status_code == 200
    for number, navigation in enumerate(entity_set.type.set_navigations.values()):
        queries = list(requests_along(entity_set, navigation))
        error = refused(member.get(entity_set.path, queries[number % len(queries)]), 403, "Forbidden")
        assert navigation.entity_set.name.lower() in error["message"].lower()


def test_a_set_that_may_not_be_read_is_refused_at_every_depth(records):
    caller = Caller(an_application("claim.read", "contact.read", name="without providers"))
    for query in (
        {"$expand": "Contact($expand=Claims($expand=Provider))"},
        {"$expand": "Contact($expand=Claims($filter=Provider/IsSelf))"},
        {"$expand": "Contact($expand=Claims($orderby=Provider/BusinessName))"},
        {"$filter": "Contact/Claims/any(claim:claim/Provider/IsSelf)"},
        {"$filter": "Contact/Claims/$count($filter=Provider/IsSelf) gt 0"},
        {"$orderby": "length(Provider/BusinessName)"},
    ):
        error = refused(caller.get("claim", query), 403, "Forbidden")
        assert error["message"] == "This needs the scope read or client.read."
    assert caller.get("claim", {"$expand": "Contact($expand=Claims)"}).status_code == 200
    body = "$filter=Provider/IsSelf"
    refused(caller.call("POST", "claim/$query", body=body.encode(), content_type="text/plain"), 403)


# --- where it ends -----------------------------------------------------------------------------------


def test_a_csv_file_has_columns_of_expanded_records_and_the_values_of_lists_in_one_cell(api, records):
    def table(path, **options):
        query = {f"${name}": value for name, value in options.items()}
        answer = api.get(path, query, Accept="text/csv")
        return list(csv.DictReader(io.StringIO(answer.getvalue().decode(), newline="")))

    names = {str(contact.pk): contact.last_name for contact in Contact.objects.all()}
    rows = table("claim", select="ContactGuid", expand="Contact($select=LastName),Staff($select=LastName)")
    assert rows
    assert all(row["Contact/LastName"] == names[row["ContactGuid"]] for row in rows)
    options = "$select=ClaimNumber;$orderby=ClaimNumber;$expand=Provider($select=BusinessName),LineItems"
    for row in table("contact", select="LastName", expand=f"Claims({options})"):
        claims = Claim.objects.filter(contact=row["ContactGuid"]).order_by("claim_number")
        assert row["Claims/ClaimNumber"] == "; ".join(claim.claim_number for claim in claims)
        providers = [claim.provider.business_name for claim in claims if claim.provider]
        assert row["Claims/Provider/BusinessName"] == "; ".join(providers)
        lines = json.loads(row["Claims/LineItems"] or "[]")
        assert len(lines) == ClaimLine.objects.filter(claim__in=claims).count()


def test_a_long_list_ends_with_a_link_to_the_rest(api, records, monkeypatch):
    monkeypatch.setattr(reader, "MAX_LIST_ROWS", 1)
    Claim.objects.update(contact=Claim.objects.first().contact)
    contacts = rows_of(api, "contact", expand="Claims($select=ClaimNumber;$orderby=ClaimNumber;$count=true)")
    number = Claim.objects.count()
    linked = [contact for contact in contacts if "Claims@odata.nextLink" in contact]
    assert [contact["Claims@odata.count"] for contact in linked] == [number]
    (contact,) = linked
    assert len(contact["Claims"]) == 1
    assert contact["Claims@odata.nextLink"] == (
        f"http://testserver/api/Claim?$filter=ContactGuid%20eq%20{contact['ContactGuid']}"
        "&$select=ClaimNumber&$orderby=ClaimNumber&$skip=1"
    )
    rest = ok(api.follow(contact["Claims@odata.nextLink"]))["value"]
    numbers = [claim["ClaimNumber"] for claim in (*contact["Claims"], *rest)]
    assert numbers == sorted(Claim.objects.values_list("claim_number", flat=True))
    address = f"contact/{contact['ContactGuid']}"
    filtered = ok(api.get(address, {"$expand": "Claims($filter=Total ge 0 or Total eq null;$top=3)"}))
    assert len(ok(api.follow(filtered["Claims@odata.nextLink"]))["value"]) == min(number - 1, 2)
    (top,) = (
        contact
        for contact in rows_of(api, "contact", expand="Claims($top=1)")
        if contact["ContactGuid"] == linked[0]["ContactGuid"]
    )
    assert "Claims@odata.nextLink" not in top
    text = api.get("contact", {"$expand": "Claims"}, Accept="application/x-ndjson").getvalue().decode()
    assert [b"nextLink" in row.encode() for row in text.splitlines()].count(True) == 1
    assert all(json.loads(row) for row in text.splitlines())


def test_a_text_that_looks_like_a_link_stays(api, records):
    first = Claim.objects.first()
    text = ',"Claims@odata.nextLink":null'
    Claim.objects.filter(pk=first.pk).update(claim_number=text)
    contact = ok(api.get(f"contact/{first.contact_id}", {"$expand": "Claims"}))
    assert text in [claim["ClaimNumber"] for claim in contact["Claims"]]


def test_lists_of_sets_are_not_nested(api, db):
    for expand in (
        "Claims($expand=Staff($expand=Invoices))",
        "Claims($expand=ProviderInvoice($expand=Claims))",
        "Claims($expand=Contact($expand=Invoices($top=1)))",
    ):
        refused(api.get("contact", {"$expand": expand}), 400, "TooCostly")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"$expand": "Contact($top=1)"}, "is one object"),
        ({"$expand": "Contacts"}, "Is Contact meant?"),
        ({"$filter": "Contact eq 'a'"}, "Contact is an object"),
        ({"$filter": "Contact/Nothing eq 1"}, "Contact has no member Nothing"),
        ({"$filter": "Contact/Claims eq null"}, "is a list"),
        ({"$orderby": "Contact"}, "a value is expected"),
        ({"$select": "Contact/LastName"}, "write $expand=Contact($select=LastName)"),
        ({"$expand": "Contact($expand=CustomFields)"}, "one record only"),
    ],
)
def test_what_is_wrong_along_a_navigation_is_said(api, db, query, message):
    assert message in refused(api.get("claim", query), 400)["message"]


def test_the_target_of_an_error_is_the_option_inside_the_expanded_part(api, db):
    query = {"$expand": "Contact($expand=Claims($select=Nothing))"}
    error = refused(api.get("claim", query), 400)
    assert error["target"] == "$expand/Contact/$expand/Claims/$select"


def test_records_of_other_sets_have_their_own_control_information(api, records):
    media_type = "application/json;odata.metadata=full;IEEE754Compatible=true"
    (claim, *_) = ok(api.get("claim", {"$expand": "Contact($expand=Claims)"}, Accept=media_type))["value"]
    address = f"http://testserver/api/Contact({claim['ContactGuid']})"
    assert claim["Contact"]["@odata.id"] == address
    assert claim["Contact@odata.navigationLink"] == f"{claim['@odata.id']}/Contact"
    assert claim["Contact"]["Claims@odata.navigationLink"] == f"{address}/Claims"
    assert all(isinstance(each["Total"], str) for each in claim["Contact"]["Claims"])
