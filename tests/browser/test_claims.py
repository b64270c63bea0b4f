"""A claims officer at the keyboard: from the provider's invoice to its claim, without a mouse."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.base import clock
from apps.funding.models import Claim, Invoice, Price, ProviderInvoice
from apps.people.models import Client
from tests.browser.journeys import look_up
from tests.documents.builders import PDF, a_document, docx
from tests.engagements.builders import a_booking, a_plan
from tests.funding.builders import (
    a_claim,
    a_price,
    a_price_book,
    a_product,
    a_provider_invoice,
    an_entry,
    an_invoice,
)
from tests.people.records import a_client, a_contact

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


class Scene:
    """A participant with a plan, a provider, a price book of two products; all of them plain names."""

    def __init__(self):
        today = clock.today()
        self.mia = a_contact(first_name="Mia", last_name="Nguyen", scheme_number="430 123 456", state="NSW")
        self.harbour = a_client(business_name="Harbour Lights", business_number="51 824 753 556")
        book = a_price_book(name="Price guide")
        self.care = an_entry(
            book,
            a_product(code="01_011_0107_1_1", name="Self-care", category_number=1, unit="H", type="Priced"),
        )
        self.walk = an_entry(
            book, a_product(code="01_012_0107_1_1", name="A walk", category_number=1, unit="H", type="Priced")
        )
        start = today.replace(month=1, day=1, year=today.year - 1)
        a_price(self.care, "70.05", start=start)
        a_price(self.walk, "33.335", start=start)
        plan = a_plan(
            participant=self.mia,
            plan_start_date=start,
            plan_end_date=today.replace(month=12, day=31),
            total_budget_amount=Decimal(20_000),
        )
        a_booking(plan, category=1, budget=Decimal(10_000))
        self.day = today

    def provider_invoice(self, reference, **columns):
        return a_provider_invoice(
            reference=reference,
            contact=self.mia,
            provider=self.harbour,
            service_start_date=self.day,
            service_end_date=self.day,
            **columns,
        )


@pytest.fixture
def scene():
    return Scene()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def focused_name(page):
    """The name of the field that the cursor is in."""
    return page.evaluate("document.activeElement.name || document.activeElement.textContent.trim()")


def text_of(page, name):
    return page.inner_text(f"[data-{name}]").strip()


def search_product(page, words):
    """Type into the field of a product, and wait until something is offered."""
    page.keyboard.type(words)
    page.wait_for_selector("[data-options]:not([hidden]) [aria-selected=true]")


def test_claims_are_entered_by_keyboard_one_provider_invoice_after_the_other(open_window, scene):
    first = scene.provider_invoice("INV-1", invoice_total=Decimal("205.09"))
    second = scene.provider_invoice("INV-2")
    page = open_window()
    page.goto(f"/admin/funding/claim/add/?provider_invoice={first.pk}")
    assert focused_name(page) == "lines-0-product"  # the head is filled from the invoice
    search_product(page, "self")
    press(page, "Enter")
    assert focused_name(page) == "lines-0-from_date"
    press(page, "Tab", "Tab")
    page.keyboard.type("1.5")
    assert page.input_value("[name=lines-0-price]") == "70.05"
    assert text_of(page, "total") == "105.08"  # 105.075, half up
    assert text_of(page, "difference") == "−100.01"
    press(page, "Enter")
    assert focused_name(page) == "lines-1-product"
    search_product(page, "0101")
    press(page, "ArrowDown", "Tab", "Tab", "Tab")
    assert page.input_value("[name=lines-1-product]") == "01_012_0107_1_1"
    page.keyboard.type("3")
    assert text_of(page, "sum") == "205.09"  # 100.005 is 100.01
    assert page.locator("[data-difference-row]").is_hidden()
    press(page, "Enter", "Enter")
    assert focused_name(page) == "_next"
    with page.expect_navigation():
        press(page, "Enter")
    page.wait_for_url(f"**/add/?provider_invoice={second.pk}")
    claim = Claim.objects.get()
    assert (claim.total, claim.provider_invoice) == (Decimal("205.09"), first)
    assert [line.product for line in claim.line_items.all()] == [scene.care.product, scene.walk.product]
    assert (page.errors, page.elsewhere, page.dialogs) == ([], [], [])


def test_a_claim_without_lines_leads_to_the_first_of_them_once_its_head_is_right(open_window, scene):
    page = open_window()
    page.goto(f"/admin/funding/claim/add/?provider_invoice={scene.provider_invoice('INV-1').pk}")
    page.fill("[name=end_date]", "99/99/2026")
    for field in ("end_date", "lines-0-product"):
        with page.expect_navigation():
            page.click("[name=_save]:visible")
        assert focused_name(page) == field
        page.fill("[name=end_date]", "1/7/2026")
    box = page.locator("[name=lines-0-product]")
    assert box.get_attribute("aria-invalid") == "true"
    assert page.inner_text(f"#{box.get_attribute('aria-describedby')}") == "Give one line at least."


def test_a_fault_of_a_narrow_cell_stands_below_the_line_in_its_whole_width(open_window, scene):
    page = open_window()
    page.goto(f"/admin/funding/claim/add/?provider_invoice={scene.provider_invoice('INV-1').pk}")
    page.fill("[name=lines-0-product]", scene.care.product.code)
    page.fill("[name=lines-0-quantity]", "two")
    with page.expect_navigation():
        page.click("[name=_save]:visible")
    assert focused_name(page) == "lines-0-quantity"
    fault = page.locator(f"#{page.get_attribute('[name=lines-0-quantity]', 'aria-describedby')}")
    assert fault.inner_text() == "Give a number, such as 1.5, or hours and minutes, such as 1:30."
    assert fault.bounding_box()["width"] > page.locator("[data-row]").bounding_box()["width"] * 0.9


@pytest.mark.pdf_viewer
def test_the_browsers_message_about_a_broken_file_leaves_the_cursor_in_the_form(open_window, scene):
    page = open_window()
    page.goto("/admin/funding/claim/add/")
    page.evaluate("addEventListener('blur', () => setTimeout(() => document.body.append('Taken'), 50))")
    page.set_input_files("[data-form-file] input", {"name": "INV-9.pdf", "mimeType": "", "buffer": PDF})
    page.wait_for_function("document.activeElement.matches('.select2-selection')")
    page.wait_for_selector("body >> text=Taken")
    assert page.evaluate("document.activeElement.matches('.select2-selection')")


def test_warnings_are_read_and_confirmed_by_keyboard(open_window, scene):
    provider_invoice = scene.provider_invoice("INV-1")
    page = open_window()
    page.goto(f"/admin/funding/claim/add/?provider_invoice={provider_invoice.pk}")
    search_product(page, "walk")
    press(page, "Enter", "Tab", "Tab")
    page.keyboard.type("2")
    press(page, "Tab", "Control+a")
    page.keyboard.type("40")
    page.wait_for_selector("[data-cap].fu-over-cap")
    assert "over 33.335" in text_of(page, "cap")
    with page.expect_navigation():
        press(page, "Control+Enter")
    page.wait_for_selector("[data-warnings]")
    assert not Claim.objects.exists()
    assert page.input_value("[name=lines-0-price]") == "40"
    with page.expect_navigation():
        press(page, "Tab", "Enter")
    assert Claim.objects.get().acknowledged_warnings.get().code == "PriceOverCap"
    assert page.errors == []


def test_lines_come_back_from_the_page_of_warnings_and_the_next_form_follows(open_window, scene):
    page = open_window()
    page.goto(f"/admin/funding/claim/add/?provider_invoice={scene.provider_invoice('INV-1').pk}")
    scene.provider_invoice("INV-2")
    paste(page, f"{scene.care.product.code}\t\t\t1.5\t80\n{scene.walk.product.code}\t\t\t2")
    page.wait_for_function("document.querySelector('[name=lines-1-price]').value !== ''")
    press(page, "Control+Enter")
    page.wait_for_selector("[data-warnings]")
    page.evaluate("history.back()")
    page.wait_for_selector("text=You went back to this form.")
    assert page.evaluate("document.activeElement.id") == "warnings"
    cells = ("lines-0-quantity", "lines-0-price", "lines-1-product", "lines-1-quantity")
    assert [page.input_value(f"[name={name}]") for name in cells] == [
        "1.5",
        "80",
        scene.walk.product.code,
        "2",
    ]
    with page.expect_navigation():
        press(page, "Tab", "Enter")
    page.wait_for_url("**/add/?provider_invoice=*")
    assert Claim.objects.get().line_items.count() == 2
    assert page.errors == []


def test_rows_are_copied_and_removed_and_sent_in_their_order(open_window, scene):
    provider_invoice = scene.provider_invoice("INV-1")
    page = open_window()
    page.goto(f"/admin/funding/claim/add/?provider_invoice={provider_invoice.pk}")
    for words, quantity in (("self", "1"), ("walk", "2")):
        search_product(page, words)
        press(page, "Enter", "Tab", "Tab")
        page.keyboard.type(quantity)
        press(page, "Enter")
    page.focus("[name=lines-0-quantity]")
    press(page, "Control+Shift+ArrowDown")
    copied = page.locator("[data-row]").nth(1).locator("[name$=quantity]")
    copied.fill("3")
    assert text_of(page, "sum") == "346.87"  # 70.05 + 210.15 + 66.67
    page.focus("[name=lines-0-quantity]")
    press(page, "Control+Shift+Backspace")
    assert text_of(page, "sum") == "276.82"
    with page.expect_navigation():
        press(page, "Control+Enter")
    quantities = list(Claim.objects.get().line_items.order_by("position").values_list("quantity", flat=True))
    assert quantities == [Decimal(3), Decimal(2)]


def test_days_are_typed_as_people_write_them(open_window, scene):
    page = open_window()
    page.goto("/admin/funding/invoice/add/")
    today, start = scene.day, "[name=start_date]"
    for typed, meant in (
        ("t", today.strftime("%d/%m/%Y")),
        ("1/7/25", "01/07/2025"),
        ("010725", "01/07/2025"),
        ("01072025", "01/07/2025"),
        ("1.7.2025", "01/07/2025"),
        (today.strftime("%d%m"), today.strftime("%d/%m/%Y")),
        ("31/2/25", "31/2/25"),
        ("soon", "soon"),
    ):
        page.fill(start, typed)
        page.locator(start).blur()
        assert page.input_value(start) == meant, typed
    page.fill("[name=due_date]", "1/7")  # what is due lies ahead
    page.locator("[name=due_date]").blur()
    year = today.year + ((today.month, today.day) > (7, 1))
    assert page.input_value("[name=due_date]") == f"01/07/{year}"
    assert page.errors == []


def test_the_last_day_of_a_bill_is_its_first_until_another_is_entered(open_window, scene):
    page = open_window()
    page.goto("/admin/funding/claim/add/")
    page.focus("[name=start_date]")
    for typed, meant in (("1/7/25", "01/07/2025"), ("2/7/25", "02/07/2025")):
        page.keyboard.type(typed)
        press(page, "Tab")
        assert focused_name(page) == "end_date"
        assert page.input_value("[name=end_date]") == meant
        press(page, "Shift+Tab")
    press(page, "Tab")
    page.keyboard.type("9/7/25")  # what was filled in is selected
    press(page, "Shift+Tab")
    page.keyboard.type("3/7/25")
    press(page, "Tab")
    assert page.input_value("[name=end_date]") == "09/07/2025"
    page.fill("[name=end_date]", "")
    page.fill("[name=start_date]", "4/7/25")
    page.click("[name=end_date]")
    page.keyboard.type("8/7/25")  # by a click as well
    assert page.input_value("[name=end_date]") == "8/7/25"
    page.fill("[name=lines-0-price]", "70.23")
    page.click("[name=lines-0-quantity]")
    page.click("[name=lines-0-price]")
    page.keyboard.type("65")
    page.click("[name=lines-0-price]")  # the next click only moves the cursor
    page.keyboard.press("End")
    page.keyboard.type(".5")
    assert page.input_value("[name=lines-0-price]") == "65.5"
    assert page.errors == []


def test_a_product_is_chosen_and_changed_by_the_mouse(open_window, scene):
    page = open_window()
    page.goto("/admin/funding/claim/add/")
    product = page.locator("[name=lines-0-product]")
    product.click()
    search_product(page, "self")
    product.click()
    page.keyboard.type("x")
    page.click(
        "text=No product of this price book has this code or name."
    )  # no option: the list stays, as for its bar
    assert focused_name(page) == "lines-0-product"
    page.keyboard.press("Backspace")
    page.click("[data-option] >> text=Self-care")
    page.click("[name=lines-0-quantity]")
    product.click()  # what was chosen is selected, and another one typed in its place
    page.keyboard.type("walk")
    page.click("[data-option] >> text=A walk")
    assert product.input_value() == "01_012_0107_1_1"
    assert page.input_value("[name=lines-0-price]") == "33.335"
    assert page.errors == []


def test_the_list_of_products_is_seen_in_a_low_window(open_window, scene):
    """It opened below the bar of buttons."""
    book = scene.care.price_book
    for number in range(20, 32):
        an_entry(book, a_product(code=f"01_0{number}_0107_1_1", name=f"Support {number}", category_number=1))
    page = open_window(1024)
    page.set_viewport_size({"width": 1024, "height": 700})
    page.goto("/admin/funding/claim/add/")
    page.click("[name=lines-0-product]")
    search_product(page, "0")
    options = page.locator("[data-options]:visible").bounding_box()
    assert options["height"] > 100
    assert options["y"] + options["height"] <= page.locator("#submit-row").bounding_box()["y"]


def test_the_name_of_a_document_without_a_preview_leaves_the_form_its_width(open_window, scene):
    document = a_document(docx(), "Invoice.docx", name="Invoice_" * 20)
    page = open_window()
    page.goto(f"/admin/funding/claim/add/?document={document.pk}")
    assert page.is_visible("text=has no preview.")
    assert page.evaluate("document.documentElement.scrollWidth") == 1280


def test_the_price_of_another_day_takes_the_place_of_the_list_s_and_of_no_other(open_window, scene):
    Price.objects.filter(entry=scene.care).update(end_date=scene.day - dt.timedelta(days=1))
    a_price(scene.care, "75.05", start=scene.day)
    page = open_window()
    page.goto(f"/admin/funding/claim/add/?provider_invoice={scene.provider_invoice('INV-1').pk}")
    search_product(page, "self")
    press(page, "Enter")
    price = page.locator("[name=lines-0-price]")
    assert price.input_value() == "75.05"
    before = f"{scene.day - dt.timedelta(days=3):%d/%m/%Y}"
    for typed, day, listed in (("", before, "70.05"), ("", "t", "75.05"), ("60", before, "70.05")):
        if typed:
            price.fill(typed)
        page.fill("[name=lines-0-from_date]", day)
        page.locator("[name=lines-0-from_date]").blur()
        page.wait_for_selector(f"[data-cap]:text('cap {listed}')")
        assert price.input_value() == (typed or listed)
    price.fill("70.05")
    page.fill("[name=lines-0-from_date]", "")  # from here on its day is the claim's
    page.fill("[name=start_date]", before)
    page.wait_for_selector("[data-cap]:text('cap 75.05')")
    page.locator("[name=start_date]").blur()
    page.wait_for_selector("[data-cap]:text('cap 70.05')")
    assert page.errors == []


def test_a_line_that_is_no_cancellation_any_more_has_no_reason(open_window, scene):
    page = open_window()
    page.goto("/admin/funding/invoice/add/")
    reason = page.locator("[name=lines-0-cancellation_reason]")
    for claim_type, is_shown, value in (("Cancellation", True, "Other"), ("Telehealth", False, "")):
        page.select_option("[name=lines-0-claim_type]", claim_type)
        assert reason.is_visible() == is_shown
        if is_shown:
            reason.select_option(value)
        assert reason.input_value() == value
    assert page.errors == []


def test_sums_are_exact_where_floating_point_is_not(open_window, scene):
    page = open_window()
    page.goto("/admin/funding/invoice/add/")
    for quantity, price, total in (
        ("1", "1.005", "1.01"),
        ("3", "1.115", "3.35"),
        ("0.07", "0.5", "0.04"),
        ("9999999", "99999.9999", "999,999,899,000.00"),
        ("1.1", "1.1", "1.21"),
        ("1:20", "70", "93.33"),  # hours and minutes are four decimals, 1.3333
        ("1:40", "100", "166.67"),  # 1.6667
        ("1:60", "70", "–"),
        ("1e3", "2", "–"),
        ("2", "", "–"),
    ):
        page.fill("[name=lines-0-quantity]", quantity)
        page.fill("[name=lines-0-price]", price)
        assert text_of(page, "total") == total
    page.fill("[name=lines-0-price]", "10")
    page.check("[name=lines-0-is_credit_item]")
    assert text_of(page, "total") == "−20.00"


def test_an_invoice_is_entered_by_keyboard_from_its_first_field(open_window, scene):
    page = open_window()
    page.goto("/admin/funding/invoice/add/")
    look_up(page, "430 123", "Mia Nguyen")
    assert focused_name(page) == "invoice_claim_type"
    press(page, "Tab")
    page.keyboard.type("t")
    press(page, "Tab")
    page.keyboard.type("t")
    press(page, "Enter")
    assert focused_name(page) == "lines-0-product"
    search_product(page, "self")
    press(page, "Enter", "Tab", "Tab")
    page.keyboard.type("2")
    with page.expect_navigation():
        press(page, "Control+Enter")
    invoice = Invoice.objects.get()
    assert (invoice.contact, invoice.total, invoice.start_date) == (scene.mia, Decimal("140.10"), scene.day)
    assert page.errors == []


def test_a_provider_invoice_is_entered_by_keyboard_and_leads_to_its_claim(open_window, scene):
    page = open_window()
    page.goto("/admin/funding/providerinvoice/add/")
    look_up(page, "harbour", "Harbour Lights")
    look_up(page, "430 123 456", "Mia Nguyen")
    for words in ("INV-77", "140.10", "t", "t"):
        page.keyboard.type(words)
        press(page, "Tab")
    with page.expect_navigation():
        press(page, "Control+Enter")
    entered = ProviderInvoice.objects.get()
    assert (entered.reference, entered.contact, entered.provider) == ("INV-77", scene.mia, scene.harbour)
    assert (entered.invoice_total, entered.service_end_date) == (Decimal("140.10"), scene.day)
    page.wait_for_url(f"**/claim/add/?provider_invoice={entered.pk}")
    page.wait_for_function("document.activeElement.name === 'lines-0-product'")
    assert (page.errors, page.elsewhere, page.dialogs) == ([], [], [])


def test_three_hundred_lines_can_be_worked_on(open_window, scene):
    claim = a_claim(
        [{"entry": scene.care, "price": "70.05", "quantity": "1"}] * 300,
        contact=scene.mia,
        provider=scene.harbour,
        start_date=scene.day,
        end_date=scene.day,
    )
    page = open_window()
    page.goto(f"/admin/funding/claim/{claim.pk}/change/")
    assert text_of(page, "sum") == "21,015.00"
    assert page.is_disabled("[data-add]")
    page.fill("[name=lines-299-quantity]", "2")
    assert text_of(page, "sum") == "21,085.05"
    press(page, "Enter")  # no further line: on to the button
    assert page.locator("[data-rows] [data-row]").count() == 300
    assert page.evaluate("document.activeElement.type") == "submit"


def test_a_claim_on_paper_has_its_number_and_no_menu_nor_buttons(open_window, scene):
    claim = a_claim(contact=scene.mia, provider=scene.harbour)
    page = open_window()
    page.goto(f"/admin/funding/claim/{claim.pk}/change/")
    parts = (".rs-skip", "#nav-sidebar", "header", "#submit-row", ".fu-action-buttons", ".select2-container")
    page.wait_for_selector(".select2-container")
    assert [part for part in parts if page.locator(part).first.is_visible()] == list(parts)
    assert not page.is_visible("h1.rs-paper-title")
    page.emulate_media(media="print")
    assert [part for part in parts if page.locator(part).first.is_visible()] == []
    assert page.inner_text("h1.rs-paper-title") == str(claim)


def test_the_month_end_on_paper_is_as_wide_as_the_paper(open_window, scene):
    a_claim(contact=scene.mia, provider=scene.harbour)
    page = open_window(1400)
    page.goto("/admin/funding/claim/month-end/")
    page.emulate_media(media="print")
    left, width = page.evaluate(
        "(box => [box.left, box.width])(document.querySelector('.rs-wide').getBoundingClientRect())"
    )
    assert (left, width) == (0, 1400)


@pytest.mark.usefixtures("nothing_changed_since")
def test_chosen_claims_are_approved_from_their_list(open_window, scene):
    for number in range(3):
        invoiced = {"contact": scene.mia, "provider": scene.harbour}
        provider_invoice = a_provider_invoice(**invoiced, reference=f"R-{number}")
        a_claim(**invoiced, provider_invoice=provider_invoice)
    ProviderInvoice.objects.filter(reference="R-0").update(approval_status="OnHoldByClient")
    page = open_window()
    page.goto("/admin/funding/claim/?status=AwaitingStaffApproval")
    page.click("#action-toggle")
    page.click(".fu-actions button >> text=Approve")
    for _ in ("before it is done", "afterwards"):
        page.wait_for_selector(".fu-refused")
        assert "R-0 is on hold by the client" in page.inner_text(".fu-refused")
        if page.locator("[name=_do]").count():
            page.click("[name=_do]")
            page.wait_for_selector("text=1 refused")
    assert Claim.objects.filter(funding_status="Approved").count() == 2
    assert page.errors == []


def test_what_is_chosen_on_all_pages_of_a_list_has_the_sum_of_the_list(open_window, scene, monkeypatch):
    monkeypatch.setattr("apps.funding.admin.claims.ClaimAdmin.list_per_page", 2)
    for _ in range(3):
        a_claim(contact=scene.mia, provider=scene.harbour)
    page = open_window()
    page.goto("/admin/funding/claim/?status=AwaitingStaffApproval")
    page.click("#action-toggle")
    chosen = page.locator("[data-selected]:text('Total 280.00')")
    chosen.wait_for()
    page.click("text=Select all 3")
    page.wait_for_selector("[data-selected]:text('Total 420.00')")
    assert page.errors == []


def test_a_credit_that_is_chosen_is_taken_off(open_window, scene):
    for is_credit_item in (False, False, True):
        an_invoice([{"is_credit_item": is_credit_item}], contact=scene.mia)
    page = open_window()
    page.goto("/admin/funding/invoice/")
    page.click("#action-toggle")
    page.wait_for_selector("[data-selected]:text('Total 140.00')")
    assert page.errors == []


@pytest.mark.parametrize("name", ["claim", "invoice", "providerinvoice"])
def test_without_scripts_the_form_says_so_where_it_is_seen(profile, live_server, open_window, name):
    cookies = open_window().context.cookies()
    context = profile.browser.new_context(base_url=live_server.url, java_script_enabled=False)
    try:
        context.add_cookies(cookies)
        page = context.new_page()
        page.goto(f"/admin/funding/{name}/add/")
        note = page.locator("noscript p", has_text="Scripts are switched off in your browser.")
        note.click(trial=True, timeout=3_000)  # in sight, and nothing lies above it
        assert note.bounding_box()["y"] < 400
    finally:
        context.close()


def paste(page, text):
    """Paste a text into the field that the cursor is in, as it comes from a spreadsheet."""
    page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.setData("text/plain", text);
            const options = { clipboardData: data, bubbles: true, cancelable: true };
            document.activeElement.dispatchEvent(new ClipboardEvent("paste", options));
        }""",
        text,
    )


def test_lines_with_headers_are_pasted_from_a_spreadsheet_and_saved(open_window, scene, settings):
    """More than the prices of which are asked for at once, and more than fit."""
    settings.MAX_LINES = 60
    day = f"{scene.day:%d/%m/%Y}"
    rows = [["Item", "Date", "Hrs", "Rate", "Something else", "Notes"]]
    rows += [
        [scene.care.product.code, day, "0.25", "$70.05", "x", f'"Line {number}\nsaid ""yes"""']
        for number in range(65)
    ]
    provider_invoice = scene.provider_invoice("INV-1")
    page = open_window()
    page.goto(f"/admin/funding/claim/add/?provider_invoice={provider_invoice.pk}")
    paste(page, "\r\n".join("\t".join(row) for row in rows) + "\r\n")
    page.wait_for_selector("[data-paste-note] >> text=60 lines pasted. 5 did not fit: 60 lines are the most.")
    page.wait_for_function("document.querySelectorAll('[data-row][data-cap]').length === 60")
    assert text_of(page, "sum") == "1,050.60"
    press(page, "Control+Enter")
    page.wait_for_selector("[data-warnings]")  # many lines of one day
    with page.expect_navigation():
        page.click("[name=_save_anyway]")
    claim = Claim.objects.get()
    assert (claim.line_items.count(), claim.total) == (60, Decimal("1050.60"))
    assert claim.line_items.order_by("position").last().notes == 'Line 59 said "yes"'
    assert page.errors == []


def test_cells_without_headers_are_pasted_from_the_column_of_the_cursor_on(open_window, scene):
    provider_invoice = scene.provider_invoice("INV-1")
    page = open_window()
    page.goto(f"/admin/funding/claim/add/?provider_invoice={provider_invoice.pk}")
    paste(page, f"{scene.care.product.code}\t1/7/25\t\t2\n{scene.walk.product.code}\t2/7/25\t3/7/25\t1\t30")
    assert [
        [page.input_value(f"[name=lines-{row}-{name}]") for name in ("from_date", "to_date", "quantity")]
        for row in (0, 1)
    ] == [["01/07/2025", "", "2"], ["02/07/2025", "03/07/2025", "1"]]
    page.wait_for_function("document.querySelector('[name=lines-0-price]').value === '70.05'")
    assert page.input_value("[name=lines-1-price]") == "30"
    page.focus("[name=lines-0-quantity]")
    paste(page, "4\t50\n5")
    assert [page.input_value(f"[name=lines-{row}-quantity]") for row in (0, 1)] == ["4", "5"]
    assert page.input_value("[name=lines-0-price]") == "50"
    page.focus("[name=lines-0-notes]")
    paste(page, "two lines\nof a note")
    assert page.locator("[data-row]").count() == 2


def test_the_lines_of_the_last_claim_are_repeated_with_the_prices_of_this_one(open_window, scene):
    page = open_window()
    first, second = (scene.provider_invoice(name) for name in ("INV-1", "INV-2"))
    page.goto(f"/admin/funding/claim/add/?provider_invoice={first.pk}")
    press(page, "Control+Shift+L")
    page.wait_for_selector("[data-paste-note] >> text=There is no earlier claim")
    paste(page, f"{scene.care.product.code}\t\t\t1.5\t60\n{scene.walk.product.code}\t\t\t2")
    page.wait_for_function("document.querySelector('[name=lines-1-price]').value !== ''")
    with page.expect_navigation():
        press(page, "Control+Enter")
    claim = Claim.objects.get()
    page.goto(f"/admin/funding/claim/add/?provider_invoice={second.pk}")
    press(page, "Control+Shift+L")
    page.wait_for_selector(f"[data-paste-note] >> text=2 lines of claim {claim.claim_number}")
    page.wait_for_function("document.querySelector('[name=lines-0-price]').value === '70.05'")
    assert focused_name(page) == "lines-0-quantity"
    for row, (code, quantity) in enumerate(
        [(scene.care.product.code, "1.50"), (scene.walk.product.code, "2")]
    ):
        assert page.input_value(f"[name=lines-{row}-product]") == code
        assert page.input_value(f"[name=lines-{row}-quantity]") == quantity
        assert page.input_value(f"[name=lines-{row}-from_date]") == ""
    assert page.locator("[data-row]").count() == 2
    page.click("[data-repeat]")
    page.wait_for_function("document.querySelectorAll('[data-row]').length === 4")
    assert (page.errors, page.elsewhere, page.dialogs) == ([], [], [])


@pytest.mark.pdf_viewer
def test_a_new_provider_is_added_and_changed_by_keyboard_beside_the_document_of_its_invoice(
    open_window, scene
):
    """The menu beside the field is for the mouse; without it the form and its document had to be left."""
    page = open_window()
    page.goto("/admin/funding/claim/add/")
    page.set_input_files("[data-form-file] input", {"name": "INV-9.pdf", "mimeType": "", "buffer": PDF})
    page.wait_for_function("document.activeElement.matches('.select2-selection')")
    press(page, "Z")
    page.wait_for_selector(".select2-search__field:focus")
    page.keyboard.type("est Transport")  # nobody is called so
    page.wait_for_selector(".select2-results__message")
    with page.expect_popup() as opened:
        press(page, "Alt+Enter")
    popup = opened.value
    assert popup.input_value("[name=business_name]") == "Zest Transport"
    with popup.expect_event("close"):
        popup.press("[name=business_name]", "Enter")
    page.wait_for_selector("[name=provider] + .select2 >> text=Zest Transport")
    press(page, "Tab")
    assert (
        page.evaluate("document.activeElement.closest('.select2').previousElementSibling.name") == "contact"
    )
    press(page, "Shift+Tab")
    assert page.locator("[data-form-file] iframe, .fu-invoice iframe").count() == 1
    assert Client.objects.get(business_name="Zest Transport").pk
    with page.expect_popup() as opened:
        press(page, "Alt+Shift+Enter")
    assert opened.value.input_value("[name=business_name]") == "Zest Transport"
    opened.value.close()
    assert page.errors == []
