"""The days that people write into cells, and which way round a column of them is read."""

import contextlib
import datetime as dt
import time

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from apps.base.declaration import service
from apps.base.declaration.values import WireValueError
from apps.core.importing.cells import cell_reader, cleaned_and_restored
from apps.core.importing.days import DayColumn, share_order

TODAY = dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC)


def a_column(*cells, **options):
    column = DayColumn(**options)
    for cell in cells:
        column.observe(cell)
    return column


@pytest.mark.parametrize(
    "text",
    [
        "1990-02-01", "01/02/1990", "1/2/1990", "1-2-1990", "01.02.1990", "1 2 1990", "1 Feb 1990",
        "01-Feb-1990", "1st February 1990", "1990/2/1", "01/02/1990 00:00:00", "1990-02-01 00:00:00",
        "1990-02-01T00:00", "19900201", "01/02/1990 12:00:00 AM", "1/2/1990 0:00", "1/2/1990, 12:00 a.m.",
        "February 1, 1990", "Feb 1 1990", "Feb. 1st, 1990", "Thu 1 Feb 1990", "Thursday, 1 February 1990",
        "Thu 1/02/1990", "Thursday, February 1, 1990 12:00:00 AM", "1st of February 1990", "'01/02/1990",
    ],
)  # fmt: skip
def test_a_day_is_read_however_it_is_written(text):
    birthday = service.get_service().by_path["contact"].type.properties["Birthday"]
    found = DayColumn(stated=True).read(text)
    assert (cell_reader(birthday)(found.text), found.code) == (dt.date(1990, 2, 1), "")


def test_a_time_of_day_is_read_with_its_half():
    column = DayColumn(stated=True)
    assert column.read("1/2/2026 3:05 PM").text == "2026-02-01 15:05:00"
    assert column.read("1/2/2026 12:05:30 pm").text == "2026-02-01 12:05:30"
    assert column.read("2026-02-01T09:30:00+10:00").text == "2026-02-01T09:30:00+10:00"


@pytest.mark.parametrize("text", ["a" + "T" * 100_000, "1/1/2026" + " T" * 50_000])
def test_a_long_text_that_is_no_day_takes_no_time(text):
    began = time.thread_time()
    assert DayColumn().read(text).text == text
    assert time.thread_time() - began < 2


def test_months_come_first_on_request():
    column = DayColumn(stated=False)
    assert column.read("02/01/1990").text == "1990-02-01"
    with pytest.raises(WireValueError, match="has no month 25; it is read with the month first, --day-first"):
        column.read("25/01/1990")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("31/02/1990", "must be a date that exists"),
        ("29/02/1900", "must be a date that exists"),
        ("29/02/99", "must be a date that exists"),
        ("44562", r"a spreadsheet's number for a day, 01/01/2022 \(2022-01-01\)"),
        ("44562.5", "01/01/2022"),
        ("01/02/0000", "must be a date that exists"),
        ("20261301", "must be a date that exists"),
    ],
)
def test_a_day_that_cannot_be_says_why(text, expected):
    with pytest.raises(WireValueError, match=expected) as fault:
        DayColumn(stated=True).read(text)
    assert fault.value.code == "InvalidDate"


# --- which of two numbers is the day -----------------------------------------------------------------------


def test_one_day_without_another_reading_decides_for_the_whole_column():
    assert a_column("03/04/2026", " 31/12/2026").read("03/04/2026").text == "2026-04-03"
    month_first = a_column("03/04/2026", "12/31/2026 12:00:00 AM")
    assert month_first.read("03/04/2026").text == "2026-03-04"
    assert month_first.read("03/04/2026").code == ""
    assert month_first.is_found_month_first
    assert a_column("03/04/2026", "Tue 12/31/2026").is_found_month_first


def test_a_column_of_both_orders_says_so():
    column = a_column("03/04/2026", "31/12/2026", "12/31/2026")
    assert column.read("03/04/2026").message == (
        "It is read with the day first, as 3 April 2026: days of the column show both orders; correct the"
        " file, or say --day-first."
    )
    with pytest.raises(
        WireValueError, match="has no month 31, but other days of the column have the day first"
    ):
        column.read("12/31/2026")


@pytest.mark.parametrize("default", [True, False])
@pytest.mark.parametrize("cells", [["05/06/2026"], ["05/06/2026", "31/12/2026", "12/31/2026"]])
def test_where_the_column_shows_no_order_the_setting_holds_and_each_day_is_warned_of(cells, default):
    column = a_column("03/04/2026", *cells, default=default)

    found = column.read("03/04/2026")

    assert (found.text, found.code) == ("2026-04-03" if default else "2026-03-04", "AmbiguousDay")
    order, day = ("day", "3 April 2026") if default else ("month", "4 March 2026")
    assert found.message.startswith(f"It is read with the {order} first, as {day}: ")
    assert not column.is_found_month_first


def test_a_column_that_shows_no_order_goes_by_the_others_of_the_file():
    start, end, doubtful = (
        a_column("07/01/2026"),
        a_column("06/30/2027"),
        a_column("13/01/2026", "01/13/2026"),
    )
    share_order([start, end, doubtful])
    assert (start.read("07/01/2026").text, start.read("07/01/2026").code) == ("2026-07-01", "")
    assert start.is_found_month_first
    assert doubtful.read("07/01/2026").code == "AmbiguousDay"

    start, other = a_column("07/01/2026"), a_column("30/06/2027")
    share_order([start, end, other])
    assert start.read("07/01/2026").code == "AmbiguousDay"


def test_what_can_be_read_one_way_only_is_not_warned_of():
    column = a_column("03/04/2026", "03/03/2026")
    for text in ("2026-04-03", "3 Apr 2026", "2026/04/03", "20260403", "03/03/2026", "31/03/2026"):
        assert column.read(text).code == "", text


def test_what_the_person_says_is_not_asked_again():
    for stated in (True, False):
        column = a_column("03/04/2026", "31/12/2026", stated=stated, default=not stated)
        assert column.read("03/04/2026").code == ""
        assert (column.day_first, column.is_found_month_first) == (stated, False)


def test_what_is_no_day_decides_nothing():
    for cell in (
        "32/01/2026",
        "99/12/31",
        "13.5",
        "13/02",
        "0413 02 2026",
        "12/2026",
        "13 2 2",
        "13/13/2026",
    ):
        column = a_column(cell)
        assert {column.has_day_first, column.has_month_first} == {False}, cell


# --- years of two digits -----------------------------------------------------------------------------------


@time_machine.travel(TODAY)
@pytest.mark.parametrize(
    ("text", "birthday", "code"),
    [
        ("15-Mar-40", "1940-03-15", ""),  # 2040 is to come
        ("15/03/68", "1968-03-15", ""),
        ("24/11/26", "1926-11-24", ""),
        ("15-Mar-10", "2010-03-15", "CenturyAssumed"),  # 16 years old, or 116
        ("15-Mar-05", "2005-03-15", ""),  # nobody is 121
        ("29-Feb-24", "2024-02-29", "CenturyAssumed"),
        ("29-Feb-00", "2000-02-29", ""),
    ],
)
def test_the_century_of_a_birthday_is_one_in_which_it_has_been(text, birthday, code):
    found = DayColumn(stated=True, is_past=True).read(text)
    assert (found.text, found.code) == (birthday, code)


@time_machine.travel(TODAY)
@pytest.mark.parametrize(
    ("text", "day", "code"),
    [
        ("07/07/25", "2025-07-07", ""),
        ("30-Jun-40", "2040-06-30", ""),
        ("01/02/98", "1998-02-01", "CenturyAssumed"),
        ("01/02/70", "2070-02-01", "CenturyAssumed"),
        ("29/02/00", "2000-02-29", ""),
    ],
)
def test_the_century_of_another_day_is_the_nearest(text, day, code):
    found = DayColumn(stated=True).read(text)
    assert (found.text, found.code) == (day, code)


@time_machine.travel(TODAY)
def test_an_assumed_century_names_the_other():
    found = DayColumn(stated=True, is_past=True).read("15-Mar-10")
    assert found.message == "It is taken as 15 March 2010, not 1910."


# --- any text ----------------------------------------------------------------------------------------------


@given(text=st.text(min_size=1) | st.text("0123456789.,-+/: TaApPmM\u00a0٣", min_size=1, max_size=30))
def test_any_text_is_read_or_refused(text):
    clean = cleaned_and_restored(text) or "-"
    for column in (DayColumn(True), DayColumn(False), DayColumn(is_past=True), a_column(text)):
        with contextlib.suppress(WireValueError):
            assert column.read(clean).text


@given(
    days=st.lists(st.dates(dt.date(1900, 1, 1), dt.date(2999, 12, 31)), min_size=1),
    form=st.sampled_from(["%d/%m/%Y", "%m/%d/%Y", "%d %b %Y", "%Y-%m-%d"]),
)
def test_a_column_of_one_form_is_read_as_it_was_written_or_warned_of(days, form):
    cells = [day.strftime(form).replace(f"{day.year:04}", f"{day.year}") for day in days]
    column = a_column(*cells)
    for day, cell in zip(days, cells, strict=True):
        found = column.read(cell)
        assert found.text == day.isoformat() or found.code == "AmbiguousDay"
