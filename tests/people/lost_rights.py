"""What ends somebody's right to what they have begun."""

from django.utils import timezone

from apps.people.models import Role, Staff
from tests.people.records import a_role


def lose_rights(person):
    """They may go on viewing, no more."""
    role = a_role("people.view_contact", "funding.view_invoice", "payments.view_statement")
    Staff.objects.filter(pk=person.pk).update(role=role)


def see_some(person):
    Role.objects.filter(pk=person.role_id).update(participants="Own")


def lose_login(person):
    Staff.objects.filter(pk=person.pk).update(disable_login_date=timezone.now())
