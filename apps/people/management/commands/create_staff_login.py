"""Create a back-office login: for the first administrator, or for somebody who lost their password."""

import argparse
import json
import secrets
import sys
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from apps.core.management.base import ServiceCommand
from apps.people.models import Staff
from apps.people.services import ADMINISTRATOR, find_staff, remove_second_factors, save_login


class Command(ServiceCommand):
    help = "Create a staff login, or with --reset give an existing one a new password."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument(
            "--role",
            help=f"the name of a role (default for a new login: {ADMINISTRATOR}, created if needed)",
        )
        parser.add_argument("--first-name", help="default: the part before the @")
        parser.add_argument("--last-name", help="default: the part after the @")
        parser.add_argument(
            "--password-stdin", action="store_true", help="read the password from standard input"
        )
        parser.add_argument("--reset", action="store_true", help="set a new password if the login exists")
        parser.add_argument(
            "--remove-second-factors", action="store_true", help="for somebody who has lost all of them"
        )
        parser.add_argument("--json", action="store_true", help='print {"email": …, "password": …}')

    def handle(self, *args: object, email: str, **options: Any) -> None:
        email, is_given = email.strip(), options["password_stdin"]
        password = sys.stdin.readline().rstrip("\r\n") if is_given else new_password()
        if find_staff(email) is not None and not options["reset"]:
            raise CommandError(f"{email} has a login already. With --reset it gets a new password.")
        try:
            staff = save_login(email, password, options["first_name"], options["last_name"], options["role"])
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        if options["remove_second_factors"]:
            remove_second_factors(Staff.objects.filter(pk=staff.pk))
        if options["json"]:
            self.stdout.write(json.dumps({"email": staff.primary_email, "password": password}))
            return
        self.stdout.write(f"Login     {staff.primary_email}")
        self.stdout.write(f"Role      {staff.role}")
        if not is_given:
            self.stdout.write(f"Password  {password}  (not shown again)")
        if not staff.is_active:
            self.stdout.write("This login is disabled, or the staff member is archived.")
        elif not staff.is_staff:
            self.stdout.write(f"The role {staff.role} grants nothing yet: no access to the back office.")


def new_password() -> str:
    return secrets.token_urlsafe(18)
