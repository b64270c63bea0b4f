"""GET /clientengagement and /supportCategory (interface.md 2.9)."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.base import clock
from apps.engagements.models import SupportCategory
from tests.api.caller import Caller, an_application, ok, refused
from tests.engagements.builders import (
    END,
    START,
    a_booking,
    a_category,
    a_category_budget,
    a_pace_plan,
    a_plan,
)
from tests.people.records import a_client, a_contact, a_staff_member

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    return Caller(an_application())


def shown(api, plan, **query):
    return ok(api.get(f"clientengagement/{plan.pk}", query or {"$expand": "*"}))


def test_a_plan_is_shown_as_documented(api):
    coordinator, payer, manager = a_contact(), a_contact(), a_client()
    plan = a_plan(
        participant=a_contact(scheme_number="430123456"),
        booking_start_date=START,
        booking_end_date=END,
        plan_commencement_date=START,
        no_active_plan_from_date=END,
        support_coordinator=coordinator,
        person_responsible_for_direct_fees=payer,
        plan_manager=manager,
        total_budget_amount=Decimal("1000.50"),
    )
    a_booking(plan, budget=Decimal("400.25"))
    record = shown(api, plan, **{"$select": "*"})
    # PostgreSQL leaves out the zeros at the end of a fraction.
    assert dt.datetime.fromisoformat(record.pop("ModifiedDate")) == plan.modify_date
    assert record == {
        "@odata.context": "http://testserver/api/$metadata#ClientEngagement/$entity",
        "ClientEngagementGuid": str(plan.pk),
        "ParticipantType": "Agency",
        "PlanStartDate": "2026-07-01",
        "PlanEndDate": "2027-06-30",
        "BookingStartDate": "2026-07-01",
        "BookingEndDate": "2027-06-30",
        "PlanCommencementDate": "2026-07-01",
        "NoActivePlanFromDate": "2027-06-30",
        "IsAgencyManaged": False,
        "IsSelfManaged": False,
        "IsPlanManaged": True,
        "SupportCoordinatorContactGuid": str(coordinator.pk),
        "PersonResponsibleForDirectFeesContactGuid": str(payer.pk),
        "PlanManagerClientGuid": str(manager.pk),
        "TotalBudgetAmount": 1000.5,
        "TotalAllocateAmount": 400.25,
        "UnAllocateAmount": 600.25,
        "ArchiveDate": None,
        "Representative": None,
    }


@pytest.mark.parametrize(
    ("total", "budgets", "allocated", "rest"),
    [
        ("0.00", [], "0.00", "0.00"),
        ("100.00", [], "0.00", "100.00"),
        ("1.00", ["0.10", "0.20"], "0.30", "0.70"),
        ("5.00", ["7.50"], "7.50", "-2.50"),
        ("999999999999.99", ["999999999999.98"], "999999999999.98", "0.01"),
    ],
)
def test_sums_have_all_their_digits(api, total, budgets, allocated, rest):
    plan = a_plan(total_budget_amount=Decimal(total))
    for budget in budgets:
        a_booking(plan, budget=Decimal(budget))
    text = api.get(f"clientengagement/{plan.pk}").content.decode().replace('": ', '":')
    assert f'"TotalBudgetAmount":{total},"TotalAllocateAmount":{allocated},"UnAllocateAmount":{rest},' in text


def test_sums_can_be_filtered_and_sorted_by(api):
    empty, some, over = (a_plan(total_budget_amount=Decimal("10.00")) for _ in range(3))
    a_booking(some, budget=Decimal("0.30"))
    a_booking(over, budget=Decimal("10.10"))

    def guids(**query):
        return [
            row["ClientEngagementGuid"]
            for row in api.all("clientengagement", {f"${k}": v for k, v in query.items()})
        ]

    assert guids(filter="TotalAllocateAmount eq 0.3") == [str(some.pk)]
    assert guids(filter="UnAllocateAmount lt 0") == [str(over.pk)]
    assert guids(filter="TotalAllocateAmount add UnAllocateAmount ne TotalBudgetAmount") == []
    assert guids(orderby="UnAllocateAmount") == [str(plan.pk) for plan in (over, some, empty)]
    assert guids(filter="TotalAllocateAmount in (0,10.1)", orderby="TotalAllocateAmount desc") == [
        str(over.pk),
        str(empty.pk),
    ]
    plain = ok(api.get("clientengagement", {"TotalAllocateAmount__ge": "0.30", "UnAllocateAmount__gt": "0"}))
    assert [row["ClientEngagementGuid"] for row in plain["value"]] == [str(some.pk)]


def test_pages_sorted_by_a_sum_neither_repeat_nor_skip(api):
    plans = [a_plan() for _ in range(7)]
    for number, plan in enumerate(plans):
        a_booking(plan, budget=Decimal(number // 2))
    pages = list(
        api.pages("clientengagement", {"$orderby": "TotalAllocateAmount desc"}, Prefer="odata.maxpagesize=2")
    )
    assert [len(page) for page in pages] == [2, 2, 2, 1]
    assert len({row["ClientEngagementGuid"] for page in pages for row in page}) == 7


def test_the_participant_is_shown_with_the_address(api):
    manager = a_staff_member()
    person = a_contact(
        first_name="Mia",
        last_name="Nguyen",
        birthday=dt.date(2001, 2, 3),
        scheme_number="430123456",
        scheme_price_guide_region="NT/SA/TAS/WA",
        account_manager=manager,
        phone1="1",
        phone2="2",
        primary_email="mia@example.org",
        suburb="Perth",
        state="WA",
    )
    assert shown(api, a_plan(participant=person))["Participant"] == {
        "ContactGuid": str(person.pk),
        "FirstName": "Mia",
        "LastName": "Nguyen",
        "Birthday": "2001-02-03",
        "SchemeNumber": "430123456",
        "SchemePriceGuideRegion": "NT/SA/TAS/WA",
        "AccountManagerStaffGuid": str(manager.pk),
        "PhoneNumber1": "1",
        "PhoneNumber2": "2",
        "PrimaryEmail": "mia@example.org",
        "Address": {
            "StreetAddress": None,
            "StreetAddress2": None,
            "Suburb": "Perth",
            "City": None,
            "State": "WA",
            "Country": None,
            "PostCode": None,
        },
    }


def test_the_representative_is_the_participants(api):
    speaker = a_contact(first_name="Rosa", last_name="Nguyen", phone1="9", post_code="6000")
    person = a_contact(representative=speaker, representative_relationship="Mother", post_code="7000")
    assert shown(api, a_plan(participant=person))["Representative"] == {
        "ContactGuid": str(speaker.pk),
        "FirstName": "Rosa",
        "LastName": "Nguyen",
        "RepresentativeRelationship": "Mother",
        "PhoneNumber1": "9",
        "PhoneNumber2": None,
        "PrimaryEmail": None,
        "Address": {
            "StreetAddress": None,
            "StreetAddress2": None,
            "Suburb": None,
            "City": None,
            "State": None,
            "Country": None,
            "PostCode": "6000",
        },
    }
    named = api.all("clientengagement", {"$filter": "Representative/FirstName eq 'Rosa'"})
    assert len(named) == 1
    assert api.all("clientengagement", {"$filter": "Representative eq null"}) == []


def test_without_representative_and_bookings_there_is_null_and_an_empty_list(api):
    plan = shown(api, a_plan())
    assert (plan["Representative"], plan["ServiceBookings"]) == (None, [])


def test_a_booking_is_shown_with_its_category(api):
    manager, category = a_staff_member(), a_category(15)
    booking = a_booking(
        category=15,
        support_item="15_056_0128_1_3",
        budget_manager=manager,
        budget=Decimal("12.30"),
        management_type="Self",
        booking_start_date=START,
        booking_end_date=END,
        booking_number="50000001",
    )
    assert shown(api, booking.engagement)["ServiceBookings"] == [
        {
            "ServiceBookingGuid": str(booking.pk),
            "SupportPurpose": "Capacity Building",
            "SupportItem": "15_056_0128_1_3",
            "BudgetManagerStaffGuid": str(manager.pk),
            "Budget": 12.3,
            "ManagementType": "Self",
            "BookingStartDate": "2026-07-01",
            "BookingEndDate": "2027-06-30",
            "BookingNumber": "50000001",
            "Category": {
                "CategoryGuid": str(category.pk),
                "Name": "Improved Daily Living Skills",
                "ArchivedDate": None,
            },
        }
    ]


def test_an_archived_category_has_its_archive_date(api):
    booking = a_booking()
    moment = clock.now()
    SupportCategory.objects.filter(pk=booking.category_id).update(archive_date=moment)
    (shown_booking,) = shown(api, booking.engagement)["ServiceBookings"]
    assert dt.datetime.fromisoformat(shown_booking["Category"]["ArchivedDate"]) == moment


def test_pace_plans_wait_for_a_version_that_serves_them(api):
    budget = a_category_budget()
    a_plan()
    assert len(api.all("clientengagement")) == 1
    assert ok(api.get("clientengagement", {"$count": "true"}))["@odata.count"] == 1
    refused(api.get(f"clientengagement/{budget.engagement_id}"), 404, "NotFound")
    assert api.all("clientengagement", {"$filter": "ParticipantType eq 'PACE'"}) == []


def test_nothing_of_pace_is_in_the_metadata(api):
    a_pace_plan()
    text = api.get("/api/$metadata").content.decode()
    assert "ClientEngagement" in text
    assert "Endorse" not in text
    assert "CategoryBudget" not in text


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_plans_are_read_only(api, method):
    plan = a_plan()
    for address in ("clientengagement", f"clientengagement/{plan.pk}"):
        refused(api.call(method, address, body={"value": []}), 405, "MethodNotAllowed")


def test_plans_are_found_by_the_participants_name_and_number(api):
    plan = a_plan(participant=a_contact(first_name="Zoë", scheme_number="430123456"))
    a_plan()
    for text in ("zoë", "430123456"):
        (found,) = api.all("clientengagement", {"$search": text})
        assert found["ClientEngagementGuid"] == str(plan.pk)


def test_the_support_categories_of_the_scheme_are_listed_by_name(api):
    a_category(1)
    rows = api.all("supportCategory")
    assert {row["Number"] for row in rows} == set(range(1, 22))
    assert [row["Name"] for row in rows] == sorted(row["Name"] for row in rows)
    first = next(row for row in rows if row["Number"] == 1)
    assert ok(api.get(f"supportcategory/{first['CategoryGuid']}"))["SupportPurpose"] == "Core"
