"""What the tests about the demo's bills load: a small office, on a day of its own."""

import datetime as dt
import io

from django.core.management import call_command

DAY = dt.date(2026, 9, 15)
SIZE = {
    "clients": 30,
    "staff": 20,
    "contacts": 100,
    "documents": 24,
    "opportunities": 0,
    "claims": 180,
    "invoices": 60,
    "inbox": 40,
}


def load_demo(**words):
    call_command("load_demo", stdout=io.StringIO(), **{"as_of": DAY, **SIZE, **words})
