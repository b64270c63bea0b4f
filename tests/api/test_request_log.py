"""The lines of requests and of slow statements, and the counts at ``/metrics``."""

import datetime as dt
import json
import logging
import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver
from django.utils import timezone
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from records_site import metrics
from records_site.log_lines import JsonFormatter, readable
from tests.api.caller import Caller
from tests.people.records import an_administrator
from tests.tasks import note

ROOT = Path(__file__).resolve().parents[2]
PRIVATE = "Wilhelmina"
TOKEN = "a token of the operator's"


@pytest.fixture
def events(caplog, settings):
    """events(logger) -> the JSON lines of a logger."""
    caplog.set_level(logging.INFO)
    settings.LOG_REQUESTS = True
    formatter = JsonFormatter()
    return lambda logger: [
        json.loads(formatter.format(record)) for record in caplog.records if record.name == logger
    ]


def test_a_request_is_a_line_with_its_caller_and_figures(api, events):
    Caller(api.authorization).get("client", {"$top": "1"}, X_Request_ID="req-79")
    (event,) = events("records.requests")
    assert event.pop("seconds") >= event.pop("database_seconds") >= 0
    assert event.pop("time").endswith("Z")
    assert event.pop("caller").startswith("application ")
    assert event.pop("statements") >= 1
    assert event == {
        "level": "INFO",
        "logger": "records.requests",
        "request_id": "req-79",
        "method": "GET",
        "route": "/api/client/",
        "status": 200,
    }


def test_a_refusal_has_the_address_it_came_from(db, events):
    Caller().get("client")
    (event,) = events("records.requests")
    assert (event["status"], event["address"], event["caller"]) == (401, "127.0.0.1", None)


def test_a_page_of_the_back_office_names_who_looked(db, events):
    person = an_administrator()
    client = Client()
    client.force_login(person)
    client.get(f"/admin/people/position/?q={TOKEN}")
    (event,) = events("records.requests")
    assert (event["caller"], event["route"]) == (f"staff {person.pk}", "/admin/people/position/")


def test_a_slow_statement_is_named_with_its_request(api, events, settings):
    settings.DATABASE_SLOW_SECONDS = 1e-9
    Caller(api.authorization).get("contact", {"$filter": f"LastName eq '{PRIVATE}'"}, X_Request_ID="req-80")
    found = [event for event in events("records.statements") if "people_contact" in event["statement"]]
    assert [(event["request_id"], event["route"]) for event in found] == [("req-80", "/api/contact/")]
    assert found[0]["statement"].startswith("SELECT")
    assert PRIVATE not in found[0]["statement"]


def test_nothing_is_counted_or_logged_where_nobody_asked_for_it(api, caplog):
    caplog.set_level(logging.DEBUG)
    before = counts()
    api.get("client")
    assert counts() == before
    assert [record for record in caplog.records if record.name.startswith("records.")] == []


def counts():
    return [
        sample
        for metric in metrics.REQUESTS.collect()
        for sample in metric.samples
        if "_total" in sample.name
    ]


def scrape(settings, **headers):
    settings.METRICS_TOKEN = TOKEN
    return Client().get("/metrics", headers=headers)


def test_metrics_are_for_whoever_has_the_token(db, settings):
    assert Client().get("/metrics").status_code == 404
    for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": f"Basic {TOKEN}"}):
        answer = scrape(settings, **headers)
        assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
    answer = scrape(settings, Authorization=f"Bearer {TOKEN}")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert answer["Cache-Control"].startswith("max-age=0, no-cache, no-store")


def test_metrics_count_requests_by_pattern_and_never_by_address(api, settings):
    settings.METRICS_TOKEN = TOKEN
    caller = Caller(api.authorization)
    caller.get("contact/0191f98b-14a8-7ccc-9e29-ff163fe890fc")
    caller.call("ANYTHING", "contact")
    caller.get(f"/{TOKEN.replace(' ', '-')}")
    text = scrape(settings, Authorization=f"Bearer {TOKEN}").content.decode()
    assert 'http_requests_total{method="GET",route="/api/contact/<key>/",status="404"}' in text
    assert 'http_requests_total{method="other",route="/api/contact/",status="405"}' in text
    assert "0191f98b" not in text
    assert "ANYTHING" not in text
    assert "token-of" not in text


def test_metrics_stay_small_with_every_route():
    registry = CollectorRegistry()
    for name in ("REQUESTS", "ROUTE_SECONDS", "REQUEST_SECONDS", "SLOW_STATEMENTS"):
        counted = getattr(metrics, name)
        counted.clear()
        registry.register(counted)
    routes = set(patterns(get_resolver().url_patterns))
    assert len(routes) > 500
    for route in routes:
        for method, status in (("GET", 200), ("GET", 302), ("POST", 200), ("POST", 400), ("HEAD", 200)):
            metrics.note_request(method, route, status, 0.123456789)
        metrics.SLOW_STATEMENTS.labels(metrics.label_of(route)).inc()
    assert len(generate_latest(registry)) < 400 * len(routes)
    assert len(metrics.REQUEST_SECONDS._metrics) == 3 * 4


def patterns(found, prefix=""):
    for each in found:
        route = prefix + str(each.pattern)
        if isinstance(each, URLPattern):
            yield readable(route)
        else:
            yield from patterns(each.url_patterns, route)


def test_metrics_tell_how_many_tasks_wait_and_for_how_long(db, settings, at):
    at("2026-03-02 09:00")
    note.enqueue("now")
    note.using(run_after=timezone.now() + dt.timedelta(hours=2)).enqueue("later")
    at("2026-03-02 09:05")
    text = scrape(settings, Authorization=f"Bearer {TOKEN}").content.decode()
    assert {"tasks_waiting 1.0", "tasks_oldest_seconds 300.0", "tasks_failed 0.0"} < set(text.splitlines())


def names_in(text):
    return set(re.findall(r"\b(?:http|database|server|tasks)_[a-z_]+", text))


@pytest.mark.parametrize("name", ["grafana/records.json", "prometheus/records.rules.yml"])
def test_dashboard_and_alerts_ask_for_metrics_that_exist(name):
    series = set()
    for metric in (each for each in vars(metrics).values() if isinstance(each, Counter | Gauge | Histogram)):
        (family,) = metric.collect()
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "gauge": [""]}
        series |= {family.name + suffix for suffix in suffixes[family.type]}
    series |= {f"tasks_{figure}" for figure in metrics.TASK_GAUGES}
    asked = names_in((ROOT / "ops" / name).read_text())
    assert asked
    assert asked <= series
