"""The command ``measure``: prints one measurement's figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from apps.access.callers import EVERYTHING, ApplicationCaller
from apps.access.services import issue_token, register_application
from bench.bare import bare
from bench.batch import batch
from bench.bounds import bounds
from bench.calling import Caller
from bench.read_log import read_log_cost
from bench.servers import servers
from bench.speed import speed
from bench.sums import sums
from bench.sync import sync

MEASUREMENTS: dict[str, Callable[[Caller], Iterator[str]]] = {
    "speed": speed,
    "bare": bare,
    "batch": batch,
    "bounds": bounds,
    "sums": sums,
    "sync": sync,
    "read_log": read_log_cost,
    "servers": servers,
}


class Command(BaseCommand):
    help = "Measures on a database that `fill` has filled: ./run bench does both."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", choices=MEASUREMENTS)

    def handle(self, name: str, **options: Any) -> None:
        caller = Caller(token(f"Bench: {name}"))
        self.stdout.write(f"\n{name}\n")
        for line in MEASUREMENTS[name](caller):
            self.stdout.write(line)
            self.stdout.flush()


def token(name: str) -> str:
    """A bearer token of a new application that may read and write everything."""
    application, _ = register_application(name)
    return issue_token(
        ApplicationCaller(application.pk, application.name, (frozenset(EVERYTHING),)), EVERYTHING
    )
