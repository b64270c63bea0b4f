"""The scheme's price guide read from a file: rows of support items with their prices, every fault named."""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from typing import Any

from apps.core.identifiers import normalised
from apps.core.importing import cells
from apps.core.importing.columns import letters_of
from apps.core.importing.report import quoted
from apps.core.importing.tables import ImportFileError, Row, Table, column_letters
from apps.funding.choices import Flag, ItemType, Unit, Zone
from apps.funding.models import Price, Product
from apps.funding.validation.prices import is_support_item, overlapping
from apps.odata.errors import plural
from apps.odata.write.json_values import JsonValueError

#: How the guide writes that a price holds until further.
OPEN_END = dt.date(9999, 12, 31)
#: More rows than any guide has.
MAX_ROWS = 100_000

_COMPACT_DAY = re.compile(r"\d{8}", re.ASCII)
_DASHES = str.maketrans("‐‑‒–—―−", "-------")
_BLANKS = re.compile(r"\s+")


class GuideRefused(Exception):
    """A guide with faults, of which nothing may be stored; each is a sentence that names row and column."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__(f"Nothing was stored: {plural(len(faults), 'fault')}.")
        self.faults = list(faults)


@dataclass(frozen=True, slots=True)
class GuideRow:
    """A support item from its first day to its last: what is told of it, and its price in each zone.

    ``item`` has the columns of ``Product`` that the file tells. Without prices it is current and quoted.
    """

    number: int
    code: str
    start_date: dt.date
    end_date: dt.date | None
    amounts: Mapping[str, Decimal | None]
    item: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Guide:
    """A whole price guide, without faults: its rows by the folded code of their item, oldest first."""

    items: Mapping[str, Sequence[GuideRow]]
    warnings: Sequence[str] = ()

    @property
    def rows(self) -> int:
        return sum(map(len, self.items.values()))

    @property
    def first_day(self) -> dt.date:
        return min(rows[0].start_date for rows in self.items.values())

    @property
    def last_start(self) -> dt.date:
        """When the youngest of its prices begins; of what begins later an older guide knows nothing."""
        return max(rows[-1].start_date for rows in self.items.values())


# --- cells ----------------------------------------------------------------------------------------------


def written(text: str) -> str:
    """The text as people would type it: plain blanks, single ones, plain dashes."""
    return _BLANKS.sub(" ", cells.cleaned(text).translate(_DASHES))


def day(text: str) -> dt.date:
    """``20250701``, or a date as spreadsheets write it."""
    if _COMPACT_DAY.fullmatch(text):
        text = f"{text[:4]}-{text[4:6]}-{text[6:]}"
    try:
        return dt.date.fromisoformat(cells.iso_date(text, day_first=True))
    except ValueError:
        raise JsonValueError("InvalidDate", "must be a date such as 20260701.") from None


def price(text: str) -> Decimal:
    """``$1,616.26`` or ``82.57``: digits only, never through a float."""
    told = cells.decimal_number(text)
    places = -Price._meta.get_field("amount").decimal_places
    rounded = told.quantize(Decimal(1).scaleb(places), ROUND_HALF_UP) if told.adjusted() < 20 else told
    if told < 0 or told.adjusted() >= 10:
        raise JsonValueError("OutOfRange", "must be a price from 0 to 9,999,999,999.")
    if abs(told - rounded) > Decimal("1e-9"):  # nearer, it is the tail of a spreadsheet's binary number
        raise JsonValueError("InvalidNumber", "has more than four decimals.")
    return rounded


def whole(text: str) -> int:
    number: int = cells.whole_number(text)
    if not 1 <= number <= 99:
        raise JsonValueError("OutOfRange", "must be a number from 1 to 99.")
    return number


def one_of(words: Mapping[str, str]) -> Callable[[str], str]:
    """A reader of what words stand for, in any case and punctuation."""
    by_word = {letters_of(word): value for word, value in words.items()}

    def read(text: str) -> str:
        found = by_word.get(letters_of(text))
        if found is None:
            raise JsonValueError("NotAChoice", f"must be one of {', '.join(words)}.")
        return found

    return read


def at_most(length: int) -> Callable[[str], str]:
    def read(text: str) -> str:
        if len(text) > length:
            raise JsonValueError("TooLong", f"must have {length} characters at most.")
        if "\0" in text:
            raise JsonValueError("NotAllowed", "holds a NUL character.")
        return text

    return read


UNITS = {word: unit.value for unit in Unit for word in (unit.value, unit.label)}
FLAGS = {word: each.value for each in Flag for word in (each.value, each.label)}
TYPES = {
    "Price Limited Supports": ItemType.PRICED.value,
    "Priced Supports": ItemType.PRICED.value,
    "Quotable Supports": ItemType.QUOTABLE.value,
    "Unit Price = $1": ItemType.UNIT_PRICE.value,
}

# --- columns --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GuideColumn:
    """A column by the headers it has had, compared without case, blanks and punctuation.

    Without ``header_needed`` a file may do without it, without ``cell_needed`` a row may.
    """

    name: str
    headers: tuple[str, ...]
    read: Callable[[str], Any]
    header_needed: bool = False
    cell_needed: bool = False
    empty: Any = None

    @cached_property
    def spellings(self) -> frozenset[str]:
        return frozenset(map(letters_of, self.headers))


def of_item(name: str, *headers: str, read: Callable[[str], Any] | None = None, **words: Any) -> GuideColumn:
    """A column that describes the item: a column of ``Product``, as long as that may be."""
    column: Any = Product._meta.get_field(name)
    return GuideColumn(name, headers, read or at_most(column.max_length), **words)


CODE = of_item("code", "Support Item Number", "Item Number", "Code", header_needed=True, cell_needed=True)
START = GuideColumn("start_date", ("Start Date", "Effective From", "Valid From"), day, True, True)
END = GuideColumn("end_date", ("End Date", "Effective To", "Valid To"), day, True)
ITEM = (
    of_item("name", "Support Item Name", "Item Name", "Name", header_needed=True, cell_needed=True),
    of_item("unit", "Unit", "Unit of Measure", read=one_of(UNITS)),
    of_item("type", "Type", "Support Type", read=one_of(TYPES)),
    of_item("is_quote_required", "Quote", "Quote Required", read=cells.boolean_cell, empty=False),
    of_item("category_number", "Support Category Number", read=whole),
    of_item("category_name", "Support Category Name"),
    of_item("category_number_pace", "Support Category Number (PACE)", read=whole),
    of_item("category_name_pace", "Support Category Name (PACE)"),
    of_item("registration_group_number", "Registration Group Number"),
    of_item("registration_group_name", "Registration Group Name"),
    of_item("non_face_to_face", "Non-Face-to-Face Support Provision", "Non-Face-to-Face", read=one_of(FLAGS)),
    of_item("provider_travel", "Provider Travel", read=one_of(FLAGS)),
    of_item(
        "short_notice_cancellation",
        "Short Notice Cancellations.",
        "Short Notice Cancellation",
        read=one_of(FLAGS),
    ),
    of_item(
        "agency_requested_reports",
        "NDIA Requested Reports",
        "Agency Requested Reports",
        read=one_of(FLAGS),
    ),
    of_item("irregular_sil", "Irregular SIL Supports", "Irregular SIL", read=one_of(FLAGS)),
)
NATIONAL = GuideColumn(Zone.NATIONAL.value, ("National", "National Price"), price)
ZONES = (
    GuideColumn(Zone.REMOTE.value, ("Remote", "Remote Price"), price, True),
    GuideColumn(Zone.VERY_REMOTE.value, ("Very Remote", "Very Remote Price"), price, True),
)
#: Guides of some years tell the national price once for each state.
STATES = tuple(
    GuideColumn(state, (state,), price) for state in ("ACT", "NSW", "NT", "QLD", "SA", "TAS", "VIC", "WA")
)


@dataclass(frozen=True)
class Layout:
    """Which column of a file tells what; ``national`` are one column, or one for each state."""

    header: Sequence[str]
    places: Mapping[GuideColumn, int]
    national: Sequence[GuideColumn]

    @property
    def item(self) -> list[GuideColumn]:
        return [column for column in ITEM if column in self.places]

    @property
    def unknown(self) -> list[str]:
        known = {self.places[column] for column in self.places}
        return [name.strip() for place, name in enumerate(self.header) if place not in known and name.strip()]

    def place(self, row: int, column: GuideColumn) -> str:
        """``row 12, M12 (National)``."""
        at = self.places[column]
        return f"row {row:,}, {column_letters(at)}{row} ({self.header[at].strip()})"


def layout_of(table: Table) -> Layout:
    """The file's columns; ``ImportFileError`` when it is no price guide."""
    names = [letters_of(written(name)) for name in table.header]
    places: dict[GuideColumn, int] = {}
    for column in (CODE, START, END, *ITEM, NATIONAL, *STATES, *ZONES):
        found = [at for at, name in enumerate(names) if name in column.spellings]
        if len(found) > 1:
            raise ImportFileError(
                f"Columns {' and '.join(map(column_letters, found[:2]))} are both {table.header[found[0]]}."
            )
        if found:
            places[column] = found[0]
    missing = [c for c in (CODE, START, END, *ITEM, *ZONES) if c.header_needed and c not in places]
    national = [NATIONAL] if NATIONAL in places else [state for state in STATES if state in places]
    lacking = [column.headers[0] for column in missing] + ([] if national else [NATIONAL.headers[0]])
    if lacking:
        raise ImportFileError(f"This is no price guide: it has no column {', '.join(lacking)}.")
    return Layout(table.header, places, national)


# --- rows -----------------------------------------------------------------------------------------------


def read_guide(table: Table) -> Guide:
    """The guide; ``ImportFileError`` when the file is none, ``GuideRefused`` with all its faults."""
    layout = layout_of(table)
    reader = _RowReader(layout)
    items: dict[str, list[GuideRow]] = defaultdict(list)
    for count, row in enumerate(table.rows(), start=1):
        if count > MAX_ROWS:
            raise ImportFileError(f"The file has more than {MAX_ROWS:,} rows; no price guide has.")
        read = reader.read(row)
        if read is not None:
            items[str(normalised(read.code))].append(read)
    for rows in items.values():
        rows.sort(key=lambda each: each.start_date)
        reader.faults += _faults_between(rows, layout)
    if reader.faults:
        raise GuideRefused(reader.faults)
    if not items:
        raise ImportFileError("The file has a header and no rows.")
    warnings = [f"Column {name} is not read." for name in layout.unknown] + reader.warnings
    return Guide(items, warnings)


@dataclass
class _RowReader:
    layout: Layout
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def read(self, row: Row) -> GuideRow | None:
        """The row; ``None`` when it is empty or has faults, which are noted."""
        if not any(cell.strip() for cell in row.cells):
            return None
        if row.defect is not None:
            self.faults.append(f"row {row.number:,} {row.defect}")
            return None
        before = len(self.faults)
        code, start = self._value(row, CODE), self._value(row, START)
        end = self._value(row, END)
        item = {column.name: self._value(row, column) for column in self.layout.item}
        amounts = {Zone.NATIONAL.value: self._national(row)}
        amounts |= {column.name: self._value(row, column) for column in ZONES}
        if len(self.faults) > before:
            return None
        if not is_support_item(code):
            place = self.layout.place(row.number, CODE)
            self.warnings.append(f"{place}: {quoted(code)} is no usual support item number; it is taken.")
        return GuideRow(row.number, code, start, None if end == OPEN_END else end, amounts, item)

    def _value(self, row: Row, column: GuideColumn) -> Any:
        cell = row.cells[self.layout.places[column]]
        text = written(cell)
        if not text:
            if column.cell_needed:
                self._refuse(row, column, "must not be empty.")
            return column.empty
        try:
            return column.read(text)
        except JsonValueError as fault:
            self._refuse(row, column, f"{fault.sentence} It is {quoted(cell)}.")
            return None

    def _national(self, row: Row) -> Decimal | None:
        """The price outside remote areas, which all states must share."""
        first, *others = ((column, self._value(row, column)) for column in self.layout.national)
        for column, amount in others:
            if amount != first[1]:
                self._refuse(
                    row,
                    column,
                    f"differs from {first[0].name}; states have had one price, and zones are National, "
                    "Remote and Very Remote.",
                )
                break
        return first[1]

    def _refuse(self, row: Row, column: GuideColumn, sentence: str) -> None:
        self.faults.append(f"{self.layout.place(row.number, column)}: {sentence}")


def _faults_between(rows: Sequence[GuideRow], layout: Layout) -> Iterator[str]:
    """What is wrong with the rows of one item, the oldest first."""
    for row in rows:
        if row.end_date is not None and row.end_date < row.start_date:
            yield f"{layout.place(row.number, END)}: lies before the first day, {row.start_date}."
    for (_, earlier), (_, later) in overlapping(enumerate(rows)):
        until = f"to {earlier.end_date}" if earlier.end_date else "until further"
        yield (
            f"{layout.place(later.number, START)}: {later.code} has a price from {earlier.start_date} "
            f"{until} already, in row {earlier.number:,}."
        )
