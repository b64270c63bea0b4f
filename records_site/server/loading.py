"""Loads the site into the parent: all that its workers have in common, and nothing that belongs to a process.

No connection, no thread and no open file of the site's is there when a worker is forked.
"""

import logging
import os
import pwd
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import django
from django.conf import Settings, settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.files.storage import default_storage, storages
from django.core.files.storage.handler import StorageHandler
from django.core.management import execute_from_command_line
from django.db import OperationalError, connections
from django.db.utils import ConnectionHandler
from django.urls import get_resolver
from django.utils.functional import empty
from django.utils.log import configure_logging
from django.utils.module_loading import import_string

from apps.core.database.migrations import known_migrations
from apps.operations.services.subscribers import SubscriberFile, read_subscribers

logger = logging.getLogger(__name__)


def load() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "records_site.settings")
    django.setup()
    for path in (*settings.MIDDLEWARE, "records_site.server.worker.Server"):
        import_string(path)
    # What Django would load with the first request, and what `/readyz` would with its own.
    get_resolver()._populate()
    known_migrations()
    # The library loads all 250 countries to know one: 8 MiB of each worker that would do it itself.
    import_module("holidays.countries")
    connections.close_all()


def subscribers_of(folder: str) -> list[tuple[str, int, str]]:
    """Name, port and file of each subscriber of a folder."""
    subscribers = read_subscribers(Path(folder))
    return [
        (each.name, int(each.settings["PORT"]), str(Path(folder, f"{each.name}.env"))) for each in subscribers
    ]


def be_subscriber(file: str) -> None:
    """Give a forked process the settings of a subscriber, and the account that owns its ``VAR_DIR``."""
    own = SubscriberFile.read(Path(file)).settings
    os.environ |= {"TMPDIR": own["VAR_DIR"], **own}
    tempfile.tempdir = None
    folder = Path(own["VAR_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    user = folder.stat().st_uid
    if os.geteuid() == 0 and user:
        group = group_of(user)
        os.chown(os.environ["PROMETHEUS_MULTIPROC_DIR"], user, group)
        os.setgroups([])
        os.setgid(group)
        os.setuid(user)


def group_of(user: int) -> int:
    """The group of an account. Not that of its folder: root has made it, and may have left its own there."""
    try:
        return pwd.getpwuid(user).pw_gid
    except KeyError:
        return user  # a number without a name


def run_command(*words: str) -> None:
    """Be the process of a management command, after a fork."""
    sys.argv = ["manage.py", *words]
    read_settings_again()
    try:
        execute_from_command_line(sys.argv)
    except OperationalError:
        # It is started again until the database is back: a line each time, and no traceback.
        logger.error("%s ended: the database cannot be used", words[0])
        sys.exit(1)
    except Exception:
        logger.exception("%s ended", words[0])
        sys.exit(1)


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
    connections.close_all()
    begin_anew(connections, ConnectionHandler())
    begin_anew(storages, StorageHandler())
    for storage in (default_storage, staticfiles_storage):
        vars(storage)["_wrapped"] = empty


def begin_anew(handler: object, fresh: object) -> None:
    """Let an object that is imported everywhere forget what it has made from former settings."""
    vars(handler).clear()
    vars(handler).update(vars(fresh))
