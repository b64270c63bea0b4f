"""The command ``move_invoices``: a verb of the life of invoices done to those whose numbers are given."""

from apps.funding.management.commands.move_claims import MoveCommand
from apps.funding.models import Invoice


class Command(MoveCommand):
    model = Invoice
    help = (
        "Does a verb of the life of invoices (docs/life_of_a_claim.md) to the invoices of these numbers."
        " Those it cannot be done to are listed, each with the reason, and the others done. Exit status: 0"
        " all moved, 1 some refused, 2 nothing could be tried."
    )
