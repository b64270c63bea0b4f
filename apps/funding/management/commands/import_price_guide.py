"""Import the scheme's price guide, or a list of own prices, from a CSV or XLSX file."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import IntegrityError

from apps.base.errors import plural
from apps.core.importing.fixed_columns import InvalidRows
from apps.core.management.arguments import INVALID_INPUT, SOME_REFUSED, add_day_order
from apps.core.management.base import ServiceCommand
from apps.core.models import normalised
from apps.core.table_files.formats import SAVE_AS, format_of
from apps.core.table_files.opening import open_table
from apps.core.table_files.tables import ImportFileError
from apps.funding.services.price_guide import GuideReport, import_guide
from apps.funding.services.price_guide_file import Guide, read_guide

PRICE_BOOK = "Price guide"
FORMATS = ("csv", "xlsx")

#: So many faults, warnings or codes are shown.
SHOWN = 100


class Command(ServiceCommand):
    help = (
        "Imports the price guide (support catalogue) into a price book: new support items and prices, ranges"
        " that end because the next begin, and what changed. A second run changes nothing. With a fault"
        " anywhere nothing is stored. Exit status: 0 all in, 1 refused for faults, 2 the file cannot be used."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="a .csv or .xlsx file")
        parser.add_argument(
            "--price-book",
            metavar="NAME",
            default=PRICE_BOOK,
            help=f"made when there is none ({PRICE_BOOK}); own prices have another",
        )
        parser.add_argument("--dry-run", action="store_true", help="tell what would happen, store nothing")
        parser.add_argument(
            "--end-missing",
            action="store_true",
            help="end items of the price book that are not in this guide, the day before it begins",
        )
        parser.add_argument("--sheet", help="of a workbook, when it is not the first")
        parser.add_argument("--encoding", help="of a text file, when it is not recognised: mac-roman")
        add_day_order(parser)

    def handle(self, *args: object, **options: Any) -> None:
        try:
            guide = self.read(options)
            for warning in guide.warnings[:SHOWN]:
                self.stderr.write(f"Warning: {warning}")
            if len(guide.warnings) > SHOWN:
                self.stderr.write(f"{len(guide.warnings) - SHOWN:,} more warnings are not shown.")
            report = import_guide(
                guide, price_book_name(options["price_book"]), options["end_missing"], options["dry_run"]
            )
        except ImportFileError as reason:
            raise CommandError(str(reason), returncode=INVALID_INPUT) from None
        except InvalidRows as refused:
            for fault in refused.faults[:SHOWN]:
                self.stderr.write(fault)
            raise CommandError(str(refused), returncode=SOME_REFUSED) from None
        except IntegrityError:
            raise CommandError(
                "Nothing was stored: somebody else wrote the same items meanwhile. Run it again.",
                returncode=SOME_REFUSED,
            ) from None
        for line in summary(guide, report, options["end_missing"]):
            self.stdout.write(line)
        if options["dry_run"]:
            self.stdout.write("Nothing was stored: this was a trial.")

    def read(self, options: dict[str, Any]) -> Guide:
        path: Path = options["file"]
        if format_of(path, SAVE_AS) not in FORMATS:
            raise ImportFileError(f"{path.name} is no price guide; it is read from CSV and XLSX files.")
        table = open_table(path, options["encoding"], options["sheet"])
        for notice in table.notices():
            self.stderr.write(notice)
        return read_guide(table, options["day_first"], is_own_book(options["price_book"]))


def is_own_book(name: str) -> bool:
    """True for the name of another price book than the scheme's: its lists are shorter."""
    return normalised(name) != normalised(PRICE_BOOK)


def price_book_name(text: str) -> str:
    name = text.strip()
    if not 0 < len(name) <= 90:
        raise ImportFileError("A price book's name has from 1 to 90 characters.")
    return name


def summary(guide: Guide, report: GuideReport, ends_missing: bool) -> list[str]:
    """A summary of the import, in a few sentences."""
    several = sum(len(rows) > 1 for rows in guide.items.values())
    lines = [
        f"{report.price_book}: {plural(guide.rows, 'row')} of {plural(len(guide.items), 'item')}, "
        f"{several:,} with more than one range.",
        f"{report.new:,} new, {report.changed:,} changed, {report.unchanged:,} unchanged; "
        f"{plural(report.ended, 'range')} ended.",
    ]
    if report.archived:
        lines.append(f"Archived, and not restored: {listed(report.archived)}")
    missing = [code for code in report.missing if not ends_missing or code not in report.unended]
    if missing:
        what = "ended" if ends_missing else "left as they are; --end-missing ends them"
        lines.append(f"{plural(len(missing), 'current item')} not in this guide, {what}: {listed(missing)}")
    if report.later:
        lines.append(
            f"Prices that begin later stay, and end this guide's ranges: {listed(report.later)} Where the"
            " guide replaces them, change their amounts in the price book."
        )
    if ends_missing and report.unended:
        lines.append(f"Not ended, for their prices begin with this guide or later: {listed(report.unended)}")
    return lines


def listed(codes: list[str]) -> str:
    rest = len(codes) - SHOWN
    return ", ".join(codes[:SHOWN]) + (f" and {rest:,} more." if rest > 0 else ".")
