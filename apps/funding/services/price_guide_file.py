"""Reads the scheme's price guide, or a list of own prices: rows of items, every fault named."""

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import Any

from apps.base.declaration.values import WireValueError
from apps.core.importing import cells
from apps.core.importing.cells import CellReader, CleanedText, letters_of
from apps.core.importing.columns import ImportColumn, day_columns
from apps.core.importing.first_pass import look_through
from apps.core.importing.fixed_columns import FoundColumns, InvalidRows, find_columns, read_row
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


@dataclass(frozen=True, slots=True)
class GuideRow:
    """A support item from its first day to its last, and its price in each zone that the file has.

    ``item`` has the columns of ``Product`` that the file has. Without prices it is current and quoted.
    ``gst_inclusive`` is what an own list says of its prices.
    """

    number: int
    code: str
    start_date: dt.date
    end_date: dt.date | None
    amounts: Mapping[str, Decimal | None]
    item: Mapping[str, object]
    gst_inclusive: bool | None = None


@dataclass(frozen=True, slots=True)
class Guide:
    """A whole price guide, without faults: its rows by the normalised code of their item, oldest first.

    ``is_own``: it is a price list of one's own, which describes no item of other price books.
    """

    items: Mapping[str, Sequence[GuideRow]]
    warnings: Sequence[str] = ()
    is_own: bool = False

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


#: A column whose texts are as people would type them: plain blanks, single ones, plain dashes.
guide_column = partial(
    ImportColumn, clean=lambda text: CleanedText(_BLANKS.sub(" ", text.translate(_DASHES)))
)


def product_column(name: str, *headers: str, read: CellReader | None = None, **options: Any) -> ImportColumn:
    """A column that describes the item: a column of ``Product``, as long as that may be."""
    column: Any = Product._meta.get_field(name)
    return guide_column(name, headers, read=read or text_parser(column.max_length), **options)


parse_flag = choice_parser(FLAGS)

CODE = product_column("code", "Support Item Number", "Item Number", "Code", in_every_row=True)
guide_day = partial(guide_column, read=parse_guide_day, is_day=True)
START = guide_day("start_date", ("Start Date", "Effective From", "Valid From"), in_every_row=True)
END = guide_day("end_date", ("End Date", "Effective To", "Valid To"), in_every_file=True)
ITEM = (
    product_column("name", "Support Item Name", "Item Name", "Name", in_every_row=True),
    product_column("unit", "Unit", "Unit of Measure", read=choice_parser(UNITS)),
    product_column("type", "Type", "Support Type", read=choice_parser(TYPES)),
    product_column("is_quote_required", "Quote", "Quote Required", read=cells.boolean_cell),
    product_column("category_number", "Support Category Number", read=parse_category),
    product_column("category_name", "Support Category Name"),
    product_column("category_number_pace", "Support Category Number (PACE)", read=parse_category),
    product_column("category_name_pace", "Support Category Name (PACE)"),
    product_column("registration_group_number", "Registration Group Number"),
    product_column("registration_group_name", "Registration Group Name"),
    product_column(
        "non_face_to_face", "Non-Face-to-Face Support Provision", "Non-Face-to-Face", read=parse_flag
    ),
    product_column("provider_travel", "Provider Travel", read=parse_flag),
    product_column(
        *("short_notice_cancellation", "Short Notice Cancellations.", "Short Notice Cancellation"),
        read=parse_flag,
    ),
    product_column(
        "agency_requested_reports", "NDIA Requested Reports", "Agency Requested Reports", read=parse_flag
    ),
    product_column("irregular_sil", "Irregular SIL Supports", "Irregular SIL", read=parse_flag),
)
NATIONAL = guide_column(Zone.NATIONAL.value, ("National", "National Price"), read=parse_price)
ZONES = (
    guide_column(Zone.REMOTE.value, ("Remote", "Remote Price"), read=parse_price, in_every_file=True),
    guide_column(
        Zone.VERY_REMOTE.value, ("Very Remote", "Very Remote Price"), read=parse_price, in_every_file=True
    ),
)
#: Guides of some years have the national price once for each state.
NATIONAL_BY_STATE = tuple(guide_column(state, read=parse_price) for state in STATES)
GUIDE_COLUMNS = (CODE, START, END, *ITEM, NATIONAL, *NATIONAL_BY_STATE, *ZONES)


def with_headers(column: ImportColumn, *headers: str, **changes: Any) -> ImportColumn:
    return replace(column, headers=(*column.headers, *headers), in_every_file=False, **changes)


#: The columns of an own price list: most have one price. An export of a price book has a zone in each row.
OWN_COLUMNS = (
    with_headers(CODE, "Product Code", "Item Code", "Support Item", "Item"),
    with_headers(START, "From", "First Day", "Prices/FromDate", in_every_row=False),
    with_headers(END, "To", "Until", "Last Day", "Prices/ToDate"),
    with_headers(ITEM[0], "Product Name", "Description", "Item Description", "Service"),
    *ITEM[1:],
    with_headers(NATIONAL, "Price", "Unit Price", "Rate", "Amount", "Prices/Amount"),
    *(with_headers(column) for column in ZONES),
    guide_column(
        "zone", ("Region", "Prices/Zone"), read=choice_parser({each.value: each.value for each in Zone})
    ),
    guide_column("gst_inclusive", ("Prices Include GST", "GST Included"), read=cells.boolean_cell),
)
#: What no list is without.
OWN_NEEDED = {"code": "Code", "name": "Name", "start_date": "Start Date", Zone.NATIONAL.value: "Price"}


def find_guide_columns(table: Table, day_first: bool | None, is_own: bool) -> FoundColumns:
    """The file's columns; ``ImportFileError`` when it is no price guide, nor an own list."""
    found = find_columns(table, GUIDE_COLUMNS, day_first)
    lacking = [column.headers[0] for column in found.missing]
    if not any(column.name in found.by_name for column in (NATIONAL, *NATIONAL_BY_STATE)):
        lacking.append(NATIONAL.headers[0])
    if lacking and is_own:
        found = find_columns(table, OWN_COLUMNS, day_first)
        lacking = [OWN_NEEDED[name] for name in OWN_NEEDED.keys() - found.by_name.keys()]
        if lacking:
            raise ImportFileError(f"This is no price list: it has no column {', '.join(sorted(lacking))}.")
    if lacking:
        raise ImportFileError(
            f"This is no price guide: it has no column {', '.join(lacking)}. A list of own prices goes into a"
            " price book of another name."
        )
    return found


# --- rows -----------------------------------------------------------------------------------------------


def read_guide(table: Table, day_first: bool | None = None, is_own: bool = False) -> Guide:
    """The guide; ``ImportFileError`` when the file is none, ``InvalidRows`` with all its faults.

    ``day_first`` is what the person says of the days; ``is_own``: it is a list of one's own prices.
    """
    columns = find_guide_columns(table, day_first, is_own)
    first_pass = look_through(table, day_columns(columns.by_name.values()))
    if first_pass.row_count > MAX_ROWS:
        raise ImportFileError(f"The file has more than {MAX_ROWS:,} rows; no price guide has.")
    reader = GuideRowReader(columns.by_name)
    items: dict[str, list[GuideRow]] = defaultdict(list)
    for row in first_pass.rows():
        guide_row = reader.read(row)
        if guide_row is not None:
            items[str(normalised(guide_row.code))].append(guide_row)
    for rows in items.values():
        rows.sort(key=lambda each: each.start_date)
        reader.find_range_faults(rows)
    if reader.faults:
        raise InvalidRows(reader.faults)
    if not items:
        raise ImportFileError("The file has a header and no rows.")
    warnings = [f"Column {name} is not read." for name in columns.unknown] + reader.warnings
    warnings += [f"row {issue.row.number:,}: {issue.message}" for issue in first_pass.footer_issues()]
    return Guide(items, warnings, is_own)


@dataclass
class GuideRowReader:
    """Reads rows by the columns of their file, and collects their faults and warnings."""

    columns: Mapping[str, ImportColumn]
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
        values, issues = read_row(row, self.columns)
        for column, issue in issues:
            label, cell = self.label(row.number, column), row.cells[column.index]
            if issue.is_warning:
                self.warnings.append(f"{label}: {issue.message}")
            elif issue.code == "Required":
                self.faults.append(f"{label}: must not be empty.")
            else:
                self.faults.append(f"{label}: {issue.message} It is {quoted(cell)}.")
        amounts = {values.get("zone") or Zone.NATIONAL.value: self.national_price(row, values)}
        amounts |= {column.name: values[column.name] for column in ZONES if column.name in values}
        if len(self.faults) > before:
            return None
        if values["start_date"] is None:  # of an own list alone
            self.find_start_fault(row, any(amount is not None for amount in amounts.values()))
            return None
        code, end = values["code"], values.get("end_date")
        if not is_support_item(code):
            label = self.label(row.number, self.columns["code"])
            self.warnings.append(f"{label}: {quoted(code)} is no usual support item number; it is taken.")
        item = {column.name: values[column.name] for column in ITEM if column.name in values}
        if "is_quote_required" in item:
            item["is_quote_required"] = bool(item["is_quote_required"])
        end = None if end == OPEN_END else end
        gst = values.get("gst_inclusive")
        return GuideRow(row.number, code, values["start_date"], end, amounts, item, gst)

    def find_start_fault(self, row: Row, has_price: bool) -> None:
        """Note that a price has no first day; an item without a price is left out."""
        label = self.label(row.number, self.columns["start_date"])
        if has_price:
            self.faults.append(f"{label}: must not be empty.")
        else:
            self.warnings.append(f"{label}: the row has no price and is left out.")

    def national_price(self, row: Row, values: Mapping[str, Any]) -> Decimal | None:
        """The price outside remote areas, which all states must share."""
        names = [NATIONAL.name] if NATIONAL.name in values else [each.name for each in NATIONAL_BY_STATE]
        first, *others = [name for name in names if name in values]
        other = next((name for name in others if values[name] != values[first]), None)
        if other is not None:
            self.faults.append(
                f"{self.label(row.number, self.columns[other])}: differs from {first};"
                " states have had one price, and zones are National, Remote and Very Remote."
            )
        return values[first]

    def label(self, row: int, column: ImportColumn) -> str:
        """``row 12, M12 (National)``."""
        return f"row {row:,}, {column_letters(column.index)}{row} ({column.header.strip()})"

    def find_range_faults(self, rows: Sequence[GuideRow]) -> None:
        """Note the faults of the rows of one item, the oldest first."""
        start, end = self.columns["start_date"], self.columns.get("end_date", self.columns["start_date"])
        for row in rows:
            if row.end_date is not None and row.end_date < row.start_date:
                label = self.label(row.number, end)
                self.faults.append(f"{label}: lies before the first day, {row.start_date}.")
        pairs: dict[tuple[int, int], tuple[GuideRow, GuideRow]] = {}
        for zone in Zone.values:
            priced = [row for row in rows if zone in row.amounts]
            pairs |= {(a.number, b.number): (a, b) for (_, a), (_, b) in overlapping(enumerate(priced))}
        for earlier, later in pairs.values():
            until = f"to {earlier.end_date}" if earlier.end_date else "until further"
            self.faults.append(
                f"{self.label(later.number, start)}: {later.code} has a price from {earlier.start_date} "
                f"{until} already, in row {earlier.number:,}."
            )
