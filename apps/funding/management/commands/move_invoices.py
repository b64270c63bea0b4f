"""The command ``move_invoices``: applies a transition to the invoices of given numbers."""

from apps.funding.management.commands.move_claims import TransitionCommand
from apps.funding.models import Invoice


class Command(TransitionCommand):
    model = Invoice
    help = (
        "Applies a transition (docs/life_of_a_claim.md) to the invoices of these numbers. Refused ones are"
        " listed, each with the reason. Exit status: 0 all moved, 1 some refused, 2 nothing could be tried."
    )
