"""Makes a way in for a first look: a demo administrator and a demo application, told at every start."""

from __future__ import annotations

import argparse
import json
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand

from apps.access.credentials import secret_matches
from apps.access.models import ApiApplication
from apps.access.services import register_application, renew_secret, restore_application
from apps.core.identifiers import normalised

EMAIL = "admin@demo.example"
APPLICATION = "Demo"

Known = dict[str, str]


class Command(BaseCommand):
    help = "Make a demo login and a demo API application, and print them with the service's addresses."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--url", required=True, help="where the service will answer")

    def handle(self, *args: Any, url: str, **options: Any) -> None:
        # Only hashes are in the database, so what was told the first time is kept here.
        notes = settings.VAR_DIR / "demo.json"
        known = {**demo_login(read(notes)), **demo_application(read(notes))}
        write(notes, known)
        self.tell(url.rstrip("/"), known)

    def tell(self, url: str, known: Known) -> None:
        client = f"{known['client_id']}:{known['client_secret']}"
        for line in (
            "",
            f"  Back office    {url}/admin/",
            f"                 {known['email']}  {known['password']}",
            f"  API            {url}/api/",
            f"  Documentation  {url}/docs/",
            f"  Client id      {known['client_id']}",
            f"  Client secret  {known['client_secret']}",
            "",
            "  With curl:",
            f"    TOKEN=$(curl -s -u {client} -d grant_type=client_credentials {url}/connect/token |",
            '      sed \'s/.*"access_token": *"\\([^"]*\\)".*/\\1/\')',
            f"    curl -s -H \"Authorization: Bearer $TOKEN\" '{url}/api/client?$top=3&$expand=*'",
            f"    curl -s -G -H \"Authorization: Bearer $TOKEN\" '{url}/api/claim?$expand=LineItems' \\",
            "      --data-urlencode \"\\$filter=startswith(ProviderInvoiceReference,'DEMO')\"",
            "",
        ):
            self.stdout.write(line)


def demo_login(noted: Known) -> Known:
    """Email and password of the demo administrator: those noted if they still hold, else a new password."""
    email, password = noted.get("email", ""), noted.get("password", "")
    people = get_user_model()
    staff = people._default_manager.filter(primary_email_key=normalised(email or EMAIL)).first()
    if staff is not None and staff.is_active and staff.check_password(password):
        return {"email": email, "password": password}
    told = StringIO()
    call_command(
        "create_staff_login",
        EMAIL,
        first_name="Demo",
        last_name="Administrator",
        reset=True,
        json=True,
        stdout=told,
    )
    made: Known = json.loads(told.getvalue())
    return made


def demo_application(noted: Known) -> Known:
    """Id and secret of the demo application: those noted if they still hold, else a new secret."""
    application = ApiApplication.objects.filter(name_key=normalised(APPLICATION)).first()
    secret = noted.get("client_secret", "")
    if application is None:
        application, secret = register_application(APPLICATION)
    elif not secret_matches(secret, application.secret_hash):
        secret = renew_secret(application)
    restore_application(application)
    return {"client_id": application.client_id, "client_secret": secret}


def read(notes: Path) -> Known:
    """What was noted; nothing when the file is missing or no longer makes sense."""
    try:
        noted = json.loads(notes.read_text())
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def write(notes: Path, known: Known) -> None:
    """Note it for its owner's eyes only."""
    notes.touch(mode=0o600)
    notes.chmod(0o600)
    notes.write_text(json.dumps(known, indent=2))
