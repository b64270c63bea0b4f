"""The agency's list of bookings as a file that the back office imports."""

from dataclasses import asdict

from apps.core.file_import_kinds import (
    DAY_ORDER,
    FILE_KINDS,
    ImportKind,
    ImportOrder,
    ImportOutcome,
    ImportQuestion,
    fixed_columns,
    stated_day_first,
)
from apps.core.importing.definition import ImportOptions
from apps.engagements.imports.service_bookings import import_bookings
from apps.engagements.models import ClientEngagement, ServiceBooking
from apps.people.models import Contact


def import_booking_list(order: ImportOrder) -> ImportOutcome:
    day_first = stated_day_first(order.options)
    options = ImportOptions(
        errors=order.errors, issues=order.issues, dry_run=order.dry_run, day_first=day_first
    )
    report, created = import_bookings(
        order.path, options, order.options["create_participants"], order.display
    )
    if created.plans or created.participants:
        order.display.show_notice(
            f"Also created: {created.plans:,} plans, {created.participants:,} participants."
        )
    return ImportOutcome(asdict(report.counts), report.kinds)


FILE_KINDS.append(
    ImportKind(
        "service-bookings",
        "Booking list of the agency",
        ServiceBooking,
        import_booking_list,
        options=(ImportQuestion("create_participants", "Create participants"), DAY_ORDER),
        read_columns=fixed_columns,
        other_models=(ClientEngagement, Contact),
    )
)
