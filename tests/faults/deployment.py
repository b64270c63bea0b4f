"""The server with two workers on a PostgreSQL of its own, writers with a ledger, and the faults of both."""

import contextlib
import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import count
from pathlib import Path

import psycopg

from tests import postgres
from tests.faults.commit_proxy import CommitProxy
from tests.faults.database_process import FAST, IMMEDIATE, Database
from tests.faults.small_disk import SmallDisk, Unavailable
from tests.server.server_process import ROOT, Server, variables, wait_for

WRITERS = 4
#: Seconds between two requests of a writer, and after one that was not acknowledged.
WRITER_PAUSE, REFUSED_PAUSE = 0.02, 0.2
#: Within which a write must be acknowledged again, or refused by a fault; a busy machine takes its time.
LONGEST_SECONDS = 180
FROZEN_SECONDS = 2
#: Of each request: all are stored or none.
RECORDS = 2
#: Commits that are cut, one after the other.
CUTS = 3
#: MB of the disks for tables, the log of PostgreSQL, and documents.
DISKS = {"base": 512, "pg_wal": 256, "documents": 16}
#: The log of PostgreSQL has files of 16 MB, few of which are kept for later; ``use_up_log`` needs its level.
SETTINGS = {**postgres.DURABLE, "wal_level": "replica", "min_wal_size": "32MB", "max_wal_size": "128MB"}
#: Acknowledged writes reach the log of PostgreSQL seconds later.
LOSSY = {**SETTINGS, "synchronous_commit": "off", "wal_writer_delay": "10000ms"}
CLOCK_JUMP_SECONDS = 3600
#: After which the processes of the server have read the new time.
CLOCK_READ_SECONDS = 1.2

STORED_RECORDS = """
WITH record (key, name) AS (
    SELECT guid::text, last_name FROM people_contact UNION ALL SELECT guid::text, name FROM documents_document
)
SELECT coalesce(name, record_key), count(DISTINCT key), count(record_key)
FROM record FULL JOIN (
    SELECT record_key FROM core_change
    WHERE record_type IN ('people.contact', 'documents.document') AND kind = 'Created'
) AS line ON record_key = key
GROUP BY 1
"""
STORED_RESPONSES = "SELECT key FROM access_idempotencykey WHERE status = 201"
STORED_FILES = "SELECT name, storage_key, sha256 FROM documents_document"

#: What the writers need: credentials, and the keys of a member of staff and of a category.
MAKE_RECORDS = """
from django.core.management import call_command
from tests.documents.builders import a_category
from tests.people.builders import a_staff_member
call_command("create_api_application", "Faults", json=True)
print(a_staff_member().pk, a_category().pk)
"""


class Ledger:
    """The status of each write, by its name; ``None`` for one whose response never came."""

    def __init__(self):
        self.statuses = {}
        self.latest_acknowledged = self.latest_refused = 0.0
        self.changed = threading.Condition()

    def note(self, name, begun, status):
        with self.changed:
            self.statuses[name] = status
            if status == 201:
                self.latest_acknowledged = max(begun, self.latest_acknowledged)
            else:
                self.latest_refused = max(begun, self.latest_refused)
            self.changed.notify_all()

    def wait_for_refusal(self, since):
        """Wait until a write that began after a moment is not acknowledged."""
        self.wait_for(lambda _: self.latest_refused > since, "refused")

    def seconds_until_acknowledged(self):
        """From now to the acknowledgement of a write that begins from now on."""
        return self.wait_for(lambda now: self.latest_acknowledged > now, "acknowledged")

    def wait_for(self, has_happened, what):
        now = time.monotonic()
        with self.changed:
            if not self.changed.wait_for(lambda: has_happened(now), LONGEST_SECONDS):
                raise AssertionError(f"no write was {what} within {LONGEST_SECONDS} s")
        return time.monotonic() - now

    @property
    def acknowledged(self):
        return {name for name, status in self.statuses.items() if status == 201}


@dataclass(frozen=True)
class Findings:
    """Names of writes that are wrong in the database."""

    lost: list = field(default_factory=list)
    doubled: list = field(default_factory=list)
    half: list = field(default_factory=list)

    def __bool__(self):
        return bool(self.lost or self.doubled or self.half)

    def __add__(self, other):
        return Findings(self.lost + other.lost, self.doubled + other.doubled, self.half + other.half)


class Deployment:
    """``skipped`` has the faults that this machine cannot have, with the reason."""

    def __init__(self, url, folder, seed, resources):
        self.database, self.random, self.ledger = Database(url), random.Random(seed), Ledger()
        self.folder, self.skipped, self.disks = folder, {}, {}
        self.mount_disks(resources)
        self.proxy = CommitProxy(self.database.folder)
        resources.callback(self.proxy.close)
        through_proxy = f"postgres://records@/postgres?host={str(self.proxy.folder).replace('/', '%2F')}"
        variables_of_clock = self.variables_of_clock()
        self.server = Server(
            folder, DATABASE_URL=through_proxy, API_REQUESTS_PER_MINUTE="1000000", **variables_of_clock
        )
        resources.callback(self.server.stop)
        wait_for(self.server.answers, LONGEST_SECONDS)
        environment = variables(folder, DATABASE_URL=url)
        made = manage(environment, "shell", "--no-imports", "--command", MAKE_RECORDS)
        application, keys = made.splitlines()
        self.application = json.loads(application).values()
        self.staff, self.category = keys.split()
        self.authorize()

    def authorize(self):
        self.authorization = f"Bearer {self.server.token(self.application)}"

    def mount_disks(self, resources):
        """Small disks for tables, log and documents, while PostgreSQL does not run."""
        (self.folder / "documents").mkdir(exist_ok=True)
        data = self.database.folder / "data"
        with self.database.stopped():
            for folder in (data / "base", data / "pg_wal", self.folder / "documents"):
                try:
                    disk = self.disks[folder.name] = SmallDisk(folder, DISKS[folder.name])
                except Unavailable as reason:
                    self.skipped.update({fault.__name__: str(reason) for fault in self.DISK_FAULTS})
                    return
                resources.callback(disk.unmount)

    def variables_of_clock(self):
        """Of the server's process, whose clock is ahead by the seconds in a file."""
        library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
        if library is None:
            for fault in self.CLOCK_FAULTS:
                self.skipped[fault.__name__] = (
                    "libfaketime is not installed (Debian: apt-get install faketime)"
                )
            return {}
        self.clock, self.seconds_ahead = self.folder / "clock", 0
        self.clock.write_text("+0")
        return {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self.clock),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }

    # --- faults -------------------------------------------------------------------------------------------

    def worker_killed(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.random.choice(wait_for(self.server.workers)), signal.SIGKILL)

    def server_killed(self):
        """Its workers end when they see that; what supervises the server starts it again."""
        self.server.process.kill()
        self.server.process.wait()
        for name in ("faketime_shm", "sem.faketime_sem"):  # what libfaketime removes when it is not killed
            Path(f"/dev/shm/{name}_{self.server.process.pid}").unlink(missing_ok=True)
        wait_for(lambda: port_is_free(self.server.port), LONGEST_SECONDS)
        self.server.start()

    def postgresql_restarted(self):
        with self.database.stopped(FAST):
            pass

    def postgresql_restarted_immediately(self):
        with self.database.stopped(IMMEDIATE):
            pass

    def connections_terminated(self):
        self.database.terminate_connections()

    def postgresql_frozen(self):
        with self.database.frozen():
            time.sleep(FROZEN_SECONDS)

    def connections_cut_before_commit(self):
        self.proxy.cut(CommitProxy.BEFORE, CUTS, LONGEST_SECONDS)

    def connections_cut_after_commit(self):
        self.proxy.cut(CommitProxy.AFTER, CUTS, LONGEST_SECONDS)

    def disk_of_tables_full(self):
        with self.disks["base"].filled():
            self.ledger.wait_for_refusal(since=time.monotonic())
        self.database.ensure_running()

    def disk_of_documents_full(self):
        with self.disks["documents"].filled():
            self.ledger.wait_for_refusal(since=time.monotonic())

    def disk_of_log_full(self):
        """PostgreSQL ends when it cannot begin another file of its log; then somebody starts it again.

        Or it recovers by itself, where that makes room.
        """
        with self.disks["pg_wal"].filled():
            begun = time.monotonic()
            self.database.use_up_log()
            self.ledger.wait_for_refusal(since=begun)
        self.database.ensure_running()

    def clock_jumped_forward(self):
        self.move_clock(CLOCK_JUMP_SECONDS)

    def clock_jumped_back(self):
        self.move_clock(-CLOCK_JUMP_SECONDS)

    def move_clock(self, seconds):
        self.seconds_ahead += seconds
        temporary = self.clock.with_suffix(".new")
        temporary.write_text(f"{self.seconds_ahead:+}")
        temporary.rename(self.clock)
        time.sleep(CLOCK_READ_SECONDS)

    DISK_FAULTS = (disk_of_tables_full, disk_of_documents_full, disk_of_log_full)
    CLOCK_FAULTS = (clock_jumped_forward, clock_jumped_back)
    FAULTS = (
        worker_killed,
        server_killed,
        postgresql_restarted,
        postgresql_restarted_immediately,
        connections_terminated,
        postgresql_frozen,
        connections_cut_before_commit,
        connections_cut_after_commit,
        *DISK_FAULTS,
        *CLOCK_FAULTS,
    )

    # --- writers ------------------------------------------------------------------------------------------

    def write(self, name):
        """The status of a POST of two records whose Idempotency-Key is the name: "Writer 3 write 7"."""
        if name.startswith(f"Writer {WRITERS - 1} "):
            path, (body, media_type) = "document", self.upload(name)
        else:
            contacts = [{"FirstName": f"Contact {number}", "LastName": name} for number in range(RECORDS)]
            path, body, media_type = "contact", json.dumps({"value": contacts}).encode(), "application/json"
        headers = {"Content-Type": media_type, "Idempotency-Key": name, "Authorization": self.authorization}
        try:
            status = self.server.request("POST", f"/api/{path}", body, headers, seconds=15)[0]
            if status == 401:  # the clock has jumped over the end of the token
                self.authorize()
        except (OSError, HTTPException):
            return None
        return status

    def upload(self, name):
        """The body of a form with two files, and its media type."""
        boundary, body = "boundary", b""
        parts = [("CreatedByStaffGuidList", self.staff), ("DocumentCategoryGuidList", self.category)]
        for field_name, value in [*parts, ("Names", name)] * RECORDS:
            head = f'--{boundary}\r\nContent-Disposition: form-data; name="{field_name}"\r\n\r\n'
            body += f"{head}{value}\r\n".encode()
        for number in range(RECORDS):
            head = f'--{boundary}\r\nContent-Disposition: form-data; name="Files"; filename="{number}.txt"'
            body += f"{head}\r\n\r\n{name}, file {number}\r\n".encode()
        return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"

    @contextlib.contextmanager
    def writers(self):
        stopped = threading.Event()

        def write_until_stopped(writer):
            pause = WRITER_PAUSE
            for number in count():
                if stopped.wait(pause):
                    return
                name, begun = f"Writer {writer} write {number}", time.monotonic()
                self.ledger.note(name, begun, status := self.write(name))
                pause = WRITER_PAUSE if status == 201 else REFUSED_PAUSE

        threads = [threading.Thread(target=write_until_stopped, args=[writer]) for writer in range(WRITERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stopped.set()
            for thread in threads:
                thread.join()

    def repeat(self, names):
        """Send writes again, whose keys let them be stored once."""
        for name in names:
            if (status := self.write(name)) != 201:
                raise AssertionError(f"the repeated {name} was answered with {status}")

    def findings(self, acknowledged):
        with psycopg.connect(self.database.url) as connection:
            records = {name: rest for name, *rest in connection.execute(STORED_RECORDS)}
            responses = {name for (name,) in connection.execute(STORED_RESPONSES)}
            files = connection.execute(STORED_FILES).fetchall()
        damaged = {name for name, key, digest in files if self.digest_of_file(key) != digest}
        findings = Findings([name for name in sorted(acknowledged) if name not in records])
        for name in sorted((records.keys() | responses) - set(findings.lost)):
            stored, history_lines = records.get(name, (0, 0))
            if stored > RECORDS:
                findings.doubled.append(name)
            elif (stored, history_lines, name in responses) != (RECORDS, RECORDS, True) or name in damaged:
                findings.half.append(name)
        return findings

    def digest_of_file(self, key):
        path = self.folder / "documents" / key
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def port_is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def manage(environment, *words):
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


@contextlib.contextmanager
def deployment(folder, seed, settings=SETTINGS, dump=None):
    """A deployment on a new server, whose database has the schema of a dump, or what the migrations make."""
    with postgres.throwaway_server(settings=settings) as url, contextlib.ExitStack() as resources:
        if dump:
            postgres.load_dump(url, dump)
        else:
            manage(variables(folder, DATABASE_URL=url), "migrate", "--verbosity=0")
        yield Deployment(url, folder, seed, resources)
