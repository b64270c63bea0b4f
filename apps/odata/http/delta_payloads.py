"""The response to a delta payload: its items in their order, as they are now."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from django.http import HttpResponse

from apps.base.errors import PreconditionFailed
from apps.odata.http.read_log import get_read_log
from apps.odata.query.options import EXPAND_ALL
from apps.odata.write.upserts import ItemOutcome, apply_delta

if TYPE_CHECKING:
    from apps.odata.http.viewsets import ODataViewSet

#: The annotation of an item that could not be stored.
EXCEPTION = "@Org.OData.Core.V1.DataModificationException"


def respond_delta(view: "ODataViewSet") -> HttpResponse:
    """Store the delta payload of the request of a viewset."""
    view.refuse_plain_filters()
    view.refuse_choices("does nothing to a delta payload, whose items say which records are changed")
    sent = view.request.META
    if sent.get("HTTP_IF_MATCH", "*").strip() not in ("", "*") or sent.get("HTTP_IF_NONE_MATCH"):
        raise PreconditionFailed("A delta payload has the ETag of each record in it, as @odata.etag.")
    preferences, records = view.preferences, view.get_queryset()
    body, ignores_warnings = view.parse_body(view.request), view.ignores_warnings
    outcomes = apply_delta(
        view.entity_set, records, body, view.caller, ignores_warnings, preferences.continues_on_error
    )
    if codes := [detail.code for each in outcomes if each.error for detail in each.error.details]:
        get_read_log().log_refusal(view.entity_set, codes)
    is_minimal = preferences.result == "minimal"
    applied = preferences.applied(is_write=True, has_body=not is_minimal, is_delta=True)
    headers: dict[str, str | None] = {"Preference-Applied": applied}
    if is_minimal:
        outcomes = [outcome for outcome in outcomes if outcome.error is not None]
        if not outcomes:
            return view.respond(headers=headers, status=204)
    reader = view.reader(view.entity_set.resource.visible_to(view.caller), EXPAND_ALL)
    found = reader.read([outcome.key for outcome in outcomes if outcome.is_shown])
    shown = {key: text for key, (text, _) in found.items()}
    view.log_records([*shown.values()], is_list=True)
    rendered = view.rendered(reader, [entry_of(view, outcome, shown) for outcome in outcomes])
    return view.respond(replace(rendered, context=f"{rendered.context}/$delta"), headers)


def entry_of(view: "ODataViewSet", outcome: ItemOutcome, records: Mapping[object, str]) -> str:
    """The record of an item; of one that was archived or refused what names it, and why it was refused."""
    if outcome.is_shown:
        return records[outcome.key]
    entity_set, value = view.entity_set, outcome.item.value
    entry: dict[str, object] = {}
    if outcome.key is not None:
        entry["@odata.id"] = f"{view.base_url}{entity_set.name}({outcome.key})"
    names = (entity_set.key.name, *(key.prop.name for key in entity_set.alternate_keys.values()))
    if isinstance(value, dict):
        entry |= {name: value[name] for name in names if name in value}
    if outcome.error is None:
        return json.dumps({"@removed": {"reason": "deleted"}, **entry})
    entry[EXCEPTION] = {
        "failedOperation": outcome.operation,
        "responseCode": outcome.error.status,
        "info": outcome.error.as_json()["error"],
    }
    return json.dumps(entry, default=str)
