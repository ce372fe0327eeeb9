"""Build the FastAPI application: routes, middleware, startup and shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

import knotwork
from knotwork._extensions.server.mcp_endpoint import McpEndpoint
from knotwork._extensions.server.middleware import (
    REQUEST_ID_HEADER,
    AccessMiddleware,
    HeadMiddleware,
    RequestMiddleware,
)
from knotwork._extensions.server.observability import Metrics, require_telemetry
from knotwork._extensions.server.pages import add_pages
from knotwork._extensions.server.responses import ErrorEnvelope, handle_errors
from knotwork._extensions.server.routes import (
    ask,
    corrections,
    documents,
    evaluations,
    folders,
    graph,
    guide,
    jobs,
    openai,
    operations,
    originals,
    threads,
    workspaces,
)
from knotwork._extensions.server.routes.openai import OpenAIError
from knotwork._extensions.server.server import ServerConfig, Service
from knotwork._indexing.loaders.loader import MEGABYTE
from knotwork.errors import KnotworkError

API = "/api/v1"
_ROUTES = (
    *(workspaces.router, documents.router, jobs.router, ask.router, ask.memories, graph.router),
    *(corrections.router, evaluations.router, folders.router, guide.router, originals.router),
    threads.router,
)
Responses = dict[int | str, dict[str, Any]]
_MOST_BODY_BYTES = 1 * MEGABYTE
_MOST_CHAT_BYTES = 8 * MEGABYTE
"""Chat clients send whole conversations."""

_ALLOWED_HEADERS = [
    *("Authorization", "Content-Type", "Last-Event-ID"),
    *("Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name"),
]
"""Headers that pages of the configured CORS origins may send."""

_DESCRIPTION = (
    "Answers with citations from your own documents. Every response is `{data, request_id}` or "
    "`{error: {code, message, fix}, request_id}`; below `/v1`, requests and responses follow the "
    "OpenAI API. Spans are offsets in characters (Unicode code points)."
)


def build_app(config: ServerConfig) -> FastAPI:
    """Build the application of a server. It opens no files before it is started."""
    settings = config.settings.service
    if settings.telemetry:
        require_telemetry()
    metrics = Metrics()
    mcp = McpEndpoint()

    @asynccontextmanager
    async def run(app: FastAPI) -> AsyncIterator[None]:
        try:
            service = Service(config, metrics)
        except KnotworkError as error:
            app.state.failure = error  # `KnotworkServer.serve_at` raises it
            raise
        app.state.service = service
        await asyncio.to_thread(service.start)
        watch = asyncio.create_task(service.requests.watch(service.admits))
        try:
            yield
        finally:
            watch.cancel()
            await mcp.close()
            await asyncio.to_thread(service.close)

    app = FastAPI(
        title="Knotwork",
        version=knotwork.__version__,
        description=_DESCRIPTION,
        lifespan=run,
        openapi_url=f"{API}/openapi.json",
        servers=[{"url": "/", "description": "The server that sent this document."}],
        # FastAPI's documentation pages load scripts from other origins: see `add_pages`.
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,  # functions of generated clients
        telemetry={
            "tracing": settings.telemetry,
            "metrics": settings.telemetry,
            "logs": False,
            "operation_spans": False,
            "auto_configure": settings.telemetry,
        },
    )
    app.state.limits = settings
    handle_errors(app)
    _add_routes(app)
    app.router.routes.extend(mcp.routes())
    add_pages(app)
    app.add_middleware(HeadMiddleware)
    app.add_middleware(AccessMiddleware)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=_ALLOWED_HEADERS,
            expose_headers=[REQUEST_ID_HEADER, "Retry-After"],
        )
    app.add_middleware(RequestMiddleware, metrics=metrics)
    if settings.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(settings.trusted_proxies))
    return app


def _add_routes(app: FastAPI) -> None:
    errors: Responses = {"default": {"model": ErrorEnvelope, "description": "Error."}}
    for router in _ROUTES:
        app.include_router(router, prefix=API, responses=errors, max_body_size=_MOST_BODY_BYTES)
    for routes in (documents, graph, evaluations):
        app.include_router(routes.uploads, prefix=API, responses=errors)  # see `UploadRoute`
    app.include_router(operations.router, responses=errors)
    openai_errors: Responses = {"default": {"model": OpenAIError, "description": "Error."}}
    app.include_router(
        openai.router, prefix="/v1", responses=openai_errors, max_body_size=_MOST_CHAT_BYTES
    )
