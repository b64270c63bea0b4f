"""Indexes by which PostgreSQL finds a part of a text in any case; SQLite reads all rows, and needs none."""

from collections.abc import Sequence
from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.utils import DatabaseError


def create_search_index(model: str, *columns: str) -> migrations.RunPython:
    """A migration's operation: an index for ``contains(tolower(column), …)`` and ``$search``."""
    return create_trigram_index(model, columns, "LOWER({})", "search")


def create_digits_index(model: str, *columns: str) -> migrations.RunPython:
    """A migration's operation: an index for ``with_digits`` of the back office's search."""
    bare = "{}"
    for mark in (" ", "-", "(", ")"):
        bare = f"REPLACE({bare}, '{mark}', '')"
    return create_trigram_index(model, columns, bare, "digits")


def create_trigram_index(
    model: str, columns: Sequence[str], expression: str, suffix: str
) -> migrations.RunPython:
    """It needs the extension pg_trgm, which the owner of a database may create; the searches work without."""

    def create(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor != "postgresql" or not create_extension(editor):
            return
        for table, column, name in named(apps):
            editor.execute(
                f"CREATE INDEX {name} ON {table} USING gin (({expression.format(column)}) gin_trgm_ops)"
            )

    def drop(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor == "postgresql":
            for _, _, name in named(apps):
                editor.execute(f"DROP INDEX IF EXISTS {name}")

    def named(apps: Any) -> list[tuple[str, str, str]]:
        table = apps.get_model(model)._meta.db_table
        return [(table, column, f"{table}_{column}_{suffix}") for column in columns]

    return migrations.RunPython(create, drop)


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
