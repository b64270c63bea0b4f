"""Gives a person a back-office login: the first administrator, or whoever lost their password."""

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
from apps.people.models import Role, Staff

ADMINISTRATOR = "Administrator"


class Command(BaseCommand):
    help = "Create a staff login, or with --reset give an existing one a new password."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument(
            "--role",
            help=f"the name of a role (default for a new login: {ADMINISTRATOR}, made when it is not there)",
        )
        parser.add_argument("--first-name", help="default: what stands before the @")
        parser.add_argument("--last-name", help="default: what stands behind the @")
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
        staff = Staff.objects.select_related("role").filter(primary_email_key=normalised(email)).first()
        if staff is not None and not options["reset"]:
            raise CommandError(f"{email} has a login already. With --reset it gets a new password.")
        try:
            if staff is None:
                staff = new_staff(email, options["first_name"], options["last_name"])
                staff.role = role_named(options["role"] or ADMINISTRATOR)
            elif options["role"]:
                staff.role = role_named(options["role"])
            validate_password(password, staff)
            staff.set_password(password)
            staff.full_clean(exclude=["primary_email_key", "unique_code_key"])
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        staff.save()
        self.tell(staff, password, was_given=given is not None, as_json=options["json"])

    def tell(self, staff: Staff, password: str, was_given: bool, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"email": staff.primary_email, "password": password}))
            return
        self.stdout.write(f"Login     {staff.primary_email}")
        self.stdout.write(f"Role      {staff.role}")
        if not was_given:
            self.stdout.write(f"Password  {password}  (not shown again)")
        if not staff.is_active:
            self.stdout.write("This login is closed: the person is archived or the login is disabled.")
        elif not staff.is_staff:
            self.stdout.write(
                f"The role {staff.role} grants nothing yet: the back office stays closed to it."
            )


def new_staff(email: str, first_name: str | None, last_name: str | None) -> Staff:
    """Unsaved. ``ValidationError`` for what is no email address: the names would be taken from it."""
    validate_email(email)
    local, _, domain = email.partition("@")
    return Staff(
        primary_email=email,
        use_primary_email=True,
        first_name=first_name or local,
        last_name=last_name or domain,
    )


def role_named(name: str) -> Role:
    """The role of that name; the administrator's is made when it is not there."""
    found = Role.objects.filter(name_key=normalised(name)).first()
    if found is not None:
        return found
    if normalised(name) != normalised(ADMINISTRATOR):
        known = ", ".join(Role.objects.values_list("name", flat=True)[:20]) or "none yet"
        raise CommandError(f"There is no role {name}. Roles: {known}.")
    return Role.objects.create(name=ADMINISTRATOR, all_permissions=True)
