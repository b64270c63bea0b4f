"""Two people change one claim, or the prices of one product: the lines, and the prices, are one choice."""

from decimal import Decimal

import pytest

from tests.core.conflict_forms import page_of, sent_again, sides
from tests.funding.admin_forms import bill_form_data, line
from tests.funding.builders import a_price, an_entry
from tests.funding.test_admin_bills import enter
from tests.funding.test_admin_funding import form_with_prices
from tests.funding.warned import TODAY, Scene
from tests.people.records import an_administrator, get_unrendered

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ada(client, at):
    at(TODAY)
    person = an_administrator(first_name="Ada", last_name="Byron")
    client.force_login(person)
    return person


@pytest.fixture
def scene():
    return Scene()


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
