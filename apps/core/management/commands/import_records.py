"""Import records from a CSV, XLSX, JSON or NDJSON file."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from apps.core.importing.reports import Remark, Report
from apps.core.importing.runs import Listener, Wishes, import_file
from apps.core.importing.tables import Unusable
from apps.odata.declaration import service
from apps.odata.declaration.schema import EntitySet
from apps.odata.errors import plural

#: So many remarks are shown; all faults stand in the file of refused rows.
SHOWN = 200

SOME_REFUSED = 1
UNUSABLE = 2


class Command(BaseCommand):
    help = (
        "Imports records from a CSV, XLSX, JSON or NDJSON file by the same rules as the interface. Good rows"
        " go in, bad rows come back in a file of the same columns with the reason; a second run changes"
        " nothing."
        " Exit status: 0 all rows in, 1 some refused, 2 the file cannot be used."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("resource", help="for example contact")
        parser.add_argument("file", type=Path)
        parser.add_argument("--dry-run", action="store_true", help="judge every row, store none")
        parser.add_argument(
            "--match", metavar="FIELD", help="the field by which rows find records that stand already"
        )
        parser.add_argument(
            "--map",
            metavar="HEADER=FIELD",
            action="append",
            default=[],
            help="what a column gives; without a field the column is left out",
        )
        parser.add_argument(
            "--errors",
            metavar="FILE",
            type=Path,
            help="where refused rows go (FILE.errors.csv beside the file)",
        )
        parser.add_argument(
            "--all-or-nothing", action="store_true", help="keep nothing when a row is refused"
        )
        parser.add_argument("--ignore-unknown", action="store_true", help="import without unknown columns")
        parser.add_argument(
            "--ignore-warnings",
            action="store_true",
            help="store what has warnings as well, with the warnings (claims, invoices)",
        )
        parser.add_argument(
            "--by-name",
            action="store_true",
            help="for a file of another database: go by numbers, names and codes instead of guids",
        )
        parser.add_argument("--encoding", help="of a text file, when it is not UTF-8: cp1252")
        parser.add_argument("--sheet", help="of a workbook, when it is not the first")
        order = parser.add_mutually_exclusive_group()
        order.add_argument("--day-first", dest="day_first", action="store_true", default=True)
        order.add_argument(
            "--month-first", dest="day_first", action="store_false", help="03/04/2026 is 4 March, not 3 April"
        )
        update = parser.add_mutually_exclusive_group()
        update.add_argument("--update", dest="updates", action="store_true", default=True)
        update.add_argument(
            "--no-update", dest="updates", action="store_false", help="leave records that stand as they are"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            wishes = wishes_of(options)
            entity_set = entity_set_of(options["resource"])
            with following(self) as listener:
                report = import_file(entity_set, options["file"], wishes, listener)
        except Unusable as reason:
            raise CommandError(str(reason), returncode=UNUSABLE) from None
        self.stdout.write(summary(report, wishes))
        if report.sums.refused:
            sys.exit(SOME_REFUSED)


def entity_set_of(name: str) -> EntitySet:
    """The entity set of a path; ``Unusable`` names those there are."""
    known = service.get_service().by_path
    found = known.get(name.lower())
    if found is None:
        able = ", ".join(sorted(e.path for e in known.values() if e.resource.importing is not None))
        raise Unusable(f"There is no resource {name} to import; there are {able}.")
    return found


def wishes_of(options: dict[str, Any]) -> Wishes:
    told: dict[str, str] = {}
    for text in options["map"]:
        header, sign, name = text.rpartition("=")
        if not sign or not header:
            raise Unusable(f'--map {text}: write --map "Header=Field".')
        told[header] = name.strip()
    names = (
        "match", "errors", "encoding", "sheet", "day_first", "updates", "ignore_unknown", "all_or_nothing",
        "dry_run", "ignore_warnings", "by_name",
    )  # fmt: skip
    return Wishes(told=told, **{name: options[name] for name in names})


def summary(report: Report, wishes: Wishes) -> str:
    """What happened, in one or two sentences."""
    sums = report.sums
    rows = plural(sums.rows, "row")
    if report.has_lists:
        rows = f"{plural(sums.rows, 'record')} in {plural(sums.lines, 'row')}"
    text = (
        f"{rows}: {sums.new:,} new, {sums.changed:,} changed, "
        f"{sums.unchanged:,} unchanged, {sums.refused:,} refused"
    )
    noun = "record" if report.has_lists else "row"
    text += f"; {plural(sums.warned, noun)} with warnings." if sums.warned else "."
    if sums.kept_out:
        text += f" Only warnings keep {sums.kept_out:,} of them out; --ignore-warnings stores those."
    if sums.refused:
        text += f" Refused rows with their reasons: {report.errors}."
    if wishes.dry_run:
        text += " Nothing was stored: this was a trial."
    elif wishes.all_or_nothing and sums.refused:
        text += " Nothing was stored: all rows must be good."
    return text


# --- what the user sees meanwhile -----------------------------------------------------------------------


class RowsPerSecond(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f} rows/s" if speed else "")


@contextlib.contextmanager
def following(command: BaseCommand) -> Iterator[Listener]:
    """Shows remarks as they come, and a bar on a terminal."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with contextlib.ExitStack() as stack:
        told = 0

        def write(text: str) -> None:
            command.stderr.write(text)

        listener = Listener(say=write)
        if console.is_terminal:
            progress = stack.enter_context(
                Progress(
                    TextColumn("{task.description}"),
                    BarColumn(),
                    MofNCompleteColumn(),
                    RowsPerSecond(),
                    TimeRemainingColumn(),
                    console=console,
                )
            )
            task = progress.add_task("Reading", total=None)
            listener.say = lambda text: progress.console.print(text, markup=False)
            listener.judged = lambda rows, of: progress.update(
                task, description="Importing", completed=rows, total=of
            )

        def tell(text: str, remark: Remark) -> None:
            nonlocal told
            told += 1
            if told <= SHOWN:
                listener.say(text)
            elif told == SHOWN + 1:
                listener.say(f"More than {SHOWN:,} remarks; the rest is not shown.")

        listener.tell = tell
        yield listener
