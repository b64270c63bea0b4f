"""The pages of statements and consents, the command, and what verify, export and erasure do with them."""

import datetime as dt
import io
import re
import zipfile

import pytest
from django.core.management import CommandError, call_command

from apps.base import clock
from apps.core.admin_base.display import short_day
from apps.payments.models import Statement, StatementConsent, StatementLine, StatementRun
from apps.payments.services.invariants import find_payment_faults
from apps.payments.services.statements import make_statements
from apps.people.models import Contact
from tests.payments.builders import somebody
from tests.payments.statement_builders import MONTH, a_claim_of_the_month, a_consent, a_statement
from tests.payments.test_statements import a_participant
from tests.people.records import a_contact, a_role, a_staff_member, an_administrator
from tests.tasks import run_tasks

pytestmark = pytest.mark.django_db

PAGES = "/admin/payments/statement/"
CONSENTS = "/admin/payments/statementconsent/"


@pytest.fixture(autouse=True)
def signed_in(client):
    staff = an_administrator()
    client.force_login(staff)
    return staff


def shown(client, address):
    answer = client.get(address)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


# --- a month --------------------------------------------------------------------------------------------


def test_a_month_is_made_and_sent_from_its_page(client, mail_server):
    first, second = a_participant(primary_email="a@example.org"), a_participant()
    a_consent(first)
    address = f"{PAGES}month/2025-10/"
    assert "<dt>Not made</dt><dd>2</dd>" in shown(client, address)
    client.post(f"{PAGES}make/2025-10/")
    run = StatementRun.objects.get()
    assert "data-progress" in shown(client, address)
    progress = client.get(f"{PAGES}progress/{run.pk}/").json()
    assert progress == {"running": True, "done": 0, "total": 0}
    run_tasks()
    assert client.get(f"{PAGES}progress/{run.pk}/").json() == {"running": False, "done": 2, "total": 2}
    page = shown(client, address)
    for expected in (
        "<dt>Made</dt><dd>2</dd>",
        "<dt>To be sent</dt><dd>1</dd>",
        "No consent to statements by mail is recorded: 1",
        str(second),
    ):
        assert expected in page
    client.post(f"{PAGES}send/2025-10/")
    run_tasks()
    assert [to for to, _ in mail_server.received] == [["a@example.org"]]
    page = shown(client, address)
    assert "<dt>Sent</dt><dd>1</dd>" in page
    assert "1 of 1 sent at once" in page


def test_the_menu_opens_the_last_month_and_other_addresses_are_404(client):
    last = (clock.today().replace(day=1) - dt.timedelta(days=1)).replace(day=1)
    assert client.get(f"{PAGES}months/").headers["Location"] == f"{PAGES}month/{last:%Y-%m}/"
    for text in ("2025-13", "2025-10-01", "x", "202510", "0001-01", "9999-12"):
        assert client.get(f"{PAGES}month/{text}/").status_code == 404


@pytest.mark.parametrize(
    ("path", "title"), [("month/2025-10/", "Statements"), ("", "All statements"), ("?q=x", "All statements")]
)
def test_the_menu_marks_the_page_that_is_shown(client, path, title):
    groups = client.get(f"{PAGES}{path}").context["sidebar_navigation"]
    assert [item["title"] for group in groups for item in group["items"] if item["active"]] == [title]


def test_a_month_that_is_not_over_says_so(client):
    month = f"{clock.today():%Y-%m}"
    answer = client.post(f"{PAGES}make/{month}/", follow=True)
    assert "is not over" in answer.content.decode()
    assert not StatementRun.objects.exists()


@pytest.mark.parametrize(
    ("permissions", "may_make", "may_send"),
    [
        (("view_statement",), False, False),
        (("view_statement", "add_statement"), True, False),
        (("view_statement", "send_statement"), False, True),
        (("add_statement", "send_statement"), False, False),
    ],
)
def test_who_may_make_and_who_may_send(client, permissions, may_make, may_send):
    statement = a_statement(a_participant())
    client.force_login(somebody(*permissions))
    assert (client.post(f"{PAGES}make/2025-10/").status_code == 302) is may_make
    assert (client.post(f"{PAGES}send/2025-10/").status_code == 302) is may_send
    assert (client.post(f"{PAGES}{statement.pk}/mail/").status_code == 302) is may_send
    one = client.post(f"{PAGES}make-one/{statement.contact_id}/", {"month": "2025-10"})
    assert (one.status_code == 302) is may_make
    status = 200 if "view_statement" in permissions else 403
    for page in ("month/2025-10/", f"{statement.pk}/statement/", f"{statement.pk}/document/"):
        assert client.get(f"{PAGES}{page}").status_code == status


# --- one ------------------------------------------------------------------------------------------------


def test_a_statement_is_made_on_the_page_of_a_participant_and_shows_what_its_document_says(client):
    contact = a_participant()
    a_claim_of_the_month(contact, "20.00", "20.00", "AgencyFullyPaid")
    overview = f"/admin/people/contact/{contact.pk}/overview/"
    assert "Make statement" in shown(client, overview)
    answer = client.post(f"{PAGES}make-one/{contact.pk}/", {"month": "2025-10"})
    statement = Statement.objects.get()
    assert answer.headers["Location"] == f"{PAGES}{statement.pk}/statement/"
    page = shown(client, answer.headers["Location"])
    for expected in (
        "Your statement for October 2025",
        "$20.00",
        "No consent to statements by mail",
        "Download PDF",
    ):
        assert expected in page
    said = client.get(answer.headers["Location"]).context["said"]
    assert re.findall(r'pa-figure">([^<]*)<', page) == [
        *("Paid", "Not paid yet", "Together"),
        *(text for row in said.spent for text in (row.paid, row.claimed, row.sum)),
        *("In the plan", "Used", "Left"),
        *(text for row in said.budgets for text in (row.budget, row.used, row.left)),
    ]
    assert "October 2025" in shown(client, overview)
    document = client.get(f"{PAGES}{statement.pk}/document/")
    assert document.content == bytes(statement.content)
    assert document.headers["Content-Disposition"] == 'attachment; filename="statement-2025-10.pdf"'
    assert client.get(f"{PAGES}{statement.pk}/document/").content == document.content


def test_a_corrected_statement_and_the_one_before_lead_to_each_other(client):
    contact = a_participant()
    first = a_statement(contact)
    a_claim_of_the_month(contact)
    second = a_statement(contact)
    assert str(first.pk) in shown(client, f"{PAGES}{second.pk}/statement/")
    page = shown(client, f"{PAGES}{first.pk}/statement/")
    assert "Replaced" in page
    assert str(second.pk) in page
    assert "Send by mail" not in page
    assert "What changed since the version before" in shown(client, f"{PAGES}{second.pk}/statement/")


def test_pages_say_that_claims_of_the_month_changed_after_a_statement_was_made(client):
    contact = a_participant()
    statement = a_statement(contact)
    month, own = f"{PAGES}month/2025-10/", f"{PAGES}{statement.pk}/statement/"
    overview = f"/admin/people/contact/{contact.pk}/overview/"
    assert "<dt>Claims changed since</dt><dd>0</dd>" in shown(client, month)
    assert "after it was made" not in shown(client, own)
    claim = a_claim_of_the_month(contact)
    day = short_day(claim.modify_date)
    assert "<dt>Claims changed since</dt><dd>1</dd>" in shown(client, month)
    assert f"changed on {day}, after it was made" in shown(client, own)
    assert f"Not sent; claims changed on {day}" in shown(client, overview)
    assert client.get(PAGES).context["cl"].result_list[0].first_change == claim.modify_date
    a_statement(contact)
    assert "<dt>Claims changed since</dt><dd>0</dd>" in shown(client, month)
    assert "after it was made" not in shown(client, own)
    assert "claims changed on" not in shown(client, overview)


def test_lists_and_pages_do_not_read_documents(client, django_assert_max_num_queries):
    people = [a_participant() for _ in range(5)]
    make_statements(MONTH)
    for address in (PAGES, f"{PAGES}month/2025-10/", f"/admin/people/contact/{people[0].pk}/overview/"):
        with django_assert_max_num_queries(60) as found:
            client.get(address)
        columns = [each["sql"].split(" FROM ")[0] for each in found if "payments_statement" in each["sql"]]
        assert columns
        assert not [each for each in columns if '"payments_statement"."content"' in each]


# --- consents -------------------------------------------------------------------------------------------


@pytest.mark.both_engines("stored by statements that no other test has")
def test_a_consent_says_who_recorded_it_and_is_withdrawn_by_archiving(client, signed_in):
    contact = a_participant(representative=a_contact())
    given = {"contact": str(contact.pk), "recipient": "Representative", "since": "01/10/2025", "note": "form"}
    client.post(f"{CONSENTS}add/", given)
    consent = StatementConsent.objects.get()
    assert (consent.recorded_by, consent.recipient) == (signed_in, "Representative")
    assert "by mail to their representative" in shown(client, f"/admin/people/contact/{contact.pk}/overview/")
    client.post(f"{CONSENTS}add/", given | {"recipient": "Participant"})
    current = StatementConsent.objects.get(archive_date=None)
    assert (current.recipient, StatementConsent.objects.count()) == ("Participant", 2)
    client.post(CONSENTS, {"action": "archive_selected", "index": "0", "_selected_action": [str(current.pk)]})
    assert "No consent to statements by mail" in shown(
        client, f"/admin/people/contact/{contact.pk}/overview/"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"recipient": "Representative"}, "No representative is named"),
        ({"since": "01/10/2099"}, "recorded once it is given"),
    ],
)
def test_a_consent_that_cannot_be_is_refused(client, given, message):
    usual = {"contact": str(a_participant().pk), "recipient": "Participant", "since": "01/10/2025"}
    assert message in client.post(f"{CONSENTS}add/", usual | given).content.decode()
    assert not StatementConsent.objects.exists()


# --- the command ----------------------------------------------------------------------------------------


def output_of(*arguments):
    out = io.StringIO()
    call_command("make_statements", "--month", "2025-10", *arguments, stdout=out)
    return out.getvalue().splitlines()


def test_the_command_makes_and_sends_and_a_second_time_does_nothing(mail_server):
    a_consent(a_participant(primary_email="a@example.org"))
    a_participant()
    assert output_of("--dry-run") == [
        "October 2025: 2 statements would be made, 0 of them corrected; 0 stay as they are."
    ]
    assert not Statement.objects.exists()
    assert output_of("--send") == [
        "October 2025: 2 statements made, 0 of them corrected; 0 stay as they are.",
        "1 will be sent by mail.",
        "No consent to statements by mail is recorded: 1",
    ]
    run_tasks()
    assert output_of("--send")[:2] == [
        "October 2025: 0 statements made, 0 of them corrected; 2 stay as they are.",
        "0 will be sent by mail.",
    ]
    run_tasks()
    assert len(mail_server.received) == 1


def test_the_command_makes_that_of_one_participant():
    a_participant(unique_code="P-1")
    a_participant(unique_code="P-2")
    output_of("--contact", "p-2")
    assert Statement.objects.get().contact.unique_code == "P-2"
    with pytest.raises(CommandError, match="No contact has the code P-3"):
        output_of("--contact", "P-3")
    with pytest.raises(CommandError, match="is not over"):
        call_command("make_statements", "--month", f"{clock.today():%Y-%m}")


# --- verify, export, erasure ----------------------------------------------------------------------------


def test_verify_names_a_changed_document_and_sums_that_are_not_those_of_the_lines():
    contact = a_participant()
    a_claim_of_the_month(contact)
    statement = a_statement(contact)
    assert list(find_payment_faults()) == []
    StatementLine.objects.update(claimed="19.99")
    Statement.objects.update(content=b"other")
    assert list(find_payment_faults()) == [
        f"statement {statement.pk}: its document was changed: its SHA-256 differs",
        f"statement {statement.pk}: 20.00 claimed, its lines come to 19.99",
    ]


def test_an_export_of_the_person_has_the_documents(tmp_path):
    contact = a_participant()
    statement = a_statement(contact)
    file = tmp_path / "person.zip"
    by = an_administrator().primary_email
    call_command("export_person", str(contact.pk), str(file), by=by, stdout=io.StringIO())
    with zipfile.ZipFile(file) as archive:
        assert archive.read("statements/0001-2025-10-version-1.pdf") == bytes(statement.content)
        assert "payments.Statement" in archive.read("records.json").decode()


def test_an_erasure_deletes_document_and_addresses_and_keeps_the_amounts(client, settings, tmp_path):
    settings.RETENTION_YEARS = 0
    helper = a_contact(primary_email="helper@example.org")
    contact = a_participant(representative=helper, primary_email="own@example.org")
    a_consent(contact)
    a_claim_of_the_month(contact, "20.00", "20.00", "AgencyFullyPaid", status_reason="Mia's reason")
    statement = a_statement(contact)
    Statement.objects.update(sent_at=clock.now(), sent_to="own@example.org")
    other = a_statement(a_participant())
    Statement.objects.filter(pk=other.pk).update(sent_to="own@example.org")
    Contact.objects.filter(pk=contact.pk).update(archive_date=clock.now())
    erase(contact, tmp_path)
    statement.refresh_from_db()
    assert (statement.content, statement.sent_to, str(statement.paid)) == (None, None, "20.00")
    line = statement.lines.get()
    assert (line.reference, line.reason, str(line.paid)) == ("", "", "20.00")
    assert not StatementConsent.objects.exists()
    other.refresh_from_db()
    assert other.sent_to is None
    assert other.content is not None
    assert list(find_payment_faults()) == []
    assert "The document was erased" in shown(client, f"{PAGES}{statement.pk}/statement/")
    assert client.get(f"{PAGES}{statement.pk}/document/").status_code == 404


def erase(contact, folder):
    by = a_staff_member(role=a_role(all_permissions=True))
    arguments = ["--certificate", str(folder / "certificate.json"), "--by", by.primary_email, "--yes"]
    call_command("erase_person", str(contact.pk), *arguments, stdout=io.StringIO())
