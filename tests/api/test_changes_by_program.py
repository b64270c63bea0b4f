"""Version 2.1 changes what the back office changes: every set with PATCH, whatever a body says."""

import datetime as dt
import json

import pytest

from apps.base.declaration.resource import DELETE, PATCH, V2_1, BodyKind
from apps.base.declaration.service import get_service
from apps.core.models import Change
from apps.core.resources import LookupResource
from apps.odata.write.bodies import record_reader
from tests.api.caller import Caller, an_application, faults, ok, refused
from tests.engagements.builders import a_booking, a_category_budget, a_pace_plan, a_plan, with_periods
from tests.funding.bodies import a_claim_body, a_full_provider_invoice, an_invoice_body, submitted
from tests.funding.builders import a_claim, a_price, an_entry
from tests.people.builders import a_contact, a_position, a_staff_body, a_staff_member

ANY_STATE = {"api_version": "2.1", "If_Match": "*"}
IGNORED = {"ignoreWarnings": "true"}
#: But for what an application has of its own (tests/integration).
CHANGED = [each for each in get_service(V2_1).entity_sets if PATCH in each.resource.methods_of_2_1]
LISTS = [each for each in CHANGED if isinstance(each.resource, LookupResource)]

of_each_set = pytest.mark.parametrize("entity_set", CHANGED, ids=lambda each: each.name)
of_each_list = pytest.mark.parametrize("entity_set", LISTS, ids=lambda each: each.name)


@pytest.fixture
def address_of(records):
    """``address_of(entity_set)``: a whole record; bills are made anew, since those are paid in part."""

    def of(entity_set):
        bodies = {"Claim": a_claim_body, "Invoice": an_invoice_body}
        if entity_set.name in bodies:
            (key,) = submitted(entity_set.path, bodies[entity_set.name]())
            return f"{entity_set.path}({key})"
        if entity_set.name == "Booking":
            return f"booking({a_booking().pk})"
        return f"{entity_set.path}({records.whole[entity_set.name]})"

    return of


@pytest.mark.any_engine("the values of a body are read in Python")
@of_each_set
def test_a_body_of_wrong_values_is_told_member_by_member_and_changes_nothing(api, address_of, entity_set):
    address = address_of(entity_set)
    before, lines = ok(api.get(address, api_version="2.1")), Change.objects.count()
    reader = record_reader(entity_set.type, BodyKind.PARTIAL)
    names = [member.name for member in reader.members]
    body = {name: [[]] for name in names}
    details = refused(api.patch(address, body, IGNORED, **ANY_STATE), 400, "ValidationFailed")["details"]
    told = {fault["target"].partition("[")[0].partition("/")[0] for fault in details}
    assert told == set(names)
    for wrong in (b"", b"[", b"[]", b"1", {"value": [{}]}):
        refused(api.patch(address, wrong, IGNORED, **ANY_STATE), 400, "InvalidBody")
    refused(api.patch(address, b"a=1", IGNORED, content_type="text/plain", **ANY_STATE), 415)
    refused(api.patch(address, b"", content_type="multipart/form-data; boundary=x", **ANY_STATE), 415)
    assert ok(api.get(address, api_version="2.1")) == before
    assert Change.objects.count() == lines


@of_each_set
def test_a_change_names_a_record_and_its_state(api, address_of, entity_set):
    address = address_of(entity_set)
    methods = [PATCH, DELETE] if entity_set.supports(DELETE) else [PATCH]
    for method in methods:
        refused(api.call(method, address, body={}, api_version="2.1"), 428, "PreconditionRequired")
        refused(api.call(method, address, body={}, api_version="2.1", If_Match='W/"0"'), 412)
        refused(api.call(method, f"{entity_set.path}(x)", body={}, **ANY_STATE), 400)
        key = "0" if entity_set.key.edm.name == "Edm.Int32" else "00000000-0000-7000-8000-000000000000"
        refused(api.call(method, f"{entity_set.path}({key})", body={}, **ANY_STATE), 404, "NotFound")


@pytest.mark.any_engine("scopes are compared in Python")
@of_each_set
def test_the_scope_of_the_set_is_enough_and_another_is_not(address_of, entity_set):
    address, path = address_of(entity_set), entity_set.path.lower()
    other = "staff.write" if path != "staff" else "client.write"
    owner = Caller(an_application(f"{path}.write", name="Owner"))
    ok(owner.patch(address, {}, IGNORED, **ANY_STATE))
    stranger = Caller(an_application("read", other, name="Stranger"))
    refused(stranger.patch(address, {}, IGNORED, **ANY_STATE), 403, "Forbidden")


# --- short lists ----------------------------------------------------------------------------------------


@of_each_list
def test_an_entry_of_a_list_has_a_name_of_its_own(api, address_of, records, entity_set):
    address = address_of(entity_set)
    ok(api.patch(address, {"Name": "Renamed"}, **ANY_STATE))
    assert ok(api.get(address))["Name"] == "Renamed"
    (change,) = Change.objects.filter(record_type=entity_set.model._meta.label_lower, kind="Changed")
    assert (change.application, list(change.differences)) == ("Integration", ["name"])
    assert faults(api.patch(address, {"Name": " "}, **ANY_STATE)) == [("Required", "Name")]
    assert faults(api.patch(address, {"Name": "x" * 91}, **ANY_STATE)) == [("TooLong", "Name")]
    if entity_set.model._meta.get_field("name_key").unique:
        other = f"{entity_set.path}({records.bare[entity_set.name]})"
        assert faults(api.patch(other, {"Name": " RENAMED"}, **ANY_STATE)) == [("NotUnique", "Name")]


@of_each_list
def test_an_entry_of_a_list_is_archived_once(api, address_of, entity_set):
    address = address_of(entity_set)
    assert api.delete(address, **ANY_STATE).status_code == 204
    assert ok(api.get(address))["ArchiveDate"] is not None
    refused(api.delete(address, **ANY_STATE), 409, "Conflict")


def test_an_archived_entry_cannot_be_chosen(api):
    position = a_position()
    chosen = {"PositionTitle": {"PositionGuid": str(position.pk)}}
    ok(api.post("staff", a_staff_body(**chosen)), 201)
    assert api.delete(f"position({position.pk})", **ANY_STATE).status_code == 204
    answer = api.post("staff", a_staff_body(**chosen))
    assert faults(answer) == [("Archived", "PositionTitle/PositionGuid")]


def test_roles_are_not_changed_by_programs(api, records):
    for method in (PATCH, DELETE):
        answer = api.call(method, f"role({records.whole['Role']})", body={"Name": "x"}, **ANY_STATE)
        refused(answer, 405, "MethodNotAllowed")


# --- provider invoices, documents, plans ----------------------------------------------------------------


def test_a_provider_invoice_with_a_claim_keeps_what_that_needs(api):
    invoice = a_full_provider_invoice()
    submitted("claim", a_claim_body(invoice))
    address = f"providerInvoice({invoice.pk})"
    (reason,) = refused(api.delete(address, **ANY_STATE), 409, "Conflict")["details"]
    assert reason["code"] == "AlreadyUsed"
    assert faults(api.patch(address, {"IsReusable": True}, **ANY_STATE))[0][1] == "IsReusable"
    invoice.refresh_from_db()
    assert (invoice.archive_date, invoice.is_reusable) == (None, False)


def test_who_entered_a_provider_invoice_stays(api):
    person = a_staff_member()
    body = {"ProviderInvoiceReference": "A", "CreatedByStaffGuid": str(person.pk)}
    made = ok(api.post("providerInvoice", body), 201)
    address = f"providerInvoice({made['ProviderInvoiceGuid']})"
    for other in (str(a_staff_member().pk), None):
        answer = api.patch(address, {"CreatedByStaffGuid": other}, **ANY_STATE)
        assert faults(answer) == [("NotAllowed", "CreatedByStaffGuid")]
    ok(api.patch(address, {"CreatedByStaffGuid": str(person.pk), "InvoiceTotal": 5}, **ANY_STATE))


def test_the_data_of_a_document_changes_and_its_file_stays(api, records):
    address = f"document({records.whole['Document']})"
    content = b"".join(api.get(f"{address}/Download"))
    shown = ok(api.patch(address, {"DocumentName": "Renamed", "ClientGuid": None}, **ANY_STATE))
    assert (shown["DocumentName"], shown["ClientGuid"]) == ("Renamed", None)
    answer = api.patch(address, {"CreatedByStaffGuid": str(a_staff_member().pk)}, **ANY_STATE)
    assert faults(answer) == [("NotAllowed", "CreatedByStaffGuid")]
    assert api.delete(address, **ANY_STATE).status_code == 204
    assert b"".join(api.get(f"{address}/Download")) == content
    refused(api.post("document", {"DocumentName": "x"}), 415, "UnsupportedMediaType")


def test_a_plan_changes_by_its_rules_and_warnings(api):
    plan = a_plan(is_plan_managed=True)
    address = f"clientengagement({plan.pk})"
    other = {"Participant": {"ContactGuid": str(a_contact().pk)}}
    assert faults(api.patch(address, other, IGNORED, **ANY_STATE)) == [
        ("NotAllowed", "Participant/ContactGuid")
    ]
    days = {"PlanStartDate": "2026-07-01", "PlanEndDate": "2026-06-30"}
    assert {code for code, _ in faults(api.patch(address, days, IGNORED, **ANY_STATE))} == {"OutOfOrder"}
    managed = {"IsPlanManaged": False}
    refused(api.patch(address, managed, **ANY_STATE), 400, "WarningsPresent")
    assert ok(api.patch(address, managed, IGNORED, **ANY_STATE))["IsPlanManaged"] is False
    refused(api.patch(address, managed, {"ignoreWarnings": "perhaps"}, **ANY_STATE), 400, "InvalidQuery")
    assert api.delete(address, **ANY_STATE).status_code == 204
    assert ok(api.get(address))["ArchiveDate"] is not None
    assert json.loads(api.get("clientengagement").content)["value"][0]["ArchiveDate"] is not None


def test_a_booking_changes_by_its_rules_and_the_sum_of_its_plan_with_it(api):
    booking = a_booking(a_plan(total_budget_amount="500.00"), budget="100.00")
    address, plan = f"booking({booking.pk})", f"clientengagement({booking.engagement_id})"
    assert faults(api.patch(address, {"Budget": -1}, IGNORED, **ANY_STATE)) == [("OutOfRange", "Budget")]
    refused(api.patch(address, {"Budget": 501}, **ANY_STATE), 400, "WarningsPresent")
    shown = ok(api.patch(address, {"Budget": 120, "ClientEngagementGuid": "x"}, **ANY_STATE))
    assert (shown["Budget"], shown["ClientEngagementGuid"]) == (120.0, str(booking.engagement_id))
    assert ok(api.get(plan))["TotalAllocateAmount"] == 120.0
    other = a_booking(booking.engagement, booking_number="77")
    answer = api.patch(f"booking({other.pk})", {"Category": {"CategoryGuid": "x"}}, **ANY_STATE)
    assert faults(answer) == [("InvalidGuid", "Category/CategoryGuid")]
    assert faults(api.patch(address, {"BookingNumber": "77"}, **ANY_STATE)) == [
        ("NotUnique", "BookingNumber")
    ]
    refused(api.delete(address, **ANY_STATE), 405, "MethodNotAllowed")
    refused(api.post("booking", {"Budget": 1}, api_version="2.1"), 405, "MethodNotAllowed")
    refused(api.get("booking"), 404, "NotFound")
    component = a_category_budget()
    refused(api.get(f"booking({component.pk})", api_version="2.1"), 404, "NotFound")


def a_component_of_two_periods():
    plan = a_pace_plan(total_budget_amount="1000.00", is_plan_managed=True)
    first, last = f"{plan.plan_start_date}", f"{plan.plan_end_date}"
    middle = plan.plan_start_date + dt.timedelta(days=100)
    halves = (first, f"{middle}", "600.00"), (f"{middle + dt.timedelta(days=1)}", last, "400.00")
    return with_periods(a_category_budget(plan, budget="1000.00"), *halves)


def periods(*rows):
    return [dict(zip(("FirstDay", "LastDay", "Released"), row, strict=True)) for row in rows]


def test_a_component_changes_with_its_funding_periods(api):
    component = a_component_of_two_periods()
    plan = component.engagement
    address = f"component({component.pk})"
    first, last = str(plan.plan_start_date), str(plan.plan_end_date)
    shown = ok(api.get(address, {"$expand": "FundingPeriods"}, api_version="2.1"))
    assert [each["Released"] for each in shown["FundingPeriods"]] == [600.0, 400.0]
    assert shown["ClientEngagementGuid"] == str(plan.pk)
    # An amount that its periods do not release is warned of, whichever of them is given.
    for body in ({"Budget": 900}, {"FundingPeriods": periods((first, last, 900))}):
        (warning, *_) = refused(api.patch(address, body, **ANY_STATE), 400, "WarningsPresent")["details"]
        assert (warning["code"], warning["target"]) == ("TotalDiffers", "FundingPeriods[0]/Released")
    whole = {"Budget": 1000, "ComponentName": "Core", "FundingPeriods": periods((first, last, 1000))}
    shown = ok(api.patch(address, whole, **ANY_STATE))
    assert [(each["FirstDay"], each["Released"]) for each in shown["FundingPeriods"]] == [(first, 1000.0)]
    entries = Change.objects.filter(record_type="engagements.categorybudget", application="Integration")
    told = {name for entry in entries for name in entry.differences}
    days = plan.plan_start_date, plan.plan_start_date + dt.timedelta(days=101)
    assert told == {"component_name", *(f"Period from {each:%d %b %Y}" for each in days)}
    assert ok(api.patch(address, {"FundingPeriods": None}, **ANY_STATE))["FundingPeriods"] == []


def test_the_funding_periods_of_a_body_are_checked_and_nothing_of_them_is_stored(api):
    component = a_component_of_two_periods()
    address = f"component({component.pk})"
    first, last = str(component.engagement.plan_start_date), str(component.engagement.plan_end_date)
    day = str(component.engagement.plan_start_date + dt.timedelta(days=9))
    before = ok(api.get(address, {"$expand": "*"}, api_version="2.1"))
    for rows, fault in (
        ([(last, first, 1)], ("OutOfOrder", "FundingPeriods[0]/LastDay")),
        ([(first, day, 1), (day, last, 1)], ("OutOfOrder", "FundingPeriods[1]/FirstDay")),
        ([(first, "9999-12-31", 1), (day, last, 1)], ("OutOfOrder", "FundingPeriods[1]/FirstDay")),
        ([(first, last, -1)], ("OutOfRange", "FundingPeriods[0]/Released")),
        ([(first, last, "x")], ("InvalidNumber", "FundingPeriods[0]/Released")),
        ([(first, last, None)], ("Required", "FundingPeriods[0]/Released")),
        ([(first, None, 1)], ("Required", "FundingPeriods[0]/LastDay")),
    ):
        answer = api.patch(address, {"FundingPeriods": periods(*rows), "Budget": 5}, IGNORED, **ANY_STATE)
        assert faults(answer) == [fault]
    many = periods(*[(first, last, 1)] * 101)
    refused(api.patch(address, {"FundingPeriods": many}, IGNORED, **ANY_STATE), 413)
    assert faults(api.patch(address, {"Budget": -1}, IGNORED, **ANY_STATE)) == [("OutOfRange", "Budget")]
    other = a_category_budget(component.engagement, category=17)
    taken = {"FurtherCategories": "17"}
    assert faults(api.patch(address, taken, IGNORED, **ANY_STATE)) == [("NotUnique", "FurtherCategories")]
    assert ok(api.get(address, {"$expand": "*"}, api_version="2.1")) == before
    refused(api.delete(f"component({other.pk})", **ANY_STATE), 405, "MethodNotAllowed")
    refused(api.post("component", {"Budget": 1}, api_version="2.1"), 405, "MethodNotAllowed")
    refused(api.get("component"), 404, "NotFound")


def test_what_was_claimed_is_divided_by_the_periods_that_a_program_gives(api):
    component = a_component_of_two_periods()
    start, end = component.engagement.plan_start_date, component.engagement.plan_end_date
    day = start + dt.timedelta(days=150)
    a_claim(lines=[{"category_budget": component, "from_date": day, "to_date": day, "price": "25.00"}])
    rows = [(str(start), str(day - dt.timedelta(days=1)), 10), (str(day), str(end), 990)]
    shown = ok(api.patch(f"component({component.pk})", {"FundingPeriods": periods(*rows)}, **ANY_STATE))
    assert [each["Waiting"] for each in shown["FundingPeriods"]] == [0.0, 50.0]


# --- price books ----------------------------------------------------------------------------------------


def test_a_product_of_a_price_book_gets_a_new_price_by_a_program(api):
    entry = an_entry()
    a_price(entry, "70.00", start=dt.date(2025, 7, 1))
    address = f"priceBookEntry({entry.pk})"
    shown = ok(api.get(address, {"$expand": "Prices"}, api_version="2.1"))
    (first,) = shown["Prices"]
    assert (shown["ProductCode"], first["Zone"], first["Amount"]) == (entry.product.code, "National", 70.0)
    prices = [
        first | {"ToDate": "2026-06-30"},
        {"Zone": "National", "FromDate": "2026-07-01", "Amount": 72.5},
        {"Zone": "Remote", "FromDate": "2026-07-01", "ToDate": "2027-06-30"},
    ]
    shown = ok(api.patch(address, {"Prices": prices, "GstInclusive": True}, **ANY_STATE))
    assert shown["GstInclusive"] is True
    assert [(each["Zone"], each["ToDate"], each["Amount"]) for each in shown["Prices"]] == [
        ("National", "2026-06-30", 70.0),
        ("National", None, 72.5),
        ("Remote", "2027-06-30", None),
    ]
    changes = Change.objects.filter(record_type="funding.pricebookentry", application="Integration")
    assert {name for change in changes for name in change.differences} == {"prices", "gst_inclusive"}
    # What was read can be given back, and a change of something else leaves the prices.
    before = Change.objects.count()
    assert ok(api.patch(address, {"Prices": shown["Prices"]}, **ANY_STATE)) == shown
    assert Change.objects.count() == before
    assert ok(api.patch(address, {"GstInclusive": False}, **ANY_STATE))["Prices"] == shown["Prices"]


def test_the_prices_of_a_body_are_checked_and_none_of_them_is_lost(api):
    entry = an_entry()
    a_price(entry, "70.00", start=dt.date(2025, 7, 1))
    address = f"priceBookEntry({entry.pk})"
    before = ok(api.get(address, {"$expand": "*"}, api_version="2.1"))
    first = {"Zone": "National", "FromDate": "2025-07-01", "Amount": 70}
    for prices, expected in (
        ([], ("NotAllowed", "Prices")),
        ([first | {"Zone": "Remote"}], ("NotAllowed", "Prices")),
        ([first | {"Zone": "Nowhere"}], ("NotAChoice", "Prices[0]/Zone")),
        ([first | {"FromDate": None}], ("Required", "Prices[0]/FromDate")),
        ([first | {"ToDate": "2025-06-30"}], ("OutOfRange", "Prices[0]/ToDate")),
        ([first | {"Amount": -1}], ("OutOfRange", "Prices[0]/Amount")),
        ([first, first], ("NotUnique", "Prices[1]/FromDate")),
        ([first, first | {"FromDate": "2026-07-01"}], ("NotUnique", "Prices[1]/FromDate")),
    ):
        assert faults(api.patch(address, {"Prices": prices, "GstInclusive": True}, **ANY_STATE)) == [expected]
    assert ok(api.get(address, {"$expand": "*"}, api_version="2.1")) == before
    refused(api.delete(address, **ANY_STATE), 405, "MethodNotAllowed")
    refused(api.get("priceBookEntry"), 404, "NotFound")
