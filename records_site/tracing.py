"""OpenTelemetry: a span for each request, with one for each of its statements.

Its variables (``OTEL_EXPORTER_OTLP_ENDPOINT``, ``OTEL_SERVICE_NAME``, ``OTEL_TRACES_SAMPLER`` …) are read by
its library (requirements-extras.txt). A span has what a line of the log has: the pattern of the address,
no address, no query, no value of a statement, no message of an error.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from django.db import connections
from django.http import HttpRequest, HttpResponse
from opentelemetry import propagate
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode, format_trace_id

from apps.core.middleware import HEALTH_PATHS
from records_site.log_lines import route_of
from records_site.request_log import caller_of, method_of, without_values

#: A span has no event with the message of an exception, which can have values of a record in it.
WITHOUT_MESSAGES: dict[str, Any] = {"record_exception": False, "set_status_on_exception": False}


class TracingMiddleware:
    """The outermost middleware, where a collector is named. A caller's ``traceparent`` is continued."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.provider = TracerProvider()
        self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self.tracer = self.provider.get_tracer("records")

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.rstrip("/") in HEALTH_PATHS:
            return self.get_response(request)
        method = method_of(request)
        caller = propagate.extract(request.headers)
        with ExitStack() as stack:
            span = stack.enter_context(
                self.tracer.start_as_current_span(method, caller, SpanKind.SERVER, **WITHOUT_MESSAGES)
            )
            for connection in connections.all():
                stack.enter_context(connection.execute_wrapper(self.trace_statement))
            request.trace_id = format_trace_id(span.get_span_context().trace_id)  # type: ignore[attr-defined]
            response = self.get_response(request)
            route, status = route_of(request), response.status_code
            span.update_name(f"{method} {route}")
            span.set_attribute("http.request.method", method)
            span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", status)
            span.set_attribute("records.request_id", getattr(request, "request_id", ""))
            span.set_attribute("records.caller", caller_of(request, status) or "")
            if status >= 500:
                span.set_status(StatusCode.ERROR)
        return response

    def trace_statement(
        self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any
    ) -> Any:
        text = without_values(str(sql))
        name = text.partition(" ")[0]
        with self.tracer.start_as_current_span(name, kind=SpanKind.CLIENT, **WITHOUT_MESSAGES) as span:
            span.set_attribute("db.system.name", context["connection"].vendor)
            span.set_attribute("db.query.text", text)
            return execute(sql, params, many, context)
