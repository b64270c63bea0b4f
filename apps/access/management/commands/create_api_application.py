"""Register an API application and print its secret once."""

import argparse
import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from apps.access.callers import EVERYTHING
from apps.access.services import register_application
from apps.core.management.base import ServiceCommand


class Command(ServiceCommand):
    help = "Register an API application. Its secret is printed once and stored nowhere."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument(
            "--scope",
            action="append",
            metavar="SCOPE",
            help="read, write, or one resource's like client.read; may be given several times "
            "(default: read and write; write does not include read)",
        )
        parser.add_argument("--json", action="store_true", help='print {"client_id": …, "client_secret": …}')
        parser.add_argument(
            "--url", default="http://127.0.0.1:8000", help="the service's address, for the example"
        )

    def handle(self, *args: object, name: str, **options: Any) -> None:
        scope = " ".join(options["scope"] or EVERYTHING).replace(",", " ").split()
        try:
            application, secret = register_application(name, scope)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        if options["json"]:
            credentials = {"client_id": application.client_id, "client_secret": secret}
            self.stdout.write(json.dumps(credentials))
            return
        self.stdout.write(f"Application    {application.name}")
        self.stdout.write(f"Scopes         {application.scope}")
        self.stdout.write(f"Client id      {application.client_id}")
        self.stdout.write(f"Client secret  {secret}")
        self.stdout.write("The secret is not shown again. A token, for an hour:")
        self.stdout.write(
            f"  curl --user {application.client_id}:{secret} --data grant_type=client_credentials "
            f"{options['url'].rstrip('/')}/connect/token"
        )
