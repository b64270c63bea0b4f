"""Applications come, get new secrets, and go: the verbs of commands and back office alike."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.db import transaction

from apps.access import scopes
from apps.access.credentials import digest, new_secret
from apps.access.models import ApiApplication
from apps.core.identifiers import normalised
from apps.odata import clock


def register_application(name: str, scope: Iterable[str] = scopes.EVERYTHING) -> tuple[ApiApplication, str]:
    """A new application and its secret, which nobody can be told again.

    ``ValidationError`` for a name that is taken or too long and for scopes this service does not offer.
    """
    application = ApiApplication(name=name.strip(), scope=scopes.spelled(scope))
    if ApiApplication.objects.filter(name_key=normalised(application.name)).exists():
        raise ValidationError({"name": f"There is an API application {application.name} already."})
    secret = give_secret(application)
    application.full_clean(exclude=["name_key"])
    application.save()
    return application, secret


def give_secret(application: ApiApplication) -> str:
    """Set a new secret on an application that is not saved yet."""
    secret = new_secret()
    application.secret_hash = digest(secret)
    return secret


@transaction.atomic
def renew_secret(application: ApiApplication, keep_previous: dt.timedelta | None = None) -> str:
    """A new secret for the application.

    The secret before it ends now, and every token got with it; with ``keep_previous`` both go on for
    that long, so that a caller can be moved over without a gap.
    """
    application.previous_secret_hash = application.secret_hash if keep_previous else None
    application.previous_secret_until = clock.now() + keep_previous if keep_previous else None
    secret = give_secret(application)
    application.save()
    if not keep_previous:
        application.tokens.all().delete()
    return secret


@transaction.atomic
def revoke_application(application: ApiApplication) -> None:
    """Refuse the application and every token it holds, from now on."""
    if application.archive_date is None:
        application.archive_date = clock.now()
        application.save()
    application.tokens.all().delete()


def restore_application(application: ApiApplication) -> None:
    """Let the application in again, with the secret it had; tokens it must fetch anew."""
    if application.archive_date is not None:
        application.archive_date = None
        application.save()
