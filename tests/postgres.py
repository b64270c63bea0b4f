"""A PostgreSQL server for one test run, made in a temporary folder and gone when the run is."""

import contextlib
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

OLDEST = 15
PROGRAMS = ("initdb", "pg_ctl", "pg_dump", "postgres", "psql")
USUAL_PLACES = (
    "/usr/lib/postgresql/*/bin",  # Debian, Ubuntu
    "/usr/pgsql-*/bin",  # Red Hat and its kin
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
)
UNPRIVILEGED = ("postgres", "nobody")  # initdb refuses to work for root

# Nobody will miss this database after a power cut.
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_connections": "100",
    "listen_addresses": "",
}

#: Of a server that keeps what it committed when its processes are killed. A power cut is not among the tests,
#: so that nothing need reach the disk itself.
DURABLE = {**SETTINGS, "synchronous_commit": "on", "full_page_writes": "on"}

#: Of a server that a replica follows, and of the replica.
REPLICATED = {**SETTINGS, "wal_level": "replica", "max_wal_senders": "4", "synchronous_commit": "on"}

# The shell outlives us: when our end of its input closes, however we died, it stops the server, also one that
# was started again, and sweeps up.
GUARD = """
folder=$1; shift
"$@" >"$folder/log" 2>&1 &
cat >/dev/null
"${1%/*}/pg_ctl" stop --pgdata="$folder/data" --mode=immediate --timeout=10 >/dev/null 2>&1
kill -QUIT $! 2>/dev/null
wait
rm -rf "$folder"
"""

START_SECONDS = 60


class Unavailable(Exception):
    """PostgreSQL cannot be had here; the text is the reason, with its remedy."""


@contextlib.contextmanager
def throwaway_server(
    places: Iterable[Path] | None = None, settings: Mapping[str, str] = SETTINGS
) -> Iterator[str]:
    """A running server, as a DATABASE_URL. Raises Unavailable."""
    programs = find_programs(usual_places() if places is None else places)
    account = unprivileged_account()
    folder = make_folder(account)
    try:
        make_cluster(programs, folder, account)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    with running(programs, folder, account, settings) as url:
        yield url


@contextlib.contextmanager
def throwaway_replica(primary: str) -> Iterator[str]:
    """A server that replays the log of a throwaway server with settings for it, as a DATABASE_URL."""
    programs = find_programs(usual_places())
    account = unprivileged_account()
    folder = make_folder(account)
    host = parse_qs(urlsplit(primary).query)["host"][0]
    command: list[str | Path] = [
        programs / "pg_basebackup",
        "-h",
        host,
        "-U",
        "records",
        "-D",
        folder / "data",
    ]
    command += ["--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
    try:
        subprocess.run(command, check=True, cwd=folder, **as_account(account), env=plain_environment())
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    with running(programs, folder, account, REPLICATED) as url:
        yield url


@contextlib.contextmanager
def running(
    programs: Path, folder: Path, account: pwd.struct_passwd | None, settings: Mapping[str, str]
) -> Iterator[str]:
    guard = start(programs, folder, account, settings)
    try:
        wait_until_ready(folder)
        yield f"postgres://records@/postgres?host={quote(str(folder), safe='')}"
    finally:
        assert guard.stdin is not None
        guard.stdin.close()
        guard.wait()


def load_dump(url: str, dump: Path) -> None:
    """Bring what pg_dump has written into an empty database."""
    command: list[str | Path] = [find_programs(usual_places()) / "psql", f"--dbname={url}", f"--file={dump}"]
    command += ["--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=plain_environment())


def version(programs: Path) -> int:
    """The major version of the server in a folder of programs."""
    shown = subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True)
    found = re.search(r"\d+", shown.stdout)
    return int(found.group()) if found else 0


def find_programs(places: Iterable[Path]) -> Path:
    """The folder of the newest server among the places. Raises Unavailable."""
    complete = {place for place in places if all(os.access(place / program, os.X_OK) for program in PROGRAMS)}
    if not complete:
        names = ", ".join(PROGRAMS)
        raise Unavailable(
            f"no {names} in one folder. Install PostgreSQL (Debian: apt-get install postgresql)."
        )
    newest = max(complete, key=version)
    if version(newest) < OLDEST:
        raise Unavailable(f"{newest} holds PostgreSQL {version(newest)}, and {OLDEST} or newer is needed.")
    return newest


def usual_places() -> Iterator[Path]:
    """The folders where a server's programs may lie, also on systems that keep them off the PATH."""
    for program in filter(None, [shutil.which("initdb")]):
        yield Path(program).resolve().parent
    for pattern in USUAL_PLACES:
        yield from Path("/").glob(pattern.lstrip("/"))
    if pg_config := shutil.which("pg_config"):
        found = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True)
        if found.returncode == 0:
            yield Path(found.stdout.strip())


def unprivileged_account() -> pwd.struct_passwd | None:
    """Whom to run the server as; None for ourselves."""
    if os.geteuid() != 0:
        return None
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise Unavailable(f"it does not run as root, and there is no other account ({', '.join(UNPRIVILEGED)}).")


def make_folder(account: pwd.struct_passwd | None) -> Path:
    # A socket's path may have about 100 characters, and another account must be able to reach it.
    near = tempfile.gettempdir() if account is None else "/tmp"
    folder = Path(tempfile.mkdtemp(prefix="records-pg-", dir=near if len(near) < 60 else "/tmp"))
    if account:
        os.chown(folder, account.pw_uid, account.pw_gid)
    return folder


def make_cluster(programs: Path, folder: Path, account: pwd.struct_passwd | None) -> None:
    # Words compare by code point on every machine, while upper and lower know more than ASCII.
    letters = "UTF-8" if sys.platform == "darwin" else "C.UTF-8"
    command: list[str | Path] = [programs / "initdb", "--pgdata", folder / "data", "--username", "records"]
    command += ["--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--lc-ctype", letters, "--no-sync"]
    try:
        made = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=folder,
            **as_account(account),
            env=plain_environment(),
        )
    except OSError as error:
        raise Unavailable(f"initdb cannot be started: {error}.") from error
    if made.returncode:
        raise Unavailable(f"initdb failed: {made.stderr.strip()}")


def start(
    programs: Path, folder: Path, account: pwd.struct_passwd | None, settings: Mapping[str, str] = SETTINGS
) -> subprocess.Popen[Any]:
    server: list[str | Path] = [programs / "postgres", "-D", folder / "data", "-k", folder]
    for name, value in settings.items():
        server += ["-c", f"{name}={value}"]
    return subprocess.Popen(
        ["/bin/sh", "-c", GUARD, "guard", folder, *server],
        stdin=subprocess.PIPE,
        cwd="/",
        start_new_session=True,  # Ctrl+C is for the tests; the server leaves after them
        **as_account(account),
        env=plain_environment(),
    )


def start_again(folder: Path) -> None:
    """Start a stopped server with the settings that it had."""
    command: list[str | Path] = [find_programs(usual_places()) / "pg_ctl", "restart", "--wait", "--silent"]
    command += ["--pgdata", folder / "data", "--log", folder / "log"]
    account = as_account(unprivileged_account())
    # It says that no server runs, which is known.
    subprocess.run(
        command, check=True, cwd="/", stderr=subprocess.DEVNULL, **account, env=plain_environment()
    )


def as_account(account: pwd.struct_passwd | None) -> dict[str, Any]:
    if account is None:
        return {}
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def plain_environment() -> dict[str, str]:
    """Without the PG variables and locale of whoever runs the tests."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def wait_until_ready(folder: Path) -> None:
    """The server writes its state as the last line of its pid file."""
    state = folder / "data" / "postmaster.pid"
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError):
            if state.read_text().rstrip().endswith("ready"):
                return
        time.sleep(0.05)
    log = (folder / "log").read_text().strip()
    raise Unavailable(f"the server did not start within {START_SECONDS} s: {log}")
