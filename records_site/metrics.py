"""What the service counts about itself, and ``/metrics``, where Prometheus reads it.

Worker processes count in files of one folder (``PROMETHEUS_MULTIPROC_DIR``), which the server's parent makes;
whichever worker is asked answers for all. Labels are patterns of addresses, never addresses: the number of
series is bounded and none names a record.
"""

import os

from django.conf import settings
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
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

REQUESTS = Counter("http_requests", "Requests that a view answered.", ["method", "route", "status"])
REQUEST_SECONDS = Histogram(
    "http_request_duration_seconds",
    "Seconds until a response was made; of a stream, until its first record was asked for.",
    ["method", "route"],
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
    return HttpResponse(generate_latest(registry()), content_type=CONTENT_TYPE_LATEST)


def registry() -> CollectorRegistry:
    """That of all workers; of this process where it is the only one, as under ``runserver``."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    of_all_workers = CollectorRegistry()
    MultiProcessCollector(of_all_workers)
    return of_all_workers
