"""Measure the time between frames while the map of the graph is moved in a browser.

    python benchmarks/service/graph.py --nodes 500 2000 5000

The page is built from `web/benchmarks/graph.html`: the map of the graph page itself, on a graph
that is drawn by lot, with twice as many relations as entities. It is dragged, zoomed and pointed at
with the mouse, in Chromium without a graphics card. A screen of 60 Hz has a frame every 16.7 ms, so
no time is shorter. Other programs on the machine make times longer. Needs Node.js, `playwright` and
a Chromium.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import shutil
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

WEB = Path(__file__).parents[2] / "web"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu"]
STEPS = 240
LONGEST_MS = {"median": 17.0, "p95": 50.0}


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


def drag(page: Page) -> None:
    """Drag the map in circles, from its edge, where no entity is."""
    page.mouse.move(1_270, 10)
    page.mouse.down()
    for step in range(STEPS):
        turn = 6 * math.pi * step / STEPS
        page.mouse.move(1_270 - 160 * (1 - math.cos(turn)), 10 + 120 * abs(math.sin(turn)))
    page.mouse.up()


def zoom(page: Page) -> None:
    """Zoom in and out, three times."""
    page.mouse.move(640, 400)
    for step in range(STEPS):
        page.mouse.wheel(0, -40 if step % 80 < 40 else 40)


def point(page: Page) -> None:
    """Move the pointer over the map."""
    for step in range(STEPS):
        page.mouse.move(340 + 2.5 * step, 400 + 90 * math.sin(step / 9))


def focus(page: Page) -> None:
    """Let one entity after the other stand out."""
    for step in range(12):
        page.evaluate("id => measured.show(id)", f"n{step * 7}")
        page.wait_for_timeout(200)


ACTS: dict[str, Callable[[Page], None]] = {
    "drag": drag,
    "zoom": zoom,
    "point": point,
    "focus": focus,
}


def measure(page: Page, address: str, nodes: int) -> dict[str, dict[str, float]]:
    """Return the median, the 95th percentile and the longest of the times, by what is done."""
    page.goto(f"{address}/graph.html?nodes={nodes}")
    page.wait_for_function("window.measured !== undefined")
    page.wait_for_timeout(1_000)
    found = {}
    for name, act in ACTS.items():
        page.evaluate("measured.start()")
        act(page)
        times = page.evaluate("measured.stop()")
        found[name] = {
            "median": statistics.median(times),
            "p95": statistics.quantiles(times, n=20)[-1],
            "most": max(times),
            "frames": len(times),
        }
        page.wait_for_timeout(400)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[500, 2_000, 5_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", action="store_true", help="fail above 17 ms, or a p95 of 50")
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
            is_slow = False
            for nodes in asked.nodes:
                runs = []
                for _ in range(asked.rounds):
                    page = browser.new_page(viewport={"width": 1280, "height": 800})
                    page.on("console", lambda message: print(message.type, message.text))
                    runs.append(measure(page, address, nodes))
                    page.close()
                for act in ACTS:
                    row = {k: statistics.median(run[act][k] for run in runs) for k in runs[0][act]}
                    is_slow |= any(row[key] > most for key, most in LONGEST_MS.items())
                    print(
                        f"{nodes:6,} {act:6}", json.dumps({k: round(v, 1) for k, v in row.items()})
                    )
            browser.close()
    if asked.limit and is_slow:
        raise SystemExit("Frames take longer than they may.")


if __name__ == "__main__":
    main()
