"""Revoke an API application and all its tokens."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q

from apps.access.models import ApiApplication
from apps.access.services import revoke_application
from apps.core.identifiers import normalised


class Command(BaseCommand):
    help = "Revoke an API application: its secret and its tokens are refused from now on."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("application", metavar="NAME|CLIENT_ID")

    def handle(self, *args: Any, application: str, **options: Any) -> None:
        named = Q(name_key=normalised(application)) | Q(client_id=application)
        found = list(ApiApplication.objects.filter(named))
        if not found:
            raise CommandError(f"There is no API application with the name or client id {application}.")
        if len(found) > 1:
            raise CommandError(f"{application} is the name of one application and the client id of another.")
        revoke_application(found[0])
        self.stdout.write(f"Revoked: {found[0].name}")
