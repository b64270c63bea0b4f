"""Create a back-office login: for the first administrator, or for somebody who lost their password."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_email
from django.db import transaction

from apps.core.identifiers import normalised
from apps.core.saving import apply_model_defaults
from apps.people.models import Role, Staff
from apps.people.services import AnsweredDraft, create_staff

ADMINISTRATOR = "Administrator"


class Command(BaseCommand):
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
        parser.add_argument("--json", action="store_true", help='print {"email": …, "password": …}')

    @transaction.atomic
    def handle(self, *args: Any, email: str, **options: Any) -> None:
        email = email.strip()
        given = sys.stdin.readline().rstrip("\r\n") if options["password_stdin"] else None
        password = given if given is not None else secrets.token_urlsafe(18)
        existing = Staff.objects.select_related("role").filter(primary_email_key=normalised(email)).first()
        if existing is not None and not options["reset"]:
            raise CommandError(f"{email} has a login already. With --reset it gets a new password.")
        try:
            staff = existing or new_staff(email, options["first_name"], options["last_name"])
            if existing is None or options["role"]:
                staff.role = find_role(options["role"] or ADMINISTRATOR)
            validate_password(password, staff)
            staff.clean_fields(exclude=["password"])
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        staff.set_password(password)
        if existing is None:
            create(staff)
        else:
            staff.save()
        if options["json"]:
            self.stdout.write(json.dumps({"email": staff.primary_email, "password": password}))
        else:
            self.print_login(staff, None if given is not None else password)

    def print_login(self, staff: Staff, new_password: str | None) -> None:
        self.stdout.write(f"Login     {staff.primary_email}")
        self.stdout.write(f"Role      {staff.role}")
        if new_password is not None:
            self.stdout.write(f"Password  {new_password}  (not shown again)")
        if not staff.is_active:
            self.stdout.write("This login is disabled, or the staff member is archived.")
        elif not staff.is_staff:
            self.stdout.write(f"The role {staff.role} grants nothing yet: no access to the back office.")


def new_staff(email: str, first_name: str | None, last_name: str | None) -> Staff:
    """Unsaved. ``ValidationError`` for what is no email address: the names would be taken from it."""
    validate_email(email)
    local_part, _, domain = email.partition("@")
    return Staff(
        primary_email=email,
        use_primary_email=True,
        first_name=first_name or local_part,
        last_name=last_name or domain,
    )


def create(staff: Staff) -> None:
    """Store the staff member by the service that every entry point uses."""
    names = ("primary_email", "use_primary_email", "first_name", "last_name", "role", "password")
    draft = AnsweredDraft({name: getattr(staff, name) for name in names}, given=names)
    apply_model_defaults(Staff, [draft])
    create_staff([draft])


def find_role(name: str) -> Role:
    """The role of that name; the administrator's is created when it does not exist."""
    found = Role.objects.filter(name_key=normalised(name)).first()
    if found is not None:
        return found
    if normalised(name) != normalised(ADMINISTRATOR):
        existing = ", ".join(Role.objects.values_list("name", flat=True)[:20]) or "none yet"
        raise CommandError(f"There is no role {name}. Roles: {existing}.")
    return Role.objects.create(name=ADMINISTRATOR, all_permissions=True)
