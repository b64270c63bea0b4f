"""CPU and wall time of contenders that take turns: whatever else the machine does meets all of them."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from django.db import connection

NOTHING: Callable[[], object] = lambda: None  # noqa: E731


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one call: CPU of this process, CPU of its PostgreSQL backend, and on the wall's clock."""

    python: float
    postgresql: float
    wall: float


@dataclass
class Contender:
    """One way of answering. ``prepare`` and ``clean`` stand around each sample and are not measured."""

    name: str
    call: Callable[[], object]
    prepare: Callable[[], object] = NOTHING
    clean: Callable[[], object] = NOTHING
    costs: list[Cost] = field(default_factory=list)

    @property
    def cost(self) -> Cost:
        """The medians."""
        return Cost(
            median(cost.python for cost in self.costs),
            median(cost.postgresql for cost in self.costs),
            median(cost.wall for cost in self.costs),
        )


def measure(contenders: Sequence[Contender], samples: int, calls: int = 1) -> None:
    """Sample each contender in turn; a sample is the mean of so many calls. The first round is no sample."""
    for number in range(samples + 1):
        turn = number % len(contenders)
        for contender in (*contenders[turn:], *contenders[:turn]):
            cost = sampled(contender, calls)
            if number:
                contender.costs.append(cost)


def sampled(contender: Contender, calls: int) -> Cost:
    contender.prepare()
    gc.collect()  # nobody sweeps up after another
    try:
        backend, wall, cpu = backend_seconds(), time.perf_counter(), time.process_time()
        for _ in range(calls):
            contender.call()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        backend = backend_seconds() - backend
    finally:
        contender.clean()
    return Cost(cpu / calls, backend / calls, wall / calls)


def backend_seconds() -> float:
    """CPU that this connection's PostgreSQL backend has used; 0 where the system does not tell (macOS)."""
    connection.ensure_connection()
    schedule = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    return int(schedule.read_text().split()[0]) / 1e9 if schedule.exists() else 0.0
