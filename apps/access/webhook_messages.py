"""Messages of webhooks: their bodies, and the entity sets and records that they tell of."""

import datetime as dt
import json
from collections.abc import Sequence

from apps.access.models import Webhook, WebhookMessage
from apps.base import clock
from apps.base.declaration.schema import EntitySet
from apps.base.declaration.service import declared_sets
from apps.core.read_log import ShownRecords


def tracked_sets() -> dict[str, EntitySet]:
    """The entity sets whose changes are told, by name: each as the first version that has it."""
    return {each.name: each for each in declared_sets().values() if each.resource.is_tracked}


def entity_set_named(name: str) -> EntitySet | None:
    return tracked_sets().get(name)


def change_of(entity_set: EntitySet, key: object, change: str) -> dict[str, object]:
    return {"change": change, "key": str(key), "address": f"/api/{entity_set.name}({key})"}


def sent_records(message: WebhookMessage) -> ShownRecords:
    """The records that a message holds or names."""
    data = json.loads(message.body)["data"]
    entity_set = entity_set_named(data["entitySet"])
    if entity_set is None:
        return {}
    model = entity_set.model
    return {model: [model._meta.pk.to_python(change["key"]) for change in data["changes"]]}


def message_body(webhook: Webhook, event: str, changes: Sequence[dict[str, object]]) -> str:
    """``reset`` tells that changes were lost: whoever keeps a copy reads the set again."""
    body = {
        "type": f"{webhook.entity_set}.{event}",
        "timestamp": clock.now().astimezone(dt.UTC).isoformat(timespec="seconds"),
        "data": {"entitySet": webhook.entity_set, "changes": list(changes)},
    }
    return json.dumps(body, ensure_ascii=False)


def without_unseen(message: WebhookMessage) -> str:
    """The body without the records that the application no longer sees, since it may have waited for days.

    That they are removed is told by a later message.
    """
    caller, body = message.webhook.application.caller, json.loads(message.body)
    entity_set = entity_set_named(body["data"]["entitySet"])
    if caller.sees is None or entity_set is None:
        return message.body
    changes = body["data"]["changes"]
    rows = entity_set.visible_to(caller).filter(pk__in=[change["key"] for change in changes])
    visible = set(map(str, rows.values_list("pk", flat=True)))
    for change in changes:
        if change["key"] not in visible:
            change.pop("record", None)
    return json.dumps(body, ensure_ascii=False)
