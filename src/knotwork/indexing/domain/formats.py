"""The formats in which graphs come, by name: how to add one is one file and one row here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from knotwork.errors import IndexingError, UnknownName
from knotwork.indexing.domain.elements import Element, ImportOptions

Reader = Callable[[Path, ImportOptions], Iterator[Element]]

_HEAD_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class GraphFormat:
    """A format: ``reader`` is "module:function", loaded on use. ``marks`` are what a file without
    one of its ``suffixes`` may hold near its beginning.
    """

    reader: str
    suffixes: tuple[str, ...]
    summary: str
    marks: tuple[bytes, ...] = ()

    def open(self) -> Reader:
        """Return the reader. Raises MissingExtra where what it needs is not installed."""
        module, _, function = self.reader.partition(":")
        found: Reader = getattr(import_module(f"knotwork.indexing.domain.{module}"), function)
        return found


FORMATS = {
    "table": GraphFormat(
        "tables:read_table",
        (".tsv", ".csv", ".tab", ".txt", ".psv"),
        "triples, nodes or edges as TSV or CSV",
    ),
    "graphml": GraphFormat(
        "graphml:read_graphml",
        (".graphml",),
        "GraphML",
        marks=(b"<graphml", b"graphml.graphdrawing"),
    ),
    "turtle": GraphFormat("rdf:read_turtle", (".ttl",), "RDF as Turtle"),
    "ntriples": GraphFormat("rdf:read_ntriples", (".nt",), "RDF as N-Triples"),
    "nquads": GraphFormat("rdf:read_nquads", (".nq",), "RDF as N-Quads"),
    "trig": GraphFormat("rdf:read_trig", (".trig",), "RDF as TriG"),
}


def choose_format(path: Path, *, format: str = "") -> str:  # noqa: A002
    """Return the name of a file's format, by its ending or its first bytes.

    Raises UnknownName for an unknown format, IndexingError where it cannot be told.
    """
    if format:
        if format not in FORMATS:
            raise UnknownName("graph format", format, FORMATS)
        return format
    suffix = path.suffix.lower()
    for name, known in FORMATS.items():
        if suffix in known.suffixes:
            return name
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    for name, known in FORMATS.items():
        if any(mark in head for mark in known.marks):
            return name
    raise IndexingError(
        f"What kind of graph `{path}` holds cannot be told from its ending.",
        fix=f"Name the format: {', '.join(FORMATS)}.",
    )


def list_files(paths: Sequence[Path], *, format: str = "") -> list[tuple[Path, str]]:  # noqa: A002
    """Return the files of a graph with their formats, those of folders in the order of names.

    Files of a folder in no known format are passed over. Raises IndexingError for a path that does
    not exist, and for folders without any graph.
    """
    found: dict[Path, str] = {}
    for path in paths:
        if path.is_dir():
            for file in sorted(item for item in path.rglob("*") if item.is_file()):
                if _is_known(file):
                    found[file] = choose_format(file, format=format)
        elif path.is_file():
            found[path] = choose_format(path, format=format)
        else:
            raise IndexingError(f"`{path}` does not exist.", fix="Give files of a graph.")
    if not found:
        listed = ", ".join(ending for known in FORMATS.values() for ending in known.suffixes)
        raise IndexingError(
            f"`{paths[0]}` holds no graph." if paths else "No file of a graph was named.",
            fix=f"Files of graphs end with {listed}.",
        )
    return list(found.items())


def _is_known(file: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.parts[-2:])
    suffixes = {ending for known in FORMATS.values() for ending in known.suffixes}
    return not hidden and file.suffix.lower() in suffixes - {".txt"}
