"""Days as people and spreadsheets write them, and which way round a column of them is read."""

import datetime as dt
import re
from calendar import isleap
from collections.abc import Collection
from dataclasses import dataclass

from apps.base import clock
from apps.base.declaration.values import WireValueError
from apps.core.importing.cells import CleanedText, without_mark

_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_PARTS = re.compile(r"(\d{1,2})[/.\- ](\d{1,2})[/.\- ](\d{4}|\d\d)", re.ASCII)
#: Eight digits are a day only of years that lists have, and of those that stand for "until further".
_YEAR_FIRST = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})", re.ASCII)
_COMPACT = re.compile(r"((?:18|19|20|21)\d\d|9999)(\d\d)(\d\d)", re.ASCII)
_NAMED = re.compile(
    r"(\d{1,2})(?:st|nd|rd|th)?(?: of\b)?[ \-/.]*([A-Za-z]{3,9})[ \-/.,]*(\d{4}|\d\d)", re.ASCII
)
_MONTH_NAMED_FIRST = re.compile(r"([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?:, ?| )(\d{4})", re.ASCII)
_WEEKDAY = re.compile(
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? +(?=\w)", re.ASCII | re.IGNORECASE
)
#: A day has forty characters at most: of a longer text each of its blanks would be tried as the end of one.
_TIME = re.compile(
    r"(.{1,40}?),?[T ]+(\d{1,2}):(\d\d)(?::(\d\d)(\.\d+)?)?(?: ?([AaPp])\.?[Mm]\.?)?", re.ASCII
)
_SERIAL = re.compile(r"\d{4,5}(?:\.\d+)?", re.ASCII)
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
#: Day 0 of spreadsheets, which take 1900 for a leap year.
_SERIAL_START = dt.date(1899, 12, 30)
#: What shows in a cell, before it is cleaned, which of two numbers is the day.
_ORDERED = re.compile(r"\s*(?:[A-Za-z]{3,9}\.?,? +)?['’‘]?([0-9]{1,2})[/.\- ]([0-9]{1,2})[/.\- ][0-9]{2}")

#: A year of two digits is certain when no other century lies so many years from today: of a day on a bill or
#: in a plan, and of a birthday, which is not to come and not of somebody older than anybody is.
NEAR_YEARS, OLDEST_AGE = 20, 120


@dataclass(frozen=True, slots=True)
class WrittenDay:
    """The day that a text writes. ``is_ambiguous``: with day and month exchanged it is another day.

    ``other_century`` is the other day that a year of two digits may mean, where that is no less likely.
    """

    day: dt.date
    is_ambiguous: bool = False
    other_century: dt.date | None = None


class DayColumn:
    """A column of days: all of them are read with the day first, or all with the month first.

    ``stated`` is what the person says of the file. Else the values decide, once all were observed: 13/02/2026
    has no month 13. Where none does, those of the file's other columns do, if they agree. Where these do not
    either, or the values contradict each other, it is ``default``, and every day that could be read both ways
    is a warning. ``is_past``: the days are birthdays, which lie in the past.
    """

    def __init__(self, stated: bool | None = None, default: bool = True, is_past: bool = False) -> None:
        self.stated, self.default, self.is_past = stated, default, is_past
        #: Whether a value was observed that can only have the day first, or the month.
        self.has_day_first = self.has_month_first = False
        #: Whether the other columns of the file have the day first; ``None`` where they do not show it.
        self.others_day_first: bool | None = None

    def observe(self, cell: str) -> None:
        """Take note of a cell, as it is in the file, before any is read."""
        found = _ORDERED.match(cell)
        if found is None:
            return
        first, second = int(found[1]), int(found[2])
        if first > 12:
            self.has_day_first |= second <= 12 and first <= 31
        elif second > 12:
            self.has_month_first |= second <= 31

    @property
    def day_first(self) -> bool:
        found = self.found_day_first
        return self.default if found is None else found

    @property
    def found_day_first(self) -> bool | None:
        """The order that is certain; ``None`` where nothing shows it."""
        if self.stated is not None:
            return self.stated
        if self.has_day_first != self.has_month_first:
            return self.has_day_first
        return None if self.has_day_first else self.others_day_first

    @property
    def is_mixed(self) -> bool:
        """True when some values can only have the day first and others only the month."""
        return self.stated is None and self.has_day_first and self.has_month_first

    @property
    def is_certain(self) -> bool:
        return self.found_day_first is not None

    @property
    def is_found_month_first(self) -> bool:
        """True when values alone say that the month is first, which the user should know."""
        return self.stated is None and self.found_day_first is False

    def read(self, text: str) -> CleanedText:
        """A day, or day and time, in the interface's spelling, with a warning where it may be another day.

        Text of no form that is known stays as it is; ``WireValueError`` says what a day lacks.
        """
        if _ISO_DAY.fullmatch(text):
            return CleanedText(text)
        text = without_mark(text)
        time = _TIME.fullmatch(text)
        written = self.written_day(time[1] if time else text)
        if written is None:
            if _SERIAL.fullmatch(text):
                raise WireValueError("InvalidDate", serial_date_sentence(text))
            return CleanedText(text)
        iso = written.day.isoformat() + (time_of_day(time) if time else "")
        if written.other_century is not None:
            message = f"It is taken as {long_day(written.day)}, not {written.other_century:%Y}."
            return CleanedText(iso, "CenturyAssumed", message)
        if written.is_ambiguous and not self.is_certain:
            order, day = "day" if self.day_first else "month", long_day(written.day)
            advice = "the column does not show it; --day-first or --month-first does."
            if self.is_mixed:
                advice = "days of the column show both orders; correct the file, or say --day-first."
            message = f"It is read with the {order} first, as {day}: {advice}"
            return CleanedText(iso, "AmbiguousDay", message)
        return CleanedText(iso)

    def written_day(self, text: str) -> WrittenDay | None:
        """The day of a text; ``None`` when its form is none we know."""
        is_ambiguous = False
        if weekday := _WEEKDAY.match(text):
            text = text[weekday.end() :]
        if found := _PARTS.fullmatch(text):
            first, second, year = int(found[1]), int(found[2]), found[3]
            day, month = (first, second) if self.day_first else (second, first)
            if month > 12 >= day:
                raise WireValueError("InvalidDate", self.wrong_order_sentence(month))
            is_ambiguous = first != second and max(first, second) <= 12
        elif found := _YEAR_FIRST.fullmatch(text) or _COMPACT.fullmatch(text):
            year, month, day = found[1], int(found[2]), int(found[3])
        elif (found := _NAMED.fullmatch(text)) and (month := month_number(found[2])):
            day, year = int(found[1]), found[3]
        elif (found := _MONTH_NAMED_FIRST.fullmatch(text)) and (month := month_number(found[1])):
            day, year = int(found[2]), found[3]
        else:
            return None
        try:
            if len(year) == 4:
                return WrittenDay(dt.date(int(year), month, day), is_ambiguous)
            return in_century(int(year), month, day, self.is_past, is_ambiguous)
        except ValueError:
            raise WireValueError("InvalidDate", "must be a date that exists.") from None

    def wrong_order_sentence(self, month: int) -> str:
        order, other = ("day", "month") if self.day_first else ("month", "day")
        if self.is_mixed:
            return f"has no month {month}, but other days of the column have the {order} first: correct it."
        return f"has no month {month}; it is read with the {order} first, --{other}-first turns that."


def share_order(columns: Collection[DayColumn]) -> None:
    """Let columns that show no order go by the file's others, once all days were observed."""
    shown = {column.found_day_first for column in columns} - {None}
    for column in columns if len(shown) == 1 else ():
        (column.others_day_first,) = shown


def in_century(year: int, month: int, day: int, is_past: bool, is_ambiguous: bool) -> WrittenDay:
    """The day of a year of two digits: of those in the past the last, else the one nearest to today."""
    today = clock.today()
    century = today.year // 100 * 100
    years = [century + offset + year for offset in (-100, 0, 100)]
    days = [dt.date(each, month, day) for each in years if (month, day) != (2, 29) or isleap(each)]
    if is_past:
        *earlier, last = [each for each in days if each <= today]
        other = next((each for each in earlier if today.year - each.year < OLDEST_AGE), None)
        return WrittenDay(last, is_ambiguous, other)
    nearest, *others = sorted(days, key=lambda each: abs(each - today))
    is_near = abs(nearest.year - today.year) <= NEAR_YEARS
    return WrittenDay(nearest, is_ambiguous, None if is_near else next(iter(others), None))


def time_of_day(found: re.Match[str]) -> str:
    """The time after a day, as the interface writes it; nothing for midnight."""
    _, hour, minute, second, fraction, half = found.groups()
    hours = int(hour)
    if half is not None:
        hours = hours % 12 + 12 * (half in "Pp")
    time = f"{hours:02}:{minute}:{second or '00'}"
    return "" if time == "00:00:00" and not (fraction or "").strip(".0") else f" {time}{fraction or ''}"


def month_number(word: str) -> int:
    """1 for ``Jan`` and ``January``; 0 for what begins no month."""
    return next((n for n, name in enumerate(_MONTHS, 1) if name.startswith(word.casefold())), 0)


def long_day(day: dt.date) -> str:
    """A day that nobody reads otherwise: 4 March 2026."""
    return f"{day.day} {day:%B %Y}"


def serial_date_sentence(text: str) -> str:
    """The day that a spreadsheet's number means, as a sentence, so that the user can write it."""
    number = int(text.partition(".")[0])
    if number < 60:
        return "must be a date such as 2026-07-01."
    day = _SERIAL_START + dt.timedelta(days=number)
    return f"is a spreadsheet's number for a day, {day:%d/%m/%Y} ({day.isoformat()}): write the date itself."
