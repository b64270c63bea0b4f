"""Price books, products and prices in the back office."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.core.models import Change
from apps.funding.models import CostCentre, Price, PriceBook, Product
from tests.funding.builders import END_OF_JUNE, JULY, a_price, a_price_book, a_product, an_entry
from tests.people.records import a_role, a_staff_member, form_data, get_unrendered

pytestmark = pytest.mark.django_db
ENTRIES = "/admin/funding/pricebookentry/"


@pytest.fixture
def entry():
    """A product whose price changes with the year."""
    entry = an_entry(a_price_book(name="Price guide"), a_product(code="01_011_0107_1_1", name="Walk"))
    a_price(entry, "1616.26", JULY, END_OF_JUNE)
    a_price(entry, "1700.5", dt.date(2026, 7, 1))
    a_price(entry, "2262.7612", JULY, zone="Remote")
    return entry


def rows(client, **query):
    """What each row of the list of prices shows: code, national, remote, very remote."""
    page = get_unrendered(client, ENTRIES, query)
    assert page.status_code == 200
    prices = page.context["cl"].model_admin.list_display[3:6]
    return [
        (each.product.code, *(price(each) for price in prices)) for each in page.context["cl"].result_list
    ]


def inline_of(page):
    (inline,) = page.context["inline_admin_formsets"]
    return inline.formset


def form_with_prices(page, **changed):
    """The form as it stands, its prices with it."""
    data = form_data(page)
    formset = inline_of(page)
    for bound in (*formset.management_form, *(field for form in formset.forms for field in form)):
        value = bound.value()
        data[bound.html_name] = "" if value is None else str(value)
    return {**data, **changed}


def test_prices_are_shown_for_each_zone_on_the_day_of_the_filter(client, ada, entry):
    assert rows(client, on="30/06/2026") == [("01_011_0107_1_1", "1,616.26", "2,262.7612", None)]
    assert rows(client, on="2026-07-01") == [("01_011_0107_1_1", "1,700.50", "2,262.7612", None)]
    assert rows(client, on="30/6/25") == [("01_011_0107_1_1", None, None, None)]


@pytest.mark.parametrize("query", [{}, {"on": ""}, {"on": "yesterday"}])
def test_without_a_day_prices_are_those_of_today(client, ada, entry, at, query):
    at("2026-07-01 00:30")
    client.force_login(ada)
    assert rows(client, **query)[0][1] == "1,700.50"


def test_a_text_that_is_no_day_is_named_above_the_prices(client, ada, entry):
    assert "“yesterday” is not a date" in client.get(ENTRIES, {"on": "yesterday"}).content.decode()
    assert "is not a date" not in client.get(ENTRIES, {"on": "1/7/2026"}).content.decode()


@pytest.mark.both_engines("found or summed by the database")
def test_prices_are_found_by_code_and_by_name(client, ada, entry):
    an_entry(entry.price_book, a_product(code="15_056_0128_1_3", name="Swim"))
    for term in ("01_011", "walk"):
        assert [row[0] for row in rows(client, q=term)] == ["01_011_0107_1_1"]
    assert len(rows(client, q="0")) == 2


@pytest.mark.both_engines("statements are counted")
def test_the_list_of_prices_takes_the_same_statements_for_any_number_of_them(
    client, ada, entry, django_assert_max_num_queries
):
    for _ in range(20):
        a_price(an_entry(entry.price_book))
    with django_assert_max_num_queries(12):
        assert len(rows(client)) == 21


def test_a_price_book_leads_to_its_prices(client, ada, entry):
    an_entry()
    page = client.get("/admin/funding/pricebook/").content.decode()
    address = f"{ENTRIES}?price_book__guid__exact={entry.price_book_id}"
    assert address in page
    assert [row[0] for row in rows(client, price_book__guid__exact=entry.price_book_id)] == [
        "01_011_0107_1_1"
    ]


def test_a_new_price_is_stored_with_its_history(client, ada, entry):
    address = f"{ENTRIES}{entry.pk}/change/"
    page = client.get(address)
    data = form_with_prices(
        page,
        **{
            "prices-TOTAL_FORMS": "4",
            "prices-3-zone": "Very Remote",
            "prices-3-start_date": "2025-07-01",
            "prices-3-end_date": "",
            "prices-3-amount": "99.5",
            "prices-3-entry": str(entry.pk),
        },
    )
    assert client.post(address, data).status_code == 302
    price = Price.objects.get(entry=entry, zone="Very Remote")
    assert (price.amount, price.end_date) == (Decimal("99.5"), None)
    assert Change.objects.filter(record_key=str(price.pk), kind="Created", staff=ada).exists()
    line = Change.objects.get(record_key=str(entry.pk), kind="Changed")
    assert [label for label in line.differences["prices"][1] if "99.5" in label]


def test_overlapping_prices_are_refused_on_their_row(client, ada, entry):
    address = f"{ENTRIES}{entry.pk}/change/"
    page = client.get(address)
    (place,) = [form.prefix for form in inline_of(page).forms if form.instance.end_date == END_OF_JUNE]
    answer = client.post(address, form_with_prices(page, **{f"{place}-end_date": "2026-07-01"}))
    assert answer.status_code == 200
    refused = [form.errors for form in inline_of(answer).forms if form.errors]
    assert refused == [{"start_date": ["Another National price holds from 01/07/2025 to 01/07/2026."]}]
    assert Price.objects.filter(entry=entry, end_date=END_OF_JUNE).exists()


def test_the_product_of_prices_stays(client, ada, entry):
    page = get_unrendered(client, f"{ENTRIES}{entry.pk}/change/")
    assert {"price_book", "product"}.isdisjoint(page.context["adminform"].form.fields)


def test_a_product_is_entered_with_a_warning_about_its_code(client, ada):
    address = "/admin/funding/product/add/"
    answer = client.post(
        address, form_data(get_unrendered(client, address), code="GYM-01", name="Gym session"), follow=True
    )
    assert Product.objects.get().code == "GYM-01"
    assert "claims to the agency need one" in answer.content.decode()


def test_two_products_cannot_share_a_code(client, ada):
    a_product(code="Word")
    address = "/admin/funding/product/add/"
    answer = client.post(address, form_data(get_unrendered(client, address), code="WORD", name="x"))
    (error,) = answer.context["adminform"].form.errors["code"]
    assert error.startswith("Another product has it already. See ")


def test_a_product_shows_its_purpose_and_its_price_books(client, ada, entry):
    page = client.get(f"/admin/funding/product/{entry.product_id}/change/").content.decode()
    assert "In Price guide" in page
    assert f"?product__guid__exact={entry.product_id}" in page
    assert "Core" in page


def test_price_books_and_cost_centres_are_entered_and_archived(client, ada):
    for model, path in ((PriceBook, "pricebook"), (CostCentre, "costcentre")):
        address = f"/admin/funding/{path}/add/"
        assert (
            client.post(address, form_data(get_unrendered(client, address), name="Ours")).status_code == 302
        )
        record = model.objects.get()
        client.post(f"/admin/funding/{path}/{record.pk}/archiving/")
        record.refresh_from_db()
        assert record.is_archived


def test_who_may_not_see_prices_sees_none_of_their_pages(client, entry):
    person = a_staff_member(role=a_role("people.view_staff"))
    client.force_login(person)
    for path in ("pricebook/", "product/", "costcentre/", "pricebookentry/"):
        assert client.get(f"/admin/funding/{path}").status_code == 403


def test_who_may_only_look_changes_nothing(client, entry):
    role = a_role("people.view_staff", "funding.view_pricebookentry", "funding.view_price")
    client.force_login(a_staff_member(role=role))
    address = f"{ENTRIES}{entry.pk}/change/"
    assert b"1616.26" in client.get(address).content
    assert client.post(address, {"gst_inclusive": "on"}).status_code == 403
    entry.refresh_from_db()
    assert not entry.gst_inclusive
