"""The bank's file of returned payments, as the back office imports it; no records are imported."""

from decimal import Decimal

from django.db import transaction

from apps.core import history
from apps.core.file_import_kinds import ImportOrder, ImportOutcome
from apps.core.table_files.tables import ImportFileError
from apps.payments.file_formats.bank_file import UnfitBankFile
from apps.payments.file_formats.bank_returns import read_returns
from apps.payments.services.returns import apply_returns, return_sentences
from apps.people.models import Staff


def import_returned_payments(order: ImportOrder) -> ImportOutcome:
    """Mark the payments that came back; a file that is imported again changes nothing."""
    try:
        rows = read_returns(order.path.read_bytes())
    except UnfitBankFile as unfit:
        raise ImportFileError(str(unfit)) from None
    author = history.author().staff_id
    staff = Staff.objects.get(pk=author) if author is not None else None
    with transaction.atomic():
        report = apply_returns(rows, staff)
        transaction.set_rollback(order.dry_run)
    total = sum((row.amount for row in rows), Decimal(0))
    order.display.show_notice(f"{len(rows):,} returned payments ({total:,.2f}) are in the file.")
    for sentence in return_sentences(report):
        order.display.show_notice(sentence)
    counts = {"came_back": len(report.returned), "known_already": len(report.already)}
    return ImportOutcome({**counts, "of_nobody": len(report.unknown)})
