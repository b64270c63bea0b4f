"""Reads the scheme's price guide from a file: rows of support items with their prices, every fault named."""

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from typing import Any

from apps.base.declaration.values import WireValueError
from apps.base.errors import plural
from apps.core.importing import cells
from apps.core.importing.cells import letters_of
from apps.core.importing.days import DayColumn
from apps.core.importing.first_pass import look_through
from apps.core.importing.report import quoted
from apps.core.models import normalised
from apps.core.table_files.tables import ImportFileError, Row, Table, column_letters
from apps.funding.choices import Flag, ItemType, Unit, Zone
from apps.funding.models import Product
from apps.funding.validation.prices import is_support_item, overlapping
from apps.people.choices import STATES

#: How the guide writes that a price holds until further.
OPEN_END = dt.date(9999, 12, 31)
#: More rows than any guide has.
MAX_ROWS = 100_000

_DASHES = str.maketrans("‐‑‒–—―−", "-------")
_BLANKS = re.compile(r"\s+")


class InvalidGuide(Exception):
    """A guide with faults, of which nothing may be stored; each is a sentence that names row and column."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__(f"Nothing was stored: {plural(len(faults), 'fault')}.")
        self.faults = list(faults)


@dataclass(frozen=True, slots=True)
class GuideRow:
    """A support item from its first day to its last, and its price in each zone.

    ``item`` has the columns of ``Product`` that the file has. Without prices it is current and quoted.
    """

    number: int
    code: str
    start_date: dt.date
    end_date: dt.date | None
    amounts: Mapping[str, Decimal | None]
    item: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Guide:
    """A whole price guide, without faults: its rows by the normalised code of their item, oldest first."""

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
        """When the youngest of its prices begins."""
        return max(rows[-1].start_date for rows in self.items.values())


# --- cells ----------------------------------------------------------------------------------------------


def normalise_cell(text: str) -> str:
    """The text as people would type it: plain blanks, single ones, plain dashes."""
    return _BLANKS.sub(" ", cells.cleaned(text).translate(_DASHES))


def parse_guide_day(text: str) -> dt.date:
    """A day in the interface's spelling."""
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise WireValueError("InvalidDate", "must be a date such as 20260701.") from None


def parse_price(text: str) -> Decimal:
    """``$1,616.26`` or ``82.57``: digits only, never through a float."""
    number = cells.decimal_number(text)
    if number < 0 or number.adjusted() >= 10:
        raise WireValueError("OutOfRange", "must be a price from 0 to 9,999,999,999.")
    rounded = number.quantize(Decimal("0.0001"), ROUND_HALF_UP)
    if abs(number - rounded) > Decimal("1e-9"):  # nearer, it is the tail of a spreadsheet's binary number
        raise WireValueError("InvalidNumber", "has more than four decimals.")
    return rounded


def parse_category(text: str) -> int:
    number: int = cells.whole_number(text)
    if not 1 <= number <= 99:
        raise WireValueError("OutOfRange", "must be a number from 1 to 99.")
    return number


def choice_parser(words: Mapping[str, str]) -> Callable[[str], str]:
    """A parser of what words stand for, in any case and punctuation."""
    by_word = {letters_of(word): value for word, value in words.items()}

    def parse(text: str) -> str:
        found = by_word.get(letters_of(text))
        if found is None:
            raise WireValueError("NotAChoice", f"must be one of {', '.join(words)}.")
        return found

    return parse


def text_parser(length: int) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if len(text) > length:
            raise WireValueError("TooLong", f"must have {length} characters at most.")
        if "\0" in text:
            raise WireValueError("NotAllowed", "holds a NUL character.")
        return text

    return parse


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
    parse: Callable[[str], Any]
    header_needed: bool = False
    cell_needed: bool = False
    empty: Any = None

    @cached_property
    def spellings(self) -> frozenset[str]:
        return frozenset(map(letters_of, self.headers))


def product_column(
    name: str, *headers: str, parse: Callable[[str], Any] | None = None, **options: Any
) -> GuideColumn:
    """A column that describes the item: a column of ``Product``, as long as that may be."""
    column: Any = Product._meta.get_field(name)
    return GuideColumn(name, headers, parse or text_parser(column.max_length), **options)


parse_flag = choice_parser(FLAGS)

CODE = product_column(
    "code", "Support Item Number", "Item Number", "Code", header_needed=True, cell_needed=True
)
START = GuideColumn("start_date", ("Start Date", "Effective From", "Valid From"), parse_guide_day, True, True)
END = GuideColumn("end_date", ("End Date", "Effective To", "Valid To"), parse_guide_day, True)
ITEM = (
    product_column("name", "Support Item Name", "Item Name", "Name", header_needed=True, cell_needed=True),
    product_column("unit", "Unit", "Unit of Measure", parse=choice_parser(UNITS)),
    product_column("type", "Type", "Support Type", parse=choice_parser(TYPES)),
    product_column("is_quote_required", "Quote", "Quote Required", parse=cells.boolean_cell, empty=False),
    product_column("category_number", "Support Category Number", parse=parse_category),
    product_column("category_name", "Support Category Name"),
    product_column("category_number_pace", "Support Category Number (PACE)", parse=parse_category),
    product_column("category_name_pace", "Support Category Name (PACE)"),
    product_column("registration_group_number", "Registration Group Number"),
    product_column("registration_group_name", "Registration Group Name"),
    product_column(
        "non_face_to_face", "Non-Face-to-Face Support Provision", "Non-Face-to-Face", parse=parse_flag
    ),
    product_column("provider_travel", "Provider Travel", parse=parse_flag),
    product_column(
        *("short_notice_cancellation", "Short Notice Cancellations.", "Short Notice Cancellation"),
        parse=parse_flag,
    ),
    product_column(
        "agency_requested_reports", "NDIA Requested Reports", "Agency Requested Reports", parse=parse_flag
    ),
    product_column("irregular_sil", "Irregular SIL Supports", "Irregular SIL", parse=parse_flag),
)
NATIONAL = GuideColumn(Zone.NATIONAL.value, ("National", "National Price"), parse_price)
ZONES = (
    GuideColumn(Zone.REMOTE.value, ("Remote", "Remote Price"), parse_price, True),
    GuideColumn(Zone.VERY_REMOTE.value, ("Very Remote", "Very Remote Price"), parse_price, True),
)
#: Guides of some years have the national price once for each state.
NATIONAL_BY_STATE = tuple(GuideColumn(state, (state,), parse_price) for state in STATES)


@dataclass(frozen=True)
class Layout:
    """The columns of a file and their positions; ``national`` are one column, or one for each state."""

    header: Sequence[str]
    positions: Mapping[GuideColumn, int]
    national: Sequence[GuideColumn]

    @property
    def item(self) -> list[GuideColumn]:
        return [column for column in ITEM if column in self.positions]

    @property
    def unknown(self) -> list[str]:
        known = set(self.positions.values())
        names = enumerate(map(str.strip, self.header))
        return [name for position, name in names if position not in known and name]

    def label(self, row: int, column: GuideColumn) -> str:
        """``row 12, M12 (National)``."""
        position = self.positions[column]
        return f"row {row:,}, {column_letters(position)}{row} ({self.header[position].strip()})"


def find_layout(table: Table) -> Layout:
    """The file's columns; ``ImportFileError`` when it is no price guide."""
    names = [letters_of(normalise_cell(name)) for name in table.header]
    positions: dict[GuideColumn, int] = {}
    for column in (CODE, START, END, *ITEM, NATIONAL, *NATIONAL_BY_STATE, *ZONES):
        found = [position for position, name in enumerate(names) if name in column.spellings]
        if len(found) > 1:
            raise ImportFileError(
                f"Columns {' and '.join(map(column_letters, found[:2]))} are both {table.header[found[0]]}."
            )
        if found:
            positions[column] = found[0]
    missing = [c for c in (CODE, START, END, *ITEM, *ZONES) if c.header_needed and c not in positions]
    national = (
        [NATIONAL] if NATIONAL in positions else [state for state in NATIONAL_BY_STATE if state in positions]
    )
    lacking = [column.headers[0] for column in missing] + ([] if national else [NATIONAL.headers[0]])
    if lacking:
        raise ImportFileError(f"This is no price guide: it has no column {', '.join(lacking)}.")
    return Layout(table.header, positions, national)


# --- rows -----------------------------------------------------------------------------------------------


def read_guide(table: Table, day_first: bool | None = None, default_day_first: bool = True) -> Guide:
    """The guide; ``ImportFileError`` when the file is none, ``InvalidGuide`` with all its faults.

    ``day_first`` is what the person says of the days, the other what holds where the columns do not show it.
    """
    layout = find_layout(table)
    days = {column: DayColumn(day_first, default_day_first) for column in (START, END)}
    first_pass = look_through(table, {layout.positions[column]: each for column, each in days.items()})
    if first_pass.row_count > MAX_ROWS:
        raise ImportFileError(f"The file has more than {MAX_ROWS:,} rows; no price guide has.")
    reader = GuideRowReader(layout, days)
    items: dict[str, list[GuideRow]] = defaultdict(list)
    for row in first_pass.rows():
        guide_row = reader.read(row)
        if guide_row is not None:
            items[str(normalised(guide_row.code))].append(guide_row)
    for rows in items.values():
        rows.sort(key=lambda each: each.start_date)
        reader.faults += find_range_faults(rows, layout)
    if reader.faults:
        raise InvalidGuide(reader.faults)
    if not items:
        raise ImportFileError("The file has a header and no rows.")
    warnings = [f"Column {name} is not read." for name in layout.unknown] + reader.warnings
    warnings += [f"row {issue.row.number:,}: {issue.message}" for issue in first_pass.footer_issues()]
    return Guide(items, warnings)


@dataclass
class GuideRowReader:
    """Reads rows by the layout of their file, and collects their faults and warnings."""

    layout: Layout
    days: Mapping[GuideColumn, DayColumn]
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
        code, start = self.read_cell(row, CODE), self.read_cell(row, START)
        end = self.read_cell(row, END)
        item = {column.name: self.read_cell(row, column) for column in self.layout.item}
        amounts = {Zone.NATIONAL.value: self.read_national(row)}
        amounts |= {column.name: self.read_cell(row, column) for column in ZONES}
        if len(self.faults) > before:
            return None
        if not is_support_item(code):
            label = self.layout.label(row.number, CODE)
            self.warnings.append(f"{label}: {quoted(code)} is no usual support item number; it is taken.")
        return GuideRow(row.number, code, start, None if end == OPEN_END else end, amounts, item)

    def read_cell(self, row: Row, column: GuideColumn) -> Any:
        cell = row.cells[self.layout.positions[column]]
        text = normalise_cell(cell)
        if not text:
            if column.cell_needed:
                self.add_fault(row, column, "must not be empty.")
            return column.empty
        try:
            if column in self.days:
                day = self.days[column].read(text)
                text = day.text
                if day.code:
                    self.warnings.append(f"{self.layout.label(row.number, column)}: {day.message}")
            return column.parse(text)
        except WireValueError as fault:
            self.add_fault(row, column, f"{fault.sentence} It is {quoted(cell)}.")
            return None

    def read_national(self, row: Row) -> Decimal | None:
        """The price outside remote areas, which all states must share."""
        first, *others = ((column, self.read_cell(row, column)) for column in self.layout.national)
        for column, amount in others:
            if amount != first[1]:
                self.add_fault(
                    row,
                    column,
                    f"differs from {first[0].name}; states have had one price, and zones are National, "
                    "Remote and Very Remote.",
                )
                break
        return first[1]

    def add_fault(self, row: Row, column: GuideColumn, sentence: str) -> None:
        self.faults.append(f"{self.layout.label(row.number, column)}: {sentence}")


def find_range_faults(rows: Sequence[GuideRow], layout: Layout) -> Iterator[str]:
    """The faults of the rows of one item, the oldest first."""
    for row in rows:
        if row.end_date is not None and row.end_date < row.start_date:
            yield f"{layout.label(row.number, END)}: lies before the first day, {row.start_date}."
    for (_, earlier), (_, later) in overlapping(enumerate(rows)):
        until = f"to {earlier.end_date}" if earlier.end_date else "until further"
        yield (
            f"{layout.label(later.number, START)}: {later.code} has a price from {earlier.start_date} "
            f"{until} already, in row {earlier.number:,}."
        )
