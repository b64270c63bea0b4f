"""The command ``subscribers``: many subscribers on one installation."""

import os
import time
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError

from apps.base.errors import plural
from apps.operations.management.base import OperatorCommand
from apps.operations.services.subscribers import (
    SubscriberFile,
    haproxy_backends,
    haproxy_hosts,
    migrate_subscribers,
    read_subscribers,
)


class Command(OperatorCommand):
    help = (
        "Checks a folder with a file NAME.env for each subscriber (docs/scale.md); with --migrate brings all"
        " their databases up to date, with --haproxy writes the routes of HAProxy."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="where the files are, such as /etc/records")
        parser.add_argument("--migrate", action="store_true", help="migrate the databases of all")
        parser.add_argument("--parallel", type=int, default=os.cpu_count(), help="databases at a time")
        parser.add_argument(
            "--haproxy",
            type=Path,
            help="a folder for backends.cfg and hosts.map (ops/haproxy/subscribers.cfg)",
        )

    def handle(
        self, *, folder: Path, migrate: bool, parallel: int, haproxy: Path | None, **options: object
    ) -> None:
        subscribers = read_subscribers(folder)
        self.stdout.write(f"{plural(len(subscribers), 'subscriber')}: nothing is shared.")
        if haproxy is not None:
            (haproxy / "backends.cfg").write_text(haproxy_backends(subscribers))
            (haproxy / "hosts.map").write_text(haproxy_hosts(subscribers))
        if migrate:
            self.migrate(subscribers, max(1, parallel))

    def migrate(self, subscribers: list[SubscriberFile], parallel: int) -> None:
        started, failed = time.monotonic(), 0
        for number, done in enumerate(migrate_subscribers(subscribers, parallel), 1):
            failed += bool(done.reason)
            self.stdout.write(f"[{number}/{len(subscribers)}] {done.name}: {done.reason or 'up to date'}")
        self.stdout.write(f"{time.monotonic() - started:.0f} s.")
        if failed:
            raise CommandError(f"{plural(failed, 'database')} of {len(subscribers)} could not be migrated.")
