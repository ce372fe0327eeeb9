"""Measure how far a reader walks: files and functions that one document and one question pass.

    python benchmarks/structure/measure.py [--list | --check | --write]

Prints the size of the package, its import circles, and, for indexing one .docx file and for asking
one question, the distinct source files and functions that run and the deepest chain of calls inside
the package, once all modules are imported. ``--list`` also prints these files, each with the number
of its functions that ran.
Imports are counted wherever they stand, under ``if TYPE_CHECKING`` and in functions too.

``house.toml`` beside this file has the figures of the last commit. ``--check`` fails if one grew.
``--write`` writes those that fell. What grows on purpose is changed in ``house.toml`` by hand, and
the commit says why.
"""

from __future__ import annotations

import argparse
import ast
import gc
import inspect
import os
import statistics
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import partial
from pathlib import Path
from types import CodeType, FrameType

import networkx as nx
from docx import Document

import knotwork

PACKAGE = Path(knotwork.__file__).resolve().parent
TEXT = (
    "The Harbour Museum was founded by Mara Lindqvist in 1962.",
    "It keeps 4,000 ship models and lends them to schools.",
    "Mara Lindqvist was born in Ystad and studied in Lund.",
)
QUESTION = "Who founded the Harbour Museum?"
FIRST_QUESTION = "Who founded the Museum of the Harbour?"
"""Asked before, so that everything is imported. No reading of it is kept for the other question."""

HOUSE = Path(__file__).with_name("house.toml")
EXTENSIONS = "_extensions"
"""The folder of what the core does not import. Its lines are counted apart once it is there."""

HEADER = """\
# The size of the package, and how far one document and one question walk through it.
# `python3 -m nox -s structure` fails if a figure grew; add `-- --write` to write those that fell.
# See measure.py.
"""

Figures = dict[str, dict[str, int]]
"""Figures by their table and name."""


class Walk:
    """The package's functions that run while it is traced, and how deep they call each other."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        self.depth = 0

    def trace(self, work: Callable[[], object]) -> None:
        """Run a piece of work and note what it calls, in this thread and in those it starts."""
        gc.collect()
        gc.disable()  # else finalizers of ours run whenever it comes
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            work()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            gc.enable()

    @property
    def files(self) -> Counter[str]:
        return Counter(str(Path(code.co_filename).relative_to(PACKAGE)) for code in self.codes)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not _is_ours(frame.f_code):
            return
        if frame.f_code not in self.codes:
            self.codes.add(frame.f_code)
            self.depth = max(self.depth, sum(_is_ours(code) for code in _callers(frame)))


def _is_ours(code: CodeType) -> bool:
    is_function = bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_name.startswith("<")
    return is_function and code.co_filename.startswith(f"{PACKAGE}/")


def _callers(frame: FrameType | None) -> Iterator[CodeType]:
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


def find_circles() -> list[list[str]]:
    """Return the groups of modules that import each other, directly or over others."""
    paths = {_module(path): path for path in PACKAGE.rglob("*.py")}
    graph = nx.DiGraph()
    for module, path in paths.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                named = [f"{node.module}.{alias.name}" for alias in node.names]
                graph.add_edges_from(
                    (module, target if target in paths else node.module)
                    for target in named
                    if node.module in paths and module not in {target, node.module}
                )
    return [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1]


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def walk_through() -> dict[str, Walk]:
    """Trace one document with the process that reads it, one without, and one question."""
    walks: dict[str, Walk] = {}
    for name in [name for name in os.environ if name.startswith("KNOTWORK_")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        source = Path("museum.docx")
        document = Document()
        for paragraph in TEXT:
            document.add_paragraph(paragraph)
        document.save(str(source))
        for question in (FIRST_QUESTION, QUESTION):
            walks = {"index": Walk(), "index_in_process": Walk(), "ask": Walk()}
            for name, workers in (("index", 1), ("index_in_process", 0)):
                with knotwork.open(f"{name} {question}.knot", index_workers=workers) as base:
                    walks[name].trace(partial(base.index, source))
                    if name == "index":
                        walks["ask"].trace(partial(base.ask, question))
    return walks


def count_lines() -> Figures:
    """Count files and lines of the package, of its two storeys, and of each top package."""
    parts: Counter[str] = Counter()
    files = 0
    for path in PACKAGE.rglob("*.py"):
        files += 1
        folders = path.relative_to(PACKAGE).parts[:-1]
        depth = 2 if folders[:1] == (EXTENSIONS,) else 1
        name = "/".join(folders[:depth]) or "knotwork"
        parts[name] += len(path.read_text(encoding="utf8").splitlines())
    extensions = sum(n for name, n in parts.items() if name.split("/")[0] == EXTENSIONS)
    src = {"files": files, "lines": parts.total()}
    if extensions:
        src |= {"core": parts.total() - extensions, "extensions": extensions}
    return {"src": src, "lines": dict(sorted(parts.items()))}


def measure(walks: dict[str, Walk]) -> Figures:
    """Return all figures of ``house.toml``."""
    return count_lines() | {
        name: {"files": len(walk.files), "functions": len(walk.codes), "depth": walk.depth}
        for name, walk in walks.items()
    }


def find_growth(now: Figures, before: Figures) -> list[str]:
    """Say which figures are larger than they were, and which have none to compare with."""
    said = []
    for table, figures in now.items():
        for name, figure in figures.items():
            bound = before.get(table, {}).get(name)
            if bound is None:
                said.append(f"{table}.{name} is new: {figure}")
            elif figure > bound:
                said.append(f"{table}.{name} grew by {figure - bound}: {bound} -> {figure}")
    return said


def lower(now: Figures, before: Figures) -> Figures:
    """Return the figures to write: each the smaller one of both, and new ones.

    Lines that moved within the package are no growth: where all lines are no more than before, the
    figures of its parts are those of now.
    """
    if now["src"]["lines"] <= before["src"]["lines"]:
        moved = {key: now["src"][key] for key in ("extensions",) if key in now["src"]}
        before = before | {"lines": now["lines"], "src": before["src"] | moved}
    return {
        table: {
            name: min(figure, before.get(table, {}).get(name, figure))
            for name, figure in figures.items()
        }
        for table, figures in now.items()
    }


def write_figures(figures: Figures) -> None:
    """Write ``house.toml``."""
    tables = (
        f"[{table}]\n" + "".join(f"{_key(name)} = {figure}\n" for name, figure in named.items())
        for table, named in figures.items()
    )
    HOUSE.write_text("\n".join((HEADER, *tables)), encoding="utf8")


def _key(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'


def check(now: Figures, *, writes: bool) -> None:
    """Compare with ``house.toml``, and write what fell if asked. Exit with a message on growth."""
    before: Figures = tomllib.loads(HOUSE.read_text(encoding="utf8"))
    if writes:
        before = lower(now, before)
        write_figures(before)
    if said := find_growth(now, before):
        if not writes and now["src"]["lines"] <= before["src"]["lines"]:
            said.append("If lines only moved between parts: python3 -m nox -s structure -- --write")
        sys.exit("\n".join([f"Against {HOUSE.name}:", *said]))
    if now != before:
        print("Figures fell: python3 -m nox -s structure -- --write")


def main() -> None:
    """Print the figures, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--list", action="store_true", help="print the files of the walks")
    how.add_argument("--check", action="store_true", help="fail if a figure grew")
    how.add_argument("--write", action="store_true", help="write figures that fell")
    asked = parser.parse_args()
    walks = walk_through()
    figures = measure(walks)
    if asked.check or asked.write:
        check(figures, writes=asked.write)
    else:
        print_figures(figures, walks, listed=asked.list)


def print_figures(figures: Figures, walks: dict[str, Walk], *, listed: bool) -> None:
    """Print the size of the package, its import circles, and how far the walks go."""
    lengths = [len(path.read_text(encoding="utf8").splitlines()) for path in PACKAGE.rglob("*.py")]
    sizes = ", ".join(f"{name}: {figure}" for name, figure in figures["src"].items())
    print(f"{sizes}, median: {statistics.median(lengths):.0f}, longest: {max(lengths)}")
    circles = find_circles()
    print(f"import circles: {len(circles)}")
    for circle in circles:
        print("   ", " ".join(circle))
    for name, walk in walks.items():
        files = walk.files
        print(f"{name}: {len(files)} files, {len(walk.codes)} functions, depth {walk.depth}")
        if listed:
            for file, count in sorted(files.items()):
                print(f"    {file} {count}")


if __name__ == "__main__":
    main()
