"""Databases of their own for tests: a restore replaces all, and a backup reads on a connection of its own."""

import contextlib
import itertools
import os
import shutil
import sqlite3
from importlib import import_module
from types import SimpleNamespace

import psycopg
from django.apps import apps
from django.core.management import call_command
from django.db import connection, connections

from apps.base import clock
from apps.core.database.configuration import read_database_url
from apps.core.models import Subscriber
from apps.engagements.models import SupportCategory
from tests.schema_template import database_of_tests

_number = itertools.count(1)


@contextlib.contextmanager
def default_database(url):
    """Within the block the service uses this database."""
    configuration = connections.databases["default"]
    used = connections["default"]
    connections.databases["default"] = connections.configure_settings(
        {"default": read_database_url(url, 0, 60, 0)}
    )["default"]
    connections["default"] = connections.create_connection("default")
    forget_settings()
    try:
        yield
    finally:
        connections["default"].close()
        connections.databases["default"] = configuration
        connections["default"] = used
        forget_settings()


def forget_settings():
    Subscriber.clear_cache()
    clock.reset_now()


class Databases:
    """Makes databases on the engine of this run, the copies of one that has the schema."""

    def __init__(self, folder):
        self.folder = folder
        self.made = []
        self.parameters = connection.get_connection_params()
        name = database_of_tests()
        self.template = name if name and connection.vendor == "postgresql" else f"template_{os.getpid()}"
        if name is None:  # no other test of this run needs it
            with default_database(self.create(self.template, has_schema=False)):
                call_command("migrate", verbosity=0)
        elif connection.vendor == "sqlite":
            with contextlib.closing(sqlite3.connect(folder / f"{self.template}.sqlite3")) as file:
                connection.connection.backup(file)

    def create(self, name=None, has_schema=True):
        """The address of a new database."""
        name = name or f"operations_{os.getpid()}_{next(_number)}"
        if connection.vendor == "sqlite":
            if has_schema:
                shutil.copy(self.folder / f"{self.template}.sqlite3", self.folder / f"{name}.sqlite3")
            return self.sqlite_file(name)
        connection.close()  # a database is copied only while nobody uses it, no thread of an earlier test
        self.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            f" WHERE datname = '{self.template}' AND pid <> pg_backend_pid()"
        )
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{self.template if has_schema else "template0"}"')
        self.made.append(name)
        host = self.parameters["host"].replace("/", "%2F")
        return f"postgres://{self.parameters['user']}@/{name}?host={host}"

    def sqlite_file(self, name):
        """The address of a file that is not there yet."""
        return f"sqlite:///{self.folder / name}.sqlite3"

    def execute(self, sql):
        server = {name: self.parameters[name] for name in ("host", "user")}
        with psycopg.connect(**server, dbname="postgres", autocommit=True) as maintenance:
            maintenance.execute(sql)

    def delete(self):
        for name in self.made:
            self.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def enter_support_categories():
    """What a migration writes, where a test before has emptied the tables."""
    if not SupportCategory.objects.exists():
        migration = import_module("apps.engagements.migrations.0002_support_categories")
        migration.enter(apps, SimpleNamespace(connection=connection))


def rows_of(model):
    return list(model._base_manager.order_by("pk").values_list())


def all_rows():
    """Every row of every table, by table."""
    models = apps.get_models(include_auto_created=True)
    return {model._meta.db_table: rows_of(model) for model in models if model._meta.managed}
