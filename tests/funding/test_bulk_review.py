"""What an action on many records will do is shown before; afterwards what was not done, and why."""

from decimal import Decimal

import pytest
from django.db.models import Sum
from django.test import Client
from django.utils import timezone

from apps.funding.models import AcknowledgedWarning, Claim, Invoice, ProviderInvoice, StatusMove
from apps.funding.validation.transitions import PaymentExtent, transitions_of
from tests.funding.admin_forms import (
    CLAIMS,
    INVOICES,
    PROVIDER_INVOICES,
    confirm_list_action,
    reloaded,
    run_list_action,
)
from tests.funding.builders import a_claim, a_provider_invoice, a_warned_claim, an_invoice
from tests.people.records import a_client, a_contact, a_role, a_staff_member, an_administrator

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada", "nothing_changed_since")]
AWAITING = f"{CLAIMS}?status=AwaitingStaffApproval"


def statuses(*claims):
    return [reloaded(claim).funding_status for claim in claims]


def review_of(client, address, name, records, **answers):
    return run_list_action(client, address, name, records, follow=True, **answers).context["review"]


def test_nothing_is_done_before_the_page_that_says_what_is_confirmed(client):
    plain, warned = [a_claim(), a_claim()], a_warned_claim("PriceOverCap")
    page = run_list_action(client, AWAITING, "approve", [*plain, warned], follow=True)
    assert statuses(*plain, warned) == ["AwaitingStaffApproval"] * 3
    review, text = page.context["review"], page.content.decode()
    assert (len(review.possible), review.sum) == (2, plain[0].total + plain[1].total)
    assert f'data-count="2" data-sum="{review.sum:.2f}"' in text
    assert f"1 with warnings, total AUD {warned.total:,.2f}<" in text
    (row,) = review.warned
    assert (row.record, row.amount, row.is_ticked) == (warned, warned.total, False)
    assert "Price over cap: A message of PriceOverCap" in text
    assert f'value="{warned.pk}" aria-label="Approve {warned}">' in text


def test_those_with_warnings_are_left_out_unless_they_are_ticked(client):
    plain, one, other = a_claim(), a_warned_claim("TooOld"), a_warned_claim("TooOld")
    answer = confirm_list_action(client, AWAITING, "approve", [plain, one, other], ticked=[one])
    assert statuses(plain, one, other) == ["Approved", "Approved", "AwaitingStaffApproval"]
    text = answer.content.decode()
    assert "Approve: 2 claims. 1 with warnings: Too old (1). 1 claim with warnings left out" in text


def test_what_cannot_be_done_is_said_before_and_after_and_the_others_are_done(client):
    invoiced = {"contact": a_contact(), "provider": a_client()}
    on_hold = a_provider_invoice(**invoiced, approval_status="OnHoldByClient", reference="INV-9")
    held, free = a_claim(**invoiced, provider_invoice=on_hold), a_claim()
    (row,) = review_of(client, AWAITING, "approve", [held, free]).refused
    assert (row.record, "INV-9 is on hold by the client" in row.notes[0]) == (held, True)
    answer = confirm_list_action(client, AWAITING, "approve", [held, free])
    assert statuses(held, free) == ["AwaitingStaffApproval", "Approved"]
    (refused,) = answer.context["refused"]
    assert refused["link"] == f"{CLAIMS}{held.pk}/change/"
    assert refused["message"] == row.notes[0]


def test_whatever_becomes_of_the_list_what_was_shown_is_what_is_done(client):
    shown = [a_claim(), a_claim()]
    page = run_list_action(client, AWAITING, "approve", shown[:1], follow=True, select_across="1")
    later = a_claim()
    confirm_list_action(client, AWAITING, "approve", shown, page=page)
    assert statuses(*shown, later) == ["Approved", "Approved", "AwaitingStaffApproval"]


def test_a_claim_that_was_changed_since_the_page_is_refused_and_named(client):
    changed, same = a_claim(), a_claim()
    page = run_list_action(client, AWAITING, "approve", [changed, same], follow=True)
    Claim.objects.filter(pk=changed.pk).update(total=Decimal("99999.00"), modify_date=timezone.now())
    answer = confirm_list_action(client, AWAITING, "approve", [changed, same], page=page)
    assert statuses(changed, same) == ["AwaitingStaffApproval", "Approved"]
    (refused,) = answer.context["refused"]
    assert (refused["label"], "after you were shown" in refused["message"]) == (str(changed), True)


@pytest.mark.parametrize("text", ["", "nonsense", "e30:1a:b", "{signed}x"])
def test_a_review_that_does_not_say_what_was_shown_does_nothing(client, text):
    claim = a_claim()
    page = run_list_action(client, AWAITING, "approve", [claim], follow=True)
    shown = text.format(signed=dict(page.context["hidden"])["shown"])
    answer = confirm_list_action(client, AWAITING, "approve", [claim], page=page, shown=shown)
    assert statuses(claim) == ["AwaitingStaffApproval"]
    assert "the page that you confirmed is out of date" in answer.content.decode()


def test_a_review_counts_for_the_action_and_the_person_that_it_was_shown_to(client):
    """The page of another action shows no warnings; what a colleague saw, one has not seen oneself."""
    warned = a_warned_claim("TooOld")
    page = run_list_action(client, AWAITING, "hold", [warned], follow=True)
    of_hold = {"shown": dict(page.context["hidden"])["shown"]}
    approval = run_list_action(client, AWAITING, "approve", [warned], follow=True)
    confirm_list_action(client, AWAITING, "approve", [warned], page=approval, ticked=[warned], **of_hold)
    colleague = Client()
    colleague.force_login(an_administrator())
    confirm_list_action(colleague, AWAITING, "approve", [warned], page=approval, ticked=[warned])
    assert statuses(warned) == ["AwaitingStaffApproval"]
    confirm_list_action(client, AWAITING, "approve", [warned], page=approval, ticked=[warned])
    assert statuses(warned) == ["Approved"]


def test_a_claim_that_has_become_possible_is_not_approved_without_its_warnings_being_shown(client):
    invoiced = {"contact": a_contact(), "provider": a_client()}
    on_hold = a_provider_invoice(**invoiced, approval_status="OnHoldByClient", reference="INV-9")
    held = a_claim(**invoiced, provider_invoice=on_hold)
    page = run_list_action(client, AWAITING, "approve", [held], follow=True)
    ProviderInvoice.objects.update(approval_status="Unactioned")
    answer = confirm_list_action(client, AWAITING, "approve", [held], page=page)
    (refused,) = answer.context["refused"]
    assert (statuses(held), "after you were shown" in refused["message"]) == (["AwaitingStaffApproval"], True)


def shown_at_approval(*claims):
    moves = StatusMove.objects.filter(claim__in=claims, verb="approve")
    shown = dict(moves.values_list("claim", "warnings"))
    return [shown[claim.pk] and [each["code"] for each in shown[claim.pk]] for claim in claims]


def test_the_status_history_says_which_warnings_were_shown_and_accepted(client):
    plain, one, other = a_claim(), a_warned_claim("TooOld", "OverBudget"), a_warned_claim("TooOld")
    confirm_list_action(client, AWAITING, "approve", [plain, one, other], ticked=[one, other])
    assert shown_at_approval(plain, one, other) == [[], ["TooOld", "OverBudget"], ["TooOld"]]
    text = client.get(f"{CLAIMS}{one.pk}/change/").content.decode()
    assert "Shown before, and accepted:</p><p>Too old: A message of TooOld</p><p>Over budget: " in text
    assert "No warnings were shown." in client.get(f"{CLAIMS}{plain.pk}/change/").content.decode()


def test_what_was_shown_is_kept_where_it_has_changed_by_the_time_it_is_confirmed(client):
    """Another person acknowledged more meanwhile: whoever approves now has not seen it."""
    claim = a_warned_claim("TooOld")
    page = run_list_action(client, AWAITING, "approve", [claim], follow=True)
    AcknowledgedWarning.objects.create(claim=claim, code="OverBudget", message="Came afterwards")
    confirm_list_action(client, AWAITING, "approve", [claim], page=page, ticked=[claim])
    assert shown_at_approval(claim) == [["TooOld"]]


def test_transitions_that_show_no_warnings_say_nothing_of_them(client):
    claim = a_warned_claim("TooOld")
    confirm_list_action(client, AWAITING, "hold", [claim], reason="Later")
    assert StatusMove.objects.get(claim=claim).warnings is None
    assert "No warnings were shown." not in client.get(f"{CLAIMS}{claim.pk}/change/").content.decode()


def test_payments_of_many_say_what_is_outstanding_and_keep_the_review_when_the_day_is_wrong(client):
    claims = [a_claim(funding_status="AgencyPartiallyPaid") for _ in range(2)]
    Claim.objects.filter(pk=claims[0].pk).update(total=Decimal("100.00"), amount_paid=Decimal("40.00"))
    Claim.objects.filter(pk=claims[1].pk).update(total=Decimal("5.00"), amount_paid=Decimal("0.00"))
    address = f"{CLAIMS}?status=AgencyPartiallyPaid"
    page = run_list_action(client, address, "pay-the-rest", claims, follow=True)
    assert page.context["review"].sum == Decimal("65.00")
    again = confirm_list_action(client, address, "pay-the-rest", claims, page=page, day="never")
    assert again.context["form"].errors
    assert len(again.context["review"].possible) == 2
    confirm_list_action(client, address, "pay-the-rest", claims, page=again, day="2026-01-05")
    assert statuses(*claims) == ["AgencyFullyPaid"] * 2


@pytest.mark.both_engines("stored by statements that no other test has")
@pytest.mark.parametrize("model", [Claim, Invoice])
def test_every_bulk_transition_that_is_not_taken_back_is_shown_first(client, model):
    """Whatever is added to the table of transitions is asked about, unless it is named as taken back."""
    final = [
        row
        for row in transitions_of(model)
        if not (row.single or row.by_service or row.is_taken_back) and row.pays is not PaymentExtent.PART
    ]
    assert len(final) > 8
    build, address = (a_claim, CLAIMS) if model is Claim else (an_invoice, INVOICES)
    for row in final:
        status = min(row.sources)
        record = build(funding_status=status)
        page = run_list_action(client, f"{address}?status={status}", row.name.value, [record], follow=True)
        assert page.context["review"], row.name
        assert reloaded(record).funding_status == status, row.name


def test_what_is_taken_back_is_done_with_one_click(client):
    claims = [a_claim(funding_status="OnHold") for _ in range(2)]
    answer = run_list_action(client, f"{CLAIMS}?status=OnHold", "release", claims, follow=True)
    assert "Release: 2 claims." in answer.content.decode()
    assert statuses(*claims) == ["AwaitingStaffApproval"] * 2


def test_provider_invoices_are_approved_after_their_sum_was_shown(client):
    found = [a_provider_invoice(invoice_total=total) for total in (Decimal("10.50"), None)]
    page = run_list_action(client, PROVIDER_INVOICES, "Approve", found, follow=True)
    assert (page.context["review"].sum, len(page.context["review"].possible)) == (Decimal("10.50"), 2)
    assert set(ProviderInvoice.objects.values_list("approval_status", flat=True)) == {"Unactioned"}
    confirm_list_action(client, PROVIDER_INVOICES, "Approve", found, page=page)
    assert set(ProviderInvoice.objects.values_list("approval_status", flat=True)) == {"Approved"}


def test_a_rejection_of_many_says_which_have_a_claim(client):
    claimed, free = a_claim().provider_invoice, a_provider_invoice()
    review = review_of(client, PROVIDER_INVOICES, "Reject", [claimed, free])
    assert [row.record for row in review.refused] == [claimed]
    assert review.possible == [free]


@pytest.mark.both_engines("somebody else writes meanwhile")
def test_who_lost_the_permission_meanwhile_confirms_nothing(client):
    claim = a_claim()
    page = run_list_action(client, AWAITING, "approve", [claim], follow=True)
    role = a_role("funding.view_claim", "funding.change_claim", "funding.administer_funding_invoices")
    client.force_login(a_staff_member(role=role))
    confirm_list_action(client, AWAITING, "approve", [claim], page=page)
    assert statuses(claim) == ["AwaitingStaffApproval"]


@pytest.mark.both_engines("statements are counted")
@pytest.mark.parametrize("confirms", [False, True])
def test_statements_are_constant_in_the_number_of_claims(client, django_assert_max_num_queries, confirms):
    counts = []
    for number in (2, 12):
        claims = [a_claim() for _ in range(number)] + [a_warned_claim("TooOld") for _ in range(number)]
        page = run_list_action(client, AWAITING, "approve", claims[:1], follow=True, select_across="1")
        with django_assert_max_num_queries(60) as counted:
            if confirms:
                confirm_list_action(client, AWAITING, "approve", claims, page=page, ticked=claims[number:])
            else:
                run_list_action(client, AWAITING, "approve", claims[:1], select_across="1")
        counts.append(len(counted))
    assert counts[0] == counts[1]
    assert Claim.objects.aggregate(sum=Sum("total"))["sum"]


def test_hundreds_are_confirmed_with_few_fields(client, settings):
    """As many fields as records would be more than a form may have."""
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 60
    claims = [a_claim() for _ in range(70)]
    page = run_list_action(client, AWAITING, "approve", claims[:1], follow=True, select_across="1")
    confirm_list_action(client, AWAITING, "approve", claims, page=page)
    assert statuses(*claims) == ["Approved"] * 70
