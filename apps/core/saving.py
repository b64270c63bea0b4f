"""Drafts become records: held against their rules, stored in bulk, their history written with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import Any

from django.db import connection, models, transaction

from apps.core import history
from apps.core.bulk_insert import bulk_insert, plain
from apps.core.identifiers import normalised
from apps.core.unique import find_conflicts
from apps.odata import clock
from apps.odata.any_of import AnyOf
from apps.odata.batched_queries import alone
from apps.odata.write.drafts import (
    Draft,
    Issue,
    Rule,
    ValidationFailed,
    apply_rules,
    raise_if_invalid,
)

#: What the system fills in itself, whatever a draft says.
SYSTEM_COLUMNS = frozenset({"creation_date", "modify_date", "archive_date"})


@contextmanager
def in_transaction() -> Iterator[None]:
    """The transaction that the caller is in, or one of its own; a savepoint within it would cost two trips.

    For verbs that write only once nothing can refuse them any more.
    """
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        yield


def validate(
    model: type[models.Model], drafts: Sequence[Draft], *rule_lists: Sequence[Rule], context: Any = None
) -> None:
    """Raise ``ValidationFailed`` with every issue that the lists of rules, and the unique columns, find.

    Each list is applied only when those before it found nothing. A ``context`` is passed to every rule after
    the draft.
    """
    validate_with(alone(find_conflicts(model, drafts)), drafts, *rule_lists, context=context)


def validate_with(
    found: list[tuple[int, Issue]],
    drafts: Sequence[Draft],
    *rule_lists: Sequence[Rule],
    context: Any = None,
) -> None:
    """``validate`` where some issues were found already."""
    more = () if context is None else (context,)
    for rules in rule_lists:
        found += apply_rules(drafts, rules, *more)
        if found and rules is not rule_lists[-1]:
            break
    raise_if_invalid(drafts, found)


def try_out(service: Callable[..., Any], drafts: Sequence[Draft], **options: Any) -> list[tuple[int, Issue]]:
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


def insert_records(
    model: type[models.Model],
    drafts: Sequence[Draft],
    filled: Mapping[str, Callable[[Draft], Any]] | None = None,
) -> list[Any]:
    """Insert the drafts as new records with their lists and history; their keys in the same order.

    ``filled`` says of columns that no draft holds what they are. Contained lists are stored by the verb, by
    ``insert_rows``.
    """
    if not drafts:
        return []
    keys = insert_rows(model, drafts, filled)
    for field in model._meta.many_to_many:
        pairs = [
            (key, one.pk) for key, draft in zip(keys, drafts, strict=True) for one in listed(draft, field)
        ]
        insert_links(field, pairs)
    history.write_entries(model, keys, "Created")
    return keys


def insert_rows(
    model: type[models.Model],
    drafts: Sequence[Draft],
    filled: Mapping[str, Callable[[Draft], Any]] | None = None,
) -> list[Any]:
    """Insert the drafts as new rows, and nothing besides; their keys in the same order.

    So the rows of contained lists are stored, whose history is their record's. ``filled``: as for ``store``.
    """
    if not drafts:
        return []
    keys = new_keys(model, len(drafts))
    columns = {
        field.attname: column_of(field, drafts, filled or {}, keys) for field in model._meta.concrete_fields
    }
    bulk_insert(model, tuple(columns), zip(*columns.values(), strict=False))
    return keys


def apply_model_defaults(model: type[models.Model], drafts: Sequence[Draft]) -> None:
    """Give drafts of new records the model's defaults for what they do not know of, so that rules can ask."""
    for field in model._meta.concrete_fields:
        if field.primary_key or field.name in SYSTEM_COLUMNS or hasattr(field, "of"):
            continue
        for draft in drafts:
            if field.name not in draft.__dict__ and field.name not in draft.invalid:
                draft.fill(field.name, plain(field.get_default()))


def new_keys(model: type[models.Model], number: int) -> list[Any]:
    """Keys for new records: fresh guids, or the next numbers, which nobody else will get."""
    key = model._meta.pk
    assert key is not None
    if key.has_default():
        return [key.get_default() for _ in range(number)]
    with connection.cursor() as cursor:
        table = model._meta.db_table
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)",
                [connection.ops.quote_name(table), key.column, number],
            )
            return [value for (value,) in cursor.fetchall()]
        # Whoever writes is alone on SQLite, and a number is used once even when its record is deleted.
        cursor.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = %s", [table])
        last = cursor.fetchone()[0]
    return list(range(last + 1, last + 1 + number))


def column_of(
    field: models.Field,
    drafts: Sequence[Draft],
    filled: Mapping[str, Callable[[Draft], Any]],
    keys: Sequence[Any],
) -> Iterable[Any]:
    """The values that a column has in each of the new records."""
    if field.primary_key:
        return keys
    if field.name in filled:
        return map(filled[field.name], drafts)
    of = getattr(field, "of", None)
    if of is not None:
        return [normalised(draft.__dict__.get(of)) for draft in drafts]
    if field.name in SYSTEM_COLUMNS or field.name not in drafts[0].__dict__:
        return repeat(plain(field.get_default()), len(drafts))
    held = [draft.__dict__[field.name] for draft in drafts]
    if field.is_relation:
        return [value and value.pk for value in held]
    return map(plain, held) if field.choices else held


def listed(draft: Draft, field: models.ManyToManyField) -> Sequence[Any]:
    """The records in a list of the draft; none when the draft has no such list."""
    return draft.__dict__.get(field.name) or ()


def insert_links(field: models.ManyToManyField, pairs: Sequence[tuple[Any, Any]]) -> None:
    """Store (record's key, linked record's key) pairs of a list."""
    if pairs:
        through: Any = field.remote_field.through
        bulk_insert(through, (f"{field.m2m_field_name()}_id", f"{field.m2m_reverse_field_name()}_id"), pairs)


# --- records that stand already -------------------------------------------------------------------------


def replace_record(record: Any, draft: Draft) -> None:
    """Make a record what the draft says, lists included; everything the draft does not speak of stays."""
    for field in record._meta.concrete_fields:
        if field.name in draft.__dict__ and field.name not in SYSTEM_COLUMNS and not field.primary_key:
            setattr(record, field.name, draft.__dict__[field.name])
    changed = [field for field in record._meta.many_to_many if replace_list(record, field, draft)]
    if changed and not history.differences(record):
        type(record)._base_manager.filter(pk=record.pk).update(modify_date=clock.now())
        return
    record.save()


def replace_list(record: Any, field: models.ManyToManyField, draft: Draft) -> bool:
    """Whether the list of the record changed; its history says from what to what."""
    if field.name not in draft.__dict__:
        return False
    links = getattr(record, field.name)
    before, after = {one.pk: one for one in links.all()}, {one.pk: one for one in listed(draft, field)}
    if before.keys() == after.keys():
        return False
    links.set(after.values())
    history.record_list(record, field.name, map(str, before.values()), map(str, after.values()))
    return True


def load_existing(model: type[models.Model], drafts: Sequence[Draft]) -> dict[Any, Any]:
    """Fill what drafts of standing records do not give from what stands; the records by key, locked.

    So that rules can judge the whole. References that stand are given by their key alone.
    """
    key = model._meta.pk
    assert key is not None
    records = model._base_manager.filter(AnyOf(key, [draft.key for draft in drafts])).select_for_update()
    standing = {record.pk: record for record in records.order_by("pk")}
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    for draft in drafts:
        record = standing.get(draft.key)
        for field in fields if record is not None else ():
            if field.name not in draft.given and field.name not in draft.invalid:
                draft.__dict__[field.name] = existing_value(record, field)
    return standing


def existing_value(record: Any, field: models.Field) -> Any:
    value = record.__dict__[field.attname]
    model: Any = field.related_model
    return value if value is None or model is None else model(pk=value)


def save_changes(
    model: type[models.Model],
    drafts: Sequence[Draft],
    standing: Mapping[Any, Any],
    told: Mapping[Any, dict[str, list[Any]]] | None = None,
) -> list[Any]:
    """Write the given columns and lists that differ from what stands; the keys of the records changed.

    One statement for each set of columns that changed together, and one for the history. ``told`` is what
    the verb changed in contained lists, by key, as ``{label: [before, after]}``: part of the same line.
    """
    told = told or {}
    fields = [f for f in model._meta.concrete_fields if f.name not in SYSTEM_COLUMNS and not f.primary_key]
    together: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    changed: list[Any] = []
    for draft in drafts:
        record = standing[draft.key]
        for field in fields:
            if field.name in draft.given and field.name in draft.__dict__:
                setattr(record, field.name, draft.__dict__[field.name])
        names = tuple(history.differences(record))
        lists = [
            f for f in model._meta.many_to_many if f.name in draft.given and replace_list(record, f, draft)
        ]
        if names or lists or told.get(draft.key):
            together[names].append(record)
            changed.append(record)
    for names, records in together.items():
        update(model, names, records)
    history.write_changes(
        model,
        (
            (record.pk, "Changed", differences)
            for record in changed
            if (differences := history.differences(record) | told.get(record.pk, {}))
        ),
    )
    return [record.pk for record in changed]


def update(model: type[models.Model], attnames: Sequence[str], records: Sequence[Any]) -> None:
    """Write these columns of the records, their folded twins and the modify stamp in one statement."""
    fields = [
        field
        for field in model._meta.concrete_fields
        if {field.attname, getattr(field, "of", None)} & {*attnames, "modify_date"}
    ]
    key = model._meta.pk
    assert key is not None
    quote = connection.ops.quote_name
    columns = ", ".join(f"{quote(str(field.column))} = %s" for field in fields)
    rows = []
    for record in records:
        record.modify_date = clock.now()
        values = [field.pre_save(record, False) for field in fields]
        rows.append(
            [
                f.get_db_prep_save(v, connection)
                for f, v in zip([*fields, key], [*values, record.pk], strict=True)
            ]
        )
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {quote(model._meta.db_table)} SET {columns} WHERE {quote(str(key.column))} = %s",  # noqa: S608  our own names
            rows,
        )
