"""The effects of each operation of a migration on a service that goes on meanwhile, judged for PostgreSQL.

During an upgrade the running version works on the new schema until its workers are replaced. A migration may
say why an impact is acceptable: ``accepted = {"LOCKS": "written once a day"}`` on its class.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from apps.core.computed import ComputedDecimal


class Impact(Enum):
    """The harm of an operation, and what to do instead."""

    BREAKS = "breaks the version that runs"
    LOCKS = "stops writers of the table until it is done"
    REWRITES = "writes every row of the table again, and stops readers meanwhile"
    OPAQUE = "runs code or SQL that cannot be judged"


@dataclass(frozen=True, slots=True)
class Finding:
    """An impact of one operation. ``accepted`` is the reason why it may stay."""

    impact: Impact
    table: str | None
    text: str
    remedy: str
    accepted: str | None = None


@dataclass(slots=True)
class SchemaChange:
    """An operation with the state before it."""

    operation: Any
    app: str
    before: ProjectState

    @property
    def model(self) -> str:
        names = [getattr(self.operation, name, None) for name in ("model_name", "old_name", "name")]
        named: str = next(name for name in names if name)
        return named.lower()

    @property
    def table(self) -> str:
        options = self.before.models[self.app, self.model].options
        table: str = options.get("db_table", f"{self.app}_{self.model}")
        return table

    def finding(self, impact: Impact, text: str, remedy: str) -> Finding:
        return Finding(impact, self.table, text, remedy)

    @property
    def old_field(self) -> Any:
        return self.before.models[self.app, self.model].fields[self.operation.name]


Rule = Callable[[SchemaChange], Iterator[Finding]]

REMOVE_LATER = "Remove it in a later version, when no running one names it."
ADD_CONCURRENTLY = "Create the index with CONCURRENTLY on PostgreSQL, in a migration without a transaction."
ADD_NOT_VALID = "Clean the rows first; add it as NOT VALID, and validate it in a migration of its own."


def remove_column(change: SchemaChange) -> Iterator[Finding]:
    if not isinstance(change.old_field, ComputedDecimal):
        text = f"The column {change.operation.name} goes, which the running version reads and writes."
        yield change.finding(Impact.BREAKS, text, REMOVE_LATER)


def rename(change: SchemaChange) -> Iterator[Finding]:
    text = "A name changes that the running version uses."
    yield change.finding(Impact.BREAKS, text, "Add the new one, copy, remove the old one in a later version.")


def delete_table(change: SchemaChange) -> Iterator[Finding]:
    yield change.finding(Impact.BREAKS, "The table goes, which the running version uses.", REMOVE_LATER)


def add_column(change: SchemaChange) -> Iterator[Finding]:
    column = change.operation.field
    if isinstance(column, ComputedDecimal | models.ManyToManyField):
        return
    name = change.operation.name
    if isinstance(column, models.GeneratedField):
        text = f"Every row gets its value of {name}."
        yield change.finding(Impact.REWRITES, text, "Add a plain column, and fill it in batches.")
    elif not column.null and not column.has_db_default():
        text = f"{name} is not null without a database default: the running version inserts rows without it."
        yield change.finding(
            Impact.BREAKS, text, "Give it a db_default, or allow null until the next version."
        )
    if column.unique or column.db_index:
        text = f"{name} gets an index while writers wait."
        yield change.finding(Impact.LOCKS, text, ADD_CONCURRENTLY)


def alter_column(change: SchemaChange) -> Iterator[Finding]:
    old, new, name = change.old_field, change.operation.field, change.operation.name
    if isinstance(new, ComputedDecimal | models.ManyToManyField):
        return
    if old.db_column != new.db_column:
        yield from rename(change)
    if column_type(old) != column_type(new):
        text = f"{name} becomes {new.get_internal_type()}."
        yield change.finding(Impact.REWRITES, text, "Add a column of the new type, and fill it in batches.")
    elif any(limit(new) < limit(old) for limit in LIMITS):
        text = f"{name} holds less: the running version may write what does not fit."
        yield change.finding(
            Impact.BREAKS, text, "Refuse longer values first, narrow it in the next version."
        )
    if old.null and not new.null:
        text = f"{name} becomes not null: the running version may write null."
        yield change.finding(
            Impact.BREAKS, text, "Always write a value first, forbid null in the next version."
        )
    if new.unique and not old.unique:
        text = f"{name} becomes unique: the running version may write a value twice."
        yield change.finding(Impact.BREAKS, text, ADD_NOT_VALID)
    if (new.db_index or new.unique) and not (old.db_index or old.unique):
        yield change.finding(Impact.LOCKS, f"{name} gets an index while writers wait.", ADD_CONCURRENTLY)


def column_type(column: models.Field) -> tuple[object, ...]:
    """The type for which PostgreSQL writes rows again; a longer text or decimal is the same type."""
    target = column.remote_field.model if column.remote_field else None
    return (
        column.get_internal_type(),
        str(getattr(target, "_meta", target)).lower(),
        getattr(column, "decimal_places", None),
        column.max_length is None,
    )


LIMITS: tuple[Callable[[Any], int], ...] = (
    lambda column: column.max_length or 0,
    lambda column: getattr(column, "max_digits", 0) or 0,
)


def add_index(change: SchemaChange) -> Iterator[Finding]:
    if not isinstance(change.operation, AddIndexConcurrently):
        text = f"The index {change.operation.index.name} is built while writers wait."
        yield change.finding(Impact.LOCKS, text, ADD_CONCURRENTLY)


def add_constraint(change: SchemaChange) -> Iterator[Finding]:
    text = f"{change.operation.constraint.name} is new: the running version may write what it forbids."
    yield change.finding(Impact.BREAKS, text, "Keep the rule in one version, add the constraint in the next.")
    text = "Every row is checked while writers wait."
    yield change.finding(Impact.LOCKS, text, ADD_NOT_VALID)


def run_code(change: SchemaChange) -> Iterator[Finding]:
    yield Finding(
        Impact.OPAQUE,
        None,
        f"{type(change.operation).__name__}: rows that it changes stay locked until the commit.",
        "Change rows in batches, in a migration of their own, so that the running version can go on.",
    )


def harmless(change: SchemaChange) -> Iterator[Finding]:
    yield from ()


RULES: dict[type[Operation], Rule] = {
    migrations.CreateModel: harmless,
    migrations.DeleteModel: delete_table,
    migrations.RenameModel: rename,
    migrations.AlterModelTable: rename,
    migrations.AlterModelOptions: harmless,
    migrations.AlterModelManagers: harmless,
    migrations.AlterModelTableComment: harmless,
    migrations.AddField: add_column,
    migrations.RemoveField: remove_column,
    migrations.RenameField: rename,
    migrations.AlterField: alter_column,
    migrations.AddIndex: add_index,
    AddIndexConcurrently: add_index,
    migrations.RemoveIndex: harmless,
    migrations.RenameIndex: harmless,
    migrations.AddConstraint: add_constraint,
    migrations.RemoveConstraint: harmless,
}


def check_migration(
    migration: Any, state: ProjectState, new_models: set[tuple[str, str]] | None = None
) -> list[Finding]:
    """The findings of a migration; ``state`` is the one before it, and becomes the one after it.

    ``new_models`` are created in the same upgrade, without rows.
    """
    accepted = getattr(migration, "accepted", {})
    created = set() if new_models is None else new_models
    found: list[Finding] = []
    for operation in migration.operations:
        for each in check_operation(operation, migration.app_label, state, created):
            found.append(replace(each, accepted=accepted.get(each.impact.name)))
        operation.state_forwards(migration.app_label, state)
        if isinstance(operation, migrations.CreateModel):
            created.add((migration.app_label, operation.name.lower()))
    return found


def check_operation(
    operation: Any, app: str, state: ProjectState, new_models: set[tuple[str, str]]
) -> Iterator[Finding]:
    if isinstance(operation, migrations.SeparateDatabaseAndState):
        # In its own state: what the database does is not what the models say.
        inner = state.clone()
        for each in operation.database_operations:
            yield from check_operation(each, app, inner, new_models)
            each.state_forwards(app, inner)
        return
    rule = RULES.get(type(operation), run_code)
    change = SchemaChange(operation, app, state)
    if rule is run_code or (app, change.model) not in new_models:
        yield from rule(change)
