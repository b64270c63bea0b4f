"""Services of API applications, for the back office and the commands: secrets, tokens, revoking, purging."""

import datetime as dt
import time
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model, QuerySet

from apps.access.authentication import find_application_by_secret
from apps.access.callers import (
    EVERYTHING,
    ApplicationCaller,
    SecretDraft,
    hash_secret,
    join_scopes,
    new_client_id,
    new_secret,
)
from apps.access.models import AccessToken, ApiApplication, IdempotencyKey, Usage
from apps.access.throttling import MINUTES_OF_A_DAY
from apps.access.webhooks import delete_old_messages
from apps.base import clock
from apps.base.drafts import ValidationFailed
from apps.core import archive, read_log_chain, saving
from apps.core.file_exports import delete_file_exports
from apps.core.file_imports import delete_import_files
from apps.core.notices import delete_old_notices
from apps.core.task_queue import delete_finished_tasks


def create_applications(drafts: Sequence[SecretDraft]) -> list[Any]:
    """Store new applications; each draft has its secret afterwards."""
    saving.apply_model_defaults(ApiApplication, drafts)
    saving.validate(ApiApplication, drafts)
    for draft in drafts:
        draft.new_secret = new_secret()
    made_here = {
        "client_id": [new_client_id() for _ in drafts],
        "secret_hash": [hash_secret(draft.new_secret) for draft in drafts],
    }
    return saving.insert_records(ApiApplication, drafts, made_here)


def register_application(name: str, scope: Iterable[str] = EVERYTHING) -> tuple[ApiApplication, str]:
    """A new application and its secret, which is never shown again.

    ``ValidationError`` for a name that is taken or too long and for scopes this service does not offer.
    """
    values = {"name": name.strip(), "scope": join_scopes(scope)}
    ApiApplication(**values).clean_fields(exclude=["secret_hash"])
    draft = SecretDraft(dict(values), given=values)
    try:
        (key,) = create_applications([draft])
    except ValidationFailed:
        message = f"There is an API application {values['name']} already."
        raise ValidationError({"name": message}) from None
    return ApiApplication.objects.get(pk=key), draft.new_secret


@transaction.atomic
def renew_secret(application: ApiApplication, keep_previous: dt.timedelta | None = None) -> str:
    """A new secret for the application.

    The secret before it ends now, and every token issued for it; with ``keep_previous`` both stay valid for
    that long, so that a caller can be moved over without a gap.
    """
    application.previous_secret_hash = application.secret_hash if keep_previous else None
    application.previous_secret_until = clock.now() + keep_previous if keep_previous else None
    secret = new_secret()
    application.secret_hash = hash_secret(secret)
    application.save()
    if not keep_previous:
        application.tokens.all().delete()
    return secret


@transaction.atomic
def revoke_applications(applications: QuerySet[ApiApplication]) -> int:
    """Refuse the applications and all their tokens from now on; how many were not refused before.

    Restored, they have the secrets they had, and must get new tokens.
    """
    AccessToken.objects.filter(application__in=applications).delete()
    return archive.archive(applications)


def issue_token(caller: ApplicationCaller, scope: Iterable[str]) -> str:
    """A bearer token for ``settings.API_TOKEN_SECONDS``; only its hash is stored."""
    token = new_secret()
    AccessToken.objects.create(
        hash=hash_secret(token),
        application_id=caller.guid,
        scope=join_scopes(scope),
        expires_at=clock.now() + dt.timedelta(seconds=settings.API_TOKEN_SECONDS),
    )
    return token


@transaction.atomic
def issue_token_for(client_id: str, secret: str, scope: Iterable[str]) -> str | None:
    """A token for who has the secret; ``None`` when that ended a moment ago.

    The application is locked: a renewal of its secret waits, and then deletes the token.
    """
    list(ApiApplication.objects.select_for_update().filter(client_id=client_id).values_list("pk"))
    caller = find_application_by_secret(client_id, secret)
    return issue_token(caller, scope) if caller is not None else None


def purge_expired() -> dict[str, int]:
    """Delete what is kept for some days only; how many of each."""
    now = clock.now()
    oldest_key = now - dt.timedelta(seconds=settings.API_IDEMPOTENCY_SECONDS)
    oldest_minute = int(time.time() // 60) - MINUTES_OF_A_DAY
    expired: dict[str, QuerySet[Model]] = {
        "access tokens": AccessToken.objects.filter(expires_at__lte=now),
        "idempotency keys": IdempotencyKey.objects.filter(creation_date__lte=oldest_key),
        "usage counts": Usage.objects.filter(minute__lt=oldest_minute),
    }
    counts = {what: rows.delete()[0] for what, rows in expired.items()}
    if settings.READ_LOG_DAYS:
        oldest_read = now - dt.timedelta(days=settings.READ_LOG_DAYS)
        counts["entries of the read log"] = read_log_chain.delete_entries_before(oldest_read)
    return {
        **counts,
        "finished tasks": delete_finished_tasks(),
        "files of imports": delete_import_files(),
        "exports": delete_file_exports(),
        "notices": delete_old_notices(),
        "webhook messages": delete_old_messages(),
    }
