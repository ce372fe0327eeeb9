"""Prometheus metrics and OpenTelemetry traces.

Metric labels never hold names of workspaces or keys. Traces are recorded only with the extra
`telemetry` and `service.telemetry`, and never contain questions or passages.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from knotwork.errors import MissingExtra
from knotwork.records import Usage

METRICS_MEDIA_TYPE = CONTENT_TYPE_LATEST
_LATENCY_BUCKETS_S = (
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    120.0,
)


class Metrics:
    """The counts of one server, in a registry of its own."""

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
        self.in_flight = Gauge("knotwork_requests_open", "Requests under way.", registry=registry)
        self.questions = Counter(
            "knotwork_questions",
            "Questions by mode, and whether they were answered.",
            ("mode", "answered"),
            registry=registry,
        )
        self.tokens = Counter(
            "knotwork_model_tokens",
            "Tokens that questions cost, in and out.",
            ("direction",),
            registry=registry,
        )
        self.jobs = Gauge("knotwork_jobs", "Jobs by state.", ("state",), registry=registry)
        self.opened = Gauge("knotwork_workspaces_open", "Indexes held open.", registry=registry)

    def count_answer(self, mode: str, usage: Usage, *, answered: bool) -> None:
        """Count a question and what it cost."""
        self.questions.labels(mode, str(answered).lower()).inc()
        self.tokens.labels("in").inc(usage.input_tokens)
        self.tokens.labels("out").inc(usage.output_tokens)

    def render(self) -> bytes:
        """Return all counts in the text format of Prometheus."""
        return generate_latest(self._registry)


_TRACER = "knotwork.service"
_OPERATION = "gen_ai.operation.name"
_SOURCE = "gen_ai.data_source.id"
_MODEL = "gen_ai.request.model"
_INPUT_TOKENS = "gen_ai.usage.input_tokens"
_OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
_RETRIEVER = "knotwork.retriever"
_HITS = "knotwork.hits"


class TracedSpan:
    """One operation that is traced."""

    def __init__(self, attributes: dict[str, str | int]) -> None:
        self.attributes = attributes

    def note_usage(self, model: str, usage: Usage) -> None:
        """Note the model that answered, and its tokens."""
        if model:
            self.attributes[_MODEL] = model
        self.attributes[_INPUT_TOKENS] = usage.input_tokens
        self.attributes[_OUTPUT_TOKENS] = usage.output_tokens

    def note_hits(self, count: int) -> None:
        """Note how many passages were found."""
        self.attributes[_HITS] = count


@contextmanager
def trace(operation: str, workspace: str, retriever: str | None) -> Iterator[TracedSpan]:
    """Trace an operation; nothing is recorded where no provider of traces is set."""
    from opentelemetry.trace import get_tracer

    known: dict[str, str | int] = {_OPERATION: operation, _SOURCE: workspace}
    if retriever:
        known[_RETRIEVER] = retriever
    with get_tracer(_TRACER).start_as_current_span(f"{operation} {workspace}") as span:
        traced = TracedSpan(known)
        try:
            yield traced
        finally:
            span.set_attributes(traced.attributes)


def require_telemetry() -> None:
    """Raise MissingExtra when the libraries that send traces are not installed."""
    try:
        import opentelemetry.exporter.otlp.proto.http
        import opentelemetry.sdk  # noqa: F401
    except ImportError as error:
        raise MissingExtra("Sending traces", "telemetry") from error
