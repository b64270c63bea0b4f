"""Statements: each is its participant's claims, made once; a corrected one says what changed."""

import datetime as dt
import hashlib
import random
import shutil
import subprocess
from decimal import Decimal

import pytest

from apps.base import clock
from apps.base.errors import Refusal
from apps.base.money import ZERO
from apps.core.models import Change, Subscriber
from apps.engagements.models import ServiceBooking
from apps.engagements.plan_copies import PlanTerms
from apps.funding.models import Claim, ClaimResult
from apps.funding.services.plan_changes import change_plan
from apps.funding.services.transitions import apply_transition, list_transitions
from apps.payments.models import Statement
from apps.payments.services.statements import Made, count_changed, make_statements, with_first_change
from apps.payments.statement_text import statement_text
from tests.engagements.builders import a_booking, a_category_budget, a_pace_plan, a_plan, with_periods
from tests.funding.builders import a_claim_file, an_invoice
from tests.payments.statement_builders import MONTH, a_claim_of_the_month, a_line, a_statement
from tests.people.records import a_client, a_contact

pytestmark = pytest.mark.django_db

PLAN = {"plan_start_date": dt.date(2025, 7, 1), "plan_end_date": dt.date(2026, 6, 30)}


def a_participant(**columns):
    """Somebody with a plan in the month, and a budget in it."""
    contact = a_contact(scheme_number="430123456", **columns)
    a_booking(a_plan(participant=contact, **PLAN), budget=Decimal("1000.00"))
    return contact


def a_pace_participant():
    """Somebody with a PACE plan in the month, whose component has funding periods."""
    contact = a_contact(scheme_number="430123456")
    component = a_category_budget(a_pace_plan(participant=contact, **PLAN), budget=Decimal("1000.00"))
    with_periods(component, ("2025-07-01", "2025-12-31", "500.00"), ("2026-01-01", "2026-06-30", "500.00"))
    return contact


def sums(statement):
    return tuple(str(getattr(statement, name)) for name in ("paid", "claimed", "waiting", "refused"))


def said_of(statement):
    return statement_text(statement, list(statement.lines.all()), list(statement.budgets.all()))


# --- the figures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "paid", "expected"),
    [
        ("AwaitingStaffApproval", "0.00", ("0.00", "0.00", "20.00", "0.00")),
        ("OnHold", "0.00", ("0.00", "0.00", "20.00", "0.00")),
        ("Approved", "0.00", ("0.00", "0.00", "20.00", "0.00")),
        ("AgencyClaimed", "0.00", ("0.00", "20.00", "0.00", "0.00")),
        ("AgencyPartiallyPaid", "15.00", ("15.00", "5.00", "0.00", "0.00")),
        ("AgencyFullyPaid", "20.00", ("20.00", "0.00", "0.00", "0.00")),
        ("AgencyFullyPaid", "18.00", ("18.00", "0.00", "0.00", "0.00")),
        ("PaymentProviderCancelled", "0.00", ("0.00", "0.00", "0.00", "0.00")),
        ("PaymentProviderRejected", "0.00", ("0.00", "0.00", "0.00", "20.00")),
    ],
)
def test_a_claim_counts_by_its_status(status, paid, expected):
    contact = a_participant()
    a_claim_of_the_month(contact, "20.00", paid, status)
    assert sums(a_statement(contact)) == expected


def test_what_is_of_the_month_is_decided_by_the_last_day_of_a_line():
    contact = a_participant()
    for day in (dt.date(2025, 9, 30), dt.date(2025, 10, 1), dt.date(2025, 10, 31), dt.date(2025, 11, 1)):
        a_claim_of_the_month(contact, "1.00", line={"day": day})
    a_claim_of_the_month(contact, "9.00", archive_date=clock.now())
    a_claim_of_the_month(a_participant(), "7.00")
    assert a_statement(contact).claimed == Decimal("2.00")


def test_lines_that_the_agency_refused_are_refused_with_its_words():
    contact = a_participant()
    claim = a_claim_of_the_month(contact, "20.00")
    file = a_claim_file([claim])
    ClaimResult.objects.create(
        file_line=file.lines.get(), is_accepted=False, code="C04", text="Over the budget", file_name="r.csv"
    )
    statement = a_statement(contact)
    assert sums(statement) == ("0.00", "0.00", "0.00", "20.00")
    assert [row.outcome for row in said_of(statement).pending] == ["Refused: Over the budget"]


def test_the_longest_reason_is_told_whole():
    contact, reason = a_participant(), "x" * 400
    a_claim_of_the_month(contact, "20.00", status="PaymentProviderRejected", status_reason=reason)
    assert [row.outcome for row in said_of(a_statement(contact)).pending] == [f"Refused: {reason}"]


def test_a_claim_and_its_resubmission_are_told_once():
    contact = a_participant()
    claim = a_claim_of_the_month(contact, "20.00", status="PaymentProviderRejected")
    apply_transition(Claim, [claim.pk], "resubmit")
    assert sums(a_statement(contact)) == ("0.00", "0.00", "20.00", "0.00")
    partly = a_claim_of_the_month(contact, "30.00", "10.00", "AgencyPartiallyPaid")
    apply_transition(Claim, [partly.pk], "resubmit-gap")
    assert sums(a_statement(contact)) == ("10.00", "0.00", "40.00", "0.00")


def test_a_claim_whose_resubmission_was_archived_is_refused_as_before():
    contact = a_participant()
    claim = a_claim_of_the_month(contact, "20.00", status="PaymentProviderRejected")
    made = apply_transition(Claim, [claim.pk], "resubmit").resubmissions
    assert apply_transition(Claim, [made[claim.pk]], "archive").done
    assert sums(a_statement(contact)) == ("0.00", "0.00", "0.00", "20.00")


def test_invoices_to_the_agency_count_and_those_to_the_client_do_not():
    Subscriber(name="Southern Light").save()
    contact = a_participant()
    an_invoice([a_line("20.00")], contact=contact, funding_status="AgencyClaimed")
    an_invoice(
        [a_line("70.00")], contact=contact, invoice_claim_type="InvoiceToClient", funding_status="Sent"
    )
    statement = a_statement(contact)
    assert sums(statement) == ("0.00", "20.00", "0.00", "0.00")
    assert statement.lines.get().provider == "Southern Light"


def test_spending_stands_by_budget_and_provider_and_what_waits_with_its_reason():
    contact = a_participant()
    booking = ServiceBooking.objects.get()
    first, second = a_client(business_name="Allied"), a_client(business_name="Better")
    for provider, amount, line in (
        (first, "10.00", {"booking": booking}),
        (first, "5.00", {"booking": booking}),
        (second, "3.00", {"booking": booking}),
        (second, "2.00", {}),
    ):
        a_claim_of_the_month(contact, amount, provider=provider, line=line)
    a_claim_of_the_month(
        contact,
        "4.00",
        status="OnHold",
        status_reason="Asked the family",
        provider=first,
        provider_invoice_reference="A-9",
    )
    said = said_of(a_statement(contact))
    assert [(row.label, row.sum) for row in said.spent] == [
        *(("Assistance with Daily Life", "$18.00"), ("Allied", "$15.00"), ("Better", "$3.00")),
        *(("Not in a budget of the plan", "$2.00"), ("Better", "$2.00"), ("Total", "$20.00")),
    ]
    (row,) = said.pending
    assert (row.provider, row.invoice, row.amount) == ("Allied", "A-9", "$4.00")
    assert row.outcome == "Waiting: Asked the family"
    assert said.summary[0] == "$20.00 of your plan was spent on supports of October 2025."


def test_what_is_left_and_when_it_runs_out_are_those_of_the_plan_of_the_month():
    contact = a_contact()
    plan = a_pace_plan(participant=contact, **PLAN)
    a_category_budget(plan, 16, budget="100.00", claimed="80.00")
    a_category_budget(plan, 17, budget="50.00")
    a_category_budget(plan, 18, budget="30.00", claimed="30.00")
    a_plan(participant=contact, plan_start_date=dt.date(2024, 7, 1), plan_end_date=dt.date(2025, 6, 30))
    with clock.set_to(dt.datetime(2025, 11, 7, 12, tzinfo=dt.UTC)):
        statement = a_statement(contact)
    said = said_of(statement)
    assert [(row.budget, row.used, row.left) for row in said.budgets] == [
        ("$100.00", "$80.00", "$20.00"),
        ("$50.00", "$0.00", "$50.00"),
        ("$30.00", "$30.00", "$0.00"),
    ]
    # 80.00 in 130 days: 20.00 last 32 days more.
    assert [row.forecast for row in said.budgets] == [
        "At this pace it runs out about 9 Dec 2025.",
        "Nothing is used yet.",
        "It is used up.",
    ]
    assert said.summary[-1] == "On 7 Nov 2025, $70.00 was left of your plan, which ends on 30 Jun 2026."


def test_of_two_plans_in_the_month_the_later_one_is_told():
    contact = a_contact()
    for first, last, budget in (
        (dt.date(2024, 10, 11), dt.date(2025, 10, 10), "10.00"),
        (dt.date(2025, 10, 11), dt.date(2026, 10, 10), "20.00"),
    ):
        plan = a_plan(participant=contact, plan_start_date=first, plan_end_date=last)
        a_booking(plan, budget=Decimal(budget))
    statement = a_statement(contact)
    assert [row.budget for row in said_of(statement).budgets] == ["$20.00"]
    assert statement.plan_last_day == dt.date(2026, 10, 10)
    assert (
        said_of(statement).summary[-1]
        == "It began on 11 Oct 2025: supports of earlier days do not count on it."
    )


def test_a_booking_that_ended_within_the_month_has_ended_and_does_not_last_as_long_as_the_plan():
    contact = a_contact()
    plan = a_plan(participant=contact, **PLAN)
    ended = {"booking_start_date": dt.date(2025, 7, 1), "booking_end_date": dt.date(2025, 10, 15)}
    booking = a_booking(plan, budget=Decimal("100.00"), claimed=Decimal("20.00"), **ended)
    a_claim_of_the_month(contact, "20.00", line={"booking": booking, "day": ended["booking_end_date"]})
    a_claim_of_the_month(contact, "7.00", line={"day": dt.date(2025, 10, 16)})
    a_booking(plan, category=15, budget=Decimal("50.00"))
    with clock.set_to(dt.datetime(2025, 11, 7, 12, tzinfo=dt.UTC)):
        said = said_of(a_statement(contact))
    assert [row.forecast for row in said.budgets] == ["It ended on 15 Oct 2025.", "Nothing is used yet."]
    assert [(row.label, row.sum) for row in said.spent if row.is_sum] == [
        ("Assistance with Daily Life", "$20.00"),
        ("Not in a budget of the plan", "$7.00"),
        ("Total", "$27.00"),
    ]


@pytest.mark.both_engines("the last day of a plan is computed in SQL")
@pytest.mark.parametrize(("no_plan_from", "made"), [((2025, 10, 1), 0), ((2025, 10, 2), 1), (None, 1)])
def test_a_participant_whose_plan_ended_early_has_statements_of_its_months_alone(no_plan_from, made):
    end = no_plan_from and dt.date(*no_plan_from)
    contact = a_contact()
    a_booking(a_plan(participant=contact, no_active_plan_from_date=end, **PLAN))
    with clock.set_to(dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)):
        assert make_statements(MONTH).made == made
        said = said_of(a_statement(contact))
    last = "ended on 1 Oct 2025." if end else "ends on 30 Jun 2026."
    expected = [f"On 5 Jan 2026, $100.00 was left of your plan, which {last}"]
    assert said.summary[1:] == expected * made


# --- making them ----------------------------------------------------------------------------------------


def test_each_participant_with_a_plan_in_the_month_gets_one_and_a_second_time_changes_nothing():
    people = [a_participant() for _ in range(3)]
    a_contact()
    ended = a_contact()
    a_plan(participant=ended, plan_start_date=dt.date(2024, 1, 1), plan_end_date=dt.date(2025, 9, 30))
    a_participant(archive_date=clock.now())
    a_claim_of_the_month(people[0])
    assert make_statements(MONTH) == Made(3, 0, 0)
    before = list(Statement.objects.values())
    assert make_statements(MONTH) == Made(0, 0, 3)
    assert list(Statement.objects.values()) == before
    assert Change.objects.filter(record_type="payments.statement").count() == 3
    statement = Statement.objects.get(contact=people[0])
    assert hashlib.sha256(bytes(statement.content)).hexdigest() == statement.sha256


def test_a_corrected_one_says_what_changed_and_the_one_before_is_kept():
    contact = a_participant()
    provider = a_client(business_name="Allied")
    kept = {"provider": provider, "provider_invoice_reference": "A-1"}
    claim = a_claim_of_the_month(contact, "20.00", **kept)
    gone = a_claim_of_the_month(contact, "5.00", provider=provider, provider_invoice_reference="A-2")
    first = a_statement(contact)
    content = bytes(first.content)
    apply_transition(Claim, [claim.pk], "pay")
    Claim.objects.filter(pk=gone.pk).update(archive_date=clock.now())
    a_claim_of_the_month(contact, "7.00", provider=provider, provider_invoice_reference="A-3")
    second = a_statement(contact)
    where = "(Not in a budget of the plan)"
    assert sorted(second.changes.splitlines()) == [
        f"Allied, invoice A-1 {where}: it was $20.00 claimed, not paid yet, and is $20.00 paid.",
        f"New: Allied, invoice A-3 {where}, $7.00 claimed, not paid yet.",
        f"Not in it any more: Allied, invoice A-2 {where}, $5.00 claimed, not paid yet.",
    ]
    assert (second.version, str(second)) == (2, "October 2025, version 2")
    first.refresh_from_db()
    assert first.is_replaced
    assert bytes(first.content) == content
    assert first.lines.count() == 2


def test_a_corrected_one_tells_of_an_invoice_that_is_claimed_once_more_as_one_thing():
    contact = a_participant()
    provider = a_client(business_name="Allied")
    of_provider = {"provider": provider, "provider_invoice_reference": "A-1"}
    refused = a_claim_of_the_month(contact, status="PaymentProviderRejected", **of_provider)
    of_provider["provider_invoice_reference"] = "A-2"
    partly = a_claim_of_the_month(contact, "30.00", "10.00", "AgencyPartiallyPaid", **of_provider)
    a_statement(contact)
    apply_transition(Claim, [refused.pk], "resubmit")
    apply_transition(Claim, [partly.pk], "resubmit-gap")
    where = "(Not in a budget of the plan)"
    assert a_statement(contact).changes.splitlines() == [
        f"Allied, invoice A-2 {where}: it was $10.00 paid, $20.00 claimed, not paid yet, and is $10.00 paid.",
        f"Allied, invoice A-1 {where}: it was $20.00 refused."
        " It is claimed once more, and is $20.00 waiting.",
        f"Claimed once more: Allied, invoice A-2 {where}, $20.00 waiting.",
    ]


def first_change(statement):
    """When its claims first changed since it was made; the number on the page of its month says the same."""
    found = with_first_change(Statement.objects.filter(pk=statement.pk)).get().first_change
    assert count_changed(statement.month) == (found is not None)
    return found


@pytest.mark.both_engines("a month is computed in SQL")
def test_claims_and_invoices_of_the_month_that_change_after_a_statement_was_made_are_found():
    contact = a_participant()
    claim = a_claim_of_the_month(contact)
    statement = a_statement(contact)
    a_claim_of_the_month(a_participant())
    a_claim_of_the_month(contact, line={"day": dt.date(2025, 9, 30)})
    a_claim_of_the_month(contact, line={"day": dt.date(2025, 11, 1)})
    an_invoice([a_line()], contact=contact, invoice_claim_type="InvoiceToClient")
    assert first_change(statement) is None
    clock.reset_now()
    apply_transition(Claim, [claim.pk], "pay")
    claim.refresh_from_db()
    assert first_change(statement) == claim.modify_date
    corrected = a_statement(contact)
    assert first_change(corrected) is None
    clock.reset_now()
    invoice = an_invoice([a_line(day=dt.date(2025, 10, 31))], contact=contact)
    assert first_change(corrected) == invoice.modify_date


@pytest.mark.both_engines("a month is computed in SQL")
@pytest.mark.parametrize("leaves", ["month", "participant", "plan"])
def test_what_left_the_participant_or_month_of_a_statement_is_found_too(leaves):
    contact = a_participant()
    claim = a_claim_of_the_month(contact)
    invoice = an_invoice([a_line()], contact=contact)
    statement = a_statement(contact)
    clock.reset_now()
    if leaves == "month":
        claim.line_items.update(last_day=dt.date(2025, 11, 1))
        claim.due_date, changed = dt.date(2025, 12, 1), claim
    elif leaves == "participant":
        claim.contact, changed = a_participant(), claim
    else:
        invoice.invoice_claim_type, changed = "InvoiceToClient", invoice
    changed.save()
    assert first_change(statement) == changed.modify_date
    assert first_change(a_statement(contact)) is None


def test_a_plan_from_a_day_in_the_past_corrects_the_statements_of_its_days_alone():
    contact = a_participant()
    plan = contact.engagements.get()
    claim = a_claim_of_the_month(contact, line={"booking": ServiceBooking.objects.get()})
    months = [dt.date(2025, month, 1) for month in (9, 10, 11)]
    for month in months:
        a_statement(contact, month)
    change_plan(plan.pk, PlanTerms(dt.date(2025, 10, 10), dt.date(2026, 10, 9), Decimal("900.00")))
    assert [make_statements(month).corrected for month in months] == [0, 1, 1]
    told = Statement.objects.get(month=MONTH, is_replaced=False)
    assert told.changes == "What is left is that of your plan from 10 Oct 2025 on."
    assert (told.claimed, claim.total) == (Decimal("20.00"), Decimal("20.00"))  # stays where it was claimed
    assert [make_statements(month).corrected for month in months] == [0, 0, 0]


def test_after_a_merge_the_next_one_takes_the_place_of_both():
    contact, duplicate = a_participant(), a_participant()
    for each in (contact, duplicate):
        a_claim_of_the_month(each)
        a_statement(each)
    Claim.objects.update(contact=contact)
    Statement.objects.update(contact=contact)
    statement = a_statement(contact)
    assert (statement.version, statement.claimed) == (2, Decimal("40.00"))
    assert Statement.objects.filter(is_replaced=True).count() == 2


def test_a_month_that_is_not_over_has_no_statements():
    with pytest.raises(Refusal, match="is not over"):
        make_statements(clock.today().replace(day=1))


def test_the_statements_of_sql_are_constant(django_assert_max_num_queries):
    make_statements(MONTH, [a_participant().pk, a_pace_participant().pk])  # what is loaded once
    counts = set()
    for count in (12, 30):
        people = [a_participant() for _ in range(count)]
        booking = ServiceBooking.objects.first()
        people += [a_pace_participant() for _ in range(count // 6)]
        for contact in people:
            a_claim_of_the_month(contact, line={"booking": booking})
        with django_assert_max_num_queries(20) as found:
            make_statements(MONTH, [each.pk for each in people])
        # The settings of the organisation are read again when they are old.
        counts.add(sum("core_subscriber" not in query["sql"] for query in found.captured_queries))
    assert len(counts) == 1


@pytest.mark.skipif(shutil.which("pdfinfo") is None, reason="pdfinfo is not installed")
def test_the_document_is_read_aloud_in_its_order_and_has_its_figures(tmp_path):
    contact = a_participant(first_name="Thị Hòa", last_name="Nguyễn")
    a_claim_of_the_month(contact, "20.00", "20.00", "AgencyFullyPaid")
    a_claim_of_the_month(contact, "5.00", status="PaymentProviderRejected", status_reason="No agreement")
    file = tmp_path / "statement.pdf"
    file.write_bytes(bytes(a_statement(contact).content))
    found = subprocess.run(["pdfinfo", "-struct-text", file], capture_output=True, text=True, check=True)
    lines = [line.strip().strip('"') for line in found.stdout.splitlines()]
    kinds = [line for line in lines if line.endswith("(block)")]
    assert (kinds[0], kinds.count("H1 (block)"), kinds.count("H2 (block)")) == ("H1 (block)", 1, 4)
    assert kinds.count("Table (block)") == 3
    text = " ".join(lines)
    for expected in ("Thị Hòa Nguyễn", "October 2025", "$20.00", "Refused: No agreement", "$1,000.00"):
        assert expected in text


# --- whatever happens -----------------------------------------------------------------------------------

CLAIMED = {"AgencyClaimed", "AgencyPartiallyPaid", "PaymentProviderCancellationRequested"}
WAITING = {"AwaitingStaffApproval", "OnHold", "Approved"}


def expected_sums(contact):
    """What the claims of a participant come to, counted claim by claim as the page of statements says."""
    found = dict.fromkeys(("paid", "claimed", "waiting", "refused"), ZERO)
    for claim in Claim.objects.filter(contact=contact, archive_date=None):
        newer = Claim.objects.filter(resubmission_of=claim, archive_date=None).first()
        took_all = newer is not None and newer.paid_earlier > 0
        paid = ZERO if took_all else claim.amount_paid
        found["paid"] += paid
        rest = claim.total - claim.amount_paid
        if newer is None and claim.funding_status in CLAIMED:
            found["claimed"] += rest
        elif newer is None and claim.funding_status in WAITING:
            found["waiting"] += rest
        elif newer is None and claim.funding_status == "PaymentProviderRejected":
            found["refused"] += rest
    return tuple(map(str, found.values()))


def changed_references(before, after):
    """The references of the lines whose amounts differ between two statements."""

    def amounts(statement):
        return {(line.reference, line.number, sums(line)) for line in statement.lines.all()}

    return {reference for reference, *_ in amounts(before) ^ amounts(after)}


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_each_statement_is_its_claims(monkeypatch, seed):
    """After any steps a statement is the claims, its lines are its sums, and changes name what is other."""
    # Half of the time was to set the document, which is looked at elsewhere.
    monkeypatch.setattr("apps.payments.statement_pdf.statement_pdf", lambda *_: b"%PDF")
    chance = random.Random(seed)
    contact = a_participant()
    booking, moves, before = ServiceBooking.objects.get(), set(), None
    for number in range(60):
        claims = list(Claim.objects.filter(archive_date=None).order_by("pk"))
        movable = [each for each in claims if list_transitions(each)]
        if len(movable) < 4:
            a_claim_of_the_month(
                contact,
                chance.choice(["0.01", "20.00", "99.95"]),
                status="AwaitingStaffApproval",
                line={"booking": booking},
                provider_invoice_reference=f"<{number}>",
            )
        else:
            claim = chance.choice(movable)
            name, part = chance.choice(list_transitions(claim)).name, {claim.pk: Decimal("0.01")}
            result = apply_transition(Claim, [claim.pk], name, None, "because", part)
            moves |= {name} if result.done else set()
        if chance.random() < 0.5:
            continue
        statement = a_statement(contact)
        assert sums(statement) == expected_sums(contact)
        for column in ("paid", "claimed", "waiting", "refused"):
            lines = statement.lines.all()
            assert sum((getattr(each, column) for each in lines), ZERO) == getattr(statement, column)
        if before is not None and before.pk != statement.pk:
            assert statement.version == before.version + 1
            named = {f"<{part.split('>')[0]}>" for part in statement.changes.split("<")[1:]}
            assert named == changed_references(before, statement) != set()
        before = statement
    assert len(moves) > 5
