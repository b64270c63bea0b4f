"""How the tests load demo data."""

import io

from django.core.management import call_command

#: The fewest records with which everything can be shown.
SMALL = {
    **{"clients": 8, "staff": 7, "contacts": 45, "documents": 0, "opportunities": 0},
    **{"claims": 0, "invoices": 0, "inbox": 0},
}


def load_demo(**options):
    """The output of ``load_demo`` with the sizes of ``SMALL``, but for those given."""
    output = io.StringIO()
    call_command("load_demo", stdout=output, **{**SMALL, **options})
    return output.getvalue()
