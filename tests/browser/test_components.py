"""The grid of a plan's components: what a person sees while entering, and how fast it goes."""

import pytest

from apps.engagements.services import create_support_categories
from apps.people.demo import load_roles
from apps.people.models import Role
from tests.browser.test_accessibility import WITHOUT_MENU, findings
from tests.engagements.builders import a_category_budget, a_pace_plan, with_periods
from tests.engagements.test_import_components import stored
from tests.people.records import a_contact, a_staff_member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def plan():
    create_support_categories()
    mia = a_contact(first_name="Mia", last_name="Nguyen", scheme_number="430123456")
    return a_pace_plan(participant=mia, total_budget_amount=40_000)


@pytest.fixture
def page(open_window, plan):
    load_roles()
    manager = a_staff_member(role=Role.objects.get(name="Plan manager"))
    page = open_window(user=manager)
    page.goto(f"/admin/engagements/clientengagement/{plan.pk}/components/")
    return page


def cell(page, name):
    return page.locator(f"[name={name}]")


def row_text(page, row):
    return page.locator("[data-component]").nth(row).locator("[data-difference]").inner_text()


def test_sums_and_differences_are_named_while_components_are_entered(page, plan):
    with page.expect_navigation():
        page.click("text=3 months")
    cell(page, "new0-component_name").fill("Flexible core")
    cell(page, "new0-pays_for").fill("01 02 03 04")
    cell(page, "new0-budget").fill("30,000.01")
    assert [cell(page, f"new0-p{day}").input_value() for day in ("20260701", "20270401")] == [
        "7500.00",
        "7500.01",
    ]
    assert row_text(page, 0) == ""
    cell(page, "new0-p20260701").fill("8000")
    assert row_text(page, 0) == "Periods release 500.00 more"
    assert page.inner_text("[data-sum]") == "30,000.01"
    assert (
        page.inner_text("[data-total-difference]")
        == "Components have 9,999.99 less than the plan’s 40,000.00"
    )
    cell(page, "new0-budget").fill("31000")  # what somebody has written is not divided again
    assert cell(page, "new0-p20260701").input_value() == "8000"
    cell(page, "new1-pays_for").fill("15")
    cell(page, "new1-budget").fill("9000")
    page.locator("[data-component]").nth(1).locator("summary").click()
    for day in ("20260701", "20261001", "20270101", "20270401"):
        cell(page, f"new1-p{day}").fill("")
    cell(page, "new1-own_periods").fill("1/7/2026, 31/12/2026, 4,000\n1 Jan 2027   30 Jun 2027   $5,000.50")
    assert row_text(page, 1) == "Periods release 0.50 more"
    page.keyboard.press("Tab")
    with page.expect_navigation():
        cell(page, "new1-budget").press("Enter")  # saves, and chooses no other calendar
    assert page.is_visible("text=2 components saved.")
    assert [len(each[-1]) for each in stored().values()] == [4, 2]
    assert page.errors == page.dialogs == []


def test_what_was_entered_before_the_periods_were_chosen_is_not_lost_on_the_way_back(page, plan):
    """By Back the browser showed its own page about sending again; a link lost it without a question."""
    cell(page, "new0-component_name").fill("Flexible core")
    cell(page, "new0-budget").fill("30000")
    with page.expect_navigation():
        page.click("text=3 months")
    page.dialogs.clear()
    page.reload()
    page.wait_for_selector("text=You went back to this form. Your entries are back, and not saved yet.")
    assert cell(page, "new0-budget").input_value() == "30000"
    with page.expect_navigation():
        page.click("text=3 months")
    page.click("text=Plan details")
    page.wait_for_url("**/change/")
    assert page.dialogs == ["beforeunload"] * 2
    page.go_back()
    page.wait_for_selector("[data-component-grid]")
    assert page.errors == []


def test_amounts_of_a_spreadsheet_are_pasted_into_cells(page, plan):
    with page.expect_navigation():
        page.click("text=6 months")
    cell(page, "new0-budget").focus()
    paste = """text => {
        const data = new DataTransfer();
        data.setData("text", text);
        const options = { clipboardData: data, bubbles: true, cancelable: true };
        document.activeElement.dispatchEvent(new ClipboardEvent("paste", options));
    }"""
    page.evaluate(paste, "100\t60\t40\n$2,000.00\t$1,500.00\t$500.00\n")
    assert [cell(page, f"new1-{name}").input_value() for name in ("budget", "p20260701", "p20270101")] == [
        "$2,000.00",
        "$1,500.00",
        "$500.00",
    ]
    assert page.inner_text("[data-sum]") == "2,100.00"
    assert page.locator("[data-period-sum]").all_inner_texts() == ["1,560.00", "540.00"]
    assert page.errors == []


def test_a_pasted_table_is_read_and_stored(page, plan):
    page.click("text=Paste from the agency")
    page.fill(
        "#pasted",
        "Flexible core\t01 02 03 04\t1/7/2026\t31/12/2026\t$15,000.00\n"
        "Flexible core\t01 02 03 04\t1/1/2027\t30/6/2027\t$16,000.00\nSkills\t15\tsoon\t30/6/2027\t$9,000.00",
    )
    with page.expect_navigation():
        page.click("button:text('Read it')")
    assert "Row 3" in page.inner_text("#paste [role=alert]")
    page.fill("#pasted", page.input_value("#pasted").replace("soon", "1/7/2026"))
    with page.expect_navigation():
        page.click("button:text('Read it')")
    with page.expect_navigation():
        page.click("text=Store 2 components")
    assert page.is_visible("text=2 components saved.")
    assert set(stored()) == {"Flexible core", "Skills"}
    assert page.errors == page.dialogs == []


def test_the_page_and_what_was_read_are_for_everybody_to_use(page, plan):
    with_periods(a_category_budget(plan, category=15, budget=9_000), ("2026-07-01", "2026-12-31", "2000.00"))
    page.reload()
    page.click("text=Paste from the agency")
    page.fill("#pasted", "Flexible core\t01 02\t1/7/2026\t31/12/2026\t$15,000.00\nBed\tsoon")
    with page.expect_navigation():
        page.click("button:text('Read it')")
    assert findings(page, WITHOUT_MENU) == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_page_fits_its_window(page, plan, width, colours):
    core = a_category_budget(
        plan, category=1, further_categories="02 03 04", budget=24_000, component_name="Flexible core"
    )
    months = [(f"2026-{month:02}-01", f"2026-{month:02}-28", "2000.00") for month in range(7, 13)]
    with_periods(core, *months)
    a_category_budget(plan, category=15, budget=9_000)
    page.emulate_media(color_scheme=colours)
    page.set_viewport_size({"width": width, "height": 844})
    page.reload()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.errors == []
