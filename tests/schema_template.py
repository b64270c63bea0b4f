"""The database that the migrations make, kept from one run to the next: migrating takes ten seconds."""

import contextlib
import fcntl
import hashlib
import os
import re
import sqlite3
import subprocess
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg
from django.apps import apps
from django.db import connection

from tests import postgres
from tests.any_day import MOMENT

IN_MEMORY = "file:tests?mode=memory&cache=shared"
IMPORTED = re.compile(r"^(?:from|import) (apps\.[\w.]+)", re.MULTILINE)


def database_of_tests():
    """The name of the database that Django made; ``None`` where no test of the run needs it."""
    name = str(connection.settings_dict["NAME"])
    return name if name.startswith(("file:", "test_")) else None


def fingerprint():
    """Of all migrations with the modules that they import, and of the moment at which they are made."""
    files = {file for app in apps.get_app_configs() for file in Path(app.path).glob("migrations/*.py")}
    modules = {name for file in files for name in IMPORTED.findall(file.read_text())}
    files |= {Path(find_spec(name).origin) for name in modules}
    found = hashlib.sha256(os.environ.get(MOMENT, "").encode())
    for file in sorted(files):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


class SqliteTemplate:
    """A database file, copied into memory before Django opens the database of that name."""

    version = sqlite3.sqlite_version

    def load(self, file):
        connection.settings_dict["TEST"]["NAME"] = IN_MEMORY
        self.database = sqlite3.connect(IN_MEMORY, uri=True)
        with contextlib.closing(sqlite3.connect(file)) as stored:
            stored.backup(self.database)

    def store(self, file, database):
        with contextlib.closing(sqlite3.connect(file)) as stored:
            connection.connection.backup(stored)

    def delete(self):
        self.database.close()


class PostgresTemplate:
    """A dump, restored into a database of which Django copies that of the tests."""

    def __init__(self):
        self.programs = postgres.find_programs(postgres.usual_places())
        self.version = postgres.version(self.programs)
        self.parameters = connection.get_connection_params()
        self.name = f"schema_{os.getpid()}"

    def load(self, file):
        self.execute(f'CREATE DATABASE "{self.name}"')
        postgres.load_dump(self.url(self.name), file)
        connection.settings_dict["TEST"]["TEMPLATE"] = self.name

    def store(self, file, database):
        command = [self.programs / "pg_dump", f"--dbname={self.url(database)}", f"--file={file}"]
        subprocess.run(command, check=True, env=postgres.plain_environment())

    def delete(self):
        self.execute(f'DROP DATABASE "{self.name}"')

    def execute(self, sql):
        server = {name: self.parameters[name] for name in ("host", "user")}
        with psycopg.connect(**server, dbname="postgres", autocommit=True) as maintenance:
            maintenance.execute(sql)

    def url(self, database):
        host = quote(self.parameters["host"], safe="")
        return f"postgres://{self.parameters['user']}@/{database}?host={host}"


@contextlib.contextmanager
def schema_template(root):
    """Load the stored template; the value is a function that stores a new one of a migrated database.

    The function returns its file. One worker makes it while the others wait. It lies where ``--cache-clear``
    deletes it.
    """
    folder = root / ".pytest_cache" / "d" / "schema"
    folder.mkdir(parents=True, exist_ok=True)
    template = SqliteTemplate() if connection.vendor == "sqlite" else PostgresTemplate()
    file = folder / f"{connection.vendor}-{template.version}-{fingerprint()}"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_stored = file.exists()
        if is_stored:
            template.load(file)

        def store(database):
            if not file.exists():
                for outdated in folder.glob(f"{connection.vendor}-*"):
                    outdated.unlink()
                template.store(file.with_suffix(".new"), database)
                file.with_suffix(".new").rename(file)
            lock.close()
            return file

        yield store
    if is_stored:
        template.delete()
