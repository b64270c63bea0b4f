"""How long the statements of a request may take on SQLite, which has no statement_timeout."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_DEADLINE: ContextVar[float] = ContextVar("deadline", default=float("inf"))


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Within the block, statements on SQLite end after so many seconds; 0 is no limit."""
    token = _DEADLINE.set(time.monotonic() + seconds if seconds else float("inf"))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def has_passed() -> bool:
    return time.monotonic() > _DEADLINE.get()
