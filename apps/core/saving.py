"""Drafts become records: validated, inserted or updated in bulk, with their lists and their history."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

from django.db import connection, models, transaction
from psycopg.types.json import Jsonb

from apps.base import clock
from apps.base.batched_queries import (
    AnyOf,
    AnyRowOf,
    PreparedQuery,
    Rows,
    SqlStatement,
    fetch_all,
    prepared_query,
)
from apps.base.drafts import (
    D,
    Draft,
    Issue,
    Rule,
    ValidationFailed,
    WarningsPresent,
    apply_rules,
    label_of,
    raise_if_invalid,
)
from apps.base.errors import RECORD_CHANGED, PreconditionFailed
from apps.core import history
from apps.core.bulk_insert import FEW, WriteBatch, bulk_insert, plain
from apps.core.models import TimestampedModel, normalised
from apps.core.notices import notify_assigned

#: What the system fills in itself, whatever a draft says.
SYSTEM_COLUMNS = frozenset({"creation_date", "modify_date", "archive_date"})


@contextmanager
def in_transaction() -> Iterator[None]:
    """The transaction that the caller is in, or a new one; a savepoint within it would cost two trips.

    For services that write only when nothing can raise an issue any more.
    """
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        yield


def validate(
    model: type[models.Model],
    drafts: Sequence[D],
    rules: Sequence[Rule[D]] = (),
    existing: Mapping[object, object] | None = None,
) -> None:
    """Raise ``ValidationFailed`` with every issue that the rules, and unique and fixed columns, find.

    ``existing`` are the records that the drafts change, by key.
    """
    fixed = find_changes_of_fixed_columns(drafts, existing or {})
    raise_if_invalid(drafts, [*find_conflicts(model, drafts), *fixed, *apply_rules(drafts, rules)])


def find_changes_of_fixed_columns(
    drafts: Sequence[Draft], existing: Mapping[object, Any]
) -> Iterator[tuple[int, Issue]]:
    """``NotAllowed`` for every draft that changes what its record keeps; asked only where one would."""
    for number, draft in enumerate(drafts):
        record = existing.get(draft.key)
        if record is None or not (record.fixed_columns or record.columns_fixed_by):
            continue
        given = {f for f in record._meta.concrete_fields if f.name in draft.given and draft.has(f.name)}
        changed = {f.name for f in given if draft.key_of(f.name) != getattr(record, f.attname)}
        if changed.isdisjoint(chain(record.fixed_columns, *record.columns_fixed_by.values())):
            continue
        for name in changed.intersection(record.unchangeable_columns()):
            yield number, Issue("NotAllowed", name, "It cannot be changed: other records depend on it.")


def check_warnings(drafts: Sequence[D], rules: Sequence[Rule[D]], ignore_warnings: bool) -> None:
    """Raise ``WarningsPresent`` with every issue that the rules find, unless warnings are ignored."""
    if not ignore_warnings and (warnings := apply_rules(drafts, rules)):
        raise WarningsPresent(warnings)


def try_out(
    service: Callable[..., object], drafts: Sequence[Draft], **options: object
) -> list[tuple[int, Issue]]:
    """The issues and warnings that a service would raise; whatever it writes is rolled back.

    Services fill the drafts that they are given: the real call needs new ones.
    """
    try:
        with transaction.atomic():
            service(drafts, **options)
            transaction.set_rollback(True)
    except ValidationFailed as failed:
        return failed.issues
    return []


# --- unique values --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unique:
    """Columns whose values, taken together, no two records share; ``field`` has the issue."""

    columns: tuple[models.Field, ...]
    field: str

    def value_of(self, draft: Draft) -> tuple[Any, ...] | None:
        """The values of the draft as they are compared; ``None`` where one is null, invalid or not there."""
        values = []
        for column in self.columns:
            text_field = getattr(column, "text_field", None)
            value = draft.key_of(text_field or column.name)
            values.append(normalised(value) if text_field and value is not None else value)
        return None if None in values else tuple(values)


@lru_cache(maxsize=256)
def uniques_of(model: type[models.Model]) -> tuple[Unique, ...]:
    """Every unique column and unconditional constraint of a model, its key apart."""
    fields = [field for field in model._meta.concrete_fields if field.unique and not field.primary_key]
    found = [Unique((field,), getattr(field, "text_field", field.name)) for field in fields]
    by_name = {field.name: field for field in model._meta.concrete_fields}
    for constraint in model._meta.total_unique_constraints:
        columns = tuple(by_name[name] for name in constraint.fields)
        found.append(Unique(columns, getattr(columns[-1], "text_field", columns[-1].name)))
    return tuple(found)


class Conflicts:
    """The conflicts of drafts: send ``queries`` in a trip of your own, and give their rows to ``issues``.

    A draft that shares what must be unique is ``NotUnique``. Archived records count, the record that a draft
    changes does not. Of several drafts with one value the first may have it.
    """

    def __init__(self, model: type[models.Model], drafts: Sequence[Draft]) -> None:
        self.model, self.drafts = model, drafts
        #: The values of each unique, as (number of the draft, value).
        self.values: dict[Unique, list[tuple[int, tuple[object, ...]]]] = {}
        for unique in uniques_of(model):
            numbered = enumerate(map(unique.value_of, drafts))
            if values := [(number, value) for number, value in numbered if value is not None]:
                self.values[unique] = values
        self.queries: list[SqlStatement] = [
            owner_query(model, unique)({value for _, value in values})
            for unique, values in self.values.items()
        ]

    def issues(self, rows: Sequence[Rows]) -> list[tuple[int, Issue]]:
        """The issues of the drafts, by the rows of each query."""
        issues = []
        for unique, owner_rows in zip(self.values, rows, strict=True):
            owners = {tuple(row[:-1]): row[-1] for row in owner_rows}
            first: dict[tuple[object, ...], int] = {}
            for number, value in self.values[unique]:
                key, other = self.drafts[number].key, None
                if owners.get(value, key) != key:
                    message = f"Another {self.model._meta.verbose_name} has it already."
                    other = (self.model, owners[value])
                elif first.setdefault(value, number) != number:
                    owner = label_of(self.drafts[first[value]], first[value])
                    message = f"{owner[:1].upper()}{owner[1:]} has it as well."
                else:
                    continue
                issues.append((number, Issue("NotUnique", unique.field, message, other=other)))
        return issues


def find_conflicts(model: type[models.Model], drafts: Sequence[Draft]) -> list[tuple[int, Issue]]:
    """``NotUnique`` for every draft that shares what must be unique, in one trip."""
    conflicts = Conflicts(model, drafts)
    return conflicts.issues(fetch_all(conflicts.queries))


@lru_cache(maxsize=256)
def owner_query(model: type[models.Model], unique: Unique) -> PreparedQuery:
    """Values and keys of the records that have any of some values."""
    names = [column.attname for column in unique.columns]

    @prepared_query
    def rows(values: Any) -> models.QuerySet[models.Model, tuple[object, ...]]:
        owners = model._base_manager.filter(AnyRowOf(names, values))
        return owners.order_by().values_list(*names, "pk")

    return rows


# --- new records ----------------------------------------------------------------------------------------

R = TypeVar("R", bound=TimestampedModel)

#: The values of columns that no draft has, by the name of the field and in the order of the drafts.
ExtraColumns = Mapping[str, Sequence[object]]


def insert_records(
    model: type[models.Model],
    drafts: Sequence[Draft],
    extra_columns: ExtraColumns | None = None,
    batch: WriteBatch | None = None,
) -> list[Any]:
    """Insert the drafts as new records with their lists and history; their keys in the same order.

    They are sent with the ``batch`` when one is given. Contained lists are the service's to insert, by
    ``insert_rows``.
    """
    if not drafts:
        return []
    own_batch = batch or WriteBatch()
    keys = insert_rows(model, drafts, extra_columns, own_batch)
    for field in model._meta.many_to_many:
        lists = [vars(draft).get(field.name) or () for draft in drafts]
        links = [(key, one.pk) for key, records in zip(keys, lists, strict=True) for one in records]
        columns = (f"{field.m2m_field_name()}_id", f"{field.m2m_reverse_field_name()}_id")
        if links:
            own_batch.insert(getattr(model, field.name).through, columns, links)
    history.write_entries(model, keys, "Created", batch=own_batch)
    if batch is None:
        own_batch.send()
        # New claims and invoices come in a batch: they are in queues, a notice of each would be noise.
        for each in getattr(model, "responsibilities", ()):
            staff = [draft.key_of(each.column) for draft in drafts]
            notify_assigned(model, each.column, dict(zip(keys, staff, strict=True)))
    return keys


def insert_rows(
    model: type[models.Model],
    drafts: Sequence[Draft],
    extra_columns: ExtraColumns | None,
    batch: WriteBatch,
) -> list[object]:
    """Insert the drafts as new rows with the batch, without lists and history; their keys in the same order.

    So the rows of contained lists are inserted, whose history is their record's.
    """
    if not drafts:
        return []
    keys, members = new_keys(model, len(drafts)), vars(drafts[0]).keys()
    names = [
        f.name for f in model._meta.concrete_fields if f.name in members and f.name not in SYSTEM_COLUMNS
    ]
    # Draft by draft: column by column many drafts would pass through the processor's cache again and again.
    # Two more, since of one name there would be no tuples.
    taken = ("key", "given", *names)
    given = dict(zip(taken, zip(*map(attrgetter(*taken), drafts), strict=True), strict=True))
    columns: dict[str, Sequence[Any]] = {}
    for field in model._meta.concrete_fields:
        name, text_field = field.name, getattr(field, "text_field", None)
        values: Iterable[object]
        if field.primary_key:
            values = keys
        elif extra_columns and name in extra_columns:
            values = extra_columns[name]
        elif text_field is not None:
            values = map(normalised, columns.get(text_field, [None] * len(drafts)))
        elif name not in given:
            if field.null and not field.has_default():
                continue
            default = batch.moment if field.default is clock.now else plain(field.get_default())
            values = [default] * len(drafts)
        else:
            values = given[name]
            if not has_value(given[name]):
                pass
            elif field.is_relation:
                values = [value and value.pk for value in values]
            elif field.choices:
                values = map(plain, values)
        values = list(values)
        # Columns that are null in all of many rows are left out, which are most of an import's.
        is_needed = len(drafts) <= FEW or field.has_default() or text_field is not None
        if is_needed or has_value(values):
            columns[field.attname] = values
    batch.insert(model, tuple(columns), zip(*columns.values(), strict=True))
    return keys


def has_value(values: Sequence[object]) -> bool:
    """True when any of the values is not null. The first tells most often; records are slow to compare."""
    return values[0] is not None or values.count(None) < len(values)


def insert_instances(model: type[models.Model], instances: Sequence[models.Model]) -> None:
    """Insert new instances of a model as they are, without history; normalised columns follow their texts."""
    columns = [column.attname for column in model._meta.concrete_fields if not hasattr(column, "text_field")]
    bulk_insert(model, columns, ([getattr(each, name) for name in columns] for each in instances))


def apply_model_defaults(model: type[models.Model], drafts: Sequence[Draft]) -> None:
    """Give drafts of new records the model's defaults for columns that they lack: rules may read them."""
    fields = {
        field.name: field
        for field in model._meta.concrete_fields
        if not (field.primary_key or field.name in SYSTEM_COLUMNS or hasattr(field, "text_field"))
    }
    # Drafts of one call have the same members, but for invalid ones: many are not searched one by one.
    missing = fields.keys() - vars(drafts[0]).keys() if drafts else ()
    for draft in drafts:
        for name in missing:
            if not draft.has(name) and name not in draft.invalid:
                draft.fill(name, plain(fields[name].get_default()))


def new_keys(model: type[models.Model], number: int) -> list[object]:
    """Keys for new records: fresh guids, or the next numbers, which nobody else will get."""
    key = model._meta.pk
    assert key is not None
    if key.has_default():
        # In order, as the rows are: each finds its place in the key's index beside the one before.
        return sorted((key.get_default() for _ in range(number)), key=attrgetter("int"))
    with connection.cursor() as cursor:
        table = model._meta.db_table
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)",
                [connection.ops.quote_name(table), key.column, number],
            )
            return [value for (value,) in cursor.fetchall()]
        # SQLite has one writer at a time, and a number is used once even when its record is deleted.
        cursor.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = %s", [table])
        last = cursor.fetchone()[0]
    return list(range(last + 1, last + 1 + number))


# --- existing records -----------------------------------------------------------------------------------


def replace_list(record: models.Model, field: models.ManyToManyField, draft: Draft) -> bool:
    """Replace a list by the draft's; whether it changed. Its history says from what to what."""
    links = getattr(record, field.name)
    before = {one.pk: one for one in links.all()}
    after = {one.pk: one for one in draft.get(field.name) or ()}
    if before.keys() == after.keys():
        return False
    links.set(after.values())
    history.record_list(record, field.name, map(str, before.values()), map(str, after.values()))
    return True


def load_existing(model: type[R], drafts: Sequence[Draft]) -> dict[Any, R]:
    """The records that the drafts change, by key and locked; what the drafts do not give is filled from them.

    So that rules can validate the whole. References that are filled have their key alone. Raises
    ``ValidationFailed`` for records that are gone, and ``PreconditionFailed`` for one that was changed since
    its caller read it.
    """
    records = model._base_manager.filter(AnyOf("pk", [draft.key for draft in drafts])).select_for_update()
    existing = {record.pk: record for record in records.order_by("pk")}
    gone = [number for number, draft in enumerate(drafts) if draft.key not in existing]
    if gone:
        name = model._meta.verbose_name
        raise ValidationFailed(
            (number, Issue("NotFound", "", f"There is no {name} {drafts[number].key}.")) for number in gone
        )
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    relations = [field for field in fields if field.is_relation]
    names = [field.name for field in fields if not field.is_relation]
    values_of = attrgetter("pk", "pk", *names)
    for draft in drafts:
        record = existing[draft.key]
        if draft.expected_change not in (None, record.modify_date):
            raise PreconditionFailed(RECORD_CHANGED)
        known = draft.given | draft.invalid
        values = zip(names, values_of(record)[2:], strict=True)
        vars(draft).update({name: value for name, value in values if name not in known})
        for field in relations:
            if field.name not in known:
                draft.fill(field.name, existing_value(record, field))
    return existing


def existing_value(record: models.Model, field: Any) -> object:
    """The value of a column, of a reference a record that has its key alone."""
    value, related = getattr(record, field.attname), field.related_model
    if value is None or related is None:
        return value
    return related.from_db("default", [field.target_field.attname], [value])


def save_changes(
    model: type[models.Model],
    drafts: Sequence[Draft],
    existing: Mapping[Any, TimestampedModel],
    row_changes: Mapping[Any, history.Differences] | None = None,
) -> list[Any]:
    """Write the given columns and lists that differ from the existing records; the keys of those changed.

    One statement for each set of columns that changed together, and one for the history. ``row_changes`` are
    what the service changed in contained lists, by key, as ``{label: [before, after]}``: part of the same
    history entry.
    """
    row_changes = row_changes or {}
    fields = [f for f in model._meta.concrete_fields if f.name not in SYSTEM_COLUMNS and not f.primary_key]
    changes: list[RecordChange] = []
    for draft in drafts:
        record = existing[draft.key]
        given = [field for field in fields if field.name in draft.given and draft.has(field.name)]
        for field in given:
            setattr(record, field.name, draft.get(field.name))
        differences = history.differences(record, [field.attname for field in given])
        lists = [
            f for f in model._meta.many_to_many if f.name in draft.given and replace_list(record, f, draft)
        ]
        of_rows = row_changes.get(draft.key, {})
        if differences or lists or of_rows:
            changes.append((record, differences, of_rows))
    save_differences(model, changes)
    return [record.pk for record, _, _ in changes]


def save_records(model: type[models.Model], records: Iterable[TimestampedModel]) -> None:
    """Write what differs from what was loaded of the records, and their history."""
    changes: list[RecordChange] = [(record, history.differences(record), {}) for record in records]
    save_differences(model, [change for change in changes if change[1]])


#: A record, the columns that differ from what was loaded, and what changed in its contained lists.
RecordChange = tuple[TimestampedModel, history.Differences, history.Differences]


def save_differences(model: type[models.Model], changes: Sequence[RecordChange]) -> None:
    """One statement for each set of columns that changed together, and one for the history."""
    changed: defaultdict[tuple[str, ...], list[TimestampedModel]] = defaultdict(list)
    for record, differences, _ in changes:
        changed[tuple(differences)].append(record)
    for columns, records in changed.items():
        update(model, columns, records)
    entries = ((record, differences | of_rows) for record, differences, of_rows in changes)
    history.write_differences(model, [(record.pk, entry) for record, entry in entries if entry])
    for each in getattr(model, "responsibilities", ()):
        name = f"{each.column}_id"
        assigned = {record.pk: getattr(record, name) for record, changed, _ in changes if name in changed}
        notify_assigned(model, each.column, assigned)


def update(
    model: type[models.Model],
    columns: Sequence[str],
    records: Sequence[TimestampedModel],
    is_stamped: bool = True,
) -> None:
    """Write these columns of the records, their normalised columns and the modify stamp in one statement.

    Without ``is_stamped`` the stamp stays: the columns are the system's own, and nothing shows them.
    On PostgreSQL the rows go as one JSON: a statement for each takes five times as long, and the driver makes
    arrays value by value.
    """
    written = {*columns, "modify_date"} if is_stamped else {*columns}
    fields = [f for f in model._meta.concrete_fields if {f.attname, getattr(f, "text_field", None)} & written]
    key = model._meta.pk
    assert key is not None
    for record in records if is_stamped else ():
        record.modify_date = clock.now()
    values = [
        [field.get_db_prep_save(field.pre_save(record, False), connection) for record in records]
        for field in [*fields, key]
    ]
    table, *names = map(
        connection.ops.quote_name, [model._meta.db_table, *(str(field.column) for field in [*fields, key])]
    )
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            assignments = ", ".join(f"{name} = %s" for name in names[:-1])
            sql = f"UPDATE {table} SET {assignments} WHERE {names[-1]} = %s"  # noqa: S608  our own names
            cursor.executemany(sql, list(zip(*values, strict=True)))
            return
        assignments = ", ".join(f"{name} = new.{name}" for name in names[:-1])
        # Without the length of a type: a cast to it would cut longer texts off.
        types = [str(field.db_type(connection)).partition("(")[0] for field in [*fields, key]]
        columns_of_rows = ", ".join(f"{name} {type_}" for name, type_ in zip(names, types, strict=True))
        keys = [str(field.column) for field in [*fields, key]]
        rows = [dict(zip(keys, row, strict=True)) for row in zip(*values, strict=True)]
        cursor.execute(
            f"UPDATE {table} SET {assignments} FROM json_to_recordset(%s) AS new ({columns_of_rows})"  # noqa: S608  our own names
            f" WHERE {table}.{names[-1]} = new.{names[-1]}",
            [json.dumps(rows, default=lambda value: value.obj if isinstance(value, Jsonb) else str(value))],
        )
