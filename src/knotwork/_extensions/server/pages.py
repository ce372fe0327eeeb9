"""Serve the built web pages below /ui, or a page with build instructions, and /docs."""

from __future__ import annotations

import mimetypes
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

PAGES = Path(str(files("knotwork._extensions.server"))) / "web"
"""The output folder of the web build."""

DOCS = PAGES.with_name("docs")
"""The page that shows the OpenAPI document, which needs no build."""

BUILD_COMMAND = "python3 scripts/build_web.py"

_ASSETS = "assets/"
_CACHE_IMMUTABLE = "public, max-age=31536000, immutable"
"""For files with a content hash in their names."""

_LEAST_GZIP_BYTES = 1_000
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
"""Some systems map these suffixes to other types, which browsers refuse to run."""

_NOT_BUILT_PAGE = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Knotwork</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<h1>Knotwork is running</h1>
<p>This installation does not include the web pages. Get Node.js 20.19 or newer, install Knotwork
from its source checkout again, which builds them, and restart the server. After
<code>pip install -e</code>, run <code>{BUILD_COMMAND}</code> there instead.</p>
<p>Everything else works: <a href="/docs">/docs</a> describes the API, and <code>/v1</code> is
OpenAI-compatible.</p>
</html>
"""


class WebPages(StaticFiles):
    """Static files, and `index.html` for all other paths, which the page routes itself."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or `index.html`."""
        try:
            response = await super().get_response(path, scope)
        except HTTPException as error:
            # A missing asset of an older build must stay a 404.
            if error.status_code != 404 or _is_asset(path):
                raise
            response = await super().get_response("index.html", scope)
        response.headers["Cache-Control"] = _CACHE_IMMUTABLE if _is_asset(path) else "no-cache"
        return response


def _is_asset(path: str) -> bool:
    return path.replace("\\", "/").startswith(_ASSETS)


def has_pages(folder: Path = PAGES) -> bool:
    """Return True if a folder contains the built pages."""
    return (folder / "index.html").is_file()


def add_pages(app: FastAPI, folder: Path = PAGES) -> None:
    """Serve the pages below /ui, and redirect / to them; serve /docs."""
    for suffix, kind in _TYPES.items():
        mimetypes.add_type(kind, suffix)
    docs = WebPages(directory=DOCS, html=True)

    @app.get("/docs", include_in_schema=False)
    async def show_docs(request: Request) -> Response:
        return await docs.get_response("index.html", request.scope)

    app.mount("/docs", docs)
    if has_pages(folder):
        pages = WebPages(directory=folder, html=True)
        app.mount("/ui", GZipMiddleware(pages, minimum_size=_LEAST_GZIP_BYTES), name="ui")

        @app.get("/", include_in_schema=False)
        async def redirect() -> RedirectResponse:
            return RedirectResponse("/ui/")

        return

    @app.get("/", include_in_schema=False)
    @app.get("/ui", include_in_schema=False)
    @app.get("/ui/{rest:path}", include_in_schema=False)
    async def explain(rest: str = "") -> HTMLResponse:
        del rest
        return HTMLResponse(_NOT_BUILT_PAGE)
