"""The back office as somebody at a browser meets it."""

import re

import pytest
from django.db.models import CharField

from apps.core import history
from apps.people.models import Client, Contact
from tests.funding.builders import a_claim
from tests.people.records import a_client, a_contact, a_staff_member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TEXTS = [
    field.name
    for field in Contact._meta.concrete_fields
    if isinstance(field, CharField) and field.editable and not field.choices
]


def save(page):
    with page.expect_navigation():
        page.click("#submit-row [name=_save]")


def test_a_client_is_added_once_its_error_is_corrected(open_window):
    a_client(business_name="Acme")
    page = open_window()
    page.goto("/admin/")
    page.click("#nav-sidebar >> text=Organisations and providers")
    page.click("[href$='/admin/people/client/add/']")
    page.fill("[name=business_name]", "ACME")
    page.fill("[name=business_phone]", "02 9000 0000")
    save(page)
    assert page.is_visible("text=Another client has it already.")
    assert page.input_value("[name=business_phone]") == "02 9000 0000"  # what was typed is not lost
    page.fill("[name=business_name]", "Acme Brisbane")
    save(page)
    assert page.is_visible("#result_list >> text=Acme Brisbane")
    assert Client.objects.count() == 2
    assert (page.errors, page.elsewhere) == ([], [])


def test_a_contact_is_archived_and_restored_and_the_history_names_the_person(open_window):
    a_contact(first_name="Mia", last_name="Nguyen")
    page = open_window()
    page.goto("/admin/people/contact/")
    page.click("#result_list >> text=Mia Nguyen")
    page.click("summary >> text=More")
    page.get_by_role("link", name="Archive", exact=True).click()
    page.click("button >> text=Archive")
    page.wait_for_selector("text=1 contact archived.")
    page.goto("/admin/people/contact/")
    assert not page.is_visible("text=Mia Nguyen")
    page.goto("/admin/people/contact/?archived=yes")
    page.click("#result_list >> text=Mia Nguyen")
    page.get_by_role("link", name="Restore", exact=True).click()
    page.click("button >> text=Restore")
    page.wait_for_selector("text=1 contact restored.")
    page.click("a[href$='/history/']")
    page.wait_for_selector(".rs-history")
    heads = [re.sub(r"\s+", " ", text) for text in page.locator(".rs-line-head").all_inner_texts()]
    assert [head.split()[0].lower() for head in heads[:2]] == ["restored", "archived"]
    assert all("Ada Byron" in head for head in heads[:2])
    assert not Contact.objects.get().is_archived
    assert page.errors == []


def test_a_reference_is_looked_up_by_typing(open_window):
    a_staff_member(first_name="Cora", last_name="Smith")
    record = a_contact(first_name="Mia", last_name="Nguyen")
    page = open_window()
    page.goto(f"/admin/people/contact/{record.pk}/change/")
    page.click(".field-account_manager .select2-selection, [aria-labelledby*=account_manager]")
    page.keyboard.type("cora sm")
    page.click(".select2-results__option >> text=Cora Smith")
    save(page)
    record.refresh_from_db()
    assert str(record.account_manager) == "Cora Smith"


def test_markup_in_any_text_is_shown_as_text(open_window):
    def payload(number):
        return f"\"'><img src=x onerror=alert({number})>{{{{7*7}}}}"

    fields = {name: payload(number) for number, name in enumerate(TEXTS)}
    lengths = {field.name: field.max_length for field in Contact._meta.concrete_fields}
    record = a_contact(**{name: text[: lengths[name]] for name, text in fields.items()})
    other = a_contact(first_name="Leo", last_name="Silva", representative=record)
    other.account_manager = a_staff_member(first_name=payload(90), last_name=payload(91))
    other.save()
    record.hobbies_interests = payload(99)
    record.save()
    page = open_window()
    for address in (
        "/admin/people/contact/",
        f"/admin/people/contact/{record.pk}/change/",
        f"/admin/people/contact/{record.pk}/history/",
        f"/admin/people/contact/{record.pk}/archiving/",
        f"/admin/people/contact/{other.pk}/change/",
        "/admin/people/staff/",
        "/admin/core/change/",
        "/admin/",
        "/admin/people/contact/?q=" + "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
    ):
        page.goto(address)
        assert page.locator("img[src=x]").count() == 0
    page.goto(f"/admin/people/contact/{record.pk}/change/")
    page.click("[aria-labelledby*=representative]")
    page.keyboard.type("img")
    page.wait_for_selector(".select2-results__option")
    page.wait_for_timeout(500)
    assert page.dialogs == []
    assert page.input_value("[name=first_name]") == fields["first_name"]


def test_a_telephone_shows_a_contact_in_two_lines_and_all_that_can_be_done(open_window):
    names = {"first_name": "Wilhelmina-Antoinette", "last_name": "Featherstonehaugh-Cholmondeley"}
    a_claim(contact=a_contact(**names, scheme_number="430000001"))
    page = open_window(width=390)
    page.goto("/admin/funding/claim/")
    number = page.locator("#result_list >> text=430000001").bounding_box()
    assert number["x"] + number["width"] < 390 - 16  # not cut, as the name beside it is
    page.goto("/admin/people/contact/")
    assert page.locator("#result_list tbody tr").bounding_box()["height"] < 75  # two lines
    page.click("#result_list tbody a")
    page.click("header >> text=more_horiz")
    page.click("summary >> text=More")
    page.get_by_role("link", name="Archive", exact=True).click()
    page.wait_for_selector("button >> text=Archive")
    assert (page.errors, page.elsewhere) == ([], [])


def test_a_list_is_filtered_by_a_person_who_is_looked_up_and_a_day_of_the_calendar(open_window, ada):
    with history.as_author(history.Author("Back office", staff_id=ada.pk)):
        record = a_contact(first_name="Mia", last_name="Nguyen")
    page = open_window()
    page.goto("/admin/core/change/")
    page.click("text=Filters")
    page.click(".datetimeshortcuts a >> nth=-1")
    page.click(".calendarbox td:not(.nonday) a >> text=/^13$/ >> visible=true")
    day = page.input_value("[name=at_to]")
    assert re.fullmatch(r"13/\d\d/\d{4}", day)
    page.fill("[name=at_to]", "")
    page.click("[aria-labelledby*=staff__guid]")
    page.keyboard.type("byron")
    # By a key: between the two halves of a click the list may be drawn anew, for what was typed.
    page.wait_for_selector(".select2-results__option--highlighted >> text=Ada Byron")
    page.keyboard.press("Enter")
    page.wait_for_selector("[aria-labelledby*=staff__guid] >> text=Ada Byron")
    with page.expect_navigation():
        page.click("text=Apply Filters")
    assert page.locator("#result_list tbody tr").all_inner_texts()[0].split("\t")[1] == str(record)
    assert page.locator("#result_list tbody tr").count() == 1
    assert page.errors == []


def test_what_is_ticked_hides_no_row_and_takes_no_click_of_the_menu(open_window):
    """The bar of actions lies over the page: over its last row, and with its empty sides over the menu."""
    for number in range(30):
        a_client(business_name=f"Acme {number}")
    page = open_window()
    page.goto("/admin/people/client/")
    boxes = page.locator("input.action-select")
    boxes.first.click()
    page.mouse.move(700, 400)
    page.mouse.wheel(0, 20_000)
    boxes.last.click()
    assert page.locator("input.action-select:checked").count() == 2
    bar = page.locator("#changelist-actions").bounding_box()
    beside = page.evaluate(
        "([x, y]) => document.elementFromPoint(x, y).closest('#nav-sidebar')?.id", [100, bar["y"] + 5]
    )
    assert beside == "nav-sidebar"
    page.locator("#changelist-actions :is(select, button):visible").first.click(
        trial=True
    )  # itself it is clicked


def test_the_way_back_from_what_was_done_to_ticked_records_leads_to_the_list(open_window):
    """It led to the question before, of which the browser asked whether to send it again."""
    a_claim(funding_status="AwaitingStaffApproval")
    page = open_window()
    page.goto("/admin/funding/claim/")
    page.click("input.action-select")
    page.click("#changelist-actions button >> text=Hold")
    page.fill("[name=reason]", "Waits for a quote")
    page.click(".rs-question button >> text=Hold")
    page.wait_for_selector("#result_list >> text=On hold")
    page.go_back()
    assert page.url.endswith("/admin/funding/claim/")
    assert page.is_visible("#result_list >> text=On hold")
    assert page.errors == []


def test_the_buttons_of_the_columns_are_reached_beside_a_short_list_in_a_low_window(open_window):
    """They lay below the bar of pages, where neither a click nor the wheel came."""
    page = open_window(1024)
    page.set_viewport_size({"width": 1024, "height": 700})
    page.goto("/admin/funding/claim/")
    page.click("summary >> text=Saved filters, columns")
    page.wait_for_selector("text=Show these")
    page.mouse.move(700, 450)
    page.mouse.wheel(0, 5000)
    page.click("text=The usual ones")
    page.wait_for_selector("summary >> text=Saved filters, columns")
    assert page.locator(".rs-dropdown[open]").count() == 0


def test_days_of_filters_do_not_warn_of_the_computer_s_time_zone(open_window):
    page = open_window()
    elsewhere = page.context.new_cdp_session(page)
    elsewhere.send("Emulation.setTimezoneOverride", {"timezoneId": "Europe/Paris"})
    page.goto("/admin/funding/claim/")
    page.click("text=Filters")
    page.wait_for_selector("[name=start_date_from]")
    assert page.locator(".timezonewarning:visible").count() == 0
