"""Three PostgreSQL nodes with automatic failover, on the loopback of one machine: to try, to learn, to test.

Patroni runs each node and keeps the leader's lock in etcd (three members); HAProxy leads every connection to
the leader. The same files, with the addresses of three machines, are a starting point for production. Needs
Debian's packages postgresql, patroni, etcd-server and haproxy.
"""

import contextlib
import json
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROGRAMS = ("patroni", "etcd", "haproxy")
NODES = ("one", "two", "three")
ACCOUNT = "postgres"  # PostgreSQL refuses to run as root
#: A wait ends as soon as there is what it waits for: only a failure takes so long, and a busy machine may.
PATIENCE_SECONDS = 900


class Missing(Exception):
    """A program that is not installed."""


@dataclass(frozen=True)
class Ports:
    """Where all of it listens, from one port on."""

    first: int

    @property
    def leader(self) -> int:
        """HAProxy's, which leads to the leader."""
        return self.first

    def etcd(self, number: int) -> tuple[int, int]:
        """(for clients, for the other members)"""
        return self.first + 1 + 2 * number, self.first + 2 + 2 * number

    def database(self, number: int) -> int:
        return self.first + 10 + number

    def patroni(self, number: int) -> int:
        return self.first + 20 + number


class Cluster:
    """All processes of the cluster; ``folder`` holds their data, configuration and logs."""

    def __init__(self, folder: Path, first_port: int = 5500, synchronous: bool = True) -> None:
        self.folder, self.ports, self.synchronous = folder, Ports(first_port), synchronous
        self.password = secrets.token_urlsafe(12)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.binaries = find_binaries()

    @property
    def url(self) -> str:
        """DATABASE_URL of the service."""
        return f"postgres://records:{self.password}@127.0.0.1:{self.ports.leader}/records"

    # --- starting and stopping ------------------------------------------------------------------------

    def start(self) -> None:
        """Start everything, and wait for a leader with both others behind it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            shutil.chown(self.folder, ACCOUNT)
        for number in range(len(NODES)):
            self.start_etcd(number)
        for number in range(len(NODES)):
            self.start_node(number)
        self.start_haproxy()
        wait_for(self.is_complete, "three nodes, one of them the leader")
        self.create_database()

    def stop(self) -> None:
        for name in ["haproxy", *NODES, *(f"etcd-{name}" for name in NODES)]:
            process = self.processes.get(name)
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()

    def start_etcd(self, number: int) -> None:
        client, peer = (f"http://127.0.0.1:{port}" for port in self.ports.etcd(number))
        members = ",".join(
            f"{name}=http://127.0.0.1:{self.ports.etcd(other)[1]}" for other, name in enumerate(NODES)
        )
        addresses = ["--listen-client-urls", client, "--advertise-client-urls", client]
        addresses += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        name = NODES[number]
        self.run(
            f"etcd-{name}",
            ["etcd", "--name", name, "--data-dir", str(self.folder / f"etcd-{name}")],
            *addresses,
            *("--initial-cluster", members, "--logger", "zap", "--log-level", "warn", "--enable-v2"),
        )

    def start_node(self, number: int) -> None:
        name = NODES[number]
        values = {
            "NAME": name,
            "FOLDER": self.folder,
            "BINARIES": self.binaries,
            "PASSWORD": self.password,
            "SYNCHRONOUS": str(self.synchronous).lower(),
            "REST": self.ports.patroni(number),
            "DATABASE": self.ports.database(number),
            "ETCD": ",".join(f"127.0.0.1:{self.ports.etcd(each)[0]}" for each in range(len(NODES))),
        }
        self.run(name, ["patroni", str(self.write("patroni.yml", f"{name}.yml", values))])

    def start_haproxy(self) -> None:
        values = {"LEADER": self.ports.leader}
        for number, name in enumerate(NODES):
            values[f"DATABASE_{name}"] = self.ports.database(number)
            values[f"REST_{name}"] = self.ports.patroni(number)
        self.run("haproxy", ["haproxy", "-db", "-f", str(self.write("haproxy.cfg", "haproxy.cfg", values))])

    def write(self, template: str, name: str, values: dict[str, Any]) -> Path:
        text = (HERE / template).read_text()
        for word, value in values.items():
            text = text.replace(f"@{word}@", str(value))
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text(text)
        if os.geteuid() == 0:
            shutil.chown(path, ACCOUNT)
        return path

    def run(self, name: str, command: list[str], *words: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*command, *words],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                user=ACCOUNT if os.geteuid() == 0 else None,
                group=pwd.getpwnam(ACCOUNT).pw_gid if os.geteuid() == 0 else None,
                extra_groups=[] if os.geteuid() == 0 else None,
                env={**os.environ, "HOME": str(self.folder)},
                start_new_session=True,  # Ctrl+C is for `up` alone, which stops them in order
            )

    def create_database(self) -> None:
        """The role and the database of the service."""
        host = ["-h", "127.0.0.1", "-p", str(self.ports.leader), "-U", "postgres", "-v", "ON_ERROR_STOP=1"]
        for statement in (
            f"CREATE ROLE records LOGIN PASSWORD '{self.password}'",
            "CREATE DATABASE records OWNER records",
        ):
            subprocess.run(
                [self.binaries / "psql", "-q", *host, "-d", "postgres", "-c", statement],
                env={**os.environ, "PGPASSWORD": self.password},
                check=True,
            )

    # --- looking and breaking -------------------------------------------------------------------------

    def roles(self) -> dict[str, str]:
        """{node: role}, as Patroni tells it; a node that does not answer is missing."""
        found = {}
        for number, name in enumerate(NODES):
            address = f"http://127.0.0.1:{self.ports.patroni(number)}/patroni"
            with contextlib.suppress(OSError, ValueError):
                state = json.load(urllib.request.urlopen(address, timeout=1))
                if state.get("state") == "running":
                    found[name] = "leader" if state["role"] in ("master", "primary") else state["role"]
                    if state.get("sync_standby"):
                        found[name] = "synchronous replica"
        return found

    def leader(self) -> str | None:
        return next((name for name, role in self.roles().items() if role == "leader"), None)

    def is_complete(self) -> bool:
        roles = list(self.roles().values())
        is_safe = not self.synchronous or "synchronous replica" in roles
        return len(roles) == len(NODES) and "leader" in roles and is_safe

    def database_processes(self, name: str) -> list[int]:
        """PostgreSQL's processes of a node, its parent first."""
        pid_file = self.folder / name / "postmaster.pid"
        parent = int(pid_file.read_text().split()[0])
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [parent, *map(int, children)]

    def stop_replication(self, name: str) -> None:
        """Stop the processes of the leader that send its writes to the others."""
        for process_id in self.database_processes(name)[1:]:
            if b"walsender" in Path(f"/proc/{process_id}/cmdline").read_bytes():
                os.kill(process_id, signal.SIGSTOP)

    def kill_node(self, name: str) -> None:
        """As when a machine loses its power."""
        for process_id in [self.processes[name].pid, *self.database_processes(name)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        self.processes[name].wait()

    def cut_off_node(self, name: str) -> None:
        """As when a machine hangs, or its network: it is there, and nothing of it answers."""
        for process_id in [self.processes[name].pid, *self.database_processes(name)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGSTOP)

    def restore_node(self, name: str) -> None:
        """Let a node that was killed or cut off join again."""
        if self.processes[name].poll() is not None:
            self.start_node(NODES.index(name))
            return
        for process_id in [*self.database_processes(name), self.processes[name].pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGCONT)


def find_binaries() -> Path:
    """The folder of the newest PostgreSQL; ``Missing`` names what is not installed."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        packages = "postgresql patroni etcd-server haproxy"
        raise Missing(f"{', '.join(missing)} not found: apt-get install {packages}")
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    if not folders:
        raise Missing("PostgreSQL not found: apt-get install postgresql")
    return max(folders, key=lambda folder: int(folder.parent.name))


def wait_for(condition: Callable[[], Any], wanted: str) -> Any:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {PATIENCE_SECONDS} s there are still not {wanted}")
        time.sleep(0.2)
    return found


@contextlib.contextmanager
def running(folder: Path, **options: Any) -> Iterator[Cluster]:
    cluster = Cluster(folder, **options)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # its processes are stopped as after Ctrl+C
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
