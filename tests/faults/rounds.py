"""Kills the server and its PostgreSQL under load, then compares what is stored with what was acknowledged.

``./run test faults --rounds 100 --seed 1`` prints a report in Markdown, and exits 0 when nothing is wrong.
``--control`` lets PostgreSQL acknowledge before it writes: then losses must be found, which proves the check.
"""

import argparse
import contextlib
import json
import os
import platform
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPException
from itertools import count
from pathlib import Path

import django
import psycopg

from tests import postgres
from tests.faults.database_process import FAST, IMMEDIATE, Database
from tests.server.server_process import ROOT, Server, variables, wait_for

WRITERS = 4
#: Seconds between two requests of a writer, after one that was not acknowledged, and between two faults.
WRITER_PAUSE, REFUSED_PAUSE, FAULT_PAUSE = 0.02, 0.2, (0.2, 0.8)
#: Within which a write must be acknowledged again; five are promised, on a machine that does nothing else.
RECOVERY_SECONDS = 60
FROZEN_SECONDS = 2
#: Of each request: all are stored or none.
CONTACTS = 2
#: Acknowledged writes reach the log of PostgreSQL seconds later.
LOSSY = {**postgres.DURABLE, "synchronous_commit": "off", "wal_writer_delay": "10000ms"}

METHOD = f"""\
{WRITERS} writers POST {CONTACTS} contacts at a time, each with an `Idempotency-Key` of its own, to the
server with two workers on a PostgreSQL with `synchronous_commit=on` and `full_page_writes=on`; `fsync` is
off, because processes are killed here, not the machine. After each fault the time runs from its end, or
from the start of the killed server, to the acknowledgement (201) of a write that began later. In the end
the tables are compared with what was acknowledged: *lost* is what is missing, *doubled* what is there
twice, *half* what lacks a contact, a history line or its stored response. Then every write without a 201,
and as many with one, are sent again with their keys, and the tables compared again. The positive control,
`./run test faults --control`, must find losses: PostgreSQL acknowledges there before it writes.
"""

STORED_CONTACTS = """
SELECT coalesce(last_name, record_key), count(DISTINCT guid), count(record_key)
FROM people_contact FULL JOIN (
    SELECT record_key FROM core_change WHERE record_type = 'people.contact' AND kind = 'Created'
) AS line ON record_key = guid::text
GROUP BY 1
"""
STORED_RESPONSES = "SELECT key FROM access_idempotencykey WHERE status = 201"


class Ledger:
    """The status of each write, by its name; ``None`` for one whose response never came."""

    def __init__(self):
        self.statuses = {}
        self.latest_acknowledged = 0.0
        self.changed = threading.Condition()

    def note(self, name, begun, status):
        with self.changed:
            self.statuses[name] = status
            if status == 201:
                self.latest_acknowledged = max(begun, self.latest_acknowledged)
                self.changed.notify_all()

    def seconds_until_acknowledged(self):
        """From now to the acknowledgement of a write that begins from now on."""
        now = time.monotonic()
        with self.changed:
            if not self.changed.wait_for(lambda: self.latest_acknowledged > now, RECOVERY_SECONDS):
                raise AssertionError(f"no write was acknowledged within {RECOVERY_SECONDS} s")
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


@dataclass
class Report:
    faults: Counter
    recoveries: list
    statuses: Counter
    findings: Findings
    findings_after_repeats: Findings
    repeated: int

    @property
    def is_clean(self):
        return not self.findings and not self.findings_after_repeats


class Deployment:
    """The server with two workers, its database, an API application, and the faults of both."""

    def __init__(self, url, folder, seed):
        self.database, self.random = Database(url), random.Random(seed)
        self.server = Server(folder, DATABASE_URL=url, API_REQUESTS_PER_MINUTE="1000000")
        wait_for(self.server.answers, 60)
        application = json.loads(
            manage(self.server.environment, "create_api_application", "Faults", "--json")
        )
        self.headers = {
            "Authorization": f"Bearer {self.server.token(application.values())}",
            "Content-Type": "application/json",
        }

    def worker_killed(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.random.choice(wait_for(self.server.workers)), signal.SIGKILL)

    def server_killed(self):
        """Its workers end when they see that; what supervises the server starts it again."""
        self.server.process.kill()
        self.server.process.wait()
        wait_for(lambda: port_is_free(self.server.port), 60)
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

    FAULTS = (
        worker_killed,
        server_killed,
        postgresql_restarted,
        postgresql_restarted_immediately,
        connections_terminated,
        postgresql_frozen,
    )

    def write(self, name):
        """The status of a POST of two contacts whose Idempotency-Key is the name."""
        contacts = [{"FirstName": f"Contact {number}", "LastName": name} for number in range(CONTACTS)]
        headers = {**self.headers, "Idempotency-Key": name}
        try:
            body = json.dumps({"value": contacts}).encode()
            return self.server.request("POST", "/api/contact", body, headers, seconds=15)[0]
        except (OSError, HTTPException):
            return None

    @contextlib.contextmanager
    def writers(self, ledger):
        stopped = threading.Event()

        def write_until_stopped(writer):
            pause = WRITER_PAUSE
            for number in count():
                if stopped.wait(pause):
                    return
                name, begun = f"Writer {writer} write {number}", time.monotonic()
                ledger.note(name, begun, status := self.write(name))
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
            contacts = {name: rest for name, *rest in connection.execute(STORED_CONTACTS)}
            responses = {name for (name,) in connection.execute(STORED_RESPONSES)}
        findings = Findings([name for name in sorted(acknowledged) if name not in contacts])
        for name in sorted((contacts.keys() | responses) - set(findings.lost)):
            stored, history_lines = contacts.get(name, (0, 0))
            if stored > CONTACTS:
                findings.doubled.append(name)
            elif (stored, history_lines, name in responses) != (CONTACTS, CONTACTS, True):
                findings.half.append(name)
        return findings


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
def deployment(folder, seed, settings=postgres.DURABLE):
    with postgres.throwaway_server(settings=settings) as url:
        manage(variables(folder, DATABASE_URL=url), "migrate", "--verbosity=0")
        running = Deployment(url, folder, seed)
        try:
            yield running
        finally:
            running.server.stop()


def run_rounds(running, rounds, faults=Deployment.FAULTS):
    """Each fault in turn, every so many rounds in another order, while writers write."""
    ledger, recoveries, order, injected = Ledger(), [], [], Counter()
    with running.writers(ledger):
        ledger.seconds_until_acknowledged()
        for _ in range(rounds):
            order = order or running.random.sample(faults, len(faults))
            fault = order.pop()
            time.sleep(running.random.uniform(*FAULT_PAUSE))
            fault(running)
            recoveries.append((ledger.seconds_until_acknowledged(), fault.__name__))
            injected[fault.__name__] += 1
    acknowledged = ledger.acknowledged
    findings = running.findings(acknowledged)
    unknown = ledger.statuses.keys() - acknowledged
    repeated = sorted(unknown) + sorted(acknowledged)[: len(unknown)]
    running.repeat(repeated)
    statuses = Counter(str(status or "none") for status in ledger.statuses.values())
    after = running.findings(ledger.statuses.keys())
    return Report(injected, recoveries, statuses, findings, after, len(repeated))


def as_markdown(report, words):
    """The page that docs/faults.md is."""
    seconds, slowest = max(report.recoveries)
    first, after = report.findings, report.findings_after_repeats
    versions = f"Python {platform.python_version()}, Django {django.get_version()}"
    lines = [
        "# Faults under load",
        "",
        f"Written by `./run test faults {words}` on {datetime.now(UTC):%Y-%m-%d}: {versions}, PostgreSQL "
        f"{postgres.version(postgres.find_programs(postgres.usual_places()))}, "
        f"{os.cpu_count()} processors shared with other work.",
        "",
        METHOD,
        "| Fault | Times | Slowest acknowledged write afterwards |",
        "|---|---|---|",
    ]
    for name, times in sorted(report.faults.items()):
        slowest_of_fault = max(taken for taken, fault in report.recoveries if fault == name)
        lines.append(f"| {name.replace('_', ' ')} | {times} | {slowest_of_fault:.1f} s |")
    answers = ", ".join(f"{status}: {number:,}" for status, number in sorted(report.statuses.items()))
    lines += [
        f"| **all** | **{report.faults.total()}** | **{seconds:.1f} s ({slowest.replace('_', ' ')})** |",
        "",
        f"- Writes by answer: {answers}",
        f"- Lost {len(first.lost)}, doubled {len(first.doubled)}, half {len(first.half)}",
        f"- After {report.repeated:,} repeats: lost {len(after.lost)}, doubled {len(after.doubled)}, "
        f"half {len(after.half)}",
    ]
    return "\n".join(lines)


def main(arguments):
    parser = argparse.ArgumentParser(prog="./run test faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="faults (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of their order (default %(default)s)")
    parser.add_argument("--control", action="store_true", help="succeed only when losses are found")
    options = parser.parse_args(arguments)
    settings = LOSSY if options.control else postgres.DURABLE
    faults = [Deployment.postgresql_restarted_immediately] if options.control else Deployment.FAULTS
    with (
        tempfile.TemporaryDirectory() as folder,
        deployment(Path(folder), options.seed, settings) as running,
    ):
        report = run_rounds(running, options.rounds, faults)
    print(as_markdown(report, " ".join(arguments)))
    return int(not report.findings.lost if options.control else not report.is_clean)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
