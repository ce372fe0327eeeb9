"""Visits of pages by a person whose browser keeps account of what goes wrong."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

API = "/api/v1"
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
PROGRAMS = {
    "chromium": ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"),
    "firefox": ("firefox-esr", "firefox"),
}
"""What a browser may be called on this machine; the shell has no window, and costs a third less."""
PHONE = (360, 740)
DESK = (1280, 800)
WAIT_MS = 20_000

_SERIOUS = ("serious", "critical")
_NO_ACCOUNT = ("data:", "blob:", "about:")


def find_program(kind: str = "chromium") -> str | None:
    """Return the path of a browser of this machine; None without one."""
    return next(filter(None, map(shutil.which, PROGRAMS[kind])), None)


@dataclass
class Account:
    """What went wrong while pages were open, in words."""

    address: str
    faults: list[str] = field(default_factory=list)

    def watch(self, page: Any) -> None:
        """Take account of a page from now on."""
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.faults.append(f"uncaught: {error}"))
        page.on("request", self._see)
        page.on("dialog", self._refuse)

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console {message.type}: {message.text} ({message.location})")

    def _see(self, request: Any) -> None:
        if request.url.startswith(_NO_ACCOUNT):
            return
        if urlsplit(request.url).netloc != urlsplit(self.address).netloc:
            self.faults.append(f"request to {request.url}")

    def _refuse(self, dialog: Any) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()


class Visitor:
    """Opens pages of one server, and at the end holds them to the same rules."""

    def __init__(self, browser: Any, address: str) -> None:
        self._browser = browser
        self.address = address
        self.account = Account(address)
        self._contexts: list[Any] = []
        self._caller: Any = None

    def visit(
        self,
        *,
        size: tuple[int, int] = DESK,
        language: str = "en-GB",
        colours: str = "light",
        **options: Any,
    ) -> Visit:
        """Return a page that is still empty."""
        if options.get("has_touch"):
            self.require_chromium("a touch screen")
        context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            locale=language,
            color_scheme=colours,
            reduced_motion="reduce",
            **options,
        )
        context.set_default_timeout(WAIT_MS)
        self._contexts.append(context)
        page = context.new_page()
        self.account.watch(page)
        return Visit(page, self)

    def require_chromium(self, what: str) -> None:
        """Skip the test where the browser cannot be given something."""
        if (name := self._browser.browser_type.name) != "chromium":
            pytest.skip(f"{name} is not given {what}")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the server itself, beside any page; return the data of its answer."""
        if self._caller is None:
            context = self._browser.new_context()
            self._contexts.append(context)
            self._caller = context.request
        response = self._caller.fetch(
            f"{self.address}{API}{path}",
            method=method,
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": "application/json"},
        )
        assert response.ok, response.text()
        return response.json()["data"]

    def remove_workspace(self, name: str) -> None:
        """Remove a workspace once its jobs are over; no page looks at it any more."""
        for context in self._contexts:
            for page in context.pages:
                page.goto("about:blank")
        for job in self.call("GET", f"/workspaces/{name}/jobs"):
            assert job["state"] not in ("queued", "running"), f"a job is left: {job}"
        self.call("DELETE", f"/workspaces/{name}")

    def leave(self) -> None:
        """Close all, and fail when a page misbehaved."""
        for context in self._contexts:
            context.close()
        assert self.account.faults == [], "\n".join(self.account.faults)


@dataclass(slots=True)
class Visit:
    """A page, and what a person checks on any page."""

    page: Any
    visitor: Visitor

    def use_key(self, key: str) -> None:
        """Let the pages of this visit and its tabs have a key already."""
        keeping = f"if (location.host) sessionStorage.setItem('knotwork.key', {json.dumps(key)})"
        self.page.context.add_init_script(keeping)

    def allow_clipboard(self) -> None:
        """Let pages of this visit read what was copied."""
        self.visitor.require_chromium("the clipboard")
        self.page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def open(self, path: str) -> Any:
        """Go to an address below /ui, and return the page once it is drawn."""
        self.page.goto(f"{self.visitor.address}/ui{path}")
        self.page.locator("main h1").wait_for()
        self.page.wait_for_function("() => !document.querySelector('main .skeleton')")
        return self.page

    def drop(self, files: Mapping[str, str]) -> None:
        """Drop files, by name and text, on the page as it is."""
        carried = self.page.evaluate_handle(
            """files => {
                const carried = new DataTransfer();
                for (const [name, text] of Object.entries(files))
                    carried.items.add(new File([text], name));
                return carried;
            }""",
            dict(files),
        )
        main = self.page.get_by_role("main")
        main.dispatch_event("dragenter", {"dataTransfer": carried})
        self.page.locator(".drop-cover").wait_for()
        main.dispatch_event("drop", {"dataTransfer": carried})

    def await_jobs(self, workspace: str) -> None:
        """Wait until a workspace has had jobs, and all are over."""
        over = self.page.evaluate(
            """async workspace => {
                for (let turn = 0; turn < 200; turn += 1) {
                    const reply = await fetch(`/api/v1/workspaces/${workspace}/jobs`);
                    const jobs = (await reply.json()).data ?? [];
                    if (jobs.length > 0 && jobs.every(({ finished }) => finished)) return true;
                    await new Promise(resolve => setTimeout(resolve, 100));
                }
                return false;
            }""",
            workspace,
        )
        assert over, f"the jobs of {workspace} go on"

    def check_access(self) -> None:
        """Fail for what axe calls serious."""
        if not AXE.is_file():
            pytest.skip("axe-core is not there: python3 scripts/build_web.py installs it")
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        told = [
            f"{item['id']}: {item['help']}: {[node['html'][:160] for node in item['nodes'][:4]]}"
            for item in found["violations"]
            if item["impact"] in _SERIOUS
        ]
        assert told == [], "\n".join(told)

    def check_width(self) -> None:
        """Fail when the page scrolls sideways, or a thing that can be pressed lies outside."""
        wide = self.page.evaluate(
            """() => ({
                page: document.documentElement.scrollWidth - document.documentElement.clientWidth,
                body: document.body.scrollWidth - document.documentElement.clientWidth,
            })"""
        )
        assert wide["page"] <= 0, wide
        assert wide["body"] <= 0, wide


_NOT_SHOWN = re.compile(r"^[ >]*(?:\d+[.)] |(?:```|~~~).*$)", re.MULTILINE)


def shown_words(markdown: str) -> list[str]:
    """Return the words of a part of a document that a page shows as text.

    Numbers of items are not text of a page, nor are the marks of code.
    """
    return re.findall(r"[^\W_]+", _NOT_SHOWN.sub("", markdown))
