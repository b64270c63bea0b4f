"""ModifyDate of claims and invoices, which programs follow by their cursors: version 2.1 of the interface."""

from decimal import Decimal

import pytest

from apps.base import clock
from apps.core.models import Subscriber
from apps.funding.models import Claim, ClaimFile, Invoice
from apps.funding.statuses import ClaimStatus
from apps.funding.validation.transitions import transitions_of
from apps.people.handover import hand_over
from apps.people.merging import merge, undo_merge
from tests.api.caller import ok
from tests.funding.applied import applied
from tests.funding.bodies import a_funder
from tests.funding.builders import a_claim, a_claim_file, an_invoice
from tests.people.builders import a_contact

LATER = {"api_version": "2.1"}

#: What leads to statuses in which money was paid, or a cancellation asked for.
STEPS = {
    "AgencyPartiallyPaid": ("pay-in-part", True),
    "AgencyFullyPaid": ("pay", False),
    "CancellationRequested": ("ask-to-cancel", False),
}
WAYS = [
    pytest.param(model, row, source, id=f"{model.__name__}-{row.name}-{source}")
    for model in (Claim, Invoice)
    for row in transitions_of(model)
    for source in sorted(row.sources)
    if model is Invoice or source in ClaimStatus.values
]


@pytest.fixture
def caller(api):
    Subscriber.objects.update_or_create(pk=1, defaults={"payment_provider_module": True})
    Subscriber.clear_cache()
    return api


def read(caller, bill):
    """What the interface shows of a bill, and when it says that this changed."""
    shown = ok(caller.get(f"{bill._meta.model_name}({bill.pk})", {"$expand": "*"}, **LATER))
    return shown, shown.pop("ModifyDate")


def moved(bill, name, asks_for_amount):
    amounts = {bill.pk: Decimal(10)} if asks_for_amount else None
    return applied(bill, name, reason="Because", amounts=amounts)


def bill_in(model, source, name):
    """A bill in a status, as it came there."""
    step = STEPS.get(source)
    status = "AgencyClaimed" if step else source
    is_for_client = source in ("Sent", "ClientRejected") or name == "send"
    if model is Claim:
        bill = a_claim(funding_status=status)
    else:
        billed_to = "InvoiceToClient" if is_for_client else "InvoiceToAgency"
        bill = an_invoice(funding_status=status, invoice_claim_type=billed_to)
    if name == "take-out-of-file":
        a_claim_file([bill], status=ClaimFile.Status.NOT_SENT)
    bill = moved(bill, *step) if step else bill
    return moved(bill, "archive", False) if name == "restore" else bill


@pytest.mark.parametrize(("model", "row", "source"), WAYS)
def test_every_transition_moves_it(caller, model, row, source):
    bill = bill_in(model, source, row.name)
    before, stamp = read(caller, bill)
    clock.reset_now()
    moved(bill, row.name, row.asks_for_amount)
    after, later = read(caller, bill)
    assert later > stamp or (after == before and row.resubmits)


def test_whoever_looks_after_a_bill_or_whom_it_is_for_moves_it(caller):
    claim, other = a_claim(), a_contact()
    duplicate = claim.contact
    changes = [
        lambda: merge(other, duplicate),
        lambda: undo_merge(duplicate),
        lambda: hand_over(claim.staff, {"funding.claim.staff": a_funder()}),
    ]
    for change in changes:
        before, stamp = read(caller, claim)
        claim.refresh_from_db()
        clock.reset_now()
        change()
        after, later = read(caller, claim)
        assert after != before
        assert later > stamp


def test_lines_in_another_order_or_with_days_of_their_own_move_it(caller):
    claim = a_claim(lines=2, staff=a_funder())
    first, second = read(caller, claim)[0]["LineItems"]
    keys = [{"LineItemGuid": line["LineItemGuid"]} for line in (second, first)]
    for lines in (
        [keys[1], keys[0]],
        keys,
        [{**keys[0], "FromDate": second["FromDate"] or "2025-07-01"}, keys[1]],
    ):
        before, stamp = read(caller, claim)
        address, ignored = f"claim({claim.pk})", {"ignoreWarnings": "true"}
        ok(caller.patch(address, {"LineItems": lines}, ignored, If_Match="*", **LATER))
        after, later = read(caller, claim)
        if lines == keys or "FromDate" in lines[0]:  # at first what is worked out of the claim is set right
            assert after["LineItems"] != before["LineItems"]
            assert later > stamp


@pytest.mark.parametrize("path", ["claim", "invoice"])
def test_it_is_of_version_2_1_alone(caller, path):
    (a_claim if path == "claim" else an_invoice)()
    (shown,) = caller.all(path)
    assert "ModifyDate" not in shown
    assert caller.get(path, {"$filter": "ModifyDate gt 2026-01-01T00:00:00Z"}).status_code == 400


@pytest.mark.parametrize("make", [a_claim, an_invoice])
def test_a_cursor_reads_what_changed_since_page_by_page(caller, make):
    bills = [make() for _ in range(5)]
    path = bills[0]._meta.model_name
    model = type(bills[0])
    for at, bill in enumerate(bills):
        model.objects.filter(pk=bill.pk).update(modify_date=f"2026-11-0{at // 2 + 1}T00:00:00Z")
    query = {
        "$filter": "ModifyDate ge 2026-11-02T00:00:00Z",
        "$orderby": "ModifyDate",
        "$select": "ModifyDate",
    }
    pages = list(caller.pages(path, query, Prefer="maxpagesize=2", **LATER))
    days = [[each["ModifyDate"][8:10] for each in page] for page in pages]
    assert days == [["02", "02"], ["03"]]
