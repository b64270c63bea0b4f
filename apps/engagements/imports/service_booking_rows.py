"""The rows of the agency portal's list of service bookings: their columns and their values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.base.declaration.service import get_service
from apps.base.declaration.values import WireValueError
from apps.core.importing.cells import CleanedText, cell_reader
from apps.core.importing.columns import ImportColumn
from apps.core.importing.fixed_columns import FixedRow, find_columns, read_row
from apps.core.importing.report import RowIssue
from apps.core.importing.runs import ImportDisplay
from apps.core.models import normalised
from apps.core.table_files.tables import ImportFileError, Row, Table
from apps.engagements.imports.component_rows import named_category, read_management
from apps.engagements.models import ClientEngagement, ServiceBooking
from apps.people.entered_texts import clean_scheme_number, whole_digits
from apps.people.models import Contact

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


@dataclass(eq=False)
class BookingLine(FixedRow):
    """A row of the file: the values of its columns, its issues, and the records that it is about.

    ``warnings`` are of what would be stored, ``cell_warnings`` of how the cells were read.
    """

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
    cell_warnings: list[RowIssue] = field(default_factory=list)
    contact: Contact | None = None
    booking: ServiceBooking | None = None
    plan: ClientEngagement | None = None
    is_changed: bool = False

    def add_warning(self, column: str, code: str, message: str) -> None:
        self.warnings.append(self.issue(column, code, message, is_warning=True))


def find_booking_columns(
    table: Table, display: ImportDisplay, day_first: bool | None
) -> Mapping[str, ImportColumn]:
    """The columns of the file, by name; ``ImportFileError`` when a required one is missing."""
    found = find_columns(table, booking_columns(), day_first)
    if found.missing:
        names = ", ".join(column.name for column in found.missing)
        raise ImportFileError(f"The file lacks {names}; is it the portal's list of service bookings?")
    if found.unknown:
        display.show_notice(f"Not read: {', '.join(found.unknown)}.")
    return found.by_name


def read_lines(rows: Iterable[Row], columns: Mapping[str, ImportColumn]) -> list[BookingLine]:
    """Every row with its values; a cell that cannot be read gets an error."""
    lines = [read_line(row, columns) for row in rows]
    first: dict[str, int] = {}
    for line in lines:
        number = normalised(line.service_booking_id)
        if number is not None and first.setdefault(number, line.row.number) != line.row.number:
            message = f"Row {first[number]:,} of the file has it already."
            line.add_error("service_booking_id", "NotUnique", message)
    return lines


def read_line(row: Row, columns: Mapping[str, ImportColumn]) -> BookingLine:
    if row.defect is not None:
        line = BookingLine(row, columns)
        line.errors.append(RowIssue(row, None, "InvalidRow", f"The row {row.defect}"))
        return line
    values, issues = read_row(row, columns)
    line = BookingLine(row, columns, **{name: each for name, each in values.items() if each is not None})
    line.add_cell_issues(issues, line.cell_warnings)
    if line.status.casefold() != "active":
        line.add_error("status", "NotActive", "Only active bookings are imported.")
    return line


# --- columns --------------------------------------------------------------------------------------------


def booking_columns() -> list[ImportColumn]:
    """The columns of the portal's list, also by the names that other programs give them."""
    booking = get_service().by_model[ClientEngagement].type.navigations["ServiceBookings"].type
    day = cell_reader(booking.properties["BookingStartDate"])
    money = cell_reader(booking.properties["Budget"])
    number, item = booking.properties["BookingNumber"], booking.properties["SupportItem"]
    scheme_number = cell_reader(get_service().by_model[Contact].type.properties["SchemeNumber"])
    return [
        ImportColumn(
            "participant",
            ("NDIS number", "NDIS No", "Participant number", "Participant NDIS number", "Scheme number"),
            read=lambda text: scheme_number(clean_scheme_number(text).text or text),
            in_every_row=True,
        ),
        ImportColumn("participant_name", read=lambda text: " ".join(text.split())),
        ImportColumn(
            "service_booking_id",
            ("Service booking", "Service booking number", "Booking number", "Booking ID"),
            read=cell_reader(number),
            clean=lambda text: CleanedText(whole_digits(text)),
            in_every_row=True,
        ),
        ImportColumn(
            "booking_type", ("Management type", "Managed by"), read=read_management, in_every_row=True
        ),
        ImportColumn(
            "product_category",
            ("Support category", "Support category number", "Category"),
            read=category_cell,
            in_every_row=True,
        ),
        ImportColumn(
            "product_category_item", ("Support item", "Support item number"), read=cell_reader(item)
        ),
        ImportColumn("start_date", ("Booking start date",), read=day, is_day=True, in_every_row=True),
        ImportColumn("end_date", ("Booking end date",), read=day, is_day=True, in_every_row=True),
        ImportColumn("last_modified_date", read=day, is_day=True),
        ImportColumn("status", ("Booking status",)),
        ImportColumn("allocated_amount", ("Allocated", "Budget"), read=money, in_every_row=True),
        ImportColumn("remaining_amount", ("Remaining", "Remaining budget"), read=money),
        ImportColumn("accrual_amount", read=money),
    ]


def category_cell(text: str) -> int:
    """``07`` is 7; a category's name may follow its number, or stand for it."""
    digits = text.split()[0]
    if digits[0].isalpha():
        return named_category([text])[0]
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
