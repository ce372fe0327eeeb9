"""Serve the built web pages below /ui, or a page with build instructions."""

from __future__ import annotations

import mimetypes
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

PAGES = Path(str(files("knotwork.service"))) / "web"
"""Where the build puts the pages."""

BUILD_COMMAND = "python3 scripts/build_web.py"

_ASSETS = "assets/"
_CACHE_IMMUTABLE = "public, max-age=31536000, immutable"
"""For files whose names hold a hash of what is in them."""

_LEAST_GZIP_BYTES = 1_000
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
"""A machine may call these something else, and browsers then run none of them."""

_NOT_BUILT_PAGE = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Knotwork</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<h1>Knotwork is running</h1>
<p>There are no web pages in this installation. With Node.js 20 or newer, this builds them in a copy
of the source: <code>{BUILD_COMMAND}</code>. Where the package was not installed with
<code>-e</code>, install it again after that, and start the server anew.</p>
<p>All else works: <a href="/api/v1/openapi.json">/api/v1/openapi.json</a> describes the interface
for programs, and <code>/v1</code> is for clients of OpenAI.</p>
</html>
"""


class WebPages(StaticFiles):
    """Files, and the one page for every address that is none of them: it finds its way itself."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or the page."""
        try:
            response = await super().get_response(path, scope)
        except HTTPException as error:
            # A file of a build that is gone must not look as if it were there.
            if error.status_code != 404 or _is_asset(path):
                raise
            response = await super().get_response("index.html", scope)
        response.headers["Cache-Control"] = _CACHE_IMMUTABLE if _is_asset(path) else "no-cache"
        return response


def _is_asset(path: str) -> bool:
    return path.replace("\\", "/").startswith(_ASSETS)


def has_pages(folder: Path = PAGES) -> bool:
    """Tell whether the pages were built into a folder."""
    return (folder / "index.html").is_file()


def add_pages(app: FastAPI, folder: Path = PAGES) -> None:
    """Serve the pages below /ui, and lead there from /."""
    if has_pages(folder):
        for suffix, kind in _TYPES.items():
            mimetypes.add_type(kind, suffix)
        pages = WebPages(directory=folder, html=True)
        app.mount("/ui", GZipMiddleware(pages, minimum_size=_LEAST_GZIP_BYTES), name="ui")

        @app.get("/", include_in_schema=False)
        async def lead() -> RedirectResponse:
            return RedirectResponse("/ui/")

        return

    @app.get("/", include_in_schema=False)
    @app.get("/ui", include_in_schema=False)
    @app.get("/ui/{rest:path}", include_in_schema=False)
    async def explain(rest: str = "") -> HTMLResponse:
        del rest
        return HTMLResponse(_NOT_BUILT_PAGE)
