"""Four times as many clients as keep all threads busy: how long those who are served wait, and refusals."""

from __future__ import annotations

import heapq
import selectors
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import quantiles

from django.conf import settings
from django.test import Client

from apps.people.models import Staff
from bench.calling import Caller
from bench.servers import Request, Samples, Server, requests

CLIENTS = 32
OVERLOAD = 4
MOST = 2.0
TITLES = ("one claim", "page of 300 claims", "POST of 1 claim")
SECONDS = 10.0
#: The first seconds are no sample: a burst may wait, and first requests load what others find.
FIRST_SECONDS = 3.0
#: Seconds that a client rests when it is refused.
REST_SECONDS = 0.05


def overload(caller: Caller) -> Iterator[str]:
    server = Server("ours", caller.token)
    try:
        server.wait_until_ready()
        yield f"{'':20}{'clients':>8}{'served':>9}{'median':>10}{'p99':>10}{'refused':>9}"
        every = requests()
        for title in TITLES:
            yield from compare(server, title, every[title])
        yield from beside_programs(server, every)
    finally:
        server.stop()


def compare(server: Server, title: str, request: Request) -> Iterator[str]:
    few, many = Clients(server, request, CLIENTS).run(), Clients(server, request, CLIENTS * OVERLOAD).run()
    (median, p99), (slower_median, slower_p99) = centiles(few), centiles(many)
    ratio = max(slower_median / median, slower_p99 / p99)
    for clients, samples in ((CLIENTS, few), (CLIENTS * OVERLOAD, many)):
        centre, slowest = centiles(samples)
        served = len(samples.seconds) / SECONDS
        refused = samples.refused / SECONDS
        yield f"{title:20}{clients:>8}{served:>7.0f}/s{centre:>7.0f} ms{slowest:>7.0f} ms{refused:>7.0f}/s"
    yield f"{'':20}{ratio:.1f}× as long (at most {MOST:.0f}×: {'kept' if ratio <= MOST else 'MISSED'})"


def beside_programs(server: Server, every: Mapping[str, Request]) -> Iterator[str]:
    """The back office's list of claims, one page after the other: alone, and beside `CLIENTS`."""
    session = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={session_of_staff()}"}
    page = Request("GET", "/admin/funding/claim/")
    yield f"{'list of claims':20}{1:>8}{row(Clients(server, page, 1, session).run())}"
    for title in TITLES:
        with ThreadPoolExecutor() as pool:
            office = pool.submit(Clients(server, page, 1, session).run)
            programs = Clients(server, every[title], CLIENTS).run()
            pages = office.result()
        yield f"{'… beside those of':20}{CLIENTS:>8}{row(programs)}  {title}"
        yield f"{'':28}{row(pages)}"


def row(samples: Samples) -> str:
    centre, slowest = centiles(samples)
    served, refused = len(samples.seconds) / SECONDS, samples.refused / SECONDS
    return f"{served:>7.0f}/s{centre:>7.0f} ms{slowest:>7.0f} ms{refused:>7.0f}/s"


def session_of_staff() -> str:
    """The key of a session of somebody who may see everything."""
    person = Staff.objects.filter(role__all_permissions=True, disable_login_date=None).first()
    client = Client()
    client.force_login(person, settings.AUTHENTICATION_BACKENDS[-1])
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def centiles(samples: Samples) -> tuple[float, float]:
    """The median and the 99th percentile, in milliseconds."""
    steps = quantiles(samples.seconds, n=100)
    return steps[49] * 1000, steps[98] * 1000


@dataclass(slots=True)
class Connection:
    socket: socket.socket
    message: bytes = b""
    sent_at: float = 0.0
    answer: bytes = b""


class Clients:
    """Clients that each send one request after the other on a connection of their own.

    All in one thread, without http.client: a hundred threads would take more of the processors than the
    server has for quick requests.
    """

    def __init__(
        self, server: Server, request: Request, clients: int, headers: Mapping[str, str] | None = None
    ) -> None:
        self.request, self.port, self.samples = request, server.port, Samples()
        fields = {"Host": "localhost", **(headers or server.headers)}
        self.head = f"{request.method} {request.path} HTTP/1.1\r\n"
        self.head += "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.selector = selectors.DefaultSelector()
        #: (when, number) of connections whose clients rest.
        self.resting: list[tuple[float, int]] = []
        self.connections = [self.connect(number) for number in range(clients)]

    def connect(self, number: int) -> Connection:
        opened = socket.create_connection(("127.0.0.1", self.port))
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(opened, selectors.EVENT_READ, number)
        return Connection(opened)

    def run(self) -> Samples:
        for number in range(len(self.connections)):
            self.ask(number)
        begin = time.perf_counter() + FIRST_SECONDS
        while (now := time.perf_counter()) < begin + SECONDS:
            while self.resting and self.resting[0][0] <= now:
                self.send(heapq.heappop(self.resting)[1])
            for key, _ in self.selector.select(REST_SECONDS / 10):
                self.receive(key.data, begin)
        for each in self.connections:
            each.socket.close()
        self.selector.close()
        return self.samples

    def ask(self, number: int) -> None:
        body = self.request.body()
        length = f"Content-Length: {len(body)}\r\n\r\n"
        self.connections[number].message = f"{self.head}{length}".encode() + body
        self.send(number)

    def send(self, number: int) -> None:
        """Send the client's request, again when it was refused."""
        connection = self.connections[number]
        connection.sent_at, connection.answer = time.perf_counter(), b""
        connection.socket.sendall(connection.message)

    def receive(self, number: int, begin: float) -> None:
        connection = self.connections[number]
        data = connection.socket.recv(1 << 20)
        connection.answer += data
        head, end_of_head, body = connection.answer.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        if data and (not end_of_head or len(body) < length):
            return
        now, is_served = time.perf_counter(), head[9:10] == b"2"
        if data and now >= begin:
            if is_served:
                self.samples.seconds.append(now - connection.sent_at)
            else:
                self.samples.refused += 1
        if not data or b"connection: close" in head.lower():
            self.selector.unregister(connection.socket)
            connection.socket.close()
            self.connections[number] = self.connect(number)
            self.connections[number].message = connection.message
        if is_served or not data:
            self.ask(number)
        else:
            heapq.heappush(self.resting, (now + REST_SECONDS, number))
