"""The command ``recount_budgets``: what budgets and provider invoices say of claims, computed anew."""

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from apps.base.errors import plural
from apps.core.management.base import ServiceCommand
from apps.funding.services.claim_sums import recount_claim_sums
from apps.funding.services.effects import recount_budgets, recount_claim_flags
from apps.funding.services.invariants import find_money_faults
from apps.funding.services.transition_changes import mark_own_approvals


class Command(ServiceCommand):
    help = (
        "Sums what every service booking, budget by category and funding period has claimed, paid and waiting"
        " anew from the lines of claims and invoices, looks up anew which provider invoices are claimed and"
        " which hold a claim up, and puts right those that say otherwise. Marks approvals by who entered the"
        " bill that an upgrade left unmarked. Names the claims and invoices whose own figures cannot be right"
        " (more paid than they come to, other sums than their payments), which somebody must look at; exits"
        " with 1 when there are any. Safe while people work."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say how many are wrong, change none")

    def handle(self, *args: object, dry_run: bool = False, **options: object) -> None:
        with transaction.atomic():
            found, wrong = recount_budgets(), recount_claim_flags()
            transaction.set_rollback(dry_run)
        with transaction.atomic():  # of its own: it reads the whole status history, and nobody waits for it
            unmarked = mark_own_approvals()
            transaction.set_rollback(dry_run)
        with transaction.atomic():
            wrong_sums = recount_claim_sums()
            transaction.set_rollback(dry_run)
        for is_wrong, records, kind, others in (
            (any(found), found, "budget", "claims and invoices"),
            (wrong, f"{wrong:,} provider invoices", "provider invoice", "claims"),
        ):
            if not is_wrong:
                self.stdout.write(f"Every {kind} agrees with its {others}.")
            elif dry_run:
                self.stdout.write(f"{records} do not agree with their {others}.")
            else:
                self.stdout.write(f"Put right: {records}.")
        verb = "are" if dry_run else "were"
        if wrong_sums:
            self.stdout.write(f"Stored sums of claims that {verb} wrong: {wrong_sums:,}.")
        if unmarked:
            self.stdout.write(f"Approvals by who entered the bill that {verb} not marked: {unmarked:,}.")
        if faults := list(find_money_faults()):
            raise CommandError("\n".join([*faults, f"Claims and invoices: {plural(len(faults), 'fault')}."]))
