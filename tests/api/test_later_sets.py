"""The sets that only version 2.1 has: files, remittances, runs, statements (docs/versions.md)."""

import copy
import json

import pytest

from apps.access.callers import offered_scopes
from apps.base import clock
from apps.base.declaration.resource import V2_1
from apps.base.declaration.service import get_service
from apps.core.read_log import READ_LOG, key_bytes
from apps.funding.models import ClaimResult
from apps.payments.models import BankAccount
from apps.payments.services.runs import create_run, release_run
from records_site.service import router
from tests.api.caller import Caller, an_application, ok, refused
from tests.funding.builders import a_claim, a_claim_file, a_remittance
from tests.payments.builders import a_paid_claim, a_releaser, an_account, payment_settings
from tests.payments.statement_builders import a_claim_of_the_month, a_statement
from tests.payments.test_statements import a_participant
from tests.people.records import a_client, a_contact, a_staff_member, an_administrator

LATER = {"api_version": "2.1"}
#: Those that are only read.
SETS = ["ClaimFile", "Remittance", "PaymentRun", "Statement"]
#: Those that programs write, which have tests of their own (tests/integration).
OF_PROGRAMS = ["ImportJob", "ExportJob", "Subscription"]
#: The addresses of files behind a record, by set, and what its files have that nobody reads without them.
FILES = {
    "ClaimFile": ("Download", "430999999"),
    "PaymentRun": ("BankFiles(1)/Download", "7654321"),
    "Statement": ("Download", "%PDF"),
}


@pytest.fixture(scope="module")
def made_once(module_transaction):
    """A record of each of the sets: a file of one claim, what it was answered, what was paid out of it."""
    payment_settings()
    provider = a_client()
    an_account(provider, account_number="7654321")
    claim = a_paid_claim("20.00", provider=provider, contact=a_contact(scheme_number="430999999"))
    file = a_claim_file([claim])
    (line,) = file.lines.all()
    ClaimResult.objects.create(file_line=line, is_accepted=True, file_name="results.csv")
    run = release_run(create_run(None, clock.today(), a_staff_member()).pk, a_releaser())
    statement = a_statement(a_participant())
    about = {"ClaimFile": claim, "PaymentRun": BankAccount.objects.get(), "Statement": statement.contact}
    return {
        **{"ClaimFile": file, "Remittance": a_remittance(line), "PaymentRun": run, "Statement": statement},
        "about": about,
    }


@pytest.fixture
def made(api, made_once):
    return copy.deepcopy(made_once)


def path_of(name):
    return name[0].lower() + name[1:]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("address", ["{set}", "{set}/$count", "{set}({key})", "{set}/{key}"])
def test_an_earlier_version_says_which_one_has_it(api, made, name, address):
    address = address.format(set=path_of(name), key=made[name].pk)
    error = refused(api.get(address), 404, "NotFound")
    assert f"Version 2.1 has {path_of(name)}: send the header api-version: 2.1." in json.dumps(error)
    assert api.get(address, **LATER).status_code == 200


def test_they_stand_in_the_documents_of_their_version_alone(api):
    for version, is_there in (("2.0", False), ("2.1", True)):
        named = {"api_version": version}
        sets = [each["name"] for each in ok(api.get("", **named))["value"]]
        openapi = api.call("GET", "/docs/openapi.json", {"version": version}).content
        for name in (*SETS, *OF_PROGRAMS):
            assert (name in sets) is is_there
            assert (name.encode() in api.get("$metadata", **named).content) is is_there
            assert (name.encode() in openapi) is is_there
    later = [each for each in get_service(V2_1).entity_sets if each.resource.since == V2_1]
    assert [each.name for each in later if not each.is_written] == SETS


def test_every_further_right_is_declared_and_asked_by_an_action():
    for name, viewset, _ in router.registry:
        asked = {action.kwargs.get("right") for action in viewset.get_extra_actions()} - {None}
        assert asked == {*viewset.resource.further_rights}, f"further_rights of {name}"


def test_a_run_is_read_with_its_payments_and_without_accounts(api, made):
    answer = api.get(f"paymentRun({made['PaymentRun'].pk})", {"$expand": "*"}, **LATER)
    body = ok(answer)
    (item,), (file,) = body["Items"], body["BankFiles"]
    assert (body["Number"], body["Status"], body["Total"]) == (made["PaymentRun"].number, "Released", 20)
    assert item["Claims"][0]["Amount"] == item["Amount"] == file["Total"] == 20
    assert (file["Position"], file["PaymentCount"]) == (1, 1)
    assert "7654321" not in answer.content.decode()


def test_a_claim_file_is_read_with_its_lines_and_what_they_were_answered(api, made):
    answer = api.get(f"claimFile({made['ClaimFile'].pk})", {"$expand": "*"}, **LATER)
    body = ok(answer)
    (line,) = body["Lines"]
    assert (body["Status"], body["LineCount"], body["Total"]) == ("Sent", 1, 20)
    assert (line["ClaimGuid"], line["InvoiceGuid"], line["Amount"]) == (
        str(made["about"]["ClaimFile"].pk),
        None,
        20,
    )
    assert [each["IsAccepted"] for each in line["Results"]] == [True]
    assert "430999999" not in answer.content.decode()


def test_files_are_found_by_what_their_lines_were_answered(api, made):
    without = a_claim_file([a_claim()])
    (line,) = ok(api.get(f"claimFile({without.pk})", {"$expand": "*"}, **LATER))["Lines"]
    assert line["Results"] == []
    for condition, found in (
        ("Lines/any(l: l/Results/any(r: r/IsAccepted))", [made["ClaimFile"]]),
        ("Lines/any(l: not l/Results/any())", [without]),
        ("Lines/any(l: l/Results/any(r: r/Code eq 'C04'))", []),
    ):
        keys = [each["ClaimFileGuid"] for each in api.all("claimFile", {"$filter": condition}, **LATER)]
        assert keys == [str(each.pk) for each in found], condition


def test_a_remittance_is_read_row_by_row(api, made):
    body = ok(api.get(f"remittance({made['Remittance'].pk})", {"$expand": "*"}, **LATER))
    (line,) = body["Lines"]
    assert (body["RowCount"], body["Total"], body["RowsOfOthers"]) == (1, 20, 0)
    assert (line["ClaimGuid"], line["Amount"], line["IsApplied"]) == (
        str(made["about"]["ClaimFile"].pk),
        20,
        True,
    )


@pytest.mark.parametrize("name", SETS)
def test_nothing_of_them_is_written_by_the_interface(api, made, name):
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        path = path_of(name) if method == "POST" else f"{path_of(name)}({made[name].pk})"
        assert api.call(method, path, body={}, If_Match="*", **LATER).status_code == 405


@pytest.mark.parametrize("name", SETS)
def test_a_scope_of_its_own_reads_a_set(made, name):
    scope = f"{name.lower()}.read"
    assert scope in offered_scopes()
    assert f"{name.lower()}.write" not in offered_scopes()
    reader = Caller(an_application(scope, name="Reader"))
    other = Caller(an_application("client.read", name="Other"))
    assert reader.get(path_of(name), **LATER).status_code == 200
    assert other.get(path_of(name), **LATER).status_code == 403
    assert reader.get("client").status_code == 403


# --- files ----------------------------------------------------------------------------------------------


def file_of(made, name):
    record = made[name]
    return record.bank_files.get() if name == "PaymentRun" else record


@pytest.mark.parametrize("name", FILES)
def test_the_kept_bytes_are_downloaded_by_a_right_of_their_own_and_logged(api, made, name):
    address, secret = FILES[name]
    address = f"{path_of(name)}({made[name].pk})/{address}"
    assert f"{name.lower()}.files" in offered_scopes()
    owner = Caller(an_application(f"{name.lower()}.files", name="Files"))
    READ_LOG.waiting.clear()
    answer = owner.get(address, **LATER)
    assert answer.status_code == 200, answer.content
    file = file_of(made, name)
    assert answer.content == bytes(file.content)
    assert secret.encode() in answer.content
    file_name = getattr(file, "file_name", "statement-2025-10.pdf")
    assert f'filename="{file_name}"' in answer["Content-Disposition"]
    entries = {entry.record_type: entry for entry in READ_LOG.waiting if entry.kind in ("Download", "Export")}
    assert entries[made[name]._meta.label_lower].record_keys == key_bytes(made[name].pk)
    about = made["about"][name]
    assert entries[about._meta.label_lower].record_keys == key_bytes(about.pk)
    # The set itself is another right.
    assert owner.get(path_of(name), **LATER).status_code == 403


@pytest.mark.parametrize("name", FILES)
def test_reading_and_writing_do_not_include_files(api, made, client, name):
    address = f"{path_of(name)}({made[name].pk})/{FILES[name][0]}"
    narrow = Caller(an_application(f"{name.lower()}.read", name="Reader"))
    for caller in (api, narrow):
        error = refused(caller.get(address, **LATER), 403, "Forbidden")
        assert f"the scope {name.lower()}.files" in error["message"]
    client.force_login(an_administrator())
    session = Caller(session=client)
    assert "use the pages of the back office" in refused(session.get(address, **LATER), 403)["message"]
    refused(Caller().get(address, **LATER), 401, "Unauthenticated")
    assert api.get(path_of(name), **LATER).status_code == 200


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_not_there_are_not_found(made, name):
    owner = Caller(an_application(f"{name.lower()}.files", name="Files"))
    behind = FILES[name][0]
    missing = "00000000-0000-7000-8000-000000000000"
    refused(owner.get(f"{path_of(name)}({missing})/{behind}", **LATER), 404, "NotFound")
    address = f"{path_of(name)}({made[name].pk})/{behind}"
    refused(owner.get(address), 404, "NotFound")
    for position in ("2", "x", "", "9" * 30):
        other = address.replace("BankFiles(1)", f"BankFiles({position})")
        assert other == address or refused(owner.get(other, **LATER), 404, "NotFound")


def test_a_statement_is_read_with_its_lines_and_without_its_document(api):
    contact = a_participant()
    a_claim_of_the_month(contact, "20.00", "15.00", "AgencyPartiallyPaid", provider_invoice_reference="A-1")
    statement = a_statement(contact)
    found = ok(api.get(f"statement({statement.pk})", {"$expand": "*"}, **LATER))
    assert (found["Month"], found["VersionNumber"], found["ContactGuid"]) == (
        "2025-10-01",
        1,
        str(contact.pk),
    )
    assert (found["Paid"], found["Claimed"], found["SentDate"]) == (15.0, 5.0, None)
    ((line,), (budget,)) = found["Lines"], found["Budgets"]
    assert (line["Reference"], line["Paid"], line["Claimed"]) == ("A-1", 15.0, 5.0)
    assert (budget["Budget"], budget["Used"]) == (1000.0, 0.0)
    assert not {"Content", "SentTo"} & found.keys()
    refused(api.get("statement"), 404)
    other = Caller(an_application("contact.read", name="Other"))
    assert other.get("statement", **LATER).status_code == 403
