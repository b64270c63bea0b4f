"""Revoke an API application and all its tokens."""

import argparse

from django.core.management.base import CommandError
from django.db.models import Q

from apps.access.models import ApiApplication
from apps.access.services import revoke_applications
from apps.core.management.base import ServiceCommand
from apps.core.models import normalised


class Command(ServiceCommand):
    help = "Revoke an API application: its secret and its tokens are refused from now on."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("application", metavar="NAME|CLIENT_ID")

    def handle(self, *args: object, application: str, **options: object) -> None:
        named = Q(name_key=normalised(application)) | Q(client_id=application)
        found = ApiApplication.objects.filter(named)
        names = list(found.values_list("name", flat=True))
        if not names:
            raise CommandError(f"There is no API application with the name or client id {application}.")
        if len(names) > 1:
            raise CommandError(f"{application} is the name of one application and the client id of another.")
        revoke_applications(found)
        self.stdout.write(f"Revoked: {names[0]}")
