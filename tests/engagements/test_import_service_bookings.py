"""Service bookings from the portal's list (apps/engagements/imports/service_bookings.py)."""

import contextlib
import csv
import io
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from apps.base import clock
from apps.core.models import Change
from apps.engagements.amounts import Amounts
from apps.engagements.models import ClientEngagement, ServiceBooking
from apps.people.merging import merge
from apps.people.models import Contact
from tests.engagements.builders import a_booking, a_pace_plan, a_plan, add_amounts, day
from tests.people.records import a_client, a_contact

pytestmark = pytest.mark.django_db

HEADER = [
    *("participant_name", "participant", "booking_type", "service_booking_id", "initiated_by"),
    *("product_category", "product_category_item", "quantity", "start_date", "end_date"),
    *("allocated_amount", "remaining_amount", "accrual_amount", "last_modified_date"),
    *("virtual_status", "provider", "status"),
]
USUAL = {
    "participant_name": "Mia Nguyen",
    "participant": "430000001",
    "booking_type": "Plan Managed",
    "initiated_by": "PROVIDER",
    "product_category": "07",
    "start_date": "2026-07-01",
    "end_date": "2027-06-30",
    "allocated_amount": "1000.00",
    "remaining_amount": "400.00",
    "accrual_amount": "0.00",
    "last_modified_date": "2026-08-31",
    "provider": "4050009999",
    "status": "ACTIVE",
}


@pytest.fixture
def mia():
    return a_contact(first_name="Mia", last_name="Nguyen", scheme_number="430000001")


@pytest.fixture
def import_rows(tmp_path):
    """``import_rows(row, row, …)``: what the command says of a file of these rows, and its exit status."""
    path = tmp_path / "bookings.csv"

    def run(*rows, options=(), left_out=()):
        header = [name for name in HEADER if name not in left_out]
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, header, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(
                {"service_booking_id": str(50_000_001 + n), **USUAL, **row} for n, row in enumerate(rows)
            )
        out, err, status = io.StringIO(), io.StringIO(), 0
        try:
            with contextlib.chdir(tmp_path):
                call_command("import_service_bookings", str(path), *options, stdout=out, stderr=err)
        except SystemExit as stop:
            status = stop.code
        return CommandResult(out.getvalue(), err.getvalue(), status, tmp_path / "bookings.errors.csv")

    return run


class CommandResult:
    def __init__(self, out, err, status, errors):
        self.out, self.err, self.status, self.errors = out, err, status, errors

    @property
    def sums(self):
        return self.out.splitlines()[0].partition(";")[0].partition(".")[0]

    @property
    def lines(self):
        return [line for line in self.err.splitlines() if line.startswith("row ")]


def test_a_booking_is_imported_with_a_plan_for_it(import_rows, mia):
    own = a_client(is_self=True)
    result = import_rows(
        {},
        {
            "product_category": "15",
            "product_category_item": "15_056_0128_1_3",
            "allocated_amount": "$2,500.5",
        },
    )
    assert (result.sums, result.status) == ("2 rows: 2 new, 0 changed, 0 unchanged, 0 rejected", 0)
    assert "Also created: 1 plans, 0 participants." in result.out
    assert result.lines == []
    plan = ClientEngagement.objects.get()
    assert (plan.participant, plan.participant_type) == (mia, "Agency")
    assert (plan.plan_start_date, plan.plan_end_date) == (day("2026-07-01"), day("2027-06-30"))
    assert (plan.booking_start_date, plan.booking_end_date) == (day("2026-07-01"), day("2027-06-30"))
    assert (plan.is_plan_managed, plan.is_agency_managed, plan.is_self_managed) == (True, False, False)
    assert plan.plan_manager == own
    assert (plan.total_budget_amount, plan.un_allocate_amount) == (Decimal("3500.50"), Decimal("0.00"))
    first, second = plan.bookings.order_by("booking_number")
    assert (first.booking_number, first.management_type) == ("50000001", "Plan")
    assert (first.category.number, first.support_purpose) == (7, "Capacity Building")
    assert (first.budget, first.used_elsewhere, first.remaining) == (
        Decimal(1000),
        Decimal(600),
        Decimal(400),
    )
    assert first.balance_date == day("2026-08-31")
    assert (second.support_item, second.remaining) == ("15_056_0128_1_3", Decimal("400.00"))


def test_the_number_of_a_merged_participant_is_that_of_the_one_in_use(import_rows, mia):
    """Also where the one in use has none: a merge moves no values."""
    kept = a_contact()
    merge(kept, mia)
    assert import_rows({}, options=("--create-participants",)).status == 0
    assert ClientEngagement.objects.get().participant == kept


def test_a_second_run_changes_nothing(import_rows, mia):
    rows = [{}, {"product_category": "01", "booking_type": "Agency Managed"}]
    import_rows(*rows)
    lines = Change.objects.count()
    assert import_rows(*rows).sums == "2 rows: 0 new, 0 changed, 2 unchanged, 0 rejected"
    assert Change.objects.count() == lines


def test_a_changed_row_changes_its_booking_and_what_the_plan_has(import_rows, mia):
    import_rows({}, {"product_category": "01"})
    result = import_rows(
        {"allocated_amount": "1500.00", "last_modified_date": "2026-09-30"}, {"product_category": "01"}
    )
    assert result.sums == "2 rows: 0 new, 1 changed, 1 unchanged, 0 rejected"
    plan = ClientEngagement.objects.get()
    assert (plan.total_budget_amount, plan.un_allocate_amount) == (Decimal("2500.00"), Decimal("0.00"))
    booking = ServiceBooking.objects.get(booking_number="50000001")
    assert (booking.budget, booking.used_elsewhere) == (Decimal(1500), Decimal(1100))


def test_a_dry_run_stores_nothing(import_rows, mia):
    result = import_rows({}, {"participant": "430000002"}, options=["--dry-run", "--create-participants"])
    assert result.sums == "2 rows: 2 new, 0 changed, 0 unchanged, 0 rejected"
    assert "Nothing was stored: this was a dry run." in result.out
    assert not ClientEngagement.objects.exists()
    assert Contact.objects.get() == mia


def test_accrued_money_is_gone_and_our_own_claims_are_not_counted_twice(import_rows, mia):
    import_rows({"accrual_amount": "50.00"})
    booking = ServiceBooking.objects.get()
    assert booking.remaining == Decimal("350.00")
    add_amounts({booking.pk: Amounts(claimed=Decimal("100.00"))})
    result = import_rows(
        {"accrual_amount": "50.00", "remaining_amount": "300.00", "last_modified_date": "2026-09-30"}
    )
    assert result.sums == "1 row: 0 new, 1 changed, 0 unchanged, 0 rejected"
    booking.refresh_from_db()
    assert (booking.used_elsewhere, booking.remaining) == (Decimal("650.00"), Decimal("250.00"))


def test_where_the_balance_does_not_know_of_our_claims_yet_nothing_is_used_elsewhere(import_rows, mia):
    import_rows({"remaining_amount": "1000.00"})
    booking = ServiceBooking.objects.get()
    add_amounts({booking.pk: Amounts(claimed=Decimal("100.00"))})
    import_rows({"remaining_amount": "1000.00"})
    booking.refresh_from_db()
    assert (booking.used_elsewhere, booking.remaining) == (Decimal("0.00"), Decimal("900.00"))


def test_an_older_balance_does_not_undo_a_newer_one(import_rows, mia):
    import_rows({})
    result = import_rows({"remaining_amount": "900.00", "last_modified_date": "2026-08-30"})
    assert result.lines == [
        "row 2, N2 (last_modified_date): Outdated: The balance of 31 Aug 2026 is known already."
        " It is “2026-08-30”."
    ]
    assert ServiceBooking.objects.get().remaining == Decimal("400.00")


# --- plans


def test_a_booking_goes_into_the_plan_that_covers_it(import_rows, mia):
    a_plan(participant=mia, plan_start_date=day("2025-07-01"), plan_end_date=day("2026-06-30"))
    plan = a_plan(participant=mia, total_budget_amount=Decimal("5000.00"))
    import_rows({"start_date": "2026-08-01", "end_date": "2026-12-31"})
    assert ServiceBooking.objects.get().engagement == plan
    plan.refresh_from_db()
    assert plan.total_budget_amount == Decimal("5000.00")  # set by hand, and it was not all allocated


def test_a_booking_that_overlaps_a_plan_goes_into_it_with_a_warning(import_rows, mia):
    plan = a_plan(participant=mia, total_budget_amount=Decimal("5000.00"))
    result = import_rows({"start_date": "2026-06-01"})
    assert result.sums == "1 row: 1 new, 0 changed, 0 unchanged, 0 rejected"
    assert [line.split(": ")[1] for line in result.lines] == ["warning OutsidePlan"]
    assert ServiceBooking.objects.get().engagement == plan


def test_a_booking_goes_into_the_plan_that_covers_most_of_its_days_not_into_one_that_was_replaced(
    import_rows, mia
):
    a_plan(participant=mia, no_active_plan_from_date=day("2027-02-14"))
    new = a_plan(participant=mia, plan_start_date=day("2027-02-14"), plan_end_date=day("2028-02-13"))
    import_rows({"start_date": "2027-02-01", "end_date": "2027-06-30"})
    assert ServiceBooking.objects.get().engagement == new


def test_bookings_of_one_time_make_one_plan_and_of_two_times_two(import_rows, mia):
    import_rows(
        {"end_date": "2026-12-31"},
        {"start_date": "2026-10-01", "end_date": "2027-03-31"},
        {"start_date": "2027-04-01", "end_date": "2028-03-31"},
    )
    plans = ClientEngagement.objects.order_by("plan_start_date")
    assert [(str(plan.plan_start_date), str(plan.plan_end_date)) for plan in plans] == [
        ("2026-07-01", "2027-03-31"),
        ("2027-04-01", "2028-03-31"),
    ]


def test_bookings_that_share_one_day_make_one_plan(import_rows, mia):
    import_rows({"end_date": "2026-12-31"}, {"start_date": "2026-12-31", "end_date": "2027-03-31"})
    plan = ClientEngagement.objects.get()
    assert (plan.plan_start_date, plan.plan_end_date) == (day("2026-07-01"), day("2027-03-31"))


def test_archived_plans_get_no_new_bookings(import_rows, mia):
    a_plan(participant=mia, plan_start_date=day("2026-06-01"), archive_date=clock.now())
    import_rows({})
    assert ServiceBooking.objects.get().engagement.archive_date is None


def test_a_pace_plan_takes_no_bookings(import_rows, mia):
    a_pace_plan(participant=mia)
    result = import_rows({})
    assert [line.split(": ")[1] for line in result.lines] == ["NotAllowed"]
    assert not ServiceBooking.objects.exists()


# --- participants


def test_an_unknown_participant_is_refused_with_the_reason(import_rows, mia):
    result = import_rows({}, {"participant": "430 000 002"})
    assert (result.sums, result.status) == ("2 rows: 1 new, 0 changed, 0 unchanged, 1 rejected", 1)
    assert result.lines == [
        "row 3, B3 (participant): NotFound: No contact has this scheme number."
        " --create-participants would create one. It is “430 000 002”."
    ]
    rows = list(csv.DictReader(result.errors.read_text(encoding="utf-8-sig").splitlines()))
    assert [row["service_booking_id"] for row in rows] == ["50000002"]
    assert rows[0]["Reason"].startswith("participant: NotFound: ")


def test_a_participant_is_made_when_requested(import_rows):
    unknown = {"participant": "430000002", "participant_name": " Ana  Maria de Souza "}
    result = import_rows(unknown, {**unknown, "product_category": "01"}, options=["--create-participants"])
    assert "Also created: 1 plans, 1 participants." in result.out
    made = Contact.objects.get()
    assert (made.first_name, made.last_name, made.scheme_number) == ("Ana Maria de", "Souza", "430000002")
    assert ClientEngagement.objects.get().participant == made
    assert Change.objects.get(record_key=str(made.pk)).channel == "Import"


@pytest.mark.parametrize(
    ("unknown", "place"),
    [
        ({"participant": "990000002"}, "B2 (participant): InvalidSchemeNumber"),
        ({"participant": "430000002", "participant_name": "Mia"}, "A2 (participant_name): Required"),
        ({"participant": "430000002", "participant_name": ""}, "A2 (participant_name): Required"),
        ({"participant": "430000002", "participant_name": f"A {'b' * 91}"}, "A2 (participant_name): TooLong"),
    ],
)
def test_a_participant_that_cannot_be_is_not_made(import_rows, unknown, place):
    result = import_rows(unknown, options=["--create-participants"])
    assert result.lines[0].startswith(f"row 2, {place}: ")
    assert not Contact.objects.exists()


def test_no_participant_is_created_for_a_rejected_row(import_rows):
    result = import_rows({"end_date": "2026-06-01"}, options=["--create-participants"])
    assert result.status == 1
    assert not Contact.objects.exists()
    assert not ClientEngagement.objects.exists()


def test_a_number_that_two_contacts_have_is_ambiguous(import_rows, mia):
    other = a_contact(scheme_number="430000001")
    assert [line.split(": ")[1] for line in import_rows({}).lines] == ["Ambiguous"]
    Contact.objects.filter(pk=other.pk).update(archive_date=clock.now())
    assert import_rows({}).sums == "1 row: 1 new, 0 changed, 0 unchanged, 0 rejected"
    assert ClientEngagement.objects.get().participant == mia


def test_another_name_than_the_contacts_is_warned_of(import_rows, mia):
    assert import_rows({"participant_name": "MIA  NGUYEN"}).lines == []
    result = import_rows({"participant_name": "Mia Novak", "allocated_amount": "1001.00"})
    assert result.lines == [
        "row 2, A2 (participant_name): warning NameDiffers: The contact of this number is Mia Nguyen."
        " It is “Mia Novak”."
    ]


# --- rows


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ({"booking_type": "Unmanaged"}, "NotAChoice"),
        ({"service_booking_id": ""}, "Required"),
        ({"product_category": ""}, "Required"),
        ({"product_category": "99"}, "NotFound"),
        ({"product_category": "seven"}, "InvalidCategory"),
        ({"product_category": "7th"}, "InvalidNumber"),
        ({"service_booking_id": "5.88E+07"}, "DigitsLost"),
        ({"product_category": "16"}, "NotAllowed"),
        ({"start_date": "2026-02-30"}, "InvalidDate"),
        ({"allocated_amount": "1.005"}, "OutOfRange"),
        ({"allocated_amount": "lots"}, "InvalidNumber"),
        ({"allocated_amount": "-1.00"}, "OutOfRange"),
        ({"remaining_amount": "x"}, "InvalidNumber"),
        ({"status": "CANCELLED"}, "NotActive"),
    ],
)
def test_a_fault_is_reported_at_its_cell_and_the_other_rows_are_imported(import_rows, mia, cell, code):
    result = import_rows(cell, {"product_category": "01"})
    assert result.sums == "2 rows: 1 new, 0 changed, 0 unchanged, 1 rejected"
    (column,) = cell
    (remark,) = result.lines
    assert f"({column}): {code}: " in remark
    assert remark.startswith("row 2, ")


def test_every_fault_of_a_row_is_reported_at_once(import_rows, mia):
    result = import_rows({"booking_type": "x", "allocated_amount": "", "end_date": "x"})
    assert [line.split(": ")[1] for line in result.lines] == ["NotAChoice", "InvalidDate", "Required"]


def test_a_booking_number_is_in_a_file_once(import_rows, mia):
    result = import_rows({"service_booking_id": "9"}, {"service_booking_id": "9"})
    assert "row 3, D3 (service_booking_id): NotUnique: Row 2 of the file has it already." in result.err
    assert ServiceBooking.objects.count() == 1


def test_a_number_of_somebody_elses_booking_is_refused(import_rows, mia):
    a_booking(booking_number="50000001")
    assert [line.split(": ")[1] for line in import_rows({}).lines] == ["AlreadyUsed"]


@pytest.mark.parametrize(
    ("text", "management"),
    [("Plan Managed", "Plan"), ("agency-managed", "Agency"), ("SELF", "Self"), ("NDIA Managed", "Agency")],
)
def test_the_type_says_who_manages(import_rows, mia, text, management):
    import_rows({"booking_type": text})
    assert ServiceBooking.objects.get().management_type == management
    assert getattr(ClientEngagement.objects.get(), f"is_{management.lower()}_managed")


def test_a_list_of_another_program_is_understood(tmp_path, mia):
    path = tmp_path / "bookings.csv"
    rows = [
        "Participant Name,NDIS Number,Management Type,Booking Number,Support Category,Start Date,End Date,"
        "Allocated,Remaining,Booking Status",
        "Mia Nguyen,430 000 001,Plan Managed,5.8819820E+07,Support Coordination,1/07/2026,30/06/2027,"
        '"$1,000.00",(0.00),Active',
    ]
    path.write_text("\n".join(rows), encoding="utf-8")
    call_command("import_service_bookings", str(path))
    booking = ServiceBooking.objects.get()
    assert (booking.booking_number, booking.category.number, booking.budget) == ("58819820", 7, 1000)
    assert str(booking.booking_start_date) == "2026-07-01"


def test_a_file_without_balances_leaves_what_is_used_alone(import_rows, mia):
    import_rows({})
    result = import_rows({}, left_out=["remaining_amount", "accrual_amount", "last_modified_date"])
    assert result.sums == "1 row: 0 new, 0 changed, 1 unchanged, 0 rejected"
    assert ServiceBooking.objects.get().remaining == Decimal("400.00")


def test_a_file_of_something_else_is_refused_as_a_whole(import_rows, tmp_path):
    with pytest.raises(CommandError, match="The file lacks service_booking_id, start_date"):
        import_rows({}, left_out=["service_booking_id", "start_date"])
    with pytest.raises(CommandError, match="There is no file"):
        call_command("import_service_bookings", str(tmp_path / "none.csv"))


def test_unknown_columns_are_reported(import_rows, mia):
    assert "Not read: initiated_by, quantity, virtual_status, provider." in import_rows({}).err


def test_a_file_takes_the_same_statements_however_many_rows(import_rows, mia, django_assert_max_num_queries):
    rows = [{"participant": f"43000{n:04}", "participant_name": f"P N{n}"} for n in range(60)]
    with django_assert_max_num_queries(45):
        assert import_rows(*rows, options=["--create-participants"]).sums.startswith("60 rows: 60 new")
    with django_assert_max_num_queries(15):
        assert import_rows(*rows).sums == "60 rows: 0 new, 0 changed, 60 unchanged, 0 rejected"


def test_the_days_of_a_list_are_read_one_way_and_a_footer_is_left_out(import_rows, mia):
    days = {"start_date": "07/01/2026", "end_date": "06/30/2027", "last_modified_date": "08/31/2026"}
    footer = dict.fromkeys(USUAL, "") | {"participant_name": "Total", "allocated_amount": "1,000.00"}

    result = import_rows(days, {**days, "start_date": "07/13/2026"}, {**footer, "service_booking_id": ""})

    assert result.status == 0
    starts = ServiceBooking.objects.order_by("booking_number").values_list("booking_start_date", flat=True)
    assert list(map(str, starts)) == ["2026-07-01", "2026-07-13"]
    assert "1 row of sums or notes left out" in result.out


def test_a_day_that_could_be_another_is_warned_of(import_rows, mia):
    days = {"start_date": "01/07/2026"}

    result = import_rows(days)

    assert (
        "row 2, I2 (start_date): warning AmbiguousDay: It is read with the day first, as 1 July 2026"
        in result.err
    )
    assert str(ServiceBooking.objects.get().booking_start_date) == "2026-07-01"
    result = import_rows({**days, "service_booking_id": "60000001"}, options=["--day-first"])
    assert "AmbiguousDay" not in result.err
