"""Create a back-office login: for the first administrator, or for somebody who lost their password."""

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

from apps.core.models import normalised
from apps.odata.write.drafts import ValidationFailed
from apps.people.models import Role, Staff
from apps.people.services import RoleDraft, StaffDraft, change_logins, create_roles, create_staff

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

    def handle(self, *args: Any, email: str, **options: Any) -> None:
        email, is_given = email.strip(), options["password_stdin"]
        password = sys.stdin.readline().rstrip("\r\n") if is_given else new_password()
        if find_staff(email) is not None and not options["reset"]:
            raise CommandError(f"{email} has a login already. With --reset it gets a new password.")
        staff = save_login(email, password, options["role"], options["first_name"], options["last_name"])
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


def find_staff(email: str) -> Staff | None:
    return Staff.objects.select_related("role").filter(primary_email_key=normalised(email)).first()


@transaction.atomic
def save_login(
    email: str,
    password: str,
    role: str | None = None,
    first_name: str | None = None,
    last_name: str | None = None,
) -> Staff:
    """The staff member with that email and password; created by the service when there is none.

    The names of a new one are taken from the email where they are not given. ``CommandError`` says what is
    wrong with the email, the role or the password.
    """
    existing = find_staff(email)
    try:
        staff = existing or unsaved_staff(email, first_name, last_name)
        if existing is None or role is not None:
            staff.role = load_role(role or ADMINISTRATOR)
        validate_password(password, staff)
        staff.clean_fields(exclude=["password"])
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    staff.set_password(password)
    try:
        if existing is not None:
            change_logins(Staff.objects.filter(pk=staff.pk), password=staff.password, role=staff.role)
            return staff
        names = ("primary_email", "use_primary_email", "first_name", "last_name", "role", "password")
        create_staff([StaffDraft({name: getattr(staff, name) for name in names}, given=names)])
        return staff
    except ValidationFailed as failed:
        raise CommandError(" ".join(issue.message for _, issue in failed.issues)) from None


def unsaved_staff(email: str, first_name: str | None, last_name: str | None) -> Staff:
    """``ValidationError`` for what is no email address: the names would be taken from it."""
    validate_email(email)
    local_part, _, domain = email.partition("@")
    return Staff(
        primary_email=email,
        use_primary_email=True,
        first_name=first_name or local_part,
        last_name=last_name or domain,
    )


def load_role(name: str) -> Role:
    """The role of that name; the administrator's is created when it does not exist."""
    found = Role.objects.filter(name_key=normalised(name)).first()
    if found is not None:
        return found
    if normalised(name) != normalised(ADMINISTRATOR):
        existing = ", ".join(Role.objects.values_list("name", flat=True)[:20]) or "none yet"
        raise CommandError(f"There is no role {name}. Roles: {existing}.")
    values = {"name": ADMINISTRATOR, "all_permissions": True}
    (key,) = create_roles([RoleDraft(dict(values), given=values)])
    return Role.objects.get(pk=key)
