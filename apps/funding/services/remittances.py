"""Remittances of the agency: what it paid of lines of claim files, applied once, whatever comes twice."""

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.utils import formats

from apps.base.batched_queries import AnyOf
from apps.base.money import ZERO
from apps.base.retries import retry_on_conflict
from apps.core import history
from apps.funding.file_formats.remittances import RemittanceRow
from apps.funding.models import Remittance, RemittanceLine
from apps.funding.services.answers import (
    AWAITING_MONEY,
    AnsweredLine,
    AnswerReport,
    Moves,
    Note,
    Tally,
    insert_numbered,
    load_answered_bills,
    note_payment,
)

#: Codes of warnings by which a file may be wrong: somebody looks at it before it is imported.
CLAIMED_DIFFERS, PAID_TOO_EARLY = "ClaimedDiffers", "PaidTooEarly"
REMITTANCE_WORDS = ("applied", "applied_already", "unmatched", "in_conflict", "not_applicable")


def import_remittance(
    rows: Sequence[RemittanceRow], file_name: str, sha256: str, dry_run: bool = False
) -> AnswerReport:
    """Store a remittance and apply what is certain, all in one transaction; a second time nothing changes."""

    @retry_on_conflict
    def write() -> AnswerReport:
        with transaction.atomic():
            report = RemittanceImport(rows, file_name, sha256).run()
            transaction.set_rollback(dry_run)
        return report

    return write()


class RemittanceImport:
    """The import of one file."""

    def __init__(self, rows: Sequence[RemittanceRow], file_name: str, sha256: str) -> None:
        self.rows, self.file_name, self.sha256 = rows, file_name[-255:], sha256
        self.answered = load_answered_bills(row.reference for row in rows)
        self.report = AnswerReport({word: Tally() for word in REMITTANCE_WORDS})
        #: What is stored of lines, by (file line, payment number): amounts with their rows.
        self.stored: dict[tuple[int, str], dict[Decimal, RemittanceLine]] = defaultdict(dict)
        keys = [line.key for line in self.answered.by_reference.values()]
        for each in RemittanceLine.objects.filter(AnyOf("file_line", keys)).order_by("pk"):
            self.stored[each.file_line_id, each.payment_number][each.amount] = each
        self.new: list[RemittanceLine] = []
        #: Rows whose money is to be recorded, with their place in the file and in the database.
        self.certain: list[tuple[RemittanceRow, AnsweredLine, RemittanceLine]] = []

    def run(self) -> AnswerReport:
        for row in self.rows:
            line = self.answered.find(row.reference)
            if line is None:
                self.report.add("unmatched", row.amount)
                continue
            word, message = self.check(row, line)
            if word == "applied":
                note_payment(line, row.amount, row.day)
                line.recorded += row.amount
                self.certain.append((row, line, self.store(row, line, "")))
                self.warn(row, line)
                continue
            if word != "applied_already":
                self.store(row, line, message)
            self.note(row, line, word, message)
        self.pay()
        self.save()
        return self.report

    def check(self, row: RemittanceRow, line: AnsweredLine) -> tuple[str, str]:
        """The outcome of a row, and why it changes nothing."""
        same_number = self.stored.get((line.key, row.payment_number), {})
        applied = [amount for amount, stored in same_number.items() if stored.is_applied]
        if row.amount in applied:
            return "applied_already", ""
        if applied:
            text = f"the payment {row.payment_number} was {applied[0]:,.2f} before"
            return "in_conflict", f"{text}, and is {row.amount:,.2f} now."
        if row.amount < 0:
            text = f"{row.amount:,.2f} takes money back: record that by hand, with a reason."
            return "not_applicable", text
        if not row.amount:
            return "not_applicable", "it pays nothing."
        if obstacle := self.answered.obstacle(line, AWAITING_MONEY):
            return "not_applicable", obstacle
        if line.paid + row.amount > line.amount:
            text = f"{row.amount:,.2f} is more than the {line.amount:,.2f} that were claimed"
            return "in_conflict", text + (f", of which {line.paid:,.2f} were paid." if line.paid else ".")
        return "applied", ""

    def warn(self, row: RemittanceRow, line: AnsweredLine) -> None:
        """Note what looks as if the row were another line's; it is applied all the same."""
        notes = {}
        if row.claimed is not None and row.claimed != line.amount:
            amounts = f"{row.claimed:,.2f} as claimed, and {line.amount:,.2f} were claimed"
            notes[CLAIMED_DIFFERS] = f"the agency names {amounts}."
        if row.day < line.made:
            paid, made = (formats.date_format(day, "j M Y") for day in (row.day, line.made))
            notes[PAID_TOO_EARLY] = f"it was paid on {paid}, before its claim file was made on {made}."
        for code, text in notes.items():
            message = f"{line.reference} of {line.bill}: {text}"
            self.report.notes.append(Note(row.row, code, message, is_warning=True))

    def store(self, row: RemittanceRow, line: AnsweredLine, reason: str) -> RemittanceLine:
        """The row as it is stored, once for its line, number and amount; applied without a reason."""
        same_number = self.stored[line.key, row.payment_number]
        stored = same_number.get(row.amount)
        if stored is None:
            stored = RemittanceLine(
                position=row.row.number,
                file_line_id=line.key,
                payment_number=row.payment_number,
                day=row.day,
                amount=row.amount,
                claimed=row.claimed,
                extra=dict(row.extra),
                is_applied=not reason,
                reason=reason[:400],
            )
            same_number[row.amount] = stored
            self.new.append(stored)
        elif not reason:
            stored.is_applied, stored.reason = True, ""
        return stored

    def note(self, row: RemittanceRow, line: AnsweredLine, word: str, message: str) -> None:
        self.report.add(word, row.amount)
        if message:
            code = "InConflict" if word == "in_conflict" else "NotApplicable"
            message = f"{line.reference} of {line.bill}: {message}"
            self.report.notes.append(Note(row.row, code, message))

    def pay(self) -> None:
        """Record the money bill by bill; where a bill takes none, its rows are not applied."""
        payments: dict[UUID, dict[UUID, Decimal]] = defaultdict(lambda: defaultdict(lambda: ZERO))
        for row, line, _ in self.certain:
            if line.line is not None:
                payments[line.bill.pk][line.line] += row.amount
        moves = Moves(self.answered, self.report)
        moves.pay(payments)
        for row, line, stored in self.certain:
            problem = "its line is gone." if line.line is None else moves.refused.get(line.bill.pk, "")
            if problem:
                stored.is_applied, stored.reason = False, problem[:400]
                line.recorded -= row.amount
            self.note(row, line, "not_applicable" if problem else "applied", problem)
        short = {
            line.key: (row, line)
            for row, line, stored in self.certain
            if stored.is_applied and line.paid < line.amount
        }
        for row, line in short.values():
            text = f"{line.reference} of {line.bill}: {line.paid:,.2f} of {line.amount:,.2f} are paid so far."
            self.report.notes.append(Note(row.row, "Short", text, is_warning=True))
        moves.write_off(payments)

    def save(self) -> None:
        """Store the remittance with the rows that no other had; nothing of a file without a line of ours."""
        changed = [stored for _, _, stored in self.certain if stored.pk is not None and stored.is_applied]
        RemittanceLine.objects.bulk_update(changed, ("is_applied", "reason"), batch_size=1_000)
        unmatched = self.report.tallies["unmatched"]
        if unmatched.count == len(self.rows):
            return
        remittance = Remittance.objects.filter(sha256=self.sha256).first()
        if remittance is None:
            remittance = Remittance(
                file_name=self.file_name,
                sha256=self.sha256,
                received_by_id=history.author().staff_id,
                day=max(row.day for row in self.rows),
                row_count=len(self.rows),
                total=sum((row.amount for row in self.rows), ZERO),
            )
        remittance.unmatched_count, remittance.unmatched_total = unmatched.count, unmatched.total
        if remittance._state.adding or history.differences(remittance):
            remittance.save()
        for each in self.new:
            each.remittance = remittance
        insert_numbered(RemittanceLine, self.new)
