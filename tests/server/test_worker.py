"""The loop and the threads of one worker: what slow, many, greedy and faulty clients get."""

import contextlib
import errno
import io
import json
import os
import socket
import threading
import time

import pytest

from records_site.server import connections, parsing, sites, worker

PLAIN = [("Content-Type", "text/plain")]


def echo(environ, start_response):
    """Answers with the body of the request."""
    start_response("200 OK", PLAIN)
    return [environ["wsgi.input"].read()]


class Stream:
    """A response of 64 MB, as Django's streaming ones."""

    streaming = True
    pieces = (bytes(64 * 1024),) * 1000

    def __init__(self):
        self.closed = threading.Event()

    def __call__(self, environ, start_response):
        start_response("200 OK", PLAIN)
        return self

    def __iter__(self):
        yield from self.pieces

    def close(self):
        self.closed.set()


class Gate:
    """Requests below /wait take until the gate is opened."""

    def __init__(self):
        self.opened = threading.Event()

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"].startswith("/wait"):
            self.opened.wait(90)  # longer than a client of a test: nobody is served because it ends
        start_response("200 OK", PLAIN)
        return [b"served"]


class Address:
    def __init__(self, running):
        self.worker = running
        self.address = ("127.0.0.1", int(running.effective_port))

    @contextlib.contextmanager
    def send(self, data):
        with socket.create_connection(self.address, timeout=30) as client:
            client.sendall(data)
            yield client

    def answer(self, data):
        """All that is answered until the server closes."""
        with self.send(data) as client:
            return read_all(client)

    def get(self, path, *headers):
        return self.answer(get(path, *headers))


def get(path, *headers):
    lines = (f"GET {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def read_all(client):
    answered = bytearray()  # which grows without a copy of its 64 MB for each part
    with contextlib.suppress(ConnectionResetError):
        while data := client.recv(65536):
            answered += data
    return bytes(answered)


@pytest.fixture
def serve():
    """Starts workers in threads of this process."""
    running = []

    def start(application, threads=4):
        listener = sites.listen("127.0.0.1", 0)
        started = worker.Server(application, listener, threads, os.getppid())
        thread = threading.Thread(target=started.run)
        thread.start()
        running.append((started, thread))
        return Address(started)

    yield start
    for started, _ in running:
        started.stop()
        started.pull_trigger()  # it would sleep until its next tick
    for started, thread in running:
        started.stopped_at -= worker.STOP_SECONDS
        thread.join(30)


@pytest.fixture
def impatient(monkeypatch):
    """Slow clients lose their connections after a moment."""
    monkeypatch.setattr(parsing, "CLIENT_SECONDS", 0.3)
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.3)
    monkeypatch.setattr(worker, "TICK_SECONDS", 0.05)


# --- slow clients -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "begin",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost:",
        b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n1",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n1",
    ],
    ids=["silence", "headers", "body", "chunks"],
)
def test_a_client_that_sends_too_slowly_loses_its_connection(serve, impatient, begin):
    assert serve(echo).answer(begin) == b""


def test_a_client_that_sends_byte_after_byte_loses_its_connection_too(serve, impatient):
    with serve(echo).send(b"GET / HTTP/1.1\r\nX:") as client, pytest.raises(OSError):  # noqa: PT011, PT012
        for _ in range(100):
            client.sendall(b"x")
            time.sleep(0.02)
        client.sendall(b"\r\n\r\n")


def test_a_slow_body_that_goes_on_is_read(serve, impatient, monkeypatch):
    monkeypatch.setattr(parsing, "CLIENT_BYTES_PER_SECOND", 1)
    monkeypatch.setattr(parsing, "CLIENT_SECONDS", 1)  # each byte has so long, also on a busy machine
    monkeypatch.setattr(connections, "IDLE_SECONDS", 1)
    with serve(echo).send(
        b"POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 12\r\n\r\n12345678"
    ) as client:
        for byte in (b"9", b"0", b"1", b"2"):
            time.sleep(0.4)
            client.sendall(byte)
        assert read_all(client).endswith(b"123456789012")


def test_a_reader_that_stalls_loses_its_connection_and_frees_the_thread(serve, impatient):
    stream = Stream()
    with serve(stream).send(get("/")) as client:
        client.recv(1000)
        assert stream.closed.wait(30)


def test_a_client_that_goes_frees_the_thread(serve):
    stream = Stream()
    with serve(stream).send(get("/")) as client:
        client.recv(1000)
    assert stream.closed.wait(30)


def test_only_some_threads_write_streams(serve):
    stream = Stream()
    address = serve(stream, threads=4)
    with address.send(get("/")) as client, address.send(get("/", "Cookie: other")) as other:
        client.recv(1000)
        other.recv(1000)
        refused = address.get("/api/claim")
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nRetry-After: 1\r\n" in refused
        assert stream.closed.wait(30)  # the one that was refused
        stream.closed.clear()
    assert stream.closed.wait(30)
    with address.send(get("/")) as client:
        assert client.recv(12) == b"HTTP/1.1 200"


def test_a_stream_of_small_pieces_arrives_whole_in_larger_ones(serve):
    pieces = [b"%d\n" % number for number in range(20_000)]
    stream = Stream()
    stream.pieces = pieces
    answered = serve(stream).get("/")
    chunks = answered.partition(b"\r\n\r\n")[2].split(b"\r\n")[1:-2:2]
    assert b"".join(chunks) == b"".join(pieces)
    assert len(chunks) < 10


# --- overload ---------------------------------------------------------------------------------------------


def test_one_caller_cannot_take_all_threads(serve):
    gate = Gate()
    address = serve(gate, threads=4)
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(address.send(get("/wait", "Authorization: Bearer greedy")))
        assert address.get("/", "Authorization: Bearer other").endswith(b"served")
        gate.opened.set()


def test_tokens_of_one_application_share_its_threads(serve):
    gate = Gate()

    def application(environ, start_response):
        environ["access.application"] = "one"
        return gate(environ, start_response)

    address = serve(application, threads=4)
    tokens = [f"Authorization: Bearer {number}" for number in range(6)]
    for token in tokens:
        address.get("/", token)
    with contextlib.ExitStack() as stack:
        for token in tokens:
            stack.enter_context(address.send(get("/wait", token)))
        assert address.get("/", "Authorization: Bearer other").endswith(b"served")
        gate.opened.set()


def test_a_request_that_waits_too_long_is_refused(serve, monkeypatch):
    monkeypatch.setattr(worker, "QUEUE_SECONDS", 0.2)
    gate = Gate()
    address = serve(gate, threads=2)
    with address.send(get("/wait")) as client:
        refused = [address.get("/api/claim"), address.get("/connect/token"), address.get("/")]
        gate.opened.set()
        assert read_all(client).endswith(b"served")
    assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in refused)
    assert all(b"\r\nRetry-After: 1\r\n" in answer for answer in refused)
    bodies = [answer.partition(b"\r\n\r\n")[2] for answer in refused]
    message = "The service is busy. Try again in a second."
    assert json.loads(bodies[0]) == {"error": {"code": "Unavailable", "message": message}}
    assert json.loads(bodies[1]) == {"error": "temporarily_unavailable", "error_description": message}
    assert bodies[2] == message.encode() + b"\n"


def test_a_page_of_the_back_office_is_served_while_programs_wait(serve):
    gate = Gate()
    address = serve(gate, threads=8)
    with contextlib.ExitStack() as stack:
        for number in range(12):
            stack.enter_context(address.send(get("/wait", f"Authorization: Bearer {number}")))
        assert address.get("/admin/", "Cookie: sessionid=x").endswith(b"served")
        gate.opened.set()


def test_health_is_answered_while_all_threads_are_busy(serve):
    gate = Gate()
    address = serve(gate, threads=2)
    with contextlib.ExitStack() as stack:
        for number in range(4):
            stack.enter_context(address.send(get("/wait", f"Authorization: Bearer {number}")))
        assert address.get("/livez").endswith(b"served")
        assert address.get("/readyz/").endswith(b"served")
        gate.opened.set()


def test_the_oldest_connections_make_room_for_new_ones(serve, monkeypatch):
    monkeypatch.setattr(worker, "max_connections", lambda: 20)
    monkeypatch.setattr(worker, "TICK_SECONDS", 0.05)
    address = serve(echo)
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(address.send(b"GET / HTTP/1.1\r\n"))
        assert address.get("/").startswith(b"HTTP/1.1 200 ")


def test_who_has_the_most_on_disk_makes_room(serve, monkeypatch):
    monkeypatch.setattr(worker, "MAX_SPOOL_BYTES", 100_000)
    monkeypatch.setattr(worker, "TICK_SECONDS", 0.05)
    large = b"POST / HTTP/1.1\r\n" + SIGNED_IN + b"Content-Length: 300000\r\n\r\n" + bytes(200_000)
    address = serve(echo)
    assert address.answer(large) == b""
    assert address.get("/").startswith(b"HTTP/1.1 200 ")


# --- bodies -----------------------------------------------------------------------------------------------

SIGNED_IN = b"Authorization: Bearer x\r\n"
CHUNKED = b"POST /api/claim HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n" + SIGNED_IN


def test_a_chunked_body_is_read(serve):
    answered = serve(echo).answer(CHUNKED + b"\r\n5;x=1\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")
    assert answered.endswith(b"\r\n\r\nhello world")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST /api/claim HTTP/1.1\r\n" + SIGNED_IN + b"Content-Length: 5000000\r\n\r\n" + b"x" * 4_000_000,
        CHUNKED + b"\r\n200000\r\n" + b"x" * 0x200000 + b"\r\n",
    ],
    ids=["plain", "chunked"],
)
def test_a_body_beyond_the_limit_is_refused_while_it_is_sent(serve, settings, request_bytes):
    settings.API_MAX_BODY_BYTES = 1_000
    answered = serve(echo).answer(request_bytes)
    assert answered.startswith(b"HTTP/1.1 413 ")
    error = json.loads(answered.partition(b"\r\n\r\n")[2])
    assert error == {"error": {"code": "TooLarge", "message": "A body holds at most 1,000 bytes."}}


@pytest.mark.parametrize(
    "body",
    [b"Content-Length: 900000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\nDBBA0\r\n"],
    ids=["plain", "chunked"],
)
def test_a_body_that_the_disk_has_no_space_for_is_refused_with_a_response(serve, monkeypatch, body):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("waitress.buffers.TempfileBasedBuffer.newfile", lambda buffer: Full())
    head = b"POST /api/claim HTTP/1.1\r\n" + SIGNED_IN
    answered = serve(echo).answer(head + body + b"x" * 900_000)
    assert answered.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nRetry-After: 30\r\n" in answered
    assert answered.endswith(b'"The service cannot keep a body of this size now."}}')


def test_an_upload_has_the_limit_of_documents(serve, settings):
    settings.API_MAX_BODY_BYTES = 1_000
    head = b"POST / HTTP/1.1\r\nConnection: close\r\nContent-Type: Multipart/form-data; boundary=x\r\n"
    body = b"Content-Length: 100000\r\n\r\n" + b"x" * 100_000
    assert serve(echo).answer(head + SIGNED_IN + body).endswith(b"x" * 100_000)


@pytest.mark.parametrize(
    "body",
    [b"Content-Length: 100000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n20000\r\n" + b"x" * 0x20000],
    ids=["plain", "chunked"],
)
def test_a_large_body_without_credentials_is_refused_before_it_is_read(serve, body):
    head = b"POST /api/document HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    answered = serve(echo).answer(head + body)
    assert answered.startswith(b"HTTP/1.1 401 ")
    assert b"Www-Authenticate: Bearer" in answered
    message = "Without credentials a body holds at most 65,536 bytes."
    error = {"error": {"code": "Unauthenticated", "message": message}}
    assert json.loads(answered.partition(b"\r\n\r\n")[2]) == error


def test_a_client_that_asks_first_does_not_send_a_body_in_vain(serve, settings):
    settings.API_MAX_BODY_BYTES = 1_000
    head = b"POST /api/claim HTTP/1.1\r\nExpect: 100-continue\r\nConnection: close\r\n"
    address = serve(echo)
    assert address.answer(head + b"Content-Length: 5000\r\n\r\n").startswith(b"HTTP/1.1 413 ")
    with address.send(head + b"Content-Length: 2\r\n\r\n") as client:
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"ok")
        assert read_all(client).endswith(b"\r\n\r\nok")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (CHUNKED + b"Content-Length: 3\r\n\r\n0\r\n\r\n", 400),
        (b"POST /api/claim HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (CHUNKED + b"\r\nx\r\n", 400),
        (CHUNKED + b"\r\n" + b"1" * 2_000, 400),
        (CHUNKED + b"\r\n0\r\nTrailer: " + b"x" * 2_000, 400),
        (b"POST /api/claim HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n", 501),
        (b"POST /api/claim HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /api/claim HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"GET /api/claim HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /api/claim HTTP/1.1\r\nX: " + b"x" * 70_000, 431),
    ],
)
def test_a_request_that_cannot_be_read_is_refused(serve, request_bytes, status):
    version, answered_status, _ = serve(echo).answer(request_bytes).split(b" ", 2)
    assert (version[:7], int(answered_status)) == (b"HTTP/1.", status)


def file_response(environ, start_response):
    """As Django's of a file, which waitress sends by itself."""
    start_response(environ.get("HTTP_X_STATUS", "200 OK"), PLAIN)
    return environ["wsgi.file_wrapper"](io.BytesIO(b"of a file"))


def with_length(environ, start_response):
    start_response(environ.get("HTTP_X_STATUS", "200 OK"), [*PLAIN, ("Content-Length", "6")])
    return [b"served"]


def without_length(environ, start_response):
    start_response("200 OK", PLAIN)
    return iter((b"served",))


def failing(environ, start_response):
    raise ValueError


@pytest.mark.parametrize("application", [file_response, with_length, without_length, failing, Stream()])
def test_the_response_to_head_has_no_body(serve, application):
    address = serve(application)
    asked = get("/").replace(b"GET", b"HEAD")
    assert address.answer(asked).partition(b"\r\n\r\n")[2] == b""
    # Nor has one on a connection that stays open.
    answered = address.answer(asked.replace(b"Connection: close\r\n", b"") + get("/livez"))
    head, _, rest = answered.partition(b"\r\n\r\n")
    assert rest.startswith(b"HTTP/1.1 ") if b"Connection: close" not in head else rest == b""


def test_a_stream_is_not_made_for_head(serve):
    stream, made = Stream(), []
    stream.pieces = (made.append(number) or b"x" for number in range(3))
    assert serve(stream).answer(get("/").replace(b"GET", b"HEAD")).startswith(b"HTTP/1.1 200 ")
    assert stream.closed.wait(30)
    assert made == []


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
@pytest.mark.parametrize("application", [file_response, with_length])
def test_nothing_follows_a_status_without_a_body(serve, application, status):
    assert serve(application).get("/", f"X-Status: {status}").endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        (b" / HTTP/1.1\r\nX: " + b"x" * 70_000, 431),
        (b" / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
        (b" / HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n", 401),
        (b" / HTTP/1.1\r\nTransfer-Encoding: other\r\n\r\n", 501),
    ],
)
@pytest.mark.parametrize("before", [b"", b"\r\n"])
def test_what_refuses_head_has_no_body(serve, before, rest, status):
    answered = serve(echo).answer(before + b"HEAD" + rest)
    assert answered.split(b" ")[1] == str(status).encode()
    assert answered.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("status", "asked", "number"),
    [
        *(("204 No Content", "", 2), ("304 Not Modified", "", 2), ("200 OK", "", 2)),
        *(("204 No Content", "Connection: close\r\n", 1), ("200 OK", "Connection: close\r\n", 1)),
    ],
)
def test_a_connection_outlasts_a_response_without_a_body(serve, status, asked, number):
    def application(environ, start_response):
        start_response(status, [("Content-Length", "0")])
        return [b""]

    first = f"GET / HTTP/1.1\r\nHost: x\r\n{asked}\r\n".encode()
    answered = serve(application).answer(first + get("/"))
    assert answered.count(b"HTTP/1.1 " + status.encode()) == number
    assert answered.count(b"Connection: close") == 1


def test_the_server_names_no_product(serve):
    assert b"\r\nServer:" not in serve(echo).get("/")


def test_the_names_of_headers_are_sent_as_they_are(serve):
    def odata(environ, start_response):
        start_response(
            "200 OK", [("OData-Version", "4.0"), ("ETag", 'W/"a:b"'), ("content-type", "text/plain")]
        )
        return [b"x"]

    head = serve(odata).get("/").partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert {b"OData-Version: 4.0", b'ETag: W/"a:b"', b"content-type: text/plain", b"Content-Length: 1"} < {
        *head
    }


def test_urgent_data_ends_the_connection(serve):
    with serve(echo).send(b"GET / HTTP/1.1\r\n") as client:
        client.send(b"!", socket.MSG_OOB)
        assert read_all(client) == b""


def test_a_worker_whose_parent_is_gone_ends(serve):
    address = serve(echo)
    address.worker.parent = 0
    deadline = time.monotonic() + 30
    while address.worker.stopped_at is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_requests_that_are_sent_at_once_are_answered_in_their_order(serve):
    first = b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\none"
    answered = serve(echo).answer(first + first.replace(b"one", b"two") + get("/"))
    assert [part.partition(b"\r\n\r\n")[2][:3] for part in answered.split(b"HTTP/1.1 200 OK")[1:]] == [
        b"one",
        b"two",
        b"",
    ]


def test_an_ipv4_client_has_one_address_however_the_server_listens(serve):
    running = serve(echo).worker
    assert running.fix_addr(("::ffff:192.0.2.7", 5000, 0, 0))[0] == "192.0.2.7"
    assert running.fix_addr(("2001:db8::7", 5000, 0, 0))[0] == "2001:db8::7"
    assert running.fix_addr(("192.0.2.7", 5000))[0] == "192.0.2.7"
