"""The web pages, where there are any; else a page that says what works without."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

PAGES = Path(str(files("knotwork.service"))) / "web"
"""Where the build puts the pages."""

_WITHOUT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Knotwork</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<h1>Knotwork is running</h1>
<p>There are no web pages in this installation. The programs' interface works:
<a href="/api/v1/openapi.json">/api/v1/openapi.json</a> describes it, and
<code>/v1</code> is for clients of OpenAI.</p>
</html>
"""


class Pages(StaticFiles):
    """Files, and the one page for every address that is none of them: it finds its way itself."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or the page."""
        try:
            return await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code != 404 or "." in path.rpartition("/")[2]:
                raise
            return await super().get_response("index.html", scope)


def add_pages(app: FastAPI, folder: Path = PAGES) -> None:
    """Serve the pages below /ui, and lead there from /."""
    if (folder / "index.html").is_file():
        app.mount("/ui", Pages(directory=folder, html=True), name="ui")

        @app.get("/", include_in_schema=False)
        async def lead() -> RedirectResponse:
            return RedirectResponse("/ui/")

        return

    @app.get("/", include_in_schema=False)
    @app.get("/ui", include_in_schema=False)
    @app.get("/ui/{rest:path}", include_in_schema=False)
    async def explain(rest: str = "") -> HTMLResponse:
        del rest
        return HTMLResponse(_WITHOUT)
