"""Sets that only version 2.1 has: payment runs and statements (docs/versions.md)."""

import json

import pytest

from apps.access.callers import offered_scopes
from apps.base import clock
from apps.base.declaration.resource import V2_1
from apps.base.declaration.service import get_service
from apps.payments.services.runs import create_run, release_run
from tests.api.caller import Caller, an_application, ok, refused
from tests.payments.builders import a_paid_claim, a_releaser, an_account, payment_settings
from tests.payments.statement_builders import a_claim_of_the_month, a_statement
from tests.payments.test_statements import a_participant
from tests.people.records import a_client, a_staff_member

LATER = {"api_version": "2.1"}


@pytest.fixture
def run(api):
    """A released run of one payment."""
    payment_settings()
    provider = a_client()
    an_account(provider, account_number="7654321")
    a_paid_claim("20.00", provider=provider)
    return release_run(create_run(None, clock.today(), a_staff_member()).pk, a_releaser())


@pytest.mark.parametrize(
    "address", ["paymentRun", "paymentRun/$count", "paymentRun({key})", "paymentRun/{key}"]
)
def test_an_earlier_version_says_which_one_has_it(api, run, address):
    address = address.format(key=run.pk)
    error = refused(api.get(address), 404, "NotFound")
    assert "Version 2.1 has paymentRun: send the header api-version: 2.1." in json.dumps(error)
    assert api.get(address, **LATER).status_code == 200


def test_it_stands_in_the_documents_of_its_version_alone(api):
    for version, is_there in (("2.0", False), ("2.1", True)):
        named = {"api_version": version}
        sets = [each["name"] for each in ok(api.get("", **named))["value"]]
        assert ("PaymentRun" in sets) is is_there
        assert (b"PaymentRun" in api.get("$metadata", **named).content) is is_there
        openapi = api.call("GET", "/docs/openapi.json", {"version": version})
        assert (b"PaymentRun" in openapi.content) is is_there
    assert [each.name for each in get_service(V2_1).entity_sets if each.resource.since == V2_1] == [
        "PaymentRun",
        "Statement",
    ]


def test_a_run_is_read_with_its_payments_and_without_accounts(api, run):
    answer = api.get(f"paymentRun({run.pk})", {"$expand": "*"}, **LATER)
    body = ok(answer)
    (item,) = body["Items"]
    assert (body["Number"], body["Status"], body["Total"]) == (run.number, "Released", 20)
    assert item["Claims"][0]["Amount"] == item["Amount"] == 20
    assert "7654321" not in answer.content.decode()


def test_nothing_of_it_is_written_by_the_interface(api, run):
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        path = "paymentRun" if method == "POST" else f"paymentRun({run.pk})"
        assert api.call(method, path, body={}, If_Match="*", **LATER).status_code == 405


def test_a_scope_of_its_own_reads_it(run):
    assert "paymentrun.read" in offered_scopes()
    assert "paymentrun.write" not in offered_scopes()
    reader = Caller(an_application("paymentrun.read", name="Reader"))
    other = Caller(an_application("client.read", name="Other"))
    assert reader.get("paymentRun", **LATER).status_code == 200
    assert other.get("paymentRun", **LATER).status_code == 403
    assert reader.get("client").status_code == 403


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
