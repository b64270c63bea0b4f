"""Prints the address that makes the first administrator, while there is none."""

import argparse

from django.conf import settings

from apps.core.management.base import ServiceCommand
from apps.people.authentication.first_administrator import VALIDITY, first_administrator_path
from apps.people.services import administrators


class Command(ServiceCommand):
    help = "While there is no administrator: print the address of the page that makes the first one."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        address = settings.SITE_ADDRESS
        parser.add_argument(
            "--url",
            default=address,
            required=not address,
            help="where people reach the service (SITE_ADDRESS where that is set)",
        )

    def handle(self, *args: object, url: str, verbosity: int, **options: object) -> None:
        if administrators().exists():
            if verbosity:  # ./run serve asks at each start
                self.stdout.write(
                    "There is an administrator already."
                    " ./run create_staff_login EMAIL --reset gives a login a new password."
                )
            return
        hours = VALIDITY.total_seconds() // 3600
        address = url.rstrip("/") + first_administrator_path()
        self.stdout.write(f"There is no administrator yet. Open this address within {hours:.0f} hours:")
        self.stdout.write(f"  {address}")
