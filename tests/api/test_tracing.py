"""Spans of requests, as a collector of OpenTelemetry gets them over HTTP."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider

from tests.api.caller import Caller
from tests.people.records import a_contact

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


class Collector(HTTPServer):
    """Keeps the spans that it is sent."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.providers, self.received, self.bodies = [], [], b""

    def provide(self):
        self.providers.append(TracerProvider())
        return self.providers[-1]

    def spans(self):
        """All spans that have ended."""
        for provider in self.providers:
            provider.force_flush()
        return self.received


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body
        self.server.bodies += body
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                self.server.received.extend(scope.spans)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        """Requests of tests are not logged."""


@pytest.fixture
def collector(settings, monkeypatch):
    with Collector() as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr("records_site.tracing.TracerProvider", server.provide)
        settings.MIDDLEWARE = ["records_site.tracing.TracingMiddleware", *settings.MIDDLEWARE]
        yield server
        for provider in server.providers:
            provider.shutdown()
        server.shutdown()


def attributes_of(span):
    values = ((each.key, each.value) for each in span.attributes)
    return {key: value.string_value or value.int_value for key, value in values}


def test_a_request_is_a_span_of_the_callers_trace_with_its_statements_and_no_data(api, collector):
    contact = a_contact(first_name="Wilhelmina")
    caller = Caller(api.authorization)
    answer = caller.get(
        "contact",
        {"$filter": "FirstName eq 'Wilhelmina'"},
        traceparent=f"00-{TRACE}-00f067aa0ba902b7-01",
        X_Request_ID="req-79",
    )
    assert [each["ContactGuid"] for each in answer.json()["value"]] == [str(contact.pk)]
    *statements, request = sorted(collector.spans(), key=lambda span: span.name == "GET /api/contact/")
    attributes = attributes_of(request)
    assert attributes.pop("records.caller").startswith("application ")
    assert attributes == {
        "http.request.method": "GET",
        "http.route": "/api/contact/",
        "http.response.status_code": 200,
        "records.request_id": "req-79",
    }
    assert {span.trace_id.hex() for span in (request, *statements)} == {TRACE}
    assert all(span.parent_span_id == request.span_id for span in statements)
    assert any("people_contact" in attributes_of(span)["db.query.text"] for span in statements)
    assert b"Wilhelmina" not in collector.bodies
    assert str(contact.pk).encode() not in collector.bodies


@pytest.mark.django_db
def test_a_failure_is_marked_without_its_message(collector, monkeypatch):
    def fail(*_):
        raise RuntimeError("Wilhelmina")

    monkeypatch.setattr("apps.core.views.render", fail)
    assert Caller().get("/").status_code == 500
    (request,) = [span for span in collector.spans() if span.name == "GET /"]
    assert request.status.code == 2
    assert b"Wilhelmina" not in collector.bodies


@pytest.mark.django_db
def test_health_makes_no_spans(collector):
    caller = Caller()
    caller.get("/livez")
    caller.get("/")
    assert "GET /livez" not in {span.name for span in collector.spans()}
