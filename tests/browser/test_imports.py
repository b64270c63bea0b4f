"""An import in the browser: upload, columns, preview, import, rejected rows, undo; and a large export."""

import datetime as dt
import io

import pytest
from django.core.management import call_command
from openpyxl import load_workbook

from apps.core.admin_base import exports
from apps.funding.models import Price
from apps.people.demo import load_roles
from apps.people.models import Contact
from tests.browser.journeys import Journey
from tests.funding.guide_files import BY_ZONE, WALK, as_csv, last_year, this_year
from tests.people.import_files import GOOD, HEADER
from tests.people.records import a_client, a_staff_member
from tests.tasks import run_tasks

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FAULTY = "Al,Orr,al-at-home,431000009,02/03/1990,0400,1 Low Road,Hobart,TAS,7000,Australia"
#: The service does not know this column's name.
RENAMED = HEADER.replace("Surname", "Nachname")
#: The page asks how far the work is at our word, not after some time: SQLite in memory has one lock for the
#: thread that answers and for ours, which writes.
ASK_WHEN_TOLD = """
    const later = setTimeout;
    setTimeout = (call, ms) => { if (ms < 500) return later(call, ms); window.ask = call; };
"""


@pytest.fixture
def page(request, window_of):
    """The page of a plan manager, or of the role that a test names."""
    page = window_of(user=a_staff_member(role=load_roles()[getattr(request, "param", "Plan manager")]))
    page.add_init_script(ASK_WHEN_TOLD)
    return page


def work(page):
    """Do the background tasks: the progress bar of the page is there before, and not after them."""
    page.wait_for_function("window.ask")
    page.evaluate("[ask(), window.ask = null][0]")  # it plans to ask again after the answer
    page.wait_for_selector("[data-progress]")
    run_tasks()
    page.evaluate("void ask()")
    page.wait_for_selector("[data-progress]", state="detached")


def test_a_spreadsheet_with_a_fault_is_imported_and_undone(page, tmp_path):
    file = {"name": "people.csv", "mimeType": "text/csv"}
    content = "\n".join([RENAMED, *GOOD, FAULTY]).encode()
    page.goto("/admin/people/contact/")
    with Journey(page, "Import a spreadsheet", "Plan manager") as journey:
        journey.click("summary >> text=Import")
        journey.submit(".rs-menu-links >> text=Import")
        journey.clicks += 1  # choosing the file in the window of the operating system
        page.set_input_files("[name=file]", {**file, "buffer": content})
        journey.submit("button >> text=Read the file")
        work(page)
        assert page.inner_text(".rs-import-left-out").startswith("Not imported: Nachname.")
        journey.clicks += 1
        page.select_option("[name=column_1]", label="Last name")
        journey.submit("button >> text=Check again")
        work(page)
        assert "3 new" in page.inner_text(".rs-import-counts")
        assert "email" in page.inner_text("td .rs-import-fault, td.rs-import-fault").lower()
        assert not Contact.objects.exists()
        journey.submit("button >> text=Import 3 good records")
        work(page)
    assert set(Contact.objects.values_list("last_name", flat=True)) == {"Quill", "Fox", "Tan"}
    with page.expect_download() as download:
        page.click("text=Rejected rows with their reasons")
    download.value.save_as(tmp_path / "rejected.xlsx")
    header, row = load_workbook(tmp_path / "rejected.xlsx").active.iter_rows(values_only=True)
    assert (row[0], header[-1]) == ("Al", "Reason")
    page.go_back()  # to the form that was sent: it shows what has become of it
    page.wait_for_selector("button >> text=Undo this import")
    page.dblclick("button >> text=Undo this import")
    work(page)
    assert page.inner_text(".rs-import strong") == "Undone"
    assert not Contact.objects.exists()
    assert (page.errors, page.elsewhere) == ([], [])


def test_the_order_of_days_is_chosen_where_the_file_does_not_show_it(page):
    content = b"First name,Surname,DOB\nIda,Quill,03/04/1990\nNed,Fox,05/06/1985\n"
    page.goto("/admin/core/fileimport/add/?kind=contact")
    page.set_input_files("[name=file]", {"name": "people.csv", "mimeType": "text/csv", "buffer": content})
    page.click("button >> text=Read the file")
    work(page)
    assert "It is read with the day first, as 3 April 1990" in page.inner_text(
        "td.rs-import-warning >> nth=0"
    )
    page.get_by_label("Days").select_option(label="month first: 12/31/2026")
    page.click("button >> text=Check again")
    work(page)
    assert page.query_selector("td.rs-import-warning") is None
    page.click("button >> text=Import 2 good records")
    work(page)
    born = Contact.objects.order_by("first_name").values_list("birthday", flat=True)
    assert list(born) == [dt.date(1990, 3, 4), dt.date(1985, 5, 6)]
    assert (page.errors, page.elsewhere) == ([], [])


@pytest.mark.parametrize("page", ["Accounts officer"], indirect=True)
def test_the_price_guide_of_the_next_year_ends_the_prices_of_the_last(page, tmp_path):
    call_command("import_price_guide", str(as_csv(tmp_path / "last.csv", last_year())), stdout=io.StringIO())
    path = as_csv(tmp_path / "this.csv", this_year(), header=BY_ZONE)
    page.goto("/admin/funding/pricebook/")
    with Journey(page, "The price guide of a new year", "Accounts officer") as journey:
        journey.click("summary >> text=Import")
        journey.submit(".rs-menu-links >> text=Price guide")
        journey.clicks += 1  # choosing the file in the window of the operating system
        page.set_input_files("[name=file]", path)
        journey.submit("button >> text=Read the file")
        work(page)
        journey.wait_for("text=1 current item not in this guide, left as they are")
        journey.click("[name=end_missing]")
        journey.submit("button >> text=Check again")
        work(page)
        assert "3 new" in page.inner_text(".rs-import-counts")
        journey.wait_for("text=1 current item not in this guide, ended")
        journey.submit("button >> text=Import 3 good records")
        work(page)
        journey.wait_for("text=3 ranges ended")
    walk = Price.objects.filter(entry__product__code=WALK, zone="National").order_by("start_date")
    assert [price.end_date for price in walk] == [dt.date(2026, 6, 30), None]


def test_a_large_export_is_ready_when_the_bar_is_full(page, monkeypatch, tmp_path):
    monkeypatch.setattr(exports, "SMALL_EXPORT", 1)
    a_client(business_name="Harbour Lights"), a_client(business_name="Harbour Support")
    page.goto("/admin/people/client/?q=harbour")
    page.click("summary >> text=Export")
    page.click("text=Export CSV")
    work(page)
    with page.expect_download() as download:
        page.click("text=Download Client.csv")
    download.value.save_as(tmp_path / "clients.csv")
    assert (tmp_path / "clients.csv").read_text().count("Harbour") == 2
    page.goto("/admin/core/notice/")
    assert page.is_visible("text=Your export is ready: Client.csv, 2 records")
    assert (page.errors, page.elsewhere) == ([], [])
