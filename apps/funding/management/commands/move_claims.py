"""The command ``move_claims``: a verb of the life of claims done to those whose numbers are given."""

from __future__ import annotations

import csv
import datetime as dt
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from apps.core import history
from apps.core.identifiers import normalised
from apps.core.models import Subscriber
from apps.funding.models import Claim
from apps.funding.services.transitions import TransitionResult, apply_transition
from apps.funding.validation.transitions import AnyBill, transitions_of
from apps.odata import clock
from apps.odata.any_of import AnyOf
from apps.people.models import Staff

SOME_REFUSED, UNUSABLE = 1, 2


class MoveCommand(BaseCommand):
    """What ``move_claims`` and ``move_invoices`` share; ``model`` says which of them it is."""

    model: ClassVar[type[AnyBill]]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "verb", choices=list(dict.fromkeys(row.name.value for row in transitions_of(self.model)))
        )
        parser.add_argument("numbers", metavar="NUMBER", nargs="*")
        parser.add_argument(
            "--file",
            type=Path,
            help="CSV without a header: a number per line, and behind it what was paid, if anything was",
        )
        parser.add_argument("--reason", help="why; some verbs need it")
        parser.add_argument("--amount", type=argument(amount), help="what was paid of each of the NUMBERs")
        parser.add_argument("--date", type=argument(day), help="the day of a payment (today): 2026-07-31")
        parser.add_argument(
            "--by", metavar="EMAIL", help="the staff member in whose name; the system's when left out"
        )
        parser.add_argument("--dry-run", action="store_true", help="judge every one, move none")

    def handle(self, *args: Any, verb: str, numbers: list[str], **options: Any) -> None:
        clock.activate_zone(Subscriber.current().zone)
        paid = once_each(self.numbered(numbers, options["file"], options["amount"]))
        if not paid:
            raise CommandError("Give a number, or a file of numbers.", returncode=UNUSABLE)
        by = None if options["by"] is None else staff_member(options["by"])
        keys = self.keys_of(paid)
        with writing_as(by), transaction.atomic():
            result = apply_transition(
                self.model,
                keys.values(),
                verb,
                staff=by,
                reason=options["reason"],
                amounts={key: told for number, key in keys.items() if (told := paid[number]) is not None},
                day=options["date"],
            )
            transaction.set_rollback(options["dry_run"])
        unknown = [number for number in paid if number not in keys]
        self.tell(result, unknown, by, options["dry_run"])
        if result.refused or unknown:
            sys.exit(SOME_REFUSED)

    def numbered(
        self, numbers: list[str], file: Path | None, each: Decimal | None
    ) -> Iterator[tuple[str, Any]]:
        """(number, what was paid or nothing) of the command line and the file."""
        for number in numbers:
            yield number, each
        if file is None:
            return
        try:
            with file.open(encoding="utf-8-sig", newline="") as lines:
                rows = csv.reader(lines)
                for row in rows:
                    cells = [cell.strip() for cell in row]
                    if any(cells):
                        paid = told_in(file, rows.line_num, cells[1:2])
                        yield cells[0], each if paid is None else paid
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}", returncode=UNUSABLE) from None
        except (UnicodeDecodeError, csv.Error) as error:
            raise CommandError(f"{file} cannot be read: {error}", returncode=UNUSABLE) from None

    def keys_of(self, numbers: Any) -> dict[str, UUID]:
        """The keys of those numbers that there are, however they are written."""
        name = f"{self.model._meta.model_name}_number_key"
        field: Any = self.model._meta.get_field(name)
        keys = {number: normalised(number) for number in numbers}
        rows = self.model._default_manager.filter(AnyOf(field, keys.values()))
        found = dict(rows.order_by().values_list(name, "pk"))
        return {number: found[key] for number, key in keys.items() if key in found}

    def tell(self, result: TransitionResult, unknown: list[str], by: Staff | None, dry_run: bool) -> None:
        what = str(self.model._meta.verbose_name)
        for number in unknown:
            self.stdout.write(f"{number}: there is no {what} of this number.")
        for refusal in result.refused:
            self.stdout.write(f"{refusal.label}: {refusal.message}")
        rows = self.model._default_manager.in_bulk([*result.resubmissions, *result.resubmissions.values()])
        for old, new in result.resubmissions.items():
            made = "would be resubmitted" if dry_run else f"resubmitted as {rows[new]}"
            self.stdout.write(f"{rows[old]}: {made}.")
        who = "the system" if by is None else str(by)
        refused = len(result.refused) + len(unknown)
        done = "would be moved" if dry_run else "moved"
        self.stdout.write(f"{len(result.done):,} {done} by {who}, {refused:,} refused.")


def once_each(numbered: Iterator[tuple[str, Decimal | None]]) -> dict[str, Decimal | None]:
    """What was paid by number; nobody knows what two amounts for one number mean together."""
    paid: dict[str, Decimal | None] = {}
    seen: set[str | None] = set()
    for number, found in numbered:
        if normalised(number) in seen and found is not None:
            raise CommandError(f"{number} stands there twice: sum its payments up.", returncode=UNUSABLE)
        if normalised(number) not in seen:
            paid[number] = found
        seen.add(normalised(number))
    return paid


def amount(text: str) -> Decimal:
    """``ValueError`` for what is no amount of money."""
    try:
        found = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text} is no amount; 1234.50 is one.") from None
    if not found.is_finite():
        raise ValueError(f"{text} is no amount; 1234.50 is one.")
    return found


def told_in(file: Path, line: int, cells: Sequence[str]) -> Decimal | None:
    """The amount in a file's cell; ``None`` when the cell is empty or not there."""
    if not cells or not cells[0]:
        return None
    try:
        return amount(cells[0])
    except ValueError as error:
        raise CommandError(f"{file}, line {line:,}: {error}", returncode=UNUSABLE) from None


def day(text: str) -> dt.date:
    """``ValueError`` for what is no date."""
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text} is no date; write it as 2026-07-31.") from None


def argument(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Tell the command line's user what ``read`` says is wrong; of a ``ValueError`` it would not."""

    def told(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from None

    return told


def staff_member(email: str) -> Staff:
    found = Staff.objects.select_related("role").filter(primary_email_key=normalised(email)).first()
    if found is None:
        raise CommandError(f"Nobody has the email {email}.", returncode=UNUSABLE)
    return found


def writing_as(by: Staff | None) -> AbstractContextManager[None]:
    """Within it, the history says who."""
    return nullcontext() if by is None else history.as_author(history.Author(staff_id=by.pk))


class Command(MoveCommand):
    model = Claim
    help = (
        "Does a verb of the life of claims (docs/life_of_a_claim.md) to the claims of these numbers. Those it"
        " cannot be done to are listed, each with the reason, and the others done. Exit status: 0 all moved,"
        " 1 some refused, 2 nothing could be tried."
    )
