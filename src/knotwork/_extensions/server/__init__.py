"""Serve knowledge bases over HTTP: a JSON API, an OpenAI-compatible API, MCP and web pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knotwork.errors import required

if TYPE_CHECKING:
    from fastapi import FastAPI

    from knotwork._extensions.server.server import ServerConfig

__all__ = ["make_app", "require_extra"]


def require_extra() -> None:
    """Raise MissingExtra if the libraries of the extra `serve` are not installed."""
    with required("The HTTP server", "serve"):
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import python_multipart  # noqa: F401
        import uvicorn  # noqa: F401


def make_app(config: ServerConfig) -> FastAPI:
    """Build the ASGI application of a server.

    It opens no files before it is started. Raises MissingExtra without the extra `serve`, or
    without the extra `telemetry` if `service.telemetry` is on.
    """
    require_extra()
    from knotwork._extensions.server.app import build_app

    return build_app(config)
