"""Answers of the agency in the back office and by command: imports, pages, and the queue of refusals."""

import io
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from apps.core.models import FileImport
from apps.funding.models import Claim, ClaimResult, Remittance
from apps.funding.rejection_codes import REJECTION_CODES
from apps.funding.services.transitions import apply_transition
from tests.core.test_file_imports import an_import, page, press
from tests.core.test_home import home
from tests.funding.answer_files import a_payment, a_result, as_csv
from tests.funding.builders import a_claim
from tests.funding.claim_files import claimed_lines
from tests.people.records import a_role, a_staff_member, get_unrendered
from tests.tasks import run_tasks

pytestmark = pytest.mark.django_db

CLAIMED = {"funding_status": "AgencyClaimed"}


@pytest.fixture(autouse=True)
def today(at):
    at("2026-11-24 12:00")


@pytest.fixture
def answered(tmp_path):
    """A claim of which one line was refused and the other is paid, and the file that pays it."""
    claim = a_claim(2, **CLAIMED)
    refused, paid = claimed_lines(claim)
    results = as_csv(tmp_path / "results.csv", [a_result(refused.reference, "ERROR", "C04 Over")])
    rows = [a_payment(paid.reference, "140.00", "400"), a_payment(paid.reference, "-5.00", "401")]
    return claim, results, as_csv(tmp_path / "paid.csv", rows)


def run(command, *words):
    out = io.StringIO()
    try:
        call_command(command, *map(str, words), stdout=out, stderr=out)
        status = 0
    except CommandError as error:
        status = error.returncode
    except SystemExit as end:
        status = end.code
    return status, out.getvalue()


def test_a_remittance_is_checked_and_imported_in_the_back_office(client, ada, answered):
    claim, _, path = answered
    record = an_import(client, text=path.read_text(), kind="remittances", name="paid.csv")
    shown = page(client, record)
    assert shown["count_texts"] == ["1 applied", "1 not applicable"]
    assert shown["file_import"].notices[0].startswith("2 rows (135.00) = 1 applied (140.00) + 1 not appl")
    assert "takes money back" in str(shown["rows"])
    assert "A PARTICIPANT" not in str(shown["rows"])
    assert not Remittance.objects.exists()
    press(client, record, "import")
    run_tasks()
    claim.refresh_from_db()
    assert claim.funding_status == "AgencyPartiallyPaid"
    remittance = Remittance.objects.get()
    assert (remittance.file_name, remittance.received_by) == ("paid.csv", ada)
    record.delete()
    again = an_import(client, text=path.read_text(), kind="remittances", name="paid.csv")
    assert page(client, again)["count_texts"] == ["1 applied already", "1 not applicable"]


def test_results_are_imported_with_what_to_do_about_refusals(client, ada, answered):
    _, path, _ = answered
    record = an_import(client, text=path.read_text(), kind="results", name="results.csv")
    assert page(client, record)["count_texts"] == ["1 refused"]
    assert REJECTION_CODES["C04"] in str(page(client, record)["rows"])
    press(client, record, "import")
    run_tasks()
    assert ClaimResult.objects.get().staff == ada


def test_a_file_with_a_fault_changes_nothing_and_names_it(client, ada, answered):
    _, _, path = answered
    text = path.read_text().replace("140.00", "1.400,00".replace(",", ";"))
    record = an_import(client, text=text, kind="remittances", name="paid.csv")
    shown = page(client, record)
    assert shown["count_texts"] == ["1 rejected"]
    assert "AmountPaid must be a number. It is “1.400;00”." in shown["file_import"].notices[0]
    assert b'value="import"' not in client.get(f"/admin/core/fileimport/{record.pk}/file/").content


def test_where_the_file_does_not_show_how_days_are_written_the_page_asks(client, ada, answered):
    _, _, path = answered
    text = path.read_text().replace("20261120", "01122026")
    record = an_import(client, text=text, kind="remittances", name="paid.csv")
    assert record.status == "Failed"
    assert "PayReqDocDate, such as “01122026”, is not in every row a day" in record.message
    press(client, record, "check", day_form="DDMMYYYY")
    run_tasks()
    assert page(client, record)["count_texts"] == ["1 applied", "1 not applicable"]


def test_who_may_not_record_payments_imports_no_answers(client, ada):
    names = ("claimresult", "remittance")
    permissions = [f"funding.{verb}_{name}" for name in names for verb in ("add", "change")]
    client.force_login(a_staff_member(role=a_role(*permissions, "funding.add_pricebook")))
    text = client.get("/admin/core/fileimport/add/").content.decode()
    assert "Remittances of the agency" not in text
    client.force_login(a_staff_member(role=a_role(*permissions, "funding.pay_funding_invoices")))
    text = client.get("/admin/core/fileimport/add/").content.decode()
    assert "Remittances of the agency" in text
    assert "Results of the agency" in text


@pytest.mark.both_engines("found or summed by the database")
def test_the_page_of_a_remittance_has_its_rows_and_sums_that_come_to_the_file(client, ada, answered):
    claim, _, path = answered
    run("import_remittances", path)
    remittance = Remittance.objects.get()
    listed = client.get("/admin/funding/remittance/").content.decode()
    assert "paid.csv" in listed
    answer = client.get(f"/admin/funding/remittance/{remittance.pk}/remittance/")
    parts = {label: (count, f"{total:.2f}") for label, count, total in answer.context["parts"]}
    assert parts == {
        "Applied": (1, "140.00"),
        "Not applied": (1, "-5.00"),
        "Of other organisations": (0, "0.00"),
        "In an earlier remittance, or twice in this one": (0, "0.00"),
    }
    text = answer.content.decode()
    assert f"/admin/funding/claim/{claim.pk}/change/" in text
    assert "takes money back: record that by hand, with a reason." in text
    assert '<td class="fu-figure">140.00</td><td class="fu-figure">-5.00</td>' in text  # claimed, paid


def test_the_page_of_a_claim_has_what_became_of_each_line(client, ada, answered):
    claim, results, path = answered
    run("import_results", results)
    run("import_remittances", path)
    text = client.get(f"/admin/funding/claim/{claim.pk}/change/").content.decode()
    assert "At the agency" in text
    assert f"Refused: C04 Over. <strong>{REJECTION_CODES['C04']}</strong>" in text
    assert "No result yet." in text
    assert "20 Nov 2026: 140.00 paid" in text
    assert ": -5.00 not applied: -5.00 takes money back" in text


def test_the_page_of_a_claim_file_has_the_answers_beside_each_line(client, ada, answered):
    claim, results, path = answered
    run("import_results", results)
    run("import_remittances", path)
    file = claim.file_lines.first().claim_file
    rows = client.get(f"/admin/funding/claimfile/{file.pk}/file/").context["rows"]
    assert [(row.result, row.paid) for row in rows] == [
        ("Refused: C04 Over.", None),
        ("No result yet.", 140),
    ]


@pytest.mark.both_engines("stored by statements that no other test has")
def test_refused_claims_have_a_queue_with_the_ways_on(client, ada, answered):
    claim, results, path = answered
    refused = a_claim(funding_status="PaymentProviderRejected", status_reason="C01")
    a_claim(funding_status="AgencyPartiallyPaid")
    run("import_results", results)
    run("import_remittances", path)
    answer = client.get("/admin/funding/claim/?status=refused-by-agency")
    assert {each.pk for each in answer.context["cl"].result_list} == {claim.pk, refused.pk}
    (tab,) = [each for each in answer.context["tabs"] if each["label"] == "Refused by the agency"]
    assert (str(tab["count"]), tab["on"]) == ("2", True)
    text = answer.content.decode()
    for label in ("Resubmit in full", "Resubmit the gap", "Write off the gap", "Archive"):
        assert label in text
    assert "Paid the rest" not in text
    assert "Refused by the agency" in client.get("/admin/funding/claim/queues/").content.decode()
    Claim.objects.filter(pk=claim.pk).update(staff=ada)
    rows = {row.label: row for row in home(client)["Claims"].rows}
    row = rows["Refused by the agency"]
    claim.refresh_from_db()
    assert (row.count, row.amount, row.own.count) == (2, claim.total + refused.total, 1)
    for link, keys in ((row.link, {claim.pk, refused.pk}), (row.own.link, {claim.pk})):
        assert {each.pk for each in get_unrendered(client, link).context_data["cl"].result_list} == keys
    assert "Refused" not in rows
    apply_transition(Claim, [claim.pk], "resubmit-gap")
    answer = client.get("/admin/funding/claim/?status=refused-by-agency")
    assert [each.pk for each in answer.context["cl"].result_list] == [refused.pk]


def test_a_line_that_is_refused_after_the_gap_was_resubmitted_is_in_the_queue_again(client, ada):
    claim = a_claim(2, funding_status="AgencyClaimed")
    short, waiting = claimed_lines(claim)
    amounts = {claim.pk: {short.claim_line_id: Decimal(100)}}
    apply_transition(Claim, [claim.pk], "pay-in-part", amounts=amounts)
    made = apply_transition(Claim, [claim.pk], "resubmit-gap").resubmissions[claim.pk]

    def queue():
        rows = {row.label: row.count for row in home(client)["Claims"].rows}
        answer = get_unrendered(client, "/admin/funding/claim/?status=refused-by-agency")
        found = [each.pk for each in answer.context_data["cl"].result_list]
        assert len(found) == rows.get("Refused by the agency", 0)
        return found

    assert queue() == []
    ClaimResult.objects.create(file_line=waiting, is_accepted=False, file_name="r.csv")
    assert queue() == [claim.pk]
    (refused,) = apply_transition(Claim, [claim.pk], "resubmit-gap").refused
    assert "It lacks a part that is open: archive" in refused.message
    apply_transition(Claim, [made], "archive")
    apply_transition(Claim, [claim.pk], "resubmit-gap")
    assert queue() == []


# --- the commands ---------------------------------------------------------------------------------------


def test_the_commands_report_and_a_second_run_changes_nothing(answered):
    claim, results, path = answered
    assert run("import_results", results) == (
        0,
        "results.csv: 1 row (140.00) = 1 refused (140.00).\n"
        f"results.csv: row 2: {ClaimResult.objects.get().file_line.reference} of {claim}, 140.00: C04 Over –"
        f" {REJECTION_CODES['C04']}\n",
    )
    status, said = run("import_remittances", "--dry-run", path)
    assert status == 1
    assert said.endswith("Nothing was stored: this was a trial.\n")
    assert not Remittance.objects.exists()
    status, real = run("import_remittances", path)
    assert (status, real) == (1, said.replace("Nothing was stored: this was a trial.\n", ""))
    status, again = run("import_remittances", path, results)
    assert status == 2
    assert "1 applied already (140.00) + 1 not applicable (-5.00)" in again
    assert "results.csv has results of the agency, not a remittance" in again
    assert "results.csv: results.csv" not in again
    assert FileImport.objects.count() == 0


def test_a_command_asks_how_days_are_written(answered, tmp_path):
    _, _, path = answered
    path.write_text(path.read_text().replace("20261120", "01122026"))
    status, said = run("import_remittances", path)
    assert (status, "say how it is written (--day-form)" in said) == (2, True)
    status, said = run("import_remittances", path, "--day-form", "DDMMYYYY")
    assert "1 applied (140.00)" in said


def test_a_fault_is_named_and_the_other_files_go_in(answered, tmp_path):
    _, results, path = answered
    path.write_text(path.read_text().replace("140.00", "14O.00"))
    status, said = run("import_remittances", path)
    assert (status, "row 2, K2: AmountPaid must be a number." in said) == (1, True)
    assert not Remittance.objects.exists()
    assert run("import_results", tmp_path / "none.csv", results)[0] == 2
    assert ClaimResult.objects.count() == 1
