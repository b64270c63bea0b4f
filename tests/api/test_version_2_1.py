"""Version 2.1: records are changed and archived, PACE plans are shown (interface.md 9; docs/versions.md)."""

import json
import re
from pathlib import Path

import pytest

from apps.access.models import IdempotencyKey
from apps.base import clock
from apps.base.declaration.resource import V2_1, BodyKind
from apps.base.declaration.service import get_service
from apps.core.models import Change
from apps.engagements.models import ClientEngagement, FundingPeriod
from apps.funding.models import Claim, ClaimLine, PriceBook
from apps.odata.write.bodies import record_reader
from apps.payments.models import PaymentRun
from tests.api.batches import Request, get, send_json
from tests.api.caller import LaterCaller, an_application, faults, ok, refused
from tests.engagements.builders import a_booking, a_category_budget, with_periods
from tests.funding.bodies import a_claim_body, a_full_provider_invoice, a_line_body, an_invoice_body
from tests.funding.builders import a_claim, a_claim_file, a_remittance
from tests.payments.statement_builders import a_statement
from tests.people.builders import a_contact

PAGE = Path(__file__).parents[2] / "docs" / "versions.md"
IGNORED = {"ignoreWarnings": "true"}
CHANGEABLE = [each for each in get_service(V2_1).entity_sets if each.resource.methods_of_2_1]


def options_of(name):
    """What a change of a whole record may need."""
    return IGNORED if get_service(V2_1).by_path[name.lower()].resource.has_warnings else None


def those_with(method):
    names = [each.name for each in CHANGEABLE if method in each.resource.methods_of_2_1]
    return pytest.mark.parametrize("name", names)


@pytest.fixture
def address_of(api, records):
    """``address_of(name)``: a whole record of the entity set that may be changed; bills are made anew."""

    def of(name):
        if name in ("Claim", "Invoice"):
            body = {"Claim": a_claim_body, "Invoice": an_invoice_body}[name](DueDate="2025-08-01")
            made = ok(api.post(name.lower(), body, IGNORED), 201)
            return f"{name.lower()}({made[f'{name}Guid']})"
        if name == "Booking":
            return f"booking({a_booking(booking_number='1', balance_date=clock.today()).pk})"
        return f"{name.lower()}({records.whole[name]})"

    return of


def read(caller, address):
    return ok(caller.get(address, {"$expand": "*"}))


# --- opt-in ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [{"query": {"version": "2.1"}}, {"api_version": "2.1"}], ids=str)
def test_only_who_names_the_version_gets_its_methods(api, address_of, way):
    address = address_of("Opportunity")
    for method in ("PUT", "PATCH", "DELETE"):
        answer = api.call(method, address, body={}, If_Match="*")
        message = refused(answer, 405, "MethodNotAllowed")["message"]
        assert ("Version 2.1 has" in message) == (method in ("PUT", "PATCH")), message
        assert answer["Allow"] == "GET, HEAD, OPTIONS"
        assert "api-version" not in answer.headers
    # No version has these.
    for method, other in (("PUT", f"{address}/Address"), ("PATCH", "claim")):
        answer = api.call(method, other, body={})
        assert "2.1" not in refused(answer, 405, "MethodNotAllowed")["message"]
    answer = api.call("PATCH", address, body={}, If_Match="*", **way)
    ok(answer)
    assert (answer["api-version"], answer["api-supported-versions"]) == ("2.1", "2.0, 2.1")
    refused(api.patch(address, {}, {"version": "2.1"}, api_version="2.0"), 400, "AmbiguousApiVersion")
    refused(api.get(address, "%76ersion=2.1"), 400, "AmbiguousApiVersion")


def test_every_method_of_the_version_is_allowed_where_it_is_declared(later, records):
    keys = {
        **records.whole,
        "ClaimFile": a_claim_file([a_claim()]).pk,
        "Remittance": a_remittance().pk,
        "Statement": a_statement(a_contact()).pk,
        "Booking": a_booking().pk,
        "PaymentRun": PaymentRun.objects.create(number=1, day=clock.today()).pk,
    }
    for entity_set in get_service(V2_1).entity_sets:
        key = keys.get(entity_set.name, "00000000-0000-7000-8000-000000000000")
        allowed = later.call("OPTIONS", f"{entity_set.path}({key})")["Allow"]
        declared = {*entity_set.resource.methods, *entity_set.resource.methods_of_2_1} - {"POST"}
        assert {*allowed.split(", ")} - {"HEAD", "OPTIONS"} == declared, entity_set.name


# --- PUT ------------------------------------------------------------------------------------------------


@those_with("PUT")
def test_what_was_read_can_be_put_back_and_changes_nothing(later, address_of, name):
    address = address_of(name)
    before, lines = read(later, address), Change.objects.count()
    assert ok(later.put(address, before, options_of(name))) == before
    assert Change.objects.count() == lines


@those_with("PUT")
def test_a_put_without_what_is_required_is_refused_and_one_of_no_record_is_404(later, address_of, name):
    refused(later.put(address_of(name), {}), 400, "ValidationFailed")
    key = "0" if name == "Opportunity" else "00000000-0000-7000-8000-000000000000"
    refused(later.put(f"{name.lower()}({key})", {"Name": "x"}), 404, "NotFound")


def test_a_put_gives_what_it_leaves_out_its_default(later, records):
    client = f"client({records.whole['Client']})"
    assert read(later, client)["Address"] is not None
    shown = ok(later.put(client, {"BusinessName": "Bare Pty Ltd"}))
    kept = {"ClientGuid", "BusinessName", "IsSelf", "CreationDate", "ModifyDate", "CustomFields"}
    rest = {name: value for name, value in shown.items() if name not in kept and name[0] != "@"}
    assert set(map(str, rest.values())) == {"None"}
    assert shown["CustomFields"]


def test_a_claim_takes_the_defaults_of_its_provider_invoice_again(later, api):
    invoice = a_full_provider_invoice(reference="PI-1", send_payment_to="Client")
    body = a_claim_body(invoice, DueDate="2025-08-01", ProviderInvoiceReference="Other")
    claim = ok(api.post("claim", body, IGNORED), 201)
    (line,) = claim["LineItems"]
    line |= {"Notes": "Ours", "LineItemGuid": line["LineItemGuid"]}
    least = a_claim_body(invoice, LineItems=[{**a_line_body(), **line}]) | {"StaffGuid": claim["StaffGuid"]}
    shown = ok(later.put(f"claim({claim['ClaimGuid']})", least, IGNORED))
    assert (shown["SendPaymentTo"], shown["ProviderInvoiceReference"], shown["DueDate"]) == (
        "Client",
        "PI-1",
        None,
    )
    assert shown["ClaimNumber"] == claim["ClaimNumber"]
    assert shown["LineItems"][0] | {"ModifyDate": 0} == line | {"ModifyDate": 0}
    least["LineItems"] = [{name: line[name] for name in ("LineItemGuid", "Quantity", "PriceBook", "Product")}]
    assert ok(later.put(f"claim({claim['ClaimGuid']})", least, IGNORED))["LineItems"][0]["Notes"] != "Ours"


def test_a_line_keeps_a_price_book_that_was_archived_meanwhile(later, address_of):
    address = address_of("Invoice")
    before = read(later, address)
    PriceBook.objects.update(archive_date=clock.now())
    assert ok(later.put(address, before, IGNORED)) == before
    line = {name: before["LineItems"][0][name] for name in ("Quantity", "PriceBook", "Product")}
    answer = later.put(address, before | {"LineItems": [line]}, IGNORED)
    assert [each["code"] for each in refused(answer, 400)["details"]] == ["Archived"]


# --- PATCH ----------------------------------------------------------------------------------------------


#: A member of each set, and another value of it.
CHANGES = {
    **dict.fromkeys(("Phone1", "BusinessPhone", "Name", "DocumentName"), "0400 000 000"),
    "DueDate": "2025-08-02",
    "GstInclusive": False,
    **dict.fromkeys(("BookingNumber", "ComponentName"), "0400 000 000"),
    "InvoiceTotal": 99.5,
    "TotalBudgetAmount": 99.5,
}


@those_with("PATCH")
def test_a_patch_changes_what_it_gives_and_nothing_else(later, address_of, name):
    address = address_of(name)
    before, lines = read(later, address), Change.objects.count()
    options = options_of(name)
    assert ok(later.patch(address, {}, options)) == before
    assert Change.objects.count() == lines
    member, given = next((member, given) for member, given in CHANGES.items() if member in before)
    shown = ok(later.patch(address, {member: given}, options))
    follows = {"ModifyDate", "ModifiedDate", "UnAllocateAmount"}
    assert {each for each in before if shown[each] != before[each]} <= {member, *follows}
    assert shown[member] == given
    (change,) = Change.objects.all()[: Change.objects.count() - lines]
    assert (change.application, change.channel, len(change.differences)) == ("Integration", "API", 1)


def test_a_patch_of_an_object_changes_its_members_and_null_clears_it(later, records):
    contact = f"contact({records.whole['Contact']})"
    address = read(later, contact)["Address"]
    assert ok(later.patch(contact, {"Address": {"City": "Perth"}}))["Address"] == address | {"City": "Perth"}
    cleared = dict.fromkeys(("Address", "PostalAddress", "SendBirthdayReminder", "Client"))
    shown = ok(later.patch(contact, cleared))
    assert (shown["Address"], shown["SendBirthdayReminder"], shown["Client"]) == (None, False, None)
    assert ok(later.patch(f"staff({records.whole['Staff']})", {"Teams": []}))["Teams"] == []


#: Members whose null means: as if left out. Numbers stay, others have defaults of their own.
FILLED_IN = {"ClaimNumber", "InvoiceNumber", "Outcome", "OutcomeDate"} | {
    "ContactGuid",
    "ProviderGuid",
    "ProviderInvoiceReference",
    "SendPaymentTo",
}


@those_with("PATCH")
def test_null_clears_a_member_gives_it_its_default_or_is_refused(later, address_of, name):
    address = address_of(name)
    type_ = next(each for each in CHANGEABLE if each.name == name).type
    reader = record_reader(type_, BodyKind.PARTIAL)
    attributes = {prop.name: prop.attribute for prop in type_.writable_properties}
    kept = []
    for member in sorted(reader.by_name.keys() - FILLED_IN):
        if not read(later, address).get(member):
            continue
        answer = later.patch(address, {member: None}, options_of(name))
        if answer.status_code == 200:
            shown = ok(answer)[member]
            if shown and shown != reader.defaults.complete({}).get(attributes.get(member)):
                kept.append(member)
        else:
            refused(answer, 400, "ValidationFailed")
    assert kept == []


def test_an_opportunity_keeps_an_owner_and_a_stage(later, records):
    opportunity = f"opportunity({records.whole['Opportunity']})"
    before = read(later, opportunity)
    for member in ("OpportunityOwner", "Stage"):
        (fault,) = refused(later.patch(opportunity, {member: None}), 400, "ValidationFailed")["details"]
        assert (fault["code"], fault["target"]) == ("Required", member)
    assert read(later, opportunity) == before


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_template_fills_new_opportunities_only(later, records, method):
    opportunity = f"opportunity({records.whole['Opportunity']})"
    before = read(later, opportunity)
    for guid in (str(records.whole["OpportunityTemplate"]), "00000000-0000-7000-8000-000000000000", "none"):
        body = before | {"TemplateGuid": guid}
        (fault,) = refused(later.call(method, opportunity, None, body), 400, "ValidationFailed")["details"]
        assert (fault["code"], fault["target"]) == ("NotAllowed", "TemplateGuid")
        assert "leave it out, and give the values instead" in fault["message"]
    assert ok(later.call(method, opportunity, None, before | {"TemplateGuid": None})) == before


def test_the_lines_of_a_bill_are_those_of_the_body_by_their_keys(later, api, address_of):
    address = address_of("Invoice")
    (first,) = read(later, address)["LineItems"]
    key = {"LineItemGuid": first["LineItemGuid"]}
    shown = ok(
        later.patch(address, {"LineItems": [a_line_body(Quantity=1), {**key, "Quantity": 5}]}, IGNORED)
    )
    added, kept = shown["LineItems"]
    assert (kept["LineItemGuid"], kept["Quantity"], kept["Price"]) == (*key.values(), 5.0, first["Price"])
    assert shown["Total"] == added["Total"] + kept["Total"] == 420.0
    refused(later.patch(address, {"LineItems": [key, key]}, IGNORED), 400, "ValidationFailed")
    places = {"x": "LineItems[0]/LineItemGuid", added["PriceBook"]["PriceBookGuid"]: "LineItems[0]"}
    for wrong, place in places.items():
        answer = later.patch(address, {"LineItems": [{"LineItemGuid": wrong}]}, IGNORED)
        assert [each["target"] for each in refused(answer, 400)["details"]] == [place]
    answer = later.patch(address, {"LineItems": [{"Quantity": 1}]}, IGNORED)
    assert {each["code"] for each in refused(answer, 400)["details"]} == {"Required"}
    assert ok(later.patch(address, {"LineItems": [key]}, IGNORED))["Total"] == kept["Total"]


def test_warnings_are_told_before_a_change_as_before_a_claim(later, address_of):
    address = address_of("Claim")
    refused(later.patch(address, {"StartDate": "2001-01-01"}), 400, "WarningsPresent")
    ok(later.patch(address, {"StartDate": "2001-01-01"}, IGNORED))


def test_a_bill_that_is_approved_is_not_changed(later, address_of):
    address = address_of("Claim")
    Claim.objects.update(funding_status="Approved")
    body = read(later, address)
    for answer in (later.patch(address, {"DueDate": None}), later.put(address, body, IGNORED)):
        (fault,) = refused(answer, 409, "Conflict")["details"]
        assert fault["code"] == "NotAllowed"
        assert "only what awaits approval or is on hold can be changed" in fault["message"]
    Claim.objects.update(funding_status="AwaitingStaffApproval", archive_date=clock.now())
    for answer in (later.patch(address, {"DueDate": None}), later.put(address, body, IGNORED)):
        (fault,) = refused(answer, 409, "Conflict")["details"]
        assert fault["code"] == "Archived"


def test_what_was_paid_of_a_line_stays_with_it(later, address_of):
    """As of a claim that resubmits one that was paid in part: PATCH and PUT name the member."""
    address = address_of("Claim")
    ClaimLine.objects.update(amount_paid="15.00")
    Claim.objects.update(amount_paid="15.00", paid_earlier="15.00")
    whole = read(later, address)
    (line,) = whole["LineItems"]
    key = {"LineItemGuid": line["LineItemGuid"]}
    for lines, place in (
        ([key | {"Quantity": 0.01}], "LineItems[0]/Quantity"),
        ([key | {"ToDate": "2025-07-12"}], "LineItems[0]/ToDate"),
        ([key | {"Product": a_line_body()["Product"], "Price": 70}], "LineItems[0]/Product/ProductGuid"),
        ([a_line_body()], "LineItems"),
    ):
        assert faults(later.patch(address, {"LineItems": lines}, IGNORED)) == [("NotAllowed", place)]
    assert faults(later.put(address, whole | {"LineItems": [line | {"Quantity": 0.01}]}, IGNORED)) == [
        ("NotAllowed", "LineItems[0]/Quantity")
    ]
    other = {"ContactGuid": str(a_contact().pk)}
    assert faults(later.patch(address, other, IGNORED)) == [("NotAllowed", "ContactGuid")]
    assert read(later, address) == whole


# --- DELETE ---------------------------------------------------------------------------------------------


@those_with("DELETE")
def test_a_delete_archives_where_the_status_allows_it(later, address_of, name):
    address, other = address_of(name), address_of(name)
    answer = later.delete(address)
    assert (answer.status_code, answer.content) == (204, b"")
    assert read(later, address)["ArchiveDate"] is not None
    for _ in range(2):
        (reason,) = refused(later.delete(address), 409, "Conflict")["details"]
        assert "archived" in reason["message"]
    if name not in ("Claim", "Invoice"):
        return
    entity_set = next(each for each in CHANGEABLE if each.name == name)
    entity_set.model.objects.update(funding_status="AgencyClaimed", archive_date=None)
    (reason,) = refused(later.delete(other), 409, "Conflict")["details"]
    assert "It is claimed from the agency." in reason["message"]
    assert read(later, other)["ArchiveDate"] is None


def test_a_patch_with_a_list_of_records_is_refused(later, address_of):
    body = {"value": [{"DueDate": "2025-09-01"}]}
    error = refused(later.patch(address_of("Claim"), body, IGNORED), 400, "InvalidBody")
    assert error["message"] == "The body of a PATCH is one Claim record, without value."


# --- conditions, repetitions, scopes, batches -----------------------------------------------------------


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_a_change_names_the_state_that_was_read(later, address_of, method):
    address = address_of("Claim")
    tag, body = later.get(address)["ETag"], read(later, address) | {"DueDate": "2025-09-01"}
    refused(later.call(method, address, IGNORED, body, If_Match=""), 428, "PreconditionRequired")
    ok(later.patch(address, {"DueDate": "2025-08-30"}, IGNORED, If_Match=tag))
    before = read(later, address)
    refused(later.call(method, address, IGNORED, body, If_Match=tag), 412, "PreconditionFailed")
    assert read(later, address) == before
    tag = later.get(address)["ETag"]
    assert later.call(method, address, IGNORED, body, If_Match=tag).status_code in (200, 204)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_a_change_that_must_meet_no_record_is_refused(later, address_of, method):
    address = address_of("Claim")
    tag, before = later.get(address)["ETag"], read(later, address)
    for conditions in (
        {"If_Match": "", "If_None_Match": "*"},
        {"If_None_Match": "*"},
        {"If_Match": tag, "If_None_Match": tag},
    ):
        refused(later.call(method, address, IGNORED, before, **conditions), 412, "PreconditionFailed")
    assert read(later, address) == before
    missing = "claim(00000000-0000-7000-8000-000000000000)"
    refused(later.call(method, missing, IGNORED, before, If_Match="", If_None_Match="*"), 404, "NotFound")
    other = {"If_Match": tag, "If_None_Match": 'W/"0"'}
    assert later.call(method, address, IGNORED, before, **other).status_code in (200, 204)


def test_a_put_of_staff_needs_no_condition_in_version_2_0_only(api, later, records):
    address = f"staff({records.whole['Staff']})"
    ok(api.put(address, read(api, address)))
    refused(later.put(address, read(api, address), If_Match=""), 428, "PreconditionRequired")


def test_a_change_is_made_once_under_its_idempotency_key(later, address_of):
    address = address_of("Claim")
    tag = later.get(address)["ETag"]
    answers = [
        later.patch(address, {"DueDate": "2025-09-09"}, IGNORED, If_Match=tag, Idempotency_Key="k")
        for _ in range(2)
    ]
    assert ok(answers[0]) == ok(answers[1])
    assert answers[1]["Idempotency-Replayed"] == "true"
    assert IdempotencyKey.objects.count() == 1


@those_with("PATCH")
def test_changes_need_the_scope_to_write(later, address_of, name):
    address = address_of(name)
    for scope in ("read", f"{name.lower()}.read"):
        caller = LaterCaller(an_application(scope, name=scope))
        for method in ("PUT", "PATCH", "DELETE"):
            refused(caller.call(method, address, body={}), 403, "Forbidden")
    refused(LaterCaller().patch(address, {}), 401, "Unauthenticated")


def test_a_request_of_a_batch_names_the_version_itself(api, address_of):
    address = address_of("Client")
    later = {"api-version": "2.1", "If-Match": "*"}
    requests = [
        Request("PATCH", address, {"BusinessPhone": "1"}, headers=later),
        Request("PATCH", address, {"BusinessPhone": "2"}, headers={"If-Match": "*"}),
        get(address),
    ]
    assert [each.status for each in send_json(api, *requests)] == [200, 405, 200]
    assert ok(api.get(address))["BusinessPhone"] == "1"


# --- PACE plans -----------------------------------------------------------------------------------------


def test_pace_plans_are_shown_with_their_budgets(api, later):
    budget = a_category_budget(category=16, budget="80.00", claimed="30.00", paid="10.00")
    plan = budget.engagement
    a_category_budget(plan, category=17)
    ClientEngagement.objects.update(total_budget_amount="200.00", endorsement_date=plan.plan_start_date)
    pace = {"$filter": f"ParticipantType eq 'PACE' and ClientEngagementGuid eq {plan.pk}"}
    (shown,) = later.all("clientengagement", pace | {"$expand": "*"})
    assert (shown["ParticipantType"], shown["ServiceBookings"]) == ("PACE", [])
    assert (shown["TotalAllocateAmount"], shown["UnAllocateAmount"]) == (180.0, 20.0)
    assert shown["EndorsementDate"] == plan.plan_start_date.isoformat()
    first, second = shown["CategoryBudgets"]
    assert (first["Budget"], first["Claimed"], first["Paid"], first["Waiting"]) == (80.0, 30.0, 10.0, 0.0)
    assert (first["Category"]["CategoryGuid"], second["Budget"]) == (str(budget.category_id), 100.0)
    contact = f"contact({plan.participant_id})"
    assert len(later.all(f"{contact}/ClientEngagements")) == 1
    assert api.all(f"{contact}/ClientEngagements") == api.all("clientengagement", pace) == []


def test_a_component_is_shown_with_its_name_its_supports_and_its_funding_periods(api, later):
    budget = a_category_budget(
        category=1, budget="90.00", component_name="Flexible core", further_categories="02 03"
    )
    with_periods(budget, ("2027-01-01", "2027-06-30", "40.00"), ("2026-07-01", "2026-12-31", "50.00"))
    FundingPeriod.objects.filter(released=50).update(claimed="20.00", paid="5.00", waiting="1.00")
    pace = f"ParticipantType eq 'PACE' and ClientEngagementGuid eq {budget.engagement_id}"
    expand = {"$filter": pace, "$expand": "CategoryBudgets($expand=FundingPeriods)"}
    (shown,) = later.all("clientengagement", expand)
    (component,) = shown["CategoryBudgets"]
    names = ("ComponentName", "FurtherCategories", "StatedItems")
    assert [component[name] for name in names] == ["Flexible core", "02 03", None]
    first, second = component["FundingPeriods"]
    assert {name: value for name, value in first.items() if name != "FundingPeriodGuid"} == {
        "FirstDay": "2026-07-01",
        "LastDay": "2026-12-31",
        "Released": 50.0,
        "Claimed": 20.0,
        "Paid": 5.0,
        "Waiting": 1.0,
    }
    assert second["Released"] == 40.0
    budgets = later.all(f"clientengagement({shown['ClientEngagementGuid']})/CategoryBudgets")
    assert budgets[0]["ComponentName"] == "Flexible core"
    filtered = {"$filter": "CategoryBudgets/any(b: b/FundingPeriods/any(p: p/Released eq 50))"}
    assert len(later.all("clientengagement", filtered)) == 1
    plain = api.get("$metadata", {"$format": "json"}).content.decode()
    assert "FundingPeriod" not in plain


# --- descriptions ---------------------------------------------------------------------------------------


def test_the_metadata_of_a_version_describes_it(api, later):
    texts = [caller.get("$metadata", {"$format": "json"}).content.decode() for caller in (api, later)]
    assert ["CategoryBudgets" in text for text in texts] == [False, True]
    container = json.loads(texts[1])["Records"]["Container"]
    capability = "@Org.OData.Capabilities.V1"
    for entity_set in get_service(V2_1).entity_sets:
        methods = {*entity_set.resource.methods, *entity_set.resource.methods_of_2_1}
        described = container[entity_set.name]
        update = described[f"{capability}.UpdateRestrictions"]
        assert {*update.get("UpdateMethod", "").split(",")} - {""} == methods & {"PUT", "PATCH"}
        assert described[f"{capability}.DeleteRestrictions"]["Deletable"] is ("DELETE" in methods)
        is_changed = bool(methods & {"PUT", "PATCH", "DELETE"})
        assert ("@Org.OData.Core.V1.OptimisticConcurrency" in described) is is_changed


def test_the_page_of_versions_has_what_the_version_adds():
    rows = re.findall(r"^\| ([a-zA-Z, ]+) \| ([A-Z][^|]*) \|", PAGE.read_text(), re.MULTILINE)
    written = {
        path: {*re.findall("[A-Z]{3,}", methods)} for paths, methods in rows for path in paths.split(", ")
    }
    for entity_set in get_service(V2_1).entity_sets:
        resource = entity_set.resource
        if resource.methods_of_2_1:
            added = {*resource.methods, *resource.methods_of_2_1} - {"GET", "POST"}
            assert written.get(entity_set.path) == added, f"{PAGE} should have {added} of {entity_set.path}"
        for member in resource.fields_of_2_1:
            assert f"`{member.name}`" in PAGE.read_text(), f"{PAGE} should name {member.name}"


def test_the_openapi_document_of_a_version_describes_it(api):
    documents = [ok(api.get("/docs/openapi.json", query)) for query in ({}, {"version": "2.1"})]
    assert [each["info"]["version"] for each in documents] == ["2.0", "2.1"]
    assert [[*each["paths"]["/api/claim/{ClaimGuid}"]] for each in documents] == [
        ["get"],
        ["get", "put", "patch", "delete"],
    ]
    before, after = (each["components"] for each in documents)
    assert "required" not in before["parameters"]["ifMatch"]
    assert after["parameters"]["ifMatch"]["required"] is after["parameters"]["apiVersion"]["required"] is True
    change = after["schemas"]["ClaimChange"]
    assert "required" not in change
    assert "LineItemGuid" in change["properties"]["LineItems"]["items"]["properties"]
    assert "ClaimChange" not in before["schemas"]
    for version in ("3", "2.1.0"):
        assert api.get("/docs/openapi.json", {"version": version}).status_code == 400
