"""Results of the agency: one is stored for each line of a claim file, and what was refused whole moves."""

from collections.abc import Sequence

from django.db import transaction

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.retries import retry_on_conflict
from apps.core import history
from apps.funding.file_formats.results import ResultRow
from apps.funding.models import ClaimResult, RejectionSentence
from apps.funding.services.answers import (
    AnsweredBills,
    AnsweredLine,
    AnswerReport,
    Moves,
    Note,
    Tally,
    insert_numbered,
    load_answered_bills,
    refusal_sentence,
)

RESULT_WORDS = ("accepted", "refused", "known_already", "unmatched", "in_conflict", "not_applicable")
#: The codes of notes by these words; of the others NotApplicable.
NOTE_CODES = {"accepted": "Short", "refused": "Refused", "in_conflict": "InConflict"}
#: The columns of a result that another file may complete, or turn into a refusal.
CHANGED_COLUMNS = ("is_accepted", "code", "text", "amount", "is_capped", "extra", "file_name", "at", "staff")


def import_results(rows: Sequence[ResultRow], file_name: str, dry_run: bool = False) -> AnswerReport:
    """Store results and apply what is certain, all in one transaction; a second time nothing changes."""

    @retry_on_conflict
    def write() -> AnswerReport:
        with transaction.atomic():
            report = ResultImport(rows, file_name).run()
            transaction.set_rollback(dry_run)
        return report

    return write()


class ResultImport:
    """The import of one file."""

    def __init__(self, rows: Sequence[ResultRow], file_name: str) -> None:
        self.rows, self.file_name = rows, file_name[-255:]
        self.answered: AnsweredBills = load_answered_bills(row.reference for row in rows)
        self.report = AnswerReport({word: Tally() for word in RESULT_WORDS})
        #: Lines whose result is new or has changed, each with the row that says so.
        self.changed: dict[int, tuple[AnsweredLine, ResultRow]] = {}
        lines = self.answered.by_reference.values()
        self.sentences = RejectionSentence.current()
        self.known = {line.key for line in lines if line.is_accepted is not None}

    def run(self) -> AnswerReport:
        for row in self.rows:
            line = self.answered.find(row.reference)
            if line is None:
                self.report.add("unmatched", row.amount)
                continue
            word, message = self.take(row, line)
            is_warning = word in ("accepted", "refused", "known_already")
            self.report.add(word, row.amount if row.is_accepted else line.amount)
            if message:
                code = NOTE_CODES.get(word, "NotApplicable")
                self.report.notes.append(Note(row.row, code, message, is_warning))
        self.save()
        moves = Moves(self.answered, self.report)
        moves.refuse()
        moves.write_off(key for bills in self.answered.bills.values() for key in bills)
        return self.report

    def take(self, row: ResultRow, line: AnsweredLine) -> tuple[str, str]:
        """The outcome of a row, and a sentence about it."""
        subject = f"{line.reference} of {line.bill}"
        is_same = row.is_accepted is not None and row.is_accepted == line.is_accepted
        if is_same and (not row.is_accepted or row.amount in (None, line.promised)):
            return "known_already", ""
        if obstacle := self.answered.obstacle(line):
            return "not_applicable", f"{line.reference}: {obstacle}"
        if row.is_accepted is None:
            return "not_applicable", f"{subject}: “{row.status}” is neither accepted nor refused."
        if row.is_accepted:
            return self.take_accepted(row, line, subject)
        if line.recorded:
            return "in_conflict", f"{subject}: refused, but {line.recorded:,.2f} of it were paid."
        line.is_accepted, line.code, line.text, line.promised = False, row.code, row.text, row.amount
        self.changed[line.key] = (line, row)
        sentence = refusal_sentence(row.code, row.text, self.sentences)
        return "refused", f"{subject}, {line.amount:,.2f}: {sentence}"

    def take_accepted(self, row: ResultRow, line: AnsweredLine, subject: str) -> tuple[str, str]:
        if line.is_accepted is False:
            return "in_conflict", f"{subject}: accepted, but refused before ({line.text or line.code})."
        if line.is_accepted and line.promised is not None:
            text = f"{row.amount:,.2f} are promised now, {line.promised:,.2f} were before."
            return "in_conflict", f"{subject}: {text}"
        line.is_accepted, line.promised, line.is_capped = True, row.amount, row.is_capped
        self.changed[line.key] = (line, row)
        if row.amount is None or row.amount >= line.amount:
            return "accepted", ""
        return "accepted", f"{subject}: {row.amount:,.2f} of {line.amount:,.2f} will be paid."

    def save(self) -> None:
        author = history.author()
        results = {
            key: ClaimResult(
                file_line_id=key,
                is_accepted=bool(row.is_accepted),
                code=row.code[:50],
                text=row.text,
                amount=row.amount,
                is_capped=row.is_capped,
                extra=dict(row.extra),
                file_name=self.file_name,
                at=clock.now(),
                staff_id=author.staff_id,
                application=author.application,
            )
            for key, (_, row) in self.changed.items()
        }
        new = [result for key, result in results.items() if key not in self.known]
        insert_numbered(ClaimResult, new)
        stored = list(ClaimResult.objects.filter(AnyOf("file_line", self.known & results.keys())))
        for each in stored:
            results[each.file_line_id].pk = each.pk
        changed = [results[each.file_line_id] for each in stored]
        ClaimResult.objects.bulk_update(changed, CHANGED_COLUMNS, batch_size=1_000)
