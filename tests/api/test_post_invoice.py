"""POST /invoice (interface.md 4.4, 5, 7)."""

import datetime as dt

import pytest

from apps.base import clock
from apps.core.bulk_insert import FEW
from apps.core.models import Change, Subscriber
from apps.engagements.models import ServiceBooking
from apps.funding.models import AcknowledgedWarning, Invoice, InvoiceLine
from tests.api.caller import faults, ok, refused
from tests.engagements.builders import a_booking, a_plan
from tests.funding.bodies import (
    a_funder,
    a_line_body,
    a_priced_entry,
    a_role_that_may,
    an_invoice_body,
)
from tests.funding.builders import a_cost_centre, a_price, an_entry
from tests.people.builders import a_client, a_contact, a_role, a_staff_member

IGNORED = {"ignoreWarnings": "true"}
NOWHERE = "00000000-0000-7000-8000-000000000000"
RECURRING = {"IsRecurring": True, "RecurringStartDate": "2025-08-01", "RecurringFrequency": "Monthly"}


def posted(api, **members):
    return ok(api.post("invoice", an_invoice_body(**members), IGNORED), 201)


def refusals(api, **members):
    return faults(api.post("invoice", {"value": [an_invoice_body(**members)]}, IGNORED))


@pytest.mark.parametrize("is_credit", [False, True])
@pytest.mark.parametrize(
    ("quantities", "targets"), [([100, 100], ["LineItems"]), ([200], ["LineItems", "LineItems[0]/Quantity"])]
)
def test_credits_have_the_limits_of_other_amounts(api, is_credit, quantities, targets):
    lines = [a_line_body(Quantity=each, Price=9_000_000_000, IsCreditItem=is_credit) for each in quantities]
    expected = [("OutOfRange", f"value[0]/{target}") for target in targets]
    assert sorted(refusals(api, LineItems=lines)) == expected


def test_an_invoice_is_answered_as_get_shows_it(api):
    made = posted(api)
    assert made == ok(api.get(f"invoice/{made['InvoiceGuid']}", {"$expand": "*"}))
    assert (made["InvoiceNumber"], made["Total"]) == ("INV-0000001", 140.0)
    assert (made["FundingStatus"], made["Resubmitted"]) == ("AwaitingStaffApproval", False)


def test_every_member_is_stored_as_it_is_given(api):
    contact = a_contact(Client={"ClientGuid": str(a_client().pk)})
    staff, centre = a_funder(), a_cost_centre()
    given = {
        "InvoiceNumber": "An invoice of ours",
        "InvoiceClaimType": "InvoiceToClient",
        "StartDate": "2025-07-01",
        "EndDate": "2025-07-31",
        "DueDate": "2025-08-14",
        "IsRecurring": True,
        "RecurringStartDate": "2025-08-01",
        "RecurringEndDate": "2026-06-30",
        "RecurringFrequency": "Fortnightly",
        "ContactGuid": str(contact.pk),
        "StaffGuid": str(staff.pk),
    }
    line = {
        "FromDate": "2025-07-02",
        "ToDate": "2025-07-03",
        "Quantity": 1.2345,
        "Price": 65.4321,
        "Notes": "Mine",
        "IsCreditItem": True,
        "TaxChoice": "GstOnIncome",
        "ClaimType": "Cancellation",
        "CancellationReason": "Other",
    }
    body = {**given, "LineItems": [a_line_body(**line, CostCentre={"CostCentreGuid": str(centre.pk)})]}
    made = ok(api.post("invoice", body, IGNORED), 201)
    assert {name: made[name] for name in given} == given
    assert made["ClientGuid"] == str(contact.client_id)
    (shown,) = made["LineItems"]
    assert {name: shown[name] for name in line} == line
    assert shown["CostCentre"] == {"CostCentreGuid": str(centre.pk), "Name": centre.name}
    assert (shown["Total"], made["Total"]) == (-80.78, -80.78)


def test_required_members_are_reported_all_at_once(api):
    found = faults(api.post("invoice", {"value": [{"DueDate": None}]}, IGNORED))
    names = (
        "InvoiceClaimTypeId",
        "StartDate",
        "EndDate",
        "IsRecurring",
        "ContactGuid",
        "StaffGuid",
        "LineItems",
    )
    assert sorted(found) == sorted(("Required", f"value[0]/{name}") for name in names)


def test_an_invoice_has_a_line_at_least(api):
    assert refusals(api, LineItems=[]) == [("Required", "value[0]/LineItems")]


ENUMERATIONS = {
    "InvoiceClaimType": {40200: "InvoiceToAgency", 40300: "InvoiceToClient"},
    "RecurringFrequency": {
        33950: "Daily",
        34000: "Weekly",
        34100: "Fortnightly",
        34200: "Monthly",
        34250: "Yearly",
    },
}


@pytest.mark.parametrize("name", ENUMERATIONS)
@pytest.mark.parametrize("suffix", ["", "Id"])
def test_enumerations_are_named_by_word_or_number_under_both_names(api, name, suffix):
    built = an_invoice_body(**RECURRING)
    built.pop(name, None)

    def bodies(spellings):
        return {"value": [{**built, name + suffix: spelling} for spelling in spellings]}

    words = ENUMERATIONS[name]
    spellings = [spelling for number, word in words.items() for spelling in (word, number, str(number))]
    made = ok(api.post("invoice", bodies(spellings), IGNORED), 201)["value"]
    assert [invoice[name] for invoice in made] == [word for word in words.values() for _ in range(3)]
    found = faults(api.post("invoice", bodies((1, "1", "monthly", True, 40200.5)), IGNORED))
    assert [place for _, place in found] == [f"value[{number}]/{name}{suffix}" for number in range(5)]
    assert {code for code, _ in found} <= {"NotAChoice", "WrongType"}


def test_a_missing_member_is_named_beside_an_alias_of_another(api):
    body = an_invoice_body(InvoiceClaimTypeId="40200")
    del body["InvoiceClaimType"], body["StartDate"]
    assert faults(api.post("invoice", {"value": [body]}, IGNORED)) == [("Required", "value[0]/StartDate")]


def test_both_names_of_an_enumeration_together_are_refused(api):
    assert refusals(api, InvoiceClaimTypeId=40200) == [("Duplicate", "value[0]/InvoiceClaimType")]


# --- recurring ------------------------------------------------------------------------------------------


def test_a_recurring_invoice_says_when_and_how_often(api):
    assert refusals(api, IsRecurring=True) == [
        ("Required", "value[0]/RecurringStartDate"),
        ("Required", "value[0]/RecurringFrequencyId"),
    ]
    assert posted(api, **RECURRING)["RecurringEndDate"] is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RecurringStartDate", "2025-08-01"),
        ("RecurringEndDate", "2025-08-01"),
        ("RecurringFrequencyId", "Daily"),
    ],
)
def test_only_a_recurring_invoice_says_when(api, name, value):
    assert refusals(api, **{name: value}) == [("NotAllowed", f"value[0]/{name}")]
    assert posted(api, **{name: None})[name.removesuffix("Id")] is None


def test_it_does_not_end_to_recur_before_it_begins(api):
    assert refusals(api, **RECURRING, RecurringEndDate="2025-07-31") == [
        ("OutOfOrder", "value[0]/RecurringEndDate")
    ]
    assert posted(api, **RECURRING, RecurringEndDate="2025-08-01")["IsRecurring"] is True


@pytest.mark.parametrize("wrong", ["true", 1, 0, "False"])
def test_whether_it_recurs_is_true_or_false(api, wrong):
    assert refusals(api, IsRecurring=wrong) == [("WrongType", "value[0]/IsRecurring")]


# --- permissions ----------------------------------------------------------------------------------------


def test_the_staff_member_needs_the_permission(api):
    for staff in (
        a_staff_member(role=a_role()),
        a_staff_member(role=a_role_that_may("administer_credit_invoices")),
    ):
        assert refusals(api, staff=staff) == [("PermissionNeeded", "value[0]/StaffGuid")]
    assert posted(api, staff=a_staff_member(role=a_role_that_may("administer_funding_invoices")))


def test_credit_items_need_a_permission_of_their_own(api):
    staff = a_staff_member(role=a_role_that_may("administer_funding_invoices"))
    credited = [a_line_body(), a_line_body(IsCreditItem=True)]
    assert refusals(api, staff=staff, LineItems=credited) == [("PermissionNeeded", "value[0]/StaffGuid")]
    posted(api, staff=staff, LineItems=[a_line_body(IsCreditItem=False), a_line_body(IsCreditItem=None)])
    gone = a_staff_member(role=a_role_that_may("administer_credit_invoices"))
    type(gone).objects.filter(pk=gone.pk).update(archive_date=gone.creation_date)
    assert refusals(api, staff=gone, LineItems=credited) == [("PermissionNeeded", "value[0]/StaffGuid")]
    both = a_role_that_may("administer_funding_invoices", "administer_credit_invoices")
    made = posted(api, staff=a_staff_member(role=both), LineItems=credited)
    assert [line["IsCreditItem"] for line in made["LineItems"]] == [False, True]


# --- lines ----------------------------------------------------------------------------------------------


def test_credit_items_count_negative(api):
    entry = a_priced_entry()
    lines = [a_line_body(entry, Quantity=3), a_line_body(entry, Quantity=5, IsCreditItem=True)]
    made = posted(api, LineItems=lines)
    assert [line["Total"] for line in made["LineItems"]] == [210, -350]
    assert made["Total"] == -140


def test_an_archived_cost_centre_cannot_be_chosen(api):
    centre = a_cost_centre(archive_date=clock.now())
    line = a_line_body(CostCentre={"CostCentreGuid": str(centre.pk)})
    assert refusals(api, LineItems=[line]) == [
        ("Archived", "value[0]/LineItems[0]/CostCentre/CostCentreGuid")
    ]


def test_lines_are_validated_by_the_rules_of_claims(api):
    entry = an_entry()
    a_price(entry, start=dt.date(2025, 7, 8))
    lines = [
        a_line_body(Quantity=0),
        a_line_body(CancellationReason=1),
        a_line_body(FromDate="2025-07-09", ToDate="2025-07-08"),
    ]
    assert refusals(api, LineItems=[a_line_body(entry)]) == [("Required", "value[0]/LineItems[0]/Price")]
    assert refusals(api, LineItems=lines) == [
        ("OutOfRange", "value[0]/LineItems[0]/Quantity"),
        ("NotAllowed", "value[0]/LineItems[1]/CancellationReason"),
        ("OutOfOrder", "value[0]/LineItems[2]/ToDate"),
    ]


@pytest.mark.parametrize("name", ["InvoiceNumber"])
def test_texts_may_have_the_documented_length_and_no_more(api, name):
    assert posted(api, **{name: "é" * 47})[name] == "é" * 47
    assert refusals(api, **{name: "é" * 48}) == [("TooLong", f"value[0]/{name}")]


def test_numbers_are_unique_and_assigned_by_the_subscribers_settings(api):
    Subscriber(pk=1, invoice_number_prefix="", invoice_number_digits=3).save()
    bodies = {"value": [an_invoice_body(InvoiceNumber="001"), an_invoice_body()]}
    made = ok(api.post("invoice", bodies, IGNORED), 201)["value"]
    assert [invoice["InvoiceNumber"] for invoice in made] == ["001", "002"]
    assert refusals(api, InvoiceNumber="002") == [("NotUnique", "value[0]/InvoiceNumber")]


def test_dates_are_in_order_and_the_ends_of_the_calendar_are_days_like_others(api):
    found = refusals(api, StartDate="2025-07-02", EndDate="2025-07-01")
    assert ("OutOfOrder", "value[0]/EndDate") in found
    lines = [a_line_body(Price=1)]
    posted(
        api,
        **{**RECURRING, "RecurringStartDate": "0001-01-01", "RecurringEndDate": "9999-12-31"},
        StartDate="0001-01-01",
        EndDate="9999-12-31",
        LineItems=lines,
    )


# --- what goes with it ----------------------------------------------------------------------------------


def test_warnings_are_reported_or_stored(api):
    body = {"value": [an_invoice_body()]}
    told = refused(api.post("invoice", body), 400, "WarningsPresent")["details"]
    assert not Invoice.objects.exists()
    ok(api.post("invoice", body, IGNORED), 201)
    noted = AcknowledgedWarning.objects.order_by("id")
    assert [(one.code, one.invoice_id) for one in noted] == [
        (fault["code"], Invoice.objects.get().pk) for fault in told
    ]


def test_an_invoice_waits_on_the_booking_that_covers_it(api):
    contact = a_contact()
    plan = a_plan(participant=contact, plan_start_date="2025-07-01", plan_end_date="2026-06-30")
    a_booking(plan, category=9, budget=5000, management_type="Agency")
    posted(api, contact=contact)
    assert ServiceBooking.objects.get().waiting == 140
    assert InvoiceLine.objects.get().booking == ServiceBooking.objects.get()


def test_the_history_says_who_entered_it_once(api):
    made = posted(api, LineItems=[a_line_body(), a_line_body()])
    (change,) = Change.objects.filter(record_type__startswith="funding.invoice")
    assert (change.kind, change.record_key) == ("Created", made["InvoiceGuid"])


def test_the_statements_of_few_invoices_and_of_many_are_as_many(api, statements):
    def of(number):
        centre = {"CostCentreGuid": str(a_cost_centre().pk)}
        body = {
            "value": [
                an_invoice_body(LineItems=[a_line_body(IsCreditItem=True, CostCentre=centre)] * 3)
                for _ in range(number)
            ]
        }
        Subscriber.clear_cache()  # its settings are read once in a few seconds
        return len(statements(lambda: ok(api.post("invoice", body, IGNORED), 201)))

    of(1)
    assert of(FEW + 1) == of(20)
