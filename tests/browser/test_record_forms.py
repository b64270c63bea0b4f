"""What happens to a form that is pressed twice, left and returned to, or sent after its session has ended."""

from decimal import Decimal

import pytest
from django.contrib import admin
from django.contrib.sessions.models import Session

from apps.core.admin_base import RecordAdmin
from apps.engagements.models import ServiceBooking
from apps.engagements.services import create_support_categories
from apps.people.models import Client, Contact, Staff
from tests.documents.builders import PDF, a_category
from tests.engagements.builders import a_plan
from tests.funding.builders import a_claim
from tests.people.records import PASSWORD, a_client, a_contact, a_role, an_administrator

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ADD = "/admin/people/client/add/"
PASTE = """text => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text", text);
    const options = { clipboardData, bubbles: true, cancelable: true };
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", options));
}"""


def sign_in(page, staff):
    page.fill("[name=username]", staff.primary_email)
    page.fill("[name=password]", PASSWORD)
    with page.expect_navigation():
        page.click("#login-form button[type=submit]")


def save(page):
    with page.expect_navigation():
        page.click("#submit-row [name=_save]")


def test_a_form_sent_after_the_session_ended_comes_back_after_signing_in(open_window, ada):
    record = a_client(business_name="Acme", business_phone="02 9000 0000")
    page = open_window()
    page.goto(f"/admin/people/client/{record.pk}/change/")
    page.fill("[name=business_name]", "Acme of Brisbane")
    page.fill("[name=business_phone]", "07 3000 0000")
    Session.objects.all().delete()
    save(page)
    assert "/login/" in page.url
    sign_in(page, ada)
    page.wait_for_selector("text=You had been signed out.")
    assert page.input_value("[name=business_name]") == "Acme of Brisbane"
    assert Client.objects.get().business_name == "Acme"
    save(page)
    record.refresh_from_db()
    assert (record.business_name, record.business_phone) == ("Acme of Brisbane", "07 3000 0000")
    page.goto(ADD)
    assert page.input_value("[name=business_name]") == ""
    assert page.errors == []


def test_a_form_sent_after_a_login_in_another_tab_comes_back_with_its_text(open_window, ada):
    page, other = open_window(), open_window()
    page.goto(ADD)
    page.fill("[name=business_name]", "Acme of Perth")
    other.context.clear_cookies()
    other.goto("/admin/login/")
    sign_in(other, ada)
    save(page)
    assert page.is_visible("text=nothing that you typed is lost")
    with page.expect_navigation():
        page.click("text=Continue with what I typed")
    assert page.is_visible("text=You signed in again in another tab.")
    assert page.input_value("[name=business_name]") == "Acme of Perth"
    assert not Client.objects.exists()
    save(page)
    assert Client.objects.get().business_name == "Acme of Perth"


def test_a_form_that_a_withdrawn_role_refused_goes_on_once_the_role_is_given_back(open_window, ada):
    create_support_categories()
    plan = a_plan(total_budget_amount=10_000, is_plan_managed=True)
    page, role = open_window(), ada.role
    page.goto(f"/admin/engagements/clientengagement/{plan.pk}/plan/")
    page.fill("[name=category3-budget]", "1000.50")
    Staff.objects.filter(pk=ada.pk).update(role=a_role("engagements.view_clientengagement"))
    with page.expect_navigation():
        page.click("text=Save budgets")
    assert page.is_visible("text=nothing that you typed is lost")
    Staff.objects.filter(pk=ada.pk).update(role=role)
    with page.expect_navigation():
        page.click("text=Try again with what I typed")
    assert page.is_visible("text=You lacked a permission. Your entries are back, and not saved yet.")
    assert page.input_value("[name=category3-budget]") == "1000.50"
    assert not ServiceBooking.objects.exists()
    with page.expect_navigation():
        page.click("text=Save budgets")
    assert ServiceBooking.objects.get().budget == Decimal("1000.5")
    assert [text for text in page.errors if "403" not in text] == []


def test_nobody_else_sees_what_was_sent_after_the_session_ended(open_window, ada):
    other = an_administrator()
    page = open_window()
    page.goto(ADD)
    page.fill("[name=business_name]", "Acme")
    Session.objects.all().delete()
    save(page)
    sign_in(page, other)
    page.wait_for_selector("#submit-row")
    assert page.input_value("[name=business_name]") == ""
    assert page.evaluate("sessionStorage.length") == 0


def test_a_button_that_is_pressed_twice_saves_once(open_window):
    page = open_window()
    page.goto("/admin/people/contact/add/")
    page.fill("[name=first_name]", "Mia")
    page.fill("[name=last_name]", "Nguyen")
    sent = []
    page.on("request", lambda request: sent.append(request.method))
    with page.expect_navigation():  # the second press comes before there is an answer
        page.evaluate(
            "() => { const save = document.querySelector('#submit-row [name=_save]');"
            " save.click(); setTimeout(() => save.click(), 10); }"
        )
    page.wait_for_selector("#result_list >> text=Mia Nguyen")
    assert sent.count("POST") == 1
    assert Contact.objects.count() == 1
    page.go_back()
    page.wait_for_selector("#submit-row")
    page.fill("[name=first_name]", "Minh")
    save(page)
    assert page.errors == []


def test_of_two_people_who_save_one_record_the_second_chooses_for_each_field(open_window):
    record = a_contact(first_name="Mia", last_name="Nguyen")
    first, second = open_window(), open_window()
    for page in (first, second):
        page.goto(f"/admin/people/contact/{record.pk}/change/")
    first.fill("[name=first_name]", "Minh")
    save(first)
    second.fill("[name=last_name]", "Tran")
    save(second)
    assert second.is_visible("text=Ada Byron changed this record")
    assert second.input_value("[name=last_name]") == "Tran"
    assert second.is_checked("[name=keep_first_name][value=theirs]")
    assert second.is_checked("[name=keep_last_name][value=mine]")
    record.refresh_from_db()
    assert str(record) == "Minh Nguyen"
    save(second)
    record.refresh_from_db()
    assert str(record) == "Minh Tran"


def test_the_budgets_of_a_new_plan_are_pasted_from_a_spreadsheet_and_saved_at_once(open_window):
    create_support_categories()
    plan = a_plan(total_budget_amount=10_000, is_plan_managed=True)
    page = open_window()
    page.goto(f"/admin/engagements/clientengagement/{plan.pk}/plan/")
    page.focus("[name=category3-budget]")
    page.evaluate(PASTE, "1,000.50\t70\r\n2000\r\n")
    page.evaluate(PASTE, "15 Improved Daily Living Skills\t$3,000.00\n07\t400\nTransport\t5\n")
    assert page.inner_text("[data-unallocated]") == "3,594.50"
    with page.expect_navigation():
        page.click("text=Save budgets")
    budgets = ServiceBooking.objects.values_list("category__number", "budget", "used_elsewhere")
    found = {number: (float(budget), float(elsewhere)) for number, budget, elsewhere in budgets}
    assert found == {2: (5, 0), 3: (1000.5, 70), 4: (2000, 0), 7: (400, 0), 15: (3000, 0)}
    assert page.errors == []


def test_a_form_that_was_not_saved_has_the_cursor_where_it_goes_on(open_window):
    """At the first invalid field, with all that was typed; then at the warning, before its button."""
    a_contact(first_name="Mia", last_name="Nguyen", scheme_number="430123456")
    page = open_window()
    page.goto("/admin/people/contact/add/")
    page.wait_for_load_state("load")
    assert page.evaluate("document.activeElement.name") == "first_name"
    page.fill("[name=first_name]", "Mia")
    page.fill("[name=last_name]", "Nguyen")
    page.fill("[name=scheme_number]", "430123456")
    page.fill("[name=primary_email]", "mia-at-home")
    save(page)
    assert page.evaluate("document.activeElement.name") == "primary_email"
    assert page.input_value("[name=primary_email]") == "mia-at-home"
    page.fill("[name=primary_email]", "mia@example.org")
    save(page)
    assert page.evaluate("document.activeElement.id") == "warnings"
    with page.expect_navigation():
        page.keyboard.press("Tab")  # the link to the other record
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
    assert Contact.objects.filter(scheme_number="430123456").count() == 2
    assert page.errors == []


#: Of a form that was not saved: sentences that no field names, and which of its wrong fields has the cursor.
#: A field is heard as wrong where the element that takes the cursor says so and names its sentence.
HEARD = """() => {
    const isTaken = (field) => field.tabIndex >= 0 && field.getClientRects().length > 0;
    const wrong = [...document.querySelectorAll("main [aria-invalid=true]")].filter(isTaken);
    const sentences = [...document.querySelectorAll("main [id$=_error]")].map((each) => each.id);
    const named = wrong.map((field) => field.getAttribute("aria-describedby") || "").join(" ").split(" ");
    return {
        unheard: sentences.filter((id) => !named.includes(id)),
        count: sentences.length,
        place: wrong.indexOf(document.activeElement),
    };
}"""


def test_what_is_wrong_with_a_field_is_heard_at_it_and_the_first_has_the_cursor(open_window):
    page, found, counted = open_window(), [], 0
    for model, admin_class in admin.site._registry.items():
        if not isinstance(admin_class, RecordAdmin) or getattr(model, "is_lookup", False):
            continue  # the forms of short lists are one form
        address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/add/"
        if page.goto(address).status != 200 or not page.locator("#submit-row").count():
            continue
        page.evaluate("for (const form of document.forms) form.noValidate = true")
        page.wait_for_load_state("load")
        button = page.locator("#submit-row [type=submit]").first
        with page.expect_navigation():
            button.evaluate("button => button.click()")
        page.wait_for_timeout(100)  # the forms of bills move the cursor later
        heard = page.evaluate(HEARD)
        counted += heard["count"]
        if heard["unheard"] or (heard["count"] and heard["place"] != 0):
            found.append((address, heard))
    assert not found, "\n".join(map(str, found))
    assert counted > 20


def test_the_parts_of_a_form_are_opened_by_keyboard_and_say_which_one_is_open(open_window):
    page = open_window()
    page.goto("/admin/people/contact/add/")
    parts = page.get_by_role("navigation", name="Parts of the form")
    page.get_by_role("textbox", name="Last name").focus()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText.trim()") == "Address":
            break
    page.keyboard.press("Enter")
    assert parts.get_by_role("button", pressed=True).inner_text().strip() == "Address"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.locator("[name=street_address]").is_visible()


def test_going_back_to_a_form_that_was_not_saved_or_loading_it_again_loses_nothing(open_window):
    """Pages are not stored by the browser, so it asks for the empty form again."""
    a_contact(first_name="Mia", last_name="Nguyen", scheme_number="430123456")
    page = open_window()
    page.goto("/admin/people/contact/")
    page.goto("/admin/people/contact/add/")
    for email, title in (("mia-at-home", "Not saved."), ("mia@example.org", "Not saved: 1 warning")):
        page.fill("[name=first_name]", "Mia")
        page.fill("[name=last_name]", "Nguyen")
        page.fill("[name=scheme_number]", "430123456")
        page.fill("[name=primary_email]", email)
        save(page)
        assert page.is_visible(f"text={title}")
        for way in ("reload", "back", "forward"):
            page.evaluate("way => way === 'reload' ? location.reload() : history[way]()", way)
            page.wait_for_selector(
                "text=You went back to this form. Your entries are back, and not saved yet."
            )
            assert page.input_value("[name=primary_email]") == email
    while not page.url.endswith("/people/contact/"):
        page.go_back()
    page.goto("/admin/people/contact/add/")
    assert page.input_value("[name=last_name]") == ""
    assert Contact.objects.count() == 1
    assert page.errors == []


def test_a_form_that_was_not_saved_asks_before_it_is_left(open_window):
    page = open_window()
    page.goto(ADD)
    page.fill("[name=business_phone]", "02 9000 0000")
    save(page)
    assert page.is_visible("text=Not saved")
    page.click("#nav-sidebar >> text=Home")
    page.wait_for_url("**/admin/")
    assert page.dialogs == ["beforeunload"]


def test_a_form_asks_before_it_is_left_whatever_changed_it(open_window):
    """Not only what was typed counts: a choice by the mouse, pasted cells, a line that was taken out."""
    create_support_categories()
    a_client(business_name="Harbour Lights")
    plan = a_plan(total_budget_amount=10_000, is_plan_managed=True)
    page = open_window()

    def leave():
        page.click("#nav-sidebar >> text=Home")
        page.wait_for_url("**/admin/")
        asked, page.dialogs[:] = list(page.dialogs), []
        return asked

    page.goto("/admin/funding/claim/add/")
    page.click("[name=lines-0-notes]")  # clicks alone change nothing
    page.click("[name=start_date]")
    assert leave() == []
    page.goto("/admin/funding/claim/add/")
    page.click(".field-provider .select2-selection")
    page.click(".select2-results__option >> text=Harbour Lights")
    assert leave() == ["beforeunload"]
    page.goto("/admin/funding/claim/add/")
    page.click("[name=lines-0-product]")
    page.evaluate(PASTE, "01_011_0107_1_1\t1/7/25\t1/7/25\t2\t70\n")
    assert leave() == ["beforeunload"]
    page.goto(f"/admin/engagements/clientengagement/{plan.pk}/plan/")
    page.click("[name=category3-budget]")
    page.evaluate(PASTE, "1000\n2000\n")
    assert leave() == ["beforeunload"]
    assert page.errors == []


def test_what_is_chosen_for_all_files_leaves_the_file_that_has_its_own(open_window):
    own, common = (str(a_category(name=name).pk) for name in ("Plans", "Invoices"))
    page = open_window()
    page.goto("/admin/documents/document/add/")
    files = [{"name": f"{name}.pdf", "mimeType": "", "buffer": PDF} for name in ("a", "b")]
    page.set_input_files("#upload-files", files)
    chosen = page.locator("#upload-rows [name=DocumentCategoryGuidList]")
    chosen.nth(0).select_option(own)
    page.select_option("#id_category", common)
    assert [each.input_value() for each in chosen.all()] == [own, common]
    assert page.errors == []


#: The element that has the cursor: its name and its text.
AT = "[document.activeElement.name, document.activeElement.innerText.trim()]"


def test_ctrl_enter_saves_a_form_and_leads_from_what_is_ticked_to_its_buttons(open_window):
    page = open_window()
    page.goto(ADD)
    page.fill("[name=business_name]", "Acme")
    page.focus("[name=business_phone]")
    with page.expect_navigation():
        page.keyboard.press("Control+Enter")
    assert Client.objects.get().business_name == "Acme"
    for _ in range(20):
        a_claim(1)
    page.goto("/admin/funding/claim/")
    page.focus("tr:nth-child(9) [name=_selected_action]")
    page.keyboard.press("Control+Enter")  # nothing is ticked: there is nothing to do with it
    assert page.evaluate(AT) == ["_selected_action", ""]
    page.keyboard.press("Space")
    page.keyboard.press("Control+Enter")
    assert page.evaluate(AT) == ["index", "Approve…"]
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.focus("main a")
    page.keyboard.press("Control+Enter")
    assert page.evaluate(AT) == ["_do", "Approve"]
    assert page.errors == []
