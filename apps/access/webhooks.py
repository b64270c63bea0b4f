"""Webhooks: changes of an entity set, sent to an application's address (Standard Webhooks).

The history is the outbox: it is written in the transaction of the change, and read like a delta from the
webhook's position. A message is stored with the new position, then sent until it is accepted.
"""

import base64
import datetime as dt
import hashlib
import hmac
import json
import logging
import secrets
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from urllib.parse import quote
from uuid import UUID

from django.db import transaction
from django.db.models import Max, QuerySet

from apps.access.callers import READ, ApplicationCaller, SecretDraft
from apps.access.models import ApiApplication, Webhook, WebhookMessage
from apps.access.outgoing import AddressRefused, check_address, post
from apps.access.webhook_messages import (
    change_of,
    entity_set_named,
    message_body,
    tracked_sets,
    without_unseen,
)
from apps.base import clock
from apps.base.declaration.schema import EntitySet
from apps.base.drafts import Issue, Rule, ValidationFailed
from apps.base.errors import Conflict, Forbidden, Gone, ServiceError, Unavailable
from apps.core import history, saving
from apps.core.models import Subscriber
from apps.core.read_log import READ_LOG
from apps.core.services import Checks, update_records
from apps.odata.delta.change_log import get_change_log
from apps.odata.delta.dependencies import UntrackableError, find_dependencies
from apps.odata.delta.reader import DeltaPage, DeltaReader
from apps.odata.delta.tokens import DeltaToken, read_delta_link, read_token, sight_of
from apps.odata.errors import BadQuery
from apps.odata.query.options import parse_options
from apps.odata.read.reader import JsonReader, filter_rows

#: Records in one message.
MESSAGE_RECORDS = 100
#: Receivers that are asked at once.
SENDERS = 16
#: Seconds for which one call waits for receivers; those that are slower are heard in the next one.
ROUND_SECONDS = 2.0
#: The pauses of a webhook after each failed attempt in a row; the last one is that after all further ones.
PAUSES = tuple(dt.timedelta(seconds=seconds) for seconds in (5, 60, 300, 1_800, 3_600))
#: A message that is older has failed when an attempt fails.
MESSAGE_LIFE = dt.timedelta(days=3)
#: After which a message is tried again when its sender was killed.
SENDING_TIME = dt.timedelta(minutes=5)
#: A position that is older is moved on though nothing changed, so that it is not read from again and again.
POSITION_AGE = dt.timedelta(minutes=10)
#: Accepted and failed messages are kept for so long.
MESSAGE_AGE = dt.timedelta(days=30)

#: Webhooks that an application has at most: the changes of each are looked for every few seconds.
MOST_WEBHOOKS = 50

#: Of what a receiver answers.
RESULT_CHARACTERS = 200

State = WebhookMessage.State
logger = logging.getLogger(__name__)


# --- webhooks -------------------------------------------------------------------------------------------


class WebhookDraft(SecretDraft):
    address: str
    entity_set: str
    filter: str


def address_is_allowed(draft: WebhookDraft) -> Iterator[Issue]:
    if draft.address:
        try:
            check_address(draft.address)
        except AddressRefused as error:
            yield Issue("NotAllowed", "address", str(error))


def entity_set_is_readable(draft: WebhookDraft) -> Iterator[Issue]:
    entity_set, application = entity_set_named(draft.entity_set), application_of(draft)
    if entity_set is None:
        names = ", ".join(tracked_sets())
        yield Issue("Unknown", "entity_set", f"There is no entity set {draft.entity_set}; there are {names}.")
    elif application is not None and not application.caller.may(READ, entity_set):
        yield Issue("NotAllowed", "entity_set", f"{application} has no scope to read {draft.entity_set}.")


def filter_can_be_followed(draft: WebhookDraft) -> Iterator[Issue]:
    entity_set, application = entity_set_named(draft.entity_set), application_of(draft)
    if not draft.filter or entity_set is None or application is None:
        return
    if not application.caller.may(READ, entity_set):
        return
    try:
        delta_reader(entity_set, draft.filter, application.caller)
    except (ServiceError, UntrackableError) as error:
        yield Issue("InvalidFilter", "filter", str(error))


WEBHOOK_RULES: Sequence[Rule[WebhookDraft]] = (
    address_is_allowed,
    entity_set_is_readable,
    filter_can_be_followed,
)


def create_webhooks(drafts: Sequence[WebhookDraft]) -> list[UUID]:
    """Store new webhooks, which are told of changes from now on; each draft has its secret afterwards."""
    refuse_too_many(drafts)
    saving.apply_model_defaults(Webhook, drafts)
    saving.validate(Webhook, drafts, WEBHOOK_RULES)
    for draft in drafts:
        draft.new_secret = new_webhook_secret()
    columns = {
        "secret": [draft.new_secret for draft in drafts],
        "position": [position_now(application_of(draft)) for draft in drafts],
    }
    return saving.insert_records(Webhook, drafts, columns)


def refuse_too_many(drafts: Sequence[WebhookDraft]) -> None:
    """``ValidationFailed`` where an application would have more than ``MOST_WEBHOOKS`` that are not archived.

    Before other rules, which look for the host of each address.
    """
    numbers = Counter(draft.key_of("application") for draft in drafts)
    current = Webhook.objects.filter(application__in=filter(None, numbers), archive_date__isnull=True)
    for application in current.values_list("application", flat=True):
        numbers[application] += 1
    if max(numbers.values(), default=0) > MOST_WEBHOOKS:
        message = f"An application has {MOST_WEBHOOKS} of them at most."
        raise ValidationFailed([(0, Issue("TooMany", "", message))])


@transaction.atomic
def update_webhooks(drafts: Sequence[WebhookDraft]) -> list[UUID]:
    """Change webhooks; of one that is told of another entity set now, messages that wait are not sent.

    The application may not be allowed to read any more what they hold.
    """
    webhooks = Webhook.objects.filter(pk__in=[draft.key for draft in drafts])
    before = dict(webhooks.values_list("pk", "entity_set"))
    keys: list[UUID] = update_records(Webhook, drafts, checks=Checks(WEBHOOK_RULES))
    moved = [key for key, name in webhooks.values_list("pk", "entity_set") if before.get(key) != name]
    WebhookMessage.objects.filter(webhook__in=moved, state=State.WAITING).delete()
    return keys


def renew_webhook_secret(webhook: Webhook) -> str:
    """A new secret, with which all further messages are signed."""
    webhook.secret = new_webhook_secret()
    webhook.save()
    return webhook.secret


def new_webhook_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()


def position_now(application: ApiApplication | None) -> str:
    sight = "" if application is None else sight_of(application.caller)
    return DeltaToken("", since=get_change_log().moment(), sight=sight).sign()


def application_of(draft: WebhookDraft) -> ApiApplication | None:
    return ApiApplication.objects.filter(pk=draft.key_of("application")).first()


# --- what a program asks for ------------------------------------------------------------------------------


def send_test(webhook: Webhook) -> str:
    """Let a message without changes be sent, without waiting for a pause; its ``webhook-id``."""
    refuse_stopped(webhook)
    Webhook.objects.filter(pk=webhook.pk).update(failures=0, paused_until=None)
    return message_id(add_message(webhook, message_body(webhook, "test", [])))


@transaction.atomic
def replay(webhook: Webhook, link: str) -> None:
    """Let all changes since a delta link be told again, by going back to it; nothing is left out.

    ``Gone`` when the database is not the one that gave the link, ``BadQuery`` when that is no delta link of
    the webhook's entity set, ``Conflict`` when the webhook is stopped.
    """
    caller = webhook.application.caller
    name, token = read_delta_link(link, caller)
    if name != webhook.entity_set:
        raise BadQuery(f"It is a delta link of {name[:60]}, not of {webhook.entity_set}.")
    webhook = Webhook.objects.select_for_update(of=("self",)).select_related("application").get(pk=webhook.pk)
    refuse_stopped(webhook)
    log, since = get_change_log(), token.since
    assert since is not None
    log.entries(since, log.moment(), (), None, 1)
    with suppress(BadQuery, Gone):  # the key of signatures changed, or what the application sees
        position = read_token(webhook.position, "", caller).since
        since = since if position is None else log.earlier(since, position)
    position_text = DeltaToken("", since=since, sight=token.sight).sign()
    Webhook.objects.filter(pk=webhook.pk).update(position=position_text, position_date=clock.now())


def refuse_stopped(webhook: Webhook) -> None:
    """``Conflict`` for a webhook that nothing is sent of now."""
    if webhook.is_archived or webhook.application.is_archived:
        raise Conflict("It is archived: nothing is sent.")


# --- messages -------------------------------------------------------------------------------------------


def send_changes() -> None:
    """Make messages of what changed, and send those that are due. Workers call it every few seconds."""
    clock.activate_zone(Subscriber.current().time_zone)
    active = []
    for webhook in Webhook.objects.select_related("application"):
        try:
            if follow(webhook):
                active.append(webhook)
        except Exception:  # of one webhook, which must not stop the others
            logger.exception("webhook %s", webhook.pk)
    SENDING.send(active)
    READ_LOG.write()  # the thread that writes it is the server's


def follow(webhook: Webhook) -> bool:
    """Make messages of what changed, for a round; whether the webhook's messages may be sent."""
    entity_set, end = entity_set_named(webhook.entity_set), time.monotonic() + ROUND_SECONDS
    if webhook.is_archived or webhook.application.is_archived or entity_set is None:
        store_position(webhook, "")  # of changes until it goes on nothing is sent, later either
        return False
    while make_message(webhook, entity_set) and time.monotonic() < end:
        pass
    return bool(webhook.position)


def make_message(webhook: Webhook, entity_set: EntitySet) -> bool:
    """Store a message about the next changes behind the webhook's position; whether there are more.

    There is no position afterwards where the application may not read the set, or not by that condition.
    """
    caller = webhook.application.caller  # anew for each message: what it sees may have changed
    try:
        if not caller.may(READ, entity_set):
            raise Forbidden(caller.refusal(READ, entity_set.name))
        reader = delta_reader(entity_set, webhook.filter, caller)
    except (ServiceError, UntrackableError):
        store_position(webhook, "")
        return False
    if not webhook.position:  # of the time without one nothing is told
        return reset(webhook)
    try:
        reader.token = read_token(webhook.position, "", caller)
        page = reader.page(MESSAGE_RECORDS)
    except (BadQuery, Gone):  # the key of signatures or the caseload changed, or the database was restored
        return reset(webhook)
    except Unavailable:  # what the application sees is changing: in the next round it is told
        return False
    return store_changes(webhook, entity_set, page)


def store_changes(webhook: Webhook, entity_set: EntitySet, page: DeltaPage) -> bool:
    """Store the message about a page of changes with the position behind it; whether there are more."""
    changes = list(changes_of(webhook, entity_set, page))
    more = page.next_token is not None
    # Without changes now and then only, since the position is a row that is written.
    if changes or more or webhook.position_date < clock.now() - POSITION_AGE:
        body = message_body(webhook, "changed", changes) if changes else ""
        more = store_position(webhook, page.next_token or page.delta_token, body) and more
    if webhook.includes_records and page.records:
        with history.as_author(history.Author("API", application=webhook.application.name)):
            READ_LOG.log_records(entity_set, page.records, (), is_list=True, has_others=False)
    return more


@transaction.atomic
def reset(webhook: Webhook) -> bool:
    """Begin anew, and say so in place of the messages that wait, which may have what is seen no more."""
    waiting = [*webhook.messages.filter(state=State.WAITING).values_list("pk", flat=True)]
    if store_position(webhook, position_now(webhook.application), message_body(webhook, "reset", [])):
        webhook.messages.filter(pk__in=waiting).delete()
    return False


def store_position(webhook: Webhook, position: str, body: str = "") -> bool:
    """Store the webhook's new position, and the message about what is before it.

    False when another worker has moved it.
    """
    if position == webhook.position:
        return False
    with transaction.atomic():
        rows = Webhook.objects.filter(pk=webhook.pk, position=webhook.position)
        is_moved = rows.update(position=position, position_date=clock.now()) == 1
        if is_moved and body:
            add_message(webhook, body)
    webhook.position = position
    return is_moved


def add_message(webhook: Webhook, body: str) -> WebhookMessage:
    """Store a message behind all that wait, though the clock was put back since those were made."""
    waiting = webhook.messages.filter(state=State.WAITING)
    newest: dt.datetime | None = waiting.aggregate(newest=Max("creation_date"))["newest"]
    now = clock.now()
    date = now if newest is None or newest < now else newest + dt.timedelta(microseconds=1)
    return webhook.messages.create(body=body, creation_date=date)


def delta_reader(entity_set: EntitySet, condition: str, caller: ApplicationCaller) -> DeltaReader:
    options = parse_options(f"$filter={quote(condition)}" if condition else "")
    rows = filter_rows(entity_set, entity_set.rows_for(caller), options, caller)
    current = JsonReader(entity_set, rows, options, caller=caller)
    dependencies = find_dependencies(entity_set, current.projection, options, current.request)
    return DeltaReader(current, dependencies, DeltaToken(""))


def changes_of(webhook: Webhook, entity_set: EntitySet, page: DeltaPage) -> Iterator[dict[str, object]]:
    """``created``, ``changed``, ``removed`` (does not match the filter) or ``deleted``, with the address."""
    for key, record in zip(page.keys, page.records, strict=True):
        change = change_of(entity_set, key, "created" if key in page.new_keys else "changed")
        yield {**change, "record": json.loads(record)} if webhook.includes_records else change
    for key, is_deleted in page.removed.items():
        yield change_of(entity_set, key, "deleted" if is_deleted else "removed")


# --- sending --------------------------------------------------------------------------------------------


class Sending:
    """The requests to receivers that are under way, one of each webhook; their threads use no database."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(SENDERS, "webhook")
        self.under_way: dict[Future[tuple[bool, str]], WebhookMessage] = {}

    def send(self, webhooks: Sequence[Webhook]) -> None:
        """Send what is due, one message after the other of each webhook, until nothing is or time is over."""
        end = time.monotonic() + ROUND_SECONDS
        waiting = {webhook.pk: webhook for webhook in webhooks}
        for asked in self.under_way.values():
            waiting.pop(asked.webhook_id, None)
        while True:
            clock.reset_now()
            for webhook in waiting.values():
                if message := reserve_next_message(webhook):
                    headers = signed_headers(webhook.secret, message)
                    answer = self.threads.submit(attempt, webhook.address, message.body.encode(), headers)
                    self.under_way[answer] = message
            seconds = end - time.monotonic()
            if not self.under_way or seconds < 0:
                return
            answered, _ = wait(self.under_way, seconds, FIRST_COMPLETED)
            waiting = {}
            for answer in answered:
                asked = self.under_way.pop(answer)
                save_result(asked, *answer.result())
                waiting[asked.webhook_id] = asked.webhook


SENDING = Sending()


def reserve_next_message(webhook: Webhook) -> WebhookMessage | None:
    """The oldest message that waits, when it is due: none overtakes it. Other workers do not send it too."""
    if is_to_come(webhook.paused_until):
        return None
    waiting = webhook.messages.filter(state=State.WAITING).order_by("creation_date", "guid")
    oldest: WebhookMessage | None = waiting.select_related("webhook__application").first()
    if oldest is None or is_to_come(oldest.next_attempt):
        return None
    rows = WebhookMessage.objects.filter(pk=oldest.pk, next_attempt=oldest.next_attempt)
    oldest.body = without_unseen(oldest)
    return oldest if rows.update(next_attempt=clock.now() + SENDING_TIME, body=oldest.body) else None


def is_to_come(moment: dt.datetime | None) -> bool:
    """True within the longest pause before the moment: what is further away was set by a wrong clock."""
    return moment is not None and clock.now() < moment <= clock.now() + PAUSES[-1]


def attempt(address: str, body: bytes, headers: Mapping[str, str]) -> tuple[bool, str]:
    """Send a message: (the receiver accepts it, what it answered or what failed)."""
    try:
        status = post(address, body, headers)
    except Exception as error:  # whatever fails, that receiver has failed
        return False, printable(str(error) or type(error).__name__)
    return 200 <= status < 300, f"Status {status}"


def printable(text: str) -> str:
    """The part of a receiver's text that is kept: PostgreSQL stores no NUL."""
    return "".join(sign if sign.isprintable() else " " for sign in text)[:RESULT_CHARACTERS]


def save_result(message: WebhookMessage, is_accepted: bool, result: str) -> None:
    """Store how an attempt ended, and when the receiver is asked again."""
    webhook = message.webhook
    message.attempts += 1
    message.result = result
    if is_accepted:
        message.state, message.next_attempt = State.DELIVERED, None
        failures, paused_until = 0, None
    else:
        failures = webhook.failures + 1
        message.next_attempt = paused_until = clock.now() + PAUSES[min(failures, len(PAUSES)) - 1]
    columns = ("state", "next_attempt", "attempts", "result")
    # It may have been deleted while it was sent.
    WebhookMessage.objects.filter(pk=message.pk).update(**{name: getattr(message, name) for name in columns})
    if failures != webhook.failures:
        webhook.failures, webhook.paused_until = failures, paused_until
        Webhook.objects.filter(pk=webhook.pk).update(failures=failures, paused_until=paused_until)
    if not is_accepted:
        overdue = webhook.messages.filter(state=State.WAITING, creation_date__lt=clock.now() - MESSAGE_LIFE)
        overdue.update(state=State.FAILED, next_attempt=None, result=result)


def message_id(message: WebhookMessage) -> str:
    return f"msg_{message.pk.hex}"


def signed_headers(secret: str, message: WebhookMessage) -> dict[str, str]:
    """The headers by which a receiver knows the sender, and a message that was sent before."""
    timestamp = str(int(clock.now().timestamp()))
    name = message_id(message)
    signed = f"{name}.{timestamp}.{message.body}".encode()
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {
        "Content-Type": "application/json",
        "User-Agent": "records-webhooks",
        "webhook-id": name,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{signature}",
    }


def send_again(messages: QuerySet[WebhookMessage]) -> int:
    """Send the messages once more, accepted ones too, without waiting for a pause; how many there are."""
    Webhook.objects.filter(messages__in=messages).update(failures=0, paused_until=None)
    return messages.update(state=State.WAITING, attempts=0, next_attempt=clock.now())


def delete_old_messages() -> int:
    """Delete messages that were accepted, or failed, a month ago; how many."""
    finished = WebhookMessage.objects.exclude(state=State.WAITING)
    return finished.filter(creation_date__lt=clock.now() - MESSAGE_AGE).delete()[0]
