"""A whole and a bare record of every kind of engagements, for the tests over all resources."""

import datetime as dt
from decimal import Decimal

from apps.base import clock
from apps.engagements.models import SupportCategory
from tests.engagements.builders import (
    END,
    START,
    a_booking,
    a_category,
    a_category_budget,
    a_plan,
    with_periods,
)
from tests.people.records import a_client, a_contact, a_staff_member


def engagements_records():
    """({entity set: key of a whole record}, {entity set: key of a bare one})."""
    whole, bare = a_whole_plan(), a_plan(participant=a_contact(), is_plan_managed=False)
    periods = (f"{START}", f"{END}", "100.00")
    component = with_periods(a_category_budget(component_name="Flexible core"), periods)
    SupportCategory.objects.filter(pk=a_category(21).pk).update(archive_date=clock.now())
    return (
        {
            "ClientEngagement": str(whole.pk),
            "Component": str(component.pk),
            "SupportCategory": str(a_category(7).pk),
        },
        {"ClientEngagement": str(bare.pk), "SupportCategory": str(a_category(21).pk)},
    )


def a_whole_plan():
    """A plan of which every member is given."""
    person = {
        "phone1": "02 9000 0001",
        "phone2": "02 9000 0002",
        "primary_email": "mia@example.org",
        "street_address": "1 High Street",
        "street_address2": "Level 2",
        "suburb": "Newtown",
        "city": "Sydney",
        "state": "NSW",
        "country": "Australia",
        "post_code": "2042",
    }
    staff = a_staff_member()
    participant = a_contact(
        **person,
        birthday=dt.date(2010, 2, 3),
        scheme_number="430000077",
        scheme_price_guide_region="Remote",
        account_manager=staff,
        representative=a_contact(**person),
        representative_relationship="Mother",
    )
    plan = a_plan(
        participant=participant,
        booking_start_date=START,
        booking_end_date=END,
        plan_commencement_date=START,
        no_active_plan_from_date=END,
        support_coordinator=a_contact(),
        person_responsible_for_direct_fees=a_contact(),
        plan_manager=a_client(),
        total_budget_amount=Decimal("1000.00"),
    )
    a_booking(
        plan,
        category=7,
        support_item="07_002_0106_8_3",
        budget_manager=staff,
        booking_start_date=START,
        booking_end_date=END,
        booking_number="50000077",
    )
    return plan
