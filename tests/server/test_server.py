"""The server as `./run serve` starts it: a parent and its workers, with a database of their own."""

import base64
import contextlib
import os
import re
import signal
import sqlite3
import time
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from prometheus_client.mmap_dict import MmapedDict, mmap_key

from records_site.metrics import registry
from tests.server.conftest import DATABASE
from tests.server.server_process import FORM, wait_for

# Only so that there is a migrated database to copy.
pytestmark = pytest.mark.django_db

TOKEN_REQUEST = f"POST /connect/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\n".encode()


def test_sixty_slow_clients_of_each_kind_delay_nobody(server, applications):
    token = server.token(applications[0])
    with (
        server.open_connections(60, b"GET /api/claim HTTP/1.1\r\nHost:"),
        server.open_connections(60, TOKEN_REQUEST + b"Content-Length: 10000\r\n\r\ng"),
        server.open_connections(60, TOKEN_REQUEST + b"Transfer-Encoding: chunked\r\n\r\n5\r\ngran"),
    ):
        for path in ("/livez", "/readyz", "/api/claim"):
            status, _ = server.request("GET", path, headers={"Authorization": f"Bearer {token}"}, seconds=5)
            assert status == 200


def test_a_token_can_be_requested_in_chunks(server, applications):
    body = iter([b"grant_type=", b"client_credentials"])
    assert isinstance(server.token(applications[0], body=body), str)


def test_reads_of_personal_data_are_written_while_it_serves(server, applications, folder):
    headers = {"Authorization": f"Bearer {server.token(applications[1])}"}
    assert server.request("GET", "/api/contact", headers=headers)[0] == 200
    with contextlib.closing(sqlite3.connect(folder / DATABASE)) as database:
        select = "SELECT DISTINCT application FROM core_personaldataread WHERE application = 'Other'"
        assert wait_for(lambda: database.execute(select).fetchall()) == [("Other",)]


def test_a_busy_application_leaves_threads_to_others_and_is_refused_beyond_its_own(
    server, folder, applications
):
    token = server.token(applications[1])
    credentials = base64.b64encode(":".join(applications[0]).encode())
    head = TOKEN_REQUEST + b"Authorization: Basic " + credentials + b"\r\nConnection: close\r\n"
    body = b"Content-Length: 29\r\n\r\ngrant_type=client_credentials"
    with contextlib.closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")  # nobody else can write now: who wants to, waits
        with server.open_connections(24, head + body) as clients:
            time.sleep(0.3)
            for _ in range(4):
                status, _ = server.request("GET", "/api/claim", headers={"Authorization": f"Bearer {token}"})
                assert status == 200
                assert server.request("GET", "/livez", seconds=5)[0] == 200
            time.sleep(0.7)
            writer.execute("ROLLBACK")
            statuses = [int(client.recv(12).split()[1]) for client in clients]
    assert set(statuses) == {200, 503}
    assert (
        statuses.count(200) <= 8
    )  # two workers, of each half of its threads; and who came as they were done


def test_metrics_are_those_of_all_workers(server):
    before = server.metrics()
    for _ in range(10):  # each on a connection of its own: any worker answers
        assert server.request("GET", "/api/client")[0] == 401
    counted = server.metrics()
    refused = 'http_requests_total{method="GET",route="/api/client/",status="401"}'
    assert counted[refused] - before.get(refused, 0) == 10
    assert counted["server_threads"] == 8
    os.kill(server.workers()[0], signal.SIGKILL)
    wait_for(
        lambda: (
            (found := server.metrics())["server_workers"] == 2
            and found["server_worker_starts_total"] == before["server_worker_starts_total"] + 1
        )
    )
    assert server.metrics()[refused] == counted[refused]
    log = server.log.read_text()
    assert log.count("ended (-9)") == 1


def test_metrics_are_answered_while_a_worker_makes_its_files(tmp_path, monkeypatch):
    counting = MmapedDict(str(tmp_path / "counter_1.db"))
    counting.write_value(mmap_key("served", "served_total", [], [], "Requests."), 3.0, 0.0)
    (tmp_path / "counter_2.db").touch()
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    assert b"served_total 3.0" in generate_latest(registry())


def test_a_stop_lets_running_requests_end(starting, folder, applications):
    server = starting(workers=1)
    wait_for(server.answers)
    credentials = base64.b64encode(":".join(applications[0]).encode())
    head = TOKEN_REQUEST + b"Authorization: Basic " + credentials
    with contextlib.closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        body = b"\r\nContent-Length: 29\r\n\r\ngrant_type=client_credentials"
        with server.open_connection(head + body) as client, server.open_connection(b"") as idle:
            time.sleep(0.5)
            server.process.terminate()
            assert idle.recv(1) == b""
            assert not server.answers(seconds=0.5)
            writer.execute("ROLLBACK")
            answered = client.recv(65536)
            assert answered.startswith(b"HTTP/1.1 200 ")
            assert re.search(rb"\r\nConnection: close\r\n", answered)
    assert server.process.wait(60) == 0


def is_stopped(process):
    """All threads of a process have taken note of SIGSTOP (Linux)."""
    return all("State:\tT" in status.read_text() for status in Path(f"/proc/{process}/task").glob("*/status"))


def waits_for_sigterm(process):
    """A stopped process has been sent SIGTERM (Linux)."""
    status = Path(f"/proc/{process}/status").read_text()
    pending = int(re.search(r"^ShdPnd:\s+(\w+)", status, re.M)[1], 16)
    return bool(pending >> signal.SIGTERM - 1 & 1)


@pytest.mark.parametrize("signalled", ["parent", "parent killed"])
def test_a_stop_answers_whoever_is_connected(starting, signalled):
    server = starting(workers=2, METRICS_TOKEN="operator")
    # One that still loads ends at once by SIGTERM, stopped or not: both have to serve.
    wait_for(lambda: server.answers() and server.metrics()["server_workers"] == 2)
    workers = server.workers()
    request = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with server.open_connections(5, b"") as kept:
        time.sleep(0.5)  # accepted, and nothing is read of them yet
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        wait_for(lambda: all(map(is_stopped, workers)))
        for client in kept:
            client.sendall(request)
        with server.open_connections(40, request) as waiting:
            if signalled == "parent":
                server.process.terminate()
                wait_for(lambda: all(map(waits_for_sigterm, workers)))
            else:
                server.process.kill()
                server.process.wait(60)
            for worker in workers:
                os.kill(worker, signal.SIGCONT)
            answers = [client.recv(65536) for client in (*kept, *waiting)]
    assert {answer[:13] for answer in answers} == {b"HTTP/1.1 200 "}
    # A worker notices a killed parent after the turn that it was in, and a signal that another of its threads
    # takes a moment after it goes on: whoever is answered before is asked to close by the next response.
    if signalled == "parent":
        assert any(b"\r\nConnection: close\r\n" in answer for answer in answers)
    server.process.wait(60)
