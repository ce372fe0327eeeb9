"""What a server counts, as Prometheus reads it. Names of workspaces and keys are never labels."""

from __future__ import annotations

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from knotwork.records import Usage

METRICS_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class Meters:
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
            buckets=_SECONDS,
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
