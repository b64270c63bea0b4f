"""Loads the site into the parent: all that its workers have in common, and nothing that belongs to a process.

No connection, no thread and no open file of the site's is there when a worker is forked.
"""

import contextlib
import os
import sys

import django
from django.conf import Settings, settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.files.storage import default_storage, storages
from django.core.files.storage.handler import StorageHandler
from django.core.management import execute_from_command_line
from django.db import connections
from django.urls import get_resolver
from django.utils.functional import empty
from django.utils.log import configure_logging
from django.utils.module_loading import import_string

from apps.core.database.migrations import known_migrations


def load() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "records_site.settings")
    django.setup()
    for path in (*settings.MIDDLEWARE, "records_site.server.worker.Server"):
        import_string(path)
    # What Django would load with the first request, and what `/readyz` would with its own.
    get_resolver()._populate()
    known_migrations()
    connections.close_all()


def run_command(*words: str) -> None:
    """Be the process of a management command, after a fork."""
    sys.argv = ["manage.py", *words]
    read_settings_again()
    execute_from_command_line(sys.argv)


def read_settings_again() -> None:
    """Give a forked process the settings of its own command and environment, in place of its parent's."""
    name = os.environ["DJANGO_SETTINGS_MODULE"]
    for module in (name, "records_site.settings"):
        sys.modules.pop(module, None)
    fresh = Settings(name)
    for setting in filter(str.isupper, dir(fresh)):
        value = getattr(fresh, setting)
        if value != getattr(settings, setting, None):
            setattr(settings, setting, value)
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
    open_other_databases()
    open_other_storages()


def open_other_databases() -> None:
    connections.close_all()
    for alias in connections:
        with contextlib.suppress(AttributeError):  # it was not used
            del connections[alias]
    connections.settings = connections.configure_settings(settings.DATABASES)


def open_other_storages() -> None:
    vars(storages).clear()
    vars(storages).update(vars(StorageHandler()))
    for storage in (default_storage, staticfiles_storage):
        vars(storage)["_wrapped"] = empty
