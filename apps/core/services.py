"""Services of records without rules of their own: short lists, and the organisation's settings."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from django.db import models

from apps.core import archive, saving
from apps.core.models import Subscriber
from apps.odata.declaration.service import get_service
from apps.odata.write.drafts import Draft

#: ``service(drafts)``: store the drafts and return keys; raises ``ValidationFailed`` with every issue.
#: ``service(records)``: archive the records of a queryset and return how many; its issues are numbered in the
#: order of the keys.
Service = Callable[..., Any]


def create_lookups(model: type[models.Model], drafts: Sequence[Draft]) -> list[Any]:
    """Store new entries of a short list; their keys in the order of the drafts."""
    saving.apply_model_defaults(model, drafts)
    saving.validate(model, drafts)
    return saving.insert_records(model, drafts)


def update_lookups(model: type[models.Model], drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of existing entries give; the keys of those changed."""
    existing = saving.load_existing(model, drafts)
    saving.validate(model, drafts, existing=existing)
    return saving.save_changes(model, drafts, existing)


def service_of(model: type[models.Model], name: Literal["create", "update", "archive"]) -> Service:
    """The service that the model's resource declares, for forms and imports; else that of short lists."""
    usual: dict[str, Service] = {
        "create": partial(create_lookups, model),
        "update": partial(update_lookups, model),
        "archive": archive.archive,
    }
    declared = get_service().by_model.get(model)
    service: Service | None = getattr(type(declared.resource), name) if declared else None
    return service or usual[name]


def save_settings(drafts: Sequence[Draft]) -> list[Any]:
    """Store the organisation's settings, of which there is one record."""
    saving.validate(Subscriber, drafts)
    for draft in drafts:
        record = Subscriber.objects.filter(pk=1).first() or Subscriber(pk=1)
        for column in Subscriber._meta.concrete_fields:
            if draft.has(column.name) and column.name not in saving.SYSTEM_COLUMNS and not column.primary_key:
                setattr(record, column.name, draft.get(column.name))
        record.save()
    return [1 for _ in drafts]
