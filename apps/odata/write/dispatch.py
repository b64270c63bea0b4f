"""Saves request bodies, each as a whole or not at all, by the services of its resource."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from django.db import models

from apps.base.declaration.resource import BodyKind
from apps.base.declaration.schema import EntitySet
from apps.base.drafts import (
    Issues,
    ValidationFailed,
    WarningsPresent,
    attach_references,
    join_targets,
    record_target,
    wire_target,
)
from apps.base.errors import (
    RECORD_CHANGED,
    Conflict,
    ErrorDetail,
    InvalidRecords,
    NotFound,
    PreconditionFailed,
    UnconfirmedWarnings,
    plural,
)
from apps.base.retries import retry_on_conflict
from apps.odata.write.bodies import Body, read_record, read_records

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
    ignore_warnings: bool = False,
    read: Callable[[EntitySet, Any], Body] = read_records,
) -> Created:
    """Save the records of a POST body by the resource's service ``create``.

    ``read`` makes the drafts of ``content`` afresh at each attempt; by default they are the bytes of
    ``{"value": [...]}`` or of one bare record. The service is called as ``create(drafts)``, of resources with
    warnings as ``create(drafts, ignore_warnings=…)``, and returns the new keys. Raises ``InvalidRecords``
    with every fault of every record, ``UnconfirmedWarnings``, ``Conflict`` when another writer was first,
    and ``BadBody`` or ``TooLarge`` for what is no such body.
    """
    resource = type(entity_set.resource)
    assert resource.create is not None
    options = {"ignore_warnings": ignore_warnings} if resource.has_warnings else {}
    body = read(entity_set, content)
    issues = [] if resource.loads_references else attach_references(entity_set.type, body.drafts)
    keys = run_service(entity_set, body, issues, partial(resource.create, **options))
    return Created(list(keys), body.bare)


@dataclass(frozen=True, slots=True)
class Target:
    """The record that a request changes: its key, among the ``records`` that the caller may see.

    ``check`` refuses the record when an ETag is no longer its own; without one any state will do.
    """

    entity_set: EntitySet
    key: object
    records: models.QuerySet
    check: Callable[[Any], None] | None = None

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
    options = {"ignore_warnings": ignore_warnings} if resource.has_warnings else {}
    record = target.read()
    body = read_record(entity_set, raw, kind)
    (draft,) = body.drafts
    draft.key = record.pk
    if target.check is not None and entity_set.etag_field is not None:
        draft.fill("expected_change", getattr(record, entity_set.etag_field))
    issues = [] if resource.loads_references else attach_references(entity_set.type, body.drafts, record)
    run_service(entity_set, body, issues, partial(resource.update, **options))


@retry_on_conflict
def archive(target: Target) -> None:
    """Archive a record by the resource's service ``archive``, which is called with a queryset of it.

    Raises ``Conflict`` with the reasons why it cannot be, ``NotFound`` and ``PreconditionFailed``.
    """
    service, stamp = type(target.entity_set.resource).archive, target.entity_set.etag_field
    assert service is not None
    record = target.read()
    records = target.records.filter(pk=record.pk)
    if target.check is not None and stamp is not None:
        records = records.filter(**{stamp: getattr(record, stamp)})
    try:
        count = service(records)
    except ValidationFailed as failed:
        details = tuple(ErrorDetail(issue.code, None, issue.message) for _, issue in failed.issues)
        raise Conflict("The record stays as it is.", details=details) from None
    if not count:
        raise PreconditionFailed(RECORD_CHANGED)


def run_service(entity_set: EntitySet, body: Body, issues: Issues, service: Callable[..., Result]) -> Result:
    """Call a service with the drafts of a body.

    Raises its issues, the ``issues`` found before and the faults of the body as one error in wire names. The
    service is called even where there are some, so that the answer has all of them.
    """
    found = list(issues)
    is_valid = not (body.faults or found)
    try:
        result = service(body.drafts)
        if is_valid:
            return result
    except WarningsPresent as warned:
        if is_valid:
            warnings = tuple(detail for _, detail in details_of(entity_set, body, warned.issues))
            message = (
                f"Nothing was stored: {plural(len(warnings), 'warning')}. ignoreWarnings=true stores it."
            )
            raise UnconfirmedWarnings(message, details=warnings) from None
    except ValidationFailed as failed:
        found += failed.issues
    faults = sorted(body.faults + details_of(entity_set, body, found), key=lambda fault: fault[0])
    details = tuple(detail for _, detail in faults)
    if any(issue.lost_race for _, issue in found):
        raise Conflict("Another writer was first.", details=details)
    if any(issue.is_state for _, issue in found):
        raise Conflict("The record stays as it is.", details=details)
    raise InvalidRecords.from_details(details, len({number for number, _ in faults}))


def details_of(entity_set: EntitySet, body: Body, issues: Issues) -> list[tuple[int, ErrorDetail]]:
    """Issues as (number of the record, error detail) pairs, in wire names."""
    details = []
    for number, issue in issues:
        inner = wire_target(entity_set.type, issue.field, issue.code)
        target = join_targets(record_target(number, body.bare), inner)
        details.append((number, ErrorDetail(issue.code, target or None, issue.message, issue.severity)))
    return details
