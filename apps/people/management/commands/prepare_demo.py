"""Creates access for a first look, and prints it at every start: two logins and an application."""

import argparse
import json
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand

from apps.access.callers import secret_matches
from apps.access.models import ApiApplication
from apps.access.services import register_application, renew_secret
from apps.core import archive
from apps.core.models import normalised
from apps.people.management.commands.create_staff_login import new_password
from apps.people.services import find_staff, save_login

EMAIL = "admin@demo.example"
#: The login of the demo data whose role sees the participants whom it looks after, and no others.
LIMITED_EMAIL = "support.coordinator@example.com"
APPLICATION = "Demo"

Credentials = dict[str, str]

ACCESS = """
  Back office    {url}/admin/
                 {email}  {password}{limited_login}
  API            {url}/api/
  Documentation  {url}/docs/
  Client id      {client_id}
  Client secret  {client_secret}

  With curl:
    TOKEN=$(curl -s -u {client_id}:{client_secret} -d grant_type=client_credentials {url}/connect/token |
      sed 's/.*"access_token": *"\\([^"]*\\)".*/\\1/')
    curl -s -H "Authorization: Bearer $TOKEN" '{url}/api/client?$top=3&$expand=*'
    curl -s -G -H "Authorization: Bearer $TOKEN" '{url}/api/claim?$expand=LineItems' \\
      --data-urlencode "\\$filter=startswith(ProviderInvoiceReference,'DEMO')"
"""


LIMITED_LOGIN = """
                 {limited_email}  {limited_password}  sees the participants in her care"""


class Command(BaseCommand):
    help = "Make demo logins and a demo API application, and print them with the service's addresses."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--url", required=True, help="where the service will answer")

    def handle(self, *args: object, url: str, **options: object) -> None:
        # Only hashes are in the database: the credentials stay readable in this file.
        path = settings.VAR_DIR / "demo.json"
        stored = read(path)
        limited = load_limited_login(stored)
        credentials = {**load_login(stored), **load_application(stored), **limited}
        write(path, credentials)
        limited_login = LIMITED_LOGIN.format(**limited) if limited else ""
        self.stdout.write(ACCESS.format(url=url.rstrip("/"), limited_login=limited_login, **credentials))


def load_login(stored: Credentials) -> Credentials:
    """Email and password of the demo administrator: the stored ones while valid, else a new password."""
    email, password = stored.get("email", EMAIL), stored.get("password", "")
    staff = find_staff(email)
    if staff is None or not staff.is_active or not staff.check_password(password):
        email, password = EMAIL, new_password()
        save_login(email, password, first_name="Demo", last_name="Administrator")
    return {"email": email, "password": password}


def load_limited_login(stored: Credentials) -> Credentials:
    """Email and password of the limited login, as above; none where no demo data, or older data, is there."""
    staff, password = find_staff(LIMITED_EMAIL), stored.get("limited_password", "")
    if staff is None or not staff.is_active or staff.role.sees_everybody:
        return {}
    if not staff.check_password(password):
        password = new_password()
        save_login(LIMITED_EMAIL, password)
    return {"limited_email": LIMITED_EMAIL, "limited_password": password}


def load_application(stored: Credentials) -> Credentials:
    """Id and secret of the demo application: the stored ones while they are valid, else a new secret."""
    application = ApiApplication.objects.filter(name_key=normalised(APPLICATION)).first()
    secret = stored.get("client_secret", "")
    if application is None:
        application, secret = register_application(APPLICATION)
    elif not secret_matches(secret, application.secret_hash):
        secret = renew_secret(application)
    archive.restore(ApiApplication.objects.filter(pk=application.pk))
    return {"client_id": application.client_id, "client_secret": secret}


def read(path: Path) -> Credentials:
    """The stored credentials; none when the file is missing or is not JSON."""
    try:
        stored = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}


def write(path: Path, credentials: Credentials) -> None:
    """Only the owner of the file may read it."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(json.dumps(credentials, indent=2))
