"""What the read log costs a GET: with it, entries written together as the server does, and without it."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

from apps.core.read_log import READ_LOG
from apps.people.models import Client
from bench.calling import Caller
from bench.measuring import Contender, measure

SAMPLES = 15


def read_log(caller: Caller) -> Iterator[str]:
    """CPU of Python and PostgreSQL together, in milliseconds."""
    key = Client.objects.order_by("guid").values_list("pk", flat=True)[7]
    # A busy worker answers some hundred requests in the second between two writes.
    requests = {"one client": (f"/api/client/{key}", 300), "page of 1,000": ("/api/client", 20)}
    for title, (path, calls) in requests.items():
        environ = {"HTTP_PREFER": "odata.maxpagesize=1000"}

        def ask(path: str = path, environ: dict[str, str] = environ) -> bytes:
            return caller(caller.request(path, **environ))

        def ask_many(calls: int = calls) -> None:
            for _ in range(calls):
                ask()
            READ_LOG.write()

        def ask_many_unlogged(calls: int = calls) -> None:
            with patch("apps.core.read_log.is_logged", return_value=False):
                for _ in range(calls):
                    ask()

        logged, unlogged = Contender("logged", ask_many), Contender("unlogged", ask_many_unlogged)
        measure([logged, unlogged], SAMPLES)
        with_log, without = (
            (each.cost.python + each.cost.postgresql) * 1000 / calls for each in (logged, unlogged)
        )
        yield f"{title:<16} {without:8.3f} ms without, {with_log:8.3f} ms with: {with_log / without - 1:+.1%}"
