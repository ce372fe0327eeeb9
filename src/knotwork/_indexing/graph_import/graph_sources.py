"""The sources of a graph import: files, or a `Graph` in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path

from knotwork._graph.editable_graph import Graph
from knotwork._indexing.graph_import.formats import (
    FORMATS,
    EntityRow,
    GraphElement,
    ImportOptions,
    ReadBytes,
    RelationRow,
    list_files,
)
from knotwork.errors import IndexingError
from knotwork.records import Node

_BLOCK_BYTES = 1 << 20
_SHOWN_FILES = 3


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
            lambda: [
                _digest(repr(row).encode("utf-8", "surrogatepass") for row in _graph_rows(source))
            ],
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
        return _digest(iter(lambda: file.read(_BLOCK_BYTES), b""))


def _digest(blocks: Iterator[bytes]) -> str:
    digest = blake2b(digest_size=16)
    for block in blocks:
        digest.update(block)
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
