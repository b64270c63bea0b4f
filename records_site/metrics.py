"""What the service counts about itself, and ``/metrics``, where Prometheus reads it.

Worker processes count in files of one folder (``PROMETHEUS_MULTIPROC_DIR``), which the server's parent makes;
whichever worker is asked answers for all. Labels are patterns of addresses, never addresses, and those of the
back office one for each kind of record: the number of series is bounded and none names a record.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from apps.core.task_queue import QueueFigures, read_queue_figures

disable_created_metrics()  # a second series for each, when it began

_PAGES_OF_RECORDS = re.compile(r"/admin/\w+/\w+/")

REQUESTS = Counter("http_requests", "Requests that a view answered.", ["method", "route", "status"])
ROUTE_SECONDS = Counter("http_route_seconds", "Seconds until responses were made.", ["route"])
#: A histogram is a dozen series, so its labels are few.
REQUEST_SECONDS = Histogram(
    "http_request_duration_seconds",
    "Seconds until a response was made; of a stream, until its first record was asked for.",
    ["method", "group"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
STATEMENTS = Counter("database_statements", "Statements that requests sent to the database.")
STATEMENT_SECONDS = Counter("database_seconds", "Seconds that requests waited for the database.")
SLOW_STATEMENTS = Counter("database_slow_statements", "Statements over DATABASE_SLOW_SECONDS.", ["route"])

REFUSALS = Counter("server_refusals", "Requests that the server refused before any view.", ["status"])
WORKER_STARTS = Counter("server_worker_starts", "Worker processes that were started.")
WORKERS = Gauge("server_workers", "Worker processes that serve.", multiprocess_mode="livesum")
CONNECTIONS = Gauge("server_connections", "Open connections of clients.", multiprocess_mode="livesum")
WAITING = Gauge("server_waiting_requests", "Requests that wait for a thread.", multiprocess_mode="livesum")
BUSY_THREADS = Gauge("server_busy_threads", "Threads that serve a request.", multiprocess_mode="livesum")
THREADS = Gauge("server_threads", "Threads of all workers.", multiprocess_mode="livesum")
#: The gauges of background tasks, by the figure that each has.
TASK_GAUGES = {
    "waiting": "Background tasks that could begin.",
    "oldest_seconds": "Seconds that the oldest of them has waited.",
    "running": "Background tasks that a worker does.",
    "failed": "Background tasks that failed in two weeks.",
}


def note_request(method: str, route: str, status: int, seconds: float) -> None:
    """Count a request, whose address has the pattern ``route``."""
    label = label_of(route)
    REQUESTS.labels(method, label, status).inc()
    ROUTE_SECONDS.labels(label).inc(seconds)
    REQUEST_SECONDS.labels(method, group_of(route)).observe(seconds)


@lru_cache
def label_of(route: str) -> str:
    """``/admin/funding/claim/…`` of all pages of claims; patterns of other addresses as they are."""
    office = _PAGES_OF_RECORDS.match(route)
    return f"{office[0]}…" if office else route


@lru_cache
def group_of(route: str) -> str:
    """What is asked for, of a few kinds."""
    if route.startswith("/api/"):
        return "record" if "<" in route else "list"
    return "office" if route.startswith("/admin/") else "other"


class TaskCollector(Collector):
    """The gauges of background tasks, whose queue is in the database."""

    def __init__(self, figures: QueueFigures) -> None:
        self.figures = figures

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for figure, text in TASK_GAUGES.items():
            yield GaugeMetricFamily(f"tasks_{figure}", text, getattr(self.figures, figure))


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """All counts in Prometheus' text format, for whoever has ``METRICS_TOKEN``; 404 without that setting."""
    if not settings.METRICS_TOKEN:
        raise Http404
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not constant_time_compare(token.strip(), settings.METRICS_TOKEN):
        return HttpResponse(
            "The token of METRICS_TOKEN is required.\n",
            "text/plain; charset=utf-8",
            401,
            headers={"WWW-Authenticate": "Bearer"},
        )
    counts = generate_latest(registry()) + generate_latest(task_registry())
    return HttpResponse(counts, content_type=CONTENT_TYPE_LATEST)


def registry() -> CollectorRegistry:
    """That of all workers; of this process where it is the only one, as under ``runserver``."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    of_all_workers = CollectorRegistry()
    WorkersCollector(of_all_workers)
    return of_all_workers


class WorkersCollector(MultiProcessCollector):
    """The counts of all workers but of those whose files are made at this moment: they have none yet."""

    def collect(self) -> Iterator[Metric]:
        """Metrics; a file that is empty, which MultiProcessCollector cannot read, counts nothing."""
        files = [str(path) for path in Path(self._path).glob("*.db") if has_counts(path)]
        return iter(self.merge(files))


def has_counts(path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):  # a gauge's, whose worker has just ended
        return path.stat().st_size > 0
    return False


def task_registry() -> CollectorRegistry:
    """The figures of background tasks; empty while the database does not answer."""
    tasks = CollectorRegistry()
    try:
        tasks.register(TaskCollector(read_queue_figures()))
    except DatabaseError:
        connection.close()  # the next scrape must not find the broken one
    return tasks
