"""Measure how far a reader walks: files and functions that one document and one question pass.

    python benchmarks/structure/measure.py [--list]

Prints the size of the package, its import circles, and, for indexing one .docx file and for asking
one question, the distinct source files and functions that run and the deepest chain of calls inside
the package, once all modules are imported. ``--list`` also prints these files, each with the number
of its functions that ran.
Imports are counted wherever they stand, under ``if TYPE_CHECKING`` and in functions too.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import statistics
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FrameType

import networkx as nx
from docx import Document

import knotwork
from knotwork._questions.reading import reading_of

PACKAGE = Path(knotwork.__file__).resolve().parent
TEXT = (
    "The Harbour Museum was founded by Mara Lindqvist in 1962.",
    "It keeps 4,000 ship models and lends them to schools.",
    "Mara Lindqvist was born in Ystad and studied in Lund.",
)
QUESTION = "Who founded the Harbour Museum?"


class Walk:
    """The package's functions that run while it is traced, and how deep they call each other."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        self.depth = 0

    def trace(self, work: Callable[[], object]) -> None:
        """Run a piece of work and note what it calls, in this thread and in those it starts."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            work()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

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


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the files of both walks")
    listed = parser.parse_args().list
    lengths = [len(path.read_text(encoding="utf8").splitlines()) for path in PACKAGE.rglob("*.py")]
    print(f"files: {len(lengths)}, lines: {sum(lengths)}, median: {statistics.median(lengths):.0f}")
    print(f"longest file: {max(lengths)} lines")
    circles = find_circles()
    print(f"import circles: {len(circles)}")
    for circle in circles:
        print("   ", " ".join(circle))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "museum.docx")
        document = Document()
        for paragraph in TEXT:
            document.add_paragraph(paragraph)
        document.save(str(source))
        indexing, asking = Walk(), Walk()
        for name in ("warm.knot", "traced.knot"):
            with knotwork.open(Path(folder, name)) as base:
                indexing.trace(partial(base.index, source))
                asking.trace(partial(base.ask, QUESTION))
            if name == "warm.knot":
                indexing, asking = Walk(), Walk()
                reading_of.cache_clear()
    for name, walk in (("one .docx", indexing), ("one question", asking)):
        files = walk.files
        print(f"{name}: {len(files)} files, {len(walk.codes)} functions, depth {walk.depth}")
        if listed:
            for file, count in sorted(files.items()):
                print(f"    {file} {count}")


if __name__ == "__main__":
    main()
