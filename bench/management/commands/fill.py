"""The command ``fill``: tables and demo data for a measurement."""

from __future__ import annotations

import os
import platform
from typing import Any

import django
import rest_framework
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import connection

CLIENTS, STAFF = 3_000, 300


class Command(BaseCommand):
    help = "Fills an empty database with demo data to measure on: ./run bench makes one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("contacts", type=int)
        parser.add_argument("claims", type=int)

    def handle(self, contacts: int, claims: int, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        call_command("load_demo", clients=CLIENTS, staff=STAFF, contacts=contacts, claims=claims)
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
        self.stdout.write(machine())


def machine() -> str:
    """What the figures are got on."""
    server: int = connection.pg_version  # type: ignore[attr-defined]
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, PostgreSQL {server // 10_000}.{server % 10_000}, "
        f"Django {django.__version__}, Django REST framework {rest_framework.__version__}"
    )
