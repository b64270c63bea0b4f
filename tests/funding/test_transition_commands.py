"""The commands ``move_claims`` and ``move_invoices``."""

from io import StringIO

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.core.models import Change
from apps.funding.models import Claim, StatusMove
from tests.funding.builders import a_claim, a_warned_claim, an_invoice
from tests.people.builders import a_role, a_staff_member

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_changed_since")]


def ran(command, *words):
    """(exit status, what was printed)."""
    out = StringIO()
    try:
        call_command(command, *words, stdout=out)
    except SystemExit as stop:
        return stop.code, out.getvalue().splitlines()
    return 0, out.getvalue().splitlines()


def status(bill):
    bill.refresh_from_db()
    return bill.funding_status


def test_numbers_are_found_without_regard_to_case_and_blanks():
    claim = a_claim(claim_number="CLM-0000012")
    assert ran("move_claims", "approve", "clm-0000012") == (0, ["1 moved by the system, 0 refused."])
    assert status(claim) == "Approved"
    move = StatusMove.objects.get()
    assert (move.staff_id, move.application) == (None, None)


def test_refused_ones_are_listed_and_the_others_moved():
    waiting, cancelled = a_claim(), a_claim(funding_status="PaymentProviderCancelled")
    assert ran("move_claims", "approve", cancelled.claim_number, "X-1", waiting.claim_number) == (
        1,
        [
            "X-1: there is no claim of this number.",
            f"{cancelled}: It is cancelled. Possible from there: resubmit in full, resubmit the gap,"
            " archive.",
            "1 moved by the system, 2 refused.",
        ],
    )
    assert (status(waiting), status(cancelled)) == ("Approved", "PaymentProviderCancelled")


def test_a_person_moves_in_their_own_name_with_their_own_permission():
    role = a_role()
    role.permissions.set(Permission.objects.filter(codename__endswith="_funding_invoices"))
    jo, al, claim = a_staff_member(role=role), a_staff_member(), a_claim()
    code, said = ran("move_claims", "approve", str(claim), "--by", al.primary_email)
    assert (code, status(claim)) == (1, "AwaitingStaffApproval")
    assert "may not change the status of claims and invoices" in said[0]
    assert ran("move_claims", "approve", str(claim), "--by", jo.primary_email.upper())[0] == 0
    assert StatusMove.objects.get().staff_id == jo.pk
    assert Change.objects.filter(record_type="funding.claim").first().staff_id == jo.pk


def test_a_dry_run_moves_nothing():
    claim, rejected = a_claim(), a_claim(funding_status="PaymentProviderRejected")
    assert ran("move_claims", "approve", str(claim), "--dry-run") == (
        0,
        ["1 would be moved by the system, 0 refused."],
    )
    assert ran("move_claims", "resubmit", str(rejected), "--dry-run") == (
        0,
        [f"{rejected}: would be resubmitted.", "1 would be moved by the system, 0 refused."],
    )
    assert (status(claim), Claim.objects.count(), StatusMove.objects.count()) == (
        "AwaitingStaffApproval",
        2,
        0,
    )


def test_those_with_warnings_are_listed_and_left_out_unless_they_are_asked_for():
    plain, warned = a_claim(), a_warned_claim("TooOld", "OverBudget")
    listed = [
        f"{warned}: with warnings, left out.",
        "  Too old: A message of TooOld",
        "  Over budget: A message of OverBudget",
    ]
    left_out = "1 left out: with warnings, --with-warnings takes them too, 0 refused."
    numbers = (str(warned), str(plain))
    dry_run = ran("move_claims", "approve", *numbers, "--dry-run")
    assert dry_run == (1, [*listed, f"1 would be moved by the system, {left_out}"])
    assert ran("move_claims", "approve", *numbers) == (1, [*listed, f"1 moved by the system, {left_out}"])
    assert (status(plain), status(warned)) == ("Approved", "AwaitingStaffApproval")
    listed[0] = f"{warned}: with warnings."
    approved = (0, [*listed, "1 moved by the system, 0 refused."])
    assert ran("move_claims", "approve", str(warned), "--with-warnings") == approved
    assert status(warned) == "Approved"
    assert [each["code"] for each in warned.moves.get().warnings] == ["TooOld", "OverBudget"]
    assert plain.moves.get().warnings == []


def test_what_is_refused_anyway_is_not_said_to_be_left_out():
    """The reason that stands in the way comes first; another person has to look at the warnings."""
    al, warned = a_staff_member(), a_warned_claim("TooOld", funding_status="AgencyClaimed")
    assert "It is claimed from the agency" in ran("move_claims", "approve", str(warned))[1][0]
    waiting = a_warned_claim("TooOld")
    code, said = ran("move_claims", "approve", str(waiting), "--by", al.primary_email)
    assert (code, len(said), said[-1]) == (1, 2, f"0 moved by {al}, 1 refused.")


def test_other_transitions_do_not_ask_about_warnings():
    claim = a_warned_claim("TooOld")
    assert ran("move_claims", "hold", str(claim), "--reason", "Later")[0] == 0


def test_a_file_says_what_was_paid_of_each(tmp_path):
    one, other = (a_claim([{"quantity": "1", "price": "100"}], funding_status="AgencyClaimed") for _ in "ab")
    file = tmp_path / "paid.csv"
    file.write_text(f"\ufeff{one} , 40.00\r\n\r\n{other},\r\n")
    options = ("--file", str(file), "--amount", "12.50", "--date", "2026-01-02")
    assert ran("move_claims", "pay-in-part", *options) == (0, ["2 moved by the system, 0 refused."])
    for claim, paid in ((one, "40.00"), (other, "12.50")):
        claim.refresh_from_db()
        assert (str(claim.amount_paid), claim.payment_date.isoformat()[:10]) in {
            (paid, "2026-01-01"),  # SQLite tells times in UTC
            (paid, "2026-01-02"),
        }


def test_a_file_says_what_was_paid_further_of_each(tmp_path):
    claims = [a_claim([{"quantity": "1", "price": "100"}], funding_status="AgencyClaimed") for _ in "ab"]
    file = tmp_path / "paid.csv"
    file.write_text(f"{claims[0]},40.00\n{claims[1]},12.50\n")
    for name in ("pay-in-part", "pay-further"):
        options = ("--file", str(file))
        assert ran("move_claims", name, *options) == (0, ["2 moved by the system, 0 refused."])
    assert [status(claim) for claim in claims] == ["AgencyPartiallyPaid"] * 2
    assert [str(claim.amount_paid) for claim in claims] == ["80.00", "25.00"]


def test_money_is_taken_back_of_one_claim_at_a_time(tmp_path):
    one, other = (a_claim([{"quantity": "1", "price": "100"}], funding_status="AgencyClaimed") for _ in "ab")
    ran("move_claims", "pay", str(one), str(other))
    reason = ("--reason", "Debt 17")
    numbers = (str(one), str(other))
    assert ran("move_claims", "take-back", *numbers, *reason, "--amount", "30")[1] == [
        f"{one}: Money taken back: one at a time, not 2 at once.",
        f"{other}: Money taken back: one at a time, not 2 at once.",
        "0 moved by the system, 2 refused.",
    ]
    assert ran("move_claims", "take-back", str(one), *reason, "--amount", "30")[0] == 0
    assert (status(one), str(one.amount_paid)) == ("AgencyPartiallyPaid", "70.00")
    file = tmp_path / "taken.csv"
    file.write_text(f"{one},70.00\n")
    assert ran("move_claims", "take-back", *reason, "--file", str(file))[0] == 0
    assert (status(one), str(one.amount_paid)) == ("PaymentProviderCancelled", "0.00")


def test_resubmissions_are_reported():
    claim = a_claim(funding_status="PaymentProviderRejected")
    code, said = ran("move_claims", "resubmit-gap", str(claim))
    new = Claim.objects.get(resubmission_of=claim)
    assert (code, said[0]) == (0, f"{claim}: resubmitted as {new}.")


def test_invoices_have_transitions_of_their_own():
    invoice = an_invoice(funding_status="Approved", invoice_claim_type="InvoiceToClient")
    assert ran("move_invoices", "send", str(invoice))[0] == 0
    assert ran("move_invoices", "client-rejects", str(invoice)) == (
        1,
        [f"{invoice}: Client rejects: give a reason.", "0 moved by the system, 1 refused."],
    )
    assert ran("move_invoices", "client-rejects", str(invoice), "--reason", "Hours")[0] == 0
    assert status(invoice) == "ClientRejected"
    with pytest.raises(CommandError, match="invalid choice: 'send'"):
        call_command("move_claims", "send", "C-1")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["approve"], "Give a number, or a file of numbers."),
        (["approve", "C-1", "--by", "nobody@example.org"], "Nobody has the email nobody@example.org."),
        (["approve", "--file", "/nowhere.csv"], "/nowhere.csv cannot be read: No such file or directory"),
        (["pay-in-part", "C-1", "--amount", "much"], "much is no amount; 1234.50 is one."),
        (["pay-in-part", "C-1", "c-1", "--amount", "5"], "c-1 is given twice: sum its payments up."),
        (["pay", "C-1", "--with-warnings"], "--with-warnings is for approve."),
        (["pay", "C-1", "--date", "2026-02-30"], "2026-02-30 is no date; write it as 2026-07-31."),
    ],
)
def test_what_cannot_be_tried_is_reported(words, said):
    with pytest.raises(CommandError, match=said) as raised:
        call_command("move_claims", *words)
    assert raised.value.returncode != 0


def test_an_invalid_amount_in_a_file_is_reported_with_its_line(tmp_path):
    file = tmp_path / "paid.csv"
    file.write_text("C-1,40.00\n\nC-2,forty\n")
    with pytest.raises(CommandError) as raised:
        call_command("move_claims", "pay-in-part", "--file", str(file))
    assert str(raised.value) == f"{file}, line 3: forty is no amount; 1234.50 is one."
    assert raised.value.returncode == 2


def test_a_claim_may_be_paid_on_any_day_of_the_last_seven_years(at):
    at("2026-05-03 10:00")
    claim = a_claim(funding_status="AgencyClaimed")
    for day in ("0001-01-01", "1899-12-31", "2019-05-02", "2999-01-01"):
        status, lines = ran("move_claims", "pay", str(claim), "--date", day)
        assert (status, "The day of payment, " in "".join(lines)) == (1, True)
    assert ran("move_claims", "pay", str(claim), "--date", "2019-05-03") == (
        0,
        ["1 moved by the system, 0 refused."],
    )
    claim.refresh_from_db()
    assert timezone.localtime(claim.payment_date).date().isoformat() == "2019-05-03"
