"""A service with demo records, which clients and made-up requests are sent to."""

import contextlib
import json
import os
import secrets
import subprocess
import sys
import time
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.clients.commands import Failed, execute
from tests.server.server_process import free_port

ROOT = Path(__file__).resolve().parents[2]
#: More contacts than a page has without $top; claims take the longest to load.
CONTACTS = 400
DEMO = ("--contacts", str(CONTACTS), "--claims", "500", "--invoices", "10", "--documents", "1")
#: Generous: a busy machine takes its time.
LOAD_SECONDS = 600


@dataclass(frozen=True)
class DemoService:
    """A running service, and an application that may read and write everything."""

    origin: str
    token: str

    @property
    def description(self) -> dict[str, str]:
        """What programs need to know; ``steps.py`` and ``steps.mjs`` read it."""
        return {
            "service": f"{self.origin}/api/",
            "token": self.token,
            "version": "2.1",
            "contacts": str(CONTACTS),
        }

    @property
    def environment(self) -> dict[str, str]:
        return {f"RECORDS_{name.upper()}": value for name, value in self.description.items()}


@contextlib.contextmanager
def demo_service(var: Path, **settings: str) -> Iterator[DemoService]:
    """A service with demo records in SQLite, and settings of its own."""
    var.mkdir(exist_ok=True)
    settings = {"VAR_DIR": str(var), "DATABASE_URL": "", **settings}
    manage = (sys.executable, ROOT / "manage.py")
    execute(*manage, "migrate", "--verbosity", "0", env=settings, seconds=LOAD_SECONDS)
    execute(*manage, "load_demo", "--if-empty", *DEMO, env=settings, seconds=LOAD_SECONDS)
    name = f"clients {secrets.token_hex(4)}"  # a folder that is kept has those of earlier runs
    application = json.loads(execute(*manage, "create_api_application", name, "--json", env=settings))
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [sys.executable, "-m", "records_site.server", "--port", str(port), "--workers", "1"],
        cwd=ROOT,
        env={**os.environ, **settings},
        stdout=(var / "server.log").open("w"),
        stderr=subprocess.STDOUT,
    )
    try:
        yield DemoService(origin, fetch_token(origin, application))
    finally:
        server.terminate()
        server.wait()


def fetch_token(origin: str, application: Mapping[str, str]) -> str:
    """A token, as soon as the service answers."""
    secret = f"{application['client_id']}:{application['client_secret']}".encode()
    request = urllib.request.Request(f"{origin}/connect/token", b"grant_type=client_credentials")
    request.add_header("Authorization", f"Basic {b64encode(secret).decode()}")
    for _ in range(150):
        with contextlib.suppress(OSError), urllib.request.urlopen(request) as response:
            return str(json.load(response)["access_token"])
        time.sleep(0.2)
    raise Failed("the service does not answer")


def fetch(url: str, token: str) -> str:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as response:
        return str(response.read().decode())
