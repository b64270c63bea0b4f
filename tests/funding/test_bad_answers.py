"""Files that are no answers, or bad ones: a plain sentence, in the office and by command; nothing moves."""

import csv
import io

import pytest
from django.core.management import CommandError, call_command

from apps.base import clock
from apps.core.models import FileImport
from apps.funding.file_formats import answer_files
from apps.funding.models import Claim, ClaimResult, Remittance, RemittanceLine, StatusMove
from apps.payments.models import PaymentRunClaim, PaymentRunItem
from apps.payments.services.runs import create_run, release_run
from tests.core.test_file_imports import page, press, upload
from tests.funding.answer_files import REMITTANCE, RESULTS, a_payment, a_result
from tests.funding.builders import a_claim
from tests.funding.claim_files import claimed_lines
from tests.payments.bank_returns import returns_of
from tests.payments.builders import a_paid_claim, a_releaser, an_account, payment_settings
from tests.people.records import a_client
from tests.tasks import run_tasks

pytestmark = pytest.mark.django_db

RESULT, PAID, RETURNS = "results", "remittances", "returned-payments"
COMMANDS = {RESULT: "import_results", PAID: "import_remittances", RETURNS: "import_returns"}
TOO_LARGE = b"x" * ((25 << 20) + 1)


@pytest.fixture(autouse=True)
def today(at):
    at("2026-11-24 12:00")


@pytest.fixture
def lines():
    """The lines of a claim in a file that was sent."""
    return claimed_lines(a_claim(2, funding_status="AgencyClaimed"))


@pytest.fixture
def returns():
    """The bank's file that says that the two payments of a run came back."""
    payment_settings()
    for _ in range(2):
        provider = a_client()
        an_account(provider)
        a_paid_claim("20.00", provider=provider)
    return returns_of(release_run(create_run(None, clock.today(), None).pk, a_releaser()))


@pytest.fixture
def import_both(client, ada, tmp_path):
    """import_both(kind, content) -> what the command said, its status, and what the office's page says."""

    def run(kind, content):
        path = tmp_path / ("bad.txt" if kind == RETURNS else "bad.csv")
        path.write_bytes(content)
        status, said = by_command(path, kind)
        return status, said, in_office(client, path, kind)

    return run


def state():
    """Whatever an answer or a return may change."""
    models = (Claim, ClaimResult, Remittance, RemittanceLine, StatusMove, PaymentRunItem, PaymentRunClaim)
    return [list(model.objects.order_by("pk").values_list()) for model in models]


def by_command(path, kind):
    """The exit status of the command, and what it said."""
    out = io.StringIO()
    try:
        call_command(COMMANDS[kind], str(path), stdout=out, stderr=out)
    except CommandError as error:
        return error.returncode, f"{out.getvalue()}{error}"
    except SystemExit as end:
        return end.code, out.getvalue()
    return 0, out.getvalue()


def in_office(client, path, kind):
    """The words of the page of an uploaded file once a worker has read it, and imported it where it can."""
    answer = upload(client, text=path.read_bytes(), kind=kind, name=path.name)
    if answer.status_code != 302:
        return answer.context["error"]
    run_tasks()
    record = FileImport.objects.get()
    shown = page(client, record)
    if record.status == "Checked":
        press(client, record, "import")
        run_tasks()
        record.refresh_from_db()
    assert not record.is_running
    words = [record.message, *shown["file_import"].notices, *shown["count_texts"], *map(str, shown["rows"])]
    return "\n".join(words)


def answers(*rows, header=None):
    """The bytes of a file of these rows."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, header or list(rows[0]), extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


# --- files that cannot be read --------------------------------------------------------------------------

UNREADABLE = [
    (RESULT, b"Name,Suburb\r\nMia,Perth\r\n", "bad.csv does not hold results of the agency: it lacks Claim"),
    (PAID, b"Name,Suburb\r\nMia,Perth\r\n", "bad.csv does not hold a remittance of the agency: it lacks Pay"),
    (RETURNS, b"Name,Suburb\r\nMia,Perth\r\n", "This file has no returned payment: none of its lines begins"),
    (
        RESULT,
        answers(a_payment("R1", "5.00")),
        "has a remittance of the agency, not results: import it as such",
    ),
    (PAID, answers(a_result("R1")), "has results of the agency, not a remittance: import it as such"),
    (RETURNS, answers(a_payment("R1", "5.00")), "This file has no returned payment"),
    (RESULT, answers(a_result("R1"), header=RESULTS[:1]), "lacks the column Payment Request Status"),
    (
        PAID,
        answers(a_payment("R1", "5"), header=REMITTANCE[5:]),
        "lacks the columns PayReqNum, PayReqDocDate",
    ),
    (RESULT, answers(header=RESULTS), "bad.csv has no rows."),
    (PAID, answers(header=REMITTANCE), "bad.csv has no rows."),
    (RESULT, answers(a_result("R1", "ERROR", "C04\0")), "holds a NUL character; is this a text file?"),
    (PAID, answers(a_payment("R\0", "5")), "holds a NUL character; is this a text file?"),
    (RETURNS, b"2" + b"\0" * 119, "This is no file of returned payments: it holds a NUL character."),
    (RETURNS, "2Zoë".encode(), "This is no file of returned payments: it has characters beyond ASCII."),
    (
        RETURNS,
        b"2999-100 12345678350",
        "Line 1 is no returned payment: it needs 120 characters and an amount.",
    ),
    (RESULT, b"", "bad.csv is empty."),
    (PAID, b"", "bad.csv is empty."),
    (PAID, answers(a_payment("R1", "5", day="yesterday")), "is not in every row a day of the last two years"),
    (
        PAID,
        answers(a_payment("R1", "5", day="20261101"), a_payment("R2", "5", "2", "01112026")),
        "PayReqDocDate, such as “20261101”, is not in every row a day of the last two years, written one way",
    ),
]


@pytest.mark.parametrize(("kind", "content", "sentence"), UNREADABLE)
def test_a_file_that_is_another_or_broken_is_refused_with_a_sentence(
    import_both, lines, returns, kind, content, sentence
):
    before = state()
    status, said, shown = import_both(kind, content)
    assert status in (1, 2)
    assert sentence in said
    assert sentence in shown
    assert len(said.strip().splitlines()) <= 2  # the last says that a file cannot be used
    assert state() == before


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_file_that_is_too_large_is_refused(client, ada, tmp_path, lines, kind):
    path = tmp_path / ("bad.txt" if kind == RETURNS else "bad.csv")
    path.write_bytes(TOO_LARGE)
    before = state()
    status, said = by_command(path, kind)
    assert (status in (1, 2), "is larger than 25 MiB" in said) == (True, True)
    answer = upload(client, text=TOO_LARGE, kind=kind, name=path.name)
    assert answer.status_code == 413
    assert "A file holds at most 26,214,400 bytes. Go back, and split it" in answer.content.decode()
    assert not FileImport.objects.exists()
    assert state() == before


def test_an_empty_file_of_returns_is_refused(import_both, returns):
    before = state()
    status, said, shown = import_both(RETURNS, b"")
    assert (status, said) == (
        1,
        "bad.txt: This file has no returned payment: none of its lines begins with 2.",
    )
    assert shown == "bad.txt is empty."
    assert state() == before


# --- rows with a fault ----------------------------------------------------------------------------------


@pytest.mark.parametrize("amount", ["1.234,50", "12,34.50", "14O.00", "1e3", "NaN", "140.001", "9" * 20])
@pytest.mark.parametrize("kind", [RESULT, PAID])
def test_an_amount_that_may_be_read_two_ways_stops_the_file(import_both, lines, kind, amount):
    good, bad = (line.reference for line in lines)
    rows = {
        RESULT: [a_result(good, amount="140.00"), a_result(bad, amount=amount)],
        PAID: [a_payment(good, "140.00"), a_payment(bad, amount, "2")],
    }
    before = state()
    status, said, shown = import_both(kind, answers(*rows[kind]))
    assert status == 1
    for words in (said, shown):
        assert "row 3" in words
        assert f"It is “{amount}”" in words
    assert state() == before


@pytest.mark.parametrize(
    ("amount", "day"), [("1,234.50", "20261120"), ("$1,234.50", "20112026"), ("1234.5", "1112026")]
)
def test_amounts_and_days_are_taken_as_the_agency_and_spreadsheets_write_them(import_both, amount, day):
    (line,) = claimed_lines(a_claim([{"price": "1234.50", "quantity": "1"}], funding_status="AgencyClaimed"))
    status, said, shown = import_both(PAID, answers(a_payment(line.reference, amount, day=day)))
    assert (status, "1 applied (1,234.50)" in said) == (0, True)
    assert "1 applied already" in shown
    assert Claim.objects.get().funding_status == "AgencyFullyPaid"


# --- rows that are not certain --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "sentence"),
    [
        ("140.01", "140.01 is more than the 140.00 that were claimed."),
        ("-5.00", "-5.00 takes money back: record that by hand, with a reason."),
        ("0.00", "it pays nothing."),
    ],
)
def test_a_payment_that_cannot_be_right_is_kept_and_not_applied(import_both, lines, amount, sentence):
    status, said, shown = import_both(PAID, answers(a_payment(lines[0].reference, amount)))
    assert status == 1
    assert sentence in said
    assert sentence in shown
    assert list(RemittanceLine.objects.values_list("is_applied", "reason")) == [(False, sentence)]
    assert Claim.objects.get().amount_paid == 0


@pytest.mark.parametrize("kind", [RESULT, PAID])
def test_rows_of_another_organisation_are_counted_and_not_kept(import_both, lines, kind):
    before = state()
    row = a_result("OTHER-1", "ERROR", "C04") if kind == RESULT else a_payment("OTHER-1", "50.00")
    status, said, shown = import_both(kind, answers(row))
    assert (status, "1 unmatched" in said, "1 unmatched" in shown) == (0, True, True)
    assert state() == before


@pytest.mark.parametrize("kind", [RESULT, PAID])
def test_answers_to_a_file_that_was_withdrawn_change_no_claim(import_both, kind):
    claim = a_claim(funding_status="Approved")
    (line,) = claimed_lines(claim, is_withdrawn=True)
    row = a_result(line.reference, "ERROR", "C04") if kind == RESULT else a_payment(line.reference, "140.00")
    status, said, shown = import_both(kind, answers(row))
    assert status == 1
    for words in (said, shown):
        assert f"{claim}: its file {line.claim_file} was withdrawn." in words
    claim.refresh_from_db()
    assert (claim.funding_status, claim.amount_paid) == ("Approved", 0)
    assert not ClaimResult.objects.exists()


def test_returned_payments_that_nobody_made_here_are_named(import_both, returns):
    before = state()
    other = returns.replace(b"0000002000", b"0000002007")
    status, said, shown = import_both(RETURNS, other)
    assert (status, said.count("is no payment made here.")) == (0, 2)
    assert "2 of nobody" in shown
    assert state() == before


# --- very many rows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RESULT, PAID])
def test_a_hundred_thousand_rows_are_taken_and_one_more_is_refused(
    monkeypatch, import_both, lines, tmp_path, kind
):
    most = 100_000 if kind == RESULT else 1_000  # the limit is one, and has one check
    assert answer_files.MAX_ROWS == 100_000
    monkeypatch.setattr(answer_files, "MAX_ROWS", most)
    make = a_result if kind == RESULT else (lambda each: a_payment(each, "1.00"))
    names = RESULTS if kind == RESULT else REMITTANCE[3:11]
    rows = [make(line.reference) for line in lines] + [make("OTHER")] * (most - 2)
    path = tmp_path / "many.csv"
    path.write_bytes(answers(*rows, header=names))
    status, said = by_command(path, kind)
    assert status == 0
    assert f"{most:,} rows" in said
    assert f"{most - 2:,} unmatched" in said
    before = state()
    path.write_bytes(answers(*rows, make("OTHER"), header=names))
    status, said = by_command(path, kind)
    assert (status, f"many.csv has more than {most:,} rows: split it." in said) == (2, True)
    assert state() == before


def test_more_returned_payments_than_a_bank_sends_are_refused(import_both, returns):
    before = state()
    status, said, shown = import_both(RETURNS, returns * 5_001)
    for words in (said, shown):
        assert "This file has more than 10,000 returned payments: split it." in words
    assert (status, state() == before) == (1, True)
