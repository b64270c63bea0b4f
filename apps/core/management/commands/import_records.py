"""Imports records from a CSV, XLSX, JSON or NDJSON file."""

import contextlib
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from apps.base.declaration import service
from apps.base.declaration.schema import EntitySet
from apps.base.errors import plural
from apps.core.file_imports import GOES_ON
from apps.core.importing.cells import letters_of
from apps.core.importing.definition import ImportOptions, SavedMapping
from apps.core.importing.mappings import find_mapping, keep_mapping, mapping_names
from apps.core.importing.report import ImportReport, RowIssue
from apps.core.importing.runs import ImportDisplay, import_file
from apps.core.management.arguments import INVALID_INPUT, SOME_REFUSED, add_day_order
from apps.core.management.base import ServiceCommand
from apps.core.table_files.tables import ImportFileError

#: So many issues are shown; all errors are in the file of rejected rows.
SHOWN = 200

SWITCHES = {
    "--dry-run": "validate every row, save none",
    "--all-or-nothing": "save nothing when a row is rejected",
    "--ignore-unknown": "import without unknown columns",
    "--ignore-warnings": "save what has warnings as well, with the warnings (claims, invoices)",
    "--by-name": "for a file of another database: go by numbers, names and codes instead of guids",
}
NO_UPDATES = "leave existing records as they are"
ERRORS_HELP = "where rejected rows are written (FILE.errors.csv in the current folder)"
MAP_HELP = "what a column gives; without a field the column is left out"
VALUE_HELP = "what a cell of a column says in place of its text; TEXT may be empty, and OTHER"
ISSUES_HELP = "a CSV file of all faults and warnings, one line each"
MAPPING_HELP = "a name under which --map and --value are kept, and taken again next time"


class Command(ServiceCommand):
    help = (
        "Imports records from a CSV, XLSX, JSON or NDJSON file by the same rules as the interface. Good rows"
        " go in, bad rows come back in a file of the same columns with the reason; a second run changes"
        " nothing."
        " Exit status: 0 all rows in, 1 some rejected, 2 the file cannot be imported."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("resource", help="for example contact")
        parser.add_argument("file", type=Path)
        for name, text in SWITCHES.items():
            parser.add_argument(name, action="store_true", help=text)
        parser.add_argument("--map", metavar="HEADER=FIELD", action="append", default=[], help=MAP_HELP)
        parser.add_argument(
            "--value", metavar="HEADER:TEXT=OTHER", action="append", default=[], help=VALUE_HELP
        )
        parser.add_argument("--mapping", metavar="NAME", help=MAPPING_HELP)
        parser.add_argument("--issues", metavar="FILE", type=Path, help=ISSUES_HELP)
        parser.add_argument("--match", metavar="FIELD", help="the field by which rows find existing records")
        parser.add_argument("--errors", metavar="FILE", type=Path, help=ERRORS_HELP)
        parser.add_argument("--encoding", help="of a text file, when it is not recognised: mac-roman")
        parser.add_argument("--sheet", help="of a workbook, when it is not the first")
        parser.add_argument(
            "--header-row", metavar="ROW", type=int, help="the row of the header, when it is not recognised"
        )
        parser.add_argument("--no-update", dest="updates", action="store_false", help=NO_UPDATES)
        add_day_order(parser)

    def handle(self, *args: object, **options: Any) -> None:
        with display_of(self) as display:
            entity_set = entity_set_of(options["resource"], " to import")
            import_options = options_of(options, entity_set.path)
            report = import_file(entity_set, options["file"], import_options, display)
        self.show_kinds(report)
        self.stdout.write(summary(report, import_options))
        if report.counts.rejected:
            sys.exit(SOME_REFUSED)

    def show_kinds(self, report: ImportReport) -> None:
        """How many issues there are of each kind, where they are more than a few lines."""
        kinds = report.kinds
        if sum(kind.count for kind in kinds) > len(kinds):
            for kind in kinds:
                self.stdout.write(report.kind_line(kind))


def entity_set_of(name: str, purpose: str = "") -> EntitySet:
    """The entity set of a path; ``ImportFileError`` names those there are."""
    known = service.declared_sets()
    found = known.get(name.lower())
    if found is None:
        able = ", ".join(sorted(entity_set.path for entity_set in known.values()))
        raise ImportFileError(f"There is no resource {name}{purpose}; there are {able}.")
    return found


def options_of(options: dict[str, Any], kind: str) -> ImportOptions:
    columns: dict[Any, str] = {}
    for text in options["map"]:
        header, sign, name = text.rpartition("=")
        if not sign or not header:
            raise ImportFileError(f'--map {text}: write --map "Header=Field".')
        columns[header] = name.strip()
    values: dict[Any, dict[str, str]] = defaultdict(dict)
    for text in options["value"]:
        header, colon, rest = text.partition(":")
        before, sign, after = rest.partition("=")
        if not colon or not sign or not header:
            raise ImportFileError(f'--value {text}: write --value "Header:text=other text".')
        values[header][before.strip()] = after.strip()
    saved, name = SavedMapping(), options["mapping"]
    if name:
        if name in mapping_names(kind):
            saved = find_mapping(kind, name)
            for header in values:
                values[header] = {**saved.values.get(letters_of(header), {}), **values[header]}
        if columns or values:
            keep_mapping(kind, name, columns, values)
        saved = find_mapping(kind, name)
    given = {each.name: options[each.name] for each in fields(ImportOptions) if each.name in options}
    return ImportOptions(column_map=columns, value_map=values, saved_mapping=saved, **given)


def summary(report: ImportReport, options: ImportOptions) -> str:
    """A summary of the import, in one or two sentences."""
    counts = report.counts
    rows = plural(counts.records, "row")
    if report.has_items:
        rows = f"{plural(counts.records, 'record')} in {plural(counts.rows, 'row')}"
    text = (
        f"{rows}: {counts.new:,} new, {counts.changed:,} changed, "
        f"{counts.unchanged:,} unchanged, {counts.rejected:,} rejected"
    )
    noun = "record" if report.has_items else "row"
    text += f"; {plural(counts.with_warnings, noun)} with warnings" if counts.with_warnings else ""
    text += f"; {plural(counts.left_out, 'row')} of sums or notes left out" if counts.left_out else ""
    text += "."
    if counts.unconfirmed:
        text += f" Only warnings keep {counts.unconfirmed:,} of them out; --ignore-warnings stores those."
    if counts.rejected and report.errors is not None:
        text += f" Rejected rows with their reasons: {report.errors}."
    if options.dry_run:
        text += " Nothing was stored: this was a dry run."
    elif options.all_or_nothing and counts.rejected:
        text += " Nothing was stored: all rows must be good."
    return text


# --- what the user sees meanwhile -----------------------------------------------------------------------


@contextlib.contextmanager
def display_of(command: ServiceCommand) -> Iterator[ImportDisplay]:
    """Shows issues as they are found, and a bar on a terminal; ends the command for an unusable file."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task, shown = progress.add_task("Importing", total=None), 0
        display = ImportDisplay(show_notice=lambda text: command.stderr.write(text))
        display.show_progress = lambda rows, total: progress.update(task, completed=rows, total=total)
        if console.is_terminal:
            display.show_notice = lambda text: console.print(text, markup=False)

        def show_issue(issue: RowIssue, line: str) -> None:
            nonlocal shown
            shown += 1
            if shown <= SHOWN:
                display.show_notice(line)
            elif shown == SHOWN + 1:
                display.show_notice(f"More than {SHOWN:,} issues; the rest is not shown.")

        display.show_issue = show_issue
        try:
            yield display
        except ImportFileError as reason:
            raise CommandError(str(reason), returncode=INVALID_INPUT) from None
        except OSError as error:
            raise CommandError(f"A file cannot be written or read: {error}. {GOES_ON}") from None
