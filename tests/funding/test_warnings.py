"""Warnings about claims and invoices (apps/funding/validation/warnings.py): each code, on either side."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.base import clock
from apps.core import archive
from apps.funding.choices import ClaimType
from apps.funding.models import Claim, ClaimWindow
from apps.funding.services.transitions import apply_transition
from apps.people.entered_texts import PLACEHOLDERS
from tests.engagements.builders import a_booking, a_category_budget, a_pace_plan, a_plan, with_periods
from tests.funding.builders import a_price, a_provider_invoice, an_entry
from tests.funding.warned import (
    WEDNESDAY,
    Scene,
    a_guide_item,
    codes,
    day,
    only_message,
    places,
    warnings_about,
)
from tests.people.records import a_client, a_contact

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_a_thursday")]

SATURDAY, SUNDAY = day("2026-08-15"), day("2026-08-16")


def line_of(number, member=None):
    return ("line_items", number) if member is None else ("line_items", number, member)


ON_WEDNESDAY = {"start_date": WEDNESDAY, "end_date": WEDNESDAY}
#: Of a stored claim that is no duplicate as a whole.
FOR_ANOTHER_PERIOD = {"end_date": day("2026-08-13")}


# --- every code, and nothing else -----------------------------------------------------------------------


def archived_item():
    scene = Scene(item={"archive_date": clock.now()})
    return scene.claim()


def without_a_plan():
    scene = Scene()
    return scene.claim(contact=None, provider_invoice=scene.provider_invoice(contact=a_contact()))


def of_a_duplicate_reference():
    scene = Scene()
    provider_invoice = scene.provider_invoice(is_reusable=True)
    scene.stored_claim({"quantity": "5"}, provider_invoice=provider_invoice)
    return scene.claim(provider_invoice=provider_invoice)


def of_a_duplicate_line():
    scene = Scene()
    scene.stored_claim({})
    return scene.claim()


def of_another_reference():
    scene = Scene()
    return scene.claim(provider_invoice_reference="Another")


def of_a_provider_invoice_over(total):
    scene = Scene()
    return scene.claim(provider_invoice=scene.provider_invoice(invoice_total=Decimal(total)))


def on_a_day(text, **words):
    scene = Scene(**words)
    return scene.claim(scene.line(day(text)))


def over_two_years_old():
    scene = Scene(plan={"plan_start_date": day("2023-01-01")})
    a_price(scene.entry, "70.00", day("2023-01-01"), day("2025-06-30"))
    return scene.claim(scene.line(day("2024-08-19")))


class OfPace(Scene):
    """The participant has a PACE plan in place of the other, with a component for the item's category."""

    def __init__(self, endorsed=None, **component):
        super().__init__(plan={"plan_start_date": day("2020-07-01"), "plan_end_date": day("2021-06-30")})
        plan = a_pace_plan(participant=self.participant, endorsement_date=endorsed and day(endorsed))
        self.component = a_category_budget(plan, 16, **{"budget": Decimal("1000.00"), **component})


def in_periods():
    """A support of August costs 140.00, and July to September have 139.99."""
    scene = OfPace()
    with_periods(
        scene.component,
        ("2026-07-01", "2026-09-30", "139.99"),
        ("2026-10-01", "2027-06-30", "860.01"),
    )
    return scene


ALONE = {
    "PriceOverCap": lambda: (scene := Scene()).claim(scene.line(price="70.01")),
    "ItemNotCurrent": archived_item,
    "QuoteRequired": lambda: Scene(item={"is_quote_required": True}).claim(),
    "ClaimTypeNotAllowed": lambda: (scene := Scene(item={"provider_travel": "N"})).claim(
        scene.line(claim_type="ProviderTravel")
    ),
    "NoEngagement": without_a_plan,
    "OutsidePlan": lambda: on_a_day("2026-06-30"),
    "NoBooking": lambda: Scene(item={"category_number": 4}).claim(),
    "OutsideBooking": lambda: on_a_day("2026-08-12", booking={"booking_end_date": day("2026-08-11")}),
    "WrongManagement": lambda: Scene(booking={"management_type": "Agency"}).claim(),
    "OverBudget": lambda: Scene(budget="139.99").claim(),
    "DuplicateInvoice": of_a_duplicate_reference,
    "DuplicateLine": of_a_duplicate_line,
    "OutsidePeriod": lambda: (scene := Scene()).claim(scene.line(day("2026-08-11")), **ON_WEDNESDAY),
    "TooOld": over_two_years_old,
    "OverPeriod": lambda: in_periods().claim(),
    "NotStated": lambda: OfPace(stated_items="01_999_0107_1_1").claim(),
    "NotEndorsed": lambda: OfPace(endorsed="2026-08-13").claim(),
    "AfterBooking": lambda: on_a_day(
        "2026-05-20",
        plan={"plan_start_date": day("2026-01-01")},
        booking={"booking_end_date": day("2026-05-21")},
    ),
    "AbnMissing": lambda: Scene(provider={"business_number": None}).claim(),
    "AbnInvalid": lambda: Scene(provider={"business_number": "51 824 753 557"}).claim(),
    "DayMismatch": lambda: Scene(item={"name": "Support - Saturday"}).claim(),
    "GivenDiffers": of_another_reference,
    "TotalDiffers": lambda: of_a_provider_invoice_over("150.00"),
    "FutureService": lambda: on_a_day("2026-08-21"),
}

#: What only claims are warned of: invoices have no provider, and go to whoever manages the booking.
OF_CLAIMS = {
    *("WrongManagement", "DuplicateInvoice", "AbnMissing", "AbnInvalid", "GivenDiffers", "TotalDiffers"),
}


@pytest.mark.parametrize("code", sorted(ALONE))
def test_each_code_is_found_by_itself(code):
    assert codes(ALONE[code]()) == [code]


def test_what_is_plain_is_warned_of_nothing(scene):
    assert codes(scene.claim()) == []
    assert codes(scene.invoice()) == []


@pytest.mark.parametrize(
    ("code", "arrange"),
    {
        "PriceOverCap": lambda: (scene := Scene()).invoice(scene.line(price="70.01")),
        "ItemNotCurrent": lambda: Scene(item={"archive_date": clock.now()}).invoice(),
        "QuoteRequired": lambda: Scene(item={"is_quote_required": True}).invoice(),
        "ClaimTypeNotAllowed": lambda: (scene := Scene(item={"provider_travel": "NA"})).invoice(
            scene.line(claim_type="ProviderTravel")
        ),
        "NoEngagement": lambda: Scene().invoice(contact=a_contact()),
        "OutsidePlan": lambda: (scene := Scene()).invoice(scene.line(day("2026-06-30"))),
        "NoBooking": lambda: Scene(item={"category_number": 4}).invoice(),
        "OutsideBooking": lambda: Scene(booking={"booking_end_date": day("2026-08-11")}).invoice(),
        "OverBudget": lambda: Scene(budget="139.99").invoice(),
        "OverPeriod": lambda: in_periods().invoice(),
        "NotStated": lambda: OfPace(stated_items="01_999_0107_1_1").invoice(),
        "NotEndorsed": lambda: OfPace(endorsed="2026-08-13").invoice(),
        "DuplicateLine": lambda: (scene := Scene()).stored_invoice({}) and scene.invoice(),
        "OutsidePeriod": lambda: (scene := Scene()).invoice(scene.line(day("2026-08-11")), **ON_WEDNESDAY),
        "TooOld": lambda: (
            scene := Scene(plan={"plan_start_date": day("2023-01-01")}, item={"type": None})
        ).invoice(scene.line(day("2024-08-19"), price="1", entry=long_priced(scene.entry))),
        "AfterBooking": lambda: (
            scene := Scene(
                plan={"plan_start_date": day("2026-01-01")}, booking={"booking_end_date": day("2026-05-21")}
            )
        ).invoice(scene.line(day("2026-05-20"))),
        "DayMismatch": lambda: Scene(item={"name": "Support - Saturday"}).invoice(),
        "FutureService": lambda: (scene := Scene()).invoice(scene.line(day("2026-08-21"))),
    }.items(),
)
def test_invoices_are_warned_of_the_same_but_for_the_provider(code, arrange):
    assert code not in OF_CLAIMS
    assert codes(arrange()) == [code]


def long_priced(entry):
    a_price(entry, "70.00", day("2023-01-01"), day("2025-06-30"))
    return entry


def test_invoices_are_not_warned_of_what_concerns_claims():
    scene = Scene(booking={"management_type": "Agency"}, provider={"business_number": None})
    assert codes(scene.invoice()) == []
    assert codes(scene.invoice(invoice_claim_type="InvoiceToClient")) == []


# --- the price guide ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("price", "found"), [("70.00", []), ("70.0001", ["PriceOverCap"]), ("0.01", [])])
def test_a_price_up_to_the_cap_is_within_it(scene, price, found):
    assert codes(scene.claim(scene.line(price=price))) == found


def test_the_message_says_cap_zone_and_excess(scene):
    assert only_message(scene.claim(scene.line(price="1071.5", quantity="0.5"))) == (
        "The price 1,071.50 is 1,001.50 above the National cap of 70.00 for 01_011_0107_1_1 on 12 Aug 2026."
        " Lower it, or check the item and the day."
    )


def test_a_price_is_pointed_at_in_its_line(scene):
    draft = scene.claim(scene.line(), scene.line(day("2026-08-11"), price="71"))
    assert places(draft) == [("PriceOverCap", line_of(1, "price"))]


def test_the_cap_is_that_of_the_participant_s_zone_or_the_national_one():
    scene = Scene(contact={"scheme_price_guide_region": "Remote"})
    assert "the National cap of 70.00" in only_message(scene.claim(scene.line(price="98.01")))
    a_price(scene.entry, "98.00", zone="Remote")
    assert "the Remote cap of 98.00" in only_message(scene.claim(scene.line(price="98.01")))
    assert codes(scene.claim(scene.line(price="98.00"))) == []


def test_the_cap_is_that_of_the_service_date(scene):
    scene.price.end_date = day("2026-08-10")
    scene.price.save()
    a_price(scene.entry, "73.50", day("2026-08-11"))
    assert codes(scene.claim(scene.line(day("2026-08-10"), price="73.50"))) == ["PriceOverCap"]
    assert codes(scene.claim(scene.line(day("2026-08-11"), price="73.50"))) == []


def test_of_a_line_over_two_prices_both_are_caps(scene):
    scene.price.end_date = day("2026-08-10")
    scene.price.save()
    a_price(scene.entry, "60.00", day("2026-08-11"))
    over = scene.line(day("2026-08-10"), day("2026-08-11"), price="65.00")
    assert "cap of 60.00 for 01_011_0107_1_1 on 11 Aug 2026" in only_message(scene.claim(over))
    within = scene.line(day("2026-08-10"), day("2026-08-11"), price="60.00")
    assert codes(scene.claim(within)) == []


def test_the_cap_of_the_last_day_is_of_the_zone_too_or_the_national_one():
    scene = Scene(contact={"scheme_price_guide_region": "Remote"})
    a_price(scene.entry, "98.00", end=day("2026-08-10"), zone="Remote")
    over = scene.claim(scene.line(day("2026-08-10"), day("2026-08-11"), price="71.00"))
    assert "the National cap of 70.00" in only_message(over)
    a_price(scene.entry, "60.00", day("2026-08-11"), zone="Remote")
    over = scene.claim(scene.line(day("2026-08-10"), day("2026-08-11"), price="65.00"))
    assert "the Remote cap of 60.00" in only_message(over)


@pytest.mark.parametrize("columns", [{"type": "Quotable", "is_quote_required": True}, {"type": "UnitPrice"}])
def test_items_that_are_quoted_or_paid_by_the_dollar_have_no_cap(columns):
    scene = Scene(item=columns)
    assert "PriceOverCap" not in codes(scene.claim(scene.line(price="71")))


def test_an_item_that_must_be_quoted_says_so_with_the_amount():
    scene = Scene(item={"type": "Quotable"})
    assert places(scene.claim()) == [("QuoteRequired", line_of(0, "product"))]
    assert only_message(scene.claim()) == (
        "01_011_0107_1_1 is paid by an approved quote only. Make sure that the quote covers 140.00."
    )


@pytest.mark.parametrize(
    ("on", "found"),
    [("2026-08-10", []), ("2026-08-11", ["ItemNotCurrent"]), ("2026-08-19", ["ItemNotCurrent"])],
)
def test_an_item_is_current_to_the_last_day_of_its_prices(scene, on, found):
    scene.price.end_date = day("2026-08-10")
    scene.price.save()
    assert codes(scene.claim(scene.line(day(on), price="70"))) == found


@pytest.mark.parametrize(("on", "found"), [("2026-07-31", ["ItemNotCurrent"]), ("2026-08-01", [])])
def test_an_item_is_current_from_the_first_day_of_its_prices(scene, on, found):
    scene.price.start_date = day("2026-08-01")
    scene.price.save()
    assert codes(scene.claim(scene.line(day(on), price="70"))) == found


def test_an_item_that_ends_within_a_line_is_named_with_the_day(scene):
    scene.price.end_date = day("2026-08-10")
    scene.price.save()
    message = only_message(scene.claim(scene.line(day("2026-08-10"), WEDNESDAY, price="70")))
    assert message.startswith("01_011_0107_1_1 is not in the price book on 12 Aug 2026.")


def test_an_item_whose_price_is_yet_to_be_quoted_is_current():
    scene = Scene(item={"type": "Quotable"})
    scene.price.amount = None
    scene.price.save()
    assert codes(scene.claim(scene.line(price="500"))) == ["QuoteRequired"]


FLAGS = {
    "NonFaceToFaceServices": "non_face_to_face",
    "ProviderTravel": "provider_travel",
    "Cancellation": "short_notice_cancellation",
    "AgencyRequiredReport": "agency_requested_reports",
    "IrregularSilSupports": "irregular_sil",
}


@pytest.mark.parametrize("answer", ["N", "NA", "Y", None])
@pytest.mark.parametrize("claim_type", FLAGS)
def test_a_claim_type_is_allowed_by_its_own_flag(claim_type, answer):
    scene = Scene(item={**dict.fromkeys(FLAGS.values(), "Y"), FLAGS[claim_type]: answer})
    found = places(scene.claim(scene.line(claim_type=claim_type)))
    assert found == ([("ClaimTypeNotAllowed", line_of(0, "claim_type"))] if answer in ("N", "NA") else [])


@pytest.mark.parametrize("claim_type", [None, *sorted({kind.value for kind in ClaimType} - FLAGS.keys())])
def test_other_claim_types_have_no_flag(claim_type):
    scene = Scene(item=dict.fromkeys(FLAGS.values(), "N"))
    assert codes(scene.claim(scene.line(claim_type=claim_type))) == []


# --- the kind of day ------------------------------------------------------------------------------------

CHRISTMAS, EASTER_SATURDAY = day("2025-12-25"), day("2026-04-04")
SHOW_DAY = day("2026-08-12")  # a holiday in Brisbane only
BEFORE_CHRISTMAS = day("2025-12-24")  # a holiday from the evening on in Queensland
MELBOURNE_CUP = day("2025-11-04")


@pytest.mark.parametrize(
    ("name", "on", "state", "fits"),
    [
        ("Support - Weekday Daytime", WEDNESDAY, "NSW", True),
        ("Support - Weekday Evening", SATURDAY, "NSW", False),
        ("Support - Weekday Night", SUNDAY, "NSW", False),
        ("Support - Saturday", SATURDAY, "NSW", True),
        ("Support - Saturday", SUNDAY, "NSW", False),
        ("Support - Sunday", SUNDAY, "NSW", True),
        ("Support - Sunday", WEDNESDAY, "NSW", False),
        ("Support - Public Holiday", CHRISTMAS, "NSW", True),
        ("Support - Public Holiday", WEDNESDAY, "NSW", False),
        ("Support - Weekday Daytime", CHRISTMAS, "NSW", False),
        # The guide counts a Saturday that is a public holiday as a public holiday only.
        ("Support - Saturday", EASTER_SATURDAY, "NSW", False),
        ("Support - Public Holiday", EASTER_SATURDAY, "NSW", True),
        ("Support - Saturday", EASTER_SATURDAY, "TAS", True),
        # The holidays are those of the state, however it is written.
        ("Support - Public Holiday", MELBOURNE_CUP, "Victoria", True),
        ("Support - Weekday Daytime", MELBOURNE_CUP, "VIC", False),
        ("Support - Weekday Daytime", MELBOURNE_CUP, "new south wales", True),
        ("Support - Public Holiday", MELBOURNE_CUP, "N.S.W.", False),
        # What may be either is either.
        ("Support - Public Holiday", MELBOURNE_CUP, None, True),
        ("Support - Weekday Daytime", MELBOURNE_CUP, "Otago", True),
        ("Support - Saturday", MELBOURNE_CUP, None, False),
        ("Support - Weekday Daytime", CHRISTMAS, None, False),
        ("Support - Public Holiday", WEDNESDAY, "NT", False),
        ("Support - Weekday Daytime", SHOW_DAY, "QLD", True),
        ("Support - Public Holiday", SHOW_DAY, "QLD", True),
        ("Support - Weekday Evening", BEFORE_CHRISTMAS, "QLD", True),
        ("Support - Public Holiday", BEFORE_CHRISTMAS, "QLD", True),
        ("Support - Public Holiday", BEFORE_CHRISTMAS, "NSW", False),
        # Names that say nothing of days.
        ("Support - Night-Time Sleepover", SUNDAY, "NSW", True),
        ("Assistance in Supported Independent Living - Weekly", SUNDAY, "NSW", True),
        ("On-Call Overnight Monitoring", SATURDAY, "NSW", True),
        ("Support - weekend", SATURDAY, "NSW", True),
        ("Support - Weekends", WEDNESDAY, "NSW", False),
    ],
)
def test_an_item_is_for_the_day_that_its_name_says(name, on, state, fits):
    scene = Scene(item={"name": name}, contact={"state": state}, plan={"plan_start_date": day("2025-07-01")})
    assert codes(scene.claim(scene.line(on))) == ([] if fits else ["DayMismatch"])


def test_a_line_of_several_days_has_no_type_of_day():
    scene = Scene(item={"name": "Support - Saturday"})
    assert codes(scene.claim(scene.line(day("2026-08-10"), day("2026-08-11")))) == []


def test_the_message_says_which_holiday_it_is_and_where():
    scene = Scene(
        item={"name": "Support - Weekday Daytime"},
        contact={"state": "Victoria"},
        plan={"plan_start_date": day("2025-07-01")},
    )
    draft = scene.claim(scene.line(MELBOURNE_CUP))
    assert only_message(draft) == (
        "01_011_0107_1_1 is for a weekday, and 04 Nov 2025 is a public holiday (Melbourne Cup Day) in VIC."
        " Check the item and the day."
    )
    assert places(draft) == [("DayMismatch", line_of(0, "from_date"))]


# --- plans and bookings ---------------------------------------------------------------------------------


def test_a_participant_without_a_plan_is_warned_of_once(scene):
    stranger = a_contact(first_name="Leo", last_name="Marsh")
    draft = scene.claim(
        scene.line(), scene.line(day("2026-08-11")), provider_invoice=scene.provider_invoice(contact=stranger)
    )
    assert places(draft) == [("NoEngagement", "contact")]
    assert only_message(draft).startswith("Leo Marsh has no plan. Enter the plan first")


def test_an_archived_plan_is_none(scene):
    scene.plan.archive_date = clock.now()
    scene.plan.save()
    assert codes(scene.claim()) == ["NoEngagement"]


@pytest.mark.parametrize(("on", "found"), [("2026-06-30", ["OutsidePlan"]), ("2026-07-01", [])])
def test_the_plan_covers_from_its_first_day(scene, on, found):
    assert codes(scene.claim(scene.line(day(on)))) == found


@pytest.mark.parametrize(("on", "found"), [("2026-08-12", []), ("2026-08-13", ["OutsidePlan"])])
def test_the_plan_covers_to_its_last_day(on, found):
    scene = Scene(plan={"plan_end_date": WEDNESDAY})
    assert codes(scene.claim(scene.line(day(on)))) == found


def test_an_inactive_plan_covers_no_more():
    scene = Scene(plan={"no_active_plan_from_date": WEDNESDAY})
    assert codes(scene.claim()) == ["OutsidePlan"]
    assert codes(scene.claim(scene.line(day("2026-08-11")))) == []


def test_a_day_outside_names_the_nearest_plan(scene):
    assert only_message(scene.claim(scene.line(day("2026-06-30")))) == (
        "No plan covers 30 Jun 2026; the nearest runs from 01 Jul 2026 to 30 Jun 2027. Check the day, or"
        " enter the plan of that day."
    )


def test_the_warning_of_a_line_over_two_plans_says_where_to_split_it(scene):
    earlier = a_plan(
        participant=scene.participant, plan_start_date=day("2025-07-01"), plan_end_date=day("2026-06-30")
    )
    a_booking(earlier, category=1, budget=Decimal("1000.00"))
    draft = scene.claim(scene.line(day("2026-06-30"), day("2026-07-01")))
    assert places(draft) == [("OutsidePlan", line_of(0, "to_date"))]
    assert "the plan that covers its first day ends on 30 Jun 2026" in only_message(draft)
    assert codes(scene.claim(scene.line(day("2026-06-29"), day("2026-06-30")))) == []


def test_a_booking_for_another_category_is_none(scene):
    other = a_guide_item(code="04_104_0125_6_1", category_number=4)
    a_price(other, "70.00")
    draft = scene.claim(scene.line(entry=other))
    assert places(draft) == [("NoBooking", line_of(0, "product"))]
    assert only_message(draft) == (
        "The plan from 01 Jul 2026 to 30 Jun 2027 has no service booking for category 04 nor for"
        " 04_104_0125_6_1. Enter it in the plan, or check the item."
    )


def test_a_booking_for_the_item_itself_will_do():
    scene = Scene(item={"category_number": 4}, booking={"support_item": "01_011_0107_1_1"})
    assert codes(scene.claim()) == []


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        ("2026-08-12", "2026-08-12", []),
        ("2026-08-13", "2026-08-31", [("OutsideBooking", line_of(0, "from_date"))]),
        ("2026-07-01", "2026-08-11", [("OutsideBooking", line_of(0, "from_date"))]),
    ],
)
def test_a_booking_covers_its_own_days(first, last, found):
    scene = Scene(booking={"booking_start_date": day(first), "booking_end_date": day(last)})
    assert places(scene.claim()) == found


def test_the_warning_of_a_line_past_its_booking_says_where_to_split_it():
    scene = Scene(booking={"booking_end_date": day("2026-08-11"), "booking_number": "50000077"})
    draft = scene.claim(scene.line(day("2026-08-11"), WEDNESDAY))
    assert places(draft) == [("OutsideBooking", line_of(0, "to_date"))]
    assert only_message(draft).startswith(
        "The line goes on to 12 Aug 2026, and the booking 01 Assistance with Daily Life (50000077) ends on"
        " 11 Aug 2026."
    )


@pytest.mark.parametrize(("managed", "told"), [("Agency", "the agency"), ("Self", "the participant")])
def test_only_bookings_managed_by_a_plan_manager_are_claimed_for(managed, told):
    scene = Scene(booking={"management_type": managed})
    draft = scene.claim()
    assert places(draft) == [("WrongManagement", line_of(0, "product"))]
    assert f"is managed by {told}, and" in only_message(draft)
    a_booking(scene.plan, category=1, management_type="Plan", budget=Decimal("1000.00"))
    assert codes(scene.claim()) == []


def test_an_invoice_counts_on_the_booking_managed_by_its_payer(scene):
    managed = {"Plan": scene.booking}
    for kind in ("Agency", "Self"):
        managed[kind] = a_booking(scene.plan, category=1, management_type=kind)
    for draft, kind in (
        (scene.claim(), "Plan"),
        (scene.invoice(), "Agency"),
        (scene.invoice(invoice_claim_type="InvoiceToClient"), "Self"),
    ):
        warnings_about(draft)
        assert draft.line_items[0].booking.pk == managed[kind].pk


# --- budgets --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("budget", "found"), [("140.00", []), ("139.99", ["OverBudget"])])
def test_a_line_may_take_all_that_is_left(budget, found):
    assert codes(Scene(budget=budget).claim()) == found


def test_unpaid_claims_and_what_others_drew_count_against_what_is_left():
    amounts = {"claimed": "100.00", "paid": "90.00", "waiting": "30.00", "used_elsewhere": "20.50"}
    scene = Scene(budget="290.49", booking={name: Decimal(text) for name, text in amounts.items()})
    assert only_message(scene.claim()) == (
        "The line's total of 140.00 is 0.01 more than the 139.99 left of 01 Assistance with Daily Life,"
        " unpaid claims counted. Lower it, or have the budget raised."
    )


def test_lines_before_it_count_against_what_is_left():
    scene = Scene(budget="280.00")
    lines = [scene.line(day(f"2026-08-{number}"), quantity="1") for number in (10, 11, 12, 13)]
    assert codes(scene.claim(*lines)) == []
    draft = scene.claim(*lines, scene.line(SATURDAY, quantity="0.5"))
    assert places(draft) == [("OverBudget", line_of(4, "quantity"))]
    assert "comes when nothing is left of" in only_message(draft)


def test_bills_before_it_in_the_same_body_count_against_what_is_left():
    scene = Scene(budget="200.00")
    first, second = scene.claim(), scene.claim(scene.line(day("2026-08-11")))
    assert [(number, found.code) for number, found in warnings_about(first, second)] == [(1, "OverBudget")]
    assert "80.00 more than the 60.00 left" in only_message(first, second)


def test_a_budget_overdrawn_before_the_line_says_by_how_much():
    scene = Scene(budget="100.00")
    second = scene.claim(scene.line(day("2026-08-11"), quantity="1"))
    found = warnings_about(scene.claim(), second)
    assert "is overdrawn by 40.00 already" in found[1][1].message


def test_credits_give_back():
    scene = Scene(budget="140.00")
    credit = scene.line(day("2026-08-11"), is_credit_item=True)
    assert codes(scene.invoice(credit, scene.line(), scene.line(day("2026-08-10")))) == []
    scene.booking.claimed = Decimal("200.00")
    scene.booking.save()
    small = scene.line(day("2026-08-09"), quantity="0.1", is_credit_item=True)
    assert codes(scene.invoice(credit), scene.invoice(small)) == []


def test_an_updated_bill_does_not_count_against_itself():
    scene = Scene(budget="140.00")
    scene.booking.waiting = Decimal("140.00")
    scene.booking.save()
    existing = scene.stored_claim({"booking": scene.booking})
    provider_invoice = existing.provider_invoice
    same = scene.claim(key=existing.pk, provider_invoice=provider_invoice)
    assert codes(same) == []
    more = scene.claim(scene.line(quantity="2.01"), key=existing.pk, provider_invoice=provider_invoice)
    assert "0.70 more than the 140.00 left" in only_message(more)
    assert codes(scene.claim(scene.line(day("2026-08-11")))) == ["OverBudget"]


def test_of_a_pace_plan_the_budget_for_its_own_category_counts():
    scene = Scene()
    participant = a_contact(state="NSW")
    plan = a_pace_plan(participant=participant)
    budget = a_category_budget(plan, category=16, budget=Decimal("139.00"))
    draft = scene.claim(provider_invoice=scene.provider_invoice(contact=participant))
    assert only_message(draft).startswith(
        "The line's total of 140.00 is 1.00 more than the 139.00 left of 16 Home and Living"
    )
    (line,) = draft.line_items
    assert (line.booking, line.category_budget.pk) == (None, budget.pk)
    budget.budget = Decimal("140.00")
    budget.save()
    assert codes(scene.claim(provider_invoice=scene.provider_invoice(contact=participant))) == []


def test_of_a_pace_plan_without_a_budget_the_category_is_the_one_the_plan_counts():
    scene = Scene()
    participant = a_contact(state="NSW")
    a_pace_plan(participant=participant)
    message = only_message(scene.claim(provider_invoice=scene.provider_invoice(contact=participant)))
    assert "has no budget for category 16 nor for 01_011_0107_1_1" in message


@pytest.mark.parametrize(("end", "found"), [("2026-05-22", []), ("2026-05-21", ["AfterBooking"])])
def test_a_booking_is_paid_from_for_ninety_days_after_its_end(end, found):
    scene = Scene(plan={"plan_start_date": day("2026-01-01")}, booking={"booking_end_date": day(end)})
    assert codes(scene.claim(scene.line(day("2026-05-20")))) == found


def test_how_long_ago_the_booking_ended_is_reported():
    draft = ALONE["AfterBooking"]()
    assert only_message(draft) == (
        "The booking 01 Assistance with Daily Life ended on 21 May 2026, 91 days ago; it is paid from for"
        " 90 days after its end. Ask the agency first, or check the day."
    )


# --- days -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("on", "found"), [("2024-08-20", []), ("2024-08-19", ["TooOld"])])
def test_supports_are_paid_for_two_years(on, found):
    scene = Scene(plan={"plan_start_date": day("2023-01-01")})
    long_priced(scene.entry)
    draft = scene.claim(scene.line(day(on)))
    assert places(draft) == [(code, line_of(0, "from_date")) for code in found]


def test_two_years_before_a_leap_day_are_the_last_of_february(at):
    at("2028-02-29 10:00")
    scene = Scene(plan={"plan_start_date": day("2023-01-01"), "plan_end_date": day("2028-12-31")})
    archive.archive(ClaimWindow.objects.filter(unit="Days"))
    assert codes(scene.claim(scene.line(day("2026-02-28")))) == []
    assert codes(scene.claim(scene.line(day("2026-02-27")))) == ["TooOld"]


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        ("2026-08-20", None, []),
        ("2026-08-21", None, [("FutureService", line_of(0, "from_date"))]),
        ("2026-08-20", "2026-08-21", [("FutureService", line_of(0, "to_date"))]),
    ],
)
def test_supports_are_given_up_to_today(scene, first, last, found):
    assert places(scene.claim(scene.line(day(first), last and day(last)))) == found


def test_today_is_that_of_the_subscriber_s_zone(at):
    at("2026-08-21 00:30")  # still the 20th in UTC
    assert codes(on_a_day("2026-08-21")) == []


def test_a_line_without_days_has_those_of_its_bill(scene):
    draft = scene.claim(scene.line(None), start_date=day("2026-08-19"), end_date=day("2026-08-21"))
    assert places(draft) == [("FutureService", line_of(0, "to_date"))]


# --- others that say the same ---------------------------------------------------------------------------


def test_a_line_claimed_already_names_the_claim(scene):
    scene.stored_claim({"quantity": "1"}, {"quantity": "2"}, claim_number="C-77")
    draft = scene.claim()
    assert places(draft) == [("DuplicateLine", line_of(0))]
    assert only_message(draft) == (
        "2 × 01_011_0107_1_1, 12 Aug 2026, is already in C-77, for the same participant and claim type."
        " Take it out, or make sure that it was given twice."
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"quantity": "2.0001"},
        {"from_date": day("2026-08-11")},
        {"from_date": WEDNESDAY, "to_date": day("2026-08-13")},
        {"claim_type": "Telehealth"},
        {"archive_date": dt.datetime(2026, 8, 1, tzinfo=dt.UTC)},
    ],
)
def test_a_line_that_differs_is_no_duplicate(scene, columns):
    scene.stored_claim(columns, **FOR_ANOTHER_PERIOD)
    assert codes(scene.claim()) == []


def test_another_product_participant_or_provider_is_no_duplicate(scene):
    other = a_guide_item(code="01_012_0107_1_1")
    a_price(other)
    scene.stored_claim({"entry": other}, **FOR_ANOTHER_PERIOD)
    scene.stored_claim({}, contact=a_contact())
    scene.stored_claim({}, provider=a_client())
    assert codes(scene.claim()) == []


def test_no_claim_type_is_the_same_however_it_is_reported(scene):
    scene.stored_claim({"claim_type": "None"})
    assert codes(scene.claim()) == ["DuplicateLine"]
    scene.stored_claim({"claim_type": None, "from_date": day("2026-08-11")})
    assert codes(scene.claim(scene.line(day("2026-08-11"), claim_type="None"))) == ["DuplicateLine"]


DEAD = ("PaymentProviderCancelled", "PaymentProviderRejected")


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        *(({"funding_status": status}, []) for status in DEAD),
        ({"archive_date": dt.datetime(2026, 8, 1, tzinfo=dt.UTC)}, []),
        *(
            ({"funding_status": status}, ["DuplicateLine"])
            for status in ("OnHold", "AgencyFullyPaid", "PaymentProviderCancellationRequested")
        ),
    ],
)
def test_only_current_claims_have_duplicates(scene, columns, found):
    scene.stored_claim({}, **columns)
    assert codes(scene.claim()) == found


def test_the_first_of_several_duplicates_is_named(scene):
    for number in ("C-3", "C-1", "C-2"):
        scene.stored_claim({}, claim_number=number)
    assert "is already in C-1," in only_message(scene.claim())


def test_duplicates_in_one_bill_or_body_are_found_at_the_later_one(scene):
    draft = scene.claim(scene.line(), scene.line())
    assert places(draft) == [("DuplicateLine", line_of(1))]
    assert "is already in line 1 of this claim," in only_message(draft)
    numbered = scene.claim(claim_number="C-9")
    assert "is already in line 1 of C-9," in only_message(numbered, scene.claim())
    assert "is already in line 1 of record 1 of this request," in only_message(scene.claim(), scene.claim())


def test_the_same_amount_for_the_same_support_is_a_duplicate_in_other_parts(scene):
    """3 × 71.40 and 6 × 35.70 are one support charged twice."""
    stored = {"quantity": "3", "price": "71.40", "from_date": WEDNESDAY}
    scene.stored_claim(stored, claim_number="C-77", **FOR_ANOTHER_PERIOD)
    other = scene.line(quantity="6", price="35.70")
    draft = scene.claim(other)
    assert places(draft) == [("DuplicateLine", line_of(0))]
    assert only_message(draft) == (
        "214.20 for 01_011_0107_1_1, 12 Aug 2026, is already in C-77, as another quantity at another price,"
        " for the same participant and claim type. Take it out, or make sure that it was given twice."
    )
    assert codes(scene.claim(scene.line(quantity="6", price="35.71"))) == []
    assert codes(scene.claim(scene.line(quantity="6", price="35.70", claim_type="Transport"))) == []


def test_the_same_amount_in_other_parts_is_found_within_a_body(scene):
    lines = [scene.line(quantity="3", price="20"), scene.line(quantity="6", price="10")]
    assert "is already in line 1 of this claim, as another quantity" in only_message(scene.claim(*lines))
    assert codes(scene.claim(scene.line(quantity="3", price="0"), scene.line(quantity="6", price="0"))) == []


def a_bill_like(scene, **columns):
    """A claim whose total is that of ``scene.claim()`` for the same days, over other lines."""
    lines = [{"entry": an_entry(), "price": "30.00"}, {"entry": an_entry(), "price": "40.00"}]
    return scene.stored_claim(*lines, claim_number="C-77", **columns)


def test_a_bill_with_the_same_total_for_the_same_days_is_a_duplicate_under_another_reference(scene):
    a_bill_like(scene)
    draft = scene.claim()
    assert places(draft) == [("DuplicateInvoice", "provider_invoice_reference")]
    provider, participant = scene.provider.business_name, scene.participant.full_name
    assert only_message(draft) == (
        f"C-77 has the same total of 140.00, {provider} for {participant}, 12 Aug 2026, under another"
        " reference. Make sure that it is another invoice."
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"start_date": day("2026-08-11")},
        {"end_date": day("2026-08-13")},
        {"funding_status": "PaymentProviderRejected"},
        {"archive_date": dt.datetime(2026, 8, 1, tzinfo=dt.UTC)},
    ],
)
def test_what_differs_is_another_bill(scene, columns):
    a_bill_like(scene, **columns)
    assert codes(scene.claim()) == []


def test_a_bill_of_another_participant_provider_or_total_is_another(scene):
    a_bill_like(scene)
    assert codes(scene.claim(scene.line(quantity="1"))) == []
    assert "DuplicateInvoice" not in codes(scene.claim(contact=a_contact()))
    assert "DuplicateInvoice" not in codes(scene.claim(provider=a_client()))


def test_bills_of_one_body_with_the_same_total_are_duplicates(scene):
    entry = an_entry(scene.entry.price_book)
    first = scene.claim(scene.line(entry=entry, quantity="4", price="35"), claim_number="C-9")
    found = [(number, finding.message) for number, finding in warnings_about(first, scene.claim()) if number]
    assert [number for number, _ in found] == [1]
    assert found[0][1].startswith("C-9 has the same total of 140.00")


def test_a_claim_has_not_the_same_total_as_itself_or_what_it_resubmits(scene):
    first = a_bill_like(scene, funding_status="AgencyPartiallyPaid", takes_provider_invoice=False)
    second = scene.stored_claim({}, provider_invoice=first.provider_invoice, resubmission_of=first)
    assert codes(scene.claim(provider_invoice=first.provider_invoice, key=second.pk)) == []


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"on": day("2026-08-11")}, "from_date"),
        ({"on": WEDNESDAY, "to": day("2026-08-13")}, "to_date"),
        ({"on": day("2026-08-11"), "to": WEDNESDAY}, "from_date"),
    ],
)
def test_a_line_outside_the_period_of_its_claim(scene, line, field):
    draft = scene.claim(scene.line(**line), **ON_WEDNESDAY)
    assert places(draft) == [("OutsidePeriod", line_of(0, field))]
    assert "outside the period that is billed, from 12 Aug 2026 to 12 Aug 2026" in only_message(draft)


def test_an_updated_claim_is_no_duplicate_of_itself(scene):
    existing = scene.stored_claim({})
    again = scene.claim(key=existing.pk, provider_invoice=existing.provider_invoice)
    assert codes(again) == []
    assert codes(scene.claim()) == ["DuplicateLine"]


def test_a_claim_is_no_duplicate_of_those_it_was_resubmitted_from(scene):
    provider_invoice = scene.provider_invoice(is_reusable=True)
    first = scene.stored_claim({}, provider_invoice=provider_invoice, funding_status="AgencyPartiallyPaid")
    second = scene.stored_claim(
        {}, provider_invoice=provider_invoice, resubmission_of=first, funding_status="AgencyPartiallyPaid"
    )
    assert codes(scene.claim(provider_invoice=provider_invoice, key=second.pk)) == []
    assert sorted(codes(scene.claim(provider_invoice=provider_invoice))) == [
        "DuplicateInvoice",
        "DuplicateLine",
    ]


def test_invoices_have_duplicates_in_invoices_and_a_credit_is_none(scene):
    scene.stored_claim({})
    assert codes(scene.invoice()) == []
    scene.stored_invoice({}, invoice_number="I-5")
    assert "is already in I-5," in only_message(scene.invoice())
    assert codes(scene.invoice(scene.line(is_credit_item=True))) == []
    scene.stored_invoice({"is_credit_item": True}, invoice_number="I-6")
    assert "is already in I-6," in only_message(scene.invoice(scene.line(is_credit_item=True)))


@pytest.mark.parametrize("status", [*DEAD, "ClientRejected", "PlanManagerRejected"])
def test_rejected_invoices_have_no_duplicates(scene, status):
    scene.stored_invoice({}, funding_status=status)
    assert codes(scene.invoice()) == []


def test_a_reference_claimed_already_names_the_claim(scene):
    provider_invoice = scene.provider_invoice(reference="INV 12", is_reusable=True)
    scene.stored_claim({"quantity": "9"}, provider_invoice=provider_invoice, claim_number="C-8")
    draft = scene.claim(provider_invoice=provider_invoice)
    assert places(draft) == [("DuplicateInvoice", "provider_invoice_reference")]
    message = only_message(draft)
    assert message.startswith(f"INV 12 of {scene.provider.business_name} is already claimed for Mia Nguyen")
    assert message.endswith("in C-8. Make sure that it is another invoice.")


def test_a_reference_is_the_same_without_regard_to_case_and_blanks(scene):
    scene.stored_claim({"quantity": "9"}, provider_invoice=scene.provider_invoice(reference="inv 12 "))
    other = scene.provider_invoice(reference="Another", is_reusable=True)
    draft = scene.claim(provider_invoice=other, provider_invoice_reference=" INV 12")
    assert codes(draft) == ["GivenDiffers", "DuplicateInvoice"]


@pytest.mark.parametrize("reference", ['a"b', "a\\b", "{a},NULL", "null", "O'Hara 50%", "Ölgasse 🚀", "a, b"])
def test_any_text_is_a_reference(scene, reference):
    provider_invoice = scene.provider_invoice(reference=reference, is_reusable=True)
    scene.stored_claim({"quantity": "9"}, provider_invoice=provider_invoice)
    other = scene.claim(
        scene.line(day("2026-08-11")), provider_invoice=scene.provider_invoice(reference=f"{reference}2")
    )
    found = warnings_about(scene.claim(provider_invoice=provider_invoice), other)
    assert [(number, told.code) for number, told in found] == [(0, "DuplicateInvoice")]


def test_the_reference_of_another_participant_provider_or_dead_claim_is_free(scene):
    provider_invoice = scene.provider_invoice(reference="INV 12", is_reusable=True)
    scene.stored_claim({"quantity": "9"}, provider_invoice=provider_invoice, contact=a_contact())
    scene.stored_claim({"quantity": "9"}, provider_invoice=provider_invoice, provider=a_client())
    scene.stored_claim({"quantity": "9"}, provider_invoice=provider_invoice, funding_status=DEAD[0])
    assert codes(scene.claim(provider_invoice=provider_invoice)) == []


def test_two_claims_of_one_body_on_one_reference_are_found(scene):
    provider_invoice = scene.provider_invoice(is_reusable=True)
    first, second = (
        scene.claim(provider_invoice=provider_invoice),
        scene.claim(scene.line(day("2026-08-11")), provider_invoice=provider_invoice),
    )
    assert [(number, found.code) for number, found in warnings_about(first, second)] == [
        (1, "DuplicateInvoice")
    ]
    assert "in record 1 of this request" in only_message(first, second)


# --- the provider ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("payee", "reason"), [("Provider", "EXCLS"), ("Client", "REIMB")])
def test_a_missing_number_is_named_with_the_code_that_is_sent(payee, reason):
    scene = Scene(provider={"business_number": " ", "business_name": "Care & Co"})
    draft = scene.claim(send_payment_to=payee)
    assert places(draft) == [("AbnMissing", "provider")]
    assert only_message(draft) == (
        f"Care & Co has no business number (ABN); {reason} will be sent in its place. Enter the number with"
        " the provider if there is one."
    )


@pytest.mark.parametrize(
    ("number", "found"),
    [("51824753556", []), ("5182475355", ["AbnInvalid"]), ("no", ["AbnInvalid"])],
)
def test_a_number_that_fails_its_check_is_found(number, found):
    assert codes(Scene(provider={"business_number": number}).claim()) == found


@pytest.mark.parametrize("words", ["-", "0", "N / A", "00 000 000 000", *sorted(PLACEHOLDERS)])
def test_what_says_that_there_is_no_number_is_none(words):
    """In imports these words leave a cell empty; what came by the interface counts as empty too."""
    assert codes(Scene(provider={"business_number": words.upper()}).claim()) == ["AbnMissing"]


def test_a_member_given_differently_is_named_with_both_values(scene):
    other, stranger = a_client(business_name="Other Ltd"), a_contact(first_name="Leo", last_name="Marsh")
    provider_invoice = a_provider_invoice(contact=stranger, provider=other, reference="R-1", is_reusable=True)
    draft = scene.claim(
        provider_invoice=provider_invoice,
        contact=scene.participant,
        provider=scene.provider,
        provider_invoice_reference="R-2",
    )
    found = {finding.field: finding.message for _, finding in warnings_about(draft)}
    assert found.keys() == {"contact", "provider", "provider_invoice_reference"}
    assert "given is Mia Nguyen" in found["contact"]
    assert "is Leo Marsh." in found["contact"]
    assert (
        f"given is {scene.provider.business_name}, and the provider invoice's is Other Ltd."
        in found["provider"]
    )
    assert "given is R-2, and the provider invoice's is R-1." in found["provider_invoice_reference"]


# --- drafts that cannot be read whole -------------------------------------------------------------------


def test_invalid_lines_have_no_warnings_and_the_others_have(scene):
    broken = scene.line(quantity="1")
    broken.mark_invalid("quantity")
    unpriced = scene.line(price_book=None, product=None)
    draft = scene.claim(broken, unpriced, scene.line(price="71"))
    assert places(draft) == [("PriceOverCap", line_of(2, "price"))]
    assert [line.booking for line in draft.line_items[:2]] == [None, None]


def test_a_claim_without_lines_is_warned_of_no_line(scene):
    assert codes(scene.claim(line_items=None)) == []


def test_warnings_come_line_by_line():
    scene = Scene(budget="0.00", item={"name": "Support - Saturday"})
    assert places(scene.claim(scene.line(price="71"), scene.line(day("2026-08-11")))) == [
        ("PriceOverCap", line_of(0, "price")),
        ("DayMismatch", line_of(0, "from_date")),
        ("OverBudget", line_of(0, "quantity")),
        ("DayMismatch", line_of(1, "from_date")),
        ("OverBudget", line_of(1, "quantity")),
    ]


def test_the_same_draft_has_the_same_messages():
    scene = Scene(budget="139.99")
    scene.stored_claim({})
    first, second = warnings_about(scene.claim()), warnings_about(scene.claim())
    assert [found.code for _, found in first] == ["OverBudget", "DuplicateLine"]
    assert first == second


@pytest.mark.parametrize(
    ("total", "message"),
    [
        (
            "1150.00",
            "The claim comes to 140.00, 1,010.00 less than the provider invoice's total of 1,150.00."
            " Check the lines against the provider invoice.",
        ),
        (
            "0.00",
            "The claim comes to 140.00, 140.00 more than the provider invoice's total of 0.00."
            " Check the lines against the provider invoice.",
        ),
    ],
)
def test_the_message_says_both_totals_and_their_difference(total, message):
    assert only_message(of_a_provider_invoice_over(total)) == message


def test_a_claim_of_the_same_total_or_on_an_invoice_without_one_is_plain():
    assert codes(of_a_provider_invoice_over("140.00")) == []


def an_invoice_for_several(total):
    """A scene, and its reusable provider invoice without a participant."""
    scene = Scene()
    invoice = scene.provider_invoice(invoice_total=Decimal(total), is_reusable=True, contact=None)
    return scene, invoice


def about_the_total(*drafts):
    """The number of each draft whose total differs, and the message."""
    return {number: it.message for number, it in warnings_about(*drafts) if it.code == "TotalDiffers"}


def test_the_first_claim_on_an_invoice_for_several_may_be_a_part_of_it_and_no_more():
    scene, invoice = an_invoice_for_several("140.01")
    first = scene.claim(provider_invoice=invoice, contact=scene.participant)
    assert about_the_total(first) == {}
    invoice.invoice_total = Decimal("139.99")
    invoice.save()
    assert about_the_total(first)[0].startswith("The claim comes to 140.00, 0.01 more than")


@pytest.mark.parametrize(
    ("total", "message"),
    [
        ("240.00", None),
        (
            "239.00",
            "This claim and the others on its provider invoice come to 240.00 together, 1.00 more than the"
            " provider invoice's total of 239.00. Check the lines against the provider invoice.",
        ),
        (
            "300.00",
            "This claim and the others on its provider invoice come to 240.00 together, 60.00 less than the"
            " provider invoice's total of 300.00. Check the lines against the provider invoice, unless"
            " further claims follow.",
        ),
    ],
)
def test_claims_on_an_invoice_for_several_are_compared_together(total, message):
    scene, invoice = an_invoice_for_several(total)
    scene.stored_claim({"quantity": "1", "price": "100.00"}, provider_invoice=invoice, contact=a_contact())
    assert about_the_total(scene.claim(provider_invoice=invoice, contact=scene.participant)).get(0) == message


def test_what_an_ended_claim_or_the_claim_itself_came_to_before_is_no_other_claim():
    scene, invoice = an_invoice_for_several("140.00")
    existing = scene.stored_claim({"quantity": "1"}, provider_invoice=invoice)
    scene.stored_claim({}, provider_invoice=invoice, contact=a_contact(), funding_status=DEAD[0])
    scene.stored_claim({}, provider_invoice=invoice, contact=a_contact(), archive_date=clock.now())
    again = scene.claim(key=existing.pk, provider_invoice=invoice, contact=scene.participant)
    assert about_the_total(again) == {}


@pytest.mark.both_engines("resubmissions are read by a statement of their own")
@pytest.mark.parametrize("part", ["resubmit-gap", "resubmit"])
@pytest.mark.parametrize("is_reusable", [True, False])
def test_what_is_resubmitted_counts_once_on_its_provider_invoice(part, is_reusable):
    scene, contact = Scene(), a_contact()
    total = Decimal("240.00" if is_reusable else "140.00")
    invoice = scene.provider_invoice(invoice_total=total, is_reusable=is_reusable, contact=None)
    existing = scene.stored_claim({}, provider_invoice=invoice, funding_status="AgencyClaimed")
    assert apply_transition(Claim, [existing.pk], "pay-in-part", amounts={existing.pk: Decimal(100)}).done
    assert apply_transition(Claim, [existing.pk], part).done
    newer = Claim.objects.get(resubmission_of=existing)
    lines = [scene.line(quantity="1", price=f"{each.total}") for each in newer.line_items.all()]
    again = scene.claim(*lines, key=newer.pk, provider_invoice=invoice, contact=scene.participant)
    if is_reusable:
        other = scene.claim(
            scene.line(quantity="1", price="100.00"), provider_invoice=invoice, contact=contact
        )
        assert about_the_total(other) == {}
        scene.stored_claim({"quantity": "1", "price": "100.00"}, provider_invoice=invoice, contact=contact)
    assert about_the_total(again) == {}
    invoice.invoice_total -= 1
    invoice.save()
    assert f"come to {total} together, 1.00 more" in about_the_total(again)[0]


@pytest.mark.parametrize(
    ("move", "part"),
    [("pay-in-part", "resubmit"), ("pay-in-part", "resubmit-gap"), ("refuse", "resubmit")],
)
def test_what_resubmits_a_gap_counts_with_the_claim_of_the_gap(move, part):
    scene, invoice = an_invoice_for_several("240.00")
    claim = scene.stored_claim({}, provider_invoice=invoice, funding_status="AgencyClaimed")
    assert apply_transition(Claim, [claim.pk], "pay-in-part", amounts={claim.pk: Decimal(100)}).done
    assert apply_transition(Claim, [claim.pk], "resubmit-gap").done
    gap = Claim.objects.get(resubmission_of=claim)
    Claim.objects.filter(pk=gap.pk).update(funding_status="AgencyClaimed")
    how = {"amounts": {gap.pk: Decimal(30)}} if move == "pay-in-part" else {"reason": "Refused"}
    assert apply_transition(Claim, [gap.pk], move, **how).done
    assert apply_transition(Claim, [gap.pk], part).done
    other = scene.claim(
        scene.line(quantity="1", price="100.00"), provider_invoice=invoice, contact=a_contact()
    )
    assert about_the_total(other) == {}


def test_a_claim_counts_again_once_what_resubmitted_it_in_full_is_refused():
    scene, invoice = an_invoice_for_several("240.00")
    claim = scene.stored_claim({}, provider_invoice=invoice, funding_status="AgencyClaimed")
    assert apply_transition(Claim, [claim.pk], "pay-in-part", amounts={claim.pk: Decimal(100)}).done
    assert apply_transition(Claim, [claim.pk], "resubmit").done
    newer = Claim.objects.get(resubmission_of=claim)
    Claim.objects.filter(pk=newer.pk).update(funding_status="AgencyClaimed")
    assert apply_transition(Claim, [newer.pk], "refuse", reason="Refused").done
    other = scene.claim(
        scene.line(quantity="1", price="100.00"), provider_invoice=invoice, contact=a_contact()
    )
    assert about_the_total(other) == {}


def test_claims_of_one_body_on_an_invoice_for_several_are_compared_together():
    scene, invoice = an_invoice_for_several("280.00")
    drafts = [
        scene.claim(provider_invoice=invoice, contact=contact) for contact in (scene.participant, a_contact())
    ]
    assert about_the_total(*drafts) == {}
    invoice.invoice_total = Decimal("300.00")
    invoice.save()
    assert about_the_total(*drafts).keys() == {0, 1}


# --- many at once ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["claim", "invoice"])
def test_the_number_of_statements_does_not_grow(django_assert_max_num_queries, kind):
    counts = []
    for number in (1, 12):
        entry = a_guide_item(code=f"01_01{number}_0107_1_1")
        a_price(entry, "70.00", end=day("2026-08-11"))
        a_price(entry, "71.00", start=day("2026-08-12"))
        region = {"scheme_price_guide_region": "Remote"}
        scenes = [Scene(contact=region, entry=entry) for _ in range(min(number, 3))]
        drafts = [
            getattr(scenes[at % len(scenes)], kind)(
                scenes[at % len(scenes)].line(day("2026-08-10") + dt.timedelta(days=at % 5)),
                scenes[at % len(scenes)].line(day("2026-08-01"), WEDNESDAY, quantity=str(at + 1)),
            )
            for at in range(number)
        ]
        with django_assert_max_num_queries(14) as counted:
            warnings_about(*drafts)
        counts.append(len(counted))
    assert counts[0] == counts[1]


# --- funding periods ------------------------------------------------------------------------------------


def test_the_message_says_what_periods_have_left_and_what_comes_when():
    scene = in_periods()
    told = only_message(scene.claim())
    assert told.startswith("The line's total of 140.00 is 0.01 more than the 139.99 left of")
    assert "for the funding period from 01 Jul 2026 to 30 Sep 2026 and those before it" in told
    assert "The next one begins on 01 Oct 2026 with 860.01, for no day before." in told
    scene.component.periods.filter(first_day="2026-07-01").update(claimed="139.99")
    assert "comes when nothing is left of" in only_message(scene.claim())
    scene.component.periods.filter(first_day="2026-07-01").update(claimed="150.00")
    assert "comes when 10.01 too much was used already of" in only_message(scene.claim())


def test_the_message_names_the_period_that_follows_among_several():
    scene = OfPace()
    with_periods(
        scene.component,
        ("2026-07-01", "2026-09-30", "139.99"),
        ("2026-10-01", "2026-12-31", "400.00"),
        ("2027-01-01", "2027-06-30", "460.01"),
    )
    assert "The next one begins on 01 Oct 2026 with 400.00, for no day before." in only_message(scene.claim())


def test_the_message_about_the_last_period_promises_no_other():
    scene = OfPace()
    with_periods(
        scene.component, ("2025-07-01", "2026-06-30", "0.00"), ("2026-07-01", "2027-06-30", "100.00")
    )
    told = only_message(scene.claim())
    assert "The line's total of 140.00 is 40.00 more than the 100.00 left of" in told
    assert told.endswith("It is the last one. Lower it, or have the plan changed.")
