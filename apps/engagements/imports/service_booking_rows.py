"""The rows of the agency portal's list of service bookings: their columns and their values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.base.declaration.service import get_service
from apps.base.declaration.values import WireValueError
from apps.core.importing.cells import CellReader, cell_reader, cleaned, letters_of
from apps.core.importing.days import DayColumn
from apps.core.importing.report import RowIssue
from apps.core.importing.runs import ImportDisplay
from apps.core.models import normalised
from apps.core.table_files.tables import ImportFileError, Row, Table
from apps.engagements.choices import ManagementType
from apps.engagements.models import ClientEngagement, ServiceBooking
from apps.people.entered_texts import clean_scheme_number
from apps.people.models import Contact

REQUIRED = (
    *("participant", "service_booking_id", "booking_type", "product_category"),
    *("start_date", "end_date", "allocated_amount"),
)

#: The members that a column gives, for the issues of the rules.
MEMBERS_OF_COLUMN = {
    "participant": ("participant", "scheme_number", "engagement"),
    "participant_name": ("first_name", "last_name"),
    "service_booking_id": ("booking_number",),
    "booking_type": ("management_type",),
    "product_category": ("category", "support_purpose"),
    "product_category_item": ("support_item",),
    "allocated_amount": ("budget", "total_budget_amount"),
    "remaining_amount": ("used_elsewhere",),
    "last_modified_date": ("balance_date",),
    "start_date": ("booking_start_date", "plan_start_date"),
    "end_date": ("booking_end_date", "plan_end_date"),
}
COLUMN_OF_MEMBER = {member: column for column, members in MEMBERS_OF_COLUMN.items() for member in members}

DAYS = ("start_date", "end_date", "last_modified_date")
MANAGEMENT = {name.casefold(): name for name in ManagementType.values}


@dataclass(eq=False)
class BookingLine:
    """A row of the file: the values of its columns, its issues, and the records that it is about.

    ``warnings`` are of what would be stored, ``cell_warnings`` of how the cells were read.
    """

    row: Row
    column_indexes: Mapping[str, int]
    participant: str = ""
    participant_name: str = ""
    service_booking_id: str = ""
    booking_type: str = ""
    product_category: Any = None
    product_category_item: str | None = None
    start_date: Any = None
    end_date: Any = None
    last_modified_date: Any = None
    status: str = "active"
    allocated_amount: Any = None
    remaining_amount: Any = None
    accrual_amount: Any = None
    errors: list[RowIssue] = field(default_factory=list)
    warnings: list[RowIssue] = field(default_factory=list)
    cell_warnings: list[RowIssue] = field(default_factory=list)
    contact: Contact | None = None
    booking: ServiceBooking | None = None
    plan: ClientEngagement | None = None
    is_changed: bool = False

    def add_error(self, column: str, code: str, message: str) -> None:
        self.errors.append(RowIssue(self.row, self.column_indexes.get(column), code, message))

    def add_warning(self, column: str, code: str, message: str) -> None:
        self.warnings.append(self.warning(column, code, message))

    def warning(self, column: str, code: str, message: str) -> RowIssue:
        return RowIssue(self.row, self.column_indexes.get(column), code, message, is_warning=True)


def find_columns(table: Table, display: ImportDisplay) -> Mapping[str, int]:
    """The index of each column; ``ImportFileError`` when a required one is missing."""
    known = {letters_of(name): name for name in cell_readers()}
    column_indexes: dict[str, int] = {}
    unknown = []
    for index, header in enumerate(table.header):
        name = known.get(letters_of(header))
        if name is None:
            unknown += [header] if header.strip() and letters_of(header) != "reason" else []
        elif column_indexes.setdefault(name, index) != index:
            raise ImportFileError(f"The file has two columns {header}.")
    missing = [name for name in REQUIRED if name not in column_indexes]
    if missing:
        raise ImportFileError(
            f"The file lacks {', '.join(missing)}; is it the portal's list of service bookings?"
        )
    if unknown:
        display.show_notice(f"Not read: {', '.join(unknown)}.")
    return column_indexes


def read_lines(
    rows: Iterable[Row], column_indexes: Mapping[str, int], day_columns: Mapping[int, DayColumn]
) -> list[BookingLine]:
    """Every row with its values; a cell that cannot be read gets an error."""
    readers = cell_readers()
    lines = [read_line(row, column_indexes, readers, day_columns) for row in rows]
    first: dict[str, int] = {}
    for line in lines:
        number = normalised(line.service_booking_id)
        if number is not None and first.setdefault(number, line.row.number) != line.row.number:
            message = f"Row {first[number]:,} of the file has it already."
            line.add_error("service_booking_id", "NotUnique", message)
    return lines


def read_line(
    row: Row,
    column_indexes: Mapping[str, int],
    readers: Mapping[str, CellReader],
    day_columns: Mapping[int, DayColumn],
) -> BookingLine:
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
            if index in day_columns:
                day = day_columns[index].read(text)
                text = day.text
                line.cell_warnings += [line.warning(name, day.code, day.message)] if day.code else []
            setattr(line, name, readers[name](text))
        except WireValueError as error:
            line.add_error(name, error.code, f"It {error.sentence}")
    if line.status.casefold() != "active":
        line.add_error("status", "NotActive", "Only active bookings are imported.")
    return line


# --- cells ----------------------------------------------------------------------------------------------


def cell_readers() -> Mapping[str, CellReader]:
    """The function that reads the cells of each column."""
    booking = get_service().by_model[ClientEngagement].type.navigations["ServiceBookings"].type
    date = cell_reader(booking.properties["BookingStartDate"])
    money = cell_reader(booking.properties["Budget"])
    scheme_number = cell_reader(get_service().by_model[Contact].type.properties["SchemeNumber"])
    return {
        "participant": lambda text: scheme_number(clean_scheme_number(text).text or text),
        "participant_name": lambda text: " ".join(text.split()),
        "service_booking_id": cell_reader(booking.properties["BookingNumber"]),
        "booking_type": management_cell,
        "product_category": category_cell,
        "product_category_item": cell_reader(booking.properties["SupportItem"]),
        "status": str,
        **dict.fromkeys(DAYS, date),
        **dict.fromkeys(("allocated_amount", "remaining_amount", "accrual_amount"), money),
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
