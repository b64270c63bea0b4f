"""The command ``fill``: tables and demo data for a measurement."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import Any

import django
import rest_framework
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import connection
from django.db.models import Model

from apps.funding.models import Claim, ClaimLine
from apps.funding.services.claim_sums import add_up_claim_sums

CLIENTS, STAFF = 3_000, 300
#: Claims beyond these are copies of them: to make 200,000 by the services takes a quarter of an hour.
DEMO_CLAIMS = 3_700
#: What differs in a copy, by table and column; ``copy`` is its number.
COPIED = {
    "funding_claim": {
        "guid": "md5(guid::text || copy)::uuid",
        "claim_number": "claim_number || '-' || copy",
        "claim_number_key": "claim_number_key || '-' || copy",
        "creation_date": "creation_date - copy * interval '1 hour'",
        "resubmission_of_id": "NULL",
        "takes_provider_invoice": "FALSE",
    },
    "funding_claimline": {
        "guid": "md5(guid::text || copy)::uuid",
        "claim_id": "md5(claim_id::text || copy)::uuid",
    },
}


class Command(BaseCommand):
    help = "Fills an empty database with demo data to measure on: ./run bench makes one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("contacts", type=int)
        parser.add_argument("claims", type=int)

    def handle(self, contacts: int, claims: int, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        made = min(claims, DEMO_CLAIMS)
        call_command("load_demo", clients=CLIENTS, staff=STAFF, contacts=contacts, claims=made)
        with connection.cursor() as cursor:
            for model in (Claim, ClaimLine):
                copy_rows(cursor, model, COPIED[model._meta.db_table], copies=claims // made - 1)
            add_up_claim_sums()  # as a worker does
            cursor.execute("VACUUM ANALYZE")
        self.stdout.write(machine())


def copy_rows(cursor: Any, model: type[Model], copied: Mapping[str, str], copies: int) -> None:
    """Add so many copies of each row of a table; ``copied`` are the columns that differ in a copy."""
    table = model._meta.db_table
    columns = [str(field.column) for field in model._meta.concrete_fields]
    values = [copied.get(column, f'"{column}"') for column in columns]
    names = ", ".join(f'"{column}"' for column in columns)
    cursor.execute(
        f"INSERT INTO {table} ({names}) SELECT {', '.join(values)}"
        f" FROM {table}, generate_series(1, %s) AS copy",
        [copies],
    )


def machine() -> str:
    """What the figures are got on."""
    server: int = connection.pg_version  # type: ignore[attr-defined]
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, PostgreSQL {server // 10_000}.{server % 10_000}, "
        f"Django {django.__version__}, Django REST framework {rest_framework.__version__}"
    )
