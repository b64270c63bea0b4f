"""Indexes by which PostgreSQL finds a part of a text in any case; SQLite reads all rows, and needs none.

A model says what it is ``searched`` by; migrations make the indexes, and a system check names a missing one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import apps as installed
from django.core.checks import CheckMessage, Error
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.loader import MigrationLoader
from django.db.utils import DatabaseError

from apps.base.declaration.schema import fields_on_path
from apps.base.declaration.service import get_service

WORDS, DIGITS = "search", "digits"


class SearchIndexes(migrations.RunPython):
    """A migration's operation that makes indexes; ``columns`` are (model, column, words or digits)."""

    columns: set[tuple[str, str, str]]


def create_search_index(model: str, *columns: str) -> SearchIndexes:
    """A migration's operation: an index for ``contains(tolower(column), …)`` and ``$search``."""
    return create_trigram_index(model, columns, "LOWER({})", WORDS)


def create_digits_index(model: str, *columns: str) -> SearchIndexes:
    """A migration's operation: an index for ``with_digits`` of the back office's search."""
    bare = "{}"
    for mark in (" ", "-", "(", ")"):
        bare = f"REPLACE({bare}, '{mark}', '')"
    return create_trigram_index(model, columns, bare, DIGITS)


def create_trigram_index(model: str, columns: Sequence[str], expression: str, suffix: str) -> SearchIndexes:
    """It needs the extension pg_trgm, which the owner of a database may create; the searches work without."""

    def create(apps: object, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor != "postgresql" or not create_extension(editor):
            return
        for table, column, name in named(apps):
            editor.execute(
                f"CREATE INDEX {name} ON {table} USING gin (({expression.format(column)}) gin_trgm_ops)"
            )

    def drop(apps: object, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor == "postgresql":
            for _, _, name in named(apps):
                editor.execute(f"DROP INDEX IF EXISTS {name}")

    def named(apps: Any) -> list[tuple[str, str, str]]:
        table = apps.get_model(model)._meta.db_table
        return [(table, column, f"{table}_{column}_{suffix}") for column in columns]

    operation = SearchIndexes(create, drop)
    operation.columns = {(model.lower(), column, suffix) for column in columns}
    return operation


def create_extension(editor: BaseDatabaseSchemaEditor) -> bool:
    """True when the database has pg_trgm now."""
    with editor.connection.cursor() as cursor:
        cursor.execute("SAVEPOINT pg_trgm")
        try:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        except DatabaseError:
            cursor.execute("ROLLBACK TO SAVEPOINT pg_trgm")
            return False
        cursor.execute("RELEASE SAVEPOINT pg_trgm")
    return True


# --- the check ------------------------------------------------------------------------------------------


def check_search_indexes(**options: object) -> list[CheckMessage]:
    """Errors about searches that read all rows of PostgreSQL, and others than the model's."""
    return [*find_missing_indexes(), *find_other_searches()]


def find_missing_indexes() -> Iterator[CheckMessage]:
    """One missing index is enough: PostgreSQL then uses none of the others."""
    operations = [
        operation
        for migration in MigrationLoader(None).disk_migrations.values()
        for operation in migration.operations
    ]
    made = {each for op in operations if isinstance(op, SearchIndexes) for each in op.columns}
    for model in installed.get_models():
        for path, kind in searched_columns(getattr(model, "searched", None)):
            column = fields_on_path(model, path, path)[-1]
            owner = column.model._meta
            if (owner.label_lower, column.name, kind) in made:
                continue
            folder = column.model.__module__.partition(".models")[0].replace(".", "/")
            what = "words" if kind == WORDS else "digits"
            yield Error(
                f"{model.__name__} is searched by {path}, which has no index for {what}.",
                hint=f'Add create_{kind}_index("{owner.label}", "{column.name}") to a migration in'
                f" {folder}/migrations, or say in without_index why there is none.",
                obj=model,
                id="core.E010",
            )


def searched_columns(searched: Any) -> Iterator[tuple[str, str]]:
    """The columns that need an index, and what it finds."""
    if searched is not None and not searched.without_index:
        yield from ((path, WORDS) for path in searched.lists)
        yield from ((path, DIGITS) for path in searched.numbers)


def find_other_searches() -> Iterator[CheckMessage]:
    """``$search`` reads what the model says it is found by."""
    for resource in get_service().declared:
        model: type[models.Model] | None = getattr(resource, "model", None)
        searched = getattr(model, "searched", None)
        if model is not None and tuple(resource.search) != (searched.interface if searched else ()):
            yield Error(
                f"{resource.__name__} searches other columns than {model.__name__}.searched.",
                hint=f"Declare search = {model.__name__}.searched.interface.",
                obj=resource,
                id="core.E011",
            )
