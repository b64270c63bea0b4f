"""The processes of a throwaway PostgreSQL server, which a test freezes, stops and starts again."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from tests import postgres

#: What pg_ctl calls them; the second does not write what is in memory, as after a crash.
FAST, IMMEDIATE = signal.SIGINT, signal.SIGQUIT


class Database:
    def __init__(self, url):
        self.url, self.folder = url, Path(parse_qs(urlsplit(url).query)["host"][0])

    def postmaster(self):
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def processes(self):
        """The postmaster, then its children."""
        postmaster = self.postmaster()
        listed = subprocess.run(
            ["ps", "-eo", "pid=,ppid="], capture_output=True, check=True, text=True
        ).stdout
        pairs = (tuple(map(int, line.split())) for line in listed.splitlines())
        return [postmaster, *(pid for pid, parent in pairs if parent == postmaster)]

    @contextlib.contextmanager
    def frozen(self):
        processes = self.processes()
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)

    @contextlib.contextmanager
    def stopped(self, mode=FAST):
        os.kill(self.postmaster(), mode)
        while (self.folder / "data" / "postmaster.pid").exists():
            time.sleep(0.05)
        try:
            yield
        finally:
            postgres.start_again(self.folder)

    def terminate_connections(self):
        with psycopg.connect(self.url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )

    def use_up_log(self):
        """Begin one file of the log after the other, until none can be written or many are."""
        with (
            contextlib.suppress(psycopg.OperationalError),
            psycopg.connect(self.url, autocommit=True) as user,
        ):
            for number in range(100):
                user.execute("SELECT pg_create_restore_point(%s)", [str(number)])
                user.execute("SELECT pg_switch_wal()")

    def ensure_running(self):
        """Start it if it has ended or ends."""
        while True:
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.url):
                return
            if not (self.folder / "data" / "postmaster.pid").exists():
                postgres.start_again(self.folder)
            time.sleep(0.1)
