"""Transitions of one or many records in the back office, and the queues of those that wait."""

import datetime as dt
import re
from decimal import Decimal
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from apps.core.models import Subscriber
from apps.funding.admin.claims import ClaimAdmin
from apps.funding.models import Claim, ProviderInvoice, StatusMove
from apps.funding.services.transitions import apply_transition
from apps.funding.validation.warning_codes import WARNING_LABELS
from tests.funding.admin_forms import (
    CLAIMS,
    INVOICES,
    PROVIDER_INVOICES,
    confirm_list_action,
    reloaded,
    run_list_action,
)
from tests.funding.builders import a_claim, a_provider_invoice, a_warned_claim, an_invoice
from tests.people.records import (
    a_client,
    a_contact,
    a_role,
    a_staff_member,
    form_data,
    get_unrendered,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada", "nothing_changed_since")]
decided_in_python = pytest.mark.any_engine("permissions and statuses are compared in Python")
APPROVED, AWAITING, ON_HOLD = "Approved", "AwaitingStaffApproval", "OnHold"


def run_action(client, record, name, follow=False, **answers):
    model = record._meta.model_name
    return client.post(f"/admin/funding/{model}/{record.pk}/do/{name}/", answers, follow=follow)


def button_labels(client, record):
    page = get_unrendered(client, f"/admin/funding/{record._meta.model_name}/{record.pk}/change/")
    return [button["label"] for button in page.context["buttons"]]


def list_actions(client, address):
    page = get_unrendered(client, address)
    return [label for name, label in page.context["action_form"].fields["action"].choices if name]


# --- one ------------------------------------------------------------------------------------------------


@decided_in_python
def test_a_record_offers_the_actions_that_are_possible(client):
    assert button_labels(client, a_claim()) == ["Approve", "Hold", "Archive"]
    assert button_labels(client, a_claim(funding_status=ON_HOLD)) == ["Approve", "Release", "Archive"]
    partly = a_claim(funding_status="AgencyPartiallyPaid", amount_paid=Decimal("10.00"))
    assert button_labels(client, partly) == [
        "Ask to cancel",
        "Paid a further part",
        "Paid the rest",
        "Write off the gap",
        "Money taken back",
        "Resubmit in full",
        "Resubmit the gap",
    ]
    fully = a_claim(funding_status="AgencyFullyPaid", amount_paid=Decimal("140.00"))
    assert button_labels(client, fully) == ["Ask to cancel", "Money taken back"]
    assert button_labels(client, an_invoice(funding_status="Paid")) == []
    invoice = an_invoice(funding_status=APPROVED, invoice_claim_type="InvoiceToClient")
    assert button_labels(client, invoice) == ["Send", "Withdraw approval"]


def test_a_claim_is_approved_with_one_click_and_the_page_names_who_did_it(client, ada):
    claim = a_claim()
    answer = run_action(client, claim, "approve", follow=True)
    assert reloaded(claim).funding_status == APPROVED
    move = StatusMove.objects.get(claim=claim)
    assert (move.staff, move.from_status, move.to_status) == (ada, AWAITING, APPROVED)
    (entry,) = answer.context["moves"]
    assert (entry["label"], entry["to"], entry["who"]) == ("Approve", "Approved", ada)


def test_a_hold_asks_for_its_reason(client):
    claim = a_claim()
    page = get_unrendered(client, f"{CLAIMS}{claim.pk}/do/hold/")
    assert "reason" in page.context["form"].fields
    run_action(client, claim, "hold", reason=" ")
    assert reloaded(claim).funding_status == AWAITING
    run_action(client, claim, "hold", reason="Hours to be confirmed")
    assert (reloaded(claim).funding_status, reloaded(claim).status_reason) == (
        ON_HOLD,
        "Hours to be confirmed",
    )


def test_a_hold_offers_the_reasons_of_the_organisation_and_takes_their_spelling(client):
    Subscriber(hold_reasons="Waiting for the provider\n\n No  budget \nNo budget").save()
    claim = a_claim()
    page = client.get(f"{CLAIMS}{claim.pk}/do/hold/").content.decode()
    assert re.findall("<option>(.*?)</option>", page) == ["Waiting for the provider", "No budget"]
    run_action(client, claim, "hold", reason=" no  BUDGET")
    assert reloaded(claim).status_reason == "No budget"


@decided_in_python
def test_opening_the_form_of_an_action_changes_nothing(client):
    claim = a_claim()
    assert client.get(f"{CLAIMS}{claim.pk}/do/approve/").status_code == 200
    assert reloaded(claim).funding_status == AWAITING


def test_a_part_payment_asks_for_its_amount(client):
    claim = a_claim(funding_status="AgencyClaimed")
    answer = run_action(client, claim, "pay-in-part", amount="200", day="01/07/2025", follow=True)
    assert "more than the 140.00 that is outstanding" in answer.content.decode()
    assert answer.context["form"].data["amount"] == "200"  # and it can be corrected
    assert 'name="_do"' in answer.content.decode()
    run_action(client, claim, "pay-in-part", amount="40.50", day="01/07/2025")
    claim = reloaded(claim)
    assert (claim.funding_status, claim.amount_paid) == ("AgencyPartiallyPaid", Decimal("40.50"))


def a_paid_claim():
    """Two lines of 140.00, both paid."""
    claim = a_claim(2, funding_status="AgencyClaimed")
    apply_transition(Claim, [claim.pk], "pay")
    return reloaded(claim)


def test_what_is_taken_back_is_asked_for_as_one_amount_or_line_by_line(client):
    claim = a_paid_claim()
    form = get_unrendered(client, f"{CLAIMS}{claim.pk}/do/take-back/").context["form"]
    first, second = claim.line_items.order_by("position")
    assert [(line, paid) for line, paid, _ in form.lines] == [(first, first.total), (second, second.total)]
    assert "At most 280.00" in form.fields["amount"].help_text
    for answers in ({}, {"amount": "20", str(first.pk): "20"}, {"amount": "much"}, {str(first.pk): "much"}):
        answer = run_action(client, claim, "take-back", reason="Debt 17", **answers)
        assert answer.status_code == 200
        assert answer.context["form"].errors
    assert "reason" in run_action(client, claim, "take-back", amount="20").context["form"].errors
    assert reloaded(claim).amount_paid == Decimal("280.00")
    run_action(client, claim, "take-back", amount="150.50", reason="Debt 17")
    assert [str(line.amount_paid) for line in claim.line_items.order_by("position")] == ["129.50", "0.00"]
    form = get_unrendered(client, f"{CLAIMS}{claim.pk}/do/take-back/").context["form"]
    assert [field is None for _, _, field in form.lines] == [False, True]  # of one line nothing is paid
    page = client.get(f"{CLAIMS}{claim.pk}/do/take-back/").content.decode()
    assert re.findall(r'<td class="fu-figure">([^<]*)</td>', page) == ["129.50", "0.00"]
    answer = run_action(client, claim, "take-back", reason="Debt 18", **{str(first.pk): "29.50"}, follow=True)
    claim = reloaded(claim)
    assert (claim.funding_status, claim.amount_paid) == ("AgencyPartiallyPaid", Decimal("100.00"))
    amounts = [(move["label"], str(move["amount"])) for move in answer.context["moves"]]
    assert amounts == [
        ("Money taken back", "-29.50"),
        ("Money taken back", "-150.50"),
        ("Paid in full", "280.00"),
    ]
    assert "AUD -150.50" in answer.content.decode()


@pytest.mark.parametrize(
    ("name", "amount", "once"), [("take-back", "20.00", "260.00"), ("pay-further", "5.00", "25.00")]
)
def test_a_form_with_an_amount_that_is_sent_twice_counts_once(client, name, amount, once):
    """The status is the same afterwards, and so nothing else refuses the second one."""
    claim = a_paid_claim() if name == "take-back" else a_claim(funding_status="AgencyClaimed")
    if name == "pay-further":
        apply_transition(Claim, [claim.pk], "pay-in-part", amounts={claim.pk: Decimal("20.00")})
    address = f"{CLAIMS}{claim.pk}/do/{name}/"
    hidden = dict(get_unrendered(client, address).context["hidden"])
    answers = {**hidden, "amount": amount, "reason": "Debt 17", "day": "01/07/2025"}
    assert client.post(address, answers).status_code == 302
    again = client.post(address, answers)
    assert f"By now {once} are paid of it: look whether this is recorded already." in again.content.decode()
    assert reloaded(claim).amount_paid == Decimal(once)
    # Whoever means it sends the page that says so.
    assert client.post(address, {**answers, **dict(again.context["hidden"])}).status_code == 302
    assert reloaded(claim).amount_paid != Decimal(once)


def test_what_was_typed_to_be_taken_back_can_be_corrected(client):
    claim = a_paid_claim()
    first, _ = claim.line_items.order_by("position")
    answer = run_action(client, claim, "take-back", reason="Debt 17", **{str(first.pk): "140.01"})
    text = answer.content.decode()
    assert "Of line 1 140.00 was paid itself: 140.01 cannot be taken back from it." in text
    assert 'value="140.01"' in text
    assert 'aria-label="Taken back of line 1"' in text


def test_of_a_claim_with_one_line_one_amount_is_taken_back(client):
    claim = a_claim(funding_status="AgencyClaimed")
    apply_transition(Claim, [claim.pk], "pay")
    form = get_unrendered(client, f"{CLAIMS}{claim.pk}/do/take-back/").context["form"]
    assert list(form.fields) == ["amount", "reason"]
    run_action(client, claim, "take-back", amount="140", reason="Debt 17")
    assert reloaded(claim).funding_status == "PaymentProviderCancelled"


def test_a_cancellation_that_takes_money_back_says_so_first(client):
    claim, unpaid = a_paid_claim(), a_claim(funding_status="AgencyClaimed")
    for each in (claim, unpaid):
        run_action(client, each, "ask-to-cancel", reason="Entered twice")
    buttons = {
        each: get_unrendered(client, f"{CLAIMS}{each.pk}/change/").context["buttons"]
        for each in (claim, unpaid)
    }
    assert {each: shown[0]["asks_first"] for each, shown in buttons.items()} == {claim: True, unpaid: False}
    said = "280.00, which was paid of it, is taken back: nothing of it is paid any more."
    assert said in client.get(f"{CLAIMS}{claim.pk}/do/confirm-cancellation/").content.decode()
    run_action(client, claim, "confirm-cancellation")
    assert (reloaded(claim).funding_status, reloaded(claim).amount_paid) == ("PaymentProviderCancelled", 0)


def test_parts_and_what_is_taken_back_are_asked_of_one_claim_at_a_time(client):
    for status in ("AgencyPartiallyPaid", "AgencyFullyPaid"):
        a_claim(funding_status=status)
        labels = list_actions(client, f"{CLAIMS}?status={status}")
        assert "Ask to cancel…" in labels
        assert not {"Paid a further part…", "Money taken back…"} & set(labels)
    a_claim(funding_status="AgencyClaimed")
    assert "Refused by the agency…" in list_actions(client, f"{CLAIMS}?status=AgencyClaimed")


def test_a_resubmitted_claim_leads_to_its_successor(client):
    claim = a_claim(funding_status="PaymentProviderRejected")
    answer = run_action(client, claim, "resubmit", follow=True)
    new = Claim.objects.get(resubmission_of=claim)
    assert answer.redirect_chain[-1][0] == f"{CLAIMS}{new.pk}/change/"


def test_a_resubmitted_claim_leaves_its_queue_and_both_pages_name_the_other(client):
    claim, other = (a_claim(funding_status="PaymentProviderRejected") for _ in range(2))
    run_action(client, claim, "resubmit")
    new = Claim.objects.get(resubmission_of=claim)
    for record, text, named in ((claim, "Resubmitted as", new), (new, "Resubmits", claim)):
        page = client.get(f"{CLAIMS}{record.pk}/change/").content.decode()
        assert f'{text} <a class="rs-link" href="{CLAIMS}{named.pk}/change/">{named}</a>' in page
    queue = {"status": "PaymentProviderRejected"}
    assert listed(client, CLAIMS, **queue) == [str(other)]
    assert listed(client, CLAIMS, **queue, resubmitted="yes") == [str(claim)]
    assert set(listed(client, CLAIMS, **queue, resubmitted="all")) == {str(claim), str(other)}
    assert set(listed(client, CLAIMS)) == {str(claim), str(other), str(new)}
    tabs = {tab["label"]: tab["count"] for tab in get_unrendered(client, CLAIMS).context["tabs"]}
    assert tabs["Refused"] == "1"
    run_action(client, new, "archive")  # which gives the old one back what is open
    assert set(listed(client, CLAIMS, **queue)) == {str(claim), str(other)}


def test_an_action_that_is_no_longer_possible_is_refused(client):
    claim = a_claim(funding_status="AgencyClaimed")
    answer = run_action(client, claim, "approve", follow=True)
    assert "is claimed from the agency. “Approve” was not done." in answer.content.decode()
    assert answer.redirect_chain  # nothing was typed
    assert run_action(client, claim, "no-such-action").status_code == 404
    assert reloaded(claim).funding_status == "AgencyClaimed"


@decided_in_python
def test_with_four_eyes_the_page_says_why_it_cannot_be_approved(client, ada):
    Subscriber.objects.update_or_create(pk=1, defaults={"four_eyes": True})
    Subscriber.clear_cache()
    claim = a_claim(staff=ada)
    page = client.get(f"{CLAIMS}{claim.pk}/change/")
    assert "You entered it yourself" in page.content.decode()
    assert "Approve" not in button_labels(client, claim)
    run_action(client, claim, "approve")
    assert reloaded(claim).funding_status == AWAITING


# --- many -----------------------------------------------------------------------------------------------


def test_a_tab_offers_the_actions_of_its_rows(client):
    a_claim()
    assert list_actions(client, f"{CLAIMS}?status={AWAITING}") == ["Approve…", "Hold…", "Archive"]
    assert list_actions(client, CLAIMS) == ["Approve…", "Release", "Hold…", "Archive"]
    assert list_actions(client, f"{CLAIMS}?archived=yes") == ["Restore"]
    assert "Withdraw approval" not in list_actions(client, f"{CLAIMS}?status={APPROVED}")
    assert "Send…" in list_actions(client, f"{INVOICES}?status={APPROVED}")
    assert list_actions(client, f"{INVOICES}?status=Sent") == [
        "PDF",
        "Paid…",
        "Client rejects…",
        "Plan manager rejects…",
    ]


def test_the_actions_of_the_admin_class_are_offered_as_well(client, monkeypatch):
    monkeypatch.setattr(ClaimAdmin, "actions", ("restore_selected",))
    assert list_actions(client, CLAIMS) == ["Restore", "Approve…", "Release", "Hold…", "Archive"]


@pytest.mark.both_engines("found or summed by the database")
def test_an_action_on_all_of_a_filter_changes_no_others(client, ada):
    mine = [a_claim(staff=ada, entered_by=None) for _ in range(3)]
    other = a_claim()
    address = f"{CLAIMS}?status={AWAITING}&staff={ada.pk}"
    page = run_list_action(client, address, "approve", mine[:1], follow=True, select_across="1")
    confirm_list_action(client, address, "approve", mine, page=page)
    assert {reloaded(each).funding_status for each in mine} == {APPROVED}
    assert reloaded(other).funding_status == AWAITING


def test_holding_many_claims_asks_for_the_reason_first(client):
    claims = [a_claim(), a_claim()]
    address = f"{CLAIMS}?status={AWAITING}"
    page = run_list_action(client, address, "hold", claims, follow=True)
    assert "reason" in page.context["form"].fields
    assert "Hold: <strong>2 claims</strong>" in page.content.decode()
    assert {reloaded(each).funding_status for each in claims} == {AWAITING}
    confirm_list_action(client, address, "hold", claims, page=page, reason="Plan under review")
    assert {reloaded(each).status_reason for each in claims} == {"Plan under review"}


def test_an_action_changes_no_more_records_at_once_than_the_limit(client, monkeypatch):
    monkeypatch.setattr("apps.funding.admin.actions.ACTION_LIMIT", 2)
    claims = [a_claim() for _ in range(3)]
    page = run_list_action(client, f"{CLAIMS}?status={AWAITING}", "approve", claims, follow=True)
    assert "2 go at once" in page.content.decode()
    confirm_list_action(client, f"{CLAIMS}?status={AWAITING}", "approve", claims, page=page)
    assert Claim.objects.filter(funding_status=APPROVED).count() == 2


def test_archived_claims_are_restored_from_their_list(client):
    claim = a_claim()
    run_list_action(client, f"{CLAIMS}?status={AWAITING}", "archive", [claim])
    assert reloaded(claim).is_archived
    assert not reloaded(claim).takes_provider_invoice
    run_list_action(client, f"{CLAIMS}?archived=yes", "restore", [claim])
    assert not reloaded(claim).is_archived
    assert reloaded(claim).takes_provider_invoice


@decided_in_python
def test_without_the_permission_no_status_changes(client):
    claim = a_claim()
    role = a_role("funding.view_claim", "funding.administer_funding_invoices")
    client.force_login(a_staff_member(role=role))
    run_list_action(client, f"{CLAIMS}?status={AWAITING}", "approve", [claim])
    assert reloaded(claim).funding_status == AWAITING
    client.force_login(a_staff_member(role=a_role("funding.change_claim", "funding.view_claim")))
    run_list_action(client, CLAIMS, "approve", [claim])
    run_action(client, claim, "approve")
    assert reloaded(claim).funding_status == AWAITING


ADMINISTERS = ("funding.view_claim", "funding.change_claim", "funding.administer_funding_invoices")


@decided_in_python
@pytest.mark.parametrize(
    ("permission", "status", "offered"),
    [
        (None, AWAITING, ["hold", "archive"]),
        ("approve", AWAITING, ["approve", "hold", "archive"]),
        (None, APPROVED, []),
        ("approve", APPROVED, ["withdraw"]),
        ("claim", APPROVED, ["claim"]),
        ("claim", "AgencyClaimed", ["refuse", "ask-to-cancel"]),
        ("pay", "AgencyClaimed", ["pay", "pay-in-part"]),
    ],
)
def test_approving_claiming_and_paying_are_permissions_of_their_own(client, permission, status, offered):
    claim = a_claim(funding_status=status)
    granted = [f"funding.{permission}_funding_invoices"] if permission else []
    person = a_staff_member(role=a_role(*ADMINISTERS, *granted))
    client.force_login(person)
    page = get_unrendered(client, f"{CLAIMS}{claim.pk}/change/")
    buttons = [button["address"].split("/")[-2] for button in page.context_data["buttons"]]
    assert buttons == offered
    missing = {name for name in ("approve", "claim", "pay") if name not in offered}
    for name in missing:
        answer = run_action(client, claim, name)
        assert answer.status_code == (200 if name == "pay" else 302)  # it asks for a day
    assert reloaded(claim).funding_status == status
    page = run_list_action(client, f"{CLAIMS}?status={status}", "approve", [claim], follow=True)
    if "hidden" in page.context:
        confirm_list_action(client, f"{CLAIMS}?status={status}", "approve", [claim], page=page)
    assert (reloaded(claim).funding_status == APPROVED) is (permission == "approve" or status == APPROVED)


def test_roles_that_administered_funding_before_keep_all_three_permissions():
    before, other = a_role("funding.administer_funding_invoices"), a_role("funding.view_claim")
    migration = import_module("apps.funding.migrations.0006_approve_claim_and_pay")
    migration.grant_to_administrators_of_funding(apps, SimpleNamespace(connection=connection))
    names = {f"funding.{each}_funding_invoices" for each in ("administer", "approve", "claim", "pay")}
    assert (before.permission_codes(), other.permission_codes()) == (names, {"funding.view_claim"})


@decided_in_python
def test_a_person_who_may_not_approve_is_told_so(client):
    claim = a_claim()
    client.force_login(a_staff_member(role=a_role(*ADMINISTERS)))
    page = client.get(f"{CLAIMS}{claim.pk}/change/").content.decode()
    assert "Your role lacks the permission to approve claims and invoices." in page


# --- warnings, seen by approvers ------------------------------------------------------------------------


@pytest.mark.both_engines("found or summed by the database")
def test_a_list_shows_and_filters_by_the_kinds_of_warnings(client):
    plain = a_claim()
    priced = a_warned_claim("PriceOverCap", "PriceOverCap", "OverBudget")
    late = a_warned_claim("TooOld")
    page = get_unrendered(client, CLAIMS)
    admin = page.context["cl"].model_admin
    cells = {str(each): admin.warning_kinds(each) for each in page.context["cl"].result_list}
    assert cells[str(plain)] is None
    assert "3</b>" in cells[str(priced)]
    assert "Price over cap, Over budget" in cells[str(priced)]
    for chosen, expected in {
        "any": {priced, late},
        "none": {plain},
        "OverBudget": {priced},
        "TooOld": {late},
        "NoBooking": set(),
    }.items():
        assert set(listed(client, CLAIMS, warning=chosen)) == {str(each) for each in expected}, chosen


@pytest.mark.both_engines("found or summed by the database")
def test_a_list_filters_by_each_kind_of_warning(client):
    warned = {code: [str(a_warned_claim(code))] for code in WARNING_LABELS}
    page = get_unrendered(client, CLAIMS)
    [choices] = [each for each in page.context["cl"].filter_specs if each.title == "warnings"]
    assert set(dict(choices.lookup_choices)) >= set(warned)
    assert {code: listed(client, CLAIMS, warning=code) for code in warned} == warned


def test_the_warnings_of_a_list_take_one_statement(client, django_assert_max_num_queries):
    counts = []
    for number in (1, 5):
        for _ in range(number):
            a_warned_claim("PriceOverCap")
        client.get(CLAIMS)
        with django_assert_max_num_queries(20) as counted:
            client.get(CLAIMS)
        counts.append(len(counted))
    assert counts[0] == counts[1]


@pytest.mark.both_engines("found or summed by the database")
def test_a_list_sums_what_its_filters_leave(client, monkeypatch):
    for total in ("10.00", "20.50", "300.25"):
        Claim.objects.filter(pk=a_claim().pk).update(total=Decimal(total))

    def sums(**query):
        shown = get_unrendered(client, CLAIMS, query).context["cl"]
        return shown.sum_count, shown.sum

    assert sums() == (3, Decimal("330.75"))
    assert sums(total_from="15", total_to="300.25") == (2, Decimal("320.75"))
    assert sums(total_from="1,000") == (0, Decimal("0.00"))
    assert sums(total_to="$ 20.50") == (2, Decimal("30.50"))
    page = client.get(CLAIMS, {"total_from": "1,5", "total_to": "$300"}).content.decode()
    assert "“1,5” does not filter the list: write 1616.26." in page
    assert re.search(r'<input type="text" name="total_to" value="\$300"[^>]*inputmode="decimal"', page)
    monkeypatch.setattr("apps.funding.admin.actions.COUNT_LIMIT", 2)
    assert sums() == (0, None)  # of millions nobody asks for the sum
    assert sums(total_from="15") == (2, Decimal("320.75"))


def test_whoever_approves_one_bill_with_warnings_reads_them_first(client):
    claim = a_warned_claim("PriceOverCap")
    page = get_unrendered(client, f"{CLAIMS}{claim.pk}/change/")
    assert page.context_data["buttons"][0]["asks_first"]
    unasked = run_action(client, claim, "approve")
    assert "A message of PriceOverCap" in unasked.content.decode()
    assert reloaded(claim).funding_status == AWAITING
    question = client.get(f"{CLAIMS}{claim.pk}/do/approve/")
    assert "A message of PriceOverCap" in question.content.decode()
    answer = run_action(client, claim, "approve", follow=True, **dict(question.context["hidden"]))
    assert reloaded(claim).funding_status == APPROVED
    assert "1 with warnings: Price over cap (1)." in answer.content.decode()


def test_approving_many_says_which_warnings_they_have(client):
    claims = [a_claim(), a_warned_claim("TooOld", "OverBudget"), a_warned_claim("OverBudget", "OverBudget")]
    address = f"{CLAIMS}?status={AWAITING}"
    answer = confirm_list_action(client, address, "approve", claims, ticked=claims[1:])
    assert "Approve: 3 claims. 2 with warnings: Over budget (2), Too old (1)." in answer.content.decode()


# --- lists and queues -----------------------------------------------------------------------------------


def listed(client, address, **query):
    page = get_unrendered(client, address, query)
    assert page.status_code == 200
    return [str(record) for record in page.context["cl"].result_list]


def test_tabs_say_how_many_wait_and_archived_ones_do_not(client):
    a_claim(), a_claim(), a_claim(funding_status=APPROVED)
    archived = a_claim()
    Claim.objects.filter(pk=archived.pk).update(archive_date=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    tabs = {tab["label"]: tab["count"] for tab in get_unrendered(client, CLAIMS).context["tabs"]}
    assert tabs == {"All": "", "Awaiting staff approval": "2", "Approved": "1"}


def test_counts_stop_at_the_limit(client, monkeypatch):
    for module in ("core.admin_base.filters", "core.admin_base.display", "funding.admin.queues"):
        monkeypatch.setattr(f"apps.{module}.COUNT_LIMIT", 2)
    for _ in range(3):
        a_claim()
    page = get_unrendered(client, CLAIMS)
    assert page.context["tabs"][1]["count"] == "2+"
    assert page.context["cl"].result_count == 2


def test_the_hold_list_is_worked_by_reason_and_age(client):
    now = dt.datetime.now(tz=dt.UTC)
    on_hold = [
        a_claim(funding_status=ON_HOLD, status_reason=reason, status_date=now - dt.timedelta(days=days))
        for reason, days in (("Hours", 3), ("Hours", 40), ("Plan", 10))
    ]
    a_claim()
    numbers = [str(each) for each in on_hold]
    assert listed(client, CLAIMS, status=ON_HOLD) == [numbers[1], numbers[2], numbers[0]]  # the oldest first
    assert listed(client, CLAIMS, status=ON_HOLD, reason="Hours") == [numbers[1], numbers[0]]
    assert listed(client, CLAIMS, status=ON_HOLD, age="7") == [numbers[1], numbers[2]]
    page = get_unrendered(client, CLAIMS, {"status": ON_HOLD})
    assert [each["label"] for each in page.context["hold_reasons"]] == [
        "Hours (2, oldest: 40 days)",
        "Plan (1, oldest: 10 days)",
    ]
    assert "hold_reason" in page.context["cl"].list_display


@pytest.mark.both_engines("found or summed by the database")
def test_claims_are_found_by_what_the_provider_invoice_shows(client):
    mia = a_contact(first_name="Mia", last_name="Nguyen", scheme_number="430123456")
    harbour = a_client(business_name="Harbour Lights", business_number="51 824 753 556")
    claim = a_claim(
        contact=mia, provider=harbour, claim_number="CLM-0042", provider_invoice_reference="Größe 7"
    )
    a_claim(contact=a_contact(first_name="Leo", last_name="Silva"))
    for words in (
        "CLM-0042",
        "clm-00",
        "0042",
        "größe",
        "GRÖSSE 7",
        "430 123 456",
        "430123456",
        "mia nguyen",
        "nguy mia",
        "harbour li",
        "51824753556",
    ):
        assert listed(client, CLAIMS, q=words) == [str(claim)], words
    assert listed(client, CLAIMS, q="Mia Nobody") == []


@pytest.mark.both_engines("stored by statements that no other test has")
def test_of_many_people_of_a_name_none_is_left_out(client, monkeypatch):
    monkeypatch.setattr("apps.funding.admin.bill_lists.KEY_LIMIT", 1)
    claims = [a_claim(contact=a_contact(last_name="Smith"), provider=a_client()) for _ in range(3)]
    assert set(listed(client, CLAIMS, q="smith")) == {str(each) for each in claims}


@pytest.mark.both_engines("statements are counted")
@pytest.mark.parametrize("address", [CLAIMS, f"{CLAIMS}?status={AWAITING}", PROVIDER_INVOICES, INVOICES])
def test_a_list_takes_the_same_statements_for_any_number_of_rows(
    client, address, django_assert_max_num_queries
):
    client.get(address)  # writes the session's last use and reads the settings, once in a while
    counts = []
    for number in (1, 5):
        for _ in range(number):
            a_claim(), an_invoice()
        with django_assert_max_num_queries(25) as counted:
            client.get(address)
        counts.append(len(counted))
    assert counts[0] == counts[1]


# --- provider invoices ----------------------------------------------------------------------------------


def an_unclaimed_invoice(**columns):
    return a_provider_invoice(**{"contact": a_contact(), "provider": a_client(), **columns})


def test_provider_invoices_without_a_claim_are_listed_oldest_first(client):
    first, claimed, rejected, on_hold, last = (an_unclaimed_invoice() for _ in range(5))
    a_claim(provider_invoice=claimed, contact=claimed.contact, provider=claimed.provider)
    for provider_invoice, status in ((rejected, "Rejected"), (on_hold, "OnHoldByClient")):
        ProviderInvoice.objects.filter(pk=provider_invoice.pk).update(approval_status=status)
    assert listed(client, PROVIDER_INVOICES, status="waiting") == [str(first), str(last)]
    page = client.get(PROVIDER_INVOICES, {"status": "waiting"})
    tabs = {tab["label"]: tab["count"] for tab in page.context["tabs"]}
    assert tabs["To be claimed"] == "2"
    assert f"{CLAIMS}add/?provider_invoice={first.pk}" in page.content.decode()
    assert client.get(f"{CLAIMS}next/").url == f"{CLAIMS}add/?provider_invoice={first.pk}"


def test_a_list_of_provider_invoices_leads_to_their_claims(client):
    provider_invoice = an_unclaimed_invoice()
    claim = a_claim(
        provider_invoice=provider_invoice,
        contact=provider_invoice.contact,
        provider=provider_invoice.provider,
    )
    page = client.get(PROVIDER_INVOICES).content.decode()
    assert f"{CLAIMS}{claim.pk}/change/" in page
    assert "Create claim" not in page


def test_a_provider_invoice_is_entered_and_claimed_at_once(client, ada):
    contact, provider = a_contact(), a_client()
    address = f"{PROVIDER_INVOICES}add/"
    data = form_data(
        get_unrendered(client, address),
        contact=str(contact.pk),
        provider=str(provider.pk),
        reference="INV-1",
        invoice_total="100.00",
        service_start_date="01/07/2025",
    )
    answer = client.post(address, data | {"_claim": "1"})
    provider_invoice = ProviderInvoice.objects.get()
    assert answer.url == f"{CLAIMS}add/?provider_invoice={provider_invoice.pk}"
    assert (provider_invoice.created_by, provider_invoice.approval_status) == (ada, "Unactioned")
    again = client.post(address, data)
    assert again.context["adminform"].form.errors
    assert ProviderInvoice.objects.count() == 1


def test_a_provider_invoice_needs_a_value(client):
    address = f"{PROVIDER_INVOICES}add/"
    answer = client.post(address, form_data(get_unrendered(client, address)))
    assert "reference" in answer.context["adminform"].form.errors
    assert not ProviderInvoice.objects.exists()


def test_what_a_claim_is_built_on_stays_reusable_or_not(client):
    provider_invoice = an_unclaimed_invoice()
    a_claim(
        provider_invoice=provider_invoice,
        contact=provider_invoice.contact,
        provider=provider_invoice.provider,
    )
    address = f"{PROVIDER_INVOICES}{provider_invoice.pk}/change/"
    answer = client.post(address, form_data(get_unrendered(client, address), is_reusable="on"))
    assert "is_reusable" in answer.context["adminform"].form.errors
    assert not reloaded(provider_invoice).is_reusable


def test_an_action_is_applied_to_one_provider_invoice(client, ada):
    provider_invoice = an_unclaimed_invoice()
    assert button_labels(client, provider_invoice) == [
        "Approve",
        "Reject",
        "Hold for the client",
        "Hold for the plan manager",
    ]
    run_action(client, provider_invoice, "HoldByClient", reason="Not my signature")
    assert (reloaded(provider_invoice).approval_status, reloaded(provider_invoice).actioned_by) == (
        "OnHoldByClient",
        ada,
    )
    answer = run_action(client, provider_invoice, "Release", follow=True)
    assert reloaded(provider_invoice).approval_status == "Unactioned"
    assert [move["label"] for move in answer.context["moves"]] == ["Release", "Hold for the client"]


def test_an_action_is_applied_to_many_provider_invoices_and_refused_ones_are_listed(client):
    claimed, free = an_unclaimed_invoice(), an_unclaimed_invoice()
    claim = a_claim(provider_invoice=claimed, contact=claimed.contact, provider=claimed.provider)
    page = run_list_action(client, PROVIDER_INVOICES, "Reject", [claimed, free], follow=True)
    assert "reason" in page.context["form"].fields
    answer = confirm_list_action(
        client, PROVIDER_INVOICES, "Reject", [claimed, free], page=page, reason="Sent twice"
    )
    assert (reloaded(claimed).approval_status, reloaded(free).approval_status) == ("Unactioned", "Rejected")
    (refused,) = answer.context["refused"]
    assert claim.claim_number in refused["message"]


@pytest.mark.both_engines("stored by statements that no other test has")
def test_provider_invoices_with_a_claim_are_not_archived(client):
    claimed, free = an_unclaimed_invoice(), an_unclaimed_invoice()
    a_claim(provider_invoice=claimed, contact=claimed.contact, provider=claimed.provider)
    answer = run_list_action(
        client, f"{PROVIDER_INVOICES}?status=Unactioned", "archive", [claimed, free], follow=True
    )
    assert (reloaded(claimed).is_archived, reloaded(free).is_archived) == (False, True)
    (refused,) = answer.context["refused"]
    assert refused["message"] == "A claim is built on it: archive the claim first."
    client.post(f"{PROVIDER_INVOICES}{claimed.pk}/archiving/")
    assert not reloaded(claimed).is_archived
    run_list_action(client, f"{PROVIDER_INVOICES}?archived=yes", "restore", [free])
    assert not reloaded(free).is_archived


@pytest.mark.both_engines("stored by statements that no other test has")
def test_only_unclaimed_provider_invoices_are_offered_to_a_claim(client):
    free, claimed, rejected, reusable = (
        an_unclaimed_invoice(reference=f"Received {name}")
        for name in ("free", "claimed", "rejected", "reusable")
    )
    ProviderInvoice.objects.filter(pk=rejected.pk).update(approval_status="Rejected")
    ProviderInvoice.objects.filter(pk=reusable.pk).update(is_reusable=True)
    for provider_invoice in (claimed, reloaded(reusable)):
        a_claim(
            provider_invoice=provider_invoice,
            contact=provider_invoice.contact,
            provider=provider_invoice.provider,
        )
    query = {
        "app_label": "funding",
        "model_name": "claim",
        "field_name": "provider_invoice",
        "term": "received",
    }
    found = client.get("/admin/autocomplete/", query).json()["results"]
    assert {each["id"] for each in found} == {str(free.pk), str(reusable.pk)}
