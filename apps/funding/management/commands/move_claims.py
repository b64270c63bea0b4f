"""The command ``move_claims``: applies a transition to the claims of given numbers."""

import csv
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from apps.base.batched_queries import AnyOf
from apps.core import history
from apps.core.management.arguments import INVALID_INPUT, SOME_REFUSED, read_day
from apps.core.management.base import ServiceCommand
from apps.core.models import normalised
from apps.funding.models import Claim
from apps.funding.services.shown_warnings import find_shown_warnings
from apps.funding.services.transition_requests import ShownWarnings, TransitionResult
from apps.funding.services.transitions import apply_transition, find_transition_refusals
from apps.funding.validation.guards import AnyBill
from apps.funding.validation.possible_transitions import missing_permission
from apps.funding.validation.transitions import TransitionName, transition_named, transitions_of
from apps.people.models import Staff
from apps.people.services import find_staff

#: What was paid of a bill, or taken back, by its number; ``None`` when no amount is given.
Payments = dict[str, Decimal | None]


class TransitionCommand(ServiceCommand):
    """The common part of ``move_claims`` and ``move_invoices``; ``model`` says which of them it is."""

    model: ClassVar[type[AnyBill]]

    def add_arguments(self, parser: CommandParser) -> None:
        names = dict.fromkeys(row.name.value for row in transitions_of(self.model) if not row.by_service)
        parser.add_argument("transition", choices=list(names))
        parser.add_argument("numbers", metavar="NUMBER", nargs="*")
        parser.add_argument(
            "--file",
            type=Path,
            help="CSV without a header: a number per line, in the next column what was paid or taken back",
        )
        parser.add_argument("--reason", help="why; some transitions need it")
        parser.add_argument("--amount", type=read_amount, help="what was paid of each NUMBER, or taken back")
        parser.add_argument("--date", type=read_day, help="the day of a payment (today): 2026-07-31")
        parser.add_argument(
            "--by", metavar="EMAIL", help="the staff member in whose name; the system's when left out"
        )
        parser.add_argument(
            "--with-warnings",
            action="store_true",
            help="approve also those with warnings, which are listed; otherwise they are left out",
        )
        parser.add_argument("--dry-run", action="store_true", help="check every one, move none")

    def handle(self, *args: object, transition: str, numbers: list[str], **options: Any) -> None:
        pairs = [(number, options["amount"]) for number in numbers]
        if options["file"] is not None:
            pairs += read_file(options["file"], options["amount"])
        payments = merge_payments(pairs)
        if not payments:
            raise CommandError("Give a number, or a file of numbers.", returncode=INVALID_INPUT)
        staff = None if options["by"] is None else find_staff(options["by"])
        if staff is None and options["by"] is not None:
            raise CommandError(f"Nobody has the email {options['by']}.", returncode=INVALID_INPUT)
        author = nullcontext() if staff is None else history.as_author(history.Author(staff_id=staff.pk))
        if options["with_warnings"] and not transition_named(TransitionName(transition)).shows_warnings:
            raise CommandError("--with-warnings is for approve.", returncode=INVALID_INPUT)
        keys = self.find_keys(payments)
        with author, transaction.atomic():
            warned = self.find_warned(list(keys.values()), TransitionName(transition), staff)
            left_out = set() if options["with_warnings"] else set(warned or ())
            result = apply_transition(
                self.model,
                [key for key in keys.values() if key not in left_out],
                transition,
                staff=staff,
                reason=options["reason"],
                amounts={key: paid for number, key in keys.items() if (paid := payments[number]) is not None},
                day=options["date"],
                warnings=warned,
            )
            transaction.set_rollback(options["dry_run"])
        self.list_warned(warned or {}, is_left_out=bool(left_out))
        unknown = [number for number in payments if number not in keys]
        self.report(result, unknown, len(left_out), staff, options["dry_run"])
        if result.refused or unknown or left_out:
            sys.exit(SOME_REFUSED)

    def find_keys(self, numbers: Iterable[str]) -> dict[str, UUID]:
        """The keys of the known numbers, without regard to case and blanks."""
        name = f"{self.model._meta.model_name}_number_key"
        keys = {number: normalised(number) for number in numbers}
        rows = self.model._default_manager.filter(AnyOf(name, keys.values()))
        found = dict(rows.order_by().values_list(name, "pk"))
        return {number: found[key] for number, key in keys.items() if key in found}

    def find_warned(
        self, keys: Sequence[UUID], name: TransitionName, staff: Staff | None
    ) -> ShownWarnings | None:
        """The warnings of the bills that would be approved; ``None`` for transitions that show none."""
        row = transition_named(name)
        if not row.shows_warnings:
            return None
        if staff is not None and missing_permission(row, staff):
            return {}
        bills: list[AnyBill] = list(self.model._default_manager.filter(AnyOf("guid", keys)).order_by("pk"))
        refusals = find_transition_refusals(self.model, bills, name, staff)
        found = find_shown_warnings(self.model, [bill.pk for bill in bills if bill.pk not in refusals])
        return {key: found[key] for key in keys if key in found}

    def list_warned(self, warned: ShownWarnings, is_left_out: bool) -> None:
        bills = self.model._default_manager.in_bulk(warned)
        for key, warnings in warned.items():
            self.stdout.write(f"{bills[key]}: with warnings{', left out' if is_left_out else ''}.")
            for warning in warnings:
                self.stdout.write(f"  {warning}")

    def report(
        self,
        result: TransitionResult,
        unknown: list[str],
        left_out: int,
        staff: Staff | None,
        dry_run: bool,
    ) -> None:
        noun = str(self.model._meta.verbose_name)
        for number in unknown:
            self.stdout.write(f"{number}: there is no {noun} of this number.")
        for refusal in result.refused:
            self.stdout.write(f"{refusal.label}: {refusal.message}")
        bills = self.model._default_manager.in_bulk([*result.resubmissions, *result.resubmissions.values()])
        for original, new in result.resubmissions.items():
            outcome = "would be resubmitted" if dry_run else f"resubmitted as {bills[new]}"
            self.stdout.write(f"{bills[original]}: {outcome}.")
        refused = len(result.refused) + len(unknown)
        done = "would be moved" if dry_run else "moved"
        who = "the system" if staff is None else str(staff)
        warned = f" {left_out:,} left out: with warnings, --with-warnings takes them too," if left_out else ""
        self.stdout.write(f"{len(result.done):,} {done} by {who},{warned} {refused:,} refused.")


def read_file(file: Path, amount: Decimal | None) -> list[tuple[str, Decimal | None]]:
    """(number, what was paid) of each line; ``amount`` where a line has none."""
    pairs = []
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.reader(lines)
            for row in rows:
                number, *rest = [cell.strip() for cell in row] or [""]
                text = rest[0] if rest else ""
                if any([number, *rest]):
                    pairs.append((number, read_amount(text) if text else amount))
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}", returncode=INVALID_INPUT) from None
    except ArgumentTypeError as error:
        message = f"{file}, line {rows.line_num:,}: {error}"
        raise CommandError(message, returncode=INVALID_INPUT) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"{file} cannot be read: {error}", returncode=INVALID_INPUT) from None
    return pairs


def merge_payments(pairs: Iterable[tuple[str, Decimal | None]]) -> Payments:
    """Each number once; two amounts for one number have no clear meaning."""
    payments: Payments = {}
    seen: set[str | None] = set()
    for number, amount in pairs:
        key = normalised(number)
        if key in seen and amount is not None:
            message = f"{number} is given twice: sum its payments up."
            raise CommandError(message, returncode=INVALID_INPUT)
        if key not in seen:
            payments[number] = amount
        seen.add(key)
    return payments


def read_amount(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite():
        raise ArgumentTypeError(f"{text} is no amount; 1234.50 is one.")
    return amount


class Command(TransitionCommand):
    model = Claim
    help = (
        "Applies a transition (docs/life_of_a_claim.md) to the claims of these numbers. Refused ones are"
        " listed, each with the reason. Exit status: 0 all moved, 1 some refused, 2 nothing could be tried."
    )
