"""Traces of what a question took, in the words of OpenTelemetry for generative models.

Without the extra `telemetry`, or without `service.telemetry`, nothing is recorded. What is asked
and found is never part of a trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from knotwork.errors import MissingExtra
from knotwork.records import Usage

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
