"""Run the model test server standalone until it is interrupted."""

from __future__ import annotations

import argparse
import logging
import signal
import threading
from collections.abc import Sequence

from knotwork._extensions.testing.model_server import Fault, FaultPlan, ModelTestServer, Traffic

_log = logging.getLogger("knotwork.testing")


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGINT or SIGTERM, then log the totals."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with build_server(arguments) as server:
        _log.info("listening at %s, with the model %s", server.url, server.model)
        stopped.wait()
        _log.info("served %s", server.traffic.totals)


def build_server(arguments: Sequence[str] | None = None) -> ModelTestServer:
    """Return the server that the command line describes."""
    parser = argparse.ArgumentParser(
        prog="python -m knotwork.testing.model_server",
        description="A local OpenAI-compatible server that replies by rules, without a model.",
    )
    parser.add_argument("--port", type=int, default=8123, help="port; 0: a free one")
    parser.add_argument("--latency", type=float, default=0.0, metavar="S", help="seconds per call")
    parser.add_argument("--model", default="knotwork-test", help="name of the model in /models")
    parser.add_argument("--dimension", type=int, default=256, help="dimension of vectors")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the faults")
    parser.add_argument(
        "--fault",
        type=read_rate,
        action="append",
        default=[],
        metavar="FAULT=SHARE",
        help=f"share of calls that fail, such as 429=0.1; faults: {', '.join(Fault)}",
    )
    parser.add_argument(
        "--refuse",
        action="append",
        default=[],
        metavar="FIELD",
        help="reject requests with this field",
    )
    options = parser.parse_args(arguments)
    try:
        faults = FaultPlan(
            rates=dict(options.fault), seed=options.seed, refuses=frozenset(options.refuse)
        )
    except ValueError as error:
        parser.error(str(error))
    return ModelTestServer(
        faults=faults,
        latency_s=options.latency,
        model=options.model,
        dimension=options.dimension,
        port=options.port,
        traffic=Traffic(kept_calls=0),
    )


def read_rate(text: str) -> tuple[Fault, float]:
    """Parse a fault and its share, such as "429=0.1"."""
    name, _, share = text.partition("=")
    return Fault(name), float(share)
