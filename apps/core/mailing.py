"""Mail to people outside: each message once, however often it is tried, and again while the server fails."""

import datetime as dt
import logging
from collections.abc import Callable
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from apps.core import history
from apps.core.caseload import is_visible
from apps.core.read_log import READ_LOG

logger = logging.getLogger(__name__)

#: Minutes until the server of mail is asked again, after each time that it failed.
RETRY_MINUTES = (1, 10, 60, 360)


def mail_once(
    task: Any,
    arguments: tuple[object, ...],
    failures: int,
    send: Callable[[], None],
    give_up: Callable[[OSError], None] = lambda error: None,
) -> None:
    """Call ``send`` in a transaction; when the server fails, enqueue the task again for later.

    ``send`` locks the record, returns when it was sent already, and marks it: what it stored is taken back
    when the server does not take the message. ``arguments`` are those of the task before the number of its
    ``failures``. After the last time ``give_up`` is called with the error, and the task fails.
    """
    try:
        with transaction.atomic():
            send()
        READ_LOG.write()  # the thread that writes it is the server's
    except OSError as error:  # of the connection, and of the server's protocol
        if failures == len(RETRY_MINUTES):
            give_up(error)
            raise
        logger.warning("%s %s is not sent: %s", task.name, arguments[0], error)
        later = timezone.now() + dt.timedelta(minutes=RETRY_MINUTES[failures])
        task.using(run_after=later).enqueue(*arguments, failures + 1)


def author_may(permission: str, record: Model) -> bool:
    """False when the login of whoever had it sent was disabled meanwhile, or their right taken."""
    staff = history.author().staff_id
    if staff is None:
        return True
    person = get_user_model().objects.select_related("role").get(pk=staff)
    return person.has_perm(permission) and is_visible(person, record)
