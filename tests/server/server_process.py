"""The server as `./run serve` starts it, in processes of its own."""

import base64
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORM = "application/x-www-form-urlencoded"


class Server:
    """A running server, and what its parent prints."""

    def __init__(self, folder, workers=2, **environment):
        self.port = free_port()
        self.log = folder / "log"
        self.log.write_text("")
        command = [sys.executable, "-m", "records_site.server", "--no-worker", "--port", str(self.port)]
        self.command = [*command, "--workers", str(workers), "--threads", "4"]
        self.environment = variables(folder, **environment)
        self.start()

    def start(self):
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command, cwd=ROOT, env=self.environment, stderr=log)

    def workers(self):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(number) for number in children.split()]

    def request(self, method, path, body=None, headers=None, seconds=60):
        """Status and JSON of an answer."""
        with contextlib.closing(HTTPConnection("127.0.0.1", self.port, timeout=seconds)) as client:
            client.request(method, path, body, headers or {}, encode_chunked=not isinstance(body, bytes))
            response = client.getresponse()
            return response.status, json.loads(response.read() or "null")

    def token(self, application, **options):
        credentials = base64.b64encode(":".join(application).encode()).decode()
        headers = {"Content-Type": FORM, "Authorization": f"Basic {credentials}"}
        body = options.pop("body", b"grant_type=client_credentials")
        status, answer = self.request("POST", "/connect/token", body, headers, **options)
        return answer["access_token"] if status == 200 else status

    @contextlib.contextmanager
    def open_connections(self, number, sent):
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(self.open_connection(sent)) for _ in range(number)]

    @contextlib.contextmanager
    def open_connection(self, sent):
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as client:
            client.sendall(sent)
            yield client

    def answers(self, seconds=2):
        with contextlib.suppress(OSError):
            return self.request("GET", "/livez", seconds=seconds)[0] == 200
        return False

    def metrics(self):
        """The value of each series."""
        with contextlib.closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as client:
            client.request("GET", "/metrics", headers={"Authorization": "Bearer operator"})
            lines = client.getresponse().read().decode().splitlines()
        series = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in series}

    def stop(self):
        self.process.terminate()
        return self.process.wait(40)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def output_of(program, environment, *arguments):
    """What a program of Python prints as JSON."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    run = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


def variables(folder, **environment):
    # What is compiled once is kept, as where it is installed: else each start takes a second of CPU more.
    left_out = ("DATABASE_URL", "PYTHONDONTWRITEBYTECODE")
    others = {name: value for name, value in os.environ.items() if name not in left_out}
    ours = {"VAR_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "records_site.settings", "LOG_LEVEL": "ERROR"}
    # One that is killed leaves its folder of metrics.
    return {**others, **ours, "TMPDIR": str(folder), **environment}


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found
