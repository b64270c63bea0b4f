"""The command import_price_guide: new, changed, ended, unchanged; a second run changes nothing."""

import datetime as dt
import io
import zipfile
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from apps.core.models import Change
from apps.funding.models import Price, PriceBook, PriceBookEntry, Product
from apps.funding.services import price_guide
from apps.funding.services.price_guide import Range, merge_ranges
from tests.funding.builders import a_price, a_price_book, a_product, an_entry
from tests.funding.guide_files import (
    BY_ZONE,
    PLANNING,
    STATES,
    SWIM,
    WALK,
    a_row,
    as_csv,
    as_workbook,
    last_year,
    this_year,
)

pytestmark = pytest.mark.django_db

NEW = "01_704_0107_1_1"
JULY, NEXT_JULY = dt.date(2025, 7, 1), dt.date(2026, 7, 1)
DAY = dt.timedelta(days=1)


@pytest.fixture
def run(tmp_path):
    """run(rows, "--dry-run", …): what the command said."""

    def command(rows, *words, header=None, path=None):
        layout = {} if header is None else {"header": header}
        path = path or as_csv(tmp_path / "guide.csv", rows, **layout)
        said = io.StringIO()
        call_command("import_price_guide", str(path), *words, stdout=said, stderr=said)
        return said.getvalue()

    return command


@pytest.fixture
def run_last_year(run):
    return lambda *words: run(last_year(), *words)


@pytest.fixture
def run_this_year(run):
    return lambda *words: run(this_year(), *words, header=BY_ZONE)


def ranges(code, zone="National"):
    held = Price.objects.filter(entry__product__code=code, zone=zone).order_by("start_date")
    return list(held.values_list("start_date", "end_date", "amount"))


def everything():
    models = (PriceBook, Product, PriceBookEntry, Price)
    return [list(model.objects.order_by("pk").values()) for model in models]


def test_a_guide_makes_its_price_book_items_and_prices(run_last_year):
    said = run_last_year()
    assert said == (
        "Price guide: 4 rows of 3 items, 1 with more than one range.\n"
        "4 new, 0 changed, 0 unchanged; 0 ranges ended.\n"
    )
    assert ranges(WALK) == [(JULY, None, Decimal("1616.26"))]
    assert ranges(WALK, "Very Remote") == [(JULY, None, Decimal("2424.39"))]
    assert [amount for _, _, amount in ranges(SWIM, "Remote")] == [Decimal(84), Decimal(70)]
    assert ranges(PLANNING) == [(JULY, None, None)]
    walk = Product.objects.get(code=WALK)
    assert (walk.name, walk.long_description) == ("Item 01_701", "Item 01_701")
    assert (walk.support_purpose, walk.non_face_to_face, walk.type) == ("Core", "Y", "Priced")
    assert Product.objects.get(code=PLANNING).support_purpose == "Capacity Building"


def test_a_second_run_changes_nothing(run_last_year):
    run_last_year()
    before, lines = everything(), Change.objects.count()
    assert "0 new, 0 changed, 4 unchanged; 0 ranges ended." in run_last_year()
    assert everything() == before
    assert Change.objects.count() == lines


def test_the_next_year_ends_the_ranges_of_the_items_it_has(run_last_year, run_this_year):
    run_last_year()
    said = run_this_year()
    assert "3 new, 0 changed, 0 unchanged; 2 ranges ended." in said
    assert ranges(WALK) == [
        (JULY, NEXT_JULY - DAY, Decimal("1616.26")),
        (NEXT_JULY, None, Decimal("1700.50")),
    ]
    assert ranges(PLANNING, "Remote") == [(JULY, NEXT_JULY - DAY, None), (NEXT_JULY, None, None)]
    assert "1 current item not in this guide, left as they are; --end-missing ends them: " + SWIM in said
    assert ranges(SWIM)[-1][1] is None


def test_items_that_are_missing_end_only_when_requested(run_last_year, run_this_year):
    run_last_year()
    said = run_this_year("--end-missing")
    assert "3 new, 0 changed, 0 unchanged; 3 ranges ended." in said
    assert "1 current item not in this guide, ended: " + SWIM in said
    assert [end for _, end, _ in ranges(SWIM)] == [dt.date(2025, 11, 23), NEXT_JULY - DAY]
    assert "0 ranges ended" in run_this_year("--end-missing")


def test_a_missing_item_whose_price_begins_with_the_guide_is_reported_and_left(run_last_year, run):
    run_last_year()
    said = run([row for row in last_year() if row["Support Item Number"] != WALK], "--end-missing")
    assert f"Not ended, for their prices begin with this guide or later: {WALK}." in said
    assert ", ended: " not in said
    assert ranges(WALK)[0][1] is None


def test_a_corrected_guide_says_which_prices_of_later_days_stay(run_last_year, run):
    """The one before had the change on another day: who reads the new one expects its price until further."""
    run_last_year()
    rows = [row for row in last_year() if row["Support Item Number"] == WALK]
    (row,) = rows
    moved = [
        {**row, "End Date": "20250831"},
        {**row, "Start date": "20250901", **dict.fromkeys((*STATES, "National"), "1700.00")},
    ]
    assert "begin later stay" not in run(moved)
    corrected = [
        {**row, "End Date": "20250731"},
        {**row, "Start date": "20250801", **dict.fromkeys((*STATES, "National"), "1650.00")},
    ]
    said = run(corrected)
    assert f"Prices that begin later stay, and end this guide's ranges: {WALK}. Where the guide" in said
    assert [(str(start), amount) for start, _, amount in ranges(WALK)] == [
        ("2025-07-01", Decimal("1616.26")),
        ("2025-08-01", Decimal("1650.00")),
        ("2025-09-01", Decimal("1700.00")),
    ]


def test_last_year_s_guide_imported_again_opens_nothing_anew(run_last_year, run_this_year):
    run_last_year()
    run_this_year()
    before = everything()
    said = run_last_year("--end-missing")
    assert "0 new, 0 changed, 4 unchanged; 0 ranges ended." in said
    assert NEW not in said
    assert everything() == before


def test_guides_come_in_any_order(run_last_year, run_this_year):
    run_this_year()
    assert "4 new" in run_last_year()
    assert ranges(WALK) == [
        (JULY, NEXT_JULY - DAY, Decimal("1616.26")),
        (NEXT_JULY, None, Decimal("1700.50")),
    ]
    assert Product.objects.get(code=PLANNING).unit == "E"


def test_an_older_guide_describes_no_item_that_a_younger_one_has_described(run, run_this_year):
    run_this_year()
    run([a_row(**{"Support Item Name": "Old name"})])
    assert Product.objects.get(code=WALK).name == "Item 01_701"


def test_what_changed_is_changed_and_shown_in_the_history(run, run_last_year):
    run_last_year()
    rows = last_year()
    rows[0] |= {"Support Item Name": "Walk", "Remote": "$2,000.00"}
    assert "0 new, 1 changed, 3 unchanged" in run(rows)
    product = Product.objects.get(code=WALK)
    assert (product.name, product.long_description) == ("Walk", "Walk")
    price = Price.objects.get(entry__product=product, zone="Remote")
    line = Change.objects.get(record_key=str(price.pk), kind="Changed")
    assert line.differences == {"amount": ["2262.7600", "2000.0000"]}
    assert line.channel == "Import"
    told = Change.objects.get(record_key=str(product.pk), kind="Changed").differences
    assert told["name"] == ["Item 01_701", "Walk"]


def test_an_item_has_the_name_of_its_latest_range(run):
    rows = last_year()
    rows[2]["Support Item Name"] = "Swim"
    run(rows)
    assert Product.objects.get(code=SWIM).name == "Swim"


def test_an_item_with_another_name_and_the_same_prices_is_changed(run, run_last_year):
    run_last_year()
    rows = last_year()
    rows[0]["Support Item Name"] = "Walk"
    assert "0 new, 1 changed, 3 unchanged" in run(rows)


def test_a_long_description_of_the_subscriber_s_own_stays(run, run_last_year):
    run_last_year()
    Product.objects.filter(code=WALK).update(long_description="Ours")
    rows = last_year()
    rows[0]["Support Item Name"] = "Walk"
    run(rows)
    assert Product.objects.get(code=WALK).long_description == "Ours"


def test_everything_stored_has_its_line_in_the_history(run_last_year):
    run_last_year()
    for model, count in ((PriceBook, 1), (Product, 3), (PriceBookEntry, 3), (Price, 12)):
        lines = Change.objects.filter(record_type=model._meta.label_lower, kind="Created", channel="Import")
        keys = {str(key) for key in model.objects.values_list("pk", flat=True)}
        assert set(lines.values_list("record_key", flat=True)) == keys
        assert len(keys) == count


def test_a_dry_run_reports_the_same_and_stores_nothing(run_last_year):
    said = run_last_year("--dry-run")
    assert "4 new, 0 changed, 0 unchanged" in said
    assert said.endswith("Nothing was stored: this was a trial.\n")
    assert everything() == [[], [], [], []]
    assert not Change.objects.exists()


def test_with_a_fault_anywhere_nothing_is_stored(run, capsys):
    rows = [*last_year(), a_row(NEW, remote="cheap")]
    with pytest.raises(CommandError, match=r"Nothing was stored: 1 fault\.") as refused:
        run(rows)
    assert refused.value.returncode == 1
    assert everything() == [[], [], [], []]


def test_when_the_last_statement_fails_nothing_is_stored(run_last_year, monkeypatch):
    def lost(*_):
        raise IntegrityError("another was first")

    monkeypatch.setattr(price_guide.history, "write_entries", lost)
    with pytest.raises(CommandError, match="somebody else wrote the same items meanwhile"):
        run_last_year()
    assert everything() == [[], [], [], []]


def test_each_price_book_has_prices_of_its_own_for_the_same_products(run_last_year, run):
    run_last_year()
    run([a_row(WALK, "1", "2", "3")], "--price-book", "Ours")
    assert Product.objects.filter(code=WALK).count() == 1
    prices = Price.objects.filter(entry__product__code=WALK, zone="National")
    assert sorted(prices.values_list("entry__price_book__name", "amount")) == [
        ("Ours", Decimal(1)),
        ("Price guide", Decimal("1616.26")),
    ]


OWN = "Code,Description,Rate,From,Until,GST included"
OWN_ROWS = (f"{WALK},Our walks,62.00,1 Jul 2025,31 Dec 2025,no", f"{WALK},Our walks,63.00,1 Jan 2026,,no")
GARDEN = "GARDEN,Gardening,71.50,1 Jul 2025,,yes"


@pytest.fixture
def run_own(run, tmp_path):
    """run_own(row, …): what the command said of a list of own prices."""

    def command(*rows, header=OWN, book="Ours"):
        path = tmp_path / "own.csv"
        path.write_text("\n".join([header, *rows, ""]))
        return run((), "--price-book", book, path=path)

    return command


def test_a_list_of_own_prices_has_one_price_and_describes_no_item_of_the_scheme(run_last_year, run_own):
    run_last_year()
    said = run_own(*OWN_ROWS, GARDEN)
    assert "3 new, 0 changed, 0 unchanged; 0 ranges ended." in said
    ours = Price.objects.filter(entry__price_book__name="Ours").order_by("entry__product__code", "start_date")
    columns = ("entry__product__code", "zone", "start_date", "end_date", "amount", "entry__gst_inclusive")
    new_year = dt.date(2026, 1, 1)
    assert list(ours.values_list(*columns)) == [
        (WALK, "National", JULY, new_year - DAY, Decimal(62), False),
        (WALK, "National", new_year, None, Decimal(63), False),
        ("GARDEN", "National", JULY, None, Decimal("71.5"), True),
    ]
    assert Product.objects.get(code=WALK).name == "Item 01_701"
    assert Product.objects.get(code="GARDEN").name == "Gardening"
    before, lines = everything(), Change.objects.count()
    assert "0 new, 0 changed, 3 unchanged" in run_own(*OWN_ROWS, GARDEN)
    assert (everything(), Change.objects.count()) == (before, lines)
    assert "0 new, 1 changed, 2 unchanged" in run_own(*OWN_ROWS, GARDEN.replace("yes", "no"))
    assert not PriceBookEntry.objects.get(product__code="GARDEN").gst_inclusive


def test_the_export_of_a_price_book_is_imported_and_changes_nothing(run, run_own, run_last_year, tmp_path):
    run_last_year()
    run_own(*OWN_ROWS, GARDEN)
    walk = PriceBookEntry.objects.get(product__code=WALK, price_book__name="Ours")
    a_price(walk, "80.00", JULY, dt.date(2026, 3, 31), "Remote")
    an_entry(PriceBook.objects.get(name="Ours"), a_product(code="NONE"))
    path = tmp_path / "exported.csv"
    book = f"PriceBookGuid eq {walk.price_book_id}"
    call_command("export_records", "priceBookEntry", str(path), "--filter", book, stdout=io.StringIO())
    before, lines = everything(), Change.objects.count()
    said = run((), "--price-book", "Ours", path=path)
    assert "the row has no price and is left out." in said
    assert "0 new, 0 changed, 3 unchanged; 0 ranges ended." in said
    assert (everything(), Change.objects.count()) == (before, lines)
    run((), "--price-book", "Copy", path=path)
    copied = Price.objects.filter(entry__price_book__name="Copy", entry__product__code=WALK)
    assert sorted(copied.values_list("zone", "amount")) == [
        ("National", Decimal(62)),
        ("National", Decimal(63)),
        ("Remote", Decimal(80)),
    ]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ((*OWN_ROWS, f"{WALK},Our walks,1.00,1 Feb 2026,,"), "has a price from 2026-01-01 until further"),
        ((f"{WALK},Our walks,62.00,,,",), "row 2, D2 (From): must not be empty."),
    ],
)
def test_a_list_of_own_prices_with_a_fault_is_refused(run_own, rows, sentence):
    with pytest.raises(CommandError):
        run_own(*rows)
    assert everything() == [[], [], [], []]


def test_a_list_without_remote_prices_is_no_price_guide(run_own):
    with pytest.raises(CommandError, match="A list of own prices goes into a price book of another name"):
        run_own(*OWN_ROWS, book="Price guide")
    with pytest.raises(CommandError, match="This is no price list: it has no column Price, Start Date"):
        run_own("A,B", header="Code,Name")


def test_a_price_book_is_found_whatever_the_case_of_its_name(run_last_year):
    a_price_book(name="PRICE GUIDE")
    assert run_last_year().startswith("PRICE GUIDE: ")
    assert PriceBook.objects.count() == 1


def test_an_archived_price_book_takes_no_guide(run_last_year, at):
    at("2026-07-01 12:00")
    a_price_book(name="Price guide", archive_date=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    with pytest.raises(CommandError, match="is archived; restore it, or name another") as refused:
        run_last_year()
    assert refused.value.returncode == 2


def test_an_archived_item_stays_so_and_is_reported(run_last_year):
    a_product(code=WALK, archive_date=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    assert f"Archived, and not restored: {WALK}." in run_last_year()
    assert Product.objects.get(code=WALK).is_archived


def test_prices_by_hand_between_two_guides_stay(run_last_year, run_this_year):
    book = a_price_book(name="Price guide")
    entry = an_entry(book, a_product(code=WALK))
    a_price(entry, "5", dt.date(2026, 1, 1))
    run_last_year()
    run_this_year()
    assert ranges(WALK) == [
        (JULY, dt.date(2025, 12, 31), Decimal("1616.26")),
        (dt.date(2026, 1, 1), NEXT_JULY - DAY, Decimal(5)),
        (NEXT_JULY, None, Decimal("1700.50")),
    ]


def test_a_workbook_of_the_same_columns_imports_the_same(run, run_this_year, tmp_path):
    run_this_year()
    path = as_workbook(tmp_path / "guide.xlsx", this_year())
    assert "0 new, 0 changed, 3 unchanged" in run(None, path=path)


def test_a_workbook_that_unpacks_into_too_much_is_not_read(run, tmp_path):
    path = as_workbook(tmp_path / "guide.xlsx", this_year())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/theme/theme9.xml", b"0" * 65 * 1024 * 1024)
    with pytest.raises(CommandError, match="unpacks into too much") as refused:
        run(None, path=path)
    assert refused.value.returncode == 2


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("guide.json", "read from CSV and XLSX files"),
        ("guide.pdf", "is none of"),
        ("gone.csv", "There is no file"),
    ],
)
def test_other_files_are_not_used(run, tmp_path, name, sentence):
    path = tmp_path / name
    if name != "gone.csv":
        path.write_text("[]")
    with pytest.raises(CommandError, match=sentence) as refused:
        run(None, path=path)
    assert refused.value.returncode == 2


def test_a_guide_of_many_items_takes_as_many_statements(run, django_assert_max_num_queries):
    rows = [a_row(f"01_{number:03}_0107_1_1") for number in range(300)]
    with django_assert_max_num_queries(30):
        run(rows)
    assert Price.objects.count() == 900
    with django_assert_max_num_queries(20):
        run(rows)


# --- ranges, before and after ---------------------------------------------------------------------------


def test_every_range_ends_before_the_next_begins():
    current = {JULY: Range(None, Decimal(1)), NEXT_JULY: Range(None, Decimal(2))}
    given = {dt.date(2026, 1, 1): Range(dt.date(2026, 3, 31), Decimal(3))}
    assert merge_ranges(current, given) == {
        JULY: Range(dt.date(2025, 12, 31), Decimal(1)),
        dt.date(2026, 1, 1): Range(dt.date(2026, 3, 31), Decimal(3)),
        NEXT_JULY: Range(None, Decimal(2)),
    }


def test_a_guide_takes_the_place_of_what_began_on_the_same_day():
    end = dt.date(2026, 3, 31)
    assert merge_ranges({JULY: Range(None, Decimal(1))}, {JULY: Range(end, None)}) == {JULY: Range(end, None)}
