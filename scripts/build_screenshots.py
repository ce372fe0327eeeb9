"""Take the pictures of docs/screenshots: every page, in both languages and both colours.

Run it after a change that shows: `python3 scripts/build_screenshots.py`, or with the names of those
to take, as `ask evaluation`. It needs the built pages, Chromium, and fonts for Chinese. A server of
its own gets the demo's documents as a person would send them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.serving import run_server  # noqa: E402  found by the line above
from tests.browser.watching import DESK, PHONE, Visitor, find_program  # noqa: E402

from knotwork.demo import open_sample  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import APIRequestContext, Page

SHOTS = ROOT / "docs" / "screenshots"
COLOURS = 224
TALL = (1280, 1460)
MOST_LOOKS = 20
WORKSPACE = "demo"
MODEL = "local:multilingual-e5-small"
QUESTION = {
    "en": "Where was the designer of the Kestrel probe born?",
    "zh": "海外出差由谁审批？",
}
BROKEN = b"%PDF-1.4\n1 0 obj\nnothing follows\n%%EOF\n"
MEASURED = (
    ("Who approves trips abroad?", "travel-policy.docx", "Travel Office"),
    ("Where was the designer of the Kestrel probe born?", "kestrel-probe.html|oriane-keld.txt",
     "Tarnby"),
    ("What did Oriane Keld study?", "oriane-keld.txt", "physical chemistry"),
    ("海外出差由谁审批？", "差旅管理办法.md", "办事处主任"),
    ("Which storm crossed Varrow Sound in 2023?", "storm-ondine-report.md", "Storm Ondine"),
    ("Who leads the Travel Office?", "expenses-faq.md", "Dario Fenn"),
    ("What does the Kestrel probe measure?", "kestrel-probe.html", "conductivity"),
    ("How much may a hotel cost?", "travel-policy.docx", "140 crowns"),
)  # fmt: skip
RETRIEVERS = "auto,hybrid,bm25,dense,graph,paths,pagerank,sentence_window"


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture: where, and what is done there before it is taken."""

    name: str
    page: str
    act: Callable[[Page, str], None] = lambda _page, _language: None
    size: tuple[int, int] = DESK


def open_thing(page: Page, language: str) -> None:
    """Find a thing of the graph."""
    name = {"en": "Oriane Keld", "zh": "奥丽安·凯尔德"}[language]
    page.get_by_role("combobox").first.fill(name)
    page.get_by_role("option", name=re.compile(f"^{name}")).first.click()
    page.locator(".source mark").first.wait_for()


def open_citation(page: Page, language: str) -> None:
    """Ask, and open the first citation."""
    ask(page, language)
    page.locator(".answer-text button").first.click()
    page.locator(".reader mark").first.wait_for()


def ask(page: Page, language: str) -> None:
    """Ask a question, and wait until it is answered."""
    page.locator("#question").fill(QUESTION[language])
    page.keyboard.press("Control+Enter")
    page.locator(".answer-text button").first.wait_for()


def compare(page: Page, language: str) -> None:
    """Ask two retrievers side by side."""
    asked = urlencode({"q": QUESTION[language], "vs": "hybrid,graph"})
    page.goto(f"{page.url.partition('?')[0]}?{asked}")
    page.locator("main table tr").nth(2).wait_for()


def open_report(page: Page, _language: str) -> None:
    """Open the first community of the tree."""
    page.locator(".tree-row a").first.click()


def open_document(page: Page, language: str) -> None:
    """Open a document, with what it names underlined."""
    title = {"en": "Kestrel probe", "zh": "差旅管理办法"}[language]
    page.get_by_role("link", name=title).first.click()
    page.locator(".document-text").wait_for()
    page.locator(".document-body").wait_for()


def open_question(page: Page, _language: str) -> None:
    """Compare two retrievers on one question."""
    page.locator(".case-box button").first.click()
    page.locator(".pair-side").nth(1).wait_for()
    page.evaluate("() => window.scrollTo(0, 0)")


SHOTS_OF_PAGES = (
    Shot("library", "library"),
    Shot("graph", "graph"),
    Shot("graph-entity", "graph", open_thing),
    Shot("ask", "ask", open_citation),
    Shot("ask-compare", "ask", compare),
    Shot("communities", "communities", open_report),
    Shot("documents", "documents", open_document),
    Shot("evaluation", "evaluation", open_question, TALL),
    Shot("phone", "ask", ask, PHONE),
)


def main() -> None:
    """Take all pictures, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="pictures to take")
    names = parser.parse_args().names
    from playwright.sync_api import sync_playwright

    found = find_program()
    if found is None:
        sys.exit("Chromium is not there: install it, and fonts-noto-cjk for Chinese.")
    shots = [shot for shot in SHOTS_OF_PAGES if shot.name in names or not names]
    SHOTS.mkdir(parents=True, exist_ok=True)
    with serve() as address, sync_playwright() as started:
        flags = ["--enable-unsafe-swiftshader", "--font-render-hinting=none"]
        browser = started.chromium.launch(executable_path=found, args=flags)
        fill(Visitor(browser, address), address)
        for language in ("en", "zh"):
            for colours in ("light", "dark"):
                for shot in shots:
                    visitor = Visitor(browser, address)
                    take(visitor, shot, language, colours)
                    visitor.leave()
        browser.close()


@contextmanager
def serve() -> Iterator[str]:
    """Serve an empty folder."""
    with (
        tempfile.TemporaryDirectory() as folder,
        run_server(Path(folder), KNOTWORK_EMBEDDING_MODEL=MODEL) as address,
    ):
        yield address


def fill(visitor: Visitor, address: str) -> None:
    """Send the demo's documents and one that cannot be read, and measure retrievers on them."""
    visitor.call("POST", "/workspaces", {"name": WORKSPACE})
    request = visitor.visit().page.context.request
    place = f"{address}/api/v1/workspaces/{WORKSPACE}"

    def follow(job: str) -> None:
        request.get(f"{place}/jobs/{job}/events", timeout=300_000)

    with open_sample() as folder:
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
    for name, content in {**files, "en/scan-0412.pdf": BROKEN}.items():
        part = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        request.post(f"{place}/documents", multipart={"files": part, "index": "false"})
    follow(visitor.call("POST", f"/workspaces/{WORKSPACE}/index", {})["id"])
    refresh = f"/workspaces/{WORKSPACE}/communities/refresh"
    follow(visitor.call("POST", refresh, {})["id"])
    for name, questions in (("First questions", MEASURED[:5]), ("With answers", MEASURED)):
        follow(measure(request, place, name, questions))


def measure(
    request: APIRequestContext, place: str, name: str, questions: tuple[tuple[str, ...], ...]
) -> str:
    """Start an evaluation, and return its job."""
    lines = "\n".join(
        json.dumps({"question": text, "gold_pids": pids.split("|"), "answers": [answer]})
        for text, pids, answer in questions
    )
    part = {"name": "questions.jsonl", "mimeType": "application/jsonl", "buffer": lines.encode()}
    fields = {"name": name, "retrievers": RETRIEVERS, "answers": "true", "questions": part}
    started = request.post(f"{place}/evaluations", multipart=fields)
    assert started.ok, started.text()
    job: str = started.json()["data"]["job"]
    return job


def take(visitor: Visitor, shot: Shot, language: str, colours: str) -> None:
    """Take a picture, once nothing moves any more, in as few colours as do."""
    from PIL import Image

    locale = {"en": "en-GB", "zh": "zh-CN"}[language]
    visit = visitor.visit(size=shot.size, language=locale, colours=colours)
    page = visit.open(f"/{WORKSPACE}/{shot.page}")
    shot.act(page, language)
    page.mouse.move(0, 0)
    page.wait_for_load_state("networkidle")
    before = b""
    for _ in range(MOST_LOOKS):
        seen = page.screenshot()
        if seen == before:
            break
        before = seen
    picture = Image.open(BytesIO(seen)).convert("RGB")
    small = picture.quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(SHOTS / f"{shot.name}-{language}-{colours}.png", optimize=True)


if __name__ == "__main__":
    main()
