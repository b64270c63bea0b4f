"""The command ``restate_provider_invoices``: what they say of the claims on them, looked up anew."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

from apps.funding.services.effects import recount_claim_flags


class Command(BaseCommand):
    help = (
        "Looks up anew which provider invoices are claimed and which hold a claim up, and puts right those"
        " that say otherwise. Safe while people work."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say how many are wrong, change none")

    def handle(self, *args: Any, dry_run: bool = False, **options: Any) -> None:
        with transaction.atomic():
            wrong = recount_claim_flags()
            transaction.set_rollback(dry_run)
        if not wrong:
            self.stdout.write("Every provider invoice agrees with its claims.")
        elif dry_run:
            self.stdout.write(f"{wrong:,} provider invoices do not agree with their claims.")
        else:
            self.stdout.write(f"Put right: {wrong:,} provider invoices.")
