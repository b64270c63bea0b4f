"""Records created or changed by the caller's key, one by its address, or many by a delta payload.

A delta payload (OData 4.01, Protocol 11.4.13) names each record by its key or by an alternate key; an unknown
alternate key is a new record, ``@removed`` archives one. The services of the resource are called once each.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import models, transaction
from django.db.models import Q

from apps.base.batched_queries import AnyOf
from apps.base.declaration.resource import DELETE, BodyKind, Caller
from apps.base.declaration.schema import AlternateKey, EntitySet, StructuralProperty
from apps.base.declaration.values import WireValueError, reader_of
from apps.base.drafts import ValidationFailed, attach_references
from apps.base.errors import (
    RECORD_CHANGED,
    BadBody,
    Conflict,
    ErrorDetail,
    InvalidRecords,
    ServiceError,
)
from apps.base.retries import retry_on_conflict
from apps.odata.query.stored_values import make_etag
from apps.odata.write.annotations import address_in, key_in, must_be_address
from apps.odata.write.bodies import (
    Body,
    join_targets,
    list_of_records,
    read_drafts,
    read_record,
    record_reader,
    record_target,
)
from apps.odata.write.dispatch import (
    Created,
    Fault,
    Kind,
    call_service,
    create,
    error_of,
    with_options,
)
from apps.odata.write.json_parser import parse_body

#: The annotation of an item whose record is removed.
REMOVED = ("@removed", "@odata.removed")


@dataclass(frozen=True, slots=True)
class AlternateValue:
    """The value of an alternate key as a caller wrote it, and as it is compared."""

    key: AlternateKey
    text: str

    @property
    def normalised(self) -> object:
        return self.key.normalised(self.text)

    def find_in(self, records: models.QuerySet[Any]) -> object:
        """The key of the record among these that has it, else ``None``."""
        found = records.order_by().filter(**{self.key.column.name: self.normalised})
        return found.values_list("pk", flat=True).first()

    def __str__(self) -> str:
        return f"{self.key.prop.name} {self.text[:60]!r}"


def read_named(named: AlternateValue, entity_set: EntitySet, raw: bytes) -> Body:
    """The body of a new record whose address has the alternate key, which the body may repeat."""
    prop = named.key.prop
    body = read_record(entity_set, raw, BodyKind.NEW, {prop.name: named.text})
    (draft,) = body.drafts
    given = draft.get(prop.attribute)
    if given is not None and named.key.normalised(given) != named.normalised:
        sentence = f"The address names {named}: leave {prop.name} out, or give the same."
        body.faults.append((0, ErrorDetail("NotAllowed", prop.name, sentence)))
    return body


def create_named(
    entity_set: EntitySet,
    records: models.QuerySet[Any],
    named: AlternateValue,
    raw: bytes,
    caller: Caller | None,
    ignore_warnings: bool,
) -> Created:
    """Create the record of an alternate key that none of the ``records`` had; ``Conflict`` if one has now."""
    try:
        return create(entity_set, raw, caller, ignore_warnings, partial(read_named, named))
    except InvalidRecords as refused:
        if named.find_in(records) is None:
            raise
        raise Conflict("Another writer was first.", details=refused.details) from None


# --- delta payloads -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Item:
    """An item of a delta payload, and the record that it names, ``None`` where there is none yet."""

    number: int
    value: dict[str, Any]
    key: object = None
    alternate: AlternateValue | None = None
    record: Any = None

    @property
    def target(self) -> str:
        return record_target(self.number, bare=False)

    @property
    def is_removal(self) -> bool:
        return isinstance(self.value, dict) and not self.value.keys().isdisjoint(REMOVED)

    @property
    def is_deletion(self) -> bool:
        """True of a removal that says so, or gives no reason: what was only changed leaves no set."""
        removed = next((self.value[name] for name in REMOVED if name in self.value), None)
        return isinstance(removed, dict) and removed.get("reason", "deleted") == "deleted"

    @property
    def identity(self) -> object:
        """The same for two items of one record."""
        if self.record is not None:
            return self.record.pk
        return self.key or (self.alternate and (self.alternate.key.prop.name, self.alternate.normalised))

    def fault(self, code: str, sentence: str, member: str = "", kind: Kind = Kind.INVALID) -> Fault:
        return Fault(self.number, ErrorDetail(code, join_targets(self.target, member), sentence), kind)


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """An item and what became of it: the key of its record, ``None`` where there is none, or an error."""

    item: Item
    key: object = None
    error: ServiceError | None = None

    @property
    def is_shown(self) -> bool:
        """True when the record is shown as it is now."""
        return self.error is None and not self.item.is_removal

    @property
    def operation(self) -> str:
        """The word of Org.OData.Core.V1.DataModificationOperationKind."""
        return "delete" if self.item.is_removal else "upsert"


class Refused(Exception):
    """Raised for items that cannot be stored, with all their faults."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = faults
        super().__init__(faults)


@retry_on_conflict
def apply_delta(
    entity_set: EntitySet,
    records: models.QuerySet[Any],
    raw: bytes,
    caller: Caller | None,
    ignore_warnings: bool = False,
    continue_on_error: bool = False,
) -> list[ItemOutcome]:
    """Store the items of a delta payload, all or none; ``records`` are those that the caller may see.

    With ``continue_on_error`` items with faults are left out and the others stored: as the faults of all are
    found at once, that takes a second attempt, seldom a third. Raises as ``dispatch.create`` does.
    """
    values = read_delta(entity_set, raw)
    refused: dict[int, list[Fault]] = {}
    changes = Changes(entity_set, records, raw, caller, ignore_warnings)
    while True:
        items = [Item(number, value) for number, value in enumerate(values) if number not in refused]
        try:
            with transaction.atomic():
                keys = changes.store(items)
            break
        except Refused as error:
            if changes.are_there_now(items):
                continue
            if not continue_on_error:
                raise error_of(error.faults) from None
            for fault in error.faults:
                refused.setdefault(fault.number, []).append(fault)
    stored = {item.number: ItemOutcome(item, keys.get(item.number)) for item in items}
    left_out = {
        number: ItemOutcome(Item(number, values[number]), error=error_of(faults))
        for number, faults in refused.items()
    }
    return [(stored | left_out)[number] for number in range(len(values))]


def read_delta(entity_set: EntitySet, raw: bytes) -> list[Any]:
    """The items of a delta payload; ``BadBody`` for what is none, ``TooLarge`` for too many."""
    body = parse_body(raw, record_reader(entity_set.type).most_objects)
    context = body.get("@context", body.get("@odata.context"))
    if not isinstance(context, str) or not context.endswith("$delta") or "value" not in body:
        sentence = 'A body that changes many records is {"@context": "#$delta", "value": [...]}.'
        raise BadBody(sentence, target="@context")
    return list_of_records(body, raw)


@dataclass(frozen=True, slots=True)
class Changes:
    """Stores items of a delta payload of a set, in the transaction of the caller."""

    entity_set: EntitySet
    records: models.QuerySet[Any]
    raw: bytes
    caller: Caller | None
    ignore_warnings: bool

    def store(self, items: Sequence[Item]) -> dict[int, object]:
        """The keys of the records by the numbers of the items; ``Refused`` with all faults of all items."""
        faults = [*self.identify(items)]
        self.lock(items)
        faults += self.find_faults(items, {fault.number for fault in faults})
        wrong = {fault.number for fault in faults}
        sound = [item for item in items if item.number not in wrong]
        keys = {item.number: item.record and item.record.pk for item in sound}
        faults += self.archive([item for item in sound if item.is_removal and item.record is not None])
        written = [item for item in sound if not item.is_removal]
        faults += self.write([item for item in written if item.record is not None], BodyKind.PARTIAL, keys)
        faults += self.write([item for item in written if item.record is None], BodyKind.NEW, keys)
        if faults:
            raise Refused(faults)
        return keys

    # --- which records

    def identify(self, items: Iterable[Item]) -> Iterator[Fault]:
        """Read which record each item names; the faults of those that cannot be read."""
        for item in items:
            try:
                self.read_name(item)
            except Refused as refused:
                yield from refused.faults

    def read_name(self, item: Item) -> None:
        key, model = self.entity_set.key, self.entity_set.model
        if not isinstance(item.value, dict):
            raise Refused([item.fault("WrongType", f"A {self.entity_set.name} record must be an object.")])
        address = address_in(item.value)
        named = None if address is None else key_in(address, model)
        if address is not None and (named is None or isinstance(named, str)):
            raise Refused([item.fault("InvalidAddress", f"@id {must_be_address(model)}", "@id")])
        if item.value.get(key.name) is not None:
            item.key = member_value(item, key)
        elif named is not None:
            item.key = named
        else:
            item.alternate = self.read_alternate(item)
        if named is not None and named != item.key:
            raise Refused([item.fault("NotAllowed", f"@id names another record than {key.name}.", "@id")])

    def read_alternate(self, item: Item) -> AlternateValue:
        keys = self.entity_set.alternate_keys.values()
        for key in keys:
            text = item.value.get(key.prop.name)
            value = None if text is None else member_value(item, key.prop)
            if value is not None:
                return AlternateValue(key, str(value))
        names = [self.entity_set.key.name, *(key.prop.name for key in keys)]
        raise Refused([item.fault("Required", f"{' or '.join(names)} says which record it is.", names[-1])])

    def lock(self, items: Sequence[Item]) -> None:
        """Find and lock the records of the items in one statement."""
        condition = Q(AnyOf("pk", [item.key for item in items if item.key is not None]))
        by_column: dict[str, list[object]] = defaultdict(list)
        for item in items:
            if item.alternate is not None:
                by_column[item.alternate.key.column.name].append(item.alternate.normalised)
        for column, values in by_column.items():
            condition |= Q(AnyOf(column, values))
        found = self.records.filter(condition).order_by("pk").select_for_update(of=("self",))
        by_name = {("pk", record.pk): record for record in found}
        for column in by_column:
            by_name |= {(column, getattr(record, column)): record for record in [*by_name.values()]}
        for item in items:
            name = ("pk", item.key)
            if item.alternate is not None:
                name = (item.alternate.key.column.name, item.alternate.normalised)
            item.record = by_name.get(name)

    def are_there_now(self, items: Sequence[Item]) -> bool:
        """True when another writer made a record meanwhile that items were to make."""
        missing = [item for item in items if item.record is None and item.alternate is not None]
        if missing:
            self.lock(missing)
        return any(item.record is not None for item in missing)

    def find_faults(self, items: Sequence[Item], wrong: Collection[int]) -> Iterator[Fault]:
        """The faults of items as such, but of those that have one already."""
        first: dict[object, int] = {}
        for item in items:
            if item.number in wrong:
                continue
            earlier = first.setdefault(item.identity, item.number)
            if earlier != item.number:
                yield item.fault("Duplicate", f"Record {earlier + 1} of this request is the same one.")
            elif item.is_removal and not self.entity_set.supports(DELETE):
                yield item.fault("NotAllowed", f"{self.entity_set.name} has no DELETE.", "@removed")
            elif item.is_removal and not item.is_deletion:
                sentence = '@removed archives a record: {"reason": "deleted"} must be meant.'
                yield item.fault("NotAllowed", sentence, "@removed")
            elif item.record is None and item.key is not None and not item.is_removal:
                sentence = f"There is no {self.entity_set.name} {item.key}."
                yield item.fault("NotFound", sentence, self.entity_set.key.name)
            elif not self.has_etag(item):
                yield item.fault("PreconditionFailed", RECORD_CHANGED, "@odata.etag", Kind.CHANGED)

    def has_etag(self, item: Item) -> bool:
        """True when the record is in the state that the item says, if it says any."""
        etag = item.value.get("@odata.etag", item.value.get("@etag"))
        if etag is None or (etag == "*" and item.record is not None):
            return True
        field = self.entity_set.etag_field
        if item.record is None or field is None:
            return False
        own = make_etag(getattr(item.record, field))
        return str(etag).removeprefix("W/") == own.removeprefix("W/")

    # --- what is done with them

    def archive(self, items: Sequence[Item]) -> list[Fault]:
        service = type(self.entity_set.resource).archive
        if not items or service is None:
            return []
        try:
            service(self.records.filter(AnyOf("pk", [item.record.pk for item in items])))
        except ValidationFailed as failed:
            ordered = sorted(items, key=lambda item: item.record.pk)
            return [
                ordered[at].fault(issue.code, issue.message, kind=Kind.STATE) for at, issue in failed.issues
            ]
        return []

    def write(self, items: Sequence[Item], kind: BodyKind, keys: dict[int, object]) -> list[Fault]:
        """Create or change the records of items, and note the keys of new ones; their faults."""
        resource, type_ = type(self.entity_set.resource), self.entity_set.type
        service = resource.create if kind is BodyKind.NEW else resource.update
        if not items or service is None:
            return []
        numbers, values = [item.number for item in items], [item.value for item in items]
        body = read_drafts(record_reader(type_, kind), values, self.raw, bare=False, numbers=numbers)
        for item, draft in zip(items, body.drafts, strict=False):
            draft.fill("label", f"record {item.number + 1} of this request")
            if item.record is not None:
                draft.key = item.record.pk
            if item.record is not None and item.alternate is not None:
                draft.given -= {item.alternate.key.prop.attribute}  # it stays as it is written there
        current = {item.record.pk: item.record for item in items if item.record is not None}
        service = with_options(self.entity_set, service, self.caller, self.ignore_warnings, body.drafts)
        issues = [] if resource.loads_references else attach_references(type_, body.drafts, current)
        result, faults = call_service(self.entity_set, body, issues, service)
        if faults is None and kind is BodyKind.NEW:
            keys.update(zip(numbers, result, strict=True))
        return faults or []


def member_value(item: Item, prop: StructuralProperty) -> object:
    """The value of a member of an item; ``Refused`` where it is none."""
    try:
        return reader_of(prop)(item.value[prop.name])
    except WireValueError as error:
        raise Refused([item.fault(error.code, f"{prop.name} {error.sentence}", prop.name)]) from None
