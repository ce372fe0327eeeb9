"""Measure what the map of the graph costs in a browser: processor time of the page's main thread.

    python benchmarks/service/graph.py --nodes 500 2000 10000

The page is built from `web/benchmarks/graph.html`: the view of the graph page itself, with circles,
titles, names and what stands out, on a graph that is drawn by lot. It is dragged with the mouse,
zoomed, and has entities focused one after the other. Times are those of the DevTools protocol in
thread time (`Performance.getMetrics`, `threadTicks`): what other programs take of the machine, and
what a graphics card would do, is not in them; what a frame takes in which nothing happens is taken
off. Needs Node.js, `playwright` and a Chromium.
"""

from __future__ import annotations

import argparse
import functools
import json
import shutil
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

WEB = Path(__file__).parents[2] / "web"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    # Drawn by a process of its own, as with a graphics card: else the main thread does that, too.
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
FRAMES = 60
FOCUSES = 12
FRAME = "new Promise(requestAnimationFrame)"


class Files(SimpleHTTPRequestHandler):
    """Files of a folder, served without a word."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    handler = functools.partial(Files, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()


class Meter:
    """Processor time of a page's main thread."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read_ms(self) -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return 1_000 * next(m["value"] for m in metrics if m["name"] == "TaskDuration")


def measure(page: Page, address: str, nodes: int) -> dict[str, float]:
    page.goto(f"{address}/graph.html?nodes={nodes}")
    page.wait_for_function("window.measured !== undefined")
    meter = Meter(page)
    before = meter.read_ms()
    page.evaluate("measured.draw()")
    first = meter.read_ms() - before
    idle = _wait(page, meter)
    pan = _drag(page, meter) - idle
    zoom = _repeat(page, meter, "measured.zoom", [1.03, 1 / 1.03] * (FRAMES // 2)) - idle
    ids = [f"n{(index * 97) % nodes}" for index in range(FOCUSES)]
    focus = [_repeat(page, meter, "measured.focus", [one]) for one in ids]
    clear = _repeat(page, meter, "measured.focus", [None])
    return {
        "nodes": page.evaluate("measured.nodes"),
        "edges": page.evaluate("measured.edges"),
        "first_ms": first,
        "idle_ms": idle,
        "pan_ms": pan,
        "zoom_ms": zoom,
        "focus_ms": statistics.median(focus),
        "focus_most_ms": max(focus),
        "clear_ms": clear,
    }


def _wait(page: Page, meter: Meter) -> float:
    """Return what a frame costs in which nothing happens: what measuring itself takes."""
    before = meter.read_ms()
    for _ in range(FRAMES):
        page.evaluate(FRAME)
    return (meter.read_ms() - before) / FRAMES


def _drag(page: Page, meter: Meter) -> float:
    """Return what a frame costs while the mouse drags the map: one move a frame."""
    page.mouse.move(640, 400)
    page.mouse.down()
    page.evaluate(FRAME)
    before = meter.read_ms()
    for step in range(FRAMES):
        page.mouse.move(640 + 3 * (step % 20), 400 + 2 * (step % 15))
        page.evaluate(FRAME)
    cost = meter.read_ms() - before
    page.mouse.up()
    page.wait_for_timeout(400)
    return cost / FRAMES


def _repeat(page: Page, meter: Meter, name: str, values: list[str | float | None]) -> float:
    before = meter.read_ms()
    for value in values:
        page.evaluate(f"{name}({json.dumps(value)})")
    return (meter.read_ms() - before) / len(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[500, 2_000, 10_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", action="store_true", help="fail above 8 ms a pan, 50 a focus")
    asked = parser.parse_args()
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise SystemExit(f"none of {', '.join(BROWSERS)} is there")
    with tempfile.TemporaryDirectory() as folder:
        build = ["npx", "vite", "build", "--config", "benchmarks/vite.config.ts", "--logLevel"]
        build += ["warn", "--outDir", folder, "--emptyOutDir"]
        subprocess.run(build, cwd=WEB, check=True)
        with serve(Path(folder)) as address, sync_playwright() as started:
            browser = started.chromium.launch(executable_path=found, args=FLAGS)
            rows = []
            for nodes in asked.nodes:
                runs = []
                for _ in range(asked.rounds):
                    page = browser.new_page(viewport={"width": 1280, "height": 800})
                    runs.append(measure(page, address, nodes))
                    page.close()
                rows.append({key: statistics.median(r[key] for r in runs) for key in runs[0]})
                print(json.dumps({k: round(v, 1) for k, v in rows[-1].items()}))
            browser.close()
    if asked.limit and any(row["pan_ms"] > 8 or row["focus_ms"] > 50 for row in rows):
        raise SystemExit("The map costs more than it may.")


if __name__ == "__main__":
    main()
