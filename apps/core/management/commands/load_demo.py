"""The command ``load_demo``: realistic records to look around in, the same ones for the same seed and day."""

import gc
import sys
import time
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from apps.base.drafts import ValidationFailed
from apps.core.demo import Context, DemoSet, complete_sizes, demo_sets
from apps.core.management.arguments import read_day
from apps.core.models import Subscriber, repeatable_guids

#: For fewer rows, PostgreSQL plans well without statistics.
FEW_ROWS = 2_000
#: So many records are loaded in one transaction. Of more, PostgreSQL would keep each version of a budget that
#: claims change until the end, and every look at it passes them all.
MOST_AT_ONCE = 50_000
BROKEN_OFF = "The load broke off; begin again with an empty database"


class Command(BaseCommand):
    help = "Loads demo data: people and organisations that do not exist. The same seed and day give the same."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--seed", type=int, default=1, help="another number gives other records (default 1)"
        )
        parser.add_argument(
            "--as-of",
            type=read_day,
            metavar="YYYY-MM-DD",
            help="the day before which the records were made (default today)",
        )
        for size in (size for each in demo_sets() for size in each.sizes):
            parser.add_argument(
                f"--{size.name}",
                type=at_least(size.least),
                default=None,
                metavar="N",
                help=f"{size.help} (default {size.default})",
            )
        parser.add_argument(
            "--if-empty", action="store_true", help="load nothing, and say nothing, when there are records"
        )
        parser.add_argument(
            "--yes-add-to-existing",
            action="store_true",
            help="load into a database that holds other records as well",
        )

    def handle(self, **options: object) -> None:
        sets, seed = demo_sets(), options["seed"]
        in_use = any(model._default_manager.exists() for each in sets for model in each.models)
        if in_use and options["if_empty"]:
            return
        loaded = {number for each in sets for number in each.loaded_seeds()}
        if seed in loaded:
            self.stdout.write(f"The demo data of seed {seed} is loaded already; nothing was added.")
            return
        if loaded:
            # Its names would clash.
            message = (
                f"The database holds the demo data of seed {min(loaded)}; load seed {seed} into another."
            )
            raise CommandError(message)
        if in_use and not options["yes_add_to_existing"]:
            raise CommandError(
                "The database holds records already. Use an empty one, or say --yes-add-to-existing."
            )
        # Looking for garbage takes a fifth of the time, and finds none: a load makes hardly a cycle.
        gc.disable()
        try:
            self.load(sets, options, in_use)
        finally:
            gc.enable()

    def load(self, sets: tuple[DemoSet, ...], options: dict[str, object], in_use: bool) -> None:
        """Load the sets; a bar for each model on standard error where somebody watches."""
        began = time.perf_counter()
        counted: Counter[type[models.Model]] = Counter()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        is_watched = sys.stderr.isatty()
        with Progress(*columns, console=Console(stderr=True), disable=not is_watched) as progress:
            bars = {
                model: progress.add_task(plural(model), total=None) for each in sets for model in each.models
            }

            analysed: Counter[type[models.Model]] = Counter()

            def report(model: type[models.Model], rows: int) -> None:
                counted[model] += rows
                progress.advance(bars[model], rows)
                if counted[model] >= max(2 * analysed[model], FEW_ROWS):
                    analysed.update(counted - analysed)
                    gather_statistics()

            context = demo_context(sets, options, report, in_use)
            chance = context.chance("identifiers")
            try:
                whole = references_checked_at_end() if context.in_steps else transaction.atomic()
                with whole, timezone.override(context.zone), repeatable_guids(chance):
                    for each in sets:
                        each.load(context)
                    gather_statistics(of_all=True)
            except (IntegrityError, ValidationFailed) as error:
                left = BROKEN_OFF if context.in_steps else "Nothing was loaded"
                raise CommandError(f"{left}: a record clashes with one that is there. {error}") from error
        seconds = time.perf_counter() - began
        counts = ", ".join(f"{counted[model]:,} {plural(model)}" for model in bars)
        self.stdout.write(
            f"Loaded {counts} (seed {context.seed}, as of {context.as_of}) in {seconds:.1f} s: "
            f"{counted.total() / seconds:,.0f} rows a second."
        )


def demo_context(
    sets: tuple[DemoSet, ...],
    options: dict[str, Any],
    report: Callable[[type[models.Model], int], None],
    in_use: bool,
) -> Context:
    zone = Subscriber.current().zone
    today = timezone.localdate(timezone=zone)
    as_of = options["as_of"] or today
    if as_of > today:
        raise CommandError(f"--as-of {as_of} lies in the future: demo records were made before today.")
    sizes = [size for each in sets for size in each.sizes]
    asked = {size.name: options[size.name] for size in sizes if options[size.name] is not None}
    complete = complete_sizes(sizes, asked)
    # What a load that breaks off leaves cannot be told from records that were there.
    in_steps = connection.vendor == "postgresql" and not in_use and sum(complete.values()) > MOST_AT_ONCE
    return Context(options["seed"], as_of, zone, complete, report, in_steps)


FOREIGN_KEYS = """
SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'f' AND connamespace = current_schema()::regnamespace
"""
WITHOUT_KEYS = "This database has no foreign keys: a large load was killed in it. Make a new database."


@contextmanager
def references_checked_at_end() -> Iterator[None]:
    """Let PostgreSQL check the references of a large load together: 0.6 µs each, row by row 10.

    Its foreign keys are away meanwhile, so nobody else may write; a load that is killed leaves them away.
    """
    with connection.cursor() as cursor:
        cursor.execute(FOREIGN_KEYS)
        keys = cursor.fetchall()
        if not keys:
            raise CommandError(WITHOUT_KEYS)
        cursor.execute("; ".join(f"ALTER TABLE {table} DROP CONSTRAINT {name}" for table, name, _ in keys))
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(
                "; ".join(f"ALTER TABLE {table} ADD CONSTRAINT {name} {as_}" for table, name, as_ in keys)
            )


#: The tables that are more than twice as large as when they were looked at last.
GROWN_TABLES = """
SELECT relname FROM pg_class WHERE oid = ANY(%s::regclass[])
AND pg_relation_size(oid) > 2 * relpages * current_setting('block_size')::bigint
"""


def gather_statistics(of_all: bool = False) -> None:
    """Tell PostgreSQL how large the tables that have grown have become, sooner than it looks by itself.

    Planned for smaller tables, look-ups of many keys take a hundred times longer, and so do the checks of
    references at the commit. How large they are a tenth of the usual sample tells.
    """
    if connection.vendor != "postgresql":
        return
    tables = [model._meta.db_table for model in apps.get_models() if model._meta.managed]
    with connection.cursor() as cursor:
        if not of_all:
            cursor.execute(GROWN_TABLES, [tables])
            tables = [name for (name,) in cursor.fetchall()]
        if tables:
            cursor.execute(f"SET default_statistics_target = {'DEFAULT' if of_all else 10}")
            cursor.execute(f"ANALYZE {', '.join(map(connection.ops.quote_name, tables))}")


def at_least(least: int) -> Callable[[str], int]:
    """A reader of numbers that are not below ``least``."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise ArgumentTypeError(f"{text!r} is not a number from {least} on")
        return int(text)

    return read


def plural(model: type[models.Model]) -> str:
    return str(model._meta.verbose_name_plural)
