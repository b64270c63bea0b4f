"""Saves request bodies, each as a whole or not at all, by the services of its resource."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, TypeVar

from django.db import models, transaction

from apps.base.batched_queries import AnyOf
from apps.base.declaration.resource import BodyKind, Caller, Sight
from apps.base.declaration.schema import AlternateKey, EntitySet, StructuredType
from apps.base.drafts import (
    UNSEEN,
    Draft,
    Issue,
    Issues,
    Path,
    ValidationFailed,
    WarningsPresent,
    attach_references,
    references_of,
    wire_target,
    with_contained_rows,
)
from apps.base.errors import (
    RECORD_CHANGED,
    Conflict,
    ErrorDetail,
    InvalidRecords,
    NotFound,
    PreconditionFailed,
    ServiceError,
    UnconfirmedWarnings,
    plural,
)
from apps.base.retries import retry_on_conflict
from apps.odata.write.bodies import Body, join_targets, read_record, read_records, record_target

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Created:
    """The new records' keys in the order of the body; ``bare`` when that was one record without ``value``."""

    keys: list[object]
    bare: bool


@retry_on_conflict
def create(
    entity_set: EntitySet,
    content: object,
    caller: Caller | None,
    ignore_warnings: bool = False,
    read: Callable[[EntitySet, Any], Body] = read_records,
) -> Created:
    """Save the records of a POST body by the resource's service ``create``.

    ``read`` makes the drafts of ``content`` afresh at each attempt; by default they are the bytes of
    ``{"value": [...]}`` or of one bare record. ``caller`` is who asks for it, ``None`` somebody who sees all.
    The service is called as ``create(drafts)``, of resources with warnings as
    ``create(drafts, ignore_warnings=…)``, and returns the new keys. Raises ``InvalidRecords``
    with every fault of every record, ``UnconfirmedWarnings``, ``Conflict`` when another writer was first,
    and ``BadBody`` or ``TooLarge`` for what is no such body.
    """
    resource = type(entity_set.resource)
    assert resource.create is not None
    body = read(entity_set, content)
    service = with_options(entity_set, resource.create, caller, ignore_warnings, body.drafts)
    issues = [] if resource.loads_references else attach_references(entity_set.type, body.drafts)
    keys = run_service(entity_set, body, issues, service)
    return Created(list(keys), body.bare)


def with_options(
    entity_set: EntitySet,
    service: Callable[..., Result],
    caller: Caller | None,
    ignore_warnings: bool,
    drafts: Sequence[Draft],
) -> Callable[..., Result]:
    """The service with what those of resources with warnings take besides, and for a limited caller within
    what it sees: of the ``drafts``, whose references are keys as they were given."""
    options = {"ignore_warnings": ignore_warnings} if entity_set.resource.has_warnings else {}
    with_all = partial(service, **options)
    if caller is None or caller.sees is None:
        return with_all
    is_new = service is type(entity_set.resource).create
    hidden = find_hidden_references(entity_set.type, drafts, caller.sees)
    return partial(within_sight, entity_set, with_all, caller, hidden=hidden, is_new=is_new)


def within_sight(
    entity_set: EntitySet,
    service: Callable[..., Any],
    caller: Caller,
    drafts: Sequence[Draft],
    hidden: Issues,
    is_new: bool,
) -> Any:
    """Call a service for a caller who does not see all records.

    What the caller does not see is not there for it, before any rule looks at it; it creates nothing that it
    would not see, and faults do not name what it does not see.
    """
    assert caller.sees is not None
    if hidden:
        raise ValidationFailed(hidden)
    with transaction.atomic():
        try:
            result = service(drafts)
        except ValidationFailed as failed:
            raise type(failed)(without_hidden_others(failed.issues, caller.sees)) from None
        if is_new:
            rows = entity_set.visible_to(caller).filter(AnyOf("pk", result))
            visible = set(rows.order_by().values_list("pk", flat=True))
            unseen = [number for number, key in enumerate(result) if key not in visible]
            if unseen:
                raise ValidationFailed((number, Issue("NotAllowed", "", UNSEEN)) for number in unseen)
    return result


def find_visible_keys(model: type[models.Model], keys: Iterable[object], sees: Sight) -> set[object]:
    return set(sees.visible(model._base_manager.filter(AnyOf("pk", keys))).values_list("pk", flat=True))


def without_hidden_others(issues: Issues, sees: Sight) -> list[tuple[int, Issue]]:
    """The issues, without the names of other records that a caller does not see."""
    named: dict[type[models.Model], set[object]] = defaultdict(set)
    for model, key in (issue.other for _, issue in issues if issue.other is not None):
        named[model].add(key)
    visible = {(model, key) for model, keys in named.items() for key in find_visible_keys(model, keys, sees)}
    return [
        (number, issue if issue.other is None or issue.other in visible else issue.without_other())
        for number, issue in issues
    ]


def find_hidden_references(
    type_: StructuredType, drafts: Sequence[Draft], sees: Sight
) -> list[tuple[int, Issue]]:
    """The issues of references to records that a caller does not see: the same as of unknown keys.

    A duplicate that was merged into another means that one.
    """
    named: dict[type[models.Model], dict[Any, list[tuple[int, Path]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for number, path, row_type, draft in with_contained_rows(type_, drafts):
        for reference in references_of(row_type):
            value: Any = vars(draft).get(reference.attribute)
            for at, one in enumerate(value or () if reference.many else (value,)):
                key = getattr(one, "pk", one)
                place = (*path, reference.attribute, *((at,) if reference.many else ()))
                if key is not None and sees.path(reference.model):
                    named[reference.model][key].append((number, place))
    issues = []
    for model, places in named.items():
        visible = find_visible_keys(model, places, sees)
        if any(field.name == "merged_into" for field in model._meta.concrete_fields):
            duplicates = model._base_manager.filter(AnyOf("pk", visible), archive_date__isnull=False)
            others = dict(duplicates.exclude(merged_into=None).values_list("pk", "merged_into"))
            seen = find_visible_keys(model, others.values(), sees)
            visible -= {key for key, other in others.items() if other not in seen}
        for key in places.keys() - visible:
            sentence = f"There is no {model._meta.verbose_name} {key}."
            issues += [(number, Issue("NotFound", place, sentence)) for number, place in places[key]]
    return issues


@dataclass(frozen=True, slots=True)
class Target:
    """The record that a request of the ``caller`` changes: its key, among the ``records`` that it may see.

    ``check`` refuses the record when an ETag is no longer its own; without one any state will do.
    ``named_by`` is the alternate key by which the address names it.
    """

    entity_set: EntitySet
    key: object
    records: models.QuerySet
    caller: Caller | None
    check: Callable[[Any], None] | None = None
    named_by: AlternateKey | None = None

    def read(self) -> Any:
        """The record as it is now; ``NotFound``, or what ``check`` raises."""
        record = self.records.order_by().filter(pk=self.key).first()
        if record is None:
            raise NotFound(f"There is no {self.entity_set.name} {self.key}.")
        if self.check is not None:
            self.check(record)
        return record


@retry_on_conflict
def update(target: Target, raw: bytes, kind: BodyKind, ignore_warnings: bool = False) -> None:
    """Change an existing record as a bare body says, by the resource's service ``update``.

    The service is called as ``update([draft])``, of resources with warnings with ``ignore_warnings``. Where
    an ETag was checked the service refuses a record that was changed since (``Draft.expected_change``).
    Raises as ``create`` does, ``NotFound`` and ``PreconditionFailed``.
    """
    entity_set, resource = target.entity_set, type(target.entity_set.resource)
    assert resource.update is not None
    record, prop = target.read(), target.named_by and target.named_by.prop
    body = read_record(entity_set, raw, kind, {prop.name: getattr(record, prop.path)} if prop else {})
    (draft,) = body.drafts
    draft.key = record.pk
    if target.check is not None and entity_set.etag_field is not None:
        draft.fill("expected_change", getattr(record, entity_set.etag_field))
    current = {record.pk: record}
    service = with_options(entity_set, resource.update, target.caller, ignore_warnings, body.drafts)
    issues = [] if resource.loads_references else attach_references(entity_set.type, body.drafts, current)
    run_service(entity_set, body, issues, service)


@retry_on_conflict
def archive(target: Target, ignore_warnings: bool = False) -> None:
    """Archive a record by the resource's service ``archive``, which is called with a queryset of it.

    Raises ``Conflict`` with the reasons why it cannot be, ``UnconfirmedWarnings``, ``NotFound`` and
    ``PreconditionFailed``.
    """
    resource, stamp = type(target.entity_set.resource), target.entity_set.etag_field
    assert resource.archive is not None
    options = {"ignore_warnings": ignore_warnings} if resource.archive_has_warnings else {}
    record = target.read()
    records = target.records.filter(pk=record.pk)
    if target.check is not None and stamp is not None:
        records = records.filter(**{stamp: getattr(record, stamp)})
    try:
        count = resource.archive(records, **options)
    except ValidationFailed as failed:
        details = tuple(
            ErrorDetail(issue.code, None, issue.message, issue.severity) for _, issue in failed.issues
        )
        if isinstance(failed, WarningsPresent):
            raise unconfirmed(details) from None
        raise Conflict("The record stays as it is.", details=details) from None
    if not count and getattr(record, "archive_date", None) is not None:
        detail = ErrorDetail("Archived", None, "It is archived already.")
        raise Conflict("The record stays as it is.", details=(detail,))
    if not count:
        raise PreconditionFailed(RECORD_CHANGED)


# --- faults ---------------------------------------------------------------------------------------------


class Kind(Enum):
    """The kinds of faults of a record: the error and its sentence. Of several kinds the first counts."""

    CHANGED = PreconditionFailed, RECORD_CHANGED
    LOST_RACE = Conflict, "Another writer was first."
    STATE = Conflict, "The record stays as it is."
    INVALID = InvalidRecords, ""
    WARNING = UnconfirmedWarnings, ""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault or a warning of the record of that number in its request."""

    number: int
    detail: ErrorDetail
    kind: Kind = Kind.INVALID


def run_service(entity_set: EntitySet, body: Body, issues: Issues, service: Callable[..., Result]) -> Result:
    """Call a service with the drafts of a body.

    Raises its issues, the ``issues`` found before and the faults of the body as one error in wire names.
    """
    result, faults = call_service(entity_set, body, issues, service)
    if faults is not None:
        raise error_of(faults)
    return result


def call_service(
    entity_set: EntitySet, body: Body, issues: Issues, service: Callable[..., Result]
) -> tuple[Any, list[Fault] | None]:
    """The result of a service for the drafts of a body, or all faults that there are.

    The service is called even where there are some already, so that the answer has all of them.
    """
    found = list(issues)
    is_valid = not (body.faults or found)
    try:
        result = service(body.drafts)
        if is_valid:
            return result, None
    except WarningsPresent as warned:
        found += warned.issues if is_valid else ()
    except ValidationFailed as failed:
        found += failed.issues
    faults = [Fault(number, detail) for number, detail in body.faults]
    return None, faults + [fault_of(entity_set, body, *numbered) for numbered in found]


def fault_of(entity_set: EntitySet, body: Body, at: int, issue: Issue) -> Fault:
    """The issue of a draft in wire names."""
    number, inner = body.numbers[at], wire_target(entity_set.type, issue.field, issue.code)
    target = join_targets(record_target(number, body.bare), inner)
    detail = ErrorDetail(issue.code, target or None, issue.message, issue.severity)
    if issue.severity == "warning":
        return Fault(number, detail, Kind.WARNING)
    if issue.lost_race:
        return Fault(number, detail, Kind.LOST_RACE)
    return Fault(number, detail, Kind.STATE if issue.is_state else Kind.INVALID)


def error_of(faults: Iterable[Fault]) -> ServiceError:
    """One error that has all the faults, in the order of their records."""
    ordered = sorted(faults, key=lambda fault: fault.number)
    details = tuple(fault.detail for fault in ordered)
    found = {fault.kind for fault in ordered} or {Kind.INVALID}
    kind = next(kind for kind in Kind if kind in found)
    if kind is Kind.INVALID:
        return InvalidRecords.from_details(details, len({fault.number for fault in ordered}))
    if kind is Kind.WARNING:
        return unconfirmed(details)
    error, message = kind.value
    return error(message, details=details)


def unconfirmed(warnings: tuple[ErrorDetail, ...]) -> UnconfirmedWarnings:
    message = f"Nothing was stored: {plural(len(warnings), 'warning')}. ignoreWarnings=true stores it."
    return UnconfirmedWarnings(message, details=warnings)
