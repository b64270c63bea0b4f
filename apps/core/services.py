"""The usual services of a kind of record, those of short lists, and that of the organisation's settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from django.db import models

from apps.base.batched_queries import AnyOf
from apps.base.declaration.service import declared_set
from apps.base.drafts import D, Draft, Rule
from apps.core import archive, saving
from apps.core.models import Subscriber

#: ``service(drafts)``: store the drafts and return keys; raises ``ValidationFailed`` with every issue.
#: ``service(records)``: archive the records of a queryset and return how many; its issues are numbered in the
#: order of the keys.
Service = Callable[..., Any]

Referred = TypeVar("Referred", bound=models.Model)


@dataclass(frozen=True, slots=True)
class Checks(Generic[D]):
    """The rules and warnings of a kind of record. ``prepare`` loads and fills in what they read."""

    rules: Sequence[Rule[D]] = ()
    warnings: Sequence[Rule[D]] = ()
    prepare: Callable[[Sequence[D]], None] = lambda drafts: None


NO_CHECKS: Checks[Any] = Checks()


def create_records(
    model: type[models.Model],
    drafts: Sequence[D],
    ignore_warnings: bool = False,
    checks: Checks[D] = NO_CHECKS,
) -> list[Any]:
    """Store new records; their keys in the order of the drafts."""
    saving.apply_model_defaults(model, drafts)
    checks.prepare(drafts)
    saving.validate(model, drafts, checks.rules)
    saving.check_warnings(drafts, checks.warnings, ignore_warnings)
    return saving.insert_records(model, drafts)


def update_records(
    model: type[Any],
    drafts: Sequence[D],
    ignore_warnings: bool = False,
    checks: Checks[D] = NO_CHECKS,
) -> list[Any]:
    """Change what drafts of existing records give; the keys of those changed."""
    existing = saving.load_existing(model, drafts)
    checks.prepare(drafts)
    saving.validate(model, drafts, checks.rules, existing)
    saving.check_warnings(drafts, checks.warnings, ignore_warnings)
    return saving.save_changes(model, drafts, existing)


def load_references(model: type[Referred], attribute: str, drafts: Sequence[Draft]) -> Mapping[Any, Referred]:
    """The records that the drafts refer to, by key; the drafts then have them with all their columns."""
    keys = [draft.key_of(attribute) for draft in drafts]
    found = model._default_manager.filter(AnyOf("pk", {*keys} - {None}))
    records = {record.pk: record for record in found}
    for draft, key in zip(drafts, keys, strict=True):
        if key is not None:
            draft.fill(attribute, records[key])
    return records


def service_of(model: type[models.Model], name: Literal["create", "update", "archive"]) -> Service:
    """The service that the model's resource declares, for forms and imports; else that of short lists."""
    usual: dict[str, Service] = {
        "create": partial(create_records, model),
        "update": partial(update_records, model),
        "archive": archive.archive,
    }
    declared = declared_set(model)
    service: Service | None = getattr(type(declared.resource), name) if declared else None
    return service or usual[name]


def draft_class_of(model: type[models.Model]) -> type[Draft]:
    """The class of the drafts of a model that its resource declares."""
    declared = declared_set(model)
    return (declared and declared.resource.draft_class) or Draft


def save_settings(drafts: Sequence[Draft]) -> list[object]:
    """Store the organisation's settings, of which there is one record."""
    saving.validate(Subscriber, drafts)
    for draft in drafts:
        record = Subscriber.objects.filter(pk=1).first() or Subscriber(pk=1)
        for column in Subscriber._meta.concrete_fields:
            if draft.has(column.name) and column.name not in saving.SYSTEM_COLUMNS and not column.primary_key:
                setattr(record, column.name, draft.get(column.name))
        record.save()
    return [1 for _ in drafts]
