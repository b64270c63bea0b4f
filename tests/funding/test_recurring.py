"""Invoices created from recurring ones (interface.md 2.4)."""

import datetime as dt
import threading
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.core.bulk_insert import FEW
from apps.core.models import Change
from apps.engagements.models import ServiceBooking
from apps.funding.models import AcknowledgedWarning, Invoice, InvoiceLine, StatusMove
from apps.funding.services import recurring
from apps.funding.services.create import create_invoices
from apps.funding.services.recurring import (
    RECURRENCE_ENDED,
    CreatedInvoice,
    FailedInvoice,
    create_recurring_invoices,
)
from apps.funding.services.transitions import apply_transition
from apps.funding.statuses import InvoiceStatus
from tests.engagements.builders import a_booking, a_plan
from tests.funding.admin_forms import INVOICES
from tests.funding.builders import a_cost_centre, a_price, a_product, an_entry, an_invoice
from tests.people.builders import a_contact, a_role, a_staff_member

pytestmark = pytest.mark.django_db

D = dt.date
JULY, AUGUST, SEPTEMBER = D(2026, 7, 1), D(2026, 8, 1), D(2026, 9, 1)


def a_member():
    return a_staff_member(role=a_role(all_permissions=True))


def a_recurring_invoice(lines=1, **columns):
    """Entered for July 2026, again every month."""
    return an_invoice(
        lines,
        **{
            "staff": columns.pop("staff", None) or a_member(),
            "start_date": JULY,
            "end_date": D(2026, 7, 31),
            "is_recurring": True,
            "recurring_start_date": JULY,
            "recurring_frequency": "Monthly",
            **columns,
        },
    )


def run(until, dry_run=False):
    return list(create_recurring_invoices(until, dry_run))


def created_from(invoice):
    return list(Invoice.objects.filter(recurrence_of=invoice).order_by("recurrence_date"))


def days_of(invoice):
    return [made.recurrence_date for made in created_from(invoice)]


# --- what is made ---------------------------------------------------------------------------------------


def test_the_invoice_of_the_next_period_is_entered_anew():
    cost_centre = a_cost_centre()
    entered = a_recurring_invoice(
        [
            {
                "from_date": D(2026, 7, 6),
                "to_date": D(2026, 7, 31),
                "notes": "Every week",
                "tax_choice": "GstFreeIncome",
                "claim_type": "Telehealth",
                "cost_centre": cost_centre,
                "quantity": "3",
            },
            {"is_credit_item": True},
        ],
        due_date=D(2026, 8, 14),
        invoice_claim_type="InvoiceToClient",
        external_invoice_number="XERO-1",
        funding_status="Sent",
    )
    (results,) = run(AUGUST)
    (made,) = created_from(entered)
    assert results == CreatedInvoice(entered.invoice_number, AUGUST, made.invoice_number, Decimal("70.00"))
    assert (made.start_date, made.end_date, made.due_date) == (AUGUST, D(2026, 8, 31), D(2026, 9, 14))
    assert (made.is_recurring, made.recurring_start_date, made.recurring_frequency) == (False, None, None)
    assert (made.contact, made.staff, made.invoice_claim_type) == (
        entered.contact,
        entered.staff,
        "InvoiceToClient",
    )
    assert (made.funding_status, made.total, made.external_invoice_number, made.amount_paid) == (
        "AwaitingStaffApproval",
        Decimal("70.00"),
        None,
        0,
    )
    one, other = made.line_items.all()
    assert (one.from_date, one.to_date) == (D(2026, 8, 6), D(2026, 8, 31))
    assert (one.first_day, one.last_day) == (D(2026, 8, 6), D(2026, 8, 31))
    assert (one.notes, one.tax_choice, one.claim_type, one.cost_centre) == (
        "Every week",
        "GstFreeIncome",
        "Telehealth",
        cost_centre,
    )
    assert (one.quantity, one.total, other.is_credit_item, other.total) == (3, 210, True, -140)
    assert (other.from_date, other.first_day, other.last_day) == (None, AUGUST, D(2026, 8, 31))


def test_a_line_of_which_only_one_day_is_entered_moves_that_day():
    entered = a_recurring_invoice([{"from_date": D(2026, 7, 6)}, {"to_date": D(2026, 7, 20)}])
    run(AUGUST)
    (made,) = created_from(entered)
    days = [(line.from_date, line.to_date) for line in made.line_items.order_by("position")]
    assert days == [(D(2026, 8, 6), None), (None, D(2026, 8, 20))]


def test_its_number_comes_from_the_sequence_and_its_history_begins():
    entered = a_recurring_invoice()
    run(SEPTEMBER)
    assert [made.invoice_number for made in created_from(entered)] == ["INV-0000001", "INV-0000002"]
    (made, _) = created_from(entered)
    change = Change.objects.get(record_key=str(made.pk))
    assert (change.kind, change.channel, change.staff) == ("Created", "Command", None)
    assert not StatusMove.objects.exists()


def test_missed_periods_are_caught_up_in_order():
    one = a_recurring_invoice(recurring_frequency="Weekly", end_date=D(2026, 7, 7))
    other = a_recurring_invoice()
    results = run(D(2027, 6, 30))
    assert len(days_of(one)) == 52
    assert days_of(other)[-1] == D(2027, 6, 1)
    assert [each.day for each in results] == sorted(each.day for each in results)
    assert [each.number for each in results] == sorted(each.number for each in results)


def test_a_second_run_makes_nothing():
    entered = a_recurring_invoice()
    assert len(run(SEPTEMBER)) == 2
    assert run(SEPTEMBER) == []
    assert run(AUGUST) == []
    assert [each.day for each in run(D(2026, 10, 1))] == [D(2026, 10, 1)]
    assert days_of(entered) == [AUGUST, SEPTEMBER, D(2026, 10, 1)]


def test_more_than_are_stored_at_once_are_made(monkeypatch):
    monkeypatch.setattr(recurring, "CREATED_AT_ONCE", 7)
    monkeypatch.setattr(recurring, "BATCH", 2)
    entered = [
        a_recurring_invoice(recurring_frequency="Daily", end_date=JULY, staff=a_member()) for _ in range(3)
    ]
    assert len(run(D(2026, 7, 11))) == 30
    assert [len(days_of(invoice)) for invoice in entered] == [10, 10, 10]
    assert run(D(2026, 7, 11)) == []


def test_lines_taken_out_of_it_do_not_come_back():
    entered = a_recurring_invoice([{}, {"archive_date": clock.now()}])
    run(AUGUST)
    assert created_from(entered)[0].line_items.count() == 1


def test_only_the_periods_that_were_requested_are_stored():
    entered = a_recurring_invoice()
    periods = [period for period, _ in recurring.load_due_periods([entered.pk], SEPTEMBER)]
    recurring.create_for_periods(periods[:1], SEPTEMBER, dry_run=False)
    assert days_of(entered) == [AUGUST]


# --- when it ends ---------------------------------------------------------------------------------------


def test_it_stops_at_its_end():
    entered = a_recurring_invoice(recurring_end_date=SEPTEMBER)
    run(D(2027, 7, 1))
    assert days_of(entered) == [AUGUST, SEPTEMBER]


def test_it_stops_at_the_end_of_the_plan_it_was_entered_under():
    contact = a_contact()
    a_plan(participant=contact, plan_start_date=D(2025, 9, 1), plan_end_date=D(2026, 8, 31))
    a_plan(participant=contact, plan_start_date=D(2026, 9, 1), plan_end_date=D(2027, 8, 31))
    entered = a_recurring_invoice(contact=contact)
    run(D(2027, 7, 1))
    assert days_of(entered) == [AUGUST]


@pytest.mark.parametrize(
    ("start", "since", "expected"),
    [
        (D(2026, 6, 15), JULY, [JULY, AUGUST]),
        (JULY, D(2025, 7, 1), [AUGUST]),
        (D(2025, 7, 1), JULY, [JULY, AUGUST]),
    ],
    ids=["entered before the plan", "its calendar is older than the plan", "recurs from the next plan on"],
)
def test_its_plan_is_that_in_which_it_began_to_recur(start, since, expected):
    contact = a_contact()
    a_plan(participant=contact, plan_start_date=D(2025, 7, 1), plan_end_date=D(2026, 6, 1))
    a_plan(participant=contact, plan_start_date=JULY, plan_end_date=D(2026, 8, 31))
    entered = a_recurring_invoice(
        contact=contact, start_date=start, end_date=start, recurring_start_date=since
    )
    run(D(2027, 7, 1))
    assert days_of(entered) == expected


@pytest.mark.parametrize(("last_day", "expected"), [(D(2026, 8, 5), []), (D(2026, 8, 6), [AUGUST])])
def test_the_plan_has_to_cover_its_first_day(last_day, expected):
    contact = a_contact()
    a_plan(participant=contact, plan_start_date=JULY, plan_end_date=last_day)
    entered = a_recurring_invoice(contact=contact, start_date=D(2026, 7, 6))
    run(D(2027, 7, 1))
    assert days_of(entered) == expected


def test_a_plan_that_ended_early_ends_it_then():
    contact = a_contact()
    a_plan(
        participant=contact,
        plan_start_date=D(2026, 1, 1),
        plan_end_date=D(2026, 12, 31),
        no_active_plan_from_date=SEPTEMBER,
    )
    entered = a_recurring_invoice(contact=contact)
    run(D(2027, 7, 1))
    assert days_of(entered) == [AUGUST]


def test_without_a_plan_only_its_own_end_stops_it():
    contact = a_contact()
    a_plan(participant=contact, plan_start_date=D(2020, 1, 1), plan_end_date=D(2020, 12, 31))
    entered = a_recurring_invoice(contact=contact)
    run(SEPTEMBER)
    assert days_of(entered) == [AUGUST, SEPTEMBER]


@pytest.mark.parametrize("status", InvoiceStatus.values)
def test_rejected_and_cancelled_ones_make_none(status):
    a_recurring_invoice(funding_status=status)
    assert len(run(AUGUST)) == (0 if status in RECURRENCE_ENDED else 1)


def test_archived_ones_make_none():
    a_recurring_invoice(archive_date=clock.now())
    assert run(AUGUST) == []


def test_an_archived_recurrence_is_not_made_again():
    entered = a_recurring_invoice()
    run(AUGUST)
    Invoice.objects.filter(recurrence_of=entered).update(archive_date=clock.now())
    assert run(AUGUST) == []


def test_a_resubmission_is_no_invoice_of_the_series():
    made = an_invoice(
        recurrence_of=a_recurring_invoice(), recurrence_date=AUGUST, funding_status="PaymentProviderRejected"
    )
    new = apply_transition(Invoice, [made.pk], "resubmit").resubmissions[made.pk]
    assert Invoice.objects.values_list("recurrence_of", "recurrence_date").get(pk=new) == (None, None)


def test_what_was_resubmitted_goes_on_and_its_resubmission_does_not_double_it():
    entered = a_recurring_invoice(funding_status="ClientRejected")
    again = a_recurring_invoice(contact=entered.contact, resubmission_of=entered)
    run(AUGUST)
    assert (days_of(entered), days_of(again)) == ([AUGUST], [])


def test_an_archived_participant_is_reported_and_not_invoiced():
    entered = a_recurring_invoice(contact=a_contact())
    entered.contact.archive_date = clock.now()
    entered.contact.save()
    other = a_recurring_invoice()
    results = run(AUGUST)
    assert [each.recurring for each in results if isinstance(each, FailedInvoice)] == [entered.invoice_number]
    assert (days_of(entered), days_of(other)) == ([], [AUGUST])


# --- prices ---------------------------------------------------------------------------------------------


def priced(**columns):
    """An entry of 70.00 in July and 75.00 from August on."""
    entry = an_entry()
    a_price(entry, "70.00", JULY, D(2026, 7, 31), **columns)
    a_price(entry, "75.00", AUGUST, **columns)
    return entry


def test_a_price_of_the_book_follows_the_book():
    entered = a_recurring_invoice([{"entry": priced(), "price": "70.00"}])
    run(AUGUST)
    (made,) = created_from(entered)
    assert (made.line_items.get().price, made.total) == (75, 150)


def test_a_price_is_that_of_the_day_of_its_line():
    entry = an_entry()
    a_price(entry, "70.00", JULY, D(2026, 8, 15))
    a_price(entry, "75.00", D(2026, 8, 16))
    lines = [{"entry": entry, "price": "70.00", "from_date": day} for day in (D(2026, 7, 10), D(2026, 7, 20))]
    entered = a_recurring_invoice(lines)
    run(AUGUST)
    (made,) = created_from(entered)
    assert [line.price for line in made.line_items.order_by("position")] == [70, 75]


def test_an_agreed_price_stays():
    entered = a_recurring_invoice([{"entry": priced(), "price": "69.00"}])
    run(AUGUST)
    assert created_from(entered)[0].line_items.get().price == 69


@pytest.mark.parametrize("amount", [None, "quoted"])
def test_without_a_price_in_the_book_the_price_stays(amount):
    entry = an_entry()
    a_price(entry, "70.00", JULY, D(2026, 7, 31))
    if amount == "quoted":
        a_price(entry, None, AUGUST)
    entered = a_recurring_invoice([{"entry": entry, "price": "70.00"}])
    run(AUGUST)
    assert created_from(entered)[0].line_items.get().price == 70


def test_prices_are_those_of_where_the_participant_lives():
    entry = priced(zone="Remote")
    a_price(entry, "50.00", JULY)
    contact = a_contact(SchemePriceGuideRegion="Remote")
    entered = a_recurring_invoice([{"entry": entry, "price": "70.00"}], contact=contact)
    run(AUGUST)
    assert created_from(entered)[0].line_items.get().price == 75


# --- warnings, budgets, faults --------------------------------------------------------------------------


def test_warnings_are_acknowledged_for_the_approver():
    entered = a_recurring_invoice()  # its participant has no plan
    run(AUGUST)
    (made,) = created_from(entered)
    kept = AcknowledgedWarning.objects.filter(invoice=made)
    assert "NoEngagement" in {warning.code for warning in kept}
    assert {(warning.staff, warning.application) for warning in kept} == {(None, None)}


def test_the_booking_learns_what_waits():
    contact = a_contact()
    plan = a_plan(participant=contact, plan_start_date=JULY, plan_end_date=D(2027, 6, 30))
    booking = a_booking(plan, category=9, budget=Decimal(10_000))
    entry = an_entry(product=a_product(code="09_009_0117_6_3", category_number=9))
    entered = a_recurring_invoice([{"entry": entry}], contact=contact)
    run(SEPTEMBER)
    lines = InvoiceLine.objects.filter(invoice__recurrence_of=entered)
    assert {line.booking_id for line in lines} == {booking.pk}
    assert ServiceBooking.objects.get(pk=booking.pk).waiting == 280


def test_an_invalid_invoice_does_not_stop_the_others():
    invalid = a_recurring_invoice(staff=a_staff_member(role=a_role()))
    others = [a_recurring_invoice(), a_recurring_invoice()]
    results = run(AUGUST)
    (missed,) = [each for each in results if isinstance(each, FailedInvoice)]
    assert (missed.recurring, missed.day) == (invalid.invoice_number, AUGUST)
    assert "permission" in missed.reason
    assert [days_of(invoice) for invoice in (invalid, *others)] == [[], [AUGUST], [AUGUST]]


def test_an_unexpected_error_is_narrowed_down_to_its_invoice(caplog):
    invalid = a_recurring_invoice(due_date=D(9999, 12, 31))
    others = [a_recurring_invoice() for _ in range(5)]
    results = run(AUGUST)
    assert [each.recurring for each in results if isinstance(each, FailedInvoice)] == [invalid.invoice_number]
    assert [days_of(invoice) for invoice in others] == [[AUGUST]] * 5
    assert invalid.invoice_number in caplog.text


def test_what_could_not_be_made_is_made_when_it_can():
    invalid = a_recurring_invoice(staff=a_staff_member(role=a_role()))
    assert isinstance(run(AUGUST)[0], FailedInvoice)
    invalid.staff.role.all_permissions = True
    invalid.staff.role.save()
    run(SEPTEMBER)
    assert days_of(invalid) == [AUGUST, SEPTEMBER]


def test_a_dry_run_reports_the_same_and_stores_nothing():
    entered = a_recurring_invoice()
    a_recurring_invoice(staff=a_staff_member(role=a_role()))
    before = Change.objects.count(), AcknowledgedWarning.objects.count()
    tried = run(SEPTEMBER, dry_run=True)
    assert not created_from(entered)
    assert (Change.objects.count(), AcknowledgedWarning.objects.count()) == before
    assert tried == run(SEPTEMBER)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, "Next invoice: 1 Aug 2026."),
        ({"recurring_frequency": "Yearly"}, "Next invoice: 1 Jul 2027."),
        ({"recurring_start_date": D(2027, 3, 15)}, "Next invoice: 15 Mar 2027."),
        ({"recurring_frequency": "Weekly"}, "An invoice is due since 8 Jul 2026: the daily run creates it."),
        ({"recurring_end_date": D(2026, 7, 31)}, "No further invoice."),
        ({"funding_status": "ClientRejected"}, "No further invoice."),
        ({"archive_date": dt.datetime(2026, 7, 2, tzinfo=dt.UTC)}, "No further invoice."),
        ({"start_date": D(9999, 12, 1), "end_date": D(9999, 12, 31)}, "No further invoice."),
    ],
)
def test_the_page_of_a_recurring_invoice_names_the_day_of_the_next(client, at, columns, expected):
    at("2026-07-15 10:00")
    invoice = a_recurring_invoice(**columns)
    client.force_login(invoice.staff)
    page = client.get(f"{INVOICES}{invoice.pk}/change/").content.decode()
    assert expected in page


def test_the_next_invoice_is_the_first_that_was_not_created(at):
    at("2026-10-15 10:00")
    invoice = a_recurring_invoice()
    run(AUGUST)
    assert recurring.next_invoice_day(invoice) == SEPTEMBER
    run(D(2026, 10, 15))
    assert recurring.next_invoice_day(invoice) == D(2026, 11, 1)
    assert recurring.next_invoice_day(created_from(invoice)[0]) is None


def test_statements_do_not_grow_with_the_invoices():
    counts = []
    for number in (FEW + 1, 40):
        for _ in range(number):
            a_recurring_invoice(2)
        with CaptureQueriesContext(connection) as queries:
            assert len(run(AUGUST)) == number
        counts.append(len(queries))
    assert len(set(counts)) == 1, counts


def test_a_slip_in_the_dates_does_not_make_thousands():
    slip = a_recurring_invoice(
        recurring_frequency="Daily", start_date=D(202, 7, 1), recurring_start_date=D(202, 7, 1)
    )
    other = a_recurring_invoice()
    results = run(AUGUST)
    (missed,) = [each for each in results if isinstance(each, FailedInvoice)]
    assert (missed.recurring, missed.day) == (slip.invoice_number, D(202, 7, 2))
    assert "1,100" in missed.reason
    assert (days_of(slip), days_of(other)) == ([], [AUGUST])


@pytest.mark.parametrize(("number", "expected"), [(3, 3), (4, 0)])
def test_as_many_as_can_be_caught_up_are(monkeypatch, number, expected):
    monkeypatch.setattr(recurring, "MAX_MISSED_PERIODS", 3)
    entered = a_recurring_invoice(recurring_frequency="Daily", end_date=JULY)
    run(JULY + dt.timedelta(days=number))
    assert len(days_of(entered)) == expected


# --- the command ----------------------------------------------------------------------------------------


def command(*words):
    out, err = StringIO(), StringIO()
    status = 0
    try:
        call_command("make_recurring_invoices", *words, stdout=out, stderr=err)
    except CommandError as error:
        status = error.returncode
        err.write(str(error))
    return status, out.getvalue(), err.getvalue()


def test_the_command_reports_the_created_invoices(at):
    at("2026-08-01 00:30")
    entered = a_recurring_invoice()
    status, out, err = command()
    assert (status, err) == (0, "")
    assert f"{entered.invoice_number}, 2026-08-01: INV-0000001, 140.00" in out
    assert out.endswith("1 invoice made up to 2026-08-01.\n")
    assert command()[1] == "0 invoices made up to 2026-08-01.\n"


def test_the_day_is_the_subscribers(at):
    at("2026-07-31 23:59")
    a_recurring_invoice()
    assert command()[1] == "0 invoices made up to 2026-07-31.\n"


def test_the_command_fails_when_one_could_not_be_made():
    a_recurring_invoice()
    invalid = a_recurring_invoice(staff=a_staff_member(role=a_role()))
    status, out, err = command("--until", "2026-08-01")
    assert status == 1
    assert "INV-0000001" in out
    assert f"{invalid.invoice_number}, 2026-08-01: " in err
    assert "1 invoice made up to 2026-08-01; 1 could not be" in err


def test_a_dry_run_of_the_command_stores_nothing():
    entered = a_recurring_invoice()
    status, out, _ = command("--until", "2026-09-01", "--dry-run")
    assert status == 0
    assert f"{entered.invoice_number}, 2026-08-01: 140.00" in out
    assert "2 invoices would be made up to 2026-09-01." in out
    assert not created_from(entered)


@pytest.mark.parametrize("text", ["tomorrow", "2026-02-30", "01/08/2026", "2026W051", "20260801"])
def test_a_date_that_is_none_is_refused(text):
    status, _, err = command("--until", text)
    assert status != 0
    assert f"{text} is no date; write it as 2026-07-31." in err


# --- two machines ---------------------------------------------------------------------------------------


def test_nothing_is_stored_when_another_machine_made_all_of_a_batch():
    assert create_invoices([], ignore_warnings=True) == []
    assert not Invoice.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres("SQLite has one writer and its test database one connection")
def test_machines_that_run_at_the_same_moment_make_each_invoice_once():
    entered = [a_recurring_invoice(2) for _ in range(20)]
    together, results, errors = threading.Barrier(4), [], []

    def machine():
        try:
            together.wait(20)
            results.extend(run(D(2026, 12, 1)))
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=machine) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    assert not [each for each in results if isinstance(each, FailedInvoice)]
    assert [len(days_of(invoice)) for invoice in entered] == [5] * 20
    assert len(results) == 100
    assert len({each.number for each in results}) == 100
