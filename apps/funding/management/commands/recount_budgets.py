"""The command ``recount_budgets``: the amounts of budgets, summed again from claims and invoices."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

from apps.funding.services.effects import recount_budgets


class Command(BaseCommand):
    help = (
        "Sums what every service booking and every budget by category has claimed, paid and waiting anew from"
        " the lines of claims and invoices, and puts right those that say otherwise. Safe while people work."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say how many are wrong, change none")

    def handle(self, *args: Any, dry_run: bool = False, **options: Any) -> None:
        with transaction.atomic():
            found = recount_budgets()
            transaction.set_rollback(dry_run)
        what = f"{found.bookings:,} service bookings and {found.category_budgets:,} budgets by category"
        if not any(found):
            self.stdout.write("Every budget agrees with its claims and invoices.")
        elif dry_run:
            self.stdout.write(f"{what} do not agree with their claims and invoices.")
        else:
            self.stdout.write(f"Put right: {what}.")
