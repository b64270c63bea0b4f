"""Imports of the list of service bookings that the agency's portal exports, one booking to a row.

Participants are found by their scheme number, bookings by their number. A booking goes into the plan that
covers it, else into the one it overlaps most; where there is none, a plan is created that spans the bookings
of the participant in the file. The budget of a plan that is wholly allocated follows its bookings: such plans
were created from bookings, and nothing more is known of their budget.

The file has the allocated, remaining and accrued amounts. The agency's balance counts every claim, also those
of this service, so the amount *used elsewhere* is allocated − remaining + accrued − claimed here.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.base.batched_queries import AnyOf
from apps.base.declaration.service import get_service
from apps.base.declaration.values import WireValueError
from apps.base.drafts import Draft, ValidationFailed, WarningsPresent
from apps.base.money import ZERO
from apps.base.new_records import defaults_of
from apps.core.importing.definition import ImportOptions
from apps.core.importing.report import ImportReport
from apps.core.importing.runs import ImportDisplay, import_of_fixed_columns
from apps.core.models import normalised
from apps.core.table_files.opening import open_table
from apps.engagements.choices import ManagementType
from apps.engagements.coverage import load_current_plans
from apps.engagements.drafts import BookingDraft, EngagementDraft
from apps.engagements.imports.service_booking_rows import (
    COLUMN_OF_MEMBER,
    BookingLine,
    find_booking_columns,
    read_lines,
    read_name,
)
from apps.engagements.models import ClientEngagement, ServiceBooking, SupportCategory
from apps.engagements.services import create_bookings, create_engagements, update_bookings, update_engagements
from apps.people.drafts import ContactDraft
from apps.people.merging import find_in_use
from apps.people.models import Client, Contact
from apps.people.services import create_contacts


@dataclass(frozen=True, slots=True)
class CreatedRecords:
    """The numbers of records that an import created besides bookings."""

    participants: int = 0
    plans: int = 0


def import_bookings(
    path: Path,
    options: ImportOptions,
    create_participants: bool = False,
    display: ImportDisplay | None = None,
) -> tuple[ImportReport, CreatedRecords]:
    """Import a file; ``ImportFileError`` when the file cannot be read at all.

    Valid rows are stored in one transaction, rejected ones reported and written to the file of errors. The
    whole file is in memory: such lists have a row for each booking of one provider.
    """
    display = display or ImportDisplay()
    table = open_table(path)
    columns = find_booking_columns(table, display, options.day_first)
    with import_of_fixed_columns(path, table, columns, options, display) as (report, rows):
        portal_import = PortalImport(create_participants)
        lines = read_lines(rows, columns)
        portal_import.check_categories(lines)
        created = portal_import.store(lines, options.dry_run)
        report_lines(lines, report)
    return report, created


def report_lines(lines: Iterable[BookingLine], report: ImportReport) -> None:
    for line in lines:
        if line.errors:
            report.reject([line.row], line.errors)
            continue
        if line.is_changed:
            report.warn([*line.cell_warnings, *line.warnings])
        if not line.is_changed:
            report.counts.unchanged += 1
        elif line.booking is None:
            report.counts.new += 1
        else:
            report.counts.changed += 1


class PortalImport:
    """The import of one file."""

    def __init__(self, create_participants: bool) -> None:
        self.create_participants = create_participants
        self.categories = {each.number: each for each in SupportCategory.objects.all()}

    def check_categories(self, lines: Iterable[BookingLine]) -> None:
        for line in lines:
            number = line.product_category
            if number is not None and number not in self.categories:
                line.add_error(
                    "product_category", "NotFound", "There is no support category with that number."
                )

    # --- storing

    def store(self, lines: Sequence[BookingLine], dry_run: bool) -> CreatedRecords:
        """Store the valid lines. Whatever a rejected line had created is rolled back."""
        while True:
            valid = [line for line in lines if not line.errors]
            with transaction.atomic():
                created = self.attempt(valid)
                if all(not line.errors for line in valid):
                    if dry_run:
                        transaction.set_rollback(True)
                    return created
                transaction.set_rollback(True)
            for line in valid:
                line.contact = line.booking = line.plan = None
                line.is_changed = False
                line.warnings.clear()

    def attempt(self, lines: Sequence[BookingLine]) -> CreatedRecords:
        """Store the lines as if all of them were valid; the others get their errors."""
        participants = self.find_participants(lines)
        self.find_bookings([line for line in lines if line.contact is not None])
        valid = [line for line in lines if not line.errors and line.contact is not None]
        plans = self.find_plans(valid)
        valid = [line for line in valid if not line.errors]
        changes = [(line, changed_values(line, self.booking_values(line))) for line in valid]
        changing = [(line, values) for line, values in changes if values]
        self.adjust_total_budgets([line for line, _ in changing])
        self.save_bookings([pair for pair in changing if pair[0].booking is None], create_bookings)
        self.save_bookings([pair for pair in changing if pair[0].booking is not None], update_bookings)
        return CreatedRecords(participants, plans)

    # --- participants

    def find_participants(self, lines: Sequence[BookingLine]) -> int:
        """Find the participant of each line; how many were created."""
        known = contacts_by_number({line.participant for line in lines})
        unknown: dict[str, list[BookingLine]] = defaultdict(list)
        for line in lines:
            found = known.get(line.participant, ())
            if len(found) == 1:
                line.contact = found[0]
                self.compare_name(line, found[0])
            elif found:
                message = f"{len(found)} contacts have this scheme number; which one is meant?"
                line.add_error("participant", "Ambiguous", message)
            else:
                unknown[line.participant].append(line)
        if not self.create_participants:
            for line in (line for lines in unknown.values() for line in lines):
                message = "No contact has this scheme number. --create-participants would create one."
                line.add_error("participant", "NotFound", message)
            return 0
        return self.create_participants_of(list(unknown.values()))

    def compare_name(self, line: BookingLine, contact: Contact) -> None:
        if line.participant_name and normalised(line.participant_name) != normalised(contact.full_name):
            line.add_warning(
                "participant_name", "NameDiffers", f"The contact of this number is {contact.full_name}."
            )

    def create_participants_of(self, unknown: Sequence[Sequence[BookingLine]]) -> int:
        """Create a contact for the lines of each unknown participant; how many were created."""
        named = []
        for lines in unknown:
            try:
                named.append((lines, read_name(lines[0].participant_name or "")))
            except WireValueError as error:
                for line in lines:
                    line.add_error(
                        "participant_name", error.code, f"A new participant's name {error.sentence}"
                    )
        defaults = defaults_of(get_service().by_model[Contact].type)
        values = [{**name, "scheme_number": lines[0].participant} for lines, name in named]
        drafts = [ContactDraft(defaults.complete(given), given) for given in values]
        keys = self.call_service(create_contacts, drafts, [lines for lines, _ in named])
        contacts = Contact.objects.in_bulk([key for key in keys if key is not None])
        for (lines, _), key in zip(named, keys, strict=True):
            for line in lines:
                line.contact = contacts.get(key)
        return len(contacts)

    # --- existing bookings

    def find_bookings(self, lines: Sequence[BookingLine]) -> None:
        """Find the existing booking of each line by its number."""
        numbers = {normalised(line.service_booking_id) for line in lines}
        existing = ServiceBooking.objects.filter(AnyOf("booking_number_key", numbers)).select_related(
            "engagement__participant", "category"
        )
        by_number = {booking.booking_number_key: booking for booking in existing}
        for line in lines:
            booking = by_number.get(normalised(line.service_booking_id) or "")
            if booking is None:
                continue
            if line.contact is None or booking.engagement.participant_id != line.contact.pk:
                participant = booking.engagement.participant
                line.add_error(
                    "service_booking_id", "AlreadyUsed", f"It is the number of a booking of {participant}."
                )
            elif (
                booking.balance_date
                and line.last_modified_date
                and line.last_modified_date < booking.balance_date
            ):
                message = f"The balance of {booking.balance_date:%d %b %Y} is known already."
                line.add_error("last_modified_date", "Outdated", message)
            else:
                line.booking, line.plan = booking, booking.engagement

    # --- plans

    def find_plans(self, lines: Sequence[BookingLine]) -> int:
        """Find the plan of each line without a booking; how many were created."""
        by_contact: dict[UUID, list[BookingLine]] = defaultdict(list)
        for line in lines:
            if line.plan is None and line.contact is not None:
                by_contact[line.contact.pk].append(line)
        existing = load_current_plans(by_contact)
        without_plan: list[list[BookingLine]] = []
        for contact, of_contact in by_contact.items():
            for line in of_contact:
                line.plan = best_plan(existing.get(contact, ()), line.start_date, line.end_date)
            without_plan += group_overlapping([line for line in of_contact if line.plan is None])
        return self.create_plans(without_plan)

    def create_plans(self, groups: Sequence[Sequence[BookingLine]]) -> int:
        manager = Client.objects.filter(is_self=True).first()
        drafts = [new_plan(lines, manager) for lines in groups]
        keys = self.call_service(create_engagements, drafts, groups)
        plans = ClientEngagement.objects.in_bulk([key for key in keys if key is not None])
        for lines, key in zip(groups, keys, strict=True):
            for line in lines:
                line.plan = plans.get(key)
        return len(plans)

    def adjust_total_budgets(self, lines: Sequence[BookingLine]) -> None:
        """Set the budget of wholly allocated plans to the sum that their bookings will have."""
        by_plan: dict[UUID, list[BookingLine]] = defaultdict(list)
        for line in lines:
            if line.plan is not None:
                by_plan[line.plan.pk].append(line)
        rows = ClientEngagement.objects.filter(pk__in=by_plan).values_list(
            "pk", "total_budget_amount", "total_allocate_amount"
        )
        totals = {}
        for key, total, allocated in rows:
            change = sum(
                (
                    line.allocated_amount - (line.booking.budget if line.booking else ZERO)
                    for line in by_plan[key]
                ),
                ZERO,
            )
            if total == allocated and change:
                totals[key] = total + change
        drafts = [
            EngagementDraft({"total_budget_amount": total}, ["total_budget_amount"], key=key)
            for key, total in totals.items()
        ]
        # The bookings that the new budgets allow for are stored after them.
        service = partial(update_engagements, ignore_warnings=True)
        self.call_service(service, drafts, [by_plan[key] for key in totals])

    # --- bookings

    def booking_values(self, line: BookingLine) -> dict[str, Any]:
        """The columns of the line's booking in the file."""
        category = self.categories[line.product_category]
        values = {
            "category": category,
            "support_purpose": category.support_purpose,
            "support_item": line.product_category_item,
            "management_type": line.booking_type,
            "budget": line.allocated_amount,
            "booking_start_date": line.start_date,
            "booking_end_date": line.end_date,
            "booking_number": line.service_booking_id,
        }
        if line.remaining_amount is not None:
            claimed = line.booking.claimed if line.booking is not None else ZERO
            used = line.allocated_amount - line.remaining_amount + (line.accrual_amount or ZERO) - claimed
            values |= {"used_elsewhere": max(used, ZERO), "balance_date": line.last_modified_date}
        return values

    def save_bookings(
        self, changing: Sequence[tuple[BookingLine, dict[str, Any]]], service: Callable[..., Any]
    ) -> None:
        """Store bookings by the service, with its warnings."""
        drafts = []
        for line, values in changing:
            if line.booking is None:
                values = {**values, "engagement": line.plan}
            drafts.append(BookingDraft(values, values, key=line.booking.pk if line.booking else None))
            line.is_changed = True
        self.call_service(service, drafts, [[line] for line, _ in changing])

    # --- services

    def call_service(
        self, service: Callable[..., Any], drafts: Sequence[Draft], groups: Sequence[Sequence[BookingLine]]
    ) -> Sequence[Any]:
        """The keys of the drafts; ``None`` for each when the service rejects them: the lines get errors.

        The first line of a group gets the warnings.
        """
        try:
            return service(drafts) if drafts else []
        except WarningsPresent as found:
            for number, issue in found.issues:
                line, column = groups[number][0], COLUMN_OF_MEMBER.get(str(issue.field), "participant")
                line.add_warning(column, issue.code, issue.message)
            return service(drafts, ignore_warnings=True)
        except ValidationFailed as failed:
            for number, issue in failed.issues:
                for line in groups[number]:
                    column = COLUMN_OF_MEMBER.get(str(issue.field), "participant")
                    line.add_error(column, issue.code, issue.message)
            return [None] * len(drafts)


# --- records --------------------------------------------------------------------------------------------


def contacts_by_number(numbers: Iterable[str]) -> Mapping[str, Sequence[Contact]]:
    """The contacts of scheme numbers."""
    contacts = Contact.objects.filter(AnyOf("scheme_number", numbers)).select_related("merged_into")
    found: dict[str, list[Contact]] = defaultdict(list)
    for contact in contacts.order_by("pk"):
        found[str(contact.scheme_number)].append(contact)
    return {number: find_in_use(group) for number, group in found.items()}


def new_plan(lines: Sequence[BookingLine], manager: Client | None) -> EngagementDraft:
    """The draft of a plan that spans the bookings of some lines."""
    start, end = min(line.start_date for line in lines), max(line.end_date for line in lines)
    managed = {line.booking_type for line in lines}
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


def changed_values(line: BookingLine, values: dict[str, Any]) -> dict[str, Any]:
    """The values that differ from the existing booking; all of a new one."""
    booking = line.booking
    if booking is None:
        return values
    return {name: value for name, value in values.items() if getattr(booking, name) != value}


def best_plan(plans: Sequence[ClientEngagement], start: dt.date, end: dt.date) -> ClientEngagement | None:
    """The plan with most days of a booking; ``None`` when no plan has any."""

    def shared(plan: ClientEngagement) -> int:
        return (min(plan.last_day, end) - max(plan.plan_start_date, start)).days + 1

    best = max(plans, key=shared, default=None)
    return best if best is not None and shared(best) > 0 else None


def group_overlapping(lines: Sequence[BookingLine]) -> list[list[BookingLine]]:
    """Lines participant days overlap, one after another, put together."""
    groups: list[list[BookingLine]] = []
    last: dt.date | None = None
    for line in sorted(lines, key=lambda line: (line.start_date, line.end_date)):
        if last is None or line.start_date > last:
            groups.append([])
            last = line.end_date
        groups[-1].append(line)
        last = max(last, line.end_date)
    return groups
