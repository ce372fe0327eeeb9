"""Formats of graph files, the elements that their readers yield, and typed property values.

To add a format, write a reader in its own module and add an entry to `FORMATS`, which loads it on
use.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from knotwork.errors import IndexingError, UnknownName
from knotwork.records import PropertyValue

Properties = Mapping[str, PropertyValue]

SPACE = "\x1f"
"""What stands between the space of an id, such as a type of nodes, and the id."""


@dataclass(frozen=True, slots=True)
class EntityRow:
    """What one place of a file says of a thing; further places may say more.

    ``key`` is what identifies it in its graph: its id, after that of a space and `SPACE` where ids
    count within spaces. ``names`` are stated names, the best first, and ``aliases`` others; without
    names one is chosen among the properties, or made of the key. ``is_name`` tells that the key
    itself is how people call it.
    """

    key: str
    names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    properties: Properties = field(default_factory=dict)
    is_name: bool = False


def spaced_key(space: str, identifier: str) -> str:
    """Return the key of an id within a space; "" is none."""
    return f"{space}{SPACE}{identifier}" if space else identifier


@dataclass(frozen=True, slots=True)
class RelationRow:
    """One relation of two things, by their keys; ``are_names`` as ``is_name`` of a thing.

    ``relation`` is its name as the file has it.
    """

    source: str
    relation: str
    target: str
    properties: Properties = field(default_factory=dict)
    are_names: bool = False


@dataclass(frozen=True, slots=True)
class ReadFault:
    """A line that could not be read, or not in full (``kept``); ``text`` begins as it does."""

    line: int
    reason: str
    text: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class ReadBytes:
    """How far a reader is, in bytes of its file."""

    count: int


GraphElement = EntityRow | RelationRow | ReadFault | ReadBytes


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How files are read and indexed.

    ``columns`` are the names of the columns of tables without a header, ``delimiter`` what parts
    them ("" tells by itself). ``vectors`` tells whether passages are embedded, where there is an
    embedder: names always are. By default (None) those of a graph of up to 2,000 things are; full
    text and the graph find the passages of a bigger one, which would take long.
    """

    columns: tuple[str, ...] = ()
    delimiter: str = ""
    vectors: bool | None = None


GraphReader = Callable[[Path, ImportOptions], Iterator[GraphElement]]

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

    def open(self) -> GraphReader:
        """Return the reader. Raises MissingExtra where what it needs is not installed."""
        module, _, function = self.reader.partition(":")
        found: GraphReader = getattr(
            import_module(f"knotwork.indexing.graph_import.{module}"), function
        )
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


_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_EXACT_DIGITS = 15
"""A number with more digits would not come out of a float as it went in: it stays text."""
_TRUTHS = {"true": True, "false": False}
_KINDS = {
    "int": "int",
    "integer": "int",
    "long": "int",
    "short": "int",
    "byte": "int",
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "int",
    "float": "float",
    "double": "float",
    "number": "float",
    "boolean": "bool",
    "bool": "bool",
}


def kind_named(declared: str) -> str:
    """Return the kind of a declared type, as "int32": int, float, bool or str."""
    return _KINDS.get(declared.strip().lower(), "str")


class KindFinder:
    """Finds the narrowest kind that all values of a column have."""

    def __init__(self) -> None:
        self._open = ["int", "float", "bool"]
        self._seen = False

    def add(self, text: str) -> None:
        """Take a value into account; an empty one says nothing."""
        if text and self._open:
            self._seen = True
            self._open = [kind for kind in self._open if _fits(text, kind)]
            if sum(map(str.isdigit, text)) > _EXACT_DIGITS and "float" in self._open:
                self._open.remove("float")

    @property
    def kind(self) -> str:
        """The kind found: str where no other fits, or there was no value."""
        return self._open[0] if self._seen and self._open else "str"


def parse_value(text: str, kind: str) -> PropertyValue:
    """Return a value of a kind; the text itself where it is none of that kind."""
    if kind == "str" or not _fits(text, kind):
        return text
    if kind == "bool":
        return _TRUTHS[text.lower()]
    return int(text) if kind == "int" else float(text)


def parse_list(text: str, kind: str, *, separator: str = ";") -> list[PropertyValue]:
    """Return the values of a list that is written in one field."""
    return [parse_value(part.strip(), kind) for part in text.split(separator) if part.strip()]


def say_value(value: PropertyValue) -> str:
    """Return a value as people read it, on one line; "" for one that says nothing."""
    if value is None or isinstance(value, str):
        return " ".join((value or "").split())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value.is_integer() else repr(value)
    if isinstance(value, Sequence):
        return ", ".join(filter(None, map(say_value, value)))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {say_value(item)}" for key, item in value.items())
    return str(value)


def pack(value: object) -> str:
    """Return a value as JSON; floats that are no numbers stay."""
    return json.dumps(value, ensure_ascii=False)


def _fits(text: str, kind: str) -> bool:
    if kind == "bool":
        return text.lower() in _TRUTHS
    if kind == "int":
        return _INTEGER.fullmatch(text) is not None
    return _DECIMAL.fullmatch(text) is not None
