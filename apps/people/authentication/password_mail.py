"""The mail with the link by which somebody chooses a password, sent by a worker."""

from functools import partial
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django_tasks import task

from apps.base.errors import plural
from apps.core.history import Author
from apps.core.mailing import mail_once
from apps.core.models import Change
from apps.core.task_queue import task_author
from apps.people.models import Staff


def link_validity() -> str:
    """The time for which a link is valid: ``24 hours``."""
    return plural(settings.PASSWORD_LINK_HOURS, "hour")


def link_path(staff: Staff) -> str:
    """The path of the page on which somebody chooses their password."""
    key = urlsafe_base64_encode(force_bytes(staff.pk))
    return reverse("password_reset_confirm", args=[key, default_token_generator.make_token(staff)])


@task()
def mail_password_link(key: str | None, site: str, failures: int) -> None:
    """Mail the link to the staff member of this key, if any; a server that fails is asked again later.

    ``site``: the address of the service, such as ``https://records.example.org``. The link is made here, so
    that the table of tasks has none.
    """
    with task_author(Author(Change.Channel.BACK_OFFICE)):
        send = partial(send_password_link, key, site)
        mail_once(mail_password_link, (key, site), failures, send)


def send_password_link(key: str | None, site: str) -> None:
    """Send it, while the login is open."""
    staff = Staff.objects.filter(pk=key).first() if key else None
    if staff is None or not (staff.is_active and staff.is_staff):
        return
    context = {"staff": staff, "link": f"{site}{link_path(staff)}", "validity": link_validity()}
    text = render_to_string("people/password_mail.txt", context)
    EmailMessage(f"Your login to {urlsplit(site).netloc}", text, to=[staff.primary_email]).send()
