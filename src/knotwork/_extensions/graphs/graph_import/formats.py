"""Define the formats of graph files, the elements that readers yield, typed values, and sources.

To add a format, write a reader in its own module and add an entry to `FORMATS`. Readers are
imported on first use.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b, file_digest
from importlib import import_module
from pathlib import Path

from knotwork._extensions.graphs.editable_graph import Graph
from knotwork.errors import IndexingError, UnknownName
from knotwork.records import Node, PropertyValue

Properties = Mapping[str, PropertyValue]

_SPACE = "\x1f"
"""Separates the namespace of an id, such as a node type, from the id."""


@dataclass(frozen=True, slots=True)
class EntityRow:
    """One statement about an entity; a file may have several.

    ``key`` identifies the entity in its graph: its id, after a namespace (`spaced_key`) if ids are
    unique per namespace only. ``names`` are stated names, the best first, and ``aliases`` others;
    without names, one is chosen from the properties or derived from the key. ``is_name`` is True if
    the key itself is a name.
    """

    key: str
    names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    properties: Properties = field(default_factory=dict)
    is_name: bool = False


def spaced_key(space: str, identifier: str) -> str:
    """Return the key of an id in a namespace, or the id itself if ``space`` is ""."""
    return f"{space}{_SPACE}{identifier}" if space else identifier


def split_key(key: str) -> tuple[str, str]:
    """Return the namespace of a key, or "", and its id."""
    space, parted, identifier = key.partition(_SPACE)
    return (space, identifier) if parted else ("", key)


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A relation of two entities, given by their keys.

    ``relation`` is its name as in the file. ``are_names`` is True if the keys are names.
    """

    source: str
    relation: str
    target: str
    properties: Properties = field(default_factory=dict)
    are_names: bool = False


@dataclass(frozen=True, slots=True)
class ReadFault:
    """An invalid line; with ``kept`` it was read in part. ``text`` is the line or its beginning."""

    line: int
    reason: str
    text: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class ReadBytes:
    """The progress of a reader in bytes of its file."""

    count: int


GraphElement = EntityRow | RelationRow | ReadFault | ReadBytes


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of a graph import.

    ``columns`` name the columns of tables without a header. ``delimiter`` separates them; ""
    detects it. ``vectors`` sets whether passages are embedded; names always are. By default (None)
    passages of up to 2,000 entities are embedded. Those of a larger graph, which would take long,
    are found by full text and the graph.
    """

    columns: tuple[str, ...] = ()
    delimiter: str = ""
    vectors: bool | None = None


GraphReader = Callable[[Path, ImportOptions], Iterator[GraphElement]]

_HEAD_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class GraphFormat:
    """A format of graph files.

    ``reader`` is "module:function", imported on use. A file without one of the ``suffixes`` is
    recognized by one of the ``marks`` in its first bytes.
    """

    reader: str
    suffixes: tuple[str, ...]
    summary: str
    marks: tuple[bytes, ...] = ()

    def open(self) -> GraphReader:
        """Import and return the reader."""
        module, _, function = self.reader.partition(":")
        found: GraphReader = getattr(
            import_module(f"knotwork._extensions.graphs.graph_import.{module}"), function
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
    """Return the name of a file's format, by its suffix or its first bytes.

    Raises UnknownName for an unknown ``format``, IndexingError if none is recognized.
    """
    if format:
        if format not in FORMATS:
            raise UnknownName("graph format", format, FORMATS)
        return format
    for name, known in FORMATS.items():
        if path.suffix.lower() in known.suffixes:
            return name
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    for name, known in FORMATS.items():
        if any(mark in head for mark in known.marks):
            return name
    raise IndexingError(
        f"The format of `{path}` cannot be detected.",
        fix=f"Set --format to one of {', '.join(FORMATS)}.",
    )


def list_files(paths: Sequence[Path], *, format: str = "") -> list[tuple[Path, str]]:  # noqa: A002
    """Return the files of a graph with their formats; files of a folder are sorted by name.

    Files in a folder that have an unknown suffix are skipped. Raises IndexingError for a path that
    does not exist, and if no graph file is found.
    """
    suffixes = [ending for known in FORMATS.values() for ending in known.suffixes]
    found: dict[Path, str] = {}
    for path in paths:
        if path.is_dir():
            for file in sorted(item for item in path.rglob("*") if item.is_file()):
                is_hidden = any(part.startswith(".") for part in file.parts[-2:])
                suffix = file.suffix.lower()
                if suffix in suffixes and suffix != ".txt" and not is_hidden:
                    found[file] = choose_format(file, format=format)
        elif path.is_file():
            found[path] = choose_format(path, format=format)
        else:
            raise IndexingError(
                f"`{path}` does not exist.", fix="Give the path of a graph file or a folder."
            )
    if not found:
        raise IndexingError(
            f"`{paths[0]}` has no graph files." if paths else "No graph file was given.",
            fix=f"Graph files end with {', '.join(suffixes)}.",
        )
    return list(found.items())


_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_EXACT_DIGITS = 15
"""Digits that a float preserves; a longer number stays text."""
_TRUTHS = {"true": True, "false": False}
_KINDS = {
    name: kind
    for kind, names in {
        "int": "int integer long short byte int8 int16 int32 int64",
        "float": "float double number",
        "bool": "bool boolean",
    }.items()
    for name in names.split()
}


def kind_named(declared: str) -> str:
    """Return the kind of a declared type such as "int32": "int", "float", "bool" or "str"."""
    return _KINDS.get(declared.strip().lower(), "str")


class KindFinder:
    """Finds the narrowest kind that fits all values of a column."""

    def __init__(self) -> None:
        self._open = ["int", "float", "bool"]
        self._seen = False

    def add(self, text: str) -> None:
        """Take a value into account; empty values do not count."""
        if text and self._open:
            self._seen = True
            self._open = [kind for kind in self._open if _fits(text, kind)]
            if sum(map(str.isdigit, text)) > _EXACT_DIGITS and "float" in self._open:
                self._open.remove("float")

    @property
    def kind(self) -> str:
        """The kind found: "str" if no other fits or there are no values."""
        return self._open[0] if self._seen and self._open else "str"


def parse_value(text: str, kind: str) -> PropertyValue:
    """Return a text as a value of a kind, or the text itself if it does not fit."""
    if kind == "str" or not _fits(text, kind):
        return text
    if kind == "bool":
        return _TRUTHS[text.lower()]
    return int(text) if kind == "int" else float(text)


def parse_list(text: str, kind: str) -> list[PropertyValue]:
    """Return the values of a list in one field."""
    return [parse_value(part.strip(), kind) for part in text.split(";") if part.strip()]


def pack(value: object) -> str:
    """Return a value as JSON; NaN and infinity are written as such."""
    return json.dumps(value, ensure_ascii=False)


def _fits(text: str, kind: str) -> bool:
    if kind == "bool":
        return text.lower() in _TRUTHS
    if kind == "int":
        return _INTEGER.fullmatch(text) is not None
    return _DECIMAL.fullmatch(text) is not None


_SHOWN_FILES = 3
_digest = partial(blake2b, digest_size=16)


@dataclass(frozen=True, slots=True)
class GraphSource:
    """What an import reads.

    ``name`` is the name of the graph if none is given; "" if it has none. ``shown`` is the source
    in errors, ``origin`` the metadata ``imported_from`` of the documents. ``formats`` maps file
    names to formats, ``size`` are the bytes of the files. ``read`` yields the elements of the
    graph, each with the name of its file; ``digests`` returns texts that change with the graph.
    """

    name: str
    shown: str
    origin: str
    formats: Mapping[str, str]
    size: int
    read: Callable[[ImportOptions], Iterator[tuple[str, GraphElement]]]
    digests: Callable[[], list[str]]


def open_source(source: Graph | Sequence[Path], *, format: str = "") -> GraphSource:  # noqa: A002
    """Return the source of a graph, or of files and folders.

    Raises IndexingError for a graph without entities, and as `list_files`.
    """
    if isinstance(source, Graph):
        if not source.entities:
            raise IndexingError(
                "The graph has no entities.", fix="Add some with `add_entity` or `add_triples`."
            )
        return GraphSource(
            "",
            "",
            "memory",
            {},
            0,
            lambda _: (("", row) for row in _graph_rows(source)),
            lambda: [_graph_digest(source)],
        )
    files = list_files(source, format=format)
    first = source[0].absolute()
    name = first.name if first.is_dir() else first.stem
    return GraphSource(
        " ".join(name.split()) or "graph",
        ", ".join(f"`{path}`" for path, _ in files[:_SHOWN_FILES]),
        ", ".join(sorted({found for _, found in files})),
        {path.name: found for path, found in files},
        sum(path.stat().st_size for path, _ in files),
        partial(_read_files, files),
        lambda: [part for path, kind in files for part in (path.name, kind, _file_digest(path))],
    )


def _read_files(
    files: Sequence[tuple[Path, str]], options: ImportOptions
) -> Iterator[tuple[str, GraphElement]]:
    before = 0
    for path, found in files:
        for element in FORMATS[found].open()(path, options):
            if isinstance(element, ReadBytes):
                yield path.name, ReadBytes(before + element.count)
            else:
                yield path.name, element
        before += path.stat().st_size


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, _digest).hexdigest()


def _graph_digest(graph: Graph) -> str:
    digest = _digest()
    for row in _graph_rows(graph):
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _graph_rows(graph: Graph) -> Iterator[EntityRow | RelationRow]:
    """Yield the rows of a graph in memory.

    An entity is identified by its name, so that spellings of a name are merged as in triples, but
    by its id if the graph has several entities of that name.
    """
    entities, relations = graph.entities, graph.relations
    named = Counter(node.name for node in entities)
    keys = {node.id: node.name if named[node.name] == 1 else node.id for node in entities}
    related = {end for edge in relations for end in (edge.source, edge.target)}
    for node in entities:
        row = _entity_row(node, keys[node.id])
        # An entity of which only the name is known has no text but that of its relations.
        is_shared = not row.is_name
        if is_shared or row.labels or row.aliases or row.properties or node.id not in related:
            yield row
    for edge in relations:
        weight = {} if edge.weight == 1 else {"weight": edge.weight}
        properties = {**weight, **edge.properties}
        source, target = keys[edge.source], keys[edge.target]
        yield RelationRow(source, edge.name, target, properties, are_names=True)


def _entity_row(node: Node, key: str) -> EntityRow:
    properties = node.own_properties
    aliases = tuple(properties.pop("aliases", ()))
    labels = tuple(filter(None, [node.properties.get("type")]))
    return EntityRow(key, (node.name,), aliases, labels, properties, is_name=key == node.name)
