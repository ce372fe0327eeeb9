"""Routes for operations: health checks and Prometheus metrics."""

from __future__ import annotations

from fastapi import Response

from knotwork._extensions.server.access import Caller, Routes, Server, require
from knotwork._extensions.server.keys import KeyRole
from knotwork._extensions.server.observability import METRICS_MEDIA_TYPE
from knotwork.errors import NotPermitted, Overloaded

router = Routes("operations")


@router.get("/health/live")
async def tell_alive() -> dict[str, str]:
    """Confirm that the server responds."""
    return {"status": "alive"}


@router.get("/health/ready")
async def tell_ready(server: Server) -> dict[str, str]:
    """Return whether the server accepts requests, and the state of its embedding model.

    503 while the server is stopping, or while the database of its index does not answer. While the
    model is "loading", questions wait for it.
    """
    if server.closing:
        raise Overloaded("The server is stopping.", retry_after_s=5.0)
    await server.check_database()
    return {"status": "ready", "model": server.warmer.state}


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def tell_metrics(key: Caller, server: Server) -> Response:
    """Return the Prometheus metrics. Needs an admin key for all workspaces."""
    require(key, KeyRole.ADMIN)
    if not key.sees_all:
        raise NotPermitted(
            "The metrics cover all workspaces, but the key does not.",
            fix="Use a key for all workspaces.",
        )
    server.metrics.opened.set(server.workspaces.opened())
    for state, count in server.records.counts().items():
        server.metrics.jobs.labels(state).set(count)
    return Response(server.metrics.render(), media_type=METRICS_MEDIA_TYPE)
