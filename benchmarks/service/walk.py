"""Walk the main job on an empty server: drop files, ask, check; count clicks and seconds.

    python benchmarks/service/walk.py --output build/walk --languages en --widths 1280

Six files of the sample are dropped on the start page. When they are read, a question is asked, the
passage of its first citation is opened, and a second question refers to the first. Then every other
page is visited. On each page axe looks for serious findings, and nothing may scroll sideways, ask
another host or write to the console. Pictures are written to the output folder, for each language,
width and theme. Needs the built pages, `playwright` and Chromium.

With `--asks 20`, that many first questions of `benchmarks/threads` are asked about the whole sample
instead, with the default embedder, and the times from Enter to the first text drawn are printed.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from urllib.parse import unquote

from playwright.sync_api import Browser, Locator, sync_playwright

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.browser.serving import fill_sample, run_server  # noqa: E402  found by the line above
from tests.browser.watching import Visit, Visitor, find_program  # noqa: E402

from knotwork.demo import open_sample  # noqa: E402

HEIGHTS = {1280: 800, 1920: 1080, 390: 844}
LOCALES = {"en": "en-GB", "zh": "zh-CN"}
QUESTIONS = {
    "en": ("Who is Oriane Keld's manager?", "Where was he born?"),
    "zh": ("海外出差由谁审批？", "那住宿费呢？"),
}
FILES = 6
VIEWS = {
    "library": "library",
    "graph": "graph",
    "communities": "graph?view=communities",
    "tables": "graph?view=table",
    "evaluation": "evaluation",
}


@dataclass
class Walk:
    """A person on their way, who counts clicks and looks at the clock."""

    visit: Visit
    place: Path
    label: str
    clicks: int = 0
    started: float = 0.0
    reached: list[tuple[str, float, int]] = field(default_factory=list)

    def click(self, target: Locator) -> None:
        """Click, and count it."""
        self.clicks += 1
        target.click()

    def reach(self, what: str) -> None:
        """Note the time since the drop, take a picture, and hold the page to the rules."""
        self.reached.append((what, time.monotonic() - self.started, self.clicks))
        self.look(what)

    def look(self, what: str) -> None:
        """Take a picture, and hold the page to the rules."""
        self.visit.page.wait_for_timeout(600)
        self.visit.page.screenshot(path=self.place / f"{what}-{self.label}.png")
        self.visit.check_access()
        self.visit.check_width()


def read_files(language: str) -> dict[str, str]:
    """Return the texts of a few files of the sample, by name."""
    with open_sample() as folder:
        found = sorted(p for p in (folder / language).iterdir() if p.suffix in (".md", ".txt"))
        return {path.name: path.read_text("utf-8") for path in found[:FILES]}


def walk(visitor: Visitor, place: Path, *, language: str, width: int, colours: str) -> Walk:
    """Go the whole way, from an empty server to each page."""
    visit = visitor.visit(size=(width, HEIGHTS[width]), language=LOCALES[language], colours=colours)
    way = Walk(visit, place, f"{language}-{width}-{colours}")
    page = visit.open("/")
    way.look("start")
    way.started = time.monotonic()
    visit.drop(read_files(language))
    page.wait_for_url(re.compile("/ask$"))
    page.wait_for_function("() => document.activeElement.id === 'question'")
    way.reach("dropped")
    name = unquote(page.url.split("/")[-2])
    visit.await_jobs(name)
    way.reach("ready")
    first, second = QUESTIONS[language]
    page.keyboard.type(first)
    page.keyboard.press("Enter")
    answers = page.locator(".turns > li .answer[aria-busy=false]")
    answers.locator(".chip").first.wait_for()
    way.reach("answer")
    way.click(answers.locator(".chip").first)
    page.locator(".reader mark").first.wait_for()
    way.reach("passage")
    page.keyboard.press("Escape")
    page.locator("#question").fill(second)
    page.keyboard.press("Enter")
    answers.nth(1).wait_for()
    way.reach("follow-up")
    visitor.call("POST", f"/workspaces/{name}/communities/refresh", {})
    visit.await_jobs(name)
    for view, path in VIEWS.items():
        visit.open(f"/{name}/{path}")
        way.look(view)
    visitor.remove_workspace(name)
    return way


def report(way: Walk) -> None:
    """Print what was reached, after how many seconds and clicks."""
    told = (f"{what} {seconds:.1f} s, {clicks} clicks" for what, seconds, clicks in way.reached)
    print(f"{way.label}: {'; '.join(told)}", flush=True)


def walk_all(browser: Browser, options: argparse.Namespace) -> bool:
    """Walk in each language, width and theme, and return whether all went well."""
    options.output.mkdir(parents=True, exist_ok=True)
    good = True
    for language, width, colours in product(options.languages, options.widths, options.themes):
        with tempfile.TemporaryDirectory() as folder, run_server(Path(folder)) as address:
            visitor = Visitor(browser, address)
            try:
                report(
                    walk(visitor, options.output, language=language, width=width, colours=colours)
                )
                visitor.leave()
            except Exception as error:  # noqa: BLE001  the others are walked all the same
                print(f"{language}-{width}-{colours}: {error}", flush=True)
                good = False
    return good


_AWAIT_TEXT = """() => {
    let begun = 0;
    addEventListener("keydown", ({ key }) => { if (key === "Enter") begun = performance.now(); },
        { capture: true });
    const known = document.querySelectorAll(".turns > li").length;
    window.firstText = new Promise(done => new MutationObserver((changes, observer) => {
        if (!document.querySelectorAll(".turns > li")[known]?.querySelector(".answer")?.innerText)
            return;
        observer.disconnect();
        requestAnimationFrame(() => done(performance.now() - begun));
    }).observe(document.body, { subtree: true, childList: true, characterData: true }));
}"""
EMBEDDER = "local:multilingual-e5-small"


def time_asks(browser: Browser, count: int) -> None:
    """Print the milliseconds from Enter to the first text of answers about the sample."""
    lines = (ROOT / "benchmarks/threads/threads.jsonl").read_text("utf-8").splitlines()
    threads = [thread for thread in map(json.loads, lines) if thread["set"] == "sample"]
    asked = [thread["turns"][0]["asks"] for thread in threads][:count]
    with tempfile.TemporaryDirectory() as folder:
        fill_sample(Path(folder) / "sample.knot", embedder=EMBEDDER)
        with run_server(Path(folder), KNOTWORK_EMBEDDING_MODEL=EMBEDDER) as address:
            visitor, took = Visitor(browser, address), []
            page = visitor.visit().open("/sample/ask")
            for number, question in enumerate(asked, 1):
                page.locator("#question").fill(question)
                page.evaluate(_AWAIT_TEXT)
                page.keyboard.press("Enter")
                took.append(page.evaluate("() => window.firstText"))
                page.wait_for_function(
                    "n => document.querySelectorAll('.answer[aria-busy=false]').length === n",
                    arg=number,
                )
            visitor.leave()
    print(" ".join(f"{ms:.0f}" for ms in took))
    print(f"{len(took)} asks: first {took[0]:.0f} ms, median {statistics.median(took):.0f} ms")


def main() -> None:
    """Walk, and exit with 1 when something was wrong on the way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("build/walk"), help="for pictures")
    parser.add_argument("--asks", type=int, help="only time so many questions")
    parser.add_argument("--languages", nargs="+", choices=list(LOCALES), default=list(LOCALES))
    parser.add_argument(
        "--widths", nargs="+", type=int, choices=list(HEIGHTS), default=list(HEIGHTS)
    )
    parser.add_argument("--themes", nargs="+", choices=["light", "dark"], default=["light", "dark"])
    options = parser.parse_args()
    found = find_program()
    if found is None:
        sys.exit("Chromium is not there: install it.")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found)
        if options.asks:
            time_asks(browser, options.asks)
        good = bool(options.asks) or walk_all(browser, options)
        browser.close()
    sys.exit(not good)


if __name__ == "__main__":
    main()
