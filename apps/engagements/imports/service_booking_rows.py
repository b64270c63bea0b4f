"""The rows of the agency portal's list of service bookings: their columns and their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.core.identifiers import normalised
from apps.core.importing.cells import CellReader, cell_reader, cleaned
from apps.core.importing.columns import letters_of
from apps.core.importing.report import RowIssue
from apps.core.importing.runs import ImportDisplay
from apps.core.importing.tables import ImportFileError, Row, Table
from apps.engagements.choices import ManagementType
from apps.engagements.models import ClientEngagement, ServiceBooking
from apps.odata.declaration.service import get_service
from apps.odata.declaration.values import WireValueError
from apps.people.models import Contact

PARTICIPANT, NAME, NUMBER = "participant", "participant_name", "service_booking_id"
TYPE, CATEGORY, ITEM = "booking_type", "product_category", "product_category_item"
START, END, AS_OF, STATUS = "start_date", "end_date", "last_modified_date", "status"
ALLOCATED, REMAINING, ACCRUED = "allocated_amount", "remaining_amount", "accrual_amount"

REQUIRED = (PARTICIPANT, NUMBER, TYPE, CATEGORY, START, END, ALLOCATED)
COLUMNS = (*REQUIRED, NAME, ITEM, AS_OF, STATUS, REMAINING, ACCRUED)

#: The column that gives a member, for the issues of the rules.
COLUMN_OF_MEMBER = {
    "participant": PARTICIPANT,
    "scheme_number": PARTICIPANT,
    "first_name": NAME,
    "last_name": NAME,
    "engagement": PARTICIPANT,
    "category": CATEGORY,
    "support_purpose": CATEGORY,
    "support_item": ITEM,
    "booking_number": NUMBER,
    "management_type": TYPE,
    "budget": ALLOCATED,
    "total_budget_amount": ALLOCATED,
    "used_elsewhere": REMAINING,
    "balance_date": AS_OF,
    "booking_start_date": START,
    "plan_start_date": START,
    "booking_end_date": END,
    "plan_end_date": END,
}

MANAGEMENT = {name.casefold(): name for name in ManagementType.values}


@dataclass(eq=False)
class BookingLine:
    """A row of the file with its values, its issues, and the records that it is about."""

    row: Row
    column_indexes: Mapping[str, int]
    values: dict[str, Any] = field(default_factory=dict)
    errors: list[RowIssue] = field(default_factory=list)
    warnings: list[RowIssue] = field(default_factory=list)
    contact: Contact | None = None
    booking: ServiceBooking | None = None
    plan: ClientEngagement | None = None
    is_changed: bool = False

    def __getitem__(self, column: str) -> Any:
        return self.values.get(column)

    def add_error(self, column: str, code: str, message: str) -> None:
        self.errors.append(RowIssue(self.row, self.column_indexes.get(column), code, message))

    def add_warning(self, column: str, code: str, message: str) -> None:
        self.warnings.append(
            RowIssue(self.row, self.column_indexes.get(column), code, message, is_warning=True)
        )


def find_columns(table: Table, display: ImportDisplay) -> Mapping[str, int]:
    """The index of each column; ``ImportFileError`` when a required one is missing."""
    known = {letters_of(name): name for name in COLUMNS}
    column_indexes: dict[str, int] = {}
    unknown_headers = []
    for index, header in enumerate(table.header):
        name = known.get(letters_of(header))
        if name is None:
            unknown_headers.append(header)
        elif column_indexes.setdefault(name, index) != index:
            raise ImportFileError(f"The file has two columns {header}.")
    missing = [name for name in REQUIRED if name not in column_indexes]
    if missing:
        raise ImportFileError(
            f"The file lacks {', '.join(missing)}; is it the portal's list of service bookings?"
        )
    unknown_headers = [
        header for header in unknown_headers if header.strip() and letters_of(header) != "reason"
    ]
    if unknown_headers:
        display.show_notice(f"Not read: {', '.join(unknown_headers)}.")
    return column_indexes


def read_lines(rows: Iterable[Row], column_indexes: Mapping[str, int]) -> list[BookingLine]:
    """Every row with its values; a cell that cannot be read gets an error."""
    readers = cell_readers()
    lines = [read_line(row, column_indexes, readers) for row in rows]
    first: dict[str, int] = {}
    for line in lines:
        number = normalised(line[NUMBER])
        if number is not None and first.setdefault(number, line.row.number) != line.row.number:
            line.add_error(NUMBER, "NotUnique", f"Row {first[number]:,} of the file has it already.")
    return lines


def read_line(row: Row, column_indexes: Mapping[str, int], readers: Mapping[str, CellReader]) -> BookingLine:
    line = BookingLine(row, column_indexes)
    if row.defect is not None:
        line.errors.append(RowIssue(row, None, "InvalidRow", f"The row {row.defect}"))
        return line
    for name, index in column_indexes.items():
        text = cleaned(row.cells[index])
        if not text:
            if name in REQUIRED:
                line.add_error(name, "Required", "It is required.")
            continue
        try:
            line.values[name] = readers[name](text)
        except WireValueError as error:
            line.add_error(name, error.code, f"It {error.sentence}")
    status = line[STATUS]
    if status is not None and status.casefold() != "active":
        line.add_error(STATUS, "NotActive", "Only active bookings are imported.")
    return line


# --- cells ----------------------------------------------------------------------------------------------


def cell_readers() -> Mapping[str, CellReader]:
    """The function that reads the cells of each column."""
    booking = get_service().by_model[ClientEngagement].type.navigations["ServiceBookings"].type
    date = cell_reader(booking.properties["BookingStartDate"])
    money = cell_reader(booking.properties["Budget"])
    scheme_number = cell_reader(get_service().by_model[Contact].type.properties["SchemeNumber"])
    return {
        PARTICIPANT: lambda text: scheme_number("".join(text.split())),
        NAME: lambda text: " ".join(text.split()),
        NUMBER: cell_reader(booking.properties["BookingNumber"]),
        TYPE: management_cell,
        CATEGORY: category_cell,
        ITEM: cell_reader(booking.properties["SupportItem"]),
        START: date,
        END: date,
        AS_OF: date,
        STATUS: str,
        ALLOCATED: money,
        REMAINING: money,
        ACCRUED: money,
    }


def management_cell(text: str) -> str:
    """``Plan Managed`` is Plan."""
    word = letters_of(text).removesuffix("managed")
    if word not in MANAGEMENT:
        raise WireValueError("NotAChoice", "must be Plan Managed, Agency Managed or Self Managed.")
    return MANAGEMENT[word]


def category_cell(text: str) -> int:
    """``07`` is 7; a category's name may follow its number."""
    digits = text.split()[0]
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 4):
        raise WireValueError("InvalidNumber", "must be the number of a support category.")
    return int(digits)


def read_name(text: str) -> Mapping[str, str]:
    """First and last name, the last being the last word."""
    first, _, last = text.rpartition(" ")
    if not first:
        raise WireValueError("Required", "must have a first and a last part.")
    members = get_service().by_model[Contact].type.properties
    return {
        "first_name": cell_reader(members["FirstName"])(first),
        "last_name": cell_reader(members["LastName"])(last),
    }
