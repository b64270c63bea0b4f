"""Service bookings from the list that the agency's portal exports, one booking to a row.

Participants are found by their scheme number, bookings by their number. A booking goes into the plan that
covers it, else into the one it overlaps most; where there is none, a plan is made that spans what the file
tells of the participant. A plan whose bookings take up all of its budget grows and shrinks with them: such
plans were made from bookings, and nobody has said more of their budget.

The file says what is allocated, what remains, and what is accrued. The agency's balance knows of every
claim, ours among them, so what was *used elsewhere* is allocated − remaining + accrued − what we claimed.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.core import history
from apps.core.identifiers import normalised
from apps.core.importing.cells import CellReader, cell_reader, cleaned
from apps.core.importing.columns import letters_of
from apps.core.importing.file_formats import open_table
from apps.core.importing.report import ImportReport, RowIssue, in_column_order
from apps.core.importing.runs import ImportDisplay, ImportOptions, errors_file, import_author
from apps.core.importing.tables import ImportFileError, Row, Table
from apps.core.models import Subscriber
from apps.engagements import validation
from apps.engagements.choices import ManagementType
from apps.engagements.coverage import load_current_plans
from apps.engagements.models import ZERO, ClientEngagement, ServiceBooking, SupportCategory
from apps.engagements.services import create_bookings, create_engagements, update_bookings, update_engagements
from apps.engagements.validation import EngagementDraft
from apps.odata import clock
from apps.odata.any_of import AnyOf
from apps.odata.declaration import service
from apps.odata.write.bodies import record_reader
from apps.odata.write.drafts import Draft, Issue, ValidationFailed, apply_rules
from apps.odata.write.json_values import JsonValueError
from apps.people.models import Client, Contact
from apps.people.services import create_contacts

PARTICIPANT, NAME, NUMBER = "participant", "participant_name", "service_booking_id"
TYPE, CATEGORY, ITEM = "booking_type", "product_category", "product_category_item"
START, END, AS_OF, STATUS = "start_date", "end_date", "last_modified_date", "status"
ALLOCATED, REMAINING, ACCRUED = "allocated_amount", "remaining_amount", "accrual_amount"

REQUIRED = (PARTICIPANT, NUMBER, TYPE, CATEGORY, START, END, ALLOCATED)
COLUMNS = (*REQUIRED, NAME, ITEM, AS_OF, STATUS, REMAINING, ACCRUED)

#: Where the rules' findings are told: the column that gives a member.
COLUMN_OF = {
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
class Line:
    """A row on its way in, and the records it was found to be about."""

    row: Row
    values: dict[str, Any] = field(default_factory=dict)
    faults: list[RowIssue] = field(default_factory=list)
    warnings: list[RowIssue] = field(default_factory=list)
    contact: Contact | None = None
    booking: ServiceBooking | None = None
    plan: ClientEngagement | None = None
    is_changed: bool = False

    def __getitem__(self, column: str) -> Any:
        return self.values.get(column)


@dataclass(frozen=True, slots=True)
class Made:
    """What an import made beside bookings."""

    participants: int = 0
    plans: int = 0


def import_bookings(
    path: Path,
    options: ImportOptions,
    create_participants: bool = False,
    display: ImportDisplay | None = None,
) -> tuple[ImportReport, Made]:
    """Import a file; ``ImportFileError`` when nothing of it can be, else what went how.

    Good rows are stored in one transaction, refused ones told and written to the file of errors. The whole
    file is held in memory: such lists have a row for each booking of one provider.
    """
    display = display or ImportDisplay()
    table = open_table(path)
    places = columns_of(table, display)
    report = ImportReport(table, errors_file(path, options), display.show_issue)
    clock.reset_now()
    try:
        with history.as_author(import_author()), timezone.override(Subscriber.current().zone):
            run = Run(places, create_participants)
            lines = run.read(table.rows())
            made = run.store(lines, options.dry_run)
            tell(lines, report)
    finally:
        report.close()
    return report, made


def columns_of(table: Table, display: ImportDisplay) -> Mapping[str, int]:
    """Where each column stands; ``ImportFileError`` when one is missing that no booking can do without."""
    known = {letters_of(name): name for name in COLUMNS}
    places: dict[str, int] = {}
    left = []
    for index, header in enumerate(table.header):
        name = known.get(letters_of(header))
        if name is None:
            left.append(header)
        elif places.setdefault(name, index) != index:
            raise ImportFileError(f"The file has two columns {header}.")
    missing = [name for name in REQUIRED if name not in places]
    if missing:
        raise ImportFileError(
            f"The file lacks {', '.join(missing)}; is it the portal's list of service bookings?"
        )
    left = [header for header in left if header.strip() and letters_of(header) != "reason"]
    if left:
        display.show_notice(f"Not read: {', '.join(left)}.")
    return places


def tell(lines: Iterable[Line], report: ImportReport) -> None:
    for line in lines:
        if line.faults:
            report.reject([line.row], in_column_order(line.faults))
            continue
        if line.is_changed:
            report.warn(in_column_order(line.warnings))
        if not line.is_changed:
            report.counts.unchanged += 1
        elif line.booking is None:
            report.counts.new += 1
        else:
            report.counts.changed += 1


class Run:
    """One import under way."""

    def __init__(self, places: Mapping[str, int], create_participants: bool) -> None:
        self.places = places
        self.create_participants = create_participants
        self.readers = readers()
        self.categories = {each.number: each for each in SupportCategory.objects.all()}

    # --- reading

    def read(self, rows: Iterable[Row]) -> list[Line]:
        """Every row with its values; what cannot be read is a fault of its cell."""
        lines = [self.read_row(row) for row in rows]
        first: dict[str, int] = {}
        for line in lines:
            number = normalised(line[NUMBER])
            if number is not None and first.setdefault(number, line.row.number) != line.row.number:
                self.refuse(line, NUMBER, "NotUnique", f"Row {first[number]:,} of the file has it already.")
        return lines

    def read_row(self, row: Row) -> Line:
        line = Line(row)
        if row.defect is not None:
            line.faults.append(RowIssue(row, None, "InvalidRow", f"The row {row.defect}"))
            return line
        for name, index in self.places.items():
            text = cleaned(row.cells[index])
            if not text:
                if name in REQUIRED:
                    self.refuse(line, name, "Required", "It is required.")
                continue
            try:
                line.values[name] = self.readers[name](text)
            except JsonValueError as fault:
                self.refuse(line, name, fault.code, f"It {fault.sentence}")
        self.check_category(line)
        status = line[STATUS]
        if status is not None and status.casefold() != "active":
            self.refuse(line, STATUS, "NotActive", "Only active bookings are taken.")
        return line

    def check_category(self, line: Line) -> None:
        number = line[CATEGORY]
        if number is not None and number not in self.categories:
            self.refuse(line, CATEGORY, "NotFound", "There is no support category of that number.")

    # --- storing

    def store(self, lines: Sequence[Line], dry_run: bool) -> Made:
        """Store what can be stored. Whatever a refused row had brought with it is taken back."""
        while True:
            sound = [line for line in lines if not line.faults]
            with transaction.atomic():
                made = self.attempt(sound)
                if all(not line.faults for line in sound):
                    if dry_run:
                        transaction.set_rollback(True)
                    return made
                transaction.set_rollback(True)
            for line in sound:
                line.contact = line.booking = line.plan = None
                line.is_changed = False
                line.warnings.clear()

    def attempt(self, lines: Sequence[Line]) -> Made:
        """Store the lines as if all of them were good; those that are not get their faults."""
        participants = self.find_participants(lines)
        self.find_bookings([line for line in lines if line.contact is not None])
        sound = [line for line in lines if not line.faults and line.contact is not None]
        plans = self.find_plans(sound)
        sound = [line for line in sound if not line.faults]
        changes = [(line, changes_of(line, self.booking_of(line))) for line in sound]
        changing = [(line, values) for line, values in changes if values]
        self.fit_totals([line for line, _ in changing])
        self.put([pair for pair in changing if pair[0].booking is None], create_bookings)
        self.put([pair for pair in changing if pair[0].booking is not None], update_bookings)
        return Made(participants, plans)

    # --- participants

    def find_participants(self, lines: Sequence[Line]) -> int:
        """Give lines their participant; how many had to be made."""
        known = contacts_by_number({line[PARTICIPANT] for line in lines})
        strangers: dict[str, list[Line]] = defaultdict(list)
        for line in lines:
            found = known.get(line[PARTICIPANT], ())
            if len(found) == 1:
                line.contact = found[0]
                self.compare_name(line, found[0])
            elif found:
                message = f"{len(found)} contacts have this scheme number; which one is meant?"
                self.refuse(line, PARTICIPANT, "Ambiguous", message)
            else:
                strangers[line[PARTICIPANT]].append(line)
        if not self.create_participants:
            for line in (line for lines in strangers.values() for line in lines):
                message = "No contact has this scheme number. --create-participants would make one."
                self.refuse(line, PARTICIPANT, "NotFound", message)
            return 0
        return self.enrol(list(strangers.values()))

    def compare_name(self, line: Line, contact: Contact) -> None:
        if line[NAME] and normalised(line[NAME]) != normalised(contact.full_name):
            self.warn(line, NAME, "NameDiffers", f"The contact of this number is {contact.full_name}.")

    def enrol(self, strangers: Sequence[Sequence[Line]]) -> int:
        """Make contacts of participants, each with the lines about them."""
        named = []
        for lines in strangers:
            try:
                named.append((lines, names_in(lines[0][NAME] or "")))
            except JsonValueError as fault:
                for line in lines:
                    self.refuse(line, NAME, fault.code, f"A new participant's name {fault.sentence}")
        drafts = [new_contact({**name, "scheme_number": lines[0][PARTICIPANT]}) for lines, name in named]
        keys = self.kept(create_contacts, drafts, [lines for lines, _ in named])
        contacts = Contact.objects.in_bulk([key for key in keys if key is not None])
        for (lines, _), key in zip(named, keys, strict=True):
            for line in lines:
                line.contact = contacts.get(key)
        return len(contacts)

    # --- bookings that stand

    def find_bookings(self, lines: Sequence[Line]) -> None:
        """Give lines the booking of their number, where it stands already."""
        numbers = {normalised(line[NUMBER]) for line in lines}
        twin = ServiceBooking._meta.get_field("booking_number_key")
        standing = ServiceBooking.objects.filter(AnyOf(twin, numbers)).select_related(
            "engagement__participant", "category"
        )
        by_number = {booking.booking_number_key: booking for booking in standing}
        for line in lines:
            booking = by_number.get(normalised(line[NUMBER]) or "")
            if booking is None:
                continue
            if line.contact is None or booking.engagement.participant_id != line.contact.pk:
                whose = booking.engagement.participant
                self.refuse(line, NUMBER, "AlreadyUsed", f"It is the number of a booking of {whose}.")
            elif booking.balance_date and line[AS_OF] and line[AS_OF] < booking.balance_date:
                message = f"The balance of {booking.balance_date:%d %b %Y} is known already."
                self.refuse(line, AS_OF, "Outdated", message)
            else:
                line.booking, line.plan = booking, booking.engagement

    # --- plans

    def find_plans(self, lines: Sequence[Line]) -> int:
        """Give lines without a booking the plan it belongs into; how many had to be made."""
        waiting: dict[UUID, list[Line]] = defaultdict(list)
        for line in lines:
            if line.plan is None and line.contact is not None:
                waiting[line.contact.pk].append(line)
        standing = load_current_plans(waiting)
        homeless: list[list[Line]] = []
        for contact, held in waiting.items():
            for line in held:
                line.plan = best_plan(standing.get(contact, ()), line[START], line[END])
            homeless += spans([line for line in held if line.plan is None])
        return self.open_plans(homeless)

    def open_plans(self, groups: Sequence[Sequence[Line]]) -> int:
        manager = Client.objects.filter(is_self=True).first()
        drafts = [new_plan(lines, manager) for lines in groups]
        keys = self.kept(create_engagements, drafts, groups)
        plans = ClientEngagement.objects.in_bulk([key for key in keys if key is not None])
        for lines, key in zip(groups, keys, strict=True):
            for line in lines:
                line.plan = plans.get(key)
        for number, finding in apply_rules(drafts, validation.ENGAGEMENT_WARNINGS):
            self.warn_of(groups[number][0], finding)
        return len(plans)

    def fit_totals(self, lines: Sequence[Line]) -> None:
        """Let plans that are wholly allocated have as their budget what their bookings will come to."""
        by_plan: dict[UUID, list[Line]] = defaultdict(list)
        for line in lines:
            if line.plan is not None:
                by_plan[line.plan.pk].append(line)
        rows = ClientEngagement.objects.filter(pk__in=by_plan).values_list(
            "pk", "total_budget_amount", "total_allocate_amount"
        )
        grown = {}
        for key, total, allocated in rows:
            change = sum(
                (line[ALLOCATED] - (line.booking.budget if line.booking else ZERO) for line in by_plan[key]),
                ZERO,
            )
            if total == allocated and change:
                grown[key] = total + change
        drafts = [
            EngagementDraft({"total_budget_amount": total}, ["total_budget_amount"], key=key)
            for key, total in grown.items()
        ]
        if drafts:
            self.kept(update_engagements, drafts, [by_plan[key] for key in grown])

    # --- bookings

    def booking_of(self, line: Line) -> dict[str, Any]:
        """The columns of the line's booking, as the file tells them."""
        category = self.categories[line[CATEGORY]]
        told = {
            "category": category,
            "support_purpose": category.support_purpose,
            "support_item": line[ITEM],
            "management_type": line[TYPE],
            "budget": line[ALLOCATED],
            "booking_start_date": line[START],
            "booking_end_date": line[END],
            "booking_number": line[NUMBER],
        }
        if line[REMAINING] is not None:
            claimed = line.booking.claimed if line.booking is not None else ZERO
            drawn = line[ALLOCATED] - line[REMAINING] + (line[ACCRUED] or ZERO) - claimed
            told |= {"used_elsewhere": max(drawn, ZERO), "balance_date": line[AS_OF]}
        return told

    def put(self, changing: Sequence[tuple[Line, dict[str, Any]]], verb: Callable[..., Any]) -> None:
        """Store bookings by the verb, and tell what it refuses and what is seldom meant."""
        drafts = []
        for line, values in changing:
            if line.booking is None:
                values = {**values, "engagement": line.plan}
            drafts.append(Draft(values, values, key=line.booking.pk if line.booking else None))
            line.is_changed = True
        lines = [line for line, _ in changing]
        self.kept(verb, drafts, [[line] for line in lines])
        for number, finding in apply_rules(drafts, validation.BOOKING_WARNINGS):
            self.warn_of(lines[number], finding)

    # --- what verbs say

    def kept(
        self, verb: Callable[..., Any], drafts: Sequence[Draft], groups: Sequence[Sequence[Line]]
    ) -> Sequence[Any]:
        """The keys that the verb gives the drafts; none when it refuses, which is told of their lines."""
        try:
            return verb(drafts) if drafts else []
        except ValidationFailed as refused:
            for number, finding in refused.issues:
                for line in groups[number]:
                    column = COLUMN_OF.get(str(finding.field), PARTICIPANT)
                    self.refuse(line, column, finding.code, finding.message)
            return [None] * len(drafts)

    def refuse(self, line: Line, column: str, code: str, message: str) -> None:
        line.faults.append(RowIssue(line.row, self.places.get(column), code, message))

    def warn(self, line: Line, column: str, code: str, message: str) -> None:
        remark = RowIssue(line.row, self.places.get(column), code, message, is_warning=True)
        line.warnings.append(remark)

    def warn_of(self, line: Line, finding: Issue) -> None:
        self.warn(line, COLUMN_OF.get(str(finding.field), PARTICIPANT), finding.code, finding.message)


# --- cells ----------------------------------------------------------------------------------------------


def readers() -> Mapping[str, CellReader]:
    """What reads each column's cells."""
    booking = service.get_service().by_model[ClientEngagement].type.navigations["ServiceBookings"].type
    date = cell_reader(booking.properties["BookingStartDate"])
    money = cell_reader(booking.properties["Budget"])
    scheme_number = cell_reader(service.get_service().by_model[Contact].type.properties["SchemeNumber"])
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
        raise JsonValueError("NotAChoice", "must be Plan Managed, Agency Managed or Self Managed.")
    return MANAGEMENT[word]


def category_cell(text: str) -> int:
    """``07`` is 7; a category's name may follow its number."""
    digits = text.split()[0]
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 4):
        raise JsonValueError("InvalidNumber", "must be the number of a support category.")
    return int(digits)


def names_in(text: str) -> Mapping[str, str]:
    """First and last name, the last being the last word."""
    first, _, last = text.rpartition(" ")
    if not first:
        raise JsonValueError("Required", "must have a first and a last part.")
    members = service.get_service().by_model[Contact].type.properties
    return {
        "first_name": cell_reader(members["FirstName"])(first),
        "last_name": cell_reader(members["LastName"])(last),
    }


# --- records --------------------------------------------------------------------------------------------


def contacts_by_number(numbers: Iterable[str]) -> Mapping[str, Sequence[Contact]]:
    """The contacts of scheme numbers; archived ones only where there is no other."""
    contacts = Contact.objects.filter(AnyOf(Contact._meta.get_field("scheme_number"), numbers))
    found: dict[str, list[Contact]] = defaultdict(list)
    for contact in contacts.order_by("pk"):
        found[str(contact.scheme_number)].append(contact)
    return {number: [each for each in held if not each.is_archived] or held for number, held in found.items()}


def new_contact(values: Mapping[str, Any]) -> Draft:
    """A contact as a body with these values would give it."""
    record = record_reader(service.get_service().by_model[Contact].type)
    return Draft({**record.defaults(), **values}, values)


def new_plan(lines: Sequence[Line], manager: Client | None) -> Draft:
    """The plan that the bookings of some lines tell of."""
    start, end = min(line[START] for line in lines), max(line[END] for line in lines)
    managed = {line[TYPE] for line in lines}
    values = {
        "participant": lines[0].contact,
        "plan_start_date": start,
        "plan_end_date": end,
        "booking_start_date": start,
        "booking_end_date": end,
        "is_plan_managed": ManagementType.PLAN.value in managed,
        "is_agency_managed": ManagementType.AGENCY.value in managed,
        "is_self_managed": ManagementType.SELF.value in managed,
        "plan_manager": manager if ManagementType.PLAN.value in managed else None,
        "total_budget_amount": ZERO,  # grows with its bookings
    }
    return EngagementDraft(values, values)


def changes_of(line: Line, told: dict[str, Any]) -> dict[str, Any]:
    """What the file tells otherwise than the booking stands; of a new one everything."""
    booking = line.booking
    if booking is None:
        return told
    return {name: value for name, value in told.items() if getattr(booking, name) != value}


def best_plan(plans: Sequence[ClientEngagement], start: dt.date, end: dt.date) -> ClientEngagement | None:
    """The plan that has most of a booking's days; ``None`` when none has any."""

    def shared(plan: ClientEngagement) -> int:
        return (min(plan.plan_end_date, end) - max(plan.plan_start_date, start)).days + 1

    best = max(plans, key=shared, default=None)
    return best if best is not None and shared(best) > 0 else None


def spans(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines whose days overlap, one after another, put together."""
    groups: list[list[Line]] = []
    last: dt.date | None = None
    for line in sorted(lines, key=lambda line: (line[START], line[END])):
        if last is None or line[START] > last:
            groups.append([])
            last = line[END]
        groups[-1].append(line)
        last = max(last, line[END])
    return groups
