"""Claim files: what goes in, what is left out, sending and withdrawing (services/claim_files.py)."""

import datetime as dt
import hashlib
import uuid
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.base.errors import Refusal
from apps.engagements.amounts import Amounts
from apps.funding.models import (
    Claim,
    ClaimFile,
    ClaimFileLine,
    ClaimLine,
    Invoice,
    NumberSequence,
    StatusMove,
)
from apps.funding.services import claim_files
from apps.funding.services.claim_files import (
    create_claim_files,
    file_mark,
    mark_sent,
    plan_claim_files,
    withdraw,
)
from apps.funding.services.claim_windows import create_usual_claim_windows
from apps.funding.services.effects import recount_budgets
from apps.funding.services.transitions import apply_transition, list_transitions
from apps.funding.validation.claim_files import REASONS
from apps.operations.services.verification import find_wrong_money
from tests.engagements.builders import a_booking
from tests.funding.builders import a_provider_invoice
from tests.funding.claim_file_checker import amount_of, faults_of, read_file
from tests.funding.claimable import (
    ABN,
    DAY,
    TODAY,
    a_claimable_claim,
    a_claimable_invoice,
    a_participant,
    a_support,
    save_settings,
    somebody_who_sends,
)
from tests.people.records import a_client

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def march(at):
    at(TODAY)
    save_settings()


def rows_of(file):
    """The rows of a file, which keeps every rule of the format."""
    file = ClaimFile.objects.get(pk=file.pk)
    content = bytes(file.content)
    assert hashlib.sha256(content).hexdigest() == file.sha256
    rows = read_file(file.file_name, content)
    assert [fault for row in rows for fault in faults_of(row, clock.today())] == []
    assert (len(rows), sum(map(amount_of, rows))) == (file.line_count, file.total)
    assert [row["ClaimReference"] for row in rows] == [line.reference for line in file.lines.all()]
    return rows


def status_of(bill):
    return type(bill).objects.get(pk=bill.pk).funding_status


# --- what goes in ---------------------------------------------------------------------------------------


def test_approved_claims_and_invoices_to_the_agency_are_claimed_by_a_file():
    claim, invoice = a_claimable_claim(2), a_claimable_invoice()
    others = [
        a_claimable_claim(funding_status="AwaitingStaffApproval"),
        a_claimable_claim(archive_date=clock.now()),
        a_claimable_invoice(invoice_claim_type="InvoiceToClient"),
    ]
    before = [status_of(each) for each in others]
    [file] = create_claim_files(staff=somebody_who_sends())
    rows = rows_of(file)
    assert [(status_of(each)) for each in (claim, invoice)] == ["AgencyClaimed"] * 2
    assert [status_of(each) for each in others] == before
    assert file.total == Decimal("420.00")
    assert {row["NDISNumber"] for row in rows} == {
        claim.contact.scheme_number,
        invoice.contact.scheme_number,
    }
    assert {row["ABN of Support Provider"] for row in rows} == {ABN}
    lines = list(file.lines.values_list("claim", "claim_line", "invoice", "invoice_line", "amount"))
    assert [line[0] for line in lines] == [claim.pk, claim.pk, None]
    assert lines[2][2:] == (invoice.pk, invoice.line_items.get().pk, Decimal("140.00"))


def test_an_invoice_goes_out_under_the_business_number_of_the_organisation():
    save_settings(business_number="53 004 085 616")
    a_claimable_invoice()
    [row] = rows_of(create_claim_files()[0])
    assert row["ABN of Support Provider"] == "53004085616"


@pytest.mark.parametrize("exemption", ["EXCLS", "REIMB"])
def test_an_exemption_stands_in_place_of_the_business_number(exemption):
    a_claimable_claim(provider=a_client(), missing_abn_reason_code=exemption)
    [row] = rows_of(create_claim_files()[0])
    assert row["ABN of Support Provider"] == exemption


@pytest.mark.parametrize(("exemption", "written"), [("EXCLS", "51824753556"), ("REIMB", "REIMB")])
def test_a_number_that_the_provider_has_by_now_stands_in_place_of_its_exclusion(exemption, written):
    a_claimable_claim(provider=a_client(business_number="51 824 753 556"), missing_abn_reason_code=exemption)
    [row] = rows_of(create_claim_files()[0])
    assert row["ABN of Support Provider"] == written


def test_budgets_and_the_status_history_go_with_the_claim():
    booking = a_booking()
    claim = a_claimable_claim([{"booking": booking}])
    recount_budgets()
    staff = somebody_who_sends()
    [file] = create_claim_files(staff=staff)
    booking.refresh_from_db()
    assert Amounts(booking.claimed, booking.paid, booking.waiting) == Amounts(claimed=Decimal("140.00"))
    [move] = StatusMove.objects.filter(claim=claim)
    assert (move.verb, move.staff, file.created_by) == ("claim", staff, staff)
    withdraw(file.pk, staff)
    booking.refresh_from_db()
    assert Amounts(booking.claimed, booking.paid, booking.waiting) == Amounts(waiting=Decimal("140.00"))
    assert recount_budgets() == (0, 0, 0)


def test_bills_that_end_after_the_day_wait_for_a_later_file():
    a_claimable_claim()
    later = a_claimable_claim(end_date=DAY + dt.timedelta(days=1))
    plan = plan_claim_files(DAY)
    assert (plan.line_count, plan.left_out) == (1, [])
    [file] = create_claim_files(DAY)
    assert file.until == DAY
    assert status_of(later) == "Approved"
    assert create_claim_files(DAY) == []


# --- what is left out -----------------------------------------------------------------------------------


def blocked_invoice(status):
    return a_provider_invoice(approval_status=status)


def a_credited_invoice():
    return a_claimable_invoice([{}, {"is_credit_item": True, "quantity": "1"}])


LEFT_OUT = {
    "The organisation has no registration number": [],
    "No scheme number of nine digits": [
        lambda: a_claimable_claim(contact=a_participant(scheme_number=None)),
        lambda: a_claimable_claim(contact=a_participant(scheme_number="43000000")),
        lambda: a_claimable_claim(contact=a_participant(scheme_number="420000001")),
        lambda: a_claimable_claim(contact=a_participant(scheme_number="43000000\u0661")),
    ],
    "No valid ABN and no exemption": [
        lambda: a_claimable_claim(provider=a_client()),
        lambda: a_claimable_claim(provider=a_client(business_number="N/A")),
        lambda: a_claimable_claim(provider=a_client(business_number="51824753557")),
    ],
    "Provider invoice on hold or rejected": [
        lambda: a_claimable_claim(provider_invoice=blocked_invoice("OnHoldByClient")),
        lambda: a_claimable_claim(provider_invoice=blocked_invoice("OnHoldByPlanManager")),
        lambda: a_claimable_claim(provider_invoice=blocked_invoice("Rejected")),
    ],
    "Partly paid earlier": [
        lambda: a_claimable_claim([{}, {"amount_paid": "10.00"}], amount_paid="10.00", paid_earlier="10.00"),
    ],
    "Credits": [a_credited_invoice],
    "Amount that cannot be written": [
        lambda: a_claimable_claim([{}, {"quantity": "1.125"}]),
        lambda: a_claimable_claim([{}, {"price": "0"}]),
        lambda: a_claimable_claim(0),
    ],
    "Support number not of the scheme": [
        lambda: a_claimable_claim([{}, {"entry": a_support(code="01_011_0107_1_1 caf\u00e9")}]),
        lambda: a_claimable_claim([{}, {"entry": a_support(code="=1+1")}]),
    ],
    "Cancellation without a reason": [
        lambda: a_claimable_claim([{}, {"claim_type": "Cancellation"}]),
        lambda: a_claimable_claim([{}, {"claim_type": "Cancellation", "cancellation_reason": "None"}]),
    ],
    "Support too old to be claimed": [
        lambda: a_claimable_claim([{}, {"first_day": dt.date(2024, 3, 1)}]),
    ],
    "Support that lies ahead": [
        lambda: a_claimable_claim([{}, {"last_day": dt.date(2026, 3, 3)}], end_date=dt.date(2026, 3, 3)),
    ],
}


@pytest.mark.parametrize(
    ("number", "sentence"),
    [(None, "There is none, and no exemption."), ("51824753557", "“51824753557” is no ABN.")],
)
def test_a_missing_business_number_is_told_from_a_wrong_one(number, sentence):
    a_claimable_claim(provider=a_client(business_number=number))
    [left_out] = plan_claim_files().left_out
    assert [list(found) for _, found in left_out.bills] == [[sentence]]


@pytest.mark.parametrize(
    ("label", "make"), [(label, make) for label, makers in LEFT_OUT.items() for make in makers]
)
def test_a_bill_is_left_out_whole_and_its_reason_is_told(label, make):
    good, bill = a_claimable_claim(), make()
    plan = plan_claim_files()
    assert [(each.reason.label, [bill.key for bill, _ in each.bills]) for each in plan.left_out] == [
        (label, [bill.pk])
    ]
    sentences = [sentence for _, found in plan.left_out[0].bills for sentence in found]
    assert all(sentence.endswith(".") for sentence in sentences)
    # Of the bills with two lines the second one has the fault.
    assert all(sentence.startswith("Line 2: ") for sentence in sentences if sentence.startswith("Line "))
    [file] = create_claim_files()
    assert file.total == good.total == plan.total
    assert status_of(bill) == "Approved"
    rows_of(file)


def test_every_reason_has_its_example():
    elsewhere = {"In a claim file already", "Too many lines for a file"}
    assert {each.label for each in REASONS} == {*LEFT_OUT, *elsewhere}


def test_without_a_registration_number_nothing_is_claimed():
    save_settings(registration_number="")
    bill = a_claimable_claim()
    [left_out] = plan_claim_files().left_out
    assert (left_out.reason.label, left_out.total) == (
        "The organisation has no registration number",
        bill.total,
    )
    assert create_claim_files() == []
    assert status_of(bill) == "Approved"


def test_a_bill_with_several_faults_counts_once_and_says_each():
    a_claimable_claim([{"quantity": "1.125"}], contact=a_participant(scheme_number=None))
    plan = plan_claim_files()
    assert [each.reason.label for each in plan.left_out] == [
        "No scheme number of nine digits",
        "Amount that cannot be written",
    ]
    assert (len(plan.left_out_bills), plan.left_out_total) == (1, Decimal("78.75"))


def test_a_line_that_stands_in_a_sent_file_is_not_claimed_again():
    claim = a_claimable_claim()
    [file] = create_claim_files()
    mark_sent(file.pk)
    Claim.objects.filter(pk=claim.pk).update(funding_status="Approved")  # nobody can, but by hand
    [left_out] = plan_claim_files().left_out
    assert left_out.reason.label == "In a claim file already"
    assert left_out.bills[0][1] == [
        f"It is in {file.file_name}, and a line is claimed once. Archive it, and enter it anew."
    ]
    assert create_claim_files() == []


@pytest.mark.parametrize(
    ("today", "is_claimed"),
    [("2026-11-30 23:59", True), ("2026-12-01 00:01", False)],
)
def test_a_file_has_what_the_claim_windows_let_be_claimed_on_its_day(at, today, is_claimed):
    create_usual_claim_windows()
    at(today)
    a_claimable_claim([{"first_day": dt.date(2026, 9, 1), "last_day": dt.date(2026, 9, 1)}])
    plan = plan_claim_files()
    assert bool(plan.files) == is_claimed
    sentences = [sentence for each in plan.left_out for _, found in each.bills for sentence in found]
    expected = "Line 1: 01 Sep 2026 could be claimed until 30 Nov 2026 (90 days)."
    assert sentences == ([] if is_claimed else [expected])


# --- several files --------------------------------------------------------------------------------------


def test_more_lines_than_a_file_takes_make_several_and_no_bill_is_split(monkeypatch):
    monkeypatch.setattr(claim_files, "MAX_ROWS", 5)
    lines = [3, 3, 3, 2]
    claims = [a_claimable_claim(n, claim_number=f"F-{place}") for place, n in enumerate(lines)]
    files = create_claim_files()
    assert [file.line_count for file in files] == [3, 3, 5]
    assert [file.number for file in files] == [files[0].number + nth for nth in range(3)]
    for claim in claims:
        assert ClaimFileLine.objects.filter(claim=claim).values("claim_file").distinct().count() == 1
    for file in files:
        rows_of(file)


LINE_COLUMNS = {
    *("claim_id", "price_book_id", "product_id", "quantity", "price", "total", "first_day", "last_day"),
}


def test_5001_lines_are_two_files():
    for _ in range(2):
        claim = a_claimable_claim()
        line = claim.line_items.get()
        columns = {name: value for name, value in vars(line).items() if name in LINE_COLUMNS}
        ClaimLine.objects.bulk_create([ClaimLine(**columns, position=nth) for nth in range(2_499)])
        Claim.objects.filter(pk=claim.pk).update(total=2_500 * line.total)
    a_claimable_invoice()
    with CaptureQueriesContext(connection) as many:
        files = create_claim_files()
    assert [file.line_count for file in files] == [5000, 1]
    assert len(rows_of(files[0])) == 5000
    # As many statements as for few lines, beside those of a second file.
    assert len(many) < 60


def test_the_number_of_statements_is_constant():
    counts = []
    for count in (1, 12):
        for _ in range(count):
            a_claimable_claim(2)
            a_claimable_invoice()
        with CaptureQueriesContext(connection) as queries:
            create_claim_files()
        counts.append(len(queries))
    assert abs(counts[1] - counts[0]) <= 4  # many rows go by COPY


def test_numbers_and_references_are_never_used_again():
    a_claimable_claim(2)
    [first] = create_claim_files()
    withdraw(first.pk)
    [second] = create_claim_files()
    assert second.number == first.number + 1
    assert first.file_name != second.file_name
    references = list(ClaimFileLine.objects.values_list("reference", flat=True))
    assert len(references) == len(set(references)) == 4
    assert list(first.lines.values_list("is_withdrawn", flat=True)) == [True, True]
    rows_of(second)


def test_a_number_that_is_given_again_after_a_restore_has_another_mark():
    """An older backup has an older sequence: what makes names and references differ then is their mark."""
    a_claimable_claim()
    [first] = create_claim_files()
    name = first.file_name
    ClaimFile.objects.get().lines.all().delete()
    ClaimFile.objects.all().delete()
    Claim.objects.update(funding_status="Approved")
    NumberSequence.objects.filter(name="claim file").update(next_number=first.number)
    [again] = create_claim_files()
    assert again.number == first.number
    assert again.file_name != name
    assert again.file_name[:9] == name[:9]
    assert len({file_mark(uuid.uuid4()) for _ in range(2_000)}) > 1_990


# --- confirming, sending, withdrawing -------------------------------------------------------------------


def test_what_was_confirmed_is_made_and_nothing_else():
    a_claimable_claim()
    mark = plan_claim_files().mark
    late = a_claimable_claim()
    with pytest.raises(Refusal, match="have changed since the page was made"):
        create_claim_files(mark=mark)
    assert status_of(late) == "Approved"
    assert not ClaimFile.objects.exists()
    assert create_claim_files(mark=plan_claim_files().mark)


def test_what_was_confirmed_with_another_total_is_not_made():
    claim = a_claimable_claim()
    mark = plan_claim_files().mark
    Claim.objects.filter(pk=claim.pk).update(total=Decimal("210.00"))
    claim.line_items.update(quantity=3, total=Decimal("210.00"))
    with pytest.raises(Refusal, match="have changed since the page was made"):
        create_claim_files(mark=mark)


def test_a_file_is_sent_once_and_not_withdrawn_any_more():
    claim = a_claimable_claim()
    [file] = create_claim_files()
    staff = somebody_who_sends()
    sent = mark_sent(file.pk, staff)
    assert (sent.status, sent.sent_by, sent.sent_at) == ("Sent", staff, clock.now())
    with pytest.raises(Refusal, match=f"{file.file_name} is sent already"):
        mark_sent(file.pk, staff)
    with pytest.raises(Refusal, match="is sent already"):
        withdraw(file.pk, staff)
    assert status_of(claim) == "AgencyClaimed"
    rows_of(file)


def test_a_withdrawn_file_stays_and_its_bills_are_approved_again():
    claim, invoice = a_claimable_claim(), a_claimable_invoice()
    [file] = create_claim_files()
    staff = somebody_who_sends()
    withdraw(file.pk, staff)
    file = ClaimFile.objects.get()
    assert (file.status, file.withdrawn_by, file.withdrawn_at) == ("Withdrawn", staff, clock.now())
    assert [status_of(each) for each in (claim, invoice)] == ["Approved", "Approved"]
    move = StatusMove.objects.filter(invoice=invoice).order_by("-id")[0]
    assert (move.verb, move.reason) == ("take-out-of-file", f"The claim file {file} was withdrawn.")
    with pytest.raises(Refusal, match="is withdrawn already"):
        mark_sent(file.pk, staff)
    with pytest.raises(Refusal, match="There is no claim file"):
        withdraw(uuid.uuid4())
    rows_of(file)


def test_a_file_is_withdrawn_whole_or_not():
    gone, other = a_claimable_claim(), a_claimable_claim()
    [file] = create_claim_files()
    apply_transition(Claim, [gone.pk], "ask-to-cancel", reason="Twice")
    with pytest.raises(Refusal, match=f"{gone} is refused: It is cancellation requested"):
        withdraw(file.pk)
    assert status_of(other) == "AgencyClaimed"
    assert ClaimFile.objects.get().status == "NotSent"
    assert not ClaimFileLine.objects.filter(is_withdrawn=True).exists()


def test_nobody_takes_one_bill_out_of_its_file():
    claim = a_claimable_claim()
    [file] = create_claim_files()
    assert "take-out-of-file" not in [row.name for row in list_transitions(claim)]
    by_hand = a_claimable_claim(funding_status="AgencyClaimed")
    mark_sent(file.pk)
    messages = [
        apply_transition(Claim, [bill.pk], "take-out-of-file").refused[0].message for bill in (claim, by_hand)
    ]
    assert messages == [f"Its claim file {file} was sent.", "It stands in no claim file."]


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        ("send_claim_files", "lacks the permission to make, send and withdraw claim files"),
        ("claim_funding_invoices", "lacks the permission to claim from the agency"),
        ("administer_funding_invoices", "lacks the permission to administer funding invoices"),
    ],
)
def test_who_makes_a_file_needs_the_permissions(left_out, message):
    claim = a_claimable_claim()
    with pytest.raises(Refusal, match=message):
        create_claim_files(staff=somebody_who_sends(left_out))
    assert status_of(claim) == "Approved"
    assert not ClaimFile.objects.exists()


def test_who_sends_or_withdraws_a_file_needs_the_permission():
    a_claimable_claim()
    [file] = create_claim_files()
    for service in (mark_sent, withdraw):
        with pytest.raises(Refusal, match="lacks the permission to make, send and withdraw"):
            service(file.pk, somebody_who_sends("send_claim_files"))


def test_a_failure_on_the_way_leaves_nothing(monkeypatch):
    claim = a_claimable_claim()

    def fail(*args, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(claim_files, "apply_to_all", fail)
    with pytest.raises(ZeroDivisionError):
        create_claim_files()
    assert status_of(claim) == "Approved"
    assert not ClaimFile.objects.exists()
    assert not ClaimFileLine.objects.exists()


def test_a_line_that_was_withdrawn_may_be_replaced_afterwards():
    claim = a_claimable_claim(2)
    [file] = create_claim_files()
    withdraw(file.pk)
    claim.line_items.first().delete()
    assert file.lines.filter(claim_line=None).count() == 1
    assert sum(file.lines.values_list("amount", flat=True)) == file.total


# --- damage ---------------------------------------------------------------------------------------------


def test_verify_names_a_file_whose_bytes_lines_or_bills_differ():
    claim = a_claimable_claim()
    [file] = create_claim_files()
    assert list(find_wrong_money()) == []
    content = bytes(file.content)
    for change, fault in (
        (
            lambda: ClaimFile.objects.update(content=content + b" "),
            "its bytes are not those that were made: the SHA-256 differs",
        ),
        (
            lambda: ClaimFile.objects.update(total=Decimal("1.00")),
            "1.00 in 1 line, its lines come to 140.00 in 1",
        ),
        (lambda: file.lines.update(is_withdrawn=True), "1 of its lines is marked otherwise than the file"),
        (
            lambda: Claim.objects.update(funding_status="Approved"),
            f"{claim} is in it, and is Approved",
        ),
    ):
        change()
        assert [text for text in find_wrong_money() if text.startswith("claim file")] == [
            f"claim file {file}, {fault}"
        ]
        ClaimFile.objects.update(content=content, total=file.total)
        file.lines.update(is_withdrawn=False)
        Claim.objects.update(funding_status="AgencyClaimed")
    assert list(find_wrong_money()) == []


def test_an_invoice_in_a_file_is_looked_at_as_well():
    a_claimable_invoice()
    create_claim_files()
    Invoice.objects.update(funding_status="OnHold")
    assert "is OnHold" in next(text for text in find_wrong_money() if text.startswith("claim file"))
