"""The API's action on a provider invoice: its body, and its operation in OpenAPI."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from django.db import models

from apps.base.declaration.resource import BodyKind, Key, Optional, Required, Resource
from apps.base.declaration.schema import EntitySet, bind_resource
from apps.base.drafts import Issue, ValidationFailed, attach_references
from apps.base.errors import NotFound
from apps.base.retries import retry_on_conflict
from apps.funding.choices import ApprovalAction
from apps.funding.drafts import ApprovalDraft
from apps.funding.models import StatusMove
from apps.funding.services.provider_invoices import act_on_provider_invoices
from apps.funding.validation.provider_invoices import APPROVAL_TRANSITIONS
from apps.odata.metadata.json_schema import GUID, URI, Json, reference
from apps.odata.metadata.openapi_components import (
    EXAMPLE_KEY,
    JSON,
    error_responses,
    parameter_refs,
    security,
)
from apps.odata.write import dispatch
from apps.odata.write.bodies import read_record


class ActionBody(Resource):
    """The body of an action: read, never served. Its status history keeps it."""

    model = StatusMove
    path = "providerInvoiceAction"
    draft_class = ApprovalDraft
    order = ("-id",)
    fields = (
        Key("MoveId", source="id"),
        Required("Action", source="verb"),
        Optional("Reason"),
        Required(
            "StaffGuid",
            source="staff",
            rule_columns=("first_name", "last_name", "disable_login_date", "role", "role__all_permissions"),
        ),
    )


@lru_cache(maxsize=1)
def action_body() -> EntitySet:
    return bind_resource(ActionBody)


@retry_on_conflict
def apply_action(
    key: Any,
    raw: bytes,
    records: models.QuerySet[models.Model],
    check: Callable[[models.Model], None],
    name: str,
) -> None:
    """Apply the action of a body, ``{"Action", "Reason", "StaffGuid"}``, to a provider invoice.

    ``records`` are those the caller may see, ``name`` is their name in the API, and ``check`` may refuse the
    locked record. Raises ``NotFound``, ``ValidationFailed`` that names the possible actions, and ``Conflict``
    as every write does.
    """

    def act(drafts: Sequence[ApprovalDraft]) -> None:
        for refusal in act_on_provider_invoices([key], drafts[0]).refused:
            raise ValidationFailed([(0, Issue(refusal.code, "verb", refusal.message))])

    record = records.order_by().select_for_update(of=("self",)).filter(pk=key).first()
    if record is None:
        raise NotFound(f"There is no {name} {key}.")
    check(record)
    body = read_record(action_body(), raw, BodyKind.NEW)
    issues = attach_references(action_body().type, body.drafts)
    dispatch.run_service(action_body(), body, issues, act)


# --- OpenAPI --------------------------------------------------------------------------------------------

ACTIONS_WITH_REASON = ", ".join(
    action for action, decision in APPROVAL_TRANSITIONS.items() if decision.needs_reason
)

BODY: Json = {
    "type": "object",
    "required": ["Action", "StaffGuid"],
    "properties": {
        "Action": {"type": "string", "enum": list(ApprovalAction.values)},
        "Reason": {
            "type": ["string", "null"],
            "maxLength": 400,
            "description": f"Required by {ACTIONS_WITH_REASON}.",
        },
        "StaffGuid": {
            **GUID,
            "description": "Who decides; needs the permission to view/administer funding invoices.",
        },
    },
}

ANSWER: Json = {
    "allOf": [
        {"type": "object", "required": ["@odata.context"], "properties": {"@odata.context": URI}},
        reference("ProviderInvoice"),
    ]
}

OPERATION: Json = {
    "operationId": "actOnProviderInvoice",
    "summary": "Approve, reject, hold or release a provider invoice",
    "description": (
        "Its ApprovalStatus says which actions are possible; a refusal names them. A hold holds the claims on"
        " it that await approval, and they go on when it ends. A rejection is taken back by Release."
    ),
    "tags": ["ProviderInvoice"],
    "parameters": [
        {
            "name": "ProviderInvoiceGuid",
            "in": "path",
            "required": True,
            "description": "Also written providerInvoice({ProviderInvoiceGuid}).",
            "schema": GUID,
            "example": EXAMPLE_KEY,
        },
        *parameter_refs("version", "apiVersion", "idempotencyKey", "preferReturn", "ifMatch"),
    ],
    "requestBody": {
        "required": True,
        "content": {
            JSON: {
                "schema": BODY,
                "example": {
                    "Action": "HoldByClient",
                    "Reason": "Asks about the hours",
                    "StaffGuid": EXAMPLE_KEY,
                },
            }
        },
    },
    "responses": {
        "200": {
            "description": "The record as it is now.",
            "headers": {"ETag": {"description": "Derived from ModifyDate.", "schema": {"type": "string"}}},
            "content": {JSON: {"schema": ANSWER}},
        },
        "204": {"description": "Done; without a body (Prefer: return=minimal)."},
        **error_responses("400", "401", "403", "404", "409", "412", "413", "415", "422", "429"),
    },
    "security": security("providerInvoice", "write"),
}
