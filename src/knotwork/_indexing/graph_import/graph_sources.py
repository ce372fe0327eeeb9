"""The sources of a graph import: files, or a `Graph` in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

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
from knotwork.errors import ConfigError, IndexingError
from knotwork.records import Node

_BLOCK_BYTES = 1 << 20
_SHOWN_FILES = 3


class GraphSource(Protocol):
    """What an import reads.

    ``formats`` maps file names to formats; ``origin`` is the metadata ``imported_from`` of the
    documents.
    """

    formats: dict[str, str]
    origin: str

    @property
    def size(self) -> int:
        """The bytes to read; 0 if nothing is read from files."""

    def name(self) -> str:
        """Return the name of the graph if none is given. Raises ConfigError if it has none."""

    def read(self, options: ImportOptions) -> Iterator[tuple[str, GraphElement]]:
        """Yield the elements of the graph, each with the name of its file."""

    def digests(self) -> list[str]:
        """Return texts that change with the graph."""


def open_source(source: Graph | Sequence[Path], *, format: str = "") -> GraphSource:  # noqa: A002
    """Return the source of a graph, or of files and folders.

    Raises IndexingError for a graph without entities, and as `list_files`.
    """
    if isinstance(source, Graph):
        if not source.entities:
            raise IndexingError(
                "The graph has no entities.", fix="Add some with `add_entity` or `add_triples`."
            )
        return _MemoryGraph(source)
    return _GraphFiles(source, list_files(source, format=format))


class _GraphFiles:
    """Files, each with its format."""

    def __init__(self, paths: Sequence[Path], files: Sequence[tuple[Path, str]]) -> None:
        self._first = paths[0].absolute()
        self._files = files
        self.formats = {path.name: found for path, found in files}
        self.origin = ", ".join(sorted({found for _, found in files}))

    def __str__(self) -> str:
        return ", ".join(f"`{path}`" for path, _ in self._files[:_SHOWN_FILES])

    @cached_property
    def size(self) -> int:
        return sum(path.stat().st_size for path, _ in self._files)

    def name(self) -> str:
        name = self._first.name if self._first.is_dir() else self._first.stem
        return " ".join(name.split()) or "graph"

    def read(self, options: ImportOptions) -> Iterator[tuple[str, GraphElement]]:
        before = 0
        for path, found in self._files:
            for element in FORMATS[found].open()(path, options):
                if isinstance(element, ReadBytes):
                    yield path.name, ReadBytes(before + element.count)
                else:
                    yield path.name, element
            before += path.stat().st_size

    def digests(self) -> list[str]:
        parts = []
        for path, found in self._files:
            digest = blake2b(digest_size=16)
            with path.open("rb") as file:
                while block := file.read(_BLOCK_BYTES):
                    digest.update(block)
            parts += [path.name, found, digest.hexdigest()]
        return parts


class _MemoryGraph:
    """A graph in memory.

    An entity is identified by its name, so that spellings of a name are merged as in triples, but
    by its id if the graph has several entities of that name.
    """

    def __init__(self, graph: Graph) -> None:
        self._entities, self._relations = graph.entities, graph.relations
        entities = Counter(node.name for node in self._entities)
        self._keys = {
            node.id: node.name if entities[node.name] == 1 else node.id for node in self._entities
        }
        self.formats: dict[str, str] = {}
        self.origin = "memory"

    @property
    def size(self) -> int:
        return 0

    def name(self) -> str:
        raise ConfigError("A graph in memory has no name.", fix="Pass its `name`.")

    def read(self, options: ImportOptions) -> Iterator[tuple[str, GraphElement]]:
        del options
        for row in self._rows():
            yield "", row

    def digests(self) -> list[str]:
        digest = blake2b(digest_size=16)
        for row in self._rows():
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
        return [digest.hexdigest()]

    def _rows(self) -> Iterator[EntityRow | RelationRow]:
        related = {end for edge in self._relations for end in (edge.source, edge.target)}
        for node in self._entities:
            row = self._entity_row(node)
            is_shared = not row.is_name
            # An entity of which only the name is known has no text but that of its relations.
            if is_shared or row.labels or row.aliases or row.properties or node.id not in related:
                yield row
        for edge in self._relations:
            weight = {} if edge.weight == 1 else {"weight": edge.weight}
            source, target = self._keys[edge.source], self._keys[edge.target]
            properties = {**weight, **edge.properties}
            yield RelationRow(source, edge.name, target, properties, are_names=True)

    def _entity_row(self, node: Node) -> EntityRow:
        properties = node.own_properties
        aliases = tuple(properties.pop("aliases", ()))
        key = self._keys[node.id]
        labels = tuple(filter(None, [node.properties.get("type")]))
        return EntityRow(key, (node.name,), aliases, labels, properties, is_name=key == node.name)
