"""Two people change one claim, or the prices of one product: the lines, and the prices, are one choice.

What somebody typed while another person approved the claim is kept until it can be saved.
"""

from decimal import Decimal

import pytest

from apps.core.archive import archive
from apps.funding.models import Claim, ProviderInvoice
from apps.funding.services.transitions import apply_transition
from tests.core.conflict_forms import form_of, page_of, sent_again, sides
from tests.funding.admin_forms import bill_form_data, line
from tests.funding.builders import a_price, a_provider_invoice, an_entry
from tests.funding.test_admin_bills import enter, post_invoice
from tests.funding.test_admin_funding import form_with_prices
from tests.funding.warned import TODAY
from tests.people.records import a_role, a_staff_member, an_administrator, get_unrendered

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_a_thursday", "ada")]


@pytest.fixture
def claim(client, scene):
    enter(client, scene, line(scene.entry))
    return scene.participant.claims.get()


def cells_of(page):
    form = page.context["rows"].forms[0]
    values = {name: form[name].value() for name in form.fields}
    return {name: str(value) for name, value in values.items() if value not in (None, "")}


def later(at, minutes):
    at(f"{TODAY[:10]} 10:{minutes:02}")


@pytest.mark.parametrize(("keep", "quantity"), [("theirs", 3), ("mine", 5)])
@pytest.mark.parametrize("is_removed", [False, True])
def test_the_lines_of_a_claim_are_one_choice(client, claim, at, keep, quantity, is_removed):
    page = get_unrendered(client, page_of(claim))
    cells = cells_of(page)
    theirs = {**cells, "quantity": "3", **({"key": ""} if is_removed else {})}
    later(at, 1)
    assert client.post(page_of(claim), bill_form_data(page, theirs)).status_code == 302
    later(at, 2)
    data = bill_form_data(page, {**cells, "quantity": "5"})
    answer = client.post(page_of(claim), data)
    assert answer.status_code == 200
    saved, entered, kept = sides(answer)["Lines"]
    assert (" 3 × " in saved, " 5 × " in entered, kept) == (True, True, "theirs")
    assert claim.line_items.get().quantity == 3
    assert client.post(page_of(claim), sent_again(data, answer, line_items=keep)).status_code == 302
    assert claim.line_items.get().quantity == quantity


def test_lines_that_nobody_else_changed_stay_mine(client, claim, at):
    page = get_unrendered(client, page_of(claim))
    cells = cells_of(page)
    later(at, 1)
    theirs = bill_form_data(page, cells, external_invoice_number="X-1")
    assert client.post(page_of(claim), theirs).status_code == 302
    later(at, 2)
    data = bill_form_data(page, {**cells, "quantity": "5"})
    answer = client.post(page_of(claim), data)
    assert {label: keep for label, (_, _, keep) in sides(answer).items()} == {
        "External invoice number": "theirs",
        "Lines": "mine",
    }
    assert client.post(page_of(claim), sent_again(data, answer)).status_code == 302
    claim.refresh_from_db()
    assert (claim.external_invoice_number, claim.line_items.get().quantity) == ("X-1", 5)


@pytest.mark.parametrize(("keep", "amount"), [("theirs", "80"), ("mine", "90")])
def test_the_prices_of_a_product_are_one_choice(client, at, keep, amount):
    entry = an_entry()
    price = a_price(entry, "70")
    page = client.get(page_of(entry))
    later(at, 1)
    opened = form_with_prices(page)
    (name,) = (name for name in opened if name.endswith("-0-amount"))
    assert client.post(page_of(entry), {**opened, name: "80"}).status_code == 302
    later(at, 2)
    data = {**opened, name: "90"}
    answer = client.post(page_of(entry), data)
    assert sides(answer)["Prices"][2] == "theirs"
    assert client.post(page_of(entry), sent_again(data, answer, prices=keep)).status_code == 302
    price.refresh_from_db()
    assert price.amount == Decimal(amount)
    history = client.get(page_of(entry).replace("/change/", "/history/"))
    assert "prices" in history.content.decode()


# --- approved meanwhile ---------------------------------------------------------------------------------


@pytest.fixture(params=["claim", "invoice"])
def bill(client, scene, request):
    (enter if request.param == "claim" else post_invoice)(client, scene, line(scene.entry))
    return getattr(scene.participant, f"{request.param}s").get()


def typed_into(client, bill):
    page = get_unrendered(client, page_of(bill))
    return bill_form_data(page, {**cells_of(page), "quantity": "9"}, external_invoice_number="X-1")


def take(bill, name, **options):
    cora = an_administrator(first_name="Cora", last_name="Smith")
    assert apply_transition(type(bill), [bill.pk], name, cora, **options).done == [bill.pk]
    bill.refresh_from_db()


@pytest.mark.both_engines("somebody else writes meanwhile")
def test_what_was_typed_is_kept_when_the_bill_is_approved_meanwhile(client, bill, at):
    data = typed_into(client, bill)
    later(at, 1)
    take(bill, "approve")
    later(at, 2)
    for _ in range(2):  # pressed again, it says the same
        answer = client.post(page_of(bill), data)
        assert answer.status_code == 200
        (message,) = form_of(answer).non_field_errors()
        assert f"{bill} is approved since 20 Aug 2026, 10:01 a.m. (Cora Smith). What you entered" in message
        assert "Choose “Withdraw approval” on " in message
        assert f'href="{page_of(bill)}" target="_blank"' in message
        assert sides(answer)["External invoice number"][:2] == ("–", "X-1")
        theirs, mine, _ = sides(answer)["Lines"]
        assert (" 2 × " in theirs, " 9 × " in mine) == (True, True)
        assert cells_of(answer)["quantity"] == "9"
        text = answer.content.decode()
        assert ("Save what is chosen" in text, 'type="radio"' in text) == (False, False)
        assert "Please fix" not in text  # there is nothing to fix
        assert answer.context["buttons"] == []
        assert bill.line_items.get().quantity == 2
    later(at, 3)
    take(bill, "withdraw")
    later(at, 4)
    answer = client.post(page_of(bill), data)
    assert sides(answer)["Lines"][2] == "mine"
    assert client.post(page_of(bill), sent_again(data, answer)).status_code == 302
    bill.refresh_from_db()
    assert (bill.external_invoice_number, bill.line_items.get().quantity) == ("X-1", 9)


@pytest.mark.parametrize(
    ("transitions", "is_allowed", "way"),
    [
        (["approve"], False, "“Withdraw approval” on <a"),
        (["archive"], True, "Choose “Restore” on <a"),
        (["approve", "claim"], True, "It cannot be changed any more: see <a"),
    ],
)
def test_what_can_still_be_done_is_said(client, claim, transitions, is_allowed, way):
    if not is_allowed:
        permissions = ("view_claim", "change_claim", "administer_funding_invoices")
        role = a_role(*(f"funding.{name}" for name in permissions))
        client.force_login(a_staff_member(role=role))
    data = typed_into(client, claim)
    for name in transitions:
        take(claim, name)
    (message,) = form_of(client.post(page_of(claim), data)).non_field_errors()
    assert way in message


@pytest.mark.both_engines("somebody else writes meanwhile")
@pytest.mark.parametrize(
    ("before", "name", "answers", "meanwhile", "status"),
    [
        ([], "hold", {"reason": "No agreement yet"}, "approve", "approved"),
        (
            ["approve", "claim"],
            "pay-in-part",
            {"amount": "4.50", "day": "19/08/2026"},
            "ask-to-cancel",
            "cancellation requested",
        ),
        (["approve", "claim"], "pay", {"day": "19/08/2026"}, "ask-to-cancel", "cancellation requested"),
    ],
)
def test_what_was_typed_for_an_action_is_kept_when_it_is_impossible_meanwhile(
    client, claim, at, before, name, answers, meanwhile, status
):
    for each in before:
        take(claim, each)
    later(at, 1)
    take(claim, meanwhile, reason="Entered twice")
    later(at, 2)
    answer = client.post(page_of(claim).replace("change/", f"do/{name}/"), answers)
    assert answer.status_code == 200
    text = answer.content.decode()
    (problem,) = answer.context["problems"]
    assert f"{claim} is {status}" in problem
    assert "since 20 Aug 2026, 10:01 a.m. (Cora Smith)" in problem
    assert f'href="{page_of(claim)}" target="_blank"' in problem
    assert str(problem) in text
    assert all(f'value="{value}"' in text for value in answers.values())
    assert 'name="_do"' not in text


def test_an_action_that_becomes_impossible_while_it_runs_keeps_what_was_typed_too(client, claim, monkeypatch):
    def approve_first(*arguments, **options):
        monkeypatch.undo()
        take(claim, "approve")
        return apply_transition(*arguments, **options)

    monkeypatch.setattr("apps.funding.admin.bills.apply_transition", approve_first)
    answer = client.post(page_of(claim).replace("change/", "do/hold/"), {"reason": "No agreement yet"})
    text = answer.content.decode()
    assert f"{claim} is approved since" in text
    assert ('value="No agreement yet"' in text, 'name="_do"' in text) == (True, False)


@pytest.mark.parametrize(("is_archived", "status"), [(False, "rejected since"), (True, "archived since")])
def test_what_was_typed_for_a_provider_invoice_is_kept(client, is_archived, status):
    invoice = a_provider_invoice()
    address = page_of(invoice).replace("change/", "do/")
    client.post(f"{address}Reject/", {"reason": "Not ours"})
    if is_archived:
        archive(ProviderInvoice.objects.filter(pk=invoice.pk))
    answer = client.post(f"{address}HoldByClient/", {"reason": "Not my signature"})
    text = answer.content.decode()
    assert f"{invoice} is {status} 20 Aug 2026, 10 a.m." in text
    assert ('value="Not my signature"' in text, 'name="_do"' in text) == (True, False)


def test_a_claim_without_a_status_history_is_shown_again_too(client, claim):
    data = typed_into(client, claim)
    Claim.objects.update(funding_status="Approved")
    (message,) = form_of(client.post(page_of(claim), data)).non_field_errors()
    assert f"{claim} is approved. What you entered is still below." in message
