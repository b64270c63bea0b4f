"""The usual services of a kind of record, those of short lists, and that of the organisation's settings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, TypeVar
from zoneinfo import ZoneInfo, available_timezones

from django.db import models
from django.utils.text import capfirst

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.declaration.service import declared_set, declared_sets
from apps.base.drafts import D, Draft, Issue, Rule
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


class SettingsDraft(Draft):
    time_zone: str


def save_single(
    model: type[models.Model], drafts: Sequence[D], rules: Sequence[Rule[D]] = ()
) -> list[object]:
    """Store settings, of which there is one record; what a draft does not give stays as it is."""
    saving.validate(model, drafts, rules)
    for draft in drafts:
        record = model._default_manager.filter(pk=1).first() or model(pk=1)
        for column in model._meta.concrete_fields:
            if draft.has(column.name) and column.name not in saving.SYSTEM_COLUMNS and not column.primary_key:
                setattr(record, column.name, draft.get(column.name))
        record.save()
    return [1 for _ in drafts]


def zone_shows_every_time(draft: SettingsDraft) -> Iterator[Issue]:
    """Check that every stored time has a date in a new zone: one that has none makes lists unreadable."""
    zone = draft.get("time_zone")
    if zone == Subscriber.current().time_zone or zone not in available_timezones():
        return
    ends = clock.ends_of_time(ZoneInfo(zone))
    for model in {each.model for each in declared_sets().values()}:
        for column in model._meta.concrete_fields:
            record = first_outside(column, *ends) if isinstance(column, models.DateTimeField) else None
            if record is not None:
                where = f"“{capfirst(column.verbose_name)}” of the {model._meta.verbose_name} {record}"
                message = f"In {zone} {where} is not between the years 1 and 9999: change that first."
                yield Issue("OutOfRange", "time_zone", message)


def first_outside(column: models.Field[Any, Any], first: object, last: object) -> models.Model | None:
    """A record whose time is before ``first`` or after ``last``, without the time, which may have no date."""
    outside = models.Q((f"{column.name}__lt", first)) | models.Q((f"{column.name}__gt", last))
    record: models.Model | None = column.model._base_manager.filter(outside).defer(column.name).first()
    return record


#: Stores the organisation's settings.
save_settings = partial(save_single, Subscriber, rules=[zone_shows_every_time])
