"""The forms in which values are taken, and those that are refused."""

import contextlib
import datetime as dt
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from apps.base.declaration import values

GUID = UUID("0190163d-8694-739b-aea5-966c26f8ad91")


def utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)


@pytest.mark.parametrize("text", [str(GUID), str(GUID).upper()])
def test_a_guid_may_have_any_case(text):
    assert values.parse_guid(text) == GUID


@pytest.mark.parametrize("text", ["", GUID.hex, f"{{{GUID}}}", f"urn:uuid:{GUID}", f"{GUID} ", f"{GUID}0"])
def test_a_guid_has_one_form(text):
    with pytest.raises(values.WireValueError, match="must be a guid"):
        values.parse_guid(text)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-07-01", dt.date(2026, 7, 1)),
        ("2026-07-01 23:59:59", dt.date(2026, 7, 1)),
        ("2026-07-01 23:59:59.999", dt.date(2026, 7, 1)),
        ("2026-06-30T20:00:00Z", dt.date(2026, 7, 1)),
        ("2026-07-01T00:30:00+12:00", dt.date(2026, 6, 30)),
        ("2024-02-29", dt.date(2024, 2, 29)),
        ("0001-01-01", dt.date(1, 1, 1)),
        ("9999-12-31 23:59:59", dt.date(9999, 12, 31)),
    ],
)
def test_a_date_is_the_day_in_the_subscribers_zone(text, day):
    assert values.parse_date(text) == day


def test_a_date_needs_no_hour_that_exists():
    """In São Paulo midnight was skipped, and interface.md 1 asks for dates with a time."""
    with timezone.override(ZoneInfo("America/Sao_Paulo")):
        assert values.parse_date("2018-11-04 00:00:00") == dt.date(2018, 11, 4)


@pytest.mark.parametrize(
    "text",
    ["", "1/7/2026", "2026-7-1", "20260701", "2026-07-01T", "2026-07-01T9:30", "２０２６-07-01", "today"],
)
def test_a_date_in_another_form_is_refused(text):
    with pytest.raises(values.WireValueError, match="must be a date, such as 2026-07-01"):
        values.parse_date(text)


@pytest.mark.parametrize("text", ["2024-02-30", "2023-02-29", "0000-01-01", "2026-07-01T24:00:00"])
def test_a_day_that_does_not_exist_is_refused(text):
    with pytest.raises(values.WireValueError, match="does not exist"):
        values.parse_date(text)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-07-01T09:30:00+10:00", utc(2026, 6, 30, 23, 30)),
        ("2026-07-01T09:30:00Z", utc(2026, 7, 1, 9, 30)),
        ("2026-07-01t09:30:00z", utc(2026, 7, 1, 9, 30)),
        ("2026-07-01 09:30:00", utc(2026, 6, 30, 23, 30)),
        ("2026-01-01 09:30", utc(2025, 12, 31, 22, 30)),
        ("2026-07-01", utc(2026, 6, 30, 14)),
        ("2026-07-01 09:30:00.5", utc(2026, 6, 30, 23, 30, 0, 500_000)),
        ("2026-07-01 09:30:00.123456789", utc(2026, 6, 30, 23, 30, 0, 123_456)),
    ],
)
def test_a_moment_without_offset_is_local(text, moment):
    assert values.parse_datetime(text) == moment


def test_a_local_time_that_the_clocks_skip_is_refused():
    with pytest.raises(values.WireValueError, match="Australia/Sydney skip it"):
        values.parse_datetime("2026-10-04 02:30:00")


def test_of_a_local_time_that_comes_twice_the_first_is_meant():
    assert values.parse_datetime("2026-04-05 02:30:00") == utc(2026, 4, 4, 15, 30)


@pytest.mark.parametrize(
    "text", ["0001-01-01", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59Z"]
)
def test_a_moment_at_the_edge_of_the_calendar_is_out_of_range(text):
    with pytest.raises(values.WireValueError, match="years 1 and 9999"):
        values.parse_datetime(text)


@pytest.mark.parametrize("read", [values.parse_date, values.parse_datetime])
@given(
    text=st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}:[0-9]{2}([+-][0-9]{2}:[0-9]{2})?)?")
)
def test_whatever_looks_like_a_date_is_read_or_refused(read, text):
    with contextlib.suppress(values.WireValueError):  # and with nothing else: an OverflowError would be a 500
        assert read(text).year >= 1


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("8", "8.00"),
        ("8.0", "8.00"),
        ("8.000", "8.00"),
        ("-0.5", "-0.50"),
        ("1e3", "1000.00"),
        ("-0", "0.00"),
    ],
)
def test_a_decimal_has_the_places_of_its_column(text, number):
    assert str(values.parse_decimal(text, 14, 2)) == number


@pytest.mark.parametrize("text", ["", "NaN", "Infinity", "1,000", "0x10", "1.", ".5", "+1", "1_000", "１"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(values.WireValueError, match="must be a number"):
        values.parse_decimal(text, 14, 2)


@pytest.mark.parametrize(
    "text", ["8.005", "1e12", "1000000000000", "1e-3", "9" * 61, "1e999", "1e-9999", "0e9999"]
)
def test_digits_that_have_no_room_are_refused(text):
    with pytest.raises(values.WireValueError):
        values.parse_decimal(text, 14, 2)


@given(st.decimals(-999_999_999_999, 999_999_999_999, places=2))
def test_no_digit_of_money_is_lost(number):
    assert values.parse_decimal(f"{number:f}", 14, 2) == number
    assert values.parse_decimal(f"{number:f}") == number


def test_an_integer_has_the_range_of_its_type():
    assert values.parse_integer("-32768", "Edm.Int16") == -32768
    for text in ("32768", "-32769", "9" * 5_000):
        with pytest.raises(values.WireValueError, match="-32,768 and 32,767"):
            values.parse_integer(text, "Edm.Int16")


@pytest.mark.parametrize("text", ["", "1.0", "true", "1e3", "--1", "٣"])
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(values.WireValueError, match="must be a whole number"):
        values.parse_integer(text)


def test_a_boolean_has_two_spellings():
    assert (values.parse_boolean("true"), values.parse_boolean("false")) == (True, False)
    for text in ("True", "1", "yes", ""):
        with pytest.raises(values.WireValueError, match="must be true or false"):
            values.parse_boolean(text)


def test_a_choice_is_named_or_numbered():
    names, numbers = ("Provider", "Client"), {0: "Provider", 1: "Client"}
    assert values.parse_choice("Client", names, numbers) == "Client"
    assert values.parse_choice("1", names, numbers) == "Client"
    for text in ("client", "2", "", "9" * 5_000):
        with pytest.raises(values.WireValueError, match="must be one of Provider, Client"):
            values.parse_choice(text, names, numbers)
