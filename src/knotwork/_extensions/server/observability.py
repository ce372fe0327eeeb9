"""Prometheus metrics and OpenTelemetry traces.

Metric labels never contain names of workspaces or keys. Traces are recorded only with the extra
`telemetry` and the setting `service.telemetry`, and never contain questions or passages.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from knotwork.errors import required
from knotwork.records import Answer

if TYPE_CHECKING:
    from opentelemetry.trace import Span

METRICS_MEDIA_TYPE = CONTENT_TYPE_LATEST
_LATENCY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """The Prometheus metrics of one server, in their own registry."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "knotwork_requests",
            "Requests by method, route and status.",
            ("method", "route", "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "knotwork_request_seconds",
            "Time to the first byte of a response.",
            ("method", "route"),
            buckets=_LATENCY_BUCKETS_S,
            registry=registry,
        )
        self.in_flight = Gauge("knotwork_requests_open", "Requests in progress.", registry=registry)
        self.questions = Counter(
            "knotwork_questions",
            "Questions by mode and by whether they were answered.",
            ("mode", "answered"),
            registry=registry,
        )
        self.tokens = Counter(
            "knotwork_model_tokens",
            "Model tokens used by questions, by direction.",
            ("direction",),
            registry=registry,
        )
        self.jobs = Gauge("knotwork_jobs", "Jobs by state.", ("state",), registry=registry)
        self.opened = Gauge("knotwork_workspaces_open", "Open indexes.", registry=registry)

    def note_answer(self, answer: Answer, span: Span) -> None:
        """Count a question and its tokens, and record them and the model in its trace."""
        self.questions.labels(answer.mode, str(answer.answered).lower()).inc()
        self.tokens.labels("in").inc(answer.usage.input_tokens)
        self.tokens.labels("out").inc(answer.usage.output_tokens)
        if answer.model:
            span.set_attribute("gen_ai.request.model", answer.model)
        span.set_attribute("gen_ai.usage.input_tokens", answer.usage.input_tokens)
        span.set_attribute("gen_ai.usage.output_tokens", answer.usage.output_tokens)

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self._registry)


_TRACER = "knotwork.service"


@contextmanager
def trace(operation: str, workspace: str, retriever: str | None) -> Iterator[Span]:
    """Trace an operation. Nothing is recorded unless a trace provider is configured."""
    from opentelemetry.trace import get_tracer

    with get_tracer(_TRACER).start_as_current_span(f"{operation} {workspace}") as span:
        span.set_attributes(
            {"gen_ai.operation.name": operation, "gen_ai.data_source.id": workspace}
        )
        if retriever:
            span.set_attribute("knotwork.retriever", retriever)
        yield span


def require_telemetry() -> None:
    """Raise MissingExtra if the libraries that export traces are not installed."""
    with required("Sending traces", "telemetry"):
        import opentelemetry.exporter.otlp.proto.http
        import opentelemetry.sdk  # noqa: F401
