"""How the tests load demo data."""

import datetime as dt
import io
from zoneinfo import ZoneInfo

from django.core.management import call_command
from django.utils import timezone

from apps.core.demo import Context, demo_sets

#: The fewest records with which everything can be shown.
SMALL = {
    **{"clients": 8, "staff": 7, "contacts": 45, "documents": 0, "opportunities": 0},
    **{"claims": 0, "invoices": 0, "inbox": 0},
}


def load_demo(**options):
    """The output of ``load_demo`` with the sizes of ``SMALL``, but for those given."""
    output = io.StringIO()
    names = {size.name for each in demo_sets() for size in each.sizes}
    sizes = {name: number for name, number in SMALL.items() if name in names}
    call_command("load_demo", stdout=output, **{**sizes, **options})
    return output.getvalue()


def load_sets(*sets, as_of, **sizes):
    """Load some of the sets, without the command: for tests that look at nothing else."""
    zone = ZoneInfo("Australia/Sydney")
    day = dt.date.fromisoformat(as_of)
    context = Context(1, day, zone, {**SMALL, **sizes}, report=lambda model, rows: None)
    with timezone.override(zone):
        for each in sets:
            each.load(context)
