"""The migration of texts that were stored before letters and their marks were composed (NFC)."""

from functools import partial
from typing import Any

from django.db import migrations, models

from apps.base.texts import composed


def compose_texts(app_label: str) -> migrations.RunPython:
    """An operation that composes the texts of an app; those that are composed already are only read."""
    return migrations.RunPython(partial(compose_texts_of_app, app_label), migrations.RunPython.noop)


def compose_texts_of_app(app_label: str, apps: Any, schema_editor: Any) -> None:
    connection = schema_editor.connection
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        connection.connection.create_function(
            "composed", 1, lambda text: composed(text) if isinstance(text, str) else text, deterministic=True
        )
    for model in apps.get_app_config(app_label).get_models():
        for column in model._meta.concrete_fields:
            # Texts of unique columns are made by the service, or compared composed.
            if not isinstance(column, models.CharField | models.TextField) or column.choices or column.unique:
                continue
            table, name = map(schema_editor.quote_name, (model._meta.db_table, column.column))
            schema_editor.execute(statement(connection.vendor).format(table=table, name=name))


def statement(vendor: str) -> str:
    if vendor == "postgresql":
        return "UPDATE {table} SET {name} = normalize({name}, NFC) WHERE {name} IS NOT NFC NORMALIZED"
    return "UPDATE {table} SET {name} = composed({name}) WHERE {name} <> composed({name})"
