"""One import from beginning to end: read, validate, store, report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from apps.core import history
from apps.core.importing.additions import Importing
from apps.core.importing.careful import CarefulWay
from apps.core.importing.headers import Understanding, listed_part, understood
from apps.core.importing.opening import format_of, opened
from apps.core.importing.records import FileRecord
from apps.core.importing.reports import Remark, Report, errors_beside
from apps.core.importing.tables import Table, Unusable
from apps.core.models import Subscriber
from apps.odata import clock
from apps.odata.declaration.schema import EntitySet
from apps.odata.errors import Conflict
from apps.odata.write.dispatch import retry_on_conflict

#: Rows judged one by one and stored in one transaction.
BATCH = 1_000


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What the user asks of an import. ``told`` is what ``--map`` says: ``{header: field}``."""

    told: Mapping[str, str] = field(default_factory=dict)
    match: str | None = None
    errors: Path | None = None
    encoding: str | None = None
    sheet: str | None = None
    day_first: bool = True
    updates: bool = True
    ignore_unknown: bool = False
    ignore_warnings: bool = False
    by_name: bool = False
    all_or_nothing: bool = False
    dry_run: bool = False


@dataclass
class Listener:
    """Who follows an import; every call may do nothing."""

    say: Callable[[str], None] = lambda text: None
    tell: Callable[[str, Remark], None] = lambda text, remark: None
    judged: Callable[[int, int | None], None] = lambda rows, of: None


class Undone(Exception):
    """Raised to take everything back: a trial, or a bad row where all must be good."""


def importing_of(entity_set: EntitySet) -> Importing:
    """How the resource is imported; ``Unusable`` when it is not."""
    found = entity_set.resource.importing
    if found is None:
        raise Unusable(f"{entity_set.path} cannot be imported.")
    importing: Importing = found(entity_set)
    return importing


def import_file(entity_set: EntitySet, path: Path, wishes: Wishes, listener: Listener) -> Report:
    """Import a file; ``Unusable`` when nothing of it can be, else the report says what went how.

    All rows that are good are stored, in transactions of many rows; with ``all_or_nothing`` all or none.
    """
    importing = importing_of(entity_set)
    importing.folder = path.resolve().parent
    entity_set = importing.entity_set
    part = listed_part(entity_set.type)
    table = opened(path, wishes.encoding, wishes.sheet, [part.name] if part is not None else [])
    understanding = understood(
        table,
        entity_set,
        importing.synonyms,
        wishes.told,
        ignore_unknown=wishes.ignore_unknown,
        finders=importing.finders,
        by_name=wishes.by_name,
    )
    for remark in (*table.remarks(), *understanding.remarks):
        listener.say(remark)
    errors = wishes.errors or errors_beside(path)
    check_errors(errors, path)
    report = Report(table, errors, listener.tell)
    run = Run(entity_set, table, understanding, importing, report, wishes, listener)
    try:
        with history.as_author(author()), timezone.override(Subscriber.current().zone):
            run.go()
    finally:
        report.close()
        importing.close()
    return report


def check_errors(errors: Path, path: Path) -> None:
    """``Unusable`` now, rather than at the first refused row, when refused rows cannot be written there."""
    format_of(errors)
    if errors.exists() and errors.samefile(path):
        raise Unusable(f"{errors} is the file to import; --errors must name another.")
    if not os.access(errors if errors.exists() else errors.parent, os.W_OK):
        raise Unusable(f"{errors} cannot be written; --errors names another place for refused rows.")


def author() -> history.Author:
    """Whoever is known to write, through the door of imports."""
    known = history.author()
    return history.Author("Import", known.staff_id, known.application, known.request_id)


class Run:
    """One import under way."""

    def __init__(
        self,
        entity_set: EntitySet,
        table: Table,
        understanding: Understanding,
        importing: Importing,
        report: Report,
        wishes: Wishes,
        listener: Listener,
    ) -> None:
        self.entity_set = entity_set
        self.table = table
        self.columns = understanding.columns
        self.importing = importing
        self.report = report
        self.wishes = wishes
        self.listener = listener
        self.match = self._match()
        self.careful = CarefulWay(
            entity_set,
            self.columns,
            importing,
            self.match,
            report,
            wishes.day_first,
            wishes.updates,
            wishes.ignore_warnings,
        )

    def _match(self) -> Sequence[str]:
        """The members that rows are found by: the one asked for, else the resource's own."""
        wish = self.wishes.match
        if wish is None:
            return self.importing.match
        names = {column.member.name.casefold(): column.member for column in self.columns}
        member = names.get(wish.casefold())
        if member is None:
            raise Unusable(f"--match {wish}: no column of the file gives it.")
        if member.reference is not None or member.prop.related_model is not None or "/" in member.name:
            raise Unusable(f"--match {wish}: records are found by a value of their own.")
        return [member.name]

    def go(self) -> None:
        """Judge and store every row."""
        try:
            with self._whole():
                self._row_by_row()
                if self.wishes.dry_run or (self.wishes.all_or_nothing and self.report.sums.refused):
                    raise Undone
        except Undone:
            pass
        finally:
            self.careful.close()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """One transaction around everything where it may have to be taken back, else none."""
        if not (self.wishes.dry_run or self.wishes.all_or_nothing):
            yield
            return
        with transaction.atomic():
            yield

    # --- row by row

    def _row_by_row(self) -> None:
        total = sum(
            1 for _ in self.table.rows()
        )  # a file that breaks off is refused before anything is stored
        rows = self.table.rows()
        done = 0
        for batch in self.careful.batches(rows, BATCH):
            done += sum(len(record.rows) for record in batch)
            self._judge(batch)
            self.listener.judged(done, total)

    def _judge(self, records: Sequence[FileRecord]) -> None:
        """Judge and store records in one transaction, and again when another writer got in the way."""

        def write() -> None:
            clock.reset_now()
            self.careful.judge(records)

        try:
            retry_on_conflict(write)
        except Conflict:
            raise Unusable(
                "Others write the same records just now. Import the file again: what is in stays unchanged."
            ) from None
        self.careful.tell()
