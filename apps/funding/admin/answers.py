"""Results and remittances of the agency as files that the back office imports."""

from collections.abc import Mapping
from pathlib import Path

from apps.base import clock
from apps.core.file_import_kinds import (
    FILE_KINDS,
    FileColumn,
    ImportKind,
    ImportOrder,
    ImportOutcome,
    ImportQuestion,
    fixed_columns,
)
from apps.core.importing.fixed_columns import InvalidRows
from apps.core.importing.report import ImportReport, RowIssue
from apps.core.table_files.tables import Table
from apps.funding.choices import BillPermission
from apps.funding.file_formats.answer_files import check_size, sha256_of
from apps.funding.file_formats.remittances import DAY_FORMS, read_remittance
from apps.funding.file_formats.results import read_results
from apps.funding.models import ClaimResult, Remittance
from apps.funding.services.answers import AnswerReport
from apps.funding.services.claim_results import RESULT_WORDS, import_results
from apps.funding.services.remittances import (
    CLAIMED_DIFFERS,
    PAID_TOO_EARLY,
    REMITTANCE_WORDS,
    import_remittance,
)

DAY_FORM = ImportQuestion(
    "day_form",
    "Days",
    "",
    (("", "as the file shows"), *((form, f"written {form}") for form in DAY_FORMS)),
)
#: What a file with faults counts: nothing of it is stored.
FAULTS = "rejected"
#: So many faults are shown.
SHOWN_FAULTS = 100


def read_columns(path: Path, chosen: Mapping[str, object]) -> list[FileColumn]:
    check_size(path)
    return fixed_columns(path, chosen)


def import_results_file(order: ImportOrder) -> ImportOutcome:
    try:
        table, rows = read_results(order.path)
    except InvalidRows as invalid:
        return show_faults(order, invalid)
    return show_report(order, table, import_results(rows, order.path.name, order.dry_run))


def import_remittance_file(order: ImportOrder) -> ImportOutcome:
    try:
        table, rows = read_remittance(order.path, clock.today(), str(order.options["day_form"]) or None)
    except InvalidRows as invalid:
        return show_faults(order, invalid)
    report = import_remittance(rows, order.path.name, sha256_of(order.path), order.dry_run)
    return show_report(order, table, report)


def show_faults(order: ImportOrder, invalid: InvalidRows) -> ImportOutcome:
    for fault in invalid.faults[:SHOWN_FAULTS]:
        order.display.show_notice(fault)
    return ImportOutcome({FAULTS: len(invalid.faults)})


def show_report(order: ImportOrder, table: Table, report: AnswerReport) -> ImportOutcome:
    """The sums as notices, and what there is to know about single rows beside them."""
    for notice in (*report.summary(), *table.notices()):
        order.display.show_notice(notice)
    issues = ImportReport(table, None, order.display.show_issue, order.issues, order.display.reword)
    for note in report.notes:
        issues.note(RowIssue(note.row, None, note.code, note.message, note.is_warning))
    issues.close()
    return ImportOutcome(report.counts, issues.kinds)


FILE_KINDS.extend(
    (
        ImportKind(
            "results",
            "Results of the agency",
            ClaimResult,
            import_results_file,
            options=(),
            permissions=(f"funding.{BillPermission.PAY}",),
            read_columns=read_columns,
            count_words=(*RESULT_WORDS, FAULTS),
            good_words=("accepted", "refused"),
            good_noun="answer",
            undoable=False,
            takes_many_files=True,
        ),
        ImportKind(
            "remittances",
            "Remittances of the agency",
            Remittance,
            import_remittance_file,
            options=(DAY_FORM,),
            permissions=(f"funding.{BillPermission.PAY}",),
            read_columns=read_columns,
            count_words=(*REMITTANCE_WORDS, FAULTS),
            good_words=("applied",),
            good_noun="payment",
            undoable=False,
            takes_many_files=True,
            blocking_warnings=(CLAIMED_DIFFERS, PAID_TOO_EARLY),
        ),
    )
)
