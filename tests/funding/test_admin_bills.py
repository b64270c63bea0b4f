"""Claims and invoices are entered and changed in the back office, by the rules of the interface."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.base import clock
from apps.core.archive import archive
from apps.core.models import Change
from apps.engagements.models import ServiceBooking
from apps.funding.admin.forms import InvoiceLineForm
from apps.funding.models import AcknowledgedWarning, Claim, ClaimLine, Invoice, ProviderInvoice
from tests.funding.admin_forms import (
    CLAIMS,
    INVOICES,
    bill_form_data,
    errors_of,
    line,
    rows_of,
    save_anyway,
    warning_labels,
)
from tests.funding.builders import (
    END_OF_JUNE,
    a_claim,
    a_cost_centre,
    a_price,
    a_price_book,
    a_product,
    a_provider_invoice,
    an_entry,
    an_invoice,
)
from tests.funding.warned import WEDNESDAY, Scene
from tests.people.records import (
    a_client,
    a_contact,
    a_role,
    a_staff_member,
    an_administrator,
    get_unrendered,
    unrendered,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_a_thursday", "ada")]
read_in_python = pytest.mark.any_engine("what a form or a role refuses is decided in Python")


def open_claim_form(client, provider_invoice):
    return get_unrendered(client, f"{CLAIMS}add/", {"provider_invoice": str(provider_invoice.pk)})


def a_new_provider_invoice(scene, **columns):
    return scene.provider_invoice(
        **{"service_start_date": WEDNESDAY, "service_end_date": WEDNESDAY, **columns}
    )


def enter(client, scene, *lines, provider_invoice=None, **fields):
    page = open_claim_form(client, provider_invoice or a_new_provider_invoice(scene))
    return client.post(f"{CLAIMS}add/", bill_form_data(page, *(lines or [line(scene.entry)]), **fields))


@unrendered()
def enter_anyway(client, scene, *lines, **fields):
    """A claim saved anyway, with all its warnings."""
    page = open_claim_form(client, a_new_provider_invoice(scene))
    data = bill_form_data(page, *lines, **fields)
    answer = client.post(f"{CLAIMS}add/", data)
    assert client.post(f"{CLAIMS}add/", data | save_anyway(answer)).status_code == 302
    return Claim.objects.get()


# --- entering -------------------------------------------------------------------------------------------


def test_the_form_of_a_claim_is_filled_from_its_provider_invoice(client, ada, scene):
    provider_invoice = a_new_provider_invoice(scene, reference="INV-7", send_payment_to="Client")
    initial = open_claim_form(client, provider_invoice).context["adminform"].form.initial
    assert (initial["contact"], initial["provider"]) == (scene.participant.pk, scene.provider.pk)
    assert (initial["provider_invoice_reference"], initial["send_payment_to"]) == ("INV-7", "Client")
    assert (initial["start_date"], initial["end_date"], initial["staff"]) == (WEDNESDAY, WEDNESDAY, ada.pk)


def test_a_claim_is_entered_with_its_lines_and_history(client, ada, scene):
    cells = {
        "from_date": "12/08/2026",
        "price": "55.555",
        "claim_type": "DirectService",
        "notes": "Two visits",
    }
    answer = enter(client, scene, line(scene.entry, "1.5", **cells), line(scene.entry, "2", price=""))
    claim = Claim.objects.get()
    assert answer.url == f"{CLAIMS}{claim.pk}/change/"
    first, second = claim.line_items.order_by("position")
    assert (first.quantity, first.price, first.total) == (Decimal("1.5"), Decimal("55.555"), Decimal("83.33"))
    assert (first.claim_type, first.notes, first.first_day) == ("DirectService", "Two visits", WEDNESDAY)
    assert (second.price, second.total) == (Decimal("70.00"), Decimal("140.00"))  # of the price book
    assert (claim.total, claim.contact, claim.staff) == (Decimal("223.33"), scene.participant, ada)
    assert claim.entered_by == ada
    assert Change.objects.filter(record_key=str(claim.pk), kind="Created", staff=ada).count() == 1
    assert ServiceBooking.objects.get().waiting == claim.total


def test_what_the_provider_invoice_says_may_be_left_out(client, scene):
    provider_invoice = a_new_provider_invoice(scene, reference="INV-7")
    answer = enter(
        client,
        scene,
        provider_invoice=provider_invoice,
        contact="",
        provider="",
        provider_invoice_reference="",
    )
    assert answer.status_code == 302
    claim = Claim.objects.get()
    assert (claim.contact, claim.provider) == (scene.participant, scene.provider)
    assert claim.provider_invoice_reference == "INV-7"


@read_in_python
def test_issues_are_shown_on_their_fields_and_lines(client, scene):
    answer = enter(
        client,
        scene,
        line(scene.entry),
        line(scene.entry, "two", from_date="31/02/2026"),
        {"product": "No such code", "price_book": str(scene.entry.price_book_id), "quantity": "1"},
        {"notes": "Only words"},
        start_date="soon",
        end_date="",
    )
    assert answer.status_code == 200
    head, lines = errors_of(answer)
    assert set(head) == {"start_date", "end_date"}
    assert lines[0] == {}
    assert set(lines[1]) == {"quantity", "from_date"}
    assert lines[2] == {"product": ["No product has this code."]}
    assert set(lines[3]) == {"product", "price_book", "quantity"}
    assert lines[3]["quantity"] == ["Required."]
    assert not Claim.objects.exists()
    assert b"Not saved" in answer.content


@read_in_python
def test_invalid_values_are_shown_on_their_fields(client, scene):
    cancelled = {"cancellation_reason": "HealthReason", "from_date": "13/08/2026", "to_date": "12/08/2026"}
    days = {"start_date": "13/08/2026", "end_date": "12/08/2026"}
    answer = enter(client, scene, line(scene.entry, "0"), line(scene.entry, **cancelled), **days)
    head, lines = errors_of(answer)
    assert set(head) == {"end_date"}
    assert lines[0]["quantity"] == ["Quantity must be more than 0."]
    assert set(lines[1]) == {"cancellation_reason", "to_date"}
    assert not Claim.objects.exists()


@read_in_python
def test_a_cancellation_that_is_claimed_for_needs_a_reason(client, scene):
    cancelled = line(scene.entry, claim_type="Cancellation", cancellation_reason="")
    [errors] = errors_of(enter(client, scene, cancelled))[1]
    assert errors == {"cancellation_reason": ["Say why: the agency takes none without a reason."]}
    assert not Claim.objects.exists()
    assert enter(client, scene, {**cancelled, "cancellation_reason": "FamilyIssues"}).status_code == 302
    assert Claim.objects.get().line_items.get().cancellation_reason == "FamilyIssues"
    assert not InvoiceLineForm(cancelled, books=()).has_error("cancellation_reason")


@read_in_python
def test_what_was_typed_is_not_lost_when_something_is_wrong(client, scene):
    answer = enter(client, scene, line(scene.entry, "0", notes="Kept words"))
    html = answer.content.decode()
    assert "Please fix what is marked below" in html
    assert "Kept words" in html
    assert scene.product.code in html
    assert scene.product.name in html


def test_numbers_are_read_as_invoices_show_them(client, scene):
    assert enter(client, scene, line(scene.entry, " 1 ", price="$ 0,055.50")).status_code == 302
    assert Claim.objects.get().total == Decimal("55.50")


@read_in_python
def test_invalid_numbers_are_shown_in_their_cells(client, scene):
    numbers = ("1e3", "NaN", "Infinity", "1.2.3", "--1", "1 hour", "0.00001", "١٢")
    answer = enter(client, scene, *(line(scene.entry, typed) for typed in numbers))
    assert [set(errors) for errors in errors_of(answer)[1]] == [{"quantity"}] * len(numbers)
    assert not Claim.objects.exists()


@read_in_python
def test_a_claim_needs_a_line(client, scene):
    answer = enter(
        client, scene, {"product": "", "quantity": "", "price_book": str(scene.entry.price_book_id)}
    )
    first = answer.context["rows"].forms[0]
    assert first.errors == {"product": ["Give one line at least."]}
    assert 'aria-invalid="true"' in str(first["product"])
    assert not Claim.objects.exists()


def test_empty_rows_between_lines_are_no_lines(client, scene):
    enter(client, scene, {"product": " "}, line(scene.entry), {})
    assert Claim.objects.get().line_items.count() == 1


@read_in_python
def test_an_issue_of_a_line_after_an_empty_row_is_shown_on_that_line(client, scene):
    answer = enter(client, scene, {}, line(scene.entry), line(scene.entry, "0"))
    assert [sorted(found) for found in errors_of(answer)[1]] == [[], [], ["quantity"]]


def test_a_product_is_named_by_its_code_in_any_case(client, scene):
    cells = line(scene.entry) | {"product": f" {scene.product.code.lower()} "}
    assert enter(client, scene, cells).status_code == 302


def test_a_provider_invoice_gives_one_claim(client, scene):
    provider_invoice = a_new_provider_invoice(scene)
    page = open_claim_form(client, provider_invoice)
    data = bill_form_data(page, line(scene.entry))
    assert client.post(f"{CLAIMS}add/", data).status_code == 302
    answer = client.post(f"{CLAIMS}add/", data | {"provider_invoice_reference": "Another"})
    assert "provider_invoice" in errors_of(answer)[0]
    assert Claim.objects.count() == 1


@read_in_python
def test_more_rows_come_without_scripts(client, scene):
    page = open_claim_form(client, a_new_provider_invoice(scene))
    answer = client.post(
        f"{CLAIMS}add/", bill_form_data(page, line(scene.entry, notes="Kept")) | {"_more": "1"}
    )
    assert len(answer.context["rows"].forms) >= 6
    assert b"Kept" in answer.content
    assert b"Not saved" not in answer.content  # nobody asked to save it
    assert not Claim.objects.exists()


def test_an_invoice_of_three_hundred_lines_with_every_cell_is_saved(client, ada, scene):
    centre = a_cost_centre(name="North")
    cells = {
        "from_date": "12/08/2026",
        "to_date": "12/08/2026",
        "price": "1.00",
        "tax_choice": "",
        "notes": "x",
    }
    cells |= {"claim_type": "", "cancellation_reason": "", "cost_centre": centre.name, "key": ""}
    page = get_unrendered(client, f"{INVOICES}add/")
    fields = {
        "contact": str(scene.participant.pk),
        "invoice_claim_type": "InvoiceToAgency",
        "start_date": "12/08/2026",
        "end_date": "12/08/2026",
    }
    data = bill_form_data(page, *[line(scene.entry, "0.01", **cells)] * 300, **fields)
    answer = client.post(f"{INVOICES}add/", data)
    answer = client.post(f"{INVOICES}add/", {**data, **save_anyway(answer)})
    assert answer.status_code == 302, errors_of(answer)
    assert Invoice.objects.get().line_items.count() == 300


@read_in_python
def test_more_lines_than_the_limit_are_refused(client, scene, settings):
    settings.MAX_LINES = 3
    answer = enter(client, scene, *[line(scene.entry)] * 4)
    assert answer.status_code == 200
    assert answer.context["rows"].non_form_errors()
    assert not Claim.objects.exists()


# --- warnings -------------------------------------------------------------------------------------------


def test_nothing_is_stored_before_the_warnings_are_confirmed(client, ada, scene):
    page = open_claim_form(client, a_new_provider_invoice(scene))
    data = bill_form_data(page, line(scene.entry, price="80"), line(scene.entry, "20"))
    answer = client.post(f"{CLAIMS}add/", data)
    assert answer.status_code == 200
    assert sorted(set(warning_labels(answer))) == ["Over budget", "Price over cap"]
    places = {warning["place"] for warning in answer.context["warnings"]}
    assert "Line 1, price" in places
    assert b"Save anyway" in answer.content
    assert not Claim.objects.exists()
    assert not AcknowledgedWarning.objects.exists()
    assert ServiceBooking.objects.get().waiting == 0
    ProviderInvoice.objects.get(claims=None)

    assert client.post(f"{CLAIMS}add/", data | save_anyway(answer)).status_code == 302
    acknowledged = AcknowledgedWarning.objects.filter(claim=Claim.objects.get())
    assert {each.code for each in acknowledged} == {"PriceOverCap", "OverBudget"}
    assert {each.staff for each in acknowledged} == {ada}


def test_a_warning_that_was_not_seen_is_shown_first(client, scene):
    page = open_claim_form(client, a_new_provider_invoice(scene))
    data = bill_form_data(page, line(scene.entry, price="80"))
    answer = client.post(f"{CLAIMS}add/", data)
    assert warning_labels(answer) == ["Price over cap"]
    ServiceBooking.objects.update(waiting=Decimal("900.00"))  # somebody else's claim, meanwhile
    again = client.post(f"{CLAIMS}add/", data | save_anyway(answer))
    assert again.status_code == 200
    assert sorted(warning_labels(again)) == ["Over budget", "Price over cap"]
    assert not Claim.objects.exists()
    assert not AcknowledgedWarning.objects.exists()
    assert client.post(f"{CLAIMS}add/", data | save_anyway(again)).status_code == 302


def test_another_figure_is_another_warning(client, scene):
    page = open_claim_form(client, a_new_provider_invoice(scene))
    answer = client.post(f"{CLAIMS}add/", bill_form_data(page, line(scene.entry, price="80")))
    dearer = bill_form_data(page, line(scene.entry, price="90")) | save_anyway(answer)
    assert warning_labels(client.post(f"{CLAIMS}add/", dearer)) == ["Price over cap"]
    assert not Claim.objects.exists()


def test_the_record_shows_its_warnings_and_who_confirmed_them(client, scene):
    claim = enter_anyway(client, scene, line(scene.entry, price="80"))
    page = client.get(f"{CLAIMS}{claim.pk}/change/").content.decode()
    assert "Saved with 1 warning" in page
    assert "Price over cap" in page
    assert "Ada Byron" in page


# --- changing -------------------------------------------------------------------------------------------


def test_a_claim_that_awaits_approval_is_changed_line_by_line(client, scene):
    enter(client, scene, line(scene.entry, "1"), line(scene.entry, "2"), line(scene.entry, "3"))
    claim = Claim.objects.get()
    address = f"{CLAIMS}{claim.pk}/change/"
    page = get_unrendered(client, address)
    rows = rows_of(page)
    assert [row["quantity"] for row in rows] == ["1", "2", "3"]
    rows_before = [{name: str(value) for name, value in row.items() if value is not None} for row in rows]
    keys = [str(each.pk) for each in claim.line_items.order_by("position")]
    data = bill_form_data(
        page, rows_before[0] | {"quantity": "4", "notes": ""}, rows_before[2], line(scene.entry, "5")
    )
    assert client.post(address, data).status_code == 302
    claim.refresh_from_db()
    lines = claim.line_items.order_by("position")
    assert [each.quantity for each in lines] == [Decimal(4), Decimal(3), Decimal(5)]
    assert [str(each.pk) for each in lines][:2] == [keys[0], keys[2]]
    assert claim.total == Decimal("840.00")
    assert ServiceBooking.objects.get().waiting == claim.total


@read_in_python
def test_what_a_paid_line_keeps_is_said_on_its_cells(client, scene):
    enter(client, scene)
    claim = Claim.objects.get()
    paid = Decimal("15.00")
    claim.line_items.update(amount_paid=paid)
    Claim.objects.update(amount_paid=paid, paid_earlier=paid)
    address = f"{CLAIMS}{claim.pk}/change/"
    page = get_unrendered(client, address)
    other = an_entry(scene.entry.price_book)
    (cells,) = [
        {name: str(value) for name, value in row.items() if value is not None} for row in rows_of(page)
    ]
    data = bill_form_data(page, cells | {"quantity": "0.01", "product": other.product.code, "price": "70"})
    with unrendered():
        _, (row,) = errors_of(client.post(address, data))
    assert row == {
        "product": [f"15.00 were paid for {scene.product.code}: the product stays."],
        "quantity": ["15.00 were paid of this line: its total, 0.70 now, is never less."],
    }
    claim.refresh_from_db()
    assert claim.total == Decimal("140.00")


@pytest.mark.both_engines("somebody else writes meanwhile")
def test_what_somebody_else_changed_meanwhile_is_not_overwritten(client, scene):
    enter(client, scene)
    claim = Claim.objects.get()
    address = f"{CLAIMS}{claim.pk}/change/"
    page = get_unrendered(client, address)
    Claim.objects.update(modify_date=claim.modify_date + dt.timedelta(minutes=1))
    answer = client.post(address, bill_form_data(page, line(scene.entry, "9")))
    assert b"Not saved." in answer.content
    assert claim.line_items.get().quantity == 2


def test_an_approved_claim_is_shown_and_not_changed(client, scene):
    enter(client, scene)
    Claim.objects.update(funding_status="Approved")
    page = client.get(f"{CLAIMS}{Claim.objects.get().pk}/change/")
    assert page.templates[0].name == "funding/bill.html"
    assert scene.product.code in page.content.decode()


# --- one after the other --------------------------------------------------------------------------------


def test_the_next_provider_invoice_without_a_claim_comes_next(client, scene):
    first, claimed, rejected, last = (a_new_provider_invoice(scene) for _ in range(4))
    enter(client, scene, provider_invoice=claimed)
    ProviderInvoice.objects.filter(pk=rejected.pk).update(approval_status="Rejected")
    page = open_claim_form(client, first)
    answer = client.post(f"{CLAIMS}add/", bill_form_data(page, line(scene.entry, "3")) | {"_next": "1"})
    assert answer.url == f"{CLAIMS}add/?provider_invoice={last.pk}"
    page = open_claim_form(client, last)
    answer = client.post(f"{CLAIMS}add/", bill_form_data(page, line(scene.entry, "4")) | {"_next": "1"})
    assert answer.url == "/admin/funding/providerinvoice/?status=waiting"


def test_warnings_do_not_forget_what_was_to_come_after_storing(client, scene):
    following = a_new_provider_invoice(scene)
    page = open_claim_form(client, a_new_provider_invoice(scene))
    data = bill_form_data(page, line(scene.entry, price="80"))
    answer = client.post(f"{CLAIMS}add/", data | {"_next": "1"})
    assert b'name="then" value="_next"' in answer.content
    answer = client.post(f"{CLAIMS}add/", data | save_anyway(answer) | {"then": "_next"})
    assert answer.url == f"{CLAIMS}add/?provider_invoice={following.pk}"


def test_the_price_book_of_the_last_line_is_that_of_the_next(client, scene):
    a_price_book(name="Another")
    page = open_claim_form(client, a_new_provider_invoice(scene))
    assert page.context["rows"].forms[0]["price_book"].value() is None
    enter(client, scene)
    page = open_claim_form(client, a_new_provider_invoice(scene))
    assert page.context["rows"].forms[0]["price_book"].value() == str(scene.entry.price_book_id)


# --- invoices -------------------------------------------------------------------------------------------


def post_invoice(client, scene, *lines, **fields):
    page = get_unrendered(client, f"{INVOICES}add/")
    usual = {
        "contact": str(scene.participant.pk),
        "invoice_claim_type": "InvoiceToAgency",
        "start_date": "12/08/2026",
        "end_date": "12/08/2026",
    }
    return client.post(f"{INVOICES}add/", bill_form_data(page, *lines, **{**usual, **fields}))


def test_an_invoice_has_credits_and_cost_centres(client, scene):
    a_cost_centre(name="North")
    lines = (
        line(scene.entry, "3", cost_centre="north"),
        line(scene.entry, "1", price="10.005", is_credit_item="on"),
    )
    assert post_invoice(client, scene, *lines).status_code == 302
    invoice = Invoice.objects.get()
    first, second = invoice.line_items.order_by("position")
    assert (first.cost_centre.name, first.is_credit_item) == ("North", False)
    assert (second.total, second.is_credit_item) == (Decimal("-10.01"), True)
    assert invoice.total == Decimal("199.99")


def test_an_unknown_cost_centre_is_refused(client, scene):
    answer = post_invoice(client, scene, line(scene.entry, cost_centre="Nowhere"))
    assert errors_of(answer)[1] == [{"cost_centre": ["No cost centre has this name."]}]


@read_in_python
def test_a_recurring_invoice_needs_its_beginning_and_its_frequency(client, scene):
    answer = post_invoice(client, scene, line(scene.entry), is_recurring="on")
    assert set(errors_of(answer)[0]) == {"recurring_start_date", "recurring_frequency"}
    assert not Invoice.objects.exists()


@read_in_python
def test_credits_need_their_own_permission(client, scene):
    role = a_role("funding.add_invoice", "funding.view_invoice", "funding.administer_funding_invoices")
    client.force_login(a_staff_member(role=role))
    answer = post_invoice(client, scene, line(scene.entry, is_credit_item="on"))
    assert answer.status_code == 200
    assert not Invoice.objects.exists()


# --- what the grid of lines requests --------------------------------------------------------------------


def fetch_json(client, address, **query):
    answer = client.get(f"{CLAIMS}{address}/", query)
    assert answer.status_code == 200
    return answer.json()


def product_codes(client, entry, words, **query):
    found = fetch_json(client, "products", book=str(entry.price_book_id), q=words, **query)
    return [each["code"] for each in found["products"]]


@pytest.mark.both_engines("found or summed by the database")
def test_products_are_found_by_code_and_name_within_their_price_book(client, scene):
    book = scene.entry.price_book
    an_entry(book, a_product(code="04_104_0125_6_1", name="Access community, weekday"))
    an_entry(a_price_book(), a_product(code="04_999_0125_6_1", name="Access elsewhere"))
    archived = an_entry(book, a_product(code="04_105_0125_6_1", name="Access archived"))
    archived.product.archive_date = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    archived.product.save()
    assert product_codes(client, scene.entry, "access") == ["04_104_0125_6_1"]
    assert product_codes(client, scene.entry, "weekday COMM") == ["04_104_0125_6_1"]
    assert product_codes(client, scene.entry, "04104") == ["04_104_0125_6_1"]
    assert product_codes(client, scene.entry, "01_011_0107_1_1") == ["01_011_0107_1_1"]
    assert len(product_codes(client, scene.entry, "")) == 2
    assert product_codes(client, scene.entry, "nothing of the kind") == []


@pytest.mark.both_engines("found or summed by the database")
def test_the_best_match_comes_first(client, scene):
    book = scene.entry.price_book
    for code, name in (("09_1", "Like 05_9"), ("05_9", "Other"), ("05_99", "More")):
        an_entry(book, a_product(code=code, name=name))
    assert product_codes(client, scene.entry, "05_9") == ["05_9", "05_99", "09_1"]


@pytest.mark.both_engines("found or summed by the database")
@pytest.mark.parametrize(
    "words", ["04 104", "04_104", "04104", "4104", "04-104", "04.104.0125", "04 104 comm"]
)
def test_a_code_is_found_by_a_part_in_any_spelling(client, scene, words):
    book = scene.entry.price_book
    for code in ("01_400_0104_1_1", "04_104_0125_6_1", "04_111_0104_6_1", "15_041_0404_1_3"):
        an_entry(book, a_product(code=code, name="Access community"))
    assert product_codes(client, scene.entry, words)[0] == "04_104_0125_6_1"
    assert "01_400_0104_1_1" not in product_codes(client, scene.entry, words)


@pytest.mark.both_engines("found or summed by the database")
def test_words_are_sought_in_the_name_before_the_category(client, scene):
    book = scene.entry.price_book
    an_entry(book, a_product(code="07_001", name="Level 1", category_name="Support coordination"))
    an_entry(book, a_product(code="09_001", name="Coordination of support"))
    an_entry(book, a_product(code="09_002", name="Support coordination level 2"))
    assert product_codes(client, scene.entry, "support coordination") == ["09_002", "09_001", "07_001"]
    assert product_codes(client, scene.entry, "coordination level 1") == ["07_001"]


@pytest.mark.parametrize("book", ["", "x", "00000000-0000-0000-0000-000000000000"])
def test_without_a_price_book_nothing_is_offered(client, scene, book):
    assert fetch_json(client, "products", book=book, q="a")["products"] == []


def test_prices_are_those_of_the_participant_s_zone_on_the_day_of_the_line(client):
    entry = an_entry()
    a_price(entry, "70", end=END_OF_JUNE)
    a_price(entry, "80", dt.date(2026, 7, 1))
    a_price(entry, "112.5", dt.date(2026, 7, 1), zone="Remote")
    remote = Scene(contact={"scheme_price_guide_region": "Remote"}, entry=entry).participant

    def priced(contact, *days):
        lines = [f"{entry.price_book_id}|{entry.product.code}|{day}" for day in days]
        return [each["price"] for each in fetch_json(client, "prices", contact=contact, line=lines)["lines"]]

    assert priced("", "2026-06-30", "2026-07-01") == ["70.00", "80.00"]
    assert priced(str(remote.pk), "2026-07-01", "2026-06-30") == ["112.50", "70.00"]  # none: the national one
    found = fetch_json(
        client, "prices", line=[f"{entry.price_book_id}|{entry.product.code}|2020-01-01", "x", "a|b|c"]
    )
    assert found["lines"] == [
        {"code": entry.product.code, "name": entry.product.name, "unit": "", "quote": False}
        | {"current": False, "price": None},
        None,
        None,
    ]


def test_the_lines_of_the_last_claim_of_participant_and_provider_are_offered_again(client):
    client.force_login(an_administrator())
    contact, provider = a_contact(), a_client()
    both = {"contact": contact, "provider": provider}
    earlier = clock.now() - dt.timedelta(days=7)
    Claim.objects.filter(pk=a_claim(**both, lines=3).pk).update(creation_date=earlier)
    last = a_claim(**both, lines=2)
    ClaimLine.objects.filter(claim=last, position=0).update(claim_type="Cancellation", quantity="1.5")
    a_claim(**both, archive_date=clock.now())
    a_claim(contact=contact)
    a_claim(provider=provider)
    keys = {name: str(record.pk) for name, record in both.items()}
    found = fetch_json(client, "last-lines", **keys)
    assert found["claim"].startswith(last.claim_number)
    assert [line["product"] for line in found["lines"]] == [
        line.product.code for line in last.line_items.order_by("position")
    ]
    assert (found["lines"][0]["quantity"], found["lines"][0]["claim_type"]) == ("1.50", "Cancellation")
    for address in ({**keys, "provider": str(a_client().pk)}, {**keys, "contact": "x"}, {}):
        assert fetch_json(client, "last-lines", **address) == {"lines": []}


def test_who_does_not_see_the_participant_gets_no_lines_of_their_last_claim(client):
    claim = a_claim()
    role = a_role(
        "funding.administer_funding_invoices", "funding.add_claim", "people.view_contact", participants="Own"
    )
    client.force_login(a_staff_member(role=role))
    keys = {"contact": str(claim.contact_id), "provider": str(claim.provider_id)}
    assert fetch_json(client, "last-lines", **keys) == {"lines": []}


# --- permissions, statements ----------------------------------------------------------------------------


@read_in_python
def test_without_the_permission_no_page_of_bills_opens(client, scene):
    enter(client, scene)
    claim = Claim.objects.get()
    client.force_login(a_staff_member(role=a_role("people.view_staff")))
    for address in (
        "",
        "add/",
        f"{claim.pk}/change/",
        f"{claim.pk}/history/",
        "products/",
        "prices/",
        "last-lines/",
    ):
        assert client.get(f"{CLAIMS}{address}").status_code == 403
    for address in (INVOICES, "/admin/funding/providerinvoice/"):
        assert client.get(address).status_code == 403
    assert 'href="/admin/funding/claim/"' not in client.get("/admin/").content.decode()


@pytest.mark.parametrize("permission", ["view_claim", "administer_funding_invoices"])
def test_who_may_only_look_sees_the_claim_and_no_form(client, scene, permission):
    enter(client, scene)
    claim = Claim.objects.get()
    role = a_role(f"funding.{permission}")
    client.force_login(a_staff_member(role=role))
    page = client.get(f"{CLAIMS}{claim.pk}/change/")
    assert page.templates[0].name == "funding/bill.html"
    assert page.context["buttons"] == []
    assert client.get(CLAIMS).status_code == 200
    assert client.get(f"{CLAIMS}add/").status_code == 403
    assert client.post(f"{CLAIMS}{claim.pk}/do/approve/").status_code == 403
    claim.refresh_from_db()
    assert claim.funding_status == "AwaitingStaffApproval"


@pytest.mark.both_engines("statements are counted")
@pytest.mark.parametrize("status", ["Approved", "AwaitingStaffApproval"])
def test_a_page_takes_the_same_statements_for_any_number_of_lines(
    client, scene, status, django_assert_max_num_queries
):
    # Each comes to another amount: lines of one are duplicates.
    enter(client, scene, *[line(scene.entry, f"0.{2 * n:04}") for n in range(1, 13)])
    claim = Claim.objects.get()
    Claim.objects.update(funding_status=status)
    client.get(f"{CLAIMS}{claim.pk}/change/")  # what is read once for all pages
    with django_assert_max_num_queries(30) as counted:
        client.get(f"{CLAIMS}{claim.pk}/change/")
    many = len(counted)
    claim.line_items.exclude(position=0).delete()
    with django_assert_max_num_queries(30) as counted:
        client.get(f"{CLAIMS}{claim.pk}/change/")
    assert len(counted) == many


@pytest.mark.both_engines("statements are counted")
def test_storing_takes_the_same_statements_for_any_number_of_lines(
    client, scene, django_assert_max_num_queries
):
    counts = []
    for number in (11, 40):  # up to ten go as plain INSERTs, with others
        page = open_claim_form(client, a_new_provider_invoice(scene))
        data = bill_form_data(
            page, *[line(scene.entry, f"0.{2 * (2 * number + n):04}") for n in range(1, number + 1)]
        )
        with django_assert_max_num_queries(62) as counted:
            assert client.post(f"{CLAIMS}add/", data).status_code == 302
        counts.append(len(counted))
    assert counts[0] == counts[1]


def test_a_reusable_provider_invoice_may_be_claimed_again(client, scene):
    provider_invoice = a_provider_invoice(
        contact=scene.participant, provider=scene.provider, is_reusable=True
    )
    days = {"start_date": "12/08/2026", "end_date": "12/08/2026"}
    enter(client, scene, provider_invoice=provider_invoice, **days)
    page = open_claim_form(client, provider_invoice)
    data = bill_form_data(page, line(scene.entry, "1"), **days)
    answer = client.post(f"{CLAIMS}add/", data)
    assert client.post(f"{CLAIMS}add/", data | save_anyway(answer)).status_code == 302
    assert provider_invoice.claims.count() == 2


def test_an_archived_provider_or_participant_is_named_beside_a_claim_and_its_provider_invoice(client, scene):
    """Somebody who died, or a provider that closed: what they still have open is claimed, and seen to be."""
    waiting = a_new_provider_invoice(scene)
    enter(client, scene, line(scene.entry))
    claim = scene.participant.claims.get()
    pages = (
        f"{CLAIMS}add/?provider_invoice={waiting.pk}",
        f"{CLAIMS}{claim.pk}/change/",
        f"/admin/funding/providerinvoice/{waiting.pk}/change/",
    )
    for address in pages:
        assert "is archived since" not in client.get(address).content.decode(), address
    asked = client.get(f"/admin/people/contact/{scene.participant.pk}/archiving/").content.decode()
    assert "2 provider invoices (participant)</a>, <strong>1 still open" in asked
    assert "1 claim (participant)</a>, <strong>1 still open" in asked
    for record in (scene.provider, scene.participant):
        archive(type(record).objects.filter(pk=record.pk))
    for address in pages:
        shown = client.get(address).content.decode()
        for record in (scene.provider, scene.participant):
            assert shown.count(f"{record} is archived since") == 1, address


@read_in_python
def test_a_form_that_lost_its_count_of_rows_stores_nothing(client, scene):
    page = open_claim_form(client, a_new_provider_invoice(scene))
    data = bill_form_data(page, line(scene.entry))
    del data["lines-TOTAL_FORMS"]
    for total in ({}, *({"lines-TOTAL_FORMS": total} for total in ("", "x", "-1", "100000"))):
        with unrendered():
            answer = client.post(f"{CLAIMS}add/", data | total)
        assert answer.status_code == 200
        assert answer.context["rows"].non_form_errors(), total
        assert not Claim.objects.exists()


@pytest.mark.parametrize("guid", ["x", "00000000-0000-0000-0000-000000000000", ""])
def test_a_provider_invoice_that_is_not_there_fills_nothing(client, guid):
    page = client.get(f"{CLAIMS}add/", {"provider_invoice": guid})
    assert page.status_code == 200
    assert page.context["provider_invoice"] is None


def test_markup_in_names_is_shown_as_text(client, scene):
    scene.product.name = "<img src=x onerror=alert(1)>"
    scene.product.save()
    scene.provider.business_name = "<script>alert(2)</script>"
    scene.provider.save()
    claim = enter_anyway(client, scene, line(scene.entry, price="80", notes="<b>bold</b>"))
    for address in (CLAIMS, f"{CLAIMS}{claim.pk}/change/", f"{CLAIMS}{claim.pk}/do/hold/"):
        page = client.get(address).content.decode()
        assert "<img src=x" not in page
        assert "<script>alert" not in page
        assert "<b>bold" not in page


def test_lists_name_the_provider_with_its_reference_and_the_participant_with_the_number(client):
    claim, invoice = a_claim(), an_invoice()
    provider, participant = claim.provider.business_name, claim.contact.last_name
    page = client.get(CLAIMS).content.decode()
    for text in (provider, claim.provider_invoice_reference, participant):
        assert text in page.partition("result_list")[2], text
    page = client.get(INVOICES).content.decode().partition("result_list")[2]
    assert str(invoice) in page
    assert invoice.contact.last_name in page
