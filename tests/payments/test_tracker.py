"""The tracker: each stage counts the records that its list shows."""

import datetime as dt
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.funding.admin.stages import STAGES
from apps.funding.models import ClaimFileLine, ClaimResult
from apps.payments.services.runs import create_run, release_run, withdraw_run
from tests.funding.builders import a_claim, a_claim_file, a_provider_invoice
from tests.payments.builders import a_paid_claim, a_releaser, an_account, payment_settings
from tests.people.records import a_client, a_contact, a_role, a_staff_member, an_administrator, get_unrendered

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.both_engines("stages are counted and summed by statements of their own"),
]

TRACKER = "/admin/funding/claim/tracker/"


@pytest.fixture(autouse=True)
def ada(client, at):
    at("2026-08-20 10:00")  # a Thursday
    person = an_administrator()
    client.force_login(person)
    return person


def received(days_ago, **columns):
    """A provider invoice that was received so many days ago."""
    moment = clock.now() - dt.timedelta(days=days_ago)
    return a_provider_invoice(contact=a_contact(), provider=a_client(), creation_date=moment, **columns)


def rows_of(client):
    return {row.stage.name: row for row in get_unrendered(client, TRACKER).context_data["rows"]}


def listed(client, link):
    return {str(record.pk) for record in get_unrendered(client, link).context_data["cl"].result_list}


def answer(claim, count=None):
    lines = ClaimFileLine.objects.filter(claim=claim).order_by("position")
    for line in lines[:count]:
        ClaimResult.objects.create(file_line=line, is_accepted=True, file_name="results.csv")


def a_claim_of(days_ago, status, **columns):
    return a_claim(provider_invoice=received(days_ago, is_claimed=True), funding_status=status, **columns)


@pytest.fixture
def office():
    """Records in each stage, by its name, and those of them that are late."""
    found, late = {}, {}
    invoices = [received(1), received(20)]
    found["received"], late["received"] = invoices, invoices[1:]
    entered = [
        a_claim_of(1, "AwaitingStaffApproval"),
        a_claim_of(20, "OnHold"),
    ]
    found["entered"], late["entered"] = entered, entered[1:]
    approved = [a_claim_of(2, "Approved"), a_claim_of(9, "Approved")]
    found["approved"], late["approved"] = approved, approved[1:]
    in_file = [a_claim_of(1, "AgencyClaimed"), a_claim_of(30, "AgencyClaimed")]
    a_claim_file(in_file, status="NotSent")
    found["in-file"], late["in-file"] = in_file, in_file[1:]
    by_hand = a_claim_of(1, "AgencyClaimed")
    half, whole = (a_claim([{}, {}], funding_status="AgencyClaimed") for _ in range(2))
    a_claim_file([half, whole], status="Sent")
    answer(half, 1)
    answer(whole)
    found["sent"], found["accepted"] = [by_hand, half], [whole]
    withdrawn = a_claim_file(approved, status="Withdrawn")
    withdrawn.lines.update(is_withdrawn=True)
    payment_settings()
    provider = a_client()
    an_account(provider)
    long_ago = clock.now() - dt.timedelta(days=6)
    out = [a_paid_claim("3.00", provider=provider) for _ in range(2)]
    out[1].payment_date = long_ago
    out[1].save()
    run = create_run([each.pk for each in out], clock.today(), a_staff_member())
    release_run(run.pk, a_releaser())
    ready = [a_paid_claim("10.00", "4.00"), a_paid_claim("7.00", provider=provider)]
    ready[1].payment_date = long_ago
    ready[1].save()
    withdraw_run(create_run([ready[1].pk], clock.today(), None).pk)
    a_paid_claim("99.00", send_payment_to="PlanManager")
    found["paid"], late["paid"] = ready, ready[1:]
    found["payee-paid"], late["payee-paid"] = out, out[1:]
    a_claim(funding_status="PaymentProviderRejected"), a_claim(archive_date=clock.now())
    return found, late


def test_each_stage_counts_what_its_list_has(client, office):
    found, late = office
    rows = rows_of(client)
    assert list(rows) == [stage.name for stage in STAGES] == list(found)
    for name, records in found.items():
        row = rows[name]
        assert row.queue.count == len(records), name
        assert listed(client, row.stage.link) == {str(each.pk) for each in records}, name
        if row.late is None:
            assert name not in late
            continue
        assert row.late.count == len(late[name]), name
        assert listed(client, row.late.link) == {str(each.pk) for each in late[name]}, name


def test_each_stage_has_its_sum_and_since_when_its_oldest_waits(client, office):
    rows = rows_of(client)
    sums = {name: row.queue.amount for name, row in rows.items()}
    assert sums["paid"] == Decimal("11.00")  # 4.00 of 10.00, and 7.00
    assert '<td class="fu-figure">11.00</td>' in client.get(TRACKER).content.decode()
    assert sums["payee-paid"] == Decimal("6.00")
    assert sums["in-file"] == sum((each.total for each in office[0]["in-file"]), Decimal(0))
    days = {name: row.queue.days for name, row in rows.items()}
    assert (days["received"], days["approved"], days["in-file"], days["paid"]) == (20, 9, 30, 6)


def test_an_empty_office_has_an_empty_tracker(client):
    assert {(row.queue.count, row.queue.amount) for row in rows_of(client).values()} == {(0, Decimal(0))}
    assert client.get(TRACKER).status_code == 200


def test_it_takes_the_same_statements_for_any_number_of_claims(client, office):
    client.get(TRACKER)

    def statements():
        with CaptureQueriesContext(
            connection,
        ) as captured:
            client.get(TRACKER)
        # The settings of the organisation are read again when they are old.
        return sum("core_subscriber" not in query["sql"] for query in captured.captured_queries)

    before = statements()
    for _ in range(3):
        a_claim_of(1, "Approved"), a_paid_claim("1.00")
    assert statements() == before <= 15


def test_who_may_not_see_the_invoices_gets_no_link_to_them(client, office):
    client.force_login(a_staff_member(role=a_role("funding.view_claim")))
    rows = rows_of(client)
    assert [name for name, row in rows.items() if not row.is_linked] == ["received"]
    assert "stage=received" not in client.get(TRACKER).content.decode()
    client.force_login(a_staff_member(role=a_role("funding.view_product")))
    assert client.get(TRACKER).status_code == 403


def a_run(claim, at, made, released=None):
    """A run of a claim, made at a moment, and released at another."""
    at(made)
    run = create_run([claim.pk], clock.today() + dt.timedelta(days=30), None)
    if released:
        at(released)
        release_run(run.pk, a_releaser())
    return run


def test_what_was_released_in_the_last_days_counts_whenever_its_run_was_made(client, at):
    payment_settings()
    providers = [a_client() for _ in range(3)]
    claims = [a_paid_claim(provider=provider) for provider in providers]
    for provider in providers:
        an_account(provider)
    draft = a_run(claims[0], at, "2026-08-03 10:00")
    a_run(claims[1], at, "2026-08-04 10:00", "2026-08-12 10:00")
    a_run(claims[2], at, "2026-08-19 10:00", "2026-08-20 09:00")
    at("2026-08-20 09:30")
    release_run(draft.pk, a_releaser())
    at("2026-08-20 10:00")
    row = rows_of(client)["payee-paid"]
    assert row.queue.count == 2
    assert listed(client, row.stage.link) == {str(claims[0].pk), str(claims[2].pk)}


def test_a_list_asks_for_the_stage_that_is_chosen_alone(client, office):
    def asks_for_payments(link):
        with CaptureQueriesContext(connection) as captured:
            client.get(link)
        return any("payments_paymentrun" in query["sql"] for query in captured.captured_queries)

    rows = rows_of(client)
    assert asks_for_payments(rows["payee-paid"].late.link)
    assert not asks_for_payments(rows["approved"].stage.link)
    assert not asks_for_payments("/admin/funding/claim/")
    assert listed(client, "/admin/funding/claim/?stage=sent-late") > listed(client, rows["sent"].stage.link)
