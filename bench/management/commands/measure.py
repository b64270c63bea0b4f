"""The command ``measure``: prints one measurement's figures, and keeps them in bench/figures/."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from apps.access.callers import EVERYTHING, ApplicationCaller
from apps.access.services import issue_token, register_application
from bench.calling import Caller
from bench.management.commands.fill import machine

ROOT = Path(__file__).resolve().parents[3]
MEASUREMENTS = (
    "speed",
    "bare",
    "batch",
    "bounds",
    "sums",
    "sync",
    "read_log",
    "servers",
    "writes",
    "overload",
    "frameworks",
    "peers",
    "money",
    "growth",
    "months",
    "caseloads",
    "pages",
)
#: Those whose lines are a table of bench/README.md as well.
TABLES = ("frameworks", "growth", "months", "peers", "caseloads", "pages")
#: The tables of bench/README.md stand between these lines.
BEGIN, END = "<!-- written by ./run bench {} -->\n", "<!-- until here -->\n"


class Command(BaseCommand):
    help = "Measures on a database that `fill` has filled: ./run bench does both."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", choices=MEASUREMENTS)

    def handle(self, name: str, **options: Any) -> None:
        caller = Caller(token(f"Bench: {name}"))
        # Only when it is measured: ``frameworks`` needs packages that nothing else does.
        measurement: Callable[[Caller], Iterator[str]] = getattr(import_module(f"bench.{name}"), name)
        self.stdout.write(f"\n{name}\n")
        lines: list[str] = []
        for line in measurement(caller):
            self.stdout.write(line)
            self.stdout.flush()
            lines.append(line)
        lines += ["", f"{timezone.localdate():%d %B %Y}, {machine()}, load {os.getloadavg()[0]:.1f}", ""]
        (ROOT / "bench" / "figures" / f"{name}.txt").write_text("\n".join(lines))
        if name in TABLES:
            write_table(ROOT / "bench" / "README.md", BEGIN.format(name), "\n".join(lines))


def write_table(file: Path, beginning: str, table: str) -> None:
    """Put the table between the line of this beginning and the next end."""
    before, begin, rest = file.read_text().partition(beginning)
    assert begin, f"{file} has no line {beginning}"
    file.write_text(f"{before}{begin}{table}{END}{rest.partition(END)[2]}")


def token(name: str) -> str:
    """A bearer token of a new application that may read and write everything."""
    application, _ = register_application(name)
    return issue_token(
        ApplicationCaller(application.pk, application.name, (frozenset(EVERYTHING),)), EVERYTHING
    )
