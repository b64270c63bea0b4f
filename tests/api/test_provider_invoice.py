"""POST /providerInvoice and its Action."""

import datetime as dt
import threading
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.core.models import Change
from apps.funding.models import ProviderInvoice, StatusMove
from tests.api.caller import Caller, an_application, faults, ok, refused
from tests.documents.builders import a_document
from tests.funding.builders import a_claim, a_provider_invoice
from tests.people.builders import a_client, a_contact, a_role, a_staff_member

pytestmark = pytest.mark.django_db


def a_member(**columns):
    return a_staff_member(role=a_role(all_permissions=True), **columns)


def a_decision(member=None, action="Approve", **members):
    return {"Action": action, "StaffGuid": str((member or a_member()).pk), **members}


# --- POST -----------------------------------------------------------------------------------------------


def test_every_member_is_stored_and_shown(api):
    body = {
        "ProviderInvoiceReference": "INV-77",
        "ServiceStartDate": "2026-07-01",
        "ServiceEndDate": "2026-07-31",
        "InvoiceTotal": 1234.50,
        "IsReusable": True,
        "SendPaymentTo": "Client",
        "ContactGuid": str(a_contact().pk),
        "ProviderGuid": str(a_client().pk),
        "DocumentGuid": str(a_document().pk),
        "CreatedByStaffGuid": str(a_staff_member().pk),
    }
    shown = ok(api.post("providerInvoice", {"value": [body]}), 201)["value"][0]
    assert {name: shown[name] for name in body} == body
    assert (shown["ApprovalStatus"], shown["AutoApproved"], shown["ClaimOnHold"]) == (
        "Unactioned",
        False,
        False,
    )
    assert (shown["RejectionReason"], shown["ActionedByStaffGuid"]) == (None, None)
    assert ok(api.get(f"providerInvoice/{shown['ProviderInvoiceGuid']}")).items() >= shown.items()


def test_a_reference_alone_is_enough_and_the_payee_may_be_a_number(api):
    shown = ok(api.post("providerInvoice", {"ProviderInvoiceReference": "A", "SendPaymentTo": 2}), 201)
    assert (shown["SendPaymentTo"], shown["IsReusable"], shown["InvoiceTotal"]) == (
        "PlanManager",
        False,
        None,
    )


def test_what_is_decided_cannot_be_posted(api):
    body = {
        "ProviderInvoiceReference": "A",
        "ApprovalStatus": "Approved",
        "AutoApproved": True,
        "ClaimOnHold": True,
        "RejectionReason": "No",
        "ActionedByStaffGuid": str(a_staff_member().pk),
        "ArchiveDate": "2026-07-01",
    }
    shown = ok(api.post("providerInvoice", body), 201)
    stored = ProviderInvoice.objects.get(pk=shown["ProviderInvoiceGuid"])
    assert (stored.approval_status, stored.auto_approved, stored.claim_on_hold) == (
        "Unactioned",
        False,
        False,
    )
    assert (stored.rejection_reason, stored.actioned_by, stored.archive_date) == (None, None, None)


def test_every_fault_is_reported_with_its_place(api):
    unknown = str(uuid.uuid4())
    bodies = [
        {},
        {"InvoiceTotal": -1, "ContactGuid": unknown},
        {"ProviderInvoiceReference": "x" * 101, "SendPaymentTo": "Nobody"},
        {"ProviderInvoiceReference": "A", "ServiceStartDate": "2026-07-02", "ServiceEndDate": "2026-07-01"},
        {"ProviderInvoiceReference": "B", "InvoiceTotal": "1.005"},
        {"ProviderInvoiceReference": "C", "IsReusable": 1},
    ]
    told = faults(api.post("providerInvoice", {"value": bodies}))
    assert sorted(told, key=lambda fault: fault[1]) == [
        ("Required", "value[0]/ProviderInvoiceReference"),
        ("NotFound", "value[1]/ContactGuid"),
        ("OutOfRange", "value[1]/InvoiceTotal"),
        ("TooLong", "value[2]/ProviderInvoiceReference"),
        ("NotAChoice", "value[2]/SendPaymentTo"),
        ("OutOfOrder", "value[3]/ServiceEndDate"),
        ("OutOfRange", "value[4]/InvoiceTotal"),
        ("WrongType", "value[5]/IsReusable"),
    ]
    assert not ProviderInvoice.objects.exists()


def test_a_reference_is_unique_of_its_provider(api):
    provider = a_client()
    a_provider_invoice(provider=provider, reference="Inv 7")
    bodies = [
        {"ProviderInvoiceReference": text, "ProviderGuid": str(provider.pk)} for text in (" INV 7", "8", "8 ")
    ]
    assert faults(api.post("providerInvoice", {"value": bodies})) == [
        ("NotUnique", "value[0]/ProviderInvoiceReference"),
        ("NotUnique", "value[2]/ProviderInvoiceReference"),
    ]


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres("SQLite has one writer and its test database one connection")
def test_one_of_eight_who_send_the_same_provider_invoice_stores_it(api):
    provider = a_client()
    body = {"ProviderInvoiceReference": "Same", "ProviderGuid": str(provider.pk)}
    answers = at_once(api, 8, lambda caller: caller.post("providerInvoice", {"value": [body]}))
    assert sorted(answer.status_code for answer in answers).count(201) == 1
    for answer in answers:
        if answer.status_code != 201:
            assert answer.status_code in (400, 409)
            (fault,) = answer.json()["error"]["details"]
            assert (fault["code"], fault["target"]) == ("NotUnique", "value[0]/ProviderInvoiceReference")
    assert ProviderInvoice.objects.count() == 1


def at_once(api, number, call):
    """What the calls answer when all of them begin at the same moment, each on its own connection."""
    together, answers = threading.Barrier(number), [None] * number

    def run(at):
        try:
            together.wait(20)
            answers[at] = call(Caller(api.authorization))
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[at]) for at in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert None not in answers
    return answers


# --- Action ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelled", ["providerInvoice/{}/Action", "providerinvoice({})/action/"])
def test_an_action_answers_with_the_record_as_it_is_now(api, spelled):
    record, member = a_provider_invoice(), a_member()
    answer = api.post(spelled.format(record.pk), a_decision(member, "Reject", Reason="Not our participant"))
    shown = ok(answer)
    assert (shown["ApprovalStatus"], shown["RejectionReason"]) == ("Rejected", "Not our participant")
    assert shown["ActionedByStaffGuid"] == str(member.pk)
    read = api.get(f"providerInvoice/{record.pk}")
    assert ok(read)["ApprovalStatus"] == "Rejected"
    assert answer["ETag"] == read["ETag"]
    move = StatusMove.objects.get(provider_invoice=record)
    assert (move.to_status, move.staff, move.application) == ("Rejected", member, "Integration")


def test_a_refused_action_names_those_that_are_possible(api):
    record = a_provider_invoice(approval_status="Approved", reference="INV-7")
    answer = api.post(f"providerInvoice/{record.pk}/Action", a_decision(action="Release"))
    (fault,) = refused(answer, 400, "ValidationFailed")["details"]
    assert (fault["code"], fault["target"]) == ("NotAllowed", "Action")
    assert fault["message"] == (
        "Release cannot be done to INV-7: it is Approved. Possible: Reject, HoldByClient, HoldByPlanManager."
    )
    assert not StatusMove.objects.exists()


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"Action": None}, [("Required", "Action")]),
        ({"Action": "approve"}, [("NotAChoice", "Action")]),
        ({"Action": 1}, [("WrongType", "Action")]),
        ({"Action": "Reject"}, [("Required", "Reason")]),
        ({"Action": "HoldByClient", "Reason": " "}, [("Required", "Reason")]),
        ({"Action": "Reject", "Reason": "x" * 401}, [("TooLong", "Reason")]),
        ({"StaffGuid": None}, [("Required", "StaffGuid")]),
        ({"StaffGuid": "nobody"}, [("InvalidGuid", "StaffGuid")]),
        ({"StaffGuid": "0198c0de-0000-7000-8000-000000000001"}, [("NotFound", "StaffGuid")]),
    ],
    ids=str,
)
def test_every_fault_of_an_action_has_its_place(api, members, expected):
    record = a_provider_invoice()
    assert faults(api.post(f"providerInvoice/{record.pk}/Action", {**a_decision(), **members})) == expected
    record.refresh_from_db()
    assert record.approval_status == "Unactioned"


def test_all_faults_of_an_action_are_reported_at_once(api):
    record = a_provider_invoice()
    body = a_decision(a_staff_member(role=a_role()), "Reject")
    assert faults(api.post(f"providerInvoice/{record.pk}/Action", body)) == [
        ("Required", "Reason"),
        ("PermissionNeeded", "StaffGuid"),
    ]


@pytest.mark.parametrize("columns", [{"archive_date": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}, {}])
def test_who_decides_needs_the_permission(api, columns):
    record = a_provider_invoice()
    member = a_member() if columns else a_staff_member(role=a_role())
    type(member).objects.filter(pk=member.pk).update(**columns or {"abbreviation": "NN"})
    answer = api.post(f"providerInvoice/{record.pk}/Action", a_decision(member))
    assert faults(answer) == [("PermissionNeeded", "StaffGuid")]


def test_the_role_with_all_permissions_of_who_takes_an_action_needs_no_query_of_its_own(api):
    record, decision = a_provider_invoice(), a_decision()
    with CaptureQueriesContext(connection) as queries:
        ok(api.post(f"providerInvoice/{record.pk}/Action", decision))
    assert [each["sql"] for each in queries if 'FROM "people_role"' in each["sql"]] == []


def test_one_that_a_live_claim_stands_on_is_not_rejected(api):
    claim = a_claim()
    answer = api.post(
        f"providerInvoice/{claim.provider_invoice_id}/Action", a_decision(action="Reject", Reason="No")
    )
    assert faults(answer) == [("AlreadyUsed", "Action")]
    assert claim.claim_number in answer.json()["error"]["details"][0]["message"]


def test_an_archived_one_is_not_decided_about(api):
    record = a_provider_invoice(archive_date=clock.now())
    assert faults(api.post(f"providerInvoice/{record.pk}/Action", a_decision())) == [("Archived", "Action")]


def test_an_unknown_one_is_404_whatever_the_body_says(api):
    for body in (a_decision(), {}, b"{"):
        refused(api.post(f"providerInvoice/{uuid.uuid4()}/Action", body), 404, "NotFound")
    refused(api.post("providerInvoice/nothing/Action", a_decision()), 400)


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_an_action_is_posted(api, method):
    answer = api.call(method, f"providerInvoice/{a_provider_invoice().pk}/Action", body=a_decision())
    refused(answer, 405, "MethodNotAllowed")
    assert "POST" in answer["Allow"]


def test_an_action_needs_a_scope_that_writes(nobody):
    address = f"providerInvoice/{a_provider_invoice().pk}/Action"
    body = a_decision()
    refused(nobody.post(address, body), 401)
    for scope in ("read", "providerinvoice.read", "claim.write"):
        refused(Caller(an_application(scope, name=scope)).post(address, body), 403)
    assert (
        Caller(an_application("providerinvoice.write", name="Writer")).post(address, body).status_code == 200
    )


def test_a_repeated_request_is_answered_as_it_was_and_done_once(api):
    record, body = a_provider_invoice(), a_decision()
    first, again = (
        api.post(f"providerInvoice/{record.pk}/Action", body, Idempotency_Key="once") for _ in range(2)
    )
    assert ok(first) == ok(again)
    assert again["Idempotency-Replayed"] == "true"
    assert StatusMove.objects.count() == 1
    other = {**body, "Reason": "Other"}
    refused(api.post(f"providerInvoice/{record.pk}/Action", other, Idempotency_Key="once"), 422)


def test_an_action_may_hold_the_record_to_what_was_read(api):
    record = a_provider_invoice()
    tag = api.get(f"providerInvoice/{record.pk}")["ETag"]
    ok(api.post(f"providerInvoice/{record.pk}/Action", a_decision(), If_Match=tag))
    body = a_decision(action="Reject", Reason="Too late")
    refused(api.post(f"providerInvoice/{record.pk}/Action", body, If_Match='W/"0"'), 412)


def test_a_caller_may_prefer_no_answer(api):
    record = a_provider_invoice()
    answer = api.post(f"providerInvoice/{record.pk}/Action", a_decision(), Prefer="return=minimal")
    assert (answer.status_code, answer.content) == (204, b"")
    record.refresh_from_db()
    assert record.approval_status == "Approved"


def test_an_action_takes_no_query_and_only_json(api):
    address = f"providerInvoice/{a_provider_invoice().pk}/Action"
    refused(api.post(address, a_decision(), {"Reason": "Because"}), 400)
    refused(api.post(address, a_decision(), content_type="text/plain"), 415)
    for broken in (b"", b"null", b"[]", b'{"Action": "Approve"', b'{"Action": NaN}'):
        refused(api.post(address, broken), 400)


def test_what_an_application_decided_stands_in_the_history(api):
    record = a_provider_invoice()
    ok(api.post(f"providerInvoice/{record.pk}/Action", a_decision()))
    change = Change.objects.get(record_key=str(record.pk), kind="Changed")
    assert (change.channel, change.application) == ("API", "Integration")
    assert change.differences["approval_status"] == ["Unactioned", "Approved"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres("SQLite has one writer and its test database one connection")
def test_one_of_eight_who_decide_at_once_does(api):
    record, body = a_provider_invoice(), a_decision()
    answers = at_once(api, 8, lambda caller: caller.post(f"providerInvoice/{record.pk}/Action", body))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 7
    assert StatusMove.objects.count() == 1
