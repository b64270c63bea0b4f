"""A body is written whole or not at all: decoded, its references found, handed to the resource's verb."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import DatabaseError, IntegrityError, OperationalError, connection, models, transaction

from apps.odata.declaration.schema import EntitySet
from apps.odata.errors import (
    Conflict,
    ErrorDetail,
    InvalidRecords,
    NotFound,
    UnconfirmedWarnings,
    plural,
)
from apps.odata.write.bodies import Body, read_record, read_records
from apps.odata.write.drafts import ValidationFailed, WarningsPresent
from apps.odata.write.references import resolve_references
from apps.odata.write.targets import joined, record_target, wire_target

Written = TypeVar("Written")

#: How often a write is tried that other writers get in the way of.
ATTEMPTS = 3

UNIQUE_OR_REFERENCE = frozenset({"23503", "23505", "23P01"})
SERIALIZATION_DEADLOCK_OR_LOCK = frozenset({"40001", "40P01", "55P03"})


@dataclass(frozen=True, slots=True)
class Created:
    """The new records' keys in the order of the body; ``bare`` when that was one record without ``value``."""

    keys: list[Any]
    bare: bool


def create(entity_set: EntitySet, raw: bytes, ignore_warnings: bool = False) -> Created:
    """Store the records of a POST body, ``{"value": [...]}`` or one bare record.

    Raises as ``create_of`` does, and ``BadBody`` or ``TooLarge`` for what is no such body.
    """
    return create_of(entity_set, lambda: read_records(entity_set, raw), ignore_warnings)


def create_of(entity_set: EntitySet, read: Callable[[], Body], ignore_warnings: bool = False) -> Created:
    """Store the drafts that ``read`` gives, afresh at each attempt, by the verb ``create`` of the resource.

    The verb is called as ``create(drafts)``, of resources that warn as ``create(drafts, ignore_warnings=…)``,
    and gives the new keys or raises ``Refused``. Raises ``ValidationFailed`` with every fault of every
    record, ``WarningsPresent``, or ``Conflict`` when another writer was first.
    """
    verb = type(entity_set.resource).create
    assert verb is not None
    words = {"ignore_warnings": ignore_warnings} if entity_set.resource.has_warnings else {}

    def write() -> Created:
        body = read()
        find_references(entity_set, body)
        with issues_as_errors(entity_set, body):
            return Created(list(verb(body.drafts, **words)), body.bare)

    return retry_on_conflict(write)


def replace(
    entity_set: EntitySet,
    key: Any,
    raw: bytes,
    check: Callable[[Any], None] | None = None,
    records: models.QuerySet | None = None,
) -> None:
    """Make a standing record what a bare body says, by the verb ``replace`` of the resource.

    The verb is called as ``replace(record, draft)``. ``check`` may refuse the record as it stands
    (an ETag that is no longer its own); nobody changes it between that and the write. ``records`` are those
    the caller may see. Raises as ``create`` does, and ``NotFound``.
    """
    verb = type(entity_set.resource).replace
    assert verb is not None
    visible = entity_set.model._base_manager.all() if records is None else records

    def write() -> None:
        record = visible.order_by().select_for_update(of=("self",)).filter(pk=key).first()
        if record is None:
            raise NotFound(f"There is no {entity_set.name} {key}.")
        if check is not None:
            check(record)
        body = read_record(entity_set, raw)
        body.drafts[0].key = record.pk
        find_references(entity_set, body, record)
        with issues_as_errors(entity_set, body):
            verb(record, body.drafts[0])

    retry_on_conflict(write)


def find_references(entity_set: EntitySet, body: Body, standing: models.Model | None = None) -> None:
    """Resolve the references of a body, and add what is wrong with them to its faults."""
    places = [record_target(number, body.bare) for number in range(len(body.drafts))]
    body.faults += resolve_references(entity_set.type, body.drafts, places, standing)


@contextmanager
def issues_as_errors(entity_set: EntitySet, body: Body) -> Iterator[None]:
    """Turn what a verb refuses, and the faults found before it, into one refusal in wire names."""
    found: list[tuple[int, ErrorDetail]] = []
    lost = False
    try:
        yield
    except WarningsPresent as warned:
        if not body.faults:
            raise warnings_present(fault for _, fault in spelled(entity_set, body, warned)) from None
    except ValidationFailed as refused:
        found = spelled(entity_set, body, refused)
        lost = any(finding.lost_race for _, finding in refused.issues)
    faults = sorted([*body.faults, *found], key=lambda fault: fault[0])
    if lost:
        raise Conflict("Another writer was first.", details=tuple(fault for _, fault in faults))
    if faults:
        raise InvalidRecords.from_details(
            (fault for _, fault in faults), len({number for number, _ in faults})
        )


def warnings_present(warnings: Iterable[ErrorDetail]) -> UnconfirmedWarnings:
    told = tuple(warnings)
    return UnconfirmedWarnings(
        f"Nothing was stored: {plural(len(told), 'warning')}. ignoreWarnings=true stores it.",
        details=told,
    )


def spelled(entity_set: EntitySet, body: Body, refused: ValidationFailed) -> list[tuple[int, ErrorDetail]]:
    """The issues of a service, in wire names."""
    faults = []
    for number, issue in refused.issues:
        inner = wire_target(entity_set.type, issue.field, issue.code)
        place = joined(record_target(number, body.bare), inner)
        faults.append((number, ErrorDetail(issue.code, place or None, issue.message, issue.severity)))
    return faults


def retry_on_conflict(write: Callable[[], Written]) -> Written:
    """Write in one transaction, and again when another writer got in the way.

    A second look finds what the race was lost to, so that the ``Conflict`` names its place; or it finds
    nothing any more, and the write succeeds.
    """
    lost: DatabaseError | None = None
    for _ in range(ATTEMPTS):
        try:
            # A transaction of our own checks its foreign keys when it commits.
            nested = connection.in_atomic_block
            with transaction.atomic():
                written = write()
                if nested:
                    check_constraints()
            return written
        except InvalidRecords as refused:
            if lost is None:
                raise
            raise Conflict("Another writer was first.", details=refused.details) from lost
        except (IntegrityError, OperationalError) as error:
            if not is_lost_race(error):
                raise
            lost = error
    raise Conflict("Others write the same records now; send the request again.") from lost


def check_constraints() -> None:
    """Check foreign keys now, not at commit. SQLite checks them when the outermost ``atomic`` is left."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


def is_lost_race(error: DatabaseError) -> bool:
    """Whether another writer is to blame, not the statement."""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return cause.sqlite_errorname in (
            "SQLITE_CONSTRAINT_UNIQUE",
            "SQLITE_CONSTRAINT_PRIMARYKEY",
            "SQLITE_CONSTRAINT_FOREIGNKEY",
        )
    state = getattr(cause, "sqlstate", None)
    return state in UNIQUE_OR_REFERENCE or state in SERIALIZATION_DEADLOCK_OR_LOCK
